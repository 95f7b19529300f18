"""Wind turbines of type 3: torque control, pitch control, aerodynamics, drive train."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.components import WTARA1, WTDTA1, WTPTA1, WTTQA1
from tests.devices.alone import TOLERANCE, polygon, respond, run_alone
from tests.devices.diagram import TIMES, step
from tests.files.raw import raw_text
from tests.internals import consistent
from tests.sundials import solver

TORQUE = {
    **{"s_n": 64.0, "v_dip": 0.8, "v_up": 1.2, "t_flag": 1.0, "k_pp": 1.9, "k_ip": 0.9, "t_p": 0.04},
    **{"t_wref": 0.8, "t_max": 0.9, "t_min": 0.1, "p1": 0.2, "spd1": 0.58, "p2": 0.4, "spd2": 0.72},
    **{"p3": 0.6, "spd3": 0.86, "p4": 0.8, "spd4": 1.0, "t_rate": 60.0},
}
PITCH = {
    **{"k_iw": 25.0, "k_pw": 150.0, "k_ic": 30.0, "k_pc": 3.0, "k_cc": 0.4, "t_pi": 0.3, "theta_max": 27.0},
    **{"theta_min": -1.0, "rate_max": 10.0, "rate_min": -8.0, "t_flag": 1.0},
}
TRAIN = {"masses": 2.0, "damp": 0.3, "h": 5.0, "ht_frac": 0.8, "freq_1": 1.5, "d_shaft": 1.5}
PARAMETERS = {
    WTTQA1: TORQUE,
    WTPTA1: PITCH | {"theta_max": 1.2, "theta_min": -0.9, "rate_max": 0.7, "rate_min": -0.6, "k_pw": 1.5},
    WTARA1: {"p_m0": 0.4, "k_a": 0.007, "theta_0": 0.5},
    WTDTA1: TRAIN,
}
VARIANTS = {WTTQA1: ({"t_flag": 0.0, "t_rate": 0.0},)}
ZERO = {WTTQA1: ("t_p", "t_wref")}


def wttqa1(p, u, x):
    p_f, omega_ref, torque = x
    base = p["t_rate"] / p["s_n"] if p["t_rate"] else 1.0
    points = [(p[f"p{k}"], p[f"spd{k}"]) for k in (1, 2, 3, 4)]
    error = (u.p_ref0 / base - p_f) / u.omega_g if p["t_flag"] else u.omega_g - omega_ref
    free = p["v_dip"] <= np.hypot(u.v_re, u.v_im) <= p["v_up"]
    rates = (
        (u.p_e / base - p_f) / p["t_p"],
        (polygon(p_f, *points) - omega_ref) / p["t_wref"],
        p["k_ip"] * error if free else 0.0,
    )
    out = base * u.omega_g * np.clip(p["k_pp"] * error + torque, p["t_min"], p["t_max"])
    return rates, {2: (p["t_min"], p["t_max"])}, (p_f, omega_ref, torque, out)


@pytest.mark.parametrize("change", [{}, {"t_flag": 0.0, "t_rate": 0.0}], ids=str)
def test_torque_control_is_its_block_diagram(change):
    """Power up past the limit and down, a dip during which the integral rests, steps of the speed."""
    p = TORQUE | change
    base = p["t_rate"] / p["s_n"] if p["t_rate"] else 1.0
    power = 0.5 * base
    speed = 0.79 if p["t_flag"] == 0 else 0.9  # 0.79: the polygon at 0.5
    inputs = {
        "v_re": step(1.0, (2.2017, 0.7), (2.6013, 1.0)),
        "v_im": step(0.0),
        "p_e": step(power, (0.2013, 0.65), (1.4017, 0.3), (3.0013, 0.6)),
        "p_ref0": step(power, (0.6013, 0.95), (1.8017, 0.3), (2.4017, 0.5)),
        "omega_g": step(speed, (1.0017, speed + 0.1), (3.2013, speed - 0.03)),
    }
    guess = {"p_f": 0.5, "omega_ref": 0.79, "x_t": 0.5, "p_ref": power * speed, "p_asked": power}
    found = run_alone(WTTQA1, p, guess, inputs)
    states = (0.5, 0.79, 0.5)
    expected = respond(wttqa1, p, states, inputs).T
    ours = (found.p_f, found.omega_ref, found.x_t, found.p_ref)
    for mine, theirs in zip(ours, expected, strict=True):
        assert np.abs(mine - theirs).max() < TOLERANCE
    assert found.x_t.max() == pytest.approx(0.9) or p["t_flag"] == 0


def wtpta1(p, u, x):
    x_w, x_c, theta = x
    low, high = p["theta_min"], p["theta_max"]
    beyond = u.p_ord - u.p_asked
    error = u.omega_t - u.omega_ref + p["k_cc"] * beyond
    total = np.clip(p["k_pw"] * error + x_w, low, high) + np.clip(p["k_pc"] * beyond + x_c, low, high)
    turning = np.clip((total - theta) / p["t_pi"], p["rate_min"], p["rate_max"])
    limits = dict.fromkeys(range(3), (low, high))
    return (p["k_iw"] * error, p["k_ic"] * beyond, turning), limits, x


def test_pitch_control_is_its_block_diagram():
    """The speed rises, the power is above and below what is asked for: rates and limits are met."""
    inputs = {
        "omega_t": step(0.95, (0.2013, 1.1), (1.6017, 0.9)),
        "omega_ref": step(0.95, (2.6013, 0.85)),
        "p_ord": step(0.6, (1.0017, 0.75), (2.0013, 0.4)),
        "p_asked": step(0.6, (3.0017, 0.5)),
    }
    guess = {"x_w": 0.0, "x_c": 0.0, "theta": 0.0}
    found = run_alone(WTPTA1, PITCH, guess, inputs)
    expected = respond(wtpta1, PITCH, (0.0, 0.0, 0.0), inputs).T
    for mine, theirs in zip((found.x_w, found.x_c, found.theta), expected, strict=True):
        assert np.abs(mine - theirs).max() < 2e-4 * 27
    assert found.x_c.min() == pytest.approx(-1.0)
    assert np.diff(found.theta).max() == pytest.approx(10.0 * (TIMES[1] - TIMES[0]), rel=0.02)


def test_the_shaft_has_its_frequency():
    """Without damping and load: turbine against generator at freq_1, and a common speed."""
    device = psmr.Device("d", WTDTA1, TRAIN | {"d_shaft": 0.0, "damp": 0.0})
    system = psmr.assemble([device], {"d.omega_t": 1.0, "d.omega_g": 1.0})
    values = psmr.modes(system.linearise())
    assert values["frequency_hz"].max() == pytest.approx(1.5, abs=1e-9)


def test_one_mass_has_the_whole_inertia():
    device = psmr.Device("d", WTDTA1, {"masses": 1.0, "h": 5.0, "damp": 0.5})
    start = {"d.omega_g": 1.25, "d.omega_t": 1.25, "d.p_mech": 0.8, "d.p_e": 0.6}
    system = psmr.assemble([device], start)
    assert system.f(system.x0, system.y0)[0] == pytest.approx((0.2 / 1.25 - 0.5 * 0.25) / 10.0)


TABLES = {
    "torque_control": {"type": "WTTQA1"}
    | {k: v for k, v in TORQUE.items() if k not in ("s_n", "v_dip", "v_up")},
    "pitch_control": {"type": "WTPTA1"} | {k: v for k, v in PITCH.items() if k != "t_flag"},
    "aerodynamics": {"type": "WTARA1", "k_a": 0.007, "theta_0": 0.0},
    "drive_train": {"type": "WTDTA1"} | TRAIN,
}


@pytest.fixture
def turbine(tmp_path):
    """The plant W3 of the nine-bus system as a wind plant of type 3, with other values of its devices."""

    def made(without=(), **changes):
        text = psmr.case_path("wscc9-renewable").read_text(encoding="utf-8")
        tables = ""
        for role in TABLES.keys() - set(without):
            values = TABLES[role] | changes.get(role, {})
            lines = "".join(f"{k} = {v!r}\n".replace("'", '"') for k, v in values.items())
            tables += f"[generator.{role}]\n{lines}\n"
        before, first, after = text.partition("[generator.converter]")
        path = tmp_path / "turbine.toml"
        path.write_text(f"{before}{tables}{first}{after}")
        return psmr.read_case(path)

    return made


@pytest.mark.parametrize("flag", [0.0, 1.0])
@pytest.mark.parametrize("masses", [1.0, 2.0])
@pytest.mark.parametrize("theta", [0.0, 4.0])
def test_it_starts_at_the_speed_of_its_power(turbine, flag, masses, theta):
    """42.5 MW on 60 MW: the polygon gives the speed, the torque is the power by the speed."""
    case = turbine(
        torque_control={"t_flag": flag}, drive_train={"masses": masses}, aerodynamics={"theta_0": theta}
    )
    system = psmr.build(case)
    rest = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    assert np.abs(rest).max() < 1e-10
    start = dict(zip((*system.names_x, *system.names_y), system.w0, strict=False))
    power = 42.5 / 60.0
    speed = np.interp(power, (0.6, 0.8), (0.86, 1.0))
    assert start["DT-W3.omega_g"] == pytest.approx(speed, abs=1e-9)
    assert start["DT-W3.omega_t"] == pytest.approx(speed, abs=1e-9)
    assert start["TC-W3.x_t"] == pytest.approx(power / speed, abs=1e-9)
    assert start["PC-W3.theta"] == pytest.approx(theta, abs=1e-9)


def test_a_step_of_the_set_point_is_what_sundials_computes(turbine):
    """No limit is reached; the trapezoidal rule's error is a third of what half a step changes."""
    system = psmr.build(turbine(aerodynamics={"theta_0": 2.0}, torque_control={"t_flag": 0.0}))
    name = next(name for name in system.names_u if name.startswith("PPC-W3."))
    value = 1.01 * system.w0[system.index(name)]
    event = psmr.SetPoint("PPC-W3", name.partition(".")[2], value, 0.0)
    runs = [
        psmr.simulate(system, psmr.SingleRate("TM", h), 1.5, [event], certify=False) for h in (5e-4, 2.5e-4)
    ]
    u = system.u0
    u[system.names_u.index(name)] = value
    moved = system.with_start(u=u)
    y = consistent(moved, moved.x0, moved.y0)
    rates = np.r_[moved.f(moved.x0, y), np.zeros(moved.m)]
    times = np.linspace(0.0, 1.5, 16)
    exact = solver(moved, 1e-10, 1e-12).solve(times, np.r_[moved.x0, y], rates).y
    whole, half = (
        np.c_[run.x, run.y][[int(np.flatnonzero(np.abs(run.t - t) < 1e-9)[-1]) for t in times]]
        for run in runs
    )
    known = np.abs(whole - half).max() / 3
    assert 1e-9 < known < 1e-5
    assert np.abs(half - exact).max() <= 1.1 * known + 1e-7
    assert np.abs(half + (half - whole) / 3 - exact).max() <= 0.05 * known + 1e-7


