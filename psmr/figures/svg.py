"""A figure as an element of SVG for a page: without matplotlib, whose loading takes longer than a run."""

from __future__ import annotations

import hashlib
import itertools
from functools import singledispatch

import numpy as np
from markupsafe import Markup

from psmr.figures.chart import DASHED, PAPER, Area, Arrow, Cells, Dots, Drawing, Line, Mark, Text
from psmr.figures.svg_frame import (
    Box,
    Plane,
    Sheet,
    box_of,
    dot,
    draw_frame,
    draw_legend,
    filled,
    head,
    path,
    shortened,
    stroke,
)

INCH = 72.0

MARGIN = 0.06 * INCH
"""Points around what is drawn."""

# Edges of the panels in parts of the figure, and points between two of them.
LEFT, TOP_EDGE, RIGHT, BOTTOM = 0.09, 0.1, 0.91, 0.89
GAP = 14.0

MOST = 1.9
"""Pixels of a point of a figure where its column is wide."""


def svg(drawing: Drawing, words: str, whole: bool = False) -> Markup:
    """Return a figure as an ``<svg>`` element in the colours of the page; `words` say what it shows.

    It keeps its size where it is `whole`, and its width where all its panels have places; otherwise it is cut
    to what is drawn. It fills its column, up to where its letters are larger than those of the page.
    """
    sheet = Sheet(drawing.width * INCH, drawing.height * INCH)
    planes = [Plane.of(*both) for both in zip(drawing.panels, _boxes(drawing), strict=True)]
    for k, plane in enumerate(planes):
        last = k == len(planes) - 1
        below = draw_frame(sheet, plane, written=last or not drawing.shared)
        if plane.panel.legend:
            draw_legend(sheet, plane, plane.panel.marks, below)
        elif last and drawing.legend:
            draw_legend(sheet, plane, list(itertools.chain(*(p.panel.marks for p in planes))), below)
        _draw_marks(sheet, plane)
    if drawing.title:
        top = min((box[1] for box in sheet.covered), default=0.01 * sheet.height)
        at = min(top - 6.0, planes[0].box[1] - 6.0)
        sheet.text(drawing.title, 0.01 * sheet.width, at, 10.0, "left", "bottom")
    placed = all(panel.place is not None for panel in drawing.panels)
    return _element(sheet, words, whole, placed)


def _element(sheet: Sheet, words: str, whole: bool, placed: bool) -> Markup:
    body = "".join(sheet.parts)
    left, top, right, bottom = 0.0, 0.0, sheet.width, sheet.height
    if not whole and sheet.covered:
        left, top = (min(box[k] for box in sheet.covered) - MARGIN for k in (0, 1))
        right, bottom = (max(box[k] for box in sheet.covered) + MARGIN for k in (2, 3))
        if placed:
            left, right = min(left, 0.0), max(right, sheet.width)
    # Several figures stand in one page: what is referred to by name needs one of its own.
    name = "c" + hashlib.sha256(f"{words}{body}".encode()).hexdigest()[:6]
    body = body.replace("url(#clip", f"url(#{name}-")
    body = body.replace('id="line', f'id="{name}-l').replace('href="#line', f'href="#{name}-l')
    clips = "".join(
        f'<clipPath id="{name}-{k}"><rect x="{a:.2f}" y="{b:.2f}" width="{c - a:.2f}" '
        f'height="{d - b:.2f}"/></clipPath>'
        for k, (a, b, c, d) in enumerate(sheet.clips, start=1)
    )
    opening = Markup(
        '<svg role="img" aria-label="{}" viewBox="{} {} {} {}" style="width:100%;max-width:{:.0f}px" '
        'xmlns="http://www.w3.org/2000/svg">'
    ).format(words, *(f"{v:.2f}" for v in (left, top, right - left, bottom - top)), MOST * (right - left))
    return opening + Markup(f"<defs>{clips}</defs>{body}</svg>")


def _boxes(drawing: Drawing) -> list[Box]:
    """Return the box of each panel: one below (beside) the other, unless a panel has its own place."""
    w, h = drawing.width * INCH, drawing.height * INCH
    ratios = np.array(drawing.ratios or [1.0] * len(drawing.panels))
    first, last = (LEFT * w, RIGHT * w) if drawing.across else (TOP_EDGE * h, BOTTOM * h)
    lengths = ratios / ratios.sum() * (last - first - GAP * (len(ratios) - 1))
    begins = first + np.cumsum([0.0, *(lengths[:-1] + GAP)])
    found: list[Box] = []
    for panel, begin, length in zip(drawing.panels, begins.tolist(), lengths.tolist(), strict=True):
        if panel.place is not None:
            left, low, width, height = panel.place
            found.append((left * w, (1.0 - low - height) * h, (left + width) * w, (1.0 - low) * h))
        elif drawing.across:
            found.append((begin, TOP_EDGE * h, begin + length, BOTTOM * h))
        else:
            found.append((LEFT * w, begin, RIGHT * w, begin + length))
    return found


