"""Which numerical eigenvalue belongs to which mode.

A step operator is no function of the state matrix, so the nearest value alone picks wrong partners: the
assignment is one to one over all modes at once, and weighs the shape of the mode (its eigenvector) as much as
its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from psmr.pencil.spectrum import Modes, Multipliers

REPRESENTED = "represented"
ZERO_MODE = "zero mode"
NOT_REPRESENTED = "not represented"

# The unwrapped logarithm jumps by 2 pi / h across the negative real axis. A mode of 2.07 or fewer samples per
# period (0.1 rad from the axis) can be read on either side of it, and its frequency means nothing.
NEGATIVE_AXIS = 0.1


@dataclass(frozen=True, eq=False)
class Match:
    """The assignment of multipliers to modes.

    Attributes
    ----------
    partner
        (n,) position of the multiplier of each mode, -1 where none is left.
    s_numerical
        (n,) the mode as the scheme shows it in 1/s, NaN where it is not represented.
    status
        (n,) ``"represented"``, ``"zero mode"``, or ``"not represented: <why>"``.
    spurious
        Positions of the multipliers that belong to no mode.
    """

    partner: np.ndarray
    s_numerical: np.ndarray
    status: tuple[str, ...]
    spurious: np.ndarray


def match(modes: Modes, numerical: Multipliers, step: float) -> Match:
    """Assign multipliers to modes one to one and take the unwrapped logarithm.

    Parameters
    ----------
    modes, numerical
        Eigenvalues and vectors of the state matrix and of the step operator.
    step
        Time in s over which a multiplier acts.
    """
    partner = np.full(len(modes.s), -1)
    rows, columns = linear_sum_assignment(assignment_cost(modes, numerical, step))
    partner[rows] = columns
    s_numerical = np.full(len(modes.s), np.nan + 0j)
    status = []
    for k, (s, j) in enumerate(zip(modes.s, partner, strict=True)):
        z = numerical.z[j] if j >= 0 else 0.0
        words = _status(s, z, step, modes.zero)
        if not words.startswith(NOT_REPRESENTED):
            s_numerical[k] = unwrapped_logarithm(z, s, step)
        status.append(words)
    spurious = np.setdiff1d(np.arange(len(numerical.z)), partner)
    return Match(partner, s_numerical, tuple(status), spurious)


def assignment_cost(modes: Modes, numerical: Multipliers, step: float) -> np.ndarray:
    """Return the (n, k) cost of each pair: 1 - similarity of the vectors, plus relative distance; 0 to 2.

    The similarity is the modal assurance criterion |v^H u|^2 of vectors of length 1; the distance |s_hat - s|
    relative to |s_hat| + |s|.
    """
    similarity = np.abs(modes.vectors.conj().T @ numerical.vectors) ** 2
    s_hat = unwrapped_logarithm(numerical.z[None, :], modes.s[:, None], step)
    distance = np.abs(s_hat - modes.s[:, None])
    distance /= np.abs(s_hat) + np.abs(modes.s[:, None]) + modes.zero
    return (1.0 - similarity) + distance


def unwrapped_logarithm(z: np.ndarray | complex, s: np.ndarray | complex, step: float) -> np.ndarray:
    """Return log(z) / step with 2 pi k / step added so that the imaginary part is nearest to that of s."""
    principal = np.log(np.asarray(z, dtype=complex)) / step
    turn = 2.0 * np.pi / step
    return principal + 1j * turn * np.round((np.imag(s) - principal.imag) / turn)


def _status(s: complex, z: complex, step: float, zero: float) -> str:
    if abs(s) <= zero:
        return ZERO_MODE
    if z == 0.0:
        return f"{NOT_REPRESENTED}: damped out within one step, |z| = 0"
    if abs(s.imag) * step > np.pi:
        return f"{NOT_REPRESENTED}: |Im s| h = {abs(s.imag) * step:.3g} > pi, |z| = {abs(z):.3g}"
    if abs(np.angle(z)) > np.pi - NEGATIVE_AXIS:
        return f"{NOT_REPRESENTED}: z on the negative real axis, |z| = {abs(z):.3g}"
    return REPRESENTED
