"""The past of a run, from which signals are read with a delay: while it goes, and again afterwards.

Between accepted points a signal is the polynomial through the points around it: a line where the scheme is of
order 1 or 2, a cubic above and where steps follow an error, so that reading costs the scheme none of its
order. No polynomial crosses an instant at which the signals jumped. Before the start they are constant.
Where a step may be longer than a delay, what is read in it is on the line from its start to the point that is
being solved. Of schemes with two rates the past of fast signals has the fast points as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.courses import Delayed, cubic

Reals = NDArray[np.float64]


def polynomials(nodes: Reals, values: Reals) -> Reals:
    """Return the (K, 4, q) coefficients, constant first, of the polynomials through points.

    Each has p points, 1 to 4, of (K, p) times from where its argument is 0, and (K, p, q) values there.
    """
    count = nodes.shape[1]
    newton = values.copy()  # divided differences
    for order in range(1, count):
        width = nodes[:, order:] - nodes[:, : count - order]
        newton[:, order:] = (newton[:, order:] - newton[:, order - 1 : -1]) / width[:, :, None]
    found = np.zeros((len(nodes), 4, values.shape[2]))
    for order in range(count - 1, -1, -1):  # found = newton[order] + (x - nodes[order]) found
        found[:, 1:] = found[:, :-1] - nodes[:, order, None, None] * found[:, 1:]
        found[:, 0] = newton[:, order] - nodes[:, order, None] * found[:, 0]
    return found


def first_node(interval: int, points: int, first: int, last: int) -> int:
    """Return the first point of an interval's polynomial: they lie around it, within first to last."""
    return max(first, min(interval - (points - 2) // 2, last - points + 1))


class Past:
    """Signals at points of a run, as far `back` in s as they are read, joined by polynomials of a `degree`.

    `sources` has the (q,) positions in w of the signals; t and w are time in s and point of the start.
    """

    def __init__(self, sources: NDArray[np.intp], t: float, w: Reals, back: float, degree: int) -> None:
        self.sources, self._back, self._points = sources, back, degree + 1
        values = w[sources]
        self.t = np.array([t - 2.0 * back, t])
        self.values = np.array([values, values])
        self._begins = [0]

    def add(self, t: Reals, points: Reals, fresh: bool) -> None:
        """Take points, the first of which is `fresh` where no polynomial goes back beyond it."""
        if fresh:
            self._begins.append(len(self.t))
        self.t = np.append(self.t, t)
        self.values = np.concatenate([self.values, points[:, self.sources]])

    def between(self, own: NDArray[np.intp], begin: float, end: float, same: float) -> tuple[Reals, Reals]:
        """Return (K,) times in s and the (K, 4, q) coefficients from there on, of some signals.

        They begin no later than `begin`, and end ahead of a jump at `end`.
        """
        begins = np.array(self._begins)
        first = max(0, int(np.searchsorted(self.t, begin + same, side="right")) - 1)
        first = min(first, len(self.t) - 2)
        until = max(first + 1, int(np.searchsorted(self.t, end - same, side="left")))
        k = np.arange(first, min(until, len(self.t) - 1))
        if k.size > 1 and begins[-1] > first:
            k = k[~np.isin(k + 1, begins)]
        return self.t[k], self._coefficients(k, own, begins)

    def _coefficients(
        self, intervals: NDArray[np.intp], own: NDArray[np.intp], begins: NDArray[np.intp]
    ) -> Reals:
        """Return the (K, 4, q) coefficients in some intervals of some signals."""
        found = np.zeros((len(intervals), 4, len(own)))
        part = np.searchsorted(begins, intervals, side="right") - 1
        ends = np.append(begins[1:], len(self.t))[part] - 1
        firsts = begins[part]
        if self._points == 2 and (intervals < ends).all():
            width = self.t[intervals + 1] - self.t[intervals]
            found[:, 0] = self.values[intervals][:, own]
            found[:, 1] = (self.values[intervals + 1][:, own] - found[:, 0]) / width[:, None]
            return found
        counts = np.minimum(self._points, ends - firsts + 1)
        for count in np.unique(counts).tolist():
            which = np.flatnonzero(counts == count)
            starts = [first_node(int(intervals[i]), count, int(firsts[i]), int(ends[i])) for i in which]
            nodes = np.array(starts)[:, None] + np.arange(count)
            times = self.t[nodes] - self.t[intervals[which]][:, None]
            found[which] = polynomials(times, self.values[nodes][:, :, own])
        return found

    def forget(self, t: float) -> None:
        """Drop points that nothing reads any more from t in s on, now and then."""
        old = int(np.searchsorted(self.t, t - self._back)) - 2 * self._points
        if old > max(256, len(self.t) // 2):
            self.t, self.values = self.t[old:].copy(), self.values[old:].copy()
            kept = [begin - old for begin in self._begins if begin > old]
            self._begins = [0, *kept]


class DelayedInputs:
    """The held inputs of a system that read signals as they were some time ago, at times of a run.

    `system`: what reads signals with a delay.
    `degree`: of the polynomials between points: 1 or 3.
    `t`, `w`: the time of the start in s, and its point.
    `within`: (q,) whether the past of a delay's source has the points within a step too; none where left out.
    `same`: times closer than this in s are one.

    `places`: (q,) places of the inputs among the held inputs.
    """

    def __init__(
        self,
        system: System,
        degree: int,
        t: float,
        w: Reals,
        within: NDArray[np.bool_] | None = None,
        same: float = 1e-9,
    ) -> None:
        delays = system.delays
        self.places = np.array([delay.input for delay in delays], dtype=np.intp) - system.n - system.m
        self.tau = np.array([delay.tau for delay in delays])
        sources = np.array([delay.source for delay in delays])
        within = np.zeros(len(delays), bool) if within is None else within
        self._same = same
        self._pasts: list[tuple[bool, Past]] = []
        self._groups: list[tuple[float, NDArray[np.intp], NDArray[np.intp], Past]] = []
        for inner in np.unique(within).tolist():
            own = np.flatnonzero(within == inner)
            past = Past(sources[own], t, w, float(self.tau.max()) + same, degree)
            self._pasts.append((inner, past))
            for value in np.unique(self.tau[own]).tolist():
                read = np.flatnonzero(self.tau[own] == value)
                self._groups.append((value, own[read], read, past))
        self._fresh = False

    @classmethod
    def of_run(cls, system: System, degree: int, t: Reals, points: Reals) -> DelayedInputs:
        """Return those of a run with all its (K,) times and (K, n + m) accepted points."""
        found = cls(system, degree, float(t[0]), points[0])
        for own in np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) == 0.0) + 1):
            found.begin()
            found.points(t[own], points[own], np.ones(len(own), bool))
        return found

    def begin(self) -> None:
        """Begin a span, which no polynomial crosses."""
        self._fresh = True

    def points(self, t: Reals, points: Reals, accepted: NDArray[np.bool_]) -> None:
        """Take (K,) times in s and (K, n + m) points; those not `accepted` are within a step."""
        fresh, self._fresh = self._fresh, False
        for inner, past in self._pasts:
            own = slice(None) if inner or accepted.all() else accepted
            past.add(t[own], points[own], fresh)

    def rows(
        self, t: float, end: float
    ) -> Iterator[tuple[float, NDArray[np.intp], NDArray[np.intp], Past, Reals, Reals]]:
        """Yield what inputs of one delay read from t in s on, ahead of a jump at `end` in s.

        The delay in s, which inputs, their signals in a past and that, (K,) times in s and the (K, 4, q)
        coefficients from there on.
        """
        for tau, inputs, own, past in self._groups:
            times, coefficients = past.between(own, t - tau, end - tau, self._same)
            yield tau, inputs, own, past, times + tau, coefficients

    def values(self, t: Reals, begin: float) -> tuple[Reals, Reals]:
        """Return (K, q) values and rates in 1/s at (K,) ascending times in s.

        They are those within the span that began at `begin` in s: at its end ahead of a jump.
        """
        found, rates = np.zeros((2, len(t), len(self.places)))
        if not len(t):
            return found, rates
        for _, inputs, _, _, times, c in self.rows(max(begin, t[0] - 4.0 * self._same), float(t[-1])):
            row = np.maximum(np.searchsorted(times, t + self._same, side="right") - 1, 0)
            x, c = (t - times[row])[:, None], np.moveaxis(c[row], 1, 0)
            found[:, inputs] = cubic(c, x)
            rates[:, inputs] = c[1] + x * (2.0 * c[2] + 3.0 * x * c[3])
        return found, rates


