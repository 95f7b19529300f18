"""Power and current where devices meet the network, by the devices' own equations at recorded points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import local_variables, parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.declare.mathematics import NumericMath
from psmr.dae.system.system import System
from psmr.devices.network import Shunt
from psmr.network.topology.network import branches, buses, is_load, power_base
from psmr.study.events.spans import Span

Reals = NDArray[np.float64]

QUANTITIES = {"p": "MW", "q": "Mvar", "i": "pu"}
"""What is computed at a terminal, with its unit; the current is per unit on the system base."""


@dataclass(frozen=True)
class Terminal:
    """A place where a device injects current into a bus.

    Attributes
    ----------
    device, bus
        Names of both.
    end
        ``""`` for a device with one terminal, ``"_from"`` and ``"_to"`` for a branch.
    port
        End of the names of its ports, ``"i_re" + port``.
    sign
        1 where power into the bus counts positive (a source), -1 where power out of it does: what a load or
        a shunt takes, what flows into a branch.
    """

    device: str
    bus: str
    end: str
    port: str
    sign: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its signals."""
        return tuple(f"{self.device}.{quantity}{self.end}" for quantity in QUANTITIES)


def terminals(system: System) -> tuple[Terminal, ...]:
    """Return the terminals of sources, loads, shunts and branches, in the order of the devices.

    None for a system without buses, or of which no device says the base of its per-unit powers.
    """
    known = set(buses(system))
    if not known or power_base(system) is None:
        return ()
    joins = {branch.name for branch in branches(system)}
    found = []
    for device in system.devices:
        ends = (("_from", "_i"), ("_to", "_j")) if device.name in joins else (("", ""),)
        for end, port in ends:
            bus = device.connections.get(f"i_re{port}", "").rpartition(".")[0]
            if bus in known and f"i_re{port}" in device.component.outputs:
                found.append(Terminal(device.name, bus, end, port, _sign(device, bool(end))))
    return tuple(found)


def _sign(device: Device, branch: bool) -> float:
    return -1.0 if branch or is_load(device) or issubclass(device.component, Shunt) else 1.0


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
    currents = _injections(system, spans, names, t, x, y)
    for terminal in wanted:
        re, im = (y[:, system.index(f"{terminal.bus}.v_{part}") - system.n] for part in ("re", "im"))
        i_re, i_im = (currents[terminal.device, f"i_{part}{terminal.port}"] for part in ("re", "im"))
        current = (terminal.sign * (i_re + 1j * i_im)).astype(np.complex128)
        power = ((re + 1j * im) * np.conj(current) * base).astype(np.complex128)
        found[terminal.device, terminal.end] = power, current
    return found


def _injections(
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
    v = {name: w[:, index[:, k]] for k, name in enumerate(local_variables(component))}
    p = {name: parameters[:, :, k] for k, name in enumerate(parameters_of(component))}
    shape = (len(w), len(index))
    with np.errstate(all="ignore"):  # a branch of `where` that is not taken may divide by zero
        _, _, injections = component.equations(NumericMath, SimpleNamespace(**v), SimpleNamespace(**p))
    return [np.broadcast_to(value, shape) for value in injections]
