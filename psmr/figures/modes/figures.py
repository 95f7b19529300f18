"""The two figures of a deformation report: the eigenvalue map and the deformation of each mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.figures.modes.canvas import new_figure, page_figure
from psmr.figures.svg.figure import PageFigure
from psmr.pencil.deformation.reported import Reported
from psmr.pencil.modes.damping import DampingLimit
from psmr.pencil.modes.matching import REPRESENTED, ZERO_MODE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


EXACT = "#1f4e79"  # dark blue: the system
NUMERICAL = "#3a3f47"  # nearly black: the scheme
WRONG = "#d1495b"  # red: damped otherwise than the limit allows, too much or too little; and what grows
GREY = "#8a8f98"
RAYS = (0.02, 0.05, 0.1, 0.2, 0.4)  # damping ratios drawn in the map
LABEL = 0.065  # width of the value of a ray in parts of the panel
# A deformation that the eye can tell from none in a bar chart of all modes; smaller ones are a bar of this
# length.
SMALLEST = 1e-6
OVERDAMPED = 0.7  # a pair with more damping than this overshoots by less than 5 %: no oscillation to the eye
ARROW = 12.0  # pixels between two marks that leave room for an arrow


USUAL = DampingLimit()


def eigenvalue_map(report: Reported, ax: Axes | None = None, limit: DampingLimit = USUAL) -> Figure:
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
        _oscillations(report, ax, limit)
        ax.legend(loc="upper left", fontsize=8.5, framealpha=0.9, edgecolor="none")
        return ax.get_figure(root=True)  # type: ignore[return-value]
    figure = new_figure(10.5, 4.9)
    near, whole = figure.subplots(1, 2, width_ratios=(1.2, 1.0))
    _oscillations(report, near, limit)
    _whole_spectrum(report, whole, limit)
    entries = {
        label: handle
        for axes in (near, whole)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    return figure


# Where the word beside a mode may stand: alignment, shift in points, what it covers in parts of the panel.
SIDES = (
    ("right", "center", (-12, 0), (-0.32, -0.03), (-0.035, 0.035)),
    ("left", "center", (12, 0), (0.03, 0.32), (-0.035, 0.035)),
    ("center", "bottom", (0, 8), (-0.15, 0.15), (0.025, 0.085)),
    ("center", "top", (0, -8), (-0.15, 0.15), (-0.085, -0.025)),
    ("right", "bottom", (4, 8), (-0.28, 0.02), (0.025, 0.085)),
    ("right", "top", (4, -8), (-0.28, 0.02), (-0.085, -0.025)),
)


def oscillations(report: Reported, limit: DampingLimit = USUAL) -> PageFigure:
    """Return a figure of the oscillatory modes alone, of a size for a narrow page."""
    return _alone(report, _oscillations, limit)


def whole_spectrum(report: Reported, limit: DampingLimit = USUAL) -> PageFigure:
    """Return a figure of every mode, on scales that are logarithmic beyond 0, for a narrow page."""
    return _alone(report, _whole_spectrum, limit)


def _alone(
    report: Reported, draw: Callable[[Reported, Axes, DampingLimit], None], limit: DampingLimit
) -> PageFigure:
    figure = page_figure(5.0, 4.1)
    ax = figure.add_subplot()
    draw(report, ax, limit)
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.14), ncols=2, frameon=False, fontsize=9)
    return figure


def _oscillations(report: Reported, ax: Axes, limit: DampingLimit) -> None:
    """Draw the oscillatory modes on linear scales, and the real ones that fall into the same window."""
    s, s_hat = _modes(report)
    oscillating = (s.imag > 0.0) & (report.columns["damping_ratio"] < OVERDAMPED)
    if not oscillating.any():
        oscillating = np.ones(len(s), dtype=bool)
    window = np.concatenate([s[oscillating], s_hat[oscillating & ~np.isnan(s_hat)]])
    left, right, top = window.real.min(), max(window.real.max(), 0.0), max(window.imag.max(), 0.1)
    width = max(right - left, 0.1)
    ax.set_xlim(left - 0.15 * width, right + 0.12 * width)
    ax.set_ylim(-0.05 * top, 1.15 * top)
    _damping_rays(ax, np.linspace(0.0, 1.15 * top, 50))
    _points(report, ax, limit)
    if report.dominant_at is not None:
        _name_dominant(ax, s[report.dominant_at], np.concatenate([s, s_hat[~np.isnan(s_hat)]]))
    hidden = int((s.real < left - 0.15 * width).sum())
    more = f"; {hidden} faster modes further left" if hidden else ""
    ax.set_title(f"Oscillations, {report.pencil} pencil{more}", loc="left", fontsize=11)


def _name_dominant(ax: Axes, mode: complex, others: np.ndarray) -> None:
    """Write "least damped" beside a mode, on a side where the word covers no other one if there is one."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()

    def part(s: Any) -> tuple[Any, Any]:
        return (s.real - left) / (right - left), (s.imag - low) / (high - low)

    x, y = part(mode)
    near = np.stack(part(others), axis=-1) - (x, y)
    free = []
    for ha, va, shift, (x_0, x_1), (y_0, y_1) in SIDES:
        covered = (near[:, 0] > x_0) & (near[:, 0] < x_1) & (near[:, 1] > y_0) & (near[:, 1] < y_1)
        if not covered.any() and x + x_0 > 0.0 and x + x_1 < 1.0 and y + y_1 < 1.0:
            free.append((ha, va, shift))
    ha, va, shift = (free or [SIDES[0][:3]])[0]
    ax.annotate(
        "least damped", (mode.real, mode.imag), xytext=shift, textcoords="offset points", ha=ha, va=va,
        fontsize=8.5, color=EXACT, bbox={"fc": "white", "ec": "none", "pad": 0.8},
    )  # fmt: skip


