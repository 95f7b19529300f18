"""Which schemes are measured on which case, and how many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import partitioning
import psmr
from psmr.dae.system.system import System
from tests.benchmarks.equal_error.cases import START
from tests.benchmarks.equal_error.measure import Entry

FIXED = ("TM", "SDIRK2")
VARIABLE = {
    "TR-BDF2": (1e-2, 1e-3, 1e-4),
    "ESDIRK32": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    "ESDIRK43": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
}
# Those of cases with tens of thousands of variables.
OF_HUGE = {"TR-BDF2": (1e-3,), "ESDIRK32": (1e-2, 1e-3, 1e-4), "ESDIRK43": (1e-4, 1e-5)}
REFINED, TM, EXTRAPOLATED = "SelfAdjusting", "multirate TM", "multirate extrapolation"
REFINED_TOLERANCES = (1e-2, 1e-3, 1e-4)
# Macro steps in s, and how many small ones each has.
MACRO_STEPS, RATIO = {TM: (0.04, 0.02, 0.01), EXTRAPOLATED: (0.02, 0.005)}, 10
# Faster than this, in 1/s, is fast where no converters are.
DELTA = 20.0
IDA = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
SETUP, CLEARING, SECOND = "set-up", "to the clearing", "to 1 s after it"
# Variables from which a case is large, and from which it is very large.
LARGE, HUGE = 5_000, 20_000


def rounds_of(size: int) -> int:
    """Return how many rounds a system gets by its variables: the shorter a run the more it scatters."""
    return 3 if size < LARGE else 2 if size < HUGE else 1


def reference_of(size: int) -> float:
    """Return the tolerance of the run that errors are taken against: 1e-2 of the least measured, or less."""
    return 1e-9 if size < LARGE else 1e-8 if size < HUGE else 1e-7


def entries(size: int, kind: str, multirate: Sequence[Entry]) -> list[Entry]:
    """Return what is measured; fixed steps as cheap as they are, with a kept matrix.

    Very large cases have fewer tolerances and steps: those at which schemes are compared.
    """
    quiet, huge = kind == "quiet minute", size >= HUGE
    kept = {"newton": "very dishonest", "tolerance": 1e-7}
    found = [Entry(SETUP, "0.1", psmr.VariableStep(0.1), START / 50)]
    found += [
        Entry(method, f"{1e3 * h:g} ms", psmr.SingleRate(method, h, **kept))  # type: ignore[arg-type]
        for method in (FIXED[:1] if huge and quiet else FIXED)
        for h in fixed_steps(size, kind)
    ]
    found += [
        Entry(method, f"{tolerance:g}", psmr.VariableStep(tolerance, method))
        for method, tolerances in VARIABLE.items()
        for tolerance in tolerances
        if not huge or tolerance in OF_HUGE[method]
    ]
    found += [Entry(REFINED, f"{tol:g}", psmr.SelfAdjusting(tol)) for tol in REFINED_TOLERANCES[huge:]]
    found += [e for e in multirate if size < LARGE or _kept(e, size, kind)]
    if quiet:
        found += [
            Entry(name, f"{tolerance:g}", psmr.VariableStep(tolerance), t_end)
            for name, t_end in ((CLEARING, START + 0.1), (SECOND, START + 1.1))
            for tolerance in (1e-3, 1e-4)
        ]
    return found + [Entry("IDA", f"{tol:g}", tol) for tol in IDA[: 5 if size < LARGE else 3]]


def _kept(entry: Entry, size: int, kind: str) -> bool:
    """Return whether a fixed partition is measured on a large case: extrapolation behind a local fault."""
    if entry.family == EXTRAPOLATED:
        return kind == "local fault" and size < HUGE
    return kind != "quiet minute"


def fixed_steps(size: int, kind: str) -> Sequence[float]:
    """Return the fixed steps in s: fewer where a run of the shortest takes minutes."""
    fewer = {"local fault": 0, "severe fault": 1, "load step": 1, "quiet minute": 2}[kind]
    count = 4 if size < LARGE else (2 if fewer == 2 else 4) if size < HUGE else 3 - fewer
    return (0.02, 0.01, 0.005, 0.002)[:count]


def multirate(system: System) -> list[Entry]:
    """Return fixed partitions: the converters, or in a small case what is faster than 1/20 s.

    A large case without converters has nothing that stands out. Converters follow their voltages at once, so
    that a prediction by extrapolation runs away with the interface held (tests.benchmarks.predictors): with
    them it has their buses in the fast set, and the Schur interface.
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
        for family, steps in MACRO_STEPS.items()
        for h in steps
    ]
