"""Stabilisers with each input code: eigenvalues with them at every machine, in both programs."""

import dataclasses

import numpy as np
import pytest

from psmr import build, read_case
from tests.peers.andes_system import aligned, load, shared_flow, start
from tests.peers.definitions import as_andes
from tests.peers.pairs import written
from tests.peers.pencils import differenced, eigenvalues, matched, own_eigenvalues
from tests.peers.records import EXCITER, MACHINE, RAW
from tests.peers.test_andes_models import TOLERANCE

pytestmark = pytest.mark.peers

FILTER = 0.1
"""s: time constant of ANDES' derivative of a bus's angle (BusFreq, Tw)."""
REST = "0.06 0.002 0.1 0.003 0.05 0.001 0.3 0.04 0.2 0.05 5.0 5.0 {} 0.1 -0.1 0.0 0.0"
RECORDS = {
    f"IEEEST {code}": f"'IEEEST' 1 {code} 0 {REST.format(gain)}"
    for code, gain in ((2, 2.0), (3, -0.1), (5, 0.2))
} | {
    f"ST2CUT {a} {b}": f"'ST2CUT' 1 {a} 0 {b} 0 {k_a} {k_b}"
    " 0.03 0.05 3.0 3.5 0.2 0.04 0.3 0.05 0.1 0.06 0.1 -0.1 0.0 0.0"
    for a, b, k_a, k_b in ((3, 1, -0.1, 1.0), (1, 2, 1.0, 1.0), (5, 3, 0.2, -0.1))
}


def files(folder, stabiliser):
    parts = (MACHINE, EXCITER, stabiliser)
    return written(folder / "case.dyr", [f"{bus} {part}" for bus in (1, 2, 3, 4) for part in parts])


def filtered(case):
    """Give the stabilisers ANDES' time constant of a derivative."""
    plants = []
    for plant in case.generators:
        *others, stabiliser = plant.devices
        own = dataclasses.replace(stabiliser, parameters={**stabiliser.parameters, "t_f": FILTER})
        plants.append(dataclasses.replace(plant, devices=(*others, own)))
    return dataclasses.replace(case, generators=tuple(plants))


@pytest.mark.parametrize("name", RECORDS)
def test_input_codes(name, tmp_path):
    """Measured: 4e-9 at most; ANDES without the second filter that its frequency of a bus has (Tf)."""
    dyr = files(tmp_path, RECORDS[name])
    theirs = load(RAW, dyr)
    for i in range(theirs.BusFreq.n):
        theirs.BusFreq.Tf.v[i] = 0.0
    start(theirs)
    case = filtered(as_andes(read_case(RAW, dyr, mechanical="torque")))
    ours = build(case, shared_flow(case, theirs))
    error, _, _ = matched(own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs)))
    assert error[0] <= TOLERANCE


@pytest.mark.parametrize(("code", "read"), [(3, {"te"}), (4, {"tm"}), (6, set())])
def test_what_andes_measures(code, read, tmp_path):
    """Codes 4 and 6 are not compared: ANDES' accelerating power is without the electrical one, and its
    derivative of the voltage is in no equation.
    """
    _, theirs = aligned(RAW, files(tmp_path, f"'IEEEST' 1 {code} 0 {REST.format(0.1)}"))
    row = differenced(theirs)[theirs.dae.n + theirs.IEEEST.sig.a[0]]
    names = [*theirs.dae.x_name, *theirs.dae.y_name]
    assert {names[j].split()[0] for j in np.flatnonzero(np.abs(row) > 1e-7)} == read | {"sig"}
