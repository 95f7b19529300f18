"""Many equal steps of one side in a row as one map: a power of an affine map, by repeated squaring.

The variables z of a side go from one step to the next by

    z_(i+1) = A z_i + B0 q(s_i) + B1 q(s_i - d),    s_(i+1) = s_i + d

with q the variables of the other side, interpolated: a polynomial in the part s of the macro step. With the
coefficients c_j of q(s_i + u) in u as further variables, which one step of d maps to sum_k (k over j)
d^(k - j) c_k, the map is linear and its powers follow from squares. Sums over the steps are carried along.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from psmr.base.arrays import Reals

# Largest difference, in parts of the largest weight, between weights and their polynomial that is rounding,
# and largest degree that is looked for.
ROUNDING = 1e-13
MOST_DEGREE = 3


@dataclass(frozen=True, eq=False)
class Steps:
    """What some steps in a row make of z, of its sum over them, and of the coefficients c.

    Attributes
    ----------
    distance
        Length of the steps together, in parts of the macro step.
    z_of_z, z_of_c
        (F, F) and (degree + 1, F, L) parts of z behind them.
    sum_of_z, sum_of_c
        The same of the sum of z behind each of them.
    """

    distance: float
    z_of_z: Reals
    z_of_c: Reals
    sum_of_z: Reals
    sum_of_c: Reals

    def then(self, other: Steps) -> Steps:
        """Return these steps with others behind them."""
        moved = _shift(len(self.z_of_c), self.distance)
        return Steps(
            self.distance + other.distance,
            other.z_of_z @ self.z_of_z,
            other.z_of_z @ self.z_of_c + np.tensordot(moved, other.z_of_c, (0, 0)),
            self.sum_of_z + other.sum_of_z @ self.z_of_z,
            self.sum_of_c + other.sum_of_z @ self.z_of_c + np.tensordot(moved, other.sum_of_c, (0, 0)),
        )


def one_step(own: Reals, at_end: Reals, at_start: Reals, distance: float, degree: int) -> Steps:
    """Return one step of `distance`: A (F, F), B0 and B1 (F, L); see the module's text."""
    powers = (-distance) ** np.arange(degree + 1.0)
    of_c = powers[:, None, None] * at_start
    of_c[0] += at_end
    return Steps(distance, own, of_c, own, of_c)


def power(step: Steps, times: int) -> Steps:
    """Return a step done `times` times, at least once."""
    done: Steps | None = None
    while True:
        if times % 2:
            done = step if done is None else done.then(step)
        times //= 2
        if not times:
            assert done is not None
            return done
        step = step.then(step)


def polynomials(weights: Reals, distance: float) -> Reals | None:
    """Return the coefficients (K, degree + 1) of weights (K, times) in the distance from the first ones.

    None where they are no polynomials of the lowest degrees.
    """
    count, times = weights.shape
    powers = np.vander(distance * np.arange(times), min(max(count, 1), MOST_DEGREE + 1), increasing=True)
    found = np.linalg.lstsq(powers, weights.T, rcond=None)[0].T
    if count and np.abs(found @ powers.T - weights).max() > ROUNDING * np.abs(weights).max():
        return None
    return found


def _shift(count: int, distance: float) -> Reals:
    """Return what takes coefficients in u to those in u - distance."""
    return np.array(
        [[comb(k, j) * distance ** (k - j) if k >= j else 0.0 for k in range(count)] for j in range(count)]
    )
