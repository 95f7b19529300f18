r"""Newton's method for one implicit stage, on one block.

A stage with known part K (n,) and coefficient a = h gamma solves, for the block's variables,

    x - clip(K + a u(w), lower, upper) = 0,    0 = g(w)

with u the raw derivatives. Where the unclipped right-hand side is beyond a limit, the row is x - limit, and
its matrix row is that of the identity, with -1 in the column of a limit that is a variable of the block
(semismooth Newton); elsewhere the matrix is E - a [f_w; 0] and g_w.
With a = 0 and no states this is the solution of the algebraic equations alone.

The matrix is kept as the policy says. An update dw is final when theta / (1 - theta) \|dw\| < tolerance,
with theta the measured contraction (Hairer and Wanner, Solving Ordinary Differential Equations II, section
IV.8); \|.\| is the largest component relative to max(1, \|w\|).
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.cache import lean
from psmr.dae.compile.kernels import jacobian, residual
from psmr.numerics.solve.block import (
    BOUNDED,
    FACTORISATIONS,
    ITERATIONS,
    LOWER_AT,
    LOWER_SLOT,
    RATE,
    REFRESHES,
    RESIDUALS,
    SCALE,
    SOLVES,
    STATE,
    UPPER_AT,
    UPPER_SLOT,
    VALID,
    WORST,
    WORST_AT,
)
from psmr.numerics.solve.lu import refactor, solve

# Policies: at every iteration, once per time step, when the convergence rate asks for it.
HONEST, DISHONEST, VERY_DISHONEST = 0, 1, 2
POLICIES = {"honest": HONEST, "dishonest": DISHONEST, "very dishonest": VERY_DISHONEST}

# How a compiled solve or step ends.
DONE, NO_PIVOTS, NOT_FINITE, NOT_CONVERGED, NOT_AGREED, NOT_SETTLED = 0, 1, 2, 3, 4, 5

# A Newton iteration that has not converged by then does not converge: even theta = 1/2 gains 9 decades in 30.
MOST_ITERATIONS = 30

# Rounds in which explicit states and the limits that move with them settle: enough for a contraction of 3/4.
MOST_ROUNDS = 100

# Above this contraction a kept matrix is renewed: six further iterations would gain fewer than the four
# decades that one or two with a new matrix gain, at the price of about three.
SLOW = 0.25

# A kept matrix that took more iterations than this is renewed at the next step: that costs two (measured).
FEW = 4
OUTWORN = -1.0

# Ten halvings: where a thousandth of the step does not help, none will (Deuflhard, section 3.3).
LEAST_DAMPING = 1e-3


@lean
def copy(source, target):  # type: ignore[no-untyped-def]
    """Write the first entries of `source` into all of `target`; a slice assignment may allocate."""
    for i in range(target.size):
        target[i] = source[i]


@lean
def follow_ramps(block, w):  # type: ignore[no-untyped-def]
    """Write the held inputs that ramp as they are at the time in w."""
    for k in range(block.ramped.size):
        w[block.ramped[k]] = block.ramps[k, 0] + block.ramps[k, 1] * (w[-1] - block.ramps[k, 2])


@lean
def evaluate(block, w):  # type: ignore[no-untyped-def]
    """Write the raw residual at w into F, unless it is there."""
    if block.memory[VALID] == 0.0:
        follow_ramps(block, w)
        residual(block.table, w, block.F)
        block.counts[RESIDUALS] += 1
        block.memory[VALID] = 1.0


@lean
def move_limits(block, w):  # type: ignore[no-untyped-def]
    """Write the values at w of the limits that move into `lower` and `upper`."""
    for k in range(block.moving.shape[0]):
        i, low, high = block.moving[k, STATE], block.moving[k, LOWER_AT], block.moving[k, UPPER_AT]
        if low >= 0:
            block.lower[i] = w[low]
        if high >= 0:
            block.upper[i] = w[high]


@lean
def projected(block, w, rate):  # type: ignore[no-untyped-def]
    """Write the derivatives at w (F is evaluated): raw ones, but zero where a constant limit holds the state.

    At a limit that moves the raw derivative stays: whether it takes the state beyond is known at the end of
    the step only, where the limit then is.
    """
    evaluate(block, w)
    for i in range(rate.size):
        rate[i] = block.F[i]
    for b in range(block.bounded.size):
        i = block.bounded[b]
        x = w[block.variables[i]]
        if (x >= block.upper[i] and rate[i] > 0.0) or (x <= block.lower[i] and rate[i] < 0.0):
            rate[i] = 0.0
    for k in range(block.moving.shape[0]):
        i = block.moving[k, STATE]
        if block.moving[k, UPPER_AT if block.F[i] > 0.0 else LOWER_AT] >= 0:
            rate[i] = block.F[i]


@lean
def _clip(block, w):  # type: ignore[no-untyped-def]
    move_limits(block, w)
    for i in block.bounded:
        at = block.variables[i]
        w[at] = min(max(w[at], block.lower[i]), block.upper[i])


@lean
def place(block, w):  # type: ignore[no-untyped-def]
    """Write known, limited, into the states of w: an explicit stage."""
    for i in range(block.known.size):
        w[block.variables[i]] = block.known[i]
    follow_ramps(block, w)
    _clip(block, w)
    block.memory[VALID] = 0.0


@lean
def follow_limits(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Place the states anew whose limits moved since; return whether one of them changed."""
    move_limits(block, w)
    changed = False
    for k in range(block.moving.shape[0]):
        i = block.moving[k, STATE]
        at = block.variables[i]
        x = min(max(block.known[i], block.lower[i]), block.upper[i])
        changed |= abs(x - w[at]) > tolerance * max(1.0, abs(x))
        w[at] = x
    return changed


