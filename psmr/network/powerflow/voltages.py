"""Voltages from which a power flow starts, those that a file stores, and those of low voltage.

Beyond the nose of the power-voltage curve a bus's voltage falls where more reactive power is injected there,
and the determinant of the Jacobian has changed its sign an odd number of times since the unloaded network.
Both are compared with that network, for a series capacitor gives such signs by itself. Sources: V. A. Venikov
et al., Estimation of electrical power system steady-state stability in load flow calculations, IEEE Trans.
PAS-94 (1975); P. Kundur, Power System Stability and Control (1994), section 14.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigs, splu

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import warn
from psmr.network.case.case import Case
from psmr.network.powerflow.power_balance import Balance, demand, jacobian

if TYPE_CHECKING:
    import pandas as pd


STORED, FLAT, LINEAR, UNLOADED = "stored", "flat", "linear", "unloaded"
STARTS = (STORED, FLAT, LINEAR, UNLOADED)
"""The voltages that the file stores; flat ones; flat ones with the angles of the linear (DC) power flow;
those of the network without loads, which ratios far from 1 between small impedances need."""


def starting_voltages(balance: Balance, start: str) -> tuple[Reals, Reals]:
    """Return (v, angle) in pu and rad from which the iteration starts."""
    if start == STORED:
        return stored_voltages(balance)
    v = balance.with_held(np.where(balance.pv, balance.v_set, 1.0))
    angle = _angles(balance, balance.p - balance.loads.drawn(v)[0].real if start == LINEAR else None)
    if start == UNLOADED:
        return _unloaded(balance, v * np.exp(1j * angle), balance.held)
    return v, angle


def stored_voltages(balance: Balance) -> tuple[Reals, Reals]:
    """Return the (v, angle) that the case stores, with those of an open network where it stores none.

    The star of a three-winding transformer is such a bus: what its neighbours store decides its voltage.
    """
    buses = balance.case.buses
    known = np.array([bus.v is not None for bus in buses])
    voltage = np.array(
        [
            0j if bus.v is None or bus.angle_deg is None else np.exp(1j * np.radians(bus.angle_deg)) * bus.v
            for bus in buses
        ]
    )
    return _unloaded(balance, voltage, known)


def _unloaded(balance: Balance, voltage: Complexes, known: NDArray[np.bool_]) -> tuple[Reals, Reals]:
    """Return (v, angle) with those that are not known as in a network without loads; 1 where it has none."""
    voltage = voltage.copy()
    if not known.all():
        y, unknown = balance.y, ~known
        try:
            found = splu(y[unknown][:, unknown].tocsc()).solve(-(y[unknown][:, known] @ voltage[known]))
        except RuntimeError:
            found = np.full(np.count_nonzero(unknown), np.nan)
        voltage[unknown] = np.where(np.isfinite(found) & (np.abs(found) > 0.1), found, 1.0)
    return np.abs(voltage), np.angle(voltage)


def _angles(balance: Balance, p: Reals | None) -> Reals:
    """Return the angles of the linear (DC) power flow; those without any active power where p is None.

    Without power they are, in each island, the slack's angle, and behind a phase shift that much more or
    less: from equal angles the iteration would not get past 30 degrees.
    """
    size = len(balance.p)
    angle = np.zeros(size)
    _, island = sparse.csgraph.connected_components(abs(balance.y), directed=False)
    for bus, g in zip(balance.at, balance.case.generators, strict=True):
        if g.control == "slack":
            angle[island == island[bus]] = np.radians(g.angle_deg)
    for bus, g in zip(balance.at, balance.case.generators, strict=True):
        if g.control == "slack":
            angle[bus] = np.radians(g.angle_deg)
    shifting = [row for row in balance.case.transformers if row.status and row.shift_deg]
    free = ~balance.slack
    if (p is None and not shifting) or not free.any():
        return angle
    branches = [row for row in balance.case.branches if row.status]
    place = balance.case.places
    ends = np.array([(place[row.from_bus], place[row.to_bus]) for row in branches])
    # Without the sign of x, so that the matrix is definite; without flows only loops feel the weights.
    b = np.array([1 / abs(row.x or row.r) for row in branches])
    shift = np.radians([getattr(row, "shift_deg", 0.0) for row in branches])
    rows = np.arange(len(branches))
    incidence = sparse.csc_matrix(
        (np.r_[np.ones(rows.size), -np.ones(rows.size)], (np.r_[rows, rows], ends.T.ravel())),
        shape=(rows.size, size),
    )
    matrix = (incidence.T @ sparse.diags(b) @ incidence).tocsc()
    given = incidence.T @ (b * shift) - matrix @ angle + (0.0 if p is None else p)
    angle[free] += splu(matrix[free][:, free].tocsc()).solve(given[free])
    return angle


OFF = 1e-4
"""Difference in pu between a stored voltage and the one that is held above which it was not held."""

ROUGH = 0.02
"""How far in pu, relative to what is given, stored powers may be from a limit that they are at."""


BALANCED, OF_LOADS, ROUNDING = 0.02, 0.01, 1e-5
"""What a bus of a solved file may be out of balance in pu, and as a part of the largest load, beside what the
rounding of a voltage in pu leaves."""


def balances(case: Case) -> bool:
    """Return whether the voltages that a case stores balance its powers at each bus.

    Asked is active power where no slack is, and reactive power where no generator holds a voltage; whether
    that is the one that it holds is not asked.
    """
    if not case.stored:
        return False
    balance = Balance.of(case)
    v, angle = stored_voltages(balance)
    off = demand(balance, v, angle) - balance.p - 1j * balance.q
    largest = float(np.abs(balance.loads.given).max(initial=0.0))
    allowed = min(BALANCED, OF_LOADS * largest) + ROUNDING * (abs(balance.y) @ v)
    given = ~(balance.slack | balance.pv)
    return bool(
        (np.abs(off.real[~balance.slack]) <= allowed[~balance.slack]).all()
        and (np.abs(off.imag[given]) <= allowed[given]).all()
    )


def held_as_solved(case: Case) -> Case:
    """Return the case with its slacks at the voltages that it stores, where these are its solution.

    A program that holds the voltage of a swing bus and not the set-point of its machine has solved it so.

    Warns for each slack that is held at another voltage than its row says.
    """
    stored = {bus.number: bus.v for bus in case.buses}
    swings = [row for row in case.generators if row.control == "slack"]
    at = {row.name: stored[row.bus] or row.v for row in swings}
    off = {row.name: at[row.name] for row in swings if abs(at[row.name] - row.v) > OFF}
    if not off or not balances(case):
        return case
    for row in case.generators:
        if row.name in off:
            warn(
                f"{row.place}: VS = {row.v:g} and VM = {off[row.name]:g} at a swing: the voltages of the file"
                f" are a solution at VM, which is held; give both one value"
            )
    rows = (replace(row, v=off[row.name]) if row.name in off else row for row in case.generators)
    return replace(case, generators=tuple(rows))


def keeps_limits(balance: Balance, v: Reals, angle: Reals) -> bool:
    """Return whether a stored solution keeps limits of reactive power: its voltages say so.

    It does where buses at a limit have another voltage than they hold, and few hold theirs beyond a limit or
    have another one within their limits.
    """
    q = demand(balance, v, angle).imag - balance.q
    off = v[balance.controlled] - balance.v_set
    room = ROUGH * np.maximum(1.0, np.abs(q))
    high, low = q >= balance.q_high - room, q <= balance.q_low + room
    at_limit = balance.pv & ((high & (off < -OFF)) | (low & (off > OFF)))
    beyond = (q > balance.q_high + room) | (q < balance.q_low - room)
    against = np.where(np.abs(off) <= OFF, beyond, ~at_limit) & balance.pv
    return bool(np.count_nonzero(at_limit) > 2 * np.count_nonzero(against))


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """How far a power flow is from the solution that its case stores.

    Attributes
    ----------
    case
        The case.
    dv, dangle
        (buses,) voltage in pu and angle in rad, solution less stored; NaN where nothing is stored.
    distance
        (buses,) magnitude in pu of the difference of the complex voltages; NaN where nothing is stored.
    """

    case: Case
    dv: Reals
    dangle: Reals
    distance: Reals

    @classmethod
    def of(cls, case: Case, voltage: Complexes) -> StoredSolution | None:
        """Return the distance of (buses,) voltages in pu; None where the case stores no solution."""
        if not case.stored:
            return None
        v = np.array([np.nan if bus.v is None else bus.v for bus in case.buses])
        angle = np.radians([np.nan if bus.angle_deg is None else bus.angle_deg for bus in case.buses])
        stored = v * np.exp(1j * angle)
        dangle = np.angle(voltage * np.exp(-1j * angle))
        return cls(case, np.abs(voltage) - v, dangle, np.abs(voltage - stored))

    @property
    def largest(self) -> float:
        """Largest distance in pu."""
        return float(np.nanmax(self.distance))

    def table(self) -> pd.DataFrame:
        """Return a row per bus with a stored voltage, the worst first: distance and dv in pu, dangle_deg."""
        import pandas as pd  # slow to import, for tables alone

        names = pd.Index([bus.name for bus in self.case.buses], name="bus")
        columns = {"distance": self.distance, "dv": self.dv, "dangle_deg": np.degrees(self.dangle)}
        table = pd.DataFrame(columns, index=names).dropna()
        return table.sort_values("distance", ascending=False, kind="stable")

    def __str__(self) -> str:
        worst = self.table()
        far = ", ".join(
            f"{name} {row.dv:+.2g} pu, {row.dangle_deg:+.2g} deg" for name, row in worst.head(3).iterrows()
        )
        return f"at most {self.largest:.2g} pu from the stored solution ({far})"


LOOKED_AT, SUSPICIOUS = 25, 0.9
"""How many buses, of those below this voltage in pu, have their sensitivity looked at."""

MODES, MOVED = 12, 5
"""How many eigenvalues nearest to zero are looked at, and how many buses of a mode."""


def low_voltage_buses(balance: Balance, v: Reals, angle: Reals) -> tuple[list[int], bool]:
    """Return the positions of buses on the low-voltage side, and whether the determinant has changed sign.

    Looked at are the buses of the lowest voltages and, where the determinant has changed sign, those of the
    lowest voltages that the mode of the negative eigenvalue moves most, in angle or voltage. A change of sign
    without such a bus is no more than a reason to look.
    """
    free_v = balance.free_v
    if not free_v.size:
        return [], False
    try:
        here = splu(jacobian(balance, v, angle))
        unloaded = splu(jacobian(balance, *starting_voltages(balance, FLAT), loads=False))
    except RuntimeError:
        # Singular: the solution is the nose itself, or the unloaded network says nothing.
        return [], False
    lowest = free_v[np.argsort(v[free_v])][:LOOKED_AT]
    found = [
        int(bus)
        for bus in lowest[v[lowest] < SUSPICIOUS]
        if _sensitivity(balance, here, bus) < 0 < _sensitivity(balance, unloaded, bus)
    ]
    turned = _sign(here) != _sign(unloaded)
    if turned and not found:
        moved = _moved_most(balance, here)
        found = [bus for bus in moved if v[bus] < SUSPICIOUS]
    return found, turned


def _moved_most(balance: Balance, lu: SuperLU) -> list[int]:
    """Return the positions of the buses that the modes of negative real eigenvalues near zero move most."""
    size = lu.shape[0]
    count = min(MODES, size - 2)
    if count < 1:
        return []
    inverse = LinearOperator((size, size), matvec=lu.solve, dtype=float)
    try:
        values, vectors = eigs(inverse, k=count, which="LM", v0=np.ones(size))
    except ArpackError:
        return []
    at = np.concatenate([balance.free_angle, balance.free_v])
    found: list[int] = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.real < 0 and abs(value.imag) < 1e-9 * abs(value):
            found += [int(bus) for bus in at[np.argsort(-np.abs(vector))][:MOVED]]
    return list(dict.fromkeys(found))


def _sensitivity(balance: Balance, lu: SuperLU, bus: int) -> float:
    """Return the derivative of a bus's voltage with respect to the reactive power injected there."""
    injected = balance.reactive_rows()[:, [bus]].toarray().ravel()
    given = np.concatenate([np.zeros(balance.free_angle.size), injected])
    return float(lu.solve(given)[balance.free_angle.size + int(np.searchsorted(balance.free_v, bus))])


def _sign(lu: SuperLU) -> int:
    """Return the sign of a determinant from its factors."""
    diagonal = int(np.count_nonzero(lu.U.diagonal() < 0))
    return 1 - 2 * ((diagonal + _odd(lu.perm_r) + _odd(lu.perm_c)) % 2)


def _odd(permutation: np.ndarray) -> int:
    """Return 1 for an odd permutation: an odd number of cycles of even length."""
    seen = np.zeros(len(permutation), dtype=bool)
    odd = 0
    for start in range(len(permutation)):
        if seen[start]:
            continue
        at, length = start, 0
        while not seen[at]:
            seen[at] = True
            at = permutation[at]
            length += 1
        odd ^= (length + 1) % 2
    return odd
