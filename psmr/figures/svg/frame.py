"""A panel on a sheet, lengths in points, y down: where its values are, its axes, ticks, title and legend."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arrays import Reals
from psmr.figures.chart import (
    DATA,
    FAINT,
    GRID,
    INK,
    Area,
    Axis,
    Dots,
    Frame,
    Line,
    Mark,
    Panel,
    Point,
)
from psmr.figures.scales import tick_texts
from psmr.figures.svg.elements import box_of, dot, element, filled, inside, stroke, width_of

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""

# Points between two ticks at least, along x and along y.
APART = (40.0, 22.0)


@dataclass(frozen=True, eq=False)
class Plane:
    """A panel in a box, with the values at its edges."""

    panel: Panel
    box: Box
    x_ends: Point
    y_ends: Point

    @classmethod
    def of(cls, panel: Panel, box: Box) -> Plane:
        """Return a panel in a box, smaller where both axes have the same unit."""
        (a, b), (c, d) = panel.ends
        if panel.equal:
            x0, y0, x1, y1 = box
            unit = min((x1 - x0) / abs(b - a), (y1 - y0) / abs(d - c))
            mx, my, dx, dy = (x0 + x1) / 2, (y0 + y1) / 2, abs(b - a) * unit / 2, abs(d - c) * unit / 2
            box = mx - dx, my - dy, mx + dx, my + dy
        return cls(panel, box, (a, b), (c, d))

    @functools.cached_property
    def spans(self) -> tuple[Reals, Reals]:
        """Both ends of x and of y in units of their scales."""
        return self.panel.x.scale.forward(self.x_ends), self.panel.y.scale.forward(self.y_ends)

    def places(self, points: Reals, frame: Frame = DATA) -> Reals:
        """Return (K, 2) points on the sheet."""
        x0, y0, x1, y1 = self.box
        x, y = points.T
        with np.errstate(divide="ignore", invalid="ignore"):
            x = _parts(self.panel.x, self.spans[0], x) if frame[0] == "data" else x
            y = _parts(self.panel.y, self.spans[1], y) if frame[1] == "data" else y
        return inside(np.column_stack([x0 + x * (x1 - x0), y1 - y * (y1 - y0)]), x0, y0, x1, y1)

    def place(self, at: Point, frame: Frame = DATA) -> Point:
        """Return a point on the sheet."""
        x0, y0, x1, y1 = self.box
        x = float(_parts(self.panel.x, self.spans[0], at[0])) if frame[0] == "data" else at[0]
        y = float(_parts(self.panel.y, self.spans[1], at[1])) if frame[1] == "data" else at[1]
        return x0 + x * (x1 - x0), y1 - y * (y1 - y0)

    @property
    def columns(self) -> list[tuple[float, str, bool]]:
        """Ticks of x: where on the sheet, what is written, and whether in bold."""
        x0, _, x1, _ = self.box
        ticks = _ticks(self.panel.x, self.spans[0], self.x_ends, (x1 - x0) / APART[0])
        return [(x0 + part * (x1 - x0), text, bold) for part, text, bold in ticks]

    @property
    def rows(self) -> list[tuple[float, str, bool]]:
        """Ticks of y, as `columns`."""
        _, y0, _, y1 = self.box
        ticks = _ticks(self.panel.y, self.spans[1], self.y_ends, (y1 - y0) / APART[1])
        return [(y1 - part * (y1 - y0), text, bold) for part, text, bold in ticks]


def _parts(axis: Axis, span: Reals, values: ArrayLike) -> Reals:
    """Return where values are between both ends of a scale, 0 to 1."""
    return np.asarray((axis.scale.forward(values) - span[0]) / (span[1] - span[0]))


def _ticks(axis: Axis, span: Reals, ends: Point, most: float) -> list[tuple[float, str, bool]]:
    """Return the ticks of an axis, about `most`: where from 0 to 1, what is written, and whether in bold."""
    if axis.ticks is not None:
        values, texts = [value for value, _ in axis.ticks], [text for _, text in axis.ticks]
    else:
        low, high = sorted(ends)
        values = axis.scale.ticks(low, high, max(2, int(most)))
        texts = tick_texts(values)
    places = _parts(axis, span, values) if values else np.empty(0)
    found = zip(places.tolist(), texts, [k in axis.bold for k in range(len(texts))], strict=True)
    return [tick for tick in found if -1e-6 <= tick[0] <= 1.0 + 1e-6]


class Sheet:
    """A sheet of a width and height in points.

    Attributes
    ----------
    parts
        The elements, the lowest first.
    covered, clips
        Boxes of what is drawn, and those beyond which something is not.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []
        self.covered: list[Box] = []
        self.clips: list[Box] = []

    def path(self, line: str, style: str) -> None:
        """Put down a path."""
        if line:
            self.parts.append(f'<path d="{line}" style="{style}"/>')

    def text(
        self, text: str, x: float, y: float, size: float, ha: str = "left", va: str = "baseline",
        colour: str = INK, bold: bool = False, italic: bool = False, fixed: bool = False,
    ) -> None:  # fmt: skip
        """Put down a text, and take note of what it covers."""
        self.covered.append(box_of(text, x, y, size, ha, va))
        self.parts.append(element(text, x, y, size, ha, va, colour, bold, italic, fixed=fixed))

    def clip(self, box: Box) -> str:
        """Return the name of a box beyond which nothing is drawn."""
        self.clips.append(box)
        return f"clip{len(self.clips)}"


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
