"""One-step methods as coefficient data.

A method is its Butcher tableau. For the index-1 DAE x' = f(x, y), 0 = g(x, y) each stage i solves

    x_i = x_t + h sum_j A[i, j] f(x_j, y_j),    0 = g(x_i, y_i)

(Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.1). All methods here are at most
diagonally implicit, and all implicit stages of a method share one diagonal coefficient, so that they share
one Newton matrix. The same numbers serve the simulator and the pencil.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Tableau:
    """Butcher tableau of an explicit or diagonally implicit method.

    Attributes
    ----------
    name
        Name by which a scheme asks for the method.
    A, b, c
        Stage matrix (s, s), weights (s,) and nodes (s,), read-only.
    order
        Order of convergence, for an ODE and for an index-1 DAE alike: y of every stage satisfies g = 0.
    a_stable
        Whether |R(z)| <= 1 for every z with Re z <= 0: no step makes a mode grow that does not grow itself
        (Hairer and Wanner, definition IV.3.3).
    """

    name: str
    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    order: int
    a_stable: bool = False

    @property
    def stages(self) -> int:
        """Number of stages s."""
        return len(self.b)

    @property
    def gamma(self) -> float:
        """Diagonal coefficient of the implicit stages; 0 for an explicit method."""
        return float(np.diag(self.A).max())

    @property
    def explicit(self) -> bool:
        """Whether no stage has its own derivative on the right-hand side."""
        return not np.triu(self.A).any()

    @property
    def first_explicit(self) -> bool:
        """Whether the first stage is w_t itself (c = 0 and a zero row), so that it costs no solve."""
        return not self.A[0].any()

    @property
    def stiffly_accurate(self) -> bool:
        """Whether the last stage is the new point: the last row of A equals b."""
        return bool(np.array_equal(self.A[-1], self.b))

    def stability_function(self, z: ArrayLike) -> NDArray[np.complex128]:
        """Return R(z) = 1 + z b (I - z A)^-1 1 of z = h s: what a step of h makes of a mode s.

        Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.3.
        """
        z = np.asarray(z, dtype=np.complex128)
        stages = np.ones((self.stages, *z.shape), dtype=np.complex128)
        for i in range(self.stages):
            known = 1.0 + z * np.tensordot(self.A[i, :i], stages[:i], 1)
            stages[i] = known / (1.0 - z * self.A[i, i])
        return np.asarray(1.0 + z * np.tensordot(self.b, stages, 1))


def _tableau(name: str, A: list[list[float]], b: list[float], order: int, a_stable: bool = False) -> Tableau:
    matrix, weights = np.array(A), np.array(b)
    nodes = matrix.sum(axis=1)  # consistent stages: c_i = sum_j A[i, j]
    for array in (matrix, weights, nodes):
        array.setflags(write=False)
    return Tableau(name, matrix, weights, nodes, order, a_stable)


# Alexander (1977): the smaller root of gamma^2 - 2 gamma + 1/2 = 0, which makes the two-stage method
# L-stable.
_GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

# Hosea and Shampine (1996), table 1, with d = 1 - 1/sqrt(2): trapezoidal rule to 2 d h, then BDF2.
_OUTER = math.sqrt(2.0) / 4.0

# Kennedy and Carpenter (2016), NASA/TM-2016-219173: ESDIRK3(2)5L[2]SA and ESDIRK4(3)6L[2]SA; the first two
# entries of a row are equal, since every stage is of order 2.
_ROOT = math.sqrt(2.0)
_ESDIRK32 = [
    [9.0 * (1.0 + _ROOT) / 80.0],
    [(22.0 + 15.0 * _ROOT) / (80.0 * (1.0 + _ROOT)), -7.0 / (40.0 * (1.0 + _ROOT))],
    [
        (2398.0 + 1205.0 * _ROOT) / (2835.0 * (4.0 + 3.0 * _ROOT)),
        -2374.0 * (1.0 + 2.0 * _ROOT) / (2835.0 * (5.0 + 3.0 * _ROOT)),
        5827.0 / 7560.0,
    ],
]
_ESDIRK43 = [
    [(1.0 - _ROOT) / 8.0],
    [(5.0 - 7.0 * _ROOT) / 64.0, 7.0 * (1.0 + _ROOT) / 32.0],
    [
        (-13796.0 - 54539.0 * _ROOT) / 125000.0,
        (506605.0 + 132109.0 * _ROOT) / 437500.0,
        166.0 * (-97.0 + 376.0 * _ROOT) / 109375.0,
    ],
    [
        (1181.0 - 987.0 * _ROOT) / 13782.0,
        47.0 * (-267.0 + 1783.0 * _ROOT) / 273343.0,
        -16.0 * (-22922.0 + 3525.0 * _ROOT) / 571953.0,
        -15625.0 * (97.0 + 376.0 * _ROOT) / 90749876.0,
    ],
]


def _esdirk(name: str, gamma: float, rows: list[list[float]], order: int) -> Tableau:
    """Return a stiffly accurate method with an explicit first stage, from the rows of its later stages."""
    stages = len(rows) + 2
    A = [[0.0] * stages, [gamma, gamma]]
    A += [[row[0], row[0], *row[1:], gamma] for row in rows]
    A = [row + [0.0] * (stages - len(row)) for row in A]
    return _tableau(name, A, A[-1], order, a_stable=True)


TABLEAUX: Mapping[str, Tableau] = MappingProxyType(
    {
        tableau.name: tableau
        for tableau in (
            _tableau("FEM", [[0.0]], [1.0], 1),
            _tableau("TM", [[0.0, 0.0], [0.5, 0.5]], [0.5, 0.5], 2, a_stable=True),
            _tableau("BEM", [[1.0]], [1.0], 1, a_stable=True),
            _tableau("SDIRK2", [[_GAMMA, 0.0], [1.0 - _GAMMA, _GAMMA]], [1.0 - _GAMMA, _GAMMA], 2, True),
            _tableau(
                "TR-BDF2",
                [[0.0, 0.0, 0.0], [_GAMMA, _GAMMA, 0.0], [_OUTER, _OUTER, _GAMMA]],
                [_OUTER, _OUTER, _GAMMA],
                2,
                a_stable=True,
            ),
            _esdirk("ESDIRK32", 9.0 / 40.0, _ESDIRK32, 3),
            _esdirk("ESDIRK43", 0.25, _ESDIRK43, 4),
            _tableau(
                "RK4",
                [[0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
                [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0],
                4,
            ),
        )
    }
)


# Factors of f at the old and at the new point, per second of step: the pairs of predictor (19), fast rows
# (21) and slow rows (22) of Huang and Tzounas.
COEFFICIENTS = {"FEM": (1.0, 0.0), "TM": (0.5, 0.5), "BEM": (0.0, 1.0)}
