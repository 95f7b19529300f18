"""Staircases of held inputs in a run: within its spans, or as changes of their own where that cannot be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.run.advance_span import solve_within_limits
from psmr.integrate.schemes.scheme import Engine
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.courses import Course
from psmr.integrate.solve.records import LOWER_AT, UPPER_AT
from psmr.integrate.step.input_jumps import JumpTable
from psmr.integrate.step.sampling import Samplers
from psmr.integrate.timeline.span import Change, Span


def with_snapped_jumps(changes: Sequence[Change], t_start: float, t_end: float, same: float) -> list[Change]:
    """Return changes whose staircases jump at one instant where instants are closer than `same` in s."""
    own = [course.t for change in changes for _, course in change.courses if course.jumps]
    fixed = np.unique(np.array([t_start, t_end, *(change.t for change in changes)]))
    times = np.unique(np.concatenate(own))
    begins = np.diff(times, prepend=-np.inf) > same
    instants = times[begins][np.cumsum(begins) - 1]
    near = fixed[np.clip(np.searchsorted(fixed, instants - same), 0, fixed.size - 1)]
    instants = np.where(np.abs(near - instants) <= same, near, instants)

    def snapped(course: Course) -> Course:
        if not course.jumps:
            return course
        t = instants[np.searchsorted(times, course.t)]
        kept = np.append(np.diff(t) > 0.0, True)
        return Course(t[kept], course.value[kept], course.rate[kept])

    return [
        replace(change, courses=tuple((name, snapped(course)) for name, course in change.courses))
        if change.courses
        else change
        for change in changes
    ]


def with_jumps_as_changes(
    changes: Sequence[Change],
    t_start: float,
    t_end: float,
    same: float,
    names: Collection[str] | None = None,
) -> list[Change]:
    """Return changes without staircases, or without those of some held inputs: each jump is a change."""
    return [found for change in changes for found in _by_jumps(change, changes, t_end - same, names)]


def _by_jumps(
    change: Change, changes: Sequence[Change], end: float, names: Collection[str] | None
) -> Iterator[Change]:
    """Yield a change and those at the jumps of its staircases, or of some inputs', before `end` in s."""
    own = (entry for entry in change.courses if names is None or entry[0] in names)
    stairs = {name: course for name, course in own if course.jumps}
    others = tuple(entry for entry in change.courses if entry[0] not in stairs)
    begun = tuple((name, float(course.at(change.t))) for name, course in stairs.items())
    yield replace(change, courses=others, inputs=(*change.inputs, *begun)) if stairs else change
    for name, course in stairs.items():
        sets = (c for c in changes if any(name == own for own, _ in (*c.inputs, *c.rates, *c.courses)))
        named = (c.t for c in sets if c.t > change.t)
        until = min([end, *named])
        for t, value in zip(course.t.tolist(), course.value.tolist(), strict=True):
            if change.t < t < until:
                yield Change(t, inputs=((name, value),), causes=change.causes)


def at_jump(span: Span, end: float, last: float, same: float) -> float:
    """Return when steps end that were to end at `end` in s: at a jump of a held input closer than `same`.

    At `last` in s, and beyond, all jumps are where they are to be.
    """
    for course in span.staircases.values() if end < last else ():
        near = course.t[np.abs(course.t - end) <= same]
        if near.size:
            return float(near[0])
    return end


def jump_table(
    system: System,
    engine: Engine,
    algebraic: Block,
    span: Span,
    t: float,
    last: float,
    fast: bool,
    samplers: Samplers | None,
    samples: Reals | None,
) -> JumpTable | None:
    """Return the jumps of a span behind t and before `last` in s; None where nothing jumps or samples.

    `fast`: whether fast equations alone read what jumps. `samplers`, `samples`: what samples, and the
    instants in s of samples on a grid; None where steps are chosen, which end at samples by themselves.
    """
    first = system.n + system.m
    courses = {first + place: course for place, course in span.staircases.items()}
    if not courses and samplers is None:
        return None

    def resolve(w: Reals) -> None:
        names = ", ".join(system.names_u[place] for place in span.staircases)
        what = f"jump of {names}" if names else "what samples write"
        solve_within_limits(system, algebraic, w, what, system.constant_limits(span.parameters), span.out)

    answered, near = _answered(system, engine, list(courses)), 0.0
    answering = algebraic if answered else None
    if samplers is not None:
        answering, near = algebraic if answered or samplers.answered else None, samplers.compiled.near
    instants = np.zeros(0) if samples is None else samples
    table = JumpTable.of(courses, t, last, answering, answered, fast, resolve, instants, near)
    return table if table.t.size or (samplers is not None and samples is None) else None


def _answered(system: System, engine: Engine, inputs: Sequence[int]) -> bool:
    """Return whether an algebraic equation, or a limit, reads one of some held inputs (positions in w)."""
    for group in system.groups:
        row, column = np.array(group.compiled.entries, np.intp).reshape(-1, 2).T
        read = np.isin(group.index[:, column], inputs)
        if (group.row[:, row][read] >= system.n).any():
            return True
    moving = engine.blocks[0].records.limits.moving
    return bool(np.isin(moving[:, [LOWER_AT, UPPER_AT]], inputs).any())
