"""Turbine governors: they read the speed of the machine and give it its mechanical torque `t_m`.

The set-point `p_ref` is a power (or gate opening) in per unit on the machine base; the standard library's
speed reference is droop times this. Torque and power are taken as one number, as the machines here do.
"""

from psmr.grid.models.governors.gast import GAST
from psmr.grid.models.governors.hygov import HYGOV
from psmr.grid.models.governors.ieeeg1 import IEEEG1
from psmr.grid.models.governors.ieesgo import IEESGO
from psmr.grid.models.governors.lead_lag import GovernorLeadLag
from psmr.grid.models.governors.tgov1 import TGOV1

__all__ = ["GAST", "HYGOV", "IEEEG1", "IEESGO", "TGOV1", "GovernorLeadLag"]
