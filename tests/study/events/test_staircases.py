"""Staircases of held inputs: within the compiled loop, and the same as with an event at each jump."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Component
from psmr.errors import SimulationError
from tests import systems
from tests.conftest import ROOT
from tests.internals import (
    CLOSE,
    AsTripped,
    Change,
    ControlledSteps,
    Course,
    FixedSteps,
    GridSteps,
    first_span,
    integrate,
    schedule,
    span_after,
)

CASES = ROOT / "cases"


@pytest.fixture(scope="module")
def renewable():
    return psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-renewable.toml"))


def stairs(system, name, t, size=0.02):
    """Return the values at times in s of a sinusoid of 5 Hz about what a held input is."""
    return system.u0[system.names_u.index(name)] + size * np.sin(10.0 * np.pi * (t - t[0] + 0.001))


def as_course(name, t, value):
    return [Change(float(t[0]), courses=((name, Course.held(t, value)),))]


def as_events(name, t, value):
    return [Change(at, inputs=((name, to),)) for at, to in zip(t.tolist(), value.tolist(), strict=True)]


# Read by states alone, by an algebraic equation, and by one beside a converter.
INPUTS = ("AVR1.v_ref", "GOV1.p_ref", "PPC-W3.ref")
REGULAR = 0.05 + 0.001 * np.arange(100)
IRREGULAR = 0.05 + np.cumsum(np.random.default_rng(1).uniform(0.0004, 0.0016, 100))

FIXED = {
    "TM": psmr.SingleRate("TM", 0.001, tolerance=1e-12),
    "TM off the grid": psmr.SingleRate("TM", 0.0007, tolerance=1e-12),
    "damped": psmr.SingleRate("TM", 0.001, tolerance=1e-12, damped=True),
    "SDIRK2": psmr.SingleRate("SDIRK2", 0.002, tolerance=1e-12),
    "RK4": psmr.SingleRate("RK4", 0.0005, tolerance=1e-12),
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("times", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
@pytest.mark.parametrize("kind", FIXED)
def test_fixed_steps_are_those_with_an_event_at_each_jump(renewable, kind, times, name):
    value = stairs(renewable, name, times)
    ours, theirs = (
        integrate(renewable, FIXED[kind], 0.2, make(name, times, value)) for make in (as_course, as_events)
    )
    assert np.count_nonzero(np.diff(ours.t) == 0) == 100  # each instant twice
    assert ours.t.tolist() == pytest.approx(theirs.t.tolist(), abs=1e-15)
    assert (len(ours.spans), len(theirs.spans)) == (2, 101)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, atol=1e-9)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_chosen_steps_take_one_or_two_from_jump_to_jump(renewable, name, tolerance):
    value = stairs(renewable, name, REGULAR)
    fine = integrate(renewable, psmr.VariableStep(1e-8), 0.2, as_events(name, REGULAR, value))
    ours, theirs = (
        integrate(renewable, psmr.VariableStep(tolerance), 0.2, make(name, REGULAR, value))
        for make in (as_course, as_events)
    )
    assert ours.counters.steps < 150 < theirs.counters.steps
    # The least of these disturbances has the size 0.005 (measured: 0.4 tolerances of it at most).
    assert np.abs(ours.x[-1] - fine.x[-1]).max() < max(1e-7, 0.005 * tolerance)
    assert np.isin(REGULAR, ours.t).all()


@pytest.mark.parametrize(("name", "size"), [("AVR1.v_ref", 0.05), ("GOV1.p_ref", 0.2)])
def test_large_jumps_are_met_with_a_step_that_sees_them(renewable, name, size):
    """Jumps at random, 20 a second: steps as they were planned left 2.2 tolerances of 1e-2 (New England)."""
    t = 0.02 + 0.05 * np.arange(40)
    value = renewable.u0[renewable.names_u.index(name)] + size * np.random.default_rng(3).standard_normal(40)
    fine = integrate(renewable, psmr.VariableStep(1e-8), 2.5, as_events(name, t, value))
    for tolerance in (1e-2, 1e-3, 1e-4):
        run = integrate(renewable, psmr.VariableStep(tolerance), 2.5, as_course(name, t, value))
        ours, theirs = (made.x[np.searchsorted(made.t, t, side="right") - 1] for made in (run, fine))
        assert np.abs(ours - theirs).max() < tolerance
        assert run.counters.rejected <= 10


def test_a_jump_stands_twice_and_moves_what_reads_it_alone(renewable):
    value = stairs(renewable, "GOV1.p_ref", REGULAR)
    run = integrate(renewable, psmr.VariableStep(1e-4), 0.2, as_course("GOV1.p_ref", REGULAR, value))
    first = np.flatnonzero(np.diff(run.t) == 0)
    assert run.t[first].tolist() == REGULAR.tolist()
    assert (run.x[first] == run.x[first + 1]).all()
    jumped = np.abs(run.y[first + 1] - run.y[first]).max(axis=0)
    read = [renewable.names_y[k] for k in np.flatnonzero(jumped > 1e-6)]
    assert read
    assert all(name.startswith(("GOV1.", "G1.t_m")) for name in read)
    held = np.concatenate([span.held_at_rows(run.t[span.rows]) for span in run.spans])
    own = held[:, renewable.names_u.index("GOV1.p_ref")]
    assert own[first + 1].tolist() == value.tolist()
    assert own[first].tolist() == [renewable.u0[renewable.names_u.index("GOV1.p_ref")], *value[:-1]]
    # Before and behind each jump the algebraic equations hold with what is held there.
    for row in (int(first[7]), int(first[7]) + 1):
        residual = renewable.g(run.x[row], run.y[row], held[row], run.t[row])
        assert np.abs(residual).max() < 1e-6


FAST = {
    "AVR1.v_ref": ("AVR1",),
    "GOV1.p_ref": ("GOV1",),
    "PPC-W3.ref": ("PPC-W3", "EC-W3", "W3"),
}
CHOICES = {
    "held": {"predictor": "TM"},
    "schur": {"predictor": "extrapolation", "predict": "slow"},
    "converged": {"predictor": "TM", "corrections": "converge"},
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", FAST)
def test_fast_steps_meet_the_jumps_that_only_fast_equations_read(renewable, name, choice):
    """Macro steps of 5 to 20 ms over jumps each ms: the error falls as with an event at each, to 1e-5."""
    value, errors = stairs(renewable, name, REGULAR), []
    changes = as_course(name, REGULAR, value)
    fine = integrate(renewable, psmr.VariableStep(1e-8), 0.2, changes)
    split = partitioning.by_device(renewable.linearise(), FAST[name])
    for h_slow in (0.02, 0.005):
        scheme = psmr.Multirate(
            split, h_slow, round(h_slow / 0.0005), newton="very dishonest", **CHOICES[choice]
        )
        run = integrate(renewable, scheme, 0.2, changes)
        errors.append(np.abs(run.x[-1] - fine.x[-1]).max())
        # To the first jump, and from there as if nothing jumped.
        assert run.counters.macro_steps <= np.ceil(0.05 / h_slow) + np.ceil(0.15 / h_slow)
        assert run.counters.factorisations_by_role["fast"] <= 4  # the matrix is kept
    assert errors[0] < 3e-5
    assert errors[1] < 3e-6


def test_fast_points_at_jumps_stand_twice(renewable):
    name = "GOV1.p_ref"
    split = partitioning.by_device(renewable.linearise(), FAST[name])
    scheme = psmr.Multirate(split, 0.01, 20, predictor="TM")
    value = stairs(renewable, name, REGULAR)
    run = integrate(renewable, scheme, 0.2, as_course(name, REGULAR, value), every=True)
    ends = integrate(renewable, scheme, 0.2, as_course(name, REGULAR, value))
    first = np.flatnonzero(np.diff(run.t) == 0)
    assert run.t[first].tolist() == REGULAR.tolist()
    assert (np.diff(run.t) >= 0.0).all()
    assert (run.x[first] == run.x[first + 1]).all()
    assert np.abs(run.y[first + 1] - run.y[first]).max() > 1e-6
    last = np.searchsorted(run.t, ends.t, side="right") - 1
    np.testing.assert_array_equal(run.x[last], ends.x)


def test_slow_equations_that_read_a_jump_end_a_macro_step_there(renewable):
    name = "AVR1.v_ref"
    split = partitioning.by_device(renewable.linearise(), ["AVR2"])
    value = stairs(renewable, name, REGULAR)
    scheme = psmr.Multirate(split, 0.01, 20, predictor="TM", tolerance=1e-12)
    ours, theirs = (
        integrate(renewable, scheme, 0.2, make(name, REGULAR, value)) for make in (as_course, as_events)
    )
    assert np.isin(REGULAR, ours.t).all()
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-9)


def test_an_end_that_no_fast_step_meets(renewable):
    """The last macro step is shorter than its fast steps divide: the last jump ends the one before it."""
    name = "AVR1.v_ref"
    split = partitioning.by_device(renewable.linearise(), FAST[name])
    value = stairs(renewable, name, REGULAR)
    run = integrate(
        renewable, psmr.Multirate(split, 0.02, 40, predictor="TM"), 0.1473, as_course(name, REGULAR, value)
    )
    fine = integrate(renewable, psmr.VariableStep(1e-8), 0.1473, as_course(name, REGULAR, value))
    assert np.abs(run.x[-1] - fine.x[-1]).max() < 3e-5
    assert 0.147 in np.round(run.t, 12)


class Cubic(Component):
    """x' = y - x, 0 = y^3 + y - u: no Newton that keeps its matrix follows a jump of u by 1e12."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("u",)

    @staticmethod
    def equations(m, v, p):
        """Return the derivative and the residual."""
        return (v.y - v.x,), (v.y * v.y * v.y + v.y - v.u,), ()


