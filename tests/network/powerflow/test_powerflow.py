"""The power flow against published voltages, closed forms, and its own error messages."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import root

from psmr import Case, build, read_case
from psmr.errors import PowerFlowError, PsmrWarning
from tests.internals import (
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    ShuntRow,
    TransformerRow,
    convert_loads,
    power_flow,
)

# The nine-bus system in Sauer and Pai (1998) and in Anderson and Fouad: magnitudes in pu, angles in degrees.
PUBLISHED = {
    1: (1.040, 0.0),
    2: (1.025, 9.3),
    3: (1.025, 4.7),
    4: (1.026, -2.2),
    5: (0.996, -4.0),
    6: (1.013, -3.7),
    7: (1.026, 3.7),
    8: (1.016, 0.7),
    9: (1.032, 2.0),
}
Z = (1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["wscc9.toml", "sauer-pai.toml", "wscc9-ibr.toml"])
def test_published_voltages(wscc9, name):
    flow = power_flow(read_case(wscc9 / name))
    for (v, angle), bus in zip(flow.buses().to_numpy(), flow.case.buses, strict=True):
        # Half a unit of the last digit that is printed.
        assert v == pytest.approx(PUBLISHED[bus.number][0], abs=0.5e-3)
        assert angle == pytest.approx(PUBLISHED[bus.number][1], abs=0.05)
    assert flow.mismatch <= 1e-12


def test_published_generation(wscc9):
    power = power_flow(read_case(wscc9 / "wscc9.toml")).generators()
    assert power.loc["G1", "p_mw"] == pytest.approx(71.6, abs=0.05)
    assert power["q_mvar"].to_numpy() == pytest.approx([27.0, 6.7, -10.9], abs=0.05)


def test_generators_share_by_rating(wscc9):
    flow = power_flow(read_case(wscc9 / "wscc9-ibr.toml"))
    power = flow.generators()
    assert power.loc["C1", "q_mvar"] == pytest.approx(power.loc["C2", "q_mvar"])
    whole = power_flow(read_case(wscc9 / "wscc9.toml")).generators().loc["G3", "q_mvar"]
    assert power.loc[["C1", "C2"], "q_mvar"].sum() == pytest.approx(whole)


def two_buses(load=50.0, **branch):
    kind = TransformerRow if "tap" in branch or "shift_deg" in branch else LineRow
    table = {"transformers" if kind is TransformerRow else "lines": (kind(1, 2, 0.1, **branch),)}
    return Case(
        "two",
        100.0,
        60.0,
        (BusRow(1), BusRow(2)),
        loads=(LoadRow(2, load, 0.0, Z, Z),) if load else (),
        generators=(GeneratorRow("G1", 1, "slack", v=1.0),),
        **table,
    )


def test_two_buses_closed_form():
    """V2 sin(theta) = -P X and V2^2 = V2 cos(theta) for a lossless line from 1 pu and Q2 = 0."""
    flow = power_flow(two_buses())
    theta = -0.5 * np.arcsin(2 * 0.5 * 0.1)
    assert flow.angle[1] == pytest.approx(theta, abs=1e-13)
    assert flow.v[1] == pytest.approx(np.cos(theta), abs=1e-13)


def test_tap_and_shift_without_load():
    """The open side of an ideal ratio sits at v / tap, lagging by the shift."""
    flow = power_flow(two_buses(load=0.0, tap=1.05, shift_deg=30.0))
    assert flow.v[1] == pytest.approx(1 / 1.05, abs=1e-12)
    assert np.degrees(flow.angle[1]) == pytest.approx(-30.0, abs=1e-10)


def test_ratios_between_small_impedances():
    """Three windings from 400 to 380 kV, 120 to 110 kV and 30 kV: flat voltages lead to none.

    The low one draws 5 MW through the two outer legs of the star.
    """
    legs = [(1, 0.06, 400 / 380), (2, -8e-6, 120 / 110), (3, 0.14, 1.0)]
    case = Case(
        *("star", 100.0, 60.0, tuple(map(BusRow, (1, 2, 3, 4)))),
        transformers=tuple(TransformerRow(n, 4, x, 4e-4, tap=tap) for n, x, tap in legs),
        loads=(LoadRow(3, 5.0, 0.0, Z, Z),),
        generators=(GeneratorRow("G1", 1, "slack", v=1.0),),
    )
    with pytest.raises(PowerFlowError, match="no convergence"):
        power_flow(case, start="flat")
    with pytest.warns(PsmrWarning, match="solved from unloaded voltages: from flat ones"):
        flow = power_flow(case)
    assert flow.start == "unloaded"
    v = flow.by_number()
    e, z = 380 / 400, 8e-4 + 0.2j
    assert v[3] * np.conj((e - v[3]) / z) == pytest.approx(0.05, abs=1e-10)
    assert abs(v[3]) > 0.9
    assert abs(v[2]) == pytest.approx(120 / 110 * abs(v[4]))


def test_shunt_supports_the_voltage():
    case = two_buses(load=0.0)
    flow = power_flow(replace(case, shunts=(ShuntRow(2, b_mvar=20.0),)))
    assert flow.v[1] == pytest.approx(1 / (1 - 0.1 * 0.2), abs=1e-12)


def feeder(load, v=1.03, r=0.02, x=0.2):
    """A slack that feeds one load over a line."""
    return Case(
        "feeder",
        100.0,
        60.0,
        (BusRow(1), BusRow(2)),
        (LineRow(1, 2, x, r),),
        loads=(load,),
        generators=(GeneratorRow("G1", 1, "slack", v=v),),
    )


SOURCE = DeviceRow("S1", "machine", "InfiniteBus", {"s_n": 100.0, "r_a": 0.0, "x_d1": 0.1})
ZIP = {"p_zip": (0.2, 0.3, 0.5), "q_zip": (0.6, 0.0, 0.4)}


@pytest.mark.parametrize("v_0", [1.0, 1.1])
@pytest.mark.parametrize(
    ("kind", "p", "q"),
    [
        (ZIP, lambda u: 0.2 * u**2 + 0.3 * u + 0.5, lambda u: 0.6 * u**2 + 0.4),
        ({"exponent_p": 1.3, "exponent_q": 3.1}, lambda u: u**1.3, lambda u: u**3.1),
    ],
    ids=["zip", "exponential"],
)
def test_loads_that_follow_the_voltage(kind, p, q, v_0):
    """Against the circuit's own two equations, solved by MINPACK."""

    def imbalance(x):
        v = complex(*x)
        u = abs(v) / v_0
        delivered = v * np.conj((1.03 - v) / (0.02 + 0.2j))
        return [delivered.real - 0.8 * p(u), delivered.imag - 0.4 * q(u)]

    expected = complex(*root(imbalance, [1.0, 0.0], tol=1e-14).x)
    flow = power_flow(feeder(LoadRow(2, 80.0, 40.0, v_0=v_0, **kind)))
    assert flow.voltage[1] == pytest.approx(expected, abs=1e-12)
    u = abs(expected) / v_0
    assert flow.loads().loc["load2"].to_list() == pytest.approx([2, 80 * p(u), 40 * q(u)], abs=1e-9)
    assert flow.mismatch <= 1e-12


