"""The program of a multirate step: predict, interpolate, fast, slow, correct.

Slow values within a macro step: the polynomial through predicted and accepted values.

Positions are counted in macro steps from t: the prediction stands at 1, the accepted value at 0, older ones
at negative places, which need not be whole, since the step before the end is shortened.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.step.program import (
    NEW,
    NOW,
    OLDER,
    Add,
    Combine,
    CopyRate,
    Instruction,
    Iterate,
    Program,
    Rate,
    Repeat,
    Restore,
    Side,
    Stage,
)
from psmr.integrate.tableaux import COEFFICIENTS

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


EXTRAPOLATION = "extrapolation"
PREDICTORS = ("FEM", "TM", "BEM", EXTRAPOLATION)
SOLUTIONS = ("TM", "BEM")
PREDICTED = ("all", "slow")
END, MEAN = "end", "mean"
COUPLINGS = (END, MEAN)
HELD, SCHUR = "held", "schur"
INTERFACES = (HELD, SCHUR)


class MultirateChoices(Protocol):
    """What the program depends on; see `psmr.integrate.schemes.multirate.Multirate`."""

    @property
    def predictor(self) -> str: ...  # noqa: D102
    @property
    def predict(self) -> str: ...  # noqa: D102
    @property
    def solution(self) -> str: ...  # noqa: D102
    @property
    def interpolation(self) -> str: ...  # noqa: D102
    @property
    def corrections(self) -> Any: ...  # noqa: D102
    @property
    def epsilon(self) -> float: ...  # noqa: D102
    @property
    def coupling(self) -> str | None: ...  # noqa: D102
    @property
    def interface(self) -> str | None: ...  # noqa: D102

    def has(self, fast: bool) -> bool:
        """Return whether a side has variables."""

    def fast_steps(self, h: float) -> int:
        """Return the number of fast steps in a macro step of h in s."""


def multirate_program(scheme: MultirateChoices, h: float, before: tuple[float, ...] = ()) -> Program:
    """Return the program of a macro step of h in s: equations (19) to (22) of Huang and Tzounas."""
    fast, slow = scheme.has(True), scheme.has(False)
    count = scheme.fast_steps(h)
    prediction = _prediction(scheme, h, before) if fast and slow else ()
    # The rates of all are needed at the start by a prediction, and by slow rows that see the ends.
    predicts = any(isinstance(i, Stage) and i.rates for i in prediction)
    both = predicts or (_old(scheme) != 0.0 and not (fast and slow and scheme.coupling == MEAN))
    instructions: list[Instruction] = [Rate("f(t)", "step")] if both else []
    if fast and slow:
        instructions += prediction
        once = (*_fast_steps(scheme, h, count, before, both), *_slow_steps(scheme))
        if scheme.corrections:
            most = None if scheme.corrections == "converge" else int(scheme.corrections)
            once = (Iterate(once, "predicted", most, scheme.epsilon),)
        instructions += once
    elif fast:
        instructions += _fast_steps(scheme, h, count, before, both)
    else:
        instructions.append(_slow_step(scheme, None))
    history = _history(scheme) if fast and slow else 0
    whole = scheme.interface == SCHUR or (scheme.predictor == EXTRAPOLATION and scheme.predict == "all")
    return Program(tuple(instructions), history, history_of="all" if whole else "slow")


def _old(scheme: MultirateChoices) -> float:
    """Coefficient of the rate at the start in the rule of the solution."""
    return COEFFICIENTS[scheme.solution][0]


def _history(scheme: MultirateChoices) -> int:
    """Return how many accepted points before the step it reads."""
    extrapolated = EXTRAPOLATED[scheme.interpolation] if scheme.predictor == EXTRAPOLATION else 0
    return max(HISTORY[scheme.interpolation], extrapolated)


def _prediction(scheme: MultirateChoices, h: float, before: tuple[float, ...]) -> tuple[Instruction, ...]:
    """Step 1: all of w, or the slow rows with the fast variables held."""
    older = before[: EXTRAPOLATED[scheme.interpolation]]
    if scheme.predictor == EXTRAPOLATION and older:
        weights = lagrange_weights(np.array([0.0, *(-distance / h for distance in older)]), 1.0)
        points = tuple(zip((NOW, *OLDER), map(float, weights), strict=False))
        if scheme.predict == "slow":  # the level under a response is that of slow and fast values
            return (Combine("all" if scheme.interface == SCHUR else "slow", "predicted", points),)
        solved = Stage("predictor", "all", "predicted", "extrapolated")
        return Combine("all", "extrapolated", points), solved
    a, a_star = COEFFICIENTS[scheme.solution if scheme.predictor == EXTRAPOLATION else scheme.predictor]
    side: Side = "all" if scheme.predict == "all" else "slow"
    return (Stage("predictor", side, "predicted", NOW, _rates("f(t)", a), a_star),)


def _fast_steps(
    scheme: MultirateChoices, h: float, count: int, before: tuple[float, ...], both: bool
) -> tuple[Instruction, ...]:
    """Return steps 2 and 3: interpolate the slow variables, solve the fast rows, add up their mean."""
    c, c_star = COEFFICIENTS[scheme.solution]
    b, b_star = c / count, c_star / count
    outside = _interpolation(scheme, h, count, before)
    step = Stage(
        "fast",
        "fast",
        "fast point",
        "fast point",
        _rates("f(fast)", b),
        b_star,
        at=tuple((i + 1) / count for i in range(count)),
        outside=outside,
        with_response=bool(outside) and scheme.interface == SCHUR,
        shown=True,
    )
    first: tuple[Instruction, ...] = (Restore("fast point", NOW),)
    between: tuple[Instruction, ...] = ()
    if b:
        first += (CopyRate("f(fast)", "f(t)") if both else Rate("f(fast)", "fast", "fast"),)
        between = (Rate("f(fast)", "fast", "fast"),)
    if not outside or scheme.coupling == END:
        return (*first, Repeat(count, (step,), between))
    weights = (*((1.0 / count,) * (count - 1)), b_star)
    body = (step, Add("fast", "mean", weights))
    end = Add("fast", "fast end", (1.0,), anew=True)
    return (*first, Add("fast", "mean", (b,), anew=True), Repeat(count, body, between), end)


def _interpolation(
    scheme: MultirateChoices, h: float, count: int, before: tuple[float, ...]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Step 2: weights of the predicted and the accepted values at each fast step."""
    if not scheme.has(False):
        return ()
    names = ("predicted", NOW, *OLDER)
    older = before[: HISTORY[scheme.interpolation]]
    nodes = np.array([1.0, 0.0, *(-distance / h for distance in older)])
    weights = lagrange_weights(nodes, np.arange(1, count + 1) / count)
    return tuple((names[k], tuple(weights[:, k].tolist())) for k in range(nodes.size))


