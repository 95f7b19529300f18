"""The first generic models of wind turbines, WT4 and WT3: their diagrams, records, and plants at rest."""

import numpy as np
import pytest

from tests.components import WT3E1, WT3G1, WT3G2, WT3P1, WT3T1, WT4E1, WT4G1
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import TIMES, clip, step
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

BASE = {"s_n": 64.0, "s_base": 100.0}
FULL = {
    **BASE,
    **{"t_iq": 0.03, "t_g": 0.02, "zerox": 0.4, "brkpt": 0.9, "lvpl1": 0.8, "v_olim": 1.05, "k_hv": 0.7},
    **{"rrpwr": 2.0, "t_fltr": 0.05, "q_0": 0.1},
}
VAR = {
    **{"t_fv": 0.15, "k_pv": 3.0, "k_iv": 5.0, "q_max": 0.48, "q_min": -0.4, "t_rv": 0.05, "k_qi": 1.5},
    **{"v_min": 0.9, "v_max": 1.1, "t_v": 0.05, "t_p": 0.06},
}
FULL_CONTROL = {
    **VAR,
    **{"pf_flag": 0.0, "var_flag": 1.0, "pq_flag": 0.0, "k_pp": 0.3, "k_ip": 2.0, "k_f": 0.05, "t_f": 0.3},
    **{"i_p_max": 1.05, "dp_max": 0.2, "dp_min": -0.15, "t_power": 0.05, "k_vi": 20.0, "i_td": 1.1},
    **{"ip_hl": 1.0, "iq_hl": 0.6},
}
FED = {
    **BASE,
    **{"f_n": 60.0, "turbines": 30.0, "x_eq": 0.8, "k_pll": 30.0, "k_ipll": 2.0, "p_llmax": 0.02},
    **{"p_rated": 1.5},
}
FED_LOW = {
    **BASE,
    **{"f_n": 60.0, "turbines": 30.0, "x_e": 0.8, "k_pll": 30.0, "k_ipll": 2.0, "p_llmax": 0.02},
    **{"p_rated": 1.5, "t_eq": 0.03, "t_g": 0.02, "zerox": 0.4, "brkpt": 0.9, "lvpl1": 0.8, "v_olim": 1.05},
    **{"k_hv": 0.7, "rrpwr": 2.0, "t_fltr": 0.05},
}
FED_CONTROL = {
    **VAR,
    **{"s_n": 64.0, "turbines": 30.0, "p_rated": 1.5, "on_line": 0.9, "var_flag": 1.0, "vlt_flag": 1.0},
    **{"x_c": 0.05, "t_fp": 0.05, "k_pp": 3.0, "k_ip": 0.9, "p_max": 1.0, "p_min": 0.1, "i_p_max": 1.05},
    **{"rp_max": 0.45, "rp_min": -0.4, "t_power": 0.5, "k_qv": 20.0, "xiq_min": -0.3, "xiq_max": 0.25},
    **{"w_pmin": 0.69, "w_p20": 0.78, "w_p40": 0.98, "w_p60": 1.12, "p_full": 0.74, "w_p100": 1.2},
}
TURBINE = {
    **{"masses": 2.0, "h": 5.0, "damp": 0.8, "ht_frac": 0.85, "freq_1": 1.8, "d_shaft": 1.5, "v_w": 1.25},
    **{"k_a": 0.007, "theta_2": 21.98},
}
PITCH = {
    **{
        "t_p": 0.3,
        "k_pp": 150.0,
        "k_ip": 25.0,
        "k_pc": 3.0,
        "k_ic": 30.0,
        "theta_min": -1.0,
        "theta_max": 27.0,
    },
    **{"rate_max": 10.0, "p_set": 1.0},
}
PARAMETERS = {
    WT4G1: FULL
    | {"v_olim": 0.9, "i_olim": -0.6, "rrpwr": 3.0, "t_g": 0.3, "t_iq": 0.3, "iqrmax": 5.0, "iqrmin": -4.0},
    WT4E1: FULL_CONTROL | {"v_min": -0.7, "v_max": 0.6},
    WT3G1: FED | {"k_pll": 3.0},
    WT3G2: FED_LOW | {"k_pll": 3.0, "v_olim": 0.9, "rrpwr": 3.0, "t_g": 0.3},
    WT3E1: FED_CONTROL | {"rp_max": 8.0, "rp_min": -8.0, "p_min": 0.1},
    WT3T1: TURBINE,
    WT3P1: PITCH | {"k_pp": 1.5, "theta_max": 1.2, "rate_max": 0.7, "p_set": 0.3},
}
ZERO = {
    WT4G1: ("t_fltr",),
    WT3G2: ("t_fltr", "t_eq"),
    WT4E1: ("t_fv", "t_rv", "t_v", "t_p", "t_power", "k_f", "t_f", "k_ip", "k_iv"),
    WT3E1: ("t_fv", "t_rv", "t_v", "t_p", "t_power"),
}
VARIANTS = {
    WT4G1: ({"t_g": 0.0, "t_iq": 0.0, "rrpwr": 99.0, "iqrmax": 99.0, "iqrmin": -99.0}, {"q_0": -0.1}),
    WT4E1: ({"pq_flag": 1.0}, {"var_flag": 0.0}, {"var_flag": 0.0, "pf_flag": 1.0}, {"k_qi": 0.0}),
    WT3E1: (
        *({"vlt_flag": 2.0}, {"vlt_flag": 0.0, "p_rated": 0.0}, {"var_flag": 0.0}, {"var_flag": -1.0}),
        *({"k_qi": 0.0}, {"k_qi": 0.0, "vlt_flag": 0.0, "var_flag": 0.0}),
    ),
    WT3P1: ({"k_ic": 0.0},),
    WT3G1: ({"k_pll": 0.0},),
    WT3G2: ({"k_pll": 0.0}, {"t_g": 0.0, "rrpwr": 99.0}),
    WT3T1: ({"masses": 1.0, "v_w": 0.8},),
}


