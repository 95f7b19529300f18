"""Slow values within a macro step: the polynomial through predicted and accepted values.

Positions are counted in macro steps from t: the prediction stands at 1, the accepted value at 0, older ones
at negative places, which need not be whole, since the step before an event is shortened.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.cache import lean

# Accepted values before t that each interpolation uses: Huang and Tzounas, equation (20), and the cubic.
HISTORY = {"linear": 0, "spline": 2}


@lean
def lagrange_weights(nodes, count, s, weights):  # type: ignore[no-untyped-def]
    """Write the weights of the values at nodes[:count] in their polynomial at s."""
    for i in range(count):
        weight = 1.0
        for j in range(count):
            if j != i:
                weight *= (s - nodes[j]) / (nodes[i] - nodes[j])
        weights[i] = weight


@lean
def interpolate(places, weights, older, predicted, accepted, history, w):  # type: ignore[no-untyped-def]
    """Write the weighted sum of predicted, accepted and `older` historical values into places of w."""
    for place in places:
        value = weights[0] * predicted[place] + weights[1] * accepted[place]
        for k in range(older):
            value += weights[2 + k] * history[k, place]
        w[place] = value


def weights_at(i: int, ratio: int, interpolation: str, older: int | None = None) -> np.ndarray:
    """Return the weights of (predicted, t, t - h_slow, t - 2 h_slow) at fast step i of `ratio`.

    Parameters
    ----------
    i, ratio, interpolation
        Fast step, number of fast steps, ``"linear"`` or ``"spline"``; macro steps are uniform.
    older
        Accepted values before t that are there; None for as many as the interpolation uses.
    """
    older = HISTORY[interpolation] if older is None else min(older, HISTORY[interpolation])
    weights = np.zeros(2 + HISTORY[interpolation])
    lagrange_weights(np.array([1.0, 0.0, -1.0, -2.0]), 2 + older, i / ratio, weights)
    return weights
