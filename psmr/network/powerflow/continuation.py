"""The power flow followed as loads grow, past the largest load that has a solution: power-voltage curves.

With lam the growth of the chosen loads, P_l = (1 + lam) P_l0 and Q_l = (1 + lam) Q_l0, and of generators
P_g = P_g0 + lam d_g, the power flow F(u, lam) = 0 is a curve in (u, lam). From a point of it the tangent
predicts the next one and Newton's method corrects it at right angles to the tangent; the fold of the curve,
where lam turns, is no singular point of that system. A bus whose generators reach a limit of reactive power
is of given power from there on, until its voltage would be kept again; where the curve turns at such a point
the limit itself is the end of what can be supplied. Sources: V. Ajjarapu, C. Christy, The continuation power
flow: a tool for steady state voltage stability analysis, IEEE Trans. Power Systems 7 (1992); H. B. Keller,
Numerical solution of bifurcation and nonlinear eigenvalue problems (1977), for the correction; I. Dobson,
L. Lu, Voltage collapse precipitated by the immediate change in stability when generator reactive power limits
are encountered, IEEE Trans. Circuits and Systems 39 (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.network.powerflow.power_balance import Balance, demand, derivatives

LONGEST, SHORTEST = 0.1, 1e-7
"""Length of a step in the space of voltages in pu, angles in rad and the growth of load."""

QUICK, SLOW = 3, 6
"""Iterations of a correction up to which the next step is longer, and from which it is shorter."""

CLOSE = 1e-10
"""Mismatch in pu, and distance from a limit in pu, at which a point is corrected."""

BEYOND = 1e-8
"""How far in pu a quantity may be on the wrong side of its limit."""

MOST = 3000
"""Points of a curve."""

HIGH, LOW = 1, -1

Point = tuple[Reals, Reals, float]


@dataclass(frozen=True)
class Switch:
    """A bus of generators that reaches a limit of reactive power, or keeps its voltage again.

    `point`: place in the curve; `bus`: position of the bus; `side`: 1 and -1 for the upper and the lower
    limit, 0 where it keeps its voltage again.
    """

    point: int
    bus: int
    side: int


@dataclass(eq=False)
class Curve:
    """A curve as it is followed: its points, the place of the largest load, and what switched on the way.

    `ended`: Why it ends where it does.
    """

    growth: list[float] = field(default_factory=list)
    v: list[Reals] = field(default_factory=list)
    angle: list[Reals] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    nose: int | None = None
    by_limit: bool = False
    ended: str = ""


class _Follower:
    """The equations of the curve for the buses of generators that hold their voltage now.

    `grows`: (loads,) 1 for loads that grow; `given`: (buses,) power in pu that generators give with growth.
    `balance`: the power flow as it was posed; `sides`: buses at a limit of reactive power.
    """

    def __init__(self, balance: Balance, grows: Reals, given: Reals, sides: dict[int, int]) -> None:
        self.posed, self.grows, self.given, self.sides = balance, grows, given, dict(sides)
        self.limited = np.flatnonzero(
            balance.pv & (np.isfinite(balance.q_low) | np.isfinite(balance.q_high))
        ).tolist()
        self.pose()

    def pose(self) -> None:
        """Take the buses at a limit as such of given power."""
        q, pv = self.posed.q.copy(), self.posed.pv.copy()
        for bus, side in self.sides.items():
            q[bus] += self.posed.q_high[bus] if side == HIGH else self.posed.q_low[bus]
            pv[bus] = False
        self.now = replace(self.posed, q=q, pv=pv)
        self.free_angle, self.free_v = self.now.free_angle, self.now.free_v
        self.reactive = self.now.reactive_rows()

    def unknowns(self, v: Reals, angle: Reals, growth: float) -> Reals:
        """Return the point as one vector."""
        return np.concatenate([angle[self.free_angle], v[self.free_v], [growth]])

    def parts(self, u: Reals, v: Reals, angle: Reals) -> tuple[Reals, Reals, float]:
        """Return (v, angle, growth) of a vector; what is held is that of a point before."""
        v, angle = self.now.with_held(v), angle.copy()
        angle[self.free_angle], v[self.free_v] = np.split(u[:-1], [self.free_angle.size])
        return v, angle, float(u[-1])

    def grown(self, growth: float) -> Balance:
        """Return the balance at a growth of load."""
        loads = replace(self.now.loads, scale=1.0 + growth * self.grows)
        return replace(self.now, loads=loads, p=self.now.p + growth * self.given)

    def residual(self, v: Reals, angle: Reals, growth: float) -> Reals:
        """Return the balance of power at a point."""
        here = self.grown(growth)
        s = demand(here, v, angle)
        return np.concatenate([(s.real - here.p)[self.free_angle], self.reactive @ (s.imag - here.q)])

    def matrix(self, v: Reals, angle: Reals, growth: float) -> sparse.csc_matrix:
        """Return its derivatives with respect to all unknowns."""
        by_angle, by_v = derivatives(self.grown(growth), v, angle)
        power = self.now.loads.each(v)[0] * self.grows
        by_growth = np.zeros(len(v), dtype=complex)
        np.add.at(by_growth, self.now.loads.at, power)
        active = (by_growth.real - self.given)[self.free_angle][:, None]
        by_angle, by_v = by_angle.tocsc()[:, self.free_angle], by_v.tocsc()[:, self.free_v]
        first = [by_angle.real[self.free_angle], by_v.real[self.free_angle], active]
        reactive = [self.reactive @ by.imag for by in (by_angle, by_v)]
        return sparse.bmat([first, [*reactive, (self.reactive @ by_growth.imag)[:, None]]], format="csc")

    def rise(self, point: Point, tangent: Reals) -> float:
        """Return the derivative along the curve of what the growing loads draw, which is most at the nose."""
        power, slope = self.now.loads.each(point[0])
        along = np.zeros(len(point[0]))
        along[self.free_v] = (1 + point[2]) * tangent[self.free_angle.size : -1]
        return float(self.grows @ (power * tangent[-1] + slope * along[self.now.loads.at]).real)

    def room(self, v: Reals, angle: Reals, growth: float) -> dict[int, float]:
        """Return by how much in pu each bus with limits is beyond where it would switch, below 0 within."""
        posed, found = self.posed, {}
        q = demand(self.grown(growth), v, angle).imag - posed.q
        first = {int(posed.controlled[bus]): int(bus) for bus in np.flatnonzero(self.now.pv)[::-1]}
        for bus in self.limited:
            side, aim = self.sides.get(bus, 0), int(posed.controlled[bus])
            if not side:
                found[bus] = max(q[bus] - posed.q_high[bus], posed.q_low[bus] - q[bus])
            elif aim in first:  # others keep its voltage, and would have it give less than its limit
                level = q[first[aim]] / posed.share[first[aim]] * posed.share[bus]
                found[bus] = side * ((posed.q_high[bus] if side == HIGH else posed.q_low[bus]) - level)
            else:
                found[bus] = side * (v[aim] - posed.v_set[bus])
        return found

    def switched(self, bus: int, v: Reals, angle: Reals, growth: float) -> int:
        """Let a bus switch, and return the side on which it is now, 0 where it keeps its voltage."""
        if bus in self.sides:
            del self.sides[bus]
        else:
            q = demand(self.grown(growth), v, angle).imag[bus] - self.posed.q[bus]
            upper = abs(q - self.posed.q_high[bus]) < abs(q - self.posed.q_low[bus])
            self.sides[bus] = HIGH if upper else LOW
        self.pose()
        return self.sides.get(bus, 0)


def _bordered(matrix: sparse.csc_matrix, row: Reals, right: Reals) -> Reals | None:
    """Return the solution of the equations with one more row; None where they are singular."""
    try:
        found = splu(sparse.vstack([matrix, sparse.csr_matrix(row)]).tocsc()).solve(right)
    except RuntimeError:
        return None
    return found if np.isfinite(found).all() else None


def follow(
    balance: Balance,
    v: Reals,
    angle: Reals,
    grows: NDArray[np.float64],
    given: Reals,
    sides: dict[int, int],
    until: Callable[[Curve], str],
) -> Curve:
    """Return the curve from a solved power flow on, until `until` says why it ends."""
    equations, curve = _Follower(balance, grows, given, sides), Curve()
    point, step = (v, angle, 0.0), LONGEST / 10
    _add(curve, point)
    tangent = _tangent(equations, point, None)
    while tangent is not None and not curve.ended:
        found = None
        while found is None and step > SHORTEST:
            found, count = _corrected(equations, point, tangent, step)
            step *= 0.5 if found is None else 1.0
        if found is None:
            curve.ended = f"no further point was found {SHORTEST:g} from the last one"
            break
        reached = _first_switch(equations, point, found)
        if reached is None:
            turned = _tangent(equations, found, tangent)
            rises = curve.nose is None and equations.rise(point, tangent) > 0
            if rises and turned is not None and equations.rise(found, turned) <= 0:
                _add(curve, _fold(equations, point, tangent, step))
                curve.nose = len(curve.growth) - 1
            _add(curve, found)
            point, tangent = found, turned
            step = float(
                np.clip(step * (1.5 if count <= QUICK else 0.5 if count >= SLOW else 1), SHORTEST, LONGEST)
            )
        else:
            rises, (bus, point) = equations.rise(point, tangent) > 0, reached
            side = equations.switched(bus, *point)
            _add(curve, point)
            curve.switches.append(Switch(len(curve.growth) - 1, bus, side))
            tangent = _away(equations, point, bus)
            if rises and tangent is not None and equations.rise(point, tangent) <= 0 and curve.nose is None:
                curve.nose, curve.by_limit = len(curve.growth) - 1, True
            step = LONGEST / 10
        curve.ended = curve.ended or until(curve) or ("" if len(curve.growth) < MOST else f"{MOST} points")
    curve.ended = curve.ended or "the equations are singular"
    return curve


def _add(curve: Curve, point: Point) -> None:
    for values, value in zip((curve.v, curve.angle, curve.growth), point, strict=True):
        values.append(value)  # type: ignore[attr-defined]


def _tangent(equations: _Follower, point: Point, before: Reals | None) -> Reals | None:
    """Return the direction of the curve at a point, of length 1: on from `before`, or to more load."""
    size = equations.free_angle.size + equations.free_v.size + 1
    row = np.eye(1, size, size - 1)[0] if before is None else before
    found = _bordered(equations.matrix(*point), row, np.eye(1, size, size - 1)[0])
    return None if found is None else found / np.linalg.norm(found)


def _away(equations: _Follower, point: Point, bus: int) -> Reals | None:
    """Return the direction in which the curve leaves a point where a bus has switched: into its new range."""
    found = _tangent(equations, point, None)
    if found is None:
        return None
    u, small = equations.unknowns(*point), 1e-6
    beyond = [equations.room(*equations.parts(u + s * small * found, *point[:2]))[bus] for s in (1, -1)]
    return found if beyond[0] < beyond[1] else -found


def _corrected(equations: _Follower, point: Point, tangent: Reals, step: float) -> tuple[Point | None, int]:
    """Return the point of the curve at right angles to the end of a step, None for none, and iterations."""
    guess = equations.unknowns(*point) + step * tangent
    return _newton(equations, point, guess, lambda u, _: float(tangent @ (u - guess)), lambda u: tangent)


def _newton(
    equations: _Follower,
    point: Point,
    u: Reals,
    extra: Callable[[Reals, Point], float],
    row: Callable[[Reals], Reals],
) -> tuple[Point | None, int]:
    """Return the point of the curve at which `extra` vanishes, whose derivatives `row` has; iterations."""
    for count in range(1, 11):
        here = equations.parts(u, *point[:2])
        error = np.append(equations.residual(*here), extra(u, here))
        if np.abs(error).max() < CLOSE:
            return here, count
        way = _bordered(equations.matrix(*here), row(u), -error)
        if way is None or (u + way)[equations.free_angle.size : -1].min(initial=1.0) <= 0:
            break
        u = u + way
    return None, 10


def _first_switch(equations: _Follower, point: Point, found: Point) -> tuple[int, Point] | None:
    """Return the bus that switches first between two points of the curve, and the point where it does."""
    reached: tuple[int, Point] | None = None
    for _ in range(len(equations.limited) + 1):
        before, after = equations.room(*point), equations.room(*found)
        parts = {
            bus: max(-before[bus], 0.0) / (after[bus] - before[bus])
            for bus in equations.limited
            if after[bus] > BEYOND and after[bus] > before[bus] and (reached is None or bus != reached[0])
        }
        if not parts:
            break
        bus = min(parts, key=lambda bus: parts[bus])
        a, b = equations.unknowns(*point), equations.unknowns(*found)
        place = _newton(
            equations,
            point,
            a + parts[bus] * (b - a),
            lambda u, here, bus=bus: equations.room(*here)[bus],  # type: ignore[misc]
            lambda u, bus=bus: _gradient(equations, u, point, bus),  # type: ignore[misc]
        )[0]
        found = place or found
        reached = (bus, found)
    return reached


def _gradient(equations: _Follower, u: Reals, point: Point, bus: int) -> Reals:
    """Return the derivatives of what a bus is beyond its switching with respect to the unknowns."""
    v, angle, growth = equations.parts(u, *point[:2])
    row, side = np.zeros(u.size), equations.sides.get(bus, 0)
    aim = int(equations.posed.controlled[bus])
    columns = equations.free_angle.size
    if side and not equations.now.held[aim]:
        row[columns + int(np.searchsorted(equations.free_v, aim))] = side
        return row
    from_bus = bus
    if side:
        from_bus = next(
            int(b) for b in np.flatnonzero(equations.now.pv & (equations.posed.controlled == aim))
        )
        factor = -side * equations.posed.share[bus] / equations.posed.share[from_bus]
    else:
        q = demand(equations.grown(growth), v, angle).imag[bus] - equations.posed.q[bus]
        factor = 1.0 if q - equations.posed.q_high[bus] > equations.posed.q_low[bus] - q else -1.0
    by_angle, by_v = derivatives(equations.grown(growth), v, angle)
    row[:columns] = by_angle.imag[from_bus].toarray().ravel()[equations.free_angle]
    row[columns:-1] = by_v.imag[from_bus].toarray().ravel()[equations.free_v]
    loads = equations.now.loads
    row[-1] = float((loads.each(v)[0].imag * equations.grows)[loads.at == from_bus].sum())
    return factor * row


def _fold(equations: _Follower, point: Point, tangent: Reals, step: float) -> Point:
    """Return the point at which the loads draw most, between a point and one that is a step from it."""
    best = point

    def rises(length: float) -> float:
        nonlocal best
        found = _corrected(equations, point, tangent, length)[0]
        turned = None if found is None else _tangent(equations, found, tangent)
        if found is None or turned is None:
            return 0.0
        best = found
        return equations.rise(found, turned)

    brentq(rises, 0.0, step, xtol=SHORTEST)
    return best
