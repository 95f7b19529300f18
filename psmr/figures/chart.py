"""A figure as data: panels with their axes and scales, and the marks on them.

Colours are texts as matplotlib and CSS have them, lengths points, places those of the data. Two renderers
draw a figure: `psmr.figures.svg` for pages, `psmr.figures.with_matplotlib` for notebooks and files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arrays import Reals

# Steps between ticks, times a power of ten.
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(Protocol):
    """What a scale offers: its name in matplotlib, and whether values must be above 0."""

    name: ClassVar[str]
    only_positive: ClassVar[bool]

    def forward(self, values: ArrayLike) -> Reals:
        """Return where values stand, in units of the scale."""

    def inverse(self, places: ArrayLike) -> Reals:
        """Return the values that stand at places."""

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """Return the values to write between two values, `most` or fewer."""


@dataclass(frozen=True)
class LinearScale:
    """Equal distances for equal differences."""

    name: ClassVar[str] = "linear"
    only_positive: ClassVar[bool] = False

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(values, dtype=float)

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(places, dtype=float)

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: multiples of 1, 2, 2.5 or 5 times a power of ten."""
        span = high - low
        if not (span > 0.0 and math.isfinite(span)):
            return [low]
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next((s * power for s in STEPS if span / (s * power) <= most), 10.0 * power)
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        # A multiple of the step to its last digit, as it is written.
        digits = max(0, 2 - math.floor(math.log10(step)))
        return [round(k * step, digits) for k in range(first, last + 1)]


LINEAR = LinearScale()


