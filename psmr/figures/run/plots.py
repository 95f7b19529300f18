"""Figures of a run: trajectories, rotor angles, two runs over one another, a trace, a tuning."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arguments import check_arguments, positive_number
from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.base.files import OutputTransaction
from psmr.figures.chart import (
    BLUE,
    COLOURS,
    FAINT,
    INK,
    PANEL,
    RED,
    RULE,
    STITCHED,
    TOP,
    Dots,
    Drawing,
    Line,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Point,
    Text,
    line_across,
    unbroken,
)
from psmr.figures.run.lines import (
    Size,
    event_captions,
    event_letters,
    event_lines,
    line_marks,
    shown_of,
    spikes_cut,
)
from psmr.figures.svg_frame import width_of
from psmr.figures.with_matplotlib import draw_on, save, to_matplotlib
from psmr.network.signals.points import Points
from psmr.network.signals.quantities import QUANTITIES
from psmr.network.signals.signals import default_panels, quantity, unit_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import centre_of_inertia, sources_of
from psmr.study.detectors.angles import Angles
from psmr.study.record.record import FinishedRun, values_of
from psmr.study.run.data import at_rows_of, with_dense_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psmr.study.trace.against import AgainstTrace
    from psmr.study.tuning.tuning import Tuning


# What an axis says for the field's own names.
TITLES: Mapping[str, str] = {
    "omega": "speed",
    "delta": "rotor angle",
    "e_q": "transient voltage, q axis",
    "e_d": "transient voltage, d axis",
    "v_f": "field voltage",
    "v_m": "measured voltage",
    "v_r": "regulator output",
    "i_f": "field current",
}


# Points of a figure: as many as it has dots from left to right.
POINTS = 500
# Each point between takes a solution of the network: of a large system there are fewer.
FEWEST, VALUES = 150, 3_000_000

# Points of a figure on a page: its width, what is left of, above and below its panel, and about its panel.
PAGE_WIDTH, AXIS, ABOVE, BELOW = 320.0, 52.0, 30.0, 34.0
PAGE_PANEL: Size = (220.0, 145.0)


def smooth(run: FinishedRun) -> FinishedRun:
    """Return a run as it is drawn: with points between its long steps where its method has them."""
    if not run.whole:
        return run
    points = min(POINTS, max(FEWEST, VALUES // (len(run.names_x) + len(run.names_y))))
    if len(run.t) > points:
        return run
    return with_dense_output(run, np.linspace(run.t[0], run.t[-1], points))


def trajectories(
    run: FinishedRun,
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


def panels_of(run: FinishedRun, names: str | Iterable[str] | None) -> list[tuple[str, ...]]:
    """Return the signals to draw, a tuple for each kind of quantity."""
    return default_panels(run.signals) if names is None else _by_quantity(run.signals.select(names))


def panel_drawing(run: FinishedRun, names: Sequence[str], first: Sequence[str] = ()) -> Drawing:
    """Return one panel for a narrow page, the events marked by letters; `first` are drawn in any case."""
    x = float(run.t[0]), float(run.t[-1])
    values = values_of(run, names, exact=False)
    spikes, y = spikes_cut(run, names, values)
    marks, y = line_marks(run, names, values, PAGE_PANEL, x, y, first, bundled=True)
    return page_drawing(run, [*marks, *spikes], y, axis_words(run, names))


def page_drawing(run: FinishedRun, marks: Sequence[Mark], y: Point | None, words: str) -> Drawing:
    """Return marks over the time of a run as a figure for a narrow page, its events marked by letters."""
    x = float(run.t[0]), float(run.t[-1])
    every = [*event_lines(run), *marks, *event_letters(run, x, PAGE_PANEL[0])]
    # All figures of a page are as wide, from the words of the axis to the longest name.
    names = [mark for mark in marks if isinstance(mark, Text) and mark.at[0] > 1.0 and mark.frame == PANEL]
    beside = max((1.04 * width_of(mark.text, mark.size) for mark in names), default=0.0) + 4.0
    width, high = (PAGE_WIDTH - AXIS - beside) / 1.035, ABOVE + PAGE_PANEL[1] + BELOW
    place = AXIS / PAGE_WIDTH, BELOW / high, width / PAGE_WIDTH, PAGE_PANEL[1] / high
    panel = Panel(every, PanelAxis("time [s]", x), PanelAxis(words, y), place=place)
    return Drawing((panel,), PAGE_WIDTH / 72.0, high / 72.0)


def comparison(
    run: FinishedRun,
    other: FinishedRun,
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
        drawn += over_one_another(run, panel, mine, Curves(other.t, yours, STITCHED), [off], events, x, width)
    full, dashed = labels or (title_of(run), title_of(other))
    return _with_differences(drawn, width, f"full: {full}\ndashed: {dashed}; difference: dashed less full")


DOTTED = (1.0, 1.5)


@dataclass(frozen=True, eq=False)
class Curves:
    """(K,) times and (K, j) values, with the dashes of their lines; samples that are far apart are `dots`."""

    t: Reals
    values: Reals
    dashes: tuple[float, ...] = ()
    dots: bool = False

    def mark(self, column: int, colour: str) -> Mark:
        """Return what draws one of the signals."""
        if self.dots:
            shape = "x" if self.dashes == DOTTED else "o"
            return Dots(self.t, self.values[:, column], shape, 2.5, edge=colour, width=0.8)
        return Line(self.t, self.values[:, column], colour, 1.0, self.dashes)


def over_one_another(
    run: FinishedRun,
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
        marks.append(yours.mark(column, colour))
        below += [off.mark(column, colour) for off in differences]
    lines, captions = events
    upper = Panel([*lines, *marks, *captions], PanelAxis("time [s]", x), PanelAxis(axis_words(run, names), y))
    words = f"difference [{_unit(run, names)}]"
    return upper, Panel([*lines, *below], PanelAxis("time [s]", x), PanelAxis(words))


def _with_differences(panels: Sequence[Panel], width: float, words: str) -> Figure:
    """Return pairs of panels, each with the differences below, as a figure `width` inches wide."""
    count = len(panels) // 2
    title, ratios = wrapped(words, width), [2.2, 1.0] * count
    return to_matplotlib(Drawing(panels, width, 0.75 + 3.4 * count, title, ratios=ratios, shared=True))


def _panel(run: FinishedRun, names: Sequence[str], size: Size, x: Point | None, first: bool) -> Panel:
    """Return signals of one kind; above the `first` panel of a figure the events are captioned."""
    values = values_of(run, names, exact=False)
    spikes, y = spikes_cut(run, names, values) if x is None or x[1] >= run.t[-1] else ([], None)
    marks, y = line_marks(run, names, values, size, x, y)
    every = [*event_lines(run), *marks, *spikes, *(event_captions(run) if first else ())]
    return Panel(every, PanelAxis("time [s]", x), PanelAxis(axis_words(run, names), y))


def axis_words(run: FinishedRun, names: Sequence[str]) -> str:
    """Return the quantity of signals of one kind, with its unit."""
    kinds = {kind_of(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else ""
    words = TITLES.get(kind)
    if run.signals.computed(names[0]):
        words = QUANTITIES[kind].words if kind in QUANTITIES else None
    words = words or kind or "value"
    unit = _unit(run, names)
    return words if unit == "1" else f"{words} [{unit}]"


def wrapped(text: str, width: float) -> str:
    """Return a title in lines: one wider than the figure would widen it; about 13 letters fit an inch."""
    return "\n".join(textwrap.fill(unbroken(line), int(13 * width)) for line in text.split("\n"))


def _unit(run: FinishedRun, names: Sequence[str]) -> str:
    units = {unit_of(run.signals, run.units, name) for name in names}
    return units.pop() if len(units) == 1 else "several units"


def _by_quantity(names: Iterable[str]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(kind_of(name), []).append(name)
    return [tuple(group) for group in groups.values()]


def kind_of(name: str) -> str:
    """Return what stands in one panel: the quantity, of both ends of a branch."""
    kind = quantity(name)
    return kind.partition("_")[0] if kind.endswith(("_from", "_to")) else kind


def title_of(run: FinishedRun) -> str:
    """Return what a run is called where nothing else is said: its system and scheme."""
    return f"{run.name}: {run.scheme}" if run.name else str(run.scheme)


KINDS, SIGNALS = 3, 3
"""Kinds of quantity that are drawn, and signals of each: the most different ones."""


def against_trace(found: AgainstTrace, *, width: float = 7.2) -> Figure:
    """Return a figure of the most different signals and, below each kind, the trace less the run.

    Up to three signals of each of the three kinds that differ most, in parts of the largest range of their
    kind. The numerics, the reference less the run, are dotted beside the difference. `width` is in inches.
    """
    run, t = smooth(found.run), found.trace.t
    x = float(run.t[0]), float(run.t[-1])
    dots = len(t) < 9.0 * width  # more than 6 points apart: a line would show what nobody has measured
    trace = f"{'dots' if dots else 'dashed'}: {Path(found.trace.source).name}"
    numerics = f"{'crosses' if dots else 'dotted'}: numerical error in it"
    panels: list[Panel] = []
    for names in [list(group[:SIGNALS]) for group in _by_quantity(found.table["signal"])][:KINDS]:
        theirs = np.column_stack([found.trace.values[name] for name in names])
        ours, exact = found.computed[names].to_numpy(), found.exact[names].to_numpy()
        differences = [Curves(t, theirs - ours, (), dots), Curves(t, exact - ours, DOTTED, dots)]
        events = event_lines(run), () if panels else event_captions(run)
        mine = values_of(run, names, exact=False)
        panels += over_one_another(
            run, names, mine, Curves(t, theirs, STITCHED, dots), differences, events, x, width
        )
    text = f"full: {title_of(found.run)}\n{trace}; difference: trace less run; {numerics}"
    return _with_differences(panels, width, text)


def save_pareto(tuning: Tuning, path: Path, transaction: OutputTransaction) -> None:
    """Write the figure of a tuning into a file."""
    save(pareto(tuning), path, transaction)


def pareto(tuning: Tuning) -> Figure:
    """Draw cost against deformation: every stable candidate, both frontiers, the bound and the winner."""
    stable = [c for c in tuning.candidates if c.stable is not False and np.isfinite(c.deformation)]
    marks: list[Mark] = []
    for words, kind, colour, shape in (("multirate", True, RED, "o"), ("single rate", False, BLUE, "s")):
        points = np.array(
            [(100 * c.deformation, 1e3 * c.cost) for c in stable if (c.scheme.two_rates is not None) == kind]
        )
        if len(points):
            marks.append(
                Dots(points[:, 0], points[:, 1], shape, 4.0, colour, "none", alpha=0.35, label=words)
            )
            steps = _frontier(points)
            along = np.repeat(steps[:, 0], 2)[1:], np.repeat(steps[:, 1], 2)[:-1]
            marks.append(Line(*along, colour, 1.4))
    place = 100 * tuning.winner.deformation, 1e3 * tuning.winner.cost
    star = Dots(
        [place[0]], [place[1]], "*", 13.0, COLOURS[3], INK, 0.8, z=5.0, label="cheapest that meets it"
    )
    marks.append(star)
    if tuning.target.accuracy is not None:
        asked = 100 * tuning.target.accuracy
        marks.append(line_across("x", asked, width=1.0, dashes=(4.0, 3.0)))
        marks.append(Text(f"asked: {asked:g} %", (asked, 0.98), TOP, (4, 0), 9.0, FAINT, va="top"))
    least, most = (100 * end(c.deformation for c in stable) for end in (min, max))
    # What is a thousand times better than asked says nothing about the choice.
    x = max(0.7 * least, 1e-3 * place[0]), 1.4 * most
    words = f"largest deformation of a mode up to {tuning.target.up_to:g} Hz [%]"
    axes = PanelAxis(words, x, LogScale()), PanelAxis("work per simulated second [ms]", scale=LogScale())
    return to_matplotlib(Drawing((Panel(marks, *axes, tuning.name, legend="lower left"),), 7.2, 4.6))


def _frontier(points: np.ndarray) -> np.ndarray:
    """Return the points that no other one beats in both, from the most accurate to the cheapest."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    best = np.minimum.accumulate(points[:, 1])
    keep = np.concatenate([[True], best[1:] < best[:-1]])
    return points[keep]


