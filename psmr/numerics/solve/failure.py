"""From the status of compiled code to an error that says what, where, and what to try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.kernels import residual
from psmr.errors import PsmrError, SimulationError
from psmr.numerics.solve.block import WORST, WORST_AT, Block
from psmr.numerics.solve.newton import (
    LEAST_DAMPING,
    MOST_ITERATIONS,
    MOST_ROUNDS,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_SETTLED,
)

Reals = NDArray[np.float64]


def worst_residual(block: Block, w: Reals) -> str:
    """Return the equation of the block with the largest raw algebraic residual at w, with its value."""
    out = np.empty(block.size + 1)
    residual(block.kernels.table, w, out)
    states = block.kernels.states
    part = out[states:-1]
    if part.size == 0:
        return "no algebraic equation"
    bad = np.flatnonzero(~np.isfinite(part))
    at = int(bad[0]) if bad.size else int(np.argmax(np.abs(part)))
    return f"{block.rows[states + at]} = {part[at]:.3g}"


def step_failure(block: Block, status: int, w: Reals, h: float, honest: bool) -> PsmrError:
    """Return the error for a step that did not end.

    Parameters
    ----------
    block
        Block in whose solution it failed.
    status
        `NOT_FINITE`, `NOT_CONVERGED` or `NOT_SETTLED`.
    w
        Buffer at the start of the step.
    h
        Step in s.
    honest
        Whether the Jacobian is already refreshed at every iteration.
    """
    count, memory = block.arrays.counts, block.arrays.memory
    name = block.columns[int(count[WORST_AT])]
    where = f"t = {w[-1]:.6g} s, step {h:.3g} s, {block.purpose} ({block.size} unknowns)"
    if status == NOT_SETTLED:
        return SimulationError(
            f"{where}: a state and its limit, of which one moves the other, have not settled after "
            f"{MOST_ROUNDS} rounds; take an implicit method (TM, BEM, SDIRK2), which solves for both at once"
        )
    remedy = "try a smaller step" + ("" if honest else " or newton='honest'")
    start = f"at the start of the step the largest algebraic residual is {worst_residual(block, w)}"
    if status == NOT_FINITE:
        return SimulationError(
            f"{where}: {name} left the finite numbers; {start}; {remedy}, "
            "and look for a voltage that collapses or an unstable scheme"
        )
    return SimulationError(
        f"{where}: Newton did not converge in {MOST_ITERATIONS} iterations; the largest update is still "
        f"that of {name}, {memory[WORST]:.3g} relative to max(1, |value|); {start}; {remedy}"
    )


def disagreement(w: Reals, h: float, difference: float, epsilon: float) -> PsmrError:
    """Return the error for corrections that do not converge; w is the buffer at its start."""
    return SimulationError(
        f"t = {w[-1]:.6g} s, macro step {h:.3g} s: the corrections do not converge: the slow solution still "
        f"differs by {difference:.3g} from the prediction it came from (epsilon = {epsilon:g}); try "
        "a smaller h_slow, solution='TM', another partition or a fixed number of corrections"
    )


def balance_failure(block: Block, status: int, before: Reals, after: Reals, what: str) -> PsmrError:
    """Return the error for algebraic equations without a solution near the guess.

    Parameters
    ----------
    before, after
        Buffers at the guess and where Newton stopped.
    what
        Words for the occasion: the start, the label of a change.
    """
    name = block.columns[int(block.arrays.counts[WORST_AT])]
    reason = {
        NOT_FINITE: f"{name} left the finite numbers",
        NOT_CONVERGED: f"Newton stopped at {name} (update {block.arrays.memory[WORST]:.3g}), where not even "
        f"{LEAST_DAMPING:g} of the step makes it better",
    }[status]
    return SimulationError(
        f"{what} (t = {before[-1]:.6g} s): the equations have no solution near the last values: {reason}; "
        f"residual at first {worst_residual(block, before)}, in the end {worst_residual(block, after)}; "
        "look for loads that the remaining network cannot supply, or an island without a source"
    )
