"""The reproduction of the paper: its table and figures, and a finding for each of its claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from psmr.papers.reproduction import Reproduction
from psmr.papers.shi_rojas import figures, tables
from psmr.papers.shi_rojas.evidence import Evidence, distances, exact
from psmr.papers.shi_rojas.findings import findings

NAME = "shi-rojas"
CITATION = (
    "Y. Shi, C. R. Rojas, Efficient simulation of singularly perturbed systems using a stabilized multirate "
    "explicit scheme (edition with tables)"
)
PARTS = ("reference", "Table I", "numbers of micro steps", "base methods", "figures")


def reproduce(folder: Path, progress: Callable[[str], None] | None = None) -> Reproduction:
    """Reproduce Table I, figures 2 and 3, and the claims of sections IV to VIII.

    Parameters
    ----------
    folder
        Where the figures go.
    progress
        Called with the name of each of `PARTS` as it begins.
    """
    say = progress or (lambda words: None)
    say("reference")
    reference = exact()
    say("Table I")
    runs, euler, table = tables.table_one(reference)
    say("numbers of micro steps")
    micro = tables.micro_table()
    say("base methods")
    order = tables.order_table(reference)
    evidence = Evidence(
        runs=runs,
        euler=euler,
        reference=reference,
        table=table,
        micro=micro,
        order=order,
        printed_start=tables.printed_start(),
        naive={base: tables.naive_runge_kutta(base) for base in ("RK2", "RK4")},
        distances=distances(runs),
    )
    say("figures")
    return Reproduction(
        name=NAME,
        citation=CITATION,
        tables={
            "Table I: iterations and mean square error": table,
            "Smallest stable N by condition (14)": micro,
            "Error at t = 5 s by base method": order,
        },
        figures={
            "Trajectories and errors (figure 2)": figures.trajectories(
                evidence, folder / "shi-trajectories.svg"
            ),
            "y-z plane (figure 3)": figures.plane(evidence, folder / "shi-plane.svg"),
        },
        findings=findings(evidence),
    )
