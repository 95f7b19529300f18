"""Ramps of set-points, and loads at several buses in one event."""

import numpy as np
import pytest

import psmr
from psmr.errors import EventError

SCHEME = psmr.SingleRate("TM", h=0.01)


@pytest.fixture(scope="module")
def wscc9():
    return psmr.build(psmr.case("wscc9"))


def test_a_set_point_ramps_as_a_time_series_does(wscc9, tmp_path):
    now = wscc9.w0[wscc9.index("GOV2.p_ref")]
    (tmp_path / "ramp.csv").write_text(f"t,p\n0.2,{float(now)!r}\n0.7,{float(now + 0.1)!r}\n")
    ramp = psmr.simulate(wscc9, SCHEME, 1.0, [psmr.SetPoint("GOV2", "p_ref", now + 0.1, start=0.2, end=0.7)])
    series = psmr.simulate(wscc9, SCHEME, 1.0, [psmr.TimeSeries(tmp_path / "ramp.csv", "p", "GOV2.p_ref")])
    assert np.allclose(ramp.x[-1], series.x[-1], rtol=1e-12, atol=1e-12)
    assert ramp["G2.p"].iloc[-1] > ramp["G2.p"].iloc[0] + 1.0
    assert [words for _, words in ramp.instants] == [
        f"GOV2.p_ref ramps to {now + 0.1:g}",
        "ramp of GOV2.p_ref ends",
    ]
    seen = psmr.simulate(wscc9, SCHEME, 0.7, [psmr.SetPoint("GOV2", "p_ref", now + 0.1, start=0.2, end=0.7)])
    assert np.allclose(
        seen["G2.omega"], ramp["G2.omega"].to_numpy()[ramp.t <= 0.7][: len(seen.t)], rtol=1e-12
    )


def test_all_loads_trip_or_ramp_at_once(wscc9):
    single = [psmr.LoadTrip(bus, 0.1, 0.25) for bus in (5, 6, 8)]
    apart = psmr.simulate(wscc9, SCHEME, 0.5, single)
    together = psmr.simulate(wscc9, SCHEME, 0.5, [psmr.LoadTrip("*", 0.1, 0.25)])
    assert np.array_equal(apart.x, together.x)
    assert together.instants[0][1] == "25 % of the load at 3 buses trips"
    some = psmr.simulate(wscc9, SCHEME, 0.5, [psmr.LoadTrip("bus[56]", 0.1, 0.25)])
    assert np.array_equal(some.x, psmr.simulate(wscc9, SCHEME, 0.5, single[:2]).x)
    ramps = [psmr.LoadRamp(bus, 0.1, 0.4, 1.1) for bus in (5, 6, 8)]
    each = psmr.simulate(wscc9, SCHEME, 0.5, ramps)
    assert np.array_equal(each.x, psmr.simulate(wscc9, SCHEME, 0.5, [psmr.LoadRamp("*", 0.1, 0.4, 1.1)]).x)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            lambda: psmr.SetPoint("GOV2", "p_ref", 1.0, start=0.5, end=0.5),
            r"end = 0.5 s; must be after start",
        ),
        (
            lambda: psmr.LoadTrip("bus1*", 0.1, 0.5),
            r"no bus with a load is called 'bus1\*'; there are loads at bus5",
        ),
        (
            lambda: psmr.SetPoint("GOV2", "p_ref", 1.0, start=0.5, end=2.0),
            r"is not before the end of the run",
        ),
    ],
)
def test_what_cannot_be_is_refused(wscc9, event, words):
    with pytest.raises(EventError, match=words):
        psmr.simulate(wscc9, SCHEME, 1.0, [event()])


def test_loads_of_an_area_or_zone_of_a_raw_file(tmp_path):
    """Kundur's RAW file: load 7 in area 1, load 9 in area 2, all buses in zone 1; written and read again."""
    case = psmr.read_case(
        psmr.case_path("kundur").with_name("kundur.raw"), psmr.case_path("kundur").with_name("kundur.dyr")
    )
    psmr.write_case(case, tmp_path / "k.raw")
    again = psmr.read_case(tmp_path / "k.raw", tmp_path / "k.dyr")
    psmr.write_case(case, tmp_path / "k.toml")
    for other in (again, psmr.read_case(tmp_path / "k.toml")):
        assert [(b.number, b.area, b.zone) for b in other.buses] == [
            (b.number, b.area, b.zone) for b in case.buses
        ]
    system = psmr.build(case)
    tripped = psmr.simulate(system, SCHEME, 0.3, [psmr.LoadTrip("area 1", 0.1, 0.5)])
    assert np.array_equal(tripped.x, psmr.simulate(system, SCHEME, 0.3, [psmr.LoadTrip(7, 0.1, 0.5)]).x)
    both = psmr.simulate(system, SCHEME, 0.3, [psmr.LoadTrip("zone 1", 0.1, 0.5)])
    assert np.array_equal(both.x, psmr.simulate(system, SCHEME, 0.3, [psmr.LoadTrip("*", 0.1, 0.5)]).x)
    with pytest.raises(EventError, match=r"area 9 has no load; the loads are in area 1, 2"):
        psmr.simulate(system, SCHEME, 0.3, [psmr.LoadTrip("area 9", 0.1, 0.5)])
