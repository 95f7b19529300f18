"""Regions with dynamics of the network: equilibrium, modes, limits, and what is refused."""

import dataclasses
import warnings

import numpy as np
import pytest

import partitioning
import psmr
from psmr.cli import main
from psmr.errors import EventError, InputError

STEADY = ("bus5.v", "line4-5.p_from", "line4-5.q_from", "transformer1-4.p_to", "L5.p", "G1.q", "C3.p")


@pytest.fixture(scope="module")
def case():
    return psmr.case("wscc9-emt")


@pytest.fixture(scope="module")
def phasors(case):
    return psmr.build(case, loads="impedance")


@pytest.fixture(scope="module")
def full(case):
    return psmr.build(case, loads="impedance", dynamic=psmr.Region("all"))


def spectrum(system):
    return np.linalg.eigvals(system.linearise().state_matrix())


def nearest(values, wanted):
    return values[abs(values - wanted).argmin()]


def stored(system, storage, devices=None):
    """Return a system whose network elements have a part of their storage."""
    parameters = [matrix.copy() for matrix in system.parameters]
    for device in system.devices:
        if "storage" in device.parameters and (devices is None or device.name in devices):
            group, row, column = system.parameter_place(device.name, "storage")
            parameters[group][row, column] = storage
    return dataclasses.replace(system, parameters=tuple(parameters))


