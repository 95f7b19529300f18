"""Turbine governors: they read the speed of the machine and give it its mechanical torque `t_m`.

The set-point `p_ref` is a power (or gate opening) in per unit on the machine base; the standard library's
speed reference is droop times this. Torque and power are taken as one number, as the machines here do.
"""

from psmr.devices.governors.cross_compound import IEEEG1CC
from psmr.devices.governors.diesel import DEGOV, DEGOV1
from psmr.devices.governors.gast import GAST
from psmr.devices.governors.ggov1 import GGOV1
from psmr.devices.governors.hygov import HYGOV
from psmr.devices.governors.ieeeg1 import IEEEG1
from psmr.devices.governors.ieeeg3 import IEEEG3
from psmr.devices.governors.ieesgo import IEESGO
from psmr.devices.governors.lead_lag import GovernorLeadLag
from psmr.devices.governors.tgov1 import TGOV1
from psmr.devices.governors.wsieg1 import WSIEG1

__all__ = [
    "DEGOV",
    "DEGOV1",
    "GAST",
    "GGOV1",
    "HYGOV",
    "IEEEG1",
    "IEEEG1CC",
    "IEEEG3",
    "IEESGO",
    "TGOV1",
    "WSIEG1",
    "GovernorLeadLag",
]
