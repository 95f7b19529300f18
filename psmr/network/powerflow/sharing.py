"""How the generators of a bus share what the power flow leaves open there."""

from __future__ import annotations

import numpy as np

from psmr.network.case.tables import AS_STORED, EQUAL
from psmr.network.powerflow.power_balance import Balance, Reals, demand


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
