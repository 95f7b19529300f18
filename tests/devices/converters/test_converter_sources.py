"""REGCB1, REECD1 and REGFMA1 alone, and what REECA1 holds after a dip, against diagrams solved with scipy."""

import numpy as np
import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import REECA1, REECD1, REGCB1, REGFMA1
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import clip, step
from tests.devices.library import PARAMETERS
from tests.devices.renewables.test_renewables import CONTROL, TABLES, band, electrical
from tests.internals import Terminal

SOURCE = PARAMETERS[REGCB1] | {"t_g": 0.02, "i_max": 1.0, "rrpwr": 2.0, "t_e": 0.01}


def regcb1(p, u, x):
    x_p, i_q, v_m, e_d, e_q = x
    phasor = u.v_re + 1j * u.v_im
    v = abs(phasor)
    asked = u.ip_cmd * v_m if p["rate_flag"] else u.ip_cmd
    i_p = x_p / v_m if p["rate_flag"] else x_p
    rate_p = (asked - x_p) / p["t_g"]
    rate_p = min(rate_p, p["rrpwr"]) if x_p >= 0 else max(rate_p, -p["rrpwr"])
    rate_q = (u.iq_cmd - i_q) / p["t_g"]
    rate_q = min(rate_q, p["iqrmax"]) if p["q_0"] > 0 else max(rate_q, p["iqrmin"])
    most = p["i_max"]
    if p["pq_flag"]:
        active = clip(i_p, -most, most)
        room = np.sqrt(most**2 - active**2)
        reactive = clip(i_q, -room, room)
    else:
        reactive = clip(i_q, -most, most)
        room = np.sqrt(most**2 - reactive**2)
        active = clip(i_p, -room, room)
    z = p["r_e"] + 1j * p["x_e"]
    aim = v + z * (active - 1j * reactive)
    i = ((e_d + 1j * e_q) * phasor / v - phasor) / z
    power = phasor * np.conj(i)
    i *= p["s_n"] / p["s_base"]
    rates = (
        rate_p,
        rate_q,
        (v - v_m) / p["t_fltr"],
        (aim.real - e_d) / p["t_e"],
        (aim.imag - e_q) / p["t_e"],
    )
    return rates, {}, (power.real, power.imag, i.real, i.imag)


