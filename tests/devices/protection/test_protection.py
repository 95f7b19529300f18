"""Relays in a run: when they pick up, what they shed and trip, and where a run says so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr import read_case, write_case
from psmr.errors import CaseError, InputError
from tests.components import FrequencyTrip, UnderFrequencyShedding, VoltageTrip
from tests.internals import NO_VOLTAGE, DeviceRow, RelayRow

H = 0.01


def relay(name, kind, bus, acts_on, **parameters):
    return RelayRow(name, bus, acts_on, DeviceRow(name, "relay", kind, parameters))


@pytest.fixture(scope="module")
def plain():
    from tests.conftest import ROOT

    return read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")


def run_of(case, events, t_end=3.0, scheme=None, **options):
    scheme = scheme or psmr.SingleRate("TM", h=H)
    return psmr.simulate(psmr.build(case), scheme, t_end, events, certify=False, **options)


TRIP = psmr.GeneratorTrip("G3", 0.1)


@pytest.fixture(scope="module")
def falling(plain):
    """The frequency at bus 5 that the relay measures after the loss of a generator, with nothing acting."""
    row = relay("uf", "UnderFrequencyShedding", 5, "load5", set_1=1.0, shed_1=0.1)
    return run_of(replace(plain, relays=(row,)), [TRIP])


def crossing(run, signal, limit):
    """Time at which a signal last came from above to below a limit and stayed there, by a straight line."""
    t, value = run.t, run[signal].to_numpy()
    above = np.flatnonzero(value >= limit)[-1]
    part = (limit - value[above]) / (value[above + 1] - value[above])
    return t[above] + part * (t[above + 1] - t[above])


def test_the_measured_frequency_is_that_of_the_bus(falling):
    """Away from the event the washout is the frequency of the bus, with its lag."""
    late = falling.t > 1.0
    off = falling["uf.f"].to_numpy()[late] - falling["bus5.frequency"].to_numpy()[late]
    rate = np.abs(np.gradient(falling["bus5.frequency"].to_numpy()[late], falling.t[late])).max()
    assert np.abs(off).max() < 1.5 * 0.05 * rate
    assert falling["uf.f"].iloc[0] == pytest.approx(60.0, abs=1e-9)


def test_load_is_shed_after_its_times(plain, falling):
    limit = 59.4
    row = relay(
        "uf", "UnderFrequencyShedding", 5, "load5", set_1=limit, pickup_1=0.2, breaker_1=0.05, shed_1=0.25
    )
    run = run_of(replace(plain, relays=(row,)), [TRIP])
    ((t, words),) = run.outcome.acted
    due = crossing(falling, "uf.f", limit) + 0.25
    # The crossing is a straight line's here, between points 10 ms apart (measured: 1.3e-5 s beside it).
    assert t == pytest.approx(due, abs=5e-5)
    assert words == "uf: 25 % of load5 shed, frequency below 59.4 Hz"
    assert (t, words) in run.instants
    before, after = run.at(t, "load5.p", side="before"), run.at(t, "load5.p", side="after")
    v = [run.at(t, "bus5.v", side=side).iloc[0, 0] for side in ("before", "after")]
    # An impedance: three quarters of it, at the voltage after.
    assert after.iloc[0, 0] == pytest.approx(0.75 * before.iloc[0, 0] * (v[1] / v[0]) ** 2, rel=1e-9)
    assert run["uf.f"].to_numpy()[-1] > falling["uf.f"].to_numpy()[-1] + 0.1
    assert "protection that acted: uf: 25 % of load5 shed" in str(run.outcome)


def test_a_relay_that_is_let_go_does_not_act(plain, falling):
    """Picked up for less than its time: a recovery resets the timer."""
    low = falling["uf.f"].min()
    fault = psmr.Fault(bus=5, start=0.2, clear=0.3)
    rows = [
        relay(name, "VoltageTrip", 1, "G2", low=0.9, high=1.2, pickup=pickup, breaker=0.0)
        for name, pickup in (("slow", 0.2), ("fast", 0.05))
    ]
    slow = run_of(replace(plain, relays=(rows[0],)), [fault], t_end=0.6)
    fast = run_of(replace(plain, relays=(rows[1],)), [fault], t_end=0.6)
    assert slow.outcome.acted == ()
    ((t, words),) = fast.outcome.acted
    # The voltage falls at the instant of the fault.
    assert t == pytest.approx(0.25, abs=1e-9)
    assert words == "fast: G2 tripped, voltage below 0.9 or above 1.2 pu"
    assert np.abs(fast["G2.p"].to_numpy()[fast.t > 0.26]).max() == 0.0
    assert low < 60.0


def test_the_breaker_opens_though_the_signal_recovers(plain):
    row = relay("v", "VoltageTrip", 1, "G2", low=0.9, high=1.2, pickup=0.05, breaker=0.1)
    run = run_of(replace(plain, relays=(row,)), [psmr.Fault(bus=5, start=0.2, clear=0.3)], t_end=0.6)
    ((t, _),) = run.outcome.acted
    assert t == pytest.approx(0.35, abs=1e-9)
    assert run["bus1.v"].to_numpy()[np.searchsorted(run.t, 0.34)] > 0.9


def test_the_run_is_that_with_the_same_change_as_an_event(plain):
    """Shedding by a relay and a trip by an event at that instant: the same trajectory."""
    row = relay("v", "UnderVoltageShedding", 5, "load5", set_1=0.9, pickup_1=0.05, shed_1=0.4)
    fault = psmr.Fault(bus=7, start=0.2, clear=0.3)
    shed = run_of(replace(plain, relays=(row,)), [fault], t_end=1.0)
    ((t, _),) = shed.outcome.acted
    idle = relay("v", "UnderVoltageShedding", 5, "load5", set_1=1e-3, pickup_1=9.0, shed_1=0.4)
    event = run_of(replace(plain, relays=(idle,)), [fault, psmr.LoadTrip(5, t, fraction=0.4)], t_end=1.0)
    after = [run.frame([*run.names_x], instants="after") for run in (shed, event)]
    np.testing.assert_array_equal(after[0].index, after[1].index)
    np.testing.assert_allclose(*after, atol=1e-9)


@pytest.mark.parametrize(
    "scheme",
    [
        psmr.SingleRate("TM", h=H),
        psmr.SingleRate("SDIRK2", h=H),
        psmr.SingleRate("RK4", h=1e-3),
        psmr.VariableStep(tolerance=1e-5),
    ],
    ids=str,
)
def test_every_scheme_goes_on_after_it(plain, scheme):
    rows = (
        relay("uf", "UnderFrequencyShedding", 5, "load5", set_1=59.6, shed_1=0.1, set_2=59.4, shed_2=0.15),
        relay("of", "FrequencyTrip", 2, "G2", low=58.0, high=61.5, pickup=0.1, breaker=0.0),
    )
    run = run_of(replace(plain, relays=rows), [TRIP], scheme=scheme)
    assert [words[:12] for _, words in run.outcome.acted][:2] == ["uf: 10 % of ", "uf: 15 % of "]
    assert run.t[-1] == 3.0
    sheds = [v for change in run.changes for owner, name, v in change.parameters if name == "shed"]
    assert sheds[:2] == pytest.approx([0.1, 0.25])


def test_an_event_and_a_relay_on_one_load(plain):
    """What an event leaves of a load, a relay sheds a part of, and the other way round."""
    row = relay("v", "UnderVoltageShedding", 5, "load5", set_1=0.9, pickup_1=0.05, shed_1=0.4)
    events = [psmr.Fault(bus=7, start=0.2, clear=0.3), psmr.LoadTrip(5, 0.5, fraction=0.5)]
    run = run_of(replace(plain, relays=(row,)), events, t_end=0.7)
    p, v = run["load5.p"].to_numpy(), run["bus5.v"].to_numpy()
    assert p[-1] / v[-1] ** 2 == pytest.approx(0.3 * p[0] / v[0] ** 2, rel=1e-9)
    (shed,) = run.outcome.controls.shed
    assert (shed.load, shed.by, shed.part) == ("load5", row.name, 0.4)
    drawn = p[0] / (v[0] / run.system.parameter("load5", "v_0")) ** 2
    assert shed.mw == pytest.approx(0.4 * drawn, rel=1e-9)
    assert (
        dict(run.outcome.facts())["load shed"]
        == f"{shed.mw:.4g} MW: load5 {shed.mw:.4g} MW (t = {shed.t:.4g} s)"
    )


def test_an_island_without_a_source_ends_the_run(plain):
    only = replace(
        plain,
        relays=tuple(
            relay(f"v{k}", "VoltageTrip", 5, f"G{k}", low=0.95, high=1.2, pickup=0.0, breaker=0.0)
            for k in (1, 2, 3)
        ),
    )
    fault = [psmr.Fault(bus=5, start=0.2, clear=0.3)]
    run = psmr.simulate(psmr.build(only), t_end=0.6, events=fault, monitors=[psmr.Island()])
    assert run.stopped is not None
    assert "leaves" in str(run.stopped)
    assert run.t[-1] == pytest.approx(0.2)


def test_relays_in_a_file(plain, tmp_path):
    rows = (
        relay("uf", "UnderFrequencyShedding", 5, "load5", set_1=59.0, pickup_1=0.2, shed_1=0.25),
        relay("of", "FrequencyTrip", 2, "G2", low=57.0, high=62.0, pickup=0.1, breaker=0.05),
    )
    case = replace(plain, relays=rows)
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("x", "UnderFrequencyShedding", 5, "G2", {"set_1": 59.0, "shed_1": 0.1}), "acts on a load"),
        (("x", "FrequencyTrip", 5, "load5", {"low": 1, "high": 2, "pickup": 0, "breaker": 0}), "a generator"),
        (("x", "UnderFrequencyShedding", 50, "load5", {"set_1": 59.0, "shed_1": 0.1}), "bus = 50"),
        (("x", "UnderFrequencyShedding", 5, "load5", {"set_1": 59.0}), "shed_1 = 0: shed_1 must be > 0"),
        (("x", "UnderFrequencyShedding", 5, "load5", {}), "there is no stage"),
        (
            (
                "x",
                "UnderVoltageShedding",
                5,
                "load5",
                {"set_1": 0.9, "shed_1": 0.7, "set_2": 0.8, "shed_2": 0.5},
            ),
            "must not shed more than the load",
        ),
        (
            ("x", "VoltageTrip", 5, "G2", {"low": 1.2, "high": 0.9, "pickup": 0, "breaker": 0}),
            "must be below",
        ),
        (("x", "VoltageTrip", 5, "G2", {"low": 0.8, "high": 1.2, "pickup": -1, "breaker": 0}), "pickup = -1"),
    ],
)
def test_what_cannot_be_is_refused(plain, row, message):
    *head, parameters = row
    with pytest.raises((CaseError, InputError), match=message):
        replace(plain, relays=(relay(*head, **{k: float(v) for k, v in parameters.items()}),))


def test_declared_as_measuring():
    assert (UnderFrequencyShedding.measured, FrequencyTrip.measured) == ("f", "f")


def test_an_instant_stands_twice_exactly_whatever_the_rounding(plain):
    """The second stage acts at a time that the steps reach by rounding only; its span was lost once."""
    rows = tuple(
        relay(
            f"uf{bus}", "UnderFrequencyShedding", bus, f"load{bus}",
            set_1=59.7, pickup_1=0.1, shed_1=0.2, set_2=59.5, pickup_2=0.05, breaker_2=0.02, shed_2=0.3,
        )
        for bus in (5, 6, 8)
    )  # fmt: skip
    for h in (0.005, 0.007, 0.0031):
        scheme = psmr.SingleRate("TM", h=h)
        run = run_of(replace(plain, relays=rows), [psmr.GeneratorTrip("G2", 0.5)], 2.0, scheme)
        assert len(run.outcome.acted) >= 3
        assert (np.diff(run.t) >= 0.0).all()
        for t, _ in run.acted:
            assert (run.t == t).sum() >= 2
        part = run["load5.p"].to_numpy() / run["bus5.v"].to_numpy() ** 2
        shed = [
            v for c in run.changes for owner, name, v in c.parameters if (owner, name) == ("load5", "shed")
        ]
        assert part[-1] == pytest.approx((1.0 - shed[-1]) * part[0], rel=1e-9)
        assert run.judgement.colour != "green"
        assert any("Protection acted" in reason for reason in run.judgement.reasons)


def test_a_relay_and_an_event_at_one_instant(plain):
    row = relay("v", "UnderVoltageShedding", 5, "load5", set_1=0.9, pickup_1=0.1, shed_1=0.4)
    run = run_of(replace(plain, relays=(row,)), [psmr.Fault(bus=7, start=0.5, clear=0.6)], t_end=1.0)
    ((t, _),) = run.acted
    assert t == 0.6
    assert (np.diff(run.t) >= 0.0).all()
    part = run["load5.p"].to_numpy() / run["bus5.v"].to_numpy() ** 2
    assert part[-1] == pytest.approx(0.6 * part[0], rel=1e-9)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"low": 0.7, "high": NO_VOLTAGE}, "voltage below 0.7 pu"),
        ({"low": 0.0, "high": 1.2}, "voltage above 1.2 pu"),
    ],
)
def test_a_side_that_cannot_be_crossed_is_not_named(limits, words):
    p = SimpleNamespace(**limits, pickup=0.0, breaker=0.0)
    trip = VoltageTrip.actions[-1]
    assert trip.words(p, "load8") == f"load8 tripped, {words}"
