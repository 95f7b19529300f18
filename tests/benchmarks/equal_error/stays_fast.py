"""Where multirate pays: plants that stay fast. ``python -m tests.benchmarks.equal_error.stays_fast``.

Prints cost and error of `VariableStep`, fixed multirate schemes and `SelfAdjusting` on cases with converters
in full whose ripple never ends. Costs are processor times of the run behind its first 40 ms; ``--save FILE``
keeps the rows, from which ``tests/benchmarks/equal_error/map.py`` makes docs/when-multirate-pays.md.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import psmr
from psmr.numerics.schemes.scheme import Scheme
from tests.benchmarks.equal_error.measure import Measured, measure, ratio
from tests.benchmarks.equal_error.plants import Plants, plants_in

CASES = (
    ("new-england", 5),
    *(("case1354pegase", count) for count in (1, 5, 20, 100)),
    *(("case9241pegase", count) for count in (1, 5, 20, 100)),
)
SINGLE, REFINED, HELD, MEAN, SCHUR, BOTH = (
    "VariableStep",
    "SelfAdjusting",
    "held, end",
    "held, mean",
    "Schur, end",
    "Schur, mean",
)
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
REFINED_TOLERANCES = (1e-2, 1e-3, 1e-4)
# Macro and fast step in s.
STEPS = ((0.02, 5e-4), (0.02, 2e-4), (0.01, 5e-4), (0.01, 2e-4), (0.005, 1e-4))
REFERENCE = 1e-6
BEFORE = 0.04
COUPLINGS = {
    HELD: {"interface": "held", "coupling": "end", "predictor": "TM"},
    MEAN: {"interface": "held", "coupling": "mean", "predictor": "TM"},
    SCHUR: {"interface": "schur", "coupling": "end"},
    BOTH: {"interface": "schur", "coupling": "mean"},
}


def schemes(plants: Plants, families: list[str], tolerances: list[float]) -> list[tuple[str, Scheme]]:
    """Return the schemes with their families; `VariableStep` with the tolerances given."""
    split = plants.partition()
    found: list[tuple[str, Scheme]] = []
    if SINGLE in families:
        found += [(SINGLE, psmr.VariableStep(tolerance)) for tolerance in tolerances]
    if REFINED in families:
        found += [(REFINED, psmr.SelfAdjusting(tolerance)) for tolerance in REFINED_TOLERANCES]
    for family, choices in COUPLINGS.items():
        if family not in families:
            continue
        for h_slow, h_fast in STEPS:
            fixed = {
                "predictor": "extrapolation",
                "predict": "slow",
                "newton": "very dishonest",
                "tolerance": 1e-6,
            } | choices
            found.append((family, psmr.Multirate.from_steps(split, h_slow, h_fast, **fixed)))
    return found


def gains(rows: list[Measured], by: str) -> dict[str, str]:
    """Return what `VariableStep` costs over each other family at the errors that this one has."""
    families = dict.fromkeys(row.family for row in rows if row.family != SINGLE)
    return {
        family: ", ".join(
            f"{ratio(rows, [SINGLE], family, getattr(row, by), by)} at {getattr(row, by):.1e}"
            for row in sorted(rows, key=lambda row: -getattr(row, by))
            if row.family == family
        )
        for family in families
    }


def main() -> None:
    """Measure, and print a table a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance case1354pegase:5; all by default")
    parser.add_argument("--families", nargs="*", default=[SINGLE, REFINED, *COUPLINGS])
    parser.add_argument("--tolerances", type=float, nargs="*", default=list(TOLERANCES))
    parser.add_argument("--reference", type=float, default=REFERENCE)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--t-end", type=float, default=0.5)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [(name, int(count)) for name, _, count in (c.partition(":") for c in arguments.cases)]
    for name, count in wanted or CASES:
        plants = plants_in(name, count)
        system, split = plants.system, plants.partition()
        fast, size = int(split.fast_x.sum() + split.fast_y.sum()), system.n + system.m
        print(f"\n{name}, {count} plants: {size} variables, {fast} fast, {arguments.t_end:g} s", flush=True)
        rows = measure(
            system,
            plants.ripple(arguments.t_end),
            schemes(plants, arguments.families, arguments.tolerances),
            (),
            arguments.repeats,
            arguments.reference,
            plants.watched(),
            BEFORE,
        )
        for row in rows:
            print(
                f"{row.family:14} {row.label[-88:]:88} {row.steps:6d} {row.seconds:8.4f} s  "
                f"all {row.rms:.1e} {row.largest:.1e}  watched {row.rms_watched:.1e} "
                f"{row.largest_watched:.1e}",
                flush=True,
            )
        for by in ("rms_watched", "largest_watched"):
            for family, words in gains(rows, by).items():
                print(f"{SINGLE} / {family}, {by}: {words}", flush=True)
        if arguments.save:
            record = {"case": name, "plants": count, "size": size, "fast": fast}
            with arguments.save.open("a") as file:
                file.write(json.dumps(record | {"rows": [vars(row) for row in rows]}) + "\n")


if __name__ == "__main__":
    main()
