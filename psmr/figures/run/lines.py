"""Lines over time in one panel: few with their names beside them, many as an envelope with a few named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.figures.modes.labels import spread
from psmr.figures.run.canvas import COLOURS, FAINT, INK
from psmr.network.topology.network import branches
from psmr.study.record.recorded import Recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Reals = NDArray[np.float64]

LETTER = 5.2
"""Width of a letter of a name in points, about."""

DISTINCT = len(COLOURS)
"""Lines that can be distinguished by colour. Of more, some are named and the rest is an envelope."""

POINTS = 700
"""Points of a line that a figure can show; of more, each stretch keeps its lowest and its highest."""


def draw_lines(
    ax: Axes,
    run: Recorded,
    names: Sequence[str],
    values: Reals,
    label: bool = True,
    first: Sequence[str] = (),
) -> None:
    """Draw (K, j) values of the named signals; past `DISTINCT` an envelope and the most informative ones.

    Parameters
    ----------
    ax
        Where to draw.
    run
        Whose signals they are: its times, and its faults, whose neighbourhood is named.
    names
        The j signals.
    values
        (K, j) what to draw.
    label
        Write the names beside the ends of the lines.
    first
        Which of them are drawn in any case.
    """
    shown = shown_of(run, names, values, first)
    if len(names) > DISTINCT:
        low, high = values.min(axis=1), values.max(axis=1)
        t, both = thinned(run.t, np.column_stack([low, high]))
        ax.fill_between(t, both[:, 0], both[:, 1], color=FAINT, alpha=0.18, lw=0)
        ax.text(
            1.0, 1.02, f"grey band: range of all {len(names)} ({len(shown)} shown)", transform=ax.transAxes,
            ha="right", va="bottom", fontsize=8, color=FAINT,
        )  # fmt: skip
    for colour, column in zip(COLOURS, shown, strict=False):
        t, line = thinned(run.t, values[:, [column]])
        ax.plot(t, line[:, 0], color=colour, label=device_of(names[column]))
    _give_room(ax, values)
    if label:
        ends = []
        for colour, column in zip(COLOURS, shown, strict=False):
            ends.append((device_of(names[column]), *_end(ax, run.t, values[:, column]), colour))
        label_ends(ax, _right_edge(ax, run.t), ends)


def shown_of(run: Recorded, names: Sequence[str], values: Reals, first: Sequence[str] = ()) -> list[int]:
    """Return the columns that `draw_lines` draws, in the order of its colours."""
    return most_informative(run, names, values, first) if len(names) > DISTINCT else list(range(len(names)))


def most_informative(
    run: Recorded, names: Sequence[str], values: Reals, first: Sequence[str] = ()
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


def faulted_neighbourhood(run: Recorded) -> tuple[str, ...]:
    """Return the faulted buses, the branches to them, and the buses and devices a branch away."""
    if run.system is None:
        return ()
    struck = {
        device
        for change in run.changes
        for device, name, value in change.parameters
        if name in ("g_fault", "b_fault") and value
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
    """Return (L,) times and (L, j) values, of more than `points` only the extremes of each stretch.

    Rows are kept whole: where one column has its lowest or highest value of a stretch, all keep that row.
    """
    if len(t) <= points:
        return t, values
    edges = np.linspace(0, len(t), max(2, points // (2 * values.shape[1])) + 1).astype(int)
    kept = {0, len(t) - 1}
    for a, b in pairwise(edges):
        part = values[a:b]
        kept |= set((a + part.argmin(axis=0)).tolist()) | set((a + part.argmax(axis=0)).tolist())
    rows = np.array(sorted(kept))
    return t[rows], values[rows]


def label_ends(ax: Axes, right: float, ends: Iterable[tuple[str, float, float, str]]) -> None:
    """Write each name beside the end of its line, pushed apart so that none covers another.

    An end is (name, time, value, colour), at the time `right`; of a line that leaves the panel earlier its
    last point inside, where its name then stands.
    """
    ends = list(ends)
    _label_leaving(ax, sorted((end for end in ends if end[1] < right), key=lambda end: end[1]))
    items = sorted((end for end in ends if end[1] >= right), key=lambda item: item[2])
    figure = ax.get_figure(root=True)
    assert figure is not None
    # Heights in parts of the panel: a line of text, and where each end is.
    points = ax.get_position().height * figure.get_figheight() * 72
    low, high = ax.get_ylim()
    places = spread([(value - low) / (high - low) for _, _, value, _ in items], 9.5 / max(points, 1.0))
    for (name, t, value, colour), place in zip(items, places, strict=True):
        ax.annotate(
            name, (t, value), xytext=(1.035, place), textcoords="axes fraction", va="center", ha="left",
            fontsize=8, color=INK, annotation_clip=False,
            arrowprops={
                "arrowstyle": "-", "color": colour, "lw": 0.8, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5),
                "patchA": None,  # a steep line, cut at a frame around the word, would end beside another one
            },
        )  # fmt: skip


def _label_leaving(ax: Axes, ends: Sequence[tuple[str, float, float, str]]) -> None:
    """Write the names of lines that leave the panel above or below, those of close ones one under another."""
    if not ends:
        return
    figure = ax.get_figure(root=True)
    assert figure is not None
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    points = ax.get_position().width * figure.get_figwidth() * 72 / (right - left)
    written: list[tuple[bool, int, float]] = []  # above, line of text, where in points it ends
    for name, t, value, colour in ends:
        above, begin, level = value > (low + high) / 2, (t - left) * points + 4, 0
        while any(a == above and k == level and end > begin for a, k, end in written):
            level += 1
        written.append((above, level, begin + LETTER * (len(name) + 1)))
        ax.annotate(
            name, (t, value), xytext=(4, (-9.5 if above else 9.5) * level), textcoords="offset points",
            fontsize=8, color=colour, va="top" if above else "bottom",
        )  # fmt: skip


def _end(ax: Axes, t: Reals, values: Reals) -> tuple[float, float]:
    """Return the last point of a line that is inside the panel, its very last where none is."""
    low, high = ax.get_ylim()
    inside = np.flatnonzero((values >= low) & (values <= high) & (t <= _right_edge(ax, t)))
    k = int(inside[-1]) if len(inside) else len(t) - 1
    return float(t[k]), float(values[k])


def _right_edge(ax: Axes, t: Reals) -> float:
    """Return the last of (K,) times that is in the panel."""
    end = float(t[-1]) if ax.get_autoscalex_on() else min(float(t[-1]), ax.get_xlim()[1])
    return float(t[t <= end][-1])


def device_of(name: str) -> str:
    """Return the device of a signal, with the end of a branch where it has one."""
    device, _, quantity = name.rpartition(".")
    end = quantity.partition("_")[2]
    return f"{device} {end}" if end in ("from", "to") else device


def _give_room(ax: Any, values: Reals) -> None:
    """Keep a flat line flat: rounding noise must not fill the panel."""
    low, high = float(np.min(values)), float(np.max(values))
    if high - low < 1e-6 * max(1.0, abs(high)):
        ax.set_ylim(low - 1e-3 * max(1.0, abs(low)), high + 1e-3 * max(1.0, abs(high)))
