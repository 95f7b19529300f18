"""A panel on a sheet, lengths in points, y down: where its values are, its axes, ticks, title and legend.

Elements of SVG: colours and strokes, paths from points, outlines of marks and arrows, texts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arrays import Reals
from psmr.figures.chart import (
    DATA,
    FAINT,
    GRID,
    INK,
    Area,
    Dots,
    Frame,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Point,
    tick_texts,
)

THEME = {
    "#1c2330": "ink",
    "#3a3f47": "ink",
    "#6b7280": "faint",
    "#8a8f98": "faint",
    "#5b6472": "faint",
    "#b9bec6": "rule",
    "#e3e5e8": "grid",
    "#ffffff": "paper",
    "#1f4e79": "blue",
    "#d1495b": "red",
    "#2a9d6f": "green",
    "#e09f3e": "orange",
    "#7b5ea7": "violet",
    "#4ea5d9": "sky",
    "#8a5a44": "brown",
    "#9aa437": "olive",
}
"""Colours of the figures by their names in the style sheet, where dark mode and print change them."""

LIGHT = ";".join(f"--{name}:{colour}" for colour, name in reversed(THEME.items()))
"""The same as a style, for a figure that stands in no page."""


def colour_of(colour: str) -> str:
    """Return a colour as the page has it."""
    return f"var(--{THEME[colour]})" if colour in THEME else colour


def stroke(colour: str, width: float, dashes: Sequence[float] = ()) -> str:
    """Return the style of a line; lengths of dashes in parts of its width."""
    dashed = ",".join(f"{width * part:.2f}" for part in dashes)
    style = f"fill:none;stroke:{colour_of(colour)};stroke-width:{width:g}"
    return f"{style};stroke-dasharray:{dashed}" if dashed else style


def filled(colour: str, alpha: float = 1.0, edge: str = "none", width: float = 0.0) -> str:
    """Return the style of an area."""
    look = f"fill:{colour_of(colour)}" + ("" if alpha == 1.0 else f";fill-opacity:{alpha:g}")
    return f"{look};stroke:{colour_of(edge)};stroke-width:{width:g}" if edge != "none" and width else look


def path(points: Reals, closed: bool = False) -> str:
    """Return the path through (K, 2) points, begun anew behind each that is not a number."""
    parts, pen = [], "M"
    for x, y in points.tolist():
        if x != x or y != y:
            pen = "M"
            continue
        parts.append(f"{pen}{x:.2f} {y:.2f}")
        pen = "L"
    return "".join(parts) + ("Z" if closed and parts else "")


def inside(points: Reals, left: float, top: float, right: float, bottom: float) -> Reals:
    """Return (K, 2) points with what is far outside a box drawn nearer: a renderer need not clip so much.

    A point is moved straight up, down or sideways, no nearer to the box than its own size; a line from it
    into the box then has another slope outside, and within only where it was far steeper than the box.
    """
    wide, high = 20.0 * (right - left), 20.0 * (bottom - top)
    limits = (left - wide, right + wide), (top - high, bottom + high)
    return np.column_stack([np.clip(points[:, k], *limits[k]) for k in (0, 1)])


def dot(kind: str, x: float, y: float, size: float) -> str:
    """Return the path of a mark `size` wide; its kinds are those of `psmr.figures.chart.Dots`."""
    r = size / 2.0
    if kind == "o":
        return f"M{x - r:.2f} {y:.2f}a{r:g} {r:g} 0 1 0 {size:g} 0a{r:g} {r:g} 0 1 0 {-size:g} 0Z"
    if kind == "s":
        return f"M{x - r:.2f} {y - r:.2f}h{size:g}v{size:g}h{-size:g}Z"
    if kind == "D":
        d = r * 2.0**0.5
        return f"M{x:.2f} {y - d:.2f}l{d:.2f} {d:.2f}l{-d:.2f} {d:.2f}l{-d:.2f} {-d:.2f}Z"
    if kind == "*":
        turns = np.arange(10) * np.pi / 5
        size_of = np.where(np.arange(10) % 2, 0.382 * r, r)
        return path(np.column_stack([x + size_of * np.sin(turns), y - size_of * np.cos(turns)]), closed=True)
    return f"M{x - r:.2f} {y - r:.2f}l{size:g} {size:g}M{x - r:.2f} {y + r:.2f}l{size:g} {-size:g}"


def head(start: Reals, end: Reals, size: float) -> str:
    """Return the path of an arrow head of `size` points at the end of a line."""
    along = end - start
    length = float(np.hypot(*along))
    if not length > 0.0:
        return ""
    along = along / length
    across = np.array([-along[1], along[0]])
    back = end - 0.4 * size * along
    return path(np.array([end, back + 0.2 * size * across, back - 0.2 * size * across]), closed=True)


def shortened(start: Reals, end: Reals, at_start: float, at_end: float) -> tuple[Reals, Reals]:
    """Return the ends of a line drawn shorter by so many points."""
    along = end - start
    length = float(np.hypot(*along))
    if length <= at_start + at_end:
        return start, end
    along = along / length
    return start + at_start * along, end - at_end * along


# Widths of letters in parts of the font size, those of DejaVu Sans and Verdana, the widest of the faces that
# screens have for plain text: where the reader has a narrower one, there is more room between words.
_WIDTHS = {
    **dict.fromkeys("ijlI.,:;|!'/\\ ", 0.34),
    **dict.fromkeys("ftr()[]", 0.40),
    **dict.fromkeys("mwMW%@", 0.95),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ&", 0.73),
    **dict.fromkeys("+-=<>~±×\N{MINUS SIGN}", 0.80),
}
_USUAL = 0.62

LINE = 1.2
"""Distance of lines in parts of the font size."""

ASCENT, DESCENT = 0.76, 0.22
"""From the base line up and down, in parts of the font size."""

_ANCHORS = {"left": "", "center": "text-anchor:middle;", "right": "text-anchor:end;"}


def width_of(text: str, size: float) -> float:
    """Return the width of a text in points, of the longest of its lines; about, the font is the reader's."""
    lines = text.split("\n")
    return size * max(sum(_WIDTHS.get(letter, _USUAL) for letter in line) for line in lines)