def test_impedance_at_its_own_voltage_is_a_voltage_divider():
    flow = power_flow(feeder(LoadRow(2, 80.0, 40.0, Z, Z, v_0=1.0)))
    impedance = 1 / complex(0.8, -0.4)
    assert flow.voltage[1] == pytest.approx(1.03 * impedance / (impedance + 0.02 + 0.2j), abs=1e-12)


def bent(x):
    """Part of itself that a constant power is at x of v_min: PSS/E's ellipse, tangent to 1 / V."""
    top = 1.3949308436346985
    current = (2.0 * np.sqrt(1.0 - 0.75 * (1.0 - u) ** 2) - 1.0 for u in (top * x, top))
    return x * next(current) / next(current)


@pytest.mark.parametrize("v_0", [None, 1.0])
def test_constant_power_that_cannot_be_has_a_solution_below_v_min(v_0):
    """There it follows PSS/E's ellipse; 0.2229 pu is the only root of |V + z P / V*| = 1.03."""
    load = LoadRow(2, 400.0, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), v_0=v_0)
    with pytest.raises(PowerFlowError, match="lowest voltage"):
        power_flow(feeder(replace(load, v_min=1e-3)))
    said = r"1 load\(s\) .* draw less than that \(load2 109\.1 of 400 MVA at 0\.223 pu\).*PQBRAK"
    with pytest.warns(PsmrWarning, match=said):
        flow = power_flow(feeder(load))
    assert flow.reduced == ("load2",)
    voltage = flow.voltage[1]
    x = abs(voltage) / 0.7
    drawn = voltage * np.conj((1.03 - voltage) / (0.02 + 0.2j))
    assert drawn == pytest.approx(4.0 * bent(x), abs=1e-12)
    assert abs(voltage) == pytest.approx(0.2229341, abs=1e-7)


