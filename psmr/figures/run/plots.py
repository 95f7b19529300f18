"""Figures of a run: trajectories with the events marked, and two runs over one another."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arguments import check_arguments, positive_number
from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.figures.chart import COLOURS, STITCHED, Axis, Drawing, Line, Mark, Panel, Point
from psmr.figures.labels import unbroken
from psmr.figures.run.events import event_captions, event_letters, event_lines
from psmr.figures.run.lines import Size, line_marks, shown_of
from psmr.figures.with_matplotlib import draw_on, to_matplotlib
from psmr.network.signals.signals import default_panels, quantity, unit_of
from psmr.study.record.recorded import Recorded
from psmr.study.record.values import values_of
from psmr.study.run.points import at_rows_of, with_dense_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What an axis says for the field's own names.
COMPUTED: Mapping[str, str] = {
    "v": "bus voltage",
    "angle": "bus voltage angle",
    "frequency": "bus frequency",
    "p": "active power",
    "q": "reactive power",
    "i": "current",
}
TITLES: Mapping[str, str] = {
    "omega": "speed",
    "delta": "rotor angle",
    "e_q": "transient voltage, q axis",
    "e_d": "transient voltage, d axis",
    "v_f": "field voltage",
    "v_m": "measured voltage",
    "v_r": "regulator output",
}


# Points of a figure: as many as it has dots from left to right.
POINTS = 500
# Each point between takes a solution of the network: of a large system there are fewer.
FEWEST, VALUES = 150, 3_000_000

# Width and height in inches of a figure on a page, and of its panel in points.
PAGE = 5.2, 2.9
PAGE_PANEL: Size = (72 * 0.82 * 5.2, 72 * 0.79 * 2.9)


def smooth(run: Recorded) -> Recorded:
    """Return a run as it is drawn: with points between its long steps where its method has them."""
    if not run.whole:
        return run
    points = min(POINTS, max(FEWEST, VALUES // (len(run.names_x) + len(run.names_y))))
    if len(run.t) > points:
        return run
    return with_dense_output(run, np.linspace(run.t[0], run.t[-1], points))


def trajectories(
    run: Recorded,
    names: str | Iterable[str] | None = None,
    *,
    title: str | None = None,
    width: float = 7.2,
    panel_height: float = 2.3,
    until: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Return a figure with a panel for each kind of quantity and the events marked.

    Parameters
    ----------
    run
        What to draw.
    names
        Names or patterns as in `Run.frame`; None: machine speeds and bus voltages, or the states where there
        are none. Of more than nine signals of a kind the extremes and those near a fault are named, the rest
        is an envelope.
    title
        Above the figure; None: system and scheme.
    width, panel_height
        In inches.
    until
        End of the time axis in s; None: the whole run.
    ax
        Axes to draw on, for signals of one kind; a new figure without it.

    Raises
    ------
    InputError
        For a name that means nothing, for signals of several kinds where `ax` is given, and for an `ax` that
        is not axes of matplotlib.
    """
    check_arguments(trajectories, locals())
    width = positive_number("width", width, "inches")
    panel_height = positive_number("panel_height", panel_height, "inches")
    if until is not None and not until > run.t[0]:
        raise InputError(f"until = {until:g} s: must be after the start of the run at {run.t[0]:g} s")
    panels = panels_of(run, names)
    run = smooth(run)
    if ax is not None:
        if len(panels) > 1 and names is None:
            panels = panels[:1]
        if len(panels) > 1:
            kinds = ", ".join(quantity(panel[0]) for panel in panels)
            raise InputError(f"ax: one panel shows one kind of quantity, these are {kinds}; leave out ax")
        box, size = ax.get_position(), ax.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
        points = 72.0 * box.width * size[0], 72.0 * box.height * size[1]
        ends = None if ax.get_autoscalex_on() else ax.get_xlim()
        return draw_on(ax, _panel(run, panels[0], points, ends, first=True))
    x = float(run.t[0]), float(run.t[-1] if until is None else until)
    points = 72.0 * 0.775 * width, 72.0 * 0.8 * panel_height
    drawn = [_panel(run, panel, points, x, first=k == 0) for k, panel in enumerate(panels)]
    text = wrapped(title_of(run) if title is None else title, width)
    height = 0.75 + panel_height * len(panels)
    return to_matplotlib(Drawing(drawn, width, height, text, shared=True))


def panels_of(run: Recorded, names: str | Iterable[str] | None) -> list[tuple[str, ...]]:
    """Return the signals to draw, a tuple for each kind of quantity."""
    return default_panels(run.signals) if names is None else _by_quantity(run.signals.select(names))


def panel_drawing(run: Recorded, names: Sequence[str], first: Sequence[str] = ()) -> Drawing:
    """Return one panel for a narrow page, the events marked by letters; `first` are drawn in any case."""
    x = float(run.t[0]), float(run.t[-1])
    marks, y = line_marks(run, names, values_of(run, names, exact=False), PAGE_PANEL, x, first=first)
    return page_drawing(run, marks, y, axis_words(run, names))


