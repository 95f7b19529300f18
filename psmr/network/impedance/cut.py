"""A system cut at a bus: the grid with a current source, the plant at an ideal voltage, both as matrices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from psmr.base.errors import InputError
from psmr.dae.declare.component import Component, Parameter, Terms
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.complex_step import injection_derivatives
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.network.signals.inputs import matching
from psmr.network.topology.plants import plants


class CurrentSource(Component):
    """A constant current into a bus, and what is injected beside it: the plant, seen from the grid."""

    inputs = ("i_re", "i_im")
    outputs = ("at_re", "at_im")
    optional = {"i_re": 0.0, "i_im": 0.0}

    constant_re = Parameter("pu", "real part of the constant current", default=0.0)
    constant_im = Parameter("pu", "imaginary part of the constant current", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        return (), (), (p.constant_re + v.i_re, p.constant_im + v.i_im)


class IdealVoltage(Component):
    """An ideal voltage at a bus, whatever current it takes: the grid, seen from the plant.

    i_re + j i_im is the current that it feeds into the bus: what flows from the grid into the plant.
    """

    algebraic = ("i_re", "i_im")
    inputs = ("v_re", "v_im", "e_re", "e_im")
    outputs = ("at_re", "at_im")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the voltage, and the current into the bus."""
        return (), (v.e_re - v.v_re, v.e_im - v.v_im), (v.i_re, v.i_im)


BORDER = "border"
"""Name of the device in the place of the other side."""


def plant_at(system: System, bus: str, named: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the devices of the plant at a bus: those named, or the sources there with their controllers.

    Raises
    ------
    InputError
        For a pattern that means no device, the bus itself, and devices that are wired to others than the bus,
        with both.
    """
    if named is None:
        chosen = {name for plant in plants(system).values() if plant.bus == bus for name in plant.devices}
    else:
        chosen = set(matching(named, [device.name for device in system.devices], "device"))
    if bus in chosen:
        raise InputError(f"plant: {bus} is the bus between grid and plant; name what is on one side of it")
    for device in system.devices:
        for port, target in device.connections.items():
            other = target.rpartition(".")[0]
            if (device.name in chosen) == (other in chosen) or bus in (device.name, other):
                continue
            inside, outside = (device.name, other) if device.name in chosen else (other, device.name)
            raise InputError(
                f"{inside} of the plant at {bus} and {outside} of the grid are wired to one another "
                f"({device.name}.{port} to {target}): they meet at other places than {bus}, so that neither "
                "has an impedance of its own; name the devices of the plant so that they do not"
            )
    return tuple(device.name for device in system.devices if device.name in chosen)


def current_of(system: System, bus: str, devices: Collection[str]) -> complex:
    """Return the current in pu that devices of a system inject into a bus at its start."""
    total = 0j
    for device in system.devices:
        if device.name not in devices:
            continue
        g = next(k for k, group in enumerate(system.groups) if device.name in group.names)
        place = system.groups[g].names.index(device.name)
        for output, target in device.connections.items():
            unit = {f"{bus}.i_re": 1.0, f"{bus}.i_im": 1j}.get(target)
            if unit is not None and output in device.component.outputs:
                total += unit * injection_derivatives(system, system.w0, g, place, output)[0]
    return total


def grid_without(system: System, bus: str, plant: Collection[str]) -> StateSpace:
    """Return the grid as matrices from a current into the bus to the voltage there, both in d and q."""
    current = current_of(system, bus, plant)
    values = {"constant_re": current.real, "constant_im": current.imag}
    source = Device(BORDER, CurrentSource, values, {"at_re": f"{bus}.i_re", "at_im": f"{bus}.i_im"})
    kept = [device for device in system.devices if device.name not in plant]
    part = _assembled(system, [*kept, source], {})
    names = (f"{BORDER}.i_re", f"{BORDER}.i_im"), (f"{bus}.v_re", f"{bus}.v_im")
    return _in_dq(part, part.state_space(*names), bus, ("i", "v"))


def plant_alone(system: System, bus: str, plant: Sequence[str]) -> StateSpace:
    """Return the plant as matrices from the voltage of the bus to the current into it, both in d and q."""
    ends = {"v_re": f"{bus}.v_re", "v_im": f"{bus}.v_im", "at_re": f"{bus}.i_re", "at_im": f"{bus}.i_im"}
    voltage = Device(BORDER, IdealVoltage, {}, ends)
    kept = [device for device in system.devices if device.name in plant]
    place = next(device for device in system.devices if device.name == bus)
    current = current_of(system, bus, plant)
    start = {f"{BORDER}.i_re": -current.real, f"{BORDER}.i_im": -current.imag}
    start |= {f"{BORDER}.e_{part}": _value(system, f"{bus}.v_{part}") for part in ("re", "im")}
    part = _assembled(system, [*kept, place, voltage], start)
    names = (f"{BORDER}.e_re", f"{BORDER}.e_im"), (f"{BORDER}.i_re", f"{BORDER}.i_im")
    return _in_dq(part, part.state_space(*names), bus, ("v", "i"))


def whole(system: System, bus: str) -> StateSpace:
    """Return the whole system as matrices from a current into the bus to the voltage there, in d and q."""
    names = (f"{bus}.i_re", f"{bus}.i_im"), (f"{bus}.v_re", f"{bus}.v_im")
    return _in_dq(system, system.state_space(*names), bus, ("i", "v"))


def _value(system: System, name: str) -> float:
    return float(system.w0[system.index(name)])


def _assembled(system: System, devices: Sequence[Device], start: dict[str, float]) -> System:
    """Return the system of some devices with the others' values, at the same start."""
    own = {device.name for device in devices}
    names = (*system.names_x, *system.names_y, *system.names_u)
    values = zip(names, system.w0[:-1].tolist(), strict=True)
    known = {name: value for name, value in values if name.rpartition(".")[0] in own}
    part = assemble(devices, known | start, name=system.name)
    return replace(part, w0=part.buffer(t=float(system.w0[-1])))


def _in_dq(system: System, matrices: StateSpace, bus: str, kinds: tuple[str, str]) -> StateSpace:
    """Return matrices between real and imaginary parts as ones along and across the voltage of a bus."""
    v = complex(_value(system, f"{bus}.v_re"), _value(system, f"{bus}.v_im"))
    c, s = v.real / abs(v), v.imag / abs(v)
    turn = np.array([[c, -s], [s, c]])  # (re, im) = turn (d, q)
    given, seen = ((f"{bus}.{kind}_d", f"{bus}.{kind}_q") for kind in kinds)
    return replace(
        matrices,
        b=sparse.csc_array(matrices.b @ turn),
        c=sparse.csr_array(sparse.csr_array(turn.T) @ matrices.c),
        c_late=sparse.csr_array(sparse.csr_array(turn.T) @ matrices.c_late),
        d=turn.T @ matrices.d @ turn,
        d_rate=turn.T @ matrices.d_rate @ turn,
        inputs=given,
        outputs=seen,
    )
