"""The linear test equation (50) of Gil, Sanfelice and Nikravesh: its formulas, stability and local errors.

A pair (x, z) of complex numbers, λ_f = α λ_s, δ = β λ_f, μ = β λ_s, ξ = h λ_s (equations (50), (51)); the
formulas, as printed and as meant, are vectorised over ξ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from numpy.typing import NDArray

import partitioning
from psmr.base.arrays import Complexes
from psmr.dae.declare.component import Component, Parameter, nonnegative, nonzero
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.papers.gil_sanfelice_nikravesh.slow_manifold import SlowManifold
from psmr.pencil.operator.step_operator import step_operator

# Figures 2 and 3: rays of the left half plane on which the extent of the region is given.
RAYS = (180, 150, 120, 100, 95)
STABILITY_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.0), (10, 0.3), (10, 0.5))
# Figures 4 and 5.
STEPS = 10.0 ** np.arange(-5.0, -0.9, 0.25)
ERROR_PAIRS = ((10, 0.1), (100, 0.1), (1000, 0.1), (10, 0.01), (10, 0.3))
FAST = ("T.z_re", "T.z_im")


class LinearTwoScales(Component):
    """x' = λ_s x + μ z, z' = δ x + λ_f z, all complex: λ_f = α λ_s, μ = β λ_s, δ = β λ_f ((50), (51))."""

    states = ("x_re", "x_im", "z_re", "z_im")
    units = {"x_re": "1", "x_im": "1", "z_re": "1", "z_im": "1"}
    re = Parameter(unit="1/s", doc="real part of the slow eigenvalue λ_s")
    im = Parameter(unit="rad/s", doc="imaginary part of the slow eigenvalue λ_s")
    alpha = Parameter(unit="1", doc="ratio of the time scales, λ_f / λ_s", check=nonzero)
    beta = Parameter(unit="1", doc="coupling, δ / λ_f = μ / λ_s", check=nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the four derivatives."""
        slow_re, slow_im = v.x_re + p.beta * v.z_re, v.x_im + p.beta * v.z_im
        fast_re, fast_im = p.alpha * (p.beta * v.x_re + v.z_re), p.alpha * (p.beta * v.x_im + v.z_im)
        derivatives = (
            p.re * slow_re - p.im * slow_im,
            p.im * slow_re + p.re * slow_im,
            p.re * fast_re - p.im * fast_im,
            p.im * fast_re + p.re * fast_im,
        )
        return derivatives, (), ()


def linear_two_scales(alpha: float, beta: float, slow: complex = -1.0 + 1.0j) -> System:
    """Return the test equation at x = z = 1, the start (62) of the accuracy analysis."""
    parameters = {"re": slow.real, "im": slow.imag, "alpha": alpha, "beta": beta}
    return assemble(
        [Device("T", LinearTwoScales, parameters)],
        {"T.x_re": 1.0, "T.z_re": 1.0},
        name="linear test equation (50)",
    )


def rk4(s: Any) -> Any:
    """Return the stability function of Runge-Kutta 4, (49)."""
    return 1 + s + s**2 / 2 + s**3 / 6 + s**4 / 24


def _phi(s: Any) -> tuple[Any, Any]:
    """Return (e^s - 1) / s and (e^s - 1 - s) / s^2, by their series where s is small."""
    s = np.asarray(s, dtype=complex)
    small = np.abs(s) < 1e-2
    safe = np.where(small, 1.0, s)
    # Five further terms: (1e-2)^6 / 7! is far below rounding.
    one = 1 + s / 2 * (1 + s / 3 * (1 + s / 4 * (1 + s / 5 * (1 + s / 6))))
    two = 0.5 * (1 + s / 3 * (1 + s / 4 * (1 + s / 5 * (1 + s / 6 * (1 + s / 7)))))
    first = np.where(small, one, (np.exp(safe) - 1) / safe)
    return first, np.where(small, two, (np.exp(safe) - 1 - safe) / safe**2)


