"""The macro step of Huang and Tzounas (section 2.2), compiled: predict, interpolate, fast, slow, correct."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.cache import lean
from psmr.numerics.solve.block import SCALE, VALID
from psmr.numerics.solve.newton import DISHONEST, DONE, NOT_AGREED, copy, newton, place, projected
from psmr.numerics.step.interpolation import interpolate, lagrange_weights
from psmr.numerics.step.one_step import BLOCK, close

PREDICTOR, PREDICTOR_ALGEBRAIC, FAST, SLOW = 2, 3, 4, 5

# Corrections "to convergence" give up after so many, and after so many in a row that made the difference
# larger.
MOST_CORRECTIONS = 100
MOST_GROWTHS = 8


class Plan(NamedTuple):
    """What a macro step needs of the scheme and the partition.

    Attributes
    ----------
    predictor, fast_rule, slow_rule
        (factor of f at the old point, at the new point) per second of step: (1, 0), (1/2, 1/2) or (0, 1).
    fast, slow, read
        Positions in w of fast and slow variables, and of the slow ones to interpolate.
    history
        Accepted values before t that the interpolation uses.
    corrections, epsilon
        Most corrections, or -1 for "until they agree", and the difference that counts as agreement.
    policy, tolerance
        Newton's policy and tolerance.
    """

    predictor: np.ndarray
    fast_rule: np.ndarray
    slow_rule: np.ndarray
    fast: np.ndarray
    slow: np.ndarray
    read: np.ndarray
    history: int
    corrections: int
    epsilon: float
    policy: int
    tolerance: float


class Store(NamedTuple):
    """Work space of the macro step and what it remembers.

    Attributes
    ----------
    w0, rates, predicted
        Point and projected derivatives at t, and the prediction at t + h_slow.
    older, distances
        (2, n + m + k + 1) accepted points before t, and how far before t they lie in s.
    nodes, weights
        Of the interpolation, in macro steps.
    state, difference
        [number of older points that are there, corrections made], and [last difference of slow solution and
        prediction].
    within
        (ratio, n + m) points of the fast steps; empty when they are not recorded.
    """

    w0: np.ndarray
    rates: np.ndarray
    predicted: np.ndarray
    older: np.ndarray
    distances: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray
    state: np.ndarray
    difference: np.ndarray
    within: np.ndarray


@lean
def _solve_block(block, settler, a, a_star, plan, store, w):  # type: ignore[no-untyped-def]
    """Solve x = x_t + a f(w_t) + a* f(w), 0 = g(w) on the rows of `block`.

    With a* = 0 the states are explicit and `settler` solves the algebraic rows. Returns (status, whether it
    is that of the settler).
    """
    for i in range(block.known.size):
        at = block.variables[i]
        block.known[i] = store.w0[at] + a * store.rates[at]
    if a_star == 0.0:
        place(block, w)
        return close(settler, block, w, plan.policy, plan.tolerance), True
    block.memory[VALID] = 0.0
    return newton(block, w, a_star, plan.policy, plan.tolerance), False


@lean
def _fast_steps(fast, ratio, h_slow, plan, store, w):  # type: ignore[no-untyped-def]
    """Take the fast steps with interpolated slow variables, equations (20) and (21)."""
    t, h = store.w0[-1], h_slow / ratio
    b, b_star = plan.fast_rule[0] * h, plan.fast_rule[1] * h
    variables, known = fast.variables, fast.known
    count = min(store.state[0], plan.history)
    for k in range(count):
        store.nodes[2 + k] = -store.distances[k] / h_slow
    for i in range(1, ratio + 1):
        if i == 1:
            for q in range(known.size):
                known[q] = w[variables[q]] + b * store.rates[variables[q]]
        else:
            if b != 0.0:
                projected(fast, w, fast.start)
                for q in range(known.size):
                    known[q] = w[variables[q]] + b * fast.start[q]
            else:
                for q in range(known.size):
                    known[q] = w[variables[q]]
        lagrange_weights(store.nodes, 2 + count, i / ratio, store.weights)
        interpolate(plan.read, store.weights, count, store.predicted, store.w0, store.older, w)
        w[-1] = t + i * h if i < ratio else t + h_slow
        fast.memory[VALID] = 0.0
        if plan.policy == DISHONEST:
            fast.memory[SCALE] = np.nan
        status = newton(fast, w, b_star, plan.policy, plan.tolerance)
        if status != DONE:
            return BLOCK * FAST + status
        if store.within.shape[0] >= ratio:
            copy(w, store.within[i - 1])
    return DONE


@lean
def macro_step(whole, predictor, settler, fast, slow, ratio, h, plan, store, w):  # type: ignore[no-untyped-def]
    """Advance w by one macro step h in s with `ratio` fast steps; return a status."""
    w0, predicted = store.w0, store.predicted
    t = w0[-1]
    projected(whole, w, store.rates)
    if plan.policy == DISHONEST:
        predictor.memory[SCALE] = np.nan
        settler.memory[SCALE] = np.nan
        slow.memory[SCALE] = np.nan
    if plan.fast.size > 0 and plan.slow.size > 0:
        w[-1] = t + h
        a, a_star = plan.predictor[0] * h, plan.predictor[1] * h
        status, settled = _solve_block(predictor, settler, a, a_star, plan, store, w)
        if status != DONE:
            return BLOCK * (PREDICTOR_ALGEBRAIC if settled else PREDICTOR) + status
    copy(w, predicted)
    last, growths, made = np.inf, 0, 0
    while True:
        if plan.fast.size > 0:
            copy(w0, w)
            status = _fast_steps(fast, ratio, h, plan, store, w)
            if status != DONE:
                return status
        if plan.slow.size == 0:
            return DONE
        for at in plan.slow:
            w[at] = predicted[at]
        w[-1] = t + h
        c, c_star = plan.slow_rule[0] * h, plan.slow_rule[1] * h
        status, _ = _solve_block(slow, slow, c, c_star, plan, store, w)
        if status != DONE:
            return BLOCK * SLOW + status
        if plan.fast.size == 0 or made == plan.corrections:
            return DONE
        difference = 0.0
        for at in plan.slow:
            difference = max(difference, abs(w[at] - predicted[at]))
            predicted[at] = w[at]
        store.difference[0] = difference
        if difference <= plan.epsilon:
            return DONE
        growths = growths + 1 if difference >= last else 0
        if plan.corrections < 0 and (made == MOST_CORRECTIONS or growths == MOST_GROWTHS):
            return BLOCK * SLOW + NOT_AGREED
        last = difference
        made += 1
        store.state[1] += 1


@lean
def run_multirate(blocks, times, steps, ratios, first, last, w, plan, store, record):  # type: ignore[no-untyped-def]
    """Take macro steps first..last-1 from times[k] with steps[k] and ratios[k] fast steps.

    Row k + 1 of `record` takes the result of step k; with room for fast points in `store.within` each step
    fills `ratio` rows, the last one being its result. Returns as `psmr.numerics.step.one_step.run_single`.
    """
    whole, predictor, settler, fast, slow = blocks
    every = store.within.shape[0]
    for k in range(first, last):
        w[-1] = times[k]
        copy(w, store.w0)
        whole.memory[VALID] = 0.0
        status = macro_step(whole, predictor, settler, fast, slow, ratios[k], steps[k], plan, store, w)
        if status != DONE:
            copy(store.w0, w)
            return k, status
        if every > 0:
            row = 1 + k * every
            for i in range(ratios[k] - 1):
                copy(store.within[i], record[row + i])
            copy(w, record[row + ratios[k] - 1])
        else:
            copy(w, record[k + 1])
        if plan.history > 0:
            copy(store.older[0], store.older[1])
            copy(store.w0, store.older[0])
            store.distances[1] = store.distances[0] + steps[k]
            store.distances[0] = steps[k]
            store.state[0] = min(2, store.state[0] + 1)
    return last, DONE
