"""Subsynchronous resonance of the IEEE first benchmark model

A turbine generator of six masses behind a line with a series capacitor. In a phasor network line and
capacitor have no resonance, and the five modes of the shaft hardly move. With the dynamics of the network
the resonance turns in the frame of the rotor with 377 rad/s less its own frequency, and where that meets a
torsional mode, the mode grows. Above: the growth of modes 1 to 4 over the compensation of the line; mode 5,
at 298 rad/s, has a node at the generator and no network moves it. Below: torques in the shaft after a
three-phase fault at bus B through j0.04 pu of 75 ms, with the capacitor of the report, 74 % of the line:
mode 2 goes on growing after it. The fault is a change of what stands behind B: nothing there has a
resistance, so that with the fault the infinite bus behind 0.06 pu is exactly 0.4 of its voltage behind
0.024 pu.
"""

import matplotlib.pyplot as plt
import numpy as np

import psmr

case = psmr.case("ieee-fbm")
region = psmr.Region((1, 2, 3, 4))
shaft = 15.71, 20.21, 25.55, 32.28, 47.46  # Hz, IEEE Committee Report (1977)


def torsional(dynamic, level):
    """Return the five torsional modes: near each frequency of the shaft alone the one that decays least."""
    system = psmr.build(case.edit({"capacitor.x": -0.5 * level}), dynamic=dynamic)
    modes = psmr.modes(system.linearise())
    found = modes["real"].to_numpy() + 1j * modes["imag"].to_numpy()
    return [max(found[np.abs(found.imag - 2 * np.pi * f) < 6], key=np.real) for f in shaft]


levels = np.linspace(0.1, 1.0, 91)
growth = np.array([torsional(region, level) for level in levels])
for k in range(4):
    worst = growth[:, k].real.argmax()
    print(
        f"mode {k + 1}: grows fastest at {100 * levels[worst]:.0f} % (x_c = {levels[worst] / 2:.3f} pu),"
        f" {growth[worst, k].real:.2f} 1/s at {growth[worst, k].imag:.1f} rad/s"
    )

report = psmr.build(case, dynamic=region)
e = 0.886468  # the infinite bus
fault = [
    psmr.ParameterStep("system", "x", 0.024, 0.1),
    psmr.SetPoint("S5", "e", 0.4 * e, 0.1),
    psmr.ParameterStep("system", "x", 0.06, 0.175),
    psmr.SetPoint("S5", "e", e, 0.175),
]
run = psmr.simulate(report, psmr.VariableStep(1e-6), 2.0, fault, certify=False)
names = {"HP-IP": "1", "IP-LPA": "2", "LPA-LPB": "3", "LPB-GEN": "4", "GEN-EXC": "x"}
t = np.linspace(0.0, 2.0, 20001)
torques = run.at(t, [f"SHAFT1.torque_{k}" for k in names.values()]).abs().max()
for name, largest in zip(names, torques, strict=True):
    print(f"largest torque {name}: {largest:.2f} pu")

figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 6.5), layout="constrained")
for k in range(4):
    above.plot(100 * levels, growth[:, k].real, label=f"mode {k + 1}, {2 * np.pi * shaft[k]:.1f} rad/s")
phasors = np.array([torsional(None, level) for level in levels[::18]])
above.plot(100 * levels[::18], phasors[:, :4].real.max(axis=1), "k.", label="largest of all, phasor network")
above.axvline(74.2, color="0.6", linestyle=":")
above.set_xlabel("compensation [% of the line's reactance]")
above.set_ylabel("growth [1/s]")
above.legend(fontsize="small")
for name in ("LPA-LPB", "GEN-EXC"):
    below.plot(t, run.at(t, f"SHAFT1.torque_{names[name]}"), label=name, linewidth=0.8)
below.set_xlabel("time [s]")
below.set_ylabel("torque in the shaft [pu]")
below.legend(fontsize="small")

plt.show()
