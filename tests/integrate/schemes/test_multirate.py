"""The macro step: its limits are single-rate steps, its work is the paper's, its failures are loud."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import partitioning
from psmr import Component, Device, Multirate, Parameter, SingleRate, assemble
from psmr.errors import SchemeError, SimulationError
from tests import systems
from tests.internals import Change, Combine, integrate

PAIRS = [("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("FEM", "BEM"), ("TM", "BEM"), ("BEM", "BEM")]


@pytest.fixture(scope="module")
def system():
    return systems.two_rates(tau=0.02)


@pytest.fixture(scope="module")
def split(system):
    return partitioning.by_hand(system.linearise(), ["D.current", "D.voltage"])


class Follower(Component):
    """x' = -x + z."""

    states = ("x",)
    inputs = ("z",)

    @staticmethod
    def equations(m, v, p):
        return (v.z - v.x,), (), ()


class Rotor(Component):
    """An undamped oscillator."""

    states = ("x", "v")
    period = Parameter("s", "period")

    @staticmethod
    def equations(m, v, p):
        w = 2 * np.pi / p.period
        return (w * v.v, -w * v.x), (), ()


def points(trajectory):
    return np.hstack([trajectory.x, trajectory.y])


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("predict", ["all", "slow"])
@pytest.mark.parametrize(
    ("predictor", "solution"), [*PAIRS, ("extrapolation", "TM"), ("extrapolation", "BEM")]
)
def test_ratio_one_converged_is_single_rate(system, split, predictor, solution, predict, interpolation):
    scheme = Multirate(
        split,
        0.01,
        1,
        predictor=predictor,
        solution=solution,
        predict=predict,
        interpolation=interpolation,
        corrections="converge",
        epsilon=1e-14,
        tolerance=1e-14,
    )
    multirate = integrate(system, scheme, 1.0)
    single = integrate(system, SingleRate(solution, 0.01, tolerance=1e-14), 1.0)
    # Roundoff: 100 steps, each off by the epsilon of the corrections and a few units in the last place.
    np.testing.assert_allclose(points(multirate), points(single), atol=100 * 1e-14 * 5)


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_all_fast_is_single_rate_at_the_fast_step(system, solution):
    split = partitioning.all_fast(system.linearise())
    multirate = integrate(system, Multirate(split, 0.02, 4, solution=solution), 0.5, every=True)
    single = integrate(system, SingleRate(solution, 0.005), 0.5)
    np.testing.assert_allclose(multirate.t, single.t, rtol=1e-14)
    np.testing.assert_allclose(points(multirate), points(single), atol=1e-11)


@pytest.mark.parametrize("solution", ["TM", "BEM"])
def test_all_slow_is_single_rate_at_the_macro_step(system, solution):
    split = partitioning.all_slow(system.linearise())
    multirate = integrate(system, Multirate(split, 0.02, 4, solution=solution), 0.5)
    single = integrate(system, SingleRate(solution, 0.02), 0.5)
    np.testing.assert_allclose(points(multirate), points(single), atol=1e-11)


@pytest.mark.parametrize("predict", ["all", "slow"])
@pytest.mark.parametrize("solution", ["TM", "BEM"])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM"])
def test_factorisations_are_table_1(system, split, predictor, solution, predict):
    """Huang and Tzounas, table 1, dishonest Newton, per macro step.

    r of order nf + mf, one of order ns + ms, and one of order n + m for an implicit predictor. The explicit
    one needs the algebraic solve alone: of order m by equation (19) (the table says ms).
    """
    scheme = Multirate(split, 0.01, 5, predictor=predictor, solution=solution, predict=predict)
    counters = integrate(system, scheme, 0.5).counters
    assert counters.refreshes == 0
    explicit = predictor == "FEM"
    algebraic = 2 if predict == "all" else 1
    implicit = 5 if predict == "all" else 3
    assert counters.orders["fast"] == 2
    assert counters.orders["slow"] == 3
    assert counters.orders.get("algebraic", algebraic) == algebraic
    assert counters.orders.get("predictor", implicit) == implicit
    by_role = counters.factorisations_by_role
    assert by_role["fast"] == 5 * 50
    assert by_role["slow"] == 50
    assert by_role.get("predictor", 0) == (0 if explicit else 50)
    assert by_role.get("algebraic", 0) == (50 if explicit else 0)
    assert by_role["step"] == 0
    expected = {2: 250, 3: 50}
    order = algebraic if explicit else implicit
    expected[order] = expected.get(order, 0) + 50
    assert counters.factorisations == expected