REGIONS = (
    psmr.Region("all"),
    psmr.Region("all", stator_speed=False, sections=3),
    psmr.Region("all", zero_sequence=True),
    psmr.Region((3, 9)),
    psmr.Region(3, within=2, zero_sequence=True),
    psmr.Region(4, loads=False, stators=False, sections=2),
    psmr.Region(devices=("G1", "load5", "line4-5")),
)


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_equilibrium_and_flows_are_those_of_the_phasors(case, phasors, region):
    system = psmr.build(case, loads="impedance", dynamic=region)
    assert np.abs(np.r_[system.f(system.x0, system.y0), system.g(system.x0, system.y0)]).max() < 1e-9
    runs = [psmr.simulate(s, psmr.VariableStep(1e-6), 0.02, certify=False) for s in (phasors, system)]
    names = [name for name in STEADY if name in runs[0].signals]
    assert len(names) > 4
    before, after = (run.at(np.array([0.0, 0.01]), names).to_numpy() for run in runs)
    assert np.allclose(before, after, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("region", REGIONS, ids=str)
def test_jacobian_of_a_region_is_the_difference_of_residuals(case, region):
    system = psmr.build(case, loads="impedance", dynamic=region)
    rng = np.random.default_rng(3)
    n = system.n + system.m
    w = system.w0.copy()
    w[:n] += 0.02 * rng.standard_normal(n)
    step = 1e-6
    columns = []
    for k in range(n):
        up, down = w.copy(), w.copy()
        up[k] += step
        down[k] -= step
        columns.append((system.residual(up) - system.residual(down)) / (2 * step))
    jacobian = system.jacobian(w).toarray()
    # Central differences with 1e-6: 1e-12 of third derivatives, and 1e-10 of the values by rounding.
    scale = np.maximum(1.0, np.abs(jacobian).max(axis=1))[:, None]
    assert (np.abs(jacobian - np.array(columns).T) < 1e-6 * scale).all()


def test_modes_of_the_whole_network_are_those_of_equations_written_otherwise(full):
    """From a prototype with relaxed junctions (sum of di/dt / w0 + kappa i = 0) in place of exact ones."""
    found = spectrum(full)
    for wanted in (-0.231 + 8.601j, -0.241 + 1.234j, -18.57 + 2.29j):
        assert abs(nearest(found, wanted) - wanted) < 0.01  # two or three decimals are known
    for wanted in (-38.2 + 16.7j, -233, -232 + 511j, -351 + 1036j, -2584 + 6890j, -2504 + 7245j):
        assert abs(nearest(found, wanted) - wanted) < 2e-3 * abs(wanted)
    # No mode of a relaxation or of a capacitance that is not there: 966 Hz is the fastest of the lines.
    own = found[(abs(found) > 3000) & (found.real > -1000)]
    assert abs(own).max() < 2 * np.pi * 970
    assert found.real.max() < 1e-6


def test_without_storage_the_network_is_the_one_of_phasors(case, phasors):
    full = psmr.build(case, loads="impedance", dynamic=psmr.Region("all", stator_speed=False))
    slow = spectrum(phasors)
    found = spectrum(stored(full, 1e-5))
    # What is left of the network's own storage, and rounding beside eigenvalues of 1e9 1/s.
    for mode in slow[abs(slow) > 0.1]:
        assert abs(nearest(found, mode) - mode) < 5e-5 * max(abs(mode), 1.0), mode


def test_sections_move_resonances_and_leave_what_is_slow(case, full):
    five = psmr.build(case, loads="impedance", dynamic=psmr.Region("all", sections=5))
    one, several = spectrum(full), spectrum(five)
    slow = one[(abs(one) < 300) & (abs(one) > 1e-2)]
    assert all(abs(nearest(several, mode) - mode) < 2e-3 * abs(mode) for mode in slow)
    assert np.abs(several.imag).max() > 3 * np.abs(one.imag).max()


def test_a_line_of_many_sections_has_the_frequencies_of_a_wave():
    """Quarter-wave resonance of an open line: half the sections' error falls with their square."""
    w_0 = 2 * np.pi * 60
    line = {"from": 1, "to": 2, "x": 0.3, "b": 0.6, "r": 0.0}
    machine = {"type": "ClassicalMachine", "s_n": 1e6, "h": 1e6, "d": 0.0, "x_d1": 1e-3}
    found = []
    for sections in (5, 10, 20):
        made = psmr.make_case(
            "open line",
            base_mva=100.0,
            frequency_hz=60.0,
            buses=[{"number": 1}, {"number": 2}],
            lines=[line],
            generators=[{"name": "G", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
        )
        system = psmr.build(made, dynamic=psmr.Region(devices=("line1-2", "bus2"), sections=sections))
        e = spectrum(system)
        e = e[e.imag > w_0]
        found.append(e[abs(e).argmin()].imag + w_0)
    # The equivalent sections keep 60 Hz exactly; the line is sqrt(x b) = 0.424 rad long at 60 Hz.
    x, b = 0.3, 0.6
    theta = np.arccos(1 - x * b / 2)
    exact = w_0 * (np.pi / 2 / theta)
    errors = [abs(value - exact) for value in found]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[2] < 2e-3 * exact


def test_fault_and_trip_run_and_end_where_phasors_end(full, phasors):
    events = [psmr.Fault(5, 0.1, 0.15, r=0.01, x=0.0)]
    runs = [psmr.simulate(s, psmr.VariableStep(1e-5), 0.4, events, certify=False) for s in (full, phasors)]
    speeds = [run.at(np.array([0.4]), ["G1.omega", "G2.omega"]).to_numpy() for run in runs]
    assert np.abs(speeds[0] - speeds[1]).max() < 1.5e-3
    during = runs[0].at(np.array([0.14]), ["bus5.v"]).to_numpy()[0, 0]
    assert during < 0.1


def test_an_opened_line_has_no_current_and_starts_without_when_it_closes(full):
    run = psmr.simulate(full, psmr.VariableStep(1e-6), 0.3, [psmr.LineTrip("4-5", 0.1, 0.2)], certify=False)
    names = ["line4-5.i_re", "line4-5.i_im", "bus4.b", "bus5.b"]
    before, open_, end = run.at(np.array([0.05, 0.15, 0.29]), names).to_numpy()
    assert np.hypot(*open_[:2]) < 1e-12
    assert before[2] - open_[2] == pytest.approx(0.176 / 2)  # half the line's charging leaves each bus
    assert before[3] - open_[3] == pytest.approx(0.176 / 2)
    assert np.allclose(end[2:], before[2:])
    again = run.frame(names[:2])
    just = again[(again.index >= 0.2)].iloc[1]
    assert np.hypot(*just) < 0.01
    assert np.hypot(*end[:2]) > 0.1


def test_a_generator_trip_at_a_junction_ends_the_transformers_current(full):
    run = psmr.simulate(full, psmr.VariableStep(1e-5), 0.2, [psmr.GeneratorTrip("G2", 0.1)], certify=False)
    i = run.at(np.array([0.05, 0.15]), ["transformer2-7.i_from"]).to_numpy().ravel()
    assert i[0] > 1
    assert i[1] < 1e-9


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (psmr.Fault(5, 0.1, 0.2, r=0.01, x=-0.1), "x < 0, is a capacitance .* give it x >= 0"),
        (psmr.Fault(3, 0.1, 0.2, r=0.01, x=0.0), "bus3 has no capacitance"),
        (psmr.LineTrip("3-9", 0.1), "transformer3-9 is at bus3"),
        (psmr.Fault(5, 0.1, 0.2, r=0.01, x=0.0, phases="ag"), "without a zero sequence"),
        (psmr.Fault(5, 0.1, 0.2, r=0.01, x=-0.1, phases="bc"), "x must be >= 0"),
        (psmr.Fault(line="4-5", at=0.5, start=0.1, clear=0.2), "line4-5 has its own dynamics"),
        (psmr.OpenPhases("4-5", 0.1), "zero_sequence=True"),
        (psmr.OpenPhases("3-9", 0.1), "transformer3-9 is no line, of which alone phases open"),
        (psmr.Fault(line="3-9", at=0.5, start=0.1, clear=0.2), "transformer3-9 is no line with a length"),
        (psmr.ParameterStep("line4-5", "x", -0.1, 0.1), "line4-5.x = -0.1: .* grow without bound"),
    ],
)
def test_what_an_element_with_dynamics_cannot_do_is_refused_before_the_run(full, event, words):
    with pytest.raises(EventError, match=words):
        psmr.simulate(full, psmr.VariableStep(1e-4), 0.4, [event])


def test_steps_that_take_the_charging_of_all_lines_of_a_bus_are_refused_before_the_run(full):
    steps = [psmr.ParameterStep(line, "b", 0.0, 0.1) for line in ("line4-5", "line5-7")]
    psmr.simulate(full, psmr.VariableStep(1e-3), 0.11, steps[:1], certify=False)
    with pytest.raises(EventError, match="leaves bus5, which has its own dynamics, without capacitance"):
        psmr.simulate(full, psmr.VariableStep(1e-4), 0.2, steps)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ({"buses": (33,)}, "no bus 33"),
        ({"devices": ("line4-55",)}, "line4-5"),
        ({"devices": ("C3",)}, "FilteredConverter has no dynamics that a phasor network leaves out"),
        ({}, "names no bus and no device"),
        ({"buses": 5.0}, r"write \[bus\] for a single one"),
        ({"buses": 3, "within": -1}, "within = -1"),
        ({"buses": 3, "sections": 0}, "sections = 0"),
    ],
)
def test_a_region_that_cannot_be_is_refused_by_name(case, region, words):
    with pytest.raises(InputError, match=words):
        psmr.build(case, dynamic=psmr.Region(**region))


