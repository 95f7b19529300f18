"""Power and current where devices meet the network, by the devices' own equations at recorded points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.complex_step import evaluated
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.network import power_base


def terminal_values(
    system: System, spans: Sequence[Span], wanted: Sequence[Terminal], t: Reals, x: Reals, y: Reals
) -> Mapping[tuple[str, str], tuple[NDArray[np.complex128], NDArray[np.complex128]]]:
    """Return (K,) apparent power (MVA) and current (pu) of terminals by (device, end), each with its sign.

    The current is the one that the device's own equations inject at the recorded points, with the parameters
    that held there; a device out of service has none.
    """
    base = power_base(system)
    assert base is not None
    found: dict[tuple[str, str], tuple[NDArray[np.complex128], NDArray[np.complex128]]] = {}
    names = {terminal.device for terminal in wanted}
    currents = injections(system, spans, names, t, x, y)
    for terminal in wanted:
        re, im = (column(system, f"{terminal.bus}.v_{part}", x, y) for part in ("re", "im"))
        i_re, i_im = (currents[terminal.device, f"i_{part}{terminal.port}"] for part in ("re", "im"))
        current = i_re + 1j * i_im
        if (terminal.device, f"b{terminal.port}") in currents:
            # Charging at a bus with its own dynamics has its part of the current of the bus's capacitance.
            whole, re_c, im_c = (
                column(system, f"{terminal.bus}.{name}", x, y) for name in ("b", "i_re", "i_im")
            )
            current = current - currents[terminal.device, f"b{terminal.port}"] / whole * (re_c + 1j * im_c)
        current = (terminal.sign * current).astype(np.complex128)
        power = ((re + 1j * im) * np.conj(current) * base).astype(np.complex128)
        found[terminal.device, terminal.end] = power, current
    return found


def column(system: System, name: str, x: Reals, y: Reals) -> Reals:
    """Return (K,) values of a state or algebraic variable."""
    place = system.index(name)
    return x[:, place] if place < system.n else y[:, place - system.n]


def injections(
    system: System, spans: Sequence[Span], names: set[str], t: Reals, x: Reals, y: Reals
) -> dict[tuple[str, str], Reals]:
    """Return (K,) values of each output of the named devices by (device, output)."""
    found: dict[tuple[str, str], Reals] = {}
    for g, group in enumerate(system.groups):
        chosen = [row for row, name in enumerate(group.names) if name in names]
        outputs = group.compiled.component.outputs
        for row in chosen:
            found |= {(group.names[row], output): np.zeros(len(t)) for output in outputs}
        for span in spans if chosen else ():
            rows = span.rows
            times = t[rows]
            w = np.column_stack([x[rows], y[rows], span.held(times), times])
            own = span.parameters_of(g, chosen, times)
            injected = _evaluate(group.compiled.component, w, group.index[chosen], own)
            for column, row in enumerate(chosen):
                if group.names[row] not in span.out:
                    for output, values in zip(outputs, injected, strict=True):
                        found[group.names[row], output][rows] = values[:, column]
    return found


def _evaluate(component: Any, w: Reals, index: NDArray[Any], parameters: Reals) -> list[Reals]:
    """Return (K, devices) injections of devices of one component at (K, variables) points w."""
    v = [w[:, own] for own in index.T]
    rows = evaluated(component, v, list(np.moveaxis(parameters, 2, 0)), (len(w), len(index)))
    return rows[len(rows) - len(component.outputs) :]
