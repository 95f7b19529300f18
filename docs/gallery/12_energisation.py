"""Energisation of a line

A breaker opens a line of 300 km (500 kV, four pi sections) and closes again 50 ms later. The open line
keeps its charge: a direct voltage in each phase, which in the frame of nominal frequency turns backwards
with 377 rad/s. Left: phase a at the open end, with the charge, and with a load there that has let it go,
each at its worst instant. The wave runs to the end in 0.9 ms, doubles and comes back from the source; a
phasor network has none of it and shows the steady state at once. Right: the largest voltage of the three
phases at the end, over the instant of closing.
"""

import matplotlib.pyplot as plt
import numpy as np

import psmr

W0 = 2 * np.pi * 60
SOURCE = {"type": "InfiniteBus", "s_n": 1000.0, "r_a": 0.005, "x_d1": 0.08}


def line_behind_a_breaker(load):
    """Return a source, a breaker (a short line) and the line, with a load in MW at its end."""
    case = psmr.make_case(
        "energisation",
        base_mva=1000.0,
        frequency_hz=60.0,
        buses=[{"number": n, "base_kv": 500.0} for n in (1, 2, 3)],
        lines=[
            {"name": "breaker", "from": 1, "to": 2, "r": 0.0001, "x": 0.002},
            {"name": "line", "from": 2, "to": 3, "r": 0.024, "x": 0.39, "b": 0.312},
        ],
        shunts=[{"bus": 1, "b_mvar": 10.0}],
        loads=[{"bus": 3, "p_mw": load, "q_mvar": load / 10, "model": "impedance", "v_0": 1.0}],
        generators=[{"name": "S1", "bus": 1, "control": "slack", "v": 1.0, "machine": SOURCE}],
    )
    return psmr.build(case, dynamic=psmr.Region("all", sections=4))


def far_end(system, closing, t):
    """Return the voltages of the three phases at the end of the line at the times t, (3, K)."""
    events = [psmr.LineTrip("breaker", 0.01, reclose=closing)]
    run = psmr.simulate(system, psmr.VariableStep(1e-4), float(t[-1]), events, certify=False)
    v = run.at(t, ["bus3.v_re", "bus3.v_im"]).to_numpy() @ (1, 1j)
    turns = np.array((0, 1, -1)) * 2 * np.pi / 3
    return np.array([(v * np.exp(1j * (W0 * t - turn))).real for turn in turns])


figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
t = np.linspace(0.0, 0.09, 9001)
for label, load in (("with its charge", 0.01), ("discharged", 50.0)):
    system = line_behind_a_breaker(load)
    instants = 0.06 + np.arange(5) / 480
    phases = [far_end(system, closing, t) for closing in instants]
    largest = [np.abs(v[:, t > closing]).max() for v, closing in zip(phases, instants, strict=True)]
    worst = int(np.argmax(largest))
    left.plot(1e3 * t, phases[worst][0], linewidth=1.0, label=label)
    right.plot(1e3 * (instants - 0.06), largest, "o-", label=label)
    print(f"{label}: {min(largest):.2f} to {max(largest):.2f} pu")
left.set_xlabel("time [ms]")
left.set_ylabel("phase a at the open end [pu]")
left.legend(fontsize="small")
right.set_xlabel("closing after 60 ms [ms]")
right.set_ylabel("largest voltage at the open end [pu]")
right.set_ylim(bottom=0.0)
right.legend(fontsize="small")

plt.show()
