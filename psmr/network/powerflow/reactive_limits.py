"""The power flow with limits of reactive power, as one system of equations.

At each bus that holds its voltage within limits of reactive power, q stands between them where v is v_set, at
the lower one where v is above, at the upper one where v is below: a mixed complementarity problem. With the
function phi(a, b) = a + b - sqrt(a^2 + b^2), which is zero where a >= 0, b >= 0 and a b = 0, that is one
equation for each bus,

    phi(q - q_low, -phi(q_high - q, v_set - v)) = 0,

where v may be the voltage of another bus. Where several buses hold one voltage, q is their level, and each
gives its share of it up to its own limits. Newton's method, with a line search, is descent on the sum of
squares of all equations: no set of buses at a limit is tried out, and none can alternate. Sources:
A. Fischer, A special Newton-type optimization method, Optimization 24 (1992); S. C. Billups, Algorithms for
complementarity problems and generalized equations, thesis, University of Wisconsin (1995); with the root of
a^2 + b^2 + 2 mu^2 in its place, which is smooth, C. Kanzow, Some noninterior continuation methods for linear
complementarity problems, SIAM J. Matrix Anal. Appl. 17 (1996).

How the generators of a bus share what the power flow leaves open there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import PowerFlowError
from psmr.network.case.tables import AS_STORED, EQUAL
from psmr.network.powerflow.power_balance import Balance, Indices, demand, derivatives, solve

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

    Raises PowerFlowError where no consistent set of buses at a limit is found.
    """
    limits = _Limits.of(balance)
    used, reason = 0, ""
    start = v.copy(), angle.copy()
    for mu in SMOOTHING:
        v, angle, level, count, good = _complementary(balance, limits, v, angle, mu, iterations)
        used += count
        if not good:
            # A smooth problem that is not solved leads nowhere: the next begins where this one began.
            v, angle = start
            continue
        start = v.copy(), angle.copy()
        if mu:
            continue
        sides = _sides(balance, limits, v, angle, level)
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


@dataclass(frozen=True, eq=False)
class _Limits:
    """The buses with limits: those that hold a voltage alone, and groups that hold one together.

    A group gives a `level` of reactive power of which each member takes its share up to its own limits.

    `alone`: positions of the buses that hold a voltage alone.
    `members`, `group`, `share`: positions of the members of groups, the group of each, and its share of the
        level.
    `controlled`, `v_set`: (groups,) position of the bus whose voltage each holds, and that voltage in pu.
    `low`, `high`: (groups,) levels beyond which no member of a group gives less, or more.
    """

    alone: Indices
    members: Indices
    group: Indices
    share: Reals
    controlled: Indices
    v_set: Reals
    low: Reals
    high: Reals

    @classmethod
    def of(cls, balance: Balance) -> _Limits:
        pv = np.flatnonzero(balance.pv)
        controlled, group, count = np.unique(balance.controlled[pv], return_inverse=True, return_counts=True)
        alone = pv[count[group] == 1]
        alone = alone[np.isfinite(balance.q_low[alone]) | np.isfinite(balance.q_high[alone])]
        several = np.flatnonzero(count > 1)
        chosen = np.isin(group, several)
        members, group = pv[chosen], np.searchsorted(several, group[chosen])
        total = np.bincount(group, balance.share[members], several.size)
        share = balance.share[members] / total[group]
        v_set = np.ones(several.size)
        v_set[group] = balance.v_set[members]
        low, high = np.full(several.size, np.inf), np.full(several.size, -np.inf)
        np.minimum.at(low, group, balance.q_low[members] / share)
        np.maximum.at(high, group, balance.q_high[members] / share)
        return cls(alone, members, group, share, controlled[several], v_set, low, high)


