"""Generic models of wind, solar and storage plants: converter, electrical control, plant control.

The models of the Western Electricity Coordinating Council (WECC), with the names of the PSS/E Model Library.
A plant has a converter (REGCA1, REGCB1), which takes the commands ``ip_cmd`` and ``iq_cmd`` of an electrical
control (REECA1, REECB1, REECD1), which takes the references ``p_ref`` and ``q_ext`` of a plant
control (REPCA1) or holds them. DERA1 is all of that in one, for generation in
distribution networks. All are per unit on the converter's base; time in s.

Sources: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023); WECC, Solar
Photovoltaic Power Plant Modeling and Validation Guideline (2019); PSS/E Model Library.
"""

from psmr.devices.renewables.dera1 import DERA1
from psmr.devices.renewables.electrical import REECB1
from psmr.devices.renewables.reeca1 import REECA1
from psmr.devices.renewables.reecd1 import REECD1
from psmr.devices.renewables.regca1 import REGCA1
from psmr.devices.renewables.regcb1 import REGCB1
from psmr.devices.renewables.repca1 import REPCA1

__all__ = ["DERA1", "REECA1", "REECB1", "REECD1", "REGCA1", "REGCB1", "REPCA1"]