@dataclass(frozen=True)
class LogScale:
    """Equal distances for equal ratios; values are above 0."""

    name: ClassVar[str] = "log"
    only_positive: ClassVar[bool] = True

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.log10(np.asarray(values, dtype=float))

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        return np.asarray(10.0 ** np.asarray(places, dtype=float))

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: powers of ten, every second, third, ... where there are many."""
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        every = max(1, math.ceil((last - first + 1) / most))
        return [10.0**k for k in range(first, last + 1, every)]


@dataclass(frozen=True)
class SymLogScale:
    """Linear up to `linear` on both sides of 0, logarithmic beyond; `share` decades long each linear side."""

    name: ClassVar[str] = "symlog"
    only_positive: ClassVar[bool] = False

    linear: float
    share: float = 1.0

    @property
    def _length(self) -> float:
        return self.share / (1.0 - 0.1)

    def forward(self, values: ArrayLike) -> Reals:
        """See `Scale`."""
        given = np.asarray(values, dtype=float)
        size = np.abs(given) / self.linear
        beyond = self._length + np.log10(np.maximum(size, 1.0))
        return np.asarray(np.where(size <= 1.0, given / self.linear * self._length, np.sign(given) * beyond))

    def inverse(self, places: ArrayLike) -> Reals:
        """See `Scale`."""
        given = np.asarray(places, dtype=float)
        size = np.abs(given)
        beyond = 10.0 ** np.maximum(size - self._length, 0.0)
        values = np.where(size <= self._length, given / self._length, np.sign(given) * beyond)
        return np.asarray(values * self.linear)

    def ticks(self, low: float, high: float, most: int) -> list[float]:
        """See `Scale`: 0 and powers of ten on both sides."""
        found = [0.0] if low <= 0.0 <= high else []
        first = round(math.log10(self.linear))
        for sign, end in ((-1.0, -low), (1.0, high)):
            if end >= self.linear:
                last = math.floor(math.log10(end) + 1e-9)
                found += [sign * 10.0**k for k in range(first, last + 1)]
        found = sorted(value for value in found if low <= value <= high)
        every = max(1, math.ceil(len(found) / most))
        # 0 stays, and what is thinned out is counted from there.
        zero = found.index(0.0) if 0.0 in found else 0
        return [value for k, value in enumerate(found) if (k - zero) % every == 0]


def tick_texts(values: list[float]) -> list[str]:
    """Return what is written at ticks: all with as many decimals as the one that needs most."""
    texts = [f"{value:.6g}" for value in values]
    if not any("e" in text for text in texts):
        decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
        steps = np.diff(values)
        if len(steps) and np.allclose(steps, steps[0]):
            texts = [f"{value:.{decimals}f}" for value in values]
    return [text.replace("-", "\N{MINUS SIGN}") for text in texts]


Point = tuple[float, float]
Frame = tuple[Literal["data", "panel"], Literal["data", "panel"]]
"""What the two numbers of a point are: of the data, or from 0 to 1 across the panel."""

DATA: Frame = ("data", "data")
PANEL: Frame = ("panel", "panel")
TOP: Frame = ("data", "panel")

# Blue and red mean slow and fast in a partition as they mean system and scheme in a deformation report; the
# lines of a trajectory begin with the same pair. Neighbours in the list differ in lightness as well, for
# readers who see no hue.
COLOURS = ("#1f4e79", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#4ea5d9", "#8a5a44", "#5b6472", "#9aa437")
BLUE, RED = COLOURS[:2]
INK, FAINT, RULE, GRID, PAPER = "#1c2330", "#6b7280", "#b9bec6", "#e3e5e8", "#ffffff"
FAST, SLOW = RED, BLUE

DASHED, STITCHED = (4.0, 3.0), (3.0, 2.0)
"""Lengths of dashes and gaps in parts of the width of a line."""

NOWHERE = np.empty((0, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Mark:
    """What is drawn on a panel; a larger `z` lies above, and `label` is its word in the legend."""

    z: float = 2.0
    label: str = ""

    @property
    def points(self) -> Reals:
        """(K, 2) points of the data that limits of an axis include."""
        return NOWHERE


@dataclass(frozen=True, eq=False)
class _Outline(Mark):
    x: ArrayLike
    y: ArrayLike
    _: KW_ONLY
    frame: Frame = DATA

    @property
    def outline(self) -> Reals:
        """(K, 2) points in the frame."""
        return np.column_stack([np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)])

    @property
    def points(self) -> Reals:
        """See `Mark`."""
        return self.outline if self.frame == DATA else NOWHERE


@dataclass(frozen=True, eq=False)
class Line(_Outline):
    """A line through points; what is not a number parts it. A page says `hover` under the pointer."""

    colour: str = BLUE
    width: float = 1.3
    dashes: tuple[float, ...] = ()
    butt: bool = False
    hover: str = ""


@dataclass(frozen=True, eq=False)
class Dots(_Outline):
    """Marks of a shape: ``"o"``, ``"s"`` (square), ``"D"`` (diamond), ``"x"`` or ``"*"``, `size` wide."""

    shape: str = "o"
    size: float = 6.0
    fill: str = "none"
    edge: str = BLUE
    width: float = 1.0
    alpha: float = 1.0


@dataclass(frozen=True, eq=False)
class Area(_Outline):
    """An area by its outline."""

    fill: str = BLUE
    alpha: float = 1.0
    edge: str = "none"
    width: float = 1.0
    _: KW_ONLY
    z: float = 1.0


def line_across(
    axis: Literal["x", "y"],
    at: float,
    colour: str = FAINT,
    width: float = 0.7,
    dashes: tuple[float, ...] = (),
    z: float = 0.6,
) -> Line:
    """Return a line across the panel at a value of x or of y."""
    ends: tuple[list[float], list[float]] = ([at, at], [0.0, 1.0])
    frame: Frame = TOP if axis == "x" else ("panel", "data")
    return Line(*(ends if axis == "x" else ends[::-1]), colour, width, dashes, frame=frame, z=z)


def band(first: float, last: float, colour: str = RED, alpha: float = 0.16, z: float = 0.5) -> Area:
    """Return a shade between two values of x."""
    return Area([first, last, last, first], [0.0, 0.0, 1.0, 1.0], colour, alpha, frame=TOP, z=z)


@dataclass(frozen=True, eq=False)
class Text(Mark):
    """A text at a point, moved by `shift` points to the right and up.

    One that is `fixed` has the same colour where a page is dark; one with `paper` behind it covers lines. A
    dashed `stem`, so many points high, leads from the point up.
    """

    text: str
    at: Point
    frame: Frame = DATA
    shift: Point = (0.0, 0.0)
    size: float = 8.0
    colour: str = INK
    ha: Literal["left", "center", "right"] = "left"
    va: Literal["baseline", "bottom", "center", "top"] = "baseline"
    italic: bool = False
    paper: bool = False
    fixed: bool = False
    stem: float = 0.0
    _: KW_ONLY
    z: float = 3.0


@dataclass(frozen=True, eq=False)
class Arrow(Mark):
    """A straight line from point to point, with a head of `head` points, shortened at both ends by points.

    Shorter than `least` points it is not drawn.
    """

    start: Point
    end: Point
    start_frame: Frame = DATA
    colour: str = FAINT
    width: float = 1.0
    head: float = 0.0
    shorter: Point = (0.0, 0.0)
    least: float = 0.0


@dataclass(frozen=True, eq=False)
class Cells(Mark):
    """Squares around the whole numbers, in rows from y = 0 on: their colours, which no page changes."""

    colours: Sequence[Sequence[str]]
    _: KW_ONLY
    z: float = 1.0

    @property
    def points(self) -> Reals:
        """See `Mark`."""
        return np.array([(-0.5, -0.5), (len(self.colours[0]) - 0.5, len(self.colours) - 0.5)])


@dataclass(frozen=True)
class PanelAxis:
    """An axis of a panel: the quantity with its unit, the values at both ends, its scale.

    Without limits it shows what is drawn, with the part `margin` free at both ends; `ticks` are values and
    what is written at them, those of the scale if None, of which `bold` are set in bold; `size` is that of
    what is written, `length` that of the ticks, in points.
    """

    label: str = ""
    limits: tuple[float, float] | None = None
    scale: Scale = LINEAR
    ticks: Sequence[tuple[float, str]] | None = None
    bold: Sequence[int] = ()
    size: float = 9.0
    length: float = 3.5
    margin: float = 0.05

    def ends(self, values: Reals) -> tuple[float, float]:
        """Return the values at both ends, where these are drawn."""
        if self.limits is not None:
            return self._apart(*self.limits)
        values = values[np.isfinite(values)]
        low, high = self._apart(*((float(values.min()), float(values.max())) if values.size else (0.0, 1.0)))
        a, b = self.scale.forward([low, high])
        first, last = self.scale.inverse([a - self.margin * (b - a), b + self.margin * (b - a)])
        return float(first), float(last)

    def _apart(self, low: float, high: float) -> tuple[float, float]:
        """Return two ends that differ, around one value where both are that."""
        if low != high:
            return low, high
        room = 0.1 * abs(low) if self.scale.only_positive else 0.05 * max(abs(low), 1.0)
        return low - room, high + room


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel: its marks and axes, with a title above, from its left edge on.

    There are lines at the ticks of `grid`, ``"xy"``, ``"x"``, ``"y"`` or none, and neither frame nor ticks
    where it is `bare`; where it is `equal` a unit of x is as long as one of y. The labels of marks are listed
    below it, in a corner, or nowhere (`legend`). `place` is left, bottom, width and height in parts of the
    figure, None: as the renderer arranges panels.
    """

    marks: Sequence[Mark]
    x: PanelAxis = PanelAxis()
    y: PanelAxis = PanelAxis()
    title: str = ""
    grid: str = "xy"
    bare: bool = False
    equal: bool = False
    legend: Literal["", "below", "lower right", "lower left", "upper left"] = ""
    place: tuple[float, float, float, float] | None = None

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The values at both ends of x and of y."""
        drawn = np.concatenate([NOWHERE, *(mark.points for mark in self.marks)])
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        return self.x.ends(drawn[:, 0]), self.y.ends(drawn[:, 1])


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure: panels one below the other (or `across`, one beside the other), its size in inches.

    `ratios` are the heights (widths) of the panels in relation to one another, all the same where left out;
    `shared` panels have one axis of x, written below the last one; `legend` lists the labels of all marks
    below all panels.
    """

    panels: Sequence[Panel]
    width: float
    height: float
    title: str = ""
    across: bool = False
    ratios: Sequence[float] = ()
    shared: bool = False
    legend: bool = False


