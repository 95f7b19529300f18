"""Induction motors: the equivalent circuit, an independent model in flux linkages, order through a dip."""

import warnings
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import psmr
from psmr import Device, SingleRate, assemble, read_case, write_case
from psmr.errors import CaseError, PsmrWarning
from tests.components import InductionMotor
from tests.devices.test_jacobians import Signal
from tests.internals import (
    DeviceRow,
    LineRow,
    LoadRow,
    NumericMath,
    Plant,
    chain,
    integrate,
    pull_out_power,
    pull_out_slip,
    solve_plants,
)

# Small industrial motor (type 1) of the IEEE Task Force on Load Representation, Standard load models for
# power flow and dynamic performance simulation, IEEE Trans. Power Systems 10(3), 1995.
GIVEN = {"r_s": 0.031, "x_s": 0.10, "x_m": 3.2, "r_r": 0.018, "x_r": 0.18, "h": 0.7}
TORQUE = {"torque_a": 1.0, "torque_b": 0.0}
ROW = {"s_n": 60.0, **GIVEN, **TORQUE}
W_S = 2 * np.pi * 60.0


def values(**changes):
    return {"s_n": 64.0, "s_base": 100.0, "f_n": 60.0, **GIVEN, **TORQUE} | changes


def circuit_torque(p, slip, v):
    """Torque of the equivalent circuit by its Thevenin source (Kundur 1994, section 7.2)."""
    source = v * 1j * p["x_m"] / (p["r_s"] + 1j * (p["x_s"] + p["x_m"]))
    inner = 1j * p["x_m"] * (p["r_s"] + 1j * p["x_s"]) / (p["r_s"] + 1j * (p["x_s"] + p["x_m"]))
    rotor = p["r_r"] / slip
    return abs(source) ** 2 * rotor / ((inner.real + rotor) ** 2 + (inner.imag + p["x_r"]) ** 2)


def rest_torque(p, slip, v):
    """Torque of the component where E' is at rest at a slip: its own equations, which are linear in E'."""

    def rates(e_re, e_im, t_0=0.0):
        given = {"slip": slip, "e_re": e_re, "e_im": e_im, "v_re": v, "v_im": 0.0, "t_0": t_0, "b_shunt": 0.0}
        found = InductionMotor.equations(
            NumericMath, SimpleNamespace(**given), SimpleNamespace(shed=0.0, **p)
        )[0]
        return np.array(found)

    zero = rates(0.0, 0.0)[1:]
    matrix = np.column_stack([rates(1.0, 0.0)[1:] - zero, rates(0.0, 1.0)[1:] - zero])
    e = np.linalg.solve(matrix, -zero)
    return -2 * p["h"] * rates(*e)[0]


@pytest.mark.parametrize("v", [1.0, 0.7])
def test_torque_is_that_of_the_equivalent_circuit(v):
    p = values()
    slips = np.array([1e-4, 0.005, 0.02, 0.05, 0.1, 0.3, 1.0, -0.02])
    found = [rest_torque(p, s, v) for s in slips]
    np.testing.assert_allclose(found, [circuit_torque(p, s, v) for s in slips], rtol=1e-12)


def test_pull_out_is_the_largest_torque():
    p = values()
    slip = pull_out_slip(SimpleNamespace(**p))
    for other in (0.99 * slip, 1.01 * slip):
        assert circuit_torque(p, other, 1.0) < circuit_torque(p, slip, 1.0)


def motor(**changes):
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    return Device("m", InductionMotor, values(**changes), wires)


def start_of(power, voltage, **changes):
    return solve_plants([Plant("m", (motor(**changes),), voltage, -np.conj(power / voltage))])


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.999])
def test_start_is_the_running_point(share):
    """Slip by a root of the circuit's power on the stable side, and the whole of P and Q at the bus."""
    p, voltage = values(), 1.02 * np.exp(0.3j)
    most = pull_out_power(SimpleNamespace(**p), abs(voltage)) * 0.64
    power = complex(share * most, 0.1)
    start = start_of(power, voltage)

    def taken(slip):
        rotor = p["r_r"] / slip + 1j * p["x_r"]
        z = p["r_s"] + 1j * p["x_s"] + 1j * p["x_m"] * rotor / (rotor + 1j * p["x_m"])
        return 0.64 * abs(voltage) ** 2 / np.conj(z)

    expected = brentq(
        lambda s: taken(s).real - power.real, 1e-9, pull_out_slip(SimpleNamespace(**p)), xtol=1e-15
    )
    assert start["m.slip"] == pytest.approx(expected, rel=1e-9)
    assert start["m.b_shunt"] == pytest.approx(
        (taken(expected).imag - power.imag) / abs(voltage) ** 2, rel=1e-9
    )
    torque = circuit_torque(p, expected, abs(voltage))
    assert start["m.t_0"] == pytest.approx(torque / (1 - expected) ** 2, rel=1e-9)


