"""Newton power flow in polar coordinates on sparse matrices.

It starts from the voltages that the case stores, where it stores a solution, and otherwise from flat ones.
Loads draw their given power, or follow the voltage where the case says to which voltage their power belongs
(v_0), by the equations of their components, which take constant power and constant current back at low
voltage, as PSS/E does (PQBRAK); generators hold power and voltage (pv), power (pq), or voltage and angle
(slack).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import InputError, PowerFlowError, first_few, warn
from psmr.network.case.case import Case
from psmr.network.powerflow.power_balance import Balance, solve
from psmr.network.powerflow.reactive_limits import shared_powers, solve_with_limits
from psmr.network.powerflow.voltages import (
    STARTS,
    STORED,
    StoredSolution,
    keeps_limits,
    low_voltage_buses,
    starting_voltages,
    stored_voltages,
)

if TYPE_CHECKING:
    import pandas as pd


NEAR_STORED = 0.02
"""A low-voltage solution this near, in pu, to the stored one is the file's own."""

SHOWN = 5
"""Most loads in a note."""


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
    reduced
        Names of the loads of constant power or current that draw less than that, as their voltage is below
        `v_min` or `v_min_current`.
    at_limit
        Names of the generators whose reactive power is held at a limit.
    start
        Where the iteration started: ``"stored"`` voltages, ``"flat"`` ones, or flat ones with the angles of
        the ``"linear"`` (DC) power flow, or those of the ``"unloaded"`` network.
    reactive_limits
        Whether generators kept to their reactive limits.
    notes
        What its user should know: why another start was taken, buses on the low-voltage side, loads that
        draw less than they are given.
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
    reduced: tuple[str, ...] = ()
    at_limit: tuple[str, ...] = ()
    start: str = "flat"
    reactive_limits: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"PowerFlow({self.case.name!r}, {self.iterations} iterations, mismatch {self.mismatch:.2g} pu, "
            f"voltages {self.v.min():.4f} to {self.v.max():.4f} pu)"
        )

    @property
    def voltage(self) -> Complexes:
        """(buses,) complex voltages in pu."""
        return self.v * np.exp(1j * self.angle)

    @property
    def stored(self) -> StoredSolution | None:
        """How far it is from the solution that the case stores; None where that stores none."""
        return StoredSolution.of(self.case, self.voltage)

    def by_number(self) -> dict[int, complex]:
        """Return the complex voltage in pu of each bus by its number."""
        return {bus.number: complex(v) for bus, v in zip(self.case.buses, self.voltage, strict=True)}

    def buses(self) -> pd.DataFrame:
        """Return a row per bus: v in pu, angle in degrees."""
        return _table("bus", self.case.buses, {"v": self.v, "angle_deg": np.degrees(self.angle)})

    def loads(self) -> pd.DataFrame:
        """Return a row per load: bus, p in MW, q in Mvar."""
        return self._powers("load", self.case.loads, self.load_p, self.load_q)

    def generators(self) -> pd.DataFrame:
        """Return a row per generator: bus, p in MW, q in Mvar."""
        return self._powers("generator", self.case.generators, self.p, self.q)

    def _powers(self, kind: str, rows: Sequence[Any], p: Reals, q: Reals) -> pd.DataFrame:
        base = self.case.base_mva
        columns = {"bus": [row.bus for row in rows], "p_mw": p * base, "q_mvar": q * base}
        return _table(kind, rows, columns)


def _table(kind: str, rows: Sequence[Any], columns: Mapping[str, Any]) -> pd.DataFrame:
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(columns, index=pd.Index([row.name for row in rows], name=kind))


