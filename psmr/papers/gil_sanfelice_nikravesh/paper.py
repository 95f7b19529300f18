"""The paper: figures 1 to 5, 7 and 8, its formulas compared with the algorithm, the numbers of its claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from psmr.figures.chart import COLOURS, FAINT, INK
from psmr.figures.with_matplotlib import new_figure
from psmr.papers.catalogue import Paper, Results
from psmr.papers.gil_sanfelice_nikravesh import two_scales
from psmr.papers.gil_sanfelice_nikravesh.pendulum import (
    GRAVITY,
    H,
    PendulumRuns,
    change_of_energy,
    largest_change,
    pendulum_runs,
    pendulum_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DOTTED = (0, (1.2, 1.6))


def stability_figure(r: Results) -> Figure:
    """Draw the regions of absolute stability over ξ = h λ_s: for several α, and for several β."""
    x, y = np.linspace(-4.2, 0.0, 421), np.linspace(0.0, 4.2, 421)
    xi = x + 1j * y[:, None] + 0.0
    alphas, betas = [(a, 0.1) for a in (10, 100, 1000)], [(10, b) for b in (0.0, 0.1, 0.3, 0.5)]
    figure = new_figure(8.2, 3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, pairs, symbol in ((left, alphas, "α"), (right, betas, "β")):
        axes.contourf(x, y, np.abs(two_scales.rk4(xi)), levels=[0.0, 1.0], colors=["#eef0f3"])
        looks = zip(COLOURS, ("solid", "dashed", "dotted", "dashdot"), (2.6, 1.9, 1.5, 1.3), strict=False)
        for (alpha, beta), (colour, dash, width) in zip(pairs, looks, strict=False):
            inside = two_scales.radius(two_scales.algorithm(alpha, beta, np.where(xi == 0, -1e-9, xi)))
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


def local_error_figure(r: Results) -> Figure:
    """Draw the local error of x over the step for several α and β, and that of Runge-Kutta 4."""
    alphas, betas = [(a, 0.1) for a in (10, 100, 1000)], [(10, b) for b in (0.01, 0.1, 0.3)]
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


def pendulum_figure(r: Results) -> Figure:
    """Draw angle, particle and energy of the pendulum."""
    runs = r.pendulum
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
        error = np.maximum(np.abs(change_of_energy(x))[1:], 1e-9)
        energy.semilogy(t[1:], error, color=colour, linewidth=0.8, label=label)
    energy.set(xlabel="t [s]", ylabel="|E - E(0)| [J]", title="Energy", ylim=(1e-9, 10.0))
    energy.legend(loc="upper center", ncols=2, fontsize=7)
    return figure


MASS, STIFFNESS = 1e-5, 5.0  # kg, N/m: the paper's particle


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    return {
        "residuals": manifold_residuals(),
        "gaps": two_scales.gaps(),
        **_particle(),
        **_stability(r.limits),
        **_accuracy(r.errors, r.slopes),
        **_motion(r.pendulum),
        **_cost(r.pendulum),
    }


def manifold_residuals(alpha: float = 100.0, beta: float = 0.1) -> tuple[float, float]:
    """Return the largest |g(x, H(x))| with H as printed and corrected, on the test equation (50)."""
    A = two_scales.linear_two_scales(alpha, beta).linearise().state_matrix()
    gx, gz = A[2:, :2], A[2:, 2:]
    x_n, z_n, x = np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.8, 0.3])
    y_n = z_n + np.linalg.solve(gz, gx @ x_n)  # distance from the manifold z = -gz^-1 gx x

    def residual(w: np.ndarray) -> float:
        manifold = w - np.linalg.solve(gz, gx @ (x - x_n) + gx @ x_n + gz @ z_n)
        return float(np.abs(gx @ x + gz @ manifold).max())

    return residual(y_n), residual(z_n)


def _particle() -> dict[str, Any]:
    square, g = STIFFNESS / MASS, GRAVITY
    frequency = float(np.abs(np.linalg.eigvals(np.array([[0.0, 1.0], [-square, 0.0]])).imag).max())
    return {
        # Acceleration of the particle in m/s², upwards, by (63b) at the point where it is said to rest.
        "left": {"printed": abs(-g - g), "corrected": abs(-g + g)},
        "square": square,
        "root": np.sqrt(square),
        "frequency": frequency,
        "thousandth": 1e-3 * frequency,
        "xi": H * frequency,
        "rk4_axis": np.sqrt(8.0),
    }


def spread(limits: pd.DataFrame) -> float:
    """Return by which fraction the algorithm's limit differs between α = 10, 100 and 1000, at most."""
    rows = limits[(limits["formula"] == "algorithm") & (limits["beta"] == 0.1)].filter(like="deg")
    return float(((rows.max() - rows.min()) / rows.min()).max())


