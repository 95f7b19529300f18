"""What a run has for its events in a region: currents of faults through an inductance, and poles."""

import dataclasses
import zipfile

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import EventError, PsmrWarning
from tests.network.dynamic.phase_equations import FIVE, made

STATES = ["bus5_fault_abc.i_l_re", "bus5_fault_abc.i_l_im"]
FAULT = psmr.Fault(5, 0.01, 0.03, r=0.01, x=0.05)


@pytest.fixture(scope="module")
def full():
    return psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=psmr.Region("all"))


def test_the_current_begins_at_zero_and_is_that_of_a_resistance_and_an_inductance(full):
    run = psmr.simulate(full, psmr.VariableStep(1e-7), 0.04, [FAULT])
    assert list(run.names_x[full.n :]) == STATES
    i = run.x[:, full.n] + 1j * run.x[:, full.n + 1]
    t, v = run.t, run["bus5.v_re"].to_numpy() + 1j * run["bus5.v_im"].to_numpy()
    on = (t >= 0.01) & (t <= 0.03)
    assert np.all(i[t < 0.01] == 0)
    assert np.all(i[t > 0.03] == 0)
    begin, end = np.flatnonzero(np.diff(t) == 0)
    assert i[begin + 1] == 0
    assert abs(i[end]) > 5
    # (x / w0) di/dt = v - (r + j x) i, integrated by the trapezoidal rule over the run's own points.
    w0 = 2 * np.pi * 60
    rate = (v - complex(0.01, 0.05) * i) * w0 / 0.05
    inside = slice(begin + 1, end + 1)
    steps = np.diff(t[inside]) * (rate[inside][1:] + rate[inside][:-1]) / 2
    assert abs(i[end] - steps.sum()) < 1e-3 * np.abs(i).max()
    assert on.sum() > 20


def test_the_certificate_before_the_fault_does_not_know_its_current(full, tmp_path):
    scheme = psmr.SingleRate("TM", h=1e-4)
    with_it = psmr.simulate(full, scheme, 0.04, [FAULT])
    without = psmr.simulate(full, scheme, 0.04)
    assert with_it.certificate == without.certificate
    assert with_it.certificate_after is None  # the fault is gone, all is as before
    judged = psmr.simulate(full, psmr.VariableStep(1e-5), 0.04, [FAULT])
    assert len(judged.certificate.report.table) == len(without.certificate.report.table)
    judged.to_html(tmp_path / "run.html")
    with_it.to_html(tmp_path / "two.html")
    for page in ("run.html", "two.html"):
        text = (tmp_path / page).read_text()
        assert "dominant" in text
        assert "bus5_fault_abc" not in text


def test_a_fault_that_stays_is_in_the_system_at_the_end(full):
    stays = psmr.Fault(5, 0.01, permanent=True, r=0.01, x=0.05)
    run = psmr.simulate(full, psmr.VariableStep(1e-5), 0.04, [stays], certify=False)
    assert set(STATES) <= set(run.linearise(0.04).names_x)
    assert not set(STATES) & set(run.linearise(0.005).names_x)


def test_at_two_rates_its_current_is_fast(full):
    fast = [d.name for d in full.devices if not d.name.startswith(("AVR", "EX", "GOV", "TG"))]
    split = partitioning.by_device(full.linearise(), fast=fast)
    assert 0 < split.fast_x.sum() < split.n
    scheme = psmr.Multirate(split, h_slow=2e-4, ratio=4, predictor="extrapolation")
    run = psmr.simulate(full, scheme, 0.035, [FAULT], certify=False)
    alike = psmr.simulate(full, psmr.SingleRate("TM", h=5e-5, damped=False), 0.035, [FAULT], certify=False)
    assert set(STATES) <= set(run.scheme.split.fast)
    t = np.linspace(0, 0.03, 31)[1:-1]  # macro points
    assert np.abs(run.at(t, STATES).to_numpy() - alike.at(t, STATES).to_numpy()).max() < 1e-4


def test_faults_of_a_bus_follow_each_other_and_may_wait_for_a_condition(full):
    second = psmr.Fault(5, 0.04, 0.05, r=0.02, x=0.1)
    between = psmr.When("line5-7.i_from > 0.1 for 0.06 s", psmr.Fault(5, 0.0, 0.01, r=0.01, phases="bc"))
    run = psmr.simulate(full, psmr.VariableStep(1e-4), 0.1, [FAULT, second, between], certify=False)
    on = np.abs(run.frame([*STATES, "bus5_fault_bc.i_bc"]).to_numpy()) > 0
    t = run.t
    for k, spans in ((0, [(0.01, 0.03), (0.04, 0.05)]), (2, [(0.06, 0.07)])):
        inside = np.any([(t > a + 1e-9) & (t < b - 1e-9) for a, b in spans], axis=0)
        outside = np.all([(t < a - 1e-9) | (t > b + 1e-9) for a, b in spans], axis=0)
        assert np.all(on[inside, k])
        assert not np.any(on[outside, k])