@pytest.mark.parametrize("start", ["flat", None])
def test_a_solution_in_which_every_load_draws_its_power_comes_first(start):
    """300 MW behind X = 0.1: V^2 = (1 + sqrt(1 - 4 P^2 X^2)) / 2, also from a collapse that is stored."""
    stored = (BusRow(1, v=1.0, angle_deg=0.0), BusRow(2, v=0.1, angle_deg=-60.0))
    case = replace(two_buses(), loads=(LoadRow(2, 300.0, 0.0, (0, 0, 1.0), (0, 0, 1.0)),), buses=stored)
    flow = power_flow(case, start=start)
    assert flow.v[1] == pytest.approx(np.sqrt((1 + 0.8) / 2), abs=1e-12)
    assert flow.reduced == ()


@pytest.mark.parametrize("loads", ["power", "impedance"])
def test_loads_below_v_min_are_converted_at_what_they_draw(loads):
    with pytest.warns(PsmrWarning, match="PQBRAK"):
        flow = power_flow(feeder(LoadRow(2, 400.0, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0))))
    converted, x = convert_loads(flow.case, flow, loads), flow.v[1] / 0.7
    again = power_flow(converted, start=flow)
    assert again.voltage == pytest.approx(flow.voltage, abs=1e-9)
    assert again.load_p[0] == pytest.approx(4.0 * bent(x), abs=1e-9)


def test_voltage_of_the_solution_changes_nothing(wscc9):
    """A load with its power at the voltage that the power flow has is the load without that voltage."""
    case = read_case(wscc9 / "wscc9.toml")
    flow = power_flow(case)
    v = {bus.number: float(v) for bus, v in zip(case.buses, flow.v, strict=True)}
    named = replace(case, loads=tuple(replace(row, v_0=v[row.bus]) for row in case.loads))
    assert np.abs(power_flow(named).voltage - flow.voltage).max() < 1e-13
    plain, system = build(case), build(named)
    assert np.abs(system.w0 - plain.w0).max() < 1e-12
    assert abs(system.linearise().jacobian() - plain.linearise().jacobian()).max() < 1e-8


def test_start_with_loads_at_one_per_unit(wscc9):
    case = read_case(wscc9 / "wscc9.toml")
    case = replace(case, loads=tuple(replace(row, v_0=1.0) for row in case.loads))
    system, flow = build(case), power_flow(case)
    assert np.abs(system.g(system.x0, system.y0)).max() <= 1e-10
    load = flow.loads().loc["load5"]
    v = flow.buses().loc["bus5", "v"]
    assert load.p_mw == pytest.approx(125.0 * v**2, abs=1e-9)


def test_slack_angle_is_held(wscc9):
    case = read_case(wscc9 / "wscc9.toml")
    turned = replace(case.generators[0], angle_deg=40.0)
    flow = power_flow(replace(case, generators=(turned, *case.generators[1:])))
    assert flow.angle - power_flow(case).angle == pytest.approx(np.full(9, np.radians(40.0)), abs=1e-12)


def with_q_max(case, q_max):
    g2 = replace(case.generators[1], q_max_mvar=q_max)
    return replace(case, generators=(case.generators[0], g2, case.generators[2]))


def test_reactive_limit_turns_pv_into_pq(wscc9):
    case = with_q_max(read_case(wscc9 / "wscc9.toml"), 2.0)
    flow = power_flow(case, reactive_limits=True)
    assert flow.at_limit == ("G2",)
    assert flow.generators().loc["G2", "q_mvar"] == pytest.approx(2.0, abs=1e-9)
    assert flow.v[1] < 1.025
    assert power_flow(case).at_limit == ()


def test_generators_at_a_limit_are_each_at_their_own(wscc9):
    case = read_case(wscc9 / "wscc9-ibr.toml")
    lowest = {"C1": -3.0, "C2": -1.0}
    generators = tuple(replace(g, q_min_mvar=lowest.get(g.name, g.q_min_mvar)) for g in case.generators)
    flow = power_flow(replace(case, generators=generators), reactive_limits=True)
    assert flow.at_limit == ("C1", "C2")
    assert flow.generators().loc[["C1", "C2"], "q_mvar"].to_list() == [-3.0, -1.0]
    assert flow.v[2] > 1.025


