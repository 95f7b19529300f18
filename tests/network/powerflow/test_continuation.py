"""Power-voltage and reactive-power-voltage curves: closed forms, published noses, limits of generators."""

import math
from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import Case
from psmr.errors import InputError, PowerFlowError, PsmrWarning
from tests.internals import BusRow, GeneratorRow, LineRow, LoadRow, power_flow

POWER = (0.0, 0.0, 1.0)


def load(bus, p, q, name=""):
    return LoadRow(bus, p, q, POWER, POWER, v_min=0.0, name=name)


def two_buses(x=0.2, e=1.05, tan=0.5):
    return Case(
        "two buses", 100.0, 50.0, (BusRow(1), BusRow(2)), (LineRow(1, 2, x),),
        loads=(load(2, 50, 50 * tan),), generators=(GeneratorRow("G1", 1, "slack", v=e),),
    )  # fmt: skip


def nine_buses(slack=1, p_1=0.0, q_max=300.0):
    """MATPOWER's case9 with voltages of 1 pu, as its tests of the continuation take it (t_case9_pfv2)."""
    lines = (
        (1, 4, 0, 0.0576, 0), (4, 5, 0.017, 0.092, 0.158), (5, 6, 0.039, 0.17, 0.358), (3, 6, 0, 0.0586, 0),
        (6, 7, 0.0119, 0.1008, 0.209), (7, 8, 0.0085, 0.072, 0.149), (8, 2, 0, 0.0625, 0),
        (8, 9, 0.032, 0.161, 0.306), (9, 4, 0.01, 0.085, 0.176),
    )  # fmt: skip
    powers = {1: p_1, 2: 163.0, 3: 85.0}
    generators = tuple(
        GeneratorRow(
            f"G{bus}", bus, "slack" if bus == slack else "pv", p_mw=0.0 if bus == slack else power,
            q_min_mvar=-300.0, q_max_mvar=q_max if bus == 1 else 300.0,
        )
        for bus, power in powers.items()
    )  # fmt: skip
    loads = (load(5, 90, 30), load(7, 100, 35), load(9, 125, 50))
    rows = tuple(LineRow(i, j, x=x, r=r, b=b) for i, j, r, x, b in lines)
    buses = tuple(map(BusRow, range(1, 10)))
    return Case("nine buses", 100.0, 60.0, buses, rows, loads=loads, generators=generators)


@pytest.mark.parametrize("tan", [-0.3, 0.5])
def test_the_nose_of_two_buses_is_where_the_closed_form_has_it(tan):
    """P = E^2 cos/(2 X (1 + sin)) at V = E/sqrt(2 (1 + sin)); Van Cutsem and Vournas (1998), section 2.2."""
    curve = psmr.pv_curve(two_buses(tan=tan))
    sine, cosine = tan / math.hypot(1, tan), 1 / math.hypot(1, tan)
    largest = 1.05**2 / (2 * 0.2) * cosine / (1 + sine) * 100
    assert curve.load[curve.nose] == pytest.approx(largest, rel=1e-9)
    assert curve.v[curve.nose, 1] == pytest.approx(1.05 / math.sqrt(2 * (1 + sine)), rel=1e-4)
    assert curve.margin == pytest.approx(largest - 50, rel=1e-9)
    # Every point, on both sides: the biquadratic equation of the two buses.
    p, v2 = curve.load / 100, curve.v[:, 1] ** 2
    off = (v2 * v2) + (2 * p * tan * 0.2 - 1.05**2) * v2 + 0.04 * p * p * (1 + tan * tan)
    assert np.abs(off).max() < 1e-9
    assert curve.growth[-1] < 0
    assert curve.load[-1] == pytest.approx(50, abs=5)


def test_the_nose_is_where_the_network_supplies_most_whatever_loads_do_below_their_v_min():
    """E^2/(2 X) at E/sqrt(2) = 0.742 pu; loads that draw less below 0.8 pu have to be switched on further."""
    case = two_buses(tan=0.0)
    curve = psmr.pv_curve(replace(case, loads=(replace(case.loads[0], v_min=0.8),)))
    assert curve.load[curve.nose] == pytest.approx(100 * 1.05**2 / (2 * 0.2), rel=1e-9)
    assert curve.v[curve.nose, 1] == pytest.approx(1.05 / math.sqrt(2), rel=1e-4)
    assert curve.growth[-1] > curve.growth[curve.nose]


def test_the_nose_of_nine_buses_is_the_published_one():
    """MATPOWER, t_cpf.m: lambda = 0.99025 to three digits, loads and generators 2.5-fold at 1."""
    curve = psmr.pv_curve(nine_buses(), reactive_limits=False)
    assert curve.growth[curve.nose] / 1.5 == pytest.approx(0.99025, abs=5e-4)
    assert not curve.by_limit


