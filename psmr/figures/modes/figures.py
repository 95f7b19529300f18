"""The figures of modes: eigenvalue map, deformation of each mode, compass of phasors, participation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.figures.chart import (
    BLUE,
    FAINT,
    GRID,
    INK,
    RED,
    RULE,
    Area,
    Arrow,
    Dots,
    Drawing,
    Line,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Point,
    SymLogScale,
    Text,
    band,
    line_across,
    spaced_apart,
)
from psmr.figures.with_matplotlib import draw_on, to_matplotlib
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.modes.spectrum import REPRESENTED, ZERO_MODE
from psmr.pencil.modes.verdict import DampingLimit

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

    `title` is the mode in words, `quantity` what the phasors are of, ``"omega"``; the phasors are from
    `ModeShape.parts`: the devices and their parts, complex, the largest first and equal to 1. A new figure
    without axes.
    """
    return panel_figure(_panel(_phasors(title, quantity, phasors), LEFT, -LEFT), ax)


def participation_bars(shares: Shares, ax: Axes | None = None) -> Figure:
    """Draw the participation factors of `ModeShape.leading` as bars, the largest on top."""
    return panel_figure(_panel(_bars(shares, left=0.0, width=1.3), -1.6, 1.6), ax)


def shape_drawing(title: str, quantity: str, phasors: Phasors, shares: Shares) -> Drawing:
    """Return compass and bars beside one another, for a narrow page; see the two."""
    marks = [*_phasors(title, quantity, phasors), *_bars(shares, left=3.2, width=1.3)]
    return Drawing((_panel(marks, LEFT, 4.85),), 4.6, 2.05)


def _panel(marks: Sequence[Mark], left: float, right: float) -> Panel:
    """Return a panel without axes, whose unit is the radius of the circle."""
    x, y = PanelAxis(limits=(left, right)), PanelAxis(limits=(-1.1, 1.75))
    return Panel(marks, x, y, bare=True, equal=True, place=(0.0, 0.0, 1.0, 1.0))


def panel_figure(panel: Panel, ax: Axes | None, width: float = 3.6, height: float = 2.7) -> Figure:
    """Return a panel on axes, or on a figure of its own of a size in inches."""
    return to_matplotlib(Drawing((panel,), width, height)) if ax is None else draw_on(ax, panel)


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
    return [*marks, Text(f"{title}\n{words}{rest}", (LEFT + 0.05, 1.7), va="top", size=9.0)]


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
    marks: list[Mark] = [Text("participation [%]", (left, 1.2), va="bottom", size=9.0)]
    for name, value, y, length in zip(names, shares, place.tolist(), size.tolist(), strict=True):
        share = f"{100 * value:.0f}" if value >= 0.01 else "< 1"
        corners = [y - 0.1, y - 0.1, y + 0.1, y + 0.1]
        marks.append(Area([left, left + length, left + length, left], corners, BLUE))
        marks.append(Text(share, (left + length + 0.06, y), va="center"))
        marks.append(Text(shortened(name, BESIDE_BAR), (left - 0.08, y), va="center", ha="right"))
    return marks


def _names(items: list[tuple[str, complex]], side: int) -> list[Mark]:
    """Return names beside the circle at the heights of their arrows, moved apart, with lines to the tips."""
    items = sorted(items, key=lambda item: item[1].imag)
    heights = [2 * height - 1 for height in spaced_apart([(p.imag + 1) / 2 for _, p in items], 0.095)]
    edge, marks = 1.18 * side, list[Mark]()
    for (name, tip), height in zip(items, heights, strict=True):
        where = "left" if side > 0 else "right"
        words = shortened(name, BESIDE_CIRCLE)
        marks.append(Text(words, (edge + 0.04 * side, height), va="center", ha=where))  # type: ignore[arg-type]
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


EXACT = BLUE  # the system
NUMERICAL = "#3a3f47"  # nearly black: the scheme
WRONG = RED  # damped otherwise than the limit allows, too much or too little; and what grows
GREY = "#8a8f98"
RAYS = (0.02, 0.05, 0.1, 0.2, 0.4)  # damping ratios drawn in the map
LABEL = 0.065  # width of the value of a ray in parts of the panel
SMALLEST = 1e-6  # a deformation that nobody can tell from none; a smaller one is drawn there
OVERDAMPED = 0.7  # a pair with more damping than this overshoots by less than 5 %: no oscillation to the eye
ARROW = 8.6  # points between two marks that leave room for an arrow

