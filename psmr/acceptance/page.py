"""The page of a battery: small multiples of every trial, the scan, and what passed with its clause."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.acceptance.judge import FAIL
from psmr.base.arrays import Reals
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
    from psmr.acceptance.accepted import Accepted

ACROSS, WIDTH, HEIGHT = 8, 1.75, 1.45
"""Panels in a row, and the size of each in inches."""

BINS = 100
"""Stretches of time of a line, of each of which the least and the largest value are drawn."""

SHADES = ("#0b2545", "#3a6ea5", "#9cc3e6"), ("#7a1f0d", "#d1692e", "#f2b98a")
"""Of voltage and of active power: at the strongest source, one between, and the weakest."""


def write_page(done: Accepted) -> tuple[Path, ...]:
    """Write the figure and the page; return their paths."""
    drawing = trials_figure(done)
    figure, page = done.folder / "accept.svg", done.folder / "accept.html"
    save(to_matplotlib(drawing), figure)
    table = done.trials()
    rows = [
        ModeRow(
            [row.trial, f"{row.passed} of {row.of}", row.clause, row.why], "alarm" * (row.passed < row.of)
        )
        for row in table.itertuples()
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
    """Return small multiples: a panel for each trial, and one for the scan."""
    table = done.table
    order = {"rest": 0, "swell": 1, "jump": 2, "frequency": 3, "step": 4, "dip": 5}
    first = table[table["kind"] != "scan"].drop_duplicates("trial")
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for row in first.itertuples():
        dip = row.kind == "dip"
        words = row.trial.partition(", ")[2]
        # A row for dips of one kind and length, from the deepest to the shallowest.
        short = dip and " 0.1 s" in row.trial
        key = (order[row.kind] // 3, words, not short) if dip else (order[row.kind] // 3,)
        rows.setdefault(key, []).append(row)
    lines = [part[k : k + ACROSS] for _, part in sorted(rows.items()) for k in range(0, len(part), ACROSS)]
    shown = _strengths(done)
    height = HEIGHT * (len(lines) + 1)
    panels = []
    for j, line in enumerate(lines):
        for k, row in enumerate(line):
            panels.append(_trial(done, row, shown, _place(j, k, len(lines) + 1)))
    scan = table[(table["kind"] == "scan") & table["y"].notna()]
    for k, entry in enumerate(("dd", "dq", "qd", "qq")):
        panels.append(_scan(scan, entry, k, shown, _place(len(lines), 2 * k, len(lines) + 1, 2)))
    said = ", ".join(f"SCR {s:g}" for s, _ in shown)
    title = f"{done.name}: {done.headline}. Voltage (blue) and active power (orange) in pu over s"
    if shown:
        title += f", at {said} (dark to light) and X/R {shown[0][1]:g}"
    return Drawing(panels, WIDTH * ACROSS, height, title)


def _place(row: int, column: int, rows: int, wide: int = 1) -> tuple[float, float, float, float]:
    """Return where a panel stands, in parts of the figure; the title has a third of an inch."""
    top = 1 - 0.35 / (rows * HEIGHT)
    w, h = 1 / ACROSS, top / rows
    return column * w + 0.22 * w, top - (row + 1) * h + 0.2 * h, (wide - 0.3) * w, 0.6 * h


def _strengths(done: Accepted) -> list[tuple[float, float]]:
    """Return the strongest source, one between and the weakest, at the X/R that all trials have."""
    usual = min(done.table["x_r"].unique(), key=lambda k: abs(math.log(k / 10)))
    known = sorted({s for s, k, _ in done.traces if k == usual}, reverse=True)
    return [(known[k], usual) for k in sorted({0, len(known) // 2, len(known) - 1})] if known else []


def _trial(done: Accepted, row: Any, shown: Any, place: tuple[float, float, float, float]) -> Panel:
    """Return the panel of a trial: red where it failed at any strength."""
    marks: list[Mark] = []
    for shade, (s, k) in enumerate(shown):
        if (s, k, row.trial) not in done.traces:
            continue
        t, v, p = done.traces[s, k, row.trial]
        for colours, values in zip(SHADES, (v, p), strict=True):
            kept = _extremes(t, values)
            marks.append(Line(t[kept], np.clip(values[kept], -0.6, 1.8), colours[shade], 0.8))
    of = done.table[done.table["trial"] == row.trial]
    failed = int((of["verdict"] == FAIL).sum())
    colour = RED if failed else FAINT
    words = f"{len(of) - failed} of {len(of)} passed"
    marks.append(
        Text(words, (0.98, 0.06), PANEL, size=6.5, colour=colour, ha="right", va="bottom", paper=True)
    )
    marks.append(Text(_short(row.trial), (0.0, 1.06), PANEL, size=6.8, colour=RED if failed else INK))
    end = max((mark.points[:, 0].max() for mark in marks if isinstance(mark, Line)), default=1.0)
    times = [(tick, f"{tick:g}") for tick in LINEAR.ticks(0.0, float(end), 4)]
    values = PanelAxis(limits=(-0.6, 1.8), ticks=[(0.0, "0"), (1.0, "1")], size=6.0)
    return Panel(marks, PanelAxis(ticks=times, size=6.0), values, place=place)


def _extremes(t: Reals, values: Reals) -> NDArray[np.intp]:
    """Return the places of the least and the largest value in each stretch of time, and of both ends."""
    edges = np.unique(np.searchsorted(t, np.linspace(t[0], t[-1], BINS + 1)))
    found = {0, len(t) - 1}
    for a, b in pairwise(edges):
        found |= {a + int(values[a:b].argmin()), a + int(values[a:b].argmax()), int(a), int(b) - 1}
    return np.array(sorted(found))


def _short(trial: str) -> str:
    """Return a trial's name for a title over a narrow panel."""
    for long, brief in (
        ("two phases to ground", "2ph-g"),
        ("one phase to ground", "1ph-g"),
        ("two phases", "2ph"),
    ):
        trial = trial.replace(f", {long}", f", {brief}")
    return trial.replace("phase jump of ", "jump ").replace(" at 5 Hz/s for", ",")


def _scan(scan: Any, entry: str, k: int, shown: Any, place: tuple[float, float, float, float]) -> Panel:
    """Return the panel of an entry of the plant's admittance: measured as dots, linearised as lines."""
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
    marks.append(
        Text(f"admittance |Y_{entry}| [pu] over Hz: measured, linearised", (0.0, 1.06), PANEL, size=6.8)
    )
    decades = [(10.0**n, f"{10.0**n:g}") for n in range(-4, 3)]
    sizes = PanelAxis(limits=(1e-4, 1e2), scale=LogScale(), ticks=decades, size=6.0)
    hertz_axis = PanelAxis(scale=LogScale(), ticks=decades[4:], size=6.0)
    return Panel(marks, hertz_axis, sizes, place=place)
