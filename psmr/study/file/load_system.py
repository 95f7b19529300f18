"""From a case file to the system at its equilibrium."""

from __future__ import annotations

from psmr.dae.system.system import System
from psmr.files.read import CaseFile


def load_system(file: CaseFile) -> System:
    """Return the system of a case file at its equilibrium."""
    from psmr.network.start.initialise import build

    case = file.read()
    return build(case, file.solve(case), start_at_limits=file.start_at_limits)