def _draw_marks(sheet: Sheet, plane: Plane) -> None:
    """Draw the marks of a panel, the lowest first; what is not text is cut off at its edges."""
    clip, within = sheet.clip(plane.box), False
    for mark in sorted(plane.panel.marks, key=lambda mark: mark.z):
        clipped = not isinstance(mark, Text | Arrow)
        if clipped != within:
            sheet.parts.append(f'<g clip-path="url(#{clip})">' if clipped else "</g>")
            within = clipped
        _draw(mark, sheet, plane)
    if within:
        sheet.parts.append("</g>")


@singledispatch
def _draw(mark: Mark, sheet: Sheet, plane: Plane) -> None:
    raise NotImplementedError(type(mark).__name__)


@_draw.register
def _(mark: Line, sheet: Sheet, plane: Plane) -> None:
    cap = ";stroke-linecap:butt" if mark.butt else ""
    line = path(plane.places(mark.outline, mark.frame))
    look = stroke(mark.colour, mark.width, mark.dashes) + cap
    if mark.hover:
        sheet.line(line, look, mark.hover)
    else:
        sheet.path(line, look)


@_draw.register
def _(mark: Dots, sheet: Sheet, plane: Plane) -> None:
    places = [(x, y) for x, y in plane.places(mark.outline).tolist() if x == x and y == y]
    style = filled(mark.fill, mark.alpha, mark.edge, mark.width)
    sheet.path("".join(dot(mark.shape, x, y, mark.size) for x, y in places), style)


@_draw.register
def _(mark: Area, sheet: Sheet, plane: Plane) -> None:
    outline = path(plane.places(mark.outline, mark.frame), closed=True)
    sheet.path(outline, filled(mark.fill, mark.alpha, mark.edge, mark.width))


@_draw.register
def _(mark: Text, sheet: Sheet, plane: Plane) -> None:
    x, y = plane.place(mark.at, mark.frame)
    left, top, right, bottom = plane.box
    near = left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1
    if not near and mark.frame == ("data", "data"):
        return
    if mark.stem:
        sheet.path(f"M{x:.2f} {y:.2f}v{-mark.stem:.2f}", stroke(mark.colour, 0.7, DASHED))
    x, y = x + mark.shift[0], y - mark.shift[1]
    if mark.paper:
        a, b, c, d = box_of(mark.text, x, y, mark.size, mark.ha, mark.va)
        sheet.path(f"M{a - 0.8:.2f} {b - 0.8:.2f}H{c + 0.8:.2f}V{d + 0.8:.2f}H{a - 0.8:.2f}Z", filled(PAPER))
    sheet.text(
        mark.text, x, y, mark.size, mark.ha, mark.va, mark.colour, italic=mark.italic, fixed=mark.fixed
    )


@_draw.register
def _(mark: Arrow, sheet: Sheet, plane: Plane) -> None:
    start, end = np.array(plane.place(mark.start, mark.start_frame)), np.array(plane.place(mark.end))
    if not np.hypot(*(end - start)) > mark.least:
        return
    start, end = shortened(start, end, *mark.shorter)
    sheet.path(path(np.array([start, end])), stroke(mark.colour, mark.width))
    if mark.head:
        sheet.path(head(start, end, mark.head), filled(mark.colour))


@_draw.register
def _(mark: Cells, sheet: Sheet, plane: Plane) -> None:
    """Draw cells of one colour as one path, and those beside one another as one square."""
    paths: dict[str, list[str]] = {}
    for k, row in enumerate(mark.colours):
        for colour, same in itertools.groupby(range(len(row)), key=row.__getitem__):
            places = list(same)
            (a, b), (c, d) = plane.places(
                np.array([(places[0] - 0.5, k - 0.5), (places[-1] + 0.5, k + 0.5)])
            ).tolist()
            paths.setdefault(colour, []).append(f"M{a:.2f} {b:.2f}H{c:.2f}V{d:.2f}H{a:.2f}Z")
    for colour, found in paths.items():
        sheet.path("".join(found), f"fill:{colour};stroke:{colour};stroke-width:0.3")
