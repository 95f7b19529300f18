import pickle

import pytest

from psmr import (
    Fault,
    GeneratorTrip,
    LineTrip,
    LoadRamp,
    LoadTrip,
    ParameterStep,
    SetPoint,
    ShuntSwitch,
)
from psmr.errors import EventError
from tests.internals import dead_part, schedule


def test_fault_closes_an_admittance_and_opens_it_with_the_line(system):
    on, off = Fault(bus=5, start=1.0, clear=1.1, trip="5-7", r=0.3, x=0.4).changes(system)
    assert (on.t, on.label) == (1.0, "fault at bus5")
    # 1 / (0.3 + j0.4) = 1.2 - j1.6
    assert {name: value for _, name, value in on.parameters} == pytest.approx(
        {"fault": 1.0, "r_fault": 0.3, "x_fault": 0.4, "g_fault": 1.2, "b_fault": -1.6}
    )
    assert off.label == "fault at bus5 cleared, line5-7 tripped"
    assert {name: value for _, name, value in off.parameters} == {
        "fault": 0.0, "r_fault": 0.0, "x_fault": 0.0, "status": 0.0, "open_i": 0.0, "open_j": 0.0,
        "g_fault": 0.0, "b_fault": 0.0,
    }  # fmt: skip
    assert ("line5-7", "status", 0.0) in off.parameters


@pytest.mark.parametrize("bus", [5, "5", "bus5"])
def test_a_bus_may_be_a_number_or_a_name(system, bus):
    assert Fault(bus, 1.0, 1.1).changes(system)[0].parameters[0][0] == "bus5"


@pytest.mark.parametrize("line", ["5-7", "7-5", "line5-7", "bus5-bus7"])
def test_a_line_may_be_its_buses_or_its_name(system, line):
    ends = (("line5-7", "open_i", 0.0), ("line5-7", "open_j", 0.0))  # of which a relay may have opened one
    assert LineTrip(line, 1.0).changes(system)[0].parameters == (("line5-7", "status", 0.0), *ends)


def test_load_trip_takes_its_part_and_gives_it_back(system):
    p, q = (system.parameter("load5", name) for name in "pq")
    trip = LoadTrip(bus=5, start=1.0, fraction=0.25, reconnect=1.2)
    first, second = schedule(system, [trip], 2.0)
    for change, part in ((first, 0.75), (second, 1.0)):
        assert change.parameters[:2] == (("load5", "p", part * p), ("load5", "q", part * q))
    assert (first.label, second.label) == ("25 % of the load at bus5 trips", "load at bus5 reconnected")


def test_line_trip_and_reclose(system):
    first, second = LineTrip("5-7", 1.0, reclose=1.5).changes(system)
    assert [c.parameters[0][2] for c in (first, second)] == [0.0, 1.0]


