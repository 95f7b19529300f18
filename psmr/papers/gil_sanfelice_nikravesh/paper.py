"""The paper: figures 1 to 5, 7 and 8, its formulas compared with the algorithm, the numbers of its claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.gil_sanfelice_nikravesh import figures, formulas, pendulum, runs
from psmr.papers.gil_sanfelice_nikravesh import linear_two_scales as two_scales
from psmr.papers.gil_sanfelice_nikravesh.runs import H, PendulumRuns
from psmr.papers.reproduction import Paper, Results

MASS, STIFFNESS = 1e-5, 5.0  # kg, N/m: the paper's particle


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    return {
        "residuals": manifold_residuals(),
        "gaps": formulas.gaps(),
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
    square, g = STIFFNESS / MASS, pendulum.GRAVITY
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
    energy, kept, rk45 = (
        float(np.abs(runs.energy_error(x)).max()) for x in (runs.ours, runs.kept, runs.ode45)
    )
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
        "stability regions": lambda r: {"limits": runs.stability_table()},
        "local errors": lambda r: {"errors": runs.local_errors()},
        "pendulum": lambda r: {"slopes": runs.slope_table(r.errors), "pendulum": runs.pendulum_runs()},
    },
    tables=lambda r: {
        "Stability limit along rays": r.limits,
        "Local error slopes": r.slopes,
        "Pendulum, h = 0.005 s, 5 s": runs.pendulum_table(r.pendulum),
    },
    figures={
        "Stability regions (figures 1 to 3)": ("gil-stability.svg", figures.stability),
        "Local error (figures 4 and 5)": ("gil-local-error.svg", figures.local_error),
        "Pendulum with particle (figures 7 and 8)": ("gil-pendulum.svg", figures.pendulum),
    },
    numbers=numbers,
)
