"""Systems at their equilibrium: residuals, published eigenvalues, closed forms, limits at the start."""

import re
from dataclasses import replace

import numpy as np
import pytest

from psmr import Case, Component, Device, SingleRate, build, modes, read_case, simulate
from psmr.errors import CaseError, InitialisationError, PsmrWarning
from tests.components import GridFollowingConverter
from tests.devices.library import PARAMETERS
from tests.internals import (
    BusRow,
    DeviceRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    Plant,
    check_residual,
    plant_devices,
    power_flow,
    solve_plants,
)

CASES = ("wscc9.toml", "sauer-pai.toml", "wscc9-ibr.toml", "wscc9-gfm.toml")

# Sauer and Pai (1998): loads of constant power, no transducer.
TEXTBOOK = (
    -0.7209 + 12.7486j,
    -0.1908 + 8.3672j,
    -5.4875 + 7.9487j,
    -5.3236 + 7.9220j,
    -5.2218 + 7.8161j,
    -5.1761,
    -3.3995,
    -3.2258,
    -0.4445 + 1.2104j,
    -0.4394 + 0.7392j,
    -0.4260 + 0.4960j,
)
# Huang and Tzounas: the dominant mode of the 33-state system.
DOMINANT = -0.19561 + 8.37291j


@pytest.mark.parametrize("name", CASES)
def test_zero_residual(wscc9, name):
    system = build(read_case(wscc9 / name))
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-10
    assert np.abs(system.g(system.x0, system.y0)).max() <= 1e-10


@pytest.mark.parametrize("name", CASES)
def test_voltages_are_those_of_the_power_flow(wscc9, name):
    case = read_case(wscc9 / name)
    system, flow = build(case), power_flow(case)
    for bus, voltage in zip(case.buses, flow.voltage, strict=True):
        found = system.w0[system.index(f"{bus.name}.v_re")] + 1j * system.w0[system.index(f"{bus.name}.v_im")]
        assert found == pytest.approx(voltage, abs=1e-12)


def test_textbook_eigenvalues(wscc9):
    table = modes(build(read_case(wscc9 / "sauer-pai.toml")).linearise())
    found = list(table.real + 1j * table.imag)
    for value in TEXTBOOK:
        nearest = min(found, key=lambda s: abs(s - value))
        assert abs(nearest - value) <= 1e-3 * abs(value)
        found.remove(nearest)
    # What is left is the pair of zeros: no angle is the reference, and without governors no speed is.
    # A double zero is defective: roundoff moves it by the square root of 1e-12.
    assert np.abs(found).max() < 1e-5


def test_paper_case(wscc9):
    system = build(read_case(wscc9 / "wscc9.toml"))
    assert system.n == 33
    table = modes(system.linearise())
    oscillatory = table[(table.imag > 0)].sort_values("damping_ratio").iloc[0]
    assert abs(complex(oscillatory.real, oscillatory.imag) - DOMINANT) <= 0.005 * abs(DOMINANT)
    states = {name.split(".")[0] for name in system.names_x}
    assert states == {f"{kind}{i}" for kind in ("G", "AVR", "GOV", "PSS") for i in (1, 2, 3)}


@pytest.mark.parametrize("out", [(), ("line5-7",)], ids=["whole", "line 5-7 out"])
def test_converter_case_is_stable(wscc9, out):
    """Before the fault study's event and after it every mode is damped, save the angle that all share."""
    case = read_case(wscc9 / "wscc9-ibr.toml")
    case = replace(case, lines=tuple(replace(row, status=int(row.name not in out)) for row in case.lines))
    table = modes(build(case).linearise())
    values = (table.real + 1j * table.imag).to_numpy()
    assert np.abs(values).min() < 1e-6
    assert values[np.abs(values) > 1e-6].real.max() < -0.01
    # The fastest states belong to the current loop of 0.5 ms.
    assert 1500 < -values.real.min() < 2500


