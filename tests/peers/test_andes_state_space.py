"""Transfer functions between injected powers and voltages, angles and speeds, against ANDES' matrices.

The power balance of a bus of ANDES counts what is drawn; its matrices are central differences of its f and g,
as in `test_andes_eigenvalues`.
"""

import numpy as np
import pytest

from tests.peers.andes_system import aligned, machines
from tests.peers.pairs import PAIRS
from tests.peers.pencils import differenced

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:a limit is touched")]

# Of the largest gain. Measured: 1.0e-9 at most, by the differences.
TOLERANCE = 1e-8


@pytest.mark.parametrize("name", ["kundur_full", "kundur_gencls", "ieee14"])
def test_transfer_functions(name, tmp_path):
    pair = PAIRS[name]
    ours, theirs = aligned(pair.raw_path, pair.compared_in(tmp_path))
    dae, n = theirs.dae, theirs.dae.n
    number = [int(bus) for bus in theirs.Bus.idx.v]
    chosen = number[:: max(1, len(number) // 4)]
    base = theirs.config.mva
    speeds = [name for name in ours.names_x if name.endswith(".omega") and name.startswith("G")]
    assert len(speeds) == len(machines(theirs))

    outputs = [f"bus{k}.{q}" for k in chosen for q in ("v", "angle")] + speeds
    own = ours.state_space([f"bus{k}.{q}" for k in chosen for q in "pq"], outputs)

    whole, time = differenced(theirs), np.r_[dae.Tf, np.zeros(dae.m)]
    places = [number.index(k) for k in chosen]
    b = np.zeros((len(whole), 2 * len(chosen)))
    for column, place in enumerate(places):
        b[n + theirs.Bus.a.a[place], 2 * column] = b[n + theirs.Bus.v.a[place], 2 * column + 1] = -1.0 / base
    rows = [n + address for k in places for address in (theirs.Bus.v.a[k], theirs.Bus.a.a[k])]
    rows += [model.omega.a[i] for model, i in machines(theirs)]
    for f in (0.1, 0.7, 3.0):
        found = own.response(f).values[0]
        expected = np.linalg.solve(2j * np.pi * f * np.diag(time) - whole, b)[rows]
        assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()
