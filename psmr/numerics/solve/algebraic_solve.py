"""Algebraic equations far from their solution: consistent values at the start and after an event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.dae.compile.cache import lean
from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.system import System
from psmr.errors import PsmrError, SimulationError, SingularError
from psmr.numerics.solve.block import FACTORISATIONS, ITERATIONS, SCALE, VALID, WORST, Block, make_block
from psmr.numerics.solve.failure import balance_failure
from psmr.numerics.solve.lu import refactor
from psmr.numerics.solve.newton import (
    DONE,
    LEAST_DAMPING,
    MOST_ITERATIONS,
    NO_PIVOTS,
    NOT_CONVERGED,
    NOT_FINITE,
    copy,
    evaluate,
    improve,
)

Reals = NDArray[np.float64]

# New pivots for one and the same solution or step: each block may need a first choice, and another one.
MOST_REPIVOTS = 10


@lean
def settle(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Solve F(w) = 0 for the block's variables, limits aside, from a guess that may be far off.

    Damped Newton with the natural monotonicity test (Deuflhard, Newton Methods for Nonlinear Problems,
    section 3.3): a damped step is taken when the update that the same matrix would make from there is
    smaller. Returns as `newton`.
    """
    variables, start, full = block.variables, block.start, block.full
    for _ in range(MOST_ITERATIONS):
        block.memory[VALID] = 0.0
        evaluate(block, w)
        jacobian(block.table, block.constant, w, block.J)
        block.memory[SCALE] = np.nan
        if block.lu.D.size == 0:
            return NO_PIVOTS
        block.counts[FACTORISATIONS] += 1
        if not refactor(block.lu, block.J):
            return NO_PIVOTS
        for i in range(variables.size):
            start[i] = w[variables[i]]
            block.defect[i] = block.F[i]
        norm = improve(block, w)
        block.counts[ITERATIONS] += 1
        if not np.isfinite(norm):
            return NOT_FINITE
        copy(block.update, full)
        damping = 1.0
        while True:
            block.memory[VALID] = 0.0
            for i in range(variables.size):
                w[variables[i]] = start[i] - damping * full[i]
            evaluate(block, w)
            for i in range(variables.size):
                block.defect[i] = block.F[i]
            after = improve(block, w)
            if after <= (1.0 - 0.5 * damping) * norm or after < tolerance:
                break
            damping *= 0.5
            if damping < LEAST_DAMPING:
                block.memory[WORST] = norm
                return NOT_CONVERGED
        if damping == 1.0 and after < tolerance:
            return DONE
        for i in range(variables.size):
            w[variables[i]] = start[i] - damping * full[i]
    return NOT_CONVERGED


def consistent(
    system: System,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
) -> Reals:
    """Return the y (m,) that solves g(x, y) = 0, from the given guess (the system's own where left out).

    Raises
    ------
    SimulationError
        When Newton, damped, does not converge.
    SingularError
        When g_y is singular.
    """
    w = system.buffer(x, y, u, t)
    balance(algebraic_block(system, system.parameters, w), w, "consistent values")
    return w[system.n : system.n + system.m]


def balance(block: Block, w: Reals, what: str, tolerance: float = 1e-12) -> int:
    r"""Solve F(w) = 0 for the block's variables in w, damped from a far guess; return the number of repivots.

    The guess is what w has. The values at the end of a fault may be too far from those after it: where Newton
    fails from them it begins again at the block's first solution, that of the undisturbed system, but for
    devices out of service, whose variables stay.

    The tolerance, relative to max(1, \|w\|), is a hundredth of the default Newton tolerance of a step: the
    jump at an event is no place to save an iteration.

    Raises
    ------
    SimulationError
        When Newton does not converge; `what` is the occasion in the message.
    SingularError
        When the matrix is singular; names the variable.
    """
    if block.size == 0:
        return 0
    last = w.copy()
    repivots, failure = _settle_from(block, last, w, what, tolerance)
    if failure is not None and block.first is not None:
        guess, solved = last.copy(), np.delete(block.arrays.variables, block.held_columns)
        guess[solved] = block.first[solved]
        more, again = _settle_from(block, guess, w, what, tolerance)
        repivots += more
        failure = failure if again is not None else None
    if failure is not None:
        raise failure
    if block.first is None:
        block.first = w.copy()
    block.forget()
    return repivots


def _settle_from(
    block: Block, guess: Reals, w: Reals, what: str, tolerance: float
) -> tuple[int, PsmrError | None]:
    """Solve from a guess, with new pivots where needed; return how often, and the error to raise if any."""
    for repivots in range(MOST_REPIVOTS):
        w[:] = guess
        status = settle(block.arrays, w, tolerance)
        if status == DONE:
            return repivots, None
        if status != NO_PIVOTS:
            return repivots, balance_failure(block, status, guess, w, what)
        try:
            block.repivot()
        except SingularError as error:
            raise SingularError(f"{what} (t = {w[-1]:.6g} s): {error}") from error
    raise SimulationError(f"{what} (t = {w[-1]:.6g} s): no pivots suit the matrix on the way to a solution")


def algebraic_block(system: System, parameters: Sequence[Reals], w: Reals) -> Block:
    """Return the block of all algebraic equations and variables."""
    rows = np.arange(system.n, system.n + system.m)
    return make_block(system, "event", parameters, w, rows, rows)
