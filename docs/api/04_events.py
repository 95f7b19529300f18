"""Events and monitors.

What happens during a run, and what ends it. All are frozen records, printable and comparable; times are
in s.
"""

# %% psmr.Fault
import psmr

system = psmr.build(psmr.case("wscc9"))
fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
run = psmr.simulate(system, t_end=3.0, events=[fault])
print(run.outcome.angle_spread)

# %% psmr.LineTrip
trip = psmr.LineTrip("5-7", start=1.0)

# %% psmr.LineClose
close = psmr.LineClose("5-7", start=1.5)

# %% psmr.OpenPhases
phase_a = psmr.OpenPhases("5-7", start=1.0, phases="a")

# %% psmr.LoadTrip
half = psmr.LoadTrip(bus=5, start=1.0, fraction=0.5, reconnect=1.2)

# %% psmr.LoadRamp
evening = psmr.LoadRamp(bus=5, start=1.0, end=60.0, factor=1.2)

# %% psmr.GeneratorTrip
outage = psmr.GeneratorTrip(generator=3, start=1.0)

# %% psmr.ShuntSwitch
switch = psmr.ShuntSwitch("shunt5", start=1.0)

# %% psmr.SetPoint
step = psmr.SetPoint("AVR1", "v_ref", value=1.05, start=1.0)

# %% psmr.ParameterStep
gain = psmr.ParameterStep("AVR1", "k_a", value=25.0, start=1.0)

# %% psmr.TimeSeries
from pathlib import Path

Path("wind.csv").write_text("t,p\n0.0,125.0\n5.0,110.0\n")
wind = psmr.TimeSeries("wind.csv", column="p", signal="load5.p")

# %% psmr.When
shedding = psmr.When("bus5.v < 0.85", psmr.LoadTrip(bus=5, start=0.1, fraction=0.2))

# %% psmr.AngleSpread
monitors = [psmr.AngleSpread()]

# %% psmr.VoltageCollapse
monitors.append(psmr.VoltageCollapse())

# %% psmr.FrequencyOutside
monitors.append(psmr.FrequencyOutside())

# %% psmr.Island
monitors.append(psmr.Island())
run = psmr.simulate(system, t_end=3.0, events=[psmr.Fault(bus=5, start=1.0, clear=1.6)], monitors=monitors)

# %% psmr.study.detectors.detector.Stop
print(run.stopped)