# Machines out of step turn without end; past two turns the figure would show nothing else.
LARGEST_DEG = 2 * 360.0


def angle_drawing(run: FinishedRun, first: Collection[str] = ()) -> Drawing | None:
    """Return the figure, with the devices `first` in any case.

    None for fewer than two machines in step, and for a run that kept chosen signals only.
    """
    if run.system is None or run.names_x != run.system.names_x:
        return None
    sources = sources_of(run.system)
    if len(sources) < 2:
        return None
    angles_by_network = Angles(run.system, run.criteria.angle_deg)
    degrees = np.full((len(run.t), len(sources)), np.nan)
    for span in run.spans:
        rows, connections = span.rows, Connections(run.system, span)
        angles_by_network.begin(connections)
        points = Points.of(connections, run.t[rows], run.x[rows], run.y[rows])
        angles = np.degrees(angles_by_network.angles(points))
        for places in connections.members:
            middle = centre_of_inertia(angles[:, places], [sources[k] for k in places])
            degrees[rows, places] = angles[:, places] - middle[:, None]
    shown = np.isfinite(degrees).all(axis=0)
    if not shown.any():
        return None
    degrees = degrees[:, shown]
    names = [source.angle for source, kept in zip(sources, shown, strict=True) if kept]
    x = float(run.t[0]), float(run.t[-1])
    y = (-LARGEST_DEG, LARGEST_DEG) if np.abs(degrees).max() > LARGEST_DEG else None
    named = [n for n in names if n.rpartition(".")[0] in first]
    marks, y = line_marks(run, names, degrees, PAGE_PANEL, x, y, named, bundled=True)
    lost = run.outcome.lost
    if lost is not None:
        marks.append(line_across("x", lost.t, RED, 1.0, z=2.0))
        # Beside the axis there is no room to the left; above, the lines part.
        early = lost.t - run.t[0] < 0.25 * (run.t[-1] - run.t[0])
        words, at = f"{run.criteria.angle_deg:g}° further apart", (lost.t, 0.07 if early else 0.93)
        side, shift = ("left", 4) if early else ("right", -4)
        marks.append(Text(words, at, TOP, (shift, 0), 8.0, FAINT, side, paper=True))  # type: ignore[arg-type]
    return page_drawing(run, marks, y, "angle to centre of inertia [deg]")


def moves_drawings(run: FinishedRun) -> Iterator[tuple[Drawing, str]]:
    """Yield figures of the positions of taps and of shunts over time, with what they show in words."""
    controls, end = run.outcome.controls, float(run.t[-1])
    for what in ("taps", "shunts") if controls is not None else ():
        moved = sorted(getattr(controls, what), key=lambda one: -len(one.t))
        marks: list[Mark] = []
        for k, one in enumerate(moved):
            t = np.repeat([*one.t, end], 2)[1:-1]
            named = k < len(COLOURS)
            colour, width = (COLOURS[k], 1.3) if named else (RULE, 0.8)
            label = (one.acts_on or one.device) if named else ""
            marks.append(
                Line(t, np.repeat(one.position, 2), colour, width, label=label, z=2.0 if named else 1.0)
            )
        if marks:
            drawing = page_drawing(run, marks, None, f"position of {what}")
            yield replace(drawing, legend=True), f"Positions of {len(moved)} {what} over time"