def test_a_constant_power_between_dynamic_branches_without_charging_is_refused(case):
    lines = case.tables["lines"]
    bare = case.edit(lines=lines.assign(b=0.0))
    with pytest.raises(InputError, match=r"bus5 has no charging, and load5 .* undetermined"):
        psmr.build(bare, loads="power", dynamic=psmr.Region(5))


RING = """format = "psmr-case"
version = 1
name = "ring"
base_mva = 100.0
frequency_hz = 60.0
bus = [{ number = 1 }, { number = 2 }]
load = [{ bus = 2, p_mw = 40.0, q_mvar = 10.0, model = "impedance" }]
line = [{ from = 1, to = 2, x = 0.1 }, { from = 1, to = 2, x = 0.1, circuit = 2 }]
[[generator]]
name = "grid"
bus = 1
control = "slack"
v = 1.0
machine = { type = "InfiniteBus", s_n = 100.0, x_d1 = 0.05 }
"""


def test_a_ring_of_buses_without_capacitance_is_refused(tmp_path):
    (tmp_path / "ring.toml").write_text(RING)
    with pytest.raises(InputError, match=r"nothing determines the voltages of bus.*capacitance"):
        psmr.build(psmr.read_case(tmp_path / "ring.toml"), dynamic=psmr.Region("all"))


def test_loads_of_constant_power_at_buses_with_capacitance_are_named(case):
    with pytest.warns(psmr.errors.PsmrWarning, match="load5"):
        psmr.build(case, loads="power", dynamic=psmr.Region(5))


def test_a_run_with_a_region_is_saved_and_read(full, tmp_path):
    run = psmr.simulate(full, psmr.VariableStep(1e-4), 0.11, [psmr.LineTrip("4-5", 0.1)], certify=False)
    run.save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr")
    assert np.array_equal(again.x, run.x)
    assert again.changes == run.changes
    assert ("line4-5.i_re", 0.0) in again.changes[0].states
    assert np.array_equal(again["line5-7.p_from"], run["line5-7.p_from"])


def test_a_system_with_a_region_can_be_pickled(full):
    import pickle

    again = pickle.loads(pickle.dumps(full))
    assert np.array_equal(again.residual(again.w0), full.residual(full.w0))


def test_an_event_outside_the_region_is_warned_of(case):
    system = psmr.build(case, loads="impedance", dynamic=psmr.Region((3, 9)))
    with pytest.warns(psmr.errors.PsmrWarning, match="fault at bus5 .* outside the region"):
        psmr.simulate(system, psmr.VariableStep(1e-4), 0.2, [psmr.Fault(5, 0.1, 0.15)], certify=False)


