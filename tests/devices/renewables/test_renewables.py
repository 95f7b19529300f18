"""Renewable models alone, against their diagrams as ordinary differential equations solved with scipy.

The diagrams below are written from the model guide, block after block, without psmr's equations.
"""

import numpy as np
import pytest

from tests.components import REECA1, REECB1, REGCA1, REPCA1
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import clip, step
from tests.devices.library import PARAMETERS
from tests.internals import NumericMath, Terminal, dead_band


def band(x, low, high):
    return x - high if x > high else x - low if x < low else 0.0


def regca1(p, u, x):
    i_p, i_q, v_lv = x
    v = np.hypot(u.v_re, u.v_im)
    rate_p, rate_q = (u.ip_cmd - i_p) / p["t_g"], (u.iq_cmd - i_q) / p["t_g"]
    rate_p = min(rate_p, p["rrpwr"]) if i_p >= 0 else max(rate_p, -p["rrpwr"])
    if p["q_0"] > 0:
        rate_q = min(rate_q, p["iqrmax"])
    elif p["q_0"] < 0:
        rate_q = max(rate_q, p["iqrmin"])
    ceiling = polygon(v_lv, (p["zerox"], 0.0), (p["brkpt"], p["lvpl1"])) if p["lvplsw"] else np.inf
    active = i_p * polygon(v, (p["lvpnt0"], 0.0), (p["lvpnt1"], 1.0))
    reactive = max(i_q - max(p["k_hv"] * (v - p["v_olim"]), 0.0), p["i_olim"])
    i = (active - 1j * reactive) * (u.v_re + 1j * u.v_im) / v * p["s_n"] / p["s_base"]
    rates = (rate_p, rate_q, (v - v_lv) / p["t_fltr"])
    return rates, {0: (-np.inf, ceiling)}, (i_p, i_q, v * active, v * reactive, i.real, i.imag)


GENERATOR = {
    **{"s_n": 64.0, "s_base": 100.0, "q_0": 0.1, "lvplsw": 1.0, "t_g": 0.02, "rrpwr": 3.0, "brkpt": 0.9},
    **{"zerox": 0.3, "lvpl1": 1.2, "v_olim": 1.1, "lvpnt1": 0.8, "lvpnt0": 0.4, "i_olim": -0.6},
    **{"t_fltr": 0.05, "k_hv": 2.0, "iqrmax": 5.0, "iqrmin": -4.0},
}


@pytest.mark.parametrize("change", [{}, {"q_0": -0.1}, {"lvplsw": 0.0, "q_0": 0.0}], ids=str)
def test_regca1(change):
    """A dip below all break points, recovery by ramp, a voltage above v_olim, commands up and down."""
    p = GENERATOR | change
    size = step(1.0, (0.2013, 0.55), (0.9017, 0.2), (1.3013, 1.02), (2.2017, 1.3), (2.6013, 1.0))
    part = {"v_re": 0.6, "v_im": 0.8}
    inputs = {name: step(k, *((t, k * size(t)) for t in size.jumps)) for name, k in part.items()}
    inputs["ip_cmd"] = step(0.8, (3.0013, 0.2), (3.3017, 0.9))
    inputs["iq_cmd"] = step(0.2, (0.6013, 0.9), (1.6017, -0.3), (3.1013, 0.4))
    terminal = Terminal(0.6 + 0.8j, (0.8 - 0.2j) * (0.6 + 0.8j) * 0.64, {})
    found = run_alone(REGCA1, p, guess_of(REGCA1, p, terminal), inputs)
    expected = respond(regca1, p, (0.8, 0.2, 1.0), inputs)
    outputs = (found.i_p, found.i_q, found.p_e, found.q_e, found.i_re, found.i_im)
    for own, other in zip(outputs, expected.T, strict=True):
        assert np.abs(own - other).max() < TOLERANCE
    assert found.q_e.min() < -0.5  # the reactive current was taken away