def _whole_spectrum(report: Reported, ax: Axes, limit: DampingLimit) -> None:
    """Draw every mode, on scales that are linear near 0 and logarithmic beyond."""
    s, s_hat = _modes(report)
    oscillating = s[s.imag > 0]
    linear_x = _power_of_ten(np.abs(oscillating.real).min() if len(oscillating) else 1.0)
    linear_y = _power_of_ten(oscillating.imag.min() if len(oscillating) else 1.0)
    both = np.concatenate([s, s_hat[~np.isnan(s_hat)]])
    top = 2.0 * max(both.imag.max(initial=0.0), linear_y)
    ax.set_xscale("symlog", linthresh=linear_x, linscale=0.6)
    ax.set_yscale("symlog", linthresh=linear_y, linscale=0.6)
    ax.set_xlim(
        2.0 * min(both.real.min(initial=0.0), -linear_x), max(2.0 * both.real.max(initial=0.0), linear_x)
    )
    ax.set_ylim(-0.35 * linear_y, top)
    imag = np.concatenate([np.linspace(0.0, linear_y, 40), np.geomspace(linear_y, top, 120)])
    _damping_rays(ax, imag, labels=False)
    _points(report, ax, limit)
    ax.set_title("All modes", loc="left", fontsize=11)


def _points(report: Reported, ax: Axes, limit: DampingLimit) -> None:
    """Draw system, scheme, arrows between them where there is room for one, and what has no partner."""
    s, s_hat = _modes(report)
    wrong, _ = _judged(report, limit)
    status = report.columns["status"]
    shown, zero = status == REPRESENTED, status == ZERO_MODE
    lost = ~shown & ~zero
    ax.axvspan(0.0, ax.get_xlim()[1], color=WRONG, alpha=0.06, lw=0, zorder=0)
    ax.axvline(0.0, color="black", lw=0.8, zorder=1)
    ax.axhline(0.0, color="black", lw=0.8, zorder=1)
    for a, b, red in zip(s[shown], s_hat[shown], wrong[shown], strict=True):
        ends = ax.transData.transform([(a.real, a.imag), (b.real, b.imag)])
        if np.hypot(*(ends[1] - ends[0])) > ARROW:
            style = {
                "arrowstyle": "-|>",
                "color": WRONG if red else GREY,
                "lw": 1.0,
                "shrinkA": 4,
                "shrinkB": 3,
                "mutation_scale": 8,
            }
            ax.annotate("", xy=(b.real, b.imag), xytext=(a.real, a.imag), arrowprops=style, zorder=2)
    ax.plot(
        s.real[shown], s.imag[shown], "o", ms=7, mfc="white", mec=EXACT, mew=1.6, label="system", zorder=3
    )
    for chosen, colour, label in (
        (shown & ~wrong, NUMERICAL, "scheme"),
        (shown & wrong, WRONG, "scheme, damping off limits"),
    ):
        if chosen.any():
            drawn = s_hat[chosen]
            ax.plot(drawn.real, drawn.imag, "x", ms=6, color=colour, mew=1.7, label=label, zorder=4)
    for chosen, marker, colour, label in (
        (lost & ~wrong, "s", GREY, "system, too fast for the step"),
        (lost & wrong, "s", WRONG, "system, not simulated"),
        (zero, "D", GREY, "zero mode"),
    ):
        if chosen.any():
            ax.plot(
                s.real[chosen],
                s.imag[chosen],
                marker,
                ms=6,
                mfc="white",
                mec=colour,
                mew=1.4,
                ls="",
                label=label,
                zorder=3,
            )
    ax.set_xlabel("real part [1/s]")
    ax.set_ylabel("imaginary part [rad/s]")
    _plain_ticks(ax)