def _slow_step(scheme: MultirateChoices, guess: str | None) -> Stage:
    """Step 4: the slow rows, with the fast values of the last fast step."""
    c, c_star = COEFFICIENTS[scheme.solution]
    return Stage("slow", "slow", NEW, NOW, _rates("f(t)", c), c_star, guess=guess, matrix="first")


def _slow_steps(scheme: MultirateChoices) -> tuple[Instruction, ...]:
    """Step 4 beside fast variables."""
    if scheme.coupling == END:
        # A prediction by the rule of the solution is nearer than the continuation of the last slow steps.
        own = scheme.predictor == scheme.solution or scheme.corrections
        return (_slow_step(scheme, "predicted" if own else None),)
    _, c_star = COEFFICIENTS[scheme.solution]
    mean = (("mean", (1.0,)),)
    start = Combine("slow", "guess", (("predicted", c_star), (NOW, 1.0 - c_star)))
    leg = Stage("slow", "slow", "leg", NOW, (), c_star, (c_star,), mean, matrix="first")
    carry = Combine("slow", "carried", (("leg", 1.0 / c_star), (NOW, 1.0 - 1.0 / c_star)))
    end = Stage("slow", "slow", NEW, "carried", outside=(("fast end", (1.0,)),), matrix="first")
    return start, leg, carry, end


def _rates(name: str, coefficient: float) -> tuple[tuple[str, float], ...]:
    return ((name, coefficient),) if coefficient else ()
