"""Make the figure of docs/direct-current.md: python docs/figures/direct_current.py."""

from pathlib import Path

import numpy as np

import psmr
from psmr.figures.chart import COLOURS, FAINT
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

DEGREES = 180 / np.pi
# Title, unit, and what is drawn: signal, label, factor.
PANELS = (
    (
        "direct current [kA]",
        ("half-r.i", "rectifier", 2),
        ("half-i.i", "inverter", 2),
        ("half-r-control.i_ord", "order", 2),
    ),
    ("direct voltage [kV]", ("dc-r.v", "rectifier", 500), ("dc-i.v", "inverter", 500)),
    ("angle [degrees]", ("rectifier.alpha", "alpha", DEGREES), ("inverter.gamma", "gamma", DEGREES)),
    (
        "power into the AC bus [MW, Mvar]",
        ("inverter.p", "inverter, P", 1),
        ("rectifier.p", "rectifier, P", 1),
        ("inverter.q", "inverter, Q", 1),
    ),
)

system = psmr.build(psmr.case("cigre-hvdc"))
fault = psmr.Fault(bus="inverter-ac", start=0.1, clear=0.2, x=0.1)
run = psmr.simulate(system, psmr.VariableStep(1e-6), 0.8, [fault])
acts = [(change.t, act.device, act.kind) for change in run.changes for act in change.acts]
for t, device, kind in acts:
    print(f"{t:.4f} s  {device}: {kind}")
with styled():
    figure = new_figure(8.2, 5.4)
    for axis, (title, *lines) in zip(figure.subplots(2, 2, sharex=True).flat, PANELS, strict=True):
        for t in sorted({t for t, *_ in acts}):
            axis.axvline(t, color=FAINT, linewidth=0.8)
        for (signal, label, factor), colour in zip(lines, COLOURS, strict=False):
            axis.plot(run.t, factor * run[signal], color=colour, linewidth=1.3, label=label)
        axis.set(title=title, xlim=(0.05, 0.8))
        axis.legend()
    for axis in figure.axes[2:]:
        axis.set_xlabel("t [s]")
save(figure, Path(__file__).parent / "direct-current.svg")
