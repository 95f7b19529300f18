"""Time series: the sum of their ramps, exact for held inputs in between, and what a file must not have."""

from itertools import pairwise

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Component, Parameter, read_study
from psmr.errors import EventError, StudyError
from tests import systems
from tests.conftest import ROOT
from tests.internals import Change, Course, integrate, read_points, schedule, times_off_grid

CASES = ROOT / "cases"
ROWS = ((0.1, 1.25), (0.3, 1.5), (0.35, 1.4), (0.8, 1.6))


def csv_of(path, rows=ROWS, head="t,p"):
    path.write_text(head + "\n" + "".join(f"{t!r},{value!r}\n" for t, value in rows))
    return path


def at_once(run):
    """Return the states at the times of a run, at an instant those before it."""
    return run.x[np.unique(run.t, return_index=True)[1]]


def simulate(system, scheme, events, t_end=1.0):
    return psmr.simulate(system, scheme, t_end, events, certify=False)


def test_a_series_is_the_sum_of_its_ramps(system, tmp_path):
    file = csv_of(tmp_path / "load.csv")
    series = psmr.TimeSeries(file, "p", "load5.p")
    ramps = [psmr.LoadRamp(5, t, end, to / value, factor_q=1.0) for (t, value), (end, to) in pairwise(ROWS)]
    # The load of the case is 1.25 pu: the first ramp begins where the series does.
    assert system.parameter("load5", "p") == 1.25
    for scheme in (psmr.SingleRate("TM", 0.01), psmr.SingleRate("RK4", 0.0005)):
        ours, theirs = (simulate(system, scheme, events) for events in ([series], ramps))
        np.testing.assert_allclose(at_once(ours), at_once(theirs), atol=1e-9)
    assert series.start == 0.1
    assert series.end == 0.8


def test_what_is_seen_of_a_run_follows_the_series(system, tmp_path):
    series = psmr.TimeSeries(csv_of(tmp_path / "load.csv"), "p", "load5.p")
    ramps = [psmr.LoadRamp(5, t, end, to / value, factor_q=1.0) for (t, value), (end, to) in pairwise(ROWS)]
    ours, theirs = (simulate(system, psmr.VariableStep(1e-7), events) for events in ([series], ramps))
    names, times = ["load5.*", "bus*.frequency", "*.omega", "bus*.v"], np.linspace(0.02, 0.98, 25)
    # MW and Mvar: a hundredth of a millionth of the base.
    np.testing.assert_allclose(ours.at(times, names), theirs.at(times, names), rtol=0, atol=1e-5)
    at_rows = [t for t, _ in ROWS[1:-1]]
    assert np.isin(at_rows, ours.t).all()
    before, after = (
        ours.frame("bus5.frequency").loc[at_rows].to_numpy(),
        theirs.frame("bus5.frequency", "after"),
    )
    np.testing.assert_allclose(before, after.loc[at_rows], rtol=0, atol=1e-5)
    assert [label for _, label in ours.instants] == ["load5.p follows load.csv"]


def test_the_frequency_sees_a_held_input_that_moves(tmp_path):
    """The pace of g is that of the line that holds, of a course as of a ramp."""
    system = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-renewable.toml"))
    at = system.names_u.index("EC-S3.p_ref")
    start = float(system.u0[at])
    points = [(0.1, start), (0.3, 1.1 * start), (0.5, start), (0.9, 1.05 * start)]
    file = csv_of(tmp_path / "sun.csv", points)
    run = simulate(system, psmr.VariableStep(1e-7), [psmr.TimeSeries(file, "p", "EC-S3.p_ref")])
    rows = by_rows("EC-S3.p_ref", points)
    other = integrate(system, psmr.VariableStep(1e-7), 1.0, list(rows))
    np.testing.assert_allclose(run.x[-1], other.x[-1], atol=1e-6)
    # Away from the rows the frequency is the slope of the phase.
    times = np.array([0.2, 0.4, 0.7])
    found = run.at(times, ["bus3.frequency"]).to_numpy()[:, 0]
    angles = [run.at(times + side * 1e-4, ["bus3.angle"]).to_numpy()[:, 0] for side in (1.0, -1.0)]
    np.testing.assert_allclose(found, 60.0 + (angles[0] - angles[1]) / 2e-4 / (2 * np.pi), atol=1e-5)


