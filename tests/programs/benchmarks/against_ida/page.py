"""Table and figure of the page against-ida: ``python -m tests.programs.benchmarks.against_ida.page``.

Both are made from docs/figures/against-ida.csv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.internals import COLOURS, FAINT, INK, new_figure, save, styled
from tests.programs.benchmarks.against_ida.cases import PROBLEMS
from tests.programs.benchmarks.against_ida.measure import REFERENCE, Row, read
from tests.programs.benchmarks.against_ida.rivals import (
    ALL,
    ANDES,
    BDF,
    MULTIRATE,
    OWN,
    SETUP,
    STATES,
    STEP,
    WRAPPED,
)
from tests.programs.benchmarks.equal_error.measure import Measured, cost_at

FIGURES = Path(__file__).parents[4] / "docs" / "figures"
ROWS = FIGURES / "against-ida.csv"
ERRORS = (1e-3, 1e-4, 1e-5)
# Families of one line of a figure; of several the better one counts at each error.
LINES = {
    OWN: (OWN,),
    BDF: (BDF,),
    "IDA in C": (ALL, STATES),
    WRAPPED: (WRAPPED,),
    STEP: (STEP,),
    MULTIRATE: (MULTIRATE,),
    ANDES: (ANDES,),
}
HEADS = {OWN: "ESDIRK", BDF: "BDF"}
SETUP_LINE = "set-up of psmr"
MARKS = dict(zip(LINES, "osD^vPX", strict=True))
# Errors that are shown.
WORST, LEAST = 0.1, 1e-7


def main() -> None:
    """Write table and figure."""
    rows = read(ROWS)
    cases = [case for case in PROBLEMS if any(row.case == case for row in rows)]
    (FIGURES / "against-ida.inc").write_text(_ratios(rows, cases) + "\n", encoding="utf-8")
    (FIGURES / "against-ida-work.inc").write_text(_work(rows, cases) + "\n", encoding="utf-8")
    save(_figure(rows, cases), FIGURES / "against-ida.svg")


def _measured(row: Row, add: float) -> Measured:
    return Measured("", row.label, 1e-3 * row.ms + add, row.steps, row.rms, row.largest, row.rms_watched)


def cost(
    rows: Sequence[Row], case: str, families: Sequence[str], error: float, by: str, events: bool = False
) -> tuple[float, str]:
    """Return the least cost in s of some families at an error, with the mark of a bound; see `cost_at`.

    Costs are those of each family alone: a line between runs of two of them is of neither.
    """
    found = []
    for family in families:
        runs = [
            _measured(row, 1e-3 * row.events_ms if events else 0.0)
            for row in rows
            if row.case == case and row.family == family
        ]
        found.append(cost_at(runs, "", error, by))
    return min(found, key=lambda bound: (bound[1] == ">", not np.isfinite(bound[0]), bound[0]))


def front(rows: Sequence[Row], case: str, families: Sequence[str]) -> list[tuple[float, float]]:
    """Return (error, ms) of the runs that are neither dearer nor worse than another one."""
    every = sorted(
        (row.rms, row.ms) for row in rows if row.case == case and row.family in families and row.rms < WORST
    )
    kept: list[tuple[float, float]] = []
    for point in every:
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def _ratio(rows: Sequence[Row], case: str, own: Sequence[str], error: float, by: str, less: float) -> str:
    """Return IDA's cost over that of psmr, less its set-up; ">" where IDA does not get there."""
    mine, mark = cost(rows, case, own, error, by)
    theirs, reached = cost(rows, case, (ALL, STATES), error, by)
    if mark == ">" or not np.isfinite(mine):
        return "-"
    return f"{reached if reached == '>' else ''}{theirs / (mine - less):.2f}"


def _ratios(rows: Sequence[Row], cases: Sequence[str]) -> str:
    """Return the table of ratios at equal error."""
    known = [family for family in HEADS if any(row.family == family for row in rows)]
    heads = ["case", "variables", "fine runs agree to"]
    heads += [HEADS[family] for family in known]
    heads += ["cheaper of both"] if len(known) > 1 else []
    heads += ["watched", "without set-up"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for case in cases:
        facts = next(row for row in rows if row.case == case and row.family == REFERENCE)
        setup = 1e-3 * next(row.ms for row in rows if row.case == case and row.family == SETUP)
        agreed = f"{facts.rms:.0e}" if np.isfinite(facts.rms) else "-"

        def cell(own: Sequence[str], by: str, less: float = 0.0, case: str = case) -> str:
            return ", ".join(_ratio(rows, case, own, error, by, less) for error in ERRORS)

        cells = [PROBLEMS[case].title, facts.label, agreed, *(cell((family,), "rms") for family in known)]
        if len(known) > 1:
            cells.append(cell(known, "rms"))
        cells += [cell(known, "rms_watched"), cell(known, "rms", setup)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _work(rows: Sequence[Row], cases: Sequence[str]) -> str:
    """Return the table of times and work: of each case the runs whose error is next to 1e-4."""
    heads = "case | | tolerance | rms error | ms | steps | failures | residuals | factorisations | solves"
    lines = [f"| {heads} |", f"|{'---|' * 10}"]
    for case in cases:
        for name, families in LINES.items():
            found = [row for row in rows if row.case == case and row.family in families and row.rms < WORST]
            if not found:
                continue
            row = min(found, key=lambda row: abs(np.log(row.rms / 1e-4)))
            counts = (row.steps, row.failures, row.residuals, row.factorisations, row.solves)
            cells = [PROBLEMS[case].title, name, row.label, f"{row.rms:.1e}", f"{row.ms:.2f}"]
            lines.append(f"| {' | '.join([*cells, *(f'{n:,}' if n else '-' for n in counts)])} |")
    return "\n".join(lines)


def _lines(rows: Sequence[Row], case: str) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    for name, families in LINES.items():
        points = [point for point in front(rows, case, families) if point[0] > LEAST]
        if points:
            yield name, points


def _figure(rows: Sequence[Row], cases: Sequence[str]) -> Any:
    """Return a panel a case: processor time over error, the set-up as a dotted line."""
    columns = 2
    lines = -(-(len(cases) + 1) // columns)
    colours = dict(zip(LINES, COLOURS, strict=False))
    with styled():
        figure = new_figure(8.4, 2.7 * lines)
        axes = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, case in zip(axes, cases, strict=False):
            for name, points in _lines(rows, case):
                errors, costs = zip(*points, strict=True)
                style = {"color": colours[name], "marker": MARKS[name], "label": name}
                ax.loglog(errors, costs, ls="-", lw=1.2, ms=4.5, **style)
            for row in rows:
                if row.case == case and row.family == SETUP:
                    ax.axhline(row.ms, color=FAINT, lw=0.9, ls=":", label=SETUP_LINE)
            ax.set_title(PROBLEMS[case].title, loc="left")
            ax.set_xlim(10**-6.7, 10**-0.9)
            ax.set_xlabel("rms error of all variables")
            ax.set_ylabel("processor time [ms]")
        found = {line.get_label(): line for ax in axes for line in ax.get_lines()}
        last = axes[len(cases)]
        last.axis("off")
        handles = [found[name] for name in (*LINES, SETUP_LINE) if name in found]
        last.legend(handles=handles, loc="center left", labelcolor=INK, fontsize=9)
        for ax in axes[len(cases) + 1 :]:
            ax.remove()
    return figure


if __name__ == "__main__":
    main()
