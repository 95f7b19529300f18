"""The deformation report: figures, verdicts, files."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

from psmr import Multirate, SingleRate, deformation
from psmr.errors import InputError, SchemeError
from psmr.pencil import spectral_radius
from tests.internals import OneStepModes
from tests.pencil.oracle import ode, partition, random_dae

COLUMNS = [
    "real",
    "imag",
    "frequency_hz",
    "damping_ratio",
    "real_numerical",
    "imag_numerical",
    "frequency_hz_numerical",
    "damping_ratio_numerical",
    "relative_deformation",
    "real_deformation",
    "imag_deformation",
    "damping_error",
    "frequency_error",
    "status",
]


def oscillator(damping=0.2, frequency=8.0):
    return ode([[0.0, 1.0], [-(frequency**2), -2.0 * damping]])


@pytest.fixture
def report():
    linear = random_dae(0)
    return deformation(linear, Multirate(partition(linear, [0, 1], [0, 2]), 0.05, 5))


def test_columns_and_rows(report):
    assert list(report.table.columns) == COLUMNS
    assert (report.table["imag"] >= 0.0).all()
    assert report.table["real"].is_monotonic_decreasing
    assert 2 * (report.table["imag"] > 0).sum() + (report.table["imag"] == 0).sum() == 6
    assert len(report.multipliers) == len(report.table)


def test_figures_of_a_known_case():
    """TM on one oscillation: s_hat = log((1 + h s / 2) / (1 - h s / 2)) / h."""
    h = 0.05
    row = deformation(oscillator(), SingleRate("TM", h)).dominant
    s = complex(row["real"], row["imag"])
    s_hat = np.log((1 + h * s / 2) / (1 - h * s / 2)) / h
    assert s == pytest.approx(complex(-0.2, np.sqrt(64.0 - 0.04)))
    assert row["damping_ratio"] == pytest.approx(0.2 / 8.0)
    assert row["frequency_hz"] == pytest.approx(s.imag / 2 / np.pi)
    assert complex(row["real_numerical"], row["imag_numerical"]) == pytest.approx(s_hat, rel=1e-12)
    assert row["relative_deformation"] == pytest.approx(abs(s_hat - s) / 8.0, rel=1e-10)
    assert row["real_deformation"] == pytest.approx((s_hat - s).real / 8.0, rel=1e-8)
    assert row["imag_deformation"] == pytest.approx((s_hat - s).imag / 8.0, rel=1e-10)


def test_dominant_is_the_least_damped_oscillation(report):
    oscillations = report.table[report.table["imag"] > 0]
    assert isinstance(report.dominant, pd.Series)
    assert report.dominant["damping_ratio"] == oscillations["damping_ratio"].min()
    assert report.dominant["damping_ratio"] > 0


def test_a_system_without_oscillation_has_no_dominant_mode():
    report = deformation(ode(np.diag([-1.0, -2.0])), SingleRate("TM", 0.1))
    assert report.dominant is None
    assert report.stable
    str(report)


@pytest.mark.parametrize(("method", "order"), [("FEM", 1), ("TM", 2), ("BEM", 1), ("SDIRK2", 2), ("RK4", 4)])
def test_deformation_falls_with_the_order_of_the_method(method, order):
    linear = random_dae(0, stiff=20.0)
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    size = [deformation(linear, SingleRate(method, h)).dominant["relative_deformation"] for h in steps]
    slopes = np.diff(np.log(size)) / np.diff(np.log(steps))
    np.testing.assert_allclose(slopes, order, atol=0.2)


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize(
    ("predictor", "solution", "order"),
    [
        ("FEM", "TM", 2),
        ("TM", "TM", 2),
        ("BEM", "TM", 2),
        ("TM", "BEM", 1),
        ("BEM", "BEM", 1),
        ("extrapolation", "TM", 2),
        ("extrapolation", "BEM", 1),
    ],
)
def test_deformation_of_the_multirate_scheme_falls_with_its_order(predictor, solution, order, interpolation):
    """A predictor of order 1 costs no order: its error is O(h^2) and enters f only."""
    linear = random_dae(0, stiff=20.0)
    split = partition(linear, [0, 1], [0, 2])
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    size = [
        deformation(linear, Multirate(split, h, 4, predictor, solution, interpolation)).dominant[
            "relative_deformation"
        ]
        for h in steps
    ]
    slopes = np.diff(np.log(size)) / np.diff(np.log(steps))
    np.testing.assert_allclose(slopes, order, atol=0.2)


def test_stable_report_says_so():
    report = deformation(oscillator(), SingleRate("TM", 0.05))
    assert report.stable
    assert report.spectral_radius < 1.0
    assert report.verdict == "Numerically stable at h = 0.05 s."


def test_undamped_oscillation_under_tm_is_stable():
    """|z| = 1 exactly: rounding is no instability."""
    report = deformation(oscillator(damping=0.0), SingleRate("TM", 0.05))
    assert report.stable
    assert report.spectral_radius == 1.0


def test_unstable_scheme_is_blamed_on_the_scheme():
    """Forward Euler: |z|^2 = (1 - 0.2 h)^2 + (8^2 - 0.2^2) h^2 = 1.14 at h = 0.05."""
    report = deformation(oscillator(damping=0.2), SingleRate("FEM", 0.05))
    assert not report.stable
    assert report.spectral_radius > 1.0
    assert report.verdict.startswith("Unstable: mode -0.2 ± j7.99")
    assert "damped in the system, grows, |z| = 1.06771" in report.verdict


def test_unstable_system_is_not_blamed_on_the_scheme():
    report = deformation(oscillator(damping=-0.2), SingleRate("TM", 0.05))
    assert not report.stable
    assert report.verdict.startswith("The linearised system is unstable")
    assert "The system itself is unstable: mode 0.2 ± j7.99" in report.warnings[0]


def test_a_scheme_that_hides_an_instability_says_so():
    report = deformation(oscillator(damping=-0.2), SingleRate("BEM", 0.05))
    assert report.stable
    assert any("The scheme hides this: it damps mode 0.2 ± j7.99" in warning for warning in report.warnings)


GROWING = oscillator(damping=-0.2)


@pytest.mark.parametrize(
    "judged",
    [
        lambda scheme: deformation(GROWING, scheme),
        lambda scheme: deformation(GROWING, scheme, modes=1),  # the sparse path
        lambda scheme: OneStepModes.of(GROWING).deformation(scheme),
    ],
)
def test_who_is_unstable_is_the_same_on_every_path(judged):
    """Backward Euler multiplies s by 1 / (1 - h s): |z| = 0.93 at 50 ms, 1.0002 at 1 ms; TM never hides."""
    s = complex(0.2, np.sqrt(64.0 - 0.04))
    seen = {}
    for method, h in (("BEM", 0.05), ("BEM", 0.001), ("TM", 0.05)):
        report = judged(SingleRate(method, h))
        assert report.growing == (pytest.approx(s),)
        seen[method, h] = (
            report.stable,
            report.verdict.startswith("The linearised system is unstable"),
            report.hidden,
        )
    assert seen["BEM", 0.05] == (True, False, (pytest.approx(s),))
    assert seen["BEM", 0.001] == seen["TM", 0.05] == (False, True, ())
    assert OneStepModes.of(GROWING).deformation(SingleRate("BEM", 0.05)).hidden == (pytest.approx(s),)


def test_double_zero_is_no_instability():
    """Angle and speed of a machine without governor or damping: a Jordan block at 0, in a mixed basis."""
    block = np.zeros((4, 4))
    block[0, 1] = 377.0
    block[2:, 2:] = [[-0.2, 8.0], [-8.0, -0.2]]
    basis = np.eye(4) + 0.4 * np.random.default_rng(3).standard_normal((4, 4))
    linear = ode(basis @ block @ np.linalg.inv(basis))
    for method in ("TM", "BEM", "SDIRK2"):
        report = deformation(linear, SingleRate(method, 0.05))
        assert report.stable
        assert report.spectral_radius == 1.0
        assert spectral_radius(linear, SingleRate(method, 0.05)) == 1.0
        zero = report.table[report.table["status"] == "zero mode"]
        assert len(zero) == 2
        assert (zero["real"] == 0.0).all()
        assert zero["relative_deformation"].isna().all()
        assert any("2 zero modes" in warning for warning in report.warnings)
        assert report.dominant["imag"] == pytest.approx(8.0)


def test_diverging_corrections_are_unusable():
    """Two variables that drive each other hard from both sides of the partition."""
    linear = ode([[-1.0, 300.0], [-300.0, -1.0]])
    scheme = Multirate(partition(linear, [0], []), 0.1, 2, "TM", "TM", corrections="converge")
    report = deformation(linear, scheme)
    assert not report.stable
    assert report.verdict.startswith("Unusable: the corrections diverge (error times ")
    assert "try a smaller h_slow" in report.verdict


def test_spectral_radius_is_that_of_the_report(report):
    linear = random_dae(0)
    assert spectral_radius(linear, report.scheme) == report.spectral_radius


def test_unknown_pencil_is_refused():
    with pytest.raises(SchemeError, match="pencil = 'paper': must be one of 'exact', 'published'"):
        deformation(random_dae(0), SingleRate("TM", 0.1), pencil="paper")


def test_terminal_text(report):
    text = str(report)
    assert "Mode deformation, exact pencil" in text
    assert "4 of 6" not in text
    assert "2 of 6 states and 2 of 5 algebraic variables fast" in text
    assert report.verdict in text
    assert "* least damped oscillation" in text
    assert max(map(len, text.splitlines())) <= 110


def test_csv_keeps_every_figure(report, tmp_path):
    path = tmp_path / "modes.csv"
    report.to_csv(path)
    read = pd.read_csv(path, float_precision="round_trip")  # pandas 2 reads the last bit amiss otherwise
    pd.testing.assert_frame_equal(read, report.table, check_exact=True)


def test_html_is_one_page_with_its_figures(report, tmp_path):
    path = tmp_path / "modes.html"
    report.to_html(path)
    text = path.read_text()
    assert text.count("<svg") == 3  # oscillations, all modes, bars
    assert not re.search(r"(src|href)=.https?:", text.replace("http://www.w3.org/1999/xlink", ""))
    assert "<script" not in text
    assert report.verdict in text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("write", "name"), [("to_csv", "file.csv"), ("to_html", "file.html")])
def test_an_unwritable_place_is_named_and_nothing_is_left(report, tmp_path, write, name):
    with pytest.raises(InputError, match=r"cannot write .*missing.*No such file or directory"):
        getattr(report, write)(tmp_path / "missing" / name)
    assert not list(tmp_path.iterdir())


def test_report_can_be_pickled(report):
    copy = pickle.loads(pickle.dumps(report))
    pd.testing.assert_frame_equal(copy.table, report.table)
    assert copy.scheme == report.scheme
    assert copy.verdict == report.verdict
