"""Eigenvalues of the systems in ANDES' package, against the pencil of ANDES' Jacobians."""

import warnings

import pytest

from psmr.errors import PsmrWarning
from psmr.grid.initialise import build
from psmr.io.read import read_case
from tests.peers.andes_system import (
    eigenvalues,
    jacobian,
    load,
    matched,
    own_eigenvalues,
    shared_flow,
    start,
)
from tests.peers.definitions import as_andes
from tests.peers.pairs import PAIRS

pytestmark = pytest.mark.peers

# Measured: 1e-15, 1.6e-8 and 1.3e-12.
TOLERANCE = {"kundur_gencls": 1e-12, "npcc_full": 1e-7, "wecc_gencls": 1e-10}


def both(pair, matching=as_andes):
    """Return psmr's system and ANDES' at their starts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        case = matching(read_case(pair.raw_path, pair.dyr_path, skip_unknown_models=bool(pair.left_out)))
    theirs = load(pair.raw_path, pair.dyr_path)
    start(theirs)
    return build(case, shared_flow(case, theirs)), theirs


@pytest.mark.parametrize("name", TOLERANCE)
def test_eigenvalues(name):
    ours, theirs = both(PAIRS[name])
    found = own_eigenvalues(ours)
    error, _, _ = matched(found, eigenvalues(theirs, jacobian(theirs)))
    assert error[0] <= TOLERANCE[name]


def test_every_pair_is_compared():
    assert set(TOLERANCE) == set(PAIRS)
