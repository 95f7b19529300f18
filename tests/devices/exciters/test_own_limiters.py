"""Over-excitation limiters of exciters that bring their own, against closed forms of a field that is forced.

The field current follows i_f' = (v_f - i_f)/T. Behind a step of the reference the exciter is at its ceiling
c, so that i_f = c - (c - i_0) exp(-(t - 1)/T) until the limiter takes over; there the regulator with gain g
leaves the difference v_f/g between limit and field current, and i_f = v_f.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

from psmr import Component, Device, Parameter, SetPoint, VariableStep, assemble, simulate
from tests import components as models
from tests.internals import with_algebraic_resolved

CEILING, T, START, STEP = 4.0, 5.0, 1.7, 1.0
REGULATOR = {"g": 70.0, "t_a": 10.0, "t_b": 20.0, "t_e": 0.0}
OWN = {"i_f_lim": 1.8991, "d": -0.1, "k_2": -1.0, "l_2": 10.0, "l_3": 0.0, "l_4": CEILING} | REGULATOR
INTEGRAL = {
    **{"v_f_min": 0.0, "v_f_max": CEILING, "if_1_lim": 1.9, "if_2_lim": 1.0, "t_oel": 8.0, "k_oel": 2.0},
    **{"l_1": -1.1, "l_2": 0.1, "l_3": 0.2},
} | REGULATOR
PARAMETERS = {
    models.GENERIC1: {"f": 0.5, "s": 1.0, "l_1": -1.0, "above": 1.0, "below": 1.0, "limiting": 1.0}
    | OWN
    | {"i_f_lim": 0.5, "l_2": 1.0, "l_4": 1.0, "t_e": 0.1},
    models.GENERIC: INTEGRAL | {"if_1_lim": 0.5, "v_f_max": 1.0, "t_e": 0.1},
}
UNREACHED = {}


class Field(Component):
    """A field winding at a stiff bus."""

    states = ("i_f",)
    inputs = ("v_f",)
    t = Parameter("s", "time constant")

    @staticmethod
    def equations(m, v, p):
        return ((v.v_f - v.i_f) / p.t,), (), ()


def forced(kind, parameters, later=()):
    """Run of an exciter whose reference rises by 0.2 at 1 s, past any error that its ceiling needs."""
    start = {"AVR.v_re": 1.0, "AVR.v_im": 0.0, "AVR.v_ref": 1 + START / 70, "AVR.x_l": START / 70}
    start |= {"AVR.y": parameters["l_1"], "AVR.v_f": START, "field.i_f": START}
    exciter = Device("AVR", kind, parameters, {"i_f": "field.i_f"}, acts_on="field")
    field = Device("field", Field, {"t": T}, {"v_f": "AVR.v_f"})
    system = with_algebraic_resolved(assemble([exciter, field], start))
    raised = SetPoint("AVR", "v_ref", start["AVR.v_ref"] + 0.2, STEP)
    return simulate(system, VariableStep(tolerance=1e-7), 300.0, [raised, *later])


def current(t, limit=0.0):
    return CEILING - limit - (CEILING - START) * np.exp(-(t - STEP) / T)


def excess_since(t, begin, limit):
    """Integral of the excess since the instant at which the current met its limit."""
    at = np.array([begin, t])
    of = (CEILING - limit) * at + (CEILING - START) * T * np.exp(-(at - STEP) / T)
    return of[1] - of[0]


@pytest.mark.parametrize(("f", "s", "l_1"), [(1.0, 0.0, -20.0), (0.0, 1.0, -11.0)], ids=["fixed", "inverse"])
def test_generic1_takes_over_when_its_timer_has_run_out(f, s, l_1):
    limit = OWN["i_f_lim"]
    run = forced(models.GENERIC1, OWN | {"f": f, "s": s, "l_1": l_1})
    begin = brentq(lambda t: current(t, limit), STEP, 10.0)
    out = brentq(lambda t: l_1 + f * (t - begin) + s * excess_since(t, begin, limit), begin, 50.0)
    acts = [(c.t, act) for c in run.changes for act in c.acts]
    assert [(act.device, act.kind, act.value) for _, act in acts] == [("AVR", "limiter", 1.0)]
    # What acts at once acts a thousandth of a step later, of steps of a few tenths of a second.
    assert acts[0][0] == pytest.approx(out, abs=1e-3)
    # Back at rest within the dead band, where the timer stands.
    assert run["field.i_f"].iloc[-1] == pytest.approx(limit / (1 + 1 / 70), abs=1e-6)
    assert 0 < run["AVR.y"].iloc[-1] < 10


def test_generic1_lets_go_when_its_timer_has_come_back():
    """The reference falls: the gate takes the voltage's error, the current falls below the dead band."""
    limit = OWN["i_f_lim"]
    lower = SetPoint("AVR", "v_ref", 1 + 1.0 / 70, 30.0)
    run = forced(models.GENERIC1, OWN | {"f": 1.0, "s": 0.0, "l_1": -20.0}, [lower])
    (_, first), (t, last) = [(c.t, act) for c in run.changes for act in c.acts]
    assert (first.value, last.value) == (1.0, 0.0)
    below = run["field.i_f"] - limit + 0.1
    left = float(np.interp(30.0, run.t, run["AVR.y"]))
    first_below = next(c for c, x in below.items() if c > 30.0 and x < 0)
    assert t == pytest.approx(first_below + left, abs=0.05)
    # The slowest pole, 1/t_b, leaves exp(-250/20) = 4e-6 of the way.
    assert run["field.i_f"].iloc[-1] == pytest.approx(1.0, abs=1e-5)


def test_generic_lowers_the_reference():
    p, limit = INTEGRAL, INTEGRAL["if_1_lim"]
    run = forced(models.GENERIC, p)
    begin = brentq(lambda t: current(t, limit), STEP, 10.0)
    # The excess counts at most as if_2_lim.
    full = brentq(lambda t: current(t, limit) - p["if_2_lim"], begin, 20.0)
    out = full + (-p["l_1"] * p["t_oel"] - excess_since(full, begin, limit)) / p["if_2_lim"]
    ((t, act),) = [(c.t, act) for c in run.changes for act in c.acts]
    assert (t, act.value) == (pytest.approx(out, abs=1e-3), 1.0)
    # An integral leaves no error: the limit itself, and k_oel y is what has to be taken off.
    taken = 0.2 + (START - limit) / 70
    assert run["field.i_f"].iloc[-1] == pytest.approx(limit, abs=1e-4)
    assert p["k_oel"] * run["AVR.y"].iloc[-1] == pytest.approx(taken, abs=1e-4)
