"""The values of a run's signals: kept columns, bus voltages, and what devices' equations make of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.network.signals.signals import Signals, of_centre, of_voltage, quantity
from psmr.study.events.spans import Span
from psmr.study.record.centres import centres
from psmr.study.record.frequency import frequencies
from psmr.study.record.phase import continuous, phases
from psmr.study.record.recorded import Recorded
from psmr.study.record.sequence_values import sequence_values
from psmr.study.record.terminal_values import terminal_values

Reals = NDArray[np.float64]


# Rows that are looked at together where a run may be larger than the memory.
PIECE = 4096


def values_in_pieces(run: Recorded, names: Sequence[str]) -> Iterator[tuple[slice, Reals]]:
    """Yield the values of `values_of` some rows at a time, all at once where devices' equations are asked."""
    expansion = run.signals.expansion(names)
    if expansion.names != tuple(names):
        for rows, parts in values_in_pieces(run, expansion.names):
            yield rows, expansion.combined(parts)
        return
    own = {*run.names_x, *run.names_y, *(run.kept.names if run.kept is not None else ())}
    voltages = [k for k, name in enumerate(names) if name not in own and of_voltage(name)]
    angles = [k for k in voltages if quantity(names[k]) == "angle"]
    if any(name not in own and not of_voltage(name) for name in names):
        yield slice(0, len(run.t)), values_of(run, names)
        return
    before: Reals | None = None
    for first in range(0, len(run.t), PIECE):
        rows = slice(first, min(first + PIECE, len(run.t)))
        values = values_of(run, names, rows)
        if before is not None:
            values[:, angles] = continuous(np.vstack([before, values[:, angles]]))[1:]
        last = values[-1:, angles]
        before = last if before is None else np.where(np.isnan(last), before, last)
        yield rows, values


def values_of(run: Recorded, names: Sequence[str], rows: slice = slice(None), exact: bool = True) -> Reals:
    """Return (K, len(names)) values of the named signals, of which each is one of the run's.

    `rows` chooses some of its points; not for signals that devices' equations give. Those that are `exact`
    come of the network solved at each point (see `psmr.study.run.run.Run.algebraic`); a drawing needs no more
    than what the scheme left.
    """
    expansion = run.signals.expansion(names)
    if expansion.names != tuple(names):
        return expansion.combined(values_of(run, expansion.names, rows, exact))
    states = set(run.names_x)
    x = run.x[rows]
    y = run.algebraic(rows) if exact and any(name not in states for name in names) else run.y[rows]
    place_x = {name: i for i, name in enumerate(run.names_x)}
    place_y = {name: i for i, name in enumerate(run.names_y)}
    place_kept = {name: i for i, name in enumerate(run.kept.names)} if run.kept is not None else {}
    out = np.empty((len(x), len(names)))
    later = []
    for column, name in enumerate(names):
        device, _, kind = name.rpartition(".")
        if name in place_x:
            out[:, column] = x[:, place_x[name]]
        elif name in place_y:
            out[:, column] = y[:, place_y[name]]
        elif name in place_kept and run.kept is not None:
            out[:, column] = run.kept.values[rows, place_kept[name]]
        elif of_voltage(name):
            # A bus with its own dynamics has its voltage among the states.
            table, place = (x, place_x) if f"{device}.v_re" in place_x else (y, place_y)
            v_re, v_im = (table[:, place[f"{device}.v_{part}"]] for part in ("re", "im"))
            out[:, column] = np.hypot(v_re, v_im) if kind == "v" else continuous(phases(v_re, v_im))
        else:
            later.append(column)
    if later:
        assert run.system is not None  # a run without its system has no such signals
        computed = [names[k] for k in later]
        found = values_of_devices(run.system, run.signals, run.spans, computed, run.t, x, y)
        for column, values in zip(later, found, strict=True):
            out[:, column] = values
    return out


def values_of_devices(
    system: System,
    signals: Signals,
    spans: Sequence[Span],
    names: Sequence[str],
    t: Reals,
    x: Reals,
    y: Reals,
    systems: MutableMapping[Span, System] | None = None,
) -> list[Reals]:
    """Return powers, currents and frequencies, (K,) each, at points that have every variable.

    `systems` as in `psmr.study.record.frequency.frequencies`.
    """
    unbalanced = set(signals.unbalanced)
    by_sequence = sequence_values(
        system, spans, [name for name in names if name in unbalanced], signals.terminals, t, x, y
    )
    wanted = {name.rpartition(".")[0] for name in names if name not in unbalanced}
    chosen = [terminal for terminal in signals.terminals if terminal.device in wanted]
    found = terminal_values(system, spans, chosen, t, x, y)
    central = [name for name in names if of_centre(name)]
    means = centres(system, spans, central, t, x, y) if central else {}
    turning = [
        name.rpartition(".")[0] for name in names if quantity(name) == "frequency" and name not in means
    ]
    hertz = frequencies(system, spans, turning, t, x, y, systems) if turning else np.empty((len(t), 0))
    bus_values = dict(zip(turning, hertz.T, strict=True))
    values = []
    for name in names:
        device, _, kind = name.rpartition(".")
        if name in means:
            values.append(means[name])
            continue
        if kind == "frequency":
            values.append(bus_values[device])
            continue
        if name in by_sequence:
            values.append(by_sequence[name])
            continue
        what, mark, end = kind.partition("_")
        power, current = found[device, mark + end]
        values.append({"p": power.real, "q": power.imag, "i": np.abs(current)}[what])
    return values