def page_drawing(run: Recorded, marks: Sequence[Mark], y: Point | None, words: str) -> Drawing:
    """Return marks over the time of a run as a figure for a narrow page, its events marked by letters."""
    x = float(run.t[0]), float(run.t[-1])
    every = [*event_lines(run), *marks, *event_letters(run, x, PAGE_PANEL[0])]
    return Drawing((Panel(every, Axis("time [s]", x), Axis(words, y)),), *PAGE)


def comparison(
    run: Recorded,
    other: Recorded,
    names: str | Iterable[str] | None = None,
    *,
    width: float = 7.2,
    labels: tuple[str, str] | None = None,
) -> Figure:
    """Return a figure of two runs over one another and, below each kind of quantity, their difference.

    The difference is that at the times of the first run, the second one straight between its points, before
    and after an event each for itself. Of more than nine signals the same ones are drawn of both runs. Events
    of the first run are full lines, those that the second one alone has are dashed. `labels` are what the
    runs are called; their systems and schemes where left out.

    Raises
    ------
    InputError
        For a name that means nothing in either run.
    """
    panels = panels_of(run, names)
    for panel in panels:
        other.signals.select(panel)
    x = float(min(run.t[0], other.t[0])), float(max(run.t[-1], other.t[-1]))
    drawn: list[Panel] = []
    for k, panel in enumerate(panels):
        mine, yours = values_of(run, panel), values_of(other, panel)
        rows, at = at_rows_of(run.t, other.t, yours)
        off = Curves(run.t[rows], at - mine[rows])
        events = event_lines(run, other), event_captions(run, other) if k == 0 else ()
        drawn += over_one_another(run, panel, mine, Curves(other.t, yours), [off], events, x, width)
    full, dashed = labels or (title_of(run), title_of(other))
    words = wrapped(f"full: {full}\ndashed: {dashed}; difference: dashed less full", width)
    ratios = [2.2, 1.0] * len(panels)
    height = 0.75 + 3.4 * len(panels)
    return to_matplotlib(Drawing(drawn, width, height, words, ratios=ratios, shared=True))


@dataclass(frozen=True, eq=False)
class Curves:
    """(K,) times and (K, j) values, with the dashes of their lines."""

    t: Reals
    values: Reals
    dashes: tuple[float, ...] = ()


def over_one_another(
    run: Recorded,
    names: Sequence[str],
    mine: Reals,
    yours: Curves,
    differences: Sequence[Curves],
    events: tuple[Sequence[Mark], Sequence[Mark]],
    x: Point,
    width: float,
) -> tuple[Panel, Panel]:
    """Return signals of one kind of a run with others dashed over them, and the panel of differences below.

    `events` are the marks in both panels and the captions above the upper one, `width` that of the figure in
    inches. Of more than nine signals the same ones are drawn of all.
    """
    marks, y = line_marks(run, names, mine, (72.0 * 0.775 * width, 140.0), x)
    if y is not None and not y[0] <= np.nanmin(yours.values) <= np.nanmax(yours.values) <= y[1]:
        y = None  # only the run's own lines are flat
    below: list[Mark] = []
    for colour, column in zip(COLOURS, shown_of(run, names, mine), strict=False):
        marks.append(Line(yours.t, yours.values[:, column], colour, 1.0, STITCHED))
        below += [Line(off.t, off.values[:, column], colour, 1.0, off.dashes) for off in differences]
    lines, captions = events
    upper = Panel([*lines, *marks, *captions], Axis("time [s]", x), Axis(axis_words(run, names), y))
    words = f"difference [{_unit(run, names)}]"
    return upper, Panel([*lines, *below], Axis("time [s]", x), Axis(words))


def _panel(run: Recorded, names: Sequence[str], size: Size, x: Point | None, first: bool) -> Panel:
    """Return signals of one kind; above the `first` panel of a figure the events are captioned."""
    marks, y = line_marks(run, names, values_of(run, names, exact=False), size, x)
    every = [*event_lines(run), *marks, *(event_captions(run) if first else ())]
    return Panel(every, Axis("time [s]", x), Axis(axis_words(run, names), y))


def axis_words(run: Recorded, names: Sequence[str]) -> str:
    """Return the quantity of signals of one kind, with its unit."""
    kinds = {kind_of(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else ""
    words = (COMPUTED if run.signals.computed(names[0]) else TITLES).get(kind, kind) or "value"
    return f"{words} [{_unit(run, names)}]"


def wrapped(text: str, width: float) -> str:
    """Return a title in lines: one wider than the figure would widen it; about 13 letters fit an inch."""
    return "\n".join(textwrap.fill(unbroken(line), int(13 * width)) for line in text.split("\n"))


def _unit(run: Recorded, names: Sequence[str]) -> str:
    units = {unit_of(run.signals, run.units, name) for name in names}
    return units.pop() if len(units) == 1 else "several units"


def _by_quantity(names: Sequence[str]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(kind_of(name), []).append(name)
    return [tuple(group) for group in groups.values()]


def kind_of(name: str) -> str:
    """Return what stands in one panel: the quantity, of both ends of a branch."""
    kind = quantity(name)
    return kind.partition("_")[0] if kind.endswith(("_from", "_to")) else kind


def title_of(run: Recorded) -> str:
    """Return what a run is called where nothing else is said: its system and scheme."""
    return f"{run.name}: {run.scheme}" if run.name else str(run.scheme)
