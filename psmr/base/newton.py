"""Newton's method with numpy; the stages of a run have a compiled one (`psmr.integrate.solve.newton`)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import numpy as np

from psmr.base.arrays import Reals


class NewtonEnd(Enum):
    """How an iteration ended."""

    CONVERGED = "the residual is small enough"
    NOT_FINITE = "the residual left the finite numbers"
    SINGULAR = "the matrix is singular"
    STALLED = "no part of a step makes the residual smaller"
    SPENT = "the iterations allowed are spent"


class NewtonResult(NamedTuple):
    """Where an iteration ended, the residual there, and how."""

    x: Reals
    residual: Reals
    ended: NewtonEnd


def newton(
    residual: Callable[[Reals], Reals],
    step: Callable[[Reals, Reals], Reals],
    x: Reals,
    small: Callable[[Reals], bool],
    most: int,
    halvings: int = 0,
    moved: Callable[[Reals, Reals], Reals] = np.add,
) -> NewtonResult:
    """Solve residual(x) = 0 from x; `step(x, residual)` is the way to go: -J^-1 F, or what stands for it.

    With `halvings` each step is halved, so many times less one, until the norm of the residual falls. `step`
    may raise LinAlgError or RuntimeError for a singular matrix; `moved` adds a step that is no plain sum.
    """
    left = residual(x)
    for _ in range(most):
        if not np.isfinite(left).all():
            return NewtonResult(x, left, NewtonEnd.NOT_FINITE)
        if small(left):
            return NewtonResult(x, left, NewtonEnd.CONVERGED)
        try:
            way = step(x, left)
        except (np.linalg.LinAlgError, RuntimeError):
            return NewtonResult(x, left, NewtonEnd.SINGULAR)
        for k in range(max(1, halvings)):
            tried = moved(x, 0.5**k * way)
            there = residual(tried)
            if not halvings or np.linalg.norm(there) < np.linalg.norm(left):
                break
        else:
            return NewtonResult(x, left, NewtonEnd.STALLED)
        x, left = tried, there
    return NewtonResult(x, left, NewtonEnd.SPENT)
