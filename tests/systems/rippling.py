"""A linear DAE with two rates and its exact solution."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tests.programs.benchmarks.two_rates.baselines import Problem


def rippling(omega: float = 60.0) -> Problem:
    """Return a driven fast oscillator, two slow states and two algebraic variables, with exact values."""
    a = np.array(
        [
            [-1.0, 0.5, 0.0, 0.0, 0.5, 0.0],
            [-0.5, -0.6, 0.0, 0.0, 0.0, 0.3],
            [0.0, 0.0, -40.0, 30.0, 20.0, 0.0],
            [0.0, 0.0, -30.0, -40.0, 0.0, 10.0],
            [0.4, 0.0, 0.2, 0.0, -1.0, 0.0],
            [0.0, 0.4, 0.0, 0.2, 0.1, -1.0],
        ]
    )
    drive = np.array([0.0, 0.0, 40.0, 0.0, 0.0, 0.0])
    n, mass = 4, np.diag([1.0] * 4 + [0.0] * 2)
    ripple = np.linalg.solve(1j * omega * mass - a, drive.astype(complex))
    folded = a[:n, :n] - a[:n, n:] @ np.linalg.solve(a[n:, n:], a[n:, :n])
    values, vectors = np.linalg.eig(folded)
    begin = np.linalg.solve(vectors, np.array([1.0, 0.5, 0.0, 0.0]) - ripple[:n].real)
    times = np.linspace(0.0, 0.4, 3)
    free = (vectors @ (begin[:, None] * np.exp(values[:, None] * times))).real.T
    free = np.hstack([free, -(np.linalg.solve(a[n:, n:], a[n:, :n]) @ free.T).T])
    exact = free + (ripple[:, None] * np.exp(1j * omega * times)).real.T
    return Problem(
        "linear",
        n,
        lambda w, t: a @ w + drive * np.cos(omega * t),
        lambda w, t: sparse.csc_matrix(a),
        np.array([False, False, True, True, False, False]),
        times,
        exact,
        np.arange(n + 2),
        np.array([0, 0, 1, 1, 1, 0]),
    )
