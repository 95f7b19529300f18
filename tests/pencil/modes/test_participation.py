"""Participation factors of chosen modes are those of the whole spectrum."""

import numpy as np
import pytest
import scipy.linalg

import psmr
from psmr.errors import InputError
from tests.internals import LineRow, chain


@pytest.fixture(scope="module")
def row_of_eight(wscc9):
    tie = LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1)
    return psmr.build(chain(psmr.read_case(wscc9 / "wscc9.toml"), 8, tie, inertia_spread=0.1)).linearise()


def test_factors_are_those_of_the_state_matrix(row_of_eight):
    table = psmr.participation(row_of_eight, 12, least=0.0)
    values, left, right = scipy.linalg.eig(row_of_eight.state_matrix(), left=True, right=True)
    assert table["mode"].nunique() == 12
    for _, rows in table.groupby("mode"):
        s = complex(rows["real"].iloc[0], rows["imag"].iloc[0])
        k = int(np.abs(values - s).argmin())
        assert abs(values[k] - s) < 1e-9
        factors = np.abs(left[:, k].conj() * right[:, k])
        expected = dict(zip(row_of_eight.names_x, factors / factors.sum(), strict=True))
        assert len(rows) == row_of_eight.n
        for state, share in zip(rows["state"], rows["participation"], strict=True):
            assert share == pytest.approx(expected[state], abs=1e-8)
        condition = 1.0 / abs(np.vdot(left[:, k], right[:, k]))
        assert rows["condition"].iloc[0] == pytest.approx(condition, rel=1e-6)
    assert table["residual"].max() < 1e-13
    assert table["left_residual"].max() < 1e-13


def test_small_shares_are_left_out(row_of_eight):
    table = psmr.participation(row_of_eight, {"band_hz": (1.0, 3.0), "least_damped": 3})
    assert table["participation"].min() >= 0.01
    assert (table.groupby("mode")["participation"].sum() <= 1.0).all()
    assert table["state"].iloc[0].split(".")[1] in ("delta", "omega")


def test_a_mode_that_does_not_exist_is_refused(row_of_eight):
    with pytest.raises(InputError, match="no mode within"):
        psmr.participation(row_of_eight, [-50 + 90j])
