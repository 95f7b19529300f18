"""AC7C with AC7B, ST5B, IEEET3, OEX12T and the turbine TGOV3: their diagrams, and records of PSS/E."""

import numpy as np
import pytest

import psmr
from tests.components import AC7C, IEEET3, ST5B, TGOV3
from tests.devices.alone import TOLERANCE, respond, run_alone
from tests.devices.diagram import step
from tests.devices.exciters import test_static_exciters
from tests.devices.exciters.test_static_exciters import INPUTS
from tests.files.psse.traces import HERE

SATURATION = {"e_1": 0.8, "se_1": 0.1, "e_2": 1.2, "se_2": 0.4}
AC7 = {
    **{"t_r": 0.02, "k_pr": 4.0, "k_ir": 3.0, "k_dr": 0.2, "t_dr": 0.1, "v_r_max": 1.1, "v_r_min": -0.4},
    **{"k_pa": 5.0, "k_ia": 4.0, "v_a_max": 1.2, "v_a_min": -0.6, "k_p": 1.3, "k_l": 0.8, "k_f1": 0.2},
    **{"k_f2": 0.3, "k_f3": 0.05, "t_f": 0.6, "k_c": 0.2, "k_d": 0.4, "k_e": 1.0, "t_e": 0.5},
    **{"v_fe_max": 1.4, "v_e_min": 0.1, "k_i": 0.3, "x_l": 0.1, "theta_p": 0.2, "k_c1": 0.15, "v_b_max": 1.5},
    **{"k_r": 1.6, "sw_1": 1.0, "sw_2": 1.0},
    **SATURATION,
}
ST5 = {
    **{"t_r": 0.02, "t_c1": 0.2, "t_b1": 0.4, "t_c2": 0.2, "t_b2": 0.1, "k_r": 20.0, "v_r_max": 1.0},
    **{"v_r_min": -0.7, "t_1": 0.03, "k_c": 0.1},
}
IEEE3 = {
    **{
        "t_r": 0.02,
        "k_a": 8.0,
        "t_a": 0.1,
        "v_r_max": 0.8,
        "v_r_min": -0.6,
        "t_e": 0.4,
        "k_f": 0.05,
        "t_f": 0.5,
    },
    **{"k_p": 0.9, "theta_p": 0.0, "k_i": 0.4, "x_l": 0.0, "v_b_max": 1.2, "k_e": 1.0},
}
STEAM = {
    **{"k": 20.0, "t_1": 0.1, "t_2": 0.03, "t_3": 0.2, "u_o": 0.5, "u_c": -0.6, "p_max": 0.9, "p_min": 0.1},
    **{"t_4": 0.3, "k_1": 0.3, "t_5": 0.9, "k_3": 0.4, "t_6": 0.4, "k_5": 0.3, "pr_max": 0.75},
}
PARAMETERS = {AC7C: AC7, ST5B: ST5, IEEET3: IEEE3, TGOV3: STEAM}
ZERO = {
    AC7C: ("t_r", "k_dr", "t_dr", "k_f3", "t_f", "k_ia"),
    ST5B: ("t_r", "t_c1", "t_b1", "t_c2", "t_b2", "t_1"),
    IEEET3: ("t_r", "t_a"),
    TGOV3: ("t_1", "t_2", "t_4", "t_6"),
}
VARIANTS = {AC7C: ({"sw_1": 2.0}, {"sw_2": 2.0})}

CURRENTS = {"delta": step(0.3), "i_d": step(0.2, (0.9013, 0.5)), "i_q": step(0.5, (0.9013, 0.3))}


def fex(i):
    """The rectifier in its three modes."""
    return test_static_exciters.fex(i) if i <= 0.75 else max(3**0.5 * (1 - i), 0.0)


def saturation(v):
    """Through the two points of SATURATION: b (v - a)^2 above a, b and a by hand."""
    ratio = np.sqrt(0.8 * 0.1 / (1.2 * 0.4))
    a = (0.8 - ratio * 1.2) / (1 - ratio)
    return 1.2 * 0.4 / (1.2 - a) ** 2 * max(v - a, 0.0) ** 2


