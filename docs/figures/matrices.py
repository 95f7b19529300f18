"""Make the two figures of the page on matrices: python docs/figures/matrices.py."""

from pathlib import Path

import numpy as np

import psmr
from psmr.figures.with_matplotlib import STYLE, save

HERE = Path(__file__).parent
# Shown where the reader's fonts are unknown: letters as outlines.
STYLE["svg.fonttype"] = "path"

system = psmr.build(psmr.case("wscc9"))
matrices = system.state_space("load8.p", "G2.p")
f = np.geomspace(0.05, 20.0, 600)
simulated = psmr.simulated_response(matrices, psmr.SingleRate("BEM", h=0.02), f, input="linear")
save(matrices.response(f).plot(simulated), HERE / "matrices-response.svg")

full = psmr.build(psmr.case("wscc9/wscc9-emt"))
scan = psmr.impedance_scan(full, bus=3, f=np.geomspace(0.1, 1000.0, 1500))
save(scan.plot(), HERE / "matrices-scan.svg")
