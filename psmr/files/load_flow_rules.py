"""What programs of load flow make of a network: joined buses, dead islands, one held voltage for a bus."""

from __future__ import annotations

import cmath
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from psmr.base.errors import CaseError, first_few, warn
from psmr.devices.placement import placement
from psmr.network.case.case import Case
from psmr.network.case.checks import connected_parts
from psmr.network.case.tables import BranchRow, BusRow, DeviceRow, GeneratorRow, ShuntRow, TransformerRow

Rows = dict[str, list[Any]]

Joint = tuple[int, int, str]
"""The buses at both ends of a branch without impedance, and where it was read."""


def representatives(zero: Sequence[Joint], held: set[int]) -> dict[int, int]:
    """Return the bus that stands for each joined bus: one where a generator holds the voltage, or the lowest.

    `zero`: the branches without impedance; `held`: numbers of the buses with a generator.
    """
    group: dict[int, set[int]] = {}
    for i, j, _ in zero:
        both = group.get(i, {i}) | group.get(j, {j})
        group.update(dict.fromkeys(both, both))
    return {bus: min(buses, key=lambda n: (n not in held, n)) for bus, buses in group.items()}


def to_ground(row: BranchRow) -> complex:
    """Return the admittance to ground of a branch in service whose two ends are one bus, per unit.

    That is the sum of its admittance matrix: g + j b of a line; of a transformer with the complex ratio a
    (g + j b) / |a|^2 + y |1 - 1/a|^2, where y = 1 / (r + j x) carries what circulates.
    """
    own = complex(row.g, row.b)
    if not isinstance(row, TransformerRow):
        return own
    ratio = cmath.rect(row.tap, math.radians(row.shift_deg))
    return own / row.tap**2 + abs(1 - 1 / ratio) ** 2 / complex(row.r, row.x)


def with_charging_in_front(row: TransformerRow, base: float) -> tuple[TransformerRow, list[ShuntRow]]:
    """Return a branch with a ratio that has all of its charging behind it with half of that there.

    The other half is a shunt at its second bus, if there is any.
    """
    g, b = row.g / 2, row.b / 2
    name = f"{row.name}-at{row.to_bus}"
    shunt = ShuntRow(row.to_bus, g * base, b * base, row.status, name, where=row.where)
    return replace(row, g=g, b=b), [shunt] if g or b else []


def join_buses(tables: Rows, zero: Sequence[Joint], base: float) -> Rows:
    """Return the tables of a case with joined buses as one.

    `tables`: rows by the names of the case's tables; `base`: system base in MVA. Warns for every branch
    without impedance, with the bus that stands for both, and for every other branch between two buses that
    are one now, with the shunt that is left of it.
    """
    if not zero:
        return tables
    stands = representatives(zero, {row.bus for row in tables["generators"]})
    for i, j, where in zero:
        warn(f"{where}: {i}-{j}: has no impedance; buses {i} and {j} are one, bus {stands[i]}")
    found: Rows = {"buses": list(_buses(tables["buses"], stands))}
    left: list[ShuntRow] = []
    places = _places([row.bus for row in tables["generators"]], stands)
    for name in ("lines", "transformers"):
        found[name] = []
        for row in tables[name]:
            ends = [stands.get(bus, bus) for bus in (row.from_bus, row.to_bus)]
            if ends[0] == ends[1]:
                y = to_ground(row) * base if row.status else 0.0
                if y:
                    label = f"{row.name}-at{ends[0]}"
                    left.append(ShuntRow(ends[0], y.real, y.imag, 1, label, where=row.where))
                kept = f", but for its shunt of {y.real:.4g} MW, {y.imag:.4g} Mvar" if y else ""
                warn(f"{row.place}: joins two buses that are one, bus {ends[0]}; left out{kept}")
                continue
            joined = replace(row, from_bus=ends[0], to_bus=ends[1])
            found[name].append(_with_control(joined, stands, places) if name == "transformers" else joined)
    for name in ("shunts", "loads", "relays"):
        found[name] = [replace(row, bus=stands.get(row.bus, row.bus)) for row in tables[name]]
    found["shunts"] = [
        replace(
            row,
            control_bus=stands.get(row.control_bus, row.control_bus),
            **{device.role: _device(device, stands, places) for device in row.devices},  # type: ignore[arg-type]
        )
        for row in (*found["shunts"], *left)
    ]
    found["generators"] = [_generator(row, stands, places) for row in tables["generators"]]
    return found