def test_p_and_q_of_one_load_may_follow_files_of_their_own(system, tmp_path):
    p = psmr.TimeSeries(csv_of(tmp_path / "p.csv"), "p", "load5.p")
    q = psmr.TimeSeries(csv_of(tmp_path / "q.csv", ((0.2, 0.5), (0.6, 0.7))), "p", "load5.q")
    scheme = psmr.SingleRate("TM", 0.01)
    run = simulate(system, scheme, [p, q])
    v_0 = system.parameter("load5", "v_0")
    for t, active, reactive in ((0.4, 1.4 + 0.2 / 9, 0.6), (0.9, 1.6, 0.7)):
        row = np.argmin(np.abs(run.t - t))
        y = dict(zip(run.names_y, run.y[row], strict=True))
        v = y["bus5.v_re"] + 1j * y["bus5.v_im"]
        drawn = -sum_of_branches(system, run, row) * 1.0
        assert drawn * (v_0 / abs(v)) ** 2 == pytest.approx(active + 1j * reactive, abs=1e-6)


def sum_of_branches(system, run, row):
    """Return the power that the lines at bus 5 take from it."""
    y = dict(zip(run.names_y, run.y[row], strict=True))
    v = {n: y[f"{n}.v_re"] + 1j * y[f"{n}.v_im"] for n in ("bus4", "bus5", "bus7")}
    current = 0
    for line, far in (("line4-5", "bus4"), ("line5-7", "bus7")):
        z = system.parameter(line, "r") + 1j * system.parameter(line, "x")
        current += (v["bus5"] - v[far]) / z + 0.5j * system.parameter(line, "b") * v["bus5"]
    return v["bus5"] * np.conj(current)


