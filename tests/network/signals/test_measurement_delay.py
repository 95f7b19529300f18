"""Delays of measurements in WSCC-9: against the method of steps with scipy, and the modes against runs."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.sparse.linalg import splu

import partitioning
import psmr
from psmr.cli import main
from psmr.errors import InputError, StudyError
from tests.internals import Change, LineRow, chain, integrate, load_system

TAU_V, TAU_OMEGA = 0.031, 0.12


SIGNALS = (("AVR", "v"), ("PSS", "omega"))


@pytest.fixture(scope="module")
def plain():
    return psmr.build(psmr.case("wscc9"))


@pytest.fixture(scope="module")
def delayed(plain):
    """The exciter of G2 measures late, and the stabiliser of G3 has its speed over a slow channel."""
    return psmr.with_delays(plain, {"AVR2.v": TAU_V, "PSS3.omega": TAU_OMEGA})


def test_the_equilibrium_stays(plain, delayed):
    assert [delayed.names_u[d.input - delayed.n - delayed.m] for d in delayed.delays] == [
        "AVR2.v_re", "AVR2.v_im", "PSS3.omega"
    ]  # fmt: skip
    np.testing.assert_array_equal(delayed.x0, plain.x0)
    np.testing.assert_array_equal(delayed.y0, plain.y0)
    back = psmr.with_delays(delayed, {"AVR2.v": 0.0, "PSS3.omega": 0.0})
    assert back.names_u == plain.names_u
    np.testing.assert_array_equal(back.w0, plain.w0)


def by_method_of_steps(system, w, end):
    """Return x(t) from the buffer w on: DOP853 at 1e-10 over parts of the shortest delay.

    Its Newton's method for the network, its past and its steps are its own; f and g are those of the system.
    """
    n, size = system.n, system.n + system.m
    lu = splu(system.jacobian(w)[n:size, n:size].tocsc())
    before = w[:size].copy()
    parts = []

    def point(t):
        """The whole (x, y) at a time that is known."""
        if t <= 0.0:
            return before
        return solved(t, parts[min(int(t / TAU_V), len(parts) - 1)](t))

    def buffer(t, x):
        found = w.copy()
        found[:n], found[-1] = x, t
        for delay in system.delays:
            if delay.source < n:
                late = t - delay.tau
                past = before if late <= 0.0 else parts[min(int(late / TAU_V), len(parts) - 1)](late)
                found[delay.input] = past[delay.source]
        return found

    def network(found):
        for _ in range(30):
            step = lu.solve(system.residual(found)[n:])
            found[n:size] -= step
            if abs(step).max() < 1e-13:
                return found
        raise AssertionError("the network has not converged")

    def solved(t, x):  # no algebraic equation of this system reads anything late
        return network(buffer(t, x))[:size]

    def rate(t, x):
        found = network(buffer(t, x))
        late = solved(t - TAU_V, parts[-1](t - TAU_V)) if t > TAU_V and parts else before
        for delay in system.delays:
            if delay.source >= n:
                found[delay.input] = late[delay.source]
        return system.residual(found)[:n]

    x, t = w[:n], 0.0
    while t < end:
        part = solve_ivp(rate, (t, t + TAU_V), x, "DOP853", rtol=1e-10, atol=1e-12, dense_output=True)
        parts.append(part.sol)
        t, x = t + TAU_V, part.y[:, -1]
    return lambda times: np.array([parts[min(int(s / TAU_V), len(parts) - 1)](s) for s in times])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "allowed"), [(psmr.VariableStep(1e-7), 1e-6), (psmr.SingleRate("TM", 0.001), 3e-6)]
)
def test_a_study_against_the_method_of_steps(delayed, scheme, allowed):
    reference = delayed.w0[delayed.index("AVR2.v_ref")]
    change = Change(
        0.0,
        inputs=(
            ("AVR2.v_ref", reference + 0.02),
            ("GOV3.p_ref", delayed.w0[delayed.index("GOV3.p_ref")] * 0.9),
        ),
    )
    run = integrate(delayed, scheme, 0.6, [change])
    w = delayed.w0.copy()
    for name, value in change.inputs:
        w[delayed.index(name)] = value
    exact = by_method_of_steps(delayed, w, 0.6)(run.t)
    assert abs(run.x - run.x[0]).max() > 0.1
    np.testing.assert_allclose(run.x, exact, rtol=0, atol=allowed * max(1.0, abs(run.x - run.x[0]).max()))


def test_its_modes_are_roots_of_the_characteristic_equation(delayed):
    linear = delayed.linearise()
    table = psmr.modes(linear)
    n, size = linear.n, linear.n + linear.m
    mass = np.diag(np.repeat([1.0, 0.0], [n, size - n]))
    swing = table[table["pair"] & (table["imag"] < 30)]
    assert len(swing) >= 5
    for s in swing["real"] + 1j * swing["imag"]:
        matrix = s * mass - linear.jacobian_at_once().toarray() - linear.delays.at(s).toarray()
        values = np.linalg.svd(matrix, compute_uv=False)
        assert values[-1] < 1e-12 * values[0]
    # A common angle of all machines is no mode of its own with delays either.
    assert (table["real"] == 0.0).sum() == 1


def test_the_deformation_of_a_scheme(delayed):
    linear = delayed.linearise()
    table = psmr.modes(linear)
    off = []
    for h in (0.01, 0.005):
        report = psmr.deformation(linear, psmr.SingleRate("TM", h))
        assert report.stable
        dominant = report.dominant
        near = table[table["pair"]].iloc[0]
        assert (dominant["real"], dominant["imag"]) == pytest.approx((near["real"], near["imag"]), rel=1e-9)
        off.append(dominant["relative_deformation"])
    # (s h)^2 / 12 of the trapezoidal rule, and what the lines of the past add.
    assert off[0] == pytest.approx((8.37 * 0.01) ** 2 / 12, rel=0.1)
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)


def test_a_saved_run_has_its_delays(delayed, tmp_path):
    events = [psmr.Fault(bus=7, start=0.05, clear=0.1)]
    run = psmr.simulate(delayed, psmr.SingleRate("TM", 0.01), 0.2, events=events, certify=False)
    run.save(tmp_path / "run.psmr")
    back = psmr.load_run(tmp_path / "run.psmr")
    assert back.system.delays == delayed.delays
    np.testing.assert_array_equal(back.linearise(0.15).delays.tau, [TAU_V, TAU_V, TAU_OMEGA])


STUDY = """format = "psmr-study"
version = 1
case = "wscc9"
[delays]
"{name}" = {tau}
"""


def test_a_study_file_names_delays(tmp_path):
    path = tmp_path / "late.toml"
    path.write_text(STUDY.format(name="AVR2.v", tau=0.03))
    system = load_system(psmr.read_study(path).case)
    assert [d.tau for d in system.delays] == [0.03, 0.03]
    for name, tau, words in (
        ("AVR2.v", -0.03, r"late\.toml:5 \[delays\]: AVR2\.v = -0\.03: must be a finite time in s"),
        ("AVR2.v", '"fast"', r"late\.toml:5.*AVR2\.v"),
    ):
        path.write_text(STUDY.format(name=name, tau=tau))
        with pytest.raises(StudyError, match=words):
            psmr.read_study(path)
    path.write_text(STUDY.format(name="AVR2.v", tau=0.03).replace('"AVR2.v"', "AVR2.v"))
    with pytest.raises(StudyError, match=r'AVR2 is a table: put the name in quotes, "AVR2\.v" = 0\.03'):
        psmr.read_study(path)
    path.write_text(STUDY.format(name="AVR2.volt", tau=0.03))
    with pytest.raises(InputError, match=r"AVR2: delays has 'volt', which is no input that reads a signal"):
        load_system(psmr.read_study(path).case)


def test_check_refuses_the_delays_that_a_run_refuses(tmp_path, capsys):
    path = tmp_path / "late.toml"
    path.write_text(STUDY.format(name="AVR2.volt", tau=0.03))
    assert main(["check", str(path)]) != 0
    assert "AVR2: delays has 'volt'" in capsys.readouterr().err


def test_critical_step_tries_none_longer_than_a_delay(delayed):
    found = psmr.critical_step(delayed, psmr.SingleRate("ESDIRK32", 0.01), first=0.01)
    assert str(found).endswith("stable up to h = 0.031 s, the largest step tried")
    found = psmr.critical_step(delayed, psmr.SingleRate("TM", 0.01), first=0.01, last=0.1)
    assert str(found).endswith("stable up to h = 0.1 s, the largest step tried")


def test_steps_above_the_delay_are_as_accurate_as_without_one(plain):
    """5 ms late, steps of 20 ms: the error of the trapezoidal rule is what it is without the delay."""
    late = psmr.with_delays(plain, {f"{name}{k}.{port}": 0.005 for k in (1, 2, 3) for name, port in SIGNALS})
    events, errors = [psmr.Fault(7, 0.1, 0.18)], []
    for system in (plain, late):
        exact = psmr.simulate(system, psmr.VariableStep(1e-7), 2.0, events, certify=False)
        run = psmr.simulate(system, psmr.SingleRate("TM", 0.02), 2.0, events, certify=False)
        assert run.stats.counters.divided == 0
        errors.append(abs(run["G2.omega"] - np.interp(run.t, exact.t, exact["G2.omega"])).max())
    assert errors[1] == pytest.approx(errors[0], rel=0.2)
    assert errors[0] < 5e-4


def test_what_looks_at_elements_of_the_network_does_not_leave_delays_out():
    full = psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=psmr.Region("all"))
    late = psmr.with_delays(full, {"G1.v": 0.001})
    with pytest.raises(partitioning.PartitionError, match="reads signals with a delay"):
        partitioning.by_deformation(late, modes=-38.2 + 16.7j, tolerance=0.003)


def test_what_cannot_be_delayed_is_refused(plain):
    with pytest.raises(InputError, match=r"delays: 'AVR9\.v': there is no device 'AVR9'.*AVR"):
        psmr.with_delays(plain, {"AVR9.v": 0.1})
    with pytest.raises(InputError, match=r"AVR2: delays has 'w', which is no input that reads a signal"):
        psmr.with_delays(plain, {"AVR2.w": 0.1})
    with pytest.raises(InputError, match=r"AVR2: the delay of v_re is -0\.1: must be >= 0"):
        psmr.with_delays(plain, {"AVR2.v": -0.1})


@pytest.mark.parametrize("name", ["AVR2", 5])
def test_a_name_that_is_no_input_of_a_device_is_refused(plain, name):
    with pytest.raises(InputError, match=f'delays: {name!r}: must be "device.input"'):
        psmr.with_delays(plain, {name: 0.1})


@pytest.fixture(scope="module")
def late_load():
    """A load whose current follows its voltage 50.7 ms late, as an impedance."""
    system = psmr.build(psmr.case("wscc9"), loads="impedance")
    return psmr.with_delays(system, {"load5.v": 0.0507})


FAULT = psmr.Fault(7, 0.1, 0.15, x=0.3)


def test_the_power_of_a_load_is_that_of_the_current_then(late_load):
    """S = v conj(y v(t - tau)); where the voltage jumped a delay ago the line has both values."""
    run = psmr.simulate(late_load, psmr.SingleRate("TM", 0.002), 0.4, [FAULT], certify=False)
    v = run["bus5.v_re"].to_numpy() + 1j * run["bus5.v_im"].to_numpy()
    y = np.conj(1.25 + 0.5j) / abs(v[0]) ** 2
    late = np.interp(run.t - 0.0507, run.t, v.real) + 1j * np.interp(run.t - 0.0507, run.t, v.imag)
    power = 100.0 * v * np.conj(y * late)
    jumps = run.t[np.flatnonzero(np.diff(run.t) == 0.0)]
    clear = abs(run.t[:, None] - 0.0507 - jumps).min(axis=1) > 1e-9
    assert np.count_nonzero(~clear) >= 4  # both sides of two jumps at least
    assert run["load5.p"].to_numpy()[clear] == pytest.approx(power.real[clear], rel=1e-9)
    assert run["load5.q"].to_numpy()[clear] == pytest.approx(power.imag[clear], rel=1e-9)
    # Ahead of and behind a jump that is read: active power flows in from the lines, and the load is all.
    flows = run["line4-5.p_to"].to_numpy() + run["line5-7.p_from"].to_numpy()
    assert abs(run["load5.p"].to_numpy() + flows).max() < 1e-4


def test_voltages_of_a_run_by_tolerance_have_what_is_read_late(late_load):
    """They are solved anew from the states at each point."""
    run = psmr.simulate(late_load, psmr.VariableStep(1e-7), 0.4, [FAULT], certify=False)
    fine = psmr.simulate(late_load, psmr.SingleRate("TM", 0.0005), 0.4, [FAULT], certify=False)
    times, names = (0.12, 0.149, 0.18, 0.23, 0.4), ["bus5.v", "load5.p"]
    np.testing.assert_allclose(run.at(times, names), fine.at(times, names), rtol=1e-5)


def test_the_frequency_of_a_bus_has_the_rate_of_what_is_read_late(late_load):
    """Against differences of its angle; the rate of a line is of order 1. Without it it was 0.005 Hz off."""
    errors = []
    for h in (0.001, 0.0005):
        run = psmr.simulate(late_load, psmr.SingleRate("TM", h), 0.4, [FAULT], certify=False)
        turning = 60.0 + np.gradient(run["bus5.angle"].to_numpy(), h) / (2.0 * np.pi)
        steps = np.diff(run.t)
        even = np.zeros(len(run.t), dtype=bool)
        even[1:-1] = (abs(steps[1:] - h) < 1e-9) & (abs(steps[:-1] - h) < 1e-9)
        jumps = run.t[np.flatnonzero(steps == 0.0)]
        corners = np.concatenate([jumps, jumps + 0.0507])
        even &= abs(run.t[:, None] - corners).min(axis=1) > 0.0015
        assert np.count_nonzero(even) > 0.2 / h
        errors.append(abs(run["bus5.frequency"].to_numpy() - turning)[even].max())
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] > 1.9


def test_kept_signals_have_what_is_read_late(late_load):
    names = ["load5.p", "bus5.frequency", "bus5.v"]
    scheme = psmr.VariableStep(1e-5)
    whole = psmr.simulate(late_load, scheme, 0.4, [FAULT], certify=False)
    kept = psmr.simulate(late_load, scheme, 0.4, [FAULT], certify=False, record=names)
    np.testing.assert_allclose(kept.values(names), whole.values(names), rtol=1e-9)


def test_chosen_modes_with_delays_are_those_of_all(delayed):
    linear = delayed.linearise()
    table = psmr.modes(linear)
    table = table[(table.frequency_hz > 0.1) & (table.frequency_hz < 3.0)].sort_values("damping_ratio")
    shapes = psmr.mode_shapes(linear, 5)
    exact = (table.real + 1j * table.imag).to_numpy()[:5]
    np.testing.assert_allclose([shape.s for shape in shapes], exact, rtol=1e-11)
    (alone,) = psmr.mode_shapes(linear, [exact[2] * (1 + 1e-3)])
    assert alone.s == pytest.approx(exact[2], rel=1e-11)


@pytest.mark.slow
def test_chosen_modes_of_a_large_system_with_delays():
    """108 delayed signals: by sparse matrices, against the Pade form of order 6."""
    tie = LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1)
    plain = psmr.build(chain(psmr.case("wscc9"), 18, tie, inertia_spread=0.1))
    late = {f"{device.name}.v": 0.03 for device in plain.devices if device.name.startswith("AVR")}
    linear = psmr.with_delays(plain, late).linearise()
    with pytest.raises(InputError, match=r"108 delayed signals.*take psmr\.mode_shapes for chosen ones"):
        psmr.modes(linear)
    exact = np.array([shape.s for shape in psmr.mode_shapes(linear.with_pade(6), 4)])
    np.testing.assert_allclose([shape.s for shape in psmr.mode_shapes(linear, 4)], exact, rtol=1e-9)
