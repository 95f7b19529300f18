"""Parts of loads and units that trip, overlapping with what else happens to them."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import EventError
from tests.internals import schedule
from tests.standing import after

TM = psmr.SingleRate("TM", h=0.005, tolerance=1e-12)


def drawn(system, events, t, load="load5"):
    """What a load draws by its data at t in s, in parts of what it drew at the start."""
    changes = [change for change in schedule(system, events, 10.0) if change.t <= t]
    now = after(system, changes, t)
    return now.parameter(load, "p") / system.parameter(load, "p")


RAMP = psmr.LoadRamp(5, 1.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("events", "values"),
    [
        # Half of the load trips half-way to twice the load: half of the rest of the ramp goes on.
        ([RAMP, psmr.LoadTrip(5, 2.0, 0.5)], {1.5: 1.25, 2.0: 0.75, 2.5: 0.875, 4.0: 1.0}),
        ([RAMP, psmr.LoadTrip(5, 2.0, 0.5, reconnect=2.5)], {2.25: 0.8125, 2.5: 1.75, 4.0: 2.0}),
        # It comes back after the ramp: what the ramp has made of it by then.
        ([RAMP, psmr.LoadTrip(5, 0.5, 1.0, reconnect=4.0)], {0.5: 0.0, 2.0: 0.0, 4.0: 2.0}),
        # Each takes a part of what is there; each brings back what it took.
        (
            [psmr.LoadTrip(5, 1.0, 0.5, reconnect=3.0), psmr.LoadTrip(5, 2.0, 0.2, reconnect=4.0)],
            {1.0: 0.5, 2.0: 0.4, 3.0: 0.8, 4.0: 1.0},
        ),
        ([psmr.LoadTrip(5, 1.0, 0.5), psmr.LoadTrip(5, 1.0, 0.2)], {1.0: 0.4}),
    ],
)  # fmt: skip
def test_trips_take_their_part_of_what_else_happens(system, events, values):
    assert {t: drawn(system, events, t) for t in values} == pytest.approx(values)


def test_a_series_goes_on_with_the_part_that_is_left(system, tmp_path):
    file = tmp_path / "p.csv"
    file.write_text("t,p\n1,1.0\n3,3.0\n")
    series = psmr.TimeSeries(file, "p", "load5.p")
    events = [series, psmr.LoadTrip(5, 2.0, 0.25, reconnect=2.5)]
    p = system.parameter("load5", "p")
    found = {t: drawn(system, events, t) * p for t in (1.5, 2.0, 2.25, 2.5, 4.0)}
    assert found == pytest.approx({1.5: 1.5, 2.0: 1.5, 2.25: 0.75 * 2.25, 2.5: 2.5, 4.0: 3.0})


def _halved(parameters):
    return parameters | ({"s_n": parameters["s_n"] / 2} if "s_n" in parameters else {})


def with_two_units(case):
    """The plant at bus 2 as two equal units."""
    (unit,) = (row for row in case.generators if row.name == "G2")

    def half(name):
        devices = tuple(
            replace(d, name=d.name.replace("2", name[1:]), parameters=_halved(d.parameters))
            for d in unit.devices
        )
        return replace(unit, name=name, p_mw=unit.p_mw / 2, rating_mva=unit.rating_mva / 2, devices=devices)

    others = tuple(row for row in case.generators if row.name != "G2")
    return replace(case, generators=(*others, half("G2"), half("G22")))


def test_a_part_of_a_unit_is_one_of_several_equal_ones(system):
    """Half of G2 trips, or one of two units of half the rating: the rest moves alike."""
    two = psmr.build(with_two_units(psmr.case("wscc9")))
    whole = psmr.simulate(system, TM, 1.0, [psmr.GeneratorTrip("G2", 0.1, fraction=0.5)], certify=False)
    one = psmr.simulate(two, TM, 1.0, [psmr.GeneratorTrip("G22", 0.1)], certify=False)
    for name in ("G1.delta", "G2.omega", "G2.delta", "G3.e_q", "bus5.v_re", "bus2.v_im"):
        assert whole[name].to_numpy() == pytest.approx(one[name].to_numpy(), abs=1e-6)
    assert whole["G2.p"].iloc[-1] == pytest.approx(one["G2.p"].iloc[-1], rel=1e-6)


def test_two_parts_of_a_unit_and_then_the_rest(system):
    trips = [psmr.GeneratorTrip("G2", 0.1 * k, fraction=0.5) for k in (1, 2)]
    now = after(system, schedule(system, trips, 1.0))
    assert now.parameter("G2", "s_n") == pytest.approx(0.25 * system.parameter("G2", "s_n"))
    changes = schedule(system, [*trips, psmr.GeneratorTrip("G2", 0.3)], 1.0)
    assert "G2" in changes[-1].out


def test_a_unit_trips_with_its_transformer(system):
    trip = psmr.GeneratorTrip("G2", 0.1, transformer="2-7")
    run = psmr.simulate(system, TM, 0.5, [trip], certify=False)
    assert [label for _, label in run.instants] == [
        "G2 and transformer2-7 tripped", "bus2 dead, G2 out of service"
    ]  # fmt: skip
    with pytest.raises(EventError, match=r"transformer1-4 is not at bus2, where G2 is"):
        psmr.GeneratorTrip("G2", 0.1, transformer="1-4").changes(system)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"fraction": 0.0}, r"fraction = 0.0; must be above 0 and at most 1"),
        ({"fraction": 1.5}, r"fraction = 1.5; must be above 0 and at most 1"),
        ({"fraction": 0.5, "transformer": "2-7"}, r"transformer trips with the whole plant"),
    ],
)
def test_parts_that_cannot_be_are_named(fields, words):
    with pytest.raises(EventError, match=words):
        psmr.GeneratorTrip("G2", 0.1, **fields)


LATER = psmr.LoadRamp(5, 0.9, 1.1, 0.5)


@pytest.mark.parametrize(
    "others",
    [
        [psmr.LoadRamp(5, 0.1, 0.8, 1.5)],
        [psmr.LoadRamp(5, 0.1, 0.8, 1.5), LATER],
        [psmr.LoadTrip(5, 0.2, 0.5, reconnect=1.0), psmr.LoadTrip(5, 0.7, 0.2)],
        [psmr.LoadTrip(5, 0.2, 0.5, reconnect=0.6), psmr.LoadRamp(5, 0.1, 0.8, 1.5), LATER],
        [psmr.SetPoint("AVR1", "v_ref", 1.05, 0.8), psmr.LoadRamp("*", 0.1, 0.8, 1.2)],
    ],
)
@pytest.mark.parametrize("reconnect", [None, 0.35, 0.75])
def test_a_part_that_trips_on_a_condition_is_as_one_that_trips_then(system, others, reconnect):
    """What ramps or returns goes on with the part that is left; it came back whole at its next instant."""
    trip = psmr.LoadTrip(5, 0.0, 0.4, reconnect)
    waiting = psmr.When("bus8.v < 0.8", trip)
    fault = psmr.Fault(8, 0.3, 0.35)
    run = psmr.simulate(system, TM, 1.4, [waiting, fault, *others], certify=False)
    at = next(t for t, words in run.instants if "bus8.v" in words)
    timed = replace(trip, start=at, reconnect=None if reconnect is None else at + reconnect)
    known = psmr.simulate(system, TM, 1.4, [timed, fault, *others], certify=False)
    times = 0.0025 + 0.01 * np.arange(139)
    signals = ["load*.p", "bus5.v", "G1.omega"]
    assert run.at(times, signals).to_numpy() == pytest.approx(known.at(times, signals).to_numpy(), abs=1e-6)


def test_parts_of_a_load_that_trip_on_two_conditions_come_back_apart(system):
    events = [
        psmr.When("bus8.v < 0.8", psmr.LoadTrip(5, 0.0, 0.4, reconnect=0.5)),
        psmr.When("bus8.v < 0.7", psmr.LoadTrip(5, 0.2, 0.5, reconnect=0.9)),
        psmr.When("bus8.v < 0.6", psmr.LoadRamp(5, 0.3, 0.4, 2.0, factor_q=1.0)),
        psmr.Fault(8, 0.1, 0.15),
    ]
    run = psmr.simulate(system, TM, 1.4, events, certify=False)
    p = system.parameter("load5", "p")
    expected = {0.2: 0.6, 0.35: 0.3, 0.55: 0.6, 0.7: 1.0, 1.2: 2.0}
    for t, part in expected.items():
        span = [span for span in run.spans if span.t <= t][-1]
        group, row, column = run.system.parameter_place("load5", "p")
        assert span.parameters_at(t)[group][row, column] == pytest.approx(part * p), t
