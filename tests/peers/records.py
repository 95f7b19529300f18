"""A DYR record of every model that psmr and ANDES both have, to try one at a time in Kundur's two areas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from psmr import Case
from tests.internals import component_for
from tests.peers.andes_system import aligned
from tests.peers.definitions import as_andes
from tests.peers.pairs import CASES, written
from tests.peers.pencils import Complexes, differenced, eigenvalues, own_eigenvalues

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
    "EXDC2": "'EXDC2' 1 0.02 20.0 0.02 1.2 0.8 9.0 -7.0 1.0 0.83 0.075 1.246 0.0 2.0 0.05 3.0 0.4",
    "ESDC2A": "'ESDC2A' 1 0.02 20.0 0.02 1.2 0.8 9.0 -7.0 1.0 0.83 0.075 1.246 0.0 2.0 0.05 3.0 0.4",
    "AC8B": "'AC8B' 1 0.02 20.0 5.0 10.0 0.1 35.0 -35.0 35.0 -35.0 16.0 0.0 0.01 1.0 1.2 0.2 0.4 1.0 2.0 0.05"
    " 4.0 0.3",
    "EXST1": "'EXST1' 1 0.02 0.2 -0.2 1.0 5.0 100.0 0.02 7.0 -6.0 0.05 0.02 1.2",
    "ESST3A": "'ESST3A' 1 0.02 0.3 -0.3 8.0 1.0 5.0 20.0 0.1 99.0 -99.0 1.0 3.67 0.435 6.48 0.01 0.0098"
    " 4.86 3.33 0.4 99.0 0.0",
    "ESST4B": "'ESST4B' 1 0.02 10.0 10.0 8.0 -8.0 0.02 1.0 0.2 8.0 -8.0 0.1 6.5 0.3 20.0 0.08 0.1 10.0",
    "EXAC1": "'EXAC1' 1 0.02 0.5 0.1 100.0 0.02 20.0 -20.0 0.8 0.03 1.0 0.2 0.4 1.0 2.0 0.05 4.0 0.3",
    "EXAC4": "'EXAC4' 1 0.02 0.2 -0.2 1.0 5.0 100.0 0.02 7.0 -6.0 0.05",
    "TGOV1": "'TGOV1' 1 0.05 0.49 1.2 0.0 2.1 7.0 0.1",
    "IEEEG1": "'IEEEG1' 1 0 0 20.0 0.1 0.02 0.2 1.0 -1.0 1.2 0.0 0.3 0.3 0.0 7.0 0.4 0.0 0.5 0.3 0.0 0.0 0.0"
    " 0.0",
    "HYGOV": "'HYGOV' 1 0.05 0.4 8.0 0.05 0.2 0.2 1.2 0.0 1.5 1.2 0.2 0.08",
    "GAST": "'GAST' 1 0.05 0.4 0.1 3.0 1.2 2.0 1.2 0.0 0.1",
    "IEESGO": "'IEESGO' 1 0.2 0.1 0.05 0.3 7.0 0.5 20.0 0.7 0.4 1.2 0.0",
    "IEEEST": "'IEEEST' 1 1 0 0.06 0.002 0.1 0.003 0.05 0.001 0.3 0.04 0.2 0.05 5.0 5.0 2.0 0.1 -0.1 0.0 0.0",
    "ST2CUT": "'ST2CUT' 1 1 0 3 0 10.0 0.2 0.05 0.03 3.0 3.0 0.15 0.05 0.15 0.05 0.15 0.05 0.1 -0.1 0.0 0.0",
}


def spectra(
    model: str, folder: Path, alike: Callable[[Case], Case] = as_andes
) -> tuple[Complexes, Complexes]:
    """Return the eigenvalues of psmr and of ANDES with the model at every machine."""
    role, _ = component_for(model)
    parts = {"machine": MACHINE, role: RECORDS[model]}
    if role == "stabiliser":
        parts = {"machine": MACHINE, "exciter": EXCITER, role: RECORDS[model]}
    dyr = written(folder / "case.dyr", [f"{bus} {part}" for bus in (1, 2, 3, 4) for part in parts.values()])
    ours, theirs = aligned(RAW, dyr, alike)
    return own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs))