def smib(**changes):
    """A classical machine that sends 0.8 pu over a line to a very large one."""
    machine = {"s_n": 100.0, "h": 3.5, "d": 2.0, "x_d1": 0.3} | changes
    large = {"s_n": 1e6, "h": 1e3, "d": 0.0, "x_d1": 0.3}
    return Case(
        "smib",
        100.0,
        60.0,
        (BusRow(1), BusRow(2)),
        (LineRow(1, 2, 0.5),),
        generators=(
            GeneratorRow(
                "G1",
                1,
                "pv",
                p_mw=80.0,
                v=1.0,
                devices=(DeviceRow("G1", "machine", "ClassicalMachine", machine),),
            ),
            GeneratorRow(
                "G2", 2, "slack", v=1.0, devices=(DeviceRow("G2", "machine", "ClassicalMachine", large),)
            ),
        ),
    )


def test_classical_machine_swings_as_the_closed_form():
    """s = -d/(4 h) +- j sqrt(K w_s/(2 h) - (d/(4 h))^2), K = E V cos(delta)/X against an infinite bus."""
    case = smib()
    system = build(case)
    flow = power_flow(case)
    x = 0.3 + 0.5
    # E behind x'd, from the power flow.
    i = np.conj(complex(flow.p[0], flow.q[0]) / flow.voltage[0])
    e = flow.voltage[0] + 0.3j * i
    stiffness = abs(e) * np.cos(np.angle(e) - flow.angle[1]) / x
    decay = 2.0 / (4 * 3.5)
    expected = -decay + 1j * np.sqrt(stiffness * 2 * np.pi * 60 / (2 * 3.5) - decay**2)
    table = modes(system.linearise())
    swing = table[table.imag > 1].iloc[0]
    # The bus is not quite infinite: its machine is 1e4 times as large and 1e6 times as heavy.
    assert complex(swing.real, swing.imag) == pytest.approx(expected, rel=2e-4)


def test_machine_base_changes_nothing(wscc9):
    """The same machine described on twice the base: impedances doubled, inertia halved."""
    case = read_case(wscc9 / "sauer-pai.toml")
    machine = case.generators[1].devices[0]
    scaled = {k: v * 2 for k, v in machine.parameters.items() if k.startswith(("x_", "s_n"))}
    row = replace(machine, parameters={**machine.parameters, **scaled, "h": machine.parameters["h"] / 2})
    generator = replace(case.generators[1], devices=(row, *case.generators[1].devices[1:]))
    other = replace(case, generators=(case.generators[0], generator, case.generators[2]))
    expected, found = (modes(build(c).linearise()) for c in (case, other))
    assert found.imag.to_numpy()[1:] == pytest.approx(expected.imag.to_numpy()[1:], abs=1e-6)
    assert found.real.to_numpy()[1:] == pytest.approx(expected.real.to_numpy()[1:], abs=1e-6)


def plant_of(case, number):
    generator, flow = case.generators[number], power_flow(case)
    place = [bus.number for bus in case.buses].index(generator.bus)
    voltage = complex(flow.voltage[place])
    power = complex(flow.p[number], flow.q[number])
    devices = tuple(plant_devices(case, generator, voltage, power))
    return Plant(generator.name, devices, voltage, complex(np.conj(power / voltage)))


def test_plants_together_are_plants_alone(wscc9):
    case = read_case(wscc9 / "wscc9.toml")
    plants = [plant_of(case, i) for i in range(3)]
    together = solve_plants(plants)
    for plant in plants:
        for name, value in solve_plants([plant]).items():
            assert together[name] == pytest.approx(value, abs=1e-12)


def with_device(case, role, **changes):
    """The case with parameters of the second generator's device of a role changed."""
    g2 = case.generators[1]
    devices = tuple(
        replace(d, parameters={**d.parameters, **changes}) if d.role == role else d for d in g2.devices
    )
    return replace(case, generators=(case.generators[0], replace(g2, devices=devices), *case.generators[2:]))


@pytest.mark.parametrize(
    ("role", "changes", "message"),
    [
        ("exciter", {"v_r_max": 1.5}, r"AVR2\.v_r = 1\.\d+ is 0\.\d+ above v_r_max = 1\.5"),
        ("exciter", {"v_r_min": 3.0, "v_r_max": 4.0}, r"AVR2\.v_r = .* below v_r_min = 3"),
        ("governor", {"p_max": 1.5}, r"GOV2: input of a limiter = 1\.63 is 0\.13 above p_max = 1\.5"),
        ("governor", {"p_min": 1.7}, r"GOV2: input of a limiter = 1\.63 is 0\.07 below p_min = 1\.7"),
        (
            "stabiliser",
            {"v_s_max": -0.1, "v_s_min": -1.0},
            r"PSS2: input of a limiter = 0 is 0\.1 above v_s_m",
        ),
    ],
)
def test_exceeded_limit_is_named(wscc9, role, changes, message):
    with pytest.raises(InitialisationError, match="a limit is exceeded at the start: " + message):
        build(with_device(read_case(wscc9 / "wscc9.toml"), role, **changes), start_at_limits="refuse")


