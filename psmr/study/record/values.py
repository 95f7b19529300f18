"""The values of a run's signals: recorded columns, bus voltages, and what devices' equations make of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.study.record.frequency import frequencies
from psmr.study.record.recorded import Recorded
from psmr.study.record.signals import quantity
from psmr.study.record.terminals import terminal_values

Reals = NDArray[np.float64]


def values_of(run: Recorded, names: Sequence[str]) -> Reals:
    """Return (K, len(names)) values of the named signals, of which each is one of the run's."""
    place_x = {name: i for i, name in enumerate(run.names_x)}
    place_y = {name: i for i, name in enumerate(run.names_y)}
    out = np.empty((len(run.t), len(names)))
    later = []
    for column, name in enumerate(names):
        device, _, kind = name.rpartition(".")
        if name in place_x:
            out[:, column] = run.x[:, place_x[name]]
        elif name in place_y:
            out[:, column] = run.y[:, place_y[name]]
        elif kind in ("v", "angle"):
            v_re, v_im = run.y[:, place_y[f"{device}.v_re"]], run.y[:, place_y[f"{device}.v_im"]]
            out[:, column] = np.hypot(v_re, v_im) if kind == "v" else np.unwrap(np.arctan2(v_im, v_re))
        else:
            later.append(column)
    if later:
        for column, values in zip(later, _of_devices(run, [names[k] for k in later]), strict=True):
            out[:, column] = values
    return out


def _of_devices(run: Recorded, names: Sequence[str]) -> list[Reals]:
    """Return powers, currents and frequencies, (K,) each."""
    system = run.system
    assert system is not None  # a run without its system has no such signals
    wanted = {name.rpartition(".")[0] for name in names}
    chosen = [terminal for terminal in run.signals.terminals if terminal.device in wanted]
    found = terminal_values(system, run.spans, chosen, run.t, run.x, run.y)
    turning = [name.rpartition(".")[0] for name in names if quantity(name) == "frequency"]
    bus_values = dict(
        zip(turning, frequencies(system, run.spans, turning, run.t, run.x, run.y).T, strict=True)
        if turning
        else ()
    )
    values = []
    for name in names:
        device, _, kind = name.rpartition(".")
        if kind == "frequency":
            values.append(bus_values[device])
            continue
        what, mark, end = kind.partition("_")
        power, current = found[device, mark + end]
        values.append({"p": power.real, "q": power.imag, "i": np.abs(current)}[what])
    return values
