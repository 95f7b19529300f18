"""Gil, Sanfelice and Nikravesh (2013): the slow-manifold scheme, its stability, accuracy and pendulum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

import partitioning
from psmr.numerics.march import march
from psmr.numerics.scheme import SingleRate
from psmr.numerics.slow_manifold import SlowManifold
from psmr.pencil.singular import of_slow_manifold
from psmr.reproduce import gil_formulas as formulas
from psmr.reproduce.gil_findings import findings
from psmr.reproduce.reproduction import Reproduction
from psmr.reproduce.systems import linear_two_scales as two_scales
from psmr.reproduce.systems import pendulum

Reals = NDArray[np.float64]

NAME = "gil-sanfelice-nikravesh"
CITATION = (
    "G. Gil, R. G. Sanfelice, P. E. Nikravesh, Numerical integration scheme using singular perturbation "
    "method, "
    "ASME IDETC/CIE 2013, DETC2013-13330"
)

# Figures 2 and 3: rays of the left half plane on which the extent of the region is given.
RAYS = (180, 150, 120, 100, 95)
STABILITY_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.0), (10, 0.3), (10, 0.5))
# Figures 4 and 5.
STEPS = 10.0 ** np.arange(-5.0, -0.9, 0.25)
ERROR_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.01), (10, 0.3))
# Figures 7 and 8; the paper gives h. Angle, rest and length of the run are read off its figures' axes.
H, T_END = 0.005, 5.0
# Of the reference: four decades below the errors that are measured with it; steps of at most a fifth of the
# fast period.
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-13, "max_step": 2e-3}


@dataclass(frozen=True, eq=False)
class PendulumRuns:
    """The pendulum by each method: states (K, 10) and what they cost.

    Attributes
    ----------
    t, ours, kept
        Slow-manifold runs, linearised at every step and kept.
    rk4_t, rk4
        Runge-Kutta 4 with the same step, as far as it goes.
    reference
        (θ, ω, r2, v2), (K, 6): DOP853, tolerance 1e-11.
    fine_t, fine
        The same at every 0.1 ms of the first 60 ms.
    ode45_t, ode45
        RK45 of scipy at its default tolerances, (θ, ω, r2, v2), with a dense output.
    evaluations
        Derivatives evaluated, by method.
    printed_energy, flipped_energy
        Largest change of energy in J with the printed block matrix (47), and of the exact motion with the
        sign of gravity of the printed (66).
    """

    t: Reals
    ours: Reals
    kept: Reals
    rk4_t: Reals
    rk4: Reals
    reference: Reals
    fine_t: Reals
    fine: Reals
    ode45_t: Reals
    ode45: Reals
    evaluations: dict[str, int]
    linearisations: dict[str, int]
    printed_energy: float
    flipped_energy: float

    def energy_error(self, x: Reals) -> Reals:
        """Return energy minus that of the start, in J."""
        energy = pendulum.energy(x)
        return np.asarray(energy - energy[0])

    def angle_error(self, x: Reals) -> float:
        """Return the largest difference of θ from the reference, in rad."""
        return float(np.abs(x[:, 2] - self.reference[:, 0]).max())


def reproduce(folder: Path, progress: Callable[[str], None] | None = None) -> Reproduction:
    """Reproduce figures 1 to 5, 7 and 8, and hold the formulas against the algorithm.

    Takes about ten seconds, once everything is compiled.

    Parameters
    ----------
    folder
        Where the figures go.
    progress
        Called with the name of each part.
    """
    from psmr.reproduce import gil_figures as figures

    say = progress or (lambda words: None)
    say("stability regions")
    limits = stability_table()
    say("local errors")
    errors = local_errors()
    slopes = slope_table(errors)
    say("pendulum")
    runs = pendulum_runs()
    table = pendulum_table(runs)
    say("figures")
    files = {
        "Stability regions (figures 1 to 3)": figures.stability(folder / "gil-stability.svg"),
        "Local error (figures 4 and 5)": figures.local_error(errors, folder / "gil-local-error.svg"),
        "Pendulum with particle (figures 7 and 8)": figures.pendulum(runs, folder / "gil-pendulum.svg"),
    }
    return Reproduction(
        name=NAME,
        citation=CITATION,
        tables={
            "Stability limit along rays": limits,
            "Local error slopes": slopes,
            "Pendulum, h = 0.005 s, 5 s": table,
        },
        figures=files,
        findings=findings(limits, errors, slopes, runs),
    )


def stability_table() -> pd.DataFrame:
    """Return |ξ| at the end of stability along `RAYS`, for the algorithm and the printed formulas."""
    kinds: dict[str, Any] = {
        "algorithm": formulas.algorithm,
        "(55), (56) as printed": formulas.printed_55_56,
        "(57) as printed": formulas.printed_57,
    }
    rows = [
        {"formula": "RK4, (49)", "alpha": np.nan, "beta": np.nan}
        | {f"{ray} deg": formulas.stability_limit(_rk4_alone, 1.0, 0.0, ray) for ray in RAYS}
    ]
    for kind, formula in kinds.items():
        for alpha, beta in STABILITY_PAIRS:
            extents = {f"{ray} deg": formulas.stability_limit(formula, alpha, beta, ray) for ray in RAYS}
            rows.append({"formula": kind, "alpha": alpha, "beta": beta} | extents)
    return pd.DataFrame(rows).round(6)


def _rk4_alone(alpha: float, beta: float, xi: Any) -> Any:
    return np.asarray(formulas.rk4(xi))[..., None, None] * np.eye(2)


def local_errors() -> pd.DataFrame:
    """Return the local errors (61) of x and z over `STEPS`, by step operator of the scheme and of RK4.

    λ_s = -1 + j, x(0) = z(0) = 1, as in (62).
    """
    rows = []
    for alpha, beta in ERROR_PAIRS:
        system = two_scales.linear_two_scales(alpha, beta)
        linear = system.linearise()
        split = partitioning.by_hand(linear, fast=two_scales.FAST)
        A = linear.state_matrix()
        for h in STEPS:
            exact = scipy.linalg.expm(A * h) @ system.x0
            ours = of_slow_manifold(linear, SlowManifold(split, float(h))) @ system.x0
            runge_kutta = formulas.rk4(_Matrix(h * A)).value @ system.x0
            row: dict[str, float] = {"alpha": alpha, "beta": beta, "h": float(h)}
            for name, w in (("scheme", ours), ("RK4", runge_kutta)):
                row[f"x, {name}"] = float(np.hypot(*(w - exact)[:2]))
                row[f"z, {name}"] = float(np.hypot(*(w - exact)[2:]))
            rows.append(row)
    return pd.DataFrame(rows)


class _Matrix:
    """A matrix whose powers and sums with numbers are those of a polynomial's argument."""

    def __init__(self, value: Reals) -> None:
        self.value = value

    def __add__(self, other: Any) -> _Matrix:
        return _Matrix(
            self.value + (other.value if isinstance(other, _Matrix) else other * np.eye(len(self.value)))
        )

    __radd__ = __add__

    def __pow__(self, power: int) -> _Matrix:
        return _Matrix(np.linalg.matrix_power(self.value, power))

    def __truediv__(self, divisor: float) -> _Matrix:
        return _Matrix(self.value / divisor)


