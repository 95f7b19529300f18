"""Adams-Bashforth-Moulton of variable step and order in PECE form, along time or arc, compiled.

The predictor of order k and the corrector of order k + 1 are written in modified divided differences on the
nodes as they are (Krogh, 1974; Shampine and Gordon, 1975), in the notation of Hairer, Norsett and Wanner,
Solving Ordinary Differential Equations I, section III.5:

    Phi*_j(n) = beta_j(n) Phi_j(n),    Phi_0(n) = f_n,    Phi_(j+1)(n) = Phi_j(n) - Phi*_j(n-1)
    p = z_n + h sum_(j<k) g_j Phi*_j(n),    z_(n+1) = p + h g_k Phi_k(n+1) with f(p) for f_(n+1)

A step costs two evaluations, after the prediction and after the correction. The error of order k is estimated
by h (g_k - g_(k-1)) Phi_k(n+1) (section III.7); the corrected value, one order better, is kept. Order and
step are chosen as by Shampine and Gordon, Computer Solution of Ordinary Differential Equations, chapter 7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.records import copy
from psmr.integrate.solve.status import DONE
from psmr.papers.kuznetsov_krasnikov.explicit_rates import (
    EVALUATED,
    error_norm,
    follow,
    put,
)

# Shampine and Gordon's: beyond it the stability interval has all but gone.
HIGHEST_ORDER = 12

# Part of the tolerated error that a new step aims at (Shampine and Gordon).
AIM = 0.5

# Where there is no error estimate to go by, for want of an algebraic solution or of finite numbers.
RETREAT = 0.25

# Places in `History.number`.
ORDER, POINTS, EQUAL, STARTING, FAILURES = range(5)


class History(NamedTuple):
    """What the multistep method remembers.

    Attributes
    ----------
    phi, star, trial
        (order + 3, n + 1) modified divided differences at the last point, times beta for the step tried, and
        at the point tried.
    nodes
        Positions s of the last points, latest first.
    g, beta, c
        Coefficients of the step tried.
    number
        Order k, points in `nodes`, steps of equal size made, whether the start lasts, failures of this step.
    errors
        (order + 3,) estimates by order for the step tried, in units of what is tolerated; infinite where
        unknown.
    predicted, new, work
        (n + 1,) prediction, correction, and room.
    """

    phi: np.ndarray
    star: np.ndarray
    trial: np.ndarray
    nodes: np.ndarray
    g: np.ndarray
    beta: np.ndarray
    c: np.ndarray
    number: np.ndarray
    errors: np.ndarray
    predicted: np.ndarray
    new: np.ndarray
    work: np.ndarray


def empty_history(size: int) -> History:
    """Return a history for z of `size` = n + 1 components."""
    rows = HIGHEST_ORDER + 3
    return History(
        phi=np.zeros((rows, size)),
        star=np.zeros((rows, size)),
        trial=np.zeros((rows, size)),
        nodes=np.zeros(rows),
        g=np.zeros(rows),
        beta=np.zeros(rows),
        c=np.zeros(rows + 2),
        number=np.zeros(5, np.int64),
        errors=np.zeros(rows),
        predicted=np.zeros(size),
        new=np.zeros(size),
        work=np.zeros(size),
    )


@lean
def restart(history, progress):  # type: ignore[no-untyped-def]
    """Begin with order 1 at the point and derivative in `progress`."""
    for j in range(history.phi.shape[0]):
        for q in range(history.phi.shape[1]):
            history.phi[j, q] = 0.0 if j > 0 else progress.rate[q]
    history.nodes[0] = progress.h[1]
    number = history.number
    number[ORDER], number[POINTS], number[EQUAL], number[STARTING], number[FAILURES] = 1, 1, 0, 1, 0


@lean
def _coefficients(history, h):  # type: ignore[no-untyped-def]
    """Write g_0..g_(k+1), and Phi*_j as far as there are points."""
    k, nodes, g, c = history.number[ORDER], history.nodes, history.g, history.c
    ahead, beta = nodes[0] + h, history.beta
    beta[0] = 1.0
    for j in range(min(k, history.number[POINTS] - 1) + 1):
        if j > 0:
            beta[j] = beta[j - 1] * (ahead - nodes[j - 1]) / (nodes[0] - nodes[j])
        for q in range(history.phi.shape[1]):
            history.star[j, q] = beta[j] * history.phi[j, q]
    # c_0q = 1/q, c_jq = c_(j-1)q - c_(j-1)(q+1) h / (s_(n+1) - s_(n-j+1)), g_j = c_j1.
    for q in range(1, k + 4):
        c[q] = 1.0 / q
    g[0] = 1.0
    for j in range(1, min(k + 1, history.number[POINTS]) + 1):
        ratio = h / (ahead - nodes[j - 1])
        for q in range(1, k + 4 - j):
            c[q] -= c[q + 1] * ratio
        g[j] = c[1]


@lean
def _differences(history, rate):  # type: ignore[no-untyped-def]
    """Write Phi_0..Phi_(k+1) at the new point from its derivative."""
    trial, star = history.trial, history.star
    last = min(history.number[ORDER], history.number[POINTS] - 1)
    for q in range(rate.size):
        trial[0, q] = rate[q]
        for j in range(last + 1):
            trial[j + 1, q] = trial[j, q] - star[j, q]


@lean
def _estimate(history, order, h, progress, rules):  # type: ignore[no-untyped-def]
    """Write the error estimate of one order from the differences at the new point."""
    factor = h * (history.g[order] - history.g[order - 1])
    for q in range(history.work.size):
        history.work[q] = factor * history.trial[order, q]
    history.errors[order] = error_norm(history.work, progress.z, history.new, rules)


@lean
def estimates(history, h, progress, rules):  # type: ignore[no-untyped-def]
    """Write the error estimates of this order and the two below it; return that of this one."""
    k, errors = history.number[ORDER], history.errors
    for order in range(errors.size):
        errors[order] = np.inf
    for order in range(max(1, k - 2), k + 1):
        _estimate(history, order, h, progress, rules)
    return errors[k]


@lean
def adams_step(whole, algebraic, h, w, rules, progress, history):  # type: ignore[no-untyped-def]
    """Predict, evaluate, correct: the corrected point is in w, not evaluated yet; return a status."""
    k, star, g = history.number[ORDER], history.star, history.g
    predicted, new = history.predicted, history.new
    _coefficients(history, h)
    for q in range(new.size):
        total = 0.0
        for j in range(k - 1, -1, -1):
            total += g[j] * star[j, q]
        predicted[q] = progress.z[q] + h * total
    status = put(whole, algebraic, predicted, w, rules, progress)
    if status != DONE:
        return status
    follow(whole, w, rules, history.work)
    progress.counts[EVALUATED] += 1
    _differences(history, history.work)
    for q in range(new.size):
        new[q] = predicted[q] + h * g[k] * history.trial[k, q]
    return put(whole, algebraic, new, w, rules, progress)


@lean
def _lower(history):  # type: ignore[no-untyped-def]
    """Return whether the estimates ask for the order below."""
    k, errors = history.number[ORDER], history.errors
    if k == 1:
        return False
    if k == 2:
        return errors[1] <= 0.5 * errors[2]
    return max(errors[k - 1], errors[k - 2]) <= errors[k]


@lean
def choose_order_after_accepted(history, h, progress, rules):  # type: ignore[no-untyped-def]
    """Take the new point into the history, and choose order and step for the next."""
    number, errors, nodes = history.number, history.errors, history.nodes
    k, lower = number[ORDER], _lower(history)
    _differences(history, progress.rate)
    for j in range(k + 2):
        copy(history.trial[j], history.phi[j])
    equal = number[POINTS] > 1 and abs(h - (nodes[0] - nodes[1])) <= 1e-10 * h
    number[EQUAL] = number[EQUAL] + 1 if equal else 1
    enough = number[POINTS] > k
    for j in range(nodes.size - 1, 0, -1):
        nodes[j] = nodes[j - 1]
    nodes[0] = progress.h[1]
    number[POINTS] = min(number[POINTS] + 1, nodes.size)
    number[FAILURES] = 0
    if lower or k == HIGHEST_ORDER:
        number[STARTING] = 0
    if number[STARTING]:
        number[ORDER] = k + 1
        progress.h[0] = 2.0 * h
        return
    if not lower and enough and number[EQUAL] > k and k < HIGHEST_ORDER:
        _estimate(history, k + 1, h, progress, rules)
        if k == 1:
            number[ORDER] += errors[2] < 0.5 * errors[1]
        elif errors[k - 1] <= min(errors[k], errors[k + 1]):
            lower = True
        else:
            number[ORDER] += errors[k + 1] < errors[k]
    number[ORDER] -= lower
    k = number[ORDER]
    error = errors[k]
    if error * 2.0 ** (k + 1) <= AIM:
        progress.h[0] = 2.0 * h
    elif error <= AIM:
        progress.h[0] = h
    else:
        progress.h[0] = h * max(0.5, min(0.9, (AIM / error) ** (1.0 / (k + 1))))


@lean
def choose_order_after_refused(history, h, error, progress):  # type: ignore[no-untyped-def]
    """Choose order and step to try again: half the step; from the third time on order 1 and what it needs."""
    number = history.number
    number[STARTING] = 0
    number[FAILURES] += 1
    if not np.isfinite(error):
        progress.h[0] = RETREAT * h
    elif number[FAILURES] < 3:
        number[ORDER] -= _lower(history)
        progress.h[0] = 0.5 * h
    else:
        error = history.errors[1] if np.isfinite(history.errors[1]) else error
        progress.h[0] = h * min(0.5, np.sqrt(AIM / max(error, AIM)))
        number[ORDER] = 1
