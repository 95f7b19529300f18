"""Make the figure of docs/tap-changers.md: python docs/figures/tap_changers.py."""

import tempfile
from pathlib import Path

import psmr
from psmr.figures.chart import COLOURS, FAINT
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

CASE = """
format = "psmr-case"
version = 1
name = "behind a tap changer"
base_mva = 100.0
frequency_hz = 50.0
bus = [{{number = 1}}, {{number = 2}}, {{number = 3}}]
line = [{{from = 1, to = 2, x = 0.5}}, {{from = 1, to = 2, x = 0.5, circuit = 2}}]
load = [{{bus = 3, p_mw = {p}, q_mvar = {q}, model = "impedance"}}]

[[transformer]]
from = 2
to = 3
x = 0.1
tap = {tap}
name = "T1"

[transformer.tap_changer]
type = "TapChanger"
v_set = 1.0
half_band = 0.01
tap_min = 0.60
tap_max = 1.16
positions = 57
t_first = 30.0
t_next = 10.0

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.05

[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 0.0001
"""
# Title, load in MW and Mvar, ratio at the start.
PANELS = (("50 MW: restored", 50.0, 10.0, 1.0), ("100 MW: more than one line carries", 100.0, 20.0, 0.91))

with styled(), tempfile.TemporaryDirectory() as folder:
    figure = new_figure(8.2, 4.2)
    axes = figure.subplots(2, 2, sharex=True, height_ratios=(2, 1))
    for k, (title, p, q, tap) in enumerate(PANELS):
        path = Path(folder) / "case.toml"
        path.write_text(CASE.format(p=p, q=q, tap=tap))
        system = psmr.build(psmr.read_case(path))
        trip = psmr.LineTrip("line1-2-2", start=20.0)
        run = psmr.simulate(system, psmr.VariableStep(1e-6), 400.0, [trip], certify=False)
        voltages, positions = axes[:, k]
        voltages.axhspan(0.99, 1.01, color=FAINT, alpha=0.25, linewidth=0, label="dead band")
        for colour, bus, name in zip(COLOURS, (3, 2), ("behind it, bus 3", "in front, bus 2"), strict=False):
            voltages.plot(run.t, run[f"bus{bus}.v"], color=colour, label=name)
        positions.plot(run.t, run["LTC1.position"], color=COLOURS[2])
        voltages.set(title=title, ylabel="voltage [pu]" if k == 0 else "")
        positions.set(xlabel="time [s]", ylabel="position" if k == 0 else "")
    axes[0, 0].legend()
save(figure, Path(__file__).parent / "tap-changers.svg")