def flux_model(p, t_0):
    """Rates of (psi_d, psi_q, w): rotor flux linkages and speed in the synchronous frame.

    Stator and rotor voltage equations with i into both windings and the stator's own transients left out
    (Kundur 1994, section 7.2, equations of the induction machine).
    """
    l_s, l_r, l_m = p["x_s"] + p["x_m"], p["x_r"] + p["x_m"], p["x_m"]

    def rates(x, v):
        d, q, w = x
        # Unknown currents i_ds, i_qs, i_dr, i_qr: v_s = r_s i_s + j psi_s, psi_r = l_m i_s + l_r i_r.
        matrix = [[p["r_s"], -l_s, 0, -l_m], [l_s, p["r_s"], l_m, 0], [l_m, 0, l_r, 0], [0, l_m, 0, l_r]]
        _, _, i_d, i_q = np.linalg.solve(np.array(matrix), [v.real, v.imag, d, q])
        slip = 1 - w
        load = t_0 * (p["torque_a"] * w**2 + p["torque_b"] * w + 1 - p["torque_a"] - p["torque_b"])
        return [
            W_S * (slip * q - p["r_r"] * i_d),
            W_S * (-slip * d - p["r_r"] * i_q),
            (q * i_d - d * i_q - load) / (2 * p["h"]),
        ]

    return rates


@pytest.mark.parametrize("torque", [(1.0, 0.0), (0.0, 0.3), (0.2, 0.2)])
def test_response_to_a_dip_against_flux_linkages(torque):
    """A dip with a jump of phase, back to another voltage: slip and currents of two formulations."""
    changes = dict(zip(("torque_a", "torque_b"), torque, strict=True))
    p = values(**changes)
    voltage = {0.0: 1.0 + 0.1j, 0.05: 0.45 * np.exp(-0.3j), 0.25: 0.95 - 0.1j, 1.5: None}
    start = start_of(0.4 + 0.2j, voltage[0.0], **changes)
    outputs = {"i_re": "re.s", "i_im": "im.s"}
    signals = [Device("re", Signal, {}), Device("im", Signal, {})]
    system = assemble([Device("m", InductionMotor, p, outputs), *signals], start)
    x_1 = p["x_s"] + p["x_m"] * p["x_r"] / (p["x_m"] + p["x_r"])
    # psi_r from E' = j x_m/(x_m + x_r) psi_r.
    psi = complex(start["m.e_re"], start["m.e_im"]) * (p["x_m"] + p["x_r"]) / (1j * p["x_m"])
    ours, theirs = system.x0, np.array([psi.real, psi.imag, 1 - start["m.slip"]])
    rates = flux_model(p, start["m.t_0"])
    worst, lowest = 0.0, 1.0
    for (begin, v), (end, _) in pairwise(voltage.items()):
        u = system.u0.copy()
        for name, value in (("m.v_re", v.real), ("m.v_im", v.imag)):
            u[system.names_u.index(name)] = value
        times = np.linspace(begin, end, 60)
        options = {"t_eval": times, "rtol": 1e-10, "atol": 1e-12}
        first = solve_ivp(lambda t, x, u=u: system.f(x, system.y0, u), (begin, end), ours, **options)
        second = solve_ivp(lambda t, x, v=v: rates(x, v), (begin, end), theirs, **options)
        ours, theirs = first.y[:, -1], second.y[:, -1]
        slip, e = first.y[0], first.y[1] + 1j * first.y[2]
        e_theirs = 1j * p["x_m"] / (p["x_m"] + p["x_r"]) * (second.y[0] + 1j * second.y[1])
        worst = max(worst, np.abs(slip - (1 - second.y[2])).max(), np.abs(e - e_theirs).max())
        lowest = min(lowest, (1 - slip).min())
        current = (v - e[-1]) / (p["r_s"] + 1j * x_1)
        expected = -0.64 * current - 1j * start["m.b_shunt"] * v
        y = system.g(ours, np.zeros(2), u)
        assert complex(y[0], y[1]) == pytest.approx(expected, abs=1e-12)
    assert lowest < 0.95
    # Error of the two integrations.
    assert worst < 1e-8


