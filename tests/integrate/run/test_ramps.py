"""Ramps of a load, which are courses, and rates: the time counts while one of them is not zero."""

from typing import Any

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Component, Device, Multirate, Parameter, SingleRate, SlowManifold, assemble
from psmr.errors import InputError
from tests.conftest import ROOT
from tests.internals import Change, Course, autonomous, integrate


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))


def ramp(system, start, end, rate):
    """Return the changes of a load at bus 5 whose active power grows by `rate` pu/s from start to end."""
    p = system.parameter("load5", "p")
    reached = p + rate * (end - start)
    return [
        Change(start, courses=(("load5.p", Course.through([start, end], [p, reached])),)),
        Change(end, (("load5", "p", reached),)),
    ]


def test_a_rate_of_zero_leaves_the_system_autonomous():
    for rate in (0.0, 0.1):
        system = assemble([Device("D", Grown, {"rate": rate})])
        assert autonomous(system, system.parameters) == (rate == 0.0)


def test_a_ramp_is_continuous_where_it_begins_and_ends(system):
    ours = integrate(system, SingleRate("TM", 0.01), 1.0, ramp(system, 0.25, 0.75, 0.4))
    for t in (0.25, 0.75):
        before, after = np.flatnonzero(ours.t == t)
        np.testing.assert_allclose(ours.y[after], ours.y[before], atol=1e-9)


def split_of(system):
    return partitioning.by_participation(system.linearise(), 20.0)


SCHEMES = {
    "trapezoidal": (2, lambda s, h: SingleRate("TM", h, tolerance=1e-12)),
    "multirate": (2, lambda s, h: Multirate(split_of(s), h, 4, predictor="TM", tolerance=1e-12)),
    # Of order one on a nonlinear system (Gil et al., accuracy analysis).
    "slow manifold": (1, lambda s, h: SlowManifold(split_of(s), h, tolerance=1e-12)),
}


@pytest.fixture(scope="module")
def reference(system):
    return integrate(system, SingleRate("RK4", 2e-4, tolerance=1e-13), 1.0, ramp(system, 0.2, 0.6, 1.0)).x[-1]


@pytest.mark.parametrize("kind", SCHEMES)
def test_a_ramp_leaves_the_order_as_it_is(system, reference, kind):
    order, scheme = SCHEMES[kind]
    steps = np.array([4e-3, 2e-3, 1e-3, 5e-4])
    changes = ramp(system, 0.2, 0.6, 1.0)
    ends = [integrate(system, scheme(system, h), 1.0, changes).x[-1] for h in steps]
    errors = np.abs(np.array(ends) - reference).max(axis=1)
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.2)


class Grown(Component):
    """x' = rate t - x."""

    states = ("x",)
    ramps = ("rate",)
    rate = Parameter("1/s2", "rate", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.rate * v.t - v.x,), (), ()


class Drift(Component):
    """x' = rate t + t."""

    states = ("x",)
    ramps = ("rate",)
    rate = Parameter("1/s2", "rate", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.rate * v.t + v.t,), (), ()


def test_rates_that_leave_the_time_in_are_refused():
    with pytest.raises(InputError, match="Drift: the equations read the time even where rate = 0"):
        assemble([Device("D", Drift, {})])
