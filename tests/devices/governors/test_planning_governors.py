"""IEEEG2, TGOV2 and WEHGOV: their block diagrams, records there and back, and plants at rest."""

import numpy as np
import pytest

from psmr.errors import CaseError
from tests.components import IEEEG2, TGOV2, WEHGOV
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import TIMES, step
from tests.files.back import OTHERS, there_and_back
from tests.internals import Terminal

HYDRO = {"k": 15.0, "t_1": 0.5, "t_2": 0.2, "t_3": 0.1, "p_max": 0.9, "p_min": 0.1, "t_4": 0.8}
STEAM = {"r": 0.05, "t_1": 0.3, "v_max": 0.9, "v_min": 0.1, "k": 0.3, "t_3": 4.0, "d_t": 0.2, "t_t": 0.3}
CURVES = {
    **{f"gate_{k}": g for k, g in enumerate((0.0, 0.25, 0.5, 0.75, 1.0), 1)},
    **{f"flow_g{k}": f for k, f in enumerate((0.05, 0.3, 0.55, 0.8, 1.0), 1)},
    **{f"flow_p{k}": f for k, f in enumerate((0.0, 0.2, 0.3, 0.4, 0.6, 0.8, 0.9, 1.0, 0.0, 0.0), 1)},
    **{f"p_mech{k}": p for k, p in enumerate((0.0, 0.02, 0.15, 0.3, 0.6, 0.8, 0.86, 0.9, 0.0, 0.0), 1)},
}
WOODWARD = {
    **{"s_n": 64.0, "feedback": 0.0, "r_gate": 0.02, "r_pe": 0.04, "t_pe": 0.3, "k_p": 2.0, "k_i": 0.6},
    **{"k_d": 0.5, "t_d": 0.1, "t_p": 0.05, "t_dv": 0.1, "t_g": 0.2, "gtmxop": 0.08, "gtmxcl": -0.12},
    **{"g_max": 0.95, "g_min": 0.1, "d_turb": 0.3, "t_w": 0.9, "band": 0.001, "dpv": 0.02, "dicn": 0.05},
    **CURVES,
}
PARAMETERS = {IEEEG2: HYDRO, TGOV2: STEAM, WEHGOV: WOODWARD | {"band": 0.3, "gtmxop": 2.0, "gtmxcl": -2.0}}
ZERO = {IEEEG2: ("t_1", "t_2", "t_3", "t_4"), TGOV2: ("t_1", "t_3", "t_t"), WEHGOV: ("t_pe", "t_p")}
VARIANTS = {WEHGOV: ({"feedback": 1.0}, {"k_d": 0.0, "t_d": 0.0})}
SPEED = step(1.0, (0.2013, 0.97), (1.4017, 1.05), (2.6013, 1.0))


def ieeeg2(p, u, x):
    x_1, x_3, water = x
    wanted = p["k"] * (u.omega - 1)
    led = x_1 + p["t_2"] / p["t_1"] * (wanted - x_1)
    gate = np.clip(u.p_ref - x_3, p["p_min"], p["p_max"])
    # (1 - s t)/(1 + s t/2) = -2 + 3/(1 + s t/2)
    torque = -2.0 * gate + 3.0 * water
    return (
        ((wanted - x_1) / p["t_1"], (led - x_3) / p["t_3"], 2 * (gate - water) / p["t_4"]),
        {},
        (x_3, torque),
    )