@pytest.mark.parametrize("scheme", [psmr.SingleRate("BEM", 0.01), psmr.VariableStep(1e-3)], ids=str)
def test_a_jump_that_newton_alone_does_not_get_through_is_solved_as_at_an_event(scheme):
    system = systems.one(Cubic, {"x": 0.0, "y": 0.0, "u": 0.0})
    t, value = np.array([0.1, 0.13, 0.16, 0.19]), np.array([1.0, 1e12, 2.0, 1e12])
    ours, theirs = (integrate(system, scheme, 0.3, make("D.u", t, value)) for make in (as_course, as_events))
    assert ours.counters.damped == 0
    for at, u in zip(t, value, strict=True):
        y = float(ours.y[np.searchsorted(ours.t, at, side="right") - 1, 0])
        assert y**3 + y == pytest.approx(u, rel=1e-9)
    np.testing.assert_allclose(ours.x[-1], theirs.x[-1], rtol=1e-3)


class Refusing(Component):
    """0 = y^2 - u: there is no y where u is negative."""

    algebraic = ("y",)
    inputs = ("u",)

    @staticmethod
    def equations(m, v, p):
        """Return the residual."""
        return (), (v.y * v.y - v.u,), ()


def test_a_jump_without_a_solution_says_which(tmp_path):
    system = systems.one(Refusing, {"y": 1.0, "u": 1.0})
    t, value = np.array([0.1, 0.13, 0.16]), np.array([1.1, 1.2, -1.0])
    with pytest.raises(SimulationError, match=r"jump of D.u \(t = 0.16 s\): the equations have no solution"):
        integrate(system, psmr.SingleRate("TM", 0.01), 0.3, as_course("D.u", t, value))


