"""Two rates around a dynamic region: ``python -m tests.programs.benchmarks.dynamic_regions [PLANTS ...]``.

1,354 buses with converters in full whose ripple never ends, the network within 0, 1 and 2 branches of them
dynamic. Prints the rows of a table in docs/benchmarks/dynamic-regions.md: processor time of a run of 1 s with
its set-up, and the largest error at instants 20 ms apart of what is watched and of all variables.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import partitioning
import psmr
from tests.converter_plants import plants_in
from tests.programs.benchmarks.equal_error.measure import Bench, Entry, cost_at, medians

T_END = 1.0
REFERENCE = 1e-6
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4)
# Macro and fast step in s.
STEPS = ((0.02, 4e-4), (0.02, 2e-4), (0.02, 1e-4), (0.01, 2e-4), (0.01, 1e-4))
ROUNDS = 2
# Buses from the transformers at bus 54 to the two generators next to them, whose stators take part in a
# resonance there: with phasors for stators it grows, at 2.6 + 821j 1/s.
GENERATORS = (279, 669, 351, 492)
# A generator next to the region whose field and exciter follow the ripple, with the buses between.
NEIGHBOURS = ("G713", "AVR713", "bus713", "bus1283")
# Plants, branches, buses beyond them, further devices in the fast set.
REGIONS: tuple[tuple[int, int, tuple[int, ...], tuple[str, ...]], ...] = (
    *((1, branches, (), ()) for branches in (0, 1, 2)),
    (1, 2, GENERATORS, ()),
    (1, 2, GENERATORS, NEIGHBOURS),
    *((5, branches, (), ()) for branches in (0, 1)),
)
SINGLE, TWO = "VariableStep", "two rates"


def entries(split: partitioning.Partition) -> list[Entry]:
    """Return what is measured."""
    found = [Entry(SINGLE, f"{tolerance:g}", psmr.VariableStep(tolerance)) for tolerance in TOLERANCES]
    for h_slow, h_fast in STEPS:
        scheme = psmr.Multirate.from_steps(
            *(split, h_slow, h_fast),
            **{
                "predictor": "extrapolation",
                "predict": "slow",
                "newton": "very dishonest",
                "tolerance": 1e-5,
            },
        )
        found.append(Entry(TWO, f"{1e3 * h_slow:g} and {1e3 * h_fast:g} ms", scheme))
    return found


def table(count: int) -> Iterator[str]:
    """Yield the rows of the table for a number of plants."""
    for _, branches, beyond, neighbours in (row for row in REGIONS if row[0] == count):
        plants = plants_in("case1354pegase", count, within=branches, beyond=beyond)
        system, split = plants.system, plants.partition(*neighbours)
        fast = int(split.fast_x.sum() + split.fast_y.sum())
        bench = Bench(system, plants.ripple(T_END), entries(split))
        measured = medians(bench, ROUNDS, REFERENCE, plants.watched())
        region = f"{branches}{', stators' * bool(beyond)}{', neighbour' * bool(neighbours)}"
        for row in measured:
            print(f"    {row}", file=sys.stderr, flush=True)
            if row.family != TWO:
                continue
            single, mark = cost_at(measured, SINGLE, row.largest_watched, "largest_watched")
            yield (
                f"| {count} | {region} | {system.n + system.m:,} | {fast} | {row.label} |"
                f" {row.largest_watched:.1e} | {row.largest:.1e} | {row.seconds:.3f} | {mark}{single:.2f} |"
                f" {mark}{single / row.seconds:.0f} |"
            )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    for count in map(int, sys.argv[1:] or ("1", "5")):
        for line in table(count):
            print(line, flush=True)


if __name__ == "__main__":
    main()
