"""Does a step ever give up on a problem that has a solution? A table, and each failure with its call.

Run ``python -m tests.programs.robustness`` from the repository's root; ``--part`` and ``--case`` choose,
``--limit`` takes fewer lists, evenly spread (of random ones: that many), ``--list`` prints what failed. A run
that fails is judged by a run at 0.5 ms, by monitors, and by a Newton iteration of its own (oracle.py).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from tests.programs.robustness import judge, lists

COLUMNS = {
    "completed": judge.COMPLETED,
    "monitor": judge.MONITOR,
    "only a collapsed solution": judge.COLLAPSED,
    "no solution found": judge.NO_SOLUTION,
    "failed though 0.5 ms completes": judge.REFERENCE_COMPLETES,
    "failed though the step has a solution": judge.SOLVABLE,
    "failed though smaller steps have one": judge.CROSSED,
    "crashed": judge.CRASHED,
    "refused": judge.REFUSED,
}
HEAD = ("part", "case", "scheme", "step, ms", "runs", *COLUMNS)


def judged(chosen: list[lists.Task], jobs: int) -> Iterator[judge.Outcome]:
    """Yield the outcomes of all runs; what is done so far is said on the error stream."""
    began = time.perf_counter()

    def said(results: Iterable[list[judge.Outcome]]) -> Iterator[judge.Outcome]:
        for k, found in enumerate(results, 1):
            yield from found
            if k % 20 == 0 or k == len(chosen):
                print(f"{k} of {len(chosen)} lists, {time.perf_counter() - began:.0f} s", file=sys.stderr)

    if jobs == 1:
        yield from said(map(judge.outcomes, chosen))
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from said(pool.map(judge.outcomes, chosen, chunksize=4))


def table(found: Iterable[judge.Outcome]) -> str:
    """Return counts by part, case and scheme as a Markdown table, the sums of each part last."""
    rows: dict[tuple[str, str, str, str], Counter[str]] = defaultdict(Counter)
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in found:
        scheme = outcome.scheme
        words = f"{scheme.method}, {scheme.newton}"
        step = f"{1e3 * scheme.step:.3g}"
        rows[outcome.task.part, outcome.task.case, words, step][outcome.kind] += 1
        sums[outcome.task.part][outcome.kind] += 1
    lines = [HEAD, ("---",) * len(HEAD)]
    for key, count in rows.items():
        lines.append((*key, str(count.total()), *(str(count[kind]) for kind in COLUMNS.values())))
    for part, count in sums.items():
        lines.append(
            (part, "all", "", "", str(count.total()), *(str(count[kind]) for kind in COLUMNS.values()))
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def counters(found: Iterable[judge.Outcome]) -> str:
    """Return the sum of each unusual counter over all completed runs, and the number of runs that have it."""
    total: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    for outcome in found:
        for name, value in outcome.counted.items():
            total[name] += value  # type: ignore[assignment]  # whole numbers, as floats
            runs[name] += value > 0
    return "\n".join(f"{name}: {total[name]:g} in {runs[name]} runs" for name in sorted(total))


def main() -> int:
    """Print the table; return 1 where a run gave up on what has a solution."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.robustness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", choices=(*lists.PARTS, "random"), help="one part; all where left out")
    parser.add_argument("--case", help="only this case, by the name in the table")
    parser.add_argument(
        "--limit", type=int, help=f"at most so many lists a part ({lists.RANDOM} random ones)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the random lists")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--list", action="store_true", help="print each failure with the call that repeats it"
    )
    asked = parser.parse_args()
    parts = [asked.part] if asked.part else [*lists.PARTS, "random"]
    chosen = [task for part in parts for task in lists.of_part(part, asked.limit, asked.seed, asked.case)]
    found = list(judged(chosen, asked.jobs))
    print(table(found))
    print(f"\nCounters of completed runs:\n{counters(found)}")
    if asked.list:
        print()
        for outcome in found:
            if outcome.kind != judge.COMPLETED:
                print(outcome, end="\n\n")
    return int(any(outcome.wrong for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