def wt4g1(p, u, x):
    i_p, i_q, v_lv = x
    phasor = u.v_re + 1j * u.v_im
    v = abs(phasor)
    rate = (u.ip_cmd - i_p) / p["t_g"]
    rate = min(rate, p["rrpwr"]) if i_p >= 0 else max(rate, -p["rrpwr"])
    ceiling = polygon(v_lv, (p["zerox"], 0.0), (p["brkpt"], p["lvpl1"]))
    active = i_p * polygon(v, (0.4, 0.0), (0.8, 1.0))
    reactive = i_q - max(p["k_hv"] * (v - p["v_olim"]), 0.0)
    i = (active - 1j * reactive) * phasor / v * p["s_n"] / p["s_base"]
    rates = (rate, (u.iq_cmd - i_q) / p["t_iq"], (v - v_lv) / p["t_fltr"])
    return rates, {0: (-np.inf, ceiling)}, (v * active, v * reactive, i.real, i.imag)


def test_wt4g1_is_its_block_diagram():
    """A dip below 0.8 pu, a swell beyond v_olim, commands that rise and fall."""
    size = step(1.0, (0.5013, 0.65), (0.9017, 1.15), (1.4013, 1.0))
    inputs = {
        "v_re": step(0.6, *((t, 0.6 * size(t)) for t in size.jumps)),
        "v_im": step(0.8, *((t, 0.8 * size(t)) for t in size.jumps)),
        "ip_cmd": step(0.6, (0.3013, 0.1), (1.7017, 0.75), (3.0013, -0.5)),
        "iq_cmd": step(0.2, (0.7013, 0.5), (2.4013, -0.4)),
    }
    guess = guess_of(
        WT4G1,
        FULL | {"lvpnt0": 0.4, "lvpnt1": 0.8, "lvplsw": 1.0},
        Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {}),
    )
    found = run_alone(WT4G1, FULL, guess, inputs)
    expected = respond(wt4g1, FULL, (0.6, 0.2, 1.0), inputs)
    for own, other in zip((found.p_e, found.q_e, found.i_re, found.i_im), expected.T, strict=True):
        assert np.abs(own - other).max() < 5 * TOLERANCE


def orders(p, u, x, power, held, part=1.0):
    """The voltage control and the reactive power's: rates, q_cmd's control, limits."""
    v_m, x_v, x_i, q_v, _p_f, _x_q = x
    error = (u.v_ref - v_m) / part
    command = clip(q_v, p["q_min"], p["q_max"])
    return (
        (held - v_m) / p["t_rv"],
        (p["k_pv"] * error - x_v) / p["t_v"],
        p["k_iv"] * error,
        (clip(x_i + x_v, p["q_min"], p["q_max"]) - q_v) / p["t_fv"],
        (power[0] - x[4]) / p["t_p"],
        p["k_qi"] * (command - power[1]),
    )