def test_set_point_steps_a_held_input(system):
    (change,) = SetPoint("AVR2", "v_ref", 1.05, start=1.0).changes(system)
    assert change.inputs == (("AVR2.v_ref", 1.05),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fault(5, 1.0, 1.0), r"fault at bus5: clear = 1 s; must be after start = 1 s"),
        (lambda: Fault(5, -1.0, 1.0), r"fault at bus5: start = -1 s; must be >= 0"),
        (lambda: Fault(5, float("nan"), 1.0), r"start = nan; must be a finite number"),
        (lambda: Fault(5, 1.0, "2"), r"clear = '2'; must be a finite number"),
        (
            lambda: Fault(5, 1.0, 1.1, x=0.0),
            r"fault impedance r \+ jx = 0 \+ j0 pu; .* a bolted fault is x = 1e-4",
        ),
        (lambda: Fault(5, 1.0, 1.1, r=-0.1), r"r must be >= 0"),
        (lambda: LoadTrip(5, 1.0, 0.0), r"load trip at bus5: fraction = 0.0; must be above 0 and at most 1"),
        (lambda: LoadTrip(5, 1.0, 50.0), r"fraction = 50.0; must be above 0 and at most 1 \(0.5 trips half"),
        (lambda: LoadTrip(5, 1.0, 0.5, reconnect=0.5), r"reconnect = 0.5 s; must be after start = 1 s"),
        (
            lambda: LineTrip("5-7", 1.0, reclose=0.9),
            r"trip of line 5-7: reclose = 0.9 s; must be after start",
        ),
        (lambda: LoadRamp(5, 1.0, 1.0, 2.0), r"load ramp at bus5: end = 1 s; must be after start = 1 s"),
        (lambda: LoadRamp(5, 1.0, 2.0, -0.5), r"factor = -0.5; must be >= 0 \(1.2 adds a fifth, 0 takes all"),
        (lambda: LoadRamp(5, 1.0, 2.0, 1.0), r"factor = 1: the load would stay as it is"),
        (lambda: GeneratorTrip("G2", -1.0), r"trip of generator G2: start = -1 s; must be >= 0"),
        (lambda: ShuntSwitch("shunt5", 1.0, on=1), r"ShuntSwitch: on = 1: must be True or False"),
        (
            lambda: ParameterStep("GOV1", "droop", float("nan"), 1.0),
            r"step of parameter GOV1.droop: value = nan; must be a finite number",
        ),
        (
            lambda: SetPoint("AVR1", "v_ref", float("inf"), 1.0),
            r"step of AVR1.v_ref: value = inf; must be a finite",
        ),
    ],
)
def test_an_event_that_cannot_be_is_refused_when_made(make, message):
    with pytest.raises(EventError, match=message):
        make()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            Fault(55, 1.0, 1.1),
            r"fault at bus55: there is no bus 55 in 'WSCC 9-bus'; did you mean 'bus5'\?; buses: bus1, ",
        ),
        (
            Fault(5, 1.0, 1.1, trip="5-8"),
            r"no line or transformer '5-8' .*did you mean 'line7-8'\?; branches: line4-5, ",
        ),
        (LineTrip("line57", 1.0), r"did you mean 'line5-7'"),
        (LoadTrip(4, 1.0, 0.5), r"load trip at bus4: bus4 has no load; there are loads at bus5, bus6, bus8"),
        (SetPoint("AVR9", "v_ref", 1.0, 1.0), r"there is no device 'AVR9'; did you mean 'AVR"),
        (
            SetPoint("AVR1", "v_rf", 1.0, 1.0),
            r"AVR1 has no set-point 'v_rf'; did you mean 'v_ref'\?; its set-points: v_ref",
        ),
        (SetPoint("G1", "v_f", 1.0, 1.0), r"G1.v_f is not a set-point, AVR1.v_f provides it"),
        (Fault(5, 2.0, 2.1), r"'fault at bus5' \(t = 2 s\) is not before the end of the run, t_end = 2 s"),
        (Fault(5, 1.9, 2.1), r"'fault at bus5 cleared' \(t = 2.1 s\) is not before the end of the run"),
        (GeneratorTrip("G9", 1.0), r"trip of generator G9: there is no generator 'G9'; did you mean 'G"),
        (GeneratorTrip(5, 1.0), r"there is no generator 5.*; generators: G1 at bus1, G2 at bus2, G3 at bus3"),
        (ShuntSwitch("shunt5", 1.0), r"switching of shunt5: there is no shunt 'shunt5'; it has none"),
        (LoadRamp(4, 1.0, 1.5, 2.0), r"load ramp at bus4: bus4 has no load; there are loads at bus5, bus6"),
        (
            LoadRamp(5, 1.0, 2.5, 2.0),
            r"'load ramp at bus5 ends' \(t = 2.5 s\) is not before the end of the run",
        ),
        (
            ParameterStep("GOV1", "drop", 0.1, 1.0),
            r"step of parameter GOV1.drop: GOV1 has no parameter 'drop'; did you mean 'droop'",
        ),
        (ParameterStep("GOV9", "droop", 0.1, 1.0), r"has no device 'GOV9'; did you mean 'GOV"),
        (ParameterStep("GOV1", "droop", -0.1, 1.0), r"GOV1.droop = -0.1: must be > 0"),
        (ParameterStep("AVR1", "v_ref", 1.0, 1.0), r"AVR1.v_ref is a set-point, not a parameter"),
        ("fault", r"'fault' is not an event; use psmr.Fault"),
    ],
)
def test_an_event_that_does_not_fit_the_system_is_named(system, event, message):
    with pytest.raises(EventError, match=message):
        schedule(system, [event], 2.0)


