"""Two rates by samples: a plant with a digital regulator in a slow network, by matrix exponentials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import partitioning
import psmr
from psmr.errors import SchemeError
from tests.converter_plants import plants_in
from tests.internals import Action, Change, Course, integrate
from tests.systems.sampled import TIMES, Lag, regulated

PERIOD = 1e-3


class Converter(psmr.Component):
    """A filtered current into a node, driven by a voltage that is held between samples."""

    states = ("i", "i_f")
    algebraic = ("p",)
    inputs = ("v", "e")
    outputs = ("v",)
    l = psmr.Parameter("s", "inductance", default=0.004)  # noqa: E741

    @staticmethod
    def equations(m, v, p):
        return ((v.e - v.v - 0.2 * v.i) / p.l, 400.0 * (v.i - v.i_f)), (v.p - v.i - 0.1 * v.i_f,), (-v.p,)


class Regulator(psmr.Component):
    """A digital current regulator with an integral."""

    inputs = ("i_f", "v", "ref")
    optional = {"ref": 0.4}
    sampled_states = ("integral",)
    sampled_outputs = ("e",)
    samples = psmr.Samples(period="T", offset="T_0", delay="T_d")
    T, T_0, T_d = TIMES.values()

    @staticmethod
    def sample(m, v, p):
        error = v.ref - v.i_f
        return (v.integral + 20.0 * p.T * error,), (v.v + v.integral + 0.8 * error,)


class Node(psmr.Component):
    """0 = what flows into a node with a load."""

    algebraic = ("v",)
    g = psmr.Parameter("pu", "load", default=0.5)

    @staticmethod
    def equations(m, v, p):
        return (), (p.g * v.v,), ()


class Swing(psmr.Component):
    """A voltage behind a conductance that swings at 0.8 Hz, damped."""

    states = ("z", "s")
    inputs = ("v",)
    outputs = ("v",)
    b = psmr.Parameter("pu", "conductance", default=3.0)

    @staticmethod
    def equations(m, v, p):
        return (2.0 * (v.v - v.z) + 5.0 * v.s, -5.0 * v.z + 5.0), (), (p.b * (v.v - v.z),)


def plant(b=3.0, more=(), **times):
    """Return the plant on its node, away from rest, and more; `b` is small in a weak network."""
    devices = [
        psmr.Device("N", Node, {}),
        psmr.Device("F", Converter, {}, {"v": "N.v", "e": "C.e"}),
        psmr.Device("C", Regulator, {"T": PERIOD, **times}, {"v": "N.v", "i_f": "F.i_f"}),
        psmr.Device("S", Swing, {"b": b}, {"v": "N.v"}),
        *more,
    ]
    return psmr.assemble(devices, start={"S.z": 0.9, "S.s": 0.1})


def exact(system, t_end, period=PERIOD, changes=()):
    """Return times (K,) and states (K, n) of the linear plant at its samples, left limits."""
    linear = system.linearise()
    A = np.asarray(linear.state_matrix())
    answer = -np.linalg.solve(linear.gy.toarray(), linear.gx.toarray())[system.names_y.index("N.v")]
    B = np.where(np.array(system.names_x) == "F.i", 1.0 / 0.004, 0.0)[:, None]
    n = len(A)
    steps = expm(np.block([[A, B], [np.zeros((1, n + 1))]]) * period)
    # The equilibrium about which it is linear: that of the constant terms.
    y = system.y0 - np.linalg.solve(linear.gy.toarray(), np.asarray(system.g(system.x0, system.y0)))
    rest = system.x0 - np.linalg.solve(A, np.asarray(system.f(system.x0, y)))
    x, u = system.x0.copy(), system.w0[system.n + system.m : system.n + system.m + 2].copy()
    e_0, v_0 = u[1], float(y[system.names_y.index("N.v")]) - answer @ (system.x0 - rest)
    k_f, found = system.names_x.index("F.i_f"), [x.copy()]
    for _ in range(round(t_end / period)):
        v = v_0 + answer @ (x - rest)
        error = 0.4 - x[k_f]
        u = np.array([u[0] + 20.0 * period * error, v + u[0] + 0.8 * error])
        z = steps @ np.append(x - rest, u[1] - e_0)
        x = rest + z[:n]
        found.append(x.copy())
    return period * np.arange(len(found)), np.array(found)


def error(run, t, x):
    """Return the largest error of each state at the points of a run that are samples."""
    k = np.rint(run.t / PERIOD).astype(int)
    own = np.abs(run.t - PERIOD * k) < 1e-9
    return np.abs(run.x[own] - x[k[own]]).max(axis=0)


@pytest.mark.parametrize("b", [3.0, 0.3], ids=["strong network", "weak network"])
def test_errors_follow_the_tolerance_and_the_slow_side_does_not_step_at_samples(b):
    system = plant(b)
    t, x = exact(system, 0.5)
    found, steps = [], []
    for tolerance in (1e-3, 1e-4, 1e-5):
        run = integrate(system, psmr.SampledMultirate(tolerance), 0.5)
        found.append(error(run, t, x).max())
        steps.append(run.counters.steps)
        assert found[-1] < 4.0 * tolerance
    assert found[0] > 5.0 * found[-1]
    assert steps[0] < 120
    assert steps[1] < 200 < t.size


def test_rejected_steps_give_back_what_was_sampled():
    system = plant()
    run = integrate(system, psmr.SampledMultirate(1e-4), 0.5)
    assert run.counters.rejected > 0
    samples = 500
    t, x = exact(system, 0.5)
    assert error(run, t, x).max() < 1e-4
    assert run.counters.newton_iterations["fast"] > 2 * samples


def test_between_its_points_a_run_is_on_lines():
    """The fast side took steps there, of which the dense output of the slow method knows nothing."""
    system = plant()
    run = psmr.simulate(system, psmr.SampledMultirate(1e-3), 0.5, certify=False)
    k = int(np.argmax(np.diff(run.t)))
    assert run.t[k + 1] - run.t[k] > 5.0 * PERIOD
    between = run.at([run.t[k : k + 2].mean()], list(system.names_x)).to_numpy()[0]
    np.testing.assert_allclose(between, run.x[k : k + 2].mean(axis=0), rtol=1e-12)


def test_without_samples_it_is_variable_step():
    system = psmr.assemble(
        [psmr.Device("N", Node, {}), psmr.Device("S", Swing, {}, {"v": "N.v"})], {"S.z": 0.9}
    )
    one, two = (integrate(system, kind(1e-4), 1.0) for kind in (psmr.VariableStep, psmr.SampledMultirate))
    assert np.array_equal(one.t, two.t)
    assert np.array_equal(one.x, two.x)
    split = partitioning.by_device(system.linearise(), ["S"])
    with pytest.raises(SchemeError, match="h_fast"):
        integrate(system, psmr.SampledMultirate(1e-4, split=split), 1.0)


def test_without_a_slow_side_it_is_variable_step():
    system = regulated()
    one, two = (integrate(system, kind(1e-4), 0.2) for kind in (psmr.VariableStep, psmr.SampledMultirate))
    assert np.array_equal(one.t, two.t)
    assert np.array_equal(one.x, two.x)


class Exciter(psmr.Component):
    """A field voltage that follows a current with a high gain."""

    states = ("v_f",)
    inputs = ("i",)

    @staticmethod
    def equations(m, v, p):
        return (200.0 * (100.0 * v.i - v.v_f),), (), ()


class Field(psmr.Component):
    """A flux behind it, among what rings."""

    states = ("e_q",)
    inputs = ("v_f",)
    instantaneous = True

    @staticmethod
    def equations(m, v, p):
        return (0.01 * v.v_f - 0.2 * v.e_q,), (), ()


def test_a_slow_state_counts_by_what_it_does_to_the_fast_side():
    more = (psmr.Device("E", Exciter, {}, {"i": "F.i"}), psmr.Device("Q", Field, {}, {"v_f": "E.v_f"}))
    system = plant(more=more)
    assert psmr.SampledMultirate(1e-3).on(system).split.fast_x[system.names_x.index("Q.e_q")]
    run = psmr.simulate(system, psmr.SampledMultirate(1e-3), 0.5, certify=False)
    assert len(run.t) < 60
    t, x = exact(system, 0.5)
    assert (error(run, t, x) / np.maximum(1.0, np.abs(x).max(axis=0))).max() < 1e-3


def test_steps_that_end_at_samples_are_not_counted_among_the_most():
    run = integrate(regulated(), psmr.SampledMultirate(1e-3, most_steps=5), 0.2)
    assert run.counters.steps == 20


def test_fast_steps_are_refined_where_samples_are_far_apart():
    period = 0.01
    system = plant(T=period)
    reference = integrate(system, psmr.VariableStep(1e-7), 0.5)
    run = integrate(system, psmr.SampledMultirate(1e-4), 0.5)
    at_end = np.abs(run.x[-1] - reference.x[-1]).max()
    assert at_end < 1e-4
    stages = run.counters.newton_iterations["fast"]
    assert stages > 2 * 50 * 8  # of two stages a fast step, eight and more of them between two samples


def test_a_change_off_the_samples_is_met_exactly():
    system = plant()
    changes = [Change(0.20037, parameters=(("N", "g", 2.0),)), Change(0.30011, parameters=(("N", "g", 0.5),))]
    reference = integrate(system, psmr.VariableStep(1e-7), 0.5, changes)
    for tolerance in (1e-3, 1e-4):
        run = integrate(system, psmr.SampledMultirate(tolerance), 0.5, changes)
        assert {0.20037, 0.30011} <= set(run.t)
        for t in (0.2, 0.20037, 0.30011, 0.5):
            own, other = (r.x[np.flatnonzero(np.abs(r.t - t) < 1e-9)] for r in (run, reference))
            if own.size:
                assert np.abs(own[-1] - other[-1]).max() < 2.0 * tolerance


class Bounded(psmr.Component):
    """A slow state that follows a voltage up to a limit."""

    states = ("x",)
    inputs = ("v",)
    limits = {"x": ("low", "high")}
    low = psmr.Parameter("pu", "lower limit", default=-0.02)
    high = psmr.Parameter("pu", "upper limit", default=0.02)

    @staticmethod
    def equations(m, v, p):
        return (3.0 * (v.v - 0.9),), (), ()


def test_a_limit_of_the_slow_side_is_met_where_it_stands():
    system = plant(more=[psmr.Device("B", Bounded, {}, {"v": "N.v"})])
    reference = integrate(system, psmr.VariableStep(1e-6), 1.5)
    run = integrate(system, psmr.SampledMultirate(1e-4), 1.5)
    k = system.names_x.index("B.x")
    held = [r.t[np.flatnonzero(r.x[:, k] >= 0.02 - 2e-5)[0]] for r in (run, reference)]
    assert abs(held[0] - held[1]) < 2e-4
    assert np.abs(run.x[-1] - reference.x[-1]).max() < 1e-4


class SlowControl(psmr.Component):
    """Holds what a voltage was, ten times a second."""

    inputs = ("v",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T", offset="T_0")
    T = psmr.Parameter("s", "time between samples", default=0.1)
    T_0 = psmr.Parameter("s", "time of the first sample", default=0.05)

    @staticmethod
    def sample(m, v, p):
        return (), (v.v,)


class Follower(psmr.Component):
    """A slow state that follows what is held."""

    states = ("x",)
    inputs = ("u",)

    @staticmethod
    def equations(m, v, p):
        return (2.0 * (v.u - v.x),), (), ()


def test_samples_that_slow_equations_read_end_a_step():
    more = [
        psmr.Device("A", Follower, {}, {"u": "G.u"}),
        psmr.Device("G", SlowControl, {}, {"v": "N.v"}),
    ]
    system = plant(more=more)
    reference = integrate(system, psmr.VariableStep(1e-6), 0.5)
    split = partitioning.by_device(system.linearise(), ["F"])
    run = integrate(system, psmr.SampledMultirate(1e-4, split=split), 0.5)
    assert {0.05, 0.15, 0.25, 0.35, 0.45} <= {round(float(t), 9) for t in run.t}
    assert run.counters.steps < 300
    assert np.abs(run.x[-1] - reference.x[-1]).max() < 1e-4


def test_a_converter_whose_reference_jumps_is_followed_across_a_fault():
    """New England: 2 kHz jumps of an active power, a fault and its clearing, against one rate."""
    plants = plants_in("new-england", 1)
    system, name = plants.system, plants.plants[0]
    split = plants.partition()
    times = np.arange(0.0, 0.3, 5e-4)
    jumps = np.random.default_rng(1).choice((0.98, 1.02), times.size)
    course = Course.held(times, jumps * system.w0[system.index(f"{name}.p_ref")])
    changes = [
        *psmr.Fault(bus=16, start=0.0503, clear=0.1401, x=0.05).changes(system),
        Change(0.0, courses=((f"{name}.p_ref", course),)),
    ]
    reference = integrate(system, psmr.VariableStep(1e-6), 0.3, changes)
    own = plants.watched()
    for tolerance, steps in ((1e-3, 60), (1e-4, 110)):
        scheme = psmr.SampledMultirate(tolerance, split=split, h_fast=5e-4)
        run = integrate(system, scheme, 0.3, changes)
        there, k = np.intersect1d(np.round(run.t, 9), np.round(reference.t, 9), return_indices=True)[1:]
        off = np.abs(np.hstack([run.x, run.y])[there] - np.hstack([reference.x, reference.y])[k])[:, own]
        assert run.counters.steps < steps
        assert off.max() < 3.0 * tolerance


class Tally(psmr.Component):
    """Counts its samples, and acts once on what one of them found high."""

    inputs = ("x",)
    sampled_states = ("count",)
    sampled_outputs = ("high",)
    samples = psmr.Samples(period="T", offset="T_0")
    T, T_0, _ = TIMES.values()
    limit = psmr.Parameter("pu", "what is high", default=10.0)
    seen = psmr.Parameter("1", "1 once it has been seen", default=0.0)

    @staticmethod
    def sample(m, v, p):
        return (v.count + 1,), (m.where(m.ge(v.x, p.limit), 1, 0),)

    actions = (Action("high", lambda m, v, p: v.high - 0.5 - p.seen, effect=lambda v, p: {"seen": 1.0}),)


@pytest.mark.parametrize("part", [1e-4, 1e-3, 0.5, 1.0 - 1e-3, 1.0 - 1e-4])
def test_clocks_whose_instants_are_close_take_all_their_samples(part):
    """Instants a ten-thousandth of the fast step apart, before and behind one another, are two."""
    more = [psmr.Device("K", Tally, {"T": PERIOD, "T_0": part * PERIOD}, {"x": "F.i_f"})]
    system = plant(more=more)
    run = psmr.simulate(system, psmr.SampledMultirate(1e-4), 0.1, certify=False)
    assert run.sampled[-1, system.names_u.index("K.count")] == 100
    t, x = exact(system, 0.1)
    assert error(run, t, x).max() < 1e-4


@pytest.mark.parametrize("delay", [1e-4, 1.0 - 1e-4])
def test_what_comes_just_before_or_behind_a_sample_comes(delay):
    system = plant(T_d=delay * PERIOD)
    run = psmr.simulate(system, psmr.SampledMultirate(1e-5), 0.1, certify=False)
    one = psmr.simulate(system, psmr.VariableStep(1e-8), 0.1, certify=False)
    np.testing.assert_allclose(run.x[-1], one.x[-1], rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(run.sampled[-1], one.sampled[-1], rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("scheme", [psmr.SampledMultirate(1e-4), psmr.VariableStep(1e-4)], ids=["two", "one"])
def test_steps_within_the_nearness_of_an_instant_take_its_sample_once(scheme):
    """A rate of 1e12/s makes the first steps shorter than a millionth of the period."""
    devices = [
        psmr.Device("P", Lag, {"tau": 1e-12}, {"u": "K.high"}),
        psmr.Device("Q", Lag, {"tau": 0.1}, {"u": "P.x"}),
        psmr.Device("K", Tally, {"T": PERIOD}, {"x": "P.x"}),
    ]
    system = psmr.assemble(devices, start={"P.x": 1.0})
    run = psmr.simulate(system, scheme, 0.0095, certify=False)
    assert np.diff(run.t)[np.diff(run.t) > 0.0].min() < 1e-6 * PERIOD
    assert run.sampled[-1, system.names_u.index("K.count")] == 10


def test_going_back_to_what_a_sample_brings_about_takes_it_once():
    """The condition reads what a sample within a macro step wrote."""
    more = [psmr.Device("K", Tally, {"T": PERIOD, "limit": 0.38}, {"x": "F.i_f"})]
    system = plant(more=more)
    run = psmr.simulate(system, psmr.SampledMultirate(1e-5), 0.1005, certify=False)
    ((instant, _),) = run.instants
    assert instant == pytest.approx(PERIOD * round(instant / PERIOD), abs=1e-8)
    assert run.sampled[-1, system.names_u.index("K.count")] == 101
    t, x = exact(system, 0.1)
    assert error(run, t, x).max() < 1e-4
