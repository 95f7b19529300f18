"""From the status of compiled code to an error that says what, where, and what to try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import PsmrError, SimulationError, SingularError
from psmr.dae.compile.kernels import residual
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.impasse import impasse
from psmr.integrate.solve.records import WORST, WORST_AT
from psmr.integrate.solve.status import (
    NOT_AGREED,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_SETTLED,
    SINGULAR,
    SLOW_TO_AGREE,
    Status,
)

Reals = NDArray[np.float64]


_REMEDY = {
    NOT_SETTLED: "take an implicit method (TM, BEM, SDIRK2), which solves for both at once",
    NOT_AGREED: "try a smaller h_slow, another partition, a larger epsilon or a fixed number of corrections",
    SLOW_TO_AGREE: "take a larger epsilon, a fixed number of corrections or a smaller h_slow",
    NOT_FINITE: "try a smaller step, and look for a voltage that collapses or an unstable scheme",
    NOT_CONVERGED: "try a smaller step, and look for a voltage that collapses: there may be no solution",
}


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


def worst_variable(block: Block) -> str:
    """Return the variable of the last update that was largest."""
    return block.columns[int(block.records.newton.counts[WORST_AT])]


def step_failure(block: Block, status: int, w: Reals, h: float, least: float, difference: float) -> PsmrError:
    """Return the error for a step that did not end, not even subdivided.

    Parameters
    ----------
    block
        Block in whose solution it failed.
    status
        How it ended.
    w
        Buffer at the start of the step.
    h, least
        Step in s, and the least part of it that was tried.
    difference
        Last difference of slow solution and prediction, where the corrections did not agree.
    """
    where = f"t = {w[-1]:.6g} s, step {h:.3g} s, {block.purpose} ({block.size} unknowns)"
    if least < h:
        where += f", in parts down to {least:.3g} s"
    if status == SINGULAR:
        return SingularError(f"{where}: {block.singular(status)}")
    details = [Status(status).sentence]
    if status == NOT_FINITE:
        details.append(f"It is {worst_variable(block)}.")
    if status == NOT_CONVERGED:
        update = block.records.newton.scalars[WORST]
        details.append(
            f"The largest update is still that of {worst_variable(block)}, {update:.3g} relative to"
            f" max(1, |value|)."
        )
    if status in (NOT_AGREED, SLOW_TO_AGREE):
        details.append(
            f"The slow solution still differs by {difference:.3g} from the prediction it came from."
        )
    remedy = _REMEDY[status]
    if status in (NOT_FINITE, NOT_CONVERGED):
        part = least if least < h else 0.0
        why = impasse(block, w, part) if part or least <= TUNED.rounding * max(1.0, abs(w[-1])) else ""
        last = f"At the start of the step the largest algebraic residual is {worst_residual(block, w)}."
        details.append(why or last)
        if why:
            remedy = "look at that equation, its limits, and what it reads"
            remedy = f"take a smaller step or psmr.VariableStep; {remedy}" if part else remedy
    return SimulationError(f"{where}: {' '.join(details)} Remedy: {remedy}")


def algebraic_failure(block: Block, status: int, before: Reals, after: Reals, what: str) -> PsmrError:
    """Return the error for algebraic equations without a solution near the guess.

    Parameters
    ----------
    before, after
        Buffers at the guess and where Newton stopped.
    what
        Words for the occasion: the start, the label of a change.
    """
    name = worst_variable(block)
    reason = f"{name} left the finite numbers"
    if status == NOT_CONVERGED:
        reason = (
            f"Newton stopped at {name} (update {block.records.newton.scalars[WORST]:.3g}), where neither "
            "damped nor full steps make it better, and no continuation leads on"
        )
    return SimulationError(
        f"{what} (t = {before[-1]:.6g} s): the equations have no solution near the last values: {reason}; "
        f"residual at first {worst_residual(block, before)}, in the end {worst_residual(block, after)}; "
        "look for loads that the remaining network cannot supply, or an island without a source"
    )