LIMITS = {2: ("q_min", "q_max"), 5: ("v_min", "v_max")}


def wt4e1(p, u, x):
    x_iq, p_m, x_p, x_f = x[6:]
    v = np.hypot(u.v_re, u.v_im)
    # dp acts on itself through its rate feedback: solved for, then limited.
    feedback = p["k_f"] / p["t_f"]
    free = (p["k_pp"] * (p_m - u.p_ref + feedback * x_f) + x_p) / (1 + p["k_pp"] * feedback)
    dp = clip(free, p["dp_min"], p["dp_max"])
    by_voltage = (p["q_max"] - 1.6) * (v - 1) + p["q_max"]
    asked = (u.p_ref - dp) / v
    if p["pq_flag"]:
        i_p = min(asked, p["i_td"], p["ip_hl"], p["i_p_max"])
        most = min(np.sqrt(p["i_td"] ** 2 - i_p**2), p["iq_hl"], by_voltage)
    else:
        most = min(p["i_td"], p["iq_hl"], by_voltage)
        i_q = clip(x_iq, -most, most)
        i_p = min(asked, np.sqrt(p["i_td"] ** 2 - i_q**2), p["ip_hl"], p["i_p_max"])
    i_q = clip(x_iq, -most, most)
    rates = (
        *orders(p, u, x[:6], (u.p_e, u.q_e), np.hypot(u.v_re_r, u.v_im_r)),
        p["k_vi"] * (x[5] - v),
        (u.p_e - p_m) / p["t_power"],
        p["k_ip"] * (p_m - u.p_ref - feedback * (dp - x_f)),
        (dp - x_f) / p["t_f"],
    )
    limits = {k: tuple(p[name] for name in names) for k, names in LIMITS.items()}
    limits |= {6: (-most, most), 8: (p["dp_min"], p["dp_max"])}
    return rates, limits, (x[2], x[3], x[5], x_iq, x_p, i_p, i_q)


@pytest.mark.parametrize("pq_flag", [0.0, 1.0])
def test_wt4e1_is_its_block_diagram(pq_flag):
    """The voltage falls and rises, the power is above and below what is asked for: all limits are met."""
    p = FULL_CONTROL | {"pq_flag": pq_flag}
    size = step(1.0, (0.2013, 0.9), (1.4017, 1.06), (2.6013, 1.0))
    inputs = {
        **{"v_re": size, "v_im": step(0.0), "v_re_r": size, "v_im_r": step(0.0), "v_ref": step(1.0)},
        "p_e": step(0.7, (0.6017, 0.95), (2.0013, 0.5)),
        "q_e": step(0.1, (1.0013, 0.3), (3.0017, -0.2)),
        "p_ref": step(0.7, (2.2017, 1.2)),
    }
    rest = (1.0, 0.0, 0.1, 0.1, 0.7, 1.0, 0.1, 0.7, 0.0, 0.0)
    guess = dict(zip(WT4E1.states, rest, strict=True))
    guess |= {"ip_cmd": 0.7, "iq_cmd": 0.1, "ip_max": 1.0, "iq_max": 0.48, "iq_min": -0.48, "dp": 0.0}
    found = run_alone(WT4E1, p, guess, inputs)
    expected = respond(wt4e1, p, rest, inputs).T
    ours = (found.x_i, found.q_v, found.x_q, found.x_iq, found.x_p, found.ip_cmd, found.iq_cmd)
    for own, other in zip(ours, expected, strict=True):
        assert np.abs(own - other).max() < 10 * TOLERANCE
    assert (found.dp.min(), found.dp.max()) == pytest.approx((-0.15, 0.2), abs=1e-6)
    assert found.x_iq.max() == pytest.approx((0.48 - 1.6) * -0.1 + 0.48, abs=1e-6)


