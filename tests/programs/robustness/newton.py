"""The equations of a step of the trapezoidal rule, written once more, and a damped Newton that is not psmr's.

With non-windup limits they are

    x - clip(x_t + h/2 (f_t + f(x, y)), lower, upper) = 0,    0 = g(x, y)

and with h = 0 those of the algebraic equations after an event: limits that moved take their states along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from tests.internals import System

Reals = NDArray[np.float64]

# Residual and update of a solution: far above the rounding of a current in a bolted fault (1e4 pu x 1e-16,
# and the condition of the matrix on top), far below a step's tolerance in engineering units.
SOLVED = 1e-9
MOST_ITERATIONS = 50
# Where no damping improves, the semismooth iteration may be about to change its active set: it may go on from
# the best damping this many times.
MOST_LAPSES = 5
LEAST_DAMPING = 2.0**-12


@dataclass(frozen=True)
class Stage:
    """The equations of a stage: known part, coefficient of f and time."""

    free: System  # without limits: its Jacobian is that of the raw equations
    limited: System
    known: Reals
    a: float
    t: float

    def residual(self, z: Reals) -> tuple[Reals, NDArray[np.int8]]:
        """Return the residual, and which states are clipped: -1 at the lower limit, 1 at the upper one."""
        n, w = self.free.n, self.buffer(z)
        raw = self.free.residual(w)
        wanted = self.known + self.a * raw[:n]
        lower, upper = self.limited.limits(w)
        side = np.where(wanted > upper, 1, np.where(wanted < lower, -1, 0)).astype(np.int8)
        target = np.where(side > 0, upper, np.where(side < 0, lower, wanted))
        return np.r_[z[:n] - target, raw[n:]], side

    def matrix(self, z: Reals, side: NDArray[np.int8]) -> sparse.csc_matrix:
        """Return the (n + m, n + m) matrix of the semismooth Newton iteration."""
        n, size = self.free.n, self.free.n + self.free.m
        raw = self.free.jacobian(self.buffer(z))
        raw.data *= np.r_[np.where(side == 0, -self.a, 0.0), np.ones(size - n)][raw.indices]
        # The states' own columns, and those of limits that are variables.
        at = np.where(side > 0, self.limited.upper_at, self.limited.lower_at)
        moved = np.flatnonzero((side != 0) & (at >= 0) & (at < size))
        rows, columns = np.r_[np.arange(n), moved], np.r_[np.arange(n), at[moved]]
        values = np.r_[np.ones(n), -np.ones(len(moved))]
        return sparse.csc_matrix(raw + sparse.csc_matrix((values, (rows, columns)), shape=(size, size)))

    def buffer(self, z: Reals) -> Reals:
        return self.free.buffer(z[: self.free.n], z[self.free.n :], t=self.t)


def damped_newton(stage: Stage, z: Reals, shift: Reals | None = None) -> tuple[Reals | None, int]:
    """Solve residual = shift from z; return the solution, None where none was found, and the iterations."""
    lapses = 0
    shift = np.zeros(len(z)) if shift is None else shift
    with np.errstate(all="ignore"):
        for k in range(MOST_ITERATIONS):
            defect, side = stage.residual(z)
            defect = defect - shift
            if not np.isfinite(defect).all():
                return None, k
            try:
                solve = splu(stage.matrix(z, side)).solve
            except RuntimeError:  # singular
                return None, k
            update = solve(defect)
            norm = _norm(update, z)
            if not np.isfinite(norm):
                return None, k
            if norm < SOLVED and np.abs(defect).max() < SOLVED:
                return z, k
            z, better = _damped(stage, z, update, norm, solve, shift)
            lapses += not better
            if lapses > MOST_LAPSES:
                return None, k
    return None, MOST_ITERATIONS


def _damped(
    stage: Stage, z: Reals, update: Reals, norm: float, solve: Callable[[Reals], Reals], shift: Reals
) -> tuple[Reals, bool]:
    """Return the next point and whether it is better by the natural monotonicity test."""
    damping, best = 1.0, (np.inf, z - LEAST_DAMPING * update)
    while damping >= LEAST_DAMPING:
        there = z - damping * update
        after_it = _norm(solve(stage.residual(there)[0] - shift), z)
        if after_it <= (1 - damping / 4) * norm:
            return there, True
        if after_it < best[0]:
            best = after_it, there
        damping /= 2
    return best[1], False


def _norm(update: Reals, z: Reals) -> float:
    return float(np.max(np.abs(update) / np.maximum(1.0, np.abs(z)), initial=0.0))
