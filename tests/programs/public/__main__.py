"""How many files of a folder psmr reads, solves, starts and runs through a fault, and what stops the rest.

Run ``python -m tests.programs.public FOLDER`` from the repository's root. Nothing is fetched: the folder
holds what you have, RAW, RAWX, MATPOWER and DYR files. Each file is examined by a process of its own with a
limit of processor time, the largest last: read, power flow solved, how far from the stored voltages, and for
RAW files with a DYR file whether it starts and completes a bolted fault of 100 ms, without an option and,
where that fails, with all that help (--skip-unknown-models, --net-unmodelled, --loads impedance,
--start-at-limits adjust, --reactive-limits).

With --csv rows are written as they come, and files that have one there already are not examined again.

A stored solution is counted in two ways. "balanced": its voltages balance the powers of the file at each bus.
"its own": they are also those that the generators of the file hold, so that they solve its power flow; a
file whose set-points are others than its voltages has another solution.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import math
import multiprocessing
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from multiprocessing.connection import Connection
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from tests.programs.public.files import Item, cases, pairs
from tests.programs.public.one import COLUMNS, STEPS, Result, examine

LIMIT = 240.0
WAIT = 10.0
"""How much longer a file may take by the clock, for what else the machine does."""


def main() -> int:
    """Print the table and the causes."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.programs.public",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="write a row per file, or go on with such a file"
    )
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"processor seconds ({LIMIT:g})")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th file")
    parser.add_argument("--only", choices=("cases", "pairs"), help="case files alone, or pairs")
    parser.add_argument("--match", default="", help="only files whose path has this text")
    parser.add_argument("--until", choices=STEPS, default=STEPS[-1], help="the last step to try")
    parser.add_argument("--causes", type=int, default=30, help="how many causes to print (30)")
    asked = parser.parse_args()
    items = [
        *(cases(asked.folder) if asked.only != "pairs" else ()),
        *(pairs(asked.folder) if asked.only != "cases" else ()),
    ]
    items = [item for item in items if asked.match in f"{item.path} {item.dynamics}"][:: asked.every]
    items.sort(key=lambda item: item.path.stat().st_size)
    found = known(asked.csv) if asked.csv and asked.csv.exists() else []
    done = {(row.file, row.dynamics) for row in found}
    items = [item for item in items if item.names(asked.folder) not in done]
    with contextlib.ExitStack() as stack:
        rows = None
        if asked.csv:
            rows = csv.writer(
                stack.enter_context(asked.csv.open("a", newline="", encoding="utf-8", buffering=1))
            )
            if not found:
                rows.writerow(COLUMNS)
        for k, item in enumerate(items, 1):
            found.append(examined(item, asked.folder, asked.limit, STEPS.index(asked.until) + 1))
            if rows:
                rows.writerow(astuple(found[-1]))
            if k % 50 == 0:
                print(f"{k} of {len(items)}", file=sys.stderr)
    print(table(found), causes(found, asked.causes), sep="\n\n")
    return 0


def known(path: Path) -> list[Result]:
    """Return the rows of a table that was written before."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Result.of(row) for row in csv.DictReader(file)]


def examined(item: Item, folder: Path, limit: float, steps: int) -> Result:
    """Return what `examine` says of a file, from a process that ends with it or at the time limit."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(theirs, item, folder, steps, limit))
    began = time.perf_counter()
    process.start()
    theirs.close()
    result = Result(item.kind, *item.names(folder), died=f"more than {limit:g} s")
    if ours.poll(WAIT * limit):
        try:
            result = ours.recv()
        except EOFError:
            process.join()
            if process.exitcode != -signal.SIGXCPU:
                result.died = "the process ended by itself"
    process.kill()
    process.join()
    result.seconds = result.seconds or time.perf_counter() - began
    return result


def _send(pipe: Connection, item: Item, folder: Path, steps: int, limit: float) -> None:
    seconds = math.ceil(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    # What psmr prints or warns of is not of interest here.
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
        pipe.send(examine(item, folder, steps))


def table(found: Sequence[Result]) -> str:
    """Return counts by kind of file as a Markdown table."""
    lines = [
        (
            *("kind", "files", "read", "solved", "balanced", "meet it", "its own", "meet it"),
            *("started", "fault", "with options"),
        )
    ]
    for kind in dict.fromkeys(result.kind for result in found):
        rows = [result for result in found if result.kind == kind]
        balanced = [row for row in rows if row.balanced == "yes"]
        own = [row for row in balanced if row.set_points == "yes"]
        counts = (
            sum(row.read == "yes" for row in rows),
            sum(row.solved == "yes" for row in rows),
            *(count for those in (balanced, own) for count in (len(those), sum(map(Result.meets, those)))),
            sum(row.started == "yes" for row in rows),
            sum(row.fault == "yes" for row in rows),
            sum("yes" in (row.fault, row.fault_with_options) for row in rows),
        )
        lines.append((kind, str(len(rows)), *map(str, counts)))
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])


def causes(found: Sequence[Result], most: int) -> str:
    """Return what stopped files, alike messages together: how many, the words, one of the files."""
    count, first = Counter[tuple[str, str]](), {}
    for result in found:
        if result.stopped:
            key = result.kind, alike(result.stopped)
            count[key] += 1
            first.setdefault(key, result.dynamics or result.file)
    lines = [
        f"{number:4d} {kind}: {words}\n       {first[kind, words]}"
        for (kind, words), number in count.most_common(most)
    ]
    return "\n".join(lines)


def alike(message: str) -> str:
    """Return the first mistake of a message without its place and its numbers."""
    line = next((line for line in message.splitlines() if not re.search(r"^\d+ mistakes:$", line)), "")
    line = re.sub(r"^\s*\S*?:\d+(?= |:)", "", line.strip())
    line = re.sub(r"\S*/\S+\.\w+", "FILE", line)
    return re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "N", line).strip(" :")[:150]


if __name__ == "__main__":
    sys.exit(main())
