"""Excitation systems: they read the voltage of the bus and give the machine its field voltage `v_f`.

Per unit: voltage on the bus base; v_f = 1 gives rated voltage on the open, unsaturated stator. `v_s` is the
stabiliser's signal.
"""

from psmr.grid.models.exciters.ac import ESAC1A, ESAC6A, EXAC2
from psmr.grid.models.exciters.ac8b import AC8B
from psmr.grid.models.exciters.dc import IEEET1, IEEEX1
from psmr.grid.models.exciters.dc1 import ESDC1A, EXDC1, IEEET2
from psmr.grid.models.exciters.dc2 import ESDC2A, EXDC2
from psmr.grid.models.exciters.dc4b import DC4B
from psmr.grid.models.exciters.esst3a import ESST3A
from psmr.grid.models.exciters.esst4b import ESST4B
from psmr.grid.models.exciters.exac1 import EXAC1
from psmr.grid.models.exciters.expic1 import EXPIC1
from psmr.grid.models.exciters.exst1 import EXST1
from psmr.grid.models.exciters.sexs import SEXS
from psmr.grid.models.exciters.static import ESST1A, SCRX
from psmr.grid.models.exciters.type1 import ExciterType1, ExciterType1Direct

__all__ = [
    "AC8B",
    "DC4B",
    "ESAC1A",
    "ESAC6A",
    "ESDC1A",
    "ESDC2A",
    "ESST1A",
    "ESST3A",
    "ESST4B",
    "EXAC1",
    "EXAC2",
    "EXDC1",
    "EXDC2",
    "EXPIC1",
    "EXST1",
    "IEEET1",
    "IEEET2",
    "IEEEX1",
    "SCRX",
    "SEXS",
    "ExciterType1",
    "ExciterType1Direct",
]
