"""What faults and open phases are to the positive-sequence network: admittances of buses and lines.

A parameter says which phases are joined or open, and where; the admittances that the equations read follow
from these and from the networks of the other sequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.network import Line
from psmr.network.sequence.two_port import Complexes, Sections, with_fault

Values = tuple[tuple[str, str, float], ...]

CHANGED = ("g_ii", "b_ii", "g_ij", "b_ij", "g_jj", "b_jj")
"""The parameters of a line that follow from a fault on it."""

CAUSES = ("fault", "open_phases", "open_i", "open_j")
"""The parameters of a line of which one that is not zero says that there is something on it."""


def with_parameters(system: System, values: Iterable[tuple[str, str, float]]) -> System:
    """Return the system with other values of parameters: (device, parameter, value)."""
    parameters = [matrix.copy() for matrix in system.parameters]
    for device, name, value in values:
        group, row, column = system.parameter_place(device, name)
        parameters[group][row, column] = value
    return replace(system, parameters=tuple(parameters))


def following(system: System, device: str) -> Values:
    """Return the admittances of a bus or line that follow from the fault or the open phases on it."""
    group, row, _ = system.parameter_place(device, "fault")
    component = system.groups[group].compiled.component
    names = tuple(parameters_of(component))
    p = SimpleNamespace(**dict(zip(names, map(float, system.parameters[group][row]), strict=True)))
    if not issubclass(component, Line):
        y = _to_ground(p) if p.fault else 0j
        return (device, "g_fault", y.real), (device, "b_fault", y.imag)
    change = _on_line(p) - _without(p)
    entries = [part for y in (change[0, 0], change[0, 1], change[1, 1]) for part in (y.real, y.imag)]
    return tuple((device, name, float(value)) for name, value in zip(CHANGED, entries, strict=True))


def _without(p: SimpleNamespace) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with nothing on it, zero where it is out of service."""
    series, shunt = 1.0 / complex(p.r, p.x), complex(p.g, p.b) / 2
    return p.status * np.array([[series + shunt, -series], [-series, series + shunt]])


def _on_line(p: SimpleNamespace) -> Complexes:
    """Return the (2, 2) admittance matrix of a line with what is on it."""
    if not any(getattr(p, name) for name in CAUSES):
        return _without(p)
    z, y = complex(p.r, p.x), complex(p.g, p.b)
    sections = Sections(z, y, p.at, bool(p.open_i), bool(p.open_j))
    return with_fault(sections, _to_ground(p) if p.fault else 0j)


def _to_ground(p: SimpleNamespace) -> complex:
    """Return the admittance of a fault."""
    return 1.0 / complex(p.r_fault, p.x_fault)
