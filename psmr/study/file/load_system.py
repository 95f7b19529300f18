"""From a case file to the system at its equilibrium."""

from __future__ import annotations

import warnings

from psmr.base.errors import PsmrWarning
from psmr.dae.system.system import System
from psmr.files.read import CaseFile

FAR = 1e-3
"""Distance of voltages in pu, as vectors, from which a solution is another one than the stored one."""


def load_system(file: CaseFile) -> System:
    """Return the system of a case file at its equilibrium.

    Warns
    -----
    PsmrWarning
        Where the power flow is further than `FAR` from the solution that the file stores, with the worst
        buses.
    """
    from psmr.network.start.initialise import build

    case = file.read()
    flow = file.solve(case)
    stored = flow.stored
    if stored is not None and stored.largest > FAR:
        words = f"{case.source or case.name}: the power flow is {stored}"
        warnings.warn(words, PsmrWarning, stacklevel=2)
    return build(case, flow, start_at_limits=file.start_at_limits, dynamic=file.dynamic)