def electrical(p, u, x):
    """REECA1 where the parameters have tables, otherwise REECB1."""
    v_m, p_m, x_q, x_v, i_qv, p_ord = x
    v = np.hypot(u.v_re, u.v_im)
    dip = not p["v_dip"] <= v <= p["v_up"]
    asked = u.q_ext * (p_m if p["pf_flag"] else 1.0)
    error_q = clip(asked, p["q_min"], p["q_max"]) - u.q_e
    order = p["k_qp"] * error_q + x_q if p["v_flag"] else asked + p.get("v_ref1", 0.0)
    error_v = clip(order, p["v_min"], p["v_max"]) - v_m
    outside = band((p["v_ref0"] or p["v_0"]) - v_m, p["dbd1"], p["dbd2"])
    injected = clip(p["k_qv"] * outside, p["iql1"], p["iqh1"])
    tables = "vq1" in p
    most_q = most_p = p["i_max"]
    if tables:
        injected = injected if dip else p.get("added", 0.0)
        most_q = min(most_q, polygon(v_m, *((p[f"vq{k}"], p[f"iq{k}"]) for k in (1, 2, 3, 4))))
        most_p = min(most_p, polygon(v_m, *((p[f"vp{k}"], p[f"ip{k}"]) for k in (1, 2, 3, 4))))

    def reactive(limit):
        looped = clip(p["k_vp"] * error_v + x_v, -limit, limit)
        return clip((looped if p["q_flag"] else i_qv) + injected, -limit, limit)

    def room(taken):
        return np.sqrt(max(p["i_max"] ** 2 - taken**2, 0.0))

    current = p_ord / max(v_m, 0.01)
    if p["pq_flag"]:
        ip_cmd = clip(current, 0.0, most_p)
        most_q = min(most_q, room(ip_cmd))
        iq_cmd = reactive(most_q)
    else:
        iq_cmd = reactive(most_q)
        most_p = min(most_p, room(iq_cmd))
        most_p = p.get("held_p", most_p)
        ip_cmd = clip(current, 0.0, most_p)
    electrical.ip_max = most_p
    power = u.p_ref * (u.omega_g if p.get("p_flag") else 1.0)
    ramp = clip((power - p_ord) / p["t_pord"], p["dp_min"], p["dp_max"])
    resting = (p["k_qi"] * error_q, p["k_vi"] * error_v, (asked / max(v_m, 0.01) - i_qv) / p["t_iq"], ramp)
    rates = ((v - v_m) / p["t_rv"], (u.p_e - p_m) / p["t_p"], *((0.0,) * 4 if dip else resting))
    limits = {2: (p["v_min"], p["v_max"]), 3: (-most_q, most_q), 5: (p["p_min"], p["p_max"])}
    return rates, limits, (ip_cmd, iq_cmd)


CONTROL = PARAMETERS[REECB1] | {
    **{"v_0": 1.0, "v_ref0": 0.0, "v_dip": 0.8, "v_up": 1.15, "q_max": 0.4, "q_min": -0.3, "v_max": 1.1},
    **{"v_min": 0.9, "k_qp": 0.2, "k_qi": 2.0, "k_vp": 1.0, "k_vi": 20.0, "dp_max": 1.5, "dp_min": -2.0},
    **{"p_max": 0.9, "p_min": 0.1, "t_p": 0.05, "i_max": 1.05, "pq_flag": 0.0, "iqh1": 0.5, "iql1": -0.25},
}
TABLES = {
    **{"v_ref1": 0.0, "vq1": 0.2, "iq1": 0.5, "vq2": 0.6, "iq2": 0.9, "vq3": 0.9, "iq3": 1.0, "vq4": 1.2},
    **{"iq4": 0.6, "vp1": 0.1, "ip1": 0.2, "vp2": 0.5, "ip2": 0.6, "vp3": 0.8, "ip3": 0.85, "vp4": 1.0},
    "ip4": 1.1,
}
FLAGS = [
    {"q_flag": 1.0, "v_flag": 1.0},
    {"q_flag": 1.0, "v_flag": 0.0},
    {"q_flag": 0.0, "v_flag": 0.0},
    {"q_flag": 0.0, "v_flag": 1.0, "pf_flag": 1.0},
    {"q_flag": 1.0, "v_flag": 1.0, "pq_flag": 1.0, "p_max": 0.65},
]


