"""Runs of a network with digital exciters: events, trips, conditions, staircases, judgement, sweeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Device, Multirate, Parameter, SingleRate, VariableStep
from tests.components import ExciterType1
from tests.internals import Change, Course, integrate, positive

PERIOD = 1e-3


class DigitalExciter(ExciterType1):
    """The exciter in steps of Euler's rule."""

    states = ()
    limits = {}
    lags = {}
    sampled_states = ("v_m", "v_r", "r_f")
    sampled_outputs = ("v_f",)
    samples = psmr.Samples(period="T")
    T = Parameter("s", "time between samples", positive, PERIOD)

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> Any:
        rates, _, _ = ExciterType1.equations(m, v, p)
        new = [getattr(v, name) + p.T * rate for name, rate in zip(ExciterType1.states, rates, strict=True)]
        return tuple(new[:3]), (new[3],)

    equations = psmr.Component.equations


def digital(T=PERIOD):
    """Return WSCC-9 with exciters in software, at the start of the continuous ones."""
    plain = psmr.build(psmr.case("wscc9"))
    devices = [
        Device(d.name, DigitalExciter, {**d.parameters, "T": T}, d.connections)
        if d.component is ExciterType1
        else d
        for d in plain.devices
    ]
    names = (*plain.names_x, *plain.names_y, *plain.names_u)
    return psmr.assemble(devices, dict(zip(names, plain.w0.tolist(), strict=False)))


@pytest.fixture(scope="module")
def system():
    return digital()


FAULT = psmr.Fault(5, 0.3, 0.4, trip="5-7")


def simulate(system, scheme, t_end, *events, **more):
    return psmr.simulate(system, scheme, t_end, events, certify=False, **more)


def largest(one, other, names=("G1.omega", "G2.delta", "AVR1.v_f", "bus5.v")):
    return max(abs(one[name].iloc[-1] - other[name].iloc[-1]) for name in names)


@pytest.fixture(scope="module")
def fine(system):
    return simulate(system, VariableStep(1e-8), 1.0, FAULT)


def test_digital_exciters_are_the_continuous_ones_to_first_order(fine):
    continuous = simulate(psmr.build(psmr.case("wscc9")), VariableStep(1e-8), 1.0, FAULT)
    half = simulate(digital(PERIOD / 2), VariableStep(1e-8), 1.0, FAULT)
    one, two = (largest(run, continuous, ("AVR1.v_f",)) for run in (fine, half))
    assert one < 1e-2
    assert two == pytest.approx(one / 2, rel=0.05)


def machines_fast(system):
    """Return the partition in which machines and their buses are fast."""
    split = partitioning.by_participation(system.linearise(), delta=1e9)
    own = ("G1", "G2", "G3", "bus1", "bus2", "bus3")
    sides = {
        f"fast_{kind}": np.array([name.split(".")[0] in own for name in names])
        for kind, names in zip("xyg", (system.names_x, system.names_y, system.names_g), strict=True)
    }
    return replace(split, **sides)


@pytest.mark.parametrize(
    ("choices", "bound"),
    [
        ({"predictor": "TM"}, 2e-3),
        ({"predictor": "extrapolation", "predict": "slow"}, 5e-4),
        ({"predictor": "TM", "corrections": 2}, 2e-3),
    ],
)
def test_samples_act_within_macro_steps_and_cut_none(system, fine, choices, bound):
    """The error falls with the square of the macro step, as without samples."""
    split, errors = machines_fast(system), []
    for h in (0.02, 0.01):
        run = simulate(system, Multirate(split, h, round(h / PERIOD), **choices), 1.0, FAULT)
        errors.append(largest(run, fine))
        assert run.stats.counters.macro_steps == round(1.0 / h)
    assert errors[1] < bound
    assert errors[0] / errors[1] > 3.0


def test_slow_readers_end_a_macro_step_at_each_sample(system, fine):
    slow = partitioning.by_participation(system.linearise(), delta=20.0)
    run = simulate(system, Multirate(slow, 0.02, 20), 0.2)
    assert run.stats.counters.macro_steps == 200


def test_a_tripped_plant_samples_no_more(system):
    run = simulate(system, VariableStep(1e-5), 0.6, psmr.GeneratorTrip("G3", 0.2))
    assert run.stats.counters.samples == {"AVR1": 600, "AVR2": 600, "AVR3": 201}
    assert np.ptp(run["AVR3.v_f"][run.t > 0.2]) == 0.0
    assert np.ptp(run["AVR1.v_f"][run.t > 0.2]) > 0.0


@pytest.mark.parametrize("scheme", [VariableStep(1e-6), SingleRate("TM", 5e-4)])
def test_samples_are_taken_again_where_a_run_goes_back_to_a_condition(system, scheme):
    """Steps behind the instant of an action are dropped with their samples."""
    fault = psmr.Fault(5, 0.3, 0.4)
    found = simulate(system, scheme, 0.8, fault, psmr.When("G2.omega > 1.004", psmr.LineTrip("4-6", 0.0503)))
    t = next(t for t, label in found.instants if "line4-6" in label)
    assert (t / PERIOD) % 1.0 > 1e-3  # between two samples
    known = simulate(system, scheme, 0.8, fault, psmr.LineTrip("4-6", t))
    np.testing.assert_allclose(found.sampled[-1], known.sampled[-1], atol=1e-7)
    np.testing.assert_allclose(found.x[-1], known.x[-1], atol=1e-7)


def test_staircases_and_samples_share_an_instant(system):
    """A set-point jumps at a sample, which reads before, and between samples."""
    at, values = [0.0, 0.1, 0.1505], [system.u0[system.names_u.index("AVR1.v_ref")], 1.05, 1.06]
    stairs = [Change(0.0, courses=(("AVR1.v_ref", Course.held(at, values)),))]
    steps = [Change(t, inputs=(("AVR1.v_ref", v),)) for t, v in zip(at[1:], values[1:], strict=True)]
    split = machines_fast(system)
    for scheme in (VariableStep(1e-9), SingleRate("RK4", 5e-4), Multirate(split, 0.01, 20, predictor="TM")):
        one, other = (integrate(system, scheme, 0.3, changes) for changes in (stairs, steps))
        ours, theirs = (run.spans[-1].sampled.values[-1] for run in (one, other))
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert ours[0] != system.u0[0]


def test_the_estimated_error_and_points_between_are_those_of_the_same_samples(system, fine):
    run = psmr.simulate(system, VariableStep(1e-4), 1.0, [FAULT])
    assert run.estimated_error.part < 1e-2
    times = [0.1003, 0.3503, 0.4507]
    np.testing.assert_allclose(run.at(times).to_numpy(), fine.at(times).to_numpy(), atol=5e-5)


def test_a_run_begins_with_what_samples_had_written(system):
    whole = simulate(system, VariableStep(1e-8), 0.4, psmr.SetPoint("AVR1", "v_ref", 1.1, 0.05))
    at = int(np.searchsorted(whole.t, 0.2 - 1e-9))
    moved = system.with_values([("AVR1", "v_ref", 1.1)])
    rest = simulate(moved, VariableStep(1e-8), 0.2, start=(whole.x[at], whole.y[at], whole.sampled[at]))
    assert largest(rest, whole) < 1e-6
    with pytest.raises(psmr.errors.InputError, match=r"start: sampled has shape \(2,\), needed is \(12,\)"):
        simulate(system, VariableStep(), 0.2, start=(whole.x[at], whole.y[at], np.zeros(2)))
