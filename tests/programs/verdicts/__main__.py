"""Are the verdicts on runs right? Random lists of events, judged by an oracle; each wrong one, and a table.

Run ``python -m tests.programs.verdicts`` from the repository's root. A fine run of each list is judged by
an oracle that shares no code with the detectors (oracle.py). Its verdict must be that of its own outcome, and
of every scheme whose trajectory agrees with it to 1 %; figures within 1 % of a limit may fall either way.
Where the trajectory does not agree, the estimated error of the run must say so, where its outcome is not red
(values behind a loss of synchronism are not compared); where it agrees to 0.2 %, it must not.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from tests.programs.verdicts.compare import ALARM, KINDS, UNSAID, WRONG, Result, compared
from tests.programs.verdicts.lists import CASES, Task, task_of, tasks

COUNT = 500


def table(found: Iterable[Result]) -> str:
    """Return counts by scheme as a Markdown table."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for result in found:
        rows[result.scheme][result.kind] += 1
    lines = [("scheme", "runs", *KINDS), ("---",) * (2 + len(KINDS))]
    lines += [
        (name, str(count.total()), *(str(count[kind]) for kind in KINDS)) for name, count in rows.items()
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Print the table; return 1 where a verdict, or what is said of the error, is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.verdicts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=COUNT, help=f"lists, the cases in turn ({COUNT})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=CASES, help="with --number: only this list")
    parser.add_argument("--number", type=int, help="of a list of a case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args()
    chosen: list[Task] = (
        list(tasks(asked.count, asked.seed))
        if asked.case is None
        else [task_of(asked.case, asked.seed, asked.number or 0)]
    )
    began, found = time.perf_counter(), []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for k, results in enumerate(pool.map(compared, chosen, chunksize=4), 1):
            found += results
            for result in filter(_is_bad, results):
                print(result, flush=True)
            if k % 20 == 0 or k == len(chosen):
                print(f"{k} of {len(chosen)} lists, {time.perf_counter() - began:.0f} s", file=sys.stderr)
    print(table(found))
    return int(any(map(_is_bad, found)))


def _is_bad(result: Result) -> bool:
    return result.kind in (WRONG, UNSAID, ALARM)


if __name__ == "__main__":
    sys.exit(main())
