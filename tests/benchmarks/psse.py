"""Every trace of PSS/E against psmr's run of the same files: python -m tests.benchmarks.psse [FOLDER].

FOLDER has the traces in full (test/benchmarks/psse of PowerSimulationsDynamics.jl); without it, and for what
it has not, files of the test suite are taken, whose traces have fewer rows. The table is written to
docs/figures/psse-traces.inc, the list of records that psmr reads to docs/figures/psse-models.inc (that list
alone: --models).
"""

import sys
import warnings
from pathlib import Path

import psmr
from psmr.errors import PsmrWarning
from psmr.io.psse.dyr_layout import ALIASES, MODELS, component_for
from psmr.io.psse.dyr_relays import RelayRecords
from psmr.io.psse.load_layout import RECORDS
from tests.io.psse.psse_step import stepped
from tests.io.psse.traces import HERE, TRACES, differences, trapezoidal

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
TARGET, MODELS_TARGET = FIGURES / "psse-traces.inc", FIGURES / "psse-models.inc"
UNITS = {"deg": "deg", "pu": "pu", "speed": "pu", "Efd": "pu", "MW": "MW", "Mvar": "Mvar"}


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


def models() -> str:
    """Return the table of the records that psmr reads, by what they are, with what must be as given."""
    found = ["| what | records | only with |", "|---|---|---|"]
    by_role: dict[str, list[str]] = {}
    fixed: dict[str, list[str]] = {}
    for model in MODELS:
        known = component_for(model)
        if known is None or model in ALIASES:
            continue
        by_role.setdefault(known[0], []).append(model)
        options = [name for name in MODELS[model].split() if "=" in name]
        fixed.setdefault(known[0], []).extend(f"{model} {name}" for name in options if model != "IEEEG1")
    for role, names in by_role.items():
        words = "; ".join(fixed[role])
        found.append(f"| {role.replace('_', ' ')} | {', '.join(names)} | {words} |")
    loads = ", ".join(model.replace("*", "BL") for model in RECORDS)
    found.append(
        f"| load; also for an owner, a zone, an area, all | {loads} | CIM5, CIM6 without saturation |"
    )
    relays = ", ".join(RelayRecords((), {}).takers())
    found.append(f"| relay | {relays} | LDS3BL without a transfer trip |")
    return "\n".join(found) + "\n"


if __name__ == "__main__":
    MODELS_TARGET.write_text(models())
    if sys.argv[1:] == ["--models"]:
        sys.exit()
    warnings.simplefilter("ignore", PsmrWarning)
    table = "\n".join(lines(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)) + "\n"
    TARGET.write_text(table)
    print(table, end="")
