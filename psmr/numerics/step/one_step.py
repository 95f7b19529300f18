"""One step size for all variables: any tableau of `psmr.numerics.schemes.tableaux`, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.cache import lean
from psmr.numerics.solve.block import SCALE, VALID, WORST_AT
from psmr.numerics.solve.newton import (
    DISHONEST,
    DONE,
    MOST_ROUNDS,
    NOT_FINITE,
    NOT_SETTLED,
    copy,
    follow_limits,
    newton,
    place,
    projected,
)

# A status says which block it is about: BLOCK * number + status of `psmr.numerics.solve.newton`.
BLOCK = 10
WHOLE, ALGEBRAIC = 0, 1


class Method(NamedTuple):
    """What a step needs of the scheme.

    Attributes
    ----------
    A, b, c, stiff
        Tableau, and whether its last stage is the new point.
    rates, w0
        Work space: (s, n) stage derivatives, and the point at the start of the step.
    policy, tolerance, autonomous
        Newton's policy and tolerance, and whether no equation reads the time.
    """

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    stiff: bool
    rates: np.ndarray
    w0: np.ndarray
    policy: int
    tolerance: float
    autonomous: bool


@lean
def close(algebraic, whole, w, policy, tolerance):  # type: ignore[no-untyped-def]
    """Solve g(x, y) = 0 for y at the x and t in w, where x is the limited `whole.known`.

    Where y moves limits of x, both are repeated until they agree.
    """
    for _ in range(MOST_ROUNDS):
        whole.memory[VALID] = 0.0
        algebraic.memory[VALID] = 0.0
        if algebraic.update.size > 0:
            status = newton(algebraic, w, 0.0, policy, tolerance)
            if status != DONE:
                return status
        if not follow_limits(whole, w, tolerance):
            return DONE
    return NOT_SETTLED


@lean
def one_step(whole, algebraic, method, h, w0, w):  # type: ignore[no-untyped-def]
    """Advance w from w0 by h in s; return a status.

    Stage i: x_i = x_t + h sum_j A[i, j] k_j with k_j = f(w_j), limited; 0 = g(x_i, y_i). The rate of an
    implicit stage is (x_i - known) / (h A[i, i]), which is f(w_i) where no limit holds the state.
    """
    A, b, c, rates, known = method.A, method.b, method.c, method.rates, whole.known
    n = known.size
    t = w0[-1]
    if method.policy == DISHONEST:
        whole.memory[SCALE] = np.nan
        algebraic.memory[SCALE] = np.nan
    for i in range(b.size):
        w[-1] = t + c[i] * h
        _accumulate(known, w0, h, A[i], rates, i)
        a = h * A[i, i]
        if a == 0.0:
            if i > 0:
                place(whole, w)
                status = close(algebraic, whole, w, method.policy, method.tolerance)
                if status != DONE:
                    return BLOCK * ALGEBRAIC + status
            projected(whole, w, rates[i])
        else:
            if not method.autonomous:
                whole.memory[VALID] = 0.0
            status = newton(whole, w, a, method.policy, method.tolerance)
            if status != DONE:
                return BLOCK * WHOLE + status
            for q in range(n):
                rates[i, q] = (w[q] - known[q]) / a
    if method.stiff:
        return DONE
    _accumulate(known, w0, h, b, rates, b.size)
    w[-1] = t + h
    place(whole, w)
    for q in range(n):
        if not np.isfinite(w[q]):  # no Newton update would notice
            whole.counts[WORST_AT] = q
            return BLOCK * WHOLE + NOT_FINITE
    status = close(algebraic, whole, w, method.policy, method.tolerance)
    return DONE if status == DONE else BLOCK * ALGEBRAIC + status


@lean
def _accumulate(known, w0, h, weights, rates, count):  # type: ignore[no-untyped-def]
    """Write x_t + h sum_j weights[j] k_j over the first `count` stages."""
    copy(w0, known)
    for j in range(count):
        if weights[j] != 0.0:
            for q in range(known.size):
                known[q] += h * weights[j] * rates[j, q]


@lean
def run_single(whole, algebraic, method, times, steps, first, last, w, record):  # type: ignore[no-untyped-def]
    """Take steps first..last-1 from times[k] with steps[k]; row k + 1 of `record` takes the result of step k.

    Returns (number of the step that was not completed or `last`, status); w then is the last accepted point.
    """
    w0 = method.w0
    for k in range(first, last):
        w[-1] = times[k]
        copy(w, w0)
        status = one_step(whole, algebraic, method, steps[k], w0, w)
        if status != DONE:
            copy(w0, w)
            whole.memory[VALID] = 0.0
            algebraic.memory[VALID] = 0.0
            return k, status
        copy(w, record[k + 1])
    return last, DONE
