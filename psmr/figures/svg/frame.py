"""What stands around a panel: axes with their ticks, grid, labels, title and legend."""

from __future__ import annotations

from collections.abc import Iterable

from psmr.figures.chart import FAINT, GRID, INK, Area, Dots, Line, Mark
from psmr.figures.svg.ink import filled, stroke
from psmr.figures.svg.paths import dot
from psmr.figures.svg.plane import Plane
from psmr.figures.svg.sheet import Sheet
from psmr.figures.svg.text import element, width_of

TICK, PAD = 3.5, 3.0  # length of a tick and distance of its label, in points
TITLE, LABEL, ENTRY = 10.0, 9.0, 8.5  # font sizes
GAP = 14.0  # points between two entries of a legend
SAMPLE = 26.0  # width of a sample and what parts it from its word


def draw_frame(sheet: Sheet, plane: Plane, written: bool) -> float:
    """Draw what is around a panel, x `written` or with ticks alone; return where it ends below."""
    left, top, right, bottom = plane.box
    panel, below = plane.panel, bottom
    if panel.title:
        sheet.text(panel.title, left, top - 6.0, TITLE, "left", "bottom")
    if panel.bare:
        return below
    sheet.covered.append(plane.box)
    columns, rows = plane.columns, plane.rows
    grid = "".join(f"M{x:.2f} {top:.2f}V{bottom:.2f}" for x, *_ in columns) if "x" in panel.grid else ""
    grid += "".join(f"M{left:.2f} {y:.2f}H{right:.2f}" for y, *_ in rows) if "y" in panel.grid else ""
    sheet.path(grid, stroke(GRID, 0.6))
    ticks = f"M{left:.2f} {top:.2f}V{bottom:.2f}H{right:.2f}"
    ticks += "".join(f"M{x:.2f} {bottom:.2f}v{panel.x.length:g}" for x, *_ in columns if panel.x.length)
    ticks += "".join(f"M{left:.2f} {y:.2f}h{-panel.y.length:g}" for y, *_ in rows if panel.y.length)
    sheet.path(ticks, stroke(FAINT, 0.7))
    below, aside = bottom + TICK + PAD, left - panel.y.length - PAD
    for y, text, bold in rows:
        sheet.text(text, aside, y, panel.y.size, "right", "center", INK, bold)
    if panel.y.label:
        widest = max((width_of(text, panel.y.size) for _, text, _ in rows), default=0.0)
        _turned(sheet, panel.y.label, aside - widest - 5.0, (top + bottom) / 2)
    if written:
        for x, text, bold in columns:
            sheet.text(text, x, below, panel.x.size, "center", "top", INK, bold)
        below += panel.x.size + 2.0
        if panel.x.label:
            sheet.text(panel.x.label, (left + right) / 2, below, LABEL, "center", "top")
            below += LABEL + 4.0
    return below


def _turned(sheet: Sheet, text: str, x: float, y: float) -> None:
    """Put down a label that is read from below, with its base line at x."""
    half = width_of(text, LABEL) / 2
    sheet.covered.append((x - LABEL, y - half, x, y + half))
    sheet.parts.append(element(text, x, y, LABEL, "center", "baseline", INK, turned=True))


def draw_legend(sheet: Sheet, plane: Plane, marks: Iterable[Mark], below: float) -> None:
    """List what is drawn with a label: under the panel in columns, or in a lower corner."""
    entries = list({mark.label: mark for mark in marks if mark.label}.values())
    if not entries:
        return
    left, _, right, bottom = plane.box
    widths = [SAMPLE + width_of(mark.label, ENTRY) + GAP for mark in entries]
    columns = 2 if plane.panel.legend in ("", "below") and sum(sorted(widths)[-2:]) <= sheet.width else 1
    # Every column as wide as its widest entry.
    wide = [max(widths[k::columns]) for k in range(min(columns, len(widths)))]
    start, top = max((left + right - sum(wide) + GAP) / 2, 0.0), below + 3.0 + ENTRY
    if plane.panel.legend not in ("", "below"):
        where, side = plane.panel.legend.split()
        start = right - sum(wide) if side == "right" else left + 6.0
        top = bottom - len(widths) * 1.5 * ENTRY if where == "lower" else plane.box[1] + 1.5 * ENTRY
    for k, mark in enumerate(entries):
        x, y = start + sum(wide[: k % columns]), top + (k // columns) * 1.6 * ENTRY
        sheet.parts.append(f'<g transform="translate({x:.2f} {y - 3.0:.2f})">{_sample(mark)}</g>')
        sheet.text(mark.label, x + SAMPLE, y, ENTRY)


def _sample(mark: Mark) -> str:
    """Return the element that stands for a mark in a legend, 20 points wide."""
    if isinstance(mark, Line):
        return f'<path d="M0 0H20" style="{stroke(mark.colour, mark.width, mark.dashes)}"/>'
    if isinstance(mark, Dots):
        style = filled(mark.fill, mark.alpha, mark.edge, mark.width)
        return f'<path d="{dot(mark.shape, 10.0, 0.0, mark.size)}" style="{style}"/>'
    assert isinstance(mark, Area)
    return f'<path d="M0 -3.5H20V3.5H0Z" style="{filled(mark.fill, mark.alpha)}"/>'
