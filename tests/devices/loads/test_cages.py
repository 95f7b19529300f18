"""Motors with one cage or two: the circuit at rest, an independent model in currents, starts, refusals."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import psmr
from psmr import Device, assemble, read_case, write_case
from psmr.errors import CaseError
from tests.components import CIM5, CIM6, InductionMotor
from tests.devices.test_jacobians import Signal
from tests.internals import (
    DeviceRow,
    LoadRow,
    NumericMath,
    Plant,
    defaults,
    schedule,
    solve_plants,
    structure_for,
)
from tests.standing import after
from tests.sundials import solver

# Public records of CIM6BL: two cages of a fan.
TWO = {
    **{"cages": 2.0, "circuit": 1.0, "r_s": 0.01, "x_s": 0.1, "x_m": 3.0, "r_1": 0.005, "x_1": 0.08},
    **{"r_2": 0.15, "x_2": 0.175, "h": 0.4},
}
ONE = TWO | {"cages": 1.0, "r_2": 0.0, "x_2": 0.0}
W_S = 2 * np.pi * 60.0
KINDS = [
    (CIM5, ONE | {"d": 2.0}),
    (CIM5, TWO | {"d": 0.0}),
    (CIM5, TWO | {"d": 1.4, "circuit": 2.0}),
    (CIM6, TWO | {"a": 0.6, "b": 0.2, "d": 0.1, "e": 1.7, "c_0": 0.1}),
    (CIM6, ONE | {"a": 1.0, "b": 0.0, "d": 0.0, "e": 0.0, "c_0": 0.0}),
]
IDS = ["CIM5-one", "CIM5-two", "CIM5-series", "CIM6-two", "CIM6-one"]


def values(p):
    return p | {"s_n": 64.0, "s_base": 100.0, "f_n": 60.0}


def rotor(p, slip):
    """Impedance of the rotor by hand: branches in parallel, the reactance of type 2 in series."""
    if p["cages"] == 1:
        return p["r_1"] / slip + 1j * p["x_1"]
    second = p["r_2"] / slip + 1j * p["x_2"]
    first = p["r_1"] / slip + (1j * p["x_1"] if p["circuit"] == 1 else 0)
    both = first * second / (first + second)
    return both if p["circuit"] == 1 else both + 1j * p["x_1"]


def circuit(p, slip):
    branch, magnetising = rotor(p, slip), 1j * p["x_m"]
    return p["r_s"] + 1j * p["x_s"] + branch * magnetising / (branch + magnetising)


def load(component, p, w):
    if component is CIM5:
        return w ** p["d"]
    return p["a"] * w**2 + p["b"] * w + p["c_0"] + p["d"] * w ** p["e"]


def motor(component, p):
    full = values(p)
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    return Device("m", structure_for(component, defaults(component) | full), full, wires)


def start_of(component, p, power, voltage):
    return solve_plants([Plant("m", (motor(component, p),), voltage, -np.conj(power / voltage))])


@pytest.mark.parametrize(("component", "p"), KINDS, ids=IDS)
def test_start_is_the_running_point_of_the_circuit(component, p):
    voltage = 1.02 * np.exp(0.3j)
    power = 0.4 + 0.1j

    def taken(slip):
        return 0.64 * abs(voltage) ** 2 / np.conj(circuit(p, slip))

    start = start_of(component, p, power, voltage)
    slip = brentq(lambda s: taken(s).real - power.real, 1e-9, 0.02, xtol=1e-15)
    assert start["m.slip"] == pytest.approx(slip, rel=1e-9)
    shunt = (taken(slip).imag - power.imag) / abs(voltage) ** 2
    assert start["m.b_shunt"] == pytest.approx(shunt, rel=1e-9)
    # The power across the air gap is the torque at synchronous speed.
    current = voltage / circuit(p, slip)
    torque = (power.real / 0.64) - p["r_s"] * abs(current) ** 2
    assert start["m.t_0"] == pytest.approx(torque / load(component, p, 1 - slip), rel=1e-9)


def in_currents(component, p, t_0):
    """Rates of (fluxes of the cages, speed): stator and rotor currents from the whole set of linkages.

    Type 2 by a mutual reactance x_m for the stator and x_m + x_1 between the cages; written with the currents
    of all windings unknown, and the torque from the rotor's side.
    """
    count = int(p["cages"])
    mutual = p["x_m"] + (p["x_1"] if p["circuit"] == 2 else 0.0)
    inductance = np.full((count, count), mutual)
    inductance[0, 0] = p["x_m"] + p["x_1"]
    resistance = np.array([p["r_1"], p["r_2"]])[:count]
    if count == 2:
        inductance[1, 1] = mutual + p["x_2"]
    matrix = np.zeros((count + 1, count + 1), dtype=complex)
    matrix[0, 0] = p["r_s"] + 1j * (p["x_s"] + p["x_m"])
    matrix[0, 1:] = 1j * p["x_m"]
    matrix[1:, 0] = p["x_m"]
    matrix[1:, 1:] = inductance

    def rates(x, v):
        psi, w = x[:count] + 1j * x[count : 2 * count], x[-1]
        i = np.linalg.solve(matrix, np.concatenate([[v], psi]))
        torque = np.sum(np.imag(psi * np.conj(i[1:])))
        slope = W_S * (-resistance * i[1:] - 1j * (1 - w) * psi)
        turn = (torque - t_0 * load(component, p, w)) / (2 * p["h"])
        return np.concatenate([slope.real, slope.imag, [turn]]), i[0]

    return rates


@pytest.mark.parametrize(("component", "p"), KINDS, ids=IDS)
def test_response_to_a_dip_against_currents(component, p):
    voltage = {0.0: 1.0 + 0.1j, 0.05: 0.5 * np.exp(-0.3j), 0.2: 0.95 - 0.1j, 0.8: None}
    start = start_of(component, p, 0.4 + 0.2j, voltage[0.0])
    signals = [Device("re", Signal, {}), Device("im", Signal, {})]
    own = replace(motor(component, p), connections={"i_re": "re.s", "i_im": "im.s"})
    system = assemble([own, *signals], start)
    count = int(p["cages"])
    names = [f"m.{k}_re" for k in "ab"[:count]] + [f"m.{k}_im" for k in "ab"[:count]]
    theirs = np.array([*(start[name] for name in names), 1 - start["m.slip"]])
    ours, rates = system.x0, in_currents(component, p, start["m.t_0"])
    places = [system.names_x.index(name) for name in (*names, "m.slip")]
    worst, lowest = 0.0, 1.0
    for (begin, v), (end, _) in pairwise(voltage.items()):
        u = system.u0.copy()
        for name, value in (("m.v_re", v.real), ("m.v_im", v.imag)):
            u[system.names_u.index(name)] = value
        options = {"t_eval": np.linspace(begin, end, 40), "rtol": 1e-9, "atol": 1e-11, "method": "BDF"}
        first = solve_ivp(lambda t, x, u=u: system.f(x, system.y0, u), (begin, end), ours, **options)
        second = solve_ivp(lambda t, x, v=v: rates(x, v)[0], (begin, end), theirs, **options)
        found = first.y[places]
        found[-1] = 1 - found[-1]
        worst = max(worst, np.abs(found - second.y).max())
        lowest = min(lowest, found[-1].min())
        ours, theirs = first.y[:, -1], second.y[:, -1]
        expected = -0.64 * rates(theirs, v)[1] - 1j * start["m.b_shunt"] * v
        y = system.g(ours, np.zeros(2), u)
        assert complex(y[0], y[1]) == pytest.approx(expected, abs=1e-5)
    assert lowest < 0.99
    # Error of the two integrations.
    assert worst < 2e-6


def test_one_cage_is_the_induction_motor():
    """The same circuit and torque in the transient form: slip, currents and set-points."""
    p = ONE | {"d": 2.0}
    same = {"r_s": 0.01, "x_s": 0.1, "x_m": 3.0, "r_r": 0.005, "x_r": 0.08, "h": 0.4}
    same = values(same) | {"torque_a": 1.0, "torque_b": 0.0}
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    other = Device("m", InductionMotor, same, wires)
    voltage = 1.01 - 0.2j
    one = start_of(CIM5, p, 0.5 + 0.3j, voltage)
    two = solve_plants([Plant("m", (other,), voltage, -np.conj((0.5 + 0.3j) / voltage))])
    for name in ("slip", "t_0", "b_shunt"):
        assert one[f"m.{name}"] == pytest.approx(two[f"m.{name}"], rel=1e-8)


@pytest.fixture(scope="module")
def case():
    from tests.conftest import ROOT

    case = read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")
    device = DeviceRow("motor8", "motor", "CIM5", TWO | {"d": 2.0, "s_n": 60.0})
    moving = LoadRow(8, 40.0, 10.0, name="motor8", motor=device)
    rest = replace(case.loads[2], p_mw=60.0, q_mvar=25.0)
    return replace(case, loads=(*case.loads[:2], rest, moving))


def test_a_motor_in_a_file(case, tmp_path):
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case


def test_it_starts_in_a_network(case):
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-9
    assert {"motor8.a_re", "motor8.b_re"} <= set(system.names_x)


@pytest.mark.peers
def test_against_ida_after_a_trip(case):
    system = psmr.build(case)
    event = psmr.LoadTrip(5, 0.1, fraction=0.5)
    ends = [
        psmr.simulate(system, psmr.SingleRate("TM", h=h), t_end=0.5, events=[event], certify=False)
        for h in (5e-4, 2.5e-4)
    ]
    now = after(system, schedule(system, [event], 0.5), event.start)
    k = np.flatnonzero(ends[0].t == 0.1)[-1]
    x, y = ends[0].x[k], ends[0].y[k]
    rate = np.concatenate([now.f(x, y), np.zeros(now.m)])
    found = solver(now, rtol=1e-8, atol=1e-10).solve([0.1, 0.5], np.concatenate([x, y]), rate)
    exact = ends[1].x[-1] + (ends[1].x[-1] - ends[0].x[-1]) / 3
    # Local error allowed to IDA, over some hundred steps.
    assert np.abs(found.y[-1][: now.n] - exact).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"r_2": 0.0}, r"cages = 2, r_2 = 0 and x_2 = 0.175: both must be > 0"),
        ({"cages": 3.0}, "must be a whole number from 1 to 2"),
        ({"x_m": 0.0}, "x_m = 0.0: must be > 0"),
        ({"a": 0.0}, r"a \+ b \+ d \+ c_0 = 0: must be > 0"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(CaseError, match=message):
        DeviceRow("m", "motor", "CIM6", TWO | {"s_n": 60.0, "a": 1.0} | change)


def test_too_much_power_is_refused(case):
    loads = tuple(replace(row, p_mw=400.0) if row.name == "motor8" else row for row in case.loads)
    with pytest.raises(CaseError, match=r"\(motor8\): p_mw = 400: the most that this motor takes at .* MW"):
        psmr.build(replace(case, loads=loads))


def test_currents_and_fluxes_turn_with_the_frame():
    """Equations in a frame turned by an angle: the same slip, turned fluxes and currents."""
    p = SimpleNamespace(**values(TWO), d=2.0, shed=0.0)
    turn = np.exp(0.7j)
    plain = {"slip": 0.02, "t_0": 0.8, "b_shunt": 0.1}
    vectors = {"v": 0.9 + 0.2j, "a": 0.3 - 0.8j, "b": 0.2 - 0.7j}
    found = []
    for factor in (1.0, turn):
        parts = {f"{k}_re": (z * factor).real for k, z in vectors.items()}
        parts |= {f"{k}_im": (z * factor).imag for k, z in vectors.items()}
        rates, _, i = CIM5.equations(NumericMath, SimpleNamespace(**plain, **parts), p)
        found.append((rates[0], complex(*rates[1:3]) / factor, complex(*i) / factor))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
