"""What is measured on a case: psmr's methods with tolerances and steps, IDA in C and as users get it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psmr
from tests.disturbances import Disturbance, instants, values_at
from tests.internals import Scheme, System, integrate
from tests.programs.benchmarks.against_ida import compiled_ida
from tests.programs.benchmarks.equal_error.grid import TM, multirate

# Families, as figures and tables call them.
OWN, BDF = "VariableStep", 'VariableStep(method="BDF")'
STEP, MULTIRATE = "best fixed step", "multirate"
ALL, STATES = "IDA in C", "IDA in C, states in the error test alone"
WRAPPED = "IDA through Python"
ANDES = "ANDES"
SETUP = "set-up"

TOLERANCES = {
    OWN: (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    BDF: (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
    ALL: (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    STATES: (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
    WRAPPED: (1e-3, 1e-4, 1e-5),
}
# Fixed steps in s, and the methods of which the better one counts at each error.
STEPS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
METHODS = ("TM", "SDIRK2")
# Cases with more variables get one tolerance less at the tight end and no step below 10 ms.
LARGE = 10_000
# A run without events to this time in s is the set-up.
AT_ONCE = 0.01


@dataclass(frozen=True)
class Rival:
    """A family with one of its tolerances or steps.

    `what`: A scheme, options of IDA in C, or a tolerance of IDA through Python.
    `t_end`: End in s where it is not that of the disturbance: then only the cost counts, and no event comes.
    """

    family: str
    label: str
    what: Scheme | compiled_ida.Options | float
    t_end: float | None = None


def rivals(system: System, every: bool) -> Iterator[Rival]:
    """Yield what is measured: `every` family, or `VariableStep` and IDA in C alone, which takes less time."""
    large = system.n + system.m > LARGE
    yield Rival(SETUP, "1e-2", psmr.VariableStep(1e-2), AT_ONCE)
    for tolerance in TOLERANCES[OWN][: -1 if large else None]:
        yield Rival(OWN, f"{tolerance:g}", psmr.VariableStep(tolerance))
    for tolerance in TOLERANCES[BDF][: -1 if large else None] if has_bdf() else ():
        yield Rival(BDF, f"{tolerance:g}", psmr.VariableStep(tolerance, "BDF"))
    for family, alone in ((ALL, False), (STATES, True)):
        for tolerance in TOLERANCES[family][: -1 if large else None]:
            yield Rival(family, f"{tolerance:g}", compiled_ida.Options(tolerance, alone))
    if not every:
        return
    for tolerance in TOLERANCES[WRAPPED]:
        yield Rival(WRAPPED, f"{tolerance:g}", tolerance)
    steps = [h for h in STEPS if h >= 0.01 or not large]
    for method in METHODS:
        for h in steps:
            scheme = psmr.SingleRate(method, h, newton="very dishonest", tolerance=1e-7)
            yield Rival(STEP, f"{method} {1e3 * h:g} ms", scheme)
    for entry in multirate(system) if not large else ():
        if entry.family == TM and isinstance(entry.what, psmr.Multirate) and entry.what.h_slow in STEPS[:4]:
            yield Rival(MULTIRATE, entry.label, entry.what)


def has_bdf() -> bool:
    """Return whether this version has the method."""
    try:
        psmr.VariableStep(1e-3, "BDF")
    except psmr.PsmrError:
        return False
    return True


@dataclass(frozen=True)
class Outcome:
    """What a run took and found: seconds, those of events outside of them, work, values at the instants."""

    seconds: float
    events: float
    counts: dict[str, int]
    values: Any = None


def outcome(rival: Rival, system: System, what: Disturbance, prefix: Path | None, values: bool) -> Outcome:
    """Run a rival; with `values` they are taken at the instants, else the run stores what it always does."""
    t_end = what.t_end if rival.t_end is None else rival.t_end
    changes = tuple(change for change in what.changes if change.t < t_end)
    times, clock = instants(what) if values else None, time.process_time
    if isinstance(rival.what, compiled_ida.Options):
        ended = compiled_ida.run(system, changes, rival.what, t_end, times, prefix)
        return Outcome(ended.march, ended.events, ended.counts, ended.values)
    if isinstance(rival.what, float):
        from tests.peers.ida import IdaRun

        began = clock()
        run = IdaRun(system, changes, rival.what)
        found = run.run(t_end, instants(what))
        return Outcome(clock() - began, 0.0, {"residuals": run.residuals}, found)
    began = clock()
    done = integrate(system, rival.what, t_end, changes)
    seconds = clock() - began
    c = done.counters
    counts = {
        "steps": int(c.steps),
        "error failures": int(c.rejected),
        "residuals": int(sum(c.residuals.values())),
        "factorisations": int(sum(c.factorisations_by_role.values())),
        "solves": int(sum(c.solves.values())),
    }
    return Outcome(seconds, 0.0, counts, values_at(system, what, done, times) if values else None)
