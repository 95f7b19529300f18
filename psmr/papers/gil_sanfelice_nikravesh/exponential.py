"""Matrix exponentials and their integrals over a step, by block matrices (Van Loan, 1978)."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def integrals(matrix: Reals, h: float) -> tuple[Reals, Reals, Reals]:
    """Return what a linear system y' = A y + b + c s does in a step: y(h) = E y(0) + F1 b + F2 c.

    Parameters
    ----------
    matrix
        A, (k, k), in 1/s.
    h
        Step in s.

    Returns
    -------
    E, F1, F2
        exp(A h), the integral of exp(A (h - s)) over [0, h] in s, and that of exp(A (h - s)) s in s^2.

    Notes
    -----
    They are the first block row of exp(h [A I 0; 0 0 I; 0 0 0]) (Van Loan, IEEE Transactions on Automatic
    Control 23, 1978). No inverse of A is formed, so that they are right for a singular A too.
    """
    k = len(matrix)
    block = np.zeros((3 * k, 3 * k))
    block[:k, :k] = h * matrix
    block[:k, k : 2 * k] = block[k : 2 * k, 2 * k :] = h * np.eye(k)
    top = scipy.linalg.expm(block)[:k] if k else np.zeros((0, 0))
    return top[:, :k].copy(), top[:, k : 2 * k].copy(), top[:, 2 * k :].copy()


def condition(matrix: Reals) -> tuple[float, Reals]:
    """Return the condition number of a square matrix whose units were taken out, and its weakest direction.

    Rows and columns are first scaled towards 1 (Ruiz, 2001), since a matrix of derivatives mixes units: the
    condition of [[0, 1], [-5e5, 0]], a spring, is 1.

    Returns
    -------
    number
        Ratio of the singular values; infinite for a singular matrix.
    direction
        (k,) share of each variable in the direction that the matrix sees least; its largest entry is 1.
    """
    k = len(matrix)
    if k == 0:
        return 1.0, np.zeros(0)
    scaled, columns = matrix.copy(), np.ones(k)
    for _ in range(10):  # each pass takes the square root of what is left; ten are exact to rounding
        row = np.sqrt(np.abs(scaled).max(axis=1))
        column = np.sqrt(np.abs(scaled).max(axis=0))
        row[row == 0.0] = column[column == 0.0] = 1.0
        scaled = scaled / row[:, None] / column
        columns /= column
    _, values, right = np.linalg.svd(scaled)
    share = np.abs(right[-1])
    number = np.inf if values[-1] == 0.0 else float(values[0] / values[-1])
    return number, share / share.max()
