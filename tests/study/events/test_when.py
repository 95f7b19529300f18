"""Events that wait for a condition: when they happen, once, and conditions that cannot be."""

import numpy as np
import pytest

import psmr
from psmr.errors import EventError, StudyError

FAULT = psmr.Fault(bus=5, start=0.1, clear=0.2, r=0.05)
TRIP = psmr.LineTrip("5-7", start=0.0)


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


def run(system, *events, scheme=None, t_end=0.5):
    scheme = scheme or psmr.SingleRate("TM", h=0.005)
    return psmr.simulate(system, scheme, t_end, events=events, certify=False)


def happened(run, words):
    """The instants of changes with these words."""
    return [change.t for change in run.changes if words in change.label]


def test_an_event_happens_when_its_condition_has_held(system):
    # The voltage is low from the fault at 0.1 s to its end at 0.2 s: 50 ms later than its start.
    found = run(system, FAULT, psmr.When("bus5.v < 0.7 for 0.05 s", psmr.LineTrip("5-7", 0.0, reclose=0.1)))
    assert happened(found, "line5-7 tripped") == pytest.approx([0.15], abs=1e-12)
    assert happened(found, "line5-7 reclosed") == pytest.approx([0.25], abs=1e-12)
    assert not happened(run(system, FAULT, psmr.When("bus5.v < 0.7 for 0.15 s", TRIP)), "tripped")


@pytest.mark.parametrize("scheme", [psmr.SingleRate("TM", h=0.001), psmr.VariableStep(1e-6)], ids=str)
def test_the_instant_is_where_the_signal_crosses(system, scheme):
    fine = run(system, FAULT, scheme=psmr.SingleRate("TM", h=1e-4))
    omega = fine["G2.omega"].to_numpy()
    level = round(1 + 0.6 * (omega.max() - 1), 6)
    k = int(np.argmax(omega > level))
    expected = np.interp(level, omega[k - 1 : k + 1], fine.t[k - 1 : k + 1])
    found = run(system, FAULT, psmr.When(f"G2.omega > {level}", TRIP), scheme=scheme)
    # The second-order method is 1.6e-5 s off with steps of 5 ms, a 25th of it with these; what acts at once
    # comes 1e-3 of a step later.
    assert happened(found, "tripped") == pytest.approx([expected], abs=1e-5)


def test_a_ramp_on_a_condition_leads_on_from_what_it_finds(system):
    """Its condition holds from the start on; half of the ramp at 0.3 s, 1.5 times 1.2 at 0.4 s."""
    later = psmr.When("bus8.v > 0.5", psmr.LoadRamp(bus=5, start=0.25, end=0.35, factor=1.5))
    found = run(system, psmr.LoadRamp(bus=5, start=0.1, end=0.2, factor=1.2), later)
    power = [found.system_at(t).parameter("load5", "p") for t in (0.0, 0.24, 0.3, 0.4)]
    assert power == pytest.approx([1.25, 1.5, 1.875, 2.25], abs=1e-9)


@pytest.mark.parametrize(
    ("signal", "above"),
    [("line4-5.p_from", 60.0), ("G1.q", 100.0), ("line4-5.i_from", 1.0), ("load5.p", 1.0), ("bus5.v_a", 0.9)],
)
def test_powers_and_currents_may_be_conditions(system, signal, above):
    found = run(
        system, FAULT, psmr.When(f"{signal} > {above}", psmr.SetPoint("GOV1", "p_ref", 0.8, start=0.02))
    )
    values = found[signal].to_numpy()
    first = found.t[int(np.argmax(values > above))]
    assert happened(found, "GOV1.p_ref = 0.8") == pytest.approx([first + 0.02], abs=1e-4)


def test_an_event_happens_once_and_a_ramp_counts_from_there(system):
    ramp = psmr.LoadRamp(bus=8, start=0.05, end=0.1, factor=0.5)
    found = run(system, FAULT, psmr.When("bus5.v < 0.7 for 0.02 s", ramp))
    (begins,) = happened(found, "load at bus8 ramps")
    assert begins == pytest.approx(0.17)
    p = found["load8.p"]
    # Half way down after half of the 50 ms.
    k = int(np.flatnonzero(np.isclose(found.t, 0.195))[0])
    v = found["bus8.v"].to_numpy()
    assert p.iloc[k] / v[k] ** 2 == pytest.approx(0.75 * p.iloc[0] / v[0] ** 2, rel=1e-6)


