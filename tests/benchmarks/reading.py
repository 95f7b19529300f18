"""What reading and building a RAW + DYR of 2,000 buses and 400 plants costs, kernels compiled before.

Run ``python -m tests.benchmarks.reading`` from the repository. The aim is less than 5 s.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from psmr.grid.initialise import build
from psmr.io.read import read_case
from tests.io.test_size import texts


def main() -> None:
    """Print the median of five, in seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        paths = (Path(folder) / "case.raw", Path(folder) / "case.dyr")
        for path, text in zip(paths, texts(), strict=True):
            path.write_text(text)
        build(read_case(*paths))
        seconds = []
        for _ in range(5):
            began = time.process_time()
            build(read_case(*paths))
            seconds.append(time.process_time() - began)
    print(f"read and build 2,000 buses, 400 plants: {statistics.median(seconds):.2f} s (aim: 5 s)")


if __name__ == "__main__":
    main()