def algorithm(alpha: float, beta: float, xi: Any, printed_47: bool = False) -> Complexes:
    """Return M (..., 2, 2) of steps 1 to 3, with h = 1 s.

    `printed_47` takes the block matrix as printed, [A B C; 0 0 1; 0 0 0]. Its corner is the integral of
    e^{A(h-s)} (C + B s); the forcing of y' = A y + u(t), (40), is B + C s, for which B and C change places.
    """
    xi = np.asarray(xi, dtype=complex)
    fast, full = alpha * xi, (alpha + beta**2) * xi  # h g_z and h A of (40)
    one, two = _phi(fast)
    first, second = _phi(full)
    columns = []
    for x, z in ((1.0, 0.0), (0.0, 1.0)):
        f, sigma = xi * (x + beta * z), beta * x + z  # h f(x_n, z_n), g_z^-1 g
        reduced = (1 - beta**2) * xi  # h times the derivative of f(x, H(x))
        gamma = beta * f
        new_x = rk4(reduced) * x + beta * xi * (one * sigma + two * gamma)
        B = full * sigma + beta * reduced * x  # h B
        C = beta * reduced * (new_x - x)  # h^2 C / h
        y = sigma + (first * C + second * B if printed_47 else first * B + second * C)
        columns.append(np.stack([new_x, -beta * new_x + y], axis=-1))
    return np.stack(columns, axis=-1)


def printed_55_56(alpha: float, beta: float, xi: Any, corrected: bool = False) -> Complexes:
    """Return M of (55) and (56); `corrected` has (β/α)(e^{αξ} - 1) for the first term of M12."""
    xi = np.asarray(xi, dtype=complex)
    e, q = np.exp(alpha * xi), alpha + beta**2
    E = np.exp(q * xi)
    m11, m12 = _first_row(alpha, beta, xi, e, corrected)
    b = beta * (beta**2 - 1)
    m21 = -beta * m11 + beta * E + b * (m11 - E) / q - b * (E - 1) * (m11 - 1) / (q**2 * xi)
    m22 = -beta * m12 + E + m12 * b / q - m12 * b * (E - 1) / (q**2 * xi)
    return _matrix(m11, m12, m21, m22)


def printed_57(alpha: float, beta: float, xi: Any, corrected: bool = False) -> Complexes:
    """Return M of (57), where y follows (31), (32) and not step 3; `corrected` as in `printed_55_56`."""
    xi = np.asarray(xi, dtype=complex)
    e = np.exp(alpha * xi)
    m11, m12 = _first_row(alpha, beta, xi, e, corrected)
    m21 = -beta * m11 + beta * e + beta / alpha * (e - 1)
    m22 = -beta * m12 + e + beta**2 / alpha * (e - 1)
    return _matrix(m11, m12, m21, m22)


def _first_row(alpha: float, beta: float, xi: Any, e: Any, corrected: bool) -> tuple[Any, Any]:
    tail = (alpha * xi - e + 1) / alpha**2
    m11 = rk4((1 - beta**2) * xi) + beta**2 / alpha * (e - 1) - beta**2 * tail
    m12 = beta * (e - 1) / (alpha if corrected else 1.0) - beta**3 * tail
    return m11, m12


def _matrix(m11: Any, m12: Any, m21: Any, m22: Any) -> Complexes:
    return np.stack([np.stack([m11, m12], axis=-1), np.stack([m21, m22], axis=-1)], axis=-2)


def radius(M: Complexes) -> NDArray[np.float64]:
    """Return the spectral radius of (..., 2, 2) matrices."""
    half = (M[..., 0, 0] + M[..., 1, 1]) / 2
    determinant = M[..., 0, 0] * M[..., 1, 1] - M[..., 0, 1] * M[..., 1, 0]
    root = np.sqrt(half**2 - determinant)
    return np.asarray(np.maximum(np.abs(half + root), np.abs(half - root)))


def stability_limit(formula: Any, alpha: float, beta: float, degrees: float) -> float:
    """Return the |ξ| at which the spectral radius first passes 1 on the ray ξ = |ξ| e^{i degrees}.

    Scanned in steps of 1e-3 and bisected; 0 where it is above 1 from the start.
    """
    ray = np.exp(1j * np.radians(degrees))

    def unstable(size: Any) -> Any:
        # Rounding of a multiplier on the unit circle is no instability.
        return radius(formula(alpha, beta, size * ray)) > 1 + 1e-10

    sizes = np.arange(1, 4001) * 1e-3
    out = np.flatnonzero(unstable(sizes))
    if out.size == 0:
        return np.inf
    high = sizes[out[0]]
    low = high - 1e-3
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if unstable(middle) else (middle, high)
    return float(low)


