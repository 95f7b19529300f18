"""What a one-step method does to the modes of a system, from the modes alone.

The modes are found once, any step of any method then costs next to nothing (`spectra.one_step_spectra`). The
step operator has the same multipliers, and finds them without knowing that.
"""

from __future__ import annotations

from dataclasses import dataclass

from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.deformation import report_of
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.deformation.spectra import one_step_spectra
from psmr.pencil.modes.spectrum import Modes, modes_of


@dataclass(frozen=True, eq=False)
class OneStepModes:
    """The modes of a system, ready for the steps of any one-step method.

    `modes`: Every eigenvalue with its vectors.
    `names`: The variables, states before algebraic ones.
    """

    modes: Modes
    names: tuple[str, ...]

    @classmethod
    def of(cls, linear: LinearDae) -> OneStepModes:
        """Compute the modes of a linearised system: a dense eigenvalue problem of its n states.

        Raises SingularError for a singular gy.
        """
        linear.require_no_delays("stability function for each mode by itself")
        return cls(modes_of(linear), linear.names_x + linear.names_y)

    def deformation(self, scheme: Scheme) -> Deformation:
        """Return the report on a scheme that `psmr.deformation` gives.

        Raises
        ------
        SchemeError
            For a scheme that is no one-step method with one step for all.
        """
        if scheme.tableau is None:
            raise SchemeError(f"{scheme}: no one-step method with one step for every variable")
        return report_of(scheme, "exact", one_step_spectra(self.modes, scheme), self.names)