@pytest.mark.parametrize("change", [{}, {"rate_flag": 1.0, "q_0": -0.1}, {"pq_flag": 1.0}], ids=str)
def test_regcb1(change):
    """The current limit from both sides, both rates, a dip and a swell."""
    p = SOURCE | change
    size = step(1.0, (0.5013, 0.6), (0.9017, 1.15), (1.4013, 1.0))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "ip_cmd": step(0.8, (0.3013, 0.1), (1.7017, 1.2), (3.0013, -0.9)),
        "iq_cmd": step(0.2, (0.7013, 0.95), (1.9017, -0.7), (2.4013, -1.4), (3.4017, 0.3)),
    }
    terminal = Terminal(0.6 + 0.8j, (0.8 - 0.2j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(REGCB1, p, terminal)
    found = run_alone(REGCB1, p, guess, inputs)
    aim = 1.0 + (p["r_e"] + 1j * p["x_e"]) * (0.8 - 0.2j)
    expected = respond(regcb1, p, (0.8, 0.2, 1.0, aim.real, aim.imag), inputs)
    for own, other in zip((found.p_e, found.q_e, found.i_re, found.i_im), expected.T, strict=True):
        assert np.abs(own - other).max() < 5 * TOLERANCE


FORMING = PARAMETERS[REGFMA1] | {"e_max": 1.15, "e_min": 0.6, "i_max": 1.3, "p_max": 0.7, "q_max": 0.4}


def regfma1(p, u, x):
    theta, p_m, q_m, v_m, x_v, p_h, p_l, q_h, q_l = x
    v = u.v_re + 1j * u.v_im

    def control(error, state, side, name):
        """A PI control whose output is limited at 0 and whose integral follows it there."""
        output = side(p[f"k_p{name}max"] * error + state, 0.0)
        return output, (output - state) * p[f"k_i{name}max"] / p[f"k_p{name}max"]

    a, rate_a = control(p["p_max"] - p_m, p_h, min, "p")
    b, rate_b = control(p["p_min"] - p_m, p_l, max, "p")
    c, rate_c = control(p["q_max"] - q_m, q_h, min, "q")
    d, rate_d = control(p["q_min"] - q_m, q_l, max, "q")
    slip = p["m_p"] * (u.p_ref - p_m) + a + b
    asked = u.v_ref - p["m_q"] * q_m if p["qv_flag"] else p["v_0"] + p["m_q"] * (u.q_ext - q_m)
    order = asked + c + d
    e = p["k_pv"] * (order - v_m) + x_v if p["v_flag"] else order
    e = clip(e, p["e_min"], p["e_max"])
    i = (e * np.exp(1j * theta) - v) / (p["r_e"] + 1j * p["x_e"])
    if p["i_max"] and abs(i) > p["i_max"]:
        i *= p["i_max"] / abs(i)
    power = v * np.conj(i)
    rates = (
        2 * np.pi * p["f_n"] * slip,
        (power.real - p_m) / p["t_pf"],
        (power.imag - q_m) / p["t_qf"],
        (abs(v) - v_m) / p["t_vf"] if p["v_flag"] else 0.0,
        p["k_iv"] * (order - v_m) if p["v_flag"] else 0.0,
        *(rate_a, rate_b, rate_c, rate_d),
    )
    i *= p["s_n"] / p["s_base"]
    return rates, {4: (p["e_min"], p["e_max"])} if p["v_flag"] else {}, (i.real, i.imag)


@pytest.mark.parametrize("change", [{}, {"qv_flag": 1.0}, {"v_flag": 0.0}, {"i_max": 0.0}], ids=str)
def test_regfma1(change):
    """Both limits of both powers, of the voltage and of the current."""
    p = FORMING | {"v_0": 1.0} | change
    size = step(
        1.0, (0.3013, 0.93), (0.9017, 1.06), (1.5013, 0.4), (1.6017, 1.0), (2.5013, 1.12), (3.0017, 1.0)
    )
    turned = step(np.angle(0.6 + 0.8j), (2.0013, 1.05), (2.2017, 0.8), (3.3013, 0.9))
    times = sorted({*size.jumps, *turned.jumps})
    inputs = {
        "v_re": step(0.6, *((t, size(t) * np.cos(turned(t))) for t in times)),
        "v_im": step(0.8, *((t, size(t) * np.sin(turned(t))) for t in times)),
    }
    terminal = Terminal(0.6 + 0.8j, (0.5 - 0.1j) * (0.6 + 0.8j) * 0.64, {})
    guess = guess_of(REGFMA1, p, terminal)
    inputs["p_ref"] = step(0.5, (0.6013, 0.9), (1.2017, 0.02))
    name = "v_ref" if p["qv_flag"] else "q_ext"
    held = float(guess[name])
    inputs[name] = step(held, (3.6013, held + 0.05))
    component = Device("d", REGFMA1, p, {"i_re": "x.i_re", "i_im": "x.i_im"}).component
    found = run_alone(component, p, {k: v for k, v in guess.items() if k not in ("v_ref", "q_ext")}, inputs)
    source = (0.6 + 0.8j) * (1 + (p["r_e"] + 1j * p["x_e"]) * (0.5 - 0.1j))
    e, regulating = abs(source), p["v_flag"]
    start = (np.angle(source), 0.5, 0.1, regulating * 1.0, regulating * e, 0.0, 0.0, 0.0, 0.0)
    expected = respond(regfma1, p, start, inputs)
    for own, other in zip((found.i_re, found.i_im), expected.T, strict=True):
        assert np.abs(own - other).max() < 20 * TOLERANCE


DIP, SWELL = (0.8017, 1.1013), (1.9017, 2.1013)


def held_after(*times, before=0.0):
    """A signal that is 1 in the spans."""
    return step(before, *((t, float(k % 2 == 0)) for k, t in enumerate(times)))


def with_holds(diagram, p):
    """The diagram with the holds; what is held is what the diagram gave last within the dip."""
    last = {}

    def held(p, u, x):
        rates, limits, outputs = diagram(p, u, x, last)
        return rates, limits, outputs

    return held


def reeca1_held(p, u, x, last):
    """REECA1 with its holds, on the diagram without them."""
    free = dict(p)
    v = np.hypot(u.v_re, u.v_im)
    dip = not p["v_dip"] <= v <= p["v_up"]
    if u.injecting and not dip:
        if p["t_hld"] > 0:
            free |= {"added": p["iq_frz"]}
        else:
            outside = band(p["v_0"] - x[0], p["dbd1"], p["dbd2"])
            free |= {"added": float(clip(p["k_qv"] * outside, p["iql1"], p["iqh1"]))}
    if u.limiting and not dip:
        free |= {"held_p": last["ip_max"]}
    result = electrical(free, u, x)
    if dip:
        last["ip_max"] = electrical.ip_max
    return result


@pytest.mark.parametrize("t_hld", [0.31, -0.31])
@pytest.mark.parametrize("change", [{"q_flag": 1.0, "v_flag": 1.0}, {"q_flag": 0.0, "p_flag": 1.0}], ids=str)
def test_reeca1_holds_after_a_dip(change, t_hld):
    p = CONTROL | TABLES | change | {"t_hld": t_hld, "iq_frz": 0.12, "t_hld2": 0.43}
    size = step(1.0, (0.5013, 0.86), (DIP[0], 0.4), (DIP[1], 0.93), (SWELL[0], 1.3), (SWELL[1], 1.04))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "p_ref": step(0.6, (0.1017, 0.85), (2.6017, 0.7)),
        "p_e": step(0.6),
        "q_e": step(0.15),
        "omega_g": step(1.0, (1.2013, 1.05), (2.9017, 0.9)),
    }
    signals = {"ip_cmd": 0.6, "iq_cmd": 0.15, "p_e": 0.6, "q_e": 0.15}
    guess = guess_of(REECA1, p, Terminal(0.6 + 0.8j, 0j, signals))
    inputs["q_ext"] = step(float(guess["q_ext"]))
    found = run_alone(REECA1, p, guess, inputs)
    looping, regulating = p["q_flag"], p["q_flag"] * p["v_flag"]
    start = (1.0, 0.6, regulating * 1.0, looping * 0.15, float(guess["i_qv"]), 0.6)
    spans = {
        "injecting": held_after(DIP[1], DIP[1] + 0.31, SWELL[1], SWELL[1] + 0.31),
        "limiting": held_after(DIP[1], DIP[1] + 0.43, SWELL[1], SWELL[1] + 0.43),
    }
    expected = respond(with_holds(reeca1_held, p), p, start, inputs | spans)
    for own, other in zip((found.ip_cmd, found.iq_cmd), expected.T, strict=True):
        assert np.abs(own - other).max() < 2 * TOLERANCE


ORDERS = {
    **{f"{w}{a}{k}": 0.0 for w in "vi" for a in "qp" for k in range(1, 11)},
    **{"vq1": 0.3, "iq1": -0.2, "vq2": 0.5, "iq2": 0.5, "vq3": 0.9, "iq3": 0.8, "vq4": 1.2, "iq4": 0.6},
    **{"vp1": 0.1, "ip1": 0.2, "vp2": 0.6, "ip2": 0.7, "vp3": 1.0, "ip3": 1.1},
}
SECOND = PARAMETERS[REECD1] | CONTROL | ORDERS
SECOND |= {"t_hld": 0.31, "t_hld2": 0.0, "iq_frz": 0.12, "k_e": 0.3, "r_c": 0.03, "x_c": 0.08, "v_ref1": 0.0}
SECOND |= {"v_blkl": 0.3, "v_blkh": 1.27, "t_blk": 0.05, "p_min": -0.3, "v_ref0": 0.0, "p_flag": 0.0}
SECOND = {k: v for k, v in SECOND.items() if k != "v_0"} | {"v_0": 1.0}


def reecd1(p, u, x, last):
    v_m, p_m, x_q, x_v, i_qv, p_ord, v_c = x
    phasor = u.v_re + 1j * u.v_im
    v = abs(phasor)
    dip = not p["v_dip"] <= v <= p["v_up"]
    asked = clip(u.q_ext * (p_m if p["pf_flag"] else 1.0), p["q_min"], p["q_max"])
    i = np.conj((u.p_e + 1j * u.q_e) / phasor)
    compensated = abs(phasor - (p["r_c"] + 1j * p["x_c"]) * i) if p["vcmp_flag"] else v + p["k_c"] * u.q_e
    error_q = asked - u.q_e
    order = p["k_qp"] * error_q + x_q if p["v_flag"] else asked + p["v_ref1"]
    error_v = clip(order, p["v_min"], p["v_max"]) - v_c
    injected = clip(p["k_qv"] * band(p["v_0"] - v_m, p["dbd1"], p["dbd2"]), p["iql1"], p["iqh1"])
    most = p["i_max"]
    most_q = min(most, polygon(v_m, *((p[f"vq{k}"], p[f"iq{k}"]) for k in (1, 2, 3, 4))))
    most_p = min(most, polygon(v_m, *((p[f"vp{k}"], p[f"ip{k}"]) for k in (1, 2, 3))))
    if u.blocked:
        most_q = most_p = 0.0

    def reactive(limit):
        looped = clip(p["k_vp"] * error_v + x_v, -abs(limit), limit)
        total = (looped if p["q_flag"] else i_qv) + injected
        if u.holding and not dip:
            total = last["iq_cmd"] if p["t_hld"] > 0 else p["iq_frz"]
        return clip(total, -abs(limit), limit)

    current = p_ord / max(v_m, 0.01)
    if p["pq_flag"]:
        ip_cmd = clip(current, -p["k_e"] * most_p, most_p)
        most_q = min(most_q, np.sqrt(max(most**2 - ip_cmd**2, 0.0)))
        iq_cmd = reactive(most_q)
    else:
        iq_cmd = reactive(most_q)
        limit = min(most_p, np.sqrt(max(most**2 - iq_cmd**2, 0.0)))
        ip_cmd = clip(current, -p["k_e"] * limit, limit)
    if dip:
        last["iq_cmd"] = iq_cmd
    ramp = clip((u.p_ref - p_ord) / p["t_pord"], p["dp_min"], p["dp_max"])
    resting = (p["k_qi"] * error_q, p["k_vi"] * error_v, (asked / max(v_m, 0.01) - i_qv) / p["t_iq"], ramp)
    rates = (
        *((v - v_m) / p["t_rv"], (u.p_e - p_m) / p["t_p"]),
        *((0.0,) * 4 if dip else resting),
        (compensated - v_c) / p["t_r1"],
    )
    limits = {2: (p["v_min"], p["v_max"]), 3: (-abs(most_q), most_q), 5: (p["p_min"], p["p_max"])}
    return rates, limits, (ip_cmd, iq_cmd)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"vcmp_flag": 0.0, "v_flag": 0.0, "t_hld": -0.31, "q_max": 1.15, "q_min": 0.9},
        {"q_flag": 0.0, "t_hld": 0.0},
        {"pq_flag": 1.0, "t_hld": 0.0},
    ],
    ids=str,
)
def test_reecd1(change):
    p = SECOND | change
    # Beyond the blocking voltage for a while: the filter reaches 1.27 on its way to 1.4.
    size = step(1.0, (0.5013, 0.86), (DIP[0], 0.6), (DIP[1], 0.93), (SWELL[0], 1.4), (SWELL[1], 1.04))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "p_ref": step(0.6, (0.1017, 1.2), (1.3013, -0.9), (2.6017, 0.7)),
        "p_e": step(0.6, (0.3017, 0.8), (1.4013, 0.5)),
        "q_e": step(0.15, (0.2017, 0.3), (2.3013, 0.1)),
    }
    signals = {"ip_cmd": 0.6, "iq_cmd": 0.15, "p_e": 0.6, "q_e": 0.15}
    guess = guess_of(REECD1, p, Terminal(0.6 + 0.8j, 0j, signals))
    asked = float(guess["q_ext"])
    inputs["q_ext"] = step(asked, (0.4013, asked + 0.2), (1.5017, asked - 0.4), (2.8013, asked))
    found = run_alone(REECD1, p, guess, inputs)
    looping, regulating = p["q_flag"], p["q_flag"] * p["v_flag"]
    v_c = float(guess["v_c"])
    start = (1.0, 0.6, regulating * v_c, looping * 0.15, float(guess["i_qv"]), 0.6, v_c)
    # v_m = 1.4 - 0.46 exp(-t/t_rv) after the swell, 1.04 + 0.36 exp(-t/t_rv) after its end.
    last = 0.93 + (0.6 - 0.93) * np.exp(-(SWELL[0] - DIP[1]) / p["t_rv"])
    on = SWELL[0] - p["t_rv"] * np.log((1.4 - p["v_blkh"]) / (1.4 - last))
    off = SWELL[1] - p["t_rv"] * np.log((p["v_blkh"] - 1.04) / (1.4 - 1.04)) + p["t_blk"]
    hold = abs(p["t_hld"])
    spans = {
        "blocked": held_after(on, off),
        "holding": held_after(DIP[1], DIP[1] + hold, SWELL[1], SWELL[1] + hold) if hold else step(0.0),
    }
    expected = respond(with_holds(reecd1, p), p, start, inputs | spans)
    for own, other in zip((found.ip_cmd, found.iq_cmd), expected.T, strict=True):
        assert np.abs(own - other).max() < 4 * TOLERANCE


@pytest.mark.parametrize(
    ("component", "change", "message"),
    [
        (REGCB1, {"iqrmin": 1.0}, "iqrmin = 1: must be < 0"),
        (REGCB1, {"x_e": 0.0}, r"x_e = 0\.0: must be > 0"),
        (REGFMA1, {"k_ppmax": 0.0}, "k_ppmax = 0: must be > 0 where k_ipmax is"),
        (REGFMA1, {"k_iv": 0.0}, "k_iv = 0: must be > 0 where v_flag is 1"),
        (REGFMA1, {"m_q": 0.0}, "m_q = 0: must be > 0 where qv_flag is 0"),
        (REGFMA1, {"e_min": 1.3}, r"e_min = 1\.3: must be below e_max"),
        (REECD1, {"vp3": -0.9}, r"vp3 = -0\.9: must be above vp2"),
        (REECD1, {"k_e": 1.5}, r"k_e = 1\.5: must be between 0 and 1"),
    ],
)
def test_what_cannot_be_is_refused(component, change, message):
    wires = {port: f"x.{port}" for port in component.outputs}
    with pytest.raises(InputError, match=message):
        Device("d", component, PARAMETERS[component] | change, wires)
