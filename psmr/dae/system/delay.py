"""An input that is read as it was some time ago, and its Pade approximant as states.

A delay as states: the Pade approximant of e^{-s tau} of some order in numerator and denominator.

Source: Golub and Van Loan, Matrix Computations (1996), section 11.3, for the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError, shown


@dataclass(frozen=True)
class Delay:
    """An input that is read as it was some time ago.

    Attributes
    ----------
    input
        Position in w of the value that is read.
    source
        Position in w of the state or algebraic variable that it was.
    tau
        How long ago, in s.
    """

    input: int
    source: int
    tau: float


Reals = NDArray[np.float64]

# Coefficients of higher orders span more than double precision has.
MOST = 10


class Pade(NamedTuple):
    """p' = A p + B u, late = C p + D u: of a delay of 1 s; that of tau has A / tau and B / tau."""

    A: Reals
    B: Reals
    C: Reals
    D: float


def pade(order: object) -> Pade:
    """Return the approximant of an order as matrices of that many states.

    Raises
    ------
    InputError
        For an order that is no whole number from 1 to `MOST`.
    """
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= MOST:
        raise InputError(f"order = {shown(order)}: must be a whole number from 1 to {MOST}, of the Pade form")
    k = range(order + 1)
    below = np.array(
        [factorial(2 * order - j) / (factorial(j) * factorial(order - j)) for j in k], dtype=float
    )
    # In z = s / scale first and last coefficient of the denominator are equal: all stay moderate.
    scale = (below[0] / below[-1]) ** (1.0 / order)
    below = below * scale ** np.arange(order + 1.0)
    below /= below[-1]
    above = below * (-1.0) ** np.arange(order + 1)
    direct = float(above[-1])
    A = np.eye(order, k=1)
    A[-1] = -below[:-1]
    B = np.zeros(order)
    B[-1] = 1.0
    return Pade(scale * A, scale * B, (above - direct * below)[:-1], direct)
