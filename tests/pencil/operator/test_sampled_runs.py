"""One truth: the operator of a common period of samples is what a run does to a linear system with them."""

from dataclasses import replace

import numpy as np
import pytest

from partitioning import Partition
from psmr import (
    Component,
    Device,
    Multirate,
    Parameter,
    SampledMultirate,
    Samples,
    SingleRate,
    assemble,
    simulate,
)
from tests.internals import SampledDae, sampled_operator, samples_within, scheme_period


class Plant(Component):
    """Two slow states that oscillate, a fast one, and algebraic variables of either side."""

    states = ("f", "s", "q")
    algebraic = ("y", "z")
    inputs = ("u", "v")

    @staticmethod
    def equations(m, v, p):
        return (
            (
                -40 * v.f + 3 * v.s + 2 * v.u + v.y,
                -0.5 * v.s + 2 * v.f + 4 * v.q + 0.3 * v.z,
                -4 * v.s - 0.3 * v.q + v.z,
            ),
            (
                v.f + 0.3 * v.s - v.y + 0.2 * v.u - 0.1 * v.z + 0.1 * v.v,
                0.5 * v.q + 0.4 * v.f + 0.2 * v.y - 2 * v.z,
            ),
            (),
        )


class Sampling(Component):
    """An integrator and what it reads."""

    inputs = ("f", "s", "y")
    sampled_states = ("i",)
    sampled_outputs = ("u",)
    samples = Samples(period="T", offset="T_0", delay="T_d")
    T = Parameter("s", "time between samples", default=0.005)
    T_0 = Parameter("s", "first sample", default=0.0)
    T_d = Parameter("s", "computing delay", default=0.0)

    @staticmethod
    def sample(m, v, p):
        i = v.i - p.T * (3 * v.f + v.s)
        return (i,), (i - 0.3 * v.y - 0.1 * v.f,)


START = (1.0, 2.0, -1.0)


def system_of(**times):
    """Two samplers, the second at twice the period, between the instants of the first."""
    reads = {name: f"P.{name}" for name in "fsy"}
    return assemble(
        [
            Device("P", Plant, {}, {"u": "C.u", "v": "D.u"}),
            Device("C", Sampling, times, reads),
            Device("D", Sampling, {"T": 0.01, "T_0": 0.0025}, reads),
        ]
    )


def off(system, scheme, remembered=(), ago=0):
    """How far the operator of a period is from what a run does in it, in parts of the run.

    `remembered`, `ago`: places in (x, sampled, y) of what a scheme remembers, and how many points.
    """
    sampled = SampledDae.of(system.linearise())
    T, period = sampled_operator(sampled, scheme), float(scheme_period(sampled, scheme))
    run = simulate(system, scheme, t_end=1.0, start=(START, np.zeros(system.m)))
    last = [np.flatnonzero(np.abs(run.t - k * period) < 1e-9)[-1] for k in range(2, int(0.99 / period))]
    w = np.hstack([run.x, run.sampled, run.y])[last]
    before = [w[ago - k : len(w) - k - 1, remembered] for k in range(1, ago + 1)]
    states = np.hstack([w[ago:-1], *before])
    found = (states @ T.T)[:, : w.shape[1]] - w[ago + 1 :]
    return np.abs(found).max() / np.abs(w).max()


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005])
@pytest.mark.parametrize("h", [0.005, 0.002])
def test_a_step_that_ends_at_each_sample(delay, h):
    assert off(system_of(T_d=delay), SingleRate("TM", h)) < 1e-12


FAMILIES = [
    {},
    {"predictor": "TM", "coupling": "mean"},
    {"predictor": "TM", "corrections": "converge", "epsilon": 1e-14},
    {"predictor": "extrapolation"},
    {"predictor": "extrapolation", "predict": "slow"},
    {"predictor": "TM", "interpolation": "spline"},
    {"predictor": "TM", "solution": "BEM"},
]


@pytest.mark.parametrize("choices", FAMILIES, ids=str)
def test_macro_steps_with_samples_within(choices):
    system = system_of(T_d=0.0025)
    linear = system.linearise()
    split = split_of(linear)
    scheme = Multirate(split, 0.02, 16, **choices)
    assert samples_within(SampledDae.of(linear), scheme)
    slow = ~np.concatenate([split.fast_x, np.ones(system.s, bool), split.fast_y])
    if scheme.predictor == "extrapolation":
        slow[:] = True  # all is remembered
    points = 2 if scheme.interpolation == "spline" else int(scheme.predictor == "extrapolation")
    assert off(system, scheme, np.flatnonzero(slow), points) < 1e-12


def split_of(linear):
    """The two slow states and the algebraic variable of their side, and the others."""
    slow = ("P.s", "P.q", "P.z")
    fast_x, fast_y = (
        np.array([name not in slow for name in names]) for names in (linear.names_x, linear.names_y)
    )
    names = linear.names_x, linear.names_y, linear.names_g
    return Partition(fast_x, fast_y, fast_y, None, "manual", *names)


@pytest.mark.parametrize("delay", [0.0, 0.0025])
def test_macro_steps_of_two_rates_by_samples(delay):
    """Loose and limited in its steps it takes them all alike; between two of them its states are compared."""
    system = system_of(T_d=delay)
    linear, h = system.linearise(), 0.02
    scheme = SampledMultirate(0.5, split=split_of(linear), h_fast=0.0025, h_max=h).on(system)
    run = simulate(system, scheme, t_end=1.0, start=(START, np.zeros(system.m)))
    steps = np.flatnonzero(np.abs(np.diff(run.t) - h) < 1e-9)
    begin = run.t[steps[-40]]
    last = [np.flatnonzero(np.abs(run.t - begin - k * h) < 1e-9)[-1] for k in range(40)]
    w = np.hstack([run.x, run.sampled, run.y])[last]
    sampled = SampledDae.of(linear)  # its instants counted from the begin of a step
    shifted = [
        replace(s, offset=round((s.offset - begin) % s.period, 9) % s.period) for s in sampled.samplers
    ]
    T = sampled_operator(replace(sampled, samplers=tuple(shifted)), scheme.error_control.at_step(h))
    found = (np.hstack([w[2:-1], w[1:-2], w[:-3]]) @ T.T)[:, : w.shape[1]] - w[3:]
    kept = linear.n + len(linear.samples.names)
    assert np.abs(found[:, :kept]).max() < 1e-12 * np.abs(w[:, :kept]).max()