def test_work_of_single_rate_is_table_1(system):
    counters = integrate(system, SingleRate("TM", 0.002), 0.5).counters
    assert counters.refreshes == 0
    assert counters.factorisations == {5: 250}
    assert (counters.steps, counters.macro_steps, counters.corrections) == (250, 250, 0)


def test_honest_newton_factorises_at_every_iteration(system, split):
    counters = integrate(system, Multirate(split, 0.01, 5, predictor="TM", newton="honest"), 0.5).counters
    assert counters.factorisations_by_role == counters.newton_iterations


def test_very_dishonest_newton_factorises_rarely_and_agrees(system, split):
    kept = integrate(system, Multirate(split, 0.01, 5, predictor="TM", newton="very dishonest"), 0.5)
    honest = integrate(system, Multirate(split, 0.01, 5, predictor="TM", newton="honest"), 0.5)
    assert sum(kept.counters.factorisations.values()) < 0.2 * sum(honest.counters.factorisations.values())
    # Two Newton policies agree to the tolerance of 1e-10 a stage.
    np.testing.assert_allclose(points(kept), points(honest), atol=50 * 1e-10)


def test_fast_points_are_recorded_and_end_on_the_macro_points(system, split):
    scheme = Multirate(split, 0.01, 5, interpolation="spline")
    every = integrate(system, scheme, 0.1, every=True)
    coarse = integrate(system, scheme, 0.1)
    assert len(every.t) == 51
    np.testing.assert_allclose(every.t, np.arange(51) * 0.002, atol=1e-15)
    np.testing.assert_array_equal(points(every)[::5], points(coarse))


def test_fast_points_are_second_order(system, split):
    fine = points(integrate(system, SingleRate("SDIRK2", 5e-5), 0.1))
    errors = []
    for h in (0.005, 0.0025, 0.00125):
        every = integrate(system, Multirate(split, h, 5, predictor="TM"), 0.1, every=True)
        errors.append(np.abs(points(every) - fine[:: round(h / 2.5e-4)]).max())
    assert np.log2(errors[:-1]) - np.log2(errors[1:]) == pytest.approx(2, abs=0.2)


def test_the_last_macro_step_before_an_instant_is_shortened(system, split):
    # 0.013 = one step of 0.01 with 5 fast ones, and a rest of 0.003 with ceil(0.003 / 0.002) = 2 of 0.0015.
    change = Change(0.013, inputs=(("D.v_ref", 0.9),))
    trajectory = integrate(system, Multirate(split, 0.01, 5), 0.023, [change], every=True)
    expected = [0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.0115, 0.013, 0.013, 0.015, 0.017, 0.019, 0.021, 0.023]
    np.testing.assert_allclose(trajectory.t, expected, atol=1e-15)
    assert trajectory.counters.macro_steps == 3
    assert trajectory.counters.steps == 12


def test_corrections_bring_the_slow_set_closer_to_single_rate(system, split):
    single = integrate(system, SingleRate("TM", 0.02, tolerance=1e-13), 1.0)
    distances = []
    for corrections in (0, 1, 2):
        scheme = Multirate(split, 0.02, 1, corrections=corrections, epsilon=1e-14, tolerance=1e-13)
        distances.append(np.abs(points(integrate(system, scheme, 1.0)) - points(single)).max())
    assert distances[2] < 0.1 * distances[1] < 0.01 * distances[0]