class Follower(Component):
    """x' = rate (u - x), 0 = y - u x: a held input in a state and in an algebraic equation."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("u",)
    rate = Parameter("1/s", "rate", default=2.0)

    @staticmethod
    def equations(m, v, p):
        """Return the derivative and the residual."""
        return (p.rate * (v.u - v.x),), (v.y - v.u * v.x,), ()


def exact(t, slope=1.0, rate=2.0):
    """Return x for u = slope t from x = 0."""
    return slope * (t - (1 - np.exp(-rate * t)) / rate)


SCHEMES = {
    "TM": (2, lambda split, h: psmr.SingleRate("TM", h, tolerance=1e-13)),
    "SDIRK2": (2, lambda split, h: psmr.SingleRate("SDIRK2", h, tolerance=1e-13)),
    "RK4": (4, lambda split, h: psmr.SingleRate("RK4", h, tolerance=1e-14)),
    "multirate": (2, lambda split, h: psmr.Multirate(split, h, 2, predictor="TM", tolerance=1e-13)),
    "arc length": (4, lambda split, h: psmr.ArcLength("RK4", h, tolerance=1e-14)),
}


@pytest.mark.parametrize("kind", SCHEMES)
def test_a_held_input_that_ramps_keeps_the_order(kind):
    import partitioning

    order, scheme = SCHEMES[kind]
    system = systems.one(Follower, {"x": 0.0, "y": 0.0, "u": 0.0})
    split = partitioning.by_hand(system.linearise(), ["D.y"])
    ramp = [Change(0.0, rates=(("D.u", 1.0),)), Change(1.0, inputs=(("D.u", 1.0),))]
    errors, steps = [], np.array([0.2, 0.1, 0.05, 0.025])
    for h in steps:
        run = integrate(system, scheme(split, h), 1.0, ramp)
        errors.append(abs(run.x[-1, 0] - exact(1.0)))
        np.testing.assert_allclose(run.y[:, 0], run.t * run.x[:, 0], atol=1e-10)
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order, abs=0.25)


def test_a_ramp_of_one_input_goes_on_through_the_change_of_another(system):
    steps = [Change(0.55, parameters=(("load5", "p", 1.3),))]
    ramp = [Change(0.2, rates=(("AVR1.v_ref", 0.01),)), Change(0.8, rates=(("AVR1.v_ref", 0.0),))]
    two = integrate(system, psmr.SingleRate("TM", 0.01), 1.0, [*ramp, *steps])
    start = dict(zip(system.names_u, system.u0, strict=True))["AVR1.v_ref"]
    again = Change(0.55, inputs=(("AVR1.v_ref", start + 0.0035),), rates=(("AVR1.v_ref", 0.01),))
    three = integrate(system, psmr.SingleRate("TM", 0.01), 1.0, [*ramp, *steps, again])
    np.testing.assert_allclose(two.x, three.x, atol=1e-10)


def test_a_set_point_follows_lines_or_a_staircase(system, tmp_path):
    file = csv_of(tmp_path / "v.csv", ((0.1, 1.0), (0.5, 1.1)), "time , v_ref")
    lines = psmr.TimeSeries(file, "v_ref", "AVR1.v_ref", time="time", scale=1.04)
    first, last = schedule(system, [lines], 1.0)
    assert first.inputs == (("AVR1.v_ref", 1.04),)
    ((name, course),) = first.courses
    assert name == "AVR1.v_ref"
    assert course.rate.tolist() == [pytest.approx(0.26), 0.0]
    assert last.inputs == (("AVR1.v_ref", pytest.approx(1.1 * 1.04)),)
    assert (first.label, last.label) == ("AVR1.v_ref follows v.csv", "")
    stairs = psmr.TimeSeries(file, "v_ref", "AVR1.v_ref", time="time", hold=True)
    made = schedule(system, [stairs], 1.0)
    assert [change.inputs[0][1] for change in made] == [1.0, 1.1]
    assert not any(change.courses or change.rates for change in made)
    run = simulate(system, psmr.SingleRate("TM", 0.01), [lines])
    assert [label for _, label in run.instants] == ["AVR1.v_ref follows v.csv"]


def by_rows(name, points):
    """Return a change a row, of a held input or of the active power of a load."""
    for (t, value), (end, to) in pairwise([*points, (points[-1][0] + 1.0, points[-1][1])]):
        if name.endswith(".p"):
            yield Change(t, courses=((name, Course.through([t, end], [value, to])),))
        else:
            yield Change(t, inputs=((name, value),), rates=((name, (to - value) / (end - t)),))


def as_course(name, points):
    """Return one change that has the same rows as a course."""
    t, values = np.array(points).T
    return [Change(points[0][0], courses=((name, Course.through(t, values)),))]


def split_of(system):
    return partitioning.by_participation(system.linearise(), 20.0)


FIXED = {
    "TM": lambda s: psmr.SingleRate("TM", 0.01, tolerance=1e-12),
    "SDIRK2": lambda s: psmr.SingleRate("SDIRK2", 0.01, tolerance=1e-12),
    "RK4": lambda s: psmr.SingleRate("RK4", 0.001, tolerance=1e-12),
    "multirate": lambda s: psmr.Multirate(split_of(s), 0.04, 4, predictor="TM", tolerance=1e-12),
    "converged multirate": lambda s: psmr.Multirate(
        split_of(s), 0.04, 4, predictor="TM", corrections="converge", tolerance=1e-12
    ),
    "slow manifold": lambda s: psmr.SlowManifold(split_of(s), 0.01, tolerance=1e-12),
    "SMES": lambda s: psmr.Smes.for_system(s.linearise(), 0.01, tolerance=1e-12),
}

# Bounds: the error that each has on this run, times ten.
CHOOSING = {
    "variable step": (1e-6, lambda s: psmr.VariableStep(1e-7)),
    "RK54": (1e-8, lambda s: psmr.Adaptive("RK54", rtol=1e-10, atol=1e-12)),
    "arc length": (1e-8, lambda s: psmr.ArcLength("RK4", 1e-3, tolerance=1e-12)),
}


@pytest.fixture(scope="module")
def points():
    """Return irregular rows, 100 a second in the mean: one is at the end of a step of none."""
    rng = np.random.default_rng(12)
    times = 0.0512 + np.cumsum(rng.uniform(0.002, 0.018, 30))
    return list(zip(times.tolist(), (1.25 + 0.1 * rng.standard_normal(30)).tolist(), strict=True))


@pytest.mark.parametrize("name", ["load5.p", "AVR1.v_ref"])
@pytest.mark.parametrize("kind", FIXED)
def test_a_course_is_followed_as_if_each_row_were_an_event(system, points, kind, name):
    scheme = FIXED[kind](system)
    ours, theirs = (integrate(system, scheme, 0.5, make(name, points)) for make in (as_course, by_rows_list))
    assert np.count_nonzero(np.diff(ours.t) == 0) == 1
    assert np.unique(theirs.t).tolist() == ours.t[np.unique(ours.t, return_index=True)[1]].tolist()
    np.testing.assert_allclose(at_once(ours), at_once(theirs), atol=1e-9)


def by_rows_list(name, points):
    return list(by_rows(name, [(t, value) for t, value in points if t < 0.5]))


@pytest.mark.parametrize("name", ["load5.p", "AVR1.v_ref"])
@pytest.mark.parametrize("kind", CHOOSING)
def test_steps_that_are_chosen_end_at_the_rows(system, points, kind, name):
    bound, make_scheme = CHOOSING[kind]
    scheme = make_scheme(system)
    ours, theirs = (integrate(system, scheme, 0.5, make(name, points)) for make in (as_course, by_rows_list))
    assert np.isin([t for t, _ in points if t < 0.5], ours.t).all()
    np.testing.assert_allclose(ours.x[-1], theirs.x[-1], atol=bound)


def lagged(t, value, rate=2.0):
    """Return x at the rows for x' = rate (u - x) from x = 0, u linear between them."""
    x = [0.0]
    for h, u, slope in zip(np.diff(t), value, np.diff(value) / np.diff(t), strict=False):
        x.append(u + slope * h - slope / rate + (x[-1] - u + slope / rate) * np.exp(-rate * h))
    return np.array(x)