@pytest.mark.parametrize("change", FLAGS, ids=str)
@pytest.mark.parametrize(("component", "tables"), [(REECA1, TABLES), (REECB1, {})], ids=["REECA1", "REECB1"])
def test_electrical_control(component, tables, change):
    """Both sides of every limit; the dip and the overvoltage entered and left."""
    p = CONTROL | tables | change
    # With active power first a deep dip would leave nothing to reactive current, where the root is steep.
    deep = 0.7 if p["pq_flag"] else 0.4
    size = step(1.0, (0.5013, 0.86), (0.8017, deep), (1.1013, 0.93), (1.9017, 1.3), (2.1013, 1.04))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "p_ref": step(0.6, (0.1017, 1.2), (1.3013, 0.0), (2.6017, 0.7)),
        "p_e": step(0.6, (0.3017, 0.8), (1.4013, 0.5)),
        "q_e": step(0.15, (0.2017, 0.3), (2.3013, 0.1)),
    }
    signals = {"ip_cmd": 0.6, "iq_cmd": 0.15, "p_e": 0.6, "q_e": 0.15}
    guess = guess_of(component, p, Terminal(0.6 + 0.8j, 0j, signals))
    asked = float(guess["q_ext"])
    voltage = p["q_flag"] and not p["v_flag"]
    up, down = (1.2, 0.85) if voltage else (4 * asked, -3 * asked)
    inputs["q_ext"] = step(asked, (0.4013, up), (1.5017, down), (2.8013, asked), (3.3017, up))
    found = run_alone(component, p, guess, inputs)
    looping, regulating = p["q_flag"], p["q_flag"] * p["v_flag"]
    start = (1.0, 0.6, regulating * 1.0, looping * 0.15, float(guess["i_qv"]), 0.6)
    expected = respond(electrical, p, start, inputs)
    for own, other in zip((found.ip_cmd, found.iq_cmd), expected.T, strict=True):
        assert np.abs(own - other).max() < TOLERANCE
    assert (found.ip_cmd >= found.ip_max - 1e-9).any() or p["pq_flag"]
    assert found.p_ord.max() == pytest.approx(p["p_max"], abs=1e-12)
    assert found.p_ord.min() == pytest.approx(p["p_min"], abs=1e-12)


def test_dead_band_without_width_is_none():
    """A regulator at rest sits in the corner of its dead band: with equal ends it sees its error whole."""
    step = 1e-30
    value = dead_band(NumericMath, 1j * step, 0.0, 0.0)
    assert np.imag(value) / step == 1.0


def plant(p, u, x):
    y_m, x_q, x_l, p_m, x_p, p_l, angle = x
    v_r, v = u.v_re_r + 1j * u.v_im_r, u.v_re + 1j * u.v_im
    current = np.conj((u.p_e + 1j * u.q_e) / v)
    if not p["ref_flag"]:
        y = u.q_e
    elif p["vc_flag"]:
        y = abs(v_r - (p["r_c"] + 1j * p["x_c"]) * current)
    else:
        y = abs(v_r) + p["k_c"] * u.q_e
    error = clip(band(u.ref - y_m, p["dbd1"], p["dbd2"]), p["e_min"], p["e_max"])
    controlled = clip(p["k_p"] * error + x_q, p["q_min"], p["q_max"])
    q_ext = x_l + p["t_ft"] / p["t_fv"] * (controlled - x_l)
    ahead = np.angle(v_r * np.exp(-1j * angle))
    frequency = 1 + ahead / p["t_f"] / (2 * np.pi * p["f_n"])
    slow = band(u.f_ref - frequency, p["fdbd1"], p["fdbd2"])
    droop = p["d_up"] * slow if slow > 0 else p["d_dn"] * slow
    error_p = clip(u.p_plant + droop - p_m, p["fe_min"], p["fe_max"])
    order = clip(p["k_pg"] * error_p + x_p, p["p_min"], p["p_max"])
    with_power = p["f_flag"]
    rates = (
        (y - y_m) / p["t_fltr"],
        0.0 if abs(v_r) < p["v_frz"] else p["k_i"] * error,
        (controlled - x_l) / p["t_fv"],
        (u.p_e - p_m) / p["t_p"],
        p["k_ig"] * error_p,
        (order - p_l) / p["t_g"],
        ahead / p["t_f"],
    )
    limits = {1: (p["q_min"], p["q_max"]), 4: (p["p_min"], p["p_max"])}
    return rates, limits, (q_ext, p_l if with_power else u.p_plant)


