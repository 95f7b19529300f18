"""Figures of a run: trajectories with the events marked, and two runs over one another."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.arguments import check_arguments, positive_number
from psmr.base.errors import InputError
from psmr.figures.modes.labels import unbroken
from psmr.figures.run.canvas import COLOURS, FAINT, FAST, INK, new_figure, page_figure, styled
from psmr.figures.run.lines import draw_lines, shown_of
from psmr.figures.svg.figure import PageFigure
from psmr.study.events import Fault
from psmr.study.record.recorded import Recorded
from psmr.study.record.signals import default_panels, quantity, unit_of
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

# Events that a page lists and its figures mark by letters; a time series has hundreds.
LETTERED = 60


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
        draw_panel(ax, run, panels[0])
        mark_events([ax], run)
        ax.set_xlabel("time [s]")
        return ax.get_figure(root=True)  # type: ignore[return-value]
    with styled():
        figure = new_figure(width, 0.75 + panel_height * len(panels))
        axes = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
        axes[-1].set_xlim(run.t[0], run.t[-1] if until is None else until)
        for place, panel in zip(axes, panels, strict=True):
            draw_panel(place, run, panel)
        mark_events(axes, run)
        axes[-1].set_xlabel("time [s]")
        text = _title(run) if title is None else title
        # A title wider than the figure would widen the picture; about 13 letters of this size fit an inch.
        figure.suptitle(
            textwrap.fill(unbroken(text), int(13 * width)), x=0.01, ha="left", fontsize=10, color=INK
        )
    return figure


def panels_of(run: Recorded, names: str | Iterable[str] | None) -> list[tuple[str, ...]]:
    """Return the signals to draw, a tuple for each kind of quantity."""
    return default_panels(run.signals) if names is None else _by_quantity(run.signals.select(names))


def panel_figure(run: Recorded, names: Sequence[str], first: Sequence[str] = ()) -> PageFigure:
    """Return a figure of one panel for a narrow page, the events marked by letters; see `draw_lines`."""
    figure = page_figure(5.2, 2.9)
    ax = figure.subplots()
    ax.set_xlim(run.t[0], run.t[-1])
    draw_panel(ax, run, names, first)
    letter_events(ax, run)
    ax.set_xlabel("time [s]")
    return figure


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
    with styled():
        figure = new_figure(width, 0.75 + 3.4 * len(panels))
        ratios = [2.2, 1.0] * len(panels)
        axes = list(
            figure.subplots(2 * len(panels), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        )
        axes[-1].set_xlim(min(run.t[0], other.t[0]), max(run.t[-1], other.t[-1]))
        for k, panel in enumerate(panels):
            above, below = axes[2 * k], axes[2 * k + 1]
            mine, yours = values_of(run, panel), values_of(other, panel)
            draw_panel(above, run, panel)
            rows, at = at_rows_of(run.t, other.t, yours)
            for colour, column in zip(COLOURS, shown_of(run, panel, mine), strict=False):
                above.plot(other.t, yours[:, column], color=colour, lw=1.0, ls=(0, (3, 2)))
                below.plot(run.t[rows], at[:, column] - mine[rows, column], color=colour, lw=1.0)
            below.set_ylabel(f"difference [{_unit(run, panel)}]")
        mark_events(axes, run, other)
        axes[-1].set_xlabel("time [s]")
        full, dashed = labels or (_title(run), _title(other))
        words = f"full: {full}\ndashed: {dashed}; difference: dashed less full"
        lines = [
            part for line in words.split("\n") for part in textwrap.wrap(unbroken(line), int(13 * width))
        ]
        figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=9, color=INK)
    return figure


def mark_events(axes: Sequence[Axes], run: Recorded, other: Recorded | None = None) -> None:
    """Shade faults, draw a line where anything else happens, and say what above the first panel.

    Beside another run, drawn dashed, the lines of this one are full, and those of its own events dashed.
    """
    own = _captions(run)
    theirs = () if other is None else tuple(caption for caption in _captions(other) if caption not in own)
    dashed = (0, (4, 3))
    for ax in axes:
        _shade(ax, run)
        for instant, _ in run.instants:
            ax.axvline(instant, color=FAINT, lw=0.7, ls=dashed if other is None else "-", zorder=0.6)
        for instant, _ in theirs:
            ax.axvline(instant, color=FAINT, lw=0.7, ls=dashed, zorder=0.6)
    span = float(run.t[-1] - run.t[0])
    captions = (*own, *((instant, f"dashed: {label}") for instant, label in theirs))
    _caption_instants(axes[0], sorted(captions, key=lambda one: one[0]), float(run.t[0]) + 0.6 * span)


def _captions(run: Recorded) -> tuple[tuple[float, str], ...]:
    """Return (time, label) of the events of a run, and of the monitor that ended it."""
    stopped = () if run.stopped is None else ((run.stopped.t, f"stopped by {run.stopped.monitor}"),)
    return (*run.instants, *stopped)


def _shade(ax: Axes, run: Recorded) -> None:
    """Shade the time of each fault, and draw a line where a monitor ended the run."""
    for event in run.events:
        if isinstance(event, Fault):
            ax.axvspan(event.start, event.clear, color=FAST, alpha=0.16, lw=0, zorder=0.5)
    if run.stopped is not None:
        ax.axvline(run.stopped.t, color=FAST, lw=1.0, zorder=0.6)


def _caption_instants(ax: Axes, captions: Sequence[tuple[float, str]], late: float) -> None:
    """Write the labels of instants one above the other, close ones apart, those past `late` to the left."""
    for level, (instant, label) in enumerate(reversed(captions)):
        right = instant > late
        ax.annotate(
            f"{label}, {instant:g} s",
            (instant, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, 3 + 10 * level),
            textcoords="offset points",
            fontsize=7.5,
            color=FAINT,
            ha="right" if right else "left",
            annotation_clip=False,
        )
        # A thin stem leads from a raised label down to its line.
        if level:
            ax.annotate(
                "",
                (instant, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 11 + 10 * level),
                textcoords="offset points",
                arrowprops={
                    "arrowstyle": "-",
                    "lw": 0.7,
                    "color": FAINT,
                    "ls": (0, (4, 3)),
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
                annotation_clip=False,
            )


def letter_events(ax: Axes, run: Recorded) -> None:
    """Shade faults, and mark each event by the letter that it has in the table of events."""
    _shade(ax, run)
    close: list[tuple[float, list[str]]] = []
    figure = ax.get_figure(root=True)
    assert figure is not None
    left, right = ax.get_xlim()
    letter_width = 5.0 / (0.65 * 72 * figure.get_figwidth()) * (right - left)
    for letter, (instant, _) in zip(letters(len(run.instants)), run.instants, strict=True):
        ax.axvline(instant, color=FAINT, lw=0.7, ls=(0, (4, 3)), zorder=0.6)
        # Events closer than the letters before them are wide share their place.
        if close and instant - close[-1][0] < letter_width * (len(_together(close[-1][1])) + 1):
            close[-1][1].append(letter)
        else:
            close.append((instant, [letter]))
    if len(run.instants) > LETTERED:
        return
    for instant, marks in close:
        ax.annotate(
            _together(marks), (instant, 1.0),
            xycoords=("data", "axes fraction"), xytext=(2, 2), textcoords="offset points", fontsize=8,
            color=FAINT, annotation_clip=False,
        )  # fmt: skip


def _together(marks: Sequence[str]) -> str:
    """Return the letters of events that share a place, as a range where there are many."""
    return ",".join(marks) if len(marks) < 3 else f"{marks[0]}-{marks[-1]}"


def letters(count: int) -> list[str]:
    """Return a, b, ... z, aa, ab, ... for so many events."""
    alphabet = string.ascii_lowercase
    return [alphabet[k] if k < 26 else alphabet[k // 26 - 1] + alphabet[k % 26] for k in range(count)]


def draw_panel(ax: Axes, run: Recorded, names: Sequence[str], first: Sequence[str] = ()) -> None:
    """Draw signals of one kind on axes, with the quantity and its unit beside them."""
    draw_lines(ax, run, names, values_of(run, names, exact=False), first=first)
    kinds = {kind_of(name) for name in names}
    kind = kinds.pop() if len(kinds) == 1 else ""
    words = (COMPUTED if run.signals.computed(names[0]) else TITLES).get(kind, kind) or "value"
    ax.set_ylabel(f"{words} [{_unit(run, names)}]")


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


def _title(run: Recorded) -> str:
    return f"{run.name}: {run.scheme}" if run.name else str(run.scheme)
