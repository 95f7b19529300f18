"""Courses of held inputs and parameters over time, and inputs read from the run's own past, in a block.

A span need not end at the rows of a course (`Course`) or of what was kept of a signal (`Delayed`): `Courses`
hands both to the compiled equations of a block (`psmr.integrate.solve.equations.follow_ramps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arrays import Reals
from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.kernels import Kernels
from psmr.integrate.solve.records import (
    Ramps,
)

ROOM = 16

Place = tuple[int, int, int]
"""Parameter matrix, device and column of a parameter."""


@dataclass(frozen=True, eq=False)
class Course:
    """What a held input or a parameter is over time: a line from each row to the next one.

    `t`: (K,) times of the rows in s, ascending.
    `value`, `rate`: (K,) value at each row, and its rate in 1/s from there on. Before the first row its line
      holds.
    """

    t: Reals
    value: Reals
    rate: Reals

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Course) and self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash(self._bytes())

    def _bytes(self) -> tuple[bytes, ...]:
        return self.t.tobytes(), self.value.tobytes(), self.rate.tobytes()

    @classmethod
    def line(cls, t: float, value: float, rate: float) -> Course:
        """Return the line with a value at t in s and a rate in 1/s."""
        return cls(np.array([t]), np.array([value]), np.array([rate]))

    @classmethod
    def through(cls, t: ArrayLike, value: ArrayLike) -> Course:
        """Return the lines through (K,) points, and the last value from there on."""
        t, value = np.array(t, dtype=float), np.array(value, dtype=float)
        with np.errstate(over="ignore"):  # infinite: refused by who reads it
            return cls(t, value, np.append(np.diff(value) / np.diff(t), 0.0))

    @classmethod
    def held(cls, t: ArrayLike, value: ArrayLike) -> Course:
        """Return the staircase that jumps to each of (K,) values at its time in s, and holds it."""
        t, value = np.array(t, dtype=float), np.array(value, dtype=float)
        return cls(t, value, np.zeros_like(value))

    @property
    def jumps(self) -> bool:
        """Whether it is a staircase: constant from each row to the next, and not the same throughout."""
        return not self.rate.any() and bool((self.value != self.value[0]).any())

    def before(self, t: ArrayLike) -> Reals:
        """Return the values at times in s just before what jumps there."""
        k = np.maximum(np.searchsorted(self.t, t, side="left") - 1, 0)
        return np.asarray(self.value[k] + self.rate[k] * (np.asarray(t) - self.t[k]))

    @property
    def cubics(self) -> Reals:
        """(K, 5) rows that compiled code reads: times, and coefficients of a cubic from there on."""
        none = np.zeros_like(self.t)
        return np.column_stack([self.t, self.value, self.rate, none, none])

    @property
    def end(self) -> float:
        """Time of the last row in s."""
        return float(self.t[-1])

    def rows(self, t: ArrayLike) -> NDArray[np.intp]:
        """Return the row whose line holds at each time in s."""
        return np.maximum(np.searchsorted(self.t, t, side="right") - 1, 0)

    def at(self, t: ArrayLike) -> Reals:
        """Return the values at times in s."""
        k = self.rows(t)
        return np.asarray(self.value[k] + self.rate[k] * (np.asarray(t) - self.t[k]))

    def rate_at(self, t: ArrayLike) -> Reals:
        """Return the rates in 1/s at times in s."""
        return np.asarray(self.rate[self.rows(t)])


def cubic(c: Reals, x: Reals) -> Reals:
    """Return the values of cubics at x, of (4, ...) coefficients, constant first."""
    return np.asarray(c[0] + x * (c[1] + x * (c[2] + x * c[3])))


class Delayed:
    """Held inputs that follow the run's own past: what they read, written anew as the run goes on.

    `at`: (q,) positions in w of the inputs.

    `rows`: (q, room, 5) times in s of the rows, ascending, and the coefficients from there on.
    """

    def __init__(self, at: NDArray[np.uint32]) -> None:
        self.at, self._cursor, self._first = at, np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        self.rows = _no_rows(len(at), ROOM)

    def write(self, own: NDArray[np.intp], t: Reals, coefficients: Reals) -> bool:
        """Write the rows of some inputs: (K,) times and (K, 4, q) coefficients, constant first.

        Returns whether there was no room, so that all inputs have other rows now.
        """
        count, wide = len(t), len(t) > self.rows.shape[1]
        if wide:
            rows = _no_rows(len(self.at), 2 * count)
            rows[:, : self.rows.shape[1]] = self.rows
            self.rows = rows
        self.rows[own, :count, 0] = t
        self.rows[own, :count, 1:] = coefficients.transpose(2, 0, 1)
        self.rows[own, count:, 0] = np.inf
        self._cursor[own] = self._first[own]
        return wide

    def fill(self, rows: Reals) -> None:
        """Write the inputs into (K, n + m + k + 1) points of the steps for which they are written."""
        for at, own in zip(self.at, self.rows, strict=True):
            k = np.maximum(np.searchsorted(own[:, 0], rows[:, -1], side="right") - 1, 0)
            c, x = own[k, 1:], rows[:, -1] - own[k, 0]
            found = cubic(c.T, x)
            for i in np.flatnonzero(np.isnan(c[:, 1])):  # on the line to a point within the delay
                source = rows[i, int(c[i, 3])]
                found[i] = c[i, 0] + x[i] / (x[i] + c[i, 2]) * (source - c[i, 0])
            rows[:, at] = found

    def attach(self, rows: Reals, cursor: NDArray[np.int64]) -> None:
        """Write from now on into the rows of a `Courses`, the first of which are those of these inputs."""
        self.rows = rows[: len(self.at) * self.rows.shape[1]].reshape(self.rows.shape)
        self._cursor, self._first = cursor, cursor.copy()


def _no_rows(inputs: int, room: int) -> Reals:
    rows = np.zeros((inputs, room, 5))
    rows[:, :, 0] = np.inf
    return rows


class Courses:
    """All that follows a course in a span of a run, in the form that compiled code reads.

    `inputs`: Courses of held inputs, by their positions in w.
    `parameters`: Courses of parameters, by their places.
    `delayed`: Held inputs that follow the run's own past.
    """

    def __init__(
        self,
        inputs: Mapping[int, Course] | None = None,
        parameters: Mapping[Place, Course] | None = None,
        delayed: Delayed | None = None,
    ) -> None:
        inputs, parameters = inputs or {}, parameters or {}
        past = np.zeros(0, np.uint32) if delayed is None else delayed.at
        self.at = np.concatenate([past, np.array(list(inputs), dtype=np.uint32)])
        self.parameters = tuple(parameters)
        parts = [] if delayed is None else list(delayed.rows)
        parts += [course.cubics for course in (*inputs.values(), *parameters.values())]
        self.rows = np.concatenate([np.zeros((0, 5)), *parts])
        self.ends = np.cumsum([len(own) for own in parts], dtype=np.int64)
        self.cursor = self.ends - np.array([len(own) for own in parts], dtype=np.int64)
        self.until = np.full(1, np.inf)
        if delayed is not None:
            delayed.attach(self.rows, self.cursor[: len(past)])

    def __bool__(self) -> bool:
        return bool(self.ends.size)

    def in_block(self, kernels: Kernels, before: int) -> Ramps:
        """Return what a block reads; `before` groups stand before those of the system in its kernels.

        All blocks share the rows and the places in them.
        """
        places = np.zeros(len(self.parameters), np.int64)
        for k, (group, row, column) in enumerate(self.parameters):
            devices, own = kernels.selected[group + before], kernels.parameters[group + before]
            at = int(np.searchsorted(devices, row))
            if at < devices.size and devices[at] == row:
                places[k] = address_of(own) + own.itemsize * (own.shape[1] * at + column)
        return Ramps(self.at, self.rows, self.ends, self.cursor, self.until, places)


NOTHING = Courses()
"""Nothing follows a course."""
