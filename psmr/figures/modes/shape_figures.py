"""Figures of a mode: the phasors of its devices as a compass, its participation factors as bars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.figures.chart import BLUE, FAINT, GRID, RED, Area, Axis, Drawing, Line, Mark, Panel, Words, spread
from psmr.figures.with_matplotlib import draw_on, to_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Phasors = tuple[Sequence[str], NDArray[np.complexfloating]]
Shares = tuple[Sequence[str], NDArray[np.float64]]

# More names than this around one circle cover each other.
NAMED = 12
# Letters of a name that has room beside a bar, and beside the circle.
BESIDE_BAR, BESIDE_CIRCLE = 16, 10
# A phasor shorter than this part of the largest counts as none.
SHORTEST = 0.03

# Where the drawing begins, in radii of the circle.
LEFT = -2.05

# An arrow: width of its shaft, and its head in parts of that.
SHAFT, HEAD_WIDTH, HEAD_LENGTH, HEAD_AXIS = 0.035, 4.0, 5.0, 4.5

WORDS = {
    "omega": "speeds",
    "delta": "rotor angles",
    "v_f": "field voltages",
    "v_r": "regulator outputs",
    "e_q": "transient voltages, q axis",
}


def compass(title: str, quantity: str, phasors: Phasors, ax: Axes | None = None) -> Figure:
    """Draw what part each device has in a mode as an arrow: its length the size, its direction the phase.

    The largest points to the right with length 1, and what points the other way swings against it, in red.
    Beyond twelve devices the largest are named.

    Parameters
    ----------
    title
        The mode in words.
    quantity
        What the phasors are of, ``"omega"``.
    phasors
        From `ModeShape.parts`: the devices and their parts, complex, the largest first and equal to 1.
    ax
        Axes to draw on; a new figure without it.

    Returns
    -------
    Figure
    """
    return _drawn(_panel(_phasors(title, quantity, phasors), LEFT, -LEFT), ax)


def participation_bars(shares: Shares, ax: Axes | None = None) -> Figure:
    """Draw the largest participation factors of a mode as bars, the largest on top.

    Parameters
    ----------
    shares
        From `ModeShape.leading`: states and their factors, the largest first.
    ax
        Axes to draw on; a new figure without it.

    Returns
    -------
    Figure
    """
    return _drawn(_panel(_bars(shares, left=0.0, width=1.3), -1.6, 1.6), ax)


def shape_drawing(title: str, quantity: str, phasors: Phasors, shares: Shares) -> Drawing:
    """Return compass and bars beside one another, for a narrow page; see the two."""
    marks = [*_phasors(title, quantity, phasors), *_bars(shares, left=3.2, width=1.3)]
    return Drawing((_panel(marks, LEFT, 4.85),), 5.1, 2.25)


def _panel(marks: Sequence[Mark], left: float, right: float) -> Panel:
    """Return a panel without axes, whose unit is the radius of the circle."""
    x, y = Axis(limits=(left, right)), Axis(limits=(-1.1, 1.75))
    return Panel(marks, x, y, bare=True, equal=True, place=(0.0, 0.0, 1.0, 1.0))


def _drawn(panel: Panel, ax: Axes | None) -> Figure:
    return to_matplotlib(Drawing((panel,), 3.6, 2.7)) if ax is None else draw_on(ax, panel)


def _phasors(title: str, quantity: str, phasors: Phasors) -> list[Mark]:
    """Return circle, arrows and names about the origin."""
    devices, parts = phasors
    circle = np.exp(1j * np.linspace(0.0, 2 * np.pi, 97))
    marks: list[Mark] = [
        Line(line.real, line.imag, GRID, 0.8, z=0.0)
        for line in (0.5 * circle, circle, np.array([-1, 1]), np.array([-1j, 1j]))
    ]
    large = [(name, part) for name, part in zip(devices, parts, strict=True) if abs(part) >= SHORTEST]
    marks += [_arrow(part) for _, part in reversed(large)]
    for side in (1, -1):
        marks += _names(
            [(name, part) for name, part in large[:NAMED] if (part.real >= 0) == (side > 0)], side
        )
    left_out = len(parts) - min(len(large), NAMED)
    words = WORDS.get(quantity, quantity)
    rest = f", {left_out} smaller not named" if left_out else ""
    return [*marks, Words(f"{title}\n{words}{rest}", (LEFT + 0.05, 1.7), va="top", size=9.0)]


def _arrow(part: complex) -> Area:
    """Return an arrow from the origin to a phasor, red where it points the other way."""
    length, along = abs(part), part / abs(part)
    neck, wing = max(length - HEAD_AXIS * SHAFT, 0.0), max(length - HEAD_LENGTH * SHAFT, 0.0)
    side = np.array([(0.0, 0.5), (neck, 0.5), (wing, HEAD_WIDTH / 2), (length, 0.0)])
    outline = np.concatenate([side, side[-2::-1] * (1.0, -1.0)])
    places = (outline[:, 0] + 1j * SHAFT * outline[:, 1]) * along
    return Area(places.real, places.imag, BLUE if part.real >= 0 else RED, z=3.0)


def _bars(given: Shares, left: float, width: float) -> list[Mark]:
    """Return bars from `left` on, the longest of a width, with their names before them."""
    names, shares = given
    place = np.linspace(0.85, -0.85, max(len(names), 2))[: len(names)]
    size = shares / shares.max() * width
    marks: list[Mark] = [Words("participation [%]", (left, 1.2), va="bottom", size=9.0)]
    for name, value, y, length in zip(names, shares, place.tolist(), size.tolist(), strict=True):
        share = f"{100 * value:.0f}" if value >= 0.01 else "< 1"
        corners = [y - 0.1, y - 0.1, y + 0.1, y + 0.1]
        marks.append(Area([left, left + length, left + length, left], corners, BLUE))
        marks.append(Words(share, (left + length + 0.06, y), va="center"))
        marks.append(Words(shortened(name, BESIDE_BAR), (left - 0.08, y), va="center", ha="right"))
    return marks


def _names(items: list[tuple[str, complex]], side: int) -> list[Mark]:
    """Return names beside the circle at the heights of their arrows, moved apart, with lines to the tips."""
    items = sorted(items, key=lambda item: item[1].imag)
    heights = [2 * height - 1 for height in spread([(p.imag + 1) / 2 for _, p in items], 0.095)]
    edge, marks = 1.18 * side, list[Mark]()
    for (name, tip), height in zip(items, heights, strict=True):
        where = "left" if side > 0 else "right"
        words = shortened(name, BESIDE_CIRCLE)
        marks.append(Words(words, (edge + 0.04 * side, height), va="center", ha=where))  # type: ignore[arg-type]
        marks.append(Line([tip.real, edge], [tip.imag, height], FAINT, 0.5))
    return marks


def shortened(name: str, longest: int) -> str:
    """Return a name of at most so many letters; what it leaves out is of its first word, the kind."""
    excess = len(name) - longest + 1
    if excess <= 1:
        return name
    word = len(re.match(r"[^\W\d_]*", name)[0])  # type: ignore[index]
    begin = word - excess if word >= excess else longest // 2
    return f"{name[:begin]}\N{HORIZONTAL ELLIPSIS}{name[begin + excess :]}"
