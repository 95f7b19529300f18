"""How a figure is made: by pyplot where the caller has loaded it or a notebook shows it, else plain."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

from psmr.figures.svg.figure import PageFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, size in inches; pyplot shows it where it is loaded, a notebook once."""
    return _figure(width, height, "constrained")


def page_figure(width: float, height: float, grid: bool = False) -> PageFigure:
    """Return an empty figure for one panel on a page, size in inches, which needs no matplotlib."""
    return PageFigure(width, height, grid)


def plain_figure(width: float, height: float) -> Figure:
    """Return an empty figure without a layout, size in inches, for panels that are placed by hand."""
    return _figure(width, height, None)


def _figure(width: float, height: float, layout: Literal["constrained"] | None) -> Figure:
    shown = _in_notebook()
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None and shown:
        import matplotlib.pyplot as pyplot  # type: ignore[no-redef]
    if pyplot is not None:
        made = {"FigureClass": _shown_once()} if shown else {}
        figure: Figure = pyplot.figure(figsize=(width, height), layout=layout, **made)
        return figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Plain

    plain = Plain(figsize=(width, height), layout=layout)
    FigureCanvasAgg(plain)
    return plain


def close(figure: Figure | PageFigure) -> None:
    """Let pyplot forget a figure that was only made for a file."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and not isinstance(figure, PageFigure):
        pyplot.close(figure)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _shown_once() -> type[Figure]:
    """Return a class of figures that a notebook shows once, also where one is the value of a cell.

    At the end of a cell the notebook shows what pyplot has open, and before that the cell's value; what
    it has shown at the end is closed, and may be shown again.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    class Shown(Figure):
        seen = False

        def _ipython_display_(self) -> None:
            if self.seen and plt.fignum_exists(getattr(self, "number", -1)):
                return
            self.seen = True
            from IPython.display import display

            data: dict[str, Any] = {"image/png": _png(self)}
            display(data, raw=True)

    Shown.__name__ = Shown.__qualname__ = Figure.__name__
    return Shown


def _png(figure: Figure) -> str:
    """Return a figure as a picture in the letters of base 64."""
    import base64
    import io

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return base64.b64encode(buffer.getvalue()).decode()