@pytest.fixture(scope="module")
def case():
    from tests.conftest import ROOT

    case = read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")
    row = DeviceRow("motor8", "motor", "InductionMotor", ROW)
    moving = LoadRow(8, 40.0, 10.0, name="motor8", motor=row)
    rest = replace(case.loads[2], p_mw=60.0, q_mvar=25.0)
    return replace(case, loads=(*case.loads[:2], rest, moving))


def test_motor_in_a_file(case, tmp_path):
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case
    assert '[load.motor]\ntype = "InductionMotor"\ns_n = 60.0' in (tmp_path / "out.toml").read_text()


def test_other_formats_do_not_lose_a_motor_silently(case, tmp_path):
    static = replace(case, generators=tuple(replace(row, devices=()) for row in case.generators))
    with pytest.warns(PsmrWarning, match="motor8 becomes load8-2; motor8: InductionMotor becomes CIM6"):
        write_case(static, tmp_path / "out.raw")
    with pytest.warns(PsmrWarning, match="keep 1 dynamic devices, 3 loads that depend on the voltage"):
        write_case(static, tmp_path / "out.m")


def test_motor_takes_its_load_at_the_start(case):
    system, plain = psmr.build(case), psmr.build(replace(case, loads=(*case.loads[:2], *whole(case))))
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-10
    for name in ("bus8.v_re", "bus8.v_im"):
        assert system.w0[system.index(name)] == pytest.approx(plain.w0[plain.index(name)], abs=1e-12)
    # 40 MW at a power factor of 0.85 or so: the load's 10 Mvar need a capacitor.
    assert 0.1 < system.w0[system.index("motor8.b_shunt")] < 0.3


def whole(case):
    return [LoadRow(8, 100.0, 35.0, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0))]


def test_report_shows_the_susceptance(case):
    """What the motor takes and what its susceptance gives make up the load of the power flow."""
    report = psmr.check(case)
    assert report.good
    (line,) = [line for line in report.text().splitlines() if line.startswith("  motor8")]
    _, bus, v, p, q, of_motor, of_shunt, slip, *_ = line.split()
    system = psmr.build(case)
    assert (bus, p, q) == ("8", "40.00", "10.00")
    assert float(of_motor) + float(of_shunt) == pytest.approx(10.0, abs=0.011)
    shunt = system.w0[system.index("motor8.b_shunt")]
    assert float(of_shunt) == pytest.approx(-shunt * float(v) ** 2 * 100, abs=0.01)
    assert float(slip) == pytest.approx(system.w0[system.index("motor8.slip")], abs=1e-6)


def test_motors_of_two_sizes_start_together(case):
    """Two copies of the case, the second motor larger: each starts as it does alone."""
    both = chain(case, 2, LineRow(8, 5, 0.1, r=0.01), inertia_spread=0.0)
    *rest, second = both.loads
    assert (second.name, second.bus, second.motor.name) == ("motor8_1", 18, "motor8_1")
    larger = replace(second, motor=replace(second.motor, parameters={**ROW, "s_n": 90.0}))
    system = psmr.build(replace(both, loads=(*rest, larger)))
    for name, size in (("motor8_0", 60.0), ("motor8_1", 90.0)):
        at = system.index(f"bus{8 if size == 60.0 else 18}.v_re")
        voltage = complex(*system.w0[at : at + 2])
        start = start_of(0.4 + 0.1j, voltage, s_n=size)
        for variable in ("slip", "t_0", "b_shunt"):
            found = system.w0[system.index(f"{name}.{variable}")]
            assert found == pytest.approx(start[f"m.{variable}"], rel=1e-8)


def test_order_through_a_dip(case):
    """TM keeps its order through a fault near the motor: dip, recovery, reacceleration."""
    system = psmr.build(case)
    changes = psmr.Fault(bus=8, start=0.1, clear=0.2, x=0.2).changes(system)
    t_end = 0.6
    ends = [
        integrate(system, SingleRate("SDIRK2", h, tolerance=1e-13), t_end, changes).x[-1]
        for h in (2e-4, 1e-4)
    ]
    reference = ends[1] + (ends[1] - ends[0]) / 3
    steps = np.array([4e-3, 2e-3, 1e-3, 5e-4])
    errors = [
        np.abs(
            integrate(system, SingleRate("TM", h, tolerance=1e-12), t_end, changes).x[-1] - reference
        ).max()
        for h in steps
    ]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2, abs=0.2)


