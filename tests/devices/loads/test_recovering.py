"""Loads that come back, against their closed forms, and load shedding with an inverse time."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import read_case, write_case
from tests.components import ExponentialRecovery, FeederLoad, InverseTimeShedding, ThermostaticLoad
from tests.devices.alone import TOLERANCE, respond, run_alone
from tests.devices.diagram import TIMES, step
from tests.internals import DeviceRow, LoadRow, RelayRow

BASE = {"p": 0.9, "q": 0.3, "shed": 0.0, "v_0": 0.98, "v_min": 0.5}
KARLSSON = {**BASE, "steady_p": 0.2, "transient_p": 1.8, "t_p": 0.7}
KARLSSON |= {"steady_q": -0.5, "transient_q": 2.5, "t_q": 0.4}
HEATING = {**BASE, "t_1": 0.8, "k_p": 2.0, "k_i": 3.0, "g_max": 1.25, "g_min": 0.0, "exponent_q": 1.5}
FEEDER = {**BASE, "exponent_p": 1.5, "exponent_q": 2.2, "t_c": 1.1, "r_min": 0.85, "r_max": 1.1}
SHEDDING = {
    **{"v_th": 0.9, "c": 0.05, "t_min": 0.3, "t_max": 2.0, "gain": 0.8, "block_min": 0.02, "block_max": 0.3},
    **{"part": 0.6, "blocks": 9.0, "below": 1.0, "since": 0.1, "base": 0.0, "done": 0.1, "count": 1.0},
}
PARAMETERS = {
    ExponentialRecovery: KARLSSON,
    ThermostaticLoad: HEATING,
    FeederLoad: FEEDER,
    InverseTimeShedding: SHEDDING,
}
VARIANTS = {InverseTimeShedding: ({"below": 0.0},)}
DIP, LOW = 0.5003, 0.9
TURN = 0.6 + 0.8j


def dipped(kind, p, guess):
    """Run a load alone whose voltage falls from v_0 to LOW times that; with P and Q in parts of p and q."""
    size = step(p["v_0"], (DIP, LOW * p["v_0"]))
    inputs = {
        "v_re": step(TURN.real * p["v_0"], (DIP, TURN.real * LOW * p["v_0"])),
        "v_im": step(TURN.imag * p["v_0"], (DIP, TURN.imag * LOW * p["v_0"])),
    }
    found = run_alone(kind, p, guess, inputs, h=1e-3)
    v = TURN * np.array([size(t) for t in TIMES])
    s = -v * np.conj(found.i_re + 1j * found.i_im)
    return found, s.real / p["p"], s.imag / p["q"], inputs


def test_exponential_recovery_is_its_closed_form():
    """Karlsson and Hill: at once V^transient, and from there with e^(-t/T) to V^steady."""
    _, active, reactive, _ = dipped(ExponentialRecovery, KARLSSON, {"x_p": 0.0, "x_q": 0.0})
    after = np.where(TIMES > DIP, TIMES - DIP, np.inf)
    for part, side in ((active, "p"), (reactive, "q")):
        steady, at_once = LOW ** KARLSSON[f"steady_{side}"], LOW ** KARLSSON[f"transient_{side}"]
        expected = steady + (at_once - steady) * np.exp(-after / KARLSSON[f"t_{side}"])
        expected[TIMES < DIP] = 1.0
        # The trapezoidal rule of 1 ms: (h/T)^2/12 of the change.
        assert np.abs(part - expected).max() < 2e-7


def test_a_feeder_comes_back_along_its_closed_form():
    """T r' = V/r - 1 from r = 1: (1 - r) + V ln((1 - V)/(r - V)) = t/T; P is (V/r)^exponent."""
    found, active, reactive, _ = dipped(FeederLoad, FEEDER, {"r": 1.0})
    late = TIMES > DIP
    r = found.r[late]
    time = FEEDER["t_c"] * ((1 - r) + LOW * np.log((1 - LOW) / (r - LOW)))
    assert np.abs(time - (TIMES[late] - DIP)).max() < 1e-5
    # Between points of the run both are straight lines.
    assert np.abs(active[late] - (LOW / r) ** 1.5).max() < 1e-8
    assert np.abs(reactive[late] - (LOW / r) ** 2.2).max() < 1e-8


def thermostats(p, u, x):
    theta, y = x
    square = (u.v_re**2 + u.v_im**2) / p["v_0"] ** 2
    heat = np.clip(y + p["k_p"] * (1 - theta), p["g_min"], p["g_max"]) * square
    return ((heat - theta) / p["t_1"], p["k_i"] * (1 - theta)), {1: (p["g_min"], p["g_max"])}, (theta, heat)


@pytest.mark.parametrize("g_max", [1.25, 1.1], ids=["comes back", "all on"])
def test_thermostats_bring_the_power_back_until_all_is_on(g_max):
    """0.9 of the voltage needs 1.23 times the conductance: with 1.1 times it stays an impedance."""
    p = HEATING | {"g_max": g_max}
    _, active, reactive, inputs = dipped(ThermostaticLoad, p, {"theta": 1.0, "y": 1.0})
    theirs = respond(thermostats, p, (1.0, 1.0), inputs).T
    assert np.abs(active - theirs[1]).max() < TOLERANCE
    assert reactive[-1] == pytest.approx(LOW**1.5, rel=1e-12)
    assert active[-1] == pytest.approx(min(1.0, g_max * LOW**2), abs=0.02)


