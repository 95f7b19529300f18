"""Explicit Runge-Kutta methods along time or arc, with or without step-size control, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.status import DONE, NO_ROOM
from psmr.integrate.solve.vector_kernels import copy
from psmr.papers.kuznetsov_krasnikov.explicit_rates import (
    ALGEBRAIC,
    EVALUATED,
    WHOLE,
    error_norm,
    follow,
    put,
)
from psmr.papers.kuznetsov_krasnikov.trial_step import go_back

# Step-size control (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.4): aim
# at this part of the step that would just do, and change it by no more than these factors at a time.
SAFETY, LEAST_CHANGE, MOST_CHANGE = 0.9, 0.2, 10.0

# Where a trial step has no algebraic solution or leaves the finite numbers there is no error estimate to go
# by.
RETREAT = 0.25


class RungeKutta(NamedTuple):
    """An explicit method, and its room.

    Attributes
    ----------
    A, b
        Its coefficients.
    difference
        Weights of the rates in the estimate; without any every step has the size progress.h[0].
    power
        1 / (order of the estimate + 1).
    stages, new
        (s + 2, n + 1) derivatives and the estimate, and (n + 1,) the point of a stage.
    """

    A: np.ndarray
    b: np.ndarray
    difference: np.ndarray
    power: float
    stages: np.ndarray
    new: np.ndarray


@lean
def runge_kutta_step(whole, algebraic, method, h, w, rules, progress):  # type: ignore[no-untyped-def]
    """Try a step h from progress.z: point in w, its derivative in stages[s]; return (status, error norm)."""
    A, b, difference, stages, new = method.A, method.b, method.difference, method.stages, method.new
    z, size = progress.z, progress.z.size
    s = b.size
    copy(progress.rate, stages[0])
    for i in range(1, s + 1):
        for q in range(size):
            total = 0.0
            for j in range(i):
                weight = A[i, j] if i < s else b[j]
                total += weight * stages[j, q]
            new[q] = z[q] + h * total
        status = put(whole, algebraic, new, w, rules, progress)
        if status != DONE:
            return status, np.inf
        follow(whole, w, rules, stages[i])
        progress.counts[EVALUATED] += 1
    if difference.size == 0:
        return DONE, 0.0
    for q in range(size):
        total = 0.0
        for j in range(s + 1):
            total += difference[j] * stages[j, q]
        new[q] = w[q] if q < size - 1 else w[-1]
        stages[s + 1, q] = h * total
    return DONE, error_norm(stages[s + 1], z, new, rules)


@lean
def first_step(blocks, power, ahead, w, rules, progress, method):  # type: ignore[no-untyped-def]
    """Put a first step into progress.h[0] (Hairer, Norsett and Wanner I, section II.4); return a status.

    `ahead` is the longest step that makes sense: what is left of the span along time.
    """
    whole, algebraic, stages, new = blocks[WHOLE], blocks[ALGEBRAIC], method.stages, method.new
    z, rate, size = progress.z, progress.rate, progress.z.size
    for q in range(size):
        stages[0, q] = 0.0
    value, slope = error_norm(z, z, z, rules), error_norm(rate, z, z, rules)
    h = min(1e-6 if value < 1e-5 or slope < 1e-5 else 0.01 * value / slope, ahead)
    for q in range(size):
        new[q] = z[q] + h * rate[q]
    copy(w, progress.before)
    status = put(whole, algebraic, new, w, rules, progress)
    curvature = 0.0
    if status == DONE:
        follow(whole, w, rules, stages[1])
        progress.counts[EVALUATED] += 1
        for q in range(size):
            stages[0, q] = stages[1, q] - rate[q]
        curvature = error_norm(stages[0], z, z, rules) / h
    go_back(blocks, progress, w)
    if status == NO_ROOM:
        return status
    steepest = max(slope, curvature)
    better = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** power
    progress.h[0] = min(100.0 * h, better, ahead, rules.longest)
    return DONE


@lean
def choose_step_after_accepted(method, h, error, refused, progress):  # type: ignore[no-untyped-def]
    """Choose the step after an accepted one of h, which was tried longer before if it was `refused`."""
    change = MOST_CHANGE if error == 0.0 else min(MOST_CHANGE, SAFETY * error ** (-method.power))
    progress.h[0] = h * (min(1.0, change) if refused else max(LEAST_CHANGE, change))


@lean
def choose_step_after_refused(method, h, error, progress):  # type: ignore[no-untyped-def]
    """Choose the step to try in place of one of h."""
    part = max(LEAST_CHANGE, SAFETY * error ** (-method.power)) if np.isfinite(error) else RETREAT
    progress.h[0] = h * part
