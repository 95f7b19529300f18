"""Random lists of events that put verdicts to the test: islands and back, long faults, lost plants."""

from __future__ import annotations

import functools
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx
import numpy as np

import psmr
from psmr.errors import InputError
from tests.internals import System, schedule, with_event_devices
from tests.programs.robustness import systems
from tests.programs.verdicts.network import Grid, grid_of

MOTOR = """
[[load]]
name = "motor8"
bus = 8
p_mw = 20.0
q_mvar = 10.0
model = "motor"
[load.motor]
type = "InductionMotor"
s_n = 25.0
r_s = 0.031
x_s = 0.1
x_m = 3.2
r_r = 0.018
x_r = 0.18
h = 0.3
torque_a = 0.0
torque_b = 0.0
"""
"""A motor with constant torque beside the load of bus 8, which a fault of 200 ms stalls."""

CASES = (
    *("wscc9", "wscc9-motor", "wscc9-gfm", "wscc9-ibr", "wscc9-renewable", "sauer-pai", "kundur", "dc"),
    *("thyristor", "manual-dyr", "microgrid", "new-england", "new-england-dyr"),
)

KINDS = {"fault": 0.32, "line": 0.22, "generator": 0.12, "load": 0.16, "ramp": 0.08, "set-point": 0.06}
KINDS["shunt"] = 1.0 - sum(KINDS.values())


@dataclass(frozen=True)
class Task:
    """One list of events on one case."""

    case: str
    number: int
    events: tuple[Any, ...]
    t_end: float

    def __str__(self) -> str:
        return f"{self.case} {self.number}, to {self.t_end:g} s: {list(self.events)}"


@functools.cache
def system_of(name: str) -> System:
    """Return the system of a case at its equilibrium."""
    if name != "wscc9-motor":
        return systems.load(name)[1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wscc9-motor.toml"
        path.write_text(psmr.case_path("wscc9").read_text() + MOTOR)
        return psmr.build(psmr.read_case(path))


def tasks(count: int, seed: int) -> Iterator[Task]:
    """Yield random legal lists, the cases in turn; a list follows from case, seed and number alone."""
    for k in range(count):
        yield task_of(CASES[k % len(CASES)], seed, k // len(CASES))


def task_of(name: str, seed: int, number: int) -> Task:
    """Return one list: every fourth parts the network and joins it again, every fifth goes on for longer."""
    random = np.random.default_rng([seed, number, zlib.crc32(name.encode())])
    system = system_of(name)
    grid, t_end = grid_of(system), 30.0 if number % 5 == 4 else 10.0
    events: list[Any] = []
    if number % 4 == 3:
        events = next(filter(functools.partial(_legal, system, t_end), _partings(random, grid)), [])
    for _ in range(int(random.integers(0 if events else 1, 4))):
        for _ in range(20):
            drawn = _draw(random, system, grid)
            if drawn is not None and _legal(system, t_end, [*events, drawn]):
                events.append(drawn)
                break
    return Task(name, number, tuple(events), t_end)


def _legal(system: System, t_end: float, events: list[Any]) -> bool:
    """Return whether `simulate` accepts some events."""
    try:
        schedule(with_event_devices(system, events), events, t_end)
    except InputError:
        return False
    return True


def _partings(random: np.random.Generator, grid: Grid) -> Iterator[list[Any]]:
    """Yield some ways to open all branches around a part of the network, and to close one or all again."""
    joined = networkx.MultiGraph()
    joined.add_edges_from((*grid.branches[name], name) for name in sorted(grid.closed))
    for _ in range(20):
        part = {str(random.choice(grid.buses))}
        for _ in range(int(random.integers(1, len(grid.buses) // 2 + 1))):
            around = sorted({bus for inside in part for bus in joined.neighbors(inside)} - part)
            part.add(str(random.choice(around)))
        cut = sorted(name for *ends, name in joined.edges(keys=True) if len(part & {*ends}) == 1)
        start = round(float(random.uniform(0.2, 1.0)), 3)
        again = round(start + float(np.exp(random.uniform(np.log(0.05), np.log(6.0)))), 3)
        every = random.random() < 0.5
        yield [
            psmr.LineTrip(name, start, again if every or name == cut[0] else None)
            for name in cut
            if len(cut) <= 6
        ]


def _draw(random: np.random.Generator, system: System, grid: Grid) -> Any:
    """Return one random event, legal or not; None where the case has nothing of that kind."""

    def number(low: float, high: float) -> float:
        return round(float(random.uniform(low, high)), 3)

    def after(t: float, low: float, high: float) -> float:
        return round(t + float(np.exp(random.uniform(np.log(low), np.log(high)))), 3)

    kind, start = str(random.choice(list(KINDS), p=list(KINDS.values()))), number(0.1, 2.0)
    bus, branch = str(random.choice(grid.buses)), str(random.choice(sorted(grid.closed)))
    coin = bool(random.random() < 0.5)
    if kind == "fault":
        trip = branch if coin else None
        at = str(random.choice(grid.branches[branch])) if coin else bus
        x = 1e-4 if random.random() < 0.6 else number(0.001, 0.3)
        return psmr.Fault(at, start, after(start, 0.03, 0.8), trip=trip, x=x)
    if kind == "line":
        return psmr.LineTrip(branch, start, after(start, 0.05, 5.0) if coin else None)
    if kind == "generator":
        names = [source.name for source in grid.sources] + sorted(grid.followers)
        return psmr.GeneratorTrip(str(random.choice(names)), start)
    if kind == "load":
        fraction = 1.0 if random.random() < 0.3 else number(0.1, 1.0)
        return psmr.LoadTrip(bus, start, fraction, after(start, 0.05, 5.0) if coin else None)
    if kind == "ramp":
        return psmr.LoadRamp(bus, start, after(start, 0.1, 5.0), number(0.0, 2.0))
    if kind == "set-point":
        place = int(random.integers(len(system.names_u)))
        device, _, name = system.names_u[place].rpartition(".")
        return psmr.SetPoint(device, name, float(system.u0[place]) * number(0.8, 1.2), start)
    shunts = [device.name for device in system.devices if device.component.__name__ == "Shunt"]
    return psmr.ShuntSwitch(str(random.choice(shunts)), start, on=coin) if shunts else None
