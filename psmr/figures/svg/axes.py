"""A panel of a figure: what is drawn on it is kept, and put down when all of it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from psmr.figures.svg.annotation import Annotation
from psmr.figures.svg.axis import Axis, TickLabel
from psmr.figures.svg.frame import frame
from psmr.figures.svg.ink import filled, stroke
from psmr.figures.svg.paths import Reals, inside, mark, path
from psmr.figures.svg.sheet import Box, Place, Point, Sheet
from psmr.figures.svg.words import box_of, element

USUAL = "#1f4e79"
# So much of an axis is free at both ends of a flow of arrows, as parts of its shaft (those of matplotlib).
HEAD_WIDTH, HEAD_LENGTH, HEAD_AXIS = 4.0, 5.0, 4.5


class Axes:
    """A panel with the methods of matplotlib's axes that figures of pages need; see there for arguments."""

    transAxes = "axes fraction"  # as matplotlib has it

    def __init__(self, figure: Sheet, rectangle: Sequence[float], grid: bool) -> None:
        self.figure, self.rectangle = figure, tuple(rectangle)
        self.xaxis, self.yaxis = Axis(), Axis()
        self.gridded: tuple[str, ...] = ("x", "y") if grid else ()
        self.framed, self.equal = True, False
        self.title = ""
        self.legend_at: dict[str, Any] | None = None
        self.entries: list[tuple[str, str]] = []
        self._items: list[tuple[float, bool, Callable[[], str]]] = []
        self.transData = _Transform(self)  # as matplotlib has it

    # What is drawn.

    def plot(self, x: ArrayLike, y: ArrayLike, *form: str, **look: Any) -> None:
        """Draw a line, or marks without one where `form` is one of ``o x s D``."""
        points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
        self._took(points)
        colour, width = look.get("color", USUAL), look.get("lw", look.get("linewidth", 1.3))
        dashes = look.get("ls", look.get("linestyle"))
        if form and form[0] in "oxsD":
            size, edge = look.get("ms", 6.0), look.get("mec", colour)
            style = filled(look.get("mfc", "none")) + ";" + stroke(edge, look.get("mew", 1.0))
            draw = lambda: f'<path d="{self._marks(form[0], points, size)}" style="{style}"/>'  # noqa: E731
            sample = f'<path d="{mark(form[0], 10.0, 0.0, size)}" style="{style}"/>'
        else:
            cap = ";stroke-linecap:butt" if look.get("solid_capstyle") == "butt" else ""
            style = "fill:none;" + stroke(colour, width, None if dashes in ("-", "") else dashes) + cap
            draw = lambda: self._line(points, style)  # noqa: E731
            sample = f'<path d="M0 0H20" style="{style}"/>'
        if look.get("label"):
            self.entries.append((look["label"], sample))
        if len(points):
            self._add(look.get("zorder", 2.0), draw)

    def fill(self, x: ArrayLike, y: ArrayLike, **look: Any) -> None:
        """Draw an area by its outline."""
        points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
        self._took(points)
        style = filled(look.get("fc", USUAL), look.get("alpha"), look.get("ec", "none"), look.get("lw", 1.0))
        self._add(look.get("zorder", 1.0), lambda: self._area(points, style))

    def fill_between(self, x: ArrayLike, low: ArrayLike, high: ArrayLike, **look: Any) -> None:
        """Draw the area between two lines."""
        t, a, b = (np.asarray(part, dtype=float) for part in (x, low, high))
        outline = np.concatenate([t, t[::-1]]), np.concatenate([a, b[::-1]])
        self.fill(
            *outline, fc=look.get("color", USUAL), alpha=look.get("alpha"), zorder=look.get("zorder", 1.0)
        )

    def barh(self, y: ArrayLike, width: ArrayLike, **look: Any) -> None:
        """Draw bars to the right."""
        height, colour = look.get("height", 0.8), look.get("color", USUAL)
        ends = np.broadcast_arrays(np.asarray(y, float), np.asarray(width, float), look.get("left", 0.0))
        for at, length, left in zip(*ends, strict=True):
            x = np.array([left, left + length, left + length, left])
            self.fill(x, at + 0.5 * height * np.array([-1.0, -1.0, 1.0, 1.0]), fc=colour)
        if look.get("label"):
            sample = f'<path d="M0 -3.5H20V3.5H0Z" style="{filled(colour)}"/>'
            self.entries.append((look["label"], sample))

    def quiver(self, x: ArrayLike, y: ArrayLike, u: ArrayLike, v: ArrayLike, **look: Any) -> None:
        """Draw arrows in units of the data, `width` the width of their shafts."""
        width, colours = look["width"], look["color"]
        arrows = np.broadcast_arrays(*(np.asarray(part, float) for part in (x, y, u, v)))
        for (a, b, c, d), colour in zip(np.column_stack(arrows).tolist(), colours, strict=True):
            length = float(np.hypot(c, d))
            along, across = np.array([c, d]) / length, np.array([-d, c]) / length
            neck = max(length - HEAD_AXIS * width, 0.0)
            wing = max(length - HEAD_LENGTH * width, 0.0)
            sides = [(0.0, 0.5), (neck, 0.5), (wing, HEAD_WIDTH / 2), (length, 0.0)]
            sides += [(part, -side) for part, side in reversed(sides[:-1])]
            outline = np.array([[a, b] + part * along + side * width * across for part, side in sides])
            self.fill(outline[:, 0], outline[:, 1], fc=colour, zorder=look.get("zorder", 1.0))

    def axvline(self, x: float, **look: Any) -> None:
        """Draw a line from bottom to top."""
        style = "fill:none;" + stroke(look.get("color", USUAL), look.get("lw", 1.3), look.get("ls"))
        self._add(look.get("zorder", 2.0), lambda: self._across([(x, 0.0), (x, 1.0)], 0, style))

    def axhline(self, y: float, **look: Any) -> None:
        """Draw a line from left to right."""
        style = "fill:none;" + stroke(look.get("color", USUAL), look.get("lw", 1.3), look.get("ls"))
        self._add(look.get("zorder", 2.0), lambda: self._across([(0.0, y), (1.0, y)], 1, style))

    def axvspan(self, first: float, last: float, **look: Any) -> None:
        """Shade what is between two values of x."""
        style = filled(look.get("color", USUAL), look.get("alpha"))
        corners = [(first, 0.0), (last, 0.0), (last, 1.0), (first, 1.0)]
        self._add(look.get("zorder", 1.0), lambda: self._across(corners, 0, style, closed=True))

    def annotate(self, text: str, xy: tuple[float, float], *rest: Any, **look: Any) -> None:
        """Write beside a point, with an arrow to it where asked for."""
        found = Annotation(self, text, xy, **look)
        self._add(look.get("zorder", 3.0), found.draw, clipped=False)

    def text(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write at a point: of the data, or of the panel with ``transform=ax.transAxes``."""
        where = look.get("transform") or "data"
        self._add(
            look.get("zorder", 3.0),
            lambda: self._words(text, *self.place((x, y), where), look),
            clipped=False,
        )

    # What it looks like.

    def set_xlim(self, low: float, high: float) -> None:
        """Set both ends of x."""
        self.xaxis.limits = float(low), float(high)

    def set_ylim(self, low: float, high: float) -> None:
        """Set both ends of y."""
        self.yaxis.limits = float(low), float(high)

    def get_xlim(self) -> tuple[float, float]:
        """Return both ends of x."""
        return self.xaxis.ends()

    def get_ylim(self) -> tuple[float, float]:
        """Return both ends of y."""
        return self.yaxis.ends()

    def get_autoscalex_on(self) -> bool:
        """Return whether x goes by what is drawn."""
        return self.xaxis.limits is None

    def set_xscale(self, name: str, **look: float) -> None:
        """Set the scale of x."""
        self.xaxis.set_scale(name, **look)

    def set_yscale(self, name: str, **look: float) -> None:
        """Set the scale of y."""
        self.yaxis.set_scale(name, **look)

    def set_xlabel(self, label: str) -> None:
        """Say what x is."""
        self.xaxis.label = label

    def set_ylabel(self, label: str) -> None:
        """Say what y is."""
        self.yaxis.label = label

    def set_title(self, title: str, **look: Any) -> None:
        """Write above the panel, from its left edge on."""
        self.title = title

    def set_yticks(self, values: Sequence[float], labels: Sequence[str] | None = None, **look: Any) -> None:
        """Set the ticks of y, and what is written at them."""
        self.yaxis.set_ticks(values, labels, look.get("fontsize"))

    def get_yticklabels(self) -> list[TickLabel]:
        """Return the labels that were set."""
        return [] if self.yaxis.own is None else self.yaxis.own[1]

    def tick_params(self, axis: str, length: float) -> None:
        """Set the length of ticks in points."""
        (self.xaxis if axis == "x" else self.yaxis).length = length

    def grid(self, visible: bool = True, axis: str = "both", **look: Any) -> None:
        """Draw lines at the ticks, or none."""
        self.gridded = () if not visible else ("x", "y") if axis == "both" else (axis,)

    def set_axis_off(self) -> None:
        """Leave out frame, ticks and grid."""
        self.framed, self.gridded = False, ()

    def set_axisbelow(self, below: bool) -> None:
        """Grid lines are always below."""

    def set_aspect(self, aspect: str) -> None:
        """Make a unit of x as long as one of y."""
        self.equal = aspect == "equal"

    def margins(self, margin: float) -> None:
        """Set what stays free at all edges, as part of the panel."""
        self.xaxis.margin = self.yaxis.margin = margin

    def legend(self, **look: Any) -> None:
        """List what was drawn with a label."""
        self.legend_at = look

    @property
    def spines(self) -> _Spines:
        """Those above and to the right are never there."""
        return _Spines()

    # Where things are.

    def get_figure(self, root: bool = True) -> Sheet:
        """Return the figure."""
        return self.figure

    def get_position(self) -> Rectangle:
        """Return where it is in the figure, in parts of that."""
        return Rectangle(*self.rectangle)

    def box(self) -> Box:
        """Return left, top, right and bottom of the panel in points; y points down."""
        left, low, width, height = self.rectangle
        w, h = self.figure.width, self.figure.height
        x0, y0, x1, y1 = left * w, (1.0 - low - height) * h, (left + width) * w, (1.0 - low) * h
        if self.equal:
            (a, b), (c, d) = self.get_xlim(), self.get_ylim()
            unit = min((x1 - x0) / abs(b - a), (y1 - y0) / abs(d - c))
            mx, my = (x0 + x1) / 2, (y0 + y1) / 2
            dx, dy = abs(b - a) * unit / 2, abs(d - c) * unit / 2
            x0, x1, y0, y1 = mx - dx, mx + dx, my - dy, my + dy
        return x0, y0, x1, y1

    def place(self, xy: Point, coordinates: Place = "data") -> Point:
        """Return a point of the panel in points of the figure; y points down."""
        kinds = (coordinates, coordinates) if isinstance(coordinates, str) else coordinates
        x0, y0, x1, y1 = self.box()
        x = float(self.xaxis.parts([xy[0]])[0]) if kinds[0] == "data" else xy[0]
        y = float(self.yaxis.parts([xy[1]])[0]) if kinds[1] == "data" else xy[1]
        return x0 + x * (x1 - x0), y1 - y * (y1 - y0)

    def places(self, points: Reals) -> Reals:
        """Return (K, 2) points of the data in points of the figure; y points down."""
        x0, y0, x1, y1 = self.box()
        with np.errstate(divide="ignore", invalid="ignore"):
            x = x0 + self.xaxis.parts(points[:, 0]) * (x1 - x0)
            y = y1 - self.yaxis.parts(points[:, 1]) * (y1 - y0)
        return inside(np.column_stack([x, y]), x0, y0, x1, y1)

    def svg(self) -> str:
        """Return the elements of the panel; what it covers is reported to the figure."""
        x0, y0, x1, y1 = self.box()
        if self.framed:
            self.figure.covers((x0, y0, x1, y1))
        clip = self.figure.clip((x0, y0, x1, y1))
        parts, within = [frame(self)], False
        for _, clipped, draw in sorted(self._items, key=lambda item: item[0]):
            if clipped != within:
                parts.append(f'<g clip-path="url(#{clip})">' if clipped else "</g>")
                within = clipped
            parts.append(draw())
        return "".join(parts) + ("</g>" if within else "")

    def _words(self, text: str, x: float, y: float, look: dict[str, Any]) -> str:
        size, ha, va = look.get("fontsize", 9.0), look.get("ha", "left"), look.get("va", "baseline")
        self.figure.covers(box_of(text, x, y, size, ha, va))
        return element(
            text, x, y, size, ha, va, look.get("color", ""), look.get("weight", ""), look.get("style", "")
        )

    def _line(self, points: Reals, style: str) -> str:
        return f'<path d="{path(self.places(points))}" style="{style}"/>'

    def _area(self, points: Reals, style: str) -> str:
        return f'<path d="{path(self.places(points), closed=True)}" style="{style}"/>'

    def _marks(self, kind: str, points: Reals, size: float) -> str:
        return "".join(mark(kind, x, y, size) for x, y in self.places(points).tolist() if x == x and y == y)

    def _across(
        self, corners: Sequence[tuple[float, float]], axis: int, style: str, closed: bool = False
    ) -> str:
        kinds: Place = ("data", "axes fraction") if axis == 0 else ("axes fraction", "data")
        drawn = path(np.array([self.place(corner, kinds) for corner in corners]), closed)
        return f'<path d="{drawn}" style="{style}"/>'

    def _took(self, points: Reals) -> None:
        points = points[np.isfinite(points).all(axis=1)]
        self.xaxis.took(points[:, 0])
        self.yaxis.took(points[:, 1])

    def _add(self, order: float, draw: Callable[[], str], clipped: bool = True) -> None:
        self._items.append((order, clipped, draw))


class Rectangle:
    """A rectangle of a figure, in parts of it."""

    def __init__(self, left: float, bottom: float, width: float, height: float) -> None:
        self.x0, self.y0, self.width, self.height = left, bottom, width, height


class _Spines:
    def __getitem__(self, sides: Sequence[str]) -> _Spines:
        return self

    def set_visible(self, visible: bool) -> None:
        """Do nothing: there are none to hide."""


class _Transform:
    """From the data to points, as far as distances are concerned."""

    def __init__(self, axes: Axes) -> None:
        self._axes = axes

    def transform(self, points: ArrayLike) -> Reals:
        """Return (K, 2) points of the data in pixels, of which matplotlib's figures have 100 an inch."""
        return self._axes.places(np.asarray(points, dtype=float)) * (100.0 / 72.0)