@lean
def _defect(block, w, a):  # type: ignore[no-untyped-def]
    """Write the Newton residual (F is evaluated); return whether the matrix has other rows held at limits."""
    defect, F, known = block.defect, block.F, block.known
    for i in range(known.size):
        defect[i] = w[block.variables[i]] - known[i] - a * F[i]
    for i in range(known.size, defect.size):
        defect[i] = F[i]
    move_limits(block, w)
    changed = False
    for b in range(block.bounded.size):
        i = block.bounded[b]
        x = w[block.variables[i]]
        wanted = known[i] + a * F[i]
        block.held[b] = 0
        if wanted > block.upper[i]:
            block.held[b] = 1
            defect[i] = x - block.upper[i]
        elif wanted < block.lower[i]:
            block.held[b] = -1
            defect[i] = x - block.lower[i]
        changed |= block.held[b] != block.held_in_matrix[b]
    return changed


@lean
def renew(block, w, a):  # type: ignore[no-untyped-def]
    """Evaluate and factorise the Newton matrix at w; return whether the pivots suit it."""
    J = block.J
    jacobian(block.table, block.constant, w, J)
    for slot in block.state_slots:
        J[slot] *= -a
    for slot in block.diagonal:
        J[slot] += 1.0
    first = 0
    for b in range(block.bounded.size):
        end = block.limit_ends[b]
        block.held_in_matrix[b] = block.held[b]
        if block.held[b] != 0:
            for s in range(first, end):
                J[block.limit_slots[s]] = 0.0
            J[block.diagonal[block.bounded[b]]] = 1.0
        first = end
    for k in range(block.moving.shape[0]):
        side = block.held[block.moving[k, BOUNDED]]
        if side != 0:
            J[block.moving[k, UPPER_SLOT if side > 0 else LOWER_SLOT]] = -1.0
    block.memory[SCALE] = np.nan
    if block.lu.D.size == 0:
        return False
    block.counts[FACTORISATIONS] += 1
    if not refactor(block.lu, J):
        return False
    block.memory[SCALE] = a
    return True


@lean
def improve(block, w):  # type: ignore[no-untyped-def]
    """Solve for the update and add it to w; return its norm."""
    update = block.update
    solve(block.lu, block.defect, update)
    block.counts[SOLVES] += 1
    norm, worst = 0.0, 0
    for i in range(update.size):
        at = block.variables[i]
        value = w[at] - update[i]
        w[at] = value
        scale = max(1.0, abs(value))
        if not abs(update[i]) <= norm * scale:  # true for NaN too
            norm, worst = abs(update[i]) / scale, i
            if norm != norm:
                break
    block.memory[WORST] = norm
    block.counts[WORST_AT] = worst
    block.memory[VALID] = 0.0
    return norm


@lean
def _largest(values):  # type: ignore[no-untyped-def]
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@lean
def _within_limits(block, w):  # type: ignore[no-untyped-def]
    """Remove the rounding by which a state at a limit may have passed it."""
    _clip(block, w)
    return DONE


@lean
def newton(block, w, a, policy, tolerance):  # type: ignore[no-untyped-def]
    """Solve one stage from the guess in w; `block.known` holds K, w[-1] the time of the stage.

    Returns `DONE`, `NO_PIVOTS` (J holds the matrix that needs some), `NOT_FINITE` or `NOT_CONVERGED`.
    """
    memory, count = block.memory, block.counts
    due = memory[SCALE] != a
    planned, last = due and memory[SCALE] != OUTWORN, 0.0
    evaluate(block, w)
    changed = _defect(block, w, a)
    for step in range(1, MOST_ITERATIONS + 1):
        if due or changed or policy == HONEST:
            if not renew(block, w, a):
                return NO_PIVOTS
            if policy != HONEST:
                if not planned:
                    count[REFRESHES] += 1
                last = 0.0
            due = planned = False
        before = _largest(block.defect)
        norm = improve(block, w)
        count[ITERATIONS] += 1
        if not np.isfinite(norm):
            return NOT_FINITE
        if last > 0.0:
            theta = norm / last
            if theta < 1.0:
                memory[RATE] = theta / (1.0 - theta)
                if memory[RATE] * norm < tolerance:
                    if policy == VERY_DISHONEST and step > FEW:
                        memory[SCALE] = OUTWORN
                    return _within_limits(block, w)
            due = theta > SLOW
        elif norm < tolerance:
            return _within_limits(block, w)
        last = norm
        evaluate(block, w)
        changed = _defect(block, w, a)
        # An earlier rate promises enough and the residual at the new point confirms it: nothing left to gain.
        if (
            not changed
            and memory[RATE] * norm < tolerance
            and _largest(block.defect) * norm < tolerance * before
        ):
            return _within_limits(block, w)
    return NOT_CONVERGED
