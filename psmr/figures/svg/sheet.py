"""What the parts of a figure know of the sheet they are on, and of the panel they belong to."""

from __future__ import annotations

from typing import Any, Protocol

from psmr.figures.svg.axis import Axis

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in points; y points down."""

Place = str | tuple[str, str]
"""What a point's two numbers are: ``"data"`` or ``"axes fraction"``, for both or for each."""

Point = tuple[float, float]

INCH = 72.0


class Sheet:
    """A sheet of a width and height in inches, which remembers what of it is covered.

    Attributes
    ----------
    width, height
        In points.
    covered, clips
        Boxes of what is drawn, and those beyond which something is not.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width * INCH, height * INCH
        self.covered: list[Box] = []
        self.clips: list[Box] = []

    def covers(self, box: Box) -> None:
        """Take note of what is drawn."""
        self.covered.append(box)

    def clip(self, box: Box) -> str:
        """Return the name of a box beyond which nothing is drawn."""
        self.clips.append(box)
        return f"clip{len(self.clips)}"

    def get_figwidth(self) -> float:
        """Return the width in inches."""
        return self.width / INCH

    def get_figheight(self) -> float:
        """Return the height in inches."""
        return self.height / INCH


class Panel(Protocol):
    """What is asked of a panel; see `psmr.figures.svg.axes.Axes`."""

    figure: Sheet
    xaxis: Axis
    yaxis: Axis
    gridded: tuple[str, ...]
    framed: bool
    title: str
    legend_at: dict[str, Any] | None
    entries: list[tuple[str, str]]

    def box(self) -> Box: ...  # noqa: D102
    def place(self, xy: Point, coordinates: Place = "data") -> Point: ...  # noqa: D102
