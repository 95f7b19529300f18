"""Text in a figure: how wide it is about, and its element."""

from __future__ import annotations

from html import escape

from psmr.figures.chart import INK
from psmr.figures.svg.ink import colour_of

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
