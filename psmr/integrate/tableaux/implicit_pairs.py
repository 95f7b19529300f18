"""Implicit methods that estimate their own error: the weights of a companion on the same stages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from psmr.integrate.tableaux.tableaux import TABLEAUX, Tableau

# The least tolerance of a step: some thousand times the rounding of a variable of size one, so that what is
# left of Newton's residuals is no error of the step yet.
LEAST_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class ImplicitPair:
    """A stiffly accurate method whose first stage is explicit, with an error estimate.

    Attributes
    ----------
    tableau
        The method whose result is kept, s stages.
    difference
        (s,) weights of the stages: h times their sum is the estimated error.
    order
        Power of the step with which the estimate falls.
    constant
        Error of a step in units of h^(p + 1) times the next derivative, p the order of the method.
    promise
        Estimated error in units of h^order times that derivative, the constant of the companion.
    starts
        Points from which Newton's start of a stage, counted from 1, is extrapolated; see
        `psmr.integrate.schemes.single_rate.tableau_program`.
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

# What a stiff state with the time constant T does behind a corner or a jump is a layer, exp(-t / T). The
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
