"""Faults along a line against the same system with a bus put in at the fault point."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import EventError
from tests.components import Bus

LINE, AT = "line5-7", 0.3


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


def with_bus(system, opened=None):
    """The system with the line in two sections, each with its part of impedance and charging.

    An end that is open is at a bus of its own, `busO`.
    """
    whole = next(d for d in system.devices if d.name == LINE)
    added = ["busF"] if opened is None else ["busF", "busO"]

    def section(name, part, i, j):
        """A section between two buses."""
        values = dict(whole.parameters)
        values |= {key: values[key] * part for key in ("r", "x", "b", "g")}
        ends = {
            f"{port}_{end}": f"{bus}.{port}"
            for end, bus in (("i", i), ("j", j))
            for port in ("v_re", "v_im", "i_re", "i_im")
        }
        return replace(whole, name=name, parameters=values, connections=ends)

    near, far = ("busO" if opened == bus else bus for bus in ("bus5", "bus7"))
    devices = [
        *(psmr.Device(bus, Bus, {}) for bus in added),
        *(d for d in system.devices if d.name != LINE),
        section("first", AT, near, "busF"), section("second", 1 - AT, "busF", far),
    ]  # fmt: skip
    start = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0[:-1], strict=True))
    start |= {f"{bus}.{part}": value for bus in added for part, value in (("v_re", 1.0), ("v_im", 0.0))}
    return psmr.assemble(devices, start=start, name="with a bus at the fault")


def run(system, fault, t_end, x=None):
    """A run with the usual step; the fault begins with it."""
    start = None if x is None else (x, system.y0)
    scheme = psmr.SingleRate("TM", h=0.005, newton="honest")
    return psmr.simulate(system, scheme, t_end, events=[fault], start=start, certify=False)


def difference(a, b, rows, others):
    """Largest difference of two runs at their rows."""
    names = ("G1.delta", "G2.omega", "G3.e_q", "bus5.v_re", "bus7.v_im", "bus4.v_re")
    return max(np.abs(a[name].to_numpy()[rows] - b[name].to_numpy()[others]).max() for name in names)


@pytest.mark.parametrize("r", [0.0, 0.02])
def test_a_fault_along_a_line_is_one_at_a_bus_put_in(system, r):
    own = run(system, psmr.Fault(line="5-7", at=AT, start=0.0, clear=0.19, r=r), 0.2)
    beside = run(with_bus(system), psmr.Fault(bus="busF", start=0.0, clear=0.19, r=r), 0.2)
    # Elimination is exact: to rounding. Before the fault one has half the charging in the middle.
    rows = slice(1, int(np.flatnonzero(own.t == 0.19)[0]) + 1)
    assert difference(own, beside, rows, rows) < 1e-10


@pytest.mark.parametrize("opened", ["bus5", "bus7"])
@pytest.mark.parametrize("r", [0.0, 0.02])
def test_the_section_behind_an_open_end_hangs_at_the_other_end(system, opened, r):
    ends = (0.05, 0.2) if opened == "bus5" else (0.2, 0.05)
    fault = psmr.Fault(line="5-7", at=AT, start=0.0, clear_from=ends[0], clear_to=ends[1], r=r)
    own = run(system, fault, 0.25)
    k, until = (int(np.flatnonzero(own.t == t)[0]) for t in (0.05, 0.2))
    other = with_bus(system, opened)
    beside = run(other, psmr.Fault(bus="busF", start=0.0, clear=0.2, r=r), 0.25, x=own.x[k])
    assert difference(own, beside, slice(k + 1, until + 1), slice(1, until - k + 1)) < 1e-10


def test_both_ends_open_leave_the_line_out_of_service(system):
    fault = psmr.Fault(line="5-7", at=AT, start=0.0, clear_from=0.1, clear_to=0.15)
    own = run(system, fault, 0.2)
    assert [change.label for change in own.changes] == [
        "fault on line5-7 at 30 %",
        "line5-7 opened at bus5",
        "fault on line5-7 at 30 % cleared, line5-7 tripped",
    ]
    k = int(np.flatnonzero(own.t == 0.15)[-1])
    tripped = run(system, psmr.LineTrip("5-7", start=0.0), 0.05, x=own.x[k])
    assert np.abs(own["bus5.v_re"].to_numpy()[k:] - tripped["bus5.v_re"].to_numpy()[1:]).max() < 1e-10


def test_a_line_counts_from_the_bus_that_is_named_first(system):
    first = psmr.Fault(line="5-7", at=0.25, start=0.0, clear_from=0.1, clear_to=0.15).changes(system)
    second = psmr.Fault(line="7-5", at=0.75, start=0.0, clear_from=0.15, clear_to=0.1).changes(system)
    assert [change.parameters for change in first] == [change.parameters for change in second]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"line": "5-7", "at": 1.0}, "at = 1; must be between 0 and 1"),
        ({"line": "5-7"}, "at is missing"),
        ({"line": "5-7", "at": 0.3, "bus": 5}, "must be at a bus, or along a line"),
        ({"bus": 5, "at": 0.3}, "at is for a fault along a line"),
        ({"line": "5-7", "at": 0.3, "clear": None, "clear_from": 1.1}, "clear_to is missing"),
        ({"line": "5-7", "at": 0.3, "clear_from": 1.1}, "clear and clear_from"),
        ({"bus": 5, "start": None}, "start is missing; give the time in s"),
        ({"bus": 5, "clear": None}, "clear is missing; give the time in s"),
        ({"bus": 5, "reclose": 1.5}, "the clearing takes no line out; give trip"),
        ({"bus": 5, "trip": "5-7", "reclose": 1.05}, "reclose = 1.05 s; must be after the clearing at 1.1"),
        ({"bus": 5, "trip": "5-7", "reclose": 1.5, "permanent": True}, "clear_again is missing"),
        ({"bus": 5, "trip": "5-7", "permanent": True}, "permanent is for a line that recloses"),
    ],
)
def test_a_fault_that_cannot_be(values, words):
    with pytest.raises(EventError, match=words):
        psmr.Fault(**{"start": 1.0, "clear": 1.1} | values)


def test_a_transformer_has_no_length(system):
    with pytest.raises(EventError, match="transformer2-7 is no line with a length"):
        psmr.Fault(line="2-7", at=0.5, start=0.0, clear=0.1).changes(system)


def test_a_line_recloses_onto_a_fault_that_is_still_there(system):
    fault = psmr.Fault(
        line="5-7", at=AT, start=0.0, clear_from=0.1, clear_to=0.15,
        reclose=0.3, permanent=True, clear_again=0.4,
    )  # fmt: skip
    own = run(system, fault, 0.5)
    v = own["bus5.v"].to_numpy()
    assert own.changes[3].label == "line5-7 reclosed onto the fault on line5-7 at 30 %"
    at = {t: v[np.flatnonzero(own.t == t)[-1]] for t in (0.0, 0.15, 0.3, 0.4)}
    assert at[0.0] < 0.6
    assert at[0.3] < 0.6
    assert at[0.15] > 0.7
    assert at[0.4] > 0.7
    out = run(system, replace(fault, permanent=False, clear_again=None), 0.5)
    assert out["bus5.v"].to_numpy()[np.flatnonzero(out.t == 0.3)[-1]] > 0.8


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"permanent": True, "trip": "all"}, "trip is what the clearing takes out; give clear as well"),
        ({"clear": 0.2, "trip": ["4-5", "line4-5"]}, "trip names line4-5 twice"),
        ({"clear": 0.2, "trip": ["4-5", "4-9"]}, "there is no line or transformer '4-9'"),
    ],
)
def test_what_clears_a_fault_at_a_bus_must_fit(system, fields, words):
    with pytest.raises(EventError, match=words):
        psmr.Fault(5, 0.1, **fields).changes(system)


def test_a_fault_may_be_cleared_by_several_branches_and_stay_without_a_clearing(system):
    both = psmr.Fault(5, 0.1, 0.2, trip=["5-7", "4-5"], reclose=0.4).changes(system)
    assert [change.label for change in both] == [
        "fault at bus5", "fault at bus5 cleared, line5-7, line4-5 tripped", "line5-7, line4-5 reclosed"
    ]  # fmt: skip
    stays = psmr.Fault(5, 0.1, permanent=True)
    assert stays.end is None
    assert [change.label for change in stays.changes(system)] == ["fault at bus5"]
    cleared = psmr.Fault(1, 0.1, 0.2, trip="all").changes(system)[-1]
    assert cleared.label == "fault at bus1 cleared, transformer1-4 tripped, G1 tripped"
    assert "G1" in cleared.out


@pytest.mark.filterwarnings("ignore:unbalanced faults need")
@pytest.mark.parametrize(
    "there",
    [
        psmr.Fault(line="5-7", at=0.3, start=0.1, clear=0.3),
        psmr.Fault(line="5-7", at=0.3, start=0.1, clear=0.3, phases="ag"),
        psmr.OpenPhases("5-7", 0.1, "a"),
        psmr.OpenPhases("5-7", 0.1, "bc", at=0.4),
    ],
    ids=lambda event: str(event.phases) + event.kind,
)
def test_a_line_that_trips_takes_what_is_on_it_out_of_the_network(there):
    # Of the tripped line nothing remains: the network is that of the same trip with nothing on the line.
    system = psmr.build(psmr.case("wscc9"))
    scheme = psmr.SingleRate("TM", h=0.005)
    trips = [
        psmr.LineTrip("5-7", 0.2),
        psmr.When("bus5.v < 0.99 for 0.1 s", psmr.LineTrip("5-7", 0.0)),
        psmr.Fault(bus=8, start=0.15, clear=0.2, trip="5-7"),
    ]
    for trip in trips:
        run = psmr.simulate(system, scheme, 0.4, events=[there, trip], certify=False)
        after = run.system_at(0.25)
        names = ("g_ii", "b_ii", "g_ij", "b_ij", "g_jj", "b_jj", "status")
        assert [after.parameter("line5-7", name) for name in names] == [0.0] * 7
        assert abs(run.at([0.25], ["line5-7.i_from", "line5-7.i_to", "bus5.v_0"]).to_numpy()).max() < 1e-9


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (
            [
                psmr.Fault(line="5-7", at=0.3, start=0.1, clear_from=0.2, clear_to=0.25),
                psmr.LineTrip("5-7", 0.15),
            ],
            r"trip of line 5-7 .*: its ends open one by one \(fault on line 5-7, from t = 0.2 s\)",
        ),
        (
            [psmr.OpenPhases("5-7", 0.1, "a"), psmr.Fault(line="5-7", at=0.3, start=0.2, clear=0.25)],
            "line5-7 has a fault along it and phases open at one time",
        ),
    ],
)
def test_two_things_on_a_line_that_would_undo_one_another_are_refused(events, words):
    system = psmr.build(psmr.case("wscc9"))
    with pytest.raises(EventError, match=words):
        psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.4, events=events, certify=False)
