"""Slow values within a macro step: the polynomial through predicted and accepted values.

Positions are counted in macro steps from t: the prediction stands at 1, the accepted value at 0, older ones
at negative places, which need not be whole, since the step before the end is shortened.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Accepted values before t that each interpolation uses: Huang and Tzounas, equation (20), and the cubic.
HISTORY = {"linear": 0, "spline": 2}

# Accepted values before t that a prediction by extrapolation uses: with as many, the slow values within the
# step lie on the polynomial that they are extrapolated on.
EXTRAPOLATED = {"linear": 1, "spline": 2}


def lagrange_weights(nodes: NDArray[np.float64], s: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights (K,) of the values at K nodes in their polynomial at s; at (S,) places (S, K)."""
    places = np.asarray(s, dtype=float)
    weights = np.ones((*places.shape, nodes.size))
    for i, node in enumerate(nodes):
        others = np.delete(nodes, i)
        weights[..., i] = np.prod((places[..., None] - others) / (node - others), axis=-1)
    return weights
