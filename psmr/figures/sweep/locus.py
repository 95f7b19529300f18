"""The root locus: modes in the complex plane as one parameter varies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.run.canvas import FAINT, GRID, new_figure
from psmr.figures.sweep.laid_out import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Lines of constant damping ratio.
RATIOS = (0.0, 0.05, 0.1, 0.2)


def root_locus(laid: Layout) -> Figure:
    """Draw all modes of the band, coloured by the parameter, with lines of constant damping."""
    from matplotlib.colors import LinearSegmentedColormap

    assert laid.over is not None
    table = laid.table.sort_values(laid.over)
    counts = table["real"].map(len)
    value = np.repeat(table[laid.over].to_numpy(dtype=float), counts)
    real = np.concatenate([np.asarray(part, dtype=float) for part in table["real"]])
    hertz = np.concatenate([np.asarray(part, dtype=float) for part in table["imag"]]) / (2 * np.pi)
    figure = new_figure(7.2, 4.8)
    axes = figure.subplots()
    top = 1.05 * float(hertz.max(initial=1.0))
    left = min(float(real.min(initial=0.0)) * 1.08, -0.1)
    for ratio in RATIOS:
        slope = -ratio / np.sqrt(1 - ratio**2) * 2 * np.pi
        axes.plot([0, slope * top], [0, top], color=FAINT if ratio == 0 else GRID, lw=0.9, zorder=1)
        if left < slope * top <= 0:
            axes.annotate(
                f"{100 * ratio:g} %", (slope * top, top), fontsize=7, color=FAINT, ha="center", va="bottom"
            )
    colours = LinearSegmentedColormap.from_list("shades", ["#a9c4dd", "#1f4e79", "#1c2330"])
    dots = axes.scatter(real, hertz, c=value, cmap=colours, s=14, linewidths=0, zorder=2)
    axes.set_xlim(left, max(0.05 * -left, 1.15 * float(real.max(initial=0.0))))
    axes.set_ylim(0, top)
    axes.set_xlabel("real part [1/s]")
    axes.set_ylabel("frequency [Hz]")
    axes.set_title(f"{laid.title}\n", loc="left")
    bar = figure.colorbar(dots, ax=axes, shrink=0.85)
    bar.set_label(laid.over)
    bar.outline.set_visible(False)
    return figure