# Where the word beside a mode may stand: alignment, shift in points, what it covers in parts of the panel.
SIDES: tuple[Any, ...] = (
    ("right", "center", (-12, 0), (-0.32, -0.03), (-0.035, 0.035)),
    ("left", "center", (12, 0), (0.03, 0.32), (-0.035, 0.035)),
    ("center", "bottom", (0, 8), (-0.15, 0.15), (0.025, 0.085)),
    ("center", "top", (0, -8), (-0.15, 0.15), (-0.085, -0.025)),
    ("right", "bottom", (4, 8), (-0.28, 0.02), (0.025, 0.085)),
    ("right", "top", (4, -8), (-0.28, 0.02), (-0.085, -0.025)),
)

USUAL = DampingLimit()


def eigenvalue_map(report: Deformation, ax: Axes | None = None, limit: DampingLimit = USUAL) -> Figure:
    """Draw the modes s and what the scheme makes of them, with arrows between them and damping rays.

    Only the upper half plane is drawn. Modes that are not represented are squares. What the scheme damps too
    much or too little is red.

    Parameters
    ----------
    report
        A `psmr.pencil.deformation.report.Deformation`.
    ax
        Axes for the oscillations, on linear scales. Without it a new figure, with the whole spectrum, stiff
        modes included, beside them: linear near 0 and logarithmic beyond.

    Returns
    -------
    Figure
    """
    if ax is not None:
        return draw_on(ax, replace(oscillations(report, limit), legend="upper left"))
    panels = [
        replace(panel, legend="") for panel in (oscillations(report, limit), whole_spectrum(report, limit))
    ]
    return to_matplotlib(Drawing(panels, 10.5, 4.9, across=True, ratios=(1.2, 1.0), legend=True))


def deformation_dots(report: Deformation, ax: Axes | None = None, limit: DampingLimit = USUAL) -> Figure:
    """Draw the relative deformation of every mode as a dot on a logarithmic scale, fastest mode on top.

    Red for an oscillation whose damping ratio the scheme changes by more than the limit, in either direction,
    blue for one within it, grey for what is no oscillation that counts. The least-damped oscillation is set
    in bold.

    Parameters
    ----------
    report
        A `psmr.pencil.deformation.report.Deformation`.
    ax
        Axes to draw on; a new figure without it.
    limit
        By how much a damping ratio may change, of which oscillations.

    Returns
    -------
    Figure
    """
    panel = deformations(report, limit)
    return panel_figure(panel, ax, 8.0, height_of(panel))


def height_of(panel: Panel) -> float:
    """Return the height in inches of a figure with a line of text for each mode."""
    return 1.2 + 0.24 * max(len(panel.y.ticks or ()), 4)


def oscillations(report: Deformation, limit: DampingLimit = USUAL) -> Panel:
    """Return the oscillatory modes on linear scales, and the real ones that fall into the same window."""
    s, s_hat = _modes(report)
    oscillating = (s.imag > 0.0) & (report.columns["damping_ratio"] < OVERDAMPED)
    if not oscillating.any():
        oscillating = np.ones(len(s), dtype=bool)
    window = np.concatenate([s[oscillating], s_hat[oscillating & ~np.isnan(s_hat)]])
    left, right, top = window.real.min(), max(window.real.max(), 0.0), max(window.imag.max(), 0.1)
    width = max(right - left, 0.1)
    x, y = (left - 0.15 * width, right + 0.12 * width), (-0.05 * top, 1.15 * top)
    marks = [*_damping_rays(x, y, np.linspace(0.0, 1.15 * top, 50)), *_points(report, x, limit)]
    if report.dominant_at is not None:
        marks.append(_least_damped(s[report.dominant_at], np.concatenate([s, s_hat[~np.isnan(s_hat)]]), x, y))
    hidden = int((s.real < x[0]).sum())
    more = f" ({hidden} faster ones outside the axes)" if hidden else ""
    return Panel(
        marks,
        PanelAxis("real part [1/s]", x),
        PanelAxis("imaginary part [rad/s]", y),
        title=f"Oscillatory modes{more}",
        grid="",
        legend="below",
    )


def whole_spectrum(report: Deformation, limit: DampingLimit = USUAL) -> Panel:
    """Return every mode, on scales that are linear near 0 and logarithmic beyond."""
    s, s_hat = _modes(report)
    oscillating = s[s.imag > 0]
    linear_x = _power_of_ten(np.abs(oscillating.real).min() if len(oscillating) else 1.0)
    linear_y = _power_of_ten(oscillating.imag.min() if len(oscillating) else 1.0)
    both = np.concatenate([s, s_hat[~np.isnan(s_hat)]])
    top = 2.0 * max(both.imag.max(initial=0.0), linear_y)
    x = 2.0 * min(both.real.min(initial=0.0), -linear_x), max(2.0 * both.real.max(initial=0.0), linear_x)
    y = -0.35 * linear_y, top
    imag = np.concatenate([np.linspace(0.0, linear_y, 40), np.geomspace(linear_y, top, 120)])
    return Panel(
        [*_damping_rays(x, y, imag, labels=False), *_points(report, x, limit)],
        PanelAxis("real part [1/s]", x, SymLogScale(linear_x, 0.6)),
        PanelAxis("imaginary part [rad/s]", y, SymLogScale(linear_y, 0.6)),
        title="All modes",
        grid="",
        legend="below",
    )


