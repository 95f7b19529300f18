"""A weak grid and the phase-locked loop

A converter in full behind a line to a strong source, with less and less short-circuit power at its bus. The
loop follows a voltage that the converter's own current makes, the more so the weaker the grid is. With the
loop of the other studies, 0.15 and 2 pu, nothing happens; here it is a fast one, 1 and 80 pu. Left: the
least damped oscillation over the short-circuit ratio. With the line a phasor the converter is stable at any
ratio; with the line's current a state it is not below 2.5: the loop meets the direct current that a line
keeps, which turns with 60 Hz in its frame. Right: a step of the power by 1 % at a ratio of 2. The phasor
network shows the slow power control alone; with the line's dynamics an oscillation grows. A study of a fast
control in a weak grid needs the line that the control sees.
"""

import matplotlib.pyplot as plt
import numpy as np

import psmr

table = psmr.case("wscc9-emt").tables["FilteredConverter"]
CONVERTER = {name: table.at["C3", name] for name in table.select_dtypes("number").columns if name != "s_n"}


def converter_at(ratio):
    """Return a converter of 100 MVA at a short-circuit ratio, and its grid."""
    return psmr.make_case(
        "weak grid",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": n} for n in (1, 2)],
        lines=[{"from": 1, "to": 2, "r": 0.1 / ratio, "x": 1 / ratio}],
        generators=[
            {
                **{"name": "C1", "bus": 1, "control": "pv", "p_mw": 80.0, "v": 1.0},
                "converter": {"type": "FilteredConverter", "s_n": 100.0, **CONVERTER},
            },
            {
                **{"name": "S2", "bus": 2, "control": "slack", "v": 1.0},
                "machine": {"type": "InfiniteBus", "s_n": 1000.0, "x_d1": 1e-6},
            },
        ],
    )


CONVERTER |= {"kp_pll": 1.0, "ki_pll": 80.0}
NETWORKS = {"phasor": None, "line with its dynamics": psmr.Region(1)}


def least_damped(ratio, dynamic):
    """Return the oscillation with the largest real part."""
    modes = psmr.modes(psmr.build(converter_at(ratio), dynamic=dynamic).linearise())
    modes = modes[modes["imag"] > 1]
    return complex(*modes.loc[modes["real"].idxmax(), ["real", "imag"]])


figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
ratios = np.arange(1.2, 5.01, 0.2)
for label, dynamic in NETWORKS.items():
    modes = np.array([least_damped(ratio, dynamic) for ratio in ratios])
    left.plot(ratios, modes.real, "o-", markersize=3, label=label)
    at_two = modes[np.abs(ratios - 2).argmin()]
    print(f"{label}: {at_two.real:.1f} 1/s at {at_two.imag / (2 * np.pi):.0f} Hz with a ratio of 2", end="")
    print(f", unstable up to {max(ratios[modes.real > 0], default=0):.1f}" if max(modes.real) > 0 else "")
    system = psmr.build(converter_at(2.0), dynamic=dynamic)
    names = [*system.names_x, *system.names_y, *system.names_u]
    p_ref = float(system.w0[names.index("C1.p_ref")])
    step = [psmr.SetPoint("C1", "p_ref", 1.01 * p_ref, 0.01)]
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 0.12, step, certify=False)
    t = np.linspace(0.0, 0.12, 2401)
    right.plot(1e3 * t, run.at(t, "bus1.v"), linewidth=0.9, label=label)
left.axhline(0.0, color="0.5", linewidth=0.8)
left.set_xlabel("short-circuit ratio")
left.set_ylabel("real part of the least damped oscillation [1/s]")
left.legend(fontsize="small")
right.set_xlabel("time [ms]")
right.set_ylabel("voltage of the converter's bus [pu]")
right.legend(fontsize="small")

plt.show()
