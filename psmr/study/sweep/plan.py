"""The points of a sweep, numbered, each made when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from psmr.errors import StudyError
from psmr.study.sweep.axes import Axis
from psmr.study.sweep.axes.axis import CASE, Base
from psmr.study.sweep.sweep import Sweep
from psmr.study.sweep.variation import Points, Together, Variation, joined


@dataclass(frozen=True)
class Block:
    """The points of one case: all combinations of its axes, the last one fastest."""

    case: int
    axes: tuple[Points, ...]

    def __len__(self) -> int:
        return math.prod(len(axis) for axis in self.axes)

    def point(self, number: int) -> Variation:
        """Return a point."""
        parts = []
        for axis in reversed(self.axes):
            number, k = divmod(number, len(axis))
            parts.append(axis[k])
        return joined(reversed(parts))


@dataclass(frozen=True)
class Plan:
    """All points of a sweep, numbered from 0."""

    blocks: tuple[Block, ...]
    hidden: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def point(self, number: int) -> tuple[int, Variation]:
        """Return the number of the case and what varies."""
        for block in self.blocks:
            if number < len(block):
                return block.case, block.point(number).without_labels(self.hidden)
            number -= len(block)
        raise IndexError(number)

    def labels(self) -> tuple[str, ...]:
        """Return the names of the columns that say what varied."""
        names: dict[str, None] = {}
        for block in self.blocks:
            if len(block):
                names |= dict.fromkeys(name for name, _ in block.point(0).labels)
        return tuple(name for name in names if name not in self.hidden)


def plan_of(sweep: Sweep, bases: Sequence[Base]) -> Plan:
    """Return the points of a sweep on the systems of its cases.

    Raises
    ------
    StudyError
        For an axis that finds a name missing, axes that vary the same, and where there is no point at all.
    """
    if not sweep.axes:
        raise StudyError(f"{sweep.name}: nothing varies; add [[axis]] tables")
    ordered = sorted(sweep.axes, key=lambda axis: axis.rank)
    blocks = []
    for number, base in enumerate(bases):
        groups = list(_grouped([axis for axis in ordered if axis.rank != CASE], base))
        case = [axis.points(base)[number : number + 1] for axis in ordered if axis.rank == CASE]
        blocks.append(Block(number, (*case, *groups)))
    plan = Plan(tuple(blocks), sweep.measure.replaces)
    if not len(plan):
        empty = [axis.kind for axis in ordered for base in bases if not len(axis.points(base))]  # type: ignore[attr-defined]
        raise StudyError(
            f"{sweep.name}: there is nothing to run; {', '.join(dict.fromkeys(empty))} has no point"
        )
    for block in plan.blocks:
        if len(block):
            block.point(0)  # two axes that vary the same are found here
    return plan


def _grouped(axes: Sequence[Axis], base: Base) -> Iterator[Points]:
    """Yield the points of axes, those that advance together as one."""
    done: set[str] = set()
    for axis in axes:
        if not axis.together:
            yield axis.points(base)
        elif axis.together not in done:
            done.add(axis.together)
            members = [other for other in axes if other.together == axis.together]
            yield Together(axis.together, [member.points(base) for member in members])
