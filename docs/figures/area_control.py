"""Make the figure of docs/area-control.md: python docs/figures/area_control.py."""

import sys
from pathlib import Path

import psmr
from psmr.figures.chart import COLOURS, INK
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.network.areas.test_generation_control import PLOTTED
from tests.systems.two_areas import LOAD_STEP, two_areas

STYLE["svg.fonttype"] = "path"

system = psmr.build(two_areas(own_meters=1.0))
run = psmr.simulate(system, psmr.VariableStep(1e-5), 120.0, [LOAD_STEP], certify=False)
power = {k: (run[f"G{k}.p"] + run[f"G{k + 1}.p"]) / 100 for k in (1, 3)}

with styled():
    figure = new_figure(8.2, 3.2)
    orders, change = figure.subplots(1, 2)
    for k, (number, column) in enumerate(((1, 1), (4, 2))):
        orders.plot(run.t, run[f"LFC{number}.p_area"] / 9, color=COLOURS[k], label=f"governor {number}")
        orders.plot(PLOTTED[:, 0], PLOTTED[:, column], "o", color=INK, markersize=3)
    for k, (first, column) in enumerate(((1, 3), (3, 4))):
        values = power[first] - power[first].iloc[0]
        change.plot(run.t, values, color=COLOURS[k], label=f"area {k + 1}")
        change.plot(PLOTTED[:, 0], PLOTTED[:, column], "o", color=INK, markersize=3)
    orders.set(xlabel="time [s]", title="orders to governors [pu of 900 MVA]", xlim=(0.0, 120.0))
    change.set(xlabel="time [s]", title="change of generation [pu of 100 MVA]", xlim=(0.0, 120.0))
    orders.legend()
    change.legend()
    save(figure, Path(__file__).with_suffix(".svg").with_stem("area-control"))
