"""Eigenvalues of the systems in ANDES' package, against the pencil of ANDES' equations and time constants.

Jacobians are central differences of ANDES' f and g. Its own have the derivatives of the same equations, with
1e-8 added to some diagonals, but for the sources of ESST3A and ESST4B: a test below.
"""

import numpy as np
import pytest

from tests.peers.andes_system import aligned
from tests.peers.pairs import PAIRS
from tests.peers.pencils import differenced, eigenvalues, jacobian, matched, own_eigenvalues

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:a limit is touched")]

# Measured: 1.4e-9 at most, by the differences.
TOLERANCE = 1e-8


@pytest.mark.parametrize("name", PAIRS)
def test_eigenvalues(name, tmp_path):
    pair = PAIRS[name]
    ours, theirs = aligned(pair.raw_path, pair.compared_in(tmp_path))
    found, expected = own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs))
    assert len(found) == len(expected)
    assert matched(found, expected)[0][0] <= TOLERANCE


def test_jacobian_of_andes(tmp_path):
    """Without the derivatives of the voltage that feeds ESST3A, v_e, with respect to what it is made of."""
    pair = PAIRS["ieee14"]
    _, theirs = aligned(pair.raw_path, pair.compared_in(tmp_path))
    names = np.array([*theirs.dae.x_name, *theirs.dae.y_name])
    missing = np.abs(jacobian(theirs) - differenced(theirs)) > 1e-6
    rows, columns = ({name.rpartition(" ")[0] for name in names[i]} for i in np.nonzero(missing))
    assert rows == {"IN ESST3A", "VB_x ESST3A"}
    assert columns == {"vd GENROU", "vq GENROU", "Id GENROU", "Iq GENROU"}
