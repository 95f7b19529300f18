"""Newton power flow in polar coordinates on sparse matrices.

Loads draw their given power, or follow the voltage where the case says to which voltage their power belongs
(v_0), by the equations of their components; generators hold power and voltage (pv), power (pq), or
voltage and angle (slack).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import PowerFlowError
from psmr.network.case.case import Case
from psmr.network.case.rows import admittance
from psmr.network.case.tables import GeneratorRow
from psmr.network.powerflow.load_power import LoadPower
from psmr.network.powerflow.power_balance import Balance, demand, solve

if TYPE_CHECKING:
    import pandas as pd

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, eq=False, repr=False)
class PowerFlow:
    """A solved power flow, per unit on the system base; rows in the order of the case's tables.

    Attributes
    ----------
    v, angle
        (buses,) voltage magnitudes in pu and angles in rad.
    p, q
        (generators,) injected power of each generator in pu.
    load_p, load_q
        (loads,) power that each load draws in pu.
    mismatch
        Largest absolute power mismatch in pu.
    iterations
        Newton iterations taken.
    at_limit
        Names of the generators whose reactive power is held at a limit.
    """

    case: Case = field(repr=False)
    v: Reals
    angle: Reals
    p: Reals
    q: Reals
    load_p: Reals
    load_q: Reals
    mismatch: float
    iterations: int
    at_limit: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"PowerFlow({self.case.name!r}, {self.iterations} iterations, mismatch {self.mismatch:.2g} pu, "
            f"voltages {self.v.min():.4f} to {self.v.max():.4f} pu)"
        )

    @property
    def voltage(self) -> Complexes:
        """(buses,) complex voltages in pu."""
        return self.v * np.exp(1j * self.angle)

    def by_number(self) -> dict[int, complex]:
        """Return the complex voltage in pu of each bus by its number."""
        return {bus.number: complex(v) for bus, v in zip(self.case.buses, self.voltage, strict=True)}

    def buses(self) -> pd.DataFrame:
        """Return a row per bus: v in pu, angle in degrees."""
        import pandas as pd  # slow to import, for tables alone

        names = pd.Index([bus.name for bus in self.case.buses], name="bus")
        return pd.DataFrame({"v": self.v, "angle_deg": np.degrees(self.angle)}, index=names)

    def loads(self) -> pd.DataFrame:
        """Return a row per load: bus, p in MW, q in Mvar."""
        import pandas as pd  # slow to import, for tables alone

        names = pd.Index([row.name for row in self.case.loads], name="load")
        power = {"p_mw": self.load_p * self.case.base_mva, "q_mvar": self.load_q * self.case.base_mva}
        return pd.DataFrame({"bus": [row.bus for row in self.case.loads], **power}, index=names)

    def generators(self) -> pd.DataFrame:
        """Return a row per generator: bus, p in MW, q in Mvar."""
        import pandas as pd  # slow to import, for tables alone

        names = pd.Index([g.name for g in self.case.generators], name="generator")
        power = {"p_mw": self.p * self.case.base_mva, "q_mvar": self.q * self.case.base_mva}
        return pd.DataFrame({"bus": [g.bus for g in self.case.generators], **power}, index=names)


def power_flow(
    case: Case, reactive_limits: bool = False, tolerance: float = 1e-10, iterations: int = 30
) -> PowerFlow:
    """Solve the power flow of a case.

    Parameters
    ----------
    case
        The case; every island of it has one slack bus.
    reactive_limits
        Whether a pv bus whose generators would leave their reactive limits turns into a pq bus (and back).
        The slack's limits are not looked at.
    tolerance
        Largest power mismatch in pu at which the iteration stops, after one more step that squares it.
    iterations
        Most Newton iterations.

    Raises
    ------
    PowerFlowError
        Where the iteration does not converge, with the largest mismatch and its bus.
    """
    balance = _pose(case)
    v, angle = np.where(balance.slack | balance.pv, balance.v_set, 1.0), _start_angles(balance)
    used = 0
    held: dict[int, int] = {}
    seen: set[tuple[tuple[int, int], ...]] = set()
    while True:
        v, angle, mismatch, count = solve(balance, v, angle, tolerance, iterations)
        used += count
        if not reactive_limits or not _switch(balance, v, angle, held, tolerance):
            break
        state = tuple(sorted(held.items()))
        if state in seen:
            raise PowerFlowError(
                f"{case.name}: the buses at a reactive limit alternate and no set of them is consistent; "
                "check q_min_mvar and q_max_mvar, or solve without reactive limits"
            )
        seen.add(state)
    p, q = _share(balance, v, angle, reactive_limits)
    names = tuple(
        g.name
        for g, bus in zip(case.generators, balance.at, strict=True)
        if bus in held and g.control != "pq"
    )
    load = balance.loads.each(v)[0]
    return PowerFlow(case, v, angle, p, q, load.real, load.imag, mismatch, used, names)


def _pose(case: Case) -> Balance:
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    size = len(case.buses)
    at = np.array([place[g.bus] for g in case.generators], dtype=np.intp)
    p, q, v_set = np.zeros(size), np.zeros(size), np.ones(size)
    slack, pv = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    for bus, g in zip(at, case.generators, strict=True):
        p[bus] += g.p_mw / case.base_mva
        if g.control == "pq":
            q[bus] += g.q_mvar / case.base_mva
        else:
            v_set[bus] = g.v
            slack[bus] |= g.control == "slack"
            pv[bus] |= g.control == "pv"
    return Balance(case, LoadPower.of(case), admittance(case), at, p, q, slack, pv & ~slack, v_set)


def _start_angles(balance: Balance) -> Reals:
    """Return the angles at which no active power flows, by the linear (DC) power flow.

    In each island that is the slack's angle, and behind a phase shift that much more or less: from equal
    angles the iteration would not get past 30 degrees.
    """
    size = len(balance.p)
    angle = np.zeros(size)
    _, island = sparse.csgraph.connected_components(abs(balance.y), directed=False)
    for bus, g in zip(balance.at, balance.case.generators, strict=True):
        if g.control == "slack":
            angle[island == island[bus]] = np.radians(g.angle_deg)
    shifting = [row for row in balance.case.transformers if row.status and row.shift_deg]
    free = ~balance.slack
    if not shifting or not free.any():
        return angle
    place = {bus.number: i for i, bus in enumerate(balance.case.buses)}
    branches = [row for row in balance.case.branches if row.status]
    ends = np.array([(place[row.from_bus], place[row.to_bus]) for row in branches])
    # Without the sign of x, so that the matrix is definite; without flows only loops feel the weights.
    b = np.array([1 / abs(row.x) for row in branches])
    shift = np.radians([getattr(row, "shift_deg", 0.0) for row in branches])
    rows = np.arange(len(branches))
    incidence = sparse.csc_matrix(
        (np.r_[np.ones(rows.size), -np.ones(rows.size)], (np.r_[rows, rows], ends.T.ravel())),
        shape=(rows.size, size),
    )
    matrix = (incidence.T @ sparse.diags(b) @ incidence).tocsc()[free][:, free]
    angle[free] += splu(matrix.tocsc()).solve((incidence.T @ (b * shift))[free])
    return angle


def _limits(balance: Balance, bus: int) -> tuple[float, float, list[GeneratorRow]]:
    group = [
        g for b, g in zip(balance.at, balance.case.generators, strict=True) if b == bus and g.control == "pv"
    ]
    base = balance.case.base_mva
    return sum(g.q_min_mvar for g in group) / base, sum(g.q_max_mvar for g in group) / base, group


def _switch(balance: Balance, v: Reals, angle: Reals, held: dict[int, int], tolerance: float) -> bool:
    """Change pv buses outside their limits to pq and back where the voltage allows it; say if any did."""
    s = demand(balance, v, angle)
    changed = False
    for bus in map(int, np.flatnonzero(balance.pv)):
        low, high, _ = _limits(balance, bus)
        needed = s[bus].imag - balance.q[bus]
        side = 1 if needed > high + tolerance else -1 if needed < low - tolerance else 0
        if side:
            balance.q[bus] += high if side > 0 else low
            balance.pv[bus], held[bus], changed = False, side, True
    for bus, side in list(held.items()):
        if side * (v[bus] - balance.v_set[bus]) > tolerance:
            low, high, _ = _limits(balance, bus)
            balance.q[bus] -= high if side > 0 else low
            balance.pv[bus], changed = True, True
            del held[bus]
    return changed


def _share(balance: Balance, v: Reals, angle: Reals, limits: bool) -> tuple[Reals, Reals]:
    """Return p and q of each generator; what a bus leaves open is shared in proportion to the ratings.

    With `limits` each generator keeps to its own reactive limits where those at its bus together can.
    """
    case, base = balance.case, balance.case.base_mva
    s = demand(balance, v, angle)
    p = np.array([g.p_mw for g in case.generators]) / base
    q = np.array([g.q_mvar if g.control == "pq" else 0.0 for g in case.generators]) / base
    weight = np.array([g.rating_mva or 1.0 for g in case.generators])
    low = np.array([g.q_min_mvar for g in case.generators]) / base
    high = np.array([g.q_max_mvar for g in case.generators]) / base
    for bus in np.unique(balance.at):
        here = np.flatnonzero(balance.at == bus)
        slack = [i for i in here if case.generators[i].control == "slack"]
        if slack:
            p[slack] += (s[bus].real - p[here].sum()) * weight[slack] / weight[slack].sum()
        holding = [i for i in here if case.generators[i].control != "pq"]
        if holding:
            rest = float(s[bus].imag - q[here].sum())
            q[holding] = rest * weight[holding] / weight[holding].sum()
            # Rounding: a bus that is held stands at the sum of its limits.
            most, least = high[holding].sum() + 1e-9, low[holding].sum() - 1e-9
            if limits and len(holding) > 1 and least <= rest <= most:
                q[holding] = _within(rest, weight[holding], low[holding], high[holding])
    return p, q


def _within(total: float, weight: Reals, low: Reals, high: Reals) -> Reals:
    """Return shares of a total in proportion to weights as far as limits let them be."""
    from scipy.optimize import brentq  # slow to import, for this alone

    total = float(np.clip(total, low.sum(), high.sum()))
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    # Beyond this level every limit that there is holds, and an open side takes more than all.
    most = 2 * (abs(total) + np.abs(finite).sum()) / weight.min()
    if most == 0:
        return np.zeros_like(weight)
    level = brentq(lambda x: np.clip(x * weight, low, high).sum() - total, -most, most, xtol=1e-15)
    return np.clip(level * weight, low, high)
