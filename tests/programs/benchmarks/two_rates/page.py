"""Tables and figures of docs/benchmarks/two-rates.md, from rows of `gate` and `suite`.

``python -m tests.programs.benchmarks.two_rates.page [ROWS ...]`` gathers files of rows in docs/figures first.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from tests.internals import COLOURS, new_figure, save, styled

FIGURES = Path(__file__).parents[4] / "docs" / "figures"
ROWS = FIGURES / "two-rates.jsonl"
AIM, BEFORE, MEASURED = 1e-3, 0.04, 0.46
LENGTHS = (1.0, 10.0, 60.0)
ONE = ("VariableStep, ESDIRK", "VariableStep, BDF")
TWO = ("Multirate", "Multirate by tolerance", "SampledMultirate")
METHODS = (
    *("VariableStep", "VariableStep, BDF", "Multirate", "multirate ROS2", "ROS2, one rate"),
    *("MRI-GARK", "MRI-GARK, folded", "partitioned"),
)

Row = dict[str, Any]
Lines = dict[str, list[tuple[float, float]]]


def cost(row: Row, length: float) -> float:
    """Return the processor time in s of a run of a length in s, with its set-up."""
    return float(row["setup"] + row["per_second"] * (length - BEFORE))


def at_error(rows: list[Row], error: float, length: float) -> float:
    """Return the cost at an error of the cheaper method of `VariableStep`: on lines in logarithms."""
    found = []
    for family in ONE:
        front: list[tuple[float, float]] = []
        for own, spent in sorted((r["error"], cost(r, length)) for r in rows if r["family"] == family):
            if not front or spent < front[-1][1]:
                front.append((own, spent))
        errors, costs = np.log(np.array(front)).T
        if np.log(error) >= errors[0]:
            found.append(float(np.exp(np.interp(np.log(error), errors, costs))))
    return min(found)


def bound(rows: list[Row], name: str) -> Row:
    """Return set-up and least cost a second of two rates at `AIM`, by costs of their parts."""
    own = [row for row in rows if row["family"] == "Multirate"]
    counts = np.array([[row["newton"]["fast"], row["macro"]] for row in own], dtype=float)
    fast, slow = nnls(counts, np.array([row["per_second"] * MEASURED for row in own]))[0]
    by = {row["steps"]: row["error"] for row in own}
    if name.startswith("series"):
        least = 400.0, 20.0 * max(1.0, float(np.sqrt(by["0.05, 0.001"] / AIM)))
    else:
        least = 1.0 / (5e-4 * np.sqrt(AIM / by["0.02, 0.0005"])), 20.0
    total = float(least[0] * fast + least[1] * slow)
    return {"setup": min(row["setup"] for row in own), "per_second": total}


def gains(found: dict[str, list[Row]]) -> str:
    """Return the table of costs at equal error."""
    lines = [
        "| study | fast | two rates: steps [ms] | error | set-up [s] | per second [s] | `VariableStep` [s] "
        "| gain, 1 s | 10 s | 60 s | least cost of two rates: per second [s] | gain, 10 s | 60 s |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, rows in found.items():
        one = [row for row in rows if row["family"] in ONE and "error" in row]
        two = [row for row in rows if row["family"] in TWO[:1] and row.get("error", 1.0) <= AIM]
        best, least = min(two, key=lambda row: cost(row, 10.0)), bound(rows, name)
        steps = " and ".join(f"{1e3 * float(part):g}" for part in best["steps"].split(", "))
        gain = [at_error(one, best["error"], length) / cost(best, length) for length in LENGTHS]
        hope = [at_error(one, AIM, length) / cost(least, length) for length in LENGTHS[1:]]
        rate = at_error(one, best["error"], 60.0) / 60.0
        lines.append(
            f"| {name} | {best['fast']} | {steps} | {best['error']:.1e} | {best['setup']:.2f} "
            f"| {best['per_second']:.3f} | {rate:.3f} | {' | '.join(f'{g:.1f}' for g in gain)} "
            f"| {least['per_second']:.3f} | {' | '.join(f'{g:.1f}' for g in hope)} |"
        )
    return "\n".join(lines)


def steps(found: dict[str, list[Row]]) -> str:
    """Return the table of errors over tolerances, with what a run of 10 s costs."""
    lines = ["| study | scheme | 1e-2 | 1e-3 | 1e-4 |", "|---|---|--:|--:|--:|"]
    for name, rows in found.items():
        for family in (*ONE, *TWO[1:]):
            cells = []
            for tolerance in ("0.01", "0.001", "0.0001"):
                named = [f"{tolerance}{end}" for end in ("", ":", ",")]
                own = [row for row in rows if row["family"] == family and row["steps"].split(" ")[0] in named]
                best = min(own, key=lambda row: row.get("error", np.inf), default={})
                words = (
                    f"{best['error'] / float(tolerance):.2g} ({cost(best, 10.0):.1f})"
                    if "error" in best
                    else "-"
                )
                cells.append(words)
            if set(cells) != {"-"}:
                lines.append(f"| {name} | {family} | {' | '.join(cells)} |")
    return "\n".join(lines)


def faults(found: dict[str, list[Row]]) -> str:
    """Return the table of costs and errors with a fault."""
    lines = [
        "| fault | scheme | tolerance, or macro and fast step [s] | error | per second [s] |",
        "|---|---|---|--:|--:|",
    ]
    for rows in found.values():
        for row in rows:
            if row["fault"] and row["family"] in (*ONE, TWO[0]) and "error" in row:
                cells = (
                    row["fault"],
                    row["family"],
                    row["steps"],
                    f"{row['error']:.1e}",
                    f"{row['per_second']:.2f}",
                )
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(panels: dict[str, Lines], label: str, title: str, path: Path) -> None:
    """Draw work over error, a panel for each case, three beside one another, and a line for each method."""
    methods = list(next(iter(panels.values())))
    count = -(-len(panels) // 3)
    with styled():
        figure = new_figure(7.6, 2.7 * count + 0.9)
        axes = np.atleast_1d(figure.subplots(count, 3)).ravel()
        for k, (ax, (name, lines)) in enumerate(zip(axes, panels.items(), strict=False)):
            for sign, colour, method in zip("osD^vP*X", COLOURS * 2, methods, strict=False):
                points = np.array(sorted(lines[method])).reshape(-1, 2)
                best = np.array([x for x in points if not (points < x).all(axis=1).any()]).reshape(-1, 2)
                ax.plot(*points.T, sign, ms=4, color=colour, alpha=0.35, mew=0)
                ax.plot(*best.T, sign + "-", ms=5, lw=1.2, color=colour, label=method)
            ax.axvline(AIM, color="0.7", lw=0.8, zorder=0)
            ax.set(xscale="log", yscale="log", xlim=(1e-1, 1e-7), xlabel="largest error")
            ax.yaxis.set_minor_formatter("")
            ax.set_title(name, loc="left", fontsize=10)
            if k % 3 == 0:
                ax.set_ylabel(label)
        handles, names = axes[0].get_legend_handles_labels()
        for ax in axes[len(panels) :]:
            ax.axis("off")
        figure.legend(handles, names, frameon=False, fontsize=9, loc="outside lower center", ncols=3)
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        save(figure, path)


def main() -> None:
    """Write tables and figures."""
    if sources := sys.argv[1:]:
        ROWS.write_text("".join(Path(name).read_text() for name in sources), encoding="utf-8")
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    found: dict[str, list[Row]] = {}
    work: dict[str, Lines] = {}
    for row in rows:
        if "study" in row:
            found.setdefault(row["study"] + (f", fault {row['fault']}" if row["fault"] else ""), []).append(
                row
            )
        elif "error" in row:
            lines = work.setdefault(row["case"], {method: [] for method in METHODS})
            lines[row["method"]].append((row["error"], row["solved"]))
            if row["folded"]:
                lines["MRI-GARK, folded"].append((row["error"], row["folded"]))
    calm = {name: own for name, own in found.items() if not own[0]["fault"]}
    (FIGURES / "two-rates-gains.inc").write_text(gains(calm) + "\n", encoding="utf-8")
    (FIGURES / "two-rates-steps.inc").write_text(steps(found) + "\n", encoding="utf-8")
    (FIGURES / "two-rates-faults.inc").write_text(faults(found) + "\n", encoding="utf-8")
    costs: dict[str, Lines] = {name: {family: [] for family in (*ONE, *TWO)} for name in found}
    for name, own in found.items():
        for row in own:
            if "error" in row:
                costs[name][row["family"]].append((row["error"], cost(row, 10.0)))
    draw(costs, "processor time [s]", "10 s on 1,354 buses, set-up included", FIGURES / "two-rates-cost.svg")
    draw(work, "rows solved", "Work on the suite of rippling DAEs", FIGURES / "two-rates-work.svg")


if __name__ == "__main__":
    main()