def test_part_of_a_motor_trips_as_one_of_several_and_does_not_come_back(case):
    """Of the static load beside it what had tripped comes back, of the motor nothing does."""
    system = psmr.build(case)
    trip = psmr.LoadTrip(8, 0.1, 0.5, reconnect=0.2)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.001), 0.3, [trip], certify=False)
    assert [label for _, label in run.instants][1] == "load at bus8 reconnected but for its motors"
    left = {entry[:2]: entry[2] for change in run.changes for entry in change.parameters}
    assert left["motor8", "s_n"] == 0.5 * system.parameter("motor8", "s_n")
    assert ("motor8", "s_n") not in {entry[:2] for entry in run.changes[1].parameters}


def test_a_motor_trips_with_its_bus(case):
    """Out of service it takes no current: the bus is then that of the case without loads there."""
    system = psmr.build(case)
    trip = psmr.LoadTrip(8, 0.1, 1.0)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), t_end=0.5, events=[trip])
    slip = run.x[:, system.index("motor8.slip")]
    assert np.ptp(slip) < 1e-12
    # What is left of the system satisfies its equations without the motor and the load beside it.
    devices = [
        replace(d, parameters={**d.parameters, "p": 0.0, "q": 0.0}) if d.name == "load8" else d
        for d in system.devices
        if d.name != "motor8"
    ]
    without = assemble(devices)
    x = np.array([run.x[-1, system.index(n)] for n in without.names_x])
    u = np.array([system.w0[system.index(n)] for n in without.names_u])
    assert np.abs(without.g(x, run.y[-1], u)).max() < 1e-9


def test_step_of_the_load_torque(case):
    """The torque is a set-point: after a step the motor runs where the equivalent circuit gives as much."""
    system = psmr.build(case)
    torque = 1.2 * system.w0[system.index("motor8.t_0")]
    run = psmr.simulate(
        system,
        psmr.SingleRate("TM", h=0.01),
        t_end=20.0,
        events=[psmr.SetPoint("motor8", "t_0", torque, 0.1)],
    )
    slip = run.x[-1, system.index("motor8.slip")]
    v_re, v_im = (run.y[-1, system.names_y.index(f"bus8.{part}")] for part in ("v_re", "v_im"))
    # The frame turns at nominal frequency, the system in the end a little slower.
    speeds = [run.x[-1, system.index(f"G{i}.omega")] for i in (1, 2, 3)]
    p = values(s_n=60.0)
    frequency = np.mean(speeds)
    found = circuit_torque(p, slip - (1 - frequency), np.hypot(v_re, v_im))
    # Measured: 1.2e-5, what the speeds have still to settle.
    assert found == pytest.approx(torque * (1 - slip) ** 2, rel=5e-5)
    assert slip > 1.15 * system.w0[system.index("motor8.slip")]


def test_more_than_pull_out_is_named_with_the_most(case):
    heavy = replace(case.loads[3], p_mw=140.0)
    with pytest.raises(
        CaseError, match=r"\(motor8\): p_mw = 140: the most that this motor takes at 1\.0\d+ pu is 1\d\d"
    ):
        psmr.build(replace(case, loads=(*case.loads[:3], heavy)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_mw": 0.0}, r"p_mw = 0\.0: must be > 0: it says what the motor drives"),
        ({"v_min": 0.5}, r"v_min = 0\.5: must be left out: a motor goes on by itself"),
        ({"exponent_p": 1.0}, r"exponent_p = 1\.0: must be left out beside a motor"),
        ({"p_zip": (1.0, 0.0, 0.0)}, r"p_zip = .*: must be left out beside a motor"),
    ],
)
def test_wrong_row_is_named(case, change, message):
    with pytest.raises(CaseError, match=message):
        replace(case.loads[3], **change)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("r_r", 0.0, r"r_r = 0\.0: must be > 0 \(rotor resistance, pu on motor base\)"),
        ("x_m", -1.0, r"x_m = -1\.0: must be > 0"),
        ("h", 0.0, r"h = 0\.0: must be > 0"),
        ("torque_b", 0.5, r"torque_a \+ torque_b = 1\.5: must be at most 1"),
        ("torque_a", 1.5, r"torque_a = 1\.5: must be between 0 and 1"),
    ],
)
def test_wrong_parameter_is_named(name, value, message):
    with pytest.raises(CaseError, match=message):
        DeviceRow("m", "motor", "InductionMotor", {**ROW, name: value})


def test_the_check_lists_motors_without_a_warning(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = str(psmr.check(case))
    assert "\nMotors\n" in text
    assert "\n  motor8 " in text
