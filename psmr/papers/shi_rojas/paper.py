"""The paper: Table I, figures 2 and 3, and the claims of sections IV to VIII."""

from __future__ import annotations

from psmr.papers.reproduction import Paper
from psmr.papers.shi_rojas import runs
from psmr.papers.shi_rojas.figures import plane, trajectories
from psmr.papers.shi_rojas.numbers import numbers

PAPER = Paper(
    name="shi-rojas",
    citation="Y. Shi, C. R. Rojas, Efficient simulation of singularly perturbed systems using a stabilized "
    "multirate explicit scheme (edition with tables)",
    parts={
        "reference": lambda r: {"reference": runs.exact()},
        "Table I": lambda r: dict(
            zip(("runs", "euler", "table"), runs.table_one(r.reference), strict=True),
        ),
        "numbers of micro steps": lambda r: {"micro": runs.micro_table()},
        "base methods": lambda r: {
            "order": runs.order_table(r.reference),
            "printed_start": runs.square_error(runs.smfe(0.2, 70, y=0.0, z=1.0), runs.exact(y=0.0, z=1.0)),
            "naive": {base: runs.naive_runge_kutta(base) for base in ("RK2", "RK4")},
            "distances": runs.distances(r.runs),
        },
    },
    tables=lambda r: {
        "Table I: iterations and mean square error": r.table,
        "Smallest stable N by condition (14)": r.micro,
        "Error at t = 5 s by base method": r.order,
    },
    figures={
        "Trajectories and errors (figure 2)": ("shi-trajectories.svg", trajectories),
        "y-z plane (figure 3)": ("shi-plane.svg", plane),
    },
    numbers=numbers,
)
