"""The past of a run, from which signals are read with a delay.

Between accepted points a signal is the polynomial through the points around it: a line where the scheme is of
order 1 or 2, a cubic above and where steps follow an error, so that reading costs the scheme none of its
order. No polynomial crosses an instant at which the signals jumped. Before the start they are constant.
Where a step may be longer than a delay, what is read in it is on the line from its start to the point that is
being solved. Of schemes with two rates the past of fast signals has the fast points as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.delay import Delay
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.ramps import Delayed
from psmr.integrate.timeline.past import Past

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


class History:
    """The signals that a run reads with a delay, and the inputs that read them.

    Parameters
    ----------
    delays
        What is read with a delay.
    degree
        Of the polynomials: 1 or 3.
    step
        Step in s of a scheme with fixed steps, NaN of one that chooses them.
    last_stage
        Time of the last stage of a step, 1 at the step's end; ESDIRK43 has one at 1.04.
    within
        (q,) whether the past of a delay's source has the points within a step too.
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

    def __init__(
        self,
        delays: Sequence[Delay],
        degree: int,
        step: float,
        last_stage: float,
        within: NDArray[np.bool_],
        unsolved: bool,
        same: float,
        least_jump: float,
        t: float,
        w: Reals,
    ) -> None:
        tau = np.array([delay.tau for delay in delays])
        sources = np.array([delay.source for delay in delays])
        self._corners = degree > 1 and not math.isnan(step)
        least, longest = float(tau.min()), float(tau.max())
        whole = 1 if math.isnan(step) else math.floor(least / step - (last_stage - 1.0) + TUNED.rounding)
        # A cubic has a point on either side of its interval: the last step that reads has to leave it behind.
        self.steps = max(1, whole - (degree - 1) // 2)
        self.delayed = Delayed(np.array([delay.input for delay in delays], dtype=np.uint32))
        self._unsolved = unsolved
        self._same, self._least_jump = same, least_jump
        self._pasts: list[tuple[bool, Past]] = []
        self._groups: list[tuple[float, NDArray[np.intp], NDArray[np.intp], Past]] = []
        for inner in np.unique(within).tolist():
            own = np.flatnonzero(within == inner)
            past = Past(sources[own], t, w, longest + same, degree + 1)
            self._pasts.append((inner, past))
            for value in np.unique(tau[own]).tolist():
                read = np.flatnonzero(tau[own] == value)
                self._groups.append((value, own[read], read, past))
        self._jumps: list[Jump] = []
        self._corner = 0
        self._fresh = False

    def begin(self) -> None:
        """Begin a span, which no polynomial crosses."""
        self._fresh = True

    def points(self, t: Reals, points: Reals, accepted: NDArray[np.bool_]) -> None:
        """Take (K,) times in s and (K, n + m) points; those not `accepted` are within a step."""
        fresh, self._fresh = self._fresh, False
        if fresh:
            self._note_jump(float(t[0]), points[0])
        for inner, past in self._pasts:
            if inner or accepted.all():
                past.add(t, points, fresh)
            else:
                past.add(t[accepted], points[accepted], fresh)

    def _note_jump(self, t: float, point: Reals) -> None:
        """Let a step end where the jumps of signals at t in s, and the corners there, are read."""
        corner, self._corner = self._corner, 0
        for tau, _, own, past in self._groups:
            before = past.values[-1, own]
            size = np.abs(point[past.sources[own]] - before) / np.maximum(1.0, np.abs(before))
            largest = float(size.max())
            if largest < self._least_jump:
                largest = 0.0
            if largest > 0.0 or (self._corners and corner < MOST_CORNERS):
                self._jumps.append(Jump(t + tau, largest, corner + 1))
        self._jumps = sorted(sorted(self._jumps, key=lambda found: -found.size)[:MOST_JUMPS])

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
        wide = False
        for _, past in self._pasts:
            past.forget(t)
        for tau, inputs, own, past in self._groups:
            times, coefficients = past.between(own, t - tau, end - tau, self._same)
            times, newest = times + tau, float(past.t[-1])
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
