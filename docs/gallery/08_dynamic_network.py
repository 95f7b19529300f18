"""A converter in full within dynamics of the network

The WSCC 9-bus system with a converter in full at bus 3: filter, current control, phase-locked loop. A fault
at bus 8 through 1 pu lasts 0.1 s. Above left: the converter's current with phasors around it, with lines,
transformers, loads and the stator of G2 dynamic within two branches, and with all of the network dynamic:
what swings at 60 Hz and above after the clearing lives in inductances and capacitances, and phasors have
none. Below left: the voltage of phase a at the fault in full dynamics. Right: what leaving out dynamics of
the network does to each mode, by phasors everywhere and with the region dynamic; the electromechanical
modes are right to a tenth of a per cent, the current control is not.
"""

import matplotlib.pyplot as plt
import numpy as np

import psmr

case = psmr.case("wscc9-emt")
region = psmr.Region(3, within=2)
events = [psmr.Fault(8, 0.1, 0.2, r=1.0, x=0.0)]
runs = {}
for label, dynamic in (
    ("phasors", None),
    ("within two branches", region),
    ("everything", psmr.Region("all")),
):
    system = psmr.build(case, loads="impedance", dynamic=dynamic)
    runs[label] = psmr.simulate(system, psmr.VariableStep(1e-5), 0.3, events, certify=False)
    print(f"{label}: {system.n} states, {system.m} algebraic variables")

figure = plt.figure(figsize=(9.0, 5.0), layout="constrained")
grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1.0))
current, phase, modes = (figure.add_subplot(place) for place in (grid[0, 0], grid[1, 0], grid[:, 1]))
t = np.linspace(0.195, 0.235, 2001)
for label, run in runs.items():
    i = run.at(t, ["C3.i_od", "C3.i_oq"]).to_numpy()
    current.plot(t, np.hypot(*i.T), label=label, linewidth=1.0)
current.set_ylabel("current of the converter [pu]")
current.legend(fontsize="small")
v = runs["everything"].at(t, ["bus8.v_re", "bus8.v_im"]).to_numpy()
phase.plot(
    t, v[:, 0] * np.cos(2 * np.pi * 60 * t) - v[:, 1] * np.sin(2 * np.pi * 60 * t), "C2", linewidth=1.0
)
phase.set_ylabel("phase a at bus 8 [pu]")
phase.set_xlabel("time [s]")

for label, dynamic, marker in (("phasors", None, "o"), ("within two branches", region, "s")):
    found = psmr.network_deformation(case, dynamic, loads="impedance")
    speed, bent = np.abs(found.modes), 100 * np.array(found.by_model)
    shown = (speed > 0.1) & (bent > 1e-4)
    modes.loglog(speed[shown], bent[shown], marker, markersize=4, label=label)
modes.set_xlabel("|mode| [1/s]")
modes.set_ylabel("deformation by the model [%]")
modes.grid(alpha=0.3)
modes.legend(fontsize="small")

plt.show()
