"""Records thinned by error: what is left out is within the tolerance of the lines between what is kept."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError
from tests.internals import turned

FAULT = [psmr.Fault(bus=7, start=1.0, clear=1.05)]


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


def run_of(system, record=None):
    return psmr.simulate(system, psmr.SingleRate("TM", 2e-3), 10.0, FAULT, record=record, certify=False)


def seen(system, run):
    """Return all variables as the first angle sees them."""
    points, found = np.hstack([run.x, run.y]), turned(system)
    found.turn(points, -points[:, found.angles[0]])
    return points


@pytest.mark.parametrize("within", [1e-2, 1e-3, 1e-4])
def test_all_points_are_within_of_the_lines(system, within):
    whole, kept = run_of(system), run_of(system, psmr.Record(within=within))
    assert np.isin(kept.t, whole.t).all()
    for a, b in zip(kept.spans, whole.spans, strict=True):
        assert kept.t[a.first] == whole.t[b.first]
        assert kept.t[a.last - 1] == whole.t[b.last - 1]
        t, exact, rows = whole.t[b.rows], seen(system, whole)[b.rows], seen(system, kept)[a.rows]
        for k in range(exact.shape[1]):
            off = np.abs(np.interp(t, kept.t[a.rows], rows[:, k]) - exact[:, k])
            assert (off <= within * np.maximum(1.0, np.abs(exact[:, k])) + 1e-6).all()
    assert len(kept.t) < len(whole.t) * {1e-2: 0.1, 1e-3: 0.2, 1e-4: 0.5}[within]


def test_signals_that_are_chosen_decide_alone(system):
    whole, kept = run_of(system), run_of(system, psmr.Record(["G1.omega", "bus5.v"], within=1e-4))
    np.testing.assert_allclose(
        np.interp(whole.t[600:], kept.t, kept["bus5.v"]), whole["bus5.v"].iloc[600:], atol=1.1e-4
    )
    assert len(kept.t) < len(run_of(system, psmr.Record(within=1e-4)).t)


@pytest.mark.parametrize(
    ("more", "words"), [({"within": 2.0}, "between|below 1"), ({"every": 3}, "not with within")]
)
def test_bad_values_get_a_sentence(more, words):
    with pytest.raises(InputError, match=words):
        psmr.Record(**{"within": 1e-3} | more)