def _modes(report: Reported) -> tuple[np.ndarray, np.ndarray]:
    """Return the modes of the system and of the scheme, (rows,) each, in the upper half plane."""
    columns = report.columns
    s = columns["real"] + 1j * columns["imag"]
    return s, columns["real_numerical"] + 1j * np.abs(columns["imag_numerical"])


def _judged(report: Reported, limit: DampingLimit) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows,) whether the damping of each mode is wrong, and whether it counts at all.

    Too much damping is as wrong as too little: a real oscillation lasts longer than the simulated one.
    """
    s, s_hat = _modes(report)
    turned = (s.real > 0.0) != (s_hat.real > 0.0)  # grows here and decays there
    turned &= np.isin(report.columns["status"], (REPRESENTED,))
    wrong = (limit.excess(s, s_hat) > 1.0) | turned
    return wrong, limit.counts(s, s_hat) | turned


def deformation_bars(
    report: Reported, ax: Axes | None = None, most: int | None = None, limit: DampingLimit = USUAL
) -> Figure:
    """Draw the relative deformation of every mode as a bar on a logarithmic scale, fastest mode on top.

    Red for an oscillation whose damping ratio the scheme changes by more than the limit, in either direction,
    blue for one within it, grey for what is no oscillation that counts. The least-damped oscillation is set
    in bold.

    Parameters
    ----------
    report
        A `psmr.pencil.deformation.report.Deformation`.
    ax
        Axes to draw on; a new figure without it.
    most
        How many bars at most, those of the largest deformations and the least-damped oscillation; None: all.
    limit
        By how much a damping ratio may change, of which oscillations.

    Returns
    -------
    Figure
    """
    wrong, counts = _judged(report, limit)
    rows, left_out = _drawn(report, most, wrong)
    wrong, counts = wrong[rows], counts[rows]
    columns = {name: values[rows] for name, values in report.columns.items()}
    height = 1.2 + 0.27 * max(len(rows), 4)
    if ax is None:
        ax = new_figure(8.0, height).add_subplot() if most is None else page_figure(5.0, height).add_subplot()
    size = 100.0 * np.maximum(columns["relative_deformation"], SMALLEST)
    shown = columns["status"] == REPRESENTED
    place = np.arange(len(rows))
    floor = 10.0 ** np.floor(np.log10(np.nanmin(size, initial=1.0))) / 2.0
    ceiling = 10.0 ** np.ceil(np.log10(np.nanmax(size, initial=1.0)) + 0.35)
    for chosen, colour, label in (
        (shown & counts & ~wrong, EXACT, "damping within the limit"),
        (shown & wrong, WRONG, "damping off limits (change in pp)"),
        (shown & ~counts & ~wrong, GREY, "no or heavily damped oscillation"),
    ):
        if chosen.any():
            ax.barh(place[chosen], size[chosen] - floor, left=floor, height=0.66, color=colour, label=label)
    ax.set_xscale("log")
    ax.set_xlim(floor, ceiling * (3.0 if wrong.any() else 1.0))
    change = [
        f", {100.0 * d:+.2g} pp" if w else "" for d, w in zip(columns["damping_error"], wrong, strict=True)
    ]
    for k in place:
        if shown[k]:
            ax.annotate(
                f"{'< ' if size[k] <= 100.0 * SMALLEST else ''}{size[k]:.2g} %{change[k]}",
                (size[k], k),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        else:
            ax.annotate(
                "not represented", (floor, k), xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=8, color=GREY, style="italic",
            )  # fmt: skip
    labels = [
        f"{real:.4g} ± j{imag:.4g}" if imag else f"{real:.4g}"
        for real, imag in zip(columns["real"], columns["imag"], strict=True)
    ]
    ax.set_yticks(place, labels, fontsize=8.5)
    if report.dominant_at is not None:
        ax.get_yticklabels()[int(np.flatnonzero(rows == report.dominant_at)[0])].set_fontweight("bold")
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x", color="#e3e5e8", lw=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("relative deformation |ŝ - s| / |s| [%]")
    ax.set_ylabel("mode [1/s]")
    title = "Deformation of each mode" + (f", the {left_out} smallest left out" if left_out else "")
    ax.set_title(title, loc="left", fontsize=11)
    if shown.any():
        inch = ax.get_figure(root=True).get_figheight()  # type: ignore[union-attr]
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.6 / inch), ncols=2, frameon=False, fontsize=9)
    ax.tick_params(axis="y", length=0)
    _plain_ticks(ax, y=False)
    return ax.get_figure(root=True)  # type: ignore[return-value]


def _drawn(report: Reported, most: int | None, wrong: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the rows of the modes that get a bar, slowest first, and how many are left out."""
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


