"""Runs through events, against SUNDIALS IDA on equations that know nothing of them."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import assemble
from psmr.errors import EventError
from tests.components import ZipLoad
from tests.devices.loads.test_motors import ROW
from tests.internals import DeviceRow, LoadRow, ShuntRow, consistent, schedule
from tests.standing import after
from tests.sundials import solver

PLANT = ("G2", "AVR2", "GOV2", "PSS2")


def names_of(system):
    return (*system.names_x, *system.names_y)


def ida_solution(system, x, y, times):
    """Return (K, n) states of IDA (BDF of variable order, rtol 1e-9) with the exact Jacobian."""
    y = consistent(system, x, y, t=times[0])
    n = system.n
    rates = np.r_[system.f(x, y, t=times[0]), np.zeros(system.m)]
    solution = solver(system).solve(times, np.r_[x, y], rates)
    assert solution.success
    return solution.y[:, :n], solution.y[:, n:]


def after_instant(run, t):
    return np.flatnonzero(run.t == t)[-1]


def test_a_generator_trip_against_sundials_without_the_plant(system):
    """A system assembled without G2, and IDA: no code of the trip is in the reference."""
    errors = []
    for h in (1e-3, 5e-4):
        run = psmr.simulate(
            system, psmr.SingleRate("TM", h), 5.0, [psmr.GeneratorTrip("G2", 1.0)], certify=False
        )
        at = after_instant(run, 1.0)
        values = dict(
            zip((*names_of(system), *system.names_u), (*run.x[at], *run.y[at], *system.u0), strict=True)
        )
        kept = {k: v for k, v in values.items() if k.rpartition(".")[0] not in PLANT}
        rest = assemble([d for d in system.devices if d.name not in PLANT], kept)
        x, y = ida_solution(rest, rest.x0, rest.y0, run.t[at:])
        ours = run.x[at:, [system.names_x.index(name) for name in rest.names_x]]
        voltages = run.y[at:, [system.names_y.index(name) for name in rest.names_y]]
        speeds = [i for i, name in enumerate(rest.names_x) if name.endswith(".omega")]
        errors.append((np.abs(ours - x)[:, speeds].max(), np.abs(voltages - y).max()))
    assert errors[1][0] < 1e-6  # of speed
    # What is left is the error of the trapezoidal rule: a quarter of it with half of the step.
    assert np.divide(*errors) == pytest.approx(4, rel=0.1)
    # It was an event: within half a second G1 has lost more than one part in a thousand of its speed.
    assert run.values("G1.omega")[at + 1000, 0] < 0.999


class Growing(ZipLoad):
    """A load whose parts of constant impedance grow by themselves: the reference for a ramp."""

    @staticmethod
    def equations(m, v, p):
        """Return the current of the load with p (1 + 0.4 clip((t - 0.5) / 1.5, 0, 1)), q with -0.2."""
        grown = m.clip(v.t - 0.5, 0, 1.5)
        g = p.p * (1.0 + 0.4 / 1.5 * grown) / p.v_0**2
        b = -p.q * (1.0 - 0.2 / 1.5 * grown) / p.v_0**2
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))


def test_a_load_ramp_against_sundials_with_a_load_that_depends_on_time(system):
    ramp = psmr.LoadRamp(5, start=0.5, end=2.0, factor=1.4, factor_q=0.8)
    run = psmr.simulate(system, psmr.SingleRate("TM", 5e-4), 3.0, [ramp])
    values = dict(zip((*names_of(system), *system.names_u), system.w0[:-1], strict=True))
    devices = []
    for d in system.devices:
        if d.name == "load5":
            d = replace(d, component=Growing)
        devices.append(d)
    growing = assemble(devices, values)
    x, y = growing.x0, growing.y0
    worst = 0.0
    for begin, end in ((0.0, 0.5), (0.5, 2.0), (2.0, 3.0)):
        # IDA starts anew at a kink.
        first, last = after_instant(run, begin), np.flatnonzero(run.t == end)[0]
        states, algebraic = ida_solution(growing, x, y, run.t[first : last + 1])
        worst = max(worst, np.abs(states - run.x[first : last + 1]).max())
        x, y = states[-1], algebraic[-1]
    assert worst < 2e-6


def test_multirate_comes_to_single_rate_at_the_fast_step_with_order_two(system, split):
    events = [psmr.LoadRamp(5, 0.2, 0.8, 1.3), psmr.GeneratorTrip(3, 1.0)]
    single = psmr.simulate(system, psmr.SingleRate("TM", 0.001), 2.0, events, certify=False)
    errors = []
    for h in (0.02, 0.01):
        scheme = psmr.Multirate.from_steps(split, h, 0.001, predictor="TM")
        ours = psmr.simulate(system, scheme, 2.0, events, certify=False)
        errors.append(np.abs(ours.values("G[12].omega")[-1] - single.values("G[12].omega")[-1]).max())
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.25)


def test_a_shunt_out_of_service_is_switched_on_and_off(wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    case = replace(case, shunts=(ShuntRow(bus=5, b_mvar=50.0, status=0),))
    system = psmr.build(case)
    name = next(d.name for d in system.devices if d.component.__name__ == "Shunt")
    events = [psmr.ShuntSwitch(name, 0.1), psmr.ShuntSwitch(name, 0.2, on=False)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.3, events, certify=False)
    v = run.values("bus5.v")[:, 0]
    on, off = after_instant(run, 0.1), after_instant(run, 0.2)
    # 50 Mvar behind a reactance of about 0.1 pu: some 5 % of voltage.
    assert 0.03 < v[on] - v[on - 1] < 0.08
    assert v[off] - v[off - 1] == pytest.approx(v[on - 1] - v[on], rel=0.1)


def test_a_parameter_step_is_that_of_the_data(system, wscc9):
    """A doubled droop in a run moves the system to the point where one that had it from the start goes."""
    step = psmr.ParameterStep("GOV1", "droop", 2 * system.parameter("GOV1", "droop"), 0.0)
    trip = psmr.LoadTrip(5, 0.0, 0.1)
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 1.0, [step, trip], certify=False)
    changed = after(system, step.changes(system))
    other = psmr.simulate(changed, psmr.SingleRate("TM", 0.01), 1.0, [trip], certify=False)
    np.testing.assert_allclose(run.x[-1], other.x[-1], atol=1e-12)


def test_the_certificate_is_that_of_the_system_before_the_events(system, split):
    scheme = psmr.Multirate(split, 0.05, 10)
    with_events = psmr.simulate(system, scheme, 0.1, [psmr.GeneratorTrip(3, 0.05)]).certificate
    assert with_events == psmr.simulate(system, scheme, 0.1).certificate


def test_a_motor_does_not_ramp(wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    # The motor of tests/devices/loads/test_motors.py, large enough for the load at bus 5.
    motor = DeviceRow("load5", "motor", "InductionMotor", {**ROW, "s_n": 190.0})
    loads = tuple(
        LoadRow(bus=5, p_mw=row.p_mw, q_mvar=row.q_mvar, name="load5", motor=motor) if row.bus == 5 else row
        for row in case.loads
    )
    system = psmr.build(replace(case, loads=loads))
    with pytest.raises(EventError, match="load5 at bus5 is a motor, which draws what its shaft asks for"):
        schedule(system, [psmr.LoadRamp(5, 0.1, 0.2, 1.2)], 1.0)


def test_a_ramp_may_end_with_the_run(system):
    """It is the same as in a longer run, and nothing is said of settling while it goes on."""
    ramp = [psmr.LoadRamp(5, 0.5, 6.0, 1.2)]
    scheme = psmr.SingleRate("TM", 0.02)
    run = psmr.simulate(system, scheme, 6.0, ramp)
    longer = psmr.simulate(system, scheme, 7.0, ramp, certify=False)
    row = int(np.searchsorted(longer.t, 6.0 - 1e-9))
    np.testing.assert_allclose(run.x[-1], longer.x[row], rtol=0, atol=1e-12)
    assert run.outcome.settling is None
    assert run.judgement.colour == "green"
