"""Make the figure of docs/benchmarks/voltage-collapse.md: python docs/figures/voltage_collapse.py."""

from pathlib import Path

import psmr
from psmr.figures.chart import COLOURS
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

# Read from the curves of figure 16 of the report (Nordic_test_system_V6.pdf), to 0.0005 pu.
TIMES = (*range(0, 120, 10), *range(115, 170, 5))
REPORT = {
    1041: (
        "1.0124 .9879 .9874 .9866 .9768 .9673 .9589 .9363 .9272 .9100 .8959 .8784 .8692 .8623 .8520 "
        ".8471 .8338 .8211 .7953 .7927 .7758 .7689 .7597"
    ),
    1042: (
        "1.0145 1.0079 1.0056 1.0048 1.0010 .9980 .9956 .9928 .9900 .9855 .9816 .9488 .9421 .9376 "
        ".9272 .9248 .9030 .8941 .8723 .8598 .8409 .8170 .7841"
    ),
    4012: (
        "1.0235 1.0224 1.0226 1.0219 1.0188 1.0162 1.0142 1.0170 1.0152 1.0128 1.0109 1.0096 1.0087 "
        "1.0079 1.0068 1.0061 1.0255 1.0296 1.0279 1.0263 1.0252 1.0256 1.0253"
    ),
    4062: (
        "1.0560 1.0502 1.0459 1.0442 1.0388 1.0352 1.0326 1.0361 1.0326 1.0283 1.0239 1.0214 1.0186 "
        "1.0160 1.0139 1.0117 1.0352 1.0379 1.0294 1.0217 1.0164 1.0138 1.0104"
    ),
}


run = psmr.simulate(
    psmr.build(psmr.case("nordic")),
    t_end=200.0,
    events=[psmr.Fault(bus=4032, start=1.0, clear=1.1, trip="4032-4044")],
    monitors=[psmr.AngleSpread(180.0)],
    certify=False,
)
limited = [(c.t, a.device) for c in run.changes for a in c.acts if a.kind == "limiter" and a.value == 1.0]

with styled():
    figure = new_figure(8.2, 4.0)
    axes = figure.subplots()
    for colour, (bus, points) in zip(COLOURS, REPORT.items(), strict=False):
        axes.plot(run.t, run[f"bus{bus}.v"], color=colour, linewidth=1.2, label=f"bus {bus}")
        axes.plot(TIMES, [float(point) for point in points.split()], ".", color=colour, markersize=5)
    for t, device in limited[:7]:
        axes.axvline(t, color="0.85", linewidth=0.8, zorder=0)
        axes.annotate(device.removeprefix("AVR-"), (t, 0.655), fontsize=7, ha="center", color="0.4")
    axes.set(xlim=(0.0, 175.0), ylim=(0.64, 1.08), xlabel="time [s]", ylabel="voltage [pu]")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 0.08))
save(figure, Path(__file__).parent / "voltage-collapse.svg")
