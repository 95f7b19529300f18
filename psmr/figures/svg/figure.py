"""A figure of a page: its panels, and the element that they make."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from psmr.figures.svg.axes import Axes
from psmr.figures.svg.sheet import INCH, Sheet
from psmr.figures.svg.words import box_of, element

MARGIN = 0.06 * INCH
"""Points around what is drawn."""


class PageFigure(Sheet):
    """A figure for a page, with the methods of matplotlib's that figures of pages need.

    Parameters
    ----------
    width, height
        In inches. The picture is cut to what is drawn, unless it is `whole`.
    grid
        Whether panels have grid lines.
    """

    def __init__(self, width: float, height: float, grid: bool = False) -> None:
        super().__init__(width, height)
        self.grid = grid
        self.axes: list[Axes] = []
        self._edges = [0.09, 0.11, 0.91, 0.9]
        self._title: tuple[str, dict[str, Any]] | None = None

    def add_subplot(self) -> Any:
        """Return the one panel of the figure."""
        left, bottom, right, top = self._edges
        return self.add_axes((left, bottom, right - left, top - bottom))

    subplots = add_subplot

    def add_axes(self, rectangle: Sequence[float]) -> Any:
        """Return a panel at left, bottom, with width and height, in parts of the figure."""
        self.axes.append(Axes(self, rectangle, self.grid))
        return self.axes[-1]

    def suptitle(self, text: str, **look: Any) -> None:
        """Write above all panels."""
        self._title = text, look

    def svg(self, words: str, whole: bool = False) -> Markup:
        """Return the ``<svg>`` element, cut to what is drawn or `whole`; `words` say what it shows."""
        self.covered, self.clips = [], []
        body = "".join(axes.svg() for axes in self.axes)
        if self._title is not None:
            text, look = self._title
            x, y = look.get("x", 0.5) * self.width, 0.01 * self.height
            size, ha = look.get("fontsize", 10.0), look.get("ha", "center")
            self.covers(box_of(text, x, y, size, ha, "top"))
            body += element(text, x, y, size, ha, "top", look.get("color", ""))
        left, top, right, bottom = 0.0, 0.0, self.width, self.height
        if not whole and self.covered:
            left, top = (min(box[k] for box in self.covered) - MARGIN for k in (0, 1))
            right, bottom = (max(box[k] for box in self.covered) + MARGIN for k in (2, 3))
        # Several figures stand in one page: what is referred to by name needs one of its own.
        name = "c" + hashlib.sha256(f"{words}{body}".encode()).hexdigest()[:6]
        body = body.replace("url(#clip", f"url(#{name}-")
        clips = "".join(
            f'<clipPath id="{name}-{k}"><rect x="{a:.2f}" y="{b:.2f}" width="{c - a:.2f}" '
            f'height="{d - b:.2f}"/></clipPath>'
            for k, (a, b, c, d) in enumerate(self.clips, start=1)
        )
        head = Markup(
            '<svg role="img" aria-label="{}" viewBox="{} {} {} {}" style="width:{}pt" '
            'xmlns="http://www.w3.org/2000/svg">'
        ).format(words, *(f"{v:.2f}" for v in (left, top, right - left, bottom - top)), f"{right - left:.0f}")
        return head + Markup(f"<defs>{clips}</defs>{body}</svg>")