def _complementary(
    balance: Balance, limits: _Limits, v: Reals, angle: Reals, mu: float, iterations: int
) -> tuple[Reals, Reals, Reals, int, bool]:
    """Return (v, angle, levels, iterations, whether that solves) of the problem with one mu."""
    alone, members = limits.alone, limits.members
    loose = replace(balance, pv=balance.pv.copy())
    loose.pv[alone] = loose.pv[members] = False
    free_angle, free_v, sums = loose.free_angle, loose.free_v, loose.reactive_rows()
    # Buses that are not held have the first rows, in their order.
    given = np.flatnonzero(~(loose.slack | loose.pv))
    rows, member_rows = np.searchsorted(given, alone), np.searchsorted(given, members)
    aim, group_aim = balance.controlled[alone], limits.controlled
    columns, group_columns = np.searchsorted(free_v, aim), np.searchsorted(free_v, group_aim)
    groups = np.arange(group_aim.size)
    v = loose.with_held(v)
    at_first = np.bincount(limits.group, (demand(balance, v, angle).imag - balance.q)[members], groups.size)
    level: Reals = np.clip(at_first.astype(float), limits.low, limits.high)

    def residual(v: Reals, angle: Reals, level: Reals) -> tuple[Reals, Reals, Reals, Reals, Reals]:
        s = demand(balance, v, angle)
        needed = s.imag - balance.q
        phi, by_q, by_w = limit_residual(
            balance.q_low[alone], balance.q_high[alone], needed[alone], v[aim] - balance.v_set[alone], mu
        )
        part = sums @ needed
        part[rows] = phi
        asked = limits.share * level[limits.group]
        part[member_rows] -= np.clip(asked, balance.q_low[members], balance.q_high[members])
        of_levels, by_level, by_group_w = limit_residual(
            limits.low, limits.high, level, v[group_aim] - limits.v_set, mu
        )
        error = np.concatenate([(s.real - balance.p)[free_angle], part, of_levels])
        return error, by_q, by_w, by_level, by_group_w

    error, by_q, by_w, by_level, by_group_w = residual(v, angle, level)
    for count in range(iterations + 1):
        if np.abs(error).max(initial=0.0) < NEAR:
            return v, angle, level, count, True
        by_angle, by_v = derivatives(balance, v, angle)
        factor = np.ones(free_v.size)
        factor[rows] = by_q
        by_sums = sparse.diags(factor) @ sums
        own = sparse.csr_matrix((by_w, (rows, columns)), shape=(free_v.size, free_v.size))
        asked = limits.share * level[limits.group]
        inside = (asked >= balance.q_low[members]) & (asked <= balance.q_high[members])
        shape = (free_v.size, groups.size)
        taken = sparse.csr_matrix((-limits.share * inside, (member_rows, limits.group)), shape=shape)
        of_group = sparse.csr_matrix((by_group_w, (groups, group_columns)), shape=shape[::-1])
        matrix = sparse.bmat(
            [
                [by_angle.real[free_angle][:, free_angle], by_v.real[free_angle][:, free_v], None],
                [by_sums @ by_angle.imag[:, free_angle], by_sums @ by_v.imag[:, free_v] + own, taken],
                [None, of_group, sparse.diags(by_level, shape=(groups.size, groups.size))],
            ],
            format="csc",
        )
        try:
            step = splu(matrix).solve(-error)
        except RuntimeError:
            return v, angle, level, count, False
        if not np.isfinite(step).all():
            return v, angle, level, count, False
        dangle, dv, dlevel = np.split(step, [free_angle.size, free_angle.size + free_v.size])
        most = float(np.min(0.5 * v[free_v] / np.maximum(-dv, 1e-30), initial=1.0))
        before = np.linalg.norm(error)
        for scale in most * 0.5 ** np.arange(12):
            new_v, new_angle, new_level = v.copy(), angle.copy(), level + scale * dlevel
            new_angle[free_angle] += scale * dangle
            new_v[free_v] += scale * dv
            found = residual(new_v, new_angle, new_level)
            if np.linalg.norm(found[0]) < (1 - 1e-4 * scale) * before:
                break
        else:
            return v, angle, level, count, False
        v, angle, level, (error, by_q, by_w, by_level, by_group_w) = new_v, new_angle, new_level, found
    return v, angle, level, iterations, False


def limit_residual(low: Reals, high: Reals, q: Reals, excess: Reals, mu: float) -> tuple[Reals, Reals, Reals]:
    """Return the residuals of limits and their derivatives with respect to q and to the excess.

    The excess is what a voltage in pu is above the one to be held.
    """
    w = SCALE * excess
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


