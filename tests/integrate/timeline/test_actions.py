"""Devices that act by themselves: the instants are those of the exact solution, with every kind of scheme."""

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Parameter, assemble
from psmr.errors import SimulationError
from tests.internals import Action


class Tank(Component):
    """x' = drive - rate x: it fills from 0, and a relay at `level` opens a drain after `delay`."""

    states = ("x",)
    inputs = ("drive",)
    memory = ("drain", "count")
    actions = (
        Action(
            "drain opened",
            lambda m, v, p: v.x - p.level,
            lambda p: p.wait,
            lambda v, p: {"drain": 1.0, "count": p.count + 1},
        ),
        Action(
            "drain closed",
            lambda m, v, p: m.where(m.ge(p.drain, 1), p.low - v.x, -1),
            effect=lambda v, p: {"drain": 0.0},
        ),
    )

    level = Parameter("1", "level of the relay")
    low = Parameter("1", "level at which the drain closes")
    wait = Parameter("s", "its delay")
    drain = Parameter("1", "1 while it is open", default=0.0)
    count = Parameter("1", "how often it has opened", default=0.0)

    @staticmethod
    def equations(m, v, p):
        return (v.drive - v.x - 4 * p.drain * v.x,), (), ()


SCHEMES = [
    psmr.SingleRate("TM", h=0.01),
    psmr.SingleRate("RK4", h=0.01),
    psmr.VariableStep(tolerance=1e-8),
    psmr.Adaptive("RK54", rtol=1e-8),
]


def tank(*, level=0.5, low=0.3, wait=0.2, drive=1.0):
    return assemble([Device("tank", Tank, {"level": level, "low": low, "wait": wait})], {"tank.drive": drive})


def expected(t_end, level=0.5, low=0.3, wait=0.2):
    """Instants of the relay, by the exponentials of each part."""
    t, x, found = 0.0, 0.0, []
    while True:
        t, x = t + np.log((1 - x) / (1 - level)) + wait, 1 - (1 - level) * np.exp(-wait)
        if t > t_end:
            return found
        found.append(t)
        t, x = t + np.log((x - 0.2) / (low - 0.2)) / 5, low
        if t > t_end:
            return found
        found.append(t)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_relay_opens_and_closes_at_the_exact_instants(scheme):
    run = psmr.simulate(tank(), scheme, 4.0, certify=False)
    assert [label for _, label in run.instants[:2]] == ["tank: drain opened", "tank: drain closed"]
    exact = expected(4.0)
    assert len(run.instants) == len(exact) > 6
    off = np.abs(np.array([t for t, _ in run.instants]) - exact)
    # A grid's straight lines: h^2/8 x''/x' a time, beside a thousandth of a step.
    bound = 5e-4 if scheme.step == 0.01 else 1e-4
    assert off.max() < bound
    # Every instant stands twice, and nothing goes back in time.
    assert (np.diff(run.t) >= 0).all()
    for t, _ in run.instants:
        assert (run.t == t).sum() == 2


def test_the_instants_are_of_second_order():
    """With a delay there is no other error."""
    off = []
    for h in (0.08, 0.04, 0.02):
        run = psmr.simulate(tank(low=-1.0), psmr.SingleRate("TM", h=h), 2.0, certify=False)
        off.append(abs(run.instants[0][0] - expected(2.0)[0]))
    orders = np.log2(np.array(off[:-1]) / off[1:])
    assert (orders > 1.5).all()


def test_a_condition_that_ends_in_time_does_nothing():
    """Above the level for less than the relay waits; then for long enough."""
    events = [psmr.SetPoint("tank", "drive", 0.0, 1.0), psmr.SetPoint("tank", "drive", 2.0, 1.4)]
    run = psmr.simulate(tank(level=0.6, low=-1.0), psmr.SingleRate("TM", h=0.01), 3.0, events, certify=False)
    # Reached at ln(1/0.4) = 0.916, left just after 1.0.
    acted = [t for t, label in run.instants if label == "tank: drain opened"]
    low = 0.632120558 * np.exp(-0.4)
    assert acted == [pytest.approx(1.4 + np.log((2 - low) / 1.4) + 0.2, abs=1e-4)]