def unbroken(text: str) -> str:
    """Return a text in which no line ends within ``h = 0.05 s``: a name, number and unit, or an arrow."""
    hard = "\N{NO-BREAK SPACE}"
    text = text.replace(" = ", f"{hard}={hard}").replace(" -> ", f" \N{RIGHTWARDS ARROW}{hard}")
    return re.sub(r"(?<=\d) (?=(s|1/s|%)(?![\w/]))", hard, text)


def spaced_apart(places: Sequence[float], gap: float) -> list[float]:
    """Return ascending places moved as little as needed to be a gap apart and, if they fit, within [0, 1]."""
    moved = list(places)
    for k in range(1, len(moved)):
        moved[k] = max(moved[k], moved[k - 1] + gap)
    top = max(1.0, places[-1] if places else 1.0)
    for k in reversed(range(len(moved))):
        moved[k] = min(moved[k], top - gap * (len(moved) - 1 - k))
    # Upwards and downwards each leave a bunch to one side; half way stands before its lines.
    down = list(places)
    for k in reversed(range(len(down) - 1)):
        down[k] = min(down[k], down[k + 1] - gap)
    middle = [(a + b) / 2 for a, b in zip(moved, down, strict=True)]
    for k in range(1, len(middle)):
        middle[k] = max(middle[k], middle[k - 1] + gap)
    over = max(0.0, middle[-1] - top) if middle else 0.0
    return [place - over for place in middle]