def slope_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of the local errors where α|ξ| < 0.03 and where it is > 30; NaN without such h."""
    rows = []
    for alpha, beta in ERROR_PAIRS:
        part = errors[(errors["alpha"] == alpha) & (errors["beta"] == beta)]
        size = alpha * part["h"].to_numpy() * np.sqrt(2.0)  # |λ_s| = sqrt(2)
        row: dict[str, Any] = {"alpha": alpha, "beta": beta}
        for column in ("x, scheme", "z, scheme"):
            for words, where in (("alpha |xi| < 0.03", size < 0.03), ("alpha |xi| > 30", size > 30.0)):
                h, error = part["h"].to_numpy()[where], part[column].to_numpy()[where]
                row[f"{column}, {words}"] = _slope(h, error)
        rows.append(row)
    return pd.DataFrame(rows)


def _slope(h: Reals, error: Reals) -> float:
    return float(np.polyfit(np.log(h), np.log(error), 1)[0]) if len(h) >= 3 else np.nan


def pendulum_runs() -> PendulumRuns:
    """Run the pendulum by each method."""
    from scipy.integrate import solve_ivp

    system = pendulum.pendulum()
    split = partitioning.by_hand(system.linearise(), fast=pendulum.FAST)
    ours = march(system, SlowManifold(split, H), T_END)
    kept = march(system, SlowManifold(split, H, jacobian="kept"), T_END)
    # Up to 0.08 s: the paper's figure ends where Runge-Kutta 4 leaves it.
    rk4 = march(system, SingleRate("RK4", H), 0.08)
    start = [system.x0[2], system.x0[5], *system.x0[6:]]
    reference = solve_ivp(pendulum.minimal, (0, T_END), start, "DOP853", t_eval=ours.t, **TIGHT)
    fine_t = np.arange(601) * 1e-4
    fine = solve_ivp(pendulum.minimal, (0, 0.06), start, "DOP853", t_eval=np.minimum(fine_t, 0.06), **TIGHT)
    ode45 = solve_ivp(pendulum.minimal, (0, T_END), start, "RK45")
    steps = len(ours.t) - 1
    return PendulumRuns(
        t=ours.t,
        ours=ours.x,
        kept=kept.x,
        rk4_t=rk4.t,
        rk4=rk4.x,
        reference=reference.y.T,
        fine_t=np.asarray(fine_t, dtype=float),
        fine=fine.y.T,
        ode45_t=ode45.t,
        ode45=pendulum.full(ode45.y.T),
        evaluations={"slow manifold": 6 * steps, "RK45 (ode45)": int(ode45.nfev)},
        linearisations={
            "step": int(ours.counters.factorisations_by_role["linearisation"]),
            "kept": int(kept.counters.factorisations_by_role["linearisation"]),
        },
        printed_energy=_printed_energy(start),
        flipped_energy=_flipped_energy(start),
    )


def _printed_energy(start: list[float]) -> float:
    """Return the largest change of energy in J when the block matrix of (47) is taken as printed."""
    q = np.array(start)
    energies = [float(pendulum.energy(pendulum.full(q)))]
    for _ in range(round(T_END / H)):
        q = pendulum.published_step(q, H)
        energies.append(float(pendulum.energy(pendulum.full(q))))
    return float(np.abs(np.array(energies) - energies[0]).max())


def _flipped_energy(start: list[float]) -> float:
    """Return the largest change of the energy (68) in J along an exact solution of the printed (66)."""
    from scipy.integrate import solve_ivp

    def printed(t: float, q: Reals) -> list[float]:
        derivative = pendulum.minimal(t, q)
        derivative[5] += 2 * pendulum.GRAVITY  # - g in place of + g, and g points down
        return derivative

    solution = solve_ivp(printed, (0, T_END), start, "DOP853", **TIGHT)
    energy = pendulum.energy(pendulum.full(solution.y.T))
    return float(np.abs(energy - energy[0]).max())


def pendulum_table(runs: PendulumRuns) -> pd.DataFrame:
    """Return energy and angle errors and the cost of each method."""
    from scipy.interpolate import CubicSpline

    # Cubic between points 5 ms apart: 1e-10 rad, where a straight line would show 1e-5.
    reference = CubicSpline(runs.t, runs.reference[:, 0])(runs.ode45_t)
    ode45_angle = float(np.abs(reference - runs.ode45[:, 2]).max())
    steps, made, count = len(runs.t) - 1, runs.evaluations["slow manifold"], runs.linearisations
    theirs = runs.evaluations["RK45 (ode45)"]
    angle, kept_angle = runs.angle_error(runs.ours), runs.angle_error(runs.kept)
    energy = [float(np.abs(runs.energy_error(x)).max()) for x in (runs.ours, runs.kept, runs.ode45)]
    rows = [
        ("slow manifold", steps, made, count["step"], energy[0], angle),
        ("slow manifold, linearisation kept", steps, made, count["kept"], energy[1], kept_angle),
        ("RK45 at default tolerances", len(runs.ode45_t) - 1, theirs, np.nan, energy[2], ode45_angle),
    ]  # fmt: skip
    columns = [
        "method",
        "steps",
        "derivatives",
        "linearisations",
        "largest energy error [J]",
        "largest angle error [rad]",
    ]
    return pd.DataFrame(rows, columns=columns)