def test_a_part_of_a_load_trips_and_returns_on_a_condition(system):
    trip = psmr.LoadTrip(bus=5, start=0.0, fraction=0.4, reconnect=0.1)
    found = run(system, FAULT, psmr.When("bus5.v < 0.7 for 0.05 s", trip))
    admittance = found["load5.p"].to_numpy() / found["bus5.v"].to_numpy() ** 2
    part = admittance / admittance[0]
    k, later = (int(np.flatnonzero(np.isclose(found.t, t))[-1]) for t in (0.18, 0.3))
    assert (part[k], part[later]) == pytest.approx((0.6, 1.0), rel=1e-6)


def test_what_is_not_possible_any_more_is_listed(system):
    found = run(system, FAULT, psmr.LineTrip("5-7", start=0.12), psmr.When("bus5.v < 0.7 for 0.05 s", TRIP))
    (words,) = [change.label for change in found.changes if "not done" in change.label]
    assert "line5-7 is out of service already" in words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("bus5.vv < 0.7", "there is no signal 'bus5.vv'; did you mean 'bus5.v'"),
        ("bus5.v < -0.7", "can never hold, bus5.v is a magnitude"),
        ("line5-7.i_0 < 0", "can never hold"),
        ("line5-7.i_1 < 0", "can never hold"),
        ("bus5.v - bus6.v > 0.3", "bus5.v - bus6.v is a sum; name one signal"),
        ("load5.p - bus6.v < -0.3", "is a sum"),
        ("2 * bus5.v < 0.7", "is a sum"),
        ("bus5.v", "is no condition; write a signal, < or >"),
        ("bus5.v < 0.7 for 3", "is no condition"),
        ("bus5.v < 1e999", "is no condition"),
        ("bus5.v < 0.7 for -1 s", "for -1 s; must be >= 0"),
        ("bus*.v < 0.7", "is a pattern; name one signal"),
        ("bus5.frequency < 59", "take the omega of a machine"),
    ],
)
def test_conditions_that_cannot_be(system, condition, words):
    with pytest.raises(EventError, match=words):
        run(system, psmr.When(condition, TRIP))


def test_a_phase_of_a_dynamic_bus_swings_below_zero():
    system = psmr.build(psmr.case("wscc9"), loads="impedance", dynamic=psmr.Region(5))
    trip = psmr.When("bus5.v_a < -0.5", TRIP)
    found = psmr.simulate(system, psmr.SingleRate("TM", 1 / 60 / 40), 0.02, [trip], certify=False)
    assert not found.unmet
    first = next(t for t, words in found.instants if "tripped" in words)
    assert found["bus5.v_a"][first] == pytest.approx(-0.5, abs=5e-4)


def test_an_event_that_cannot_be_is_refused_before_the_run(system):
    with pytest.raises(EventError, match="there is no line or transformer '5-77'"):
        run(system, psmr.When("bus5.v < 0.7", psmr.LineTrip("5-77", start=0.0)))


STUDY = """
format = "psmr-study"
version = 1
case = "wscc9"

[simulation]
t_end = 0.4

[[event]]
type = "fault"
bus = 5
start = 0.1
clear = 0.2

[[event]]
type = "line-trip"
line = "5-7"
when = "bus5.v < 0.7 for 0.05 s"
"""


def test_a_study_says_when(tmp_path, system):
    path = tmp_path / "when.toml"
    path.write_text(STUDY)
    study = psmr.read_study(path)
    assert study.events[1] == psmr.When("bus5.v < 0.7 for 0.05 s", TRIP)
    path.write_text(STUDY + "start = 0.5\n")
    assert str(psmr.read_study(path).events[1]) == "trip of line 5-7 0.5 s after bus5.v < 0.7 for 0.05 s"
    path.write_text(STUDY.replace("bus5.v < 0.7", "bus5.v < -0.7"))
    with pytest.raises(StudyError, match=r"when\.toml:15 .*can never hold"):
        psmr.read_study(path)


