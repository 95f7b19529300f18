"""Make the figure of docs/sampled.md: python docs/figures/sampled.py."""

from pathlib import Path

import numpy as np

import psmr
from psmr.dae.declare.component import nonnegative, positive
from psmr.figures.chart import COLOURS, INK
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"


class Lag(psmr.Component):
    """(1 + s tau) x = u."""

    states = ("x",)
    inputs = ("u",)
    tau = psmr.Parameter("s", "time constant", positive, 0.5)

    @staticmethod
    def equations(m, v, p):
        return ((v.u - v.x) / p.tau,), (), ()


class DigitalPI(psmr.Component):
    """A regulator with an integral."""

    inputs = ("y", "ref")
    sampled_states = ("integral",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T", delay="T_d")
    T = psmr.Parameter("s", "time between samples", positive, 0.1)
    T_d = psmr.Parameter("s", "computing delay", nonnegative, 0.0)
    k_p = psmr.Parameter("1", "proportional gain", positive, 3.0)
    k_i = psmr.Parameter("1/s", "integral gain", positive, 6.0)

    @staticmethod
    def sample(m, v, p):
        error = v.ref - v.y
        return (v.integral + p.k_i * p.T * error,), (p.k_p * error + v.integral,)


class OnALine(DigitalPI):
    """The same with a hold of order one."""

    samples = psmr.Samples(period="T", delay="T_d", hold=1)


def regulated(controller, **parameters):
    """Return a run of the lag with a regulator after a step of its reference at 0.25 s."""
    devices = [
        psmr.Device("plant", Lag, {}, {"u": "pi.u"}),
        psmr.Device("pi", controller, parameters, {"y": "plant.x"}),
    ]
    system = psmr.assemble(devices, {"plant.x": 0.0, "pi.ref": 0.0})
    scheme = psmr.SingleRate("TM", 0.002)
    return psmr.simulate(system, scheme, 1.5, [psmr.SetPoint("pi", "ref", 1.0, 0.25)], certify=False)


RUNS = (
    ("samples of 1 ms", regulated(DigitalPI, T=0.001)),
    ("samples of 0.1 s", regulated(DigitalPI)),
    ("with a computing delay of 0.06 s", regulated(DigitalPI, T_d=0.06)),
    ("with a hold of order one", regulated(OnALine)),
)
with styled():
    figure = new_figure(8.2, 3.2)
    for axis, (name, title) in zip(
        figure.subplots(1, 2), (("pi.u", "what the regulator gives"), ("plant.x", "the lag")), strict=True
    ):
        for k, (label, run) in enumerate(RUNS):
            colour, width = (INK, 2.4) if k == 0 else (COLOURS[k - 1], 1.2)
            values = run[name].to_numpy()
            axis.plot(
                run.t, values, color=colour, linewidth=width, alpha=0.35 if k == 0 else 1.0, label=label
            )
        axis.set(xlabel="time [s]", title=title, xlim=(0.15, 1.5))
    axis.legend()
save(figure, Path(__file__).parent / "sampled.svg")
print({label: float(np.max(run["plant.x"])) for label, run in RUNS})
