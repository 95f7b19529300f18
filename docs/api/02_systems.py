"""Systems and their start.

A system is a case at its equilibrium: a DAE x' = f(x, y), 0 = g(x, y) with names, and its exact
derivatives.
"""

# %% psmr.build, psmr.dae.system.system.System
import psmr

case = psmr.case("wscc9")
system = psmr.build(case)
print(system.n, "states,", system.m, "algebraic variables:", system.names_x[:2], system.names_y[:2])

# %% psmr.dae.system.linear.LinearDae
linear = system.linearise()
print(linear.state_matrix().shape)

# %% psmr.check, psmr.network.start.report.Report
report = psmr.check(case)
print(report.good)

# %% psmr.network.powerflow.powerflow.power_flow, psmr.network.powerflow.powerflow.PowerFlow
from psmr.network.powerflow.powerflow import power_flow

print(power_flow(case).buses().head(3))

# %% psmr.continuous_taps
held = psmr.continuous_taps(case)

# %% psmr.Region
within = psmr.Region((3, 9))
detailed = psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=within)
print(detailed.n, "states with the dynamics of the network at two buses")

# %% psmr.with_delays
late = psmr.with_delays(system, {"AVR1.v": 0.06})
