"""The rows and columns of a linear DAE as a partition sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from partitioning import Partition
from psmr.dae.system.linear import LinearDae
from psmr.integrate.solve.sides import require_same_system
from psmr.integrate.step.program import Side


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
    def of_partition(cls, linear: LinearDae, split: Partition | None) -> Rows:
        """Take them from a partition; without one every variable is slow.

        Raises
        ------
        SchemeError
            When the partition is of another system.
        """
        size = linear.n + linear.m
        fast_row = fast_variable = np.zeros(size, dtype=bool)
        if split is not None:
            require_same_system(split, linear)
            fast_row = np.concatenate([split.fast_x, split.fast_g])
            fast_variable = np.concatenate([split.fast_x, split.fast_y])
        identity = sp.eye_array(size, format="csr")
        return cls(
            np.flatnonzero(fast_row),
            np.flatnonzero(~fast_row),
            np.flatnonzero(fast_variable),
            np.flatnonzero(~fast_variable),
            identity[np.flatnonzero(fast_variable)],
            identity[np.flatnonzero(~fast_variable)],
        )

    def variables(self, side: Side) -> np.ndarray:
        """Return the positions of the variables of a side."""
        return self.of(side)[1]

    def of(self, side: Side) -> tuple[np.ndarray, np.ndarray, sp.csr_array]:
        """Return rows and variables of a side, and the matrix that picks the variables of the other side."""
        if side == "fast":
            return self.fast, self.phi, self.pick_slow
        if side == "slow":
            return self.slow, self.sigma, self.pick_fast
        every = np.arange(self.pick_fast.shape[1])
        return every, every, self.pick_fast[:0]


def matrices(linear: LinearDae) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
    """E = diag(I_n, 0), the rates [J_f; 0] and the constraints [0; J_g], each (N, N)."""
    n, m = linear.n, linear.m
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, m]), format="csr")
    above, below = sp.csr_array((n, n + m)), sp.csr_array((m, n + m))
    jacobian = sp.csr_array(linear.jacobian_at_once())
    rates = sp.vstack([jacobian[:n], below], format="csr")
    constraints = sp.vstack([above, jacobian[n:]], format="csr")
    return mass, rates, constraints


def implicit(parts: Sequence[sp.csr_array], a_star: float) -> sp.csr_array:
    """E - [a* J_f; J_g], of the three `matrices`."""
    mass, rates, constraints = parts
    return (mass - a_star * rates - constraints).tocsr()
