"""The figures of Gil, Sanfelice and Nikravesh, drawn anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psmr.papers.gil_sanfelice_nikravesh import formulas
from psmr.study.output.canvas import COLOURS, FAINT, INK, close, new_figure, save, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psmr.papers.gil_sanfelice_nikravesh.pendulum import PendulumRuns


def stability(path: Path) -> Path:
    """Draw the regions of absolute stability over ξ = h λ_s: for several α, and for several β."""
    x, y = np.linspace(-4.2, 0.0, 421), np.linspace(0.0, 4.2, 421)
    xi = x + 1j * y[:, None] + 0.0
    with styled():
        figure = new_figure(8.2, 3.9)
        left, right = figure.subplots(1, 2, sharey=True)
        rk4 = np.abs(formulas.rk4(xi))
        for axes, pairs, symbol in (
            (left, ((10, 0.1), (100, 0.1), (1000, 0.1)), "α"),
            (right, ((10, 0.0), (10, 0.1), (10, 0.3), (10, 0.5)), "β"),
        ):
            axes.contourf(x, y, rk4, levels=[0.0, 1.0], colors=["#eef0f3"])
            for colour, (alpha, beta), dash, width in zip(
                COLOURS, pairs, ("solid", "dashed", "dotted", "dashdot"), (2.6, 1.9, 1.5, 1.3), strict=False
            ):
                inside = formulas.radius(formulas.algorithm(alpha, beta, np.where(xi == 0, -1e-9, xi)))
                axes.contour(
                    x, y, inside, levels=[1.0 + 1e-9], colors=[colour], linestyles=[dash], linewidths=[width]
                )
                value = alpha if symbol == "α" else beta
                axes.plot(
                    [], [], color=colour, linestyle=dash, linewidth=width, label=f"{symbol} = {value:g}"
                )
            axes.set(xlabel="Re ξ", xlim=(-4.2, 0.3), ylim=(0.0, 4.2), aspect="equal")
            axes.legend(loc="upper left")
        left.set(ylabel="Im ξ", title="Coupling β = 0.1: the ratio α of the time scales does not matter")
        right.set_title("α = 10: the region grows with the coupling β")
        left.text(-1.4, 1.0, "RK4", color=FAINT)
        right.text(-1.4, 1.0, "RK4", color=FAINT)
        for axes in (left, right):
            axes.title.set_fontsize(9)
    save(figure, path)
    close(figure)
    return path


def local_error(errors: pd.DataFrame, path: Path) -> Path:
    """Draw the local error of x against the step for several α and β, with Runge-Kutta 4 beside it."""
    with styled():
        figure = new_figure(8.2, 3.9)
        left, right = figure.subplots(1, 2, sharey=True)
        groups: dict[Any, pd.DataFrame] = dict(iter(errors.groupby(["alpha", "beta"])))
        for axes, pairs, symbol in (
            (left, ((10, 0.1), (100, 0.1), (1000, 0.1)), "α"),
            (right, ((10, 0.01), (10, 0.1), (10, 0.3)), "β"),
        ):
            for colour, (alpha, beta) in zip(COLOURS, pairs, strict=False):
                part = groups[(alpha, beta)]
                value = alpha if symbol == "α" else beta
                axes.loglog(part["h"], part["x, scheme"], color=colour, label=f"{symbol} = {value:g}")
                rk4 = part["x, RK4"].to_numpy()
                shown = (rk4 > 1e-14) & (rk4 < 10.0)  # below: rounding; above: unstable
                axes.loglog(
                    part["h"][shown], rk4[shown], color=colour, linestyle=(0, (1.2, 1.6)), linewidth=1.1
                )
                if alpha > 10:
                    corner = 1.0 / (alpha * np.sqrt(2.0))
                    axes.axvline(corner, color=colour, linewidth=0.6, linestyle=(0, (4, 3)))
            axes.plot([], [], color=INK, linestyle=(0, (1.2, 1.6)), linewidth=1.1, label="RK4")
            axes.set(xlabel="step h [s]", ylim=(1e-13, 10.0))
            axes.legend(loc="upper left")
        _slope_mark(left, 2e-5, 2.5e-11, 2)
        _slope_mark(left, 1.4e-2, 2.2e-7, 1)
        left.set(ylabel="local error of x", title="β = 0.1; dashed: α|ξ| = 1")
        right.set_title("α = 10")
    save(figure, path)
    close(figure)
    return path


def _slope_mark(axes: Axes, x: float, y: float, slope: int) -> None:
    """Draw a little triangle whose hypotenuse has the slope."""
    axes.plot([x, 4 * x, 4 * x, x], [y, y, y * 4**slope, y], color=FAINT, linewidth=0.9)
    axes.annotate(
        f"{slope}", (4 * x, y * 2**slope), (4, 0), textcoords="offset points", color=FAINT, va="center"
    )


def pendulum(runs: PendulumRuns, path: Path) -> Path:
    """Draw angle, particle and energy of the pendulum."""
    with styled():
        figure = new_figure(8.2, 6.0)
        angle, blow, particle, energy = figure.subplots(2, 2).ravel()
        blue, red, green, amber = COLOURS[:4]
        angle.plot(runs.t, runs.reference[:, 0], color=red, linewidth=3.2, alpha=0.45, label="reference")
        angle.plot(runs.t, runs.ours[:, 2], color=blue, label="slow manifold, h = 5 ms")
        angle.set(xlabel="t [s]", ylabel="θ [rad]", title="The bar swings", ylim=(-0.95, 1.35))
        angle.legend(loc="upper right", ncols=2)

        size = np.abs(runs.rk4).max(axis=1)
        blow.semilogy(runs.rk4_t * 1e3, size, color=amber, marker="o", markersize=3, label="RK4, h = 5 ms")
        ours = np.abs(runs.ours[: len(size)]).max(axis=1)
        blow.semilogy(runs.rk4_t * 1e3, ours, color=blue, marker="o", markersize=3, label="slow manifold")
        blow.axhline(1e6, color=FAINT, linewidth=0.7, linestyle="--")
        blow.set(xlabel="t [ms]", ylabel="largest state", title="Runge-Kutta 4 passes 1e6 before 80 ms")
        blow.legend(loc="upper left")

        exact = runs.fine[:, 2] - np.sin(runs.fine[:, 0])
        early = runs.t <= runs.fine_t[-1] + 1e-9
        offset = (runs.ours[:, 6] - np.sin(runs.ours[:, 2]))[early]
        particle.plot(runs.fine_t * 1e3, exact * 1e6, color=red, linewidth=1.6, alpha=0.6, label="reference")
        particle.plot(
            runs.t[early] * 1e3,
            offset * 1e6,
            color=blue,
            marker="o",
            markersize=4,
            linestyle="",
            label="slow manifold",
        )
        particle.set(xlabel="t [ms]", ylabel="x offset [µm]", title="The particle rings: 1.8 steps a period")
        particle.legend(loc="upper right", ncols=2)
        particle.set_ylim(-1.0, 1.3 * exact.max() * 1e6)

        for t, x, colour, words in (
            (runs.ode45_t, runs.ode45, green, "RK45, default tolerances"),
            (runs.t, runs.kept, amber, "slow manifold, linearisation kept"),
            (runs.t, runs.ours, blue, "slow manifold"),
        ):
            error = np.abs(runs.energy_error(x))[1:]
            energy.semilogy(t[1:], np.maximum(error, 1e-9), color=colour, linewidth=0.8, label=words)
        energy.set(xlabel="t [s]", ylabel="|E - E(0)| [J]", title="Energy", ylim=(1e-9, 10.0))
        energy.legend(loc="upper center", ncols=2, fontsize=7)
    save(figure, path)
    close(figure)
    return path
