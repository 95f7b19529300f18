"""A fault with four pairs of predictor and solution

The WSCC 9-bus system, a three-phase fault at bus 5 cleared by tripping line 5-7, at hs = 50 ms and hf = 5 ms.
The reference is SDIRK2 at 1 ms; the system damps its dominant mode by 0.0234. A trapezoidal solution leaves
the swing slightly under-damped and late, whatever the predictor (the three curves lie on one another); a
backward Euler solution over-damps it strongly. The deformation report says so beforehand: its damping ratios
are in the legend.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import partitioning
import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"
colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]

system = psmr.build(psmr.read_case(CASES / "wscc9/wscc9.toml"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)
fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")

reference = psmr.simulate(system, psmr.SingleRate("SDIRK2", h=0.001), 10.0, [fault])
pairs = [("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("BEM", "BEM")]

figure = plt.figure(figsize=(7.2, 5.0), layout="constrained")
whole, detail = figure.subplots(2, 1)
for ax in (whole, detail):
    ax.plot(reference.t, reference.values("G2.omega"), color="#b9bec6", lw=4, label="SDIRK2, 1 ms")
print(f"{'pair':10} {'damping ratio':>14} {'deformation':>12} {'work':>6}")
dashes = ["-", (0, (6, 4)), (0, (2, 3)), "-"]
for (predictor, solution), colour, dash in zip(pairs, colours[:4], dashes, strict=True):
    scheme = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor=predictor, solution=solution)
    run = psmr.simulate(system, scheme, 10.0, [fault])
    mode, deformation = run.certificate.mode_numerical, run.certificate.deformation
    ratio = -mode.real / abs(mode)
    work = run.stats.volume.factorisations / run.stats.single_rate.factorisations
    print(f"{predictor}/{solution:6} {ratio:14.4f} {100 * deformation:10.2f} % {work:6.2f}")
    for ax in (whole, detail):
        words = f"{predictor}/{solution}, damping {ratio:.4f}"
        ax.plot(run.t, run.values("G2.omega"), color=colour, ls=dash, label=words)
whole.set_xlim(0.0, 10.0)
detail.set_xlim(6.0, 9.0)
detail.set_ylim(0.999, 1.0085)
detail.set_xlabel("time [s]")
for ax in (whole, detail):
    ax.set_ylabel("speed of G2 [pu]")
whole.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

plt.show()
