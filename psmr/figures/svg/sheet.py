"""A sheet on which elements of SVG are put down: what is covered, and what is cut off."""

from __future__ import annotations

from psmr.figures.chart import INK
from psmr.figures.svg.plane import Box
from psmr.figures.svg.text import box_of, element


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
