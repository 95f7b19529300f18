"""The power that loads draw as a function of the voltage, by their components' own equations."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Component
from psmr.dae.declare.mathematics import NumericMath
from psmr.network.case.case import Case
from psmr.network.case.row import LoadRow
from psmr.network.case.rows import columns, load_component, load_parameters
from psmr.network.equilibrium.equilibrium import STEP

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class LoadPower:
    """The loads of a case for its power flow, at low voltage, too, what they draw in a run.

    Attributes
    ----------
    size
        Number of buses.
    at
        (loads,) position of each load's bus.
    given
        (loads,) complex power in pu that each is given.
    groups
        Component, positions among the loads, and parameters as arrays of those that are no devices.
    at_own
        (loads,) whether the power belongs to the voltage of the power flow itself, whatever it turns out to
        be: it is constant above `below`, and that of devices always.
    below
        (loads,) voltage in pu below which the power falls: that of the parts of constant power or current.
    """

    size: int
    at: NDArray[np.intp]
    given: Complexes
    groups: tuple[tuple[type[Component], NDArray[np.intp], SimpleNamespace], ...]
    at_own: NDArray[np.bool_]
    below: Reals

    @classmethod
    def of(cls, case: Case) -> LoadPower:
        """Return the loads of a case."""
        place = {bus.number: i for i, bus in enumerate(case.buses)}
        at = np.array([place[row.bus] for row in case.loads], dtype=np.intp)
        base = case.base_mva
        given = np.array([complex(row.p_mw, row.q_mvar) / base for row in case.loads], dtype=complex)
        follows = np.array([row.device is None for row in case.loads], dtype=bool)
        kinds: dict[type[Component], list[int]] = {}
        for i in np.flatnonzero(follows):
            kinds.setdefault(load_component(case.loads[i]), []).append(int(i))
        groups = tuple(
            (kind, np.array(rows), columns(kind, [load_parameters(case.loads[i], case, 1.0) for i in rows]))
            for kind, rows in kinds.items()
        )
        at_own = np.array([row.v_0 is None for row in case.loads], dtype=bool)
        below = np.array([_falls_below(row) for row in case.loads])
        return cls(len(case.buses), at, given, groups, at_own, below)

    def each(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (loads,) complex powers at (buses,) voltage magnitudes, and their derivatives, in pu."""
        power, slope = self.given.astype(complex), np.zeros(len(self.at), dtype=complex)
        follows = ~self.at_own | (v[self.at] < self.below)
        for component, rows, p in self.groups:
            shifted = v[self.at[rows]] + 1j * STEP
            terminal = SimpleNamespace(v_re=shifted, v_im=0.0 * shifted, t=0.0)
            here = SimpleNamespace(**{**vars(p), "v_0": np.where(self.at_own[rows], shifted, p.v_0)})
            i_re, i_im = component.equations(NumericMath, terminal, here)[2]
            active, reactive = -shifted * i_re, shifted * i_im
            now = follows[rows]
            power[rows[now]] = (active.real + 1j * reactive.real)[now]
            slope[rows[now]] = ((active.imag + 1j * reactive.imag) / STEP)[now]
        return power, slope

    def reduced(self, v: Reals) -> NDArray[np.intp]:
        """Return the positions of the loads that draw less than they would because their voltage is low."""
        return np.flatnonzero(v[self.at] < self.below)

    def drawn(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (buses,) complex powers drawn and their derivatives with respect to the voltage, in pu."""
        power, slope = self.each(v)
        total, total_slope = np.zeros(self.size, dtype=complex), np.zeros(self.size, dtype=complex)
        np.add.at(total, self.at, power)
        np.add.at(total_slope, self.at, slope)
        return total, total_slope


def _falls_below(row: LoadRow) -> float:
    """Return the voltage in pu below which a load draws less than its constant power or current."""
    if row.device is not None or row.impedance or not (row.p_mw or row.q_mvar):
        return 0.0
    power = row.exponential or row.p_zip[2] > 0 or row.q_zip[2] > 0
    current = not row.exponential and (row.p_zip[1] > 0 or row.q_zip[1] > 0)
    return max(row.v_min if power else 0.0, row.v_min_current if current else 0.0)
