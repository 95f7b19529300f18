"""Whether a run has settled, by the definition of `psmr.study.detectors.settling`."""

import numpy as np
import pytest

import psmr
from tests.study.detectors.made import detected, found, made_points


def swinging(system, speed, t_end=40.0, count=1001, detected_to=None, **kwargs):
    """Return the detectors where the speed of G3 is 1 + speed(t); the run was to end at t_end, or later."""
    t = np.linspace(0.0, t_end, count)
    x, y = made_points(system, t, {"G3.omega": 1.0 + speed(t)})
    return detected(system, t, x, y, t_end=detected_to, **kwargs)


@pytest.mark.parametrize("at_once", [1000, 7])
@pytest.mark.parametrize(
    ("rate", "amber", "settled"),
    [
        *((0.02, True, False), (0.0, True, False), (-0.0005, True, False)),  # 99.5 % a quarter of 10 s
        *((-0.0015, False, False), (-0.02, False, False), (-0.5, False, True)),
    ],
)
def test_what_does_not_decay_is_amber(system, rate, amber, settled, at_once):
    # Whole periods in each quarter, so that without damping the ranges are equal.
    seen = swinging(system, lambda t: 2e-3 * np.exp(rate * t) * np.sin(2 * np.pi * t), at_once=at_once)
    assert bool(found(seen, "not settled")) == amber
    assert seen.end.settling.settled == settled


@pytest.mark.parametrize(("size", "settled"), [(0.9, True), (1.1, False)])
def test_what_moves_by_less_than_the_limit_has_settled(system, size, settled):
    # Of G3 against the centre of inertia, in which it has 301 of 3305 MWs.
    half = 0.5 * size * 0.0005 / (1 - 301 / 3305)
    seen = swinging(system, lambda t: half * np.sin(2 * np.pi * t))
    assert seen.end.settling.settled == settled
    wider = swinging(system, lambda t: half * np.sin(2 * np.pi * t), criteria=psmr.Criteria(swing_f=0.001))
    assert wider.end.settling.settled


def test_a_frequency_that_runs_away_is_amber_and_one_that_comes_to_rest_is_not(system):
    t = np.linspace(0.0, 40.0, 401)
    for speed, amber in ((1.0 + 1e-3 * t, True), (1.0 + 0.02 * np.exp(-t / 10.0), False)):
        x, y = made_points(system, t, {f"G{k}.omega": speed for k in (1, 2, 3)})
        assert bool(found(detected(system, t, x, y), "not settled")) == amber


def test_a_voltage_that_swings_is_amber(system):
    t = np.linspace(0.0, 40.0, 1001)
    for size, amber in ((0.011, True), (0.009, False)):
        x, y = made_points(system, t, voltages={"bus5": 1.0 + 0.5 * size * np.sin(2 * np.pi * t)})
        seen = found(detected(system, t, x, y), "not settled")
        assert bool(seen) == amber
        assert not amber or seen[0].signals == ("bus5.v",)


def test_a_step_longer_than_a_quarter_is_not_passed_over(system):
    """One step over the whole end, in which the frequency rises: its range is that of both ends."""
    t = np.array([0.0, 1.0, 40.0])
    x, y = made_points(system, t, {f"G{k}.omega": np.array([1.0, 1.0, 1.01]) for k in (1, 2, 3)})
    assert not detected(system, t, x, y).end.settling.settled


def test_nothing_is_said_of_short_and_unfinished_runs(system):
    seen = swinging(system, lambda t: 2e-3 * np.sin(2 * np.pi * t), t_end=3.98)
    assert seen.end.settling is None
    assert swinging(system, lambda t: 0.0 * t, t_end=4.02).end.settling.settled
    unfinished = swinging(system, lambda t: 2e-3 * np.sin(2 * np.pi * t), 40.0, **{})
    assert unfinished.end.settling is not None
    t = np.linspace(0.0, 39.0, 100)
    x, y = made_points(system, t)
    assert detected(system, t, x, y, t_end=40.0).end.settling is None


@pytest.mark.parametrize(("before", "said"), [(0.0, True), (0.5e-9, True), (1e-7, False), (1.0, False)])
def test_a_run_has_ended_at_its_end_to_rounding(system, before, said):
    seen = swinging(system, np.zeros_like, t_end=40.0 - before, detected_to=40.0)
    assert (seen.end.settling is not None) == said