def test_two_trips_together_may_cut_a_bus_off(system):
    events = [LineTrip("4-5", 0.5), Fault(7, 1.0, 1.1, trip="5-7")]
    assert dead_part(system, schedule(system, events, 2.0)).t == 1.1
    # With the first line back in service nothing is cut off.
    assert dead_part(system, schedule(system, [LineTrip("4-5", 0.5, reclose=0.9), events[1]], 2.0)) is None


def test_overlapping_events_on_one_thing_are_refused(system):
    events = [LoadRamp(5, 0.5, 1.5, 2.0), LoadRamp(5, 1.0, 1.8, 0.5)]
    with pytest.raises(
        EventError, match=r"overlaps with load ramp at bus5: both change load5.p; combine them"
    ):
        schedule(system, events, 2.0)
    schedule(system, [LoadRamp(5, 0.5, 1.0, 2.0), LoadRamp(5, 1.2, 1.8, 0.5)], 2.0)


def test_a_branch_out_of_service_cannot_trip(system):
    import dataclasses

    group, row, column = system.parameter_place("line5-7", "status")
    parameters = [matrix.copy() for matrix in system.parameters]
    parameters[group][row, column] = 0.0
    without = dataclasses.replace(system, parameters=tuple(parameters))
    with pytest.raises(EventError, match=r"line5-7 is out of service already; a trip of it would do nothing"):
        schedule(without, [LineTrip("5-7", 1.0)], 2.0)


def test_a_generator_trip_takes_the_whole_plant(system):
    for generator in ("G2", 2, "2", "bus2"):
        (change,) = GeneratorTrip(generator, 1.0).changes(system)
        assert (change.out, change.label) == (("G2", "AVR2", "GOV2", "PSS2"), "G2 tripped")


def test_an_event_finds_what_those_before_it_have_left(system):
    p = system.parameter("load5", "p")
    ramp, trip = LoadRamp(5, 0.2, 0.6, 1.5), LoadTrip(5, 1.0, 0.5)
    *_, last = schedule(system, [trip, ramp], 2.0)
    assert last.parameters[0] == ("load5", "p", pytest.approx(0.75 * p))
    # A ramp may follow another one, also at once.
    *_, last = schedule(system, [ramp, LoadRamp(5, 0.6, 1.0, 2.0, factor_q=1.0)], 2.0)
    assert last.parameters == (("load5", "p", pytest.approx(3 * p)),)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (
            [LoadRamp(5, 0.5, 1.5, 2.0), ParameterStep("load5", "p", 1.0, 1.0)],
            r"step of parameter load5.p \(load5.p = 1, t = 1 s\) overlaps with load ramp at bus5: both "
            r"change load5.p",
        ),
        (
            [GeneratorTrip("G2", 1.0), SetPoint("AVR2", "v_ref", 1.0, 1.5)],
            r"step of AVR2.v_ref .*: AVR2 is out of service since t = 1 s \(trip of generator G2\); drop one",
        ),
        ([GeneratorTrip("G2", 1.0), GeneratorTrip(2, 1.5)], r"trip of generator 2 .*: G2 is out of service"),
    ],
)
def test_events_that_contradict_each_other_are_refused(system, events, message):
    with pytest.raises(EventError, match=message):
        schedule(system, events, 2.0)


def test_changes_of_one_instant_are_one(system):
    changes = schedule(system, [LoadTrip(5, 1.0, 0.5), SetPoint("AVR1", "v_ref", 1.1, 1.0)], 2.0)
    assert [c.label for c in changes] == ["50 % of the load at bus5 trips; AVR1.v_ref = 1.1"]


def test_events_are_records():
    event = Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
    assert event == Fault(5, 1.0, 1.1, "5-7")
    assert pickle.loads(pickle.dumps(event)) == event
    assert (event.end, LoadTrip(5, 1.0, 0.5).end, LineTrip("5-7", 1.0, 2.0).end) == (1.1, None, 2.0)
    assert "bus=5" in repr(event)