def _sides(balance: Balance, limits: _Limits, v: Reals, angle: Reals, level: Reals) -> dict[int, int]:
    """Return the side of each bus whose limit is nearer than its voltage is to what it should be."""
    q = demand(balance, v, angle).imag - balance.q
    sides = {}
    for bus in map(int, limits.alone):
        w = SCALE * (v[balance.controlled[bus]] - balance.v_set[bus])
        if balance.q_low[bus] == balance.q_high[bus]:
            sides[bus] = 1 if w < 0 else -1
        elif balance.q_high[bus] - q[bus] < -w:
            sides[bus] = 1
        elif q[bus] - balance.q_low[bus] < w:
            sides[bus] = -1
    w = SCALE * (v[limits.controlled] - limits.v_set)
    # At the end of its range a level asks for all that there is.
    level = np.where(limits.high - level < -w, np.inf, np.where(level - limits.low < w, -np.inf, level))
    for bus, asked in zip(map(int, limits.members), limits.share * level[limits.group], strict=True):
        if asked >= balance.q_high[bus]:
            sides[bus] = 1
        elif asked <= balance.q_low[bus]:
            sides[bus] = -1
    return sides


def _held(balance: Balance, sides: dict[int, int]) -> Balance:
    """Return the balance with buses at a limit as such of given power."""
    q, pv = balance.q.copy(), balance.pv.copy()
    for bus, side in sides.items():
        q[bus] += balance.q_high[bus] if side > 0 else balance.q_low[bus]
        pv[bus] = False
    return replace(balance, q=q, pv=pv)


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
        excess = v[held.controlled[bus]] - held.v_set[bus]
        if held.q_low[bus] != held.q_high[bus] and side * excess > tolerance:
            wrong.append(bus)
    return wrong


def shared_powers(balance: Balance, v: Reals, angle: Reals, limits: bool) -> tuple[Reals, Reals]:
    """Return p and q of each generator in pu.

    What slacks leave open of p is shared by ratings. Of q, generators keep what the case stores where it
    stores a solution and `Tables.reactive` asks for it; the rest is shared by ratings, or equally. With
    `limits` each keeps to its own reactive limits where those at its bus together can.
    """
    case, base = balance.case, balance.case.base_mva
    s = demand(balance, v, angle)
    as_stored = case.reactive == AS_STORED and case.stored
    p = np.array([g.p_mw for g in case.generators]) / base
    q = np.array([g.q_mvar if g.control == "pq" or as_stored else 0.0 for g in case.generators]) / base
    weight = np.array([g.rating_mva or 1.0 for g in case.generators])
    q_weight = np.ones_like(weight) if case.reactive == EQUAL else weight
    low = np.array([g.q_min_mvar for g in case.generators]) / base
    high = np.array([g.q_max_mvar for g in case.generators]) / base
    order = np.argsort(balance.at, kind="stable")
    for here in np.split(order, np.flatnonzero(np.diff(balance.at[order])) + 1):
        if not here.size:
            continue
        bus = balance.at[here[0]]
        slack = [i for i in here if case.generators[i].control == "slack"]
        if slack:
            p[slack] += (s[bus].real - p[here].sum()) * weight[slack] / weight[slack].sum()
        holding = [i for i in here if case.generators[i].control != "pq"]
        if holding:
            total = float(s[bus].imag - q[here].sum() + q[holding].sum())
            given, shares = q[holding], q_weight[holding]
            q[holding] = given + (total - given.sum()) * shares / shares.sum()
            # Rounding: a bus that is held stands at the sum of its limits.
            most, least = high[holding].sum() + 1e-9, low[holding].sum() - 1e-9
            if limits and len(holding) > 1 and least <= total <= most:
                q[holding] = _within(total, given, shares, low[holding], high[holding])
    return p, q


def _within(total: float, given: Reals, weight: Reals, low: Reals, high: Reals) -> Reals:
    """Return shares of a total: what is given and a rest by weights, as far as limits let them be."""
    from scipy.optimize import brentq  # slow to import, for this alone

    total = float(np.clip(total, low.sum(), high.sum()))
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)], given])
    # Beyond this level every limit that there is holds, and an open side takes more than all.
    most = 2 * (abs(total) + np.abs(finite).sum()) / weight.min()
    if most == 0:
        return np.zeros_like(weight)
    level = brentq(lambda x: np.clip(given + x * weight, low, high).sum() - total, -most, most, xtol=1e-15)
    return np.clip(given + level * weight, low, high)
