"""Words beside a point, with an arrow between both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from psmr.figures.svg.ink import filled, stroke
from psmr.figures.svg.paths import head, path, shortened
from psmr.figures.svg.sheet import Panel, Place, Point
from psmr.figures.svg.words import box_of, element


@dataclass
class Annotation:
    """An annotation; arguments as those of matplotlib's."""

    axes: Panel
    text: str
    xy: Point
    xytext: Point | None = None
    xycoords: Place = "data"
    textcoords: Place | None = None
    fontsize: float = 9.0
    color: str = "#1c2330"
    ha: str = "left"
    va: str = "baseline"
    style: str = ""
    arrowprops: dict[str, Any] | None = None
    bbox: dict[str, Any] | None = None
    annotation_clip: bool | None = None
    zorder: float = 3.0

    def draw(self) -> str:
        """Return the elements, where the point is in the panel."""
        x, y = self.axes.place(self.xy, self.xycoords)
        left, top, right, bottom = self.axes.box()
        near = left - 0.1 <= x <= right + 0.1 and top - 0.1 <= y <= bottom + 0.1
        if not near and self.annotation_clip is not False and self.xycoords == "data":
            return ""
        at = self._text_at(x, y)
        words = self._words(*at) if self.text else ""
        return self._arrow((x, y), at) + words

    def _text_at(self, x: float, y: float) -> Point:
        if self.xytext is None:
            return x, y
        if self.textcoords == "offset points":
            return x + self.xytext[0], y - self.xytext[1]
        return self.axes.place(self.xytext, self.textcoords or self.xycoords)

    def _words(self, x: float, y: float) -> str:
        box = box_of(self.text, x, y, self.fontsize, self.ha, self.va)
        self.axes.figure.covers(box)
        behind = ""
        if self.bbox is not None:
            left, top, right, bottom = box
            # Of a box with a style the pad is in units of the font, as matplotlib has it.
            style = self.bbox.get("boxstyle", "")
            pad = self.fontsize * float(style.rpartition("=")[2]) if style else self.bbox.get("pad", 0.0)
            size = f'width="{right - left + 2 * pad:.2f}" height="{bottom - top + 2 * pad:.2f}"'
            behind = (
                f'<rect x="{left - pad:.2f}" y="{top - pad:.2f}" {size} style="{filled(self.bbox["fc"])}"/>'
            )
        return behind + element(
            self.text, x, y, self.fontsize, self.ha, self.va, self.color, style=self.style
        )

    def _arrow(self, xy: Point, at: Point) -> str:
        if self.arrowprops is None:
            return ""
        given = self.arrowprops
        start, end = np.array(at), np.array(xy)
        colour, width = given.get("color", "#1c2330"), given.get("lw", 1.0)
        start, end = shortened(start, end, given.get("shrinkA", 2.0), given.get("shrinkB", 2.0))
        line = path(np.array([start, end]))
        drawn = f'<path d="{line}" style="fill:none;{stroke(colour, width, given.get("ls"))}"/>'
        if given["arrowstyle"] == "-|>":
            tip = head(start, end, given.get("mutation_scale", 10.0))
            drawn += f'<path d="{tip}" style="{filled(colour)}"/>' if tip else ""
        return drawn
