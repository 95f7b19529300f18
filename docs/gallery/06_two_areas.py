"""Two areas: modes, mode shapes, and a fault with and without stabilisers

Kundur's two-area system (1994, example 12.6) with thyristor exciters of high gain. The table has its three
swings beside those of the book. A mode shape is the part that each machine's speed has in a swing: in the
slow one the two areas move against each other, in the others the machines of one area. The exciters make the
slow one unstable; the stabilisers damp it, and the response to a fault in the middle of the tie shows both.
Where our modes differ from the book's and why: `cases/kundur/SOURCE.md`.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"
colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]

book = {"thyristor": (0.031 + 3.84j, -0.490 + 7.15j, -0.496 + 7.35j)}
book["kundur"] = (-0.501 + 3.77j, -1.826 + 8.05j, -1.895 + 8.35j)
names = {"thyristor": "no stabilisers", "kundur": "with stabilisers"}
systems = {name: psmr.build(psmr.read_case(CASES / f"kundur/{name}.toml")) for name in names}


def swings(system):
    """Return the shapes of the three electromechanical modes, the slowest first."""
    found = psmr.mode_shapes(system.linearise(), psmr.ModeChoice(band_hz=(0.3, 1.5), damping_below=0.5))
    return sorted((shape for shape in found if shape.quantity == "omega"), key=lambda shape: shape.s.imag)


print(f"{'':18}{'ours':>18}{'the book':>18}{'frequency':>12}{'damping':>10}")
for name, system in systems.items():
    for shape, theirs in zip(swings(system), book[name], strict=True):
        ratio = 100 * shape.damping_ratio
        print(f"{names[name]:18}{shape.s:18.3f}{theirs:18.3f}{shape.frequency_hz:9.3f} Hz{ratio:8.2f} %")

figure = plt.figure(figsize=(9.0, 2.6), layout="constrained")
for shape, ax in zip(swings(systems["thyristor"]), figure.subplots(1, 3), strict=True):
    shape.plot(ax)

fault = psmr.Fault(bus=8, start=1.0, clear=1.1, trip="line7-8-2")
figure = plt.figure(figsize=(7.2, 4.6), layout="constrained")
angle, speed = figure.subplots(2, 1, sharex=True)
for (name, system), colour in zip(systems.items(), (colours[1], colours[0]), strict=True):
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 15.0, [fault], certify=False)
    across = np.degrees(run.values("G1.delta") - run.values("G3.delta"))
    angle.plot(run.t, across, color=colour, label=names[name])
    speed.plot(run.t, 60 * (run.values("G1.omega") - run.values("G3.omega")), color=colour)
angle.set_ylabel("angle, G1 less G3 [°]")
speed.set_ylabel("frequency, G1 less G3 [Hz]")
speed.set_xlabel("time [s]")
speed.set_xlim(0.0, 15.0)
angle.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)

plt.show()
