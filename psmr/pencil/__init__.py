"""How much a scheme deforms the modes of a system: step operators, mode matching, the deformation report."""

from psmr.pencil.deformation.critical import CriticalStep, critical_step
from psmr.pencil.deformation.deformation import deformation, spectral_radius
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.participation import participation
from psmr.pencil.modes.ringdown import fit_mode
from psmr.pencil.operator.published import published_pencil
from psmr.pencil.operator.step_operator import correction_rate, macro_pencil, step_operator

__all__ = [
    "CriticalStep",
    "Deformation",
    "ModeChoice",
    "correction_rate",
    "critical_step",
    "deformation",
    "fit_mode",
    "macro_pencil",
    "participation",
    "published_pencil",
    "spectral_radius",
    "step_operator",
]
