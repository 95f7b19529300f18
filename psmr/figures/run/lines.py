"""Lines over time in one panel: few with their names beside them, many as an envelope with a few named.

Events on a panel over time: faults shaded, a line for anything else, and what it is.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from psmr.base.arrays import Reals
from psmr.figures.chart import (
    COLOURS,
    DASHED,
    FAINT,
    FAST,
    PANEL,
    TOP,
    Area,
    Arrow,
    Line,
    Mark,
    PanelAxis,
    Point,
    Text,
    band,
    line_across,
    spaced_apart,
)
from psmr.network.signals.signals import quantity
from psmr.network.topology.network import branches, buses
from psmr.study.events import Fault
from psmr.study.record.record import FinishedRun

SHOWN = ("v", "omega", "slip", "theta", "delta", "p", "p_from")
"""Which signal of a device that is named is drawn: the first of these that it has, else its first one."""

WORD = re.compile(r"[^\s,;:()]+")


def named_signals(run: FinishedRun) -> tuple[str, ...]:
    """Return the signals that outcome and reasons name, those of the findings first.

    A state that is named stands for itself, a device for the first of `SHOWN`; both only where the run kept
    them. The memory of code, clocks among it, says nothing by itself.
    """
    judgement = run.judgement
    text = " ".join((judgement.headline, *(words for _, words in run.outcome.facts()), *judgement.reasons))
    spoken = dict.fromkeys(word.rstrip(".'") for word in WORD.findall(text))
    names = run.signals.names
    known, of = set(names), dict[str, list[str]]()
    codes = [] if run.system is None else [d.name for d in run.system.devices if d.code is not None]
    for name in names:
        device = name.rpartition(".")[0]
        if device not in codes or quantity(name) in SHOWN:
            of.setdefault(device, []).append(name)
    found = [name for finding in run.outcome.findings for name in finding.signals if name in known]
    for word in spoken:
        if word in known:
            found.append(word)
        elif word in of and not any(name.rpartition(".")[0] == word for name in found):
            own = {quantity(name): name for name in of[word]}
            found.append(next((own[kind] for kind in SHOWN if kind in own), of[word][0]))
    return tuple(dict.fromkeys(found))


def panels_with(panels: Sequence[tuple[str, ...]], named: Sequence[str]) -> list[tuple[str, ...]]:
    """Return panels and, after them, others for what is named and none of them draws.

    A panel of many draws as many of its named signals as it has colours.
    """
    room, drawn = len(COLOURS) - 2, set[str]()
    for panel in panels:
        within = set(panel)
        drawn |= (
            within if len(panel) <= len(COLOURS) else {*[name for name in named if name in within][:room]}
        )
    kinds: dict[str, list[str]] = {}
    for name in named:
        if name not in drawn:
            kinds.setdefault(quantity(name), []).append(name)
    step = len(COLOURS)
    parts = [group[k : k + step] for group in kinds.values() for k in range(0, len(group), step)]
    return [*panels, *map(tuple, parts)]


Size = tuple[float, float]


class End(NamedTuple):
    """Name of a line, time and value of its last point in the panel, its colour, and how it is ranked."""

    name: str
    t: float
    value: float
    colour: str
    rank: int = 0


LINE = 9.5
"""Points from a name to the next below it."""

BUNDLE, NAMED = 4, 3
"""Of more lines than these that end within a line of text of one another, so many are named."""

LETTER = 5.2
"""Width of a letter of a name in points, about."""

DISTINCT = len(COLOURS)
"""Lines that can be distinguished by colour. Of more, some are named and the rest is an envelope."""

POINTS = 700
"""Points of a line that a figure can show; of more, each stretch keeps its lowest and its highest."""


def line_marks(
    run: FinishedRun,
    names: Sequence[str],
    values: Reals,
    panel: Size,
    x: Point | None = None,
    y: Point | None = None,
    first: Sequence[str] = (),
    bundled: bool = False,
) -> tuple[list[Mark], Point | None]:
    """Return signals over time as marks, past `DISTINCT` an envelope and the most informative; limits of y.

    `values` (K, j) are drawn at the times of the run, near whose faults names are given first, and `first` in
    any case; the size of the panel in points keeps the names beside the lines apart. x and y are the limits
    of the axes, None: what is drawn; for a flat line the limits returned are others than its values, or
    rounding fills the panel. Of lines that end in one place a `bundled` panel names `first` and the extremes.
    """
    shown, marks = shown_of(run, names, values, first), list[Mark]()
    if len(names) > DISTINCT:
        t, both = thinned(run.t, np.column_stack([values.min(axis=1), values.max(axis=1)]))
        outline = np.concatenate([t, t[::-1]]), np.concatenate([both[:, 0], both[::-1, 1]])
        marks.append(Area(*outline, FAINT, 0.18))
        words = f"grey band: range of all {len(names)} ({len(shown)} shown)"
        # Above the letters of events.
        shift = (0.0, LINE if bundled and run.instants else 0.0)
        marks.append(Text(words, (1.0, 1.02), PANEL, shift, colour=FAINT, ha="right", va="bottom"))
    for colour, column in zip(COLOURS, shown, strict=False):
        t, line = thinned(run.t, values[:, [column]])
        marks.append(Line(t, line[:, 0], colour, hover=device_of(names[column])))
    low, high = float(np.min(values)), float(np.max(values))
    if y is None and high - low < 1e-6 * max(1.0, abs(high)):
        y = low - 1e-3 * max(1.0, abs(low)), high + 1e-3 * max(1.0, abs(high))
    rank = [names[k] for k in _extremes(values[:, shown], shown)]
    rank = [*(name for name in first if name in names), *rank]
    ends = [
        End(
            device_of(names[column]), *_end(run.t, values[:, column], x, y), colour, rank.index(names[column])
        )
        for colour, column in zip(COLOURS, shown, strict=False)
    ]
    right = float(run.t[-1]) if x is None else float(run.t[run.t <= x[1]][-1])
    across, up = PanelAxis(limits=x).ends(run.t), PanelAxis(limits=y).ends(values)
    leaving = sorted((end for end in ends if end.t < right), key=lambda end: end.t)
    staying = sorted((end for end in ends if end.t >= right), key=lambda end: end.value)
    if bundled:
        staying = _bundles_named(staying, (up[1] - up[0]) * LINE / max(panel[1], 1.0))
    return [*marks, *_names_inside(leaving, across, up, panel), *_names_beside(staying, up, panel)], y


def _extremes(values: Reals, columns: Sequence[int]) -> list[int]:
    """Return columns: the one that goes highest, the one that goes lowest, the next highest, and so on."""
    found: dict[int, None] = {}
    for pair in zip(np.argsort(-values.max(axis=0)), np.argsort(values.min(axis=0)), strict=True):
        found |= dict.fromkeys(columns[k] for k in pair)
    return list(found)


def _bundles_named(ends: Sequence[End], line: float) -> list[End]:
    """Return ascending ends, of a bundle the first in rank and how many others there are."""
    groups: list[list[End]] = []
    for end in ends:
        if groups and end.value - groups[-1][-1].value < line:
            groups[-1].append(end)
        else:
            groups.append([end])
    kept: list[End] = []
    for group in groups:
        if len(group) <= BUNDLE:
            kept += group
            continue
        named = sorted(group, key=lambda end: end.rank)[:NAMED]
        middle = float(np.median([end.value for end in group]))
        more = End(f"{len(group) - NAMED} more", group[0].t, middle, FAINT)
        kept += sorted([*named, more], key=lambda end: end.value)
    return kept


BRIEF, REACH = 0.005, 0.25
"""Parts of the time of a run: what is a spike, and how far apart two with marks of their own are."""

GAIN, FLAT, LONG = 0.6, 0.03, 0.2
"""Parts of a range: what a panel without spikes shows, at most and at least, and how far one goes beyond."""


def spikes_cut(run: FinishedRun, names: Sequence[str], values: Reals) -> tuple[list[Mark], Point | None]:
    """Return marks for the spikes that a panel of values (K, j) is drawn without, and its limits of y.

    A spike is of voltages: of other quantities the largest value is what a reader looks for. It returns, and
    takes no longer than the faults and `BRIEF` parts of the run. No marks and None where the panel would gain
    little.
    """
    t, low, high = run.t, values.min(axis=1), values.max(axis=1)
    whole = float(np.ptp(values))
    if quantity(names[0]) != "v" or len(t) < 3 or not (np.isfinite(whole) and whole > 0.0):
        return [], None
    span = float(t[-1] - t[0])
    faults = sum(min(event.cleared, t[-1]) - event.start for event in run.events if isinstance(event, Fault))
    brief = min(faults + BRIEF * span, 0.03 * span)
    bottom, top = float(low.min()), float(high.max())
    a = min(-_reached(t, -low, brief), float(low[0]), float(low[-1]))
    b = max(_reached(t, high, brief), float(high[0]), float(high[-1]))
    a, b = bottom if a - bottom < LONG * (b - a) else a, top if top - b < LONG * (b - a) else b
    if not FLAT * whole < b - a < GAIN * whole:
        return [], None
    ends = a - 0.06 * (b - a), b + 0.06 * (b - a)
    marks: list[Mark] = []
    for extreme, beyond, sign in ((low, low < ends[0], -1.0), (high, high > ends[1], 1.0)):
        rows = np.flatnonzero(beyond)
        for part in np.split(rows, np.flatnonzero(np.diff(t[rows]) > REACH * span) + 1) if len(rows) else ():
            k = part[np.argmax(sign * extreme[part])]
            name = device_of(names[int(np.argmax(sign * values[k]))])
            late = t[k] > t[0] + 0.6 * span
            value = round(float(extreme[k]), 2 - math.floor(math.log10(whole)))
            words = f"{'▼' if sign < 0 else '▲'} {value:g}, {name}"
            at, va = (float(t[k]), 0.0 if sign < 0 else 1.0), "bottom" if sign < 0 else "top"
            shift = (-4.0 if late else 4.0, -3.0 * sign)
            look = {"ha": "right" if late else "left", "va": va, "paper": True}
            marks.append(Text(words, at, TOP, shift, 7.5, FAINT, **look))  # type: ignore[arg-type]
    return marks, ends


def _reached(t: Reals, values: Reals, time: float) -> float:
    """Return the value that is exceeded for so long, in s."""
    held = np.convolve(np.diff(t), [0.5, 0.5])
    order = np.argsort(-values, kind="stable")
    return float(values[order[np.searchsorted(np.cumsum(held[order]), time)]])


def _names_beside(ends: Sequence[End], y: Point, panel: Size) -> list[Mark]:
    """Return names beside the ends of their lines, pushed apart so that none covers another."""
    # Heights in parts of the panel: a line of text, and where each end is.
    places = spaced_apart([(end.value - y[0]) / (y[1] - y[0]) for end in ends], LINE / max(panel[1], 1.0))
    marks: list[Mark] = []
    for end, place in zip(ends, places, strict=True):
        marks.append(Text(end.name, (1.035, place), PANEL, va="center"))
        marks.append(Arrow((1.03, place), (end.t, end.value), PANEL, end.colour, 0.8))
    return marks


def _names_inside(ends: Sequence[End], x: Point, y: Point, panel: Size) -> list[Mark]:
    """Return names of lines that leave the panel above or below, those of close ones one under another."""
    points = panel[0] / (x[1] - x[0])
    written: list[tuple[bool, int, float]] = []  # above, line of text, where in points it ends
    marks: list[Mark] = []
    for name, t, value, colour, _ in ends:
        above, begin, level = value > (y[0] + y[1]) / 2, (t - x[0]) * points + 4, 0
        while any(a == above and k == level and end > begin for a, k, end in written):
            level += 1
        written.append((above, level, begin + LETTER * (len(name) + 1)))
        shift = 4.0, (-LINE if above else LINE) * level
        marks.append(Text(name, (t, value), shift=shift, colour=colour, va="top" if above else "bottom"))
    return marks


def _end(t: Reals, values: Reals, x: Point | None, y: Point | None) -> tuple[float, float]:
    """Return the last point of a line that is inside the panel, its very last where none is."""
    inside = np.ones(len(t), dtype=bool) if x is None else t <= x[1]
    if y is not None:
        inside &= (values >= y[0]) & (values <= y[1])
    found = np.flatnonzero(inside)
    k = int(found[-1]) if len(found) else len(t) - 1
    return float(t[k]), float(values[k])


def shown_of(run: FinishedRun, names: Sequence[str], values: Reals, first: Sequence[str] = ()) -> list[int]:
    """Return the columns that `line_marks` draws, in the order of its colours."""
    return most_informative(run, names, values, first) if len(names) > DISTINCT else list(range(len(names)))


def most_informative(
    run: FinishedRun, names: Sequence[str], values: Reals, first: Sequence[str] = ()
) -> list[int]:
    """Return the columns worth a name: `first`, the extremes, those at and next to a fault, the widest."""
    place = {name: k for k, name in enumerate(names)}
    order = [place[name] for name in first if name in place]
    order += [int(values.max(axis=0).argmax()), int(values.min(axis=0).argmin())]
    near = faulted_neighbourhood(run)
    order += [k for k, name in enumerate(names) if name.partition(".")[0] in near]
    swing = np.ptp(values, axis=0)
    order += np.argsort(-swing, kind="stable").tolist()
    return list(dict.fromkeys(order))[: DISTINCT - 2]


def faulted_neighbourhood(run: FinishedRun) -> tuple[str, ...]:
    """Return the faulted buses, the branches to them, and the buses and devices a branch away."""
    if run.system is None:
        return ()
    known = buses(run.system)
    struck = {
        device
        for change in run.changes
        for device, name, value in change.parameters
        if name in ("fault", "g_fault", "b_fault") and value and device in known
    }
    near = set(struck)
    for branch in branches(run.system):
        if struck & set(branch.ends):
            near |= {*branch.ends, branch.name}
    near |= {
        terminal.device for terminal in run.signals.terminals if terminal.bus in near and not terminal.end
    }
    return (*sorted(struck), *sorted(near - struck))


def thinned(t: Reals, values: Reals, points: int = POINTS) -> tuple[Reals, Reals]:
    """Return (L,) times and (L, j) values, of more than `points` only ends and extremes of each stretch.

    Rows are kept whole: where one column has its lowest or highest value of a stretch, all keep that row.
    A stretch ends at an event, and after a part of the rows and of the time, so that a long step has one of
    its own.
    """
    if len(t) <= points:
        return t, values
    count = max(2, points // (2 * values.shape[1] + 2))
    part = np.floor(count / 2 * (np.arange(len(t)) / len(t) + (t - t[0]) / (t[-1] - t[0])))
    edges = np.flatnonzero((np.diff(part) > 0) | (np.diff(t) == 0)) + 1
    kept: set[int] = set()
    for a, b in pairwise([0, *edges.tolist(), len(t)]):
        stretch = values[a:b]
        kept |= {a, b - 1, *(a + stretch.argmin(axis=0)).tolist(), *(a + stretch.argmax(axis=0)).tolist()}
    rows = np.array(sorted(kept))
    return t[rows], values[rows]


def device_of(name: str) -> str:
    """Return the device of a signal, with the end of a branch where it has one."""
    device, _, quantity = name.rpartition(".")
    end = quantity.partition("_")[2]
    return f"{device} {end}" if end in ("from", "to") else device


# Events that a page lists and its figures mark by letters; a time series has hundreds.
LETTERED = 60


def event_lines(run: FinishedRun, other: FinishedRun | None = None) -> list[Mark]:
    """Return shades and lines; beside another run, drawn dashed, its own events alone are dashed lines."""
    marks: list[Mark] = [band(event.start, event.cleared) for event in run.events if isinstance(event, Fault)]
    marks += [line_across("x", t, dashes=DASHED if other is None else ()) for t, _ in run.instants]
    if run.stopped is not None:
        marks.append(line_across("x", run.stopped.t, FAST, 1.0))
    return marks + [line_across("x", t, dashes=DASHED) for t, _ in _theirs(run, other)]


def event_captions(run: FinishedRun, other: FinishedRun | None = None) -> list[Mark]:
    """Return what happens, above a panel: one caption above the other, those of late events to the left."""
    captions = [*_captions(run), *((t, f"dashed: {label}") for t, label in _theirs(run, other))]
    late = float(run.t[0] + 0.6 * (run.t[-1] - run.t[0]))
    marks: list[Mark] = []
    for level, (t, label) in enumerate(sorted(captions, key=lambda one: one[0], reverse=True)):
        side, right = ("right", -4) if t > late else ("left", 4)
        # A thin stem leads from a raised label down to its line.
        stem = 11.0 + 10 * level if level else 0.0
        shift = right, 3 + 10 * level
        marks.append(Text(f"{label}, {t:g} s", (t, 1.0), TOP, shift, 7.5, FAINT, side, stem=stem))  # type: ignore[arg-type]
    return marks


def event_letters(run: FinishedRun, ends: tuple[float, float], width: float) -> list[Mark]:
    """Return each event by the letter that it has in the table of events.

    Parameters
    ----------
    run
        Whose events they are.
    ends, width
        Times in s at both ends of the panel, and its width in points.
    """
    letter_width = 5.0 / width * (ends[1] - ends[0])
    close: list[tuple[float, list[str]]] = []
    for letter, (instant, _) in zip(letters(len(run.instants)), run.instants, strict=True):
        # Events closer than the letters before them are wide share their place.
        if close and instant - close[-1][0] < letter_width * (len(_together(close[-1][1])) + 1):
            close[-1][1].append(letter)
        else:
            close.append((instant, [letter]))
    if len(run.instants) > LETTERED:
        return []
    return [Text(_together(marks), (t, 1.0), TOP, (2, 2), colour=FAINT) for t, marks in close]


def letters(count: int) -> list[str]:
    """Return a, b, ... z, aa, ab, ... for so many events."""
    alphabet = string.ascii_lowercase
    return [alphabet[k] if k < 26 else alphabet[k // 26 - 1] + alphabet[k % 26] for k in range(count)]


def _together(marks: Sequence[str]) -> str:
    """Return the letters of events that share a place, as a range where there are many."""
    return ",".join(marks) if len(marks) < 3 else f"{marks[0]}-{marks[-1]}"


def _captions(run: FinishedRun) -> tuple[tuple[float, str], ...]:
    """Return (time, label) of the events of a run, and of the monitor that ended it."""
    stopped = () if run.stopped is None else ((run.stopped.t, f"stopped by {run.stopped.monitor}"),)
    return (*run.instants, *stopped)


def _theirs(run: FinishedRun, other: FinishedRun | None) -> list[tuple[float, str]]:
    """Return (time, label) of the events that another run alone has."""
    own = _captions(run)
    return [] if other is None else [caption for caption in _captions(other) if caption not in own]
