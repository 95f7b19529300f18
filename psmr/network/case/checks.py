"""What must hold between the rows of a case: its connected parts, the branches whose currents are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from psmr.base.errors import CaseError, nearest, shown
from psmr.devices.catalogue import CODE, SOURCES
from psmr.devices.placement import placement
from psmr.network.case.areas import check_areas, ties_of
from psmr.network.case.direct_current import converter_loads
from psmr.network.case.tables import (
    LARGEST,
    MECHANICAL,
    REACTIVE,
    STATOR,
    AreaRow,
    BranchRow,
    DeviceRow,
    GeneratorRow,
    Row,
    Tables,
)
from psmr.network.case.tap_changers import check_tap_changers, reads_current

Node = TypeVar("Node", int, str)


def connected_parts(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> list[frozenset[Node]]:
    """Return the nodes of each connected part, in the order of their first nodes."""
    place = {node: k for k, node in enumerate(dict.fromkeys(nodes))}
    if not place:
        return []
    ends = np.array([(place[a], place[b]) for a, b in edges], dtype=int).reshape(-1, 2)
    shape = (len(place), len(place))
    joined = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    count, labels = connected_components(joined, directed=False)
    parts: list[set[Node]] = [set() for _ in range(count)]
    for node, label in zip(place, labels, strict=True):
        parts[label].add(node)
    return [frozenset(part) for part in parts]


def branch_read(case: Tables, row: DeviceRow) -> tuple[BranchRow, str] | None:
    """Return the branch whose current a device reads, and at which of its ends, "i" or "j".

    None where it reads none.

    Raises CaseError where there is no such branch.
    """
    names = placement(row.component).branch
    if not names:
        return None
    values = row.values
    here, there, circuit = (int(values[name]) for name in names[:3])
    if not here and not there:
        return None
    for branch in case.branches:
        if branch.circuit == circuit and {branch.from_bus, branch.to_bus} == {here, there}:
            return branch, "i" if branch.from_bus == here else "j"
    parallel = [b.circuit for b in case.branches if {b.from_bus, b.to_bus} == {here, there}]
    known = f"; its circuits are {', '.join(map(str, parallel))}" if parallel else ""
    raise CaseError(
        f"{row.place}: {names[0]} = {here}, {names[1]} = {there}, {names[2]} = {circuit}: there is no such"
        f" branch{known}; name one of the case, or 0, 0 for none"
    )


def monitored_branches(case: Tables) -> frozenset[str]:
    """Return the names of the branches whose currents devices and relays read."""
    found = (branch_read(case, device) for row in case.generators for device in row.devices)
    relays = (row.branch for row in case.relays if row.branch)
    taps = (
        row.name
        for row in case.transformers
        if row.tap_changer is not None and reads_current(row.tap_changer)
    )
    ties = (tie.branch for row in case.areas if row.area_control is not None for tie in ties_of(case, row))
    return frozenset((*(read[0].name for read in found if read is not None), *relays, *taps, *ties))


def check_case(case: Tables) -> None:
    """Raise CaseError for the first contradiction between the rows of a case."""
    place = case.source or case.name
    for name in ("base_mva", "frequency_hz"):
        value = getattr(case, name)
        if type(value) is not float or not (math.isfinite(value) and value > 0):
            raise CaseError(f"{place}: {name} = {shown(value)}: must be a finite number > 0")
    if case.base_mva > LARGEST:
        raise CaseError(f"{place}: base_mva = {case.base_mva:g}: must be at most {LARGEST:g}; is it in MVA?")
    known_values = {"mechanical": MECHANICAL, "stator": STATOR, "reactive": REACTIVE}
    for name, known in known_values.items():
        if (value := getattr(case, name)) not in known:
            listed = (
                " or ".join(map(repr, known)) if len(known) == 2 else f"one of {', '.join(map(repr, known))}"
            )
            raise CaseError(f"{place}: {name} = {value!r}: must be {listed}")
    if not case.name.isprintable():
        raise CaseError(f"{place}: name = {case.name!r}: has a character that cannot be printed")
    if not case.buses:
        raise CaseError(f"{place}: there is no bus; add a [[bus]] table for each")
    if not LOWEST_HZ <= case.frequency_hz <= HIGHEST_HZ:
        raise CaseError(
            f"{place}: frequency_hz = {case.frequency_hz:g}: must be between {LOWEST_HZ:g} (railways) and"
            f" {HIGHEST_HZ:g} Hz (aircraft)"
        )
    check_unique(case)
    check_references(case)
    check_relays(case)
    check_tap_changers(case)
    check_areas(case)
    check_sequence(case)
    check_plants(case)
    check_direct_current(case)
    check_held_voltages(case)
    check_islands(case)


LOWEST_HZ, HIGHEST_HZ = 16.0, 400.0
"""Nominal frequencies of networks: railways have 16.7 Hz, aircraft 400 Hz."""

INERTIA = (0.01, 1e4)
"""Inertia constants in s that a machine can have; those of all machines lie between 0.5 and 20."""

IMPEDANCE = 1e-6
"""Impedance of a branch in pu below which it is a joint; on 100 MVA and 400 kV it is 1.6 mOhm."""


class UnlikelyValue(NamedTuple):
    """A value that is possible and unlikely, of a wrong unit or a wrong column: of what, where, and why."""

    name: str
    place: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words}"


def unlikely(case: Tables) -> Iterator[UnlikelyValue]:
    """Yield values that are possible and unlikely."""
    for branch in case.branches:
        size = math.hypot(branch.r, branch.x)
        if size < IMPEDANCE:
            words = (
                f"the impedance is {size:.3g} pu: is it in another unit? Below {IMPEDANCE:g}, join the buses"
            )
            yield UnlikelyValue(branch.name, branch.place, words)
    slacks = {row.bus: row for row in case.generators if row.control == "slack"}
    for island in islands_of(case) if len(slacks) > 1 else ():
        if len(several := sorted(island & slacks.keys())) > 1:
            second = slacks[several[1]]
            words = f"the slacks at buses {', '.join(map(str, several))} are in one island"
            yield UnlikelyValue(second.name, second.place, f"{words}: each holds its voltage and its angle")
    for generator in case.generators:
        for device in generator.devices:
            of_kind = placement(device.component).unlikely(device.values)
            for words in (*_unlikely(device.parameters), *of_kind):
                yield UnlikelyValue(device.name, device.place, f"{device.type}: {words}")


def _unlikely(p: Mapping[str, float]) -> Iterator[str]:
    """Yield what is unlikely about the parameters of a device."""
    h = p.get("h")
    if h is not None and not INERTIA[0] <= h <= INERTIA[1]:
        yield f"h = {h:g} s: an inertia constant is between {INERTIA[0]:g} and {INERTIA[1]:g} s; is it in s?"
    for short, long, words in (
        ("t_d02", "t_d01", "T''d0 is above T'd0"),
        ("t_q02", "t_q01", "T''q0 is above T'q0"),
        ("s_12", "s_10", "S(1.2) is below S(1.0)"),
    ):
        # A time constant of 0 leaves the winding out.
        if short in p and p.get(long):
            wrong = p[short] < p[long] if short == "s_12" else p[short] > p[long]
            if wrong:
                yield f"{words}: {short} = {p[short]:g}, {long} = {p[long]:g}; are columns swapped?"


def check_unique(case: Tables) -> None:
    """Raise CaseError where two buses have one number or two devices one name."""
    numbers: dict[int, Row] = {}
    for bus in case.buses:
        if bus.number in numbers:
            raise CaseError(f"{bus.place}: number = {bus.number}: taken by {numbers[bus.number].place}")
        numbers[bus.number] = bus
    names: dict[str, Row] = {}
    for name, row in _named(case):
        if not name.isprintable():
            raise CaseError(f"{row.place}: name = {name!r}: has a character that cannot be printed")
        if name in names:
            raise CaseError(
                f"{row.place}: name = {name!r}: taken by {names[name].place}; give one of them another name"
                " (or another `circuit`, for a parallel branch)"
            )
        names[name] = row


def _named(case: Tables) -> Iterator[tuple[str, Row]]:
    for table in (
        *(case.buses, case.branches, case.shunts, case.loads, case.relays),
        *(case.dc_buses, case.dc_lines),
    ):
        for row in table:
            yield row.name, row
    for transformer in case.transformers:
        if transformer.tap_changer is not None:
            yield transformer.tap_changer.name, transformer.tap_changer
    switching = [row.switching for row in case.shunts if row.switching is not None]
    for device in switching:
        yield device.name, device
    plants: tuple[GeneratorRow | AreaRow, ...] = (*case.generators, *case.areas)
    for plant in plants:
        for device in plant.devices:
            yield device.name, device
    seen: dict[str, Row] = {}
    for generator in case.generators:
        if generator.name in seen:
            raise CaseError(
                f"{generator.place}: name = {generator.name!r}: taken by {seen[generator.name].place}"
            )
        seen[generator.name] = generator


def check_references(case: Tables) -> None:
    """Raise CaseError where a row names a bus that is not there."""
    numbers = {bus.number for bus in case.buses}
    columns: list[tuple[Any, str, int]] = [
        (row, key, getattr(row, key)) for row in case.branches for key in ("from_bus", "to_bus")
    ]
    columns += [
        (row, "bus", row.bus)
        for table in (case.shunts, case.loads, case.generators, case.relays)
        for row in table
    ]
    devices = [device for generator in case.generators for device in generator.devices]
    devices += [device for row in case.shunts for device in row.devices]
    devices += [row.tap_changer for row in case.transformers if row.tap_changer is not None]
    devices += [device for row in case.areas for device in row.devices]
    columns += [
        (device, key, int(device.parameters[key]))
        for device in devices
        for key in placement(device.component).buses
        if device.parameters.get(key)
    ]
    columns += [(row, "control_bus", row.control_bus) for row in case.generators if row.control_bus]
    for device in devices:
        branch_read(case, device)
    for row, key, number in columns:
        if number not in numbers:
            hint = nearest(str(number), map(str, sorted(numbers)))
            raise CaseError(f"{row.place}: {key} = {number}: there is no bus with this number{hint}")


def check_relays(case: Tables) -> None:
    """Raise CaseError where a relay acts on nothing, or on something that it cannot act on."""
    trips = {row.name for row in case.generators} | {row.name for row in case.loads if row.solved is not None}
    known = {
        "load": ("load", {row.name for row in case.loads}),
        "source": ("generator, motor or composite load", trips),
        "branch": ("line or transformer", {row.name for row in case.branches}),
    }
    ends = {row.name: (row.from_bus, row.to_bus) for row in case.branches}
    for row in case.relays:
        what, there = known[placement(row.device.component).acts_on]
        if row.acts_on not in there:
            hint = nearest(row.acts_on, sorted(there))
            raise CaseError(
                f"{row.place}: acts_on = {row.acts_on!r}: {row.device.type} acts on a {what}, and there is"
                f" none with this name{hint}"
            )
        if row.branch:
            right = f"must be the name of a line or transformer{nearest(row.branch, sorted(ends))}"
            row.require(row.branch in ends, "measures", right)
            right = f"must be one of the ends of {row.branch}, {' or '.join(map(str, ends[row.branch]))}"
            row.require(row.bus in ends[row.branch], "bus", right)
            if row.measures not in ("", row.acts_on) and row.acts_on in ends:
                both = row.device.parameters.get("both", 0.0) == 1
                row.require(both, "measures", "a relay opens another branch at both ends: give it both = 1")
        else:
            row.require(not row.measures, "measures", f"{row.device.type} reads no current")


def check_sequence(case: Tables) -> None:
    """Raise CaseError for sequence data of nothing, of one element twice, or of another kind of element."""
    takes = {
        **{row.name: ("line", ("r0", "x0", "g0", "b0")) for row in case.lines},
        **{row.name: ("transformer", ("r0", "x0")) for row in case.transformers},
        **{row.name: ("generator", ("r2", "x2", "r0", "x0")) for row in case.generators},
        **{row.name: ("shunt", ("g0", "b0")) for row in case.shunts},
        **{row.name: ("load", ("g0", "b0")) for row in case.loads},
    }
    windings = {"line": 0, "transformer": 2}
    seen: set[str] = set()
    for row in case.sequence:
        if row.element not in takes:
            hint = nearest(row.element, sorted(takes))
            raise CaseError(f"{row.place}: element = {row.element!r}: there is none of this name{hint}")
        row.require(row.element not in seen, "element", "has a row of sequence data already; keep one")
        seen.add(row.element)
        kind, fields = takes[row.element]
        for name in ("r2", "x2", "r0", "x0", "g0", "b0"):
            right = f"is no data of a {kind}, which takes {', '.join(fields)}"
            row.require(name in fields or getattr(row, name) is None, name, right)
        ends = windings.get(kind, 1)
        if row.connection and len(row.windings) != ends:
            right = ("a line has none", "must be YN, Y or D", "must name two windings, as YNd")[ends]
            row.require(False, "connection", right)
        for end, names in enumerate((("r_ground", "x_ground"), ("r_ground_to", "x_ground_to"))):
            for name in names:
                grounded = kind in ("transformer", "generator") and end < ends
                row.require(grounded or not getattr(row, name), name, f"a {kind} has no neutral there")


def check_plants(case: Tables) -> None:
    """Raise CaseError where a plant has two devices of one role, or controls with nothing to control."""
    for generator in case.generators:
        roles = [device.role for device in generator.devices]
        for device in generator.devices:
            if roles.count(device.role) > 1 and device.role != CODE:
                raise CaseError(f"{device.place}: {generator.name} has more than one {device.role}; keep one")
        _check_asked_of_control(generator)
        sources = [role for role in roles if role in SOURCES]
        if roles and len(sources) != 1:
            found = " and a ".join(sources) or "neither"
            raise CaseError(
                f"{generator.place}: a plant needs one machine or one converter; {generator.name} has "
                f"{'a ' if sources else ''}{found}"
            )
    at_bus: dict[int, list] = {}
    for generator in case.generators:
        at_bus.setdefault(generator.bus, []).append(generator)
    for number, group in at_bus.items():
        _check_voltage_integrators(number, group)
        held = [g for g in group if g.control != "pq"]
        for g in group:
            if len(held) > 1 and g.control != "pq" and g.rating_mva == 0:
                raise CaseError(
                    f"{g.place}: rating_mva is missing; {len(held)} generators share the power of bus"
                    f" {number}"
                )


def check_direct_current(case: Tables) -> None:
    """Raise CaseError where a converter is no load of the case, or not of the power that its grid has."""
    if not (case.dc_buses or case.dc_lines or case.dc_converters):
        return
    there: dict[str, tuple[float, float | None]] = {row.name: (-row.p_mw, None) for row in case.generators}
    there |= {row.name: (row.p_mw, row.q_mvar) for row in case.loads}
    for row, load in zip(
        case.dc_converters, converter_loads(case.dc_buses, case.dc_lines, case.dc_converters), strict=True
    ):
        p_mw, q_mvar = there.get(row.name, (math.nan, None))
        same = abs(p_mw - load.p_mw) <= SAME * max(1, abs(load.p_mw))
        if row.commutated and q_mvar is not None:
            same &= abs(q_mvar - load.q_mvar) <= SAME * max(1, abs(load.q_mvar))
        if not same:
            raise CaseError(
                f"{row.place}: is {load.p_mw:.9g} MW, {load.q_mvar:.9g} Mvar by its DC grid, and the load of"
                f" its name {'none' if math.isnan(p_mw) else f'{p_mw:.9g} MW, {q_mvar or 0:.9g} Mvar'};"
                " change the converters of the grid, of which the loads are made"
            )


SAME = 1e-12
"""Relative difference of two powers that are one but for rounding."""


def check_held_voltages(case: Tables) -> None:
    """Raise CaseError where generators hold one bus at two voltages, or those of one bus hold two buses."""
    first: dict[int, GeneratorRow] = {}
    holder: dict[int, GeneratorRow] = {}
    slacks = {g.bus: g.name for g in case.generators if g.control == "slack"}
    for g in case.generators:
        if g.control == "pq":
            continue
        bus = g.control_bus or g.bus
        other = first.setdefault(bus, g)
        right = f"{other.name} holds bus {bus} at {other.v:g}; one voltage for a bus"
        g.require(g.v == other.v, "v", right)
        g.require(
            bus == g.bus or bus not in slacks,
            "control_bus",
            f"{slacks.get(bus)}, a slack, holds that voltage; leave it out",
        )
        if g.bus not in slacks:
            other = holder.setdefault(g.bus, g)
            right = f"must be that of {other.name} at the same bus, {other.control_bus}"
            g.require(g.control_bus == other.control_bus, "control_bus", right)
            right = f"must be that of {other.name} at the same bus, {other.share:g}"
            g.require(g.share == other.share, "share", right)


def _check_asked_of_control(generator: GeneratorRow) -> None:
    """Raise CaseError where a plant control gives a reactive power to a control of the power factor."""
    if "plant_control" not in [device.role for device in generator.devices]:
        return
    for device in generator.devices:
        if device.parameters.get("pf_flag"):
            raise CaseError(
                f"{device.place}: pf_flag = 1: the plant control of {generator.name} asks for reactive power,"
                " which a control of the power factor does not take; set pf_flag = 0, or remove the plant"
                " control"
            )


def _check_voltage_integrators(number: int, group: Sequence[GeneratorRow]) -> None:
    """Raise CaseError where two converters integrate the error of one voltage: any split of Q serves both."""
    found = [(g, d) for g in group for d in g.devices if placement(d.component).integrates_voltage]
    if len(found) > 1:
        (first, _), (second, device) = found[:2]
        raise CaseError(
            f"{device.place}: type = {device.type!r}: {first.name} and {second.name} both integrate the"
            f" error of the voltage at bus {number}, and nothing says how they share reactive power; make one"
            " of them a GridFollowingConverter, or join them into one"
        )


def check_islands(case: Tables) -> None:
    """Raise CaseError where an island has no slack bus. Several each hold their voltage and angle."""
    slacks = {g.bus for g in case.generators if g.control == "slack"}
    where = {bus.number: bus.where for bus in case.buses}
    for island in islands_of(case):
        buses = _enumerate(sorted(island))
        if not island & slacks:
            first = where[min(island)] or case.source or case.name
            raise CaseError(
                f'{first}: the island of {buses} has no slack; set control = "slack"'
                " on one of its generators, or connect it (a branch out of service has status = 0)"
            )


def islands_of(case: Tables) -> list[frozenset[int]]:
    """Return the numbers of the buses of each island."""
    lines = [(row.from_bus, row.to_bus) for row in case.branches if row.status]
    return connected_parts((bus.number for bus in case.buses), lines)


def _enumerate(numbers: list[int]) -> str:
    """Return "bus 4" or "buses 1, 2, 3, ... (9 in all)"."""
    if len(numbers) == 1:
        return f"bus {numbers[0]}"
    shown = ", ".join(map(str, numbers[:5]))
    return f"buses {shown}" + (f", ... ({len(numbers)} in all)" if len(numbers) > 5 else "")
