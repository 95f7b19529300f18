"""Coupling and interface of a fixed partition: ``python -m tests.programs.benchmarks.couplings [CASE ...]``.

CASE is one of those of `CASES` below. Prints a line for each case, predictor and macro step: root of the mean
square of the errors of all variables and processor time with each coupling and interface, medians of three.
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from collections.abc import Callable, Mapping

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import partitioning
import psmr
from tests.converter_plants import plants_in
from tests.disturbances import CASES as FOLDER
from tests.disturbances import Disturbance, local_fault, system_of
from tests.internals import System
from tests.programs.benchmarks.equal_error.measure import measure

Setting = tuple[System, Disturbance, partitioning.Partition]

PREDICTORS = ("TM", "extrapolation")
PAIRS = tuple(itertools.product(("held", "schur"), ("end", "mean")))
RATIO = 10
MACRO_STEPS = (0.02, 0.01, 0.005)


def plants(rippling: bool) -> Setting:
    """Return New England with five plants in full that ripple, or that meet a fault."""
    found = plants_in("new-england", 5)
    event = found.ripple(0.54) if rippling else local_fault(found.system, 0)
    return found.system, event, found.partition()


def converters(name: str) -> Setting:
    """Return WSCC-9 with converters; what is faster than 1/20 s is fast."""
    system = psmr.build(psmr.read_case(FOLDER / "wscc9" / f"wscc9-{name}.toml"))
    return system, local_fault(system, 0), partitioning.by_participation(system.linearise(), 20.0)


def machines(name: str) -> Setting:
    """Return a system of machines; what is faster than 1/20 s is fast."""
    system, bus = system_of(name, 0.0)
    return system, local_fault(system, bus), partitioning.by_participation(system.linearise(), 20.0)


def large() -> Setting:
    """Return 1,354 buses with 60 % converters; these are fast, and their buses."""
    system, bus = system_of("case1354pegase", 0.6)
    feeds = {d.name: d.connections.get("v_re", "").partition(".")[0] for d in system.devices}
    fast = {name.partition(".")[0] for name in system.names_x if name.endswith(".x_pll")}
    fast |= {feeds[name] for name in fast}
    return system, local_fault(system, bus), partitioning.by_device(system.linearise(), sorted(fast))


CASES: Mapping[str, Callable[[], Setting]] = {
    "New England, five plants, ripple": lambda: plants(True),
    "New England, five plants, fault": lambda: plants(False),
    "WSCC-9, following converters": lambda: converters("ibr"),
    "WSCC-9, forming converter": lambda: converters("gfm"),
    "Kundur": lambda: machines("kundur"),
    "New England": lambda: machines("new-england"),
    "1,354 buses, converters 0.6": large,
}


def main() -> None:
    """Measure the cases named, or all."""
    warnings.simplefilter("ignore")
    print(
        "| case | predictor | macro step |", *(f"{interface}, {coupling} |" for interface, coupling in PAIRS)
    )
    for name in sys.argv[1:] or CASES:
        system, event, split = CASES[name]()
        schemes = [
            (
                f"{predictor}, {h:g}, {interface}, {coupling}",
                psmr.Multirate(
                    split,
                    h,
                    RATIO,
                    predictor,
                    predict="slow" if predictor == "extrapolation" else "all",
                    coupling=coupling,
                    interface=interface,
                    newton="very dishonest",
                    tolerance=1e-7,
                ),
            )
            for predictor in PREDICTORS
            for h in MACRO_STEPS
            for interface, coupling in PAIRS
        ]
        found = {row.family: row for row in measure(system, event, schemes, 3)}
        for predictor in PREDICTORS:
            for h in MACRO_STEPS:
                rows = [found.get(f"{predictor}, {h:g}, {a}, {b}") for a, b in PAIRS]
                shown = ("fails |" if r is None else f"{r.rms:.1e}, {1e3 * r.seconds:.0f} ms |" for r in rows)
                print(f"| {name} | {predictor} | {1e3 * h:g} ms |", *shown, flush=True)


if __name__ == "__main__":
    main()