def test_a_run_with_a_condition_is_saved(tmp_path, system):
    found = run(system, FAULT, psmr.When("bus5.v < 0.7 for 0.05 s", TRIP))
    found.save(tmp_path / "when.psmr")
    assert psmr.load_run(tmp_path / "when.psmr").events == found.events


def test_an_event_whose_condition_does_not_hold_is_listed_as_not_done(system, tmp_path):
    # The fault leaves bus5 at about 0.4 pu: the first condition holds at once, the second never.
    waits = (psmr.When("bus5.v < 0.7", TRIP), psmr.When("bus5.v < 0.01", psmr.LoadTrip(8, 0.0, 0.5)))
    found = run(system, FAULT, *waits)
    assert found.unmet == ("load trip at bus8 when bus5.v < 0.01",)
    words = "not done: load trip at bus8 when bus5.v < 0.01 (its condition did not hold)"
    assert words in found.summary()
    found.save(tmp_path / "run.psmr")
    assert psmr.load_run(tmp_path / "run.psmr").unmet == found.unmet
    found.to_html(tmp_path / "run.html")
    assert "load trip at bus8 when bus5.v &lt; 0.01" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_trip_of_what_a_condition_has_tripped_is_said_to_have_no_effect(system):
    found = run(system, FAULT, psmr.When("bus5.v < 0.7", TRIP), psmr.LineTrip("5-7", 0.3, reclose=0.4))
    labels = [label for _, label in found.instants]
    assert "line5-7 tripped (without effect: it is so already)" in labels
    assert "line5-7 reclosed" in labels


def test_a_line_whose_ends_open_one_by_one_is_not_tripped_by_a_condition(system):
    fault = psmr.Fault(line="4-6", at=0.3, start=0.05, clear_from=0.1, clear_to=0.2)
    trip = psmr.When("bus6.v < 0.99 for 0.02 s", psmr.LineTrip("4-6", 0.0))
    with pytest.raises(EventError, match=r"the ends of line4-6 open one by one \(line4-6 opened at bus4\)"):
        run(system, fault, trip)
    waits = psmr.When(
        "bus6.v < 0.99 for 0.02 s", psmr.Fault(line="4-6", at=0.3, start=0, clear_from=0.1, clear_to=0.2)
    )
    with pytest.raises(EventError, match="may come between them"):
        run(system, waits, psmr.LineTrip("4-6", 0.1))
    run(system, waits)


GROUND = psmr.Fault(7, 0.0, 0.5, r=0.01, phases="ag")


def test_an_unbalance_on_a_condition_does_not_meet_one_that_is_to_come(system):
    scheduled = psmr.Fault(5, 0.3, 0.35, r=0.01, phases="ag")
    early = psmr.When("bus7.v < 5 for 0.1 s", GROUND)
    found = run(system, scheduled, early)
    words = "fault at bus7 when bus7.v < 5 for 0.1 s: not done, it would meet ag fault at bus5 at t = 0.3 s"
    assert happened(found, words) == pytest.approx([0.1])
    assert happened(found, "ag fault at bus5 cleared") == pytest.approx([0.35])
    assert found.t[-1] == 0.5
    # Over before, it happens.
    short = psmr.When("bus7.v < 5 for 0.1 s", psmr.Fault(7, 0.0, 0.05, r=0.01, phases="ag"))
    assert happened(run(system, scheduled, short), "ag fault at bus7 cleared") == pytest.approx([0.15])
    # Of one that waits and another that comes back onto a permanent fault.
    again = psmr.Fault(
        9, 0.0, 0.05, r=0.01, phases="ag", trip="8-9", reclose=0.2, permanent=True, clear_again=0.3
    )
    first = psmr.When("bus7.v < 5 for 0.02 s", again)
    both = run(system, first, early)
    assert happened(both, "not done, it would meet") == pytest.approx([0.1])
    assert happened(both, "for good") == pytest.approx([0.32])


