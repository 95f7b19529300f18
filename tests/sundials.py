"""SUNDIALS' IDA (BDF of variable order) on the f and g of a system, for comparison."""

import numpy as np
import pytest


def solver(system, rtol=1e-9, atol=1e-11):
    """Return IDA for the residual [x' - f; g] with the exact Jacobian; skip the test where it is missing."""
    ida = pytest.importorskip("sksundae.ida")
    n, size = system.n, system.n + system.m

    def residual(t, w, rate, out):
        values = system.residual(system.buffer(w[:n], w[n:], t=t))
        out[:n] = rate[:n] - values[:n]
        out[n:] = values[n:]

    def jacobian(t, w, rate, out, factor, matrix):
        matrix[:] = system.jacobian(system.buffer(w[:n], w[n:], t=t)).toarray()
        matrix[:n] *= -1
        matrix[np.arange(n), np.arange(n)] += factor

    return ida.IDA(
        residual,
        jacfn=jacobian,
        algebraic_idx=np.arange(n, size),
        rtol=rtol,
        atol=atol,
        max_num_steps=100_000,
        calc_initcond=None,
    )
