"""What is connected to what: buses, branches and loads of a system, read from the wiring of its devices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import EventError, nearest
from psmr.dae.declare.component import parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.kept import kept
from psmr.dae.system.places import cached_by_devices
from psmr.devices.loads.zip import StaticLoad
from psmr.devices.network import ALIASES, OPEN, Bus, Shunt
from psmr.devices.placement import placement
from psmr.network.case.load_groups import GROUP

if TYPE_CHECKING:
    from psmr.dae.system.system import System


OFF = {"status": 0.0, "open_i": 1.0, "open_j": 1.0, "open_phases": float(OPEN.index("abc"))}
"""By which a device is out of service, or a branch does not join its buses: parameters and their values."""


@dataclass(frozen=True)
class Branch:
    """A line or transformer and the two buses it joins."""

    name: str
    ends: tuple[str, str]
    transformer: bool = False


@cached_by_devices
def buses(system: System) -> tuple[str, ...]:
    """Return the device names of the buses."""
    return tuple(d.name for d in system.devices if issubclass(d.component, Bus))


@cached_by_devices
def aliases(system: System) -> Mapping[str, Sequence[str]]:
    """Return the other names of buses, and the buses that have each: names of a file need not be unique."""
    found: dict[str, list[str]] = {}
    for device in system.devices:
        if issubclass(device.component, Bus):
            for name in filter(None, str(device.data.get(ALIASES, "")).split("\n")):
                found.setdefault(name, []).append(device.name)
    return found


@cached_by_devices
def voltage_places(system: System) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions in w of the real and of the imaginary part of each bus voltage."""
    re, im = ([system.index(f"{bus}.{part}") for bus in buses(system)] for part in ("v_re", "v_im"))
    return np.array(re, dtype=np.intp), np.array(im, dtype=np.intp)


