"""Samples on a linear DAE: the operator of a common period, by itself and with a scheme."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from psmr import Multirate, SingleRate, deformation
from tests.internals import (
    LinearSampler,
    LinearSamples,
    SampledDae,
    common_period,
    exact_operator,
    exact_time,
    sampled_operator,
    scheme_period,
    workable,
)
from tests.pencil.oracle import ode, partition, random_dae


def with_samples(linear, samples):
    return replace(linear, held=samples.names, linearised_samples=lambda: samples)


def integrating_loop(a, gain, period, delay):
    """The plant x' = -a x + u with u an integrator: q+ = q - gain T x, u = q+, written a delay later."""
    lin, step = ode([[-a]]), gain * period
    if not delay:
        names, b = ("C.q", "C.u"), [[0.0, 1.0]]
        samplers = (sampler("C", period, 0.0, [0, 1], [[-step, 1, 0], [-step, 1, 0]]),)
    else:
        names, b = ("C.q", "C.u_computed", "C.u"), [[0.0, 0.0, 1.0]]
        samplers = (
            sampler("C", period, 0.0, [0, 1], [[-step, 1, 0, 0], [-step, 1, 0, 0]]),
            sampler("C", period, delay, [2], [[0, 0, 1, 0]]),
        )
    found = LinearSamples(
        sp.csc_array(b), names, samplers, lambda f: integrating_loop(a, gain, f * period, f * delay).samples
    )
    return with_samples(lin, found)


def sampler(device, period, offset, at, matrix):
    return LinearSampler(device, period, offset, np.array(at), sp.csr_array(np.array(matrix, float)))


def closed_form(a, gain, T, d):
    """Astrom and Wittenmark, section 2.3: u of the sample before acts for d, the new one for T - d."""
    held = lambda t: (1 - np.exp(-a * t)) / a if a else t  # noqa: E731
    before, new = np.exp(-a * (T - d)) * held(d), held(T - d)
    # (z - e^-aT)(z - 1) + gain T (new z + before) = 0
    return np.roots([1.0, -np.exp(-a * T) - 1 + gain * T * new, np.exp(-a * T) + gain * T * before])


@pytest.mark.parametrize("a", [0.0, 2.0])
@pytest.mark.parametrize("delay", [0.0, 0.003, 0.007, 0.01])
def test_a_sampled_integrator_has_the_roots_of_its_characteristic_polynomial(a, delay):
    sampled = SampledDae.of(integrating_loop(a, 60.0, 0.01, delay))
    z = np.linalg.eigvals(exact_operator(sampled, sampled.period))
    z = z[np.abs(z) > 1e-6]
    np.testing.assert_allclose(
        np.sort_complex(z), np.sort_complex(closed_form(a, 60.0, 0.01, delay)), atol=1e-9
    )


def test_times_are_the_fractions_that_were_meant():
    periods = [exact_time(t) for t in (1e-5, 1 / 60, 0.001)]
    assert periods == [Fraction(1, 100_000), Fraction(1, 60), Fraction(1, 1000)]
    assert common_period(periods) == Fraction(1, 20)


LINEAR = random_dae(0)
SPLIT = partition(LINEAR, [0, 1], [0, 2])


def two_samplers(period=0.005):
    """Two devices, the second at twice the period and with an offset, that fast equations alone read."""
    n, m = LINEAR.n, LINEAR.m
    rng, b = np.random.default_rng(1), np.zeros((n + m, 3))
    b[0, 1], b[1, 2] = 3.0, -2.0
    b[n + np.flatnonzero(SPLIT.fast_g)[0], 1:] = 0.7, 0.4
    first, second = (0.2 * rng.standard_normal((k, n + 3 + m)) for k in (2, 1))
    samplers = (
        sampler("A", period, 0.0, [0, 1], first),
        sampler("B", 2 * period, period, [2], second),
    )
    return with_samples(LINEAR, LinearSamples(sp.csc_array(b), ("A.s", "A.u", "B.u"), samplers))


def brute_force(sampled, period):
    """The same product with nothing grouped: instants by instants, exponentials by scipy."""
    from scipy.linalg import expm

    linear, n = sampled.linear, sampled.linear.n
    A, follow, product, t = linear.state_matrix(), linear.following(), np.eye(n), 0.0
    for k in range(1, round(float(period) / 0.005) + 1):
        due = tuple(i for i, each in enumerate(sampled.samplers) if i == 0 or k % 2)
        jump = sampled.jump(due)[:n].toarray()
        product = (jump[:, :n] + jump[:, n:] @ follow) @ expm(A * (0.005 * k - t)) @ product
        t = 0.005 * k
    return product