def wt3g1(p, u, x):
    i_p, e_q, x_pll, theta = x
    phasor = u.v_re + 1j * u.v_im
    nominal = 2 * np.pi * p["f_n"]
    slip = p["k_pll"] * (phasor * np.exp(-1j * theta)).imag / nominal
    i = (i_p - 1j * e_q / p["x_eq"]) * np.exp(1j * theta) - phasor / (1j * p["x_eq"])
    power = phasor * np.conj(i)
    i *= p["s_n"] / p["s_base"]
    rates = (
        (u.ip_cmd - i_p) / 0.02,
        (u.eq_cmd - e_q) / 0.02,
        p["k_ipll"] * slip,
        nominal * clip(slip + x_pll, -p["p_llmax"], p["p_llmax"]),
    )
    return rates, {2: (-p["p_llmax"], p["p_llmax"])}, (power.real, power.imag, i.real, i.imag, theta)


def test_wt3g1_is_its_block_diagram():
    """The voltage jumps in size and in angle past the limits of the phase-locked loop."""
    phasor = step(0.6 + 0.8j, (0.5013, 0.7 + 0.4j), (1.4013, 0.3 + 0.9j), (2.4017, 0.6 + 0.8j))
    inputs = {
        "v_re": step(0.6, *((t, phasor(t).real) for t in phasor.jumps)),
        "v_im": step(0.8, *((t, phasor(t).imag) for t in phasor.jumps)),
        "ip_cmd": step(0.6, (0.3013, 0.1), (1.7017, 0.9)),
        "eq_cmd": step(1.16, (0.7013, 1.3), (3.0017, 0.8)),
    }
    guess = guess_of(WT3G1, FED, Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {}))
    found = run_alone(WT3G1, FED, guess, inputs)
    expected = respond(wt3g1, FED, (0.6, 1.16, 0.0, np.arctan2(0.8, 0.6)), inputs)
    ours = (found.p_e, found.q_e, found.i_re, found.i_im, found.theta_pll)
    for own, other in zip(ours, expected.T, strict=True):
        assert np.abs(own - other).max() < 5 * TOLERANCE


def wt3g2(p, u, x):
    i_p, e_q, v_lv, *loop = x
    phasor = u.v_re + 1j * u.v_im
    v, nominal = abs(phasor), 2 * np.pi * p["f_n"]
    x_pll, theta = loop or (0.0, np.angle(phasor))
    slip = p["k_pll"] * (phasor * np.exp(-1j * theta)).imag / nominal
    active = i_p * polygon(v, (0.4, 0.0), (0.8, 1.0))
    reactive = e_q / p["x_e"] - max(p["k_hv"] * (v - p["v_olim"]), 0.0)
    i = (active - 1j * reactive) * np.exp(1j * theta) - phasor / (1j * p["x_e"])
    power = phasor * np.conj(i)
    i *= p["s_n"] / p["s_base"]
    rate = (u.ip_cmd - i_p) / p["t_g"]
    rate = min(rate, p["rrpwr"]) if i_p >= 0 else max(rate, -p["rrpwr"])
    rates = (rate, (u.eq_cmd - e_q) / p["t_eq"], (v - v_lv) / p["t_fltr"])
    turning = p["k_ipll"] * slip, nominal * clip(slip + x_pll, -p["p_llmax"], p["p_llmax"])
    ceiling = polygon(v_lv, (p["zerox"], 0.0), (p["brkpt"], p["lvpl1"]))
    limits = {0: (-np.inf, ceiling)} | ({3: (-p["p_llmax"], p["p_llmax"])} if loop else {})
    return (*rates, *(turning if loop else ())), limits, (power.real, power.imag, i.real, i.imag, v_lv)


@pytest.mark.parametrize("k_pll", [30.0, 0.0])
def test_wt3g2_is_its_block_diagram(k_pll):
    """A dip below 0.8 pu and a swell beyond v_olim, in angle as well; with the loop and without one."""
    p = FED_LOW | {"k_pll": k_pll}
    phasor = step(0.6 + 0.8j, (0.5013, 0.5 + 0.4j), (0.9017, 0.8 + 0.85j), (1.4013, 0.6 + 0.8j))
    inputs = {
        "v_re": step(0.6, *((t, phasor(t).real) for t in phasor.jumps)),
        "v_im": step(0.8, *((t, phasor(t).imag) for t in phasor.jumps)),
        "ip_cmd": step(0.6, (0.3013, 0.1), (1.7017, 0.75), (3.0013, -0.5)),
        "eq_cmd": step(1.16, (0.7013, 1.3), (2.4013, 0.8)),
    }
    guess = guess_of(WT3G2, p, Terminal(0.6 + 0.8j, (0.6 - 0.2j) * (0.6 + 0.8j) * 0.64, {}))
    found = run_alone(WT3G2, p, guess, inputs)
    rest = (0.6, 1.16, 1.0, *((0.0, np.arctan2(0.8, 0.6)) if k_pll else ()))
    expected = respond(wt3g2, p, rest, inputs)
    ours = (found.p_e, found.q_e, found.i_re, found.i_im, found.v_lv)
    for own, other in zip(ours, expected.T, strict=True):
        assert np.abs(own - other).max() < 10 * TOLERANCE
    assert found.i_p.max() <= 0.8 + 1e-9