def _damping_rays(ax: Axes, imag: np.ndarray, labels: bool = True) -> None:
    """Draw lines of equal damping ratio, straight on linear scales, with their values at the edge."""
    (left, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    last = np.inf
    for ratio in RAYS:
        real = -ratio / np.sqrt(1.0 - ratio**2) * imag
        ax.plot(real, imag, color="#b9bec6", lw=0.7, ls=(0, (4, 3)), zorder=1)
        inside = np.flatnonzero((imag < 0.96 * top) & (real > 0.97 * left))
        if not labels or not len(inside):
            continue
        k = inside[-1]
        # Of rays that lie close together the one of least damping has its value.
        if last - real[k] > LABEL * (right - left):
            last = real[k]
            ax.annotate(
                f"{100 * ratio:g} %", (real[k], imag[k]), fontsize=7.5, color=GREY, ha="center", va="center",
                bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none"}, zorder=1,
            )  # fmt: skip


def _power_of_ten(value: float) -> float:
    """Return the power of ten at or below a value: where a symmetric logarithmic scale turns linear."""
    return float(10.0 ** np.floor(np.log10(max(value, 1e-12))))


def _plain_ticks(ax: Any, y: bool = True) -> None:
    """Write 0.1, 1, 10 in place of powers of ten, and no box above and to the right."""

    def plain(value: float, _: int) -> str:
        return f"{value:g}".replace("-", "\N{MINUS SIGN}")

    ax.xaxis.set_major_formatter(plain)
    if y:
        ax.yaxis.set_major_formatter(plain)
    ax.spines[["top", "right"]].set_visible(False)