def test_a_generator_at_its_own_limit_leaves_the_rest_to_the_others(wscc9):
    """The bus as a whole is within its limits: its voltage is held."""
    case = read_case(wscc9 / "wscc9-ibr.toml")
    plain = power_flow(case)
    whole = plain.generators().loc[["C1", "C2"], "q_mvar"].sum()
    generators = tuple(replace(g, q_min_mvar=-1.0) if g.name == "C1" else g for g in case.generators)
    flow = power_flow(replace(case, generators=generators), reactive_limits=True)
    shares = flow.generators().loc[["C1", "C2"], "q_mvar"]
    assert shares.to_list() == pytest.approx([-1.0, whole + 1.0], abs=1e-9)
    assert flow.at_limit == ()
    assert np.abs(flow.v - plain.v).max() < 1e-14


def test_collapsed_voltage_is_no_solution():
    """At zero volts every power balance holds: with iterations enough one gets there from an absurd load."""
    case = feeder(LoadRow(2, 1e5, 0.0, Z, Z, v_0=1.0))
    with pytest.raises(
        PowerFlowError, match=r"power flow: a voltage collapsed after \d+ iterations; .* bus2"
    ):
        power_flow(case, iterations=60)


def test_reactive_limit_not_reached_changes_nothing(wscc9):
    case = with_q_max(read_case(wscc9 / "wscc9.toml"), 50.0)
    assert power_flow(case, reactive_limits=True).v == pytest.approx(power_flow(case).v, abs=1e-14)


def test_overload_names_mismatch_bus_and_voltage():
    """The most a line of X = 0.1 carries at unit power factor from 1 pu is 1 / (2 X) = 500 MW."""
    assert power_flow(two_buses(load=499.0)).v[1] == pytest.approx(np.sqrt(0.5), abs=0.05)
    where = r"largest mismatch .* (MW|Mvar) at bus2, lowest voltage 0\.\d+ pu at bus2; check the loads"
    with pytest.raises(PowerFlowError, match="two: power flow: no convergence after 30 iterations; " + where):
        power_flow(two_buses(load=520.0))


@pytest.mark.parametrize("shift", [30.0, -150.0])
def test_behind_a_phase_shift_everything_is_turned_by_it(shift):
    """A radial network behind a transformer with a vector group solves as without, turned by its shift."""

    def flow(shift_deg):
        return power_flow(
            Case(
                name="radial",
                base_mva=100.0,
                frequency_hz=50.0,
                buses=(BusRow(1), BusRow(2), BusRow(3)),
                lines=(LineRow(2, 3, 0.1, 0.01),),
                transformers=(TransformerRow(1, 2, 0.1, shift_deg=shift_deg),),
                loads=(LoadRow(3, 50.0, 20.0, Z, Z),),
                generators=(GeneratorRow("G1", 1, "slack", v=1.0, angle_deg=5.0),),
            )
        )

    plain, turned = flow(0.0), flow(shift)
    assert turned.v == pytest.approx(plain.v, abs=1e-12)
    assert np.degrees(plain.angle - turned.angle) == pytest.approx([0.0, shift, shift], abs=1e-9)
    assert turned.iterations == plain.iterations


@pytest.mark.parametrize(
    ("v_0", "parts"), [(None, (0.0, 0.0, 1.0)), (1.0, (0.0, 0.0, 1.0)), (1.0, (0.0, 0.6, 0.4))]
)
def test_a_run_starts_with_loads_below_v_min(v_0, parts):
    """What they draw in the power flow is what their equations ask for."""
    case = feeder(LoadRow(2, 400.0, 0.0, parts, parts, v_0=v_0))
    with pytest.warns(PsmrWarning, match="PQBRAK"):
        flow = power_flow(case)
    generators = (replace(case.generators[0], devices=(SOURCE,)),)
    with pytest.warns(PsmrWarning, match="PQBRAK"):
        system = build(replace(case, generators=generators))
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-9
    assert abs(complex(*(system.y0[system.names_y.index(f"bus2.v_{part}")] for part in ("re", "im")))) == (
        pytest.approx(flow.v[1], abs=1e-9)
    )
