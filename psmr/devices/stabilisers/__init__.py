"""Power system stabilisers: they give the exciter a signal `v_s`.

A stabiliser with input codes measures, by code: 1 the deviation of the rotor's speed in pu; 2 that of the
bus's frequency in pu, s/(1 + s t_f) on the angle of the voltage; 3 the machine's electrical power at its
terminals in pu on its base; 4 the turbine's torque without that power; 5 the magnitude of the bus's voltage
in pu; 6 its derivative in pu/s, s/(1 + s t_f). The bus of 2, 5 and 6 may be another than the machine's. The
sections below show such a stabiliser with its signals open, as u; a device has the inputs of its codes in
their place.
"""
