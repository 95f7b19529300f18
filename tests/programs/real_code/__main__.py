"""A manufacturer's code in its published test circuit, by equations of its own and by psmr: a table.

Run ``python -m tests.programs.real_code LIBRARY CASES`` from the repository's root, with EPRI's controller
(`gfm_gfl_ibr2` of the public repository temcdrm/emthub, compiled) and the list of cases there
(`data/cases.json`). Neither is part of psmr; where one is not there the program says so and ends with 0. A
library is a program: this one runs it.

``--converged`` compares the oracle with ever shorter trapezoidal steps.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

import psmr
from psmr.errors import PsmrWarning
from tests.programs.real_code.compare import FROM, compared, table
from tests.programs.real_code.oracle import Case, Trace, run

# Faults of each kind with and without control of the negative sequence, gains of both, steps of the source's
# voltage with each gain of the voltage control, of its frequency with droops, and of all three references.
CHOSEN = (
    *range(1, 15), 15, 18, 20, 30, 34, 46, 54, 62, 63, 80, 99, 100, 101, 109, 118, 119, 134,
)  # fmt: skip


def differences(one: Trace, other: Trace) -> tuple[float, float]:
    """Return the largest differences of voltages and currents in pu from `FROM` on."""
    late = one.t >= FROM
    return float(np.abs(one.v - other.v)[late].max()), float(np.abs(one.i - other.i)[late].max())


def converged(library: str, cases: list[Case]) -> list[str]:
    """Return a table: the exact oracle beside trapezoidal steps, so many a sample."""
    lines = ["| case | | 1 a sample: v, i | 4 | 16 | 64 |", "|--:|---|--:|--:|--:|--:|"]
    for case in cases:
        exact = run(library, case)
        found = [differences(exact, run(library, case, parts=parts)) for parts in (1, 4, 16, 64)]
        lines.append(
            f"| {case.number} | {case.title} | " + " | ".join(f"{v:.1e}, {i:.1e}" for v, i in found) + " |"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="the compiled controller")
    parser.add_argument("cases", help="data/cases.json of the public repository")
    parser.add_argument("--numbers", type=int, nargs="+", default=CHOSEN, help="cases of the list")
    parser.add_argument("--converged", action="store_true")
    parser.add_argument("--step", type=float, default=2.5e-6, help="of psmr's own run, in s")
    given = parser.parse_args()
    missing = [path for path in (given.library, given.cases) if not Path(path).is_file()]
    if missing:
        print(f"left out: there is no {' and no '.join(missing)}; see the docstring for where it is from")
        return 0
    listed = json.loads(Path(given.cases).read_text(encoding="utf-8"))
    cases = [case for case in map(Case.of, listed) if case.number in given.numbers]
    if given.converged:
        print("\n".join(converged(given.library, cases)))
        return 0
    scheme = psmr.SingleRate("SDIRK2", h=given.step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        results = [compared(given.library, case, scheme) for case in cases]
    print("\n".join(table(results)))
    return int(any(result.worst > 1e-3 for result in results))


if __name__ == "__main__":
    sys.exit(main())