def bus_voltages(
    system: System, x: NDArray[np.float64], y: NDArray[np.float64], at: Any = slice(None)
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (..., buses) real and imaginary parts of bus voltages from (..., n) states and (..., m) others.

    The voltage of a bus with its own dynamics is a state. `at` chooses some buses by their places.
    """
    places, n = [part[at] for part in voltage_places(system)], system.n
    if all((part >= n).all() for part in places):
        return y[..., places[0] - n], y[..., places[1] - n]
    w = np.concatenate([x, y], axis=-1)
    return w[..., places[0]], w[..., places[1]]


@cached_by_devices
def branches(system: System) -> tuple[Branch, ...]:
    """Return the devices that join two buses."""
    found = []
    for device in system.devices:
        if "v_re_i" in device.connections and "v_re_j" in device.connections:
            ends = (_owner(device, "v_re_i"), _owner(device, "v_re_j"))
            found.append(Branch(device.name, ends, "tap" in device.parameters))
    return tuple(found)


@cached_by_devices
def branch_ends(system: System) -> Mapping[str, tuple[str, str]]:
    """Return the two buses of each branch by its name."""
    return {branch.name: branch.ends for branch in branches(system)}


@cached_by_devices
def at_buses(system: System) -> Mapping[str, Sequence[Device]]:
    """Return, for each bus, the devices that inject current into it, branches left out."""
    found: dict[str, list[Device]] = {bus: [] for bus in buses(system)}
    for device in system.devices:
        bus = _owner(device, "i_re")
        if bus in found:
            found[bus].append(device)
    return found


def find_loads(system: System, bus: str, what: str) -> tuple[Device, ...]:
    """Return the loads at a bus, motors included.

    Raises EventError when there are none, with the buses that have some.
    """
    there = {name: [d for d in devices if is_load(d)] for name, devices in at_buses(system).items()}
    if not there[bus]:
        loaded = [name for name, loads in there.items() if loads]
        raise EventError(f"{what}: {bus} has no load; there are loads at {', '.join(loaded) or 'no bus'}")
    return tuple(there[bus])


def find_loaded_buses(system: System, bus: int | str, what: str) -> tuple[str, ...]:
    """Return the bus that is named, or all buses with loads that are meant.

    Those of an area or zone (``"area 2"``, ``"zone 7"``), or of a pattern (``"*"``, ``"bus[56]"``).

    Raises EventError for a bus that is not there, and where no bus with a load is meant.
    """
    known, pattern = buses(system), str(bus)
    group = GROUP.fullmatch(pattern)
    if pattern in known or not (group or any(mark in pattern for mark in "*?[")):
        return (find_bus(system, bus, what),)
    loaded = [name for name, devices in at_buses(system).items() if any(map(is_load, devices))]
    if group:
        of = {name: system.parameter(name, group[1]) for name in loaded}
        found = tuple(name for name in loaded if of[name] == int(group[2]))
        if not found:
            numbers = ", ".join(f"{number:g}" for number in sorted(set(of.values())))
            raise EventError(f"{what}: {pattern} has no load; the loads are in {group[1]} {numbers}")
        return found
    found = tuple(
        name for name in loaded if any(fnmatchcase(own, pattern) for own in (name, name.removeprefix("bus")))
    )
    if not found:
        raise EventError(
            f"{what}: no bus with a load is called {pattern!r}; there are loads at "
            f"{', '.join(loaded) or 'no bus'}"
        )
    return found


def is_load(device: Device) -> bool:
    """Return whether a device is a load: a static one, whose p and q a trip takes away, or a motor."""
    return issubclass(device.component, StaticLoad) or is_motor(device)


def is_motor(device: Device) -> bool:
    """Return whether a device is a load with states of its own, which has no p and q."""
    return placement(device.component).role in ("motor", "composite")


def shunts(system: System) -> tuple[str, ...]:
    """Return the device names of the shunts, static var systems among them."""
    return tuple(
        d.name
        for d in system.devices
        if issubclass(d.component, Shunt) or placement(d.component).role == "static_var_system"
    )


def out_of_service(system: System, parameters: Sequence[NDArray[np.float64]] | None = None) -> frozenset[str]:
    """Return the names of the devices whose status is 0 and of the branches of which an end is open.

    By a system's own parameter matrices or others.
    """
    given, numbers = parameters or system.parameters, _switched(system)
    own = kept(system, "out of service", None, lambda: _off(system, system.parameters, numbers), 1, True)
    changed = [number for number in numbers if given[number] is not system.parameters[number]]
    found = own | _off(system, given, changed) if changed else own
    return frozenset(itertools.chain.from_iterable(found.values()))


def _off(
    system: System, parameters: Sequence[NDArray[np.float64]], numbers: Iterable[int]
) -> dict[int, list[str]]:
    """Return the devices of some groups that are out of service by parameter matrices, by group."""
    found: dict[int, list[str]] = {number: [] for number in numbers}
    for number, column, value in _switches(system):
        if number in found:
            names = system.groups[number].names
            off = (parameters[number][:, column] == value).nonzero()[0]
            found[number] += [names[row] for row in off.tolist()]
    return found


@cached_by_devices
def _switched(system: System) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for number, _, _ in _switches(system)))


@cached_by_devices
def _switches(system: System) -> tuple[tuple[int, int, float], ...]:
    """Return each group with a parameter that takes out of service, its column there, and the value."""
    declared = [tuple(parameters_of(group.compiled.component)) for group in system.groups]
    return tuple(
        (number, names.index(name), value)
        for number, names in enumerate(declared)
        for name, value in OFF.items()
        if name in names
    )


def branches_in_service(system: System, out: Iterable[str] | None = None) -> list[Branch]:
    """Return the branches without those in `out`; None: without those out of service in the system itself."""
    left_out = out_of_service(system) if out is None else set(out)
    return [branch for branch in branches(system) if branch.name not in left_out]


def find_bus(system: System, bus: int | str, what: str) -> str:
    """Return the device name of a bus given as ``5``, ``"5"``, ``"bus5"``, or by an alias.

    Raises EventError when it is not there, with the nearest known one, or several have the alias.
    """
    known = buses(system)
    found = buses_called(system, str(bus))
    if len(found) == 1:
        return found[0]
    if found:
        raise EventError(f"{what}: {len(found)} buses are called {bus!r}; give one of {', '.join(found)}")
    every = (*known, *aliases(system))
    raise EventError(
        f"{what}: there is no bus {bus!r} in "
        f"{_title(system)}{nearest(str(bus), every) or nearest(f'bus{bus}', known)}"
        f"{_listing('buses', known)}"
    )


def buses_called(system: System, bus: str, own: bool = False) -> Sequence[str]:
    """Return the buses that have a name: the one whose `own` it is, or all that have it as an alias."""
    known = buses(system)
    for name in (bus, f"bus{bus}"):
        if name in known:
            return (name,)
    others = {} if own else aliases(system)
    return others.get(" ".join(bus.split()), others.get(bus.removeprefix("bus"), ()))


def find_branch(system: System, line: str, what: str) -> Branch:
    """Return the branch given by its device name (``"line5-7"``) or by its buses (``"5-7"``).

    Where no branch joins buses of these names, ``"1-4"`` is one whose own name has them, as the file has
    bus 4 that is one with bus 3; then one between buses with these aliases.

    Raises EventError when it is not there, with the nearest known one, or when several branches join the two
    buses.
    """
    every = branches(system)
    for branch in every:
        if branch.name == line:
            return branch
    pairs = [sorted(pair) for pair in _pairs(system, str(line), own=True)]
    found = [branch for branch in every if sorted(branch.ends) in pairs]
    if not found:
        named = _named(str(line))
        found = [branch for branch in every if named.fullmatch(branch.name)]
    if not found:
        pairs = [sorted(pair) for pair in _pairs(system, str(line))]
        found = [branch for branch in every if sorted(branch.ends) in pairs]
    if len(found) == 1:
        return found[0]
    names = tuple(branch.name for branch in every)
    if found:
        raise EventError(
            f"{what}: {len(found)} branches join the buses of {line!r}; name one of "
            f"{', '.join(branch.name for branch in found)}"
        )
    raise EventError(
        f"{what}: there is no line or transformer {line!r} in {_title(system)}"
        f"{nearest(str(line), names) or nearest(f'line{line}', names)}{_listing('branches', names)}"
    )


def reversed_ends(system: System, line: str | None, name: str) -> bool:
    """Return whether ``"7-5"`` calls the branch of a name that begins at the second of the two buses."""
    return name != line and list(branch_ends(system)[name]) not in _pairs(system, str(line))


def _pairs(system: System, text: str, own: bool = False) -> list[list[str]]:
    """Read ``"5-7"`` as pairs of buses, by their `own` names alone or by aliases as well.

    A name may itself contain the dash.
    """
    cuts = [i for i, letter in enumerate(text) if letter == "-"]
    parts = [
        (buses_called(system, text[:cut].strip(), own), buses_called(system, text[cut + 1 :].strip(), own))
        for cut in cuts
    ]
    return [[i, j] for first, second in parts for i in first for j in second]


def _named(text: str) -> re.Pattern[str]:
    """Return what the name of a branch between two buses is that a file gives, in either order."""
    i, _, j = text.partition("-")
    ways = "|".join(f"{re.escape(a.strip())}-{re.escape(b.strip())}" for a, b in ((i, j), (j, i)))
    return re.compile(rf"(line|transformer)({ways})(-.+)?")


@cached_by_devices
def power_base(system: System) -> float | None:
    """Return the base of per-unit powers in MVA, None where no device says it."""
    return _first(system, "s_base")


@cached_by_devices
def nominal_frequency(system: System) -> float | None:
    """Return the nominal frequency in Hz, None where no device says it."""
    return _first(system, "f_n")


def _first(system: System, name: str) -> float | None:
    return next((d.parameters[name] for d in system.devices if name in d.parameters), None)


def _owner(device: Device, port: str) -> str:
    return device.connections.get(port, "").rpartition(".")[0]


def _title(system: System) -> str:
    return repr(system.name) if system.name else "the system"


def _listing(noun: str, names: Sequence[str]) -> str:
    """Name what there is, as long as a reader would read it."""
    return f"; {noun}: {', '.join(names)}" if 0 < len(names) <= 20 else ""
