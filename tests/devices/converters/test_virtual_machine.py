"""REGFM_B1: its diagram, its record, and a plant that runs through a fault."""

import numpy as np
import pytest

import psmr
from psmr import Device
from tests.components import REGFMB1
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.diagram import clip, step
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

VIRTUAL = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "v_0": 1.0, "r_e": 0.01, "x_e": 0.2},
    **{"w_flag": 0.0, "vdrp_flag": 0.0, "qv_flag": 1.0, "pq_flag": 1.0, "f_flag": 1.0, "es_flag": 1.0},
    **{"m_q": 0.05, "k_pv": 0.3, "k_iv": 5.0, "m_p": 0.02, "dw_max": 0.004, "dw_min": -0.003},
    **{"k_ppll": 0.05, "k_ipll": 0.6, "dwpll_max": 0.03, "dwpll_min": -0.02, "t_p": 0.02, "h": 0.5},
    **{"d_1": 5.0, "d_2": 60.0, "w_d": 30.0, "i_ss": 1.0, "k_f": 0.8, "k_i": 2.0, "i_fault": 1.2},
    **{"t_pf": 0.02, "t_qf": 0.03, "t_vf": 0.02, "t_if": 0.02, "k_e": 0.9, "v_frz": 0.3},
}
PARAMETERS = {
    REGFMB1: VIRTUAL | {"dw_max": 0.4, "dw_min": -0.3, "k_ppll": 2.0, "dwpll_max": 0.8, "dwpll_min": -0.7},
}
ZERO = {REGFMB1: ("t_p", "t_pf", "t_qf", "t_vf", "t_if")}
UNREACHED = {REGFMB1: {2: "below"}}  # A magnitude is never below zero.
VARIANTS = {
    REGFMB1: (
        *({"pq_flag": 0.0, "vdrp_flag": 1.0}, {"qv_flag": 0.0, "f_flag": 0.0, "w_flag": 1.0}),
        {"es_flag": 0.0, "i_fault": 0.0},
    )
}


