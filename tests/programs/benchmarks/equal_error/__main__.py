"""Work against precision: ``python -m tests.programs.benchmarks.equal_error [CASE[:CONVERTERS] ...]``.

The first round finds which fixed steps and tolerances have the errors of `VariableStep`. Further ones take
the costs anew, every second one from the last to the first, so that none always follows the same run.

Appends a round of rows after another to docs/figures/performance.jsonl, and goes on where it was broken off;
``python -m tests.programs.benchmarks.equal_error.page`` writes docs/benchmarks/performance.md from them. One
thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.disturbances import ALL, DISTURBANCES, system_of, title
from tests.programs.benchmarks.equal_error.grid import (
    entries,
    ladders,
    multirate,
    once,
    reference_of,
    rounds_of,
)
from tests.programs.benchmarks.equal_error.measure import Bench
from tests.programs.benchmarks.equal_error.page import ROWS
from tests.programs.benchmarks.equal_error.records import append, done


def main() -> None:
    """Measure what is not yet measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance kundur or case1354pegase:0.6; all by default")
    parser.add_argument("--disturbances", nargs="*", default=list(DISTURBANCES))
    parser.add_argument(
        "--rounds", type=int, help="by default 7, 5 or 3, for small, large and very large systems"
    )
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--files", type=Path, help="folder with the RAW and DYR files of WECC 240")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    named = [(name, float(share or 0)) for name, _, share in (c.partition(":") for c in arguments.cases)]
    wanted = [case for case in named or ALL if case[0] != "wecc240" or arguments.files]
    for turn in range(arguments.rounds or rounds_of(0)):
        for name, share in wanted:
            case(arguments, name, share, turn)


def case(arguments: argparse.Namespace, name: str, share: float, turn: int) -> None:
    """Measure one round of one case."""
    open_kinds = [
        kind
        for kind in arguments.disturbances
        if len(done(arguments.rows).get((name, share, kind), ())) == turn
    ]
    if not open_kinds:
        return
    system, bus = system_of(name, share, arguments.files)
    size = system.n + system.m
    if turn >= (arguments.rounds or rounds_of(size)):
        return
    partitioned = multirate(system)
    for kind in open_kinds:
        began = time.process_time()
        bench = Bench(
            system,
            DISTURBANCES[kind](system, bus),
            entries(size, kind, partitioned),
            ladders=ladders(size, kind, partitioned),
        )
        if turn == 0:
            rows = list(bench.first_round(reference_of(size)))
        else:
            first = done(arguments.rows)[name, share, kind][0]
            short = {(row.family, row.label) for row in first if 0.0 < row.seconds < once(size)}
            rows = list(bench.further_round(short, backwards=turn % 2 == 1))
        append(arguments.rows, (name, share, kind), {"size": size}, rows)
        spent = time.process_time() - began
        print(f"{title(name, share)}, {kind}, round {turn + 1}: {len(rows)} runs, {spent:.0f} s", flush=True)


if __name__ == "__main__":
    main()
