"""psmr against IDA in C: ``python -m tests.programs.benchmarks.against_ida [CASE ...]``.

Measures the cases that are named, all by default, and writes docs/figures/against-ida.csv;
``python -m tests.programs.benchmarks.against_ida.page`` makes tables and figure of the page. One thread.
SUNDIALS has to be there (``--sundials PREFIX`` where the system does not have it); what is missing is said.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.programs.benchmarks.against_ida.build import MissingSundialsError
from tests.programs.benchmarks.against_ida.build import load as load_driver
from tests.programs.benchmarks.against_ida.cases import PROBLEMS, load
from tests.programs.benchmarks.against_ida.measure import by_andes, measure, reference, write
from tests.programs.benchmarks.against_ida.page import ROWS


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(PROBLEMS)}; all by default")
    parser.add_argument("--sundials", type=Path, help="where SUNDIALS is installed: include/, lib/ below it")
    parser.add_argument("--files", type=Path, help="folder with the files of ACTIVSg2000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument(
        "--variable", action="store_true", help="VariableStep and IDA in C alone; other rows of a case stay"
    )
    arguments = parser.parse_args()
    try:
        load_driver(arguments.sundials)
    except MissingSundialsError as error:
        sys.exit(str(error))
    if unknown := set(arguments.cases) - set(PROBLEMS):
        parser.error(f"there is no case {', '.join(sorted(unknown))}: there are {', '.join(PROBLEMS)}")
    for name in arguments.cases or PROBLEMS:
        try:
            system, what = load(name, arguments.files)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        known = reference(name, system, what, arguments.sundials)
        every = not arguments.variable
        rows = list(measure(name, system, what, known, arguments.rounds, arguments.sundials, every))
        write(arguments.rows, [*rows, *(by_andes() if name == "npcc" and every else ())])
        print(f"{name}: {len(rows)} rows; fine runs agree to {known.agreement:.1e}", flush=True)


if __name__ == "__main__":
    main()