def test_without_a_drive_train_the_torque_control_holds_the_power(turbine):
    system = psmr.build(turbine(without=("pitch_control", "aerodynamics", "drive_train")))
    run = psmr.simulate(system, psmr.VariableStep(), 4.0, [psmr.Fault(6, 1.0, 1.1)], certify=False)
    assert run["W3.p_e"].iloc[-1] == pytest.approx(42.5 / 64.0, abs=0.01)
    with pytest.raises(CaseError, match="no device of W3 reads the output of WTARA1"):
        psmr.build(turbine(without=("pitch_control", "drive_train")))


def test_a_dyr_file_without_a_drive_train(tmp_path):
    """As 104 plants of a public Texas case: the torque control acts, pitch and aerodynamics do not."""
    records = (
        "1 'REGCA1' 1 1 0.02 10 0.9 0.5 1.22 1.2 0.8 0.4 -1.3 0.02 0.7 0 0 0.8 /\n"
        "1 'REECA1' 1 0 0 1 1 1 0 0.85 1.15 0.02 0 0 5 1.1 -1.1 0 0 0 0.5 0.02 0.436 -0.436 1.1 0.9 0 0.2"
        " 0 46.9 0 0.02 99 -99 1 0 1.3 0.04 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 /\n"
        "1 'WTPTA1' 1 28 137 22.03 1.17 0.27 0.3 27 0 10 -10 /\n"
        "1 'WTTQA1' 1 1 1.9 0.5 0.04 60 1.002 0 0.2 0.58 0.4 0.72 0.6 0.86 0.8 1 0 /\n"
        "1 'WTARA1' 1 0.007 0 /\n"
    )
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(f"2 'GENCLS' 'G1' 4.0 0.0 /\n2 'GENCLS' 'G2' 4.0 0.0 /\n{records}")
    with pytest.warns(PsmrWarning, match="WTPTA1: turns nothing: its plant has no drive train"):
        case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
    devices = {device.role: device for row in case.generators if row.bus == 1 for device in row.devices}
    assert set(devices) == {"converter", "electrical_control", "torque_control"}
    assert devices["torque_control"].parameters["k_pp"] == 1.9
    text = "1 'WTDTA1' 1 5.0 0 {} 1.5 1.5 /\n"
    for part, masses in (("0.8", 2.0), ("0.0", 1.0)):
        (tmp_path / "case.dyr").write_text(
            f"2 'GENCLS' 'G1' 4.0 0.0 /\n2 'GENCLS' 'G2' 4.0 0.0 /\n{records}{text.format(part)}"
        )
        case = psmr.read_case(tmp_path / "case.raw", tmp_path / "case.dyr")
        train = next(d for row in case.generators for d in row.devices if d.role == "drive_train")
        assert train.parameters["masses"] == masses
