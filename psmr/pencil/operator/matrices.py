"""The matrices of a linear DAE from which the equations of its steps are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae

Matrices = tuple[sp.csr_array, sp.csr_array, sp.csr_array]


def matrices(linear: LinearDae) -> Matrices:
    """Return `matrices_of` a linear DAE."""
    return matrices_of(sp.csr_array(linear.jacobian_at_once()), linear.n)


def matrices_of(jacobian: sp.csr_array, n: int) -> Matrices:
    """E = diag(I_n, 0), the rates [J_f; 0] and the constraints [0; J_g], each (N, N), with n states."""
    size = jacobian.shape[0]
    mass = sp.diags_array(np.repeat([1.0, 0.0], [n, size - n]), format="csr")
    count, (data, columns) = jacobian.indptr[n], (jacobian.data, jacobian.indices)
    above, below = np.minimum(jacobian.indptr, count), np.maximum(jacobian.indptr, count) - count
    rates = sp.csr_array((data[:count], columns[:count], above), shape=(size, size))
    constraints = sp.csr_array((data[count:], columns[count:], below), shape=(size, size))
    return mass, rates, constraints


def implicit(parts: Sequence[sp.csr_array], a_star: float) -> sp.csr_array:
    """E - [a* J_f; J_g], of the three `matrices`."""
    mass, rates, constraints = parts
    return (mass - a_star * rates - constraints).tocsr()