def wt3e1(p, u, x):
    x_e, omega_ref, x_t, p_ord = x[6:]
    base = p["on_line"] * p["turbines"] * p["p_rated"] / p["s_n"]
    v, power, reactive = np.hypot(u.v_re, u.v_im), u.p_e / base, u.q_e / base
    held = np.hypot(u.v_re_r, u.v_im_r) - p["x_c"] * np.hypot(power, reactive) / v
    points = zip((p["p_min"], 0.2, 0.4, 0.6, p["p_full"]), (0.69, 0.78, 0.98, 1.12, 1.2), strict=True)
    error = u.omega_g - omega_ref
    above = v if p["vlt_flag"] == 1 else 0.0
    low, high = above + p["xiq_min"], above + p["xiq_max"]
    rates = (
        *orders(p, u, x[:6], (power, reactive), held, p["on_line"]),
        p["k_qv"] * (x[5] - v),
        (polygon(power, *points) - omega_ref) / p["t_power"],
        p["k_ip"] * error,
        clip(((x_t + p["k_pp"] * error) * u.omega_g - p_ord) / p["t_fp"], p["rp_min"], p["rp_max"]),
    )
    limits = {k: tuple(p[name] for name in names) for k, names in LIMITS.items()}
    limits |= {6: (low, high), 9: (p["p_min"], p["p_max"])}
    i_p = base * min(p_ord / v, p["i_p_max"])
    return rates, limits, (x[2], x[3], x[5], omega_ref, x_t, p_ord, i_p, clip(x_e, low, high))


def test_wt3e1_is_its_block_diagram():
    """Speed and power rise and fall; rates, limits of the power and of the second loop are met."""
    p, base = FED_CONTROL, 0.9 * 30 * 1.5 / 64
    size = step(1.0, (0.2013, 0.9), (1.4017, 1.06), (2.6013, 1.0))
    held = 1.0 - 0.05 * np.hypot(0.5, 0.1)
    inputs = {
        **{"v_re": size, "v_im": step(0.0), "v_re_r": size, "v_im_r": step(0.0), "v_ref": step(held)},
        "p_e": step(0.5 * base, (0.6017, 0.9 * base), (2.0013, 0.15 * base)),
        "q_e": step(0.1 * base, (1.0013, 0.3 * base), (3.0017, -0.2 * base)),
        "omega_g": step(1.05, (0.8013, 1.2), (2.2017, 0.85)),
        "p_ref": step(0.0),
    }
    rest = (held, 0.0, 0.1, 0.1, 0.5, 1.0, 1.1, 1.05, 0.5 / 1.05, 0.5)
    guess = dict(zip(WT3E1.states, rest, strict=True))
    guess |= {"ip_cmd": 0.5 * base, "eq_cmd": 1.1, "e_low": 0.7, "e_high": 1.25}
    inputs.pop("p_ref")
    found = run_alone(WT3E1, p, guess, inputs)
    expected = respond(wt3e1, p, rest, inputs).T
    ours = (
        found.x_i,
        found.q_v,
        found.x_q,
        found.omega_ref,
        found.x_t,
        found.p_ord,
        found.ip_cmd,
        found.eq_cmd,
    )
    for own, other in zip(ours, expected, strict=True):
        assert np.abs(own - other).max() < 10 * TOLERANCE
    assert found.eq_cmd.max() == pytest.approx(1.06 + 0.25, abs=1e-3)
    assert np.diff(found.p_ord).max() == pytest.approx(0.45 * (TIMES[1] - TIMES[0]), rel=0.02)


