"""A grid with converters

Machine 3 is replaced by converters whose controls are fast down to half a millisecond. The gaps of the
spectrum suggest where to split; the partition is drawn on the one-line graph; the fault of the first page is
run at hs = 10 ms, hf = 1 ms.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import partitioning
import psmr

CASES = Path(__file__).resolve().parents[2] / "cases"

system = psmr.build(psmr.read_case(CASES / "wscc9/wscc9-ibr.toml"))
linear = system.linearise()
print(partitioning.suggest_delta(linear).head(4).to_string(index=False))

split = partitioning.by_participation(linear, delta=20.0)
psmr.one_line(system, split)

scheme = psmr.Multirate(split, h_slow=0.01, ratio=10, predictor="TM", solution="TM")
fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
run = psmr.simulate(system, scheme, 5.0, [fault])
print(run.certificate)
run.plot(["*.omega", "bus[1-9].v"])

plt.show()
