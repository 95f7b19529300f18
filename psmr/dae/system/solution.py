"""Whether a point satisfies the algebraic equations of a system."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError

Reals = NDArray[np.float64]

OFF_SOLUTION = 1e-4
"""Part of max(1, |y|) by which algebraic variables of a point to linearise at may be off.

No tolerance of a run leaves more of them (`least_accurate` of `psmr.integrate.constants`); a load step of
one per cent moves voltages by ten times as much.
"""


class Whole(Protocol):
    """What is read of a system; see `psmr.dae.system.system.System` for the meaning of each."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def m(self) -> int: ...  # noqa: D102
    @property
    def names_y(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_g(self) -> tuple[str, ...]: ...  # noqa: D102
    def residual(self, w: Reals) -> Reals: ...  # noqa: D102


def require_solution(system: Whole, w: Reals, gy: sparse.csc_matrix) -> None:
    """Raise InputError for a buffer w that does not satisfy the algebraic equations."""
    g = system.residual(w)[system.n :]
    if not g.any():
        return
    try:
        off = np.abs(splu(sparse.csc_matrix(gy)).solve(g))
    except RuntimeError:  # singular: the state matrix says so
        return
    off /= np.maximum(1.0, np.abs(w[system.n : system.n + system.m]))
    if (off <= OFF_SOLUTION).all():
        return
    row, column = int(np.argmax(np.abs(g))), int(np.argmax(np.nan_to_num(off, nan=np.inf)))
    raise InputError(
        f"the point does not satisfy the algebraic equations of {system.name or 'the system'}: "
        f"{system.names_g[row]} has the residual {g[row]:.3g}, and {system.names_y[column]} is off by about "
        f"{off[column]:.2g}. After an event of a run the system is another one: take run.linearise(t), "
        "or solve for y"
    )