def test_ieeeg2_is_its_block_diagram():
    """The speed falls and rises: both limits of the gate are met, and the torque goes the other way first."""
    inputs = {"omega": SPEED, "p_ref": step(0.6, (3.0013, 0.7))}
    guess = guess_of(IEEEG2, HYDRO, Terminal(1.0 + 0.0j, 0j, {"t_m": 0.6}))
    found = run_alone(IEEEG2, HYDRO, guess, inputs)
    expected = respond(ieeeg2, HYDRO, (0.0, 0.0, 0.6), inputs).T
    for mine, theirs in zip((found.x_3, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 10 * TOLERANCE
    assert found.t_m.max() > 0.9 > 0.6 > found.t_m.min()


def tgov2(p, u, x):
    valve, x_3, x_t = x
    slip = u.omega - 1
    rates = (
        (u.p_ref - slip / p["r"] - valve) / p["t_1"],
        ((1 - p["k"]) * valve - x_3) / p["t_3"],
        (x_3 - x_t) / p["t_t"],
    )
    torque = p["k"] * valve + x_t - p["d_t"] * slip
    return rates, {0: (p["v_min"], p["v_max"])}, (valve, x_3, x_t, torque)


def test_tgov2_is_its_block_diagram():
    inputs = {"omega": SPEED, "p_ref": step(0.6, (3.0013, 0.7))}
    guess = guess_of(TGOV2, STEAM, Terminal(1.0 + 0.0j, 0j, {"t_m": 0.6}))
    found = run_alone(TGOV2, STEAM, guess, inputs)
    expected = respond(tgov2, STEAM, (0.6, 0.42, 0.42), inputs).T
    for mine, theirs in zip((found.valve, found.x_3, found.x_t, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 4 * TOLERANCE
    assert (found.valve.min(), found.valve.max()) == pytest.approx((0.1, 0.9), abs=1e-9)


def wehgov(p, u, x):
    x_pe, x_d, x_i, pilot, valve, gate, flow = x
    slip, ratio = u.omega - 1, p["k_d"] / p["t_d"]
    band = p["band"]

    def asked(error):
        return p["k_p"] * error + x_i + ratio * (error - x_d)

    def beyond(raw):
        return raw - band if raw >= band else raw + band if raw <= -band else 0.0

    if p["feedback"]:
        # The gate that is asked for acts on its own error: outside the band a linear equation for it.
        free = u.p_ref - slip - p["r_gate"] * (x_i - ratio * x_d)
        error = beyond(free) / (1 + p["r_gate"] * (p["k_p"] + ratio))
    else:
        error = beyond(u.p_ref - slip - x_pe - p["r_gate"] * gate)
    flows, powers = ([p[f"{name}{k}"] for k in range(1, 9)] for name in ("flow_p", "p_mech"))
    opened = np.interp(gate, [p[f"gate_{k}"] for k in range(1, 6)], [p[f"flow_g{k}"] for k in range(1, 6)])
    head = (flow / opened) ** 2
    rates = (
        (p["r_pe"] * u.i_d - x_pe) / p["t_pe"],
        (error - x_d) / p["t_d"],
        p["k_i"] * error,
        (asked(error) - pilot) / p["t_p"],
        (pilot - gate - valve) / p["t_dv"],
        valve / p["t_g"],
        (1 - head) / p["t_w"],
    )
    limits = {
        2: (p["g_min"] - p["dicn"], p["g_max"] + p["dicn"]),
        3: (p["g_min"] - p["dpv"], p["g_max"] + p["dpv"]),
        4: (p["gtmxcl"] * p["t_g"], p["gtmxop"] * p["t_g"]),
        5: (p["g_min"], p["g_max"]),
    }
    torque = head * np.interp(flow, flows, powers) - p["d_turb"] * gate * slip
    return rates, limits, (error, x_i, pilot, valve, gate, flow, torque)


@pytest.mark.parametrize("feedback", [0.0, 1.0])
def test_wehgov_is_its_block_diagram(feedback):
    """A machine whose d axis lies on the voltage: its power is i_d. Rates of the gate and limits are met."""
    p = WOODWARD | {"feedback": feedback}
    flow = polygon(0.5, *[(p[f"p_mech{k}"], p[f"flow_p{k}"]) for k in range(1, 9)])
    gate = polygon(flow, *[(p[f"flow_g{k}"], p[f"gate_{k}"]) for k in range(1, 6)])
    asked = 0.02 * gate + (0.0 if feedback else 0.04 * 0.5)
    inputs = {
        **{"v_re": step(1.0), "v_im": step(0.0), "delta": step(np.pi / 2), "i_q": step(0.0)},
        **{"i_d": step(0.5, (2.2011, 0.62)), "omega": step(1.0, (0.2013, 0.8), (1.8017, 1.15))},
        "p_ref": step(asked, (0.1013, asked + 0.0005), (3.0013, asked - 0.02)),
    }
    guess = guess_of(WEHGOV, p, Terminal(1.0 + 0.0j, 0j, {"t_m": 0.5}))
    assert (guess["flow"], guess["gate"]) == (pytest.approx(flow), pytest.approx(gate))
    found = run_alone(WEHGOV, p, guess, inputs)
    rest = (0.02, 0.0, gate, gate, 0.0, gate, flow)
    expected = respond(wehgov, p, rest, inputs).T
    names = ("e", "x_i", "pilot", "valve", "gate", "flow", "t_m")
    for name, theirs in zip(names, expected, strict=True):
        assert np.abs(getattr(found, name) - theirs).max() < 20 * TOLERANCE, name
    rate = np.diff(found.gate) / (TIMES[1] - TIMES[0])
    assert (rate.min(), rate.max()) == (pytest.approx(-0.12, rel=1e-3), pytest.approx(0.08, rel=1e-3))
    # Within the dead band nothing moves.
    assert np.abs(found.e[(TIMES > 0.1013) & (TIMES < 0.2013)]).max() == 0.0


MACHINE = "1 'GENSAL' 1 4.1 0.05 0.06 1.4631 0 0.852 0.61 0.395 0.293 0.237 0.11 0.48 /\n"
# IEEEG2 and GENSAL as a public script sets them in PSS/E (ALSETLab, NYPAModelTransformation).
RECORDS = {
    "IEEEG2": "1 'IEEEG2' 1 20 50 5 1 1.19 0 1 /\n",
    "TGOV2": "1 'TGOV2' 1 0.05 0.3 1.1 0 0.3 6 0 0.2 0.15 0.6 2 /\n",
    "WEHGOV": "1 'WEHGOV' 1 "
    + " ".join(f"{WOODWARD[name]:g}" for name in WEHGOV.records[0].split()[1:])
    + " /\n",
}


@pytest.mark.parametrize("model", RECORDS)
def test_records_go_there_and_back_and_plants_are_at_rest(model, tmp_path):
    _, mine, theirs = there_and_back(tmp_path, MACHINE + RECORDS[model] + OTHERS)
    assert mine == theirs
    assert set(mine) == {"GENSAL", model}


def test_a_curve_that_falls_and_a_governor_without_droop_are_refused(tmp_path):
    falling = RECORDS["WEHGOV"].replace("0.25 0.5 0.75 1 0.05", "0.25 0.5 0.75 1 0.35")
    with pytest.raises(CaseError, match=r"gate_2 = 0.25, flow_g2 = 0.3: a curve has to rise"):
        there_and_back(tmp_path, MACHINE + falling + OTHERS)
    with pytest.raises(CaseError, match=r"r_gate = 0: one of the droops must be > 0"):
        there_and_back(tmp_path, MACHINE + RECORDS["WEHGOV"].replace("1 0 0.02 0.04", "1 0 0 0") + OTHERS)
