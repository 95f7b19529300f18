"""Modes, matrices and responses.

The linearised system: eigenvalues with participation, state space, impedances, and the same as a scheme
simulates it. Eigenvalues are in 1/s and rad/s, damping ratios are fractions.
"""

# %% psmr.modes
import numpy as np

import psmr

system = psmr.build(psmr.case("wscc9"))
linear = system.linearise()
found = psmr.modes(linear)
print(found[["real", "imag", "frequency_hz", "damping_ratio", "dominant_state"]].head(4).round(3))

# %% psmr.mode_shapes, psmr.pencil.modes.shapes.ModeShape
shape = psmr.mode_shapes(linear)[0]
print(shape.title)

# %% psmr.participation
print(psmr.participation(linear, 1)[["state", "participation"]].head(3))

# %% psmr.ModeChoice
swings = psmr.ModeChoice(band_hz=(0.1, 3.0))

# %% psmr.StateSpace
state_space = system.state_space("AVR1.v_ref", "G1.omega")
print(state_space.A.shape)

# %% psmr.dae.system.frequency_response.FrequencyResponse
response = state_space.response(np.geomspace(0.1, 10.0, 50))

# %% psmr.simulated_response
at_20_ms = psmr.simulated_response(state_space, psmr.SingleRate("TM", h=0.02), f=[0.5, 1.0, 2.0])

# %% psmr.impedance_scan
scan = psmr.impedance_scan(psmr.build(psmr.case("wscc9-ibr")), bus=3, f=np.geomspace(1.0, 100.0, 20))

# %% psmr.ImpedanceScan
print(scan.stable)

# %% psmr.periodic_modes
phases = psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=psmr.Region(5, zero_sequence=True))
short = psmr.Fault(5, 0.02, 0.05, phases="ag", r=0.1, x=0.0)
unequal = psmr.simulate(
    phases, psmr.SingleRate("TM", h=1 / 60 / 20), t_end=0.06, events=[short], certify=False
)
print(psmr.periodic_modes(unequal, t=0.03))