def gaps(count: int = 200) -> dict[str, float]:
    """Return the largest difference of each printed matrix from the algorithm, over random α, β and ξ."""
    rng = np.random.default_rng(0)
    found = dict.fromkeys(("(55), (56)", "(55), (56), M12 corrected", "(57), M12 corrected"), 0.0)
    for _ in range(count):
        alpha, beta = 10 ** rng.uniform(0.3, 3), rng.uniform(0, 0.9)
        xi = -rng.uniform(0.05, 2.5) + 1j * rng.uniform(-2, 2)
        M = algorithm(alpha, beta, xi)
        for words, other in (
            ("(55), (56)", printed_55_56(alpha, beta, xi)),
            ("(55), (56), M12 corrected", printed_55_56(alpha, beta, xi, corrected=True)),
            ("(57), M12 corrected", printed_57(alpha, beta, xi, corrected=True)),
        ):
            found[words] = max(found[words], float(np.abs(M - other).max()))
    return found


def stability_table() -> pd.DataFrame:
    """Return |ξ| at the end of stability along `RAYS`, for the algorithm and the printed formulas."""

    def alone(alpha: float, beta: float, xi: Any) -> Any:
        return np.asarray(rk4(xi))[..., None, None] * np.eye(2)

    def row(kind: str, formula: Any, alpha: float, beta: float) -> dict[str, Any]:
        limits = {f"{ray} deg": stability_limit(formula, alpha, beta, ray) for ray in RAYS}
        return {"formula": kind, "alpha": alpha, "beta": beta} | limits

    kinds: dict[str, Any] = {
        "algorithm": algorithm,
        "(55), (56) as printed": printed_55_56,
        "(57) as printed": printed_57,
    }
    rows = [row("RK4, (49)", alone, 1.0, 0.0) | {"alpha": np.nan, "beta": np.nan}]
    rows += [row(kind, formula, *pair) for kind, formula in kinds.items() for pair in STABILITY_PAIRS]
    return pd.DataFrame(rows).round(6)


def local_errors() -> pd.DataFrame:
    """Return the local errors (61) of x and z over `STEPS`, by step operator of the scheme and of RK4.

    λ_s = -1 + j, x(0) = z(0) = 1, as in (62).
    """
    rows = []
    for alpha, beta in ERROR_PAIRS:
        system = linear_two_scales(alpha, beta)
        linear = system.linearise()
        split = partitioning.by_hand(linear, fast=FAST)
        A, one = linear.state_matrix(), np.eye(linear.n)
        for h in map(float, STEPS):
            hA, exact = h * A, scipy.linalg.expm(A * h) @ system.x0
            ours = step_operator(linear, SlowManifold(split, h))[: linear.n, : linear.n] @ system.x0
            rk4 = one + hA @ (one + hA @ (one + hA @ (one + hA / 4) / 3) / 2)  # (49) of a matrix
            row: dict[str, float] = {"alpha": alpha, "beta": beta, "h": h}
            for name, w in (("scheme", ours), ("RK4", rk4 @ system.x0)):
                row[f"x, {name}"] = float(np.hypot(*(w - exact)[:2]))
                row[f"z, {name}"] = float(np.hypot(*(w - exact)[2:]))
            rows.append(row)
    return pd.DataFrame(rows)


def slope_table(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the slopes of the local errors where α|ξ| < 0.03 and where it is > 30; NaN without such h."""
    rows = []
    for alpha, beta in ERROR_PAIRS:
        part = errors[(errors["alpha"] == alpha) & (errors["beta"] == beta)]
        size = alpha * part["h"] * np.sqrt(2.0)  # |λ_s| = sqrt(2)
        row: dict[str, Any] = {"alpha": alpha, "beta": beta}
        for column in ("x, scheme", "z, scheme"):
            for words, where in (("alpha |xi| < 0.03", size < 0.03), ("alpha |xi| > 30", size > 30.0)):
                h, error = np.log(part["h"][where]), np.log(part[column][where])
                row[f"{column}, {words}"] = float(np.polyfit(h, error, 1)[0]) if len(h) >= 3 else np.nan
        rows.append(row)
    return pd.DataFrame(rows)
