"""One-step methods as coefficient data: their weights, and those of companions that estimate the error.

A method is its Butcher tableau. For the index-1 DAE x' = f(x, y), 0 = g(x, y) each stage i solves

    x_i = x_t + h sum_j A[i, j] f(x_j, y_j),    0 = g(x_i, y_i)

(Hairer and Wanner, Solving Ordinary Differential Equations II, section VI.1). All methods here are at most
diagonally implicit, and all implicit stages of a method share one diagonal coefficient, so that they share
one Newton matrix. The same numbers serve the simulator and the pencil.

Of explicit Runge-Kutta methods, fixed-step ones and a pair that estimates its own error, the DAE is solved
for y at every stage.
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

    `name`: Name by which a scheme asks for the method.
    `A`, `b`, `c`: Stage matrix (s, s), weights (s,) and nodes (s,), read-only.
    `order`: Order of convergence, for an ODE and for an index-1 DAE alike: y of every stage satisfies g = 0.
    `a_stable`: Whether |R(z)| <= 1 for every z with Re z <= 0: no step makes a mode grow that does not grow
      itself (Hairer and Wanner, definition IV.3.3).
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

    `tableau`: The method whose result is kept, s stages.
    `difference`: (s + 1,) weights of the stages and of the derivative at the new point: h times their sum is
      the estimate.
    """

    tableau: Tableau
    difference: np.ndarray


EXPLICIT: Mapping[str, Tableau] = MappingProxyType(
    {"FEM": TABLEAUX["FEM"], "RK2": _RK2, "RK4": TABLEAUX["RK4"], "RK54": _RK54}
)

EXPLICIT_PAIRS: Mapping[str, Pair] = MappingProxyType({"RK54": Pair(_RK54, _DIFFERENCE)})


# The least tolerance of a step: some thousand times the rounding of a variable of size one, so that what is
# left of Newton's residuals is no error of the step yet.
LEAST_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class ImplicitPair:
    """A stiffly accurate method whose first stage is explicit, with an error estimate.

    `tableau`: The method whose result is kept, s stages.
    `difference`: (s,) weights of the stages: h times their sum is the estimated error.
    `order`: Power of the step with which the estimate falls.
    `constant`: Error of a step in units of h^(p + 1) times the next derivative, p the order of the method.
    `promise`: Estimated error in units of h^order times that derivative, the constant of the companion.
    `starts`: Points from which Newton's start of a stage, counted from 1, is extrapolated; see
      `psmr.integrate.schemes.one_step.tableau_program`.
    """

    tableau: Tableau
    difference: np.ndarray
    order: int
    constant: float
    promise: float
    starts: Mapping[int, tuple[str, ...]]

    def tolerance_of_step(self, tolerance: float) -> float:
        """Return the tolerance of a step for which the error of the run is proportional to `tolerance`.

        Where the companion is of lower order than the method, p, the estimate falls with h^p, as the
        error of the run does. On a solution with derivatives of one the estimate is promise h^p, and the
        error over a unit of time constant h^p: where that is the larger one, as with ESDIRK43, whose
        companion is nearly of its own order, the estimate is held to as much less. Where it is of higher
        order the estimate is the error of the step and falls with h^(p + 1): held constant it would leave
        an error of the run that goes with tolerance^(p / (p + 1)). The tolerance of a step is then that of
        the error per unit step, h tolerance, at the h whose error just meets it on such a solution:
        constant h^p = tolerance (Shampine, ACM Trans. Math. Software 3, 1977; Soederlind and Wang, J.
        Comput. Appl. Math. 185, 2006, calibrate alike).
        """
        p = self.tableau.order
        if self.order == p:
            return tolerance * min(1.0, self.promise / self.constant)
        return float(tolerance * (tolerance / self.constant) ** (1.0 / p))

    def least_tolerance(self, of_step: float) -> float:
        """Return the tolerance at which that of a step is `of_step`."""
        p = self.tableau.order
        if self.order == p:
            return of_step / min(1.0, self.promise / self.constant)
        return float((of_step * self.constant ** (1.0 / p)) ** (p / (p + 1.0)))


