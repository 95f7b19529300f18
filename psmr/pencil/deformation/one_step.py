"""What a one-step method does to the modes of a system, from the modes alone.

A method with the tableau (A, b) multiplies a mode s by R(h s) = 1 + h s b (I - h s A)^-1 1 in a step of h
(Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.3); its algebraic variables follow
and add nothing. The modes are found once, any step then costs next to nothing. The step operator has the same
multipliers, and finds them without knowing that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError
from psmr.dae.system.eigenvalues import EPS
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.single_rate import SingleRate
from psmr.integrate.tableaux.tableaux import TABLEAUX, Tableau
from psmr.pencil.deformation.deformation import report_of
from psmr.pencil.deformation.report import Deformation, Glance
from psmr.pencil.modes.matching import REPRESENTED, Match, status_of, statuses, unwrapped_logarithm
from psmr.pencil.modes.spectrum import Modes, Multipliers, modes_of
from psmr.pencil.modes.verdict import beyond


@dataclass(frozen=True, eq=False)
class OneStepModes:
    """The modes of a system, ready for the steps of any one-step method.

    Attributes
    ----------
    modes
        Every eigenvalue with its vectors.
    names
        The variables, states before algebraic ones.
    shares
        (n + m, n) participation of each variable in each mode: the algebraic ones have none.
    """

    modes: Modes
    names: tuple[str, ...]
    shares: Reals

    @classmethod
    def of(cls, linear: LinearDae) -> OneStepModes:
        """Compute the modes of a linearised system: a dense eigenvalue problem of its n states.

        Raises
        ------
        SingularError
            For a singular gy.
        """
        linear.require_no_delays("stability function for each mode by itself")
        modes = modes_of(linear)
        shares = np.vstack([modes.participation, np.zeros((linear.m, linear.n))])
        return cls(modes, linear.names_x + linear.names_y, shares)

    def deformation(self, scheme: SingleRate) -> Deformation:
        """Return the report on a scheme that `psmr.deformation` gives.

        Raises
        ------
        SchemeError
            For a scheme that is no one-step method with one step for all.
        """
        z, error = self._multipliers(scheme)
        modes, h = self.modes, scheme.h
        partner = np.where(z == 0.0, -1, np.arange(len(z)))
        status = statuses(modes.s, z, h)
        s_hat = np.full(len(z), np.nan + 0j)
        matched = Match(partner, s_hat, status, np.zeros(0, dtype=int))
        shown = np.ones(len(z), dtype=bool)
        shown[matched.lost] = False
        s_hat[shown] = unwrapped_logarithm(z[shown], modes.s[shown], h)
        numerical = Multipliers(z, modes.vectors, self.shares, error)
        return report_of(scheme, "exact", h, modes, numerical, matched, self.names)

    def glance(self, scheme: SingleRate) -> Glance:
        """Return what `deformation` says of stability and of the least damped oscillatory mode.

        Raises
        ------
        SchemeError
            For a scheme that is no one-step method with one step for all.
        """
        z, error = self._multipliers(scheme)
        modes, h = self.modes, scheme.h
        excess = beyond(z, error, self._zero, modes.split * h)
        stable = not (excess > 0.0).any()
        growing = (modes.s.real > modes.error) & (modes.s.imag >= 0.0)
        hidden = tuple(modes.s[growing & (excess <= 0.0)].tolist())
        k = self._dominant
        if k is None or status_of(modes.s[k], z[k], h) != REPRESENTED:
            return Glance(stable, hidden=hidden)
        s, s_hat = complex(modes.s[k]), complex(unwrapped_logarithm(z[k], modes.s[k], h))
        return Glance(stable, s_hat, abs(s_hat - s) / abs(s), hidden)

    def _multipliers(self, scheme: SingleRate) -> tuple[NDArray[np.complex128], Reals]:
        """Return the (n,) multiplier of each mode in a step, and its rounding error."""
        if not isinstance(scheme, SingleRate):
            raise SchemeError(f"{scheme}: no one-step method with one step for every variable")
        h = scheme.h
        z = stability_function(TABLEAUX[scheme.method], h * np.asarray(self.modes.s, dtype=np.complex128))
        return z, np.abs(z) * h * self.modes.error + len(z) * EPS

    @cached_property
    def _zero(self) -> NDArray[np.intp]:
        """Positions of the zero modes."""
        return np.flatnonzero(self.modes.s == 0.0)

    @cached_property
    def _dominant(self) -> int | None:
        """Position of the least damped oscillatory mode, None where nothing oscillates."""
        s = np.asarray(self.modes.s, dtype=np.complex128)
        oscillating = np.flatnonzero(s.imag > 0.0)
        damped = -s.real[oscillating] / np.abs(s[oscillating])
        return int(oscillating[damped.argmin()]) if len(oscillating) else None


def stability_function(tableau: Tableau, z: NDArray[Any]) -> NDArray[np.complex128]:
    """Return (k,) R(z) of a method whose stages are at most diagonally implicit, for (k,) z = h s."""
    stages = np.ones((tableau.stages, *z.shape), dtype=complex)
    for i in range(tableau.stages):
        known = 1.0 + z * (tableau.A[i, :i] @ stages[:i])
        stages[i] = known / (1.0 - z * tableau.A[i, i])
    return np.asarray(1.0 + z * (tableau.b @ stages))
