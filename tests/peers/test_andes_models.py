"""One model at a time: the eigenvalues of Kundur's two areas with it at every machine, in both programs."""

import pytest

from psmr.io.psse_models import MODELS, component_for
from tests.peers.andes_system import aligned, andes
from tests.peers.pairs import CASES, written
from tests.peers.pencils import differenced, eigenvalues, matched, own_eigenvalues

pytestmark = pytest.mark.peers

RAW = CASES / "kundur" / "kundur.raw"
MACHINE = "'GENROU' 1 8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3 0.55 0.25 0.06 0.04 0.3"
EXCITER = "'SEXS' 1 0.1 10.0 100.0 0.1 -4.0 5.0"

# Values as in the data sheets' examples, away from every limit at the dispatch of the case.
RECORDS = {
    "GENCLS": "'GENCLS' 1 6.5 2.0",
    "GENROU": MACHINE,
    "SEXS": EXCITER,
    "IEEET1": "'IEEET1' 1 0.02 50.0 0.06 7.0 -7.0 1.0 0.5 0.08 1.0 0.0 2.0 0.05 3.0 0.4",
    "IEEEX1": "'IEEEX1' 1 0.02 40.0 0.06 0.5 0.1 7.0 -7.0 1.0 0.5 0.08 1.0 0.0 2.0 0.05 3.0 0.4",
    "EXST1": "'EXST1' 1 0.02 0.2 -0.2 1.0 5.0 100.0 0.02 7.0 -6.0 0.05 0.02 1.2",
    "ESST3A": "'ESST3A' 1 0.02 0.3 -0.3 8.0 1.0 5.0 20.0 0.1 99.0 -99.0 1.0 3.67 0.435 6.48 0.01 0.0098"
    " 4.86 3.33 0.4 99.0 0.0",
    "ESST4B": "'ESST4B' 1 0.02 10.0 10.0 8.0 -8.0 0.02 1.0 0.2 8.0 -8.0 0.1 6.5 0.3 20.0 0.08 0.1 10.0",
    "EXAC1": "'EXAC1' 1 0.02 0.5 0.1 100.0 0.02 20.0 -20.0 0.8 0.03 1.0 0.2 0.4 1.0 2.0 0.05 4.0 0.3",
    "TGOV1": "'TGOV1' 1 0.05 0.49 1.2 0.0 2.1 7.0 0.1",
    "IEEEG1": "'IEEEG1' 1 0 0 20.0 0.1 0.02 0.2 1.0 -1.0 1.2 0.0 0.3 0.3 0.0 7.0 0.4 0.0 0.5 0.3 0.0 0.0 0.0"
    " 0.0",
    "HYGOV": "'HYGOV' 1 0.05 0.4 8.0 0.05 0.2 0.2 1.2 0.0 1.5 1.2 0.2 0.08",
    "GAST": "'GAST' 1 0.05 0.4 0.1 3.0 1.2 2.0 1.2 0.0 0.1",
    "IEESGO": "'IEESGO' 1 0.2 0.1 0.05 0.3 7.0 0.5 20.0 0.7 0.4 1.2 0.0",
    "IEEEST": "'IEEEST' 1 1 0 0.06 0.002 0.1 0.003 0.05 0.001 0.3 0.04 0.2 0.05 5.0 5.0 2.0 0.1 -0.1 0.0 0.0",
    "ST2CUT": "'ST2CUT' 1 1 0 3 0 10.0 0.2 0.05 0.03 3.0 3.0 0.15 0.05 0.15 0.05 0.15 0.05 0.1 -0.1 0.0 0.0",
}
# Measured: 3e-8 at most, by the differences of the equations.
TOLERANCE = 1e-7


def pencils(model, folder):
    """Return the eigenvalues of psmr and of ANDES."""
    role, _ = component_for(model)
    parts = {"machine": MACHINE, role: RECORDS[model]}
    if role == "stabiliser":
        parts = {"machine": MACHINE, "exciter": EXCITER, role: RECORDS[model]}
    dyr = written(folder / "case.dyr", [f"{bus} {part}" for bus in (1, 2, 3, 4) for part in parts.values()])
    ours, theirs = aligned(RAW, dyr)
    return own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs))


@pytest.mark.parametrize("model", RECORDS)
def test_eigenvalues(model, tmp_path):
    error, _, _ = matched(*pencils(model, tmp_path))
    assert error[0] <= TOLERANCE


def test_every_model_that_both_have_is_compared():
    there = {name for models in andes.models.file_classes for name in models[1]}
    assert set(RECORDS) == {model for model in MODELS if component_for(model) and model in there}
