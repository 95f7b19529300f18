"""A grid-forming converter and a motor

Machine 3 is a grid-forming converter now, and part of the load at bus 8 an induction motor, which starts at
its own equilibrium: the report says what reactive power it takes and which susceptance makes up for it. The
converter's inner loops ring at some hundred hertz: they are fast, at 0.2 ms, and the rest takes ten times
that. The fault drives the converter into its current limit and the motor to twice its slip.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import partitioning
import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"

case = psmr.read_case(CASES / "wscc9/wscc9-gfm.toml")
print(psmr.check(case))

system = psmr.build(case)
split = partitioning.by_participation(system.linearise(), delta=100.0)
print("fast:", *(name for name, fast in zip(system.names_x, split.fast_x, strict=True) if fast))

fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
scheme = psmr.Multirate(split, h_slow=0.002, ratio=10, predictor="TM", solution="TM")
run = psmr.simulate(system, scheme, 3.0, [fault])
run.plot(["C3.i_od", "C3.i_oq", "motor8.slip", "*.omega"])

single = psmr.simulate(system, psmr.SingleRate("TM", h=0.0002), 3.0, [fault])
end = np.abs(run.x[-1] - single.x[-1])
worst = int(np.argmax(end))
print(f"after 3 s all states agree with those of one step size to {end[worst]:.1e} ({system.names_x[worst]})")
print(run.stats)

plt.show()
