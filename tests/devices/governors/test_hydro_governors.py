"""PIDGOV, WPIDHY and HYGOV4: diagrams, and eigenvalues by PowerSimulationsDynamics.jl of PSS/E files."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.components import HYGOV4, PIDGOV, WPIDHY
from tests.devices.alone import TOLERANCE, guess_of, polygon, respond, run_alone
from tests.devices.diagram import step
from tests.devices.exciters.test_static_exciters import distance
from tests.files.psse.traces import HERE
from tests.internals import Terminal

CURVE = {"g_0": 0.1, "g_1": 0.6, "p_1": 0.35, "g_2": 0.85, "p_2": 0.6, "p_3": 0.9}
PID = {
    **{"s_n": 64.0, "feedback": 1.0, "r_perm": 0.05, "t_reg": 0.05, "k_p": 4.0, "k_i": 1.5, "k_d": 0.3},
    **{"t_a": 0.1, "t_b": 0.3, "d_turb": 0.4, "g_max": 0.95, "g_min": 0.2, "a_tw": 1.1, "t_w": 0.8},
    **{"vel_max": 0.4, "vel_min": -0.3},
    **CURVE,
}
WOODWARD = {
    **{"s_n": 64.0, "t_reg": 0.05, "reg": -0.05, "k_p": 3.0, "k_i": 0.8, "k_d": 0.4, "t_a": 0.08, "t_b": 0.1},
    **{
        "vel_max": 0.08,
        "vel_min": -0.1,
        "g_max": 0.95,
        "g_min": 0.3,
        "t_w": 0.9,
        "p_max": 0.58,
        "p_min": 0.1,
    },
    **{"d": 0.4},
    **CURVE,
}
DASHPOT = {
    **{"t_g": 0.4, "t_p": 0.06, "u_o": 0.06, "u_c": -0.1, "p_max": 0.8, "p_min": 0.3, "r_perm": 0.05},
    **{"r_temp": 0.3, "t_r": 2.0, "t_w": 1.1, "a_t": 1.2, "d_turb": 0.4, "h_dam": 1.1, "q_nl": 0.07},
    **{"gv_0": 0.0, "gv_1": 0.2, "gv_2": 0.4, "gv_3": 0.6, "gv_4": 0.8, "gv_5": 1.0},
    **{"pgv_0": 0.01, "pgv_1": 0.15, "pgv_2": 0.35, "pgv_3": 0.6, "pgv_4": 0.85, "pgv_5": 1.0},
}
PARAMETERS = {
    HYGOV4: DASHPOT,
    PIDGOV: PID,
    WPIDHY: WOODWARD | {"p_max": 0.7, "p_min": 0.1},
}
ZERO = {HYGOV4: ("t_p",), PIDGOV: ("t_reg",), WPIDHY: ("t_reg", "t_b")}
VARIANTS = {HYGOV4: ({"gv_5": 0.0},), PIDGOV: ({"feedback": 0.0},)}

# A machine whose d axis lies on the bus voltage: its power is i_d.
INPUTS = {
    **{"v_re": step(1.0), "v_im": step(0.0), "delta": step(np.pi / 2), "i_q": step(0.0)},
    "i_d": step(0.5, (2.2011, 0.62)),
    "omega": step(1.0, (0.2013, 0.97), (1.0017, 1.05), (2.6013, 1.0)),
}


def power_of(p, gate):
    return polygon(gate, (p["g_0"], 0.0), (p["g_1"], p["p_1"]), (p["g_2"], p["p_2"]), (1.0, p["p_3"]))


def gate_at(p, power):
    return float(np.interp(power, [0.0, p["p_1"], p["p_2"], p["p_3"]], [p["g_0"], p["g_1"], p["g_2"], 1.0]))


def water(p, gate, x):
    """(1 - s t)/(1 + s t/2) = -2 + 3/(1 + s t/2)."""
    t = p.get("a_tw", 1.0) * p["t_w"]
    power = power_of(p, gate)
    return -2.0 * power + 3.0 * x, (power - x) / (t / 2)


def pidgov(p, u, x):
    x_reg, x_i, x_p, x_d, x_5, gate, x_w = x
    back = gate if p["feedback"] else u.i_d
    slip = u.omega - 1
    error = x_reg - slip
    torque, d_w = water(p, gate, x_w)
    rates = (
        (p["r_perm"] * (u.p_ref - back) - x_reg) / p["t_reg"],
        p["k_i"] * error,
        (p["k_p"] * error + x_i - x_p) / p["t_a"],
        (error - x_d) / p["t_a"],
        (x_p + p["k_d"] * (error - x_d) / p["t_a"] - x_5) / p["t_a"],
        np.clip((x_5 - gate) / p["t_b"], p["vel_min"], p["vel_max"]),
        d_w,
    )
    return rates, {5: (p["g_min"], p["g_max"])}, (x_i, x_5, gate, torque - p["d_turb"] * slip)


def wpidhy(p, u, x):
    x_reg, x_a, x_b, x_i, velocity, gate, x_w = x
    slip = u.omega - 1
    flow, d_w = water(p, gate, x_w)
    slope = (x_a - x_b) / p["t_a"]
    rates = (
        (p["reg"] * (u.i_d - u.p_ref) - x_reg) / p["t_reg"],
        (x_reg - slip - x_a) / p["t_a"],
        slope,
        p["k_i"] * x_b,
        (p["k_p"] * x_b + x_i + p["k_d"] * slope - velocity) / p["t_b"],
        np.clip(velocity, p["vel_min"], p["vel_max"]),
        d_w,
    )
    torque = np.clip(flow, p["p_min"], p["p_max"]) - p["d"] * slip
    return rates, {5: (p["g_min"], p["g_max"])}, (x_i, velocity, gate, torque)


@pytest.mark.parametrize("feedback", [0.0, 1.0])
def test_pidgov_is_its_block_diagram(feedback):
    """The speed falls and rises: rates and limits of the gate are met on both sides."""
    p = PID | {"feedback": feedback}
    gate = gate_at(p, 0.5)
    inputs = INPUTS | {"p_ref": step(gate if feedback else 0.5, (1.6013, 0.6))}
    guess = dict.fromkeys(("x_i", "x_p", "x_5", "gate"), gate) | {
        "x_reg": 0.0,
        "x_d": 0.0,
        "x_w": 0.5,
        "t_m": 0.5,
    }
    found = run_alone(PIDGOV, p, guess, inputs)
    expected = respond(pidgov, p, (0.0, gate, gate, 0.0, gate, gate, 0.5), inputs).T
    for mine, theirs in zip((found.x_i, found.x_5, found.gate, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 4 * TOLERANCE
    assert found.gate.max() - gate > 0.05


def test_wpidhy_is_its_block_diagram():
    """As above, with the limits of the power."""
    gate = gate_at(WOODWARD, 0.5)
    inputs = INPUTS | {"p_ref": step(0.5, (1.6013, 0.6))}
    zero = dict.fromkeys(("x_reg", "x_a", "x_b", "x_i", "velocity"), 0.0)
    found = run_alone(WPIDHY, WOODWARD, zero | {"gate": gate, "x_w": 0.5, "t_m": 0.5}, inputs)
    expected = respond(wpidhy, WOODWARD, (0.0, 0.0, 0.0, 0.0, 0.0, gate, 0.5), inputs).T
    for mine, theirs in zip((found.x_i, found.velocity, found.gate, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 4 * TOLERANCE
    assert found.velocity.max() > 0.08
    assert found.velocity.min() < -0.1


def hygov4(p, u, x):
    pilot, gate, x_r, flow = x
    slip = u.omega - 1
    points = [(p[f"gv_{k}"], p[f"pgv_{k}"]) for k in range(6)] if p["gv_5"] else [(0, 0), (1, 1)]
    head = (flow / polygon(gate, *points)) ** 2
    rates = (
        (p["r_perm"] * (u.p_ref - gate) - p["r_temp"] * (gate - x_r) - slip - pilot) / p["t_p"],
        np.clip(pilot / p["t_g"], p["u_c"], p["u_o"]),
        (gate - x_r) / p["t_r"],
        (p["h_dam"] - head) / p["t_w"],
    )
    torque = p["a_t"] * head * (flow - p["q_nl"]) - p["d_turb"] * gate * slip
    return rates, {1: (p["p_min"], p["p_max"])}, (pilot, gate, flow, torque)


@pytest.mark.parametrize("last", [0.0, 1.0])
def test_hygov4_is_its_block_diagram(last):
    """With and without the curve of the gate: the speed falls and rises past both limits of its rate."""
    p = DASHPOT | {"gv_5": last}
    guess = guess_of(HYGOV4, p, Terminal(1.0 + 0.0j, 0j, {"t_m": 0.6}))
    inputs = {
        "omega": step(1.0, (0.2013, 0.97), (1.4017, 1.05), (2.6013, 1.0)),
        "p_ref": step(float(guess["p_ref"]), (3.0013, 0.9)),
    }
    found = run_alone(HYGOV4, p, guess, inputs)
    states = (0.0, float(guess["gate"]), float(guess["gate"]), float(guess["flow"]))
    expected = respond(hygov4, p, states, inputs).T
    for mine, theirs in zip((found.pilot, found.gate, found.flow, found.t_m), expected, strict=True):
        assert np.abs(mine - theirs).max() < 4 * TOLERANCE
    rate = np.diff(found.gate) / 0.025
    assert rate.max() == pytest.approx(0.06, rel=1e-3)
    assert rate.min() == pytest.approx(-0.1, rel=1e-3)


@pytest.mark.parametrize(
    ("folder", "dyr", "name"),
    [
        ("PIDGOV", "ThreeBus_PIDGOV_GateFlag.dyr", "test58_eigvals_GateFlag"),
        ("PIDGOV", "ThreeBus_PIDGOV_PowerFlag.dyr", "test58_eigvals_PowerFlag"),
        ("WPIDHY", "ThreeBus_WPIDHY.dyr", "test60_eigvals"),
    ],
)
def test_eigenvalues_are_those_of_another_program(folder, dyr, name):
    case = psmr.read_case(HERE / folder / "ThreeBusMulti.raw", HERE / folder / dyr, loads="impedance")
    assert distance(psmr.build(case), folder, name) < 1e-10


def test_a_curve_that_falls_is_refused(tmp_path):
    text = (HERE / "PIDGOV" / "ThreeBus_PIDGOV_GateFlag.dyr").read_text()
    (tmp_path / "case.dyr").write_text(text.replace("0.70000", "0.05000"))
    with pytest.raises(CaseError, match=r"g_1 = 0.05: must be above g_0 = 0.1"):
        psmr.read_case(HERE / "PIDGOV" / "ThreeBusMulti.raw", tmp_path / "case.dyr")


def test_a_record_whose_order_nobody_says_is_named(tmp_path):
    text = (HERE / "PIDGOV" / "ThreeBus_PIDGOV_GateFlag.dyr").read_text()
    (tmp_path / "case.dyr").write_text(text + "101 'HYGOV4' 1 0.05 0.04 0.2 -0.2 1 0 /\n")
    words = (
        r"'HYGOV4': no public text has the order of its values; give it in a TOML file \(type = \"HYGOV4\"\)"
    )
    with pytest.raises(CaseError, match=words):
        psmr.read_case(HERE / "PIDGOV" / "ThreeBusMulti.raw", tmp_path / "case.dyr")