STUDY = """
format = "psmr-study"
version = 1
case = "wscc9-emt"
loads = "impedance"

[dynamic]
{region}

[simulation]
t_end = 0.01
"""


def test_a_study_file_names_a_region(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region='buses = [3, 9]\ndevices = ["G1"]\nstator_speed = false'))
    study = psmr.read_study(path)
    assert study.case.dynamic == psmr.Region((3, 9), devices=("G1",), stator_speed=False)
    assert main(["run", str(path), "-o", str(tmp_path / "out"), "--signals", "bus9.b", "G1.psi_d"]) == 0
    assert "G1.psi_d" in (tmp_path / "out" / "run.csv").read_text().partition("\n")[0]


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("within = 2", r"study.toml:7 .*names no bus"),
        ("buses = 3\nwithin = -2", r"study.toml:7 .*within = -2"),
        ("bus = 3", r"study.toml:8 .*no field 'bus'"),
        ("buses = 3\nsections = 1.5", r"study.toml:9 .*sections = 1.5"),
    ],
)
def test_a_wrong_region_in_a_study_is_named_with_its_line(tmp_path, region, words):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region=region))
    with pytest.raises(psmr.errors.StudyError, match=words):
        psmr.read_study(path)


def test_sources_behind_an_impedance_carry_its_current():
    """Short circuit of a machine at no load: E / z, with a DC offset that decays with r and x."""
    machine = {"type": "ClassicalMachine", "s_n": 100.0, "h": 1e6, "d": 0.0, "x_d1": 0.2, "r_a": 0.01}
    made = psmr.make_case(
        "short circuit",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": 1}],
        shunts=[{"bus": 1, "b_mvar": 1e-3}],
        generators=[{"name": "G", "bus": 1, "control": "slack", "v": 1.0, "machine": machine}],
    )
    system = psmr.build(made, dynamic=psmr.Region("all"))
    run = psmr.simulate(
        system, psmr.VariableStep(1e-8), 0.05, [psmr.Fault(1, 0.01, 0.04, r=1e-4, x=0.0)], certify=False
    )
    t = np.linspace(0.011, 0.039, 60)
    found = run.at(t, ["G.i_l_re", "G.i_l_im"]).to_numpy() @ [1, 1j]
    w, z = 2 * np.pi * 60, 0.0101 + 0.2j
    since = t - 0.01
    exact = 1 / z * (1 - np.exp(-(z.real / z.imag + 1j) * w * since))
    assert np.abs(found - exact).max() < 1e-4


def test_unequal_phases_beside_phasors_are_warned_of(case):
    system = psmr.build(case, loads="impedance", dynamic=psmr.Region((3, 9)))
    event = psmr.Fault(9, 0.001, 0.002, r=0.1, x=0.0, phases="bc")
    with pytest.warns(psmr.errors.PsmrWarning, match="phases are unequal in a region beside phasors"):
        psmr.simulate(system, psmr.VariableStep(1e-4), 0.003, [event], certify=False)


def test_check_looks_at_the_region(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region='devices = ["C3"]'))
    assert main(["check", str(path)]) == 1
    assert "C3: FilteredConverter has no dynamics that a phasor network leaves out" in capsys.readouterr().out
    report = psmr.check(psmr.case("wscc9"), dynamic=psmr.Region("all"))
    assert report.good
    assert report.modes.looked_at == report.system.n > 60


def test_a_line_out_of_service_comes_with_its_buses_and_has_no_current(case):
    opened = case.edit({"line4-5.status": 0})
    system = psmr.build(opened, loads="impedance", dynamic=psmr.Region(4))
    assert system.x0[system.index("line4-5.i_re")] == 0.0
    assert system.y0[system.index("bus4.b") - system.n] == pytest.approx(0.158 / 2)
    assert np.abs(np.r_[system.f(system.x0, system.y0), system.g(system.x0, system.y0)]).max() < 1e-9


def test_an_unbalance_outside_the_region_is_refused(case):
    system = psmr.build(case, loads="impedance", dynamic=psmr.Region((3, 9)))
    event = psmr.Fault(5, 0.1, 0.2, r=0.01, x=0.0, phases="bc")
    with pytest.raises(EventError, match="an unbalance at bus5, a phasor beside a region"):
        psmr.simulate(system, psmr.VariableStep(1e-4), 0.4, [event])


