"""Figures of a mode: the phasors of its devices as a compass, its participation factors as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.figures.modes.canvas import new_figure, page_figure
from psmr.figures.modes.labels import spread
from psmr.figures.svg.figure import PageFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Phasors = tuple[Sequence[str], NDArray[np.complexfloating]]
Shares = tuple[Sequence[str], NDArray[np.float64]]

BLUE, RED, INK, GREY, GRID = "#1f4e79", "#d1495b", "#1c2330", "#6b7280", "#e3e5e8"

# More names than this around one circle cover each other.
NAMED = 12
# Letters of a name that has room beside a bar.
LONGEST = 16
# A phasor shorter than this part of the largest counts as none.
SHORTEST = 0.03

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
    ax = new_figure(3.6, 2.7).add_subplot() if ax is None else ax
    _bare(ax)
    _phasors(ax, title, quantity, phasors)
    ax.set_xlim(-1.8, 1.8)
    return ax.get_figure(root=True)  # type: ignore[return-value]


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
    ax = new_figure(3.6, 2.7).add_subplot() if ax is None else ax
    _bare(ax)
    _bars(ax, shares, left=0.0, width=1.3)
    ax.set_xlim(-1.6, 1.6)
    return ax.get_figure(root=True)  # type: ignore[return-value]


def shape_figure(title: str, quantity: str, phasors: Phasors, shares: Shares) -> PageFigure:
    """Draw compass and bars beside one another, for a narrow page; see the two."""
    figure = page_figure(5.1, 2.25)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _bare(ax)
    _phasors(ax, title, quantity, phasors)
    _bars(ax, shares, left=3.2, width=1.3)
    ax.set_xlim(-1.75, 4.85)
    return figure


def _bare(ax: Axes) -> None:
    """Take frame and ticks off; the unit is the radius of the circle."""
    ax.set_axis_off()
    ax.xaxis.set_visible(False)
    ax.yaxis.set_visible(False)
    ax.set_aspect("equal")
    ax.set_ylim(-1.1, 1.75)


def _phasors(ax: Axes, title: str, quantity: str, phasors: Phasors) -> None:
    """Draw circle, arrows and names about the origin."""
    devices, parts = phasors
    circle = np.exp(1j * np.linspace(0.0, 2 * np.pi, 97))
    for line in (0.5 * circle, circle, np.array([-1, 1]), np.array([-1j, 1j])):
        ax.plot(line.real, line.imag, color=GRID, lw=0.8, zorder=0)
    large = [(name, part) for name, part in zip(devices, parts, strict=True) if abs(part) >= SHORTEST]
    # One collection for all arrows and one line to all names: annotations take ten times as long.
    ends = np.array([part for _, part in large])[::-1]
    ax.quiver(
        np.zeros(len(ends)), np.zeros(len(ends)), ends.real, ends.imag, angles="xy", scale_units="xy",
        scale=1.0, width=0.035, units="xy", headwidth=4, headlength=5, headaxislength=4.5,
        color=[_colour(part) for part in ends], zorder=3,
    )  # fmt: skip
    for side in (1, -1):
        _name(ax, [(name, part) for name, part in large[:NAMED] if (part.real >= 0) == (side > 0)], side)
    left_out = len(parts) - min(len(large), NAMED)
    words = WORDS.get(quantity, quantity)
    rest = f", {left_out} smaller not named" if left_out else ""
    ax.text(-1.75, 1.7, f"{title}\n{words}{rest}", va="top", fontsize=9, color=INK)


def _bars(ax: Axes, given: Shares, left: float, width: float) -> None:
    """Draw bars from `left` on, the longest of a width, with their names before them."""
    names, shares = given
    place = np.linspace(0.85, -0.85, max(len(names), 2))[: len(names)]
    size = shares / shares.max() * width
    ax.barh(place, size, left=left, height=0.2, color=BLUE)
    for name, value, y, length in zip(names, shares, place, size, strict=True):
        share = f"{100 * value:.0f}" if value >= 0.01 else "< 1"
        ax.text(left + length + 0.06, y, share, va="center", fontsize=8, color=INK)
        ax.text(left - 0.08, y, _short(name), va="center", ha="right", fontsize=8, color=INK)
    ax.text(left, 1.2, "participation [%]", va="bottom", fontsize=9, color=INK)


def _colour(part: complex) -> str:
    return BLUE if part.real >= 0 else RED


def _name(ax: Axes, items: list[tuple[str, complex]], side: int) -> None:
    """Write names beside the circle at the heights of their arrows, moved apart, with lines to the tips."""
    if not items:
        return
    items = sorted(items, key=lambda item: item[1].imag)
    heights = spread([(p.imag + 1) / 2 for _, p in items], 0.095)
    edge = 1.18 * side
    for (name, _), height in zip(items, heights, strict=True):
        where = "left" if side > 0 else "right"
        ax.text(edge + 0.04 * side, 2 * height - 1, name, fontsize=8, color=INK, va="center", ha=where)
    tips = np.array([part for _, part in items])
    # A line to each tip; what is not a number parts them.
    x = np.column_stack([tips.real, np.full(len(tips), edge), np.full(len(tips), np.nan)])
    y = np.column_stack([tips.imag, 2 * np.array(heights) - 1, np.full(len(tips), np.nan)])
    ax.plot(x.ravel(), y.ravel(), color=GREY, lw=0.5, zorder=2)


def _short(name: str) -> str:
    """Return a name as long as it has room beside a bar."""
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[1 - half :]}"
