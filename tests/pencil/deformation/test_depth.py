"""Every scheme the report can describe against the nonlinear ringdown; damping and frequency errors."""

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate, deformation, fit_mode
from tests.internals import integrate, modes_of
from tests.pencil.oracle import ode


@pytest.fixture(params=["wscc9", "wscc9-ibr"], scope="module")
def system(request, wscc9):
    return psmr.build(psmr.read_case(wscc9 / f"{request.param}.toml"))


@pytest.fixture(scope="module")
def linear(system):
    return system.linearise()


def ringdown(system, linear, scheme, size=1e-3, order=None):
    """The dominant mode as the report predicts it, and as a nonlinear run shows it after a kick along it."""
    row = deformation(linear, scheme).dominant
    mode = complex(row["real"], row["imag"])
    modes = modes_of(linear)
    shape = modes.vectors[: linear.n, np.abs(modes.s - mode).argmin()].real
    start = (system.x0 + size * shape / np.linalg.norm(shape), system.y0)
    run = integrate(system, scheme, 8.0, start=start)
    first, second = (system.names_x.index(f"G{k}.omega") for k in (1, 2))
    signal = run.x[:, first] - run.x[:, second]
    return complex(row["real_numerical"], row["imag_numerical"]), fit_mode(run.t, signal, mode, order), mode


COUPLINGS = {
    "K = 1": {"corrections": 1},
    "K = 2": {"corrections": 2},
    "K = 2, spline": {"corrections": 2, "interpolation": "spline"},
    "converged": {"corrections": "converge"},
    "converged, spline": {"corrections": "converge", "interpolation": "spline"},
    "spline": {"interpolation": "spline"},
    "slow set predicted": {"predictor": "FEM", "predict": "slow"},
    "extrapolation": {"predictor": "extrapolation"},
    "extrapolation, spline": {"predictor": "extrapolation", "interpolation": "spline", "h_slow": 0.01},
    "slow set extrapolated": {"predictor": "extrapolation", "predict": "slow"},
    "BEM solution, K = 1": {"predictor": "BEM", "solution": "BEM", "corrections": 1},
}


@pytest.mark.parametrize("name", COUPLINGS)
def test_multirate_ringdown(system, linear, name):
    split = partitioning.by_participation(linear, 20.0)
    # With an epsilon below rounding every correction is made, as the pencil has it.
    options = {"predictor": "TM", "epsilon": 1e-11 if "converged" in name else 1e-300} | COUPLINGS[name]
    choices = {"h_slow": 0.02} | options
    scheme = Multirate(split, ratio=5, newton="honest", tolerance=1e-12, **choices)
    predicted, observed, _ = ringdown(system, linear, scheme)
    assert observed == pytest.approx(predicted, rel=1e-5)


@pytest.mark.parametrize(("method", "h"), [("TM", 0.02), ("BEM", 0.01), ("SDIRK2", 0.02), ("RK4", 0.001)])
def test_single_rate_ringdown(system, linear, method, h):
    predicted, observed, _ = ringdown(system, linear, SingleRate(method, h, newton="honest", tolerance=1e-12))
    assert observed == pytest.approx(predicted, rel=1e-5)


@pytest.mark.parametrize("newton", ["honest", "dishonest"])
@pytest.mark.parametrize("scheme", ["single", "multirate"])
def test_newton_that_stops_early_leaves_the_linear_map(system, linear, newton, scheme):
    """One iteration with the Jacobian of the step solves the linear step: what is left is of second order.

    A kick of 3 % of a radian and a tolerance of 1e-3 let each solve stop after one iteration; 7e-6 measured.
    """
    split = partitioning.by_participation(linear, 20.0, algebraic="fast")
    schemes = {"single": SingleRate("TM", 0.05), "multirate": Multirate(split, 0.02, 5, "TM")}
    loose = replace(schemes[scheme], newton=newton, tolerance=1e-3)
    predicted, observed, mode = ringdown(system, linear, loose, size=3e-2, order=12)
    assert abs(observed - predicted) < 3e-5 * abs(mode)


def test_damping_and_frequency_errors():
    """Backward Euler on s = -0.2 + 8j, h = 0.05: s_hat = -log(1 - s h) / h."""
    frequency = np.hypot(8.0, 0.2)
    report = deformation(ode(np.array([[0.0, 1.0], [-(frequency**2), -0.4]])), SingleRate("BEM", 0.05))
    s = -0.2 + 8.0j
    s_hat = -np.log(1.0 - 0.05 * s) / 0.05
    row = report.table.iloc[0]
    assert row["frequency_hz_numerical"] == pytest.approx(s_hat.imag / (2 * np.pi))
    assert row["damping_ratio_numerical"] == pytest.approx(-s_hat.real / abs(s_hat))
    assert row["damping_error"] == pytest.approx(-s_hat.real / abs(s_hat) - 0.2 / abs(s))
    assert row["frequency_error"] == pytest.approx(s_hat.imag / 8.0 - 1.0)
    assert " pp" in str(report)


def test_real_and_zero_modes_have_no_frequency_error():
    report = deformation(ode(np.diag([0.0, -3.0])), SingleRate("TM", 0.01))
    assert report.table["frequency_error"].isna().all()
    zero = report.table[report.table["status"] == "zero mode"].iloc[0]
    assert np.isnan(zero["damping_error"])
    real = report.table[report.table["status"] == "represented"].iloc[0]
    assert real["damping_error"] == 0.0
