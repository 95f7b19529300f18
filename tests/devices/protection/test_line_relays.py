"""Relays of lines and ride-through of plants: when they act in a run, and settings that cannot be."""

from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.components import OvercurrentRelay
from tests.internals import NumericMath

BASE = (psmr.case("wscc9")).source


def relay(kind, name="R57", bus=5, acts_on="line5-7", **settings):
    values = "\n".join(f"{key} = {value}" for key, value in settings.items())
    head = f'\n[[relay]]\nname = "{name}"\nbus = {bus}\nacts_on = "{acts_on}"\n'
    return f'{head}[relay.device]\ntype = "{kind}"\n{values}\n'


@pytest.fixture
def build(tmp_path):
    def building(*relays):
        path = tmp_path / "relays.toml"
        with open(BASE, encoding="utf-8") as file:
            path.write_text(file.read() + "".join(relays))
        return psmr.build(psmr.read_case(path))

    return building


def run(system, *events, t_end=1.0):
    return psmr.simulate(system, psmr.VariableStep(), t_end, events=events, certify=False)


def listed(run):
    return [(pytest.approx(change.t, abs=1e-9), change.label) for change in run.changes if change.protects]


ZONES = {"reach_1": 0.13, "reach_2": 0.2, "delay_2": 0.3, "breaker": 0.05}


def both_ends(**more):
    settings = ZONES | more
    return relay("DistanceRelay", **settings), relay("DistanceRelay", "R75", 7, **settings)


def test_the_near_end_opens_in_the_first_zone_and_the_far_end_in_the_second(build):
    # |z| of the line is 0.164 pu: the fault at a tenth of it is within 80 % of one end alone.
    found = run(build(*both_ends()), psmr.Fault(line="5-7", at=0.1, start=0.1, clear=0.9))
    # From bus 7 the fault is at 0.148 pu, in zone 2 alone, before and after bus 5 opens: 0.1 + 0.3 + 0.05 s.
    assert listed(found) == [(0.15, "R57: line5-7 opened in zone 1"), (0.45, "R75: line5-7 opened in zone 2")]
    k, at = (int(np.flatnonzero(np.isclose(found.t, t, atol=1e-9))[-1]) for t in (0.45, 0.15))
    assert found["bus5.v"].iloc[k] > 0.7
    assert found["line5-7.i_from"].iloc[k] == found["line5-7.i_to"].iloc[k] == 0.0
    # Between the two the fault hangs at bus 7.
    assert found["line5-7.i_from"].iloc[at] == 0.0
    assert found["line5-7.i_to"].iloc[at] > 3.0


def test_a_line_recloses_where_the_fault_has_gone_and_not_again_where_it_has_not(build):
    system = build(*both_ends(delay_2=0.02, dead_time=0.3))
    gone = run(system, psmr.Fault(line="5-7", at=0.5, start=0.1, clear=0.3), t_end=1.5)
    assert listed(gone) == [
        (0.15, "R57: line5-7 opened in zone 1; R75: line5-7 opened in zone 1"),
        (0.45, "R57: line5-7 recloses; R75: line5-7 recloses"),
    ]
    assert gone["line5-7.i_from"].iloc[-1] > 0.3
    assert gone.system_at(1.5).parameter("line5-7", "status") == 1.0
    stays = run(system, psmr.Fault(line="5-7", at=0.5, start=0.1, clear=1.4), t_end=1.5)
    assert [t for t, _ in listed(stays)] == [0.15, 0.45, 0.5]


@pytest.mark.parametrize(("curve", "multiplier"), [(1, 0.05), (3, 0.01), (6, 0.05)])
def test_an_overcurrent_relay_acts_when_its_curve_has_run_to_its_end(build, curve, multiplier):
    system = build(relay("OvercurrentRelay", i_set=1.2, curve=curve, multiplier=multiplier, breaker=0.0))
    found = run(system, psmr.Fault(bus=5, start=0.1, clear=0.95, r=0.02), t_end=1.0)
    (opened,) = [change.t for change in found.changes if change.protects]
    a, b, power = {1: (0.14, 0, 0.02), 3: (80.0, 0, 2.0), 6: (19.61, 0.491, 2.0)}[curve]
    # The same run without the relay, in short steps.
    steps = psmr.SingleRate("TM", h=5e-4)
    fault = psmr.Fault(bus=5, start=0.1, clear=0.95, r=0.02)
    fine = psmr.simulate(psmr.build(psmr.case("wscc9")), steps, 1.0, events=[fault], certify=False)
    rows = (fine.t >= 0.1) & (fine.t <= 0.95)
    t, multiple = fine.t[rows][1:-1], fine["line5-7.i_from"].to_numpy()[rows][1:-1] / 1.2
    assert multiple.min() > 1
    rate = 1 / (multiplier * (a / (multiple**power - 1) + b))
    theta = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t))])
    # The tolerance of the run with the relay is 1e-4, of theta too: some 1e-4 of the time to act.
    assert opened - 0.1 == pytest.approx(np.interp(1.0, theta, t) - 0.1, rel=1e-3)


