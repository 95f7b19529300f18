"""Make the figures of the README: python docs/figures/make.py."""

from pathlib import Path

import partitioning
import psmr
from psmr.pencil.report.figures import eigenvalue_map
from psmr.study.output.canvas import STYLE, save

HERE = Path(__file__).parent
# Shown where the reader's fonts are unknown: letters as outlines.
STYLE["svg.fonttype"] = "path"

system = psmr.build(psmr.read_case(HERE.parents[1] / "cases" / "wscc9" / "wscc9.toml"))
linear = system.linearise()
split = partitioning.by_participation(linear, delta=20.0)
scheme = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor="FEM", solution="TM")
run = psmr.simulate(system, scheme, 10.0, [psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")])
save(run.plot(title="WSCC 9-bus, fault at bus 5: multirate, 50 ms and 5 ms"), HERE / "wscc9-fault.svg")

bent = psmr.Multirate(split, h_slow=0.05, ratio=10, predictor="BEM", solution="BEM")
save(eigenvalue_map(psmr.deformation(linear, bent)), HERE / "wscc9-deformation.svg")
