"""The lists of events of each part: those that the study names, and random ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

import psmr
from psmr.errors import InputError
from tests.internals import System, schedule, with_event_devices
from tests.programs.robustness.systems import OWN, branches, buses, load, pairs

START, CLEAR, RECLOSE = 0.1, 0.2, 0.3
T_END = 3.0  # of the random lists
STEPS = (0.010, 0.005, 0.002, 0.001)
NEWTONS = ("honest", "dishonest", "very dishonest")


@dataclass(frozen=True)
class Task:
    """One list of events on one case, and the schemes that it is run with."""

    part: str
    case: str
    events: tuple[Any, ...]
    schemes: tuple[Any, ...]
    t_end: float
    number: int | None = None


def new_england() -> Iterator[Task]:
    """Yield a bolted fault of 100 ms at each bus, and at both ends of each line with its trip."""
    schemes = tuple(psmr.SingleRate(method, h) for h in STEPS for method in ("TM", "SDIRK2", "BEM"))
    for case in ("new-england", "new-england-dyr"):
        _, system = load(case)
        faults = [psmr.Fault(bus, START, CLEAR) for bus in buses(system)]
        for line, ends in branches(system, "Line").items():
            faults += [psmr.Fault(bus, START, CLEAR, trip=line) for bus in ends]
        yield from (Task("new-england", case, (fault,), schemes, 5.0) for fault in faults)


def kundur() -> Iterator[Task]:
    """Yield trips of each line, reclosed, without and with a fault, of each generator, faults at each bus."""
    schemes = tuple(psmr.SingleRate("TM", 1 / 120, newton=newton) for newton in NEWTONS)
    for name in ("kundur", "thyristor", "dc"):
        case, system = load(name)
        lists: list[tuple[Any, ...]] = []
        for line, ends in branches(system, "Line").items():
            lists.append((psmr.LineTrip(line, START, reclose=START + RECLOSE),))
            trip = psmr.LineTrip(line, CLEAR, reclose=CLEAR + RECLOSE)
            lists += [(psmr.Fault(bus, START, CLEAR), trip) for bus in ends]
        lists += [(psmr.GeneratorTrip(row.name, START),) for row in case.generators]
        lists += [(psmr.Fault(bus, START, CLEAR),) for bus in buses(system)]
        yield from (Task("kundur", name, events, schemes, 10.0) for events in lists)


def converters() -> Iterator[Task]:
    """Yield a bolted fault of 100 ms at each bus of the nine-bus cases with converters."""
    schemes = tuple(psmr.SingleRate(method, 0.005) for method in ("TM", "SDIRK2", "BEM"))
    for name in ("wscc9-gfm", "wscc9-renewable"):
        _, system = load(name)
        for bus in buses(system):
            yield Task("converters", name, (psmr.Fault(bus, START, CLEAR),), schemes, 5.0)


def random(count: int, seed: int, case: str | None = None) -> Iterator[Task]:
    """Yield random legal lists, the cases in turn; a list follows from case, seed and number alone."""
    names = [case] if case else [*OWN, *pairs()]
    for k in range(count):
        yield random_task(names[k % len(names)], seed, k // len(names))


def random_task(name: str, seed: int, number: int) -> Task:
    """Return a random list on a case with the trapezoidal rule at 5 ms."""
    schemes = (psmr.SingleRate("TM", 0.005),)
    return Task("random", name, random_list(name, seed, number), schemes, T_END, number)


PARTS = {"new-england": new_england, "kundur": kundur, "converters": converters}
RANDOM = 1000  # lists where no limit is given


def of_part(part: str, limit: int | None = None, seed: int = 1, case: str | None = None) -> list[Task]:
    """Return the tasks of a part, at most `limit` of them, of one case where given."""
    if part == "random":
        return list(random(RANDOM if limit is None else limit, seed, case))
    found = [task for task in PARTS[part]() if case in (None, task.case)]
    # Of more than the limit every so many, so that a sample has something of everything.
    return found if limit is None else found[:: max(1, -(-len(found) // limit))][:limit]


def random_list(name: str, seed: int, number: int) -> tuple[Any, ...]:
    """Return one to four random events that `simulate` accepts on a case."""
    random = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    case, system = load(name)
    events: list[Any] = []
    for _ in range(int(random.integers(1, 5))):
        for _ in range(20):
            try:
                drawn = draw(random, case, system)
                wanted = [*events, drawn]
                schedule(with_event_devices(system, wanted), wanted, T_END)
            except InputError:  # nothing of that kind there, or it contradicts the others
                continue
            events.append(drawn)
            break
    return tuple(events)


TIMES = ("start", "end", "clear", "clear_from", "clear_to", "clear_again", "close", "reclose", "reconnect")


def later(event: Any, by: float) -> Any:
    """Return an event by so many s later; what waits for a condition has no time of its own."""
    if isinstance(event, psmr.When):
        return event
    given = {field.name: getattr(event, field.name) for field in fields(event) if field.name in TIMES}
    return replace(event, **{name: t + by for name, t in given.items() if t is not None})


KINDS = {
    "fault": 0.3,
    "line": 0.2,
    "generator": 0.1,
    "load": 0.1,
    "ramp": 0.1,
    "set-point": 0.1,
    "parameter": 0.07,
    "shunt": 0.03,
}


def draw(random: np.random.Generator, case: Any, system: System) -> Any:
    """Return one random event, legal or not."""

    def one(of: Any) -> Any:
        of = list(of)
        if not of:
            raise InputError("the case has nothing of that kind")
        return of[int(random.integers(len(of)))]

    def number(low: float, high: float) -> float:
        return round(float(random.uniform(low, high)), 3)

    kind = str(random.choice(list(KINDS), p=list(KINDS.values())))
    start = number(0.05, 2.0)
    later = round(start + number(0.05, 0.6), 3)
    coin = bool(random.random() < 0.5)
    if kind == "fault":
        trip = one(branches(system)) if coin else None
        # At an end of what trips, as a fault on it would be.
        bus = one(branches(system)[trip]) if trip else one(buses(system))
        x = 1e-4 if random.random() < 0.6 else number(0.001, 0.3)
        return psmr.Fault(bus, start, round(start + number(0.03, 0.3), 3), trip=trip, x=x)
    if kind == "line":
        return psmr.LineTrip(one(branches(system)), start, reclose=later if coin else None)
    if kind == "generator":
        return psmr.GeneratorTrip(one(row.name for row in case.generators), start)
    if kind == "load":
        reconnect = later if coin else None
        return psmr.LoadTrip(one(row.bus for row in case.loads), start, number(0.1, 1.0), reconnect)
    if kind == "ramp":
        bus = one(row.bus for row in case.loads)
        return psmr.LoadRamp(bus, start, later, number(0.0, 1.5), None if coin else number(0.5, 1.3))
    if kind == "set-point":
        device, _, name = one(system.names_u).rpartition(".")
        value = float(system.u0[system.names_u.index(f"{device}.{name}")])
        return psmr.SetPoint(
            device, name, value * number(0.8, 1.2) + (number(-0.1, 0.1) if coin else 0), start
        )
    if kind == "parameter":
        device = one(d for d in system.devices if d.parameters)
        name = one(device.parameters)
        return psmr.ParameterStep(device.name, name, device.parameters[name] * number(0.5, 1.5), start)
    shunt = one(d.name for d in system.devices if d.component.__name__ == "Shunt")
    return psmr.ShuntSwitch(shunt, start, on=coin)
