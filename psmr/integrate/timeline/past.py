"""The past of some signals: polynomials through the points of a run, from which they are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


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


class Past:
    """Signals at points of a run, as far back as they are read.

    Parameters
    ----------
    sources
        (q,) positions in w of the signals.
    t, w
        The time of the start in s, and its point.
    back
        How far in s they are read.
    points
        How many points a polynomial has, 2 or 4.
    """

    def __init__(self, sources: NDArray[np.intp], t: float, w: Reals, back: float, points: int) -> None:
        self.sources, self._back, self._points = sources, back, points
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
