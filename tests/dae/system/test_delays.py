"""Signals that are read with a delay: how it is declared, what is refused, and the linearised system."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError
from tests.systems.delayed import Integrator, TwoDelays, integrator, two_delays


def test_what_is_read_with_a_delay_is_at_a_point_what_is_there():
    system = two_delays(0.3, 0.1).with_start([2.0, 1.0], [4.0])
    assert [system.names_u[d.input - 3] for d in system.delays] == ["L.x_late", "L.y_late"]
    assert [d.tau for d in system.delays] == [0.3, 0.1]
    np.testing.assert_array_equal(system.u0, [2.0, 4.0])
    # x' = -x - 0.3 z, z' = y - z, 0 = y - x - 0.2 z - 0.1 y
    np.testing.assert_allclose(system.f([2.0, 1.0], [4.0]), [-2.3, 3.0], rtol=1e-15)
    np.testing.assert_allclose(system.jacobian(system.w0).toarray()[2], [-1.0, -0.2, 0.9], rtol=1e-15)


def test_a_delay_of_zero_reads_the_signal_as_it_is():
    system = two_delays(0.0, 0.0)
    assert not system.delays
    assert not system.names_u
    assert system.linearise().delays is None


def test_the_linearised_system_has_the_delayed_terms_apart():
    linear = two_delays(0.3, 0.1, b=2.0).linearise()
    delays = linear.delays
    np.testing.assert_array_equal(
        linear.jacobian_at_once().toarray(), [[0, -0.3, 0], [0, -1, 0], [-1, -0.2, 1]]
    )
    np.testing.assert_allclose(delays.b.toarray(), [[-2, 0], [0, 1], [0, -0.1]], rtol=1e-15)
    np.testing.assert_array_equal(delays.c.toarray(), [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(delays.tau, [0.3, 0.1])
    assert delays.names == ("L.x_late", "L.y_late")
    # e^{-s tau} on each, and its derivative by s
    expected = np.zeros((3, 3), complex)
    expected[0, 0], expected[1:, 2] = -2 * np.exp(-0.3j), np.exp(-0.1j) * np.array([1, -0.1])
    np.testing.assert_allclose(delays.at(1j).toarray(), expected, rtol=1e-15)
    np.testing.assert_allclose(delays.at(1j, 1).toarray()[0, 0], -0.3 * expected[0, 0], rtol=1e-15)
    at_once = linear.without_delays()
    np.testing.assert_allclose(at_once.jacobian().toarray(), [[-2, -0.3, 0], [0, -1, 1], [-1, -0.2, 0.9]])


@pytest.mark.parametrize("method", ["jacobian", "state_matrix"])
def test_no_matrix_leaves_delays_out_silently(method):
    with pytest.raises(InputError, match=r"one by I\.late.*with_pade.*without_delays\(\) takes it as 0"):
        getattr(integrator(0.2, 1.0).linearise(), method)()


@pytest.mark.parametrize(
    ("tau", "words"),
    [
        (-0.1, r"I: the delay of late is -0\.1: must be >= 0"),
        (np.inf, r"I: the delay of late is inf: must be finite"),
        (np.nan, r"I: the delay of late is nan: must be finite"),
        ("0.1", r"I: the delay of late is .0\.1.: must be a number"),
    ],
)
def test_a_delay_that_cannot_be_is_refused(tau, words):
    with pytest.raises(InputError, match=words):
        psmr.Device("I", Integrator, {"b": 1.0}, {"late": "I.x"}, delays={"late": tau})


def test_a_delay_of_what_is_not_read_is_refused():
    with pytest.raises(InputError, match=r"delays has 'lat', which is no input that reads.*late"):
        psmr.Device("I", Integrator, {"b": 1.0}, {"late": "I.x"}, delays={"lat": 0.1})
    with pytest.raises(InputError, match=r"delays has 'u', which is no input that reads a signal"):
        psmr.Device("I", Integrator, {"b": 1.0}, {"late": "I.x"}, delays={"u": 0.1})
    device = psmr.Device("I", Integrator, {"b": 1.0}, {"late": "J.x"}, delays={"late": 0.1})
    with pytest.raises(InputError, match=r"I\.late is connected to 'J\.x', which is not there.*I\.x"):
        psmr.assemble([device])
    device = psmr.Device("I", Integrator, {"b": 1.0}, {"late": "I.u"}, delays={"late": 0.1})
    with pytest.raises(InputError, match=r"I\.late reads I\.u with a delay, which is a held input"):
        psmr.assemble([device])
    with pytest.raises(InputError, match="the delay of y_late is the parameter 'tau'"):
        psmr.Device(
            "L", TwoDelays, {"b": 1.0, "tau": 0.1}, {"x_late": "L.x", "y_late": "L.y"}, delays={"y_late": 0.1}
        )
