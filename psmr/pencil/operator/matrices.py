"""The matrices of the equations of a side's stages, of a Jacobian that may change with the time.

The matrices of a linear DAE from which the equations of its steps are made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae
from psmr.integrate.solve.partition_sides import Sides
from psmr.integrate.step.network_response import response_matrix
from psmr.integrate.step.program import Side, Stage

Matrices = tuple[sp.csr_array, sp.csr_array, sp.csr_array]


def matrices(linear: LinearDae) -> Matrices:
    """Return `matrices_of` a linear DAE."""
    return matrices_of(sp.csr_array(linear.jacobian_at_once()), linear.n)


def matrices_of(jacobian: sp.csr_array, n: int) -> Matrices:
    """E = diag(I_n, 0), the rates [J_f; 0] and the constraints [0; J_g], each (N, N), with n states."""
    size = jacobian.shape[0]
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, size - n]), format="csr")
    count, (data, columns) = jacobian.indptr[n], (jacobian.data, jacobian.indices)
    above, below = np.minimum(jacobian.indptr, count), np.maximum(jacobian.indptr, count) - count
    rates = sp.csr_array((data[:count], columns[:count], above), shape=(size, size))
    constraints = sp.csr_array((data[count:], columns[count:], below), shape=(size, size))
    return mass, rates, constraints


def implicit(parts: Sequence[sp.csr_array], a_star: float) -> sp.csr_array:
    """E - [a* J_f; J_g], of the three `matrices`."""
    mass, rates, constraints = parts
    return (mass - a_star * rates - constraints).tocsr()


Jacobian = Callable[[float], sp.csr_array]
"""(n + m, n + m) Jacobian at a time, in parts of the step."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What the equations of a side's stages are made of at any time.

    `own`: Positions of its rows.
    `others`: What takes the variables of the other side out of w.
    `mass`: The side's rows of E, above empty ones for the other side's variables.
    `picked`, `older`: `others` below empty rows, on w and on the remembered variables.
    """

    own: np.ndarray
    others: sp.csr_array
    mass: sp.csr_array
    picked: sp.csr_array
    older: sp.csr_array


@dataclass(frozen=True, eq=False)
class SideMatrices:
    """The matrices of the stages of a step, each made once.

    `linear`, `sides`: The system, and who is on which side.
    `remembered`: Positions in w of the variables whose values at earlier points a step reads.
    `jacobian`: The Jacobian at a time in parts of the step; None: that of `linear` at every time.
    """

    linear: LinearDae
    sides: Sides
    remembered: np.ndarray
    jacobian: Jacobian | None = None
    _parts: dict[tuple[Side, bool], Parts] = field(default_factory=dict)
    _known: dict[object, sp.csr_array] = field(default_factory=dict)
    _matrices: dict[float, Matrices] = field(default_factory=dict)

    def with_jacobian(self, jacobian: Jacobian) -> SideMatrices:
        """Return the same with another Jacobian; what does not depend on it is made once for all."""
        other = replace(self, jacobian=jacobian, _known={}, _matrices={})
        vars(other).update(identity=self.identity, place=self.place)
        return other

    @functools.cached_property
    def identity(self) -> sp.csr_array:
        """The identity on w."""
        return sp.eye_array(self.linear.n + self.linear.m, format="csr")

    @functools.cached_property
    def place(self) -> sp.csr_array:
        """What takes the remembered variables to their places in w."""
        return self.identity[self.remembered].T.tocsr()

    def parts_of(self, side: Side, with_response: bool) -> Parts:
        """Return what the stages of a side are made of."""
        if (side, with_response) not in self._parts:
            own, mass = self.sides.of(side)[0], matrices(self.linear)[0]
            others = self._responding() if with_response else self.identity[self.sides.beyond(side)]
            older = others @ self.place
            self._parts[side, with_response] = Parts(
                own,
                others,
                mass=on_top(mass[own], sp.csr_array((others.shape[0], mass.shape[1]))),
                picked=on_top(sp.csr_array((len(own), mass.shape[1])), others),
                older=on_top(sp.csr_array((len(own), older.shape[1])), older),
            )
        return self._parts[side, with_response]

    def rates_of(self, stage: Stage, time: float) -> sp.csr_array:
        """Return a side's rows of f at a time, above empty ones for the other side's variables."""
        key = ("rates", stage.rows, stage.with_response, self._time(time))
        if key not in self._known:
            parts, rates = self.parts_of(stage.rows, stage.with_response), self._matrices_at(time)[1]
            below = sp.csr_array((parts.others.shape[0], rates.shape[1]))
            self._known[key] = on_top(rates[parts.own], below)
        return self._known[key]

    def left_of(self, stage: Stage, a_star: float, time: float) -> sp.csr_array:
        """Return the matrix of a stage's equation with f times a* in s: one object for all with the same."""
        key = (stage.rows, a_star, self._time(time))
        if key not in self._known:
            parts = self.parts_of(stage.rows, stage.with_response)
            left = implicit(self._matrices_at(time), a_star)
            self._known[key] = on_top(left[parts.own], parts.others) if parts.others.shape[0] else left
        return self._known[key]

    def _time(self, time: float) -> float:
        return 0.0 if self.jacobian is None else time

    def _matrices_at(self, time: float) -> Matrices:
        """Return E, the rates and the constraints at a time."""
        time = self._time(time)
        if time not in self._matrices:
            known = self.jacobian
            found = matrices(self.linear) if known is None else matrices_of(known(time), self.linear.n)
            self._matrices[time] = found
        return self._matrices[time]

    def _responding(self) -> sp.csr_array:
        """Return what takes the slow variables out of w, the responding ones less their response."""
        n, sides = self.linear.n, self.sides
        jacobian = sp.csr_array(self.linear.jacobian_at_once())
        read = np.unique(jacobian[sides.fast_rows].indices)
        read = np.intersect1d(read[read >= n], sides.slow)
        algebraic_rows, algebraic = sides.of("slow", algebraic_from=n)
        gains = response_matrix(jacobian[algebraic_rows], algebraic, sides.fast, read)
        spread = sp.eye_array(sides.slow.size, format="csr")[np.searchsorted(sides.slow, read)]
        return (self.identity[sides.slow] - spread.T @ gains @ self.identity[sides.fast]).tocsr()


def on_top(above: sp.csr_array, below: sp.csr_array) -> sp.csr_array:
    """Return two matrices as one."""
    if not below.shape[0]:
        return above
    return sp.vstack([above, below], format="csr")
