"""Voltages beside the fundamental: what they do to both converters in full, and that none is at rest."""

import numpy as np
import pytest

from psmr import SingleRate
from tests.devices.converters import test_filtered_converter as following
from tests.devices.converters import test_grid_forming as forming
from tests.internals import Change, autonomous, integrate

VOLTAGE = 1.0 * np.exp(0.1j)
CONVERTERS = {
    "following": (lambda: following.alone(VOLTAGE, 0.6 + 0.1j), 2 * np.pi * 60.0),
    "forming": (lambda: forming.alone(VOLTAGE, 0.5 + 0.1j, **forming.GRID), 2 * np.pi * 50.0),
}


@pytest.mark.parametrize("which", CONVERTERS)
@pytest.mark.parametrize(("name", "turns"), [("v_2", -2), ("v_5", -6), ("v_7", 6)])
def test_ripple_is_the_transfer_function_at_its_frequency(which, name, turns):
    """A small voltage beside the fundamental against (j w I - A)^-1 B of the converter at rest."""
    build, w_n = CONVERTERS[which]
    system, size = build(), 1e-5
    A, x0 = system.linearise().state_matrix(), system.x0
    step = 1e-6
    sides = [
        (following.rates_of(system, VOLTAGE + d)(0.0, x0), following.rates_of(system, VOLTAGE - d)(0.0, x0))
        for d in (step, 1j * step)
    ]
    B = np.column_stack([(more - less) / (2 * step) for more, less in sides])
    w = abs(turns) * w_n
    # size cos(wt) and +-size sin(wt) in the network's frame: the phasors of both at +w.
    phasor = size * np.array([1.0, -1j * np.sign(turns)])
    ripple = np.linalg.solve(1j * w * np.eye(len(A)) - A, B @ phasor)
    h = 2 * np.pi / w / 400
    begin = Change(0.0, parameters=(("c", name, size),))
    run = integrate(system, SingleRate("RK4", h), 400 * h, [begin], start=(x0 + ripple.real, system.y0))
    expected = x0 + np.real(ripple * np.exp(1j * w * run.t[:, None]))
    # What is left is of second order in the ripple (measured: 2e-7 to 4e-6 of it).
    assert np.abs(run.x - expected).max() < 2e-5 * np.abs(ripple).max()


@pytest.mark.parametrize("which", CONVERTERS)
def test_without_them_no_equation_reads_the_time(which):
    system = CONVERTERS[which][0]()
    assert autonomous(system, system.parameters)