def box_of(text: str, x: float, y: float, size: float, ha: str, va: str) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a text at a point; y points down."""
    width, count = width_of(text, size), text.count("\n") + 1
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[ha] * width
    first = first_line(y, size, va, count)
    return left, first - ASCENT * size, left + width, first + ((count - 1) * LINE + DESCENT) * size


def first_line(y: float, size: float, va: str, count: int) -> float:
    """Return the base line of the first of `count` lines of text whose top, centre, ... is at y."""
    below = (count - 1) * LINE
    return (
        y
        + size
        * {
            "top": ASCENT,
            "center": (ASCENT - DESCENT - below) / 2.0,
            "baseline": -below,
            "bottom": -DESCENT - below,
        }[va]
    )


def element(
    text: str, x: float, y: float, size: float, ha: str = "left", va: str = "baseline",
    colour: str = INK, bold: bool = False, italic: bool = False, turned: bool = False, fixed: bool = False,
) -> str:  # fmt: skip
    """Return the element of a text; a `turned` one is read from below, no page changes a `fixed` colour."""
    lines = text.split("\n")
    look = _ANCHORS[ha] + f"font-size:{size:g}px"
    look += f";fill:{colour if fixed else colour_of(colour)}" if fixed or colour != INK else ""
    look += ";font-weight:bold" if bold else ""
    look += ";font-style:italic" if italic else ""
    turn = f' transform="rotate(-90 {x:.2f} {y:.2f})"' if turned else ""
    base = first_line(y, size, va, len(lines))
    if len(lines) == 1:
        return f'<text x="{x:.2f}" y="{base:.2f}" style="{look}"{turn}>{escape(text, quote=False)}</text>'
    parts = "".join(
        f'<tspan x="{x:.2f}" y="{base + k * LINE * size:.2f}">{escape(line, quote=False)}</tspan>'
        for k, line in enumerate(lines)
    )
    return f'<text style="{look}"{turn}>{parts}</text>'


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


def _parts(axis: PanelAxis, span: Reals, values: ArrayLike) -> Reals:
    """Return where values are between both ends of a scale, 0 to 1."""
    return np.asarray((axis.scale.forward(values) - span[0]) / (span[1] - span[0]))


def _ticks(axis: PanelAxis, span: Reals, ends: Point, most: float) -> list[tuple[float, str, bool]]:
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

    def line(self, line: str, style: str, hover: str) -> None:
        """Put down a path that says what it is where the pointer is on it, or near."""
        if line:
            k = len(self.parts)
            near = f'<use href="#line{k}" style="fill:none;stroke:transparent;stroke-width:5"/>'
            shown = f'<g style="{style}"><path id="line{k}" d="{line}"/></g>'
            self.parts.append(f'<g class="line"><title>{escape(hover, quote=False)}</title>{shown}{near}</g>')

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
