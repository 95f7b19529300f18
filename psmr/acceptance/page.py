"""The page of a battery: small multiples of every trial, the scan, and what passed with its clause."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from psmr.acceptance.judge import FAIL
from psmr.figures.chart import (
    FAINT,
    INK,
    LINEAR,
    PANEL,
    RED,
    Dots,
    Drawing,
    Line,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Text,
)
from psmr.figures.modes.page import ModeRow, picture
from psmr.figures.modes.render import render
from psmr.figures.with_matplotlib import save, to_matplotlib
from psmr.study.output import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psmr.acceptance.accepted import Accepted

ACROSS, WIDTH, HEIGHT = 8, 1.75, 1.45
"""Panels in a row, and the size of each in inches."""

BINS = 100
"""Stretches of time of a line, of each of which the least and the largest value are drawn."""

SHADES = ("#0b2545", "#3a6ea5", "#9cc3e6"), ("#7a1f0d", "#d1692e", "#f2b98a")
"""Of voltage and of active power: at the strongest source, one between, and the weakest."""

ROWS = {"rest": 0, "swell": 0, "jump": 0, "frequency": 1, "step": 1, "dip": 2}


def write_page(done: Accepted) -> tuple[Path, ...]:
    """Write the figure and the page; return their paths."""
    drawing = trials_figure(done)
    figure, page = done.folder / "accept.svg", done.folder / "accept.html"
    save(to_matplotlib(drawing), figure)
    rows = [
        ModeRow(
            [row.trial, f"{row.passed} of {row.of}", row.clause, row.why], "alarm" * (row.passed < row.of)
        )
        for row in cast("Iterator[Any]", done.trials().itertuples())
    ]
    text = render(
        "accept.html",
        "psmr.acceptance",
        title=f"Acceptance of {done.name}",
        headline=done.headline,
        colour="green" if done.passed else "red",
        pictures=[picture(drawing, "voltage and active power in every trial, all strengths of the source")],
        heads=("trial", "passed", "asked by", "the first failure, or what was measured"),
        rows=rows,
        left_out=done.left_out,
        count=len(done.table.groupby(["scr", "x_r"])),
    )
    write_text(page, text)
    return figure, page


def trials_figure(done: Accepted) -> Drawing:
    """Return small multiples: a panel for each trial, and one for each entry of the plant's admittance."""
    rows: dict[tuple[Any, ...], list[Any]] = {}
    tried = done.table[done.table["kind"] != "scan"].drop_duplicates("trial")
    for row in cast("Iterator[Any]", tried.itertuples()):
        # A row for dips of one kind and length, from the deepest to the shallowest.
        of_dips = (row.trial.partition(", ")[2], " 0.1 s" not in row.trial) if row.kind == "dip" else ()
        rows.setdefault((ROWS[row.kind], *of_dips), []).append(row)
    lines = [part[k : k + ACROSS] for _, part in sorted(rows.items()) for k in range(0, len(part), ACROSS)]
    # The strongest source, one between and the weakest, at the X/R that all trials have.
    usual = min(done.table["x_r"].unique(), key=lambda k: abs(math.log(k / 10)))
    known = sorted({s for s, k, _ in done.traces if k == usual}, reverse=True)
    shown = [(known[k], usual) for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []
    scanned = done.table["y"].notna().any() if "y" in done.table else False
    count = len(lines) + bool(scanned)
    panels = [
        _trial(done, row, shown, _place(j, k, count))
        for j, line in enumerate(lines)
        for k, row in enumerate(line)
    ]
    panels += [
        _scan(done.table, entry, k, shown, _place(len(lines), 2 * k, count, 2))
        for k, entry in enumerate(("dd", "dq", "qd", "qq") if scanned else ())
    ]
    title = f"{done.name}: {done.headline}. Voltage (blue) and active power (orange) in pu over s"
    if shown:
        title += f", at {', '.join(f'SCR {s:g}' for s in known)} (dark to light) and X/R {usual:g}"
    return Drawing(panels, WIDTH * ACROSS, HEIGHT * count, title)


def _place(row: int, column: int, rows: int, wide: int = 1) -> tuple[float, float, float, float]:
    """Return where a panel stands, in parts of the figure; the title has a third of an inch."""
    top, w = 1 - 0.35 / (rows * HEIGHT), 1 / ACROSS
    h = top / rows
    return column * w + 0.22 * w, top - (row + 1) * h + 0.2 * h, (wide - 0.3) * w, 0.6 * h


def _trial(done: Accepted, row: Any, shown: Any, place: tuple[float, float, float, float]) -> Panel:
    """Return the panel of a trial: red where it failed at any strength."""
    marks: list[Mark] = []
    end = 1.0
    for shade, (s, k) in enumerate(shown):
        for colours, values in zip(SHADES, done.traces.get((s, k, row.trial), [[]])[1:], strict=False):
            t = done.traces[s, k, row.trial][0]
            edges = np.unique(np.searchsorted(t, np.linspace(t[0], t[-1], BINS + 1)))
            found = {0, len(t) - 1}
            for a, b in pairwise(edges.tolist()):
                found |= {a, a + int(values[a:b].argmin()), a + int(values[a:b].argmax()), b - 1}
            kept, end = np.array(sorted(found)), float(t[-1])
            marks.append(Line(t[kept], np.clip(values[kept], -0.6, 1.8), colours[shade], 0.8))
    of = done.table[done.table["trial"] == row.trial]
    failed = int((of["verdict"] == FAIL).sum())
    words = f"{len(of) - failed} of {len(of)} passed"
    corner: Any = {"size": 6.5, "ha": "right", "va": "bottom", "paper": True}
    marks.append(Text(words, (0.98, 0.06), PANEL, colour=RED if failed else FAINT, **corner))
    brief = row.trial.replace("phase jump of ", "jump ").replace(" at 5 Hz/s for", ",")
    brief = brief.replace("one phase", "1ph").replace("two phases", "2ph").replace(" to ground", "-g")
    marks.append(Text(brief, (0.0, 1.06), PANEL, size=6.8, colour=RED if failed else INK))
    times = [(tick, f"{tick:g}") for tick in LINEAR.ticks(0.0, end, 4)]
    values = PanelAxis(limits=(-0.6, 1.8), ticks=[(0.0, "0"), (1.0, "1")], size=6.0)
    return Panel(marks, PanelAxis(ticks=times, size=6.0), values, place=place)


def _scan(table: Any, entry: str, k: int, shown: Any, place: tuple[float, float, float, float]) -> Panel:
    """Return the panel of an entry of the plant's admittance: measured as dots, linearised as lines."""
    scan = table[table["y"].notna()]
    marks: list[Mark] = []
    for shade, (s, ratio) in enumerate(shown):
        part = scan[(scan["scr"] == s) & (scan["x_r"] == ratio)]
        if part.empty:
            continue
        hertz = [float(name.split()[2]) for name in part["trial"]]
        linear, measured = (
            [max(abs(complex(y[k], y[k + 4])), 1e-4) for y in part[name]] for name in ("y_linear", "y")
        )
        marks.append(Line(hertz, linear, SHADES[0][shade], 0.9))
        marks.append(Dots(hertz, measured, "o", 3.5, SHADES[1][shade], SHADES[1][shade]))
    words = f"admittance |Y_{entry}| [pu] over Hz: measured, linearised"
    marks.append(Text(words, (0.0, 1.06), PANEL, size=6.8))
    decades = [(10.0**n, f"{10.0**n:g}") for n in range(-4, 3)]
    sizes = PanelAxis(limits=(1e-4, 1e2), scale=LogScale(), ticks=decades, size=6.0)
    return Panel(marks, PanelAxis(scale=LogScale(), ticks=decades[4:], size=6.0), sizes, place=place)
