"""The page "when multirate pays": ``python -m tests.programs.benchmarks.equal_error.map [ROUNDS ...]``.

Makes docs/benchmarks/when-multirate-pays.md and its figure from docs/figures/when-multirate-pays.jsonl.
Files of rounds that `stays_fast` wrote are gathered in the
former first, with the median of what a run cost.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.internals import COLOURS, FAINT, INK, new_figure, save, styled
from tests.programs.benchmarks.equal_error.measure import Measured, cost_at, ratio
from tests.programs.benchmarks.equal_error.records import Study, gather, studies, versions
from tests.programs.benchmarks.equal_error.stays_fast import BOTH, CASES, COUPLINGS, SINGLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOCS = Path(__file__).parents[4] / "docs"
ROWS = DOCS / "figures" / "when-multirate-pays.jsonl"
FIGURE = "when-multirate-pays.svg"
BY, ALL = "largest_watched", "largest"
NAMES = {
    "new-england": "New England",
    "case1354pegase": "1,354 buses",
    "case9241pegase": "9,241 buses",
}
# Marker, and the side on which the gains stand: those of the two large cases lie close together. Near
# the line at 1, beyond 100 %, all stand on the left.
SIGNS = {"new-england": ("s", -1), "case1354pegase": ("o", 1), "case9241pegase": ("^", -1)}
TOP = 10.0**1.5  # the largest ratio of steps that is shown
LEFT, RIGHT = 1e-3, 10.0  # what the fast set has of the rows times steps of one rate
LEVELS = (1.0, 3.0, 10.0, 30.0)
COVERS = 0.08  # ratios that differ by less lie on one another


def main() -> None:
    """Write the page and its figure."""
    if sources := [Path(name) for name in sys.argv[1:]]:
        gather(sources, ROWS)
    version, days = versions(ROWS)
    found = [_costed(study) for study in studies(ROWS)]
    found.sort(key=lambda s: (s.facts["size"] > 1000, s.facts["size"] > 20000, s.key[1]))
    points = [point for study in found for point in _points(study)]
    fit = _fit(points)
    _figure(points, fit)
    text = (Path(__file__).parent / "when-multirate-pays.md").read_text()
    page = text.format(
        version=version,
        days=days,
        rounds=_rounds(found),
        gains=_gains(found),
        couplings=_couplings(found),
        a=f"{fit[0]:.2g}",
        b=f"{fit[1]:.2g}",
        scatter=f"{_scatter(points, fit):.1f}",
        sides=_misplaced(points, fit),
    )
    (DOCS / "benchmarks" / "when-multirate-pays.md").write_text(page, encoding="utf-8")


def _costed(study: Study) -> Study:
    """Return the study with the runs that have a cost.

    What a set-up takes changes by more than a short run costs: a cost that is not above zero is no figure.
    """
    return replace(study, rows=[row for row in study.rows if row.seconds > 0.0])


def _rounds(found: Sequence[Study]) -> str:
    counts = sorted({study.rounds for study in found})
    known = {study.key[:2] for study in found}
    missing = [f"{NAMES[name]} with {count} plants" for name, count in CASES if (name, count) not in known]
    return " or ".join(map(str, counts)) + (f" (none for {', '.join(missing)})" if missing else "")


def _family(study: Study, family: str) -> list[Measured]:
    """Return the rows of a family that cost least at their error, from the coarsest to the finest."""
    rows = sorted((row for row in study.rows if row.family == family), key=lambda row: row.seconds)
    kept: list[Measured] = []
    for row in rows:
        if not kept or getattr(row, BY) < getattr(kept[-1], BY):
            kept.append(row)
    return kept


def _points(study: Study) -> list[dict[str, Any]]:
    """Return the work of the fast set, the ratio of steps and the gain of the scheme with both couplings.

    The work is that of the small steps, rows times steps, as a part of that of one rate with the same error.
    """
    single = sorted((row for row in study.rows if row.family == SINGLE), key=lambda row: row.steps)
    found = []
    for row in _family(study, BOTH):
        words = ratio(study.rows, [SINGLE], row.family, getattr(row, BY), BY)
        if not words[0].isdigit():
            continue
        errors = np.log([getattr(each, BY) for each in single])
        steps = np.log([each.steps for each in single])
        at = float(np.exp(np.interp(-np.log(getattr(row, BY)), -errors, steps)))
        found.append(
            {
                "case": study.key[0],
                "work": study.facts["fast"] / study.facts["size"] * row.steps / at,
                "ratio": at * _ratio(row) / row.steps,
                "gain": float(words),
                "plants": study.key[1],
            }
        )
    return found


def _ratio(row: Measured) -> int:
    """Return how many fast steps a macro step has; a label is "20 and 0.5 ms"."""
    slow, fast = row.label.removesuffix(" ms").split(" and ")
    return round(float(slow) / float(fast))


def _fit(points: Sequence[Any]) -> tuple[float, float]:
    """Return a and b of 1/gain = a / ratio + b work, by least squares of the relative error."""
    gains = np.array([p["gain"] for p in points])
    from scipy.optimize import nnls

    (a, b), _ = nnls(_terms(points) * gains[:, None], np.ones(len(points)))
    return float(a), float(b)


def _terms(points: Sequence[Any]) -> np.ndarray:
    return np.array([[1.0 / p["ratio"], p["work"]] for p in points])


def _scatter(points: Sequence[Any], fit: tuple[float, float]) -> float:
    """Return the factor within which the formula has the gains, root of the mean square of its logarithm."""
    off = np.log(_terms(points) @ np.array(fit) * [p["gain"] for p in points])
    return float(np.exp(np.sqrt(np.mean(off**2))))


def _misplaced(points: Sequence[Any], fit: tuple[float, float]) -> str:
    """Return the marks that the line at 1 has on the wrong side, in words."""
    gains = 1.0 / (_terms(points) @ np.array(fit))
    wrong = [p for p, gain in zip(points, gains, strict=True) if (p["gain"] - 1.0) * (gain - 1.0) < 0.0]
    named = [f"{NAMES[p['case']]} with {p['plants']:g} plants (measured {p['gain']:.1f})" for p in wrong]
    return f"all but {len(wrong)} of {len(points)} marks: {', '.join(named)}" if wrong else "all marks"


def _figure(points: Sequence[Any], fit: tuple[float, float]) -> None:
    """Draw the gains over both axes, with the lines of equal gain of the fit."""
    a, b = fit
    work = np.logspace(np.log10(LEFT), np.log10(RIGHT), 300)
    steps = np.logspace(0.0, np.log10(TOP), 300)
    gain = 1.0 / (a / steps[:, None] + b * work[None, :])
    with styled():
        figure = new_figure(7.6, 5.2)
        ax = figure.subplots()
        ax.contourf(work, steps, gain, levels=[0.0, 1.0], colors=[COLOURS[1]], alpha=0.1)
        ax.contour(work, steps, gain, levels=LEVELS, colors=FAINT, linewidths=[2.2, 0.9, 0.9, 0.9])
        for level in LEVELS:
            _name_line(ax, level, 1.0 / level, a, b)
        ax.text(0.97 * RIGHT, 1.1, "one\nrate is\ncheaper", ha="right", va="bottom", fontsize=9, color=FAINT)
        for (name, (sign, side)), colour in zip(SIGNS.items(), COLOURS, strict=False):
            own = [p for p in points if p["case"] == name]
            if not own:
                continue
            places = [p["work"] for p in own], [p["ratio"] for p in own]
            ax.scatter(*places, marker=sign, s=34, color=colour, label=NAMES[name], zorder=3)
            for (x, y), words in _labels(own).items():
                to = side if x < 1.0 else -1
                ax.annotate(
                    words, (x, y), xytext=(6 * to, 0), textcoords="offset points", va="center",
                    ha="left" if to > 0 else "right", fontsize=9, color=colour,
                )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlim=(LEFT, RIGHT), ylim=(steps[0], steps[-1]))
        ax.set_xticks([1e-3, 1e-2, 1e-1, 1.0, 10.0], ["0.1 %", "1 %", "10 %", "100 %", "1000 %"])
        ax.set_yticks([1, 2, 5, 10, 20, 30], ["1", "2", "5", "10", "20", "30"])
        ax.minorticks_off()
        ax.set_xlabel("rows times steps of the fast set, of those of one rate with the same error")
        ax.set_ylabel("macro step over the step of one rate with the same error")
        ax.set_title("Processor time of one rate over that of two, at equal error", loc="left", fontsize=11)
        ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.11), ncols=3)
        save(figure, DOCS / "figures" / FIGURE)


def _name_line(ax: Axes, level: float, inverse: float, a: float, b: float) -> None:
    """Write the gain of a line of the fit beside it, where it leaves the panel at the top."""
    y = TOP
    x = (inverse - a / y) / b
    if not LEFT < x < RIGHT:
        return
    ax.annotate(
        f"gain {level:g}", (x, y), xytext=(4, -4), textcoords="offset points", va="top", ha="left",
        fontsize=9, color=INK, bbox={"fc": "white", "ec": "none", "pad": 1.0, "alpha": 0.8},
    )  # fmt: skip


def _labels(points: Sequence[Any]) -> dict[tuple[float, float], str]:
    """Return the gains by place; those of points that cover one another together."""
    found: dict[tuple[float, float], str] = {}
    for p in points:
        near = [
            at
            for at in found
            if abs(at[0] / p["work"] - 1.0) < COVERS and abs(at[1] / p["ratio"] - 1.0) < COVERS
        ]
        at = near[0] if near else (p["work"], p["ratio"])
        found[at] = ", ".join(filter(None, [found.get(at), f"{p['gain']:.2g}"]))
    return found


def _gains(found: Sequence[Study]) -> str:
    lines = [
        "| case | plants | variables | fast | error | VariableStep [s] | Schur, mean [s] | gain "
        "| error, all variables | gain |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for study in found:
        rows = study.rows
        for row in _family(study, BOTH):
            words = ratio(rows, [SINGLE], row.family, getattr(row, BY), BY)
            if words == "-":
                continue
            cost = float(words.lstrip("<>")) * row.seconds
            mark = words[0] if words[0] in "<>" else ""
            lines.append(
                f"{_head(study)} | {study.facts['size']:,} | {study.facts['fast']:,} | "
                f"{getattr(row, BY):.1e} | {mark}{cost:.3f} | {row.seconds:.4f} | {words} | "
                f"{getattr(row, ALL):.1e} | {_gain_of_all(rows, row)} |"
            )
    return "\n".join(lines)


def _head(study: Study) -> str:
    return f"| {NAMES[study.key[0]]} | {study.key[1]:g}"


def _gain_of_all(rows: Sequence[Measured], row: Measured) -> str:
    """Return the cost of one rate at the error that a run has of all variables, over the cost of the run."""
    cost, mark = cost_at(rows, SINGLE, getattr(row, ALL), ALL)
    return f"{mark}{cost / row.seconds:.1f}"


def _couplings(found: Sequence[Study]) -> str:
    lines = ["| case | plants | scheme | cost [s] | largest error | rms |", "|---|--:|---|--:|--:|--:|"]
    for study in found:
        if study.key[1] != 5:
            continue
        for family in COUPLINGS:
            for row in _family(study, family):
                lines.append(
                    f"{_head(study)} | {family}, {row.label} | {row.seconds:.4f} | "
                    f"{row.largest_watched:.1e} | {row.rms_watched:.1e} |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