def test_the_headline_says_who_supplies_the_growth():
    """All, some, or the slacks alone."""
    for generators, words in (
        (None, "supplied by all generators as they do now, the rest by G1; at the nose"),
        ({"G3": 0.5}, "supplied by G3 50 %, the rest by G1; at the nose"),
        ({}, "supplied by G1; at the nose"),
    ):
        assert words in psmr.pv_curve(nine_buses(), generators=generators, reactive_limits=False).headline


def test_the_nose_with_a_limited_generator_is_the_published_one():
    """MATPOWER, t_cpf.m, with limits of reactive power: 0.795809.

    The slack reaches its 200 Mvar at lambda = 0.7816, and the next generator is the slack from there on,
    while the first keeps its active power; here from the start.
    """
    flow = power_flow(_loaded(nine_buses(), 1.5 * 0.781600243))
    assert flow.q[0] == pytest.approx(2.0, abs=1e-6)
    case = nine_buses(slack=2, p_1=100 * float(flow.p[0]), q_max=200.0)
    curve = psmr.pv_curve(case, generators={"G3": 85.0 / 315.0})
    assert curve.growth[curve.nose] / 1.5 == pytest.approx(0.795809, abs=5e-6)
    assert [(bus, side) for _, bus, side in curve.reached[:1]] == [("bus1", 1)]


def _loaded(case, growth):
    powers = {f"{row.name}.{part}": getattr(row, part) for row in case.loads for part in ("p_mw", "q_mvar")}
    powers |= {f"{row.name}.p_mw": row.p_mw for row in case.generators}
    return case.edit({name: value * (1 + growth) for name, value in powers.items()})


def test_a_curve_keeps_limits_of_reactive_power_as_the_power_flow_does():
    """The power flow finds them as one complementarity problem, without following anything."""
    case = replace(nine_buses(), generators=tuple(_narrow(nine_buses())))
    curve = psmr.pv_curve(case)
    before = [k for k in range(curve.nose) if curve.growth[k] > 0]
    assert [side for row, _, side in curve.reached if row <= curve.nose].count(1) == 2
    for k in before[:: len(before) // 6]:
        flow = power_flow(_loaded(case, curve.growth[k]), reactive_limits=True)
        np.testing.assert_allclose(flow.v, curve.v[k], rtol=0, atol=1e-8)
    with pytest.raises(PowerFlowError):
        power_flow(_loaded(case, curve.growth[curve.nose] + 1e-3), reactive_limits=True)


def _narrow(case):
    for row in case.generators:
        yield replace(row, q_max_mvar={"G2": 60.0, "G3": 40.0}.get(row.name, 300.0))


def test_the_lowest_point_of_a_qv_curve_is_where_the_closed_form_has_it():
    """Without active power Q = (V E - V^2)/X is drawn, at most E^2/(4 X) at V = E/2."""
    case = two_buses().edit({"load2.p_mw": 0.0, "load2.q_mvar": 0.0})
    curve = psmr.qv_curve(case, 2, highest=1.2, lowest=0.3, count=37)
    np.testing.assert_allclose(curve.q, (curve.v**2 - curve.v * 1.05) / 0.2 * 100, atol=1e-6)
    assert curve.margin == pytest.approx(1.05**2 / 0.8 * 100, rel=1e-3)


def test_a_simulation_with_a_slow_ramp_has_the_same_curve():
    """It ends where the load of constant power has no solution: at the nose of the closed form."""
    source = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-6}
    case = psmr.make_case(
        name="two buses",
        base_mva=100.0,
        frequency_hz=50.0,
        buses=[{"number": 1}, {"number": 2}],
        lines=[{"from": 1, "to": 2, "x": 0.2}],
        loads=[{"bus": 2, "p_mw": 50, "q_mvar": 25, "p_zip": POWER, "q_zip": POWER, "v_min": 0.0}],
        generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.05, "machine": source}],
    )
    system = psmr.build(case)
    with pytest.warns(PsmrWarning, match="their powers are as exact as the tolerance"):
        curve = psmr.pv_curve(system, largest=7.0)
    sine, cosine = 0.5 / math.hypot(1, 0.5), 1 / math.hypot(1, 0.5)
    assert curve.load[curve.nose] == pytest.approx(1.05**2 / 0.4 * cosine / (1 + sine) * 100, rel=1e-4)
    assert curve.nose == len(curve.load) - 1
    assert "at the nose bus2 is at" in curve.headline


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"loads": "area 9"}, "no load is there.*there are loads at 5, 7, 9"),
        ({"generators": {"G9": 1.0}}, "there is no 'G9'"),
        ({"generators": {"G2": -1.0}}, "G2 = -1.0: must be a part of the growth, >= 0"),
        ({"largest": 0.0}, "must be finite numbers > 0"),
        ({"scheme": psmr.VariableStep()}, r"scheme belongs to a system.*psmr.build\(case\)"),
    ],
)
def test_what_is_no_direction_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        psmr.pv_curve(nine_buses(), **arguments)


def test_a_bus_whose_voltage_is_held_has_no_qv_curve():
    with pytest.raises(InputError, match="bus1: its voltage is held by another; take a bus of a load"):
        psmr.qv_curve(nine_buses(), 1)
