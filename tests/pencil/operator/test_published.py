"""The published pencil: its block structure, and the law behind the paper's Table 2."""

import numpy as np
import pytest
import scipy.linalg

from psmr import Multirate, SingleRate, deformation
from psmr.errors import SchemeError
from psmr.pencil import published_pencil
from tests.internals import published_multipliers
from tests.pencil.oracle import partition, random_dae


def scheme_of(linear, ratio, predictor="FEM", solution="TM", h_slow=0.04):
    return Multirate(partition(linear, [0, 1], [0, 2]), h_slow, ratio, predictor, solution)


@pytest.mark.parametrize("ratio", [1, 2, 3, 5])
@pytest.mark.parametrize("pair", [("FEM", "TM"), ("TM", "TM"), ("BEM", "BEM")])
def test_the_parts_have_the_eigenvalues_of_the_whole(ratio, pair):
    linear = random_dae(0)
    scheme = scheme_of(linear, ratio, *pair)
    left, right = (matrix.toarray() for matrix in published_pencil(linear, scheme))
    assert left.shape == (ratio * 11, ratio * 11)
    whole = scipy.linalg.eigvals(right, left)
    parts = published_multipliers(linear, scheme).z
    # Zeros that belong together scatter to the square root of the rounding; none of the others is that small.
    whole = whole[np.abs(whole) > 1e-3]
    parts = parts[np.abs(parts) > 1e-3]
    assert len(whole) == len(parts)
    for z in parts:
        assert np.abs(whole - z).min() < 1e-6 * max(1.0, abs(z))


@pytest.mark.parametrize("h_slow", [0.01, 0.05, 0.1])
def test_its_deformation_is_that_of_one_explicit_fast_step(h_slow):
    """|s| hf / 2 with FEM prediction, whatever h_slow is: log(1 + h s) / h - s = -h s^2 / 2 + ..."""
    linear, h_fast = random_dae(0), 0.002
    report = deformation(linear, scheme_of(linear, round(h_slow / h_fast), h_slow=h_slow), pencil="published")
    size = np.hypot(report.dominant["real"], report.dominant["imag"])
    assert report.dominant["relative_deformation"] == pytest.approx(0.5 * size * h_fast, rel=0.02)
    assert report.step == pytest.approx(h_fast)
    assert "no simulation shows" in " ".join(str(report).split())


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"interpolation": "spline"}, "needs interpolation = 'linear', not 'spline'"),
        ({"corrections": 1}, "needs corrections = 0, not 1"),
        ({"predictor": "extrapolation"}, "needs predictor = 'FEM', 'TM' or 'BEM', not 'extrapolation'"),
        ({"predict": "slow"}, "needs predict = 'all', not 'slow'"),
    ],
)
def test_what_the_paper_does_not_give_is_refused(choice, message):
    linear = random_dae(0)
    scheme = Multirate(partition(linear, [0], [0]), 0.02, 4, **choice)
    with pytest.raises(SchemeError, match=message):
        published_pencil(linear, scheme)


def test_single_rate_is_refused():
    with pytest.raises(SchemeError, match="published pencil is of the multirate scheme"):
        deformation(random_dae(0), SingleRate("TM", 0.01), pencil="published")