def test_a_stage_behind_a_row_does_not_see_the_next_line():
    """ESDIRK43 has a stage 4 % behind the end of a step; on the next line it made 3 to 9 tolerances."""
    system = systems.one(Follower, {"x": 0.0, "y": 0.0, "u": 0.0})
    t = 0.05 * np.arange(201)
    u = np.append(0.0, np.cumsum(0.3 * np.random.default_rng(5).standard_normal(200)))
    course = [Change(0.0, courses=(("D.u", Course.through(t, u)),))]
    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        run = integrate(system, psmr.VariableStep(tolerance), 10.0, course)
        at_rows = run.x[np.searchsorted(run.t, t - 1e-12), 0]
        assert np.abs(at_rows - lagged(t, u)).max() < tolerance
        assert run.counters.steps < 3 * 200  # three steps between two rows, at 1e-7


def test_fast_steps_meet_the_rows_that_only_fast_equations_read():
    """Macro steps of 40 ms pass over the rows of 100 Hz at which fast steps of 5 ms end."""
    system = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-renewable.toml"))
    rng, start = np.random.default_rng(3), float(system.u0[system.names_u.index("EC-S3.p_ref")])
    sun = [
        (0.0312 + 0.01 * k, start * (1 + 0.02 * value)) for k, value in enumerate(rng.standard_normal(100))
    ]
    course = as_course("EC-S3.p_ref", sun)
    fine = integrate(system, psmr.VariableStep(1e-7), 1.0, course)
    errors, counts = [], []
    for fast, h_slow in ((["S3", "EC-S3"], 0.04), (["S3", "EC-S3"], 0.02), (["G2"], 0.04)):
        split = partitioning.by_device(system.linearise(), fast)
        scheme = psmr.Multirate(split, h_slow, round(h_slow / 0.005), predictor="TM")
        run = integrate(system, scheme, 1.0, course)
        counts.append(run.counters.macro_steps)
        errors.append(np.abs(run.x[-1] - fine.x[-1]).max())
    # To the first row, then from row to row where slow equations read the course.
    assert counts == [1 + 25, 2 + 49, 1 + 97]
    assert max(errors) < 1e-3
    assert errors[1] < 0.5 * errors[0]


def test_a_staircase_is_an_event_where_it_jumps(system, tmp_path):
    rows = [
        (0.1 * k, value) for k, value in enumerate((125.0, 125.0, 120.0, 120.0, 120.0, 125.0, 125.0, 125.0))
    ]
    series = psmr.TimeSeries(csv_of(tmp_path / "p.csv", rows), "p", "load5.p", scale=0.01, hold=True)
    made = schedule(system, [series], 1.0)
    assert [change.t for change in made] == [0.0, 0.2, 0.5, pytest.approx(0.7)]
    assert [change.parameters[0][2] for change in made] == [1.25, 1.2, 1.25, 1.25]
    with pytest.raises(EventError, match="overlaps"):  # it lasts until its last row
        schedule(system, [series, psmr.ParameterStep("load5", "p", 1.0, start=0.6)], 1.0)


def test_rows_that_no_step_from_the_beginning_meets():
    rows = np.array([0.03, 0.05, 0.08])
    assert times_off_grid(0.01, rows, 0.01).tolist() == []
    assert times_off_grid(0.012, rows, 0.01).tolist() == [0.03]
    assert times_off_grid(0.01, rows, 0.02).tolist() == rows.tolist()