def potential(p, u):
    """|K v + j (k_i + K x_l) i| with complex numbers; the machine's frame turned into the network's."""
    k = p["k_p"] * np.exp(1j * p["theta_p"])
    i = (u.i_d + 1j * u.i_q) * np.exp(1j * (u.delta - np.pi / 2))
    return abs(k * (u.v_re + 1j * u.v_im) + 1j * (p["k_i"] + k * p.get("x_l", 0.0)) * i)


def ac7c(p, u, x):
    v_m, x_i, x_d, x_a, v_e, x_f = x
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * u.i_f
    v_f = v_e * fex(p["k_c"] * u.i_f / v_e)
    error = u.v_ref + u.v_s - v_m - p["k_f3"] / p["t_f"] * (v_fe - x_f)
    v_r = np.clip(p["k_pr"] * error + x_i + p["k_dr"] / p["t_dr"] * (error - x_d), p["v_r_min"], p["v_r_max"])
    inner = v_r - p["k_f1"] * v_f - p["k_f2"] * v_fe
    v_a = np.clip(p["k_pa"] * inner + x_a, p["v_a_min"], p["v_a_max"])
    source = potential(p, u) if p["sw_1"] == 1 else p["k_p"]
    fed = min(source * fex(p["k_c1"] * v_fe / source), p["v_b_max"]) if p["sw_2"] == 1 else p["k_r"] * v_f
    rates = (
        (np.hypot(u.v_re, u.v_im) - v_m) / p["t_r"],
        p["k_ir"] * error,
        (error - x_d) / p["t_dr"],
        p["k_ia"] * inner,
        (max(fed * v_a, -p["k_l"] * v_fe) - v_fe) / p["t_e"],
        (v_fe - x_f) / p["t_f"],
    )
    # Where v_fe is v_fe_max: the root of a quadratic, here by bisection.
    low, high = 0.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        above = p["k_e"] * middle + saturation(middle) + p["k_d"] * u.i_f > p["v_fe_max"]
        low, high = (low, middle) if above else (middle, high)
    limits = {
        1: (p["v_r_min"], p["v_r_max"]),
        3: (p["v_a_min"], p["v_a_max"]),
        4: (p["v_e_min"], low),
    }
    return rates, limits, (v_m, x_i, x_a, v_e, v_f)


@pytest.mark.parametrize("switches", [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0)])
def test_ac7c_is_its_block_diagram(switches):
    """The voltage falls and rises by a tenth and more, currents step: limits are met on both sides."""
    p = AC7 | dict(zip(("sw_1", "sw_2"), switches, strict=True))
    inputs = {
        **INPUTS,
        **CURRENTS,
        **{"v_ref": step(1.0, (3.0017, 0.7)), "i_f": step(0.6, (0.6017, 0.9), (1.6013, 0.5))},
    }
    v_f = v_e = 0.7
    for _ in range(40):  # v_f of v_e, which the rectifier's drop lowers by less than v_e grows
        v_e += v_f - v_e * fex(p["k_c"] * 0.6 / v_e)
    v_fe = p["k_e"] * v_e + saturation(v_e) + p["k_d"] * 0.6
    at_rest = type("U", (), {name: f(-1.0) for name, f in inputs.items()})
    source = potential(p, at_rest) if switches[0] == 1 else p["k_p"]
    fed = min(source * fex(p["k_c1"] * v_fe / source), 1.5) if switches[1] == 1 else p["k_r"] * v_f
    states = (1.0, p["k_f1"] * v_f + p["k_f2"] * v_fe, 0.0, v_fe / fed, v_e, v_fe)
    guess = dict(zip(AC7C.states, states, strict=True)) | {"v_f": v_f, "v_e_max": 1.0}
    found = run_alone(AC7C, p, guess, inputs)
    expected = respond(ac7c, p, states, inputs).T
    ours = (found.v_m, found.x_i, found.x_a, found.v_e, found.v_f)
    for mine, theirs in zip(ours, expected, strict=True):
        assert np.abs(mine - theirs).max() < 2 * TOLERANCE
    assert found.v_e.min() == pytest.approx(0.1, abs=1e-3)
    assert found.x_a.max() == pytest.approx(1.2, abs=1e-3)