PLANT = PARAMETERS[REPCA1] | {
    **{"t_f": 0.04, "k_p": 1.5, "k_i": 12.0, "e_max": 0.1, "e_min": -0.12, "q_max": 0.4, "q_min": -0.3},
    **{"k_pg": 0.5, "k_ig": 4.0, "fe_max": 0.3, "fe_min": -0.2, "p_max": 0.8, "p_min": 0.2, "d_dn": 30.0},
    **{"d_up": 20.0, "fdbd1": -0.001, "fdbd2": 0.0015},
}


@pytest.mark.parametrize(
    "change", [{}, {"vc_flag": 0.0}, {"ref_flag": 0.0}, {"f_flag": 0.0, "t_ft": 0.0}], ids=str
)
def test_plant_control(change):
    """Both sides of every limit, the frequency beyond both ends of its dead band, the voltage below v_frz."""
    p = PLANT | change
    inputs = {"v_re": step(0.8), "v_im": step(0.6), "f_ref": step(1.0, (3.4013, 1.003))}
    turned = step(0.1, (0.3013, 0.4), (1.4017, -0.3), (2.5013, 0.2))
    size = step(1.0, (0.2017, 0.93), (0.8013, 0.6), (1.0017, 1.08), (2.0013, 1.0))
    times = sorted({*turned.jumps, *size.jumps})
    for name, part in (("v_re_r", np.cos), ("v_im_r", np.sin)):
        inputs[name] = step(part(0.1), *((t, size(t) * part(turned(t))) for t in times))
    inputs |= {
        "p_e": step(0.5, (0.6013, 0.3), (2.2017, 0.9)),
        "q_e": step(0.1, (0.4017, 0.2), (1.7013, -0.1)),
    }
    guess = guess_of(REPCA1, p, Terminal(0.8 + 0.6j, 0j, {"p_e": 0.5, "q_e": 0.1}))
    current = np.conj((0.5 + 0.1j) / (0.8 + 0.6j))
    compensated = abs(np.exp(0.1j) - (p["r_c"] + 1j * p["x_c"]) * current)
    held = compensated if p["vc_flag"] else 1.0 + p["k_c"] * 0.1
    y = held if p["ref_flag"] else 0.1
    guess |= {"y_m": y, "ref": y, "x_theta": 0.1 if p["f_flag"] else 0.0}
    inputs["ref"] = step(y, (2.8013, y + 0.3), (3.1017, y - 0.3))
    inputs["p_plant"] = step(0.5, (3.6017, 0.7))
    found = run_alone(REPCA1, p, guess, inputs)
    expected = respond(plant, p, (y, 0.1, 0.1, 0.5, 0.5, 0.5, 0.1), inputs)
    for own, other in zip((found.q_ext, found.p_ref), expected.T, strict=True):
        assert np.abs(own - other).max() < TOLERANCE
    assert found.x_q.max() == pytest.approx(p["q_max"], abs=1e-12)
    assert found.x_q.min() == pytest.approx(p["q_min"], abs=1e-12)