def test_every_exceeded_limit_is_named(wscc9):
    case = with_device(read_case(wscc9 / "wscc9.toml"), "exciter", v_r_max=1.5)
    case = with_device(case, "governor", p_max=1.5)
    message = r"2 limits are exceeded at the start: AVR2\.v_r = .*; GOV2: input .*\. Widen the limits, change"
    with pytest.raises(InitialisationError, match=message):
        build(case, start_at_limits="refuse")


@pytest.mark.parametrize("side", [0, -1, 1], ids=["at", "rounded out", "rounded in"])
@pytest.mark.parametrize(
    ("role", "limit", "variable", "named"),
    [
        ("exciter", "v_r_max", "AVR2.v_r", r"AVR2\.v_r is at v_r_max"),
        ("governor", "p_max", "GOV2.p_ref", r"GOV2: input of a limiter is at p_max"),
    ],
)
def test_start_at_a_limit_is_a_warning(wscc9, role, limit, variable, named, side):
    """The start is the one without the limit, and the linearisation is that of the inside."""
    case = read_case(wscc9 / "wscc9.toml")
    free = build(case)
    reached = free.w0[free.index(variable)] + side * 1e-12
    with pytest.warns(PsmrWarning, match="a limit is touched at the start: " + named):
        system = build(with_device(case, role, **{limit: reached}))
    assert (system.x0 <= system.upper).all()
    assert np.abs(system.w0 - free.w0).max() <= 2e-12
    assert np.abs(system.f(system.x0, system.y0)).max() <= 1e-10
    found, expected = system.linearise().jacobian(), free.linearise().jacobian()
    # The point itself is moved by 1e-12 at most.
    assert abs(found - expected).max() <= 1e-12 * abs(expected).max()


def test_run_from_a_limit_stays_at_rest(wscc9):
    case = read_case(wscc9 / "wscc9.toml")
    free = build(case)
    with pytest.warns(PsmrWarning, match="touched"):
        system = build(with_device(case, "exciter", v_r_max=free.w0[free.index("AVR2.v_r")]))
    run = simulate(system, SingleRate("TM", h=0.01), t_end=0.5)
    # Rounding: the angles of a system without a reference drift with the residual of 1e-10 at most.
    assert np.abs(run.x - system.x0).max() < 1e-9


def test_start_between_equal_limits_is_held(wscc9):
    """A limiter without room passes nothing: the modes are those of a stabiliser with no gain."""
    case = read_case(wscc9 / "wscc9.toml")
    with pytest.warns(
        PsmrWarning, match=r"2 limits .* PSS2: input of a limiter is at v_s_min = 0; PSS2: .*max"
    ):
        shut = build(with_device(case, "stabiliser", v_s_max=0.0, v_s_min=0.0))
    idle = build(with_device(case, "stabiliser", k=0.0))
    found, expected = (modes(system.linearise()) for system in (shut, idle))
    assert abs(found.real - expected.real).max() < 1e-9
    assert abs(found.imag - expected.imag).max() < 1e-9


def test_converter_above_its_current_limit_is_named(wscc9):
    case = read_case(wscc9 / "wscc9-ibr.toml")
    c1 = case.generators[2]
    low = replace(c1.devices[0], parameters={**c1.devices[0].parameters, "i_max": 0.5})
    case = replace(case, generators=(*case.generators[:2], replace(c1, devices=(low,)), case.generators[3]))
    with pytest.raises(InitialisationError, match=r"C1: input of a limiter = 0\.64\d+ is 0\.1\d+ above"):
        build(case, start_at_limits="refuse")