def st5b(p, u, x):
    v_m, x_1, x_2, v_f = x
    v, limits = np.hypot(u.v_re, u.v_im), (p["v_r_min"], p["v_r_max"])
    asked = p["k_r"] * (u.v_ref + u.v_s - v_m)
    first = np.clip(x_1 + p["t_c1"] / p["t_b1"] * (asked - x_1), *limits)
    v_r = np.clip(x_2 + p["t_c2"] / p["t_b2"] * (first - x_2), *limits)
    rates = (
        (v - v_m) / p["t_r"],
        (asked - x_1) / p["t_b1"],
        (first - x_2) / p["t_b2"],
        (v_r - p["k_c"] * u.i_f - v_f) / p["t_1"],
    )
    return rates, {1: limits, 2: limits, 3: (v * limits[0], v * limits[1])}, (v_m, x_1, x_2, v_f)


def test_st5b_is_its_block_diagram():
    inputs = {**INPUTS, "v_ref": step(1.03), "i_f": step(0.6, (0.6017, 1.0), (1.6013, 0.4))}
    v_r = 20.0 * 0.03
    states = (1.0, v_r, v_r, v_r - 0.1 * 0.6)
    guess = dict(zip(ST5B.states, states, strict=True)) | {"v_f_low": -0.7, "v_f_high": 1.0}
    found = run_alone(ST5B, ST5, guess, inputs)
    expected = respond(st5b, ST5, states, inputs).T
    for mine, theirs in zip((found.v_m, found.x_1, found.x_2, found.v_f), expected, strict=True):
        assert np.abs(mine - theirs).max() < 2 * TOLERANCE
    assert found.x_1.min() == pytest.approx(-0.7, abs=1e-3)
    assert found.v_f.min() == pytest.approx(-0.7 * 1.1)


def ieeet3(p, u, x):
    v_m, v_r, v_f, x_f = x
    error = u.v_ref + u.v_s - v_m - p["k_f"] / p["t_f"] * (v_f - x_f)
    v_b = np.sqrt(max(potential(p, u) ** 2 - (0.78 * u.i_f) ** 2, 0.0))
    rates = (
        (np.hypot(u.v_re, u.v_im) - v_m) / p["t_r"],
        (p["k_a"] * error - v_r) / p["t_a"],
        (np.clip(v_r + v_b, 0.0, p["v_b_max"]) - p["k_e"] * v_f) / p["t_e"],
        (v_f - x_f) / p["t_f"],
    )
    return rates, {1: (p["v_r_min"], p["v_r_max"])}, (v_m, v_r, v_f)


def test_ieeet3_is_its_block_diagram():
    """The field current takes the source's voltage to nothing and gives it back."""
    inputs = {
        **INPUTS,
        **CURRENTS,
        **{"v_ref": step(1.02, (3.0017, 0.7)), "i_f": step(0.6, (0.6017, 1.0), (1.6013, 1.5), (2.6017, 0.5))},
    }
    at_rest = type("U", (), {name: f(-1.0) for name, f in inputs.items()})
    v_r = 8.0 * 0.02
    v_f = v_r + np.sqrt(potential(IEEE3, at_rest) ** 2 - (0.78 * 0.6) ** 2)
    states = (1.0, v_r, v_f, v_f)
    found = run_alone(IEEET3, IEEE3, dict(zip(IEEET3.states, states, strict=True)), inputs)
    expected = respond(ieeet3, IEEE3, states, inputs).T
    for mine, theirs in zip((found.v_m, found.v_r, found.v_f), expected, strict=True):
        assert np.abs(mine - theirs).max() < 2 * TOLERANCE
    assert found.v_r.min() == pytest.approx(-0.6, abs=1e-3)


def tgov3(p, u, x):
    x_s, valve, bowl, pressure, crossover = x
    slip = p["k"] * (u.omega - 1)
    led = x_s + p["t_2"] / p["t_1"] * (slip - x_s)
    rates = (
        (slip - x_s) / p["t_1"],
        np.clip((u.p_ref - led - valve) / p["t_3"], p["u_c"], p["u_o"]),
        (valve - bowl) / p["t_4"],
        (bowl - pressure) / p["t_5"],
        (pressure - crossover) / p["t_6"],
    )
    limits = {1: (p["p_min"], p["p_max"]), 3: (-np.inf, p["pr_max"])}
    torque = p["k_1"] * bowl + p["k_3"] * pressure + p["k_5"] * crossover
    return rates, limits, (valve, pressure, torque)


