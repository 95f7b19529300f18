"""How far an explicit method can step: its stability polynomial on the spectrum of a linearised DAE."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from psmr.base.errors import SchemeError
from psmr.dae.system.eigenvalues import eigenvalues
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.tableaux import EXPLICIT

# Bisection for where |R| passes 1: to the fourth digit of the step, which is more than a warning needs.
LIMIT_DIGITS = 1e-4


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of a state matrix, those that must decay apart from those at rest.

    `damped`: Eigenvalues in 1/s with a negative real part, or on the imaginary axis away from zero.

    Growing modes of the system itself are left out: a scheme need not damp them.
    """

    damped: NDArray[np.complex128]

    @classmethod
    def of(cls, linear: LinearDae) -> Spectrum:
        """Return the spectrum of a linearised DAE; a dense eigenvalue problem of n states."""
        if linear.n == 0:
            return cls(np.zeros(0, complex))
        matrix = linear.state_matrix()
        values, size = eigenvalues(matrix), float(np.linalg.norm(matrix, 2))
        # An undamped mode comes out with a real part of rounding size, of either sign.
        rounding = 1e3 * np.finfo(float).eps * size
        kept = values[(values != 0.0) & (values.real <= rounding)]
        return cls(np.where(np.abs(kept.real) <= rounding, 1j * kept.imag, kept))

    def widened(self, h: float, margin: float) -> NDArray[np.complex128]:
        """Return the damped eigenvalues, those faster than 1/h also larger and smaller by a fraction."""
        if margin == 0.0:
            return self.damped
        fast = self.damped[np.abs(self.damped) * h > 1.0]
        return np.concatenate([self.damped, (1.0 + margin) * fast, (1.0 - margin) * fast])


def longest_step(eigenvalues: ArrayLike, method: str) -> float:
    """Return the step in s up to which a method damps every given mode, 0 where it damps one with no step.

    Exact for forward Euler, 2 |Re s| / |s|^2; to four digits for the others. Infinite without modes.
    """
    s = np.asarray(eigenvalues, dtype=complex)
    if s.size == 0:
        return math.inf
    if method == "FEM":
        return float((2.0 * np.maximum(-s.real, 0.0) / np.abs(s) ** 2).min())
    return min(_limit_of(method, complex(value)) for value in s)


def _limit_of(method: str, s: complex) -> float:
    """Return the first step at which |R(h s)| reaches 1."""
    # No explicit method of s stages reaches beyond |z| = 2 s^2 (Chebyshev's bound); these stay below 4 *
    # stages.
    grid = np.linspace(0.0, 4.0 * EXPLICIT[method].stages, 4001)[1:] / abs(s)
    # Close to 0, |R| differs from 1 by less than rounding; a mode on the axis is judged by the first step
    # that counts.
    outside = np.flatnonzero(np.abs(EXPLICIT[method].stability_function(grid * s)) > 1.0 + 1e-12)
    if outside.size == 0:
        return float(grid[-1])
    if outside[0] == 0:
        return 0.0
    inside, beyond = grid[outside[0] - 1], grid[outside[0]]
    while beyond - inside > LIMIT_DIGITS * beyond:
        middle = 0.5 * (inside + beyond)
        if np.abs(EXPLICIT[method].stability_function(middle * s)) > 1.0 + 1e-12:
            beyond = middle
        else:
            inside = middle
    return float(inside)


def mode_words(s: complex) -> str:
    """Write a mode with its damping, ``-50 ± j1000 1/s (159 Hz, damping ratio 0.05)``."""
    if s.imag == 0.0:
        return f"{s.real:.4g} 1/s (damping ratio 1)"
    ratio = -s.real / abs(s)
    damping = "undamped" if ratio < 1e-9 else f"damping ratio {ratio:.3g}"
    return f"{s.real:.4g} ± j{abs(s.imag):.4g} 1/s ({abs(s.imag) / (2 * math.pi):.3g} Hz, {damping})"


def narrowest(eigenvalues: ArrayLike, method: str) -> tuple[float, complex]:
    """Return the longest stable step of a method in s and the mode that sets it; infinite without modes."""
    s = np.asarray(eigenvalues, dtype=complex)
    upper = s[s.imag >= 0.0]
    if upper.size == 0:
        return math.inf, 0j
    limits = [longest_step(upper[i : i + 1], method) for i in range(upper.size)]
    at = int(np.argmin(limits))
    return limits[at], complex(upper[at])


def explicit_limit(linear: LinearDae, method: str, factor: float = 1.0, unit: str = " s") -> str:
    """Say up to which step an explicit one-step method is stable and which mode sets that; "" for others.

    The step is shown times `factor`, with its unit.
    """
    if method not in EXPLICIT:
        return ""
    limit, mode = narrowest(Spectrum.of(linear).damped, method)
    if not math.isfinite(limit):
        return ""
    if limit == 0.0:
        return f"or an implicit scheme: {method} damps the mode {mode_words(mode)} with no step"
    return (
        f"{method} is stable up to h = {factor * limit:.3g}{unit}, "
        f"where the mode {mode_words(mode)} sets the limit"
    )


def stability_limit(linear: LinearDae, scheme: Scheme) -> str:
    """Say up to which step a scheme is stable and what sets that; "" where there is nothing to say."""
    if scheme.operator is not None:
        return scheme.operator.limit(linear)
    return "" if scheme.tableau is None else explicit_limit(linear, scheme.tableau.name)


def stability_polynomial(matrix: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    """Return R(Z) = I + Z sum_i b_i k_i, k_i = I + Z sum_j A_ij k_j, of an explicit one-step method.

    Raises SchemeError for a method that is not an explicit one.
    """
    if method not in EXPLICIT:
        raise SchemeError(
            f"{method} is not an explicit method; {', '.join(EXPLICIT)} have a stability polynomial"
        )
    tableau, identity = EXPLICIT[method], np.eye(len(matrix))
    stages: list[NDArray[np.float64]] = []
    for row in tableau.A:
        along = sum((a * k for a, k in zip(row, stages, strict=False)), 0.0 * identity)
        stages.append(identity + matrix @ along)
    return np.asarray(identity + matrix @ sum(b * k for b, k in zip(tableau.b, stages, strict=True)))


def explicit_operator(linear: LinearDae, method: str, h: float) -> NDArray[np.float64]:
    """Return the step operator (n + m, n + m) of an explicit method with a step of h in s."""
    return with_algebraic(linear, stability_polynomial(h * linear.state_matrix(), method))


def with_algebraic(linear: LinearDae, M: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return T (n + m, n + m) on (x, y) from M (n, n): y(t) is not read, y(t + h) solves g = 0."""
    n, m = linear.n, linear.m
    T = np.zeros((n + m, n + m))
    T[:n, :n] = M
    if m:
        T[n:, :n] = -scipy.linalg.solve(linear.gy.toarray(), linear.gx @ M)
    return T
