"""Figures of matplotlib: the look that all share, a drawing on axes, and how a figure becomes a file."""

from __future__ import annotations

import base64
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psmr.base.files import PICTURES, OutputTransaction, require_suffix
from psmr.figures.chart import (
    DASHED,
    DATA,
    FAINT,
    GRID,
    INK,
    PANEL,
    TOP,
    Area,
    Arrow,
    Cells,
    Dots,
    Drawing,
    Frame,
    Line,
    Mark,
    Panel,
    PanelAxis,
    SymLogScale,
    Text,
)
from psmr.study.output import placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend


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
    """Write a figure in the format of the path's suffix, whole or not at all; pyplot forgets it.

    It appears at once, or with the other files of `transaction`. InputError for a suffix that is no format of
    a picture, and a file that cannot be written.
    """
    # Into memory first: of a disk that is full not every format of matplotlib says so.
    drawn = io.BytesIO()
    try:
        kind = require_suffix(path, PICTURES).removeprefix(".")
        with styled():
            meta: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
            figure.savefig(drawn, format=kind, bbox_inches="tight", **meta)
        with placed(path, transaction) as temporary:
            temporary.write_bytes(drawn.getvalue())
    finally:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close(figure)


LEGENDS: dict[str, dict[str, Any]] = {
    "lower right": {"loc": "lower right", "handlelength": 1.0},
    "lower left": {"loc": "lower left"},
    "upper left": {"loc": "upper left"},
    "below": {"loc": "upper center", "ncols": 2},
}


LITERAL: dict[str, Any] = {"parse_math": False, "usetex": False}
"""How every text is set: names and titles come from files, and ``$`` is a character of theirs."""


def to_matplotlib(drawing: Drawing) -> Figure:
    """Return a figure; pyplot shows it where it is loaded, a notebook once."""
    count = len(drawing.panels)
    placed = [panel.place for panel in drawing.panels if panel.place is not None]
    with styled():
        figure = new_figure(drawing.width, drawing.height, layout=None if placed else "constrained")
        if placed:
            axes = [figure.add_axes(place) for place in placed]
        else:
            shape, ratios = (1, count) if drawing.across else (count, 1), list(drawing.ratios or [1] * count)
            how: dict[str, Any] = {"width_ratios" if drawing.across else "height_ratios": ratios}
            axes = list(figure.subplots(*shape, sharex=drawing.shared, squeeze=False, **how).flat)
        for ax, panel in zip(axes, drawing.panels, strict=True):
            draw_on(ax, panel)
            if drawing.shared and ax is not axes[-1]:
                ax.set_xlabel("")
        if drawing.title:
            figure.suptitle(drawing.title, x=0.01, ha="left", fontsize=10, color=INK, **LITERAL)
        if drawing.legend:
            entries = dict(
                pair[::-1] for ax in axes for pair in zip(*ax.get_legend_handles_labels(), strict=True)
            )
            _literal(
                figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=4)
            )
    return figure


def draw_on(ax: Axes, panel: Panel) -> Figure:
    """Draw a panel on axes; return their figure."""
    for which, axis in (("x", panel.x), ("y", panel.y)):
        _set_axis(ax, which, axis)
    ax.grid(False)
    if panel.bare:
        ax.set_axis_off()
        ax.xaxis.set_visible(False)
        ax.yaxis.set_visible(False)
    elif panel.grid:
        ax.grid(axis={"xy": "both"}.get(panel.grid, panel.grid), color=GRID, lw=0.6)  # type: ignore[arg-type]
        ax.set_axisbelow(True)
    if panel.equal:
        ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    if panel.title:
        ax.set_title(panel.title, loc="left", fontsize=10, **LITERAL)
    for mark in panel.marks:
        _draw(mark, ax)
    for tick in panel.y.bold:
        ax.get_yticklabels()[tick].set_fontweight("bold")
    if panel.legend:
        figure = ax.get_figure(root=True)
        inch = figure.get_figheight() if figure is not None else 1.0
        below = {"bbox_to_anchor": (0.5, -0.6 / inch)} if panel.legend == "below" else {}
        _literal(ax.legend(frameon=False, fontsize=8.5, **LEGENDS[panel.legend], **below))
    return ax.get_figure(root=True)  # type: ignore[return-value]


def _set_axis(ax: Any, which: str, axis: PanelAxis) -> None:
    """Set scale, limits, ticks and label of an axis."""
    own = getattr(ax, f"{which}axis")
    if axis.scale.name != "linear":
        how = {}
        if isinstance(axis.scale, SymLogScale):
            how = {"linthresh": axis.scale.linear, "linscale": axis.scale.share}
        getattr(ax, f"set_{which}scale")(axis.scale.name, **how)
        # 0.1, 1, 10 in place of powers of ten.
        own.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    if axis.limits is not None:
        getattr(ax, f"set_{which}lim")(*axis.limits)
    elif axis.margin != PanelAxis.margin:
        ax.margins(**{which: axis.margin})
    if axis.ticks is not None:
        own.set_ticks(
            [value for value, _ in axis.ticks],
            [text for _, text in axis.ticks],
            fontsize=axis.size,
            **LITERAL,
        )
    if axis.length != PanelAxis.length:
        ax.tick_params(axis=which, length=axis.length)
    if axis.label:
        getattr(ax, f"set_{which}label")(axis.label, **LITERAL)