def wt3p1(p, u, x):
    x_w, x_c, theta = x
    error, beyond = u.omega_g - u.omega_ref, u.p_ord - p["p_set"]
    total = clip(p["k_pp"] * error + x_w, p["theta_min"], p["theta_max"])
    total += clip(p["k_pc"] * beyond + x_c, 0.0, p["theta_max"])
    turning = clip((total - theta) / p["t_p"], -p["rate_max"], p["rate_max"])
    limits = {
        0: (p["theta_min"], p["theta_max"]),
        1: (0.0, p["theta_max"]),
        2: (p["theta_min"], p["theta_max"]),
    }
    return (p["k_ip"] * error, p["k_ic"] * beyond, turning), limits, x


def test_wt3p1_is_its_block_diagram():
    inputs = {
        "omega_g": step(1.2, (0.2013, 1.3), (1.6017, 1.15)),
        "omega_ref": step(1.2, (2.6013, 1.1)),
        "theta_0": step(0.0),
        "p_ord": step(1.0, (0.1013, 0.8), (1.0017, 1.15), (2.0013, 0.7)),
    }
    found = run_alone(WT3P1, PITCH, dict.fromkeys(("x_w", "x_c", "theta", "least"), 0.0), inputs)
    expected = respond(wt3p1, PITCH, (0.0, 0.0, 0.0), inputs).T
    for mine, theirs in zip((found.x_w, found.x_c, found.theta), expected, strict=True):
        assert np.abs(mine - theirs).max() < 2e-4 * 27
    assert found.x_c.max() > 4
    assert np.diff(found.theta).max() == pytest.approx(10.0 * (TIMES[1] - TIMES[0]), rel=0.02)


def wt3t1(p, u, x):
    omega_t, omega_g, twist = x
    h_t = p["h"] * p["ht_frac"]
    stiffness = 2 * (2 * np.pi * p["freq_1"]) ** 2 * h_t * (p["h"] - h_t) / p["h"]
    shaft = stiffness * twist + p["d_shaft"] * (omega_t - omega_g)
    mechanical = u.p_wind - p["k_a"] * u.theta * (u.theta - 21.98 / 0.75 * (1 - 1 / 1.25**2))
    generator = (shaft - u.p_e / omega_g - p["damp"] * (omega_g - 1)) / (2 * (p["h"] - h_t))
    rates = ((mechanical / omega_t - shaft) / (2 * h_t), generator, omega_t - omega_g)
    return rates, {}, (omega_t, omega_g, mechanical)


def test_wt3t1_is_its_block_diagram():
    speed, theta_0 = 1.2, 21.98 / 0.75 * (1 - 1 / 1.25**2)
    torque = 0.9 / speed + 0.8 * 0.2
    stiffness = 2 * (2 * np.pi * 1.8) ** 2 * 4.25 * 0.75 / 5.0
    inputs = {
        **{"theta": step(theta_0, (0.2013, 14.0)), "p_e": step(0.9, (1.0017, 0.4), (2.0013, 1.0))},
        "p_wind": step(torque * speed, (3.0013, 1.2)),
    }
    guess = {"omega_t": speed, "omega_g": speed, "twist": torque / stiffness}
    found = run_alone(WT3T1, TURBINE, guess | {"p_mech": torque * speed, "theta_0": theta_0}, inputs)
    expected = respond(wt3t1, TURBINE, (speed, speed, torque / stiffness), inputs).T
    for mine, theirs in zip((found.omega_t, found.omega_g, found.p_mech), expected, strict=True):
        assert np.abs(mine - theirs).max() < TOLERANCE


