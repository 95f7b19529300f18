"""The solution that a file stores: what it says of reactive limits, and how far another one is from it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from psmr.base.errors import PsmrWarning
from psmr.network.case.case import Case
from psmr.network.powerflow.power_balance import Balance, Complexes, Reals, demand
from psmr.network.powerflow.starting_voltages import stored_voltages

if TYPE_CHECKING:
    import pandas as pd

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

    Warns
    -----
    PsmrWarning
        For each slack that is held at another voltage than its row says.
    """
    stored = {bus.number: bus.v for bus in case.buses}
    swings = [row for row in case.generators if row.control == "slack"]
    at = {row.name: stored[row.bus] or row.v for row in swings}
    off = {row.name: at[row.name] for row in swings if abs(at[row.name] - row.v) > OFF}
    if not off or not balances(case):
        return case
    for row in case.generators:
        if row.name in off:
            warnings.warn(
                f"{row.place}: VS = {row.v:g} and VM = {off[row.name]:g} at a swing: the voltages of the file"
                f" are a solution at VM, which is held; give both one value",
                PsmrWarning,
                stacklevel=3,
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
