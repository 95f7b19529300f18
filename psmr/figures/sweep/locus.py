"""The root locus: modes in the complex plane as one parameter varies."""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr.figures.chart import FAINT, GRID, Axis, Dots, Drawing, Line, Mark, Panel, Words
from psmr.figures.scales import LINEAR
from psmr.figures.sweep.layout import WIDTH, Layout
from psmr.figures.sweep.shades import BLUE_TO_VIOLET, parts_of, shades, strip

# Lines of constant damping ratio.
RATIOS = (0.0, 0.05, 0.1, 0.2)


def root_locus(laid: Layout) -> Drawing:
    """Return all modes of the band, coloured by the parameter, with lines of constant damping."""
    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    counts = table["real"].map(len)
    value = np.repeat(table[laid.over].to_numpy(dtype=float), counts)
    real = np.concatenate([np.asarray(part, dtype=float) for part in table["real"]])
    hertz = np.concatenate([np.asarray(part, dtype=float) for part in table["imag"]]) / (2 * np.pi)
    top = 1.05 * float(hertz.max(initial=1.0))
    left = min(float(real.min(initial=0.0)) * 1.08, -0.1)
    marks: list[Mark] = []
    for ratio in RATIOS:
        end = -ratio / np.sqrt(1 - ratio**2) * 2 * np.pi * top
        marks.append(Line([0.0, end], [0.0, top], FAINT if ratio == 0 else GRID, 0.9, z=1.0))
        if left < end <= 0:
            look: dict[str, Any] = {"ha": "center", "va": "bottom", "shift": (0, 2)}
            marks.append(Words(f"{100 * ratio:g} %", (end, top), size=7.5, colour=FAINT, **look))
    low, high = float(value.min()), float(value.max())
    colours = np.array(shades(parts_of(value, low, high, LINEAR), BLUE_TO_VIOLET))
    for colour in dict.fromkeys(colours.tolist()):
        chosen = colours == colour
        marks.append(Dots(real[chosen], hertz[chosen], "o", 4.2, colour, "none"))
    panel = Panel(
        marks,
        Axis("real part [1/s]", (left, max(0.05 * -left, 1.15 * float(real.max(initial=0.0))))),
        Axis("frequency [Hz]", (0.0, top)),
        place=(0.09, 0.27, 0.82, 0.62),
    )
    key = strip(low, high, laid.words(laid.over), (0.09, 0.1, 0.6, 0.025), LINEAR, BLUE_TO_VIOLET)
    return Drawing((panel, key), WIDTH, 4.4, laid.title)
