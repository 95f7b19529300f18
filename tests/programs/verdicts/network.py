"""What is connected to what in a run, from the devices of the system and the fields of its events alone.

Nothing of `psmr.study` is used: whoever looks for mistakes in it must not repeat them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import networkx

import psmr
from tests.internals import System

MACHINE, FORMER, INFINITE = "machine", "former", "infinite"


@dataclass(frozen=True)
class Source:
    """What holds an island: a machine, a converter that forms the voltage or an infinite bus, and its weight.

    The weight is the kinetic energy h s_n in MWs, of a converter its rating in MVA.
    """

    name: str
    bus: str
    kind: str
    weight: float


@dataclass(frozen=True)
class Grid:
    """The parts of a system: buses, branches with their ends, and what stands at which bus.

    Attributes
    ----------
    closed
        The branches that are in service at first.
    followers, motors
        Bus of each converter that has a loop with an angle `theta`, and of each induction motor.
    """

    buses: tuple[str, ...]
    branches: Mapping[str, tuple[str, str]]
    closed: frozenset[str]
    sources: tuple[Source, ...]
    followers: Mapping[str, str]
    motors: Mapping[str, str]


@dataclass(frozen=True)
class State:
    """What holds from a time on, in s.

    Attributes
    ----------
    islands
        The buses of each connected part that has a source.
    faulted
        The buses with a short circuit on them.
    gone
        Sources, followers and motors that are out of service.
    """

    t: float
    islands: tuple[frozenset[str], ...]
    faulted: frozenset[str]
    gone: frozenset[str]

    def island(self, bus: str) -> int | None:
        """Return the number of the island of a bus; None where its part of the network has no source."""
        return next((k for k, island in enumerate(self.islands) if bus in island), None)


def grid_of(system: System) -> Grid:
    """Return the parts of a system."""
    buses, branches, closed, sources = [], {}, set(), []
    followers: dict[str, str] = {}
    motors: dict[str, str] = {}
    for device in system.devices:
        has, states = device.parameters, device.component.states
        wired = {port: at.rpartition(".")[0] for port, at in device.connections.items()}
        if "g_fault" in has:
            buses.append(device.name)
        elif "v_re_j" in wired:
            branches[device.name] = wired["v_re_i"], wired["v_re_j"]
            if system.parameter(device.name, "status") != 0:
                closed.add(device.name)
        elif "delta" in states and "h" in has:
            sources.append(Source(device.name, wired["i_re"], MACHINE, has["h"] * has["s_n"]))
        elif "theta" in states and "m_p" in has:
            sources.append(Source(device.name, wired["i_re"], FORMER, has["s_n"]))
        elif f"{device.name}.delta" in system.names_u:
            sources.append(Source(device.name, wired["i_re"], INFINITE, 0.0))
        elif "theta" in states and "i_re" in wired:
            followers[device.name] = wired["i_re"]
        elif "slip" in states and "i_re" in wired:
            motors[device.name] = wired["i_re"]
    return Grid(tuple(buses), branches, frozenset(closed), tuple(sources), followers, motors)


def states_of(grid: Grid, events: Iterable[Any]) -> list[State]:
    """Return what holds from each time at which something is switched, in order of time, the start first."""
    actions = sorted(((0.0, "", "", True), *_actions(grid, events)), key=lambda action: action[0])
    closed, faulted, gone = set(grid.closed), set(), set()
    found = []
    for t, together in itertools.groupby(actions, key=lambda action: action[0]):
        for _, kind, name, on in together:
            of = {"branch": closed, "fault": faulted, "gone": gone}.get(kind, set())
            (of.add if on else of.discard)(name)
        found.append(State(t, _fed(grid, closed, gone), frozenset(faulted), frozenset(gone)))
    return found


def states_by_changes(grid: Grid, changes: Iterable[Any]) -> list[State]:
    """Return what holds from the time of each change of a run on, by what relays and conditions did, too.

    A branch with an open end joins nothing; one with a fault along it, or with open phases, does.
    """
    closed, faulted, gone = set(grid.closed), set[str](), set[str]()
    opened: dict[str, set[str]] = {}
    found = [State(0.0, _fed(grid, closed, gone), frozenset(), frozenset())]
    for change in changes:
        for device, name, value in change.parameters:
            if device in grid.branches and name == "status":
                (closed.add if value else closed.discard)(device)
            elif device in grid.branches and name in ("open_i", "open_j"):
                (opened.setdefault(device, set()).add if value else opened.setdefault(device, set()).discard)(
                    name
                )
            elif device in grid.buses and name == "fault":
                (faulted.add if value else faulted.discard)(device)
        gone = (gone - {*change.back}) | {*change.out}
        whole = {name for name in closed if not opened.get(name)}
        found.append(State(change.t, _fed(grid, whole, gone), frozenset(faulted), frozenset(gone)))
    return found


def times_of(events: Iterable[Any]) -> list[float]:
    """Return every time in s at which an event does something."""
    names = ("start", "clear", "reclose", "reconnect", "end")
    return sorted({t for event in events for name in names if (t := getattr(event, name, None)) is not None})


def _actions(grid: Grid, events: Iterable[Any]) -> Iterable[tuple[float, str, str, bool]]:
    for event in events:
        if isinstance(event, psmr.Fault):
            yield event.start, "fault", str(event.bus), True
            yield event.clear, "fault", str(event.bus), False
            if event.trip is not None:
                yield event.clear, "branch", event.trip, False
        elif isinstance(event, psmr.LineTrip):
            yield event.start, "branch", event.line, False
            if event.reclose is not None:
                yield event.reclose, "branch", event.line, True
        elif isinstance(event, psmr.GeneratorTrip):
            yield event.start, "gone", str(event.generator), True
        elif isinstance(event, psmr.LoadTrip) and event.fraction == 1.0:
            for motor in (name for name, bus in grid.motors.items() if bus == event.bus):
                yield event.start, "gone", motor, True


def _fed(grid: Grid, closed: set[str], gone: set[str]) -> tuple[frozenset[str], ...]:
    """Return the connected parts of the network with a source."""
    graph = networkx.Graph()
    graph.add_nodes_from(grid.buses)
    graph.add_edges_from(grid.branches[name] for name in sorted(closed))
    fed = {source.bus for source in grid.sources if source.name not in gone}
    parts = (frozenset(part) for part in networkx.connected_components(graph))
    return tuple(part for part in parts if part & fed)
