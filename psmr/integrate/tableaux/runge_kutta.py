"""Explicit Runge-Kutta methods as coefficient data: fixed-step ones, and a pair that estimates its own error.

The tableau's meaning is that of `psmr.integrate.tableaux.tableaux`; the DAE is solved for y at every stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from psmr.integrate.tableaux.tableaux import TABLEAUX, Tableau, _tableau

# The midpoint rule.
_RK2 = _tableau("RK2", [[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0], 2)

# Dormand and Prince (1980), table 2: order 5, and its difference to the solution of order 4. The last entry
# of the difference multiplies the derivative at the new point, which is the first stage of the next step.
_RK54 = _tableau(
    "RK54",
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
    ],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    5,
)
_DIFFERENCE = np.array(
    [
        35 / 384 - 5179 / 57600,
        0.0,
        500 / 1113 - 7571 / 16695,
        125 / 192 - 393 / 640,
        -2187 / 6784 + 92097 / 339200,
        11 / 84 - 187 / 2100,
        -1 / 40,
    ]
)
_DIFFERENCE.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Pair:
    """A method with an error estimate.

    Attributes
    ----------
    tableau
        The method whose result is kept, s stages.
    difference
        (s + 1,) weights of the stages and of the derivative at the new point: h times their sum is the
        estimate.
    """

    tableau: Tableau
    difference: np.ndarray


EXPLICIT: Mapping[str, Tableau] = MappingProxyType(
    {"FEM": TABLEAUX["FEM"], "RK2": _RK2, "RK4": TABLEAUX["RK4"], "RK54": _RK54}
)

PAIRS: Mapping[str, Pair] = MappingProxyType({"RK54": Pair(_RK54, _DIFFERENCE)})
