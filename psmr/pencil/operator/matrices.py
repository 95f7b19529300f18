"""The matrices of a linear DAE from which the equations of its steps are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae


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