def regfmb1(p, u, x):
    theta, dw, x_droop, x_d, theta_pll, x_pll, less_most, less_least, p_m, q_m, v_m, i_dm, i_qm, x_v = x
    v = u.v_re + 1j * u.v_im
    nominal = 2 * np.pi * p["f_n"]
    v_q = (v * np.exp(-1j * theta_pll)).imag
    awake = clip((abs(v) - p["v_frz"]) / 1e-3, 0.0, 1.0)
    dw_pll = clip(p["k_ppll"] * v_q + x_pll, p["dwpll_min"], p["dwpll_max"])
    p_cmd = u.p_ref - (x_droop / p["m_p"] if p["f_flag"] else 0.0)
    own, other = p["k_f"] * p["i_ss"], i_dm if p["pq_flag"] else i_qm
    rest = np.sqrt(max(p["i_ss"] ** 2 - other**2, 0.0))
    i_d_max, i_q_max = (own, rest) if p["pq_flag"] else (rest, own)
    droop = p["m_q"] * (i_qm if p["vdrp_flag"] else q_m)
    asked = u.v_ref - droop if p["qv_flag"] else p["v_0"] + p["m_q"] * (u.q_ext - q_m)
    low, high = (abs(v_m + s * p["x_e"] * i_q_max + 1j * p["x_e"] * i_dm) for s in (-1, 1))
    e = clip(p["k_pv"] * (asked - v_m) + x_v, low, high)
    i = (e * np.exp(1j * theta) - v) / (p["r_e"] + 1j * p["x_e"])
    if p["i_fault"] and abs(i) > p["i_fault"]:
        i *= p["i_fault"] / abs(i)
    power, seen = v * np.conj(i), i * np.exp(-1j * theta_pll)
    rates = (
        nominal * dw,
        (p_cmd - p_m - p["d_1"] * dw - p["d_2"] * (dw - x_d)) / (2 * p["h"]),
        ((dw_pll if p["w_flag"] else dw) - x_droop) / p["t_p"],
        p["w_d"] * (dw - x_d),
        nominal * dw_pll * awake,
        p["k_ipll"] * v_q * awake,
        p["k_i"] * (i_dm - i_d_max),
        p["k_i"] * (-p["k_e"] * i_d_max - i_dm) if p["es_flag"] else 0.0,
        (power.real - p_m) / p["t_pf"],
        (power.imag - q_m) / p["t_qf"],
        (abs(v) - v_m) / p["t_vf"],
        (seen.real - i_dm) / p["t_if"],
        (-seen.imag - i_qm) / p["t_if"],
        p["k_iv"] * (asked - v_m),
    )
    swing = np.arcsin(p["x_e"] * p["i_ss"])
    limits = {
        0: (theta_pll - p["es_flag"] * (swing - less_least), theta_pll + swing - less_most),
        **{1: (p["dw_min"], p["dw_max"]), 5: (p["dwpll_min"], p["dwpll_max"])},
        **{6: (0.0, swing), 7: (0.0, swing), 13: (low, high)},
    }
    i *= p["s_n"] / p["s_base"]
    return rates, limits, (i.real, i.imag, dw, theta - theta_pll, less_most)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"pq_flag": 0.0, "vdrp_flag": 1.0},
        {"qv_flag": 0.0, "w_flag": 1.0},
        {"es_flag": 0.0, "f_flag": 0.0},
    ],
    ids=str,
)
def test_regfmb1_is_its_block_diagram(change):
    """A dip below v_frz, a jump of the angle, power beyond the steady current: every limit but few is met."""
    p = VIRTUAL | change
    size = step(1.0, (0.3013, 0.93), (0.9017, 1.06), (1.5013, 0.2), (1.5517, 1.0), (3.0017, 0.97))
    turned = step(np.angle(0.6 + 0.8j), (2.0013, 0.98), (2.4017, 0.9))
    times = sorted({*size.jumps, *turned.jumps})
    inputs = {
        "v_re": step(0.6, *((t, size(t) * np.cos(turned(t))) for t in times)),
        "v_im": step(0.8, *((t, size(t) * np.sin(turned(t))) for t in times)),
        "p_ref": step(0.5, (0.6013, 1.1), (1.2017, 0.3)),
    }
    guess = guess_of(REGFMB1, p, Terminal(0.6 + 0.8j, (0.5 - 0.1j) * (0.6 + 0.8j) * 0.64, {}))
    name = "v_ref" if p["qv_flag"] else "q_ext"
    held = float(guess[name])
    inputs[name] = step(held, (3.4013, held + 0.03))
    component = Device("d", REGFMB1, p, {"i_re": "x.i_re", "i_im": "x.i_im"}).component
    found = run_alone(component, p, {k: v for k, v in guess.items() if k not in ("v_ref", "q_ext")}, inputs)
    source = (0.6 + 0.8j) * (1 + (p["r_e"] + 1j * p["x_e"]) * (0.5 - 0.1j))
    angle = np.angle(0.6 + 0.8j)
    rest = (np.angle(source), 0.0, 0.0, 0.0, angle, 0.0, 0.0, 0.0, 0.5, 0.1, 1.0, 0.5, 0.1, abs(source))
    expected = respond(regfmb1, p, rest, inputs)
    ours = (found.i_re, found.i_im, found.dw, found.theta - found.theta_pll, found.less_most)
    for own, other in zip(ours, expected.T, strict=True):
        assert np.abs(own - other).max() < 20 * TOLERANCE
    assert found.less_most.max() > 0.01
    assert (found.dw.min(), found.dw.max()) == pytest.approx((-0.003, 0.004))


RECORD = (
    "{} 1 1 1 1 0.05 0.0 5.0 0.02 0.05 -0.05 0.265 2.65 0.2 -0.2 0 0.5 0 100 50 1.0 0.9 2.0 1.5 0.02 0.02 0"
    " 0 1 0.05"
)
"""As a script of PNNL sets them."""


@pytest.mark.parametrize(("model", "droop"), [("REGFMB1", 0), ("REGFMB1U", 1)])
def test_a_plant_of_a_dyr_file_starts_and_comes_back(model, droop, tmp_path):
    text = f"1 '{model}' 1 0 {RECORD.format(droop)} /\n{OTHERS}"
    system, mine, theirs = there_and_back(tmp_path, text)
    assert len(mine) == 1
    assert mine == theirs
    fault = psmr.Fault(2, 0.5, 0.6)
    run = psmr.simulate(system, psmr.VariableStep(), 2.0, [fault], certify=False)
    assert run.t[-1] == 2.0
    assert np.abs(run["G1.dw"]).max() > 1e-3
