"""A generator trip, a growing load, and a run that ends by itself

The WSCC 9-bus system. Above: generator G3 trips at 1 s; its rotor is not simulated any further, the other two
take over its power by their droop and swing. In the middle: the load at bus 5 grows by half within 10 s and
the set-point of a voltage regulator follows a profile from a CSV file meanwhile. Below: a fault at bus 7 that
lasts 0.16 s, longer than the machines bear, with a monitor that ends the run when two of them are more than
180 degrees apart.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"
colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]

system = psmr.build(psmr.read_case(CASES / "wscc9/wscc9.toml"))
scheme = psmr.SingleRate("TM", h=0.005)

trip = psmr.simulate(system, scheme, 15.0, [psmr.GeneratorTrip("G3", start=1.0)])

with tempfile.TemporaryDirectory() as folder:
    profile = Path(folder, "v_ref.csv")
    profile.write_text("t,v_ref\n4,1.095\n8,1.12\n12,1.12\n14,1.10\n")
    series = psmr.TimeSeries(profile, column="v_ref", signal="AVR1.v_ref")
ramp = psmr.LoadRamp(bus=5, start=2.0, end=12.0, factor=1.5)
growth = psmr.simulate(system, scheme, 20.0, [ramp, series])

fault = psmr.Fault(bus=7, start=0.2, clear=0.36, trip="5-7")
lost = psmr.simulate(system, scheme, 5.0, [fault], monitors=[psmr.AngleSpread(180.0), psmr.VoltageCollapse()])
print(f"stopped at t = {lost.stopped.t:.3f} s by {lost.stopped}")

figure = plt.figure(figsize=(7.2, 6.6), layout="constrained")
axes = figure.subplots(3, 1)
for number, colour in zip((1, 2), colours, strict=False):
    axes[0].plot(trip.t, trip.values(f"G{number}.omega"), color=colour, label=f"G{number}")
axes[0].set_ylabel("speed [pu]")
for bus, colour in zip(("bus5", "bus6", "bus1"), colours, strict=False):
    axes[1].plot(growth.t, growth.values(f"{bus}.v"), color=colour, label=bus)
axes[1].set_ylabel("voltage [pu]")
for number, colour in zip((1, 2, 3), colours, strict=False):
    axes[2].plot(lost.t, lost.values(f"G{number}.delta"), color=colour, label=f"G{number}")
axes[2].set_ylabel("rotor angle [rad]")
axes[2].set_xlabel("time [s]")
for ax, run in zip(axes, (trip, growth, lost), strict=True):
    ax.set_xlim(0.0, run.t[-1])
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

plt.show()
