"""Phases renamed: an event in phase b a third of a period later is the same event as in phase a."""

import numpy as np
import pytest

import psmr

PERIOD = 1 / 60
STEP = PERIOD / 300
START = 0.01  # 180 steps

NEXT = str.maketrans("abc", "bca")


def renamed(phases):
    """Return the phases each of which is the next one, in the order of faults and openings."""
    return phases.translate(NEXT)


def runs(system, event, length=0.06):
    """Return the states with the same event in phases a, b, c, each from its start on."""
    found = []
    for turn in range(3):
        begin = START + turn * PERIOD / 3
        scheme = psmr.SingleRate("TM", STEP, newton="honest", tolerance=1e-12)
        run = psmr.simulate(system, scheme, begin + length, [event(turn, begin)], certify=False)
        times = begin + STEP * np.arange(0.5, length / STEP - 1)  # between grid points, off all instants
        found.append(run.at(times, system.names_x).to_numpy())
    return found


def fault(phases, bus, trip=""):
    def at(turn, begin):
        named = phases
        for _ in range(turn):
            named = renamed(named)
        line = {"trip": trip} if trip else {}
        return psmr.Fault(bus, begin, begin + 0.025, r=0.02, x=0.0, phases=named, **line)

    return at


def opened(phases, line):
    def at(turn, begin):
        named = phases
        for _ in range(turn):
            named = renamed(named)
        return psmr.OpenPhases(line, begin, phases=named)

    return at


EVENTS = {
    "ag": fault("ag", 5),
    "bc": fault("bc", 7),
    "bcg": fault("bcg", 8, trip="7-8"),
    "ag with the trip of a line": fault("ag", 5, trip="5-7"),
    "a open": opened("a", "5-7"),
    "a and b open": opened("ab", "7-8"),
}


@pytest.fixture(scope="module")
def wscc9():
    region = psmr.Region("all", zero_sequence=True)
    return psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=region)


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_an_event_in_the_next_phase_a_third_of_a_period_later_is_the_same(wscc9, event):
    first, *others = runs(wscc9, event)
    assert np.abs(first - first[0]).max() > 1e-3
    for other in others:
        assert np.abs(other - first).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("phases", ["ag", "bc", "cag"])
def test_phases_of_new_england_are_alike(phases):
    region = psmr.Region((16,), within=2, zero_sequence=True)
    system = psmr.build(psmr.case("new-england"), loads="impedance", dynamic=region)
    first, *others = runs(system, fault(phases, 16, trip="16-17"), length=0.05)
    assert np.abs(first - first[0]).max() > 1e-3
    for other in others:
        assert np.abs(other - first).max() < 1e-10
