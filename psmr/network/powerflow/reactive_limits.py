"""The power flow with limits of reactive power, as one system of equations.

At each bus that holds its voltage within limits of reactive power, q stands between them where v is v_set, at
the lower one where v is above, at the upper one where v is below: a mixed complementarity problem. With the
function phi(a, b) = a + b - sqrt(a^2 + b^2), which is zero where a >= 0, b >= 0 and a b = 0, that is one
equation for each bus,

    phi(q - q_low, -phi(q_high - q, v_set - v)) = 0,

and Newton's method, with a line search, is descent on the sum of squares of all equations: no set of buses
at a limit is tried out, and none can alternate. Sources: A. Fischer, A special Newton-type optimization
method, Optimization 24 (1992); S. C. Billups, Algorithms for complementarity problems and generalized
equations, thesis, University of Wisconsin (1995); with the root of a^2 + b^2 + 2 mu^2 in its place, which is
smooth, C. Kanzow, Some noninterior continuation methods for linear complementarity problems, SIAM J. Matrix
Anal. Appl. 17 (1996).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import PowerFlowError
from psmr.network.powerflow.power_balance import Balance, Places, Reals, demand, derivatives, solve

SCALE = 10.0
"""Reactive power in pu that a voltage in pu is worth in the equation of a limit."""

NEAR = 1e-7
"""Residual in pu at which the side of each bus is decided and the ordinary iteration goes on."""

SMOOTHING = (0.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 0.0)
"""Values of mu, one after the other: without smoothing first, then from a smooth problem to that one."""


def solve_with_limits(
    balance: Balance, v: Reals, angle: Reals, tolerance: float, iterations: int
) -> tuple[Reals, Reals, float, int, dict[int, int]]:
    """Return (v, angle, largest mismatch, iterations, sides) with the limits of reactive power kept.

    `sides` is 1 or -1 for each bus at its upper or lower limit; `balance` is left with these buses as such of
    given power.

    Raises
    ------
    PowerFlowError
        Where no consistent set of buses at a limit is found.
    """
    limited = np.flatnonzero(balance.pv & (np.isfinite(balance.q_low) | np.isfinite(balance.q_high)))
    used, reason = 0, ""
    start = v.copy(), angle.copy()
    for mu in SMOOTHING:
        v, angle, count, good = _complementary(balance, limited, v, angle, mu, iterations)
        used += count
        if not good:
            # A smooth problem that is not solved leads nowhere: the next begins where this one began.
            v, angle = start
            continue
        start = v.copy(), angle.copy()
        if mu:
            continue
        sides = _sides(balance, limited, v, angle)
        held = _held(balance, sides)
        try:
            v, angle, mismatch, count = solve(held, v, angle, tolerance, iterations)
        except PowerFlowError as error:
            reason = f"; {error}"
            continue
        wrong = _inconsistent(held, sides, v, angle, max(tolerance, 1e-8))
        if not wrong:
            balance.pv, balance.q = held.pv, held.q
            return v, angle, mismatch, used + count, sides
        names = ", ".join(balance.case.buses[i].name for i in wrong[:5])
        reason = f"; they contradict each other at {names}"
    case = balance.case
    raise PowerFlowError(
        f"{case.source or case.name}: power flow: no voltages keep all limits of reactive power{reason};"
        " check q_min_mvar and q_max_mvar, or solve without reactive limits (reactive_limits=False,"
        " --no-reactive-limits)"
    )


def _complementary(
    balance: Balance, limited: Places, v: Reals, angle: Reals, mu: float, iterations: int
) -> tuple[Reals, Reals, int, bool]:
    """Return (v, angle, iterations, whether that solves) of the problem with one mu."""
    free_angle = balance.free_angle
    is_limited = np.zeros(len(v), dtype=bool)
    is_limited[limited] = True
    free_v = np.flatnonzero(~(balance.slack | balance.pv) | is_limited)
    rows = np.flatnonzero(is_limited[free_v])
    v = np.where((balance.pv | balance.slack) & ~is_limited, balance.v_set, v)

    def residual(v: Reals, angle: Reals) -> tuple[Reals, Reals, Reals]:
        s = demand(balance, v, angle)
        reactive = s.imag - balance.q
        phi, by_q, by_w = limit_residual(balance, limited, reactive[limited], v[limited], mu)
        part = reactive[free_v]
        part[rows] = phi
        return np.concatenate([(s.real - balance.p)[free_angle], part]), by_q, by_w

    error, by_q, by_w = residual(v, angle)
    for count in range(iterations + 1):
        if np.abs(error).max(initial=0.0) < NEAR:
            return v, angle, count, True
        by_angle, by_v = derivatives(balance, v, angle)
        factor = np.ones(free_v.size)
        factor[rows] = by_q
        own = np.zeros(free_v.size)
        own[rows] = by_w
        matrix = sparse.bmat(
            [
                [by_angle.real[free_angle][:, free_angle], by_v.real[free_angle][:, free_v]],
                [
                    sparse.diags(factor) @ by_angle.imag[free_v][:, free_angle],
                    sparse.diags(factor) @ by_v.imag[free_v][:, free_v] + sparse.diags(own),
                ],
            ],
            format="csc",
        )
        try:
            step = splu(matrix).solve(-error)
        except RuntimeError:
            return v, angle, count, False
        if not np.isfinite(step).all():
            return v, angle, count, False
        dv = step[free_angle.size :]
        most = float(np.min(0.5 * v[free_v] / np.maximum(-dv, 1e-30), initial=1.0))
        before = np.linalg.norm(error)
        for scale in most * 0.5 ** np.arange(12):
            new_v, new_angle = v.copy(), angle.copy()
            new_angle[free_angle] += scale * step[: free_angle.size]
            new_v[free_v] += scale * dv
            found = residual(new_v, new_angle)
            if np.linalg.norm(found[0]) < (1 - 1e-4 * scale) * before:
                break
        else:
            return v, angle, count, False
        v, angle, (error, by_q, by_w) = new_v, new_angle, found
    return v, angle, iterations, False


def limit_residual(balance: Balance, at: Places, q: Reals, v: Reals, mu: float) -> tuple[Reals, Reals, Reals]:
    """Return the residual of each limited bus and its derivatives with respect to q and to v."""
    low, high = balance.q_low[at], balance.q_high[at]
    w = SCALE * (v - balance.v_set[at])
    # phi(high - q, -w) with an open side is -w itself, and phi(q - low, w) with an open side w.
    upper = np.isfinite(high)
    inner, by_gap, by_minus_w = _fischer(np.where(upper, high - q, 1.0), -w, mu)
    inner, by_gap = np.where(upper, inner, -w), np.where(upper, by_gap, 0.0)
    by_minus_w = np.where(upper, by_minus_w, 1.0)
    lower = np.isfinite(low)
    outer, by_first, by_second = _fischer(np.where(lower, q - low, 1.0), -inner, mu)
    outer, by_first = np.where(lower, outer, -inner), np.where(lower, by_first, 0.0)
    by_second = np.where(lower, by_second, 1.0)
    # d(-inner)/dq = by_gap, d(-inner)/dw = by_minus_w.
    return outer, by_first + by_second * by_gap, SCALE * by_second * by_minus_w


def _fischer(a: Reals, b: Reals, mu: float) -> tuple[Reals, Reals, Reals]:
    root = np.sqrt(a * a + b * b + 2 * mu * mu)
    safe = np.where(root > 0, root, 1.0)
    kink = np.sqrt(0.5)
    by_a = 1 - np.where(root > 0, a / safe, kink)
    by_b = 1 - np.where(root > 0, b / safe, kink)
    return a + b - root, by_a, by_b


def _sides(balance: Balance, limited: Places, v: Reals, angle: Reals) -> dict[int, int]:
    """Return the side of each bus whose limit is nearer than its voltage is to what it should be."""
    q = demand(balance, v, angle).imag - balance.q
    sides = {}
    for bus in map(int, limited):
        w = SCALE * (v[bus] - balance.v_set[bus])
        if balance.q_low[bus] == balance.q_high[bus]:
            sides[bus] = 1 if w < 0 else -1
        elif balance.q_high[bus] - q[bus] < -w:
            sides[bus] = 1
        elif q[bus] - balance.q_low[bus] < w:
            sides[bus] = -1
    return sides


def _held(balance: Balance, sides: dict[int, int]) -> Balance:
    """Return the balance with buses at a limit as such of given power."""
    q, pv = balance.q.copy(), balance.pv.copy()
    for bus, side in sides.items():
        q[bus] += balance.q_high[bus] if side > 0 else balance.q_low[bus]
        pv[bus] = False
    return Balance(
        *(balance.case, balance.loads, balance.y, balance.at, balance.p, q, balance.slack, pv),
        *(balance.v_set, balance.q_low, balance.q_high),
    )


def _inconsistent(
    held: Balance, sides: dict[int, int], v: Reals, angle: Reals, tolerance: float
) -> list[int]:
    """Return the buses outside their limits, and those at one whose voltage does not ask for it."""
    q = demand(held, v, angle).imag - held.q
    wrong = [
        int(bus)
        for bus in np.flatnonzero(held.pv)
        if not held.q_low[bus] - tolerance <= q[bus] <= held.q_high[bus] + tolerance
    ]
    for bus, side in sides.items():
        if held.q_low[bus] != held.q_high[bus] and side * (v[bus] - held.v_set[bus]) > tolerance:
            wrong.append(bus)
    return wrong
