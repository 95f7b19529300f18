"""Held inputs that change at given instants within a span: what compiled code reads, and where it comes from.

An instant is no event: a step ends there, or a fast step within a macro step, the new values are written into
w and the algebraic variables are solved for anew, with the matrices that there are. What is due to sample at
an instant reads before and writes with them (`psmr.integrate.step.sampling`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.courses import Course

NO_JUMP = -1


class InputJumps(NamedTuple):
    """What the loop needs of held inputs that jump.

    `t`, `first`: (J,) instants in s, and (J + 1,) first entry of each.
    `since`: (J,) time in s up to which samples were taken before each instant of a grid; empty of steps that
      are chosen, each of whose ends is looked at.
    `at`, `value`: Entries: position in w of the held input, and its value from there on.
    `ends`: Instant at each stop of steps that are chosen, or at the end of each step of a grid; `NO_JUMP`.
    `within`, `points`: Instant at each point within the steps of a grid, and the first point of each step;
      `within` is empty where no instant is within a step.
    `algebraic`: Address of the block of all algebraic equations; 0 where none reads an input that jumps.
    `answered`: Whether one reads an input that is on a staircase.
    `fast`: Number of the block of the fast equations, whose algebraic variables answer within a step.
    """

    t: np.ndarray
    since: np.ndarray
    first: np.ndarray
    at: np.ndarray
    value: np.ndarray
    ends: np.ndarray
    within: np.ndarray
    points: np.ndarray
    algebraic: int
    answered: int
    fast: int


@functools.cache
def no_jumps() -> InputJumps:
    """Return what stands in a span in which no input jumps."""
    none = np.zeros(0, np.int64)
    return InputJumps(
        np.zeros(0),
        np.zeros(0),
        np.zeros(1, np.int64),
        np.zeros(0, np.uint32),
        np.zeros(0),
        none,
        none,
        none,
        0,
        0,
        NO_JUMP,
    )


@lean
def write_inputs(jumps, k, w):  # type: ignore[no-untyped-def]
    """Write the held inputs as they are from instant k on."""
    for entry in range(jumps.first[k], jumps.first[k + 1]):
        w[jumps.at[entry]] = jumps.value[entry]


@dataclass(frozen=True, eq=False)
class JumpTable:
    """The instants of a span at which held inputs jump, on a grid of steps those of samples among them.

    `begin`: Where the span, or the march of it, begins, in s.
    `t`: (J,) instants in s, ascending.
    `first`, `at`, `value`: See `InputJumps`.
    `algebraic`: The block of all algebraic equations; None where none reads an input that jumps.
    `answered`: Whether one reads an input that is on a staircase.
    `fast`: Whether fast equations alone read them, so that an instant may be within a macro step.
    `resolve`: Solves the point in w behind a jump that Newton alone does not get through.
    """

    begin: float
    t: Reals
    first: NDArray[np.int64]
    at: NDArray[np.uint32]
    value: Reals
    algebraic: Block | None
    answered: bool
    fast: bool
    resolve: Callable[[Reals], None]

    @classmethod
    def of(
        cls,
        courses: Mapping[int, Course],
        begin: float,
        end: float,
        algebraic: Block | None,
        answered: bool,
        fast: bool,
        resolve: Callable[[Reals], None],
        samples: Reals,
        near: float,
    ) -> JumpTable:
        """Return the jumps of staircases, by positions in w, behind `begin` and before `end` in s.

        `samples` are ascending instants in s as well; one is a jump's that is `near` in s.
        """
        at = [np.full(course.t.size, place, np.uint32) for place, course in courses.items()]
        t = np.concatenate([np.zeros(0), *(course.t for course in courses.values())])
        value = np.concatenate([np.zeros(0), *(course.value for course in courses.values())])
        own = np.flatnonzero((t > begin) & (t < end))
        own = own[np.argsort(t[own], kind="stable")]
        instants, first = np.unique(t[own], return_index=True)
        places = np.concatenate([np.zeros(0, np.uint32), *at])[own]
        first = np.append(first, own.size)
        if samples.size and not instants.size:
            instants, first = samples, np.zeros(samples.size + 1, np.int64)
        elif samples.size:
            jumps, before = instants, np.append(-np.inf, instants)[np.searchsorted(instants, samples + near)]
            instants = np.union1d(jumps, samples[samples - before > near])
            first = first[np.searchsorted(jumps, instants, side="left")]
            first = np.append(first, own.size)
        return cls(begin, instants, first, places, value[own], algebraic, answered, fast, resolve)

    @property
    def jumping(self) -> NDArray[np.bool_]:
        """(J,) whether an input on a staircase jumps at each instant."""
        return np.diff(self.first) > 0

    def at_stops(self, stops: Reals) -> NDArray[np.int64]:
        """Return which instant each of ascending times in s is, `NO_JUMP` for none."""
        if not self.t.size:
            return np.full(stops.size, NO_JUMP, np.int64)
        k = np.minimum(np.searchsorted(self.t, stops), self.t.size - 1)
        return np.where(self.t[k] == stops, k, NO_JUMP).astype(np.int64)

    def compiled(
        self,
        ends: NDArray[np.int64],
        within: NDArray[np.int64] | None = None,
        points: NDArray[np.int64] | None = None,
        fast: int = NO_JUMP,
    ) -> InputJumps:
        """Return what compiled code reads; see `InputJumps`."""
        none = np.zeros(0, np.int64)
        return InputJumps(
            self.t,
            np.zeros(0) if points is None else np.append(self.begin, self.t[:-1])[: self.t.size],
            self.first,
            self.at,
            self.value,
            ends,
            none if within is None else within,
            none if points is None else points,
            0 if self.algebraic is None else self.algebraic.address,
            int(self.answered),
            fast,
        )


# Part of a step of a grid within which an instant is one of its points: far above the rounding of times, and
# far below the distance of two points.
NEAR = 1e-3


@dataclass(frozen=True, eq=False)
class GridJumps:
    """Where on a grid of steps held inputs jump.

    `t`: (J,) instants in s.
    `ends`: (steps,) which of them is at the end of each step, `NO_JUMP` for none.
    `within`: (points,) which of them is at each point of the steps, their ends aside; empty where none is.
    `points`: (steps + 1,) the first point of each step.
    """

    t: Reals
    ends: NDArray[np.int64]
    within: NDArray[np.int64]
    points: NDArray[np.int64]

    @classmethod
    def of(
        cls, table: JumpTable, times: Reals, steps: Reals, end: float, counts: NDArray[np.int64]
    ) -> GridJumps:
        """Return the instants of a table on a grid: start and size in s of its steps, and how many points."""
        points = np.append(0, np.cumsum(counts))
        ends, within = (np.full(size, NO_JUMP, np.int64) for size in (counts.size, int(points[-1])))
        near = NEAR * float((steps / counts).min())
        own = np.flatnonzero((table.t > times[0] + near) & (table.t < end + near))
        step = np.searchsorted(times, table.t[own] - near) - 1
        place = np.rint((table.t[own] - times[step]) / steps[step] * counts[step]).astype(np.int64)
        last = place == counts[step]
        ends[step[last]] = own[last]
        within[points[step[~last]] + place[~last] - 1] = own[~last]
        return cls(table.t, ends, within[:0] if last.all() else within, points)

    def doubled(self, t: Reals, ends: NDArray[np.int64], inner: bool) -> tuple[Reals, NDArray[np.int64]]:
        """Return times in s and ends of rows, with those twice at which inputs jump.

        `inner`: whether there are rows within the steps.
        """
        at = np.full(t.size, NO_JUMP, np.int64)
        if inner and self.within.size:
            at[1:] = self.within
        at[ends[1:]] = self.ends
        jumps = at != NO_JUMP
        t = np.where(jumps, self.t[at], t)
        return np.repeat(t, 1 + jumps), (np.cumsum(1 + jumps) - 1)[ends]

    def within_step(self, k: int) -> Reals:
        """Return the instants in s within step k."""
        own = self.within[self.points[k] : self.points[k + 1]] if self.within.size else self.within
        return np.asarray(self.t[own[own != NO_JUMP]])
