r"""Newton's method for one implicit stage, on one block; compiled once, called by address by every loop.

A stage with known part K (n,) and coefficient a = h gamma solves, for the block's variables,

    x - clip(K + a u(w), lower, upper) = 0,    0 = g(w)

with u the raw derivatives. The matrix is E - a [f_w; 0] and g_w, but for the rows that a limit holds
(`psmr.integrate.solve.equations`).
With a = 0 and no states this is the solution of the algebraic equations alone.

The matrix is kept as the policy says. An update dw is final when theta / (1 - theta) \|dw\| < tolerance,
with theta the measured contraction (Hairer and Wanner, Solving Ordinary Differential Equations II, section
IV.8); \|.\| is the largest component relative to max(1, \|w\|).

A solve does not give up at the first difficulty, unless it is asked to. In this order: Newton as the policy
says, Newton with a new matrix at each iteration, damped Newton, each from the same guess; new pivots within
each iteration where the matrix needs them. What helped is counted.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.decorators import lean, unit
from psmr.dae.compile.kernels import jacobian
from psmr.dae.compile.notice import announced
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.equations import (
    LONG,
    evaluate,
    hold_defect,
    hold_matrix,
    put_onto_limits,
    take_out_turn,
)
from psmr.integrate.solve.lu import (
    BORDER,
    READY,
    first_factors,
    pivots_suit,
    refactor,
    refactor_ahead,
    refactor_marked,
)
from psmr.integrate.solve.lu import solve as solve_factors
from psmr.integrate.solve.records import (
    CONTRACTION,
    DAMPED_SOLVES,
    FACTORISATIONS,
    FALL,
    HOMOTOPY,
    HONEST_SOLVES,
    ITERATIONS,
    NETWORK_SCALE,
    PARTIAL,
    QUICK,
    REFRESHES,
    REPIVOTS,
    SCALE,
    SOLVES,
    TURNING,
    UNSEEN,
    VALID,
    WORST,
    WORST_AT,
    copy,
    largest_part,
    largest_size,
    lu_of,
    matrix_of,
    newton_state_of,
    position,
    positions_of,
    real_of,
    reals,
    search_of,
    solver_of,
    whole_of,
    work_of,
)
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_CONVERGED, NOT_FINITE

_SIGNATURE = types.int64(
    types.int64, types.int64, types.int64, types.float64, types.int64, types.float64, types.int64
)

# How much is tried (`effort`): all, damping alone (the guess is known to be far off), or Newton as
# the policy says alone (a shorter step is cheaper than the rest).
ALL, DAMPED, PLAIN = range(3)

# Policies: at every iteration, once per time step, when the convergence rate asks for it.
HONEST, DISHONEST, VERY_DISHONEST = 0, 1, 2
POLICIES = {"honest": HONEST, "dishonest": DISHONEST, "very dishonest": VERY_DISHONEST}

# What is renewed of a matrix: all of it; the rows and columns ahead of the border, those of the devices
# (`psmr.integrate.solve.lu.refactor_ahead`); of these rows the ones that limits hold otherwise than before.
EVERY, AHEAD, HELD = range(3)

# What `SCALE` is where a kept matrix took too many iterations and is renewed at the next solve.
OUTWORN = -1.0


@lean
def defect_at(block, w, a):  # type: ignore[no-untyped-def]
    """Write the Newton residual (F is evaluated); return whether the matrix has other rows held at limits."""
    work, places = work_of(block), positions_of(block)
    defect, known, F = work.defect, work.known, matrix_of(block).F
    for i in range(known.size):
        defect[i] = w[position(places, i)] - known[i] - a * F[i]
    copy(F[known.size :], defect[known.size :])
    return hold_defect(block, w, a)


@lean
def factorise_at(block, w, a, what):  # type: ignore[no-untyped-def]
    """Renew the Newton matrix and its factors at w, with new pivots where the old ones do not suit it.

    `what` is renewed: see `AHEAD` and `HELD`. The Schur complement behind the border of a matrix that is not
    renewed as a whole stays.
    """
    matrix, lu, search, state = matrix_of(block), lu_of(block), search_of(block), newton_state_of(block)
    J = matrix.J
    if what == HELD:
        for k in range(lu.mark.size):
            lu.mark[k] = 0
    else:
        jacobian(matrix.table, matrix.constant, w, J)
        for slot in matrix.resting_slots:
            J[slot] *= state.scalars[QUICK]
        for slot in matrix.state_slots:
            J[slot] *= -a
        for slot in matrix.diagonal:
            J[slot] += 1.0
    hold_matrix(block, lu.mark, what != HELD)
    state.scalars[SCALE] = np.nan
    if what != EVERY:
        state.counts[PARTIAL] += 1
        if (refactor_marked(lu, J) if what == HELD else refactor_ahead(lu, J)) or pivots_suit(lu, search, J):
            state.scalars[SCALE] = a
            return DONE
    state.counts[FACTORISATIONS] += 1
    if lu.state[READY] == 0 or not (refactor(lu, J) or pivots_suit(lu, search, J)):
        state.counts[REPIVOTS] += 1
        status = first_factors(lu, search, J)
        if status != DONE:
            return status
    state.scalars[SCALE] = state.scalars[NETWORK_SCALE] = a
    return DONE


@lean
def to_renew(block, a, due, renewed):  # type: ignore[no-untyped-def]
    """Return what to renew of a kept matrix; all if it is due again though `renewed` in this solve."""
    lu, scalars = lu_of(block), newton_state_of(block).scalars
    near = abs(a - scalars[NETWORK_SCALE]) <= TUNED.kept_network_change  # NaN: it is not
    if not near or (due and renewed) or scalars[SCALE] == OUTWORN or lu.state[READY] == 0:
        return EVERY
    if not due:
        return HELD
    return AHEAD if lu.state[BORDER] < lu.D.size else EVERY


@lean
def add_update(block, w):  # type: ignore[no-untyped-def]
    """Solve for the update and add it to w; return its norm."""
    work, places, state = work_of(block), positions_of(block), newton_state_of(block)
    update, largest = work.update, 0
    solve_factors(lu_of(block), work.defect, update)
    state.counts[SOLVES] += 1
    if matrix_of(block).turn.size > 0:
        state.scalars[TURNING] -= take_out_turn(block) / LONG
    for i in range(update.size):
        at = position(places, i)
        value = w[at] - update[i]
        w[at] = value
        largest = max(largest, whole_of(abs(update[i]) / max(1.0, abs(value))))
    state.scalars[WORST] = real_of(largest)
    state.scalars[VALID] = 0.0
    return state.scalars[WORST]


@lean
def find_worst(block, w):  # type: ignore[no-untyped-def]
    """Keep which variable the last update in w changed most, for the words on a failure."""
    _, newton_state_of(block).counts[WORST_AT] = largest_part(
        work_of(block).update, positions_of(block), w, 1.0
    )


@lean
def _done(block, w):  # type: ignore[no-untyped-def]
    """Remove the rounding by which a state at a limit may have passed it."""
    put_onto_limits(block, w)
    return DONE


@lean
def newton(block, w, a, policy, tolerance):  # type: ignore[no-untyped-def]
    """Solve one stage from the guess in w; `known` holds K, w[-1] the time of the stage; return a status."""
    state, defect = newton_state_of(block), work_of(block).defect
    scalars, count = state.scalars, state.counts
    due = not abs(scalars[SCALE] - a) <= TUNED.rounding * abs(a)  # NaN: it is
    planned, last, fresh, hopeless = due and scalars[SCALE] != OUTWORN, 0.0, False, False
    kept = policy == VERY_DISHONEST
    evaluate(block, w)
    changed = defect_at(block, w, a)
    before = largest_size(defect)
    for step in range(1, TUNED.most_iterations + 1):
        if due or changed or policy == HONEST:
            status = factorise_at(block, w, a, to_renew(block, a, due, fresh) if kept else EVERY)
            if status != DONE:
                return status
            scalars[UNSEEN] = 0.0
            if policy != HONEST:
                if not planned:
                    count[REFRESHES] += 1
                last = 0.0
            due = planned = False
            fresh = True
        if before >= TUNED.divergence_limit:  # NaN goes on to the update, which says of what
            return NOT_FINITE
        norm = add_update(block, w)
        count[ITERATIONS] += 1
        if not np.isfinite(norm):
            return NOT_FINITE
        if last > 0.0:
            theta = norm / last
            if kept and fresh and theta > TUNED.hopeless_contraction:
                if hopeless:
                    return NOT_CONVERGED
                hopeless = True
            if theta < 1.0:
                scalars[CONTRACTION] = theta / (1.0 - theta)
                if scalars[CONTRACTION] * norm < tolerance:
                    if policy == VERY_DISHONEST and step > TUNED.kept_matrix_iterations:
                        scalars[SCALE] = OUTWORN
                    return _done(block, w)
            due = theta > TUNED.contraction_limit
        elif fresh and norm < tolerance:
            return _done(block, w)
        last = norm
        blind = policy == VERY_DISHONEST and step == 1 and scalars[UNSEEN] > 0.0
        if blind and TUNED.unchecked_margin * max(scalars[FALL], TUNED.least_fall) * norm < tolerance:
            scalars[UNSEEN] -= 1.0
            return _done(block, w)
        evaluate(block, w)
        changed = defect_at(block, w, a)
        # An earlier rate promises enough and the residual at the new point confirms it: nothing left to gain.
        # A residual that hardly falls says that a kept matrix has outlived its equations.
        after = largest_size(defect)
        falls = after <= 0.5 * before or before < tolerance
        sure = (
            scalars[CONTRACTION] ** TUNED.earlier_rate_power * norm < tolerance
            and after * norm < tolerance * before
        )
        if falls and (sure or norm < tolerance) and not changed:
            scalars[FALL], scalars[UNSEEN] = after / before if before > 0.0 else 1.0, TUNED.unchecked_solves
            return _done(block, w)
        before = after
    return NOT_CONVERGED


@lean
def _shifted_defect(block, w, a):  # type: ignore[no-untyped-def]
    """Write the Newton residual at w, less what a continuation keeps of its first one."""
    evaluate(block, w)
    defect_at(block, w, a)
    share, work = newton_state_of(block).scalars[HOMOTOPY], work_of(block)
    if share != 0.0:
        for i in range(work.defect.size):
            work.defect[i] -= share * work.shift[i]


@lean
def damped_newton(block, w, a, tolerance):  # type: ignore[no-untyped-def]
    """Solve one stage from a guess that may be far off; return a status.

    Newton with a new matrix at each iteration and the restricted monotonicity test (Deuflhard, Newton Methods
    for Nonlinear Problems, section 3.3): a damped step is taken when the update that the same matrix would
    make from there is smaller by a quarter of the damping. Which limits hold is looked at anew at each trial
    point, but the matrix keeps those of the iterate within a search, so that a set of limits that swaps back
    and forth is damped out.
    """
    variables, work, state = matrix_of(block).variables, work_of(block), newton_state_of(block)
    scalars, count, start, full = state.scalars, state.counts, work.start, work.full
    count[DAMPED_SOLVES] += 1
    lapses = 0
    for _ in range(TUNED.most_iterations):
        scalars[VALID] = 0.0
        _shifted_defect(block, w, a)
        status = factorise_at(block, w, a, EVERY)
        if status != DONE:
            return status
        for i in range(variables.size):
            start[i] = w[variables[i]]
        norm = add_update(block, w)
        count[ITERATIONS] += 1
        if not np.isfinite(norm):
            return NOT_FINITE
        for i in range(variables.size):
            full[i] = work.update[i]
        damping, best, best_damping = 1.0, np.inf, TUNED.least_part
        while True:
            for i in range(variables.size):
                w[variables[i]] = start[i] - damping * full[i]
            scalars[VALID] = 0.0
            _shifted_defect(block, w, a)
            after = add_update(block, w)
            if after <= (1.0 - 0.5 * damping) * norm or after < tolerance:
                break
            if after < best:
                best, best_damping = after, damping
            damping *= 0.5
            if damping <= TUNED.least_part:
                # At the kink of a limiter no step along the update need be better: the best one leads past.
                lapses += 1
                damping = best_damping
                if lapses > TUNED.most_setbacks:
                    scalars[WORST] = norm
                    for i in range(variables.size):
                        w[variables[i]] = start[i]
                    scalars[VALID] = 0.0
                    return NOT_CONVERGED
                break
        if damping == 1.0 and after < tolerance:
            return _done(block, w)
        for i in range(variables.size):
            w[variables[i]] = start[i] - damping * full[i]
    scalars[VALID] = 0.0
    return NOT_CONVERGED


@lean
def _restore(block, w):  # type: ignore[no-untyped-def]
    guess, variables, scalars = (
        work_of(block).guess,
        matrix_of(block).variables,
        newton_state_of(block).scalars,
    )
    for i in range(guess.size):
        w[variables[i]] = guess[i]
    scalars[SCALE], scalars[CONTRACTION], scalars[VALID] = np.nan, 1.0, 0.0


@unit(_SIGNATURE, "the solver", 4)
def solve_block(block, w_address, size, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve a block for its variables in w, from the guess there; return a status."""
    w, state = reals(w_address, size), newton_state_of(block)
    guess, places = work_of(block).guess, positions_of(block)
    for i in range(guess.size):
        guess[i] = w[position(places, i)]
    status, turning = NOT_CONVERGED, state.scalars[TURNING]
    if matrix_of(block).resting.size > 0 and state.scalars[QUICK] != LONG / a:
        state.scalars[QUICK], state.scalars[VALID] = LONG / a, 0.0
    if effort != DAMPED:
        status = newton(block, w, a, policy, tolerance)
        if effort != PLAIN and policy != HONEST and status not in (DONE, NO_ROOM):
            _restore(block, w)
            state.scalars[TURNING] = turning
            state.counts[HONEST_SOLVES] += 1
            status = newton(block, w, a, numba.int64(HONEST), tolerance)
    if effort != PLAIN and status not in (DONE, NO_ROOM):
        if effort != DAMPED:
            _restore(block, w)
            state.scalars[TURNING] = turning
        status = damped_newton(block, w, a, tolerance)
    if status not in (DONE, NO_ROOM):
        find_worst(block, w)
        state.scalars[TURNING], state.scalars[VALID] = turning, 0.0
        state.scalars[SCALE] = state.scalars[NETWORK_SCALE] = np.nan
    return status


@intrinsic
def _call(typing_context, function, address, w, size, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Call `solve_block` by its address."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer, real = ir.IntType(64), ir.DoubleType()
        kinds = [integer, integer, integer, real, integer, real, integer]
        function = ir.FunctionType(integer, kinds).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), arguments[1:])

    return types.int64(types.int64, *_SIGNATURE.args), generate


@announced("the entry of the solver", 0.2)
@lean
def solve(block, w, a, policy, tolerance, effort):  # type: ignore[no-untyped-def]
    """Solve a block, given by its address; see `solve_block`."""
    solver, policy, effort = solver_of(block), numba.int64(policy), numba.int64(effort)
    return _call(solver, block, w.ctypes.data, w.size, a, policy, tolerance, effort)