def test_a_bolted_fault_that_the_trapezoidal_rule_leaves_swinging_is_warned_of(full):
    # b of the lines 4-5 and 5-7: 0.088 + 0.153; tau = b r / w0; TM multiplies by (1 - z / 2) / (1 + z / 2).
    fault = psmr.Fault(5, 0.01, 0.019, r=0.001, x=0.0)
    words = r"bus5 have a time constant of 6\.4e-07 s, and TM with h = 0\.0001 s .* for 18 ms"
    with pytest.warns(psmr.errors.PsmrWarning, match=words):
        run = psmr.simulate(full, psmr.SingleRate("TM", 1e-4, damped=False), 0.02, [fault])
    v = run.at(np.array([0.012, 0.0121]), ["bus5.v_re"]).to_numpy().ravel()
    assert v[0] * v[1] < 0
    assert np.abs(v).min() > 0.3
    assert run.judgement.colour == "amber"
    assert any("leaves the voltage there swinging" in reason for reason in run.judgement.reasons)


@pytest.mark.parametrize(
    "scheme",
    [
        psmr.SingleRate("TM", 1e-4),
        psmr.SingleRate("TM", 2e-5, damped=False),
        psmr.SingleRate("SDIRK2", 1e-4),
        psmr.VariableStep(1e-4),
    ],
)
def test_a_bolted_fault_is_near_zero_where_nothing_warns(full, scheme):
    fault = psmr.Fault(5, 0.01, 0.019, r=0.001, x=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = psmr.simulate(full, scheme, 0.02, [fault], certify=False)
    assert run.at(np.linspace(0.0125, 0.0189, 50), ["bus5.v"]).to_numpy().max() < 0.02


def test_two_half_steps_of_backward_euler_after_an_event_make_it_as_exact_as_the_step_allows(full):
    """Against steps by error: the voltage of a bolted fault, which the rule alone leaves at 0.9 pu."""
    fault = psmr.Fault(5, 0.01, 0.019, r=0.001, x=0.0)
    times = np.linspace(0.0103, 0.0189, 87)
    reference = psmr.simulate(full, psmr.VariableStep(1e-7), 0.02, [fault], certify=False)
    wanted = reference.at(times, ["bus5.v_re", "line4-5.i_re"]).to_numpy()
    errors = {}
    for damped in (True, False):
        scheme = psmr.SingleRate("TM", 2e-5, damped=damped)
        run = psmr.simulate(full, scheme, 0.02, [fault], certify=False)
        errors[damped] = np.abs(run.at(times, ["bus5.v_re", "line4-5.i_re"]).to_numpy() - wanted).max(axis=0)
    assert errors[True][0] < 0.01 < 0.1 < errors[False][0]
    assert errors[True][1] < 1.02 * errors[False][1]


def test_damped_steps_are_said_and_are_for_the_trapezoidal_rule(full, case):
    tm = psmr.SingleRate("TM", 1e-4)
    assert "damped after events" in str(psmr.simulate(full, tm, 0.01, certify=False).scheme)
    assert "First step after an event: implicit stage, half, at t + 0.5 h" in str(psmr.explain(full, tm))
    phasors = psmr.build(case, loads="impedance")
    assert psmr.simulate(phasors, tm, 0.01, certify=False).scheme == tm
    with pytest.raises(psmr.errors.SchemeError, match="is for method = 'TM'; leave it out with BEM"):
        psmr.SingleRate("BEM", 1e-4, damped=True)


def test_transformers_with_dynamics_are_drawn_as_transformers(full):
    figure = psmr.one_line(full, partitioning.by_participation(full.linearise(), delta=100.0))
    empty = [patch for patch in figure.axes[0].patches if patch.get_facecolor()[3] == 0.0]
    assert len(empty) == 2 * 3  # two circles each


def test_a_part_without_a_source_keeps_its_charge(wscc9, tmp_path):
    """A capacitance's voltage is continuous (i = C dv/dt), and is lost in the load that is left with it."""
    text = (wscc9 / "wscc9.toml").read_text() + "\n[[shunt]]\nbus = 5\nb_mvar = 20.0\n"
    (tmp_path / "c.toml").write_text(text)
    system = psmr.build(psmr.read_case(tmp_path / "c.toml"), dynamic=psmr.Region("all"))
    events = [psmr.LineTrip("4-5", 0.002, at_zero=False), psmr.LineTrip("5-7", 0.004, at_zero=False)]
    run = psmr.simulate(system, psmr.SingleRate("TM", h=5e-5), 0.06, events, certify=False)
    before, after = (float(run.at(0.004, "bus5.v", side=side).iloc[0, 0]) for side in ("before", "after"))
    assert after == pytest.approx(before, rel=1e-12)
    assert after > 0.5
    assert float(run["bus5.v"].iloc[-1]) < 1e-6
    assert run.outcome.interruptions == ()
