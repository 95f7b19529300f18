"""Algebraic equations far from their solution: consistent values at the start and after an event."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.errors import SingularError
from psmr.dae.compile.kernels import residual
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.failure import algebraic_failure, matrix_at, singular_direction
from psmr.integrate.solve.newton import ALL, DAMPED, HONEST
from psmr.integrate.solve.records import HOMOTOPY
from psmr.integrate.solve.status import DONE, SINGULAR

Reals = NDArray[np.float64]


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

    Raises
    ------
    SimulationError
        When no solution is found.
    SingularError
        When g_y is singular.
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
    a machine loads that draw power down to low voltages may have no other one.

    Raises
    ------
    SimulationError
        When none of these finds a solution; `what` is the occasion in the message.
    SingularError
        When the matrix is singular; names the variable.
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
        if all(np.abs(there[solved] - other[solved]).max() > TUNED.apart for other in known):
            known.append(there)
            yield there.copy()


def _solve(block: Block, w: Reals, effort: int = DAMPED) -> int:
    return block.solve(w, 0.0, HONEST, TUNED.least_tolerance, effort)


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


def algebraic_block(system: System, parameters: Sequence[Reals], w: Reals) -> Block:
    """Return the block of all algebraic equations and variables."""
    rows = np.arange(system.n, system.n + system.m)
    return make_block(system, "event", parameters, w, rows, rows)
