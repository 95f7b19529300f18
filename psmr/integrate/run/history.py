"""The past of a run, from which signals are read with a delay.

Between accepted points a signal is the polynomial through the points around it: a line where the scheme is of
order 1 or 2, a cubic above and where steps follow an error, so that reading costs the scheme none of its
order. No polynomial crosses an instant at which the signals jumped. Before the start they are constant.
Where a step may be longer than a delay, what is read in it is on the line from its start to the point that is
being solved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.delay import Delay
from psmr.integrate.constants import TUNED
from psmr.integrate.run.trajectory import Change
from psmr.integrate.solve.ramps import Delayed

Reals = NDArray[np.float64]

# A jump travels: what reads it jumps a delay later, and what reads that. A step ends at each, of so many that
# are ahead at a time, the largest. A corner travels as well and costs a method of order 3 or 4 with fixed
# steps its order: a step ends where it is read, and where what reads that is, so often; steps that follow an
# error see to it themselves.
MOST_JUMPS, MOST_CORNERS = 16, 3


class Jump(NamedTuple):
    """An instant at which what is read jumps, or has a corner, which is of size 0.

    `t` is its time in s, `corners` how many corners led to it.
    """

    t: float
    size: float
    corners: int


def polynomials(nodes: Reals, values: Reals) -> Reals:
    """Return the (K, 4, q) coefficients, constant first, of the polynomials through points.

    Parameters
    ----------
    nodes
        (K, p) times of the p points of each, 1 to 4, from where the polynomial's argument is 0.
    values
        (K, p, q) values of q signals there.
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


