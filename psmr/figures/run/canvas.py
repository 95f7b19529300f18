"""The look that all figures of a study share, and how a figure becomes text or a file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psmr.base.files import PICTURES, OutputTransaction, require_suffix
from psmr.figures.modes.canvas import close as close
from psmr.figures.modes.canvas import new_figure as new_figure
from psmr.figures.modes.canvas import page_figure as plain_page_figure
from psmr.figures.modes.canvas import plain_figure as plain_figure
from psmr.figures.svg.figure import PageFigure
from psmr.study.output.files import placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Blue and red mean slow and fast in a partition as they mean system and scheme in a deformation report; the
# lines of a trajectory begin with the same pair. Neighbours in the list differ in lightness as well, for
# readers who see no hue.
COLOURS = ("#1f4e79", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#4ea5d9", "#8a5a44", "#5b6472", "#9aa437")
INK, FAINT, GRID, FAST, SLOW = "#1c2330", "#6b7280", "#e3e5e8", "#d1495b", "#1f4e79"

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


def page_figure(width: float, height: float) -> PageFigure:
    """Return an empty figure for one panel of a page, size in inches, in the look of a study."""
    return plain_page_figure(width, height, grid=True)


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


def bare(axes: Axes) -> None:
    """Take frame, ticks and grid off axes that hold a drawing."""
    axes.set_axis_off()
    axes.set_aspect("equal")


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
