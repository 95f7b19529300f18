"""The power that loads draw as a function of the voltage, by their components' own equations."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Component
from psmr.dae.declare.mathematics import NumericMath
from psmr.network.case.case import Case
from psmr.network.case.rows import columns, load_component, load_parameters
from psmr.network.equilibrium.equilibrium import STEP

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class LoadPower:
    """The loads of a case for its power flow: constant where their power belongs to its own voltage.

    Attributes
    ----------
    size
        Number of buses.
    at
        (loads,) position of each load's bus.
    constant
        (loads,) complex power in pu of those that do not follow the voltage, 0 for the others.
    groups
        Component, positions among the loads, and parameters as arrays of those that do.
    """

    size: int
    at: NDArray[np.intp]
    constant: Complexes
    groups: tuple[tuple[type[Component], NDArray[np.intp], SimpleNamespace], ...]

    @classmethod
    def of(cls, case: Case) -> LoadPower:
        """Return the loads of a case."""
        place = {bus.number: i for i, bus in enumerate(case.buses)}
        at = np.array([place[row.bus] for row in case.loads], dtype=np.intp)
        power = np.array([complex(row.p_mw, row.q_mvar) for row in case.loads]) / case.base_mva
        follows = np.array([row.v_0 is not None for row in case.loads], dtype=bool)
        kinds: dict[type[Component], list[int]] = {}
        for i in np.flatnonzero(follows):
            kinds.setdefault(load_component(case.loads[i]), []).append(int(i))
        groups = tuple(
            (kind, np.array(rows), columns(kind, [load_parameters(case.loads[i], case, 1.0) for i in rows]))
            for kind, rows in kinds.items()
        )
        return cls(len(case.buses), at, np.where(follows, 0.0, power), groups)

    def each(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (loads,) complex powers at (buses,) voltage magnitudes, and their derivatives, in pu."""
        power, slope = self.constant.astype(complex), np.zeros(len(self.at), dtype=complex)
        for component, rows, p in self.groups:
            shifted = v[self.at[rows]] + 1j * STEP
            terminal = SimpleNamespace(v_re=shifted, v_im=0.0 * shifted, t=0.0)
            i_re, i_im = component.equations(NumericMath, terminal, p)[2]
            active, reactive = -shifted * i_re, shifted * i_im
            power[rows] = active.real + 1j * reactive.real
            slope[rows] = (active.imag + 1j * reactive.imag) / STEP
        return power, slope

    def drawn(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (buses,) complex powers drawn and their derivatives with respect to the voltage, in pu."""
        power, slope = self.each(v)
        total, total_slope = np.zeros(self.size, dtype=complex), np.zeros(self.size, dtype=complex)
        np.add.at(total, self.at, power)
        np.add.at(total_slope, self.at, slope)
        return total, total_slope
