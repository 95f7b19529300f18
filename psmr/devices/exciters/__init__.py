"""Excitation systems: they read the voltage of the bus and give the machine its field voltage `v_f`.

Per unit: voltage on the bus base; v_f = 1 gives rated voltage on the open, unsaturated stator. `v_s` is the
stabiliser's signal.
"""

from psmr.devices.exciters.ac import ESAC1A, ESAC6A, EXAC2
from psmr.devices.exciters.ac8b import AC8B
from psmr.devices.exciters.dc import IEEET1, IEEEX1
from psmr.devices.exciters.dc1 import ESDC1A, EXDC1, IEEET2
from psmr.devices.exciters.dc2 import ESDC2A, EXDC2
from psmr.devices.exciters.dc4b import DC4B
from psmr.devices.exciters.esst3a import ESST3A
from psmr.devices.exciters.esst4b import ESST4B
from psmr.devices.exciters.exac1 import EXAC1
from psmr.devices.exciters.expic1 import EXPIC1
from psmr.devices.exciters.exst1 import EXST1
from psmr.devices.exciters.sexs import SEXS
from psmr.devices.exciters.static import ESST1A, SCRX
from psmr.devices.exciters.static_exciter import StaticExciter
from psmr.devices.exciters.type1 import ExciterType1, ExciterType1Direct

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
    "StaticExciter",
]