class History:
    """The signals that a run reads with a delay, as far back as they are read; a `Follower` of the run.

    Parameters
    ----------
    delays
        What is read with a delay.
    degree
        Of the polynomials: 1 or 3.
    step
        Step in s of a scheme with fixed steps, NaN of one that chooses them.
    unsolved
        Whether a step may be longer than a delay.
    same
        Times closer than this in s are one.
    least_jump
        Smaller changes of a signal at an instant, relative to max(1, |value|), are of its solution alone.
    t, w
        The time of the start in s, and its point.

    Attributes
    ----------
    delayed
        What compiled code reads.
    steps
        How many steps may be taken before `extend` is called.
    """

    ends: ClassVar[bool] = False

    def __init__(
        self,
        delays: Sequence[Delay],
        degree: int,
        step: float,
        unsolved: bool,
        same: float,
        least_jump: float,
        t: float,
        w: Reals,
    ) -> None:
        self._tau = np.array([delay.tau for delay in delays])
        self._sources = np.array([delay.source for delay in delays])
        self._points = degree + 1
        self._corners = degree > 1 and not math.isnan(step)
        self._groups = [(tau, np.flatnonzero(self._tau == tau)) for tau in np.unique(self._tau).tolist()]
        least, self._longest = float(self._tau.min()), float(self._tau.max())
        whole = 1 if math.isnan(step) else math.floor(least / step + TUNED.rounding)
        # A cubic has a point on either side of its interval: the last step that reads has to leave it behind.
        self.steps = max(1, whole - (degree - 1) // 2)
        self.delayed = Delayed(np.array([delay.input for delay in delays], dtype=np.uint32))
        self._unsolved = unsolved
        self._same, self._least_jump = same, least_jump
        values = w[self._sources]
        self._t = np.array([t - 2.0 * self._longest, t])
        self._values = np.array([values, values])
        self._begins = [0]
        self._jumps: list[Jump] = []
        self._corner = 0
        self._fresh = False

    # ---- what follows the run

    def begin(self, t: float) -> None:
        """See `Follower`: no polynomial crosses t."""
        self._fresh = True

    def change(self, change: Change) -> bool:
        """See `Follower`."""
        return False

    def points(self, t: Reals, points: Reals) -> None:
        """See `Follower`."""
        values = points[:, self._sources]
        if self._fresh:
            self._fresh = False
            self._note_jump(float(t[0]), values[0] - self._values[-1])
            self._begins.append(len(self._t))
        self._t = np.append(self._t, t)
        self._values = np.concatenate([self._values, values])

    def _note_jump(self, t: float, jump: Reals) -> None:
        """Let a step end where the jumps of signals at t in s, and the corners there, are read."""
        corner, self._corner = self._corner, 0
        size = np.abs(jump) / np.maximum(1.0, np.abs(self._values[-1]))
        size[size < self._least_jump] = 0.0
        for tau, own in self._groups:
            largest = float(size[own].max())
            if largest > 0.0 or (self._corners and corner < MOST_CORNERS):
                self._jumps.append(Jump(t + tau, largest, corner + 1))
        self._jumps = sorted(sorted(self._jumps, key=lambda found: -found.size)[:MOST_JUMPS])

    # ---- what the run asks

    @property
    def due(self) -> float:
        """The next time in s at which what is read jumps; inf for none."""
        return self._jumps[0].t if self._jumps else math.inf

    def arrive(self, t: float) -> None:
        """Take note that the run is at t in s, where what is read may jump."""
        while self._jumps and self._jumps[0].t <= t + self._same:
            self._corner = max(self._corner, self._jumps.pop(0).corners)

    def put(self, w: Reals) -> None:
        """Write what is read at the time in w, behind a jump there."""
        self.extend(float(w[-1]), math.inf)
        rows = self.delayed.rows[:, 0]
        x = w[-1] - rows[:, 0]
        w[self.delayed.at] = rows[:, 1] + x * (rows[:, 2] + x * (rows[:, 3] + x * rows[:, 4]))

    def extend(self, t: float, end: float) -> bool:
        """Write what is read from t in s on, as far as it is known, ahead of a jump at `end` in s.

        Returns whether `delayed` has the room; where not, it has other arrays now.
        """
        self._forget(t)
        begins = np.array(self._begins)
        wide = False
        for tau, own in self._groups:
            first = max(0, int(np.searchsorted(self._t, t - tau + self._same, side="right")) - 1)
            first = min(first, len(self._t) - 2)
            until = max(first + 1, int(np.searchsorted(self._t, end - tau - self._same, side="left")))
            k = np.arange(first, min(until, len(self._t) - 1))
            if k.size > 1 and begins[-1] > first:
                k = k[~np.isin(k + 1, begins)]
            times, coefficients = self._t[k] + tau, self._coefficients(k, own, begins)
            newest = float(self._t[-1])
            if self._unsolved and newest + tau < end - self._same:
                times = np.append(times, newest + tau)
                coefficients = np.concatenate([coefficients, self._to_unsolved(tau, own)])
            wide |= self.delayed.write(own, times, coefficients)
        return not wide

    def _to_unsolved(self, tau: float, own: NDArray[np.intp]) -> Reals:
        """Return the (1, 4, q) row of what some inputs read of the step being solved; see `Ramps`."""
        row = np.full((1, 4, len(own)), np.nan)
        row[0, 0], row[0, 2], row[0, 3] = self._values[-1, own], tau, self._sources[own]
        return row

    def _coefficients(
        self, intervals: NDArray[np.intp], own: NDArray[np.intp], begins: NDArray[np.intp]
    ) -> Reals:
        """Return the (K, 4, q) coefficients in some intervals of the signals that some inputs read."""
        found = np.zeros((len(intervals), 4, len(own)))
        part = np.searchsorted(begins, intervals, side="right") - 1
        ends = np.append(begins[1:], len(self._t))[part] - 1
        firsts = begins[part]
        if self._points == 2 and (intervals < ends).all():
            width = self._t[intervals + 1] - self._t[intervals]
            found[:, 0] = self._values[intervals][:, own]
            found[:, 1] = (self._values[intervals + 1][:, own] - found[:, 0]) / width[:, None]
            return found
        counts = np.minimum(self._points, ends - firsts + 1)
        for count in np.unique(counts).tolist():
            which = np.flatnonzero(counts == count)
            starts = [first_node(int(intervals[i]), count, int(firsts[i]), int(ends[i])) for i in which]
            nodes = np.array(starts)[:, None] + np.arange(count)
            times = self._t[nodes] - self._t[intervals[which]][:, None]
            found[which] = polynomials(times, self._values[nodes][:, :, own])
        return found

    def _forget(self, t: float) -> None:
        """Drop points that nothing reads any more from t in s on, now and then."""
        old = int(np.searchsorted(self._t, t - self._longest - self._same)) - 2 * self._points
        if old > max(256, len(self._t) // 2):
            self._t, self._values = self._t[old:].copy(), self._values[old:].copy()
            kept = [begin - old for begin in self._begins if begin > old]
            self._begins = [0, *kept]
