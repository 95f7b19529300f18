"""What prediction by extrapolation saves: ``python -m tests.programs.benchmarks.predictors [CASE ...]``.

CASE is wscc9, npcc_full or case1354pegase. Prints cost and error of fixed partitions with each predictor over
the macro step, and of a single rate; costs are processor times, interleaved, the median.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import partitioning
import psmr
from tests.disturbances import CASES, local_fault, severe_fault, system_of
from tests.internals import Scheme, System
from tests.programs.benchmarks.equal_error.measure import Measured, measure, ratio

# (predictor, interpolation, predict) of the families.
PAIRS = (
    ("TM", "linear", "all"),
    ("TM", "spline", "all"),
    ("extrapolation", "linear", "all"),
    ("extrapolation", "spline", "all"),
    ("extrapolation", "linear", "slow"),
    ("extrapolation", "spline", "slow"),
)
RATIO = 10
MACRO_STEPS = (0.04, 0.02, 0.01, 0.005)
ERRORS = (3e-3, 1e-3, 3e-4)


def case_of(name: str) -> tuple[System, int, partitioning.Partition]:
    """Return a system, the bus of a severe fault and the partition: faster than 1/20 s, or the converters."""
    if name == "wscc9":
        system, bus = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-ibr.toml")), 7
        return system, bus, partitioning.by_participation(system.linearise(), 20.0)
    system, bus = system_of(name, 0.5 if "pegase" in name else 0.0)
    linear = system.linearise()
    if "pegase" not in name:
        return system, bus, partitioning.by_participation(linear, 20.0)
    devices = {name.split(".")[0] for name in system.names_x if name.endswith(".x_pll")}
    return system, bus, partitioning.by_device(linear, sorted(devices))


def schemes(split: partitioning.Partition) -> list[tuple[str, Scheme]]:
    """Return the schemes with their families, all with a kept matrix."""
    kept = {"newton": "very dishonest", "tolerance": 1e-7}
    held = {"coupling": "end", "interface": "held", **kept}
    found: list[tuple[str, Scheme]] = [
        ("single TM", psmr.SingleRate("TM", part * h, **kept))  # type: ignore[arg-type]
        for h in MACRO_STEPS
        for part in (0.1, 1.0)
    ]
    return found + [
        (
            f"{predictor}, {interpolation}, {predict}",
            psmr.Multirate(split, h, RATIO, predictor, interpolation=interpolation, predict=predict, **held),
        )
        for predictor, interpolation, predict in PAIRS
        for h in MACRO_STEPS
    ]


def table(name: str, kind: str, rows: list[Measured], by: str) -> None:
    """Print how many times more the other families cost than the one at the head of each line."""
    for predictor, interpolation, predict in PAIRS[2:]:
        own = f"{predictor}, {interpolation}, {predict}"
        for error in ERRORS:
            against = [f"TM, {kind}, all" for kind in ("linear", "spline")]
            print(
                f"{name} {kind}: {own} at {by} {error:g}: TM prediction costs "
                f"{ratio(rows, against, own, error, by)}, single rate "
                f"{ratio(rows, ['single TM'], own, error, by)}"
            )


def main() -> None:
    """Measure the cases named, or all."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or ("wscc9", "npcc_full", "case1354pegase"):
        system, bus, split = case_of(name)
        fast = int(split.fast_x.sum()), int(split.fast_y.sum())
        print(f"\n{Path(name).stem}: {system.n} states, {system.m} algebraic, of which {fast} fast")
        for kind, event in (("local fault", local_fault), ("severe fault", severe_fault)):
            rows = measure(system, event(system, bus), schemes(split), 3)
            for row in rows:
                print(
                    f"{row.family:24} {row.label[-60:]:60} {row.seconds:8.3f} s  all {row.rms:.1e} "
                    f"{row.largest:.1e}  watched {row.rms_watched:.1e} {row.largest_watched:.1e}",
                    flush=True,
                )
            table(name, kind, rows, "largest_watched")
            table(name, kind, rows, "rms")


if __name__ == "__main__":
    main()
