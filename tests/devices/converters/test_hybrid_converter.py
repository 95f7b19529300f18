"""REGFM_C1: its diagram, its record, and a plant that forms an island."""

import numpy as np
import pytest

import psmr
from tests.components import REGFMC1
from tests.devices.alone import TOLERANCE, guess_of, respond, run_alone
from tests.devices.diagram import clip, step
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

HYBRID = {
    **{"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, "v_0": 1.0, "r_e": 0.02, "x_e": 0.2},
    **{"f_flag": 1.0, "v_flag": 1.0, "pq_flag": 1.0, "m_q": 0.4, "k_pe": 0.2, "k_ie": 3.0, "de_max": 0.2},
    **{"de_min": -0.15, "dpd_max": 0.3, "dpd_min": -0.25, "t_vsm": 0.04, "dp_max": 0.35, "dp_min": -0.3},
    **{"t_wm": 0.05, "m_p": 0.02, "dw_max": 0.01, "dw_min": -0.008, "h": 1.0, "d_1": 5.0, "d_2": 60.0},
    **{"w_d": 6.0, "t_vf": 0.02, "t_pf": 0.03, "t_if": 0.02, "v_min": 0.8, "v_ref0": 1.01, "db_l": -0.03},
    **{"db_h": 0.03, "k_qv": 2.0, "i_max": 1.1, "k_f": 0.9, "p_max": 1.0, "p_min": -0.5, "q_max": 0.5},
    **{"q_min": -0.4, "t_vr": 0.06, "t_wr": 0.08},
}
PARAMETERS = {REGFMC1: HYBRID | {"p_min": -1.2}}
UNREACHED = {REGFMC1: {9: "below"}}  # A magnitude is never below zero.
ZERO = {REGFMC1: ("t_vsm", "t_wm", "t_vf", "t_pf", "t_if", "t_vr", "t_wr")}
VARIANTS = {REGFMC1: ({"pq_flag": 0.0}, {"f_flag": 0.0, "v_flag": 0.0, "v_ref0": 0.0})}


def regfmc1(p, u, x):
    theta, dw, x_d, w_m, p_m, v_m, i_qm, x_e, e, v_r, w_r = x
    v = u.v_re + 1j * u.v_im
    along = v / abs(v)
    own = (e * np.exp(1j * theta) - v) / (p["r_e"] + 1j * p["x_e"])
    seen = own / along
    error = (p["v_flag"] * (p["v_0"] + v_r - v_m)) / p["m_q"] - i_qm
    asked_e = p["v_0"] + v_r + clip(p["k_pe"] * error + x_e, p["de_min"], p["de_max"])
    p_cmd = clip(p["f_flag"] * (w_r - w_m) / p["m_p"], p["dp_min"], p["dp_max"])
    damping = clip(p["d_1"] * dw + p["d_2"] * (dw - x_d), p["dpd_min"], p["dpd_max"])
    dv = p["v_ref0"] - v_m
    beyond = max(dv - p["db_h"], 0.0) + min(dv - p["db_l"], 0.0)
    active = clip(u.p_ref, p["p_min"], p["p_max"]) / max(v_m, p["v_min"])
    reactive = clip(u.q_ext, p["q_min"], p["q_max"]) / max(v_m, p["v_min"]) + p["k_qv"] * beyond
    most = p["k_f"] * p["i_max"]
    if p["pq_flag"]:
        active = clip(active, -most, most)
        rest = np.sqrt(max(p["i_max"] ** 2 - active**2, 0.0))
        reactive = clip(reactive, -rest, rest)
    else:
        reactive = clip(reactive, -most, most)
        rest = np.sqrt(max(p["i_max"] ** 2 - reactive**2, 0.0))
        active = clip(active, -rest, rest)
    i = own + (active - 1j * reactive) * along
    i /= max(1.0, abs(i) / p["i_max"])
    power = v * np.conj(i)
    rates = (
        2 * np.pi * p["f_n"] * dw,
        (p_cmd - p_m - damping) / (2 * p["h"]),
        p["w_d"] * (dw - x_d),
        (dw - w_m) / p["t_wm"],
        (abs(v) * seen.real - p_m) / p["t_pf"],
        (abs(v) - v_m) / p["t_vf"],
        (-seen.imag - i_qm) / p["t_if"],
        p["k_ie"] * error,
        (asked_e - e) / p["t_vsm"],
        (u.v_gfm - v_r) / p["t_vr"],
        (u.w_gfm - w_r) / p["t_wr"],
    )
    limits = {1: (p["dw_min"], p["dw_max"]), 7: (p["de_min"], p["de_max"])}
    i *= p["s_n"] / p["s_base"]
    return rates, limits, (power.real, power.imag, i.real, i.imag, dw, e)


def test_regfmc1_is_its_block_diagram():
    """Dips and a swell, a jump of the angle, commands beyond their limits: each limit is met."""
    jumps = ((0.3013, 0.95), (0.6013, 0.6), (0.9017, 1.0), (1.4013, 1.1), (1.9017, 1.0))
    size, turn = step(1.0, *jumps), step(0.0, (2.4013, 0.35), (3.0017, -0.25))
    times = sorted((*size.jumps, *turn.jumps))
    angle = np.angle(0.6 + 0.8j)

    def phasor(t):
        return size(t) * np.exp(1j * (angle + turn(t)))

    inputs = {
        "v_re": step(0.6, *((t, phasor(t).real) for t in times)),
        "v_im": step(0.8, *((t, phasor(t).imag) for t in times)),
        "p_ref": step(0.5, (1.2013, 1.2), (2.7017, 0.4)),
        "q_ext": step(0.1, (1.6013, 0.7), (3.4017, -0.6)),
        "v_gfm": step(0.0, (0.2013, 0.04), (2.2013, -0.03)),
        "w_gfm": step(0.0, (1.1013, 0.004), (2.9013, -0.003)),
    }
    for pq_flag in (1.0, 0.0):
        p = HYBRID | {"pq_flag": pq_flag}
        guess = guess_of(REGFMC1, p, Terminal(0.6 + 0.8j, (0.5 - 0.1j) * (0.6 + 0.8j) * 0.64, {}))
        found = run_alone(REGFMC1, p, guess, inputs)
        rest = (angle, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
        expected = respond(regfmc1, p, rest, inputs).T
        ours = (found.p_e, found.q_e, found.i_re, found.i_im, found.dw, found.e)
        for own, other in zip(ours, expected, strict=True):
            assert np.abs(own - other).max() < 20 * TOLERANCE
        assert np.hypot(found.i_re, found.i_im).max() == pytest.approx(0.64 * 1.1, abs=1e-6)
        assert (found.dw.min(), found.dw.max()) == pytest.approx((-0.008, 0.01), abs=1e-6)


RECORD = (
    "1 'REGFMC1' 1 1 1 1 0.01 0.15 0.4 0.333 3.333 0.2083 -0.2083 0.5 -0.5 0.025 0.318 1.36 -1.36 0.02 0.3183"
    " 0.04 0.1667 -0.3333 1.6 5 90 3.14 0.02 0.02 0.02 0.88 0 -0.12 0.12 2 1.2 1 1.2 -1 0.6 -0.6 /\n"
)


PLANT_CONTROL = (
    "1 'REPCA1' 1 0 0 0 '1' 0 1 1 0.02 0.5 1 0 0.1 0 0 0 0 0.1 -0.1 0 0 0.4 -0.4 0.1 0.5 0.05 0 0 9 -9 1.2 -1"
    " 0.1 20 20 /\n"
)


@pytest.mark.parametrize("beside", ["", PLANT_CONTROL])
def test_a_plant_of_a_dyr_file_is_at_rest_and_comes_back(tmp_path, beside):
    _, mine, theirs = there_and_back(tmp_path, f"{OTHERS}{RECORD}{beside}", near=1e-8)
    assert len(mine) == (2 if beside else 1)
    assert mine == theirs
    assert mine["REGFMC1"]["t_wm"] == 0.3183


def test_its_machine_takes_up_what_an_island_lacks_and_its_speed_droops(tmp_path):
    # Ten times the power of the converter's base to spare: no limit is met.
    free = {"dw_max": 0.1, "dw_min": -0.1, "dp_max": 2.0, "dp_min": -2.0, "i_max": 3.0, "s_n": 100.0}
    values = "\n".join(f"{k} = {v}" for k, v in (HYBRID | free).items() if k not in ("s_base", "f_n", "v_0"))
    (tmp_path / "island.toml").write_text(
        'format = "psmr-case"\nversion = 1\nname = "island"\nbase_mva = 100.0\nfrequency_hz = 60.0\n'
        '[[bus]]\nnumber = 1\n[[load]]\nbus = 1\nmodel = "impedance"\np_mw = 50.0\nq_mvar = 10.0\n'
        '[[generator]]\nname = "C"\nbus = 1\ncontrol = "slack"\nv = 1.0\n'
        f'[generator.converter]\ntype = "REGFMC1"\n{values}\n'
    )
    system = psmr.build(psmr.read_case(tmp_path / "island.toml"))
    trip = psmr.LoadTrip(1, 0.5, fraction=0.2)
    run = psmr.simulate(system, psmr.VariableStep(), 30.0, [trip], certify=False)
    dw, p_m = run["C.dw"].iloc[-1], run["C.p_m"].iloc[-1]
    # What the droop asks for and the damping takes is what the machine gives, below zero.
    assert p_m < -0.02
    assert -dw / 0.02 - 5.0 * dw == pytest.approx(p_m, abs=1e-4)
    # The voltage droops as well: i_q = (v_0 - v)/m_q.
    assert run["C.i_qm"].iloc[-1] == pytest.approx((1.0 - run["C.v_m"].iloc[-1]) / 0.4, abs=1e-4)
