"""Time and memory of a large run: ``python -m tests.programs.benchmarks.equal_error.large --rows FILE``.

10 s after a local fault on 9,241 buses, half of the generators converters; the peak is that of the process.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import psmr
from tests.disturbances import START, local_fault, system_of
from tests.internals import integrate
from tests.programs.benchmarks.equal_error.measure import WARM, Measured
from tests.programs.benchmarks.equal_error.records import append

CASE, SHARE, KIND = "case9241pegase", 0.5, "10 s after a local fault"
TOLERANCES = (1e-3, 1e-4)


def peak() -> int:
    """Return the most memory that the process had, in MiB."""
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Measure and append a round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="file of the rounds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    system, bus = system_of(CASE, SHARE)
    what = replace(local_fault(system, bus), t_end=START + 0.1 + 10.0)
    built = peak()
    integrate(system, psmr.VariableStep(), WARM, what.changes[:1])
    rows = []
    for tolerance in TOLERANCES:
        began = time.process_time()
        run = integrate(system, psmr.VariableStep(tolerance), what.t_end, what.changes)
        rows.append(
            Measured("VariableStep", f"{tolerance:g}", time.process_time() - began, run.counters.steps)
        )
    append(
        arguments.rows,
        (CASE, SHARE, KIND),
        {"size": system.n + system.m, "built_mib": built, "peak_mib": peak()},
        rows,
    )


if __name__ == "__main__":
    main()
