"""Write docs/performance.md and its figures from what was measured.

``python -m tests.benchmarks.equal_error.page FILE`` reads the rows that ``--save FILE`` kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from psmr.study.output.canvas import COLOURS, new_figure, save, styled
from tests.benchmarks.equal_error.cases import title
from tests.benchmarks.equal_error.measure import Measured, ratio

DOCS = Path(__file__).parents[3] / "docs"
FIXED = ("TM", "SDIRK2")
OWN = ("ESDIRK32", "ESDIRK43")
FAMILIES = (*FIXED, "TR-BDF2", *OWN, "IDA")

TEXT = """# Performance

What schemes cost at equal error, of `python -m tests.benchmarks.equal_error`: processor time over the error
of all variables (relative to the largest value of each, or 1; root of the mean square over instants 20 ms
apart) and over that of speeds and bus voltages. The reference is `VariableStep(1e-9)`. Fixed steps are 20,
10, 5 and, but for 9,241 buses, 2 ms, with a kept Newton matrix and Newton to 1e-7, the cheapest that psmr
has for them. IDA is SUNDIALS' BDF of variable order on the same kernels and the same sparse Jacobian,
called through scikit-sundae. One thread; all schemes take turns in one process; medians of what a column
says. Set-up of the blocks, the same for all, is in every time.

The rows were measured on 2026-11-22, with up to three versions of the code, which differ in the location of
limits and in Newton's starts; the schemes of one table were measured together, with one version. Since then
steps also end at corners of equations, which costs 1 to 3 % of a step where few are met and is told with
its figures in [](choosing.md).

## Cost at equal error

Ratio of processor times at the error that `VariableStep` has at tolerances 1e-3 and 1e-4, costs between
measured points on straight lines in logarithms: the cheapest fixed step, chosen with hindsight, over
`VariableStep`, and IDA over it. ">": no step measured reaches this error, so that the costliest one bounds
the ratio; "<": the longest step is better already.

{ratios}

{figures}

## All that was measured

{tables}
"""


def main() -> None:
    """Write the page and its figures."""
    studies = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    for study in studies:
        study["rows"] = [Measured(**row) for row in study["rows"]]
    names = []
    for case in dict.fromkeys((s["case"], s["converters"]) for s in studies):
        names.append(_figure([s for s in studies if (s["case"], s["converters"]) == case], *case))
    figures = "\n\n".join(f"![Work against precision: {what}](figures/{name})" for what, name in names)
    tables = "\n\n".join(_table(study) for study in studies)
    page = TEXT.format(ratios=_ratios(studies), figures=figures, tables=tables)
    (DOCS / "performance.md").write_text(page, encoding="utf-8")


def _own(rows: Sequence[Measured], tolerance: float) -> Measured:
    """Return the row of `VariableStep(tolerance)`."""
    method = "ESDIRK32" if tolerance >= 1e-4 else "ESDIRK43"
    label = f"variable step {method}, tolerance {tolerance:g}"
    return next(row for row in rows if row.label == label)


def _ratios(studies: Sequence[Any]) -> str:
    head = (
        "| case | disturbance | fixed / variable, 1e-3: all, watched | 1e-4: all, watched "
        "| IDA / variable, 1e-3: all, watched | 1e-4: all, watched |"
    )
    lines = [head, "|---|---|---|---|---|---|"]
    for study in studies:
        cells = []
        for families in (FIXED, ("IDA",)):
            for tolerance in (1e-3, 1e-4):
                row = _own(study["rows"], tolerance)
                pair = (
                    ratio(study["rows"], families, row.family, getattr(row, by), by)
                    for by in ("rms", "rms_watched")
                )
                cells.append(", ".join(pair))
        lines.append(
            f"| {title(study['case'], study['converters'])} | {study['kind']} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def _table(study: Any) -> str:
    lines = [
        f"{title(study['case'], study['converters'])}, {study['size']} variables, {study['kind']}",
        "",
        "| scheme | steps | processor time, s | all: rms | largest | speeds, voltages: rms | largest |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.label} | {row.steps or ''} | {row.seconds:.3f} | {row.rms:.1e} | {row.largest:.1e} | "
        f"{row.rms_watched:.1e} | {row.largest_watched:.1e} |"
        for row in study["rows"]
    ]
    return "\n".join(lines)


def _figure(studies: Sequence[Any], case: str, converters: float) -> tuple[str, str]:
    """Draw a panel per disturbance: processor time over error, a line per family."""
    name = f"performance-{case}{f'-{converters:g}'.replace('.', '') if converters else ''}.svg"
    with styled():
        figure = new_figure(2.6 * len(studies) + 1.2, 2.8)
        axes = figure.subplots(1, len(studies), squeeze=False, sharey=True)[0]
        for ax, study in zip(axes, studies, strict=True):
            for colour, (family, points) in zip(COLOURS, _lines(study["rows"]), strict=False):
                ax.loglog(*points, ".-", label=family, color=colour, lw=1, ms=4)
            ax.set_title(study["kind"])
            ax.set_xlabel("rms error of all variables")
        axes[0].set_ylabel("processor time [s]")
        axes[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
        save(figure, DOCS / "figures" / name)
    return title(case, converters), name


def _lines(rows: Sequence[Measured]) -> Iterator[tuple[str, tuple[list[float], list[float]]]]:
    for family in FAMILIES:
        points = sorted((row.rms, row.seconds) for row in rows if row.family == family)
        yield family, ([x for x, _ in points], [y for _, y in points])


if __name__ == "__main__":
    main()