def deformations(report: Deformation, limit: DampingLimit = USUAL, most: int | None = None) -> Panel:
    """Return the deformation of each mode as a dot; of `most` the largest, and what is off limits."""
    s, (wrong, counts) = _modes(report)[0], _judged(report, limit)
    rows, left_out = _drawn(report, most, wrong)
    wrong, counts = wrong[rows], counts[rows]
    columns = {name: values[rows] for name, values in report.columns.items()}
    size = 100.0 * np.maximum(columns["relative_deformation"], SMALLEST)
    shown = columns["status"] == REPRESENTED
    place = np.arange(len(rows))
    low = float(10.0 ** np.floor(np.log10(np.nanmin(size, initial=1.0))) / 2.0)
    high = float(10.0 ** np.ceil(np.log10(np.nanmax(size, initial=1.0)) + 0.35))
    marks: list[Mark] = []
    for chosen, colour, label in (
        (shown & counts & ~wrong, EXACT, "damping within the limit"),
        (shown & wrong, WRONG, "damping off limits (change in pp)"),
        (shown & ~counts & ~wrong, GREY, "no or heavily damped oscillation"),
    ):
        if chosen.any():
            marks.append(Dots(size[chosen], place[chosen], "o", 7.0, colour, "none", label=label))
    for k in place.tolist():
        if shown[k]:
            change = f", {100.0 * columns['damping_error'][k]:+.2g} pp" if wrong[k] else ""
            smaller = "< " if size[k] <= 100.0 * SMALLEST else ""
            words = f"{smaller}{size[k]:.2g} %{change}"
            marks.append(Text(words, (float(size[k]), k), shift=(7, 0), va="center"))
        else:
            look: dict[str, Any] = {"va": "center", "colour": GREY, "italic": True}
            marks.append(Text("not represented", (low, k), shift=(4, 0), **look))
    more = f", the {left_out} smallest left out" if left_out else ""
    return Panel(
        marks,
        PanelAxis(
            "relative deformation |ŝ - s| / |s| [%]", (low, high * (30.0 if wrong.any() else 3.0)), LogScale()
        ),
        mode_axis("mode [1/s]", s[rows], np.flatnonzero(rows == report.dominant_at).tolist()),
        title=f"Deformation of each mode{more}",
        legend="below" if shown.any() else "",
    )


def mode_axis(label: str, modes: Iterable[complex], bold: Sequence[int] = ()) -> PanelAxis:
    """Return an axis with a line of text for each mode in 1/s."""
    words = [f"{s.real:.4g} ± j{s.imag:.4g}" if s.imag else f"{s.real:.4g}" for s in modes]
    return PanelAxis(
        label, (-0.6, len(words) - 0.4), ticks=list(enumerate(words)), bold=bold, size=8.5, length=0.0
    )


def _least_damped(mode: complex, others: np.ndarray, x: Point, y: Point) -> Text:
    """Return "least damped" beside a mode, on a side where the word covers no other one if there is one."""

    def part(s: Any) -> tuple[Any, Any]:
        return (s.real - x[0]) / (x[1] - x[0]), (s.imag - y[0]) / (y[1] - y[0])

    at_x, at_y = part(mode)
    near = np.stack(part(others), axis=-1) - (at_x, at_y)
    free = []
    for ha, va, shift, (x_0, x_1), (y_0, y_1) in SIDES:
        covered = (near[:, 0] > x_0) & (near[:, 0] < x_1) & (near[:, 1] > y_0) & (near[:, 1] < y_1)
        if not covered.any() and at_x + x_0 > 0.0 and at_x + x_1 < 1.0 and at_y + y_1 < 1.0:
            free.append((ha, va, shift))
    ha, va, shift = (free or [SIDES[0][:3]])[0]
    at = float(mode.real), float(mode.imag)
    return Text("least damped", at, shift=shift, ha=ha, va=va, size=8.5, colour=EXACT, paper=True)


