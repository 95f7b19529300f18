"""Figures of controllers in files: what does not come to rest at its start."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from psmr.base.arrays import Reals
from psmr.figures.chart import Drawing, Line, Panel, PanelAxis
from psmr.figures.svg import svg

MOST, POINTS = 6, 2000
"""Panels of a figure, of what moves most, and about how many points of each signal."""


def start_figure(t: Reals, signals: Mapping[str, Reals], title: str) -> str:
    """Return a figure (SVG) of the signals in pu over the times t in s, those that move most first."""
    order = sorted(signals, key=lambda name: -float(np.ptp(signals[name])))[:MOST]
    axis = PanelAxis("t [s]", (float(t[0]), float(t[-1])))
    thin = max(1, len(t) // POINTS)
    panels = [
        Panel([Line(t[::thin], signals[name][::thin])], axis, PanelAxis(f"{name} [pu]")) for name in order
    ]
    drawing = Drawing(panels, 7.0, 1.0 + 1.5 * len(panels), title, shared=True)
    return str(svg(drawing, f"{title}: {', '.join(order)}", whole=True))
