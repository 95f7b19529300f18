"""The errors and the warnings of psmr, for programs that catch them: ``psmr.errors.SimulationError``."""

from psmr.base.errors import CaseError as CaseError
from psmr.base.errors import EventError as EventError
from psmr.base.errors import InitialisationError as InitialisationError
from psmr.base.errors import InputError as InputError
from psmr.base.errors import PowerFlowError as PowerFlowError
from psmr.base.errors import PsmrDeprecationWarning as PsmrDeprecationWarning
from psmr.base.errors import PsmrError as PsmrError
from psmr.base.errors import PsmrWarning as PsmrWarning
from psmr.base.errors import SchemeError as SchemeError
from psmr.base.errors import SimulationError as SimulationError
from psmr.base.errors import SingularError as SingularError
from psmr.base.errors import StudyError as StudyError
