"""Matrices and frequency responses of systems that read signals with a delay."""

import numpy as np
import pytest

import psmr
from partitioning import by_hand
from psmr.errors import InputError
from tests.systems.delayed import integrator, two_delays

F = np.geomspace(0.02, 10.0, 40)


@pytest.fixture(scope="module")
def delayed():
    system = psmr.build(psmr.case("wscc9"))
    return psmr.with_delays(system, {"AVR2.v": 0.03, "PSS3.omega": 0.12})


def test_the_response_of_a_late_loop_is_exact():
    """x' = u - b x(t - tau): 1 / (s + b e^{-s tau})."""
    matrices = integrator(0.3, 2.0).state_space("I.u", "I.x")
    s = 2j * np.pi * F
    assert matrices.response(F).values[:, 0, 0] == pytest.approx(
        1.0 / (s + 2.0 * np.exp(-0.3 * s)), rel=1e-13
    )


@pytest.mark.parametrize(("order", "off"), [(1, 0.7), (3, 2e-2), (6, 2e-8)])
def test_a_pade_form_has_states_for_each_delay(order, off):
    """Where |s| tau is up to 2; its all-pass keeps the gain of e^{-s tau} at 1."""
    matrices = integrator(0.3, 2.0).state_space("I.u", "I.x")
    rational = matrices.with_pade(order)
    assert rational.states == ("I.x", *(f"I.late.pade{k + 1}" for k in range(order)))
    f = F[F < 1.0]
    exact = matrices.response(f).values
    assert np.abs(rational.response(f).values / exact - 1.0).max() < off
    assert rational.to_scipy().A.shape == (order + 1, order + 1)


def test_the_modes_of_a_pade_form_are_the_roots_of_the_delayed_system():
    linear = two_delays(0.31, 0.17).linearise()
    exact, rational = psmr.modes(linear), psmr.modes(linear.with_pade(8))
    slow = exact[np.hypot(exact.real, exact.imag) * 0.31 < 3.0]
    assert len(slow) >= 2
    for mode in slow.itertuples():
        assert np.hypot(rational.real - mode.real, rational.imag - mode.imag).min() < 1e-6
    assert linear.without_delays().with_pade(3).delays is None


@pytest.mark.parametrize("order", [0, 11, 1.5, True])
def test_an_order_out_of_range_is_refused(order):
    with pytest.raises(InputError, match=r"order = .*whole number from 1 to 10"):
        integrator(0.3, 2.0).linearise().with_pade(order)


def test_matrices_without_delays_are_asked_for_by_name(delayed):
    matrices = delayed.state_space("AVR2.v_ref", "G2.p")
    with pytest.raises(InputError, match=r"AVR2\.v_re.*no state matrix.*with_pade"):
        matrices.to_scipy()
    with pytest.raises(InputError, match=r"bus5\.frequency is the rate of an angle.*take the angle"):
        delayed.state_space("AVR2.v_ref", "bus5.frequency")


def test_the_response_is_that_of_small_steps(delayed):
    """Of a run by the trapezoidal rule, whose step equations have the delays as shift states."""
    matrices = delayed.state_space(["AVR2.v_ref", "load8.p"], ["G2.p", "bus5.v"])
    exact = matrices.response(F).values
    errors = [
        np.abs(psmr.simulated_response(matrices, psmr.SingleRate("TM", h), F[F < 3.0], input="linear").values
               / exact[F < 3.0] - 1.0).max()
        for h in (0.01, 0.005)
    ]  # fmt: skip
    assert errors[1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # order 2
    assert np.abs(matrices.with_pade(8).response(F).values / exact - 1.0).max() < 1e-6


def test_an_output_that_reads_a_delayed_signal_has_it(delayed):
    """A load that follows its voltage late: its power is that of the voltage now and of the current then."""
    late = psmr.with_delays(delayed, {"load5.v": 0.05})
    matrices = late.state_space("AVR2.v_ref", ["load5.p", "load5.q"])
    assert matrices.c_late.nnz > 0
    errors = [
        np.abs(psmr.simulated_response(matrices, psmr.SingleRate("TM", h), F[F < 3.0], input="linear").values
               / matrices.response(F[F < 3.0]).values - 1.0).max()
        for h in (0.01, 0.005)
    ]  # fmt: skip
    assert errors[1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert np.abs(matrices.with_pade(8).response(F).values / matrices.response(F).values - 1.0).max() < 1e-6


def test_the_impedance_of_a_delayed_system_from_a_bus(delayed):
    """Of the whole system it is the response; a cut would leave what is read late without its past."""
    scan = psmr.impedance_scan(delayed, bus=7, f=F)
    direct = psmr.build(psmr.case("wscc9"))
    assert np.isfinite(scan.whole).all()
    assert np.abs(scan.whole / psmr.impedance_scan(direct, bus=7, f=F).whole - 1.0).max() > 1e-4
    with pytest.raises(InputError, match="delay"):
        psmr.impedance_scan(delayed, bus=2, f=F)


def test_outputs_of_two_rates_that_read_fast_signals_late():
    """All fast: the response to a sampled input is that of one rate with the fast step."""
    late = psmr.with_delays(psmr.build(psmr.case("wscc9")), {"AVR2.v": 0.031, "load5.v": 0.05})
    matrices = late.state_space("AVR2.v_ref", ["load5.p", "G2.p"])
    split = by_hand(late.linearise().without_delays(), [*late.names_x, *late.names_y])
    two = psmr.simulated_response(matrices, psmr.Multirate(split, 0.02, 4), F, input="sampled")
    one = psmr.simulated_response(matrices, psmr.SingleRate("TM", 0.005), F, input="sampled")
    assert two.values == pytest.approx(one.values, rel=1e-9)