# A jump travels: what reads it jumps a delay later, and what reads that. A step ends at each, of so many that
# are ahead at a time, the largest. A kink travels as well and costs a method of order 3 or 4 with fixed
# steps its order: a step ends where it is read, and where what reads that is, so often; steps that follow an
# error see to it themselves.
MOST_JUMPS, MOST_GENERATIONS = 16, 3


class Jump(NamedTuple):
    """An instant at which what is read jumps, or has a kink, which is of size 0.

    `t` is its time in s, `generation` how many kinks led to it.
    """

    t: float
    size: float
    generation: int


class History(DelayedInputs):
    """The past of a run as it goes on, from which compiled code reads.

    `system`, `degree`, `t`, `w`, `within`, `same`: as of `DelayedInputs`.
    `step`: step in s of a scheme with fixed steps, NaN of one that chooses them.
    `last_stage`: time of the last stage of a step, 1 at the step's end; ESDIRK43 has one at 1.04.
    `unsolved`: whether a step may be longer than a delay.
    `least_jump`: smaller changes of a signal at an instant, relative to max(1, |value|), are of its solution
      alone.

    `delayed`: what compiled code reads.
    `steps`: how many steps may be taken before `extend` is called.
    """

    def __init__(
        self,
        system: System,
        degree: int,
        t: float,
        w: Reals,
        within: NDArray[np.bool_],
        same: float,
        step: float,
        last_stage: float,
        unsolved: bool,
        least_jump: float,
    ) -> None:
        super().__init__(system, degree, t, w, within, same)
        self._ends_at_kinks = degree > 1 and not math.isnan(step)
        least = float(self.tau.min())
        whole = 1 if math.isnan(step) else math.floor(least / step - (last_stage - 1.0) + TUNED.rounding)
        # A cubic has a point on either side of its interval: the last step that reads has to leave it behind.
        self.steps = max(1, whole - (degree - 1) // 2)
        self.delayed = Delayed(np.array([delay.input for delay in system.delays], dtype=np.uint32))
        self._unsolved, self._least_jump = unsolved, least_jump
        self._jumps: list[Jump] = []
        self._generation = 0

    def points(self, t: Reals, points: Reals, accepted: NDArray[np.bool_]) -> None:
        """See `DelayedInputs`; the first point of a span may be a jump, which is read a delay later."""
        if self._fresh:
            self._note_jump(float(t[0]), points[0])
        super().points(t, points, accepted)

    def _note_jump(self, t: float, point: Reals) -> None:
        """Let a step end where the jumps of signals at t in s, and the kinks there, are read."""
        generation, self._generation = self._generation, 0
        for tau, _, own, past in self._groups:
            before = past.values[-1, own]
            size = np.abs(point[past.sources[own]] - before) / np.maximum(1.0, np.abs(before))
            largest = float(size.max())
            if largest < self._least_jump:
                largest = 0.0
            if largest > 0.0 or (self._ends_at_kinks and generation < MOST_GENERATIONS):
                self._jumps.append(Jump(t + tau, largest, generation + 1))
        self._jumps = sorted(sorted(self._jumps, key=lambda found: -found.size)[:MOST_JUMPS])

    @property
    def due(self) -> float:
        """The next time in s at which what is read jumps; inf for none."""
        return self._jumps[0].t if self._jumps else math.inf

    def arrive(self, t: float) -> None:
        """Take note that the run is at t in s, where what is read may jump."""
        while self._jumps and self._jumps[0].t <= t + self._same:
            self._generation = max(self._generation, self._jumps.pop(0).generation)

    def put(self, w: Reals) -> None:
        """Write what is read at the time in w, behind a jump there."""
        self.extend(float(w[-1]), math.inf)
        rows = self.delayed.rows[:, 0]
        w[self.delayed.at] = cubic(rows[:, 1:].T, w[-1] - rows[:, 0])

    def extend(self, t: float, end: float) -> bool:
        """Write what is read from t in s on, as far as it is known, ahead of a jump at `end` in s.

        Returns whether `delayed` has the room; where not, it has other arrays now.
        """
        wide = False
        for _, past in self._pasts:
            past.forget(t)
        for tau, inputs, own, past, times, coefficients in self.rows(t, end):
            newest = float(past.t[-1])
            if self._unsolved and newest + tau < end - self._same:
                times = np.append(times, newest + tau)
                coefficients = np.concatenate([coefficients, _to_unsolved(past, tau, own)])
            wide |= self.delayed.write(inputs, times, coefficients)
        return not wide


def _to_unsolved(past: Past, tau: float, own: NDArray[np.intp]) -> Reals:
    """Return the (1, 4, q) row of what some inputs read of the step being solved; see `Ramps`."""
    row = np.full((1, 4, len(own)), np.nan)
    row[0, 0], row[0, 2], row[0, 3] = past.values[-1, own], tau, past.sources[own]
    return row
