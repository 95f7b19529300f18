"""Backward differentiation formulae with a fixed leading coefficient, as coefficient data.

The formula of order q continues the last q + 1 points by the polynomial P through them and solves at the new
point, h after the last one,

    h x' = h P' + alpha (x - P)

With alpha the sum of 1/j up to q and points h apart it is the backward differentiation formula: it has the
values of P at distances of h in place of the points where those have other distances (Jackson and
Sacks-Davis, ACM Trans. Math. Software 6, 1980; Brenan, Campbell and Petzold, Numerical Solution of
Initial-Value Problems in Differential-Algebraic Equations, section 5.2). With (1 - kappa) times that it is
the numerical differentiation formula of Shampine and Reichelt (SIAM J. Sci. Comput. 18, 1997, table 1): with
their kappa the error is smaller by up to a third, at up to 10 % less of the angle of stability. Order 1 and 2
are A-stable, those of order 3, 4 and 5 damp what decays within 80, 66 and 51 degrees of the negative real
axis, and all that is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arrays import Reals

MOST_ORDER = 5

# Shampine and Reichelt (1997), table 1.
KAPPA = (-0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0)


@dataclass(frozen=True)
class Differentiation:
    """The formula of an order, 1 to 5, with points that are equally far apart."""

    order: int

    @property
    def name(self) -> str:
        """Its name in words."""
        return f"BDF of order {self.order}"

    @property
    def harmonic(self) -> float:
        """The sum of 1/j up to the order."""
        return float(sum(1.0 / j for j in range(1, self.order + 1)))

    @property
    def leading(self) -> float:
        """Its leading coefficient alpha: a stage is solved with the coefficient h / alpha of the rate."""
        return (1.0 - KAPPA[self.order - 1]) * self.harmonic

    @property
    def constant(self) -> float:
        """Error of a step in units of h^(q + 1) times the next derivative."""
        return KAPPA[self.order - 1] * self.harmonic + 1.0 / (self.order + 1)

    @property
    def a_stable(self) -> bool:
        """Whether no step makes a mode grow that does not grow itself."""
        return self.order <= 2

    @property
    def weights(self) -> Reals:
        """Weights of the new point and of the last q + 1 ones in h x', the youngest first."""
        at = -np.arange(self.order + 1.0)
        value, slope = lagrange(at, 1.0)
        return np.append(self.leading, slope - self.leading * value)

    def roots(self, z: ArrayLike) -> NDArray[np.complex128]:
        """Return (..., q + 1) what a step of h makes of a mode s, z = h s, the principal root first.

        They are the roots of the characteristic polynomial, the eigenvalues of the companion matrix of a
        step; the principal one is the nearest to e^z, which the mode should be multiplied by.
        """
        z = np.asarray(z, dtype=np.complex128)
        found = np.empty((*z.shape, self.order + 1), dtype=np.complex128)
        for at in np.ndindex(z.shape):
            polynomial = self.weights.astype(np.complex128)
            polynomial[0] -= z[at]
            # A last coefficient of zero (kappa = 0) is a root of zero.
            roots = np.roots(polynomial)
            roots = np.append(roots, np.zeros(self.order + 1 - roots.size))
            found[at] = roots[
                np.argsort(np.abs(roots - np.exp(np.clip(z[at].real, None, 700.0) + 1j * z[at].imag)))
            ]
        return found

    def stability_function(self, z: ArrayLike) -> NDArray[np.complex128]:
        """Return what a step makes of a mode: the principal root, or the largest one where one is above 1.

        A run on which a step of h has been accepted many times shows either.
        """
        roots = self.roots(z)
        size = np.abs(roots)
        principal, grows = size[..., 0], size.max(axis=-1) > 1.0 + 1e-12
        largest = np.take_along_axis(roots, size.argmax(axis=-1)[..., None], -1)[..., 0]
        return np.asarray(np.where(grows & (size.max(axis=-1) > principal), largest, roots[..., 0]))


FORMULAE = tuple(Differentiation(order) for order in range(1, MOST_ORDER + 1))


def lagrange(times: Reals, t: float) -> tuple[Reals, Reals]:
    """Return the weights of values at `times` in that of their polynomial at t, and in its derivative."""
    value, slope = np.empty(times.size), np.empty(times.size)
    for j in range(times.size):
        others = np.delete(times, j)
        value[j] = np.prod((t - others) / (times[j] - others))
        slope[j] = value[j] * np.sum(1.0 / (t - others))
    return value, slope