def test_rows_after_the_end_of_the_run_are_left_out(system, tmp_path):
    series = psmr.TimeSeries(csv_of(tmp_path / "p.csv"), "p", "load5.p")
    assert [change.t for change in schedule(system, [series], 0.33)] == [0.1]
    stairs = psmr.TimeSeries(series.file, "p", "load5.p", hold=True)
    assert [change.t for change in schedule(system, [stairs], 0.33)] == [0.1, 0.3]
    with pytest.raises(
        EventError, match=r"'load5.p follows p.csv' \(t = 0.1 s\) is not before the end of the run"
    ):
        schedule(system, [series], 0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,p\n0,1\n1,12 MW\n", r":3: p = '12 MW': must be a number without a unit .* as scale"),
        ("t,p\n0,1\n1,nan\n", r":3: p = nan: must be finite; fill the gap"),
        ("t,p\n0,1\n1,\n", r":3: p = '': must be a number"),
        ("t,p\n0,1\n1\n", r":3: has 1 cells, column 'p' is missing"),
        ("t,p\n0,1\n\n0,2\n", r":4: t = 0 s: must be after the row before, 0 s"),
        ("t,p\n-1,1\n", r":2: t = -1 s: must be >= 0"),
        ("t,q\n0,1\n", r":1: there is no column 'p'.*; columns: t, q"),
        ("t;p\n0;1,5\n", r":1: cells are separated by semicolons; separate them by commas"),
        ("", r":1: there is no column 't'; columns: none; the first line must name them"),
        ("t,p\n", r": has no row under its column names"),
    ],
)
def test_a_file_that_cannot_be_is_refused_with_its_line(tmp_path, text, message):
    file = tmp_path / "p.csv"
    file.write_text(text)
    with pytest.raises(EventError, match=f"p.csv{message}"):
        read_points(file, "t", "p")


def test_what_cannot_follow_is_refused(system, tmp_path):
    with pytest.raises(EventError, match=r"none.csv: cannot be read: No such file"):
        psmr.TimeSeries(tmp_path / "none.csv", "p", "load5.p")
    file = csv_of(tmp_path / "p.csv")
    with pytest.raises(
        EventError, match=r"load55.p is neither p or q of a load nor a set-point; did you mean 'load5.p'"
    ):
        psmr.TimeSeries(file, "p", "load55.p").changes(system)
    with pytest.raises(EventError, match=r"hold = 'yes': must be True or False"):
        psmr.TimeSeries(file, "p", "load5.p", hold="yes")
    events = [psmr.TimeSeries(file, "p", "load5.p"), psmr.LoadRamp(5, 0.5, 0.8, 2.0)]
    with pytest.raises(EventError, match=r"load ramp at bus5 .* overlaps with time series of load5.p"):
        schedule(system, events, 1.0)


@pytest.mark.parametrize("hold", [False, True])
def test_what_has_left_needs_no_shorter_series(system, tmp_path, hold):
    """The recording of a plant's set-point may be longer than the plant is there."""
    series = psmr.TimeSeries(
        csv_of(tmp_path / "v.csv", ((0.1, 1.12), (0.4, 1.13), (0.8, 1.11))), "p", "AVR2.v_ref", hold=hold
    )
    rows = ((0.1, 1.12), (0.4, 1.13)) if hold else ((0.1, 1.12), (0.4, 1.13), (0.499, 1.12505))
    short = csv_of(tmp_path / "short.csv", rows)
    trip = psmr.GeneratorTrip("G2", 0.5)
    for scheme in (psmr.SingleRate("TM", 0.01), psmr.VariableStep(1e-4)):
        run = simulate(system, scheme, [series, trip])
        assert run.stopped is None
        # What the series does behind the trip, at 0.8 s, moves nothing.
        other = simulate(system, scheme, [psmr.TimeSeries(short, "p", "AVR2.v_ref", hold=hold), trip])
        np.testing.assert_allclose(run.x[-1], other.x[-1], atol=2e-4)
    with pytest.raises(EventError, match=r"time series of AVR2.v_ref .* is out of service since t = 0.05"):
        simulate(system, psmr.SingleRate("TM", 0.01), [series, psmr.GeneratorTrip("G2", 0.05)])


def test_a_study_file_names_the_series_beside_it(study_text, tmp_path):
    csv_of(tmp_path / "p.csv")
    text = study_text.replace(
        "[output]",
        '[[event]]\ntype = "time-series"\nfile = "p.csv"\ncolumn = "p"\nsignal = "load6.p"\n\n[output]',
    )
    path = tmp_path / "study.toml"
    path.write_text(text)
    assert read_study(path).events[1].points == ROWS
    path.write_text(text.replace('"p.csv"', '"q.csv"'))
    with pytest.raises(StudyError, match=r"study.toml:\d+ \[\[event\]\]: .*q.csv: cannot be read"):
        read_study(path)
