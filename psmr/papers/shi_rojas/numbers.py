"""The numbers that Shi and Rojas' claims are about, from the runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psmr.papers.reproduction import Results
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