def test_a_macro_step_that_fails_is_taken_from_jump_to_jump(renewable, monkeypatch):
    name = "AVR1.v_ref"
    split = partitioning.by_device(renewable.linearise(), FAST[name])
    value = stairs(renewable, name, REGULAR)
    scheme = psmr.Multirate(split, 0.01, 20, predictor="TM")
    usual, failed = GridSteps.advance, []

    def failing(self, most, w, take):
        if self.jumps is not None and not failed and self.jumps.within_step(self._done).size:
            failed.append(self.next_end)
            return usual(self, 0, w, take)[0], 4  # NOT_CONVERGED, with nothing done
        return usual(self, most, w, take)

    monkeypatch.setattr(GridSteps, "advance", failing)
    run = integrate(renewable, scheme, 0.2, as_course(name, REGULAR, value))
    fine = integrate(renewable, psmr.VariableStep(1e-8), 0.2, as_course(name, REGULAR, value))
    assert failed
    inside = REGULAR[failed[0] > REGULAR]
    assert np.isin(inside, run.t).all()
    assert np.abs(run.x[-1] - fine.x[-1]).max() < 3e-5


@pytest.mark.parametrize("delayed", [False, True])
def test_where_a_span_cannot_hold_jumps_each_is_a_change(system, delayed):
    system = psmr.with_delays(system, {"AVR1.v": 0.06}) if delayed else system
    scheme = psmr.SingleRate("TM", 0.005) if delayed else psmr.Adaptive("RK54")
    t = REGULAR[:20]
    value = stairs(system, "AVR1.v_ref", t)
    ends = [Change(0.2, inputs=(("AVR1.v_ref", 1.02),))]  # where the staircase ends
    ours, theirs = (
        integrate(system, scheme, 0.25, [*make("AVR1.v_ref", t, value), *ends])
        for make in (as_course, as_events)
    )
    np.testing.assert_array_equal(ours.t, theirs.t)
    np.testing.assert_array_equal(ours.x, theirs.x)


