"""An explicit prediction that breaks down is said to, before the run; one that serves is not."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import partitioning
import psmr
from psmr.errors import PsmrWarning
from tests.converter_plants import plants_in
from tests.internals import LARGEST_GAIN, LinearDae, amplification, objection

H_FAST = 5e-4
CASES = Path(__file__).parents[3] / "cases"


@pytest.fixture(scope="module")
def plants():
    return plants_in("new-england", 5)


@pytest.fixture(scope="module")
def linear(plants):
    return plants.system.linearise()


def fem(split, h_slow, h_fast=H_FAST, **choices):
    return psmr.Multirate.from_steps(split, h_slow, h_fast, predictor="FEM", **choices)


def loop(k, a, unit=1.0):
    """Return x' = k (y - x) and y = a x, x counted in a unit; x is fast and y slow."""
    matrix = [[[-k]], [[k * unit]], [[a / unit]], [[-1.0]]]
    blocks = [sparse.csc_matrix(np.array(block)) for block in matrix]
    found = LinearDae(*blocks, ("d.x",), ("b.y",), ("b.g",), np.arange(2))
    return found, partitioning.by_hand(found, fast=["d.x"])


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_gain_is_the_closed_form_in_any_unit(unit):
    # x after i trapezoidal fast steps with y at 1: 1 - ((1 - p) / (1 + p))^i, p = k h_fast / 2. Of that y is
    # predicted as a (1 - 2 q) x explicitly and a (1 - q) / (1 + q) x implicitly, q = k (1 - a) h_slow / 2.
    k, a, h = 1000.0, 0.5, 0.02
    found, split = loop(k, a, unit)
    p, q = k * H_FAST / 2.0, k * (1.0 - a) * h / 2.0
    risen = max(1.0 - ((1.0 - p) / (1.0 + p)) ** i for i in (1, 2, 4, 8, 16, 32, 40))
    expected = a * abs((1.0 - 2.0 * q) - (1.0 - q) / (1.0 + q)) * risen
    assert amplification(found, fem(split, h)).gain == pytest.approx(expected, rel=1e-12)


def test_a_correction_takes_the_error_through_the_macro_step():
    # From x = 0 with y on the line from 0 to 1: x at the end, and with it y = a x.
    k, a, h = 1000.0, 0.5, 0.02
    found, split = loop(k, a)
    p, x = k * H_FAST / 2.0, 0.0
    for i in range(40):
        x = ((1.0 - p) * x + p * (2 * i + 1) / 40) / (1.0 + p)
    once, none = (amplification(found, fem(split, h, corrections=n)).gain for n in (1, 0))
    assert once == pytest.approx(none * a * x, rel=1e-12)


@pytest.mark.parametrize("h_slow", [0.02, 0.01, 0.005])
def test_stiff_plants_beside_an_explicit_prediction(plants, linear, h_slow):
    found = amplification(linear, fem(plants.partition(), h_slow))
    # Measured 47.6, 23.1 and 11.0; bus voltages are off by 0.8, 0.4 and 0.1 pu (docs/benchmarks/schemes.md).
    assert found.gain > 10.0
    assert found.breaks_down
    assert found.variable.rpartition(".")[0] in plants.plants


@pytest.mark.parametrize("h_slow", [0.02, 0.005])
def test_a_converter_in_full(h_slow):
    linear = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-emt.toml")).linearise()
    split = partitioning.by_device(linear, ["C3", "bus3"])
    assert "C3." in objection(linear, fem(split, h_slow))
    assert not objection(linear, fem(split, 0.001, 1e-4))


def test_what_is_advised_is_free_of_it(plants, linear):
    scheme = fem(plants.partition(), 0.02)
    assert objection(linear, replace(scheme, predict="slow")) == ""
    for other in ({"predictor": "TM"}, {"corrections": "converge"}, {"interface": "schur"}):
        assert amplification(linear, replace(scheme, **other)) is None
    assert amplification(linear, psmr.SingleRate("FEM", 0.001)) is None


def test_the_shorter_step_that_is_advised_serves():
    found, split = loop(1000.0, 0.5)
    words = objection(found, fem(split, 0.02))
    assert "foremost d.x" in words
    advised = float(words.partition("h_slow = 0.02 s")[2].partition("h_slow = ")[2].partition(" s")[0])
    assert amplification(found, fem(split, advised)).gain <= LARGEST_GAIN
    assert amplification(found, fem(split, 2 * advised)).gain > LARGEST_GAIN


def test_the_published_setting_serves():
    linear = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9.toml")).linearise()
    split = partitioning.by_participation(linear, delta=20.0)
    # Measured 5e-5, though 1 + h s is -49 for the transducers of 1 ms: these reach no voltage.
    assert amplification(linear, psmr.Multirate(split, 0.05, 10, "FEM", "TM")).gain < 1e-3


@pytest.mark.parametrize("study", ["fault-published", "load-trip-published", "deformation"])
def test_the_studies_with_an_explicit_prediction_serve(study):
    from psmr import read_study
    from tests.internals import prepare

    system, recipe = prepare(read_study(CASES / "wscc9" / f"{study}.toml"))
    scheme = recipe.scheme(system.linearise())
    assert scheme.predictor == "FEM"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psmr.certify(system, scheme).prediction == ""


def test_a_run_is_warned_of_before_it_starts_and_not_in_order(plants):
    scheme = fem(plants.partition(), 0.02)
    events = [psmr.ParameterStep(name, "v_2", 0.03, 0.02) for name in plants.plants]
    with pytest.warns(
        PsmrWarning, match=r"before the run: The explicit prediction breaks down.*predict='slow'"
    ):
        run = psmr.simulate(plants.system, scheme, 0.06, events)
    assert run.certificate.stable
    assert run.certificate.prediction in run.certificate.note
    assert sum("explicit prediction" in reason for reason in run.judgement.reasons) == 1
    assert "breaks down" in str(run.certificate.report)


def test_beyond_the_dense_certificate(plants, monkeypatch):
    monkeypatch.setattr("psmr.study.certificate.certify.LARGEST", 100)
    scheme = fem(plants.partition(), 0.02)
    with pytest.warns(PsmrWarning, match="The explicit prediction breaks down"):
        certificate = psmr.certify(plants.system, scheme, any_size=False)
    assert certificate.stable is None
    assert certificate.prediction in str(certificate)


def test_at_size(plants, linear):
    report = psmr.deformation(linear, fem(plants.partition(), 0.02), modes=1)
    assert report.prediction in report.warnings
    assert "G38_full" in report.prediction


def test_multipliers_of_zero_are_no_reason_for_numpy_to_warn(plants):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert psmr.certify(plants.system, fem(plants.partition(), 0.02, predict="slow")).stable
