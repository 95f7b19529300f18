"""Sweeps.

One study many times: contingencies, parameters, schemes, samples; measured by one of five measures, on
every core or a cluster.
"""

# %% psmr.sweep
import psmr

study = psmr.read_study(psmr.case_path("wscc9/fault"))
gains = psmr.ParameterAxis("AVR1", "k_a", values=[15.0, 20.0, 25.0])
swept = psmr.sweep(study, [gains], workers=1, report=False)
print(swept.table[["AVR1.k_a", "angle_spread", "lowest_voltage"]])

# %% psmr.Swept
print(swept.headline)

# %% psmr.read_sweep
times = psmr.read_sweep(psmr.case_path("wscc9/clearing-time"))

# %% psmr.Sweep
plan = psmr.Sweep(study, axes=(gains,))

# %% psmr.BranchOutages
lines = psmr.BranchOutages(start=1.0)

# %% psmr.BusFaults
faults = psmr.BusFaults(start=1.0)

# %% psmr.GeneratorTrips
trips = psmr.GeneratorTrips(start=1.0)

# %% psmr.ListedEvents
listed = psmr.ListedEvents("events.csv")

# %% psmr.ParameterAxis
inertia = psmr.ParameterAxis("G*", "H", values=[0.8, 1.0, 1.2], factor=True)

# %% psmr.LoadAxis
load = psmr.LoadAxis([0.0, 25.0, 50.0])

# %% psmr.SampleAxis
draws = psmr.SampleAxis("AVR*", "k_a", count=100, seed=1, low=15.0, high=25.0)

# %% psmr.SchemeAxis
steps = psmr.SchemeAxis("h", values=[0.005, 0.01, 0.02])

# %% psmr.CaseAxis
cases = psmr.CaseAxis(["wscc9.toml", "wscc9-ibr.toml"])

# %% psmr.Outcomes
what_happened = psmr.Outcomes()

# %% psmr.ClearingTime
critical = psmr.ClearingTime()

# %% psmr.LoadMargin
margin = psmr.LoadMargin(loads=5, step=25.0, most=500.0)

# %% psmr.Damping
damping = psmr.Damping(from_hz=0.1, up_to_hz=2.0)

# %% psmr.Stability
numerics = psmr.Stability()
