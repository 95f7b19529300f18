"""What PSS/E's trace of GAST in the three-bus system is of: a turbine with damping, which its file has not.

Until 3.1 s the speed is below nominal and the power is the load limit: the turbine drives with a constant
power. The rest of the difference is that of the field voltage.
"""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from tests.files.psse.psse_step import stepped
from tests.files.psse.traces import HERE, TRACES, differences, trapezoidal

TRACE = next(trace for trace in TRACES if trace.name == "GAST, ESAC1A")
ROUNDING = 6.5e-4
"""Of angles printed with six figures, and of the event's own step: what is left of a machine alone."""


def built(d_turb=0.0):
    case = TRACE.case(HERE)

    def damped(device):
        more = {"d_turb": d_turb} if device.role == "governor" else {}
        return replace(device, parameters={**device.parameters, **more})

    rows = (replace(row, devices=tuple(map(damped, row.devices))) for row in case.generators)
    return psmr.build(replace(case, generators=tuple(rows)))


@pytest.fixture(scope="module")
def system():
    return built()


def in_psse_steps(system, given=None):
    return stepped(system, TRACE.events, TRACE.t_end, TRACE.step, given)


def angle_off(run):
    return differences(TRACE, HERE, run)["G102.delta"][0]


def field_of_the_trace(run):
    """Field voltage at every step: that of a run and its difference from the trace, which is smooth."""
    t, theirs = TRACE.measured(HERE)
    times, rows = np.unique(run.t, return_index=True)
    own = run.values("AVR102.v_e")[rows]
    return own + np.interp(times, t, theirs[:, 1] - np.interp(t, times, own))


def test_our_step_is_not_the_cause(system):
    """Half the step changes the difference by less than 1 %."""
    one, half = (angle_off(trapezoidal(TRACE, system, h)) for h in (1e-3, 5e-4))
    assert abs(one - half) < 0.01 * one


def test_before_the_turbine_moves(system):
    """The largest difference is of the time in which no equation of GAST moves."""
    run = in_psse_steps(system)
    t, theirs = TRACE.measured(HERE)
    times, rows = np.unique(run.t, return_index=True)
    angle, fuel = np.degrees(run.values("G102.delta"))[rows], run.values("GOV102.fuel")[rows]
    off = np.abs(np.interp(t, times, angle) - theirs[:, 0])
    worst = t[off.argmax()]
    assert off.max() == pytest.approx(5.2e-3, abs=1e-4)
    assert np.ptp(fuel[times <= worst]) < 1e-12


@pytest.mark.slow
def test_a_damping_of_the_turbine_explains_it(system):
    """With D_turb = 0.1 the trace is as near as TGOV1's; with PSS/E's field voltage, to its rounding."""
    run = in_psse_steps(system)
    assert angle_off(in_psse_steps(built(0.1))) < 2.1e-3
    field = {"AVR102.v_e": field_of_the_trace(run)}
    assert angle_off(in_psse_steps(system, field)) > 3e-3
    assert angle_off(in_psse_steps(built(0.1), field)) < ROUNDING
    for other in (0.05, 0.15):
        assert angle_off(in_psse_steps(built(other), field)) > ROUNDING
