"""Explicit Runge-Kutta methods along time or arc, with or without step-size control, compiled."""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.status import DONE, NO_ROOM, VANISHED
from psmr.integrate.solve.vector_kernels import copy
from psmr.papers.kuznetsov_krasnikov.attempt import arrive, exhausted, go_back, passed, proposed, retried
from psmr.papers.kuznetsov_krasnikov.flow import (
    ALGEBRAIC,
    EVALUATED,
    REJECTED,
    WHOLE,
    error_norm,
    follow,
    put,
)

# Step-size control (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.4): aim
# at this part of the step that would just do, and change it by no more than these factors at a time.
SAFETY, LEAST_CHANGE, MOST_CHANGE = 0.9, 0.2, 10.0

# Where a trial step has no algebraic solution or leaves the finite numbers there is no error estimate to go
# by.
RETREAT = 0.25


@lean
def runge_kutta_step(whole, algebraic, A, b, difference, h, w, rules, progress, stages, new):  # type: ignore[no-untyped-def]
    """Try a step h from progress.z: point in w, its derivative in stages[s]; return (status, error norm)."""
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
def first_step(blocks, power, ahead, w, rules, progress, stages, new):  # type: ignore[no-untyped-def]
    """Put a first step into progress.h[0] (Hairer, Norsett and Wanner I, section II.4); return a status.

    `ahead` is the longest step that makes sense: what is left of the span along time.
    """
    whole, algebraic = blocks[WHOLE], blocks[ALGEBRAIC]
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
def run_runge_kutta(  # type: ignore[no-untyped-def]
    blocks, A, b, difference, power, end, w, rules, progress, stages, new, times, rows
):
    """Step until t = end or the rows are full; return (rows filled, status).

    `power` is 1 / (order of the estimate + 1); with an empty `difference` every step has the size
    progress.h[0].
    """
    whole, algebraic = blocks[WHOLE], blocks[ALGEBRAIC]
    n, controlled = progress.z.size - 1, difference.size > 0
    filled, refused, reason = 0, False, DONE
    while progress.z[n] < end:
        status = exhausted(rules, progress, filled, times.size)
        if status != DONE:
            return filled, status
        h, last = proposed(rules, progress, end)
        if h == 0.0:
            return filled, VANISHED if reason == DONE else reason
        copy(w, progress.before)
        error, landing, ahead = np.inf, False, h
        while ahead != 0.0:
            h = ahead
            status, estimate = runge_kutta_step(
                whole, algebraic, A, b, difference, h, w, rules, progress, stages, new
            )
            error = error if landing else estimate
            ahead = 0.0
            if landing or passed(status, error, rules, w, end):
                ahead = retried(landing, progress, h, status, w, end)
                landing = last = True
        if status == DONE and error <= 1.0:
            if last:
                w[-1] = end
            copy(stages[b.size], progress.rate)
            arrive(whole, w, rules, progress, h, times, rows, filled)
            filled += 1
            if controlled and not last:
                change = MOST_CHANGE if error == 0.0 else min(MOST_CHANGE, SAFETY * error ** (-power))
                progress.h[0] = h * (min(1.0, change) if refused else max(LEAST_CHANGE, change))
            refused, reason = False, DONE
            continue
        go_back(blocks, progress, w)
        if status == NO_ROOM or not controlled:
            return filled, status
        progress.counts[REJECTED] += 1
        refused, reason = True, status
        progress.h[0] = h * (max(LEAST_CHANGE, SAFETY * error ** (-power)) if np.isfinite(error) else RETREAT)
    return filled, DONE
