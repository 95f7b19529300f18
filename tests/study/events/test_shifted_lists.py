"""The same events later are the same run later, for every kind of event."""

import numpy as np
import pytest

import partitioning
import psmr
from tests.programs.robustness.lists import later

FIXED = psmr.SingleRate("TM", h=0.01)
SETPOINT = 1.63
SEEN = ("bus*.v", "*.delta", "*.omega", "*.v_f", "load*.p")

LISTS = {
    "a fault": [psmr.Fault(5, 0.2, 0.3)],
    "a fault between two phases, with a trip": [psmr.Fault(8, 0.2, 0.3, phases="bcg", trip="8-9")],
    "a fault along a line": [
        psmr.Fault(line="5-7", at=0.3, start=0.2, clear_from=0.3, clear_to=0.35, phases="bc")
    ],
    "a line that recloses": [
        psmr.Fault(5, 0.2, 0.3, trip="5-7", reclose=0.6, permanent=True, clear_again=0.7)
    ],
    "a line trip": [psmr.LineTrip("5-7", 0.2), psmr.LineClose("5-7", 0.6)],
    "open phases": [psmr.OpenPhases(line="5-7", phases="a", start=0.2, close=0.5)],
    "trips of a load while it ramps": [
        psmr.LoadRamp(5, 0.2, 0.5, 1.5),
        psmr.LoadTrip(5, 0.4, 0.5, reconnect=0.8),
        psmr.LoadRamp(5, 0.6, 0.9, 0.5, factor_q=1.0),
    ],
    "an unbalance while a load ramps": [
        psmr.LoadRamp(5, 0.1, 0.7, 1.5),
        psmr.Fault(8, 0.2, 0.3, phases="ag"),
    ],
    "open phases while a load ramps": [
        psmr.LoadRamp(5, 0.1, 0.7, 1.5),
        psmr.OpenPhases(line="5-7", phases="a", start=0.2, close=0.5),
    ],
    "set-points": [
        psmr.SetPoint("AVR1", "v_ref", 1.1, 0.2),
        psmr.SetPoint("GOV2", "p_ref", 1.2 * SETPOINT, 0.3, end=0.7),
    ],
    "a step of a parameter": [psmr.ParameterStep("GOV2", "droop", 0.03, 0.2), psmr.LoadTrip(5, 0.2, 0.2)],
    "a part of a plant": [psmr.GeneratorTrip("G2", 0.2, fraction=0.5)],
    "a plant that returns": [psmr.GeneratorTrip("G3", 0.2, reconnect=0.5, ramp=0.3)],
    "conditions": [
        psmr.Fault(5, 0.2, 0.3),
        psmr.When("bus5.v < 0.8 for 0.05 s", psmr.LoadTrip(5, 0.1, 0.5)),
    ],
    "a condition on a ramp": [
        psmr.LoadRamp(6, 0.1, 0.7, 1.5),
        psmr.When("load6.p > 100", psmr.Fault(8, 0.02, 0.1, phases="ag")),
        psmr.When("load6.p > 110", psmr.LoadTrip(6, 0.0, 0.5)),
    ],
}


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