def test_jumps_and_events_at_one_instant_but_for_rounding(renewable):
    """3 x 0.1 is no 0.3: what happens then happens at once."""
    t = 0.1 * np.arange(1, 6)
    value = stairs(renewable, "AVR1.v_ref", t)
    other = Change(0.3, parameters=(("load5", "p", 1.2),))
    assert t[2] != 0.3
    run = integrate(renewable, psmr.SingleRate("TM", 0.01), 0.55, [*as_course("AVR1.v_ref", t, value), other])
    assert np.count_nonzero(np.abs(run.t - 0.3) < 1e-9) == 2
    after = run.spans[-1]
    assert after.t == 0.3
    held = after.held(np.array([0.3]))[0]
    assert held[renewable.names_u.index("AVR1.v_ref")] == value[2]


def test_what_is_held_at_rows_is_that_before_a_jump_and_that_behind_it(renewable):
    t, value = np.array([0.1, 0.15, 0.2]), np.array([1.0, 1.1, 1.2])
    (change,) = as_course("AVR1.v_ref", t, value)
    span = span_after(renewable, first_span(renewable, AsTripped()), 0.1, [change], AsTripped())
    place = renewable.names_u.index("AVR1.v_ref")
    rows = np.array([0.1, 0.12, 0.15, 0.15, 0.17, 0.2, 0.2])
    assert span.held_at_rows(rows)[:, place].tolist() == [1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.2]
    assert span.held_at_rows(rows[:-1])[:, place].tolist() == [1.0, 1.0, 1.0, 1.1, 1.1, 1.1]  # stopped there
    assert span.held_at_rows(rows[3:])[:, place].tolist() == [1.1, 1.1, 1.1, 1.2]
    assert span.held(np.array([0.15]))[0, place] == 1.1


def with_events(monkeypatch):
    """Let each jump be an event, as where spans cannot hold them."""
    for engine in (FixedSteps, ControlledSteps):
        monkeypatch.setattr(engine, "take_jumps", lambda self, jumps: False)


@pytest.mark.parametrize("scheme", [psmr.SingleRate("TM", 0.005), psmr.SingleRate("SDIRK2", 0.007)], ids=str)
def test_what_is_seen_of_a_run_is_what_events_show(renewable, scheme, tmp_path, monkeypatch):
    t = np.round(0.01 * np.arange(1, 51), 9)
    value = stairs(renewable, "PPC-W3.ref", t, 0.03)
    file = tmp_path / "ref.csv"
    file.write_text(
        "t,v\n" + "".join(f"{at!r},{to!r}\n" for at, to in zip(t.tolist(), value.tolist(), strict=True))
    )
    series = psmr.TimeSeries(file, "v", "PPC-W3.ref", hold=True)
    fault = psmr.Fault(5, 0.203, 0.29)
    shedding = psmr.When("bus5.v < 0.9 for 0.05 s", psmr.LoadTrip(6, 0.0, 0.2))

    def run():
        return psmr.simulate(renewable, scheme, 0.7, [series, fault, shedding], certify=False)

    ours = run()
    with_events(monkeypatch)
    theirs = run()
    assert len(theirs.timeline) > len(ours.timeline) + 40
    assert ours.t.tolist() == pytest.approx(theirs.t.tolist(), abs=1e-12)
    names = list(ours.signals.everything)
    mine, other = ours.frame(names).to_numpy(), theirs.frame(names).to_numpy()
    assert (np.abs(mine - other) / np.maximum(1.0, np.abs(other))).max() < 1e-7
    assert str(ours.outcome) == str(theirs.outcome)
    assert ours.instants == theirs.instants
    assert [c.label for c in ours.acted] == [c.label for c in theirs.acted]