def test_corrections_that_diverge_fail_loudly():
    # Each side holds the other's algebraic variable fixed: a difference grows ninefold with every correction.
    system = systems.one(systems.Loop, {"a": 1.0, "b": 1.0}, gain=3.0)
    split = partitioning.by_hand(system.linearise(), ["D.a", "D.y_a"])
    # The partitioner would pair y_a with the other equation, which converges.
    split = replace(split, fast_g=np.array([True, False]))
    integrate(system, Multirate(split, 0.01, 2), 0.02)
    with pytest.raises(
        SimulationError,
        match=r"t = 0 s, step 0.01 s, the slow step.* do not converge: the .* grows.* differs by",
    ):
        integrate(system, Multirate(split, 0.01, 2, corrections="converge"), 0.02)


def test_corrections_that_converge_slowly_are_told_from_those_that_diverge():
    # As above with a loop gain of 0.99 of each side: a difference falls by 2 % with every correction.
    system = systems.one(systems.Loop, {"a": 1.0, "b": 1.0}, gain=0.99)
    split = partitioning.by_hand(system.linearise(), ["D.a", "D.y_a"])
    split = replace(split, fast_g=np.array([True, False]))
    scheme = Multirate(split, 0.01, 2, corrections="converge")
    with pytest.raises(
        SimulationError, match=r"corrections .* converge too slowly.* Remedy: take a larger epsilon"
    ):
        integrate(system, scheme, 0.02)


def test_partition_of_another_system_is_refused(system):
    other = systems.kaps().system
    split = partitioning.by_hand(other.linearise(), ["D.x1"])
    with pytest.raises(
        SchemeError, match="partition of 2 states and 1 algebraic variables of another system"
    ):
        integrate(system, Multirate(split, 0.01, 2), 1.0)


@pytest.mark.parametrize("predict", ["all", "slow"])
def test_an_extrapolated_parabola_is_continued_also_by_unequal_steps(predict):
    """x' = 2t: the parabola through three points is exact, whatever their distances, once they are there."""
    system = systems.one(systems.Ramp, {"slow": 0.0, "fast": 0.0}, tau=0.01)
    split = partitioning.by_hand(system.linearise(), ["D.fast"])
    scheme = Multirate(split, 0.1, 10, "extrapolation", interpolation="spline", predict=predict)
    t = integrate(system, scheme, 0.97, every=True)  # the last step is shortened
    assert np.abs(t.x[:, 0] - t.t**2)[21:].max() < 1e-12


@pytest.mark.parametrize(("interpolation", "older"), [("linear", (0.07,)), ("spline", (0.07, 0.19))])
def test_extrapolation_is_exact_for_its_polynomial(split, interpolation, older):
    h = 0.05
    program = Multirate(split, h, 5, "extrapolation", interpolation=interpolation).program(h, older)
    prediction = next(i for i in program.instructions if isinstance(i, Combine))
    times = dict(zip(("now", "older", "oldest"), (0.0, *(-back for back in older)), strict=False))
    for power in range(len(older) + 1):
        found = sum(weight * times[name] ** power for name, weight in prediction.terms)
        assert found == pytest.approx(h**power, rel=1e-12)


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("predict", ["all", "slow"])
def test_extrapolation_starts_anew_at_an_instant(system, split, interpolation, predict):
    """A run from an event on is the run that starts there: nothing before it is read."""
    change = Change(0.05, inputs=(("D.v_ref", 0.9),))
    choices = {"interpolation": interpolation, "predict": predict, "tolerance": 1e-13}
    scheme = Multirate(split, 0.01, 5, "extrapolation", **choices)
    whole = integrate(system, scheme, 0.15, [change])
    after = np.flatnonzero(whole.t == 0.05)[-1]
    start = (whole.x[after], whole.y[after])
    alone = integrate(system, scheme, 0.1, [Change(0.0, inputs=(("D.v_ref", 0.9),))], start=start)
    np.testing.assert_allclose(points(whole)[after:], points(alone)[-11:], atol=1e-11)
    by_role = whole.counters.factorisations_by_role
    assert by_role["predictor"] == 2  # one at the start, one after the event


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("predict", ["all", "slow"])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM"])
def test_a_quadratic_history_is_continued(predictor, predict, interpolation):
    """With x' = 2t as slow and a fast state that follows it, the spline sees t^2 exactly."""
    system = systems.one(systems.Ramp, {"slow": 0.0, "fast": 0.0}, tau=0.01)
    split = partitioning.by_hand(system.linearise(), ["D.fast"])
    scheme = Multirate(split, 0.1, 10, predictor=predictor, predict=predict, interpolation=interpolation)
    t = integrate(system, scheme, 1.0, every=True)
    within = np.abs(t.x[:, 0] - t.t**2)
    if interpolation == "spline" and predictor == "TM":
        assert within[21:].max() < 1e-12  # TM predicts t^2 exactly; after two steps the cubic has its points
    else:
        assert within.max() > 1e-3


