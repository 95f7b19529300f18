"""Power system stabilisers: they give the exciter a signal `v_s`.

A stabiliser with input codes measures, by code: 1 the deviation of the rotor's speed in pu; 2 that of the
bus's frequency in pu, s/(1 + s t_f) on the angle of the voltage; 3 the machine's electrical power at its
terminals in pu on its base; 4 the turbine's torque without that power; 5 the magnitude of the bus's voltage
in pu; 6 its derivative in pu/s, s/(1 + s t_f). The bus of 2, 5 and 6 may be another than the machine's. The
sections below show such a stabiliser with its signals open, as u; a device has the inputs of its codes in
their place.
"""

from psmr.devices.stabilisers.ieeest import IEEEST
from psmr.devices.stabilisers.pss2a import PSS2A
from psmr.devices.stabilisers.pss2b import PSS2B
from psmr.devices.stabilisers.speed import PssSpeed
from psmr.devices.stabilisers.st2cut import IEE2ST, ST2CUT
from psmr.devices.stabilisers.stab1 import STAB1
from psmr.devices.stabilisers.stab2a import STAB2A

__all__ = ["IEE2ST", "IEEEST", "PSS2A", "PSS2B", "ST2CUT", "STAB1", "STAB2A", "PssSpeed"]
