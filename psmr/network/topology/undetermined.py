"""Islands of converters in which nothing relates the voltage to the current.

The output current of a converter that forms the voltage is a state. Where neither load nor shunt nor line
charging is left, the balance of currents asks that state to be zero and does not contain the voltage: the
converter supplies nothing, and blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.integrate.solve.block import make_block
from psmr.integrate.solve.impasse import matrix_at

SINGULAR = 1e-10
"""Smallest singular value of an island's admittances, by the largest, that counts as none."""


def undetermined(
    system: System,
    parameters: Sequence[NDArray[np.float64]],
    island: frozenset[str],
    out: Collection[str],
) -> bool:
    """Return whether the currents of an island do not depend on its voltages in some direction.

    Parameters
    ----------
    system, parameters
        The system of the run at its start, and its parameter matrices as they are.
    island
        Names of its buses.
    out
        Names of the devices out of service.
    """
    if any(f"{bus}.v_re" in system.names_x for bus in island):
        return False  # a capacitance holds the voltage
    rows = [system.n + system.names_g.index(f"{bus}.i_{part}") for bus in island for part in ("re", "im")]
    columns = [system.index(f"{bus}.v_{part}") for bus in island for part in ("re", "im")]
    places = np.sort(rows), np.sort(columns)
    block = make_block(system, "event", parameters, system.w0, *places, out)
    sizes = np.linalg.svd(matrix_at(block, system.w0).toarray(), compute_uv=False)
    return bool(sizes[-1] <= SINGULAR * max(sizes[0], 1.0))
