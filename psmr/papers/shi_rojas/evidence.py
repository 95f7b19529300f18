"""The runs and the reference on Shi and Rojas' example, and the record that findings and figures read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Trajectory
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.numerics.schemes.smes import Smes
from psmr.papers.systems.adaptive_control import adaptive_control, reduced_control

Reals = NDArray[np.float64]
Reference = Callable[[Reals], Reals]

EPSILON, T_END = 1e-6, 5.0

# The paper does not say on which grid the mean is taken; the result depends on it (last column of the table).
GRID = 50_001

# The runs of figures 2 and 3: (Delta, N).
FIGURE_3 = ((0.2, 70), (0.1, 140), (0.01, 1120))


@dataclass(frozen=True, eq=False)
class Euler:
    """Forward Euler with the step epsilon: (K,) times in s and (K, 3) states, thinned."""

    t: Reals
    x: Reals


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the findings and figures are made of.

    Attributes
    ----------
    runs
        SMFE runs of Table I with every micro point, by (Delta, N).
    euler
        Forward Euler, for figure 2.
    reference
        Solution of high accuracy, (K,) times in s -> (3, K).
    table, micro, order
        Tables of `reproduce`.
    printed_start
        Mean square error of SMFE(0.2, 70) from the start as printed, [0, 0, 1].
    naive
        Largest magnitude that RK2 and RK4 reach where both kinds of steps are theirs.
    distances
        By Delta: how far SMFE and forward Euler on the reduced system are from one another in figure 3.
    """

    runs: dict[tuple[float, int], Trajectory]
    euler: Euler
    reference: Reference
    table: pd.DataFrame
    micro: pd.DataFrame
    order: pd.DataFrame
    printed_start: float
    naive: dict[str, float]
    distances: dict[float, float]


def exact(y: float = 1.0, z: float = 0.0) -> Reference:
    """Return the solution of (22), by scipy's Radau at a relative tolerance of 1e-12."""
    from scipy.integrate import solve_ivp

    def f(t: float, w: Reals) -> Reals:
        return np.array([-w[0] + w[2], w[0] ** 2, (-w[2] - w[1] * w[0]) / EPSILON])

    def jacobian(t: float, w: Reals) -> Reals:
        return np.array([[-1, 0, 1], [2 * w[0], 0, 0], [-w[1] / EPSILON, -w[0] / EPSILON, -1 / EPSILON]])

    start, tight = [y, 0.0, z], {"rtol": 1e-12, "atol": 1e-15}
    found = solve_ivp(f, (0.0, T_END), start, method="Radau", jac=jacobian, dense_output=True, **tight)
    solution: Reference = found.sol
    return solution


def smfe(h: float, micro: int, every: bool = True, y: float = 1.0, z: float = 0.0) -> Trajectory:
    """Return the run of SMFE(Delta, N) with the paper's micro step epsilon * Delta."""
    return integrate(adaptive_control(EPSILON, y=y, z=z), Smes(h, EPSILON * h, micro), T_END, every=every)


def square_error(run: Trajectory, reference: Reference, points: int = GRID) -> float:
    """Return MSE(y) + MSE(z), the run interpolated linearly onto a uniform grid."""
    grid = np.linspace(0.0, T_END, points)
    wanted = reference(grid)
    return float(sum(((np.interp(grid, run.t, run.x[:, i]) - wanted[i]) ** 2).mean() for i in (0, 2)))


def own_error(run: Trajectory, reference: Reference) -> float:
    """Return MSE(y) + MSE(z) over the run's own points, the short steps weighing as much as the long."""
    wanted = reference(run.t)
    return float(sum(((run.x[:, i] - wanted[i]) ** 2).mean() for i in (0, 2)))


def reduced(h: float) -> Trajectory:
    """Return forward Euler on the reduced system (23), as in figure 3."""
    return integrate(reduced_control(), SingleRate("FEM", h), T_END)


def distances(runs: dict[tuple[float, int], Trajectory]) -> dict[float, float]:
    """Return the largest distance in y of SMFE, after its micro steps, to forward Euler on (23), by Delta."""
    found = {}
    for h, micro in FIGURE_3:
        run, euler = runs[h, micro], reduced(h)
        settled = slice(micro, None, micro + 1)
        there = np.interp(run.t[settled], euler.t, euler.x[:, 0])
        found[h] = float(np.abs(run.x[settled, 0] - there).max())
    return found