def off(system, scheme, events, by, t_end=1.0):
    """Return how far a run is from that whose events are 1 s later, at times between their instants."""
    first, other = (
        psmr.simulate(system, scheme, t_end + shift, [later(event, shift) for event in events], certify=False)
        for shift in (1.0, by)
    )
    instants = [np.array([t - shift for t, _ in run.instants]) for shift, run in ((1.0, first), (by, other))]
    assert np.allclose(*instants, rtol=0, atol=1e-8)
    assert np.sum(first.t >= first.instants[0][0]) == np.sum(other.t >= other.instants[0][0])
    times = np.arange(0.005, t_end, 0.01)
    found, expected = (run.at(shift + times, SEEN).to_numpy() for shift, run in ((1.0, first), (by, other)))
    return np.nanmax(np.abs(found - expected))


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_list_by_so_many_seconds_later_is_the_same_run_later(system, kind):
    """A controller takes the rounding of times, 1e-13 s after 500 s, into its steps over its tolerance."""
    for by in (2.0, 500.0):
        assert off(system, FIXED, LISTS[kind], by) < 1e-10, by
        assert off(system, psmr.VariableStep(), LISTS[kind], by) < 1e-8, by


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_series_by_so_many_seconds_later_is_the_same_run_later(system, tmp_path, hold):
    for by in (1.0, 2.0, 50.0, 500.0):
        rows = "".join(f"{t + by!r},{p}\n" for t, p in ((0.1, 1.2), (0.4, 1.8), (0.7, 1.1)))
        (tmp_path / f"{by:g}.csv").write_text("t,p\n" + rows)
    runs = [
        psmr.simulate(
            system,
            psmr.VariableStep(),
            1.0 + by,
            [
                psmr.TimeSeries(tmp_path / f"{by:g}.csv", "p", "load5.p", hold=hold),
                psmr.Fault(8, 0.5 + by, 0.6 + by, phases="ag"),
                psmr.When("load5.p > 140", psmr.LoadTrip(6, 0.0, 0.5)),
            ],
            certify=False,
        ).at(by + np.arange(0.005, 1.0, 0.01), SEEN)
        for by in (1.0, 2.0, 50.0, 500.0)
    ]
    for run in runs[1:]:
        assert np.abs(run.to_numpy() - runs[0].to_numpy()).max() < 1e-8


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_late_signals_and_a_region_are_the_same_later(system):
    late = psmr.with_delays(system, {"AVR1.v": 0.03, "GOV2.omega": 0.05})
    events = [psmr.LoadRamp(5, 0.1, 0.7, 1.5), psmr.Fault(8, 0.2, 0.3, phases="ag")]
    waiting = psmr.When("bus5.v < 0.9", psmr.LoadTrip(6, 0.0, 0.5))
    region = psmr.build(psmr.case("wscc9"), dynamic=psmr.Region((3, 9)))
    beside = [psmr.LoadRamp(5, 0.1, 0.25, 1.2), psmr.Fault(9, 0.15, 0.2)]
    for by in (2.0, 50.0):
        assert off(late, FIXED, [*events, waiting], by) < 1e-10, by
        assert off(late, psmr.VariableStep(), [*events, waiting], by) < 1e-8, by
    assert off(region, psmr.SingleRate("TM", h=0.001), beside, 2.0, t_end=0.3) < 1e-10


RELAYS = """
[[relay]]
name = "R"
bus = 7
acts_on = "line5-7"
[relay.device]
type = "OvercurrentRelay"
curve = 1
i_set = 1.3
multiplier = 0.05

[[relay]]
name = "U"
bus = 6
acts_on = "load6"
[relay.device]
type = "UnderVoltageShedding"
set_1 = 0.9
pickup_1 = 0.04
breaker_1 = 0.03
shed_1 = 0.3
"""


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_relays_and_two_rates_are_the_same_later(tmp_path):
    (tmp_path / "case.toml").write_text(psmr.case_path("wscc9").read_text() + RELAYS)
    guarded = psmr.build(psmr.read_case(tmp_path / "case.toml"))
    events = [
        psmr.LoadRamp(5, 0.1, 0.7, 1.5),
        psmr.Fault(5, 0.2, 0.4, phases="bc"),
        psmr.When("bus8.v < 0.9", psmr.LoadTrip(5, 0.05, 0.3, reconnect=0.3)),
    ]
    split = partitioning.by_participation(guarded.linearise(), 20.0)
    assert off(guarded, psmr.Multirate(split, 0.02, 4, predictor="TM"), events, 51.0) < 1e-10
    assert off(guarded, psmr.VariableStep(), events, 51.0) < 1e-8
