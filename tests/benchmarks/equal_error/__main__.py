"""Work against precision: ``python -m tests.benchmarks.equal_error [--page] [CASE[:CONVERTERS] ...]``.

Prints the tables; ``--save FILE`` keeps the rows as JSON, from which ``tests/benchmarks/equal_error/page.py``
writes docs/performance.md. One thread.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import psmr
from psmr.numerics.schemes.scheme import Scheme
from tests.benchmarks.equal_error.cases import ALL, DISTURBANCES, system_of, title
from tests.benchmarks.equal_error.measure import measure

FIXED = ("TM", "SDIRK2")
STEPS = (0.02, 0.01, 0.005, 0.002)
VARIABLE = {
    "TR-BDF2": (1e-2, 1e-3, 1e-4),
    "ESDIRK32": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    "ESDIRK43": (1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
}
IDA = (1e-3, 1e-4, 1e-5, 1e-6)


def schemes(steps: Sequence[float]) -> list[tuple[str, Scheme]]:
    """Return the schemes with their families; fixed steps as cheap as they are, with a kept matrix."""
    fixed: list[tuple[str, Scheme]] = [
        (method, psmr.SingleRate(method, h, newton="very dishonest", tolerance=1e-7))
        for method in FIXED
        for h in steps
    ]
    return [*fixed, *((m, psmr.VariableStep(tol, m)) for m, tols in VARIABLE.items() for tol in tols)]


def main() -> None:
    """Measure, and print a table per case and disturbance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="for instance kundur or case1354pegase:0.6; all by default")
    parser.add_argument("--disturbances", nargs="*", default=list(DISTURBANCES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", nargs="*", type=float, default=STEPS, help="fixed steps in s")
    parser.add_argument("--ida", nargs="*", type=float, default=IDA, help="tolerances of IDA")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [(name, float(share or 0)) for name, _, share in (c.partition(":") for c in arguments.cases)]
    for name, share in wanted or ALL:
        system, bus = system_of(name, share)
        for kind in arguments.disturbances:
            disturbance = DISTURBANCES[kind](system, bus)
            rows = measure(system, disturbance, schemes(arguments.steps), arguments.ida, arguments.repeats)
            size = system.n + system.m
            print(f"\n{title(name, share)}, {size} variables, {kind}, {disturbance.t_end:g} s", flush=True)
            for row in rows:
                print(
                    f"{row.label:60} {row.steps:6d} {row.seconds:8.3f} s  all {row.rms:.1e} "
                    f"{row.largest:.1e}  watched {row.rms_watched:.1e} {row.largest_watched:.1e}",
                    flush=True,
                )
            if arguments.save:
                with arguments.save.open("a") as file:
                    record = {"case": name, "converters": share, "size": size, "kind": kind}
                    file.write(json.dumps(record | {"rows": [vars(row) for row in rows]}) + "\n")


if __name__ == "__main__":
    main()
