"""Figures of matplotlib: the look that all share, how one is made, and how it becomes a file."""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from psmr.base.files import PICTURES, OutputTransaction, require_suffix
from psmr.figures.chart import FAINT, GRID, INK
from psmr.study.output import placed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.direction": "out",
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.3,
    "lines.solid_joinstyle": "round",
    "savefig.dpi": 160,
    # Text stays text: small files that can be searched, and the reader's own fonts.
    "svg.fonttype": "none",
    # The same figure gives the same file, so that a picture under version control changes only when it does.
    "svg.hashsalt": "psmr",
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the common look without touching the caller's settings."""
    import matplotlib

    after = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context(STYLE):
            try:
                yield
            finally:
                after = matplotlib.is_interactive()
    finally:
        # A notebook turns this on with its first figure, and would show none if it were turned off again.
        matplotlib.interactive(after)


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return an empty figure, size in inches; pyplot shows it where it is loaded, a notebook once.

    Without a `layout` panels are placed by hand.
    """
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and hasattr(shell.get_ipython(), "kernel")
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None and in_notebook:
        import matplotlib.pyplot as pyplot  # type: ignore[no-redef]
    if pyplot is not None:
        made = {"FigureClass": _shown_once()} if in_notebook else {}
        figure: Figure = pyplot.figure(figsize=(width, height), layout=layout, **made)
        return figure
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Plain

    plain = Plain(figsize=(width, height), layout=layout)
    FigureCanvasAgg(plain)
    return plain


def forget_figure(figure: Figure) -> None:
    """Let pyplot forget a figure that was only made for a file."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


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

            buffer = io.BytesIO()
            self.savefig(buffer, format="png", bbox_inches="tight")
            picture: dict[str, Any] = {"image/png": base64.b64encode(buffer.getvalue()).decode()}
            display(picture, raw=True)

    Shown.__name__ = Shown.__qualname__ = Figure.__name__
    return Shown


def save(figure: Figure, path: str | os.PathLike[str], transaction: OutputTransaction | None = None) -> None:
    """Write a figure in the format of the path's suffix, whole or not at all.

    It appears at once, or with the other files of `transaction`.

    Raises
    ------
    InputError
        For a suffix that is no format of a picture, and a file that cannot be written.
    """
    kind = require_suffix(path, PICTURES).removeprefix(".")
    # Into memory first: of a disk that is full not every format of matplotlib says so.
    drawn = io.BytesIO()
    with styled():
        meta: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
        figure.savefig(drawn, format=kind, bbox_inches="tight", **meta)
    with placed(path, transaction) as temporary:
        temporary.write_bytes(drawn.getvalue())
