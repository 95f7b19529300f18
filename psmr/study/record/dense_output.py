"""Points of a run between the recorded ones, by the dense output of its method.

States lie on the cubic through the values and the rates f at both ends of a step, which for a stiffly
accurate method with an explicit first stage is its own continuous extension (Hosea and Shampine 1996, section
5); its error is of fourth order in the step, as high as that of any method here. The rate of a stiff state is
its error over its time constant, though, and in a step h of a thousand time constants the cubic takes it a
thousand errors aside. Therefore a point between does not lie on the cubic p but solves, with
a = s (1 - s) h / 5 at the part s of the step, ::

    x - a f(x, y) = p - a p',    0 = g(x, y).

The solution of the system does so but for the error e of the cubic, of which (I - a J)^-1 (e - a e') is left:
of fourth order as well, and no longer larger where a state is stiff. Where a state grows by itself, and the
step is long, I - a J may be next to singular: what is found then is far, or on another branch. The states
stay on the cubic where nothing is found, where half of a does not lead towards what the whole of it does, or
where it is further from the cubic than the rates, with their errors, could have taken that. A state that is
on the same limit at both ends of a step is on it between, however that moves. The rate of a state that a
limit holds is not f, but that of the limit, also where the other end of the step is short of it by what a
tolerance allows. Nothing beyond the accepted points has to be recorded.

Recorded points with the network solved: what a tolerance leaves of 0 = g(x, y), taken away.

Newton leaves a part of its tolerance, and a scheme that follows an error solves its stages no more accurately
than its steps need, so that the algebraic variables of an accepted point are off by as much, and the balance
of power at each bus by that times the admittances there. The states are what was integrated; from them the
algebraic variables follow, and are solved anew here to rounding, one or two iterations a point with the
matrix kept over a whole span.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrWarning
from psmr.dae.system.system import System
from psmr.integrate.solve.algebraic_solve import algebraic_solve
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.equations import project
from psmr.integrate.solve.newton import ALL, VERY_DISHONEST
from psmr.integrate.solve.records import VALID
from psmr.integrate.solve.status import DONE
from psmr.integrate.timeline.span import Span

# A hundredth of the error that the least tolerance of a run allows near one, as at an event.
TOLERANCE = 1e-12

# Part of s (1 - s) h by which points are corrected. Behind Kundur's quiet minute three hundredths leave stiff
# states 12 tolerances aside, a fifth 2, none 256; with the whole more points have no solution.
SMOOTH = 0.2

# Beyond any limit: the known part of a state that its limit holds.
BEYOND = 1e12

# Relative differences of states that say nothing.
ROUNDING = 1e-9

# How near, as a part of what a state moved in a step, the parabola of its rates ends at its limit.
AT_END = 0.1


def dense_points(
    system: System, spans: Sequence[Span], t: Reals, points: Reals, times: Reals
) -> NDArray[np.float64]:
    """Return (L, n + m) points of a run at (L,) times in s, in ascending order.

    `system`, `spans`: the system of the run at its start, and the spans of the run; `t`, `points`: (K,) times
    in s and (K, n + m) points that are recorded; `times`: between the first and the last time; at a recorded
    one it is the point there, after an event. Raises SimulationError, SingularError where g = 0 has no
    solution near the straight line between two points; names the time.
    """
    last = np.searchsorted(t, times, side="right") - 1
    out, new = points[last], times > t[last]
    for span in spans:
        own = np.flatnonzero(new & (times > t[span.rows.start]) & (times < t[span.rows.stop - 1]))
        if own.size:
            out[own] = _within(system, span, t[span.rows], points[span.rows], times[own])
    return out


def _within(system: System, span: Span, t: Reals, points: Reals, times: Reals) -> Reals:
    """Return the points at times within one span."""
    n, size = system.n, system.n + system.m
    limits = system.constant_limits(span.parameters)
    rates = _Rates(system, span, limits)
    network = block_of(system, span, limits, np.arange(n, size), "event")
    first = np.searchsorted(t, times, side="right") - 1
    out = np.empty((len(times), size))
    w = system.w0.copy()
    for row, (k, time) in enumerate(zip(first, times, strict=True)):
        h = t[k + 1] - t[k]
        s = (time - t[k]) / h
        before, after = points[k], points[k + 1]
        straight = before + s * (after - before)
        beyond = (1.0 - 2.0 * s) * (before - after)[:n]
        first_end, last_end, moved = rates.at(k, t, points), rates.at(k + 1, t, points), (after - before)[:n]
        free, side, last_side = last_end.free, first_end.side, last_end.side
        leaving, held = (rates.within(end, first_end, last_end, h) for end in (first_end, last_end))
        # A state that meets its limit at the end of the step, not within, gets there with its raw rate.
        at_end = np.abs(0.5 * h * (leaving + free) - moved) < AT_END * np.abs(moved)
        arriving = np.where(at_end, free, held)
        beyond += (1.0 - s) * h * leaving - s * h * arriving
        bend = -2.0 * (before - after)[:n] - h * (leaving + arriving)
        slope = (moved + (1.0 - 2.0 * s) * beyond + s * (1.0 - s) * bend) / h
        w[:size], w[-1] = straight, time
        w[size:-1] = span.held(np.array([time]))[0]
        w[:n] += s * (1.0 - s) * beyond
        cubic = w.copy()
        a = s * (1.0 - s) * h * SMOOTH
        bulge = s * (1.0 - s) * (h * (np.abs(leaving) + np.abs(arriving)) + np.abs(moved))
        side = np.where(side == last_side, side, 0)
        half = rates.followed(cubic, 0.5 * a, slope, side)
        whole = rates.followed(cubic, a, slope, side)
        own = np.flatnonzero(side == 0)
        if half is not None and whole is not None and _near(whole[own], half[own], cubic[own], bulge[own]):
            w = whole
        else:
            _solve(system, network, w, limits)
        out[row] = w[:size]
    return out


def _solved(block: Block, w: Reals, a: float = 0.0) -> bool:
    """Solve a block from w, with a matrix of its own; return whether that has come to a solution."""
    block.records.newton.scalars[VALID] = 0.0
    return block.solve(w, a, VERY_DISHONEST, TOLERANCE, ALL) == DONE


def _solve(system: System, network: Block, w: Reals, limits: tuple[Reals, Reals]) -> None:
    """Solve g = 0 at the states in w; states that passed a limit are put onto it."""
    n = system.n
    w[:n] = np.clip(w[:n], *system.limits(w, limits))
    if network.size == 0:
        return
    guess = w.copy()
    if not _solved(network, w):
        w[:] = guess
        network.forget()
        algebraic_solve(network, w, "a point between two recorded ones")


@dataclass(frozen=True, eq=False)
class _End:
    """Rates at a recorded point.

    `free`, `rate`: (n,) without limits, and zero where a constant limit holds a state.
    `side`: (n,) which states are on their upper limits, 1, and on their lower ones, -1.
    `lower`, `upper`: (n,) limits at the point.
    """

    free: Reals
    rate: Reals
    side: Reals
    lower: Reals
    upper: Reals


class _Rates:
    """f at recorded points, each computed once while it is in use."""

    def __init__(self, system: System, span: Span, limits: tuple[Reals, Reals]) -> None:
        self.system, self.span, self.limits = system, span, limits
        self.block = block_of(system, span, limits, np.arange(system.n + system.m), "step")
        self.w, self.moving = system.w0.copy(), np.flatnonzero(system.limits_move)
        self.known: dict[int, _End] = {}

    def at(self, k: int, t: Reals, points: Reals) -> _End:
        """Return the rates at the k-th point of the span."""
        if k not in self.known:
            size, rate = self.system.n + self.system.m, np.zeros(self.system.n)
            self.w[:size], self.w[-1] = points[k], t[k]
            self.w[size:-1] = self.span.held_at_rows(t[max(k - 1, 0) : k + 2])[min(k, 1)]
            self.block.records.newton.scalars[VALID] = 0.0
            project(self.block.address, self.w, rate)
            free = self.block.records.matrix.F[: self.system.n].copy()
            states = self.w[: self.system.n]
            limits = self.system.limits(self.w, self.limits)
            low, high = (
                np.abs(states - limit) <= ROUNDING * np.maximum(1.0, np.abs(states)) for limit in limits
            )
            found = _End(free, rate, np.where(high, 1.0, np.where(low, -1.0, 0.0)), *limits)
            self.known = {j: known for j, known in self.known.items() if j >= k - 1} | {k: found}
        return self.known[k]

    def within(self, end: _End, first: _End, last: _End, h: float) -> Reals:
        """Return the (n,) rates at an end of a step of h in s as they are within the step.

        That of a state that a limit holds is that of the limit, also of one that moves.
        """
        rates = end.rate.copy()
        for i in self.moving[end.side[self.moving] != 0.0]:
            side = end.side[i]
            a, b = (first.upper[i], last.upper[i]) if side > 0.0 else (first.lower[i], last.lower[i])
            if end.free[i] * side > (b - a) / h * side:
                rates[i] = (b - a) / h
        return rates

    def followed(self, cubic: Reals, a: float, slope: Reals, side: Reals) -> Reals | None:
        """Return the point that solves the equations with (n,) rates of the cubic; None for no solution.

        `side` (n,) says which states their upper limits hold, 1, and which their lower ones do, -1.
        """
        block, w = self.block, cubic.copy()
        block.records.work.known[:] = np.where(side == 0, w[: self.system.n] - a * slope, side * BEYOND)
        return w if _solved(block, w, a) else None


def _near(whole: Reals, half: Reals, cubic: Reals, bulge: Reals) -> bool:
    """Return whether (n,) states may be those of the solution by which the cubic goes."""

    def largest(moved: Reals) -> float:
        return float(np.max(np.abs(moved) / np.maximum(1.0, np.abs(cubic)), initial=0.0)) + ROUNDING

    return largest(whole - half) <= 2.0 * largest(half - cubic) and largest(whole - cubic) <= largest(bulge)


def block_of(
    system: System, span: Span, limits: tuple[Reals, Reals], rows: NDArray[np.intp], role: str
) -> Block:
    """Return rows of the system as a span has it, without the devices that are out of service."""
    w = system.w0.copy()
    block = make_block(system, role, span.parameters, w, rows, rows, span.out)
    block.load(span.parameters, *limits, span.courses(system.n + system.m), w)
    return block


class AlgebraicPoints:
    """Solves 0 = g(x, y) at the points of one span.

    `system`, `span`: the DAE, and the span.
    `left`: gets the times in s of the points that stay as they were accepted, since no solution is found near
      them; see `warn_of`.
    """

    def __init__(self, system: System, span: Span, left: list[float]) -> None:
        self.system, self.span, self.left = system, span, left
        self._block: Block | None = None  # once there is a point
        self._w = system.w0.copy()

    def points(self, t: Reals, points: Reals) -> Reals:
        """Return (K, n + m) points at (K,) times in s with their algebraic variables solved from the states.

        A point where that does not converge from what was accepted stays as it is, and goes into `left`.
        """
        n, size = self.system.n, self.system.n + self.system.m
        if n == size or not len(t):
            return points
        if self._block is None:
            limits = self.system.constant_limits(self.span.parameters)
            self._block = block_of(self.system, self.span, limits, np.arange(n, size), "event")
        held, w, out = self.span.held_at_rows(t), self._w, points.copy()
        for k, time in enumerate(t):
            w[:size], w[size:-1], w[-1] = points[k], held[k], time
            if _solved(self._block, w):
                out[k] = w[:size]
            else:
                self.left.append(float(time))
        return out


def with_algebraic_solved(
    system: System, spans: Sequence[Span], t: Reals, x: Reals, y: Reals, rows: slice
) -> Reals:
    """Return the algebraic variables of some rows of a run's points, solved from their states."""
    first, last, _ = rows.indices(len(t))
    found, left = [y[first:first]], list[float]()
    for span in spans:
        own = slice(max(first, span.rows.start), min(last, span.rows.stop))
        if own.start < own.stop:
            points = np.hstack([x[own], y[own]])
            found.append(AlgebraicPoints(system, span, left).points(t[own], points)[:, x.shape[1] :])
    warn_of(left)
    return np.concatenate(found)


def warn_of(left: Sequence[float]) -> None:
    """Warn of the points at these times, in s, that stayed as they were accepted; say nothing of none."""
    if left:
        warnings.warn(
            f"at {len(left)} points, the first at t = {left[0]:.6g} s, no solution of the algebraic equations"
            " was found near the accepted one: their powers are as exact as the tolerance",
            PsmrWarning,
            stacklevel=3,
        )