def _points(report: Deformation, x: Point, limit: DampingLimit) -> list[Mark]:
    """Return system, scheme, arrows between them where there is room for one, and what has no partner."""
    s, s_hat = _modes(report)
    wrong, _ = _judged(report, limit)
    status = report.columns["status"]
    shown, zero = status == REPRESENTED, status == ZERO_MODE
    lost = ~shown & ~zero
    marks: list[Mark] = [
        band(0.0, x[1], WRONG, 0.06, z=0.0),
        line_across("x", 0.0, INK, 0.8, z=1.0),
        line_across("y", 0.0, INK, 0.8, z=1.0),
    ]
    for a, b, red in zip(s[shown].tolist(), s_hat[shown].tolist(), wrong[shown], strict=True):
        ends, colour = ((a.real, a.imag), (b.real, b.imag)), WRONG if red else GREY
        marks.append(Arrow(*ends, colour=colour, head=8.0, shorter=(4.0, 3.0), least=ARROW))
    kinds = (
        (s, shown, "o", 7.0, EXACT, 1.6, "system"),
        (s_hat, shown & ~wrong, "x", 6.0, NUMERICAL, 1.7, "scheme"),
        (s_hat, shown & wrong, "x", 6.0, WRONG, 1.7, "scheme, damping off limits"),
        (s, lost & ~wrong, "s", 6.0, GREY, 1.4, "system, too fast for the step"),
        (s, lost & wrong, "s", 6.0, WRONG, 1.4, "system, not simulated"),
        (s, zero, "D", 6.0, GREY, 1.4, "zero mode"),
    )
    for values, chosen, shape, size, colour, width, label in kinds:
        if chosen.any():
            fill, z = ("none", 4.0) if shape == "x" else ("#ffffff", 3.0)
            drawn = values[chosen]
            marks.append(Dots(drawn.real, drawn.imag, shape, size, fill, colour, width, z=z, label=label))
    return marks


def _modes(report: Deformation) -> tuple[np.ndarray, np.ndarray]:
    """Return the modes of the system and of the scheme, (rows,) each, in the upper half plane."""
    columns = report.columns
    s = columns["real"] + 1j * columns["imag"]
    return s, columns["real_numerical"] + 1j * np.abs(columns["imag_numerical"])


def _judged(report: Deformation, limit: DampingLimit) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows,) whether the damping of each mode is wrong, and whether it counts at all.

    Too much damping is as wrong as too little: a real oscillation lasts longer than the simulated one.
    """
    s, s_hat = _modes(report)
    turned = (s.real > 0.0) != (s_hat.real > 0.0)  # grows here and decays there
    turned &= np.isin(report.columns["status"], (REPRESENTED,))
    wrong = (limit.excess(s, s_hat) > 1.0) | turned
    return wrong, limit.counts(s, s_hat) | turned


def _drawn(report: Deformation, most: int | None, wrong: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the rows of the modes that get a dot, slowest first, and how many are left out."""
    columns = report.columns
    rows = np.flatnonzero(columns["status"] != ZERO_MODE)
    left_out = 0
    if most is not None and len(rows) > most:
        # What is not represented has no figure and is named in the table alone.
        size = columns["relative_deformation"][rows]
        kept = set(rows[np.argsort(-np.nan_to_num(size, nan=-1.0), kind="stable")][:most].tolist())
        kept |= set(rows[wrong[rows]].tolist())
        if report.dominant_at is not None:
            kept.add(report.dominant_at)
        left_out = len(rows) - len(kept)
        rows = np.array(sorted(kept))
    order = np.argsort(np.hypot(columns["real"][rows], columns["imag"][rows]), kind="stable")
    return rows[order], left_out


def _damping_rays(x: Point, y: Point, imag: np.ndarray, labels: bool = True) -> list[Mark]:
    """Return lines of equal damping ratio, straight on linear scales, with their values at the edge."""
    last, marks = np.inf, list[Mark]()
    for ratio in RAYS:
        real = -ratio / np.sqrt(1.0 - ratio**2) * imag
        marks.append(Line(real, imag, RULE, 0.7, (4.0, 3.0), z=1.0))
        inside = np.flatnonzero((imag < 0.96 * y[1]) & (real > 0.97 * x[0]))
        # Of rays that lie close together the one of least damping has its value.
        if labels and len(inside) and last - real[inside[-1]] > LABEL * (x[1] - x[0]):
            last = real[inside[-1]]
            at = float(last), float(imag[inside[-1]])
            look: dict[str, Any] = {"ha": "center", "va": "center", "paper": True, "z": 1.0}
            marks.append(Text(f"{100 * ratio:g} %", at, size=7.5, colour=GREY, **look))
    return marks


def _power_of_ten(value: float) -> float:
    """Return the power of ten at or below a value: where a symmetric logarithmic scale turns linear."""
    return float(10.0 ** np.floor(np.log10(max(value, 1e-12))))
