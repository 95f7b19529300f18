"""Where a panel is on a sheet, and where its values are; lengths in points, y points down."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from psmr.figures.chart import DATA, Axis, Frame, Panel, Point, Reals
from psmr.figures.scales import tick_texts
from psmr.figures.svg.paths import inside

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


def _parts(axis: Axis, span: Reals, values: ArrayLike) -> Reals:
    """Return where values are between both ends of a scale, 0 to 1."""
    return np.asarray((axis.scale.forward(values) - span[0]) / (span[1] - span[0]))


def _ticks(axis: Axis, span: Reals, ends: Point, most: float) -> list[tuple[float, str, bool]]:
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