def power_flow(
    case: Case,
    reactive_limits: bool | None = None,
    tolerance: float = 1e-10,
    iterations: int = 30,
    start: str | PowerFlow | None = None,
) -> PowerFlow:
    """Solve the power flow of a case.

    Parameters
    ----------
    case
        The case; every island of it has a slack bus.
    reactive_limits
        Whether pv buses keep to the reactive limits of their generators, as pq buses where they would leave
        them. The slack's limits are not looked at. None: as the solution that the case stores does, no where
        it stores none.
    tolerance
        Largest power mismatch in pu at which the iteration stops, after one more step that squares it.
    iterations
        Most Newton iterations.
    start
        ``"stored"``, ``"flat"``, ``"linear"`` or ``"unloaded"``, see `PowerFlow`. None: stored voltages where
        the case has a solution, then flat, linear and unloaded ones, until one leads to a solution that is
        not of low voltage and in which every load draws its power; where none does, the first in which some
        draw less. Or another power flow of the same buses, whose voltages are the start.

    Raises
    ------
    PowerFlowError
        Where the iteration does not converge, with the largest mismatch and its bus; where it leads to a
        solution on the low-voltage side that is not the stored one, with its buses.
    InputError
        For a start that is not known, or from stored voltages where there are none.
    """
    given = None if start is None else (start,)
    known_start = isinstance(start, PowerFlow) or start in STARTS
    if given and (not known_start or (start == STORED and not case.stored)):
        known = ", ".join(map(repr, STARTS))
        lacks = f": {case.name} stores no solution" if start == STORED else ""
        raise InputError(f"start = {start!r}{lacks}: must be one of {known}, or None")
    posed = Balance.of(case)
    if reactive_limits is None:
        reactive_limits = case.stored and keeps_limits(posed, *stored_voltages(posed))
    failures: list[tuple[str, PowerFlowError]] = []
    reduced: PowerFlow | None = None
    for attempt in given or (STARTS if case.stored else STARTS[1:]):
        try:
            found = _solved(case, replace(posed), attempt, reactive_limits, tolerance, iterations)
        except PowerFlowError as error:
            failures.append((str(attempt), error))
            continue
        if failures:
            words = "; ".join(f"from {failed} ones {error}" for failed, error in failures)
            found = replace(found, notes=(f"solved from {attempt} voltages: {words}", *found.notes))
        if not found.reduced or _is_stored(found):
            break
        reduced = reduced or found
    else:
        if reduced is None:
            raise failures[0][1]
        found = reduced
    if found.reduced:
        found = replace(found, notes=(*found.notes, _reduction(found)))
    for note in found.notes:
        warn(f"{case.source or case.name}: power flow: {note}")
    return found


def _is_stored(flow: PowerFlow) -> bool:
    """Return whether a solution is the one that the file stores."""
    return flow.stored is not None and flow.stored.largest < NEAR_STORED


def _reduction(flow: PowerFlow) -> str:
    """Return which loads draw less than they are given, and how much."""
    case, v = flow.case, flow.by_number()
    power = np.hypot(flow.load_p, flow.load_q) * case.base_mva
    rows = [(row, s) for row, s in zip(case.loads, power, strict=True) if row.name in set(flow.reduced)]
    words = [
        f"{row.name} {s:.4g} of {np.hypot(row.p_mw, row.q_mvar):.4g} MVA at {abs(v[row.bus]):.3f} pu"
        for row, s in sorted(rows, key=lambda pair: abs(v[pair[0].bus]))
    ]
    return (
        f"{len(rows)} load(s) of constant power or current draw less than that ({first_few(words, SHOWN)}):"
        " the voltage is below v_min or v_min_current (0.7 and 0.5 pu, PSS/E's PQBRAK); no solution was found"
        " in which all draw their power: reduce the loading, or support the voltage there"
    )


def _solved(
    case: Case, balance: Balance, start: str | PowerFlow, limits: bool, tolerance: float, iterations: int
) -> PowerFlow:
    """Return the power flow from one start; raise PowerFlowError where there is none, or a false one."""
    if isinstance(start, PowerFlow):
        v, angle, start = start.v, start.angle, start.start
    else:
        v, angle = starting_voltages(balance, start)
    sides: dict[int, int] = {}
    if limits:
        v, angle, mismatch, count, sides = solve_with_limits(balance, v, angle, tolerance, iterations)
    else:
        v, angle, mismatch, count = solve(balance, v, angle, tolerance, iterations)
    notes: tuple[str, ...] = ()
    low, turned = low_voltage_buses(balance, v, angle)
    if low:
        words = ", ".join(f"{case.buses[i].name} at {v[i]:.3f} pu" for i in low[:5])
        words = (
            f"this solution is on the low-voltage side of the power-voltage curve ({words}), where a load of"
            " constant power has a second, higher voltage or none is stable"
        )
        difference = StoredSolution.of(case, v * np.exp(1j * angle))
        if difference is None or not np.nanmax(difference.distance[low], initial=0.0) < NEAR_STORED:
            remedy = (
                "reduce the load there, support the voltage, or store a start nearer to the right solution"
            )
            raise PowerFlowError(f"{case.source or case.name}: power flow: {words}; {remedy}")
        notes = (f"{words}; it is the one that the file stores",)
    elif turned:
        lowest = int(np.argmin(v))
        notes = (
            "the determinant of the Jacobian has another sign than in the unloaded network: this may not be"
            f" the solution of high voltage (the lowest is {v[lowest]:.3f} pu at {case.buses[lowest].name})",
        )
    p, q = shared_powers(balance, v, angle, limits)
    names = tuple(
        g.name
        for g, bus in zip(case.generators, balance.at, strict=True)
        if bus in sides and g.control != "pq"
    )
    load = balance.loads.each(v)[0]
    reduced = tuple(case.loads[i].name for i in balance.loads.reduced(v))
    return PowerFlow(
        case, v, angle, p, q, load.real, load.imag, mismatch, count, reduced, names, start, limits, notes
    )
