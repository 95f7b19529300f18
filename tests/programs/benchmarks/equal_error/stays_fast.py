"""Where multirate pays: ``python -m tests.programs.benchmarks.equal_error.stays_fast [CASE:PLANTS ...]``.

Cost and error of `VariableStep` and fixed multirate schemes on cases with converters in full whose ripple
never ends. Costs are processor times of the run after its first 40 ms. Appends a round of rows
after another, from which ``python -m tests.programs.benchmarks.equal_error.map`` makes
docs/benchmarks/when-multirate-pays.md, and goes on where it was broken off.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import partitioning
import psmr
from tests.converter_plants import plants_in
from tests.programs.benchmarks.equal_error.measure import Bench, Entry
from tests.programs.benchmarks.equal_error.records import append, done

CASES = (
    ("new-england", 5),
    *(("case1354pegase", count) for count in (5, 1, 20, 100)),
    *(("case9241pegase", count) for count in (5, 1, 20, 100)),
)
SINGLE, HELD, MEAN, SCHUR, BOTH = (
    "VariableStep",
    "held, end",
    "held, mean",
    "Schur, end",
    "Schur, mean",
)
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
# Macro and fast step in s.
STEPS = ((0.02, 5e-4), (0.02, 2e-4), (0.01, 5e-4), (0.01, 2e-4), (0.005, 1e-4))
# Number of plants with which all schemes are compared, and not only the two that matter.
COMPARED = 5
BEFORE = 0.04
COUPLINGS = {
    HELD: {"interface": "held", "coupling": "end", "predictor": "TM"},
    MEAN: {"interface": "held", "coupling": "mean", "predictor": "TM"},
    SCHUR: {"interface": "schur", "coupling": "end"},
    BOTH: {"interface": "schur", "coupling": "mean"},
}
RIPPLE = "ripple"
# From this many variables on runs are shorter, and references looser.
HUGE = 20_000


def t_end_of(size: int) -> float:
    """Return the end of the runs in s."""
    return 0.54 if size < HUGE else 0.34


def entries(split: partitioning.Partition, size: int, count: int) -> list[Entry]:
    """Return what is measured; all couplings in few cases only."""
    families = (BOTH,) if count != COMPARED or size >= HUGE else tuple(COUPLINGS)
    found = [Entry(SINGLE, f"{tolerance:g}", psmr.VariableStep(tolerance)) for tolerance in TOLERANCES]
    for family in families:
        fixed = {
            "predictor": "extrapolation",
            "predict": "slow",
            "newton": "very dishonest",
            "tolerance": 1e-6,
        }
        for h_slow, h_fast in STEPS:
            scheme = psmr.Multirate.from_steps(split, h_slow, h_fast, **fixed | COUPLINGS[family])
            found.append(Entry(family, f"{1e3 * h_slow:g} and {1e3 * h_fast:g} ms", scheme))
    return found


def main() -> None:
    """Measure what is not yet measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance case1354pegase:5; all by default")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--rows", type=Path, required=True, help="file of the rounds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [(name, int(count)) for name, _, count in (c.partition(":") for c in arguments.cases)]
    for turn in range(arguments.rounds):
        for name, count in wanted or CASES:
            key = (name, float(count), RIPPLE)
            if len(done(arguments.rows).get(key, ())) != turn:
                continue
            began = time.process_time()
            plants = plants_in(name, count)
            system, split = plants.system, plants.partition()
            fast, size = int(split.fast_x.sum() + split.fast_y.sum()), system.n + system.m
            t_end = t_end_of(size)
            bench = Bench(system, plants.ripple(t_end), entries(split, size, count), BEFORE)
            if turn == 0:
                rows = list(bench.first_round(1e-6 if size < HUGE else 1e-5, plants.watched()))
            else:
                first = done(arguments.rows)[key][0]
                known = {(row.family, row.label) for row in first}
                rows = list(bench.further_round(known, backwards=turn % 2 == 1))
            append(arguments.rows, key, {"size": size, "fast": fast, "t_end": t_end}, rows)
            spent = time.process_time() - began
            print(f"{name}, {count} plants, round {turn + 1}: {len(rows)} runs, {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