def _literal(legend: Legend) -> None:
    """Have a legend show its words as they are."""
    for text in legend.get_texts():
        text.set(**LITERAL)


def _label(mark: Mark) -> str | None:
    """Return what a legend calls a mark; matplotlib leaves out a word that begins with an underscore."""
    return f" {mark.label}" if mark.label.startswith("_") else mark.label or None


def _frame(frame: Frame) -> Any:
    """Return what matplotlib calls a frame."""
    return tuple("data" if one == "data" else "axes fraction" for one in frame)


def _transform(ax: Any, frame: Frame) -> Any:
    known = {DATA: ax.transData, PANEL: ax.transAxes, TOP: ax.get_xaxis_transform()}
    return known.get(frame) or ax.get_yaxis_transform()


def _dashes(dashes: tuple[float, ...]) -> Any:
    return (0, dashes) if dashes else "-"


@singledispatch
def _draw(mark: Mark, ax: Axes) -> None:
    raise NotImplementedError(type(mark).__name__)


@_draw.register
def _(mark: Line, ax: Any) -> None:
    ax.plot(
        mark.x, mark.y, color=mark.colour, lw=mark.width, ls=_dashes(mark.dashes), label=_label(mark),
        zorder=mark.z, solid_capstyle="butt" if mark.butt else "round", transform=_transform(ax, mark.frame),
    )  # fmt: skip


@_draw.register
def _(mark: Dots, ax: Any) -> None:
    ax.plot(
        mark.x, mark.y, mark.shape, ms=mark.size, mfc=mark.fill, mec=mark.edge, mew=mark.width,
        alpha=mark.alpha, label=_label(mark), zorder=mark.z,
    )  # fmt: skip


@_draw.register
def _(mark: Area, ax: Any) -> None:
    ax.fill(
        mark.x, mark.y, fc=mark.fill, ec=mark.edge, lw=0 if mark.edge == "none" else mark.width,
        alpha=mark.alpha, zorder=mark.z, label=_label(mark), transform=_transform(ax, mark.frame),
    )  # fmt: skip


@_draw.register
def _(mark: Text, ax: Any) -> None:
    behind = {"bbox": {"fc": "white", "ec": "none", "pad": 0.8}} if mark.paper else {}
    if mark.stem:
        line = {
            "arrowstyle": "-",
            "lw": 0.7,
            "color": mark.colour,
            "ls": (0, DASHED),
            "shrinkA": 0,
            "shrinkB": 0,
        }
        at = {"xycoords": _frame(mark.frame), "xytext": (0, mark.stem), "textcoords": "offset points"}
        ax.annotate("", mark.at, **at, arrowprops=line, annotation_clip=False)
    ax.annotate(
        mark.text, mark.at, xycoords=_frame(mark.frame), xytext=mark.shift, textcoords="offset points",
        fontsize=mark.size, color=mark.colour, ha=mark.ha, va=mark.va, zorder=mark.z,
        style="italic" if mark.italic else "normal",
        annotation_clip=mark.frame == ("data", "data"), **behind, **LITERAL,
    )  # fmt: skip


@_draw.register
def _(mark: Arrow, ax: Any) -> None:
    if mark.least:
        pixels = np.diff(ax.transData.transform([mark.start, mark.end]), axis=0)[0]
        if np.hypot(*pixels) * 72.0 / ax.get_figure(root=True).dpi <= mark.least:
            return
    look = {
        "arrowstyle": "-|>" if mark.head else "-", "color": mark.colour, "lw": mark.width,
        "shrinkA": mark.shorter[0], "shrinkB": mark.shorter[1], "mutation_scale": mark.head or 1.0,
        "patchA": None,  # a steep line, cut at a frame around the word, would end beside another one
    }  # fmt: skip
    drawn = ax.annotate(
        "", mark.end, xytext=mark.start, textcoords=_frame(mark.start_frame), arrowprops=look, zorder=mark.z,
        annotation_clip=False,
    )  # fmt: skip
    # An arrow to a value beyond the panel makes no room for itself.
    drawn.set_in_layout(mark.start_frame != DATA)


@_draw.register
def _(mark: Cells, ax: Any) -> None:
    from matplotlib.colors import to_rgba_array

    colours = np.array([to_rgba_array(list(row)) for row in mark.colours])
    limits = ax.get_xlim(), ax.get_ylim()
    ax.imshow(colours, aspect="auto", interpolation="nearest", origin="lower", zorder=mark.z)
    ax.set_xlim(limits[0])
    ax.set_ylim(limits[1])
