"""One step of the slow-manifold scheme, compiled (Gil, Sanfelice and Nikravesh, steps 1 to 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.equations import move_limits, project
from psmr.integrate.solve.newton import ALL, DISHONEST
from psmr.integrate.solve.records import (
    SCALE,
    VALID,
    WORST_AT,
    copy,
    limits_of,
    matrix_of,
    newton_state_of,
    work_of,
)
from psmr.integrate.solve.status import DONE, NOT_FINITE, STALE
from psmr.integrate.step.instructions import solve_algebraic

# The blocks of the scheme.
WHOLE, ALGEBRAIC, LINEARISATION = 0, 1, 2

# Nodes of Runge-Kutta 4.
NODES = np.array([0.0, 0.5, 0.5, 1.0])


class Plan(NamedTuple):
    """What a step needs beside the matrices of `slow_manifold.Manifold`.

    Positions of the states that are slow, fast, fast but held by a limit when the system was linearised, and
    watched, fast with a limit; the step h of the matrices in s; whether the linearisation is kept, and until
    which drift; Newton's policy and tolerance, and whether no equation reads the time.
    """

    slow: np.ndarray
    fast: np.ndarray
    held: np.ndarray
    watched: np.ndarray
    h: float
    kept: bool
    drift: float
    policy: int
    tolerance: float
    autonomous: bool


class Store(NamedTuple):
    """Work space of a step and what it remembers.

    Attributes
    ----------
    w0, rates, k
        Point at t, projected derivatives of all states, slow rates of the stages (5, p).
    sigma, slope, integral, y
        (q,) g_z^-1 g at t, g_z^-1 g_t, integral of y, and y at the end.
    expected, moved
        g_z^-1 g at the new point if g were linear, and [largest movement of the fast states].
    state
        [1 when the linearisation is of this very point, 0 when it is older; block that failed].
    """

    w0: np.ndarray
    rates: np.ndarray
    k: np.ndarray
    sigma: np.ndarray
    slope: np.ndarray
    integral: np.ndarray
    y: np.ndarray
    expected: np.ndarray
    moved: np.ndarray
    state: np.ndarray


def empty_store(w: np.ndarray, n: int, p: int, q: int) -> Store:
    """Return the store of a step from w, of n states of which p are slow and q fast."""
    sigma, slope, integral, y, expected = (np.zeros(q) for _ in range(5))
    fast = sigma, slope, integral, y, expected
    return Store(w.copy(), np.zeros(n), np.zeros((5, p)), *fast, np.zeros(1), np.array([1, WHOLE]))


@lean
def held_by_limit(whole, w, at):  # type: ignore[no-untyped-def]
    """Return whether a limit holds the state at position `at`; the raw residual is in F."""
    move_limits(whole, w)
    x, rate = w[at], matrix_of(whole).F[at]
    return (x >= limits_of(whole).upper[at] and rate > 0.0) or (
        x <= limits_of(whole).lower[at] and rate < 0.0
    )


@lean
def _times(matrix, vector, out):  # type: ignore[no-untyped-def]
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] = total


@lean
def _put(whole, w, at, value):  # type: ignore[no-untyped-def]
    """Write a value, limited, into the state at position `at`."""
    move_limits(whole, w)
    work_of(whole).known[at] = value
    w[at] = min(max(value, limits_of(whole).lower[at]), limits_of(whole).upper[at])


@lean
def _to_manifold(whole, plan, matrices, store, since, w):  # type: ignore[no-untyped-def]
    """Write z = H(x), `since` seconds after t, for the x in w."""
    for i in range(plan.fast.size):
        at = plan.fast[i]
        z = store.w0[at] - store.sigma[i] - since * store.slope[i]
        for j in range(plan.slow.size):
            z -= matrices.K[i, j] * (w[plan.slow[j]] - store.w0[plan.slow[j]])
        _put(whole, w, at, z)


@lean
def _slow_rates(whole, algebraic, plan, store, k, w):  # type: ignore[no-untyped-def]
    """Solve g = 0 and write the slow derivatives at w."""
    status = solve_algebraic(algebraic, whole, w, plan.policy, plan.tolerance, ALL)
    if status != DONE:
        store.state[1] = ALGEBRAIC
        return status
    project(whole, w, store.rates)
    for j in range(plan.slow.size):
        k[j] = store.rates[plan.slow[j]]
    return DONE


@lean
def _suits(whole, plan, store, w):  # type: ignore[no-untyped-def]
    """Return whether the kept linearisation suits the step from w; `sigma` is g_z^-1 g there."""
    if not plan.kept:
        return False
    for at in plan.watched:
        was = False
        for other in plan.held:
            was |= other == at
        if was != held_by_limit(whole, w, at):
            return False
    defect = 0.0
    for i in range(plan.fast.size):
        difference = abs(store.sigma[i] - store.expected[i])
        defect = max(defect, difference / max(1.0, abs(w[plan.fast[i]])))
    return defect <= max(plan.tolerance, plan.drift * store.moved[0])


@lean
def _begin(whole, algebraic, plan, matrices, store, h, w):  # type: ignore[no-untyped-def]
    """Write sigma, slope and the projected rates at t; return a status."""
    slow, fast = plan.slow, plan.fast
    if not plan.autonomous:
        # The secant over the step stands for g_t: exact for an input that is linear in time.
        w[-1] = store.w0[-1] + h
        status = solve_algebraic(algebraic, whole, w, plan.policy, plan.tolerance, ALL)
        if status != DONE:
            store.state[1] = ALGEBRAIC
            return status
        project(whole, w, store.rates)
        for i in range(fast.size):
            store.y[i] = store.rates[fast[i]]
        copy(store.w0, w)
        newton_state_of(whole).scalars[VALID] = 0.0
    project(whole, w, store.rates)
    for i in range(fast.size):
        store.y[i] = (store.y[i] - store.rates[fast[i]]) / h if not plan.autonomous else 0.0
    _times(matrices.inverse, store.y, store.slope)
    for i in range(fast.size):
        store.y[i] = store.rates[fast[i]]
    _times(matrices.inverse, store.y, store.sigma)
    for j in range(slow.size):
        store.k[4, j] = store.rates[slow[j]]
    return DONE


@lean
def manifold_step(whole, algebraic, plan, matrices, store, h, w):  # type: ignore[no-untyped-def]
    """Advance w from store.w0 by h in s; return a status."""
    slow, fast, k, w0 = plan.slow, plan.fast, store.k, store.w0
    copy(w0, work_of(whole).known)
    if plan.policy == DISHONEST:
        newton_state_of(algebraic).scalars[SCALE] = np.nan
    status = _begin(whole, algebraic, plan, matrices, store, h, w)
    if status != DONE:
        return status
    if store.state[0] == 0 and not _suits(whole, plan, store, w):
        return STALE
    for at in plan.held:  # follows its limit wherever that goes
        work_of(whole).known[at] = np.inf if matrix_of(whole).F[at] > 0.0 else -np.inf

    # Step 1: integral of y, with gamma = K f(x_n, z_n).
    _times(matrices.K, k[4], store.y)
    for i in range(fast.size):
        store.y[i] += store.slope[i]
    for i in range(fast.size):
        total = 0.0
        for j in range(fast.size):
            total += matrices.I1[i, j] * store.sigma[j] + matrices.I2[i, j] * store.y[j]
        store.integral[i] = total

    # Step 2: Runge-Kutta 4 on the manifold, then what the fast states' distance from it adds.
    for stage in range(4):
        since = NODES[stage] * h
        w[-1] = w0[-1] + since
        for j in range(slow.size):
            at = slow[j]
            _put(whole, w, at, w0[at] if stage == 0 else w0[at] + since * k[stage - 1, j])
        _to_manifold(whole, plan, matrices, store, since, w)
        status = _slow_rates(whole, algebraic, plan, store, k[stage], w)
        if status != DONE:
            return status
    for j in range(slow.size):
        x = w0[slow[j]] + h / 6.0 * (k[0, j] + 2.0 * k[1, j] + 2.0 * k[2, j] + k[3, j])
        for i in range(fast.size):
            x += matrices.fz[j, i] * store.integral[i]
        _put(whole, w, slow[j], x)

    # Step 3: distance from the manifold at the end, with f(x, H(x)) linear in time.
    _to_manifold(whole, plan, matrices, store, h, w)
    status = _slow_rates(whole, algebraic, plan, store, k[4], w)
    if status != DONE:
        return status
    for i in range(fast.size):
        first, change = store.slope[i], 0.0
        for j in range(slow.size):
            first += matrices.K[i, j] * k[0, j]
            change += matrices.K[i, j] * (k[4, j] - k[0, j])
        store.y[i] = first
        store.integral[i] = change / h
    worst = DONE
    store.moved[0] = 0.0
    for i in range(fast.size):
        y, along = 0.0, 0.0
        for j in range(fast.size):
            y += (
                matrices.E[i, j] * store.sigma[j]
                + matrices.F1[i, j] * store.y[j]
                + matrices.F2[i, j] * store.integral[j]
            )
        for j in range(slow.size):
            along += matrices.K[i, j] * (w[slow[j]] - w0[slow[j]])
        at = fast[i]
        _put(whole, w, at, w0[at] - along - store.sigma[i] - h * store.slope[i] + y)
        store.expected[i] = store.sigma[i] + along + h * store.slope[i] + (w[at] - w0[at])
        scale = max(1.0, abs(w[at]))
        store.moved[0] = max(store.moved[0], abs(along) / scale, abs(w[at] - w0[at]) / scale)
        if not np.isfinite(w[at]):
            newton_state_of(whole).counts[WORST_AT] = at
            store.state[1] = WHOLE
            worst = NOT_FINITE
    if worst != DONE:
        return worst
    status = solve_algebraic(algebraic, whole, w, plan.policy, plan.tolerance, ALL)
    store.state[1] = ALGEBRAIC
    return status


@lean
def run_manifold(blocks, plan, matrices, store, times, steps, first, last, w, record):  # type: ignore[no-untyped-def]
    """Take steps first..last-1; return (number of the step that was not completed or `last`, status).

    `STALE` asks for a linearisation at w, which then is the start of the step that was not begun.
    """
    whole, algebraic = blocks[WHOLE], blocks[ALGEBRAIC]
    for k in range(first, last):
        w[-1] = times[k]
        copy(w, store.w0)
        newton_state_of(whole).scalars[VALID] = 0.0
        status = STALE
        if steps[k] == plan.h:
            status = manifold_step(whole, algebraic, plan, matrices, store, steps[k], w)
        if status != DONE:
            copy(store.w0, w)
            newton_state_of(whole).scalars[VALID] = 0.0
            newton_state_of(algebraic).scalars[VALID] = 0.0
            return k, status
        store.state[0] = 0
        copy(w, record[k + 1])
    return last, DONE
