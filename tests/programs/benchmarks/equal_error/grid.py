"""Which schemes are measured on which case, and how many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import partitioning
import psmr
from tests.disturbances import START
from tests.internals import System
from tests.programs.benchmarks.equal_error.measure import Entry, Ladder, Name

# Families with fixed steps, and their methods.
METHODS = {"TM": "TM", "SDIRK2": "SDIRK2", "ESDIRK32, fixed": "ESDIRK32"}
FIXED = tuple(METHODS)
# Fixed steps in s, and the macro steps of fixed partitions; those that come first, and then which are needed.
STEPS, FIRST = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4), 0.02
VARIABLE = {
    "TR-BDF2": (1e-2, 1e-3, 1e-4),
    "ESDIRK32": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    "ESDIRK43": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
}
# Those of cases with tens of thousands of variables.
OF_HUGE = {"TR-BDF2": (1e-3,), "ESDIRK32": (1e-2, 1e-3, 1e-4), "ESDIRK43": (1e-4, 1e-5)}
TM, EXTRAPOLATED = "multirate TM", "multirate extrapolation"
# Macro steps in s of those that predict by extrapolation, and how many small ones each macro step has.
MACRO_STEPS, RATIO = (0.02, 0.005), 10
# Faster than this, in 1/s, is fast where no converters are.
DELTA = 20.0
IDA, IDA_FIRST = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1e-3
SETUP, CLEARING, SECOND, LATER = "set-up", "to the clearing", "to 1 s after it", "to 2 min after it"
# Tolerances of `VariableStep` at whose errors schemes are compared.
LOOSE, TIGHT = 1e-3, 1e-4
# Variables from which a case is large, and from which it is very large.
LARGE, HUGE = 5_000, 20_000


def own(tolerance: float) -> Name:
    """Return the family and label of `VariableStep(tolerance)`."""
    return psmr.VariableStep(tolerance).name, f"{tolerance:g}"


def rounds_of(size: int) -> int:
    """Return how many rounds a system gets by its variables: the shorter a run the more it scatters."""
    return 7 if size < LARGE else 5 if size < HUGE else 3


def once(size: int) -> float:
    """Return the s from which a run is measured once only, where a system has so many variables."""
    return 3.0 if size >= HUGE else 1.0


def most(size: int) -> float:
    """Return how many times the cost of `VariableStep` is the most that is spent to reach its error."""
    return 10.0 if size < HUGE else 5.0


def reference_of(size: int) -> float:
    """Return the tolerance of the run that errors are taken against: 1e-2 of the least measured, or less."""
    return 1e-9 if size < LARGE else 1e-8 if size < HUGE else 1e-7


def entries(size: int, kind: str, multirate: Sequence[Entry]) -> list[Entry]:
    """Return what is measured in any case.

    Very large cases have fewer tolerances: those at which schemes are compared.
    """
    quiet, huge = kind == "quiet minute", size >= HUGE
    found = [Entry(SETUP, "0.1", psmr.VariableStep(0.1), START / 50)]
    for method, tolerances in VARIABLE.items():
        for tolerance in tolerances:
            if huge and tolerance not in OF_HUGE[method]:
                continue
            found.append(Entry(method, f"{tolerance:g}", psmr.VariableStep(tolerance, method)))
    if quiet:
        found += [
            Entry(name, f"{tolerance:g}", psmr.VariableStep(tolerance), t_end)
            for name, t_end in ((CLEARING, START + 0.1), (SECOND, START + 1.1), (LATER, START + 120.1))
            for tolerance in (LOOSE, TIGHT)
        ]
        return found
    extrapolated = [entry for entry in multirate if entry.family == EXTRAPOLATED]
    if size < LARGE or (kind == "local fault" and not huge):
        found += extrapolated
        found += [fixed("TM", FIRST / RATIO) for _ in extrapolated[:1]]
    return found


def fixed(family: str, h: float) -> Entry:
    """Return a fixed step in s as cheap as it is, with a kept matrix."""
    scheme = psmr.SingleRate(METHODS[family], h, newton="very dishonest", tolerance=1e-7)
    return Entry(family, f"{1e3 * h:g} ms", scheme)


def ladders(size: int, kind: str, multirate: Sequence[Entry]) -> list[Ladder]:
    """Return steps and tolerances, of which those with the errors of `VariableStep` are measured."""
    loose, tight = own(LOOSE), own(TIGHT)
    found = [
        Ladder([fixed(family, h) for h in STEPS], STEPS.index(FIRST), loose, tight, most(size))
        for family in FIXED
    ]
    rungs = [entry for entry in multirate if entry.family == TM]
    if rungs and (size < LARGE or kind != "quiet minute"):
        found.append(Ladder(rungs, STEPS.index(FIRST), loose, loose, most(size)))
    tolerances = [Entry("IDA", f"{tol:g}", tol) for tol in IDA]
    return [*found, Ladder(tolerances, IDA.index(IDA_FIRST), loose, tight, most(size))]


def multirate(system: System) -> list[Entry]:
    """Return fixed partitions: the converters, or in a small case what is faster than 1/20 s.

    A large case without converters has nothing that stands out. Converters follow their voltages at once, so
    that a prediction by extrapolation runs away with the interface held
    (tests.programs.benchmarks.predictors): with them it has their buses in the fast set, and the Schur
    interface.
    """
    kept: dict[str, Any] = {"newton": "very dishonest", "tolerance": 1e-7}
    devices = {name.partition(".")[0] for name in system.names_x if name.endswith(".x_pll")}
    how: dict[str, Any] = {"interpolation": "spline"}
    if devices:
        feeds = {d.name: d.connections.get("v_re", "").partition(".")[0] for d in system.devices}
        linear = system.linearise()
        split = partitioning.by_device(linear, sorted(devices))
        with_buses = partitioning.by_device(linear, sorted(devices | {feeds[name] for name in devices}))
        how = {"predict": "slow", "interface": "schur", "coupling": "mean"}
    elif system.n + system.m < LARGE:
        split = with_buses = partitioning.by_participation(system.linearise(), DELTA)
    else:
        return []
    schemes = {
        TM: lambda h: psmr.Multirate(split, h, RATIO, "TM", **kept),
        EXTRAPOLATED: lambda h: psmr.Multirate(with_buses, h, RATIO, "extrapolation", **how, **kept),
    }
    return [
        Entry(family, f"{1e3 * h:g} and {1e3 * h / RATIO:g} ms", schemes[family](h))
        for family, steps in ((TM, STEPS), (EXTRAPOLATED, MACRO_STEPS))
        for h in steps
    ]
