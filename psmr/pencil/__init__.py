"""How much a scheme deforms the modes of a system: step operators, mode matching, the deformation report."""

from psmr.pencil.choice import ModeChoice
from psmr.pencil.critical import CriticalStep, critical_step
from psmr.pencil.deformation import deformation, spectral_radius
from psmr.pencil.operator import correction_rate, macro_pencil, step_operator
from psmr.pencil.published import published_pencil
from psmr.pencil.report import Deformation
from psmr.pencil.ringdown import fit_mode

__all__ = [
    "CriticalStep",
    "Deformation",
    "ModeChoice",
    "correction_rate",
    "critical_step",
    "deformation",
    "fit_mode",
    "macro_pencil",
    "published_pencil",
    "spectral_radius",
    "step_operator",
]
