"""What reading and building RAW + DYR cases costs in time and memory as they grow, kernels compiled before.

Run ``python -m tests.programs.benchmarks.reading`` from the repository. The aim is less than 5 s for 2,000
buses, and memory in proportion to the size. Every size runs in a process of its own.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from psmr import build, read_case
from tests.files.test_size import texts

SIZES = (10, 250, 500, 1000, 2000)
ROOT = Path(__file__).resolve().parents[3]


def measure(buses: int) -> None:
    """Print processor seconds (median of three), peak memory in MiB and states of one size."""
    with tempfile.TemporaryDirectory() as folder:
        paths = (Path(folder) / "case.raw", Path(folder) / "case.dyr")
        for path, text in zip(paths, texts(buses), strict=True):
            path.write_text(text)
        seconds = []
        for _ in range(4):
            began = time.process_time()
            system = build(read_case(*paths))
            seconds.append(time.process_time() - began)
    # The first time imports and compiles.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(statistics.median(seconds[1:]), peak, system.n)


def main() -> None:
    """Print a row for each size; the first is what the program itself takes."""
    print("| buses | plants | states | s | MiB more than 10 buses |\n|---|---|---|---|---|")
    base = 0.0
    for buses in SIZES:
        command = [sys.executable, "-m", "tests.programs.benchmarks.reading", str(buses)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        seconds, peak, states = map(float, done.stdout.split())
        base = base or peak
        print(f"| {buses} | {buses // 5} | {states:.0f} | {seconds:.2f} | {peak - base:.0f} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(int(sys.argv[1]))
    else:
        main()