def test_a_run_goes_on_from_a_point_of_the_system_without_it(full):
    run = psmr.simulate(
        full, psmr.VariableStep(1e-5), 0.035, [FAULT], start=(full.x0, full.y0), certify=False
    )
    assert np.all(np.isfinite(run.x))
    assert run.x.shape[1] == full.n + 2


def test_a_run_with_such_a_fault_is_saved_and_read(full, tmp_path):
    run = psmr.simulate(full, psmr.VariableStep(1e-4), 0.04, [FAULT], certify=False)
    run.save(tmp_path / "run.psmr")
    again = psmr.load_run(tmp_path / "run.psmr")
    np.testing.assert_array_equal(again.x, run.x)
    assert again.system.names_x == run.system.names_x


def test_a_bolted_one_that_swings_with_the_capacitance_is_warned_of(full):
    words = r"0.0001 pu, and the capacitance of bus5 oscillate at 12 kHz, which r = 0 pu .* r = 0.0012"
    with pytest.warns(PsmrWarning, match=words):
        psmr.simulate(full, psmr.VariableStep(1e-3), 0.011, [psmr.Fault(5, 0.01, permanent=True)])


def test_at_zero_needs_phases(full):
    with pytest.raises(EventError, match="bus5 has no phases of its own"):
        psmr.simulate(full, t_end=0.1, events=[psmr.Fault(5, 0.01, 0.03, r=0.01, x=0.05, at_zero=True)])


@pytest.fixture(scope="module")
def phases():
    grid = {**FIVE, "grounded": (3,)}
    return psmr.build(made(**grid), dynamic=psmr.Region("all", zero_sequence=True))


def test_poles_belong_to_the_run_that_opens_something(phases, tmp_path):
    assert not any(".u_" in name for name in phases.names_y)
    trip = psmr.LineTrip("1-2", 0.01)
    run = psmr.simulate(phases, psmr.VariableStep(1e-5), 0.04, [trip], certify=False)
    assert {name.partition(".")[0] for name in run.system.names_y if ".u_" in name} == {"line1-2"}
    at_once = psmr.simulate(
        phases,
        psmr.VariableStep(1e-5),
        0.04,
        [psmr.LineTrip("1-2", 0.01, at_zero=False)],
        start=(phases.x0, phases.y0),
        certify=False,
    )
    assert at_once.system.names_y == phases.names_y
    again = psmr.simulate(
        phases, psmr.VariableStep(1e-5), 0.04, [trip], start=(phases.x0, phases.y0), certify=False
    )
    np.testing.assert_array_equal(again.x, run.x)
    run.save(tmp_path / "run.psmr")
    assert psmr.load_run(tmp_path / "run.psmr").system.names_y == run.system.names_y
    # A file from before the function that makes such elements was named anew.
    with zipfile.ZipFile(tmp_path / "run.psmr") as file, zipfile.ZipFile(tmp_path / "x.psmr", "w") as earlier:
        for name in file.namelist():
            data = file.read(name)
            assert name != "run.json" or b'"with_breaker_poles"' in data
            earlier.writestr(name, data.replace(b'"with_breaker_poles"', b'"with_poles"'))
    assert psmr.load_run(tmp_path / "x.psmr").system.names_y == run.system.names_y


def test_jacobian_with_open_poles_is_the_difference_of_residuals(phases):
    opened = [psmr.OpenPhases(name, 0.001, "ab") for name in ("1-2", "2-4")]
    run = psmr.simulate(phases, psmr.VariableStep(1e-4), 0.02, [*opened, psmr.LoadTrip(3, 0.018, 1.0)])
    system = dataclasses.replace(run.system, parameters=run.spans[-1].parameters)
    assert sum("open" in label for _, label in run.instants) > 2
    w = system.buffer(run.x[-1], run.y[-1], t=0.02)
    jacobian, step = system.jacobian(w).toarray(), 1e-6
    for k in range(system.n + system.m):
        up, down = w.copy(), w.copy()
        up[k] += step
        down[k] -= step
        column = (system.residual(up) - system.residual(down)) / (2 * step)
        assert np.abs(jacobian[:, k] - column).max() < 1e-6 * max(1.0, np.abs(jacobian).max())


def test_a_whole_load_opens_at_zeros_and_comes_back(phases):
    trip = psmr.LoadTrip(3, 0.01, 1.0, reconnect=0.05)
    run = psmr.simulate(phases, psmr.VariableStep(1e-6), 0.2, [trip], certify=False)
    assert [label for _, label in run.instants][1:4] == [
        "load3: a phase opened at the zero of its current"
    ] * 3
    p = run.at(np.array([0.005, 0.04, 0.19]), ["load3.p"]).to_numpy().ravel()
    assert p[1] == 0
    assert p[2] == pytest.approx(p[0], rel=1e-3)
    part = psmr.LoadTrip(2, 0.01, 0.5)
    half = psmr.simulate(phases, psmr.VariableStep(1e-6), 0.02, [part], certify=False)
    assert half.instants == ((0.01, "50 % of the load at bus2 trips"),)