def _stability(limits: pd.DataFrame) -> dict[str, Any]:
    axis: dict[Any, float] = limits.set_index(["formula", "alpha", "beta"])["180 deg"].to_dict()
    betas = np.array([0.0, 0.1, 0.3, 0.5])
    coupled = np.array([axis["algorithm", 10, beta] for beta in betas])
    corrected = (1 - betas**2) * coupled
    return {
        "empty": axis["(55), (56) as printed", 1000, 0.1],
        "alone": [axis["algorithm", alpha, 0.1] for alpha in (10, 100, 1000)],
        "spread": spread(limits),
        "coupled": coupled,
        "rk4": float(limits["180 deg"][limits["formula"] == "RK4, (49)"].iloc[0]),
        "grown": coupled[1] / coupled[0],
        "corrected": (corrected.min(), corrected.max()),
    }


def _accuracy(errors: pd.DataFrame, slopes: pd.DataFrame) -> dict[str, Any]:
    small = slopes["x, scheme, alpha |xi| < 0.03"].dropna()
    beyond = slopes.set_index(["alpha", "beta"])["x, scheme, alpha |xi| > 30"].to_dict()
    rows = errors[errors["beta"] == 0.1]
    short, long = (
        rows[np.isclose(rows["h"], h)].set_index("alpha")["x, scheme"].loc[[10, 100, 1000]]
        for h in (1e-5, 0.1)
    )
    return {
        "small": small,
        "small_least": small.min(),
        "small_most": small.max(),
        "large": beyond[1000, 0.1],
        "short": short,
        "long": long,
        "over": long / long.iloc[0],
    }


def _motion(runs: PendulumRuns) -> dict[str, Any]:
    largest = np.abs(runs.rk4).max(axis=1)
    angle = runs.angle_error(runs.ours)
    energy, kept, rk45 = map(largest_change, (runs.ours, runs.kept, runs.ode45))
    return {
        "passed": runs.rk4_t[np.argmax(largest > 1e6)] if (largest > 1e6).any() else np.inf,
        "angle": angle,
        "of_swing": angle / float(np.ptp(runs.reference[:, 0])),
        "start": runs.ours[0, 2],
        "other_starts": [f"{n:,} derivatives from {a:.2f} rad" for a, n in runs.other_starts.items()],
        "energy": energy,
        "kept_energy": kept,
        "rk45_energy": rk45,
        "decade": 10.0 * rk45,
        "printed_energy": runs.printed_energy,
        "flipped_energy": runs.flipped_energy,
        "exact_energy": runs.exact_energy,
    }


def _cost(runs: PendulumRuns) -> dict[str, Any]:
    scheme, full, rk45 = runs.evaluations.values()
    made, kept = runs.linearisations.values()
    return {
        "time": runs.time_ratio,
        "made": made,
        "kept": kept,
        "scheme": scheme,
        "full": full,
        "rk45": rk45,
        "cost": [scheme / rk45, full / rk45],
        "exponentials": 2 * made,
    }


PAPER = Paper(
    name="gil-sanfelice-nikravesh",
    citation="G. Gil, R. G. Sanfelice, P. E. Nikravesh, Numerical integration scheme using singular "
    "perturbation method, ASME IDETC/CIE 2013, DETC2013-13330",
    parts={
        "stability regions": lambda r: {"limits": two_scales.stability_table()},
        "local errors": lambda r: {"errors": two_scales.local_errors()},
        "pendulum": lambda r: {"slopes": two_scales.slope_table(r.errors), "pendulum": pendulum_runs()},
    },
    tables=lambda r: {
        "Stability limit along rays": r.limits,
        "Local error slopes": r.slopes,
        "Pendulum, h = 0.005 s, 5 s": pendulum_table(r.pendulum),
    },
    figures={
        "Stability regions (figures 1 to 3)": ("gil-stability.svg", stability_figure),
        "Local error (figures 4 and 5)": ("gil-local-error.svg", local_error_figure),
        "Pendulum with particle (figures 7 and 8)": ("gil-pendulum.svg", pendulum_figure),
    },
    numbers=numbers,
)
