"""The tables of Gil, Sanfelice and Nikravesh: limits of stability, local errors and their slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

import partitioning
from psmr.numerics.schemes.slow_manifold import SlowManifold
from psmr.papers.gil_sanfelice_nikravesh import formulas
from psmr.papers.systems import linear_two_scales as two_scales
from psmr.pencil.operator.step_operator import step_operator

Reals = NDArray[np.float64]

# Figures 2 and 3: rays of the left half plane on which the extent of the region is given.
RAYS = (180, 150, 120, 100, 95)
STABILITY_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.0), (10, 0.3), (10, 0.5))
# Figures 4 and 5.
STEPS = 10.0 ** np.arange(-5.0, -0.9, 0.25)
ERROR_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.01), (10, 0.3))


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
            ours = step_operator(linear, SlowManifold(split, float(h)))[: linear.n, : linear.n] @ system.x0
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