def test_tgov3_is_its_block_diagram():
    """The reheater's pressure stays at its limit, and leaves it when the valve closes."""
    inputs = {
        "omega": step(1.0, (0.2013, 0.97), (2.0017, 1.04)),
        "p_ref": step(0.5, (3.0017, 0.6)),
    }
    guess = dict.fromkeys(("valve", "x_4", "x_5", "x_6", "x_7"), 0.5) | {"x_s": 0.0, "t_m": 0.5}
    found = run_alone(TGOV3, STEAM, guess, inputs)
    expected = respond(tgov3, STEAM, (0.0, 0.5, 0.5, 0.5, 0.5), inputs).T
    for mine, theirs in zip((found.valve, found.x_5, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 2 * TOLERANCE
    assert found.x_5.max() == pytest.approx(0.75)
    assert found.valve.max() == pytest.approx(0.9)


RECORDS = {
    # Values of PSS/E's own example records, as OpenIPSL's verification script gives them (psspy).
    "AC7B": "0.0 4.06 4.06 0.0 0.0 5.41 -5.41 47.56 25.16 1.0 -0.95 12.31 10.0 0.203 0.0 0.0 10.0 0.10 0.49"
    " 1.0 1.89 5.9 0.0 4.37 0.134 5.82 0.342",
    "ST5B": "0.0 0.8 6.0 0.08 0.01 200.0 5.0 -4.0 0.001 0.004 2.0 10.0 0.1 0.05 0.1 2.0 0.08 0.08",
    "URST5T": "0.025 0.1 0.2 1.0 1.0 1.0 10.0 -10.0 0.58 0.3",
    "IEEET3": "0.0 120.0 0.15 1.2 -1.2 0.5 0.02 0.53 1.19 1.86 2.82 1.0",
    # A record of InterPSS' test case of 200 buses.
    "OEX12T": "0.02 99.9 -99.9 1.0 10.0 300. 0.02 4.58 -3.67 0.0 0.010 0.2 0.1 0 0 0 0 1 99.9 -99.9 0 0 0 0"
    " 0 0 0 0",
    # The order of PowerWorld and InterPSS, with values of their tests.
    "AC7C": "1 1 1 1 1 .01 4.06 4.06 0 0 5.41 -5.41 47.56 25.16 1.0 -0.95 12.31 10.0 0.203 0.0 0.0 10.0 0.10"
    " 0.49 1.0 1.89 5.9 0.0 4.37 0.134 5.82 0.342 0 0 0 0 99 0",
    "TGOV3": "20.0 0.1 0.03 0.2 0.1 -1.0 1.1 0.0 0.3 0.3 8.0 0.4 0.4 0.3 0.2 0.5 1.0 1.2",
}


@pytest.mark.parametrize("model", RECORDS)
def test_a_plant_of_a_dyr_file_starts_and_runs_through_a_step(model, tmp_path):
    """At rest to roundoff; the same values come back from a DYR file that psmr writes."""
    text = (HERE / "ST6B" / "ThreeBus_ST6B.dyr").read_text()
    before, _, _ = text.partition("   102   'ST6B'")
    (tmp_path / "case.dyr").write_text(f"{before}102 '{model}' 1 {RECORDS[model]} /\n")
    raw = HERE / "ST6B" / "ThreeBusMulti.raw"
    case = psmr.read_case(raw, tmp_path / "case.dyr", loads="impedance")
    system = psmr.build(case)
    assert np.abs(np.r_[system.f(system.x0, system.y0), system.g(system.x0, system.y0)]).max() < 1e-8
    psmr.write_case(case, tmp_path / "again.raw")
    again = psmr.read_case(tmp_path / "again.raw", tmp_path / "again.dyr", loads="impedance")
    (mine,), (theirs,) = (
        [d.parameters for row in c.generators for d in row.devices if d.role in ("exciter", "governor")]
        for c in (case, again)
    )
    assert mine.items() <= theirs.items()
