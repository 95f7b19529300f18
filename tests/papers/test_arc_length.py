"""The run along the arc: order, exact end, weights, chatter, spans, runs that do not end."""

import pickle
import warnings

import numpy as np
import pytest

import psmr
from psmr import Adaptive, ArcLength, SingleRate
from psmr.errors import PsmrWarning, SchemeError, SimulationError
from psmr.papers.kuznetsov_krasnikov.runs import boundary_layer
from psmr.papers.kuznetsov_krasnikov.runs import layer_exact as exact
from tests.internals import Change, integrate
from tests.systems import Blowup, Limited, forced, kaps, logistic, one, quadratic, two_rates

TIGHT = {"rtol": 1e-9, "atol": 1e-9, "tolerance": 1e-12}


@pytest.mark.parametrize("problem", [logistic, forced, quadratic, kaps], ids=lambda p: p.__name__)
@pytest.mark.parametrize(("method", "order"), [("FEM", 1), ("RK2", 2), ("RK4", 4)])
def test_order_on_odes_and_daes(problem, method, order):
    given = problem()
    steps, errors = 0.05 / 2.0 ** np.arange(5), []
    for h in steps:
        run = integrate(given.system, ArcLength(method, h, tolerance=1e-12), given.t_end)
        errors.append(np.abs(np.concatenate([run.x[-1], run.y[-1]]) - given.exact(given.t_end)).max())
        assert run.t[-1] == given.t_end
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.2


@pytest.mark.parametrize("name", ["RK54", "Adams"])
@pytest.mark.parametrize("problem", [logistic, forced, quadratic, kaps], ids=lambda p: p.__name__)
def test_adaptive_methods_along_the_arc(name, problem):
    given = problem()
    run = integrate(given.system, ArcLength(Adaptive(name, **TIGHT), 0.5), given.t_end)
    assert run.t[-1] == given.t_end
    error = np.abs(np.concatenate([run.x[-1], run.y[-1]]) - given.exact(given.t_end)).max()
    assert error < 1e-7
    # The cap on the step, in the norm of the arc; the curve between two points is longer than its chord.
    moved = np.column_stack([np.diff(run.t), np.diff(run.x, axis=0)])
    assert np.linalg.norm(moved, axis=1).max() < 0.5 + 1e-9


def test_every_step_has_the_length_h():
    run = integrate(boundary_layer(), ArcLength("FEM", 0.05), 1.0)
    lengths = np.hypot(np.diff(run.t), np.diff(run.x[:, 0]))
    np.testing.assert_allclose(lengths[:-1], 0.05, rtol=1e-12)
    assert lengths[-1] <= 0.05


def test_weights_measure_the_length():
    system = two_rates()
    weights = {"D.angle": 2.0, "D.current": 0.0}
    scheme = ArcLength("FEM", 0.01, weights, weight_t=3.0)
    np.testing.assert_array_equal(scheme.vector(system.names_x), [2.0, 1.0, 0.0, 3.0])
    run = integrate(system, scheme, 0.5)
    moved = np.column_stack([np.diff(run.x, axis=0), np.diff(run.t)]) * [2.0, 1.0, 0.0, 3.0]
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1)[:-1], 0.01, rtol=1e-10)


def test_at_an_equilibrium_it_is_its_base_method():
    system = logistic().system.with_start([1.0])
    scheme = ArcLength("RK4", 0.1, weight_t=2.0)
    assert scheme.base == SingleRate("RK4", 0.05, "very dishonest")
    near = system.with_start([1.0 + 1e-7])
    along, plain = integrate(near, scheme, 1.0), integrate(near, scheme.base, 1.0)
    np.testing.assert_allclose(along.t, plain.t, atol=1e-12)
    # The arc is longer than time by the square of the slope: 1e-14.
    np.testing.assert_allclose(along.x, plain.x, rtol=0, atol=1e-14)


