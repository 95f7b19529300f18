"""Make the figure of docs/unbalanced.md: python docs/figures/unbalanced.py."""

from pathlib import Path

import psmr
from psmr.figures.with_matplotlib import STYLE, save

STYLE["svg.fonttype"] = "path"

fault = psmr.Fault(line="5-7", at=0.3, start=0.1, clear_from=0.2, clear_to=0.25, phases="ag", r=0.01)
run = psmr.simulate(psmr.build(psmr.case("wscc9")), psmr.VariableStep(1e-5), 1.0, events=[fault])
names = ["bus5.v_a", "bus5.v_b", "bus5.v_c", "bus5.v_0"]
title = "WSCC 9-bus, one phase to ground at 30 % of line 5-7"
save(run.plot(names, title=title), Path(__file__).parent / "unbalanced.svg")
