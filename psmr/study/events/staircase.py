"""Jumps of held inputs that follow one another closely: one staircase in place of many changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from psmr.dae.system.system import System
from psmr.integrate.solve.courses import Course
from psmr.integrate.timeline.span import Change

CLOSE = 0.1
"""Time in s between two jumps of held inputs below which both are of one staircase, and no events apart."""

FEWEST = 3
"""Jumps that make a staircase."""


def sets_inputs_alone(change: Change) -> bool:
    """Return whether a change sets held inputs and does nothing else."""
    others = (
        change.parameters, change.out, change.rates, change.courses, change.states, change.back, change.parts,
    )  # fmt: skip
    return type(change) is Change and bool(change.inputs) and not any(others)


def with_staircases(
    system: System, changes: Sequence[Change], conditional: Collection[str] = ()
) -> tuple[Change, ...]:
    """Return changes, in order of time, with those as courses that set held inputs alone and are close.

    The first of them begins the courses and the last one ends them. What else happens in between divides
    them; so does the unknown value of an input that follows a line. Inputs that may be set on a condition
    (`conditional`) are left as they are: a jump says what they are from then on, and nothing of before.
    """
    held: dict[str, float | None] = dict(zip(system.names_u, system.u0.tolist(), strict=True))
    found: list[Change] = []
    for group in _groups(changes, conditional):
        found += _staircase(group, held) if len(group) >= FEWEST else group
        for change in group:
            held |= change.inputs
            held |= dict.fromkeys(name for name, _ in (*change.rates, *change.courses))
    return tuple(found)


def _groups(changes: Sequence[Change], conditional: Collection[str]) -> Iterator[list[Change]]:
    """Yield successive changes, those together that may be one staircase."""
    group: list[Change] = []

    def fits(change: Change) -> bool:
        return sets_inputs_alone(change) and not any(name in conditional for name, _ in change.inputs)

    for change in changes:
        joins = bool(group) and change.t - group[-1].t < CLOSE
        if not (joins and fits(change) and fits(group[-1])):
            if group:
                yield group
            group = []
        group.append(change)
    if group:
        yield group


def _staircase(group: Sequence[Change], held: dict[str, float | None]) -> list[Change]:
    """Return the changes of a group as a begin with courses and an end; `held` has the inputs before them."""
    first, last = group[0], group[-1]
    rows: dict[str, list[tuple[float, float]]] = {}
    for change in group:
        for name, value in change.inputs:
            before = held[name]
            if name not in rows and change is not first:
                if before is None:
                    return list(group)
                rows[name] = [(first.t, before)]
            rows.setdefault(name, []).append((change.t, value))
    courses = []
    for name, own in rows.items():
        jumps = [own[0], *(row for ahead, row in pairwise(own) if row[1] != ahead[1])]
        if len(jumps) > 1:
            t, value = np.array(jumps).T
            courses.append((name, Course.held(t, value)))
    label = f"{first.label}, in {len(group)} steps until t = {last.t:g} s"
    causes = tuple(cause for change in group[:-1] for cause in change.causes)
    ends = tuple((name, own[-1][1]) for name, own in rows.items())
    return [
        replace(first, courses=tuple(courses), label=label, causes=causes),
        replace(last, inputs=ends),
    ]
