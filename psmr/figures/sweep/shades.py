"""Shades of a value: their colours, and the strip that says which value is which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psmr.figures.chart import Axis, Cells, Panel, Reals
from psmr.figures.scales import Linear, Log, tick_texts

PALE_TO_DARK = ("#f4f6f8", "#a9c4dd", "#1f4e79")
# Told apart on white and on black paper.
BLUE_TO_VIOLET = ("#8fb8de", "#2e6aa3", "#a23b72")

# Shades that an eye tells from one another.
STEPS = 32
# Values written below a strip, at most.
TICKS = 5


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
    cells = Cells((shades(np.arange(STEPS) / (STEPS - 1), colours),))
    values = scale.ticks(low, high, TICKS)
    places = parts_of(np.array(values), low, high, scale) * STEPS - 0.5
    x = Axis(words, (-0.5, STEPS - 0.5), ticks=list(zip(places.tolist(), tick_texts(values), strict=True)))
    return Panel([cells], x, Axis(limits=(-0.5, 0.5), ticks=()), grid="", place=place)
