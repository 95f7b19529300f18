"""The estimated error of a run: against exact solutions, and what is made of it."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import partitioning
import psmr
from psmr import Component, Device, assemble
from tests.internals import (
    Detection,
    GlobalError,
    Samples,
    judge_run,
    judged_error,
    reintegrate_module,
    samples_of,
)

FAULT = (psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7"),)


class Oscillator(Component):
    """An undamped oscillator of 1 Hz."""

    states = ("x", "v")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * np.pi * v.v, -2 * np.pi * v.x), (), ()


class TwoRates(Component):
    """A swing of 1 Hz and a transducer of 20 ms that measures it and acts on it through an algebraic one."""

    states = ("x", "v", "z")
    algebraic = ("w",)
    A = np.array([[0.0, 6.0, 0.0], [-6.0, -0.2, -2.0], [50.0, 0.0, -50.0]])

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (6.0 * v.v, -6.0 * v.x - 0.2 * v.v - v.w, 50.0 * (v.x - v.z)), (v.w - 2.0 * v.z,), ()


@pytest.fixture(scope="module")
def oscillator():
    return assemble([Device("O", Oscillator, {}, {})], {"O.x": 1.0})


@pytest.fixture(scope="module")
def two_rates():
    return assemble([Device("T", TwoRates, {}, {})], {"T.x": 1.0})


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.read_case(psmr.case_path("wscc9")))


def true_part(run: psmr.Run, exact: np.ndarray) -> float:
    """Return the largest error of a state in parts of its largest change."""
    change = np.abs(exact - exact[0]).max(axis=0)
    return float((np.abs(run.x - exact).max(axis=0) / change).max())


@pytest.mark.parametrize(
    "scheme",
    [
        *(psmr.SingleRate("TM", h) for h in (0.05, 0.02, 0.01, 0.005)),
        *(psmr.SingleRate("BEM", h) for h in (0.02, 0.002)),
        *(psmr.SingleRate("RK4", h) for h in (0.1, 0.05)),
        *(psmr.SingleRate("FEM", h) for h in (0.01, 0.001)),
        *(psmr.VariableStep(tolerance) for tolerance in (1e-2, 1e-3, 1e-4, 1e-5)),
        psmr.VariableStep(1e-3, "TR-BDF2"),
    ],
    ids=str,
)
def test_the_estimate_is_the_error_of_an_undamped_oscillator(oscillator, scheme):
    run = psmr.simulate(oscillator, scheme, 10.0, certify=False)
    exact = np.column_stack([np.cos(2 * np.pi * run.t), -np.sin(2 * np.pi * run.t)])
    found = run.estimated_error
    assert found.part == pytest.approx(true_part(run, exact), rel=0.15)
    assert found.signal in ("O.x", "O.v")


@pytest.mark.parametrize("h", [0.1, 0.05, 0.02, 0.01])
@pytest.mark.parametrize(
    "choices", [{}, {"solution": "BEM"}, {"predictor": "TM", "coupling": "mean"}], ids=str
)
def test_the_estimate_has_what_two_rates_do_to_one_another(two_rates, h, choices):
    split = partitioning.by_participation(two_rates.linearise(), delta=20.0, algebraic="participation")
    assert 0 < split.fast_x.sum() < 3
    run = psmr.simulate(two_rates, psmr.Multirate(split, h, 5, **choices), 5.0, certify=False)
    exact = np.array([expm(TwoRates.A * t)[:, 0] for t in run.t])
    assert run.estimated_error.part == pytest.approx(true_part(run, exact), rel=0.15)


def test_a_coarse_reference_of_the_same_steps_is_another_method(system):
    """Of one method the stops would make them the same run: it estimated a thirtieth of the error."""
    for tolerance in (1e-4, 1e-5):
        run = psmr.simulate(system, psmr.VariableStep(tolerance), 5.0, FAULT, certify=False)
        judged = judged_error(run)
        assert judged.bound
        assert judged.reference.tolerance == 1e-3
        assert 0.5 * run.estimated_error.part < judged.part < 0.005


@pytest.mark.parametrize("kind", ["TM", "BEM", "multirate"])
def test_half_the_step_stands_in_where_error_control_takes_too_long(system, monkeypatch, kind):
    monkeypatch.setattr(reintegrate_module, "STEPS", 0)
    monkeypatch.setattr(reintegrate_module, "MOST", 0.0)
    scheme: Any = psmr.SingleRate(kind, 0.02) if kind != "multirate" else None
    if scheme is None:
        split = partitioning.by_participation(system.linearise(), delta=20.0)
        scheme = psmr.Multirate(split, 0.02, 4, predictor="TM", coupling="mean")
    run = psmr.simulate(system, scheme, 4.0, FAULT, certify=False)
    judged = judged_error(run)
    assert judged.reference == scheme.with_step(0.01)
    assert judged.part == pytest.approx(run.estimated_error.part, rel=0.2)


def test_an_error_beyond_the_limit_is_amber_and_the_remedy_brings_it_below(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.05), 4.0, FAULT)
    error = run.judgement.error
    assert error is not None
    assert not error.bound
    fine = psmr.simulate(system, psmr.VariableStep(1e-8), 4.0, FAULT, certify=False)
    off = np.abs(run[error.signal].loc[error.t] - fine.at([error.t], [error.signal]).iloc[0, 0])
    assert error.value == pytest.approx(off, rel=1e-2)
    assert run.judgement.colour == "amber"
    (sentence,) = run.judgement.reasons
    taken = psmr.simulate(system, error.advice.scheme, 4.0, FAULT)
    tried = error.advice.error
    assert sentence.startswith(f"Estimated error of the {error.where}: {error.value:.2g} pu at t = ")
    assert sentence.endswith(
        f"(limit 1 %). Take h = {error.advice.scheme.h:g} s. "
        f"Tried: an estimated error of {'at most ' if tried.bound else ''}{tried.percent} %."
    )
    assert taken.judgement.colour == "green"
    assert 0.9 * tried.part < taken.judgement.error.part <= 1.001 * tried.part  # of fewer points
    assert f"  {error}" in run.summary().splitlines()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-1])
def test_a_smaller_tolerance_is_proposed_where_the_scheme_follows_one(system, tolerance):
    run = psmr.simulate(system, psmr.VariableStep(tolerance), 4.0, FAULT, criteria=psmr.Criteria(error=1e-3))
    advice = run.judgement.error.advice
    assert f" Take tolerance = {advice.scheme.tolerance:g}. Tried: " in run.judgement.reasons[-1]
    taken = psmr.simulate(system, advice.scheme, 4.0, FAULT, criteria=run.criteria)
    assert taken.judgement.colour == "green"
    assert taken.judgement.error.part == pytest.approx(
        advice.error.part, rel=0.02
    )  # other steps, by rounding


def test_a_run_that_keeps_next_to_nothing_has_the_same_estimate(system):
    scheme = psmr.SingleRate("TM", 0.02)
    whole, reduced = (
        psmr.simulate(system, scheme, 5.0, FAULT, record=record, certify=False)
        for record in (None, psmr.Record("bus5.v", every=50))
    )
    assert reduced.estimated_error == whole.estimated_error


def test_a_saved_run_is_judged_as_before(system, tmp_path):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.05), 2.0, FAULT, record="bus5.v")
    run.save(tmp_path / "run.psmr")
    assert psmr.load_run(tmp_path / "run.psmr").judgement == run.judgement


def test_samples_are_dense_after_an_event_and_none_is_at_one(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 3.0, FAULT, certify=False)
    found = samples_of(run).t
    assert not {0.0, 0.5, 0.6} & set(found)
    after = found[found > 0.6] - 0.6
    np.testing.assert_allclose(after[:4], [0.005, 0.01, 0.015, 0.02])
    assert np.diff(after).max() == pytest.approx(0.1)
    assert np.diff(found).min() >= 0.005 - 1e-12


def test_samples_do_not_depend_on_the_pieces_in_which_points_come(system):
    """Two events with a single step between them, too."""
    events = [psmr.SetPoint("GOV1", "p_ref", value, t) for value, t in ((0.72, 0.5), (0.71, 0.505))]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 1.5, events, certify=False)
    whole, single = samples_of(run), Samples(system)
    detection = Detection(system, [single])
    for span in run.spans:
        detection.begin(span)
        for row in range(span.first, span.last):
            detection.take(run.t[row : row + 1], run.x[row : row + 1], run.y[row : row + 1])
    np.testing.assert_array_equal(single.result().t, whole.t)
    np.testing.assert_array_equal(single.result().values, whole.values)


@pytest.mark.parametrize("piece", [1, 3, 4])
def test_two_points_of_one_time_up_to_rounding_are_one_sample(system, piece):
    """A reference ends a step at a row of a series, and at a time of the run that is off it by rounding."""
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 0.1, certify=False)
    rows = np.flatnonzero(run.t % 0.02 > 0.0)[::2]
    twice = np.repeat(np.arange(len(run.t)), 2)
    t = run.t[twice] + np.tile([0.0, 1e-12], len(run.t))
    samples = Samples(system, run.t[rows])
    detection = Detection(system, [samples])
    detection.begin(run.spans[0])
    for first in range(0, len(t), piece):
        part = slice(first, first + piece)
        detection.take(t[part], run.x[twice][part], run.y[twice][part])
    np.testing.assert_array_equal(samples.result().t, run.t[rows])
    assert len(samples.result().values) == rows.size


def test_a_bus_with_a_fault_on_it_does_not_count(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 1.0, FAULT, certify=False)
    found = samples_of(run)
    during = (found.t > 0.5) & (found.t < 0.6)
    bus5 = [device.name for device in system.devices if device.name.startswith("bus")].index("bus5")
    assert np.isnan(found.values[during, bus5]).all()
    assert np.isnan(found.values).sum() == during.sum()


def test_values_after_the_loss_of_synchronism_are_not_compared(system):
    event = psmr.Fault(bus=5, start=0.5, clear=1.1, trip="5-7")
    run = psmr.simulate(system, psmr.VariableStep(), 5.0, [event], certify=False)
    assert run.outcome.lost is not None
    assert run.estimated_error.t <= run.outcome.lost.t


def test_at_rest_nothing_is_off(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.05), 5.0)
    assert run.judgement.colour == "green"
    assert run.judgement.error.part < 1e-4


def test_an_error_that_cannot_be_estimated_is_amber(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.2)
    unknown = GlobalError.unknown(run.scheme, "the second run failed.")
    found = judge_run(run.outcome, (run.certificate,), unknown)
    assert found.colour == "amber"
    assert found.reasons == ("The error of the run was not estimated: the second run failed.",)


def test_without_a_certificate_there_is_no_second_run(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.05), 2.0, FAULT, certify=False)
    assert run.judgement.error is None


def test_the_limit_is_met_a_tenth_below_it(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.2)
    error = GlobalError(0.009, "voltage", "bus5.v", 0.1, 0.0045, 0.5, psmr.VariableStep(1e-5), run.scheme)
    assert judge_run(run.outcome, (run.certificate,), error).colour == "green"
    more = dataclasses.replace(error, part=0.00901)
    assert judge_run(run.outcome, (run.certificate,), more).colour == "amber"


def test_at_the_least_tolerance_there_is_no_estimate(oscillator):
    least = psmr.VariableStep(1e-10, "ESDIRK43").least_tolerance
    run = psmr.simulate(oscillator, psmr.VariableStep(least, "ESDIRK43"), 1e-3, certify=False)
    assert np.isnan(run.estimated_error.part)
    assert "from a run at a smaller one" in run.estimated_error.note
    assert str(run.estimated_error).startswith("the error of the run was not estimated: tolerance = ")


def test_what_jumps_at_an_event_counts_as_changed():
    """Half of a load behind filters: 0.39 pu at once, gone after 20 us, which is one step."""
    microgrid = psmr.build(psmr.case("microgrid"))
    trip = [psmr.LoadTrip(3, 0.1, 0.5)]
    run = psmr.simulate(microgrid, psmr.SingleRate("TM", 2e-5), 0.15, trip)
    error = run.judgement.error
    assert error.change == pytest.approx(run.outcome.highest_voltage.value - 1.0, rel=1e-3)
    assert f"{error.percent} % of the largest " in run.judgement.reasons[0]


@pytest.mark.parametrize(("part", "words"), [(0.00123, "0.12"), (0.67, "67"), (1.27, "130"), (19.4, "1900")])
def test_a_percentage_is_written_without_an_exponent(part, words):
    error = GlobalError(part, "voltage", "bus5.v", 0.1, 0.1, 0.1, psmr.VariableStep(), psmr.VariableStep())
    assert error.percent == words
    assert f"{words} % of the largest " in str(error)


def test_a_loss_of_synchronism_in_a_run_that_is_off_is_not_believed(system):
    """The trip of a part of a load is harmless; TM with a step of a second loses synchronism at it."""
    trip = [psmr.LoadTrip(5, 1.0, 0.4)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 1.0), 20.0, trip)
    assert run.outcome.lost is not None
    assert psmr.simulate(system, t_end=20.0, events=trip, certify=False).outcome.lost is None
    assert "before the loss is believed" in run.judgement.reasons[-1]
    assert not any("does not contradict" in reason for reason in run.judgement.reasons)