def test_an_event_that_meets_the_condition_starts_the_timer_at_once():
    """The level changes under x: there is no crossing between two points."""
    event = psmr.ParameterStep("tank", "level", 0.1, 0.5)
    run = psmr.simulate(
        tank(level=2.0, low=-1.0, wait=0.25), psmr.SingleRate("TM", h=0.01), 1.0, [event], certify=False
    )
    assert run.instants[1] == (pytest.approx(0.75, abs=1e-12), "tank: drain opened")


def test_fast_points_are_those_of_the_accepted_steps():
    found = [
        psmr.simulate(tank(), psmr.SingleRate("TM", h=0.01), 2.0, certify=False, all=every).instants
        for every in (False, True)
    ]
    assert found[0] == found[1]


class Undecided(Tank):
    """Two relays that switch each other to and fro."""

    actions = (
        Action("on", lambda m, v, p: 0.5 - p.drain, effect=lambda v, p: {"drain": 1.0}),
        Action("off", lambda m, v, p: p.drain - 0.5, effect=lambda v, p: {"drain": 0.0}),
    )


def test_relays_that_switch_each_other_end_the_run():
    device = Device("tank", Undecided, {"level": 1.0, "low": 0.0, "wait": 0.0})
    with pytest.raises(SimulationError, match=r"tank: o\w+: acts to and fro without end at t = 0 s"):
        psmr.simulate(
            assemble([device], {"tank.drive": 1.0}), psmr.SingleRate("TM", h=0.01), 1.0, certify=False
        )


class Touching(Tank):
    """A flag whose condition lies within the accuracy of a solution of zero, and changes as it is set."""

    @staticmethod
    def margin(v, p):
        return v.x - p.level + 4e-12 * (0.5 - p.drain)

    actions = (
        Action(
            "on",
            lambda m, v, p: m.min(Touching.margin(v, p), 0.5 - p.drain),
            effect=lambda v, p: {"drain": 1.0},
        ),
        Action(
            "off",
            lambda m, v, p: m.min(-Touching.margin(v, p), p.drain - 0.5),
            effect=lambda v, p: {"drain": 0.0},
        ),
    )


def test_rounding_at_a_limit_switches_nothing_to_and_fro():
    device = Device("tank", Touching, {"level": 0.0, "low": 0.0, "wait": 0.0})
    system = assemble([device], {"tank.drive": 1.0})
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 1.0, certify=False)
    assert run.instants == ((pytest.approx(0.0, abs=1e-5), "tank: on"),)


class Late(Component):
    """x' = 1, and a relay that reads x as it was tau ago."""

    states = ("x",)
    inputs = ("seen",)
    actions = (Action("acted", lambda m, v, p: v.seen - 0.5, effect=lambda v, p: {"acted": 1.0}),)
    memory = ("acted",)

    acted = Parameter("1", "whether it has", default=0.0)

    @staticmethod
    def equations(m, v, p):
        return (1.0 + 0.0 * v.seen,), (), ()


@pytest.mark.parametrize("tau", [0.043, 0.004, 0.2])
@pytest.mark.parametrize(
    "scheme",
    [psmr.SingleRate("TM", h=0.01), psmr.SingleRate("BEM", h=0.01), psmr.VariableStep(1e-6)],
    ids=str,
)
def test_a_relay_acts_on_what_it_reads_late(scheme, tau):
    """It reads 0.5 at 0.5 + tau; it saw what it read at the last instant, and never acted."""
    system = assemble([Device("D", Late, {}, {"seen": "D.x"}, delays={"seen": tau})], {"D.x": 0.0})
    run = psmr.simulate(system, scheme, 1.0, certify=False)
    (change,) = [change for change in run.changes if change.parameters]
    assert change.t == pytest.approx(0.5 + tau, abs=2e-5 if scheme.step == 0.01 else 1e-3)
