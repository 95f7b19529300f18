"""The network's answer is formed anew where it no longer holds, and only there."""

import numpy as np
import pytest

import partitioning
import psmr

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
def test_the_answer_follows_a_common_angle_that_turns(drifting, plants, coupling):
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


def test_the_answer_follows_a_fault_near_the_critical_clearing_time():
    """Kundur's system, which an answer formed at the clearing did not carry to the end."""
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


def test_the_answer_stays_where_nothing_turns(drifting):
    system = drifting[0]
    split = partitioning.by_device(system.linearise(), PLANTS + BUSES)
    scheme = psmr.Multirate(split, 0.01, 10, predictor="extrapolation", predict="slow")
    events = psmr.ParameterStep(PLANTS[0], "v_2", 0.03, 0.02)
    run = psmr.simulate(system, scheme, 0.5, [events], certify=False)
    assert run.stats.counters.outdated_at == ()
