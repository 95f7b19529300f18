"""Figures 2 to 13: what the pencils and the nonlinear runs say of the dominant mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psmr.figures.chart import COLOURS, FAINT, FAST, INK
from psmr.figures.with_matplotlib import new_figure
from psmr.papers.catalogue import Results
from psmr.papers.huang_tzounas.runs import StudiedSystem
from psmr.papers.huang_tzounas.tables import MANY, RATIOS, STEP_PAIRS, SWING, Spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PREDICTOR_COLOUR = {"FEM": COLOURS[3], "TM": COLOURS[0], "BEM": COLOURS[1]}
ROWS = {"exact": "exact pencil: one macro step", "published": "published pencil: one fast step"}


def spectra_figure(spectra: list[Spectrum]) -> Figure:
    """Draw figure 2: eigenvalues of the system, with FEM and with TM prediction, three step pairs."""
    figure = new_figure(9.6, 6.2)
    grid = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, pencil in zip(grid, ROWS, strict=True):
        for ax, pair in zip(axes, STEP_PAIRS, strict=True):
            chosen = [s for s in spectra if s.pencil == pencil and (s.h_slow, s.h_fast) == pair]
            _spectrum_panel(ax, chosen)
    for ax, (h_slow, h_fast) in zip(grid[0], STEP_PAIRS, strict=True):
        ax.set_title(f"$h_s$ = {h_slow:g} s, $h_f$ = {h_fast:g} s", loc="left")
    _name_rows(grid, "imaginary part [rad/s]")
    for ax in grid[-1]:
        ax.set_xlabel("real part [1/s]")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def _spectrum_panel(ax: Axes, chosen: list[Spectrum]) -> None:
    _shade_unstable(ax, 2.0)
    table = chosen[0].report.table
    ring: dict[str, Any] = {"ms": 6.5, "mfc": "white", "mec": INK, "mew": 1.0, "zorder": 2}
    ax.plot(table["real"], table["imag"], "o", label="system", **ring)
    lines = []
    for spectrum, marker, size in zip(chosen, "x+", (6.0, 8.0), strict=True):
        table, colour = spectrum.report.table, PREDICTOR_COLOUR[spectrum.predictor]
        look: dict[str, Any] = {
            "ms": size,
            "mew": 1.5,
            "color": colour,
            "label": f"{spectrum.predictor} prediction",
        }
        ax.plot(table["real_numerical"], np.abs(table["imag_numerical"]), marker, zorder=3, **look)
        row = spectrum.report.dominant
        assert row is not None
        lines.append((f"{spectrum.predictor}: {100 * row['relative_deformation']:.3g} %", colour))
    ax.set_xlim(-9.0, 1.2)
    ax.set_ylim(-0.6, 15.0)
    for k, (words, colour) in enumerate(lines):
        ax.text(0.03, 0.95 - 0.085 * k, words, transform=ax.transAxes, color=colour, fontsize=8.5, va="top")


def path_figure(setting: StudiedSystem, swing: pd.DataFrame) -> Figure:
    """Draw figure 3: the dominant mode in the complex plane as h_fast grows, h_fast = 0.005 s marked."""

    def panel(ax: Axes, pencil: str, pairs: tuple[tuple[str, str], ...]) -> None:
        star: dict[str, Any] = {"ms": 12, "color": INK, "mec": "white", "mew": 0.6, "zorder": 5}
        ax.plot(setting.mode.real, setting.mode.imag, "*", **star)
        for pair in pairs:
            line, look = _line(swing, pencil, pair), _look(pair, pairs)
            ax.plot(line["real"], line["imag"], **look)
            last = line.iloc[-1]
            ax.plot(last["real"], last["imag"], "o", ms=6, color=look["color"], zorder=4)
        ax.margins(0.12)
        ax.locator_params(nbins=5)
        left, right = ax.get_xlim()
        if right > 0.0:
            _shade_unstable(ax, right)
            ax.set_xlim(left, right)

    return _six_panels(panel, "real part [1/s]", "imaginary part [rad/s]")


def part_figure(swing: pd.DataFrame, part: str) -> Figure:
    """Draw figure 4 or 5: the ``"real"`` or ``"imaginary"`` deformation of the mode over h_fast, % of |s|."""

    def panel(ax: Axes, pencil: str, pairs: tuple[tuple[str, str], ...]) -> None:
        for pair in pairs:
            line = _line(swing, pencil, pair)
            values = line[f"{part} part [%]"]
            last = f"{values.iloc[-1]:.5g} %".replace("-", "\N{MINUS SIGN}")
            look = _look(pair, pairs) | {"label": f"{pair[0]} prediction, {last} at 5 ms"}
            ax.plot(1e3 * line["h_fast [s]"], values, **look)
        ax.axhline(0.0, color=FAINT, lw=0.7, zorder=1)
        ax.set_xlim(0.0, 5.05)

    symbol = "Re" if part == "real" else "Im"
    label = rf"{symbol}$(\hat{{s}} - s)\,/\,|s|$ [%]"
    return _six_panels(panel, "fast step $h_f$ [ms], $r$ = 10", label)


def ratio_figure(ratios: pd.DataFrame) -> Figure:
    """Draw figure 6: deformation of the dominant mode over the ratio at h_slow = 0.05 s, TM solution."""
    shown = ratios[ratios["r"].isin(RATIOS)]
    figure = new_figure(9.6, 3.4)
    panels = figure.subplots(1, 3)
    for ax, predictor in zip(panels[:2], ("FEM", "TM"), strict=True):
        line = {"ms": 4.5, "lw": 0.9, "color": PREDICTOR_COLOUR[predictor]}
        ax.plot(shown["r"], shown[f"{predictor} exact [%]"], "o-", **line)
        limit = ratios.loc[ratios["r"] == MANY, f"{predictor} exact [%]"].iloc[0]
        ax.axhline(limit, color=FAINT, lw=0.7, ls=(0, (4, 3)), label=f"$r$ = {MANY}")
        for _, row in shown[shown["r"] <= 6].iterrows():
            at, colour = (int(row["r"]), row[f"{predictor} exact [%]"]), PREDICTOR_COLOUR[predictor]
            ax.annotate(str(at[0]), at, xytext=(5, 3), textcoords="offset points", fontsize=8, color=colour)
        ax.set_title(f"exact pencil, {predictor} prediction", loc="left")
        ax.margins(0.12)
        ax.legend(loc="upper right" if predictor == "FEM" else "lower right")
    for predictor, dashes, size in (("FEM", "o-", 4.5), ("TM", "s--", 3.0)):
        look = {"ms": size, "color": PREDICTOR_COLOUR[predictor], "label": f"{predictor} prediction"}
        panels[2].plot(shown["r"], shown[f"{predictor} published [%]"], dashes, **look)
    panels[2].set_title("published pencil", loc="left")
    panels[2].set_ylim(0.0, None)
    panels[2].legend(loc="upper right")
    for ax in panels:
        ax.set_xlabel("ratio $r = h_s / h_f$")
    panels[0].set_ylabel("relative deformation [%]")
    return figure


def _six_panels(
    panel: Callable[[Axes, str, tuple[tuple[str, str], ...]], None], across: str, up: str
) -> Figure:
    """Return a figure with a row for each pencil and a column for each panel of the paper."""
    figure = new_figure(9.6, 5.8)
    grid = figure.subplots(2, 3, sharex=False, sharey=False)
    for axes, pencil in zip(grid, ROWS, strict=True):
        for ax, pairs in zip(axes, SWING.values(), strict=True):
            panel(ax, pencil, pairs)
            ax.legend(loc="best")
    for ax, title in zip(grid[0], SWING, strict=True):
        ax.set_title(title, loc="left")
    for ax in grid[-1]:
        ax.set_xlabel(across)
    _name_rows(grid, up)
    return figure


def _name_rows(grid: np.ndarray, label: str) -> None:
    for axes, words in zip(grid, ROWS.values(), strict=True):
        axes[0].set_ylabel(f"{words}\n{label}")


def _line(swing: pd.DataFrame, pencil: str, pair: tuple[str, str]) -> pd.DataFrame:
    return swing[
        (swing["pencil"] == pencil) & (swing["predictor"] == pair[0]) & (swing["solution"] == pair[1])
    ]


def _look(pair: tuple[str, str], pairs: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """Return the style of a line; the second of a panel is dashed, since the two may lie on one another."""
    dashed = {"ls": (0, (4, 2))} if pairs.index(pair) else {}
    return {"color": PREDICTOR_COLOUR[pair[0]], "lw": 1.6, "label": f"{pair[0]} prediction", **dashed}


def _shade_unstable(ax: Axes, right: float) -> None:
    ax.axvspan(0.0, right, color=COLOURS[1], alpha=0.07, lw=0, zorder=0)
    ax.axvline(0.0, color=FAINT, lw=0.7, zorder=1)


RATIO_COLOURS = {2: COLOURS[1], 3: COLOURS[3], 4: COLOURS[2], 5: COLOURS[5], 6: COLOURS[4], 10: COLOURS[0]}


def response_figure(r: Results, k: int, events: str) -> Figure:
    """Draw the k-th of figures 7 to 10: speed of machine 1 and the reference, and the errors below."""
    lines, errors = r.responses[k]
    figure = new_figure(7.2, 4.6)
    speed, error = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1.0))
    colours = (COLOURS[1], COLOURS[0])
    speed.plot(lines[0].t, lines[0].value, color=INK, lw=2.6, alpha=0.35, label=lines[0].label)
    for curve, colour, dashes in zip(lines[1:], colours, ("-", (0, (4, 2))), strict=True):
        speed.plot(curve.t, curve.value, color=colour, ls=dashes, lw=1.2, label=curve.label)
    for curve, colour, dashes in zip(errors, colours, ("-", (0, (4, 2))), strict=True):
        error.plot(curve.t, 1e3 * curve.value, color=colour, ls=dashes, lw=1.2)
    speed.set_ylabel(r"speed $\omega_{r,1}$ [pu]")
    error.set_ylabel("error [0.001 pu]")
    error.set_xlabel("time [s]")
    error.set_xlim(0.5, 10.0)
    error.axhline(0.0, color=FAINT, lw=0.7, zorder=1)
    for ax in (speed, error):
        _mark(ax, events)
    figure.legend(*speed.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def interpolation_figure(r: Results) -> Figure:
    """Draw figure 11: error over time for several ratios, linear and spline, and the ratio of the two."""
    curves, tables = r.interpolation_curves, r.interpolations
    figure = new_figure(9.6, 3.7)
    linear, spline, gain = figure.subplots(1, 3, width_ratios=(1.15, 1.15, 1.0))
    top = 1.05e3 * max(float(np.abs(c.value).max()) for part in curves.values() for c in part)
    for ax, kind, title in zip(
        (linear, spline), curves, ("linear interpolation", "cubic spline"), strict=True
    ):
        for curve in curves[kind]:
            ratio = int(curve.label.rpartition(" ")[2])
            look = {"color": RATIO_COLOURS[ratio], "lw": 1.1, "label": f"$r$ = {ratio}"}
            ax.plot(curve.t, 1e3 * curve.value, **look)
        ax.set_xlim(0.8, 10.0)
        ax.set_ylim(-top, top)
        ax.set_xlabel("time [s]")
        ax.set_title(title, loc="left")
        _mark(ax, "fault")
    linear.set_ylabel(r"error of $\omega_{r,1}$ [0.001 pu]")
    linear.legend(loc="upper right", ncols=2, columnspacing=1.0, handlelength=1.4)
    for (name, table), colour, marker in zip(tables.items(), (0, 2, 3, 1), "os^D", strict=True):
        look = {"ms": 4.5, "color": COLOURS[colour], "label": name}
        gain.plot(table["r"], table["spline / linear, rms"], f"{marker}-", **look)
    gain.axhline(1.0, color=FAINT, lw=0.7, zorder=1)
    gain.set_ylim(0.6, 1.3)
    gain.set_xlabel("ratio $r = h_s / h_f$")
    gain.set_title("rms error, spline over linear", loc="left")
    gain.legend(loc="upper right")
    return figure


def residual_figure(r: Results) -> Figure:
    """Draw figure 12: the slow algebraic equations at the fast points, three comparisons."""
    titles = ("predictor", "steps $h_s$ and $h_f$", "interpolation")
    figure = new_figure(9.6, 3.4)
    axes = figure.subplots(1, 3, sharey=True)
    for ax, curves, title in zip(axes, r.residuals, titles, strict=True):
        colours = (COLOURS[1], COLOURS[3], COLOURS[0]) if len(curves) == 3 else (COLOURS[0], COLOURS[1])
        for k, (curve, colour) in enumerate(zip(curves, colours, strict=True)):
            dashes = (0, (3, 2)) if title == "predictor" and k else "-"
            look = {"color": colour, "ls": dashes, "lw": 1.1, "label": curve.label}
            ax.semilogy(curve.t, np.maximum(curve.value, 1e-15), **look)
        ax.set_title(title, loc="left")
        ax.set_xlabel("time [s]")
        ax.set_xlim(0.8, 10.0)
        ax.set_ylim(1e-9, 3e-1)
        _mark(ax, "fault")
        ax.legend(loc="upper right")
    axes[0].set_ylabel("norm of the slow algebraic\nequations at fast points [pu]")
    return figure


def threshold_figure(r: Results, systems: tuple[str, ...]) -> Figure:
    """Draw figure 13: deformation over delta, and error over time for some thresholds, in both systems."""
    sweeps = zip(systems, r.thresholds, r.threshold_errors, strict=True)
    figure = new_figure(9.6, 6.4)
    grid = figure.subplots(2, 3, width_ratios=(1.0, 1.0, 1.25))
    for (bend, largest, time), (name, deformed, errors), shown in zip(
        grid, sweeps, r.threshold_curves, strict=True
    ):
        ticks = np.arange(len(deformed))
        names = [_threshold(value) for value in deformed["delta [1/s]"]]
        bend.semilogy(
            ticks, deformed["published pencil [%]"], "s--", ms=4, color=FAINT, label="published pencil"
        )
        bend.semilogy(ticks, deformed["exact pencil [%]"], "o-", ms=5, color=COLOURS[0], label="exact pencil")
        bend.set_ylabel(f"{name}\ndominant mode: deformation [%]")
        bend.set_ylim(None, 4.0)
        bend.legend(loc="upper left" if deformed["exact pencil [%]"].iloc[0] > 1e-3 else "lower right")
        top = errors["largest error [pu]"].iloc[: len(ticks)]
        largest.bar(ticks, 1e6 * top, width=0.62, color=COLOURS[0])
        single = errors["largest error [pu]"].iloc[len(ticks) :]
        for value, words, colour in zip(
            single, ("single rate, 1 ms", "single rate, 5 ms"), (COLOURS[2], COLOURS[1]), strict=True
        ):
            largest.axhline(1e6 * value, color=colour, lw=1.2, ls=(0, (4, 2)), label=words)
        largest.set_yscale("log")
        largest.set_ylabel(r"largest error of $\omega_{r,1}$ [$10^{-6}$ pu]")
        largest.set_ylim(None, 10.0 * 1e6 * max(top.max(), single.max()))
        largest.legend(loc="upper left")
        for ax in (bend, largest):
            ax.set_xticks(ticks, names, fontsize=7)
            ax.grid(axis="x", visible=False)
        for curve, colour in zip(shown, (COLOURS[2], COLOURS[5], COLOURS[0], COLOURS[1]), strict=True):
            time.plot(curve.t, 1e6 * curve.value, color=colour, lw=1.1, label=curve.label)
        time.set_xlim(0.8, 6.0)
        time.set_ylabel(r"error of $\omega_{r,1}$ [$10^{-6}$ pu]")
        _mark(time, "fault")
        time.legend(loc="upper right", ncols=2, columnspacing=1.0, handlelength=1.4)
        low, high = time.get_ylim()
        time.set_ylim(low, high + 0.25 * (high - low))
    for ax in grid[-1, :2]:
        ax.set_xlabel(r"threshold $\delta$ [1/s]")
    grid[-1, 2].set_xlabel("time [s]")
    for ax, title in zip(grid[0], ("deformation", "fault, largest error", "fault, error"), strict=True):
        ax.set_title(title, loc="left")
    return figure


def _threshold(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:g}"


def _mark(ax: Axes, events: str) -> None:
    """Shade the fault, or draw lines where the load goes and comes back."""
    if events == "fault":
        ax.axvspan(1.0, 1.1, color=FAST, alpha=0.16, lw=0, zorder=0.5)
    else:
        for instant in (1.0, 1.2):
            ax.axvline(instant, color=FAINT, lw=0.7, ls=(0, (4, 3)), zorder=0.6)