def test_changes_are_met_exactly():
    system = two_rates(tau=0.05)
    change = Change(1 / 3, inputs=(("D.v_ref", 1.3),))
    fine = integrate(system, SingleRate("RK4", 5e-4, tolerance=1e-12), 1.0, changes=[change])
    for scheme in (
        ArcLength("RK4", 0.01),
        ArcLength(Adaptive("Adams", **TIGHT), 0.2),
        ArcLength(Adaptive("RK54", **TIGHT), 0.2),
    ):
        run = integrate(system, scheme, 1.0, changes=[change])
        assert np.count_nonzero(run.t == 1 / 3) == 2
        np.testing.assert_allclose(run.x[-1], fine.x[-1], atol=1e-6)


def test_limits_hold():
    system = one(Limited, {"x": 0.0, "y": 0.0})
    for scheme in (
        ArcLength("RK4", 0.02),
        ArcLength(Adaptive("Adams"), 0.2),
        ArcLength(Adaptive("RK54"), 0.2),
    ):
        run = integrate(system, scheme, 8.0)
        assert run.x.max() == 0.5
        assert run.x.min() == -0.5
        np.testing.assert_allclose(run.y, 2 * run.x, atol=1e-14)


def test_chatter_is_counted_and_bounded():
    run = integrate(boundary_layer(), ArcLength("FEM", 0.2), 1.0)
    assert run.counters.chatter > 0.9
    # Beyond the layer: about half a step on either side, though each step is unstable by a factor of -127.
    beyond = run.t[:-1] > 0.05
    off = np.abs(run.x[:-1, 0] - exact(run.t[:-1]))[beyond]
    assert 0.09 < off.max() < 0.11
    smooth = integrate(logistic().system, ArcLength("FEM", 0.01), 2.0)
    assert smooth.counters.reversals == 0


def test_chatter_is_warned_of_and_stands_in_the_statistics():
    with pytest.warns(PsmrWarning, match="93 % of the steps turned back.*chatters"):
        run = psmr.simulate(boundary_layer(), psmr.ArcLength("FEM", 0.2), 1.0, certify=False)
    assert "93 % of the steps turned back" in str(run.stats)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        psmr.simulate(kaps().system, psmr.ArcLength("RK4", 0.05), 1.0)


def test_a_run_that_would_not_end_says_so():
    scheme = ArcLength("FEM", 0.1, most_steps=2000)
    with pytest.raises(
        SimulationError, match=r"of 3 s after 2000 steps .*most_steps = 2000.*runs to infinity: the arc is"
    ) as caught:
        integrate(one(Blowup, {"x": 1.0}), scheme, 3.0)
    assert caught.value.partial is None
    with pytest.raises(SimulationError, match=r"the run chatters") as caught:
        psmr.simulate(
            boundary_layer(), ArcLength("FEM", 0.2, most_steps=100), 1.0, certify=False, partial=True
        )
    kept = caught.value.partial
    assert isinstance(kept, psmr.Run)
    assert len(kept.t) == 101


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "TM"}, "method = 'TM'"),
        (
            {"method": Adaptive("RK54", longest=1.0)},
            "longest = 1 s of the adaptive method has no meaning along the arc",
        ),
        ({"h": 0}, "h = 0"),
        ({"weights": -1.0}, "weights = -1.0"),
        ({"weights": {"D.x": np.inf}}, r"weights\['D.x'\] = inf"),
        ({"weight_t": 0.0}, "weight_t = 0.0"),
        ({"most_steps": -1}, "most_steps = -1"),
    ],
)
def test_record_refuses_what_cannot_be(arguments, message):
    with pytest.raises(SchemeError, match=message):
        ArcLength(**({"method": "FEM", "h": 0.1} | arguments))


def test_weight_of_a_state_that_is_not_there():
    with pytest.raises(SchemeError, match=r"no state 'D.angel'; did you mean 'D.angle'"):
        integrate(two_rates(), ArcLength("FEM", 0.1, {"D.angel": 1.0}), 1.0)


def test_record_is_frozen_comparable_printable_and_picklable():
    scheme = ArcLength("RK4", 0.1, {"D.x": 2.0})
    assert scheme == ArcLength("RK4", 0.1, {"D.x": 2.0})
    assert hash(scheme) == hash(pickle.loads(pickle.dumps(scheme)))
    assert str(scheme) == "arc length, RK4, step 0.1, weights by state (1), of time 1 1/s"
    with pytest.raises(TypeError, match="do not change"):
        scheme.weights["D.x"] = 3.0