def _buses(rows: Sequence[BusRow], stands: Mapping[int, int]) -> Iterator[BusRow]:
    """Yield the buses that stand for others, with the numbers and names of these beside their own."""
    others: dict[int, list[str]] = {}
    for row in rows:
        if (bus := stands.get(row.number, row.number)) != row.number:
            others.setdefault(bus, []).extend((str(row.number), *row.aliases))
    for row in rows:
        if stands.get(row.number, row.number) == row.number:
            more = others.get(row.number, ())
            yield replace(row, aliases=tuple(dict.fromkeys((*row.aliases, *more)))) if more else row


def _places(buses: Sequence[int], stands: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Return the place of each generator at the bus that stands for its own, by bus and place there."""
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    places = {}
    for bus in buses:
        joined = stands.get(bus, bus)
        before[bus] += 1
        after[joined] += 1
        places[bus, before[bus]] = after[joined]
    return places


def _generator(
    row: GeneratorRow, stands: Mapping[int, int], places: Mapping[tuple[int, int], int]
) -> GeneratorRow:
    devices = tuple(_device(device, stands, places) for device in row.devices)
    control_bus = stands.get(row.control_bus, row.control_bus)
    return replace(row, bus=stands.get(row.bus, row.bus), devices=devices, control_bus=control_bus)


def _with_control(
    row: TransformerRow, stands: Mapping[int, int], places: Mapping[tuple[int, int], int]
) -> TransformerRow:
    device = row.tap_changer and _device(row.tap_changer, stands, places)
    return replace(row, control_bus=stands.get(row.control_bus, row.control_bus), tap_changer=device)


def _device(row: DeviceRow, stands: Mapping[int, int], places: Mapping[tuple[int, int], int]) -> DeviceRow:
    placed = placement(row.component)
    numbers = {
        name: float(stands[int(row.parameters[name])])
        for name in (*placed.buses, *placed.branch[:2], "bus2")
        if int(row.parameters.get(name, 0)) in stands
    }
    if "bus2" in row.parameters:
        second = int(row.parameters["bus2"]), int(row.parameters.get("unit2", 1))
        if second in places:
            numbers["unit2"] = float(places[second])
    return replace(row, parameters={**row.parameters, **numbers}) if numbers else row


def with_common_voltages(
    generators: Sequence[GeneratorRow], stored: Mapping[int, float | None]
) -> list[GeneratorRow]:
    """Return generators that hold one voltage at each bus, those of one bus all at the same one.

    Of a bus those that hold its own voltage decide, then the first. Of several voltages for one bus a slack's
    is held, then the one that is nearest to the stored one, or the first. Of several shares at one bus the
    last counts.

    `stored`: voltages in pu that the file stores, by bus. Warns for each bus whose generators ask for
    different voltages, buses or shares, with what is held.
    """
    holding = [row for row in generators if row.control != "pq"]
    by_bus: dict[int, list[GeneratorRow]] = {}
    for row in holding:
        by_bus.setdefault(row.bus, []).append(row)
    controls = {bus: _controlled(rows) for bus, rows in by_bus.items()}
    together = Counter(controls[bus] or bus for bus in by_bus)
    shares = {
        bus: _share(rows, controls[bus], together[controls[bus] or bus] > 1) for bus, rows in by_bus.items()
    }
    at: dict[int, list[GeneratorRow]] = {}
    for row in holding:
        if row.control_bus == controls[row.bus]:
            at.setdefault(row.control_bus or row.bus, []).append(row)
    held: dict[int, float] = {}
    for bus, rows in at.items():
        deciding = [row for row in rows if row.control == "slack"] or rows
        v, asked = stored.get(bus), list(dict.fromkeys(row.v for row in deciding))
        held[bus] = asked[0] if v is None else min(asked, key=lambda set_point: abs(set_point - v))
        if len(asked) > 1:
            words = ", ".join(f"{row.name} {row.v:g}" for row in rows)
            warn(
                f"{rows[-1].where}: generators ask for different voltages of bus {bus} ({words}); held at"
                f" {held[bus]:g}{'' if v is None else ', the nearest to the stored one'}"
            )
    return [
        row
        if row.control == "pq"
        else replace(
            row, v=held[controls[row.bus] or row.bus], control_bus=controls[row.bus], share=shares[row.bus]
        )
        for row in generators
    ]


def with_one_voltage(
    generators: Sequence[GeneratorRow], joined: Sequence[tuple[int, int]]
) -> list[GeneratorRow]:
    """Return generators that hold one voltage at all buses that branches without impedance join.

    PSS/E has one voltage there. Of several set-points a slack's is held, then that of the bus of the lowest
    number: the one that a stored solution has, where the file holds buses 3106 and 30003 at 1.02 and 1.00
    (docs/formats.md).

    `joined`: the buses at both ends of each branch without impedance. Warns for each group of buses whose
    generators ask for different voltages, with what is held.
    """
    ends = {bus for pair in joined for bus in pair}
    held: dict[int, float] = {}
    holding: dict[int, list[GeneratorRow]] = {}
    for row in generators:
        bus = row.control_bus or row.bus
        if row.control != "pq" and bus in ends:
            holding.setdefault(bus, []).append(row)
    for group in connected_parts(sorted(ends), joined):
        rows = [row for bus in sorted(group & holding.keys()) for row in holding[bus]]
        if len(group & holding.keys()) < 2 or len({row.v for row in rows}) == 1:
            continue
        deciding = next((row for row in rows if row.control == "slack"), rows[0])
        held |= dict.fromkeys(group, deciding.v)
        words = ", ".join(f"{row.name} {row.v:g} at bus {row.control_bus or row.bus}" for row in rows)
        reason = "the swing's" if deciding.control == "slack" else "that of the lowest bus number"
        warn(
            f"{rows[-1].place}: generators ask for different voltages of buses that branches without"
            f" impedance join ({words}); all hold {deciding.v:g}, {reason}: give them one set-point"
        )
    return [
        row if row.control == "pq" else replace(row, v=held.get(row.control_bus or row.bus, row.v))
        for row in generators
    ]


def reachable(
    generators: Sequence[GeneratorRow], buses: Sequence[BusRow], branches: Sequence[BranchRow]
) -> list[GeneratorRow]:
    """Return generators of which none regulates another bus that it cannot regulate: it holds its own then.

    That is a bus that is not there, in another island, or held by a slack.

    Warns for each generator that holds its own bus instead.
    """
    slacks = {row.bus for row in generators if row.control == "slack"}
    joined = [(row.from_bus, row.to_bus) for row in branches if row.status]
    parts = connected_parts((row.number for row in buses), joined)
    island = {bus: k for k, part in enumerate(parts) for bus in part}
    found = []
    for row in generators:
        bus, why = row.control_bus, ""
        if bus and bus not in island:
            why = "which is not there or out of service"
        elif bus in slacks:
            why = "which is a swing"
        elif bus and island[bus] != island[row.bus]:
            why = "which is in another island"
        if why:
            warn(f"{row.where}: {row.name} regulates bus {bus}, {why}; it holds its own bus at {row.v:g} pu")
        found.append(replace(row, control_bus=0) if why else row)
    return found


def _controlled(rows: Sequence[GeneratorRow]) -> int:
    """Return the bus whose voltage the generators of one bus hold, 0 for their own."""
    asked = list(dict.fromkeys(row.control_bus for row in rows))
    found = 0 if 0 in asked else asked[0]
    if len(asked) > 1:
        words = ", ".join(f"{row.name} {row.control_bus or row.bus}" for row in rows)
        warn(
            f"{rows[-1].where}: generators of bus {rows[0].bus} regulate different buses ({words}); all"
            f" regulate {found or rows[0].bus}"
        )
    return found


def _share(rows: Sequence[GeneratorRow], controlled: int, shared: bool) -> float:
    """Return the share of the generators of one bus in the reactive power that a voltage needs.

    `shared` says whether those of further buses hold that one, too.
    """
    asked = [row for row in rows if row.control_bus == controlled]
    if shared and len({row.share for row in asked}) > 1:
        words = ", ".join(f"{row.name} {row.share:g}" for row in asked)
        warn(
            f"{asked[-1].where}: generators of bus {rows[0].bus} ask for different shares (RMPCT) of what bus"
            f" {controlled or rows[0].bus} needs ({words}); a plant has one, and the last counts:"
            f" {asked[-1].share:g}"
        )
    return asked[-1].share


def voltage_holders(case: Case) -> dict[int, GeneratorRow]:
    """Return a generator that holds a voltage for each bus that has one, by the number of its bus."""
    return {row.bus: row for row in case.generators if row.control != "pq"}


SHOWN = 8
"""Most names in the list of what is left out."""


def energised_rows(rows: Rows, place: str) -> Rows:
    """Return the rows of a case without islands that no generator feeds, and with a slack in each other one.

    An island without a generator in service is dead: it is left out with all that is there. Where no
    generator is the slack, the one of the largest rating is, those before that hold their voltage.

    `rows`: rows by the names of the case's tables; `place`: the file, for a message. Warns for each dead
    island with what is lost, and each slack that is chosen. Raises CaseError where the file has no bus, and
    where none of its generators is in service.
    """
    if not rows["buses"]:
        raise CaseError(f"{place}: there is no bus; is this the whole file?")
    if not rows["generators"]:
        raise CaseError(f"{place}: no generator is in service: nothing feeds the network")
    branches = [row for name in ("lines", "transformers") for row in rows[name]]
    joined = ((row.from_bus, row.to_bus) for row in branches if row.status)
    fed: dict[int, list[GeneratorRow]] = {}
    for row in rows["generators"]:
        fed.setdefault(row.bus, []).append(row)
    stored = {row.number: row for row in rows["buses"]}
    dead: set[int] = set()
    slacks: dict[str, GeneratorRow] = {}
    for island in connected_parts(stored, joined):
        here = [row for bus in sorted(island & fed.keys()) for row in fed[bus]]
        if not here:
            dead |= island
            _tell_of_dead(rows, island)
            continue
        if all(row.control != "slack" for row in here):
            slacks |= _chosen(here, stored)
    found = {name: [row for row in table if not _buses_of(row) & dead] for name, table in rows.items()}
    found["generators"] = [slacks.get(row.name, row) for row in found["generators"]]
    found["transformers"] = [_within(row, dead) for row in found["transformers"]]
    found["shunts"] = [_within(row, dead) for row in found["shunts"]]
    return found


def _within(row: TransformerRow | ShuntRow, dead: Collection[int]) -> TransformerRow | ShuntRow:
    """Return a transformer or shunt without its control where that is of a bus that is left out."""
    if row.control_bus not in dead:
        return row
    warn(f"{row.place}: bus {row.control_bus}, which it regulates, is left out: it stands still")
    if isinstance(row, TransformerRow):
        return replace(row, controls="", control_bus=0, tap_changer=None)
    return replace(row, control_bus=0, switching=None)


def _buses_of(row: Any) -> set[int]:
    if isinstance(row, BusRow):
        return {row.number}
    return {row.from_bus, row.to_bus} if hasattr(row, "from_bus") else {row.bus}


def _tell_of_dead(rows: Rows, island: frozenset[int]) -> None:
    first = next(row for row in rows["buses"] if row.number in island)
    lost = [row.name for name in ("loads", "shunts") for row in rows[name] if row.bus in island]
    power = sum(row.p_mw for row in rows["loads"] if row.bus in island)
    what = (
        f", and with {'it' if len(island) == 1 else 'them'} {first_few(lost, SHOWN)} ({power:g} MW)"
        if lost
        else ""
    )
    noun = "bus" if len(island) == 1 else "buses"
    words = f"{noun} {first_few([str(number) for number in sorted(island)], SHOWN)}: no generator in service"
    warn(f"{first.where}: {words} feeds this island; left out{what}")


def _chosen(here: Sequence[GeneratorRow], stored: dict[int, BusRow]) -> dict[str, GeneratorRow]:
    """Return the generator that becomes the slack of its island, by its name."""
    holding = [row for row in here if row.control == "pv"] or list(here)
    new = max(holding, key=lambda row: row.rating_mva)
    bus = stored[new.bus]
    own = new.control == "pv" and not new.control_bus
    v = new.v if own or bus.v is None else bus.v
    warn(
        f"{new.place}: the island of bus {new.bus} has no swing with a generator in service; {new.name} is it"
        " now, the largest there, at the stored angle"
    )
    return {new.name: replace(new, control="slack", v=v, angle_deg=bus.angle_deg or 0.0, control_bus=0)}
