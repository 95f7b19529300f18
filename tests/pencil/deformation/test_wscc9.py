"""The WSCC 9-bus cases: the ringdown of the nonlinear simulation, the double zero, the spline.

The paper's tables and figures on them are in tests/papers/test_huang_tzounas.py.
"""

import numpy as np
import pytest

import partitioning
from psmr import Multirate, SingleRate, build, deformation, fit_mode, read_case
from tests.internals import integrate, modes_of

PAIRS = [("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("BEM", "BEM"), ("TM", "BEM")]


@pytest.fixture(scope="module")
def system(wscc9):
    return build(read_case(wscc9 / "wscc9.toml"))


@pytest.fixture(scope="module")
def linear(system):
    return system.linearise()


@pytest.fixture(scope="module")
def kick(system, linear):
    """1e-3 along the dominant mode: small enough for the linear model, far above the Newton tolerance."""
    modes = modes_of(linear)
    shape = modes.vectors[: linear.n, np.abs(modes.s - (-0.196 + 8.37j)).argmin()].real
    return system.x0 + 1e-3 * shape / np.linalg.norm(shape)


@pytest.mark.parametrize("algebraic", ["participation", "fast"])
@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_ringdown_of_the_nonlinear_run(system, linear, kick, pair, interpolation, algebraic):
    partition = partitioning.by_participation(linear, delta=20.0, algebraic=algebraic)
    predictor, solution = pair
    scheme = Multirate(
        partition, 0.05, 10, predictor, solution, interpolation, newton="honest", tolerance=1e-12
    )
    row = deformation(linear, scheme).dominant
    predicted = complex(row["real_numerical"], row["imag_numerical"])
    run = integrate(system, scheme, 8.0, start=(kick, system.y0))
    first, second = (system.names_x.index(f"G{k}.omega") for k in (1, 2))
    fitted = fit_mode(run.t, run.x[:, first] - run.x[:, second], near=complex(row["real"], row["imag"]))
    assert fitted == pytest.approx(predicted, rel=1e-5)


def test_double_zero_of_the_textbook_case(wscc9):
    linear = build(read_case(wscc9 / "sauer-pai.toml")).linearise()
    for scheme in (SingleRate("TM", 0.01), SingleRate("BEM", 0.05), SingleRate("SDIRK2", 0.02)):
        report = deformation(linear, scheme)
        assert report.stable
        assert report.spectral_radius == 1.0
        assert (report.table["status"] == "zero mode").sum() == 2
        assert report.spurious.empty


@pytest.mark.parametrize("h_slow", [0.005, 0.01])
def test_spline_halves_the_worst_deformation_of_the_converter_case(wscc9, h_slow):
    """TM/TM, modes below 100 rad/s; measured 0.163 and 0.079 % at 5 ms, 0.67 and 0.32 % at 10 ms."""
    linear = build(read_case(wscc9 / "wscc9-ibr.toml")).linearise()
    split = partitioning.by_participation(linear, delta=20.0)
    worst = {}
    for interpolation in ("linear", "spline"):
        report = deformation(linear, Multirate(split, h_slow, 10, "TM", "TM", interpolation))
        table = report.table[np.hypot(report.table["real"], report.table["imag"]) < 100.0]
        worst[interpolation] = table["relative_deformation"].max()
        assert report.stable
    assert worst["spline"] < 0.55 * worst["linear"]
