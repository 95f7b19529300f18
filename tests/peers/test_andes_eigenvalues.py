"""Eigenvalues of the systems in ANDES' package, against the pencil of ANDES' Jacobians."""

import pytest

from tests.peers.andes_system import aligned
from tests.peers.pairs import PAIRS
from tests.peers.pencils import eigenvalues, jacobian, matched, own_eigenvalues

pytestmark = pytest.mark.peers

# Measured: 1e-15, 1.6e-8 and 1.3e-12.
TOLERANCE = {"kundur_gencls": 1e-12, "npcc_full": 1e-7, "wecc_gencls": 1e-10}


@pytest.mark.parametrize("name", TOLERANCE)
def test_eigenvalues(name):
    ours, theirs = aligned(PAIRS[name].raw_path, PAIRS[name].dyr_path)
    error, _, _ = matched(own_eigenvalues(ours), eigenvalues(theirs, jacobian(theirs)))
    assert error[0] <= TOLERANCE[name]


def test_every_pair_is_compared():
    assert set(TOLERANCE) == set(PAIRS)
