"""The product of the steps over a period with a single-phase fault, against known radii and against runs."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError, SchemeError

PERIOD = 1 / 60


def three_buses():
    """The network of which the exact radius is known: 0.63592, from DOP853 on equations written by hand."""
    return psmr.make_case(
        "three buses",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": n} for n in (1, 2, 3)],
        lines=[{"from": 1, "to": 2, "r": 0.02, "x": 0.2}, {"from": 2, "to": 3, "r": 0.01, "x": 0.1}],
        shunts=[
            {"bus": 1, "b_mvar": 5.0},
            {"bus": 2, "g_mw": 80.0, "b_mvar": 20.0},
            {"bus": 3, "g_mw": 60.0, "b_mvar": 10.0},
        ],
        generators=[
            {
                **{"name": "G", "bus": 1, "control": "slack", "v": 1.0},
                "machine": {"type": "InfiniteBus", "s_n": 100.0, "r_a": 0.005, "x_d1": 0.1},
            }
        ],
        sequence=[
            {"element": "line1-2", "r0": 0.06, "x0": 0.55, "b0": 0.0},
            {"element": "line2-3", "r0": 0.03, "x0": 0.28, "b0": 0.0},
            {"element": "shunt1", "g0": 0.0, "b0": 0.03},
            {"element": "shunt2", "g0": 0.8, "b0": 0.12},
            {"element": "shunt3", "g0": 0.6, "b0": 0.06},
            {"element": "G", "r0": 0.01, "x0": 0.08},
        ],
    )


@pytest.fixture(scope="module")
def system():
    return psmr.build(three_buses(), dynamic=psmr.Region("all", zero_sequence=True))


def faulted(system, scheme, start=None, t_end=0.1):
    fault = psmr.Fault(2, 0.001, permanent=True, r=0.05, x=0.0, phases="ag")
    return psmr.simulate(system, scheme, t_end, [fault], start=start, certify=False)


@pytest.mark.parametrize(("steps", "radius"), [(833, 0.63786), (333, 0.64778), (167, 0.67900)])
def test_radius_is_the_known_one(system, steps, radius):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=PERIOD / steps)))
    assert found.exact_spectral_radius == pytest.approx(0.63592, abs=6e-6)
    assert found.spectral_radius == pytest.approx(radius, abs=6e-6)


@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2"])
def test_product_of_the_steps_is_what_the_run_does(system, method):
    scheme = psmr.SingleRate(method, h=PERIOD / 200, newton="honest")
    x, y = system.x0, system.y0
    run = faulted(system, scheme)
    found = psmr.periodic_modes(run)
    rows = [int(np.searchsorted(run.t, found.begin + k * PERIOD - 1e-9)) for k in (0, 3)]
    rows[0] += 1  # the point after the event
    change = np.random.default_rng(1).standard_normal(system.n)
    other = faulted(system, scheme, (x + change, y))
    before, after = (other.x[row] - run.x[row] for row in rows)
    wanted = np.linalg.matrix_power(found.simulated.matrix, 3) @ before
    assert np.abs(before).max() > 0.01
    assert np.abs(after - wanted).max() < 1e-10


def test_exponents_are_unfolded_by_the_shape_of_their_modes(system):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=PERIOD / 167))).table
    fastest = found.loc[found["imag"].idxmax()]
    # A resonance at 8,246 1/s, which the rule moves to (2 / h) atan(8246 h / 2).
    assert fastest["imag"] == pytest.approx(8246, abs=1)
    h = PERIOD / 167
    assert fastest["imag_numerical"] == pytest.approx(2 / h * np.arctan(fastest["imag"] * h / 2), rel=2e-3)
    assert (found["deformation"] < 0.2).all()


def test_what_has_no_period_is_refused(system):
    tm = psmr.SingleRate("TM", h=PERIOD / 200)
    balanced = psmr.simulate(system, tm, 0.05, certify=False)
    with pytest.raises(InputError, match="no equation reads the time"):
        psmr.periodic_modes(balanced)
    with pytest.raises(InputError, match=r"does not divide the period 0.0166667 s; take h = 1 / 60 / 333"):
        psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=5e-5)))
    with pytest.raises(InputError, match="reads signals with a delay"):
        psmr.periodic_modes(faulted(psmr.with_delays(system, {"G.v": 0.001}), tm, t_end=0.003))
    with pytest.raises(InputError, match="no whole period"):
        psmr.periodic_modes(faulted(system, tm, t_end=0.015))
    with pytest.raises(InputError, match="no whole period"):
        psmr.periodic_modes(faulted(system, tm), 0.0)
    with pytest.raises(SchemeError, match="chooses its own steps"):
        psmr.periodic_modes(faulted(system, psmr.VariableStep(1e-4)))
