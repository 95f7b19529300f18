import numpy as np
import pytest

import psmr
from psmr.errors import StudyError
from tests.internals import Base, advancing_together
from tests.sweep.conftest import CASE, swept


@pytest.fixture(scope="module")
def base(study):
    case = psmr.read_case(CASE)
    return Base(study, case, psmr.build(case))


def test_outages_are_every_branch_in_service_at_both_ends(base):
    points = psmr.BranchOutages(1.0, clearing=(0.1, 0.2)).points(base)
    assert len(points) == 9 * 2 * 2
    ends = {dict(p.labels)["bus"] for p in points if dict(p.labels)["branch"] == "line5-7"}
    assert ends == {"bus5", "bus7"}
    assert points[1].events == (psmr.Fault(points[1].events[0].bus, 1.0, 1.2, points[1].events[0].trip),)


def test_faults_and_trips_name_every_bus_and_generator(base):
    assert len(psmr.BusFaults(1.0).points(base)) == 9
    trips = psmr.GeneratorTrips(1.0, generators=("G[23]",)).points(base)
    assert [dict(p.labels)["generator"] for p in trips] == ["G2", "G3"]


def test_a_range_has_its_ends(base):
    axis = psmr.ParameterAxis("G1", "h", start=1.0, stop=100.0, count=3, spacing="log")
    assert [dict(p.labels)["G1.h"] for p in axis.points(base)] == pytest.approx([1.0, 10.0, 100.0])


def test_a_pattern_sets_all_devices_alike(base):
    point = psmr.ParameterAxis("G*", "h", values=(5.0,)).points(base)[0]
    assert [s.device for s in point.settings] == ["G1", "G2", "G3"]


def test_samples_follow_their_seed_and_distribution():
    def drawn(seed, **given):
        return psmr.SampleAxis("G1", "h", 4000, seed, **given).drawn()

    uniform = drawn(1, low=2.0, high=4.0)
    assert (uniform == drawn(1, low=2.0, high=4.0)).all()
    assert (uniform != drawn(2, low=2.0, high=4.0)).any()
    assert 2.0 <= uniform.min() < 2.01
    assert uniform.mean() == pytest.approx(3.0, abs=4 * (2 / 12**0.5) / 4000**0.5)
    logs = np.log10(drawn(1, distribution="log-uniform", low=1.0, high=100.0))
    assert logs.mean() == pytest.approx(1.0, abs=4 * (2 / 12**0.5) / 4000**0.5)
    normal = drawn(1, distribution="normal", mean=5.0, deviation=0.5)
    assert normal.std() == pytest.approx(0.5, rel=0.05)


def test_axes_together_advance_as_one(base):
    a = psmr.SampleAxis("G1", "h", 3, 1, low=1.0, high=2.0).points(base)
    b = psmr.SampleAxis("G2", "h", 3, 2, low=1.0, high=2.0).points(base)
    both = advancing_together("g", [a, b])
    assert len(both) == 3
    assert [name for name, _ in both[2].labels] == ["G1.h", "G2.h"]
    with pytest.raises(StudyError, match=r"have 3, 2 points; axes that advance together need as many"):
        advancing_together("g", [a, b[:2]])


def test_a_list_makes_a_run_of_each_row_or_name(base, tmp_path):
    file = tmp_path / "list.csv"
    file.write_text(
        "run,type,bus,start,clear,trip,line\n"
        "a,fault,5,0.1,0.2,,\n"
        "b,fault,7,0.1,0.2,5-7,\n"
        "a,line-trip,,0.5,,,4-6\n"
    )
    points = psmr.ListedEvents(file).points(base)
    assert [dict(p.labels)["run_name"] for p in points] == ["a", "b"]
    assert points[0].events == (psmr.Fault(5, 0.1, 0.2), psmr.LineTrip("4-6", 0.5))


