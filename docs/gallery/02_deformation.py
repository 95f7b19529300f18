"""The pencil against the simulator

Three answers to the question what a scheme makes of the dominant mode: the exact pencil, the published one,
and the mode fitted to a ringdown of the nonlinear run, started a small kick away from the equilibrium along
the mode. The exact pencil agrees with the ringdown; the published one gives the error of one explicit fast
step, whatever the macro step is.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import partitioning
import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"

system = psmr.build(psmr.read_case(CASES / "wscc9/wscc9.toml"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)

values, vectors = np.linalg.eig(linear.state_matrix())
dominant = psmr.deformation(linear, psmr.SingleRate("TM", h=0.01)).dominant
s = complex(dominant["real"], dominant["imag"])
kick = vectors[:, np.argmin(abs(values - s))].real
start = (system.x0 + 1e-3 * kick / abs(kick).max(), system.y0)

print(f"{'pair':8} {'hs':>5} {'hf':>6}   {'exact pencil':>12}  {'ringdown':>10}  {'published':>10}")
for predictor, solution, h_slow, h_fast in [
    ("FEM", "TM", 0.05, 0.005),
    ("FEM", "TM", 0.01, 0.005),
    ("TM", "TM", 0.05, 0.005),
    ("TM", "TM", 0.01, 0.001),
]:
    scheme = psmr.Multirate.from_steps(split, h_slow, h_fast, predictor=predictor, solution=solution)
    exact = psmr.deformation(linear, scheme).dominant["relative_deformation"]
    published = psmr.deformation(linear, scheme, pencil="published").dominant["relative_deformation"]
    run = psmr.simulate(system, scheme, 8.0, start=start, certify=False)
    swing = run.values("G1.omega")[:, 0] - run.values("G2.omega")[:, 0]
    seen = abs(psmr.fit_mode(run.t, swing, near=s) - s) / abs(s)
    figures = f"{100 * exact:10.4f} %  {100 * seen:8.4f} %  {100 * published:8.4f} %"
    print(f"{predictor}/{solution:5} {h_slow:5} {h_fast:6}   {figures}")

report = psmr.deformation(linear, psmr.Multirate(split, h_slow=0.05, ratio=10))
report.plot_modes()
report.plot_deformations()

plt.show()
