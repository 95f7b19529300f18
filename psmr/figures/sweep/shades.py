"""Shades of a value: their colours, and the strip that says which value is which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psmr.figures.chart import Area, Axis, Panel, Reals
from psmr.figures.scales import Linear, Log

PALE_TO_DARK = ("#f4f6f8", "#a9c4dd", "#1f4e79")
LIGHT_TO_INK = ("#a9c4dd", "#1f4e79", "#1c2330")

# Shades that an eye tells from one another.
STEPS = 32


def shades(parts: Reals, colours: Sequence[str] = PALE_TO_DARK) -> list[str]:
    """Return the colours of parts from 0 to 1, between colours that are equally far apart."""
    known = np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours], dtype=float)
    # Whole steps: what is drawn in one colour is drawn at once.
    at = np.round(np.clip(np.asarray(parts, dtype=float), 0.0, 1.0) * STEPS) / STEPS
    mixed = np.column_stack([np.interp(at, np.linspace(0.0, 1.0, len(known)), part) for part in known.T])
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in np.round(mixed).astype(int).tolist()]


def parts_of(values: Reals, low: float, high: float, scale: Linear | Log) -> Reals:
    """Return where values are between two ends of a scale, 0 to 1."""
    a, b = scale.forward([low, high])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((scale.forward(values) - a) / (b - a))


def strip(
    low: float,
    high: float,
    words: str,
    place: tuple[float, float, float, float],
    scale: Linear | Log,
    colours: Sequence[str] = PALE_TO_DARK,
) -> Panel:
    """Return the panel that says which shade is which value."""
    first, last = scale.forward([low, high]).tolist()
    edges = scale.inverse(np.linspace(first, last, STEPS + 1))
    middles = (np.arange(STEPS) + 0.5) / STEPS
    marks = [
        Area([a, b, b, a], [0.0, 0.0, 1.0, 1.0], colour, edge=colour, width=0.3)
        for a, b, colour in zip(edges[:-1], edges[1:], shades(middles, colours), strict=True)
    ]
    y = Axis(limits=(0.0, 1.0), ticks=())
    return Panel(marks, Axis(words, (low, high), scale), y, grid="", place=place)
