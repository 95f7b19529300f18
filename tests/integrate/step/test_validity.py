"""The network's response is formed anew where it no longer holds, and only there."""

import numpy as np
import pytest

import partitioning
import psmr
from tests.internals import TUNED, next_trial

PLANTS = [f"G{k}_full" for k in (30, 32, 34, 36, 38)]
BUSES = [f"bus{k}" for k in (30, 32, 34, 36, 38)]


def voltages(run, times):
    buses = [name[:-5] for name in run.system.names_y if name.startswith("bus") and name.endswith(".v_re")]
    return run.at(times, [f"{bus}.v" for bus in buses]).to_numpy()


@pytest.fixture(scope="module")
def drifting():
    """New England with five plants; half of the load at bus 8 is lost, and the common angle turns."""
    system = psmr.build(psmr.case("new-england/new-england-plants.toml"))
    events = [psmr.LoadTrip(bus=8, start=0.5, fraction=0.5)]
    times = np.linspace(0.6, 6.0, 28)
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 6.0, events, certify=False)
    return system, events, times, voltages(run, times)


@pytest.mark.parametrize("coupling", ["mean", "end"])
@pytest.mark.parametrize("plants", [True, False], ids=["plants", "delta"])
def test_the_response_follows_a_common_angle_that_turns(drifting, plants, coupling):
    """Formed at the event alone it lost synchronism here; the reference is `VariableStep`."""
    system, events, times, right = drifting
    linear = system.linearise()
    split = (
        partitioning.by_device(linear, PLANTS + BUSES)
        if plants
        else partitioning.by_participation(linear, delta=20.0)
    )
    scheme = psmr.Multirate(
        split, 0.01, 10, predictor="extrapolation", predict="slow", interface="schur", coupling=coupling
    )
    run = psmr.simulate(system, scheme, 6.0, events, certify=False)
    assert np.abs(voltages(run, times) - right).max() < 2e-3
    outdated = run.stats.counters.outdated_at
    assert 3 <= len(outdated) < 60
    assert f"formed anew {len(outdated)} times between events" in str(run.stats)


def test_the_response_follows_a_fault_near_the_critical_clearing_time():
    """Kundur's system, which a response formed at the clearing did not carry to the end."""
    directory = psmr.case_path("kundur/kundur.raw").parent
    system = psmr.build(psmr.read_case(directory / "kundur.raw", dynamics=directory / "manual.dyr"))
    events = [psmr.Fault(bus=2, start=0.34, clear=0.3653571)]
    split = partitioning.by_participation(system.linearise(), delta=5.0)
    scheme = psmr.Multirate(split, 0.01, 10, "TM", predict="slow", interface="schur", newton="honest")
    run = psmr.simulate(system, scheme, 3.0, events, certify=False)
    right = psmr.simulate(system, psmr.VariableStep(1e-6), 3.0, events, certify=False)
    times = np.linspace(0.6, 3.0, 25)
    assert np.abs(voltages(run, times) - voltages(right, times)).max() < 2e-3
    assert run.stats.counters.outdated_at


def test_the_response_stays_where_nothing_turns(drifting):
    system = drifting[0]
    split = partitioning.by_device(system.linearise(), PLANTS + BUSES)
    scheme = psmr.Multirate(split, 0.01, 10, predictor="extrapolation", predict="slow")
    events = psmr.ParameterStep(PLANTS[0], "v_2", 0.03, 0.02)
    run = psmr.simulate(system, scheme, 0.5, [events], certify=False)
    assert run.stats.counters.outdated_at == ()


def plants_apart(system, **choices):
    """Return the scheme with the five plants in the fast set."""
    split = partitioning.by_device(system.linearise(), PLANTS + BUSES)
    return psmr.Multirate(
        split, 0.01, 10, predictor="extrapolation", predict="slow", interface="schur", **choices
    )


@pytest.mark.parametrize(("interpolation", "most"), [("linear", 2e-3), ("spline", 5e-4)])
def test_the_response_follows_islands_that_drift_apart(drifting, interpolation, most):
    """One island falls to 59.6 Hz, the other rises to 60.9 Hz, each with plants in the fast set."""
    system = drifting[0]
    events = [psmr.LineTrip(line, start=0.5) for line in ("1-2", "3-4", "14-15")]
    right = psmr.simulate(system, psmr.VariableStep(1e-6), 5.0, events, certify=False)
    scheme = plants_apart(system, interpolation=interpolation)
    run = psmr.simulate(system, scheme, 5.0, events, certify=False)
    times = np.linspace(0.6, 5.0, 45)
    assert np.abs(voltages(run, times) - voltages(right, times)).max() < most
    assert len(run.stats.counters.outdated_at) < 100


def test_the_response_follows_a_frequency_that_falls_for_long(drifting):
    """A generator is lost and no governor acts: 55.4 Hz after 30 s.

    The prediction of a phasor that turns by theta in a macro step, along a line, misses theta^2.
    """
    system = drifting[0]
    events = [psmr.GeneratorTrip("G33", start=0.5)]
    right = psmr.simulate(system, psmr.VariableStep(1e-5), 30.0, events, certify=False)
    run = psmr.simulate(system, plants_apart(system), 30.0, events, certify=False)
    assert run.outcome.lost is None
    times = np.linspace(1.0, 30.0, 59)
    theta = 2 * np.pi * 60.0 * 0.01 * (1.0 - right.at(times, ["G39.omega"]).to_numpy()[:, 0])
    assert theta[-1] == pytest.approx(0.286, abs=0.005)
    error = np.abs(voltages(run, times) - voltages(right, times)).max(axis=1)
    assert (error < 1e-3 + theta**2).all()


@pytest.mark.parametrize(
    ("gain", "age", "start", "due"),
    [
        (0.0, 5, 5, 5 + TUNED.trial_interval),
        (0.02, 5, 5, 5 + TUNED.trial_interval),
        (0.16, 5, 5, 6),  # reaches 0.2 at 6.25
        (0.19, 5, 5, 6),  # reaches it before the next macro step, which is the first that can be tried
        (0.5, 5, 0, 2),
        (0.4, 1, 0, 1),
        (0.21, 6, 0, TUNED.trial_interval),
    ],
)
def test_the_next_trial_is_where_the_gain_reaches_its_limit(gain, age, start, due):
    assert next_trial(gain, 0.2, age, start) == due
