"""The names of psmr.pencil and where they stand; each is loaded when it is first used."""

from .deformation.critical import CriticalStep as CriticalStep
from .deformation.critical import critical_step as critical_step
from .deformation.deformation import deformation as deformation
from .deformation.deformation import spectral_radius as spectral_radius
from .deformation.report import Deformation as Deformation
from .modes.search import ModeChoice as ModeChoice
from .modes.shapes import fit_mode as fit_mode
from .modes.shapes import participation as participation
from .operator.published import published_pencil as published_pencil
from .operator.step_operator import correction_rate as correction_rate
from .operator.step_operator import macro_pencil as macro_pencil
from .operator.step_operator import step_operator as step_operator
