"""The figures of Gil, Sanfelice and Nikravesh, drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.figures.canvas import new_figure, styled
from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.papers.gil_sanfelice_nikravesh import formulas
from psmr.papers.reproduction import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTTED = (0, (1.2, 1.6))


def stability(r: Results) -> Figure:
    """Draw the regions of absolute stability over ξ = h λ_s: for several α, and for several β."""
    x, y = np.linspace(-4.2, 0.0, 421), np.linspace(0.0, 4.2, 421)
    xi = x + 1j * y[:, None] + 0.0
    alphas, betas = [(a, 0.1) for a in (10, 100, 1000)], [(10, b) for b in (0.0, 0.1, 0.3, 0.5)]
    with styled():
        figure = new_figure(8.2, 3.9)
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, pairs, symbol in ((left, alphas, "α"), (right, betas, "β")):
            axes.contourf(x, y, np.abs(formulas.rk4(xi)), levels=[0.0, 1.0], colors=["#eef0f3"])
            looks = zip(COLOURS, ("solid", "dashed", "dotted", "dashdot"), (2.6, 1.9, 1.5, 1.3), strict=False)
            for (alpha, beta), (colour, dash, width) in zip(pairs, looks, strict=False):
                inside = formulas.radius(formulas.algorithm(alpha, beta, np.where(xi == 0, -1e-9, xi)))
                line = {"colors": [colour], "linestyles": [dash], "linewidths": [width]}
                axes.contour(x, y, inside, levels=[1.0 + 1e-9], **line)
                label = f"{symbol} = {alpha if symbol == 'α' else beta:g}"
                axes.plot([], [], color=colour, linestyle=dash, linewidth=width, label=label)
            axes.set(xlabel="Re ξ", xlim=(-4.2, 0.3), ylim=(0.0, 4.2), aspect="equal")
            axes.legend(loc="upper left")
            axes.text(-1.4, 1.0, "RK4", color=FAINT)
        left.set_ylabel("Im ξ")
        left.set_title("Coupling β = 0.1: the ratio α of the time scales does not matter", fontsize=9)
        right.set_title("α = 10: the region grows with the coupling β", fontsize=9)
    return figure


def local_error(r: Results) -> Figure:
    """Draw the local error of x over the step for several α and β, and that of Runge-Kutta 4."""
    alphas, betas = [(a, 0.1) for a in (10, 100, 1000)], [(10, b) for b in (0.01, 0.1, 0.3)]
    with styled():
        figure = new_figure(8.2, 3.9)
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, pairs, symbol in ((left, alphas, "α"), (right, betas, "β")):
            for colour, (alpha, beta) in zip(COLOURS, pairs, strict=False):
                part = r.errors[(r.errors["alpha"] == alpha) & (r.errors["beta"] == beta)]
                label = f"{symbol} = {alpha if symbol == 'α' else beta:g}"
                axes.loglog(part["h"], part["x, scheme"], color=colour, label=label)
                rk4 = part[part["x, RK4"].between(1e-14, 10.0, "neither")]  # below: rounding; above: unstable
                axes.loglog(rk4["h"], rk4["x, RK4"], color=colour, linestyle=DOTTED, linewidth=1.1)
                if alpha > 10:
                    corner = 1.0 / (alpha * np.sqrt(2.0))
                    axes.axvline(corner, color=colour, linewidth=0.6, linestyle=(0, (4, 3)))
            axes.plot([], [], color=INK, linestyle=DOTTED, linewidth=1.1, label="RK4")
            axes.set(xlabel="step h [s]", ylim=(1e-13, 10.0))
            axes.legend(loc="upper left")
        _slope_mark(left, 2e-5, 2.5e-11, 2)
        _slope_mark(left, 1.4e-2, 2.2e-7, 1)
        left.set(ylabel="local error of x", title="β = 0.1; dashed: α|ξ| = 1")
        right.set_title("α = 10")
    return figure


def _slope_mark(axes: Axes, x: float, y: float, slope: int) -> None:
    """Draw a little triangle whose hypotenuse has the slope."""
    axes.plot([x, 4 * x, 4 * x, x], [y, y, y * 4**slope, y], color=FAINT, linewidth=0.9)
    place = (4 * x, y * 2**slope)
    axes.annotate(f"{slope}", place, (4, 0), textcoords="offset points", color=FAINT, va="center")


def pendulum(r: Results) -> Figure:
    """Draw angle, particle and energy of the pendulum."""
    runs = r.pendulum
    with styled():
        figure = new_figure(8.2, 6.0)
        angle, blow, particle, energy = figure.subplots(2, 2).ravel()
        blue, red, green, amber = COLOURS[:4]
        angle.plot(runs.t, runs.reference[:, 0], color=red, linewidth=3.2, alpha=0.45, label="reference")
        angle.plot(runs.t, runs.ours[:, 2], color=blue, label="slow manifold, h = 5 ms")
        angle.set(xlabel="t [s]", ylabel="θ [rad]", title="The bar swings", ylim=(-0.95, 1.35))
        angle.legend(loc="upper right", ncols=2)

        for x, colour, label in ((runs.rk4, amber, "RK4, h = 5 ms"), (runs.ours, blue, "slow manifold")):
            size = np.abs(x[: len(runs.rk4_t)]).max(axis=1)
            blow.semilogy(runs.rk4_t * 1e3, size, color=colour, marker="o", markersize=3, label=label)
        blow.axhline(1e6, color=FAINT, linewidth=0.7, linestyle="--")
        blow.set(xlabel="t [ms]", ylabel="largest state", title="Runge-Kutta 4 passes 1e6 before 80 ms")
        blow.legend(loc="upper left")

        exact = runs.fine[:, 2] - np.sin(runs.fine[:, 0])
        early = runs.t <= runs.fine_t[-1] + 1e-9
        offset = (runs.ours[:, 6] - np.sin(runs.ours[:, 2]))[early]
        particle.plot(runs.fine_t * 1e3, exact * 1e6, color=red, linewidth=1.6, alpha=0.6, label="reference")
        dots = {"color": blue, "marker": "o", "markersize": 4, "linestyle": ""}
        particle.plot(runs.t[early] * 1e3, offset * 1e6, **dots, label="slow manifold")
        particle.set(xlabel="t [ms]", ylabel="x offset [µm]", title="The particle rings: 1.8 steps a period")
        particle.legend(loc="upper right", ncols=2)
        particle.set_ylim(-1.0, 1.3 * exact.max() * 1e6)

        for t, x, colour, label in (
            (runs.ode45_t, runs.ode45, green, "RK45, default tolerances"),
            (runs.t, runs.kept, amber, "slow manifold, linearisation kept"),
            (runs.t, runs.ours, blue, "slow manifold"),
        ):
            error = np.maximum(np.abs(runs.energy_error(x))[1:], 1e-9)
            energy.semilogy(t[1:], error, color=colour, linewidth=0.8, label=label)
        energy.set(xlabel="t [s]", ylabel="|E - E(0)| [J]", title="Energy", ylim=(1e-9, 10.0))
        energy.legend(loc="upper center", ncols=2, fontsize=7)
    return figure
