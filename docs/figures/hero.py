"""The figure of the README: one fault by three schemes, and the modes that explain the difference.

python docs/figures/hero.py
"""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import partitioning
import psmr

matplotlib.rcParams |= {
    "svg.fonttype": "path",  # letters as outlines: shown where the reader's fonts are unknown
    "svg.hashsalt": "psmr",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
HERE = Path(__file__).parent
H = 0.05  # s
END = 6.0  # s
EVENTS = [psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")]
ANGLES = (20.0, 150.0)  # deg
# Told apart by readers who see no red or no green (Okabe and Ito, Color universal design, 2008).
BLUE, RED, GREEN = "#0072b2", "#d55e00", "#009e73"
ARROW = {"arrowstyle": "-", "color": "0.5", "lw": 0.8}
DAMPING, FREQUENCY = (-62.0, 4.0), (0.0, 10.6)  # 1/s, Hz

system = psmr.build(psmr.read_case(HERE.parents[1] / "cases" / "wscc9" / "wscc9-ibr.toml"))
split = partitioning.by_participation(system.linearise(), delta=20.0)
multirate = psmr.Multirate(split, H, 50, "extrapolation", "TM", coupling="mean", interface="schur")
SCHEMES = {
    "trapezoidal rule, 50 ms": (psmr.SingleRate("TM", h=H), BLUE, "s"),
    "backward Euler, 50 ms": (psmr.SingleRate("BEM", h=H), RED, "v"),
    "multirate, 50 ms and 1 ms": (multirate, GREEN, "D"),
}


def angle(run):
    """Rotor angle of machine 2 against machine 1 in degrees, as long as it can be shown."""
    times = np.linspace(0.0, END, 1201)
    rotors = run.at(times, ["G1.delta", "G2.delta"])
    degrees = np.rad2deg(rotors["G2.delta"] - rotors["G1.delta"]).to_numpy()
    beyond = np.flatnonzero(degrees > ANGLES[1] + 20.0)
    end = beyond[0] if len(beyond) else None
    return times[:end], degrees[:end]


def numerical_modes(linear, scheme):
    """What the step's multipliers look like as modes: log(z) / h, complex (n,)."""
    z = np.linalg.eigvals(psmr.step_operator(linear, scheme))
    return np.log(z[abs(z) > 1e-12].astype(complex)) / H


reference = psmr.simulate(system, psmr.VariableStep(1e-8), END, EVENTS)
after = reference.linearise(END, at="equilibrium")
modes = psmr.modes(after)

figure, (swing, plane) = plt.subplots(1, 2, figsize=(8.0, 4.6), width_ratios=(1.35, 1), layout="constrained")
swing.plot(*angle(reference), color="0.75", lw=5, label="exact")
plane.plot(modes.real, modes.imag / (2 * np.pi), "o", ms=10, color="0.75", label="exact")
for name, (scheme, colour, marker) in SCHEMES.items():
    run = psmr.simulate(system, scheme, END, EVENTS)
    swing.plot(*angle(run), color=colour, lw=1.5, label=name)
    seen = numerical_modes(after, scheme)
    plane.plot(
        seen.real, seen.imag / (2 * np.pi), marker, ms=6, mfc="none", mew=1.5, color=colour, label=name
    )
swing.set(xlabel="time [s]", ylabel="rotor angle of G2 against G1 [deg]", xlim=(0, END), ylim=ANGLES)
swing.set_title("Fault at bus 5, line 5-7 tripped", loc="left", fontsize=11)
plane.set(xlabel="real part [1/s]", ylabel="frequency [Hz]", xlim=DAMPING, ylim=FREQUENCY)
plane.axvline(0.0, color="0.6", lw=0.8)
plane.set_title("Modes: exact and as simulated", loc="left", fontsize=11)
plane.annotate(
    "control modes,\nundamped at 10 Hz",
    (-1.2, 9.8),
    (-46.0, 8.9),
    color=BLUE,
    arrowprops=ARROW,
    fontsize=9,
)
plane.annotate(
    "swing mode,\ndamped too much", (-1.1, 0.95), (-36.0, 3.6), color=RED, arrowprops=ARROW, fontsize=9
)
figure.legend(*swing.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
figure.savefig(HERE / "hero.svg", metadata={"Date": None})