# Values of WT4 from OpenIPSL's verification script, of WT3 the defaults of OpenIPSL's models.
WT4 = (
    "1 'WT4G1' 1 0.02 0.02 0.4 0.9 1.11 1.2 2.0 2.0 0.02 /\n"
    "1 'WT4E1' 1 0 {pf} {var} 0 0.15 18.0 5.0 0.05 0.15 0.0 0.08 0.48 -0.47 1.1 0.1 0.5 -0.5 0.05 0.15"
    " 0.9 1.1 120 0.05 0.05 1.7 1.11 1.11 /\n"
)
WT3 = (
    "1 'WT3G1' 1 67 0.8 30 0 0.1 1.5 /\n"
    "1 'WT3E1' 1 0 {var} {vlt} 0 0 0 0.15 18 5 0 0.05 3 0.6 1.12 0.1 0.7 -0.436 1.1 0.05 0.45 -0.45 5"
    " 0.05 0.9 1.3 40 {eq} 0.05 0.05 1 0.69 0.78 0.98 1.12 0.74 1.2 /\n"
)
TURNING = (
    "1 'WT3T1' 1 1.25 4.95 {damp} 0.007 21.98 {frac} 1.8 1.5 /\n1 'WT3P1' 1 0.3 150 25 3 30 -4 27 10 1 /\n"
)
PLANTS = {
    **{f"WT4, PFAFLG {pf}, VARFLG {var}": WT4.format(pf=pf, var=var) for pf, var in ((0, 1), (0, 0), (1, 0))},
    **{
        f"WT3, VARFLG {var}, VLTFLG {vlt}": WT3.format(
            var=var, vlt=vlt, eq="-0.5 0.4" if vlt == 1 else "0.5 1.5"
        )
        for var, vlt in ((1, 1), (0, 2), (-1, 0))
    },
    "WT3 with a turbine": WT3.format(var=1, vlt=1, eq="-0.5 0.4") + TURNING.format(damp=0, frac=0.9),
    # The values of InterPSS' record; ZX of `raw_text` is 0.2 pu.
    "WT3G2": WT3.format(var=1, vlt=1, eq="-0.5 0.4").replace(
        "'WT3G1' 1 67 0.8 30 0 0.1 1.5", "'WT3G2' 1 50 .018 .023 20 .55 .12 2 .48 .88 1.15 1.18 2.1 4.7 .025"
    ),
    "WT3, KQI and KPLL 0": WT3.format(var=0, vlt=0, eq="0 0.4")
    .replace("0.8 30 0", "0.8 0 0")
    .replace("0.45 -0.45 5 0.05", "0.45 -0.45 5 0"),
    "WT3, one mass, damped": WT3.format(var=1, vlt=1, eq="-0.5 0.4") + TURNING.format(damp=0.5, frac=0),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_of_a_dyr_file_is_at_rest_and_comes_back(name, tmp_path):
    _, mine, theirs = there_and_back(tmp_path, f"{OTHERS}{PLANTS[name]}", near=1e-8)
    assert len(mine) >= 2
    assert mine == theirs


@pytest.mark.parametrize("vlt_flag", [0.0, 1.0, 2.0])
def test_a_reactive_control_without_its_gain_rests(vlt_flag):
    """k_qi = 0: x_q stays what it was, and the second loop, if there is one, holds it against the voltage.

    Without one eq_cmd is x_q; with it x_e' = k_qv (x_q - |v|) within its limits, by hand at a voltage of 0.98
    from 0.5013 s on: 20 (1.0 - 0.98) = 0.4 pu/s up to its upper limit.
    """
    p = FED_CONTROL | {"k_qi": 0.0, "vlt_flag": vlt_flag, "xiq_max": 0.4, "var_flag": 0.0}
    base = 0.9 * 30 * 1.5 / 64
    size = step(1.0, (0.5013, 0.98))
    inputs = {
        **{"v_re": size, "v_im": step(0.0), "v_re_r": size, "v_im_r": step(0.0)},
        **{"p_e": step(0.5 * base), "q_e": step(0.1 * base, (0.3, 0.3 * base)), "omega_g": step(1.05)},
        "x_q": step(1.0 if vlt_flag else 1.1, (2.5013, 1.05 if vlt_flag else 1.2)),
    }
    above = 1.0 if vlt_flag == 1 else 0.0
    guess = {"x_e": 1.1, "omega_ref": 1.05, "x_t": 0.5 / 1.05, "p_ord": 0.5, "ip_cmd": 0.5 * base}
    guess |= {"eq_cmd": 1.1, "e_low": above - 0.3, "e_high": above + 0.4}
    if vlt_flag == 2:
        p |= {"xiq_min": 0.7, "xiq_max": 1.4}
        guess |= {"e_low": 0.7, "e_high": 1.4}
    found = run_alone(WT3E1, p, guess, inputs)
    t = np.array(TIMES)
    if vlt_flag == 0:
        expected = np.where(t < 2.5013, 1.1, 1.2)
    else:
        ceiling = np.where(t < 0.5013, 1.0, 0.98) + 0.4 if vlt_flag == 1 else 1.4
        raw = 1.1 + 0.4 * np.clip(t - 0.5013, 0.0, None) + 20 * 0.05 * np.clip(t - 2.5013, 0.0, None)
        expected = np.minimum(raw, ceiling)
    assert np.abs(found.eq_cmd - expected).max() < 10 * TOLERANCE