def test_a_row_without_a_run_is_one_of_its_own(base, tmp_path):
    file = tmp_path / "list.csv"
    file.write_text("run,type,bus,start,clear\n,fault,5,0.1,0.2\n1,fault,7,0.1,0.2\n,fault,8,0.1,0.2\n")
    points = psmr.ListedEvents(file).points(base)
    assert [dict(p.labels)["run_name"] for p in points] == ["2", "1", "3"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("type,bus\nfalt,5\n", r"list.csv:2: type = 'falt'; did you mean 'fault'"),
        (
            "type,bus,start\nfault,5,1\n",
            r"list.csv:2: fault at bus5: clear is missing; give the time in s, or permanent",
        ),
        ("type,bus,start,clear\nfault,5,soon,2\n", r"list.csv:2: start = 'soon': must be a finite number"),
        ("type,bus,start,clear\nfault,5,2,1\n", r"list.csv:2: fault at bus5: clear = 1 s; must be after"),
        ("type,buss\nfault,5\n", r"list.csv:2: fault has no field 'buss'; did you mean 'bus'"),
        (
            "type,bus,start,clear\nfault,5,0.1,0.2\nfault,77,0.1,0.2\n",
            r"list.csv:3: .*no bus 77 .*mean 'bus7'",
        ),
        (
            "type,bus,start,clear\nfault,5,3,4\n",
            r"list.csv:2: .* \(t = 3 s\) is not before the end of the run",
        ),
        ("type,bus,start,clear,clear\nfault,5,0.1,0.2,0.4\n", r"list.csv:1: two columns are called 'clear'"),
        ("type,bus,start,clear,\nfault,5,0.1,0.2,\n", r"list.csv:1: column 5 has no name"),
        ("type;bus\nfault;5\n", r"list.csv:1: cells are separated by semicolons"),
        ("bus,start\n5,0.1\n", r"list.csv:1: there is no column 'type'"),
        ("type\n", r"has no row under its column names"),
        ("type\nfault,5\n", r"more cells than columns"),
    ],
)
def test_what_is_wrong_in_a_list_names_its_line(base, tmp_path, rows, words):
    file = tmp_path / "list.csv"
    file.write_text(rows)
    with pytest.raises(StudyError, match=words):
        psmr.ListedEvents(file).points(base)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: psmr.ParameterAxis("G1", "h"), "give values, or start, stop and count"),
        (lambda: psmr.ParameterAxis("G1", "h", (1.0,), start=1.0), "give values, or start"),
        (
            lambda: psmr.ParameterAxis("G1", "h", start=0.0, stop=1.0, count=2, spacing="log"),
            "both ends above 0",
        ),
        (lambda: psmr.ParameterAxis("G1", "h", (1.0, 1.0)), "has 1.0 twice"),
        (lambda: psmr.SampleAxis("G1", "h", 3, 1, low=2.0, high=1.0), "low = 2 must be below high = 1"),
        (lambda: psmr.ParameterAxis("G1", "h", start=1.0, stop=2.0, count=10**9), "at most 10,000,000"),
        (lambda: psmr.SampleAxis("G1", "h", 10**9, 1, low=1.0, high=2.0), "at most 10,000,000"),
        (lambda: psmr.SampleAxis("G1", "h", 3, 1, low=2.0), "high is missing"),
        (lambda: psmr.SampleAxis("G1", "h", 3, 1, "normal", low=2.0, mean=1.0), "low does not belong"),
        (lambda: psmr.SchemeAxis("h"), "give values"),
        (lambda: psmr.BranchOutages(-1.0), "start = -1.0: must be a time"),
        (lambda: psmr.BranchOutages(1.0, clearing=(0.0,)), "clearing = 0.0: must be a finite number > 0"),
        (lambda: psmr.BusFaults(1.0, clearing=()), "clearing is empty"),
        (lambda: psmr.BusFaults(1.0, x=0.0), "fault impedance"),
        (lambda: psmr.ClearingTime(precision=0.0), "precision = 0.0: must be a finite number > 0"),
        (lambda: psmr.ClearingTime(precision=1.0, longest=0.5), "is below precision"),
        (lambda: psmr.Damping(2.0, 1.0), "must be a band"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(StudyError, match=words):
        make()


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (psmr.ParameterAxis("G9", "h", (1.0,)), "no device 'G9'"),
        (psmr.ParameterAxis("G1", "hh", (1.0,)), "G1 has no parameter 'hh'"),
        (psmr.ParameterAxis("load5", "p", (1.0,)), "load5 has no parameter 'p' in WSCC 9-bus.* p_mw"),
        (psmr.ParameterAxis("bus5", "r_fault", (1.0,)), "bus5"),
        (psmr.BranchOutages(1.0, branches=("line5-8",)), "no branch in service 'line5-8'; did you mean"),
        (psmr.BusFaults(1.0, buses=("buss5",)), "no bus 'buss5'; did you mean 'bus5'"),
        (psmr.GeneratorTrips(1.0, generators=("G9",)), "no generator 'G9'"),
        (psmr.SchemeAxis("tolerence", (1e-3,)), "has no field 'tolerence'; did you mean 'tolerance'"),
        (psmr.SchemeAxis("tolerance", (2.0,)), "tolerance = 2.0: must be"),
    ],
)
def test_names_that_are_not_there_are_refused_before_a_run(base, axis, words):
    with pytest.raises(StudyError, match=words):
        axis.points(base)


def test_many_values_are_looked_through_at_once():
    values = tuple(np.linspace(0.1, 1.0, 200_000))
    assert len(psmr.BusFaults(1.0, clearing=values).clearing) == 200_000


def test_arrays_and_single_names_are_taken(base):
    axis = psmr.BranchOutages(1.0, clearing=np.linspace(0.1, 0.2, 3), branches="line5-7")
    assert axis.clearing == (0.1, pytest.approx(0.15), 0.2)
    assert all(type(value) is float for value in axis.clearing)
    assert len(axis.points(base)) == 6
    assert len(psmr.ParameterAxis("G1", "h", np.array([1, 2])).points(base)) == 2
    with pytest.raises(StudyError, match=r"clearing = 0.1: must be a list of finite numbers"):
        psmr.BusFaults(1.0, clearing=0.1)


def test_bus_bar_protection_refuses_no_row(study, tmp_path):
    """A fault at each of the nine buses, cleared by all its branches and plants: the bus is dead then."""
    sweep = swept(study, [psmr.BusFaults(0.1, clearing=(0.1,), trip="all")], tmp_path / "s")
    table = sweep.table.set_index("bus")
    assert list(table["status"]) == ["done"] * 9
    assert list(table["dead_buses"]) == list(table.index)
    assert dict(table["load_lost"][table["load_lost"] > 0]) == pytest.approx(
        {"bus5": 125.0, "bus6": 90.0, "bus8": 100.0}
    )
    with pytest.raises(StudyError, match=r"trip = 'line4-5': must be 'all'"):
        psmr.BusFaults(0.1, trip="line4-5")
