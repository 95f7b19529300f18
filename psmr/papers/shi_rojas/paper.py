"""The paper: Table I, figures 2 and 3, the claims of sections IV to VIII, and the numbers they are about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psmr.papers.reproduction import Paper, Results
from psmr.papers.shi_rojas import runs
from psmr.papers.shi_rojas.figures import plane, trajectories
from psmr.papers.shi_rojas.runs import DRAWN, FORWARD_EULER, T_END, TABLE_I


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    euler, *rows = r.table.to_dict("records")
    own = r.table.set_index("method")["MSE, own points"]
    mean = {case: float(row["MSE, ours"]) for case, row in zip(TABLE_I, rows, strict=True)}
    best = [mean[h, 1120] for h in (0.2, 0.1, 0.01)]
    tied, free = (r.micro[f"(14), delta = epsilon{more}"] for more in (" Delta", ""))
    known = r.micro["(17)"].notna()
    second = r.order[(r.order["base"] == "RK2") & (r.order["nodes"] == "macro")]
    least = r.order.groupby(["base", "nodes"])["error of y"].min()
    listed = [_row(row, texts) for row, texts in zip(rows, TABLE_I.values(), strict=True)]
    return {
        "rows": listed,
        "first": listed[0],
        "texts": [iterations for iterations, _ in TABLE_I.values()],
        "taken": [row["taken"] for row in listed],
        "formula": [round((micro + 1) * T_END / h) for h, micro in TABLE_I],
        "printed_euler": FORWARD_EULER,
        "euler": (euler["iterations, ours"], euler["MSE, ours"]),
        "printed_start": r.printed_start,
        "at_200_ms": [mean[0.2, n] for n in (70, 140, 1120)],
        "at_100_ms": [mean[0.1, n] for n in (140, 1120)],
        "own_points": [float(own[f"SMFE(0.2, {n})"]) for n in (70, 140, 1120)],
        "slopes": (math.log2(best[0] / best[1]), math.log10(best[1] / best[2])),
        "apart": [r.distances[h] for h, _ in reversed(DRAWN)],
        "least": [f"{h:g}: {n}" for h, n in zip(r.micro["Delta"], tied, strict=True)],
        "known": tied[known],
        "bound": np.ceil(r.micro["(17)"][known]),
        "tied": tied,
        "free": free,
        "free_values": sorted(set(free)),
        "orders": [float(v) for v in second["order"].dropna()],
        "rk2": float(least["RK2", "macro"]),
        "rk4": float(least["RK4", "macro"]),
        "settled": float(least["RK4", "settled"]),
        "naive": r.naive,
    }


def _row(row: dict[str, Any], texts: tuple[str, str]) -> dict[str, Any]:
    """Return a row of Table I; `reach` is half the last printed digit and what other grids move the mean."""
    printed, mean, grids = row["MSE, paper"], row["MSE, ours"], row["other grids, %"]
    return {
        "method": row["method"],
        "iterations": texts[0],
        "taken": round(row["iterations, ours"]),
        "stated": texts[1],
        "mean": mean,
        "printed_mean": printed,
        "difference": row["difference, %"],
        "grids": grids,
        "reach": 0.5 * 10.0 ** (math.floor(math.log10(printed)) - 2) + grids / 100.0 * mean,
    }


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
