"""A grid-forming converter that an event leaves alone: with a load it runs on, with nothing it is out."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from tests.internals import LoadRow, ShuntRow

ALONE = psmr.LineTrip(line="3-9", start=0.2)


def with_rows(loads=(), shunts=()):
    case = psmr.case("wscc9-gfm")
    return psmr.build(replace(case, loads=(*case.loads, *loads), shunts=(*case.shunts, *shunts)))


def test_a_converter_with_its_load_runs_on():
    """It settles where its droops and its own circuit meet: worked out by hand from phasors.

    With the voltage of the converter's frame real, v* = v_ref - n_q q - (r_v + j x_v) i_o, the load takes
    i_o = y v_b and v_c = v_b + (r_c + j w x_c) i_o; w = 1 + m_p (p_ref - p).
    """
    system = with_rows([LoadRow(bus=3, p_mw=40.0, q_mvar=10.0, p_zip=(1, 0, 0), q_zip=(1, 0, 0), v_0=1.0)])
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 8.0, [ALONE], certify=False)
    p = {
        name: system.parameter("C3", name)
        for name in ("s_n", "s_base", "m_p", "n_q", "r_v", "x_v", "r_c", "x_c")
    }
    y = complex(0.4, -0.1) * p["s_base"] / p["s_n"]
    p_ref, v_ref = (system.u0[system.names_u.index(f"C3.{name}")] for name in ("p_ref", "v_ref"))

    def rest(v_c, w):
        i = v_c * y / (1 + complex(p["r_c"], w * p["x_c"]) * y)
        power = v_c * np.conj(i)
        return abs(v_c + complex(p["r_v"], p["x_v"]) * i) - (v_ref - p["n_q"] * power.imag), power

    # Bisection for |v_c| at a speed, and the speed anew from the power that it gives.
    w = 1.0
    for _ in range(20):
        low, high = 0.5, 1.5
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if rest(middle, w)[0] < 0 else (low, middle)
        power = rest(low, w)[1]
        w = 1 + p["m_p"] * (p_ref - power.real)
    end = run.frame().iloc[-1]
    assert end["C3.p_m"] == pytest.approx(power.real, abs=1e-6)
    assert end["C3.q_m"] == pytest.approx(power.imag, abs=1e-6)
    assert np.hypot(end["C3.v_cd"], end["C3.v_cq"]) == pytest.approx(low, abs=1e-6)
    speed = np.ptp(run.values("C3.theta")[run.t >= 7.0]) / np.ptp(run.t[run.t >= 7.0])
    assert speed == pytest.approx(2 * np.pi * 60 * abs(w - 1), rel=1e-4)


def test_a_shunt_is_enough():
    system = with_rows(shunts=[ShuntRow(bus=3, b_mvar=5.0)])
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 1.0, [ALONE], certify=False)
    assert run.t[-1] == 1.0


def without_supply(system, events):
    """Whether bus 3 is dead from the trip of its transformer on, and the converter out with it."""
    run = psmr.simulate(system, psmr.VariableStep(), 1.0, events, certify=False)
    after = run.t > 0.2
    still = np.ptp(run.values("C3.theta")[after]) == 0.0
    assert still == (run.values("bus3.v")[after] == 0.0).all()
    return still


def test_a_converter_with_nothing_is_out():
    """Its current is a state and the balance at the bus says i_o = 0: no equation has the voltage in it."""
    assert without_supply(with_rows(), [ALONE])


def test_what_draws_nothing_does_not_count():
    """A load that was tripped before is none, and a current that is constant leaves the voltage open."""
    constant = LoadRow(bus=3, p_mw=40.0, q_mvar=10.0, p_zip=(0, 1, 0), q_zip=(0, 1, 0), v_0=1.0)
    assert without_supply(with_rows([constant]), [ALONE])
    load = with_rows([replace(constant, p_zip=(1, 0, 0), q_zip=(1, 0, 0))])
    assert without_supply(load, [psmr.LoadTrip(bus=3, start=0.1, fraction=1.0), ALONE])
    assert not without_supply(load, [ALONE])
