"""Algebraic equations far from their solution: consistent values at the start and after an event.

Where there is none, and where a step fails: an error that says what, where, why and what to try.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SimulationError, SingularError
from psmr.dae.compile.kernels import jacobian, residual
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.newton import ALL, DAMPED, HONEST
from psmr.integrate.solve.records import HOMOTOPY, WORST, WORST_AT
from psmr.integrate.solve.status import (
    DONE,
    NOT_AGREED,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_SETTLED,
    SINGULAR,
    SLOW_TO_AGREE,
    Status,
)

# How far beyond the point the equations are looked at, relative to max(1, |w|): further by far than the step
# that vanished. What jumps does so at once; what is smooth changes ten times less over a tenth of the way.
AHEAD = 1e-6
JUMPS, NOTICED = 0.5, 1e-7

# Solves after which states at rest are, each to a millionth.
PASSES = 3

# A value that no quantity has, in its unit: it has grown without bound.
UNBOUNDED = 1e9


# Inverse iterations for a singular direction: at a fold its eigenvalue is far below all others.
ITERATIONS = 4


class Impasse(NamedTuple):
    """What a run cannot pass: a sentence that names the equation or limiter, and whether that jumps there."""

    words: str
    jump: bool = False


def impasse(block: Block, w: Reals, least: float = 0.0) -> Impasse | None:
    """Return what a run cannot pass; None where nothing is found.

    `block`: The equations that have no solution beyond the point, states among them.
    `w`: Buffer at the point; the block's variables solve the algebraic equations there.
    `least`: The shortest step in s that was tried: what cannot be passed lies within it.
    """
    states, variables = block.kernels.states, block.records.matrix.variables
    here = _residual(block, w)
    values = w[variables]
    worst = int(np.argmax(np.where(np.isfinite(values), np.abs(values), np.inf)))
    if not abs(values[worst]) < UNBOUNDED:
        return Impasse(f"{block.columns[worst]} = {values[worst]:.3g} grows without bound.")
    if (bad := np.flatnonzero(~np.isfinite(here))).size:
        return Impasse(f"The equation of {block.rows[bad[0]]} has no value there.")
    rates = here[:states]
    pace = float(np.max(np.abs(rates) / np.maximum(1.0, np.abs(values[:states])), initial=1.0))
    farthest = max(AHEAD * max(1.0, abs(w[-1])) / pace, 20.0 * least)
    moves, changes = _tangent(block, w, rates), []
    for dt in (farthest, 0.1 * farthest):
        ahead = w.copy()
        ahead[variables] += dt * moves
        ahead[-1] += dt
        changes.append(_residual(block, ahead) - here)
    far, near = changes
    if (bad := np.flatnonzero(~np.isfinite(near))).size:
        return Impasse(
            f"The equation of {block.rows[bad[0]]} has no value just beyond{_limit(block, w, int(bad[0]))}."
        )
    jumps = (np.abs(near) > JUMPS * np.abs(far)) & (np.abs(near) > NOTICED * np.maximum(1.0, np.abs(here)))
    if jumps.any():
        at = int(np.argmax(np.where(jumps, np.abs(near), 0.0)))
        return Impasse(
            f"The equation of {block.rows[at]} jumps there, from {here[at]:.4g} to {here[at] + near[at]:.4g}"
            f": a limiter or a comparison in it changes its side{_limit(block, w, at)}.",
            jump=True,
        )
    if (fold := _fold(block, w)) is not None:
        variable, row = fold
        return Impasse(
            f"The algebraic equations come to a fold: {variable} changes ever faster, and the equation of "
            f"{row} has no solution near the last one beyond; a voltage collapse looks like this."
        )
    return None


def _residual(block: Block, w: Reals) -> Reals:
    out = np.empty(block.size + 1)
    residual(block.kernels.table, w, out)
    return out[:-1]


def _tangent(block: Block, w: Reals, rates: Reals) -> Reals:
    """Return how fast the block's variables move: the states as they do, the algebraic ones with them.

    Only the states where the algebraic equations are singular.
    """
    moves, states = np.zeros(block.size), block.kernels.states
    moves[:states] = rates
    if states < block.size:
        matrix = matrix_at(block, w)[states:]
        with contextlib.suppress(RuntimeError):  # singular to the last digit
            moves[states:] = -splu(matrix[:, states:].tocsc()).solve(matrix[:, :states] @ rates)
    return np.where(np.isfinite(moves), moves, 0.0)


def _limit(block: Block, w: Reals, row: int) -> str:
    """Return words for the limit that the state of an equation is at, "" where it is at none."""
    if row >= block.kernels.states:
        return ""
    value, limits = w[block.records.matrix.variables[row]], block.records.limits
    for name, bound in (("lower", limits.lower[row]), ("upper", limits.upper[row])):
        if np.isfinite(bound) and abs(value - bound) <= AHEAD * max(1.0, abs(bound)):
            return f"; {block.columns[row]} is at its {name} limit {bound:.6g}"
    return ""


def _fold(block: Block, w: Reals) -> tuple[str, str] | None:
    """Return the algebraic variable and equation that a fold near w shows in most; None where there is none.

    With r and l the directions that the algebraic matrix g_y makes smallest from the right and from the left,
    l g_y r changes its sign where w passes a fold along r: two solutions meet there. How large the entries of
    g_y are plays no part, so that a branch of next to no impedance is not taken for a fold.
    """
    states, variables = block.kernels.states, block.records.matrix.variables
    if states == block.size:
        return None
    matrix = matrix_at(block, w)[states:, states:]
    column, row = singular_direction(matrix), singular_direction(matrix.T.tocsc())
    most = int(np.abs(column).argmax())
    reach = TUNED.negligible * max(1.0, abs(w[variables[states + most]]))
    here = row @ (matrix @ column)
    for way in (reach, -reach):
        there = w.copy()
        there[variables[states:]] += way * column
        if here * (row @ (matrix_at(block, there)[states:, states:] @ column)) < 0.0:
            return block.columns[states + most], block.rows[states + int(np.abs(row).argmax())]
    return None


def matrix_at(block: Block, w: Reals) -> sparse.csc_matrix:
    """Return the derivatives of a block's equations by its variables, limits not applied."""
    kernels, values = block.kernels, np.empty(block.kernels.nnz + 1)
    jacobian(kernels.table, block.records.matrix.constant, w, values)
    parts = (values[:-1], kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32))
    return sparse.csc_matrix(parts, shape=(block.size, block.size))


