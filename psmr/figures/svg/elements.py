"""Elements of SVG: colours and strokes, paths from points, outlines of marks and arrows, texts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from psmr.base.arrays import Reals
from psmr.figures.chart import INK

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
