"""Make the figure of docs/limiters.md: python docs/figures/limiters.py."""

import json
import tempfile
from pathlib import Path

import numpy as np

import psmr
from psmr.devices.limiters.over_excitation import OEL2C as OverExcitation
from psmr.figures.chart import COLOURS, FAINT
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled

STYLE["svg.fonttype"] = "path"

CASE = """
format = "psmr-case"
version = 1
name = "one machine at a stiff network"
base_mva = 100.0
frequency_hz = 50.0
bus = [{{number = 1, base_kv = 20.0}}, {{number = 2, base_kv = 20.0}}]
line = [{{from = 1, to = 2, x = 0.03, r = 0.0, b = 0.0}}]

[[generator]]
name = "grid"
bus = 2
control = "slack"
v = 1.0
machine = {{type = "InfiniteBus", s_n = 10000.0, x_d1 = 0.01}}

[[generator]]
name = "G1"
bus = 1
p_mw = 310.0
v = 1.02
control = "pv"
rating_mva = 350.0

[generator.machine]
type = "GENSAL"
s_n = 350.0
h = 3.0
x_d = 1.1
x_q = 0.7
x_d1 = 0.25
x_2 = 0.2
x_l = 0.15
t_d01 = 5.0
t_d02 = 0.05
t_q02 = 0.1
s_10 = 0.1
s_12 = 0.3

[generator.exciter]
type = "ESST1A"
oel = {place}
{exciter}

[generator.over_excitation_limiter]
{limiter}
"""
EXCITER = {
    **{"t_r": 0.02, "v_i_max": 9.0, "v_i_min": -9.0, "t_c": 1.0, "t_b": 10.0, "t_c1": 0.0, "t_b1": 0.0},
    **{"k_a": 200.0, "t_a": 0.0, "v_a_max": 9.0, "v_a_min": -9.0, "v_r_max": 5.0, "v_r_min": -4.0},
    **{"k_c": 0.04, "k_f": 0.0, "t_f": 1.0, "k_lr": 0.0, "i_lr": 9.0},
}
MAXEX2 = {
    **{"type": "MAXEX2", "rated": 1.8, "des_1": 1.05, "time_1": 60.0, "des_2": 1.2, "time_2": 30.0},
    **{"des_3": 1.5, "time_3": 10.0, "desired": 1.02, "k_mx": 0.02, "v_low": -0.3},
}
COUNT = {
    **{"itf_pu": 1.85, "i_inst": 2.3, "i_lim": 1.9, "c_2": 2.0, "k_2": 1 / 8, "v_inv_max": 100.0},
    **{"v_inv_min": 0.0, "fixed_ru": -0.01, "fixed_rd": 0.0, "t_fcl": 1.0, "t_max": 1.0, "t_min": 0.0},
    **{"k_rd": -0.1, "k_ru": 0.1, "k_zru": 0.5, "c_1": 0.0, "k_1": 0.0, "k_fb": 0.0, "t_r": 0.0, "t_a": 0.0},
}
GAINS = {"t_en": 0.0, "t_off": 5.0, "ith_off": 0.05, "i_reset": 100.0, "k_p": 0.3, "k_i": 0.0, "k_d": 0.0}
LAGS = dict.fromkeys(("t_c1", "t_b1", "t_c2", "t_b2", "t_d"), 0.0)
WIDE = {f"v_oel_{side}{k}": value for side, value in (("max", 99.0), ("min", -99.0)) for k in (1, 2, 3)}
OEL2C = COUNT | GAINS | LAGS | WIDE


class Ramp(psmr.Component):
    """A field current that goes up, and down again after 40 s."""

    algebraic = ("i_f",)

    @staticmethod
    def equations(m, v, p):
        """Return the current."""
        falls = 0.04 * m.min(m.max(v.t - 40, 0), 15)
        return (), (m.min(1.7 + 0.02 * v.t, 2.3) - falls - v.i_f,), ()


def on_ramp():
    """Return the run of OEL2C alone."""
    ramp = psmr.Device("ramp", Ramp, {})
    wires = {"i_f": "ramp.i_f", "v_f": "ramp.i_f"}
    limiter = psmr.Device("OEL", OverExcitation, OEL2C, wires)
    rest = {"ramp.i_f": 1.7, "OEL.i": 1.7, "OEL.i_a": 2.3, "OEL.i_ref": 2.3, "OEL.timer": 0.0}
    system = psmr.assemble([ramp, limiter], rest)
    return psmr.simulate(system, psmr.SingleRate("TM", h=0.02), 120.0, certify=False)


def in_plant(folder, place, values):
    """Return the run of a plant whose set-point of the voltage goes up by 0.03 pu from 1 s to 80 s."""
    path = Path(folder) / "case.toml"
    exciter, limiter = (
        "\n".join(f"{name} = {json.dumps(value)}" for name, value in part.items())
        for part in (EXCITER, values)
    )
    path.write_text(CASE.format(place=place, exciter=exciter, limiter=limiter))
    system = psmr.build(psmr.read_case(path))
    before = float(system.w0[system.index("AVR1.v_ref")])
    events = [psmr.SetPoint("AVR1", "v_ref", value, t) for t, value in ((1.0, before + 0.03), (80.0, before))]
    return psmr.simulate(system, psmr.VariableStep(1e-6), 110.0, events, certify=False)


with styled(), tempfile.TemporaryDirectory() as folder:
    figure = new_figure(8.2, 4.2)
    axes = figure.subplots(2, 2, height_ratios=(2, 1), sharex="col")
    run = on_ramp()
    axes[0, 0].plot(run.t, run["ramp.i_f"], color=COLOURS[0], label="field current (given)")
    axes[0, 0].plot(run.t, run["OEL.i_ref"], color=COLOURS[1], label="limit of OEL2C")
    axes[0, 0].axhline(1.9, color=FAINT, linewidth=0.8)
    axes[1, 0].plot(run.t, run["OEL.timer"], color=COLOURS[2])
    axes[0, 0].set(title="limiter on a ramp", ylabel="[pu]")
    axes[1, 0].set(xlabel="time [s]", ylabel="count")
    places = (("MAXEX2 at the error", 1, MAXEX2), ("OEL2C at the gate", 2, {"type": "OEL2C"} | OEL2C))
    for colour, (name, place, values) in zip(COLOURS, places, strict=False):
        run = in_plant(folder, place, values)
        axes[0, 1].plot(run.t, run["G1.i_f"], color=colour, label=name)
        left = run["OEL1.time_left"].to_numpy()
        axes[1, 1].plot(run.t, np.where(left < 60.0, left, np.nan), color=colour)
        print(name, [(round(change.t, 3), change.label) for change in run.changes])
    axes[0, 1].axhline(1.9, color=FAINT, linewidth=0.8)
    axes[0, 1].set(title="limiters in a plant", ylabel="field current [pu]")
    axes[1, 1].set(xlabel="time [s]", ylabel="time left [s]")
    axes[0, 0].legend(fontsize=8, loc="upper left", bbox_to_anchor=(0.39, 0.98))
    axes[0, 1].legend(fontsize=8)
save(figure, Path(__file__).parent / "limiters.svg")
