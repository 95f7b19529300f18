"""Traces of PSS/E against psmr's runs of the same files: python -m tests.programs.benchmarks.psse [FOLDER].

FOLDER has the traces in full (test/benchmarks/psse of PowerSimulationsDynamics.jl); without it, and for what
it has not, files of the test suite are taken, whose traces have fewer rows. The table is written to
docs/figures/psse-traces.inc.
"""

import sys
import warnings
from pathlib import Path

import psmr
from psmr.errors import PsmrWarning
from tests.files.psse.psse_step import stepped
from tests.files.psse.traces import HERE, TRACES, differences, trapezoidal

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
TARGET = FIGURES / "psse-traces.inc"
UNITS = {
    "deg": "deg",
    "pu": "pu",
    "pu of power": "pu",
    "speed": "pu",
    "Efd": "pu",
    "MW": "MW",
    "Mvar": "Mvar",
}


def lines(folder: Path) -> list[str]:
    """Return the rows of the table."""
    found = ["| files | quantity | largest difference | with PSS/E's step |", "|---|---|---|---|"]
    for trace in TRACES:
        # Some pairs are whole in the test suite only; their traces are in full where the folder has them.
        pair = folder if all((folder / name).exists() for name in (trace.raw, trace.dyr)) else HERE
        place = folder if (folder / trace.csv).exists() else HERE
        system = psmr.build(trace.case(pair))
        ours = differences(trace, place, trapezoidal(trace, system))
        run = stepped(system, trace.events, trace.t_end, trace.step)
        theirs = differences(trace, place, run)
        for k, (name, (off, kind)) in enumerate(ours.items()):
            label = trace.name if k == 0 else ""
            found.append(f"| {label} | {name}, {UNITS[kind]} | {off:.1e} | {theirs[name][0]:.1e} |")
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", PsmrWarning)
    table = "\n".join(lines(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)) + "\n"
    TARGET.write_text(table)
    print(table, end="")