def test_equal_instants_in_a_row_are_powers():
    sampled = SampledDae.of(two_samplers())
    found = exact_operator(sampled, 8 * sampled.period)
    np.testing.assert_allclose(found, brute_force(sampled, 8 * sampled.period), atol=1e-13)


def error(linear, scheme):
    """How far the multipliers of the exact operator are from those with a scheme."""
    sampled = SampledDae.of(linear)
    exact = np.linalg.eigvals(exact_operator(sampled, scheme_period(sampled, scheme)))
    z = np.linalg.eigvals(sampled_operator(sampled, scheme))
    return max(np.abs(z - each).min() for each in exact if abs(each) > 0.5)


def test_a_scheme_comes_to_the_exact_operator_with_its_order():
    errors = [error(two_samplers(), SingleRate("TM", h)) for h in (0.005, 0.0025, 0.00125)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    "choices",
    [{}, {"coupling": "mean"}, {"corrections": 2}, {"predictor": "extrapolation", "predict": "slow"}],
    ids=str,
)
def test_samples_within_macro_steps_come_to_the_exact_operator(choices):
    """Samples of 5 and 10 ms within macro steps and at their ends: of second order, as without samples."""
    errors = []
    for h in (0.01, 0.005, 0.0025):
        scheme = Multirate(SPLIT, h, 16, **({"predictor": "TM"} | choices))
        errors.append(error(two_samplers(), scheme))
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2.0, abs=0.25)


def test_slow_samplers_are_held_where_the_common_period_is_unworkable():
    linear = two_samplers()
    samples = linear.samples
    slow = replace(samples.samplers[1], period=4.0, offset=0.0)
    fast = replace(samples.samplers[0], period=1e-5)
    linear = with_samples(linear, replace(samples, samplers=(fast, slow)))
    sampled, words = workable(SampledDae.of(linear), SingleRate("TM", 0.01))
    assert sampled.out == {"B"}
    assert words[0].startswith("Held as it is: B, sampled every 4 s, since the common period of 4 s")


def test_the_report_says_what_sampling_and_its_delay_do():
    report = deformation(integrating_loop(2.0, 60.0, 0.01, 0.01), SingleRate("TM", 0.01))
    row = report.dominant
    s = np.log(closed_form(2.0, 60.0, 0.01, 0.01)) / 0.01
    assert complex(row.real, row.imag) == pytest.approx(s[s.imag > 0][0], rel=1e-9)
    assert complex(row.real_continuous, row.imag_continuous) == pytest.approx(
        -1 + 1j * np.sqrt(59.0), rel=1e-6
    )
    assert row.sampling_deformation == pytest.approx(0.0391, rel=0.01)
    assert row.delay_deformation == pytest.approx(row.sampling_deformation, rel=0.01)
    text = " ".join(str(report).split())
    assert "from 12.9 % in the continuous design to 9.02 %; without the computing delay" in text
    assert "Without the computing delay sampling would change no damping by more than the limit." in text


def proportional_loop(gain, period):
    """The plant x' = -2 x + u with u = -gain x: z = e^-2T - gain (1 - e^-2T) / 2."""
    found = LinearSamples(
        sp.csc_array([[1.0]]), ("C.u",), (sampler("C", period, 0.0, [0], [[-gain, 0.0]]),),
        lambda f: proportional_loop(gain, f * period).samples,
    )  # fmt: skip
    return with_samples(ode([[-2.0]]), found)


def test_an_unstable_sampled_loop_gets_a_period_that_does():
    """|z| < 1 with a gain of 100 up to T = ln(51 / 49) / 2 = 0.02 s."""
    report = deformation(proportional_loop(100.0, 0.1), SingleRate("TM", 0.1))
    assert not report.stable
    text = " ".join(report.warnings)
    assert "The sampled system is unstable, and its continuous design is not." in text
    assert "Periods and delays an eighth as long would do: the shortest period is then 0.0125 s." in text


def test_a_law_that_does_not_read_its_period_is_named():
    linear = two_samplers()
    report = deformation(linear, SingleRate("TM", 0.005))
    assert "The law of A, B does not read its period" in " ".join(report.warnings)