def test_stabiliser_with_an_output_changes_the_set_point(wscc9):
    """Set-points are solved jointly: a signal of 0.05 pu in the steady state takes 0.05 pu off v_ref."""

    class Offset(Component):
        algebraic = ("v_s",)

        @staticmethod
        def equations(m, v, p):
            return (), (0.05 - v.v_s,), ()

    case = read_case(wscc9 / "wscc9.toml")
    plant = plant_of(case, 1)
    machine, exciter, governor, _ = plant.devices
    plain = replace(exciter, connections={k: v for k, v in exciter.connections.items() if k != "v_s"})
    moved = replace(exciter, connections={**exciter.connections, "v_s": "X.v_s"})
    without = solve_plants([replace(plant, devices=(machine, plain, governor))])
    shifted = solve_plants([replace(plant, devices=(machine, moved, governor, Device("X", Offset, {})))])
    assert shifted["AVR2.v_ref"] == pytest.approx(without["AVR2.v_ref"] - 0.05, abs=1e-12)


def test_no_equilibrium_names_device_variable_and_residual():
    """A state whose derivative 1 + x^2 has no root."""

    class Stuck(Component):
        states = ("x",)
        inputs = ("v_re", "v_im", "a", "b")
        outputs = ("i_re", "i_im")

        @staticmethod
        def equations(m, v, p):
            return (1.0 + v.x**2,), (), (v.a, v.b)

    wires = {port: f"bus1.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    plant = Plant("G9", (Device("G9", Stuck, {}, wires),), 1.0 + 0.1j, 0.5 + 0.0j)
    with pytest.raises(InitialisationError, match=r"G9\.x: residual .* no equilibrium found; .* G9 for S ="):
        solve_plants([plant])


def test_too_many_set_points_are_listed():
    class Greedy(Component):
        inputs = ("v_re", "v_im", "a", "b", "c")
        outputs = ("i_re", "i_im")

        @staticmethod
        def equations(m, v, p):
            return (), (), (v.a, v.b + v.c)

    wires = {port: f"bus1.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    plant = Plant("G9", (Device("G9", Greedy, {}, wires),), 1.0 + 0.0j, 0.5 + 0.0j)
    with pytest.raises(
        InitialisationError, match=r"G9: 3 set-points \(G9\.a, G9\.b, G9\.c\) for the 2 conditions"
    ):
        solve_plants([plant])


def test_residual_is_named(wscc9):
    system = build(read_case(wscc9 / "wscc9.toml"))
    x = system.x0
    x[system.index("AVR2.v_m")] += 1e-6
    with pytest.raises(InitialisationError, match=r"AVR2\.v_m has the residual 0\.001 at the start"):
        check_residual(system.with_start(x))


def test_generator_without_dynamics_is_named():
    case = smib()
    bare = replace(case, generators=(case.generators[0], replace(case.generators[1], devices=())))
    with pytest.raises(CaseError, match=r"\(G2\): no machine and no converter"):
        build(bare)


def test_load_below_its_v_min_draws_less_and_is_named():
    """10 x I(r x) / I(r) of PSS/E's ellipse, x = 1 / 1.05, r = 1.3949: tests/devices/loads/test_loads.py."""
    case = smib()
    load = LoadRow(2, 10.0, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0), v_min=1.05)
    with pytest.warns(PsmrWarning, match=re.escape("load2 9.935 of 10 MVA at 1.000 pu")):
        build(replace(case, loads=(load,)))


def test_exciter_that_nothing_reads_is_named(wscc9):
    case = smib()
    exciter = read_case(wscc9 / "wscc9.toml").generators[0].devices[1]
    g1 = replace(case.generators[0], devices=(*case.generators[0].devices, exciter))
    with pytest.raises(CaseError, match=r"\(AVR1\): no device of G1 reads the output of ExciterType1"):
        build(replace(case, generators=(g1, case.generators[1])))


def test_bus_with_nothing_at_it_is_an_error():
    """A converter alone with its bus injects a current that no voltage can change."""
    case = Case(
        "alone",
        100.0,
        60.0,
        (BusRow(1),),
        generators=(GeneratorRow("C1", 1, "slack", v=1.0, devices=(converter(),)),),
    )
    with pytest.raises(InitialisationError, match="alone: the algebraic equations are singular at the start"):
        build(case)


def converter():
    given = {k: v for k, v in PARAMETERS[GridFollowingConverter].items() if k not in ("s_base", "f_n")}
    return DeviceRow("C1", "converter", "GridFollowingConverter", given)