def singular_direction(matrix: sparse.csc_matrix) -> Reals:
    """Return the vector of largest entry 1 that a matrix makes smallest; zero where none is found."""
    none = np.zeros(matrix.shape[0])
    direction = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        factors = splu(matrix)
    except RuntimeError:  # singular to the last digit
        return none
    for _ in range(ITERATIONS):
        direction = factors.solve(direction)
        direction /= float(np.abs(direction).max())
    return direction if np.isfinite(direction).all() else none


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
    """Return the error for a step of h in s from w that ended with a status in a block, not even subdivided.

    `least`: The least part of it in s that was tried.
    `difference`: Last difference of slow solution and prediction, where the corrections did not agree.
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
        sought = part or least <= TUNED.rounding * max(1.0, abs(w[-1]))
        why = impasse(block, w, part) if sought else None
        last = f"At the start of the step the largest algebraic residual is {worst_residual(block, w)}."
        details.append(why.words if why else last)
        if why:
            remedy = "look at that equation, its limits, and what it reads"
            remedy = f"take a smaller step or psmr.VariableStep; {remedy}" if part else remedy
    return SimulationError(f"{where}: {' '.join(details)} Remedy: {remedy}")


def algebraic_failure(block: Block, status: int, before: Reals, after: Reals, what: str) -> PsmrError:
    """Return the error for algebraic equations without a solution near the guess.

    `before`, `after`: Buffers at the guess and where Newton stopped.
    `what`: Words for the occasion: the start, the label of a change.
    """
    name = worst_variable(block)
    reason = f"{name} left the finite numbers"
    if status == NOT_CONVERGED:
        reason = (
            f"Newton stopped at {name} (update {block.records.newton.scalars[WORST]:.3g}), where neither "
            "damped nor full steps make it better, and no continuation leads on"
        )
    found, remedy = "the equations have no solution near the last values", ""
    if block.resting.size:
        found = (
            "the states at rest have no equilibrium near the last values (a voltage collapse looks like this)"
        )
        remedy = (
            "go on from there with psmr.VariableStep, which follows what they do; leave out a fault that is "
            "cleared within a second, and keep what it trips; or "
        )
    return SimulationError(
        f"{what} (t = {before[-1]:.6g} s): {found}: {reason}; "
        f"residual at first {worst_residual(block, before)}, in the end {worst_residual(block, after)}; "
        f"{remedy}look for loads that the remaining network cannot supply, or an island without a source"
    )


# By which shares the last values are disturbed in search of another solution.
SPREADS = (0.1, 0.1, 0.5, 0.5, 1.0, 1.0)

# How far along the singular direction, in the variable that moves most, another solution is looked for.
ALONG = (0.05, -0.05, 0.1, -0.1, 0.2, -0.2, 0.5, -0.5)


def consistent(
    system: System,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
) -> Reals:
    """Return the y (m,) that solves g(x, y) = 0, from the given guess (the system's own where left out).

    Raises SimulationError when no solution is found; SingularError when g_y is singular.
    """
    w = system.buffer(x, y, u, t)
    algebraic_solve(algebraic_block(system, system.parameters, w), w, "consistent values")
    return w[system.n : system.n + system.m]


def algebraic_solve(block: Block, w: Reals, what: str) -> None:
    """Solve F(w) = 0 for the block's variables in w, from a guess that may be far off: what w has.

    The values at the end of a fault may be too far from those after it. Where damped Newton fails from them
    it begins again at the block's first solution, that of the undisturbed system (devices out of service
    aside, whose variables stay); where that fails too, a continuation leads from the last values to the
    solution: F(w) = (1 - s) F(last), with s from 0 to 1. Full steps from where damping ended come next, since
    they may lead to another solution, of low voltages, and values disturbed at random last: after the loss of
    a machine loads that draw power down to low voltages may have no other one. Raises SimulationError when
    none of these finds a solution; `what` is the occasion in the message; SingularError when the matrix is
    singular; names the variable.
    """
    if block.size == 0:
        return
    last = w.copy()
    status = _solve(block, w)
    if status == SINGULAR:
        raise SingularError(f"{what} (t = {w[-1]:.6g} s): {block.singular(status)}")
    if status != DONE:
        failure = algebraic_failure(block, status, last, w, what)
        found = next(_other_ways(block, last, w.copy()), None)
        if found is None:
            raise failure
        w[:] = found
    if block.first is None:
        block.first = w.copy()
    block.forget()


def _other_ways(block: Block, last: Reals, ended: Reals) -> Iterator[Reals]:
    """Yield the solutions to which other ways lead than damped Newton from the last values, which `ended`.

    Near a root without a derivative (what a converter's limit leaves, where that is nothing) damping takes a
    part of the way for ever; full steps from there, each limiter on its side, are exact.
    """
    ends = [ended]
    if block.first is not None:
        solved, w = block.records.matrix.variables, last.copy()
        w[solved] = block.first[solved]
        ends.append(w)
        if _solve(block, w) == DONE:
            yield w
    if (continued := _continued(block, last)) is not None:
        yield continued
    for w in ends:
        if np.isfinite(w).all() and _solve(block, w, ALL) == DONE:
            yield w
    yield from other_solutions(block, last)


def other_solutions(block: Block, w: Reals) -> Iterator[Reals]:
    """Yield buffers that solve F(w) = 0 for the block's variables otherwise than w does.

    Where the solution that a run follows ends (a fold), the network may have another one. It is looked for
    from the block's first solution, that of the undisturbed system; from the last values moved along the
    direction in which the matrix is singular at the fold, beyond the twin with which the solution ends; and
    from the last values, disturbed.
    """
    if block.size == 0 or block.first is None:
        return
    solved = block.records.matrix.variables
    draw = np.random.default_rng(0).standard_normal
    starts = [block.first[solved]]
    direction = singular_direction(matrix_at(block, w))
    starts += [w[solved] + size * direction for size in ALONG]
    starts += [w[solved] * (1.0 + spread * draw(solved.size)) for spread in SPREADS]
    known = [w.copy()]
    # Damped steps keep to the valley of the solution that ends; full ones leave it.
    for start, effort in itertools.product(starts, (DAMPED, ALL)):
        there = w.copy()
        there[solved] = start
        block.forget()
        if _solve(block, there, effort) != DONE:
            continue
        if all(np.abs(there[solved] - other[solved]).max() > TUNED.solution_distance for other in known):
            known.append(there)
            yield there.copy()


def _solve(block: Block, w: Reals, effort: int = DAMPED) -> int:
    states = block.kernels.states
    if not states:
        return block.solve(w, 0.0, HONEST, TUNED.least_tolerance, effort)
    for _ in range(PASSES):  # what rests is so to a part of where it came from
        block.records.work.known[:] = w[block.records.matrix.variables[:states]]
        status = block.solve(w, 1.0, HONEST, TUNED.rounding, ALL)
        if status != DONE:
            break
    return status


def _continued(block: Block, last: Reals) -> Reals | None:
    """Follow the solution of F(w) = part F(last) from part = 1 to part = 0; None where it does not end."""
    records = block.records
    shift = np.empty(block.size + 1)
    residual(records.matrix.table, last, shift)
    if not np.isfinite(shift[:-1]).all():
        return None
    w = last.copy()
    part, step, direction = 1.0, TUNED.first_continuation, None
    for _ in range(2 * TUNED.most_rounds):
        before = w.copy()
        target = max(0.0, part - step)
        if direction is not None:
            w += (target - part) * direction
        block.records.work.shift[:] = shift[:-1]
        block.records.newton.scalars[HOMOTOPY] = target
        status = _solve(block, w)
        block.records.newton.scalars[HOMOTOPY] = 0.0
        if status == DONE and target == 0.0:
            return w
        if status == DONE:
            direction = (w - before) / (target - part)
            part, step = target, 2.0 * step
        else:
            w[:] = before
            step *= 0.5
            if step < TUNED.least_continuation:
                return None
    return None


def algebraic_block(
    system: System, parameters: Sequence[Reals], w: Reals, resting: NDArray[np.intp] | None = None
) -> Block:
    """Return the block of all algebraic equations and variables, and of the states at rest (positions)."""
    rows = np.arange(system.n, system.n + system.m)
    if resting is None:
        return make_block(system, "event", parameters, w, rows, rows)
    rows = np.append(resting, rows)
    block = make_block(system, "event", parameters, w, rows, rows)
    block.rest(system, resting)
    return block