@pytest.fixture(scope="module")
def plain():
    from tests.conftest import ROOT

    return read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")


def test_loads_that_come_back_start_at_the_power_flow_and_go_there_and_back(plain, tmp_path):
    given = {
        5: ("ExponentialRecovery", {"t_p": 60.0, "t_q": 60.0}),
        6: ("ThermostaticLoad", {"t_1": 1200.0, "k_p": 1.0, "k_i": 0.01, "g_max": 1.3}),
        8: ("FeederLoad", {"exponent_p": 1.0, "exponent_q": 2.0, "t_c": 40.0, "r_min": 0.9, "r_max": 1.1}),
    }
    loads = tuple(
        LoadRow(
            row.bus,
            row.p_mw,
            row.q_mvar,
            characteristic=DeviceRow(row.name, "characteristic", given[row.bus][0], given[row.bus][1]),
        )
        for row in plain.loads
    )
    case = replace(plain, loads=loads)
    write_case(case, tmp_path / "case.toml")
    assert read_case(tmp_path / "case.toml").loads == loads
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    run = psmr.simulate(system, psmr.VariableStep(), 1.0, certify=False)
    assert run["load6.p"].to_numpy() == pytest.approx(90.0, abs=1e-6)


def test_blocks_follow_the_time_that_the_area_takes(plain):
    """Each block when the area below the threshold is c, of the mean drop in size, 14 % in all."""
    values = {"v_th": 0.985, "c": 0.02, "t_min": 0.2, "t_max": 9.0, "gain": 1.0, "block_min": 0.01}
    values |= {"block_max": 0.05, "part": 0.14}
    row = RelayRow("uv", 5, "load5", DeviceRow("uv", "relay", "InverseTimeShedding", values))
    trip = psmr.LineTrip("5-7", 0.5)
    run = psmr.simulate(
        psmr.build(replace(plain, relays=(row,))), psmr.VariableStep(1e-8), 2.0, [trip], certify=False
    )
    acts = [(c.t, a.value) for c in run.changes for a in c.acts if a.kind == "shedding"]
    assert len(acts) == 3
    drop = np.maximum(0.985 - run["uv.v"].to_numpy(), 0.0)
    since, total = 0.5, 0.0
    for t, shed in acts:
        k = (run.t >= since) & (run.t <= t)
        area = np.trapezoid(drop[k], run.t[k])
        # The area is full, or was when the shortest time had passed; a block follows its condition (8 us).
        full = area == pytest.approx(0.02, rel=1e-4)
        assert full or (area > 0.02 and t - since == pytest.approx(0.2, abs=2e-5))
        assert shed - total == pytest.approx(min(max(area / (t - since), 0.01), 0.05, 0.14 - total), rel=1e-4)
        since, total = t, shed
    assert total == pytest.approx(0.14, abs=1e-9)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_a_voltage_that_is_low_from_the_start_sheds_at_its_time(plain, tolerance):
    """Nothing moves but the area: it is full at c/(v_th - v), within a step of any length."""
    values = {"v_th": 1.03, "c": 0.02, "t_min": 0.5, "t_max": 3.0, "gain": 1.0, "block_min": 0.05}
    values |= {"block_max": 0.2, "part": 0.4}
    row = RelayRow("uv", 5, "load5", DeviceRow("uv", "relay", "InverseTimeShedding", values))
    system = psmr.build(replace(plain, relays=(row,)))
    run = psmr.simulate(system, psmr.VariableStep(tolerance), 0.7, certify=False)
    assert run.instants[0][0] == pytest.approx(0.02 / (1.03 - run["uv.v"].iloc[0]), abs=1e-5)


def test_blocks_of_an_impedance_are_at_their_instants():
    """The drop d below the threshold is constant from block to block: each c/d after the one before."""
    values = {"v_th": 0.871, "c": 0.05, "t_min": 1.16, "t_max": 12.6, "gain": 1.5, "block_min": 0.02}
    device = {"type": "InverseTimeShedding", **values, "block_max": 0.2, "part": 0.22}
    line = {"from": 1, "to": 2, "x": 0.3}
    machine = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-7}
    case = psmr.make_case(
        "shedding", base_mva=100.0, frequency_hz=50.0,
        buses=[{"number": 1}, {"number": 2}],
        lines=[line, line | {"circuit": 2}],
        loads=[{"bus": 2, "p_mw": 110.0, "q_mvar": 36.0, "model": "impedance", "name": "L"}],
        relays=[{"name": "U", "acts_on": "L", "bus": 2, "device": device}],
        generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
    )  # fmt: skip
    trip = psmr.LineTrip("line1-2-2", start=2.0)
    run = psmr.simulate(psmr.build(case), psmr.VariableStep(1e-6), 20.0, [trip], certify=False)
    y, t, shed, wanted = (1.1 - 0.36j) / run["bus2.v"].iloc[0] ** 2, 2.0, 0.0, []
    while shed < 0.22:
        drop = 0.871 - abs(1 / (1 + 0.3j * y * (1 - shed)))
        t += max(1.16, 0.05 / drop)
        if t > 20.0:
            break
        shed += min(max(1.5 * drop, 0.02), 0.22 - shed)
        wanted.append((t, shed))
    acts = [(c.t, a.value) for c in run.changes for a in c.acts if a.kind == "shedding"]
    assert len(wanted) >= 3
    np.testing.assert_allclose(acts, wanted, atol=1e-3)
