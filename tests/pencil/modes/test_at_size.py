"""Chosen modes from sparse matrices: equal to the dense result, honest about coverage, or refused."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr import ModeChoice, Multirate, SingleRate, deformation, step_operator
from psmr.errors import CaseError, InputError, SchemeError, SingularError
from tests.internals import LineRow, chain, outermost, step_map
from tests.pencil.oracle import linear_dae, ode, partition, random_dae

COPIES = 5
TIE = LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1)


def coupled(wscc9, copies):
    return psmr.build(chain(psmr.read_case(wscc9 / "wscc9.toml"), copies, TIE, inertia_spread=0.1))


def transducers(linear):
    return partitioning.by_hand(linear, fast=[name for name in linear.names_x if name.endswith(".v_m")])


@pytest.fixture(scope="module")
def row_of_five(wscc9):
    return coupled(wscc9, COPIES).linearise()


SCHEMES = {
    "FEM/TM": {"predictor": "FEM"},
    "TM/TM spline": {"predictor": "TM", "interpolation": "spline"},
    "extrapolation": {"predictor": "extrapolation"},
    "extrapolation, slow set": {"predictor": "extrapolation", "predict": "slow"},
    "BEM/BEM": {"predictor": "BEM", "solution": "BEM"},
    "FEM/TM, 1 correction": {"predictor": "FEM", "corrections": 1},
    "TM/TM, converged": {"predictor": "TM", "corrections": "converge"},
    "FEM/TM, slow set predicted": {"predictor": "FEM", "predict": "slow"},
}


def assert_equal_to_dense(sparse, dense):
    for _, row in sparse.table.iterrows():
        distance = np.hypot(dense.table["real"] - row.real, dense.table["imag"] - row.imag).to_numpy()
        other = dense.table.iloc[int(distance.argmin())]
        assert distance.min() < 1e-8
        assert row.status == other.status == "represented"
        for column in ("real_numerical", "imag_numerical", "relative_deformation", "damping_error"):
            assert row[column] == pytest.approx(other[column], abs=1e-8)


@pytest.mark.parametrize("name", SCHEMES)
def test_equal_to_the_dense_result(row_of_five, name):
    scheme = Multirate(transducers(row_of_five), 0.05, 10, **SCHEMES[name])
    report = deformation(row_of_five, scheme, modes=20)
    assert len(report.table) == 20
    assert report.table["residual"].max() < 1e-12
    assert report.table["mode_residual"].max() < 1e-14
    dense = deformation(row_of_five, scheme)
    assert_equal_to_dense(report, dense)
    # The 20 least damped of the whole spectrum in the band, none left out.
    band = dense.table[dense.table["frequency_hz"].between(0.1, 3.0)]
    expected = np.sort(band["damping_ratio"].to_numpy())[:20]
    np.testing.assert_allclose(np.sort(report.table["damping_ratio"].to_numpy()), expected, atol=1e-8)


@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2", "RK4", "FEM"])
def test_single_rate_equal_to_the_dense_result(row_of_five, method):
    scheme = SingleRate(method, 0.001)
    sparse = deformation(row_of_five, scheme, modes={"band_hz": (1.0, 2.0), "damping_below": 0.1})
    assert_equal_to_dense(sparse, deformation(row_of_five, scheme))
    assert sparse.stable


def test_unstable_multiplier_is_found_and_named(row_of_five):
    report = deformation(row_of_five, SingleRate("RK4", 0.01), modes=5)
    assert not report.stable
    # R(-10) of the classical method: 1 - 10 + 50 - 1000/6 + 10000/24.
    assert report.spectral_radius == pytest.approx(291.0, rel=1e-6)
    assert ".v_m" in report.verdict


@pytest.mark.parametrize("options", [{}, {"interpolation": "spline"}, {"corrections": "converge"}])
def test_step_map_is_the_step_operator(options):
    linear = random_dae(3)
    scheme = Multirate(partition(linear, [0, 1], [0, 2]), 0.02, 4, predictor="TM", **options)
    step, matrix = step_map(linear, scheme), step_operator(linear, scheme)
    vector = np.random.default_rng(0).standard_normal((2, step.order)) @ np.eye(step.order)
    state = vector[0] + 1j * vector[1]
    np.testing.assert_allclose(step.apply(state), matrix @ state, rtol=0, atol=1e-11 * np.abs(state).max())


def test_near_takes_the_nearest_mode(row_of_five):
    scheme = SingleRate("TM", 0.01)
    report = deformation(row_of_five, scheme, modes=(-0.2 + 8.2j, -0.2 - 8.2j))
    first, second = report.table["imag"]
    assert first == pytest.approx(second)
    assert report.table["status"].str.startswith("not represented: its multiplier is that of").sum() == 1


def test_mode_that_is_not_represented_is_said(row_of_five):
    report = deformation(row_of_five, SingleRate("TM", 0.5), modes=(-0.2 + 8.2j,))
    assert report.table["status"][0].startswith("not represented: |Im s| h = 4.")
    assert np.isnan(report.table["real_numerical"][0])


def test_mode_that_does_not_exist(row_of_five):
    with pytest.raises(InputError, match=r"near = -50\+90j: no mode within 10 % of it; the nearest is -"):
        deformation(row_of_five, SingleRate("TM", 0.01), modes=(-50 + 90j,))


def test_band_without_modes(row_of_five):
    with pytest.raises(InputError, match=r"from 40 to 50 Hz: there are none.*widen the band"):
        deformation(row_of_five, SingleRate("TM", 0.001), modes={"band_hz": (40.0, 50.0)})


@pytest.mark.slow
def test_large_case_takes_the_sparse_path_and_says_so(wscc9):
    linear = coupled(wscc9, 34).linearise()
    assert linear.n + linear.m > 2000
    report = deformation(linear, SingleRate("TM", 0.01))
    assert len(report.table) == 20
    assert "the sparse path was taken" in report.warnings[0]
    assert "shifts whose discs cover the band" in str(report).replace("\n", " ")
    with pytest.raises(SchemeError, match="only for all modes of a system of at most 2000 variables"):
        deformation(linear, SingleRate("TM", 0.01), pencil="published")


def test_singular_linearisation_is_named():
    linear = linear_dae(*(np.array([[value]]) for value in (-1.0, 1.0, 1.0, 0.0)))
    with pytest.raises(SingularError, match="gy of order 1 is singular"):
        deformation(linear, SingleRate("TM", 0.01), modes=1)


def test_unstable_system_is_named():
    linear = ode([[0.0, 1.0], [-64.0, 0.4]])
    report = deformation(linear, SingleRate("TM", 0.01), modes=1)
    assert not report.stable
    assert any(
        "The system itself is unstable: mode 0.2 ± j7.997 1/s" in warning for warning in report.warnings
    )


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({}, "no modes are chosen"),
        ({"least_damped": 0}, "least_damped = 0: must be a whole number >= 1"),
        ({"band_hz": (2.0, 1.0)}, "must be two frequencies in Hz"),
        ({"near": (1 + 1j,), "least_damped": 3}, "near excludes"),
        ({"near": (float("nan"),)}, "must be a list of finite numbers"),
        ({"least_damped": 3, "damping_below": 2.0}, "damping_below = 2.0"),
    ],
)
def test_choices_that_are_none(choice, message):
    with pytest.raises(InputError, match=message):
        ModeChoice(**choice)


def test_misspelt_choice():
    with pytest.raises(InputError, match="there is no field 'band'; did you mean 'band_hz'"):
        ModeChoice.of({"band": (0.1, 1.0)})


def test_chain_is_a_case_of_its_own(wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    row = chain(case, 3, TIE, inertia_spread=0.1)
    assert len(row.buses) == 27
    assert {"bus25", "bus5"} <= {bus.name for bus in row.buses}
    assert [generator.control for generator in row.generators].count("slack") == 1
    inertias = [g.devices[0].parameters["h"] for g in row.generators if g.name.startswith("G1_")]
    assert len(set(inertias)) == 3
    assert max(inertias) <= 1.1 * 23.64
    assert chain(case, 5, TIE, 0.1).generators[:9] == row.generators


@pytest.mark.parametrize(
    ("copies", "tie", "spread", "message"),
    [
        (0, TIE, 0.1, "copies = 0"),
        (2, LineRow(from_bus=8, to_bus=11, x=0.1), 0.1, "has no bus 11"),
        (2, TIE, 1.5, "inertia_spread = 1.5"),
    ],
)
def test_chains_that_are_none(wscc9, copies, tie, spread, message):
    with pytest.raises(CaseError, match=message):
        chain(psmr.read_case(wscc9 / "wscc9.toml"), copies, tie, spread)


@pytest.mark.slow
def test_two_thousand_buses_in_two_gibibytes(wscc9):
    """The 20 least damped modes of 223 coupled copies (2007 buses); 22 s and 0.65 GB measured on one core."""
    import resource

    linear = coupled(wscc9, 223).linearise()
    report = deformation(linear, Multirate(transducers(linear), 0.05, 10), modes=20)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 1024**2
    assert (report.table["status"] == "represented").all()
    assert report.table["residual"].max() < 1e-12


def test_command_with_chosen_modes(wscc9, capsys):
    from psmr import cli

    scheme = ["--delta", "20", "--h-slow", "0.05", "--h-fast", "0.005"]
    chosen = ["--least-damped", "2", "--band", "0.1", "3"]
    assert cli.main(["deformation", str(wscc9 / "wscc9.toml"), *scheme, *chosen]) == 0
    out = capsys.readouterr().out
    assert "the 2 least damped oscillatory modes from 0.1 to 3 Hz" in " ".join(out.split())
    assert "-0.1956 ± j8.3729" in out


@pytest.mark.parametrize(
    "scheme",
    [
        lambda split: SingleRate("TM", 0.01),
        lambda split: SingleRate("RK4", 0.01),
        lambda split: SingleRate("RK4", 0.00558),
        lambda split: Multirate(split, 0.05, 10, "TM", interpolation="spline"),
    ],
    ids=["TM", "RK4 far outside", "RK4 just outside", "spline"],
)
def test_outermost_multipliers_bound_the_others(row_of_five, scheme):
    """Against the whole spectrum of the step operator."""
    made = scheme(transducers(row_of_five))
    z = np.linalg.eigvals(step_operator(row_of_five, made))
    outer = outermost(step_map(row_of_five, made), made.step)
    for value, residual in zip(outer.z, outer.residuals, strict=True):
        # Common angle and speed are one vector of a double z = 1: what Arnoldi leaves moves it by its root.
        assert np.abs(z - value).min() < (1e-4 if abs(value - 1.0) < 1e-3 else 1e-6)
        assert residual < 1e-4
    largest = np.abs(z).max()
    if largest > 1.0 + 1e-3:
        assert outer.outside.any()
        assert np.abs(outer.z).max() == pytest.approx(largest, rel=1e-6)
    else:
        assert not outer.outside.any()
        assert outer.away < 1.0
        assert (np.abs(z[np.abs(z - 1.0) > outer.away * (1 + 1e-3)]) <= 1.0).all()


@pytest.mark.parametrize("method", ["RK4", "FEM"])
def test_critical_step_from_the_outermost_multipliers(wscc9, monkeypatch, method):
    from tests.internals import critical_module as critical

    linear = coupled(wscc9, 3).linearise()
    dense = psmr.critical_step(linear, SingleRate(method, 0.001), first=0.002, last=0.1)
    monkeypatch.setattr(critical, "LARGEST", 10)
    sparse = psmr.critical_step(linear, SingleRate(method, 0.001), first=0.002, last=0.1)
    assert sparse.h == pytest.approx(dense.h, rel=2e-3)
    assert sparse.variable.rpartition(".")[2] == dense.variable.rpartition(".")[2]
    assert sparse.mode == pytest.approx(dense.mode, rel=1e-2)


def test_a_certificate_beyond_the_dense_limit(wscc9, monkeypatch):
    from tests.internals import certify_module as certificate
    from tests.internals import deformation_module as module

    system = coupled(wscc9, 3)
    dense = psmr.certify(system, SingleRate("TM", 0.01))
    monkeypatch.setattr(module, "LARGEST", 10)
    monkeypatch.setattr(certificate, "LARGEST", 10)
    sparse = psmr.certify(system, SingleRate("TM", 0.01))
    assert sparse.stable
    assert dense.stable
    assert sparse.spectral_radius == pytest.approx(dense.spectral_radius, abs=1e-6)
    assert "every multiplier further than" in sparse.note
    run = psmr.simulate(system, SingleRate("TM", 0.01), 0.05, certify="always")
    assert run.certificate.stable
    assert not psmr.certify(system, SingleRate("RK4", 0.01), warn=False).stable
