"""Make the figures of docs/voltage-stability.md: python docs/figures/voltage_stability.py."""

from dataclasses import replace
from pathlib import Path

import psmr
from psmr.figures.run.plots import moves_drawings
from psmr.figures.with_matplotlib import STYLE, save, to_matplotlib

HERE = Path(__file__).parent
STYLE["svg.fonttype"] = "path"

save(psmr.pv_curve(psmr.case("wscc9")).plot(), HERE / "pv-curve.svg")
system = psmr.build(psmr.case("nordic"))
fault = psmr.Fault(4032, 1.0, 1.1, trip="4032-4044")
run = psmr.simulate(
    system, psmr.VariableStep(1e-4), 200.0, [fault], certify=False, monitors=[psmr.AngleSpread()]
)
print(run.outcome.headline, run.nose)
((taps, _),) = moves_drawings(run)
save(to_matplotlib(replace(taps, width=7.2, height=4.4)), HERE / "nordic-taps.svg")