def test_close_set_points_are_one_staircase(renewable):
    t = 0.1 + 0.01 * np.arange(50)
    value = stairs(renewable, "AVR1.v_ref", t)
    steps = [
        psmr.SetPoint("AVR1", "v_ref", to, at) for at, to in zip(t.tolist(), value.tolist(), strict=True)
    ]
    first, last = schedule(renewable, steps, 1.0)
    assert (first.t, last.t) == (t[0], t[-1])
    ((name, course),) = first.courses
    assert name == "AVR1.v_ref"
    assert (course.t.tolist(), course.value.tolist()) == (t.tolist(), value.tolist())
    assert first.label == f"AVR1.v_ref = {value[0]:g}, in 50 steps until t = 0.59 s"
    assert last.inputs == (("AVR1.v_ref", value[-1]),)
    assert [cause.event for cause in first.causes] == list(range(49))
    other = psmr.ParameterStep("load5", "p", 1.2, 0.305)
    made = schedule(renewable, [*steps, other], 1.0)
    assert [change.t for change in made] == pytest.approx([0.1, 0.3, 0.305, 0.31, 0.59])


def test_set_points_that_alternate_begin_with_what_they_were(renewable):
    t = 0.1 + 0.01 * np.arange(20)
    one, two = (stairs(renewable, f"AVR{k}.v_ref", t) for k in (1, 2))
    steps = [
        psmr.SetPoint(f"AVR{1 + k % 2}", "v_ref", float((one, two)[k % 2][k]), float(t[k])) for k in range(20)
    ]
    first, last = schedule(renewable, steps, 1.0)
    courses = dict(first.courses)
    assert courses["AVR2.v_ref"].t.tolist() == [t[0], *t[1::2]]
    assert courses["AVR2.v_ref"].value[0] == renewable.u0[renewable.names_u.index("AVR2.v_ref")]
    assert dict(last.inputs) == {"AVR1.v_ref": one[18], "AVR2.v_ref": two[19]}


def test_far_set_points_are_events_apart(renewable):
    steps = [psmr.SetPoint("AVR1", "v_ref", 1.0 + 0.01 * k, 0.1 + CLOSE * 1.01 * k) for k in range(5)]
    made = schedule(renewable, steps, 1.0)
    assert len(made) == 5
    assert not any(change.courses for change in made)


def test_a_set_point_ramp_finds_what_steps_before_it_left(renewable):
    steps = [psmr.SetPoint("AVR1", "v_ref", 1.0 + 0.001 * k, 0.1 + 0.01 * k) for k in range(1, 6)]
    *_, begin, end = schedule(renewable, [*steps, psmr.SetPoint("AVR1", "v_ref", 1.105, 0.3, end=0.4)], 1.0)
    assert begin.rates == (("AVR1.v_ref", pytest.approx(1.0)),)
    assert end.inputs == (("AVR1.v_ref", 1.105),)


