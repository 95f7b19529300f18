"""One case file: how far psmr gets with it, and what stops it."""

from __future__ import annotations

import resource
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psmr
from tests.internals import power_flow
from tests.programs.public.files import Item
from tests.programs.public.stored import distance, holds, is_solution, voltages, with_stored_set_points

FAULT = (0.1, 0.2)
"""When the bolted fault begins and ends, in s."""
LENGTH = 2.0
"""Length of a run in s."""
MET = 1e-3
"""Distance in pu at which a solution is the stored one."""
STEPS = ("read", "solve", "start", "fault")
"""What is tried with a file, one after another; a pair is solved as it starts."""
OPTIONS: dict[str, Any] = {"skip_unknown_models": True, "net_unmodelled": True, "loads": "impedance"}


@dataclass
class Result:
    """How far a file got; a step is empty where it was not tried, "yes", or what stopped it."""

    kind: str = ""
    file: str = ""
    dynamics: str = ""
    read: str = ""
    read_skipping: str = ""
    buses: int = 0
    solved: str = ""
    solved_within_limits: str = ""
    balanced: str = ""
    set_points: str = ""
    distance: float = float("nan")
    distance_within_limits: float = float("nan")
    distance_with_stored_set_points: float = float("nan")
    started: str = ""
    fault: str = ""
    fault_with_options: str = ""
    seconds: float = 0.0
    mib: float = 0.0
    died: str = ""

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Result:
        """Return the result of a row of a table, which has the fields as texts."""
        kinds = {column.name: type(column.default) for column in fields(cls)}
        return cls(**{name: kind(row[name]) for name, kind in kinds.items()})

    def meets(self) -> bool:
        """Say whether the solution is the stored one."""
        return self.distance <= MET

    @property
    def stopped(self) -> str:
        """What stopped the file first without any option; empty where nothing did."""
        steps = [self.died, self.read, self.solved, self.started, self.fault]
        return next((step for step in steps if step not in ("", "yes")), "")


COLUMNS = tuple(column.name for column in fields(Result))


def examine(item: Item, folder: Path, steps: int = len(STEPS)) -> Result:
    """Return how far psmr gets with a file in so many of `STEPS`."""
    began = time.perf_counter()
    result = Result(item.kind, *item.names(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if item.dynamics is None:
            _case(item, result, steps)
        else:
            _pair(item, result, steps)
    result.seconds = time.perf_counter() - began
    result.mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return result


def _tried(do: Callable[[], Any]) -> tuple[Any, str]:
    """Return (what a function returns, "yes"), or (None, the message of what it raised)."""
    try:
        return do(), "yes"
    except psmr.PsmrError as error:
        return None, str(error)
    except Exception as error:  # a defect of psmr: counted, not passed on
        return None, f"{type(error).__name__}: {error}"


def _case(item: Item, result: Result, steps: int) -> None:
    case, result.read = _tried(lambda: psmr.read_case(item.path))
    if case is None and item.kind != "MATPOWER":
        case, result.read_skipping = _tried(lambda: psmr.read_case(item.path, skip_unknown_models=True))
    if case is None:
        return
    result.buses = len(case.buses)
    if steps < 2:
        return
    stored, _ = _tried(lambda: voltages(item.path))
    result.balanced = "yes" if stored and is_solution(case, stored) else "no"
    stored = stored or {}
    result.set_points = "yes" if result.balanced == "yes" and holds(case, stored, MET) else "no"
    flow, result.solved = _tried(lambda: power_flow(case))
    if flow is not None:
        result.distance = distance(case, flow.voltage, stored)
    if result.balanced == "yes" and not result.meets():
        held, _ = _tried(lambda: power_flow(with_stored_set_points(case, stored), reactive_limits=False))
        if held is not None:
            result.distance_with_stored_set_points = distance(case, held.voltage, stored)
    if flow is None or not result.meets():
        flow, result.solved_within_limits = _tried(lambda: power_flow(case, reactive_limits=True))
        if flow is not None:
            result.distance_within_limits = distance(case, flow.voltage, stored)


def _pair(item: Item, result: Result, steps: int) -> None:
    case, result.read = _tried(lambda: psmr.read_case(item.path, item.dynamics))
    fault = steps >= 4
    if case is not None and steps < 3:
        result.buses = len(case.buses)
    elif case is not None:
        result.buses = len(case.buses)
        flow, result.solved = _tried(lambda: power_flow(case))
        if flow is not None:
            system, result.started = _tried(lambda: psmr.build(case, flow))
            if system is not None and fault:
                _, result.fault = _tried(lambda: _run(system, case))
    if fault and result.fault != "yes":
        _, result.fault_with_options = _tried(lambda: _with_options(item))


def _with_options(item: Item) -> None:
    """Run the fault with everything that a study can ask for so that it runs."""
    case = psmr.read_case(item.path, item.dynamics, **OPTIONS)
    try:
        flow = power_flow(case)
        system = psmr.build(case, flow, start_at_limits="adjust")
    except psmr.PsmrError:
        flow = power_flow(case, reactive_limits=True)
        system = psmr.build(case, flow, start_at_limits="adjust")
    _run(system, case)


def _run(system: psmr.System, case: psmr.Case) -> None:
    bus = fault_bus(case)
    events = [psmr.Fault(bus=bus, start=FAULT[0], clear=FAULT[1])]
    psmr.simulate(system, t_end=LENGTH, events=events, certify=False)


def fault_bus(case: psmr.Case) -> int:
    """Return the bus with the most branches in service; where there is one, without a generator."""
    count = Counter[int]()
    for row in (*case.lines, *case.transformers):
        if row.status:
            count.update((row.from_bus, row.to_bus))
    plain = set(count) - {row.bus for row in case.generators}
    among = plain or {bus.number for bus in case.buses}
    return min(among, key=lambda bus: (-count[bus], bus))
