"""The points of a sweep, numbered, each made when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from psmr.base.errors import InputError, StudyError
from psmr.sweep.axes import Axis
from psmr.sweep.axes.axis import CASE, EVENT, Base
from psmr.sweep.sweep import Sweep
from psmr.sweep.variation import Points, Variation, joined, together


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
        points = [(axis, _points(sweep, axis, base)) for axis in ordered]
        # A block has one of the cases.
        points = [(axis, at[number : number + 1] if axis.rank == CASE else at) for axis, at in points]
        blocks.append(Block(number, tuple(_grouped(sweep, points))))
        _check_columns(sweep, points)
    plan = Plan(tuple(blocks), ("clearing",) if sweep.finds_clearing else ())
    if not len(plan):
        empty = [axis.kind for axis in ordered for base in bases if not len(axis.points(base))]  # type: ignore[attr-defined]
        raise StudyError(
            f"{sweep.name}: there is nothing to run; {', '.join(dict.fromkeys(empty))} has no point"
        )
    return plan


def _check_columns(sweep: Sweep, points: Iterable[tuple[Axis, Points]]) -> None:
    """Raise StudyError for two axes that fill one column."""
    known: set[str] = set()
    for axis, at in points:
        names = {name for name, _ in at[0].labels} if len(at) else set()
        for name in sorted(names & known):
            raise StudyError(
                f"{sweep.place_of(axis)}{axis.kind}: two axes vary {name}; leave one of them out, or combine "
                "them"
            )
        known |= names


def _points(sweep: Sweep, axis: Axis, base: Base) -> Points:
    """Return the points of an axis; what is wrong with it begins with its place in the file."""
    try:
        _check_times(sweep, axis)
        return axis.points(base)
    except InputError as error:
        raise StudyError(f"{sweep.place_of(axis)}{error}") from error


def _check_times(sweep: Sweep, axis: Axis) -> None:
    """Raise StudyError where no run is long enough for the faults or trips of an axis."""
    start, t_end = getattr(axis, "start", None), sweep.study.t_end
    if axis.rank != EVENT or start is None or t_end is None:
        return
    if start >= t_end:
        raise StudyError(
            f"{axis.kind}: start = {start:g}: the run ends at t_end = {t_end:g} s; begin before that, or "
            "lengthen the run"
        )
    durations = getattr(axis, "durations", None)
    if durations is None:
        return
    what, longest = "longest (of the measure)", sweep.measure.longest_fault
    if longest is None:
        what, longest = "clearing", max(durations)
    if start + longest >= t_end:
        raise StudyError(
            f"{axis.kind}: {what} = {longest:g}: a fault at {start:g} s is not cleared before the run ends, "
            f"at t_end = {t_end:g} s; lengthen the run by what a swing takes, some seconds"
        )


def _grouped(sweep: Sweep, points: Sequence[tuple[Axis, Points]]) -> Iterator[Points]:
    """Yield the points of axes, those that advance together as one."""
    done: set[str] = set()
    for axis, at in points:
        if not axis.together:
            yield at
        elif axis.together not in done:
            done.add(axis.together)
            members = [points for other, points in points if other.together == axis.together]
            try:
                found = together(axis.together, members)
            except StudyError as error:
                raise StudyError(f"{sweep.place_of(axis)}{error}") from error
            yield found
