"""How a figure is made: by pyplot where the caller has loaded it, else plain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, size in inches; pyplot shows it where the caller has loaded pyplot."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        figure: Figure = pyplot.figure(figsize=(width, height), layout="constrained")
        return figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Plain

    plain = Plain(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(plain)
    return plain


def close(figure: Figure) -> None:
    """Let pyplot forget a figure that was only made for a file."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
