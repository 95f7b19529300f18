"""The table of quantities: what is computed from the variables of a run, at points of a span.

A quantity is a function of points, of which all are looked at together, and so is its derivative, by complex
step. `QUANTITIES` has every one, with its unit; `computed_signals` says which devices of a system have which.

The frequency of a bus is how fast the phase of its voltage turns, f = f_n + (1/2 pi) d(angle)/dt, with the
derivatives of all variables from the differentiated equations, g_y y' = -g_x f - g_t: no filter and no
difference of recorded points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.declare.component import NumericMath, local_variables
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices, device_rows, parameter_columns, variable_places
from psmr.dae.system.system import System
from psmr.devices.catalogue import AREA_ROLES
from psmr.devices.network import Shunt
from psmr.devices.placement import placement
from psmr.network.dynamic.region import zero_name
from psmr.network.dynamic.switching import dynamic_elements, zero_elements
from psmr.network.sequence.unbalance import PHASES, SEQUENCES, TO_PHASES
from psmr.network.signals.points import STEP, Points, Values, angles_of, size
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import Source, centre_of_inertia, island_of, leading_sources, sources_of
from psmr.network.topology.network import branches, buses, is_load, nominal_frequency, power_base

CENTRE = "coi"
"""What stands for the centre of inertia of the island with the most kinetic energy: ``"coi.frequency"``."""

AT_ONCE = 256
"""Points whose derivatives are looked at together, which have every variable."""


@dataclass(frozen=True)
class Terminal:
    """A place where a device injects current into a bus.

    `device`, `bus`: names of both.
    `end`: ``""`` for a device with one terminal, ``"_from"`` and ``"_to"`` for a branch.
    `port`: end of the names of its ports, ``"i_re" + port``.
    `sign`: 1 where power into the bus counts positive (a source), -1 where power out of it does: what a load
      or a shunt takes, what flows into a branch.
    """

    device: str
    bus: str
    end: str
    port: str
    sign: float


@cached_by_devices
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


@cached_by_devices
def _terminals_by_place(system: System) -> Mapping[tuple[str, str], Terminal]:
    return {(terminal.device, terminal.end): terminal for terminal in terminals(system)}


@dataclass(frozen=True, eq=False)
class Quantity:
    """What can be computed of some devices from the variables of a run.

    `name`, `unit`: as in ``"bus5.v"``, and in words.
    `values`: its (K, devices) values at points; complex ones at complex points, but for phases and sequences.
    `reads`: positions in w of what it reads of a device; None for what has no derivative.
    `solved`: whether it takes the network solved at each point, of a run that leaves a part of a tolerance
      there.
    `wraps`: whether it is known but for whole turns, which go on without jumps from point to point.
    `rate_of`: what it is the rate of in a linear system, in Hz.
    `by_name`: whether a pattern means it only where it means nothing else.
    `magnitude`: whether it is never below zero; ``"phasors"``: but for what has its own dynamics.
    `words`: what a figure calls it; its name where left out.
    """

    name: str
    unit: str
    values: Callable[[Points, tuple[str, ...]], Values]
    reads: Callable[[Connections, str], Sequence[int]] | None = None
    solved: bool = True
    wraps: bool = False
    rate_of: str = ""
    by_name: bool = False
    magnitude: Literal[False, True, "phasors"] = False
    words: str = ""


def rate(quantity: Quantity, points: Points, devices: tuple[str, ...]) -> Reals:
    """Return (K, devices) derivatives of a quantity with respect to time, in its unit by s."""
    parts = [points[first : first + AT_ONCE] for first in range(0, len(points.t), AT_ONCE)]
    return np.concatenate([quantity.values(part.moving(), devices).imag / STEP for part in parts])


def _voltage(points: Points, devices: tuple[str, ...]) -> tuple[Values, Values]:
    return points.variable(devices, "v_re"), points.variable(devices, "v_im")


def _angle(points: Points, devices: tuple[str, ...]) -> Values:
    """Return angles within half a turn of zero; NaN where the voltage is zero, in a dead part."""
    re, im = _voltage(points, devices)
    return np.where((re == 0.0) & (im == 0.0), np.nan, NumericMath.atan2(im, re))


def _frequency(points: Points, devices: tuple[str, ...]) -> Values:
    """Return frequencies; NaN in a part that nothing supplies: without a voltage there is no frequency."""
    f_n, dead = nominal_frequency(points.connected.system), points.connected.span.devices.dead
    assert f_n is not None
    live = np.array([bus not in dead for bus in devices], dtype=bool)
    found = np.full((len(points.t), len(devices)), np.nan)
    if live.any():
        alive = tuple(bus for bus in devices if bus not in dead)
        found[:, live] = f_n + rate(QUANTITIES["angle"], points, alive) / (2 * np.pi)
    return found


def _voltage_places(connections: Connections, device: str) -> list[int]:
    return [connections.system.index(f"{device}.v_{part}") for part in ("re", "im")]


def _currents(points: Points, devices: tuple[str, ...], end: str) -> tuple[Values, Values]:
    """Return (K, devices) real and imaginary parts of the currents of terminals in pu, with their signs."""
    known = points.cache.get((devices, end))
    if known is not None:
        return known
    place, injected = _terminals_by_place(points.connected.system), points.injected(devices)
    there = [place[device, end] for device in devices]
    signs = np.array([terminal.sign for terminal in there])
    re, im = (
        np.array([injected[terminal.device, f"i_{part}{terminal.port}"] for terminal in there]).T
        for part in ("re", "im")
    )
    for k, terminal in enumerate(there):
        # Charging at a bus with its own dynamics has its part of the current of the bus's capacitance.
        if (terminal.device, f"b{terminal.port}") in injected:
            whole, re_c, im_c = (points.named(f"{terminal.bus}.{name}") for name in ("b", "i_re", "i_im"))
            share = injected[terminal.device, f"b{terminal.port}"] / whole
            re[:, k], im[:, k] = re[:, k] - share * re_c, im[:, k] - share * im_c
    points.cache[devices, end] = found = signs * re, signs * im
    return found


def _terminal_quantity(kind: str, end: str) -> Quantity:
    """Return the active or reactive power or the current where devices meet the network."""

    def values(points: Points, devices: tuple[str, ...]) -> Values:
        base, place = power_base(points.connected.system), _terminals_by_place(points.connected.system)
        re, im = _currents(points, devices, end)
        if kind == "i":
            return size(re, im)
        v_re, v_im = _voltage(points, tuple(place[device, end].bus for device in devices))
        return np.asarray((v_re * re + v_im * im if kind == "p" else v_im * re - v_re * im) * base)

    def reads(connections: Connections, device: str) -> list[int]:
        system, terminal = connections.system, _terminals_by_place(connections.system)[device, end]
        g, row = device_rows(system)[device]
        bus = [f"{terminal.bus}.{name}" for name in ("v_re", "v_im", "b", "i_re", "i_im")]
        known = variable_places(system)
        return sorted(
            {*system.groups[g].index[row].tolist(), *(known[name] for name in bus if name in known)}
        )

    unit, words = {
        "p": ("MW", "active power"), "q": ("Mvar", "reactive power"), "i": ("pu", "current")
    }[kind]  # fmt: skip
    return Quantity(kind + end, unit, values, reads, magnitude=kind == "i", words="" if end else words)


def _leading_sources(connections: Connections, bus: str) -> list[int]:
    """Return the sources whose centre that of the island of a bus is, of the largest one for ``""``."""
    sources = sources_of(connections.system)
    return leading_sources(island_of(bus, connections.islands, connections.out, sources), sources)


def _centre_of(values: Callable[[Points, list[int], list[Source]], Values]) -> Callable[..., Values]:
    """Return the function of points and buses of means over the leading sources of their islands.

    NaN where an island has no source with an angle of its own.
    """

    def means(points: Points, devices: tuple[str, ...]) -> Values:
        sources, found = sources_of(points.connected.system), []
        for bus in devices:
            own = _leading_sources(points.connected, bus)
            members = [sources[k] for k in own]
            found.append(values(points, own, members) if own else np.full(len(points.t), np.nan))
        return np.column_stack(found)

    return means


def _centre_frequency(points: Points, own: list[int], members: list[Source]) -> Values:
    f_n = nominal_frequency(points.connected.system)
    assert f_n is not None
    return np.asarray(f_n * centre_of_inertia(points.speeds[:, own], members))


def _centre_angle(points: Points, own: list[int], members: list[Source]) -> Values:
    return centre_of_inertia(angles_of(points, members), members)


def _centre_places(connections: Connections, bus: str) -> list[int]:
    sources = sources_of(connections.system)
    return [connections.system.index(sources[k].angle) for k in _leading_sources(connections, bus)]


def _phase_quantity(letter: str, part: str) -> Quantity:
    """Return a voltage or current (``"v"``, ``"i"``) of a phase or sequence.

    Its magnitude; with dynamics of their own buses and branches have the value at each instant, in pu of peak
    values, of the positive sequence the length of the turning vector, which a negative sequence makes swing.
    A branch's currents are those into it at its from bus.
    """

    def values(points: Points, devices: tuple[str, ...]) -> Values:
        dynamic = dynamic_elements(points.connected.system)
        return np.column_stack(
            [_instantaneous(points, d, part) if d in dynamic else _phasor(points, d, part) for d in devices]
        )

    magnitude: Literal[True, "phasors"] = True if part in "12" else "phasors"
    return Quantity(f"{letter}_{part}", "pu", values, by_name=True, magnitude=magnitude)


def _phasor(points: Points, device: str, part: str) -> Values:
    """Return (K,) magnitudes of a sequence or phase of a bus or branch in a network of phasors."""
    places = buses(points.connected.system)
    if device in places:
        parts = points.sequences.v[:, :, places.index(device)]
    else:
        re, im = _currents(points, (device,), "_from")
        parts = points.sequences.current_into(device, (re + 1j * im)[:, 0])
    if part in SEQUENCES:
        return np.abs(parts[SEQUENCES.index(part)])
    return np.abs(TO_PHASES[PHASES.index(part)] @ parts)


def _instantaneous(points: Points, device: str, part: str) -> Values:
    """Return (K,) instantaneous values of a phase or sequence of a bus or branch with its own dynamics.

    Raises InputError for a negative sequence, which an instant does not have.
    """
    system = points.connected.system
    if part == "2":
        kind = "v" if device in buses(system) else "i"
        raise InputError(
            f"{device}.{kind}_2: {device} has its own dynamics, and an instant has no negative sequence;"
            f" over a period it is the mean of ({device}.v_re + j {device}.v_im) exp(2 j w0 t), or ask a"
            " network of phasors"
        )
    if device in buses(system):
        re, im = (points.named(f"{device}.v_{axis}") for axis in ("re", "im"))
        zero, name = np.zeros(len(points.t)), f"{zero_name(device)}.v"
        zero = points.named(name) if name in variable_places(system) else zero
    else:
        re, im = (part[:, 0] for part in _currents(points, (device,), "_from"))
        zero = _zero_current(points, device)
    turning = re + 1j * im
    if part in SEQUENCES:
        return zero if part == "0" else np.abs(turning)
    frequency = nominal_frequency(system)
    assert frequency is not None
    angle = 2 * np.pi * (frequency * points.t - PHASES.index(part) / 3)
    return np.asarray((turning * np.exp(1j * angle)).real + zero)


def _zero_current(points: Points, branch: str) -> Values:
    """Return (K,) zero-sequence currents into a branch at its from bus."""
    system = points.connected.system
    elements = zero_elements(system).get(branch, ())
    flowing, found = points.injected(d.name for d in elements), np.zeros(len(points.t))
    node = zero_name(next(b.ends[0] for b in branches(system) if b.name == branch))
    for d in elements:
        for e in [e for e in "ij" if d.connections.get(f"v_{e}") == f"{node}.v"]:
            found -= flowing[d.name, f"i_{e}"]
            if f"b_{e}" in d.connections:
                share = flowing[d.name, f"b_{e}"] / points.named(f"{node}.b")
                found += share * points.named(f"{node}.i")
    return found


def _time_left(points: Points, devices: tuple[str, ...]) -> Values:
    """Return how long limiters would go on counting (`Placement.time_left`)."""
    system, span, found = points.connected.system, points.connected.span, []
    for name in devices:
        g, row = device_rows(system)[name]
        group, component = system.groups[g], system.groups[g].compiled.component
        places = dict(zip(local_variables(component), group.index[row], strict=True))
        v = SimpleNamespace(**{k: points.at(np.array([x]))[:, 0] for k, x in places.items() if k != "t"})
        matrix = span.parameters_of(g, [row], points.t)
        p = SimpleNamespace(**{k: matrix[:, 0, c] for k, c in parameter_columns(component).items()})
        left = placement(component).time_left
        assert left is not None
        found.append(np.broadcast_to(left(v, p), points.t.shape))
    return np.column_stack(found)


def _set_point(name: str) -> Quantity:
    def values(points: Points, devices: tuple[str, ...]) -> Values:
        return np.column_stack([points.named(f"{device}.{name}") for device in devices])

    return Quantity(name, "pu", values, words="set-point")


ENDS, KINDS = ("", "_from", "_to"), ("p", "q", "i")

SET_POINTS = ("schedule", "v_set")
"""Held inputs of the controls of areas that can be asked for."""

QUANTITIES: Mapping[str, Quantity] = {
    quantity.name: quantity
    for quantity in (
        Quantity("v", "pu", Points.magnitudes, _voltage_places, False, magnitude=True, words="bus voltage"),
        Quantity(
            "angle", "rad", _angle, _voltage_places, solved=False, wraps=True, words="bus voltage angle"
        ),
        Quantity("frequency", "Hz", _frequency, rate_of="angle", magnitude=True, words="bus frequency"),
        Quantity("time_left", "s", _time_left, words="time left to the limit"),
        *map(_set_point, SET_POINTS),
        Quantity("coi_angle", "rad", _centre_of(_centre_angle), _centre_places),
        Quantity("coi_frequency", "Hz", _centre_of(_centre_frequency), rate_of="coi_angle"),
        *(_terminal_quantity(kind, end) for end in ENDS for kind in KINDS),
        *(_phase_quantity(letter, part) for letter in "vi" for part in (*PHASES, *SEQUENCES)),
    )
}
"""All of them, by name."""

VOLTAGE_QUANTITIES = ("v", "angle")
"""What every device has that has a voltage, ``v_re`` and ``v_im``."""


def computed_signals(system: System) -> Iterator[tuple[str, str, str]]:
    """Yield (signal, quantity, device) of what a system's runs can be asked for beside `VOLTAGE_QUANTITIES`.

    A bus of no name is that of the largest island.
    """
    for terminal in terminals(system):
        for kind in KINDS:
            yield f"{terminal.device}.{kind}{terminal.end}", kind + terminal.end, terminal.device
    for own in system.devices:
        if placement(own.component).time_left is not None:
            yield f"{own.name}.time_left", "time_left", own.name
        if placement(own.component).role in AREA_ROLES:
            yield from ((f"{own.name}.{name}", name, own.name) for name in own.held if name in SET_POINTS)
    places = buses(system) if nominal_frequency(system) is not None else ()
    for bus in places:
        yield f"{bus}.frequency", "frequency", bus
    ends = [terminal.device for terminal in terminals(system) if terminal.end == "_from"]
    for device, letter in (*((bus, "v") for bus in places), *((branch, "i") for branch in ends)):
        for part in (*PHASES, *SEQUENCES):
            yield f"{device}.{letter}_{part}", f"{letter}_{part}", device
    if places and sources_of(system):
        for kind in ("frequency", "angle"):
            yield f"{CENTRE}.{kind}", f"coi_{kind}", ""
        for bus in places:
            for kind in ("frequency", "angle"):
                yield f"{bus}.coi_{kind}", f"coi_{kind}", bus