def _pair(
    name: str,
    companion: list[float],
    order: int,
    starts: Mapping[int, tuple[str, ...]],
    layers: Mapping[tuple[int, ...], float] = MappingProxyType({}),
) -> ImplicitPair:
    """Return a pair; `layers` are the largest weights of differences of rates that the estimate has, too."""
    tableau = TABLEAUX[name]
    difference = tableau.b - np.array(companion)
    for stages, largest in layers.items():
        weights = _divided_difference(tableau.c, stages)
        difference += largest / np.abs(weights).max() * weights
    difference.setflags(write=False)
    # On x' = x a step of order p leaves (b A^p 1 - 1 / (p + 1)!) h^(p + 1).
    powers = [np.ones(tableau.stages)]
    for _ in range(tableau.order):
        powers.append(tableau.A @ powers[-1])
    constant = abs(float(tableau.b @ powers[-1]) - 1.0 / math.factorial(tableau.order + 1))
    promise = abs(float(difference @ powers[order - 1]))
    return ImplicitPair(tableau, difference, order, constant, promise, MappingProxyType(dict(starts)))


def _divided_difference(c: np.ndarray, stages: tuple[int, ...]) -> np.ndarray:
    """Return (s,) weights of the divided difference over the stages: 0 for polynomials below its order."""
    weights = np.zeros(c.size)
    for i in stages:
        weights[i] = 1.0 / math.prod(c[i] - c[j] for j in stages if j != i)
    return weights


# Hosea and Shampine (1996), equation (3.11), with w = sqrt(2)/4 and d = 1 - 1/sqrt(2).
_W, _D = math.sqrt(2.0) / 4.0, 1.0 - 1.0 / math.sqrt(2.0)

# Kennedy and Carpenter (2016), NASA/TM-2016-219173; rational numbers good to double precision.
_OF_32, _OF_43 = 4555948517383 / 24713416420891, -480923228411 / 4982971448372

# What a stiff state with the time constant T does after a kink or a jump is a layer, exp(-t / T). The
# companions pass over it as the methods do, with much the same result: of ESDIRK32 the error is 30 times the
# estimate at h = 10 T and 340 times at 100 T, of ESDIRK43 90 and 840 times. Differences of the rates see it,
# and change no condition up to order 3: with these the error is at most 2.2 and 2.5 times the estimate at any
# h / T. On an oscillation with |s| h up to 1 the estimate of ESDIRK32 is 0.92 to 1 of what it was, that of
# ESDIRK43 1.7 to 2.4 times, of which `tolerance_of_step` takes 2.1 back.
_LAYERS_32 = {(0, 1, 2, 4): 0.05, (0, 1, 2, 3, 4): -0.06}
_LAYERS_43: Mapping[tuple[int, ...], float] = {(0, 1, 2, 3, 4, 5): 0.16}

# The parabola through the last step and the present point.
_BEHIND = ("older now", "older stage 2", "now")

PAIRS: Mapping[str, ImplicitPair] = MappingProxyType(
    {
        "TR-BDF2": _pair(
            "TR-BDF2",
            [(1.0 - _W) / 3.0, (3.0 * _W + 1.0) / 3.0, _D / 3.0],
            3,
            {2: _BEHIND, 3: ("older stage 2", "now", "stage 2")},
        ),
        "ESDIRK32": _pair(
            "ESDIRK32",
            [_OF_32, _OF_32, -7107561914881 / 25547637784726, 30698249 / 44052120, 49563 / 233080],
            3,
            {
                2: ("older stage 2", "older stage 4", "older stage 3", "now"),
                3: ("older now", "older stage 2", "older stage 4", "older stage 3", "now", "stage 2"),
                4: ("older stage 4", "now", "stage 2", "stage 3"),
                5: ("now", "stage 2", "stage 3", "stage 4"),
            },
            _LAYERS_32,
        ),
        "ESDIRK43": _pair(
            "ESDIRK43",
            [
                _OF_43,
                _OF_43,
                6709447293961 / 12833189095359,
                3513175791894 / 6748737351361,
                -498863281070 / 6042575550617,
                2077005547802 / 8945017530137,
            ],
            4,
            {
                2: _BEHIND,
                3: ("older stage 2", "now", "stage 2"),
                4: ("now", "stage 2", "stage 3"),
                5: ("now", "stage 2", "stage 4"),
                6: ("now", "stage 2", "stage 4", "stage 5"),
            },
            _LAYERS_43,
        ),
    }
)