@pytest.mark.parametrize(
    ("curve", "multiple", "seconds"),
    # 0.14 / (10^0.02 - 1) = 2.971 s, 13.5 / 9 and 80 / 99: the usual checks of IEC relays at ten times.
    [
        (1, 10, 2.971),
        (2, 10, 1.5),
        (3, 10, 0.808),
        (4, 10, 13.333),
        (5, 10, 1.207),
        (6, 5, 1.308),
        (7, 5, 1.297),
    ],
)
def test_the_curves_have_their_times(curve, multiple, seconds):
    v = SimpleNamespace(theta=0.0, m_re=float(multiple), m_im=0.0)
    p = SimpleNamespace(i_set=1.0, curve=float(curve), multiplier=1.0, t_reset=1.0)
    (rate,), _, _ = OvercurrentRelay.equations(NumericMath, v, p)
    assert 1 / float(rate) == pytest.approx(seconds, abs=6e-4)


OUT_OF_STEP = {"outer": 0.25, "inner": 0.12, "reach": 0.5, "angle": 80.0, "breaker": 0.05}


def test_an_out_of_step_relay_tells_a_swing_from_a_fault(build):
    system = build(relay("OutOfStepRelay", "R78", 7, "line7-8", **OUT_OF_STEP))
    lost = run(system, psmr.Fault(bus=7, start=0.1, clear=0.4, trip="5-7"), t_end=2.0)
    labels = [label for _, label in listed(lost)]
    assert labels[:1] == ["R78: line7-8 opened, out of step"]
    kept = run(system, psmr.Fault(bus=7, start=0.1, clear=0.18, trip="5-7"), t_end=2.0)
    assert listed(kept) == []


@pytest.mark.parametrize(
    ("curve", "trips", "rides"), [("NERC PRC-024", 0.15, 0.14), ("IEEE 1547-2018 II", 0.16, 0.15)]
)
def test_a_plant_trips_where_its_curve_allows_it(build, curve, trips, rides):
    system = build(relay("RideThrough", "RT", 3, "G3", curve=f'"{curve}"'))
    tripped = run(system, psmr.Fault(bus=3, start=0.1, clear=0.3))
    expected = f"RT: G3 tripped, voltage below 0.45 pu for {trips:g} s"
    assert listed(tripped) == [(pytest.approx(0.1 + trips), expected)]
    assert listed(run(system, psmr.Fault(bus=3, start=0.1, clear=0.1 + rides))) == []


@pytest.mark.parametrize(
    ("curve", "points"),
    [
        ("NERC PRC-024", {"low_3": 0.75, "low_time_3": 2.0, "high_2": 1.175, "high_time_2": 0.2}),
        # Tables 11 to 13 of IEEE 1547-2018.
        ("IEEE 1547-2018 I", {"low_2": 0.7, "low_time_2": 2.0, "high_2": 1.1, "high_time_2": 2.0}),
        ("IEEE 1547-2018 II", {"low_2": 0.7, "low_time_2": 10.0, "high_2": 1.1, "high_time_2": 2.0}),
        ("IEEE 1547-2018 III", {"low_2": 0.88, "low_time_2": 21.0, "high_2": 1.1, "high_time_2": 13.0}),
        # Tables 1 and 2 of attachment 1 of PRC-029-1.
        ("NERC PRC-029-1 wind", {"low_3": 0.7, "low_time_3": 2.5, "high_3": 1.05, "high_time_3": 1800.0}),
        ("NERC PRC-029-1", {"low_4": 0.9, "low_time_4": 6.0, "low_1": 0.25, "low_time_1": 0.32}),
    ],
)
def test_a_curve_by_name_is_that_of_its_standard(build, curve, points):
    system = build(relay("RideThrough", "RT", 3, "G3", curve=f'"{curve}"'))
    assert {name: system.parameter("RT", name) for name in points} == points


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (relay("OvercurrentRelay", i_set=1.0, curve=9), "curve = 9.*must be the code of a curve: 1 .IEC"),
        (relay("DistanceRelay", reach_1=0.2, reach_2=0.1), "reach_2 = 0.1: must be above reach_1 = 0.2"),
        (relay("DistanceRelay"), "reach_1 = 0: there is no zone"),
        (relay("DistanceRelay", bus=8, reach_1=0.1), "bus = 8: must be one of the ends of line5-7, 5 or 7"),
        (relay("DistanceRelay", acts_on="load5", reach_1=0.1), "a line or transformer, and there is none"),
        (relay("OutOfStepRelay", outer=0.1, inner=0.2, reach=1.0), "inner = 0.2: must be below outer = 0.1"),
        (relay("RideThrough", "RT", 3, "G3", low_1=0.5, low_time_1=2.0, low_2=0.9, low_time_2=1.0),
         "the lower a voltage, the shorter its time"),
        (relay("RideThrough", "RT", 3, "G3"), "there is no curve"),
        (relay("RideThrough", "RT", 3, "G3", curve='"IEEE 1547-2018 IV"'),
         "curve = 'IEEE 1547-2018 IV': there is none of this name.*did you mean 'IEEE 1547-2018 I"),
        (relay("RideThrough", "RT", 3, "G3", curve=2), "curve = 2: must be"),
        (relay("RideThrough", "RT", 3, "G3", curve='"NERC PRC-024"', low_1=0.5), "curve and low_1 are given"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(build, text, words):
    with pytest.raises(CaseError, match=words) as refusal:
        build(text)
    assert "relays.toml:" in str(refusal.value)