@pytest.mark.parametrize("series", [False, True])
def test_an_input_that_a_condition_may_set_keeps_its_jumps_as_changes(system, series, tmp_path, monkeypatch):
    """What a condition sets holds until the next jump, and is not undone by a staircase that begins."""
    t = np.round(0.3 + 0.01 * np.arange(30), 9)
    one, two = (stairs(system, f"AVR{k}.v_ref", t) for k in (1, 2))
    later = [psmr.SetPoint("AVR2", "v_ref", to, at) for at, to in zip(t.tolist(), two.tolist(), strict=True)]
    file = tmp_path / "v.csv"
    rows = zip(t.tolist(), one.tolist(), strict=True)
    file.write_text("t,v\n" + "".join(f"{at!r},{to!r}\n" for at, to in rows))
    own = [psmr.TimeSeries(file, "v", "AVR1.v_ref", hold=True)] if series else []
    last = [] if series else [psmr.SetPoint("AVR1", "v_ref", 1.1, 0.455)]
    start = 0.355 if series else 0.0
    setting = psmr.When("bus5.v < 0.8", psmr.SetPoint("AVR1", "v_ref", 1.15, start))
    events = [psmr.Fault(5, 0.1, 0.15), setting, *later, *own, *last]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.65, events, certify=False)
    place = system.names_u.index("AVR1.v_ref")
    held = np.concatenate([span.held_at_rows(run.t[span.rows]) for span in run.timeline])[:, place]
    if series:
        assert (held[(run.t > 0.456) & (run.t < 0.4599)] == 1.15).all()
        assert held[run.t > 0.461][0] == one[16]
        assert held[-1] == one[-1]
    else:
        assert (held[(run.t > 0.11) & (run.t < 0.4549)] == 1.15).all()
        assert held[-1] == 1.1


def test_set_points_beside_a_series_do_not_end_it(system, tmp_path):
    """The last change sets both: the list's last step, and what the series came to."""
    t = np.round(0.1 + 0.01 * np.arange(20), 9)
    one, two = (stairs(system, f"AVR{k}.v_ref", t) for k in (1, 2))
    rows = list(zip(t.tolist(), one.tolist(), strict=True))
    file = tmp_path / "v.csv"
    file.write_text("t,v\n" + "".join(f"{at!r},{to!r}\n" for at, to in rows))
    series = psmr.TimeSeries(file, "v", "AVR1.v_ref", hold=True)
    steps = [psmr.SetPoint("AVR2", "v_ref", to, at) for at, to in zip(t.tolist(), two.tolist(), strict=True)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.4, [series, *steps], certify=False)
    held = np.concatenate([span.held_at_rows(run.t[span.rows]) for span in run.timeline])
    after = np.searchsorted(run.t, t + 1e-9) - 1
    for name, value in (("AVR1.v_ref", one), ("AVR2.v_ref", two)):
        assert held[after, system.names_u.index(name)].tolist() == value.tolist()


AT_JUMPS = {
    # The time of the action is that of a jump but for rounding: 0.22 + 0.2 is above 0.42.
    "rounding": (psmr.SingleRate("TM", 0.005), np.round(0.1 + 0.01 * np.arange(60), 9), 0.2, 0.02, 0.2),
    # The times of a grid of 7 ms, counted from the jumps, are those of the jumps but for rounding.
    "off the grid": (
        psmr.SingleRate("SDIRK2", 0.007),
        0.1 + np.cumsum([0.1 / 3, 0.0123, 0.0123, 0.003, 0.0123, 0.003, 0.003, 0.0123, 0.005, 0.003, 0.005]),
        0.17623333333333335,
        0.0153,
        0.013,
    ),
}


@pytest.mark.parametrize("kind", AT_JUMPS)
def test_actions_at_the_instant_of_a_jump_find_the_inputs_behind_it(system, kind, monkeypatch):
    scheme, t, start, delay, back = AT_JUMPS[kind]
    value = stairs(system, "AVR2.v_ref", t, 0.03)
    steps = [
        psmr.SetPoint("AVR2", "v_ref", to, at) for at, to in zip(t.tolist(), value.tolist(), strict=True)
    ]
    fault = psmr.Fault(5, start, start + 0.05)
    shedding = psmr.When(f"bus5.v < 0.9 for {delay} s", psmr.LoadTrip(6, 0.0, 0.3, reconnect=back))

    def run():
        return psmr.simulate(system, scheme, 0.8, [fault, shedding, *steps], certify=False)

    ours = run()
    with_events(monkeypatch)
    theirs = run()
    assert not ((np.diff(ours.t) > 0) & (np.diff(ours.t) < 1e-11)).any()
    ends = [np.append(np.diff(each.t) > 1e-11, True) for each in (ours, theirs)]
    np.testing.assert_allclose(ours.t[ends[0]], theirs.t[ends[1]], rtol=0, atol=1e-11)
    np.testing.assert_allclose(ours.x[ends[0]], theirs.x[ends[1]], atol=1e-7)