def test_the_mean_keeps_what_stays_fast_out_of_the_slow_side():
    """x' = -x + cos(2 pi t / 0.05) and steps of 50 ms, at the end of each of which the cosine is 1."""
    devices = [Device("S", Follower, {}, {"z": "F.x"}), Device("F", Rotor, {"period": 0.05}, {})]
    system = assemble(devices, {"F.x": 1.0})
    split = partitioning.by_device(system.linearise(), ["F"])
    end, mean = (
        integrate(system, Multirate(split, 0.05, 200, "TM", coupling=coupling), 2.0)
        for coupling in ("end", "mean")
    )
    # The true x is a ripple of 0.05 / (2 pi) about zero; the end takes 1 for the course of the cosine.
    assert end.x[-1, 0] == pytest.approx(1.0 - np.exp(-2.0), abs=1e-3)
    assert abs(mean.x[-1, 0]) < 1e-3


def test_the_network_responds_at_the_fast_points(system):
    """The slow equation of the torque holds at fast points where the current moves within the macro step."""
    split = partitioning.by_hand(system.linearise(), ["D.current"])
    worst = {}
    for interface in ("held", "schur"):
        scheme = Multirate(split, 0.02, 8, "TM", interface=interface, coupling="mean", tolerance=1e-12)
        run = integrate(system, scheme, 0.3, every=True)
        worst[interface] = max(np.abs(system.g(x, y)).max() for x, y in zip(run.x, run.y, strict=True))
    assert worst["schur"] < 0.2 * worst["held"]


@pytest.mark.parametrize(
    ("choices", "coupling", "interface"),
    [
        ({}, "end", "held"),
        ({"predictor": "TM", "predict": "slow"}, "end", "held"),
        ({"predictor": "extrapolation"}, "end", "held"),
        ({"predictor": "extrapolation", "predict": "slow"}, "mean", "schur"),
        ({"predictor": "extrapolation", "predict": "slow", "corrections": 1}, "end", "held"),
        ({"predictor": "extrapolation", "predict": "slow", "interface": "held"}, "mean", "held"),
        ({"predictor": "TM", "coupling": "mean"}, "mean", "held"),
    ],
)
def test_what_is_not_named_is_the_published_form_but_where_the_slow_set_is_extrapolated(
    split, choices, coupling, interface
):
    scheme = Multirate(split, 0.01, 4, **choices)
    assert (scheme.coupling, scheme.interface) == (coupling, interface)
    again = scheme.with_step(0.02)
    assert (again.coupling, again.interface) == (coupling, interface)


def test_a_scheme_made_from_another_finds_anew_what_was_not_named(split):
    usual = Multirate(split, 0.01, 4)
    slow = replace(usual, predictor="extrapolation", predict="slow")
    assert (slow.coupling, slow.interface) == ("mean", "schur")
    back = replace(slow, predictor="TM")
    assert back == replace(usual, predictor="TM", predict="slow")
    assert (back.coupling, back.interface) == ("end", "held")
    named = Multirate(split, 0.01, 4, coupling="end", interface="held")
    kept = replace(named, predictor="extrapolation", predict="slow")
    assert (kept.coupling, kept.interface) == ("end", "held")
    assert replace(slow, coupling="end", h_slow=0.02).coupling == "end"
    assert replace(kept, coupling=None).coupling == "mean"
    assert replace(pickle.loads(pickle.dumps(slow)), predictor="TM") == back


def test_what_is_corrected_has_the_coupling_of_its_scheme(split):
    scheme = Multirate(split, 0.01, 4, "extrapolation", predict="slow").converged()
    assert (scheme.coupling, scheme.interface) == ("mean", "held")