def test_unbalances_that_stay_on_a_condition_and_by_the_clock_are_refused_before_the_run(system):
    stays = psmr.Fault(5, 0.3, permanent=True, r=0.01, phases="ag")
    waits = psmr.When("bus7.v < 0.5", psmr.Fault(7, 0.0, permanent=True, r=0.01, phases="bc"))
    with pytest.raises(
        EventError, match="whenever its condition holds, it would be unbalanced at bus5 and bus7"
    ):
        run(system, stays, waits)
    balanced = psmr.When("bus7.v < 0.5", psmr.Fault(7, 0.0, permanent=True, r=0.01))
    assert run(system, stays, balanced).t[-1] == 0.5


def test_a_condition_sees_what_follows_a_series(system, tmp_path):
    """It is met where the series passes its value: it saw that of the last instant, and waited."""
    (tmp_path / "p.csv").write_text("t,p\n0.1,1.25\n0.8,1.95\n")
    series = psmr.TimeSeries(tmp_path / "p.csv", "p", "load5.p", scale=1.0)
    condition = psmr.When("load5.p > 150", psmr.LoadTrip(8, 0.0, 0.1))
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 1.0, [series, condition], certify=False)
    (t,) = [t for t, words in run.instants if "trips" in words]
    assert 0.2 < t < 0.6
    assert run.at([t - 1e-6], "load5.p").iloc[0, 0] == pytest.approx(150.0, abs=0.01)


@pytest.mark.parametrize("scheme", [psmr.SingleRate("TM", 0.01), psmr.VariableStep()])
def test_conditions_that_hold_at_one_instant_are_both_met(system, scheme):
    """Their changes are one; the first of them was said not to have happened, though it acted."""
    events = [
        psmr.When("bus5.v < 0.5", psmr.LoadTrip(6, 0.0, 0.5)),
        psmr.Fault(5, 0.1, 0.2),
        psmr.When("bus5.v < 0.6", psmr.LoadTrip(8, 0.0, 0.5)),
        psmr.When("bus5.v > 2", psmr.LoadTrip(8, 0.0, 0.1)),
    ]
    run = psmr.simulate(system, scheme, 0.5, events, certify=False)
    assert run["load6.p"].iloc[-1] < 60
    assert run["load8.p"].iloc[-1] < 60
    assert run.unmet == (str(events[3]),)


def test_a_change_says_of_which_event_it_is_which_part(system):
    events = [
        psmr.When("bus5.v < 0.6", psmr.LoadTrip(8, 0.0, 0.5, reconnect=0.3)),
        psmr.LoadTrip(6, 0.1, 0.5, reconnect=0.2),
        psmr.Fault(5, 0.1, 0.15),
    ]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.5, events, certify=False)
    parts = [(cause.event, cause.part) for change in run.changes for cause in change.causes]
    assert sorted(parts) == [(k, part) for k in range(3) for part in range(2)]
    met = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.5, [events[0]], certify=False)
    assert met.unmet == (str(events[0]),)
    assert not any(change.causes for change in met.changes)


def test_a_condition_whose_event_is_not_possible_any_more_was_met(system):
    events = [psmr.LineTrip("5-7", 0.1), psmr.When("bus5.v < 0.99", psmr.LineTrip("5-7", 0.0))]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.5, events, certify=False)
    assert run.unmet == ()
    assert "not done" in run.instants[-1][1]


def test_a_line_that_an_event_or_another_condition_opens_may_be_closed_on_a_condition(system):
    closing = psmr.When("bus5.v < 0.7 for 0.05 s", psmr.LineClose("5-7", 0.0))
    found = run(system, FAULT, psmr.LineTrip("5-7", 0.12), closing)
    assert happened(found, "line5-7 closed") == pytest.approx([0.15], abs=1e-12)
    assert found.system_at(0.2).parameter("line5-7", "status") == 1
    found = run(system, FAULT, psmr.When("bus5.v < 0.7", TRIP), closing)
    assert happened(found, "line5-7 closed") == pytest.approx([0.15], abs=1e-12)
    # One that is in service by then is listed.
    assert happened(
        run(system, FAULT, closing), "not done, closing of line 5-7: line5-7 is in service already"
    )
    with pytest.raises(EventError, match=r"no branch|not there|5-99"):
        run(system, FAULT, psmr.When("bus5.v < 0.7", psmr.LineClose("5-99", 0.0)))
