"""The rows and columns of a linear DAE as a partition sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae
from psmr.errors import SchemeError
from psmr.numerics.schemes.scheme import Multirate


@dataclass(frozen=True, eq=False)
class Rows:
    """Where the fast and the slow rows and variables are.

    Attributes
    ----------
    fast, slow
        Positions of the rows.
    phi, sigma
        Positions of the fast and of the slow variables.
    pick_fast, pick_slow
        The matrices that take those variables out of w.
    """

    fast: np.ndarray
    slow: np.ndarray
    phi: np.ndarray
    sigma: np.ndarray
    pick_fast: sp.csr_array
    pick_slow: sp.csr_array

    @classmethod
    def of(cls, linear: LinearDae, scheme: Multirate) -> Rows:
        """Take them from the scheme's partition.

        Raises
        ------
        SchemeError
            When the partition is of another system.
        """
        split = scheme.split
        for what, ours, theirs in (
            ("states", linear.names_x, split.names_x),
            ("algebraic variables", linear.names_y, split.names_y),
        ):
            if tuple(ours) != tuple(theirs):
                raise SchemeError(
                    f"split: the partition is of another system: its {len(theirs)} {what} are not the "
                    f"{len(ours)} of the linear model; make it from this linear model"
                )
        fast_row = np.concatenate([split.fast_x, split.fast_g])
        fast_variable = np.concatenate([split.fast_x, split.fast_y])
        identity = sp.eye_array(linear.n + linear.m, format="csr")
        return cls(
            np.flatnonzero(fast_row),
            np.flatnonzero(~fast_row),
            np.flatnonzero(fast_variable),
            np.flatnonzero(~fast_variable),
            identity[np.flatnonzero(fast_variable)],
            identity[np.flatnonzero(~fast_variable)],
        )


def matrices(linear: LinearDae) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
    """E = diag(I_n, 0), the rates [J_f; 0] and the constraints [0; J_g], each (N, N)."""
    n, m = linear.n, linear.m
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, m]), format="csr")
    above, below = sp.csr_array((n, n + m)), sp.csr_array((m, n + m))
    jacobian = sp.csr_array(linear.jacobian())
    rates = sp.vstack([jacobian[:n], below], format="csr")
    constraints = sp.vstack([above, jacobian[n:]], format="csr")
    return mass, rates, constraints


def implicit(linear: LinearDae, a_star: float) -> sp.csr_array:
    """E - [a* J_f; J_g]."""
    mass, rates, constraints = matrices(linear)
    return (mass - a_star * rates - constraints).tocsr()
