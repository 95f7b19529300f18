"""The multirate scheme of Huang and Tzounas (section 2.2): predict, interpolate, fast, slow, correct.

Slow values within a macro step are on the polynomial through predicted and accepted values. Positions are
counted in macro steps from t: the prediction stands at 1, the accepted value at 0, older ones at negative
places, which need not be whole, since the step before the end is shortened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arguments import explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.integrate.constants import TUNED
from psmr.integrate.schemes.choices import (
    MOST_FAST_STEPS,
    NEWTON_WORDS,
    DefaultChoice,
    Newton,
    check_fast_steps,
    check_fields,
    check_newton_tolerance,
    check_partition,
    check_positive,
    check_whole,
)
from psmr.integrate.schemes.scheme import (
    InnerPoints,
    NumericalOscillation,
    PastReading,
    Scheme,
    TwoRates,
    rounded_down,
)
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
from psmr.integrate.tableaux import COEFFICIENTS, TABLEAUX

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae


# Accepted values before t that each interpolation uses: Huang and Tzounas, equation (20), and the cubic.
HISTORY = {"linear": 0, "spline": 2}
INTERPOLATIONS = tuple(HISTORY)

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


def multirate_program(scheme: TwoRates, h: float, before: tuple[float, ...] = ()) -> Program:
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


def _old(scheme: TwoRates) -> float:
    """Coefficient of the rate at the start in the rule of the solution."""
    return COEFFICIENTS[scheme.solution][0]


def _history(scheme: TwoRates) -> int:
    """Return how many accepted points before the step it reads."""
    extrapolated = EXTRAPOLATED[scheme.interpolation] if scheme.predictor == EXTRAPOLATION else 0
    return max(HISTORY[scheme.interpolation], extrapolated)


def _prediction(scheme: TwoRates, h: float, before: tuple[float, ...]) -> tuple[Instruction, ...]:
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
    scheme: TwoRates, h: float, count: int, before: tuple[float, ...], both: bool
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
    scheme: TwoRates, h: float, count: int, before: tuple[float, ...]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Step 2: weights of the predicted and the accepted values at each fast step."""
    if not scheme.has(False):
        return ()
    names = ("predicted", NOW, *OLDER)
    older = before[: HISTORY[scheme.interpolation]]
    nodes = np.array([1.0, 0.0, *(-distance / h for distance in older)])
    weights = lagrange_weights(nodes, np.arange(1, count + 1) / count)
    return tuple((names[k], tuple(weights[:, k].tolist())) for k in range(nodes.size))


def _slow_step(scheme: TwoRates, guess: str | None) -> Stage:
    """Step 4: the slow rows, with the fast values of the last fast step."""
    c, c_star = COEFFICIENTS[scheme.solution]
    return Stage("slow", "slow", NEW, NOW, _rates("f(t)", c), c_star, guess=guess, matrix="first")


def _slow_steps(scheme: TwoRates) -> tuple[Instruction, ...]:
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


RATIO = (
    "fast steps in a macro step must be a whole number >= 1, so that h_slow is a multiple of the fast step"
)
"""What is right for a ratio."""


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class Multirate(Scheme):
    """Advance the fast set with h_slow / ratio and the slow set with h_slow (Huang and Tzounas, section 2.2).

    Parameters
    ----------
    split
        Which variables are fast.
    h_slow
        Macro step in s.
    ratio
        Fast steps in a macro step; the fast step is ``h_slow / ratio``.
    predictor
        Method that predicts the slow variables at the end of the macro step: ``"FEM"``, ``"TM"``, ``"BEM"``
        or ``"extrapolation"`` from past macro points: the line through the last two with linear
        interpolation, the parabola through the last three with the spline; the first step after an event is
        predicted by the rule of the solution.
    solution
        Method that solves the fast and the slow rows: ``"TM"`` or ``"BEM"``.
    interpolation
        Slow values within the macro step: ``"linear"`` or ``"spline"``, the cubic through the last three
        accepted and the predicted value.
    newton
        As in `SingleRate`.
    corrections
        How often the slow solution may replace the prediction and the macro step be done again: 0, 1, 2, ...
        or ``"converge"``, which repeats until they agree to `epsilon` and fails where that does not happen.
    predict
        ``"all"`` predicts every variable (the published form); ``"slow"`` holds the fast set while the slow
        set is predicted, which keeps an explicit predictor usable beside very fast states. An extrapolation
        of ``"all"`` is of the states, and solves 0 = g for the algebraic variables: equation (6) of Huang and
        Tzounas; one of the ``"slow"`` set is of its algebraic variables too and solves nothing, which with
        ``interface="held"`` can be unstable at any step where the sides have a strong algebraic loop
        (docs/choosing.md).
    epsilon
        Corrections end when prediction and slow solution differ by less than this (infinity norm, per unit).
    tolerance
        As in `SingleRate`.
    coupling
        Fast values used in the slow equations: ``"end"``, their values at the end of the macro step and
        at its start; ``"mean"``, their mean over the macro step. The slow states are then advanced by the
        one-leg form of the rule (for TM the implicit midpoint rule), in which the mean stands where a rule
        for one rate has the fast values of its stage, and the slow algebraic variables at the end are solved
        for with the fast values there. What stays fast does not alias then. None: ``"mean"`` where an
        extrapolation of the slow set predicts and nothing is corrected, and otherwise ``"end"``, the
        published form.
    interface
        Network feedback to the fast equations, through the slow algebraic variables: ``"held"``, their
        interpolated values; ``"schur"``, these and the response of the slow algebraic equations to the
        fast variables, linear as
        of the last event or of where it last no longer held (tried at least every fifth macro step; the times
        are `outdated_at` of the counters), by the Schur complement within the fast Newton matrix. What is
        interpolated is then free of what is fast, and the algebraic loop between the sides does not limit an
        extrapolation. None: ``"schur"`` where an extrapolation of the slow set predicts and nothing is
        corrected, and otherwise ``"held"``, the published form.

    `dataclasses.replace` keeps a coupling and an interface that were named, and finds anew those that were
    not; so does a scheme that is given those of another one, where that one did not name them.

    Raises
    ------
    SchemeError
        For an unknown choice, a value out of range, or corrections with ``interface="schur"``, whose
        prediction is of the level under the response and of no variable to correct.
    """

    split: Partition
    h_slow: Annotated[float, Positive("s")]
    ratio: int
    predictor: Annotated[str, PREDICTORS] = "FEM"
    solution: Annotated[str, SOLUTIONS] = "TM"
    interpolation: Annotated[str, INTERPOLATIONS] = "linear"
    newton: Newton = "dishonest"
    corrections: Annotated[int | Literal["converge"], "0, 1, 2, ... or converge", "K"] = 0
    predict: Annotated[str, PREDICTED] = "all"
    epsilon: Annotated[float, Positive("pu")] = 1e-9
    tolerance: float = 1e-10
    coupling: Annotated[str | None, COUPLINGS, "fast values in the slow equations: end of step or mean"] = (
        None
    )
    interface: Annotated[
        str | None, INTERFACES, "network in the fast equations: held, or its response by the Schur complement"
    ] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_partition(self.split)
        own = self.predictor == EXTRAPOLATION and self.predict == "slow" and not self.corrections
        object.__setattr__(self, "coupling", DefaultChoice.unless(self.coupling, MEAN if own else END))
        object.__setattr__(self, "interface", DefaultChoice.unless(self.interface, SCHUR if own else HELD))
        check_newton_tolerance(self.tolerance)
        check_whole("ratio", self.ratio, RATIO)
        count = isinstance(self.corrections, int) and not isinstance(self.corrections, bool)
        if self.corrections != "converge" and not (count and self.corrections >= 0):  # type: ignore[operator]
            raise SchemeError(
                f"corrections = {self.corrections!r}: must be 0, 1, 2, ... or 'converge'", field="corrections"
            )
        if self.corrections and self.interface == SCHUR:
            raise SchemeError(
                f"corrections = {self.corrections!r}: none with interface='schur', which predicts the level "
                "under the network's response; take corrections = 0, or interface='held'",
                field="corrections",
            )
        check_fast_steps(self.ratio, self.passes)

    @classmethod
    def from_steps(
        cls,
        split: Partition,
        h_slow: Annotated[float, "macro step in s", "S"],
        h_fast: Annotated[float, "fast step in s", "S"],
        **choices: object,
    ) -> Multirate:
        """Make the scheme from both step sizes in s.

        Raises
        ------
        SchemeError
            When h_slow is not a whole multiple of h_fast.
        """
        check_positive("h_slow", h_slow, "s")
        check_positive("h_fast", h_fast, "s")
        if h_slow > 2 * MOST_FAST_STEPS * h_fast:
            check_fast_steps(2 * MOST_FAST_STEPS, 1)
        ratio = round(h_slow / h_fast)
        # 1e-9 is far above the rounding of two decimal literals and far below any intended difference.
        if ratio < 1 or abs(ratio * h_fast - h_slow) > 1e-9 * h_slow:
            below = max(1, math.floor(h_slow / h_fast))
            raise SchemeError(
                f"h_slow = {h_slow:g} s is not a whole multiple of h_fast = {h_fast:g} s; "
                f"try h_slow = {below * h_fast:g} s or {(below + 1) * h_fast:g} s",
                field="h_slow",
            )
        return cls(split, h_slow, ratio, **choices)  # type: ignore[arg-type]

    @classmethod
    def makers(cls) -> tuple[Callable[..., Multirate], ...]:
        """See `Scheme`: the fast step may be given in place of the ratio."""
        return (cls, cls.from_steps)

    @classmethod
    def chosen(cls, choices: Mapping[str, Any], linear: LinearDae | None) -> Multirate:
        """See `Scheme`."""
        return cls._of(**choices)

    @classmethod
    def _of(cls, split: Partition, h_fast: float | None = None, **choices: Any) -> Multirate:
        if (h_fast is None) == ("ratio" not in choices):
            raise SchemeError("a multirate scheme needs h_fast (s) or ratio, one of them")
        if h_fast is None:
            return cls(split, **choices)
        return cls.from_steps(split, choices.pop("h_slow"), h_fast, **choices)

    @property
    def h_fast(self) -> float:
        """Fast step in s."""
        return self.h_slow / self.ratio

    @property
    def step(self) -> float:
        """Time between two accepted points (the macro step) in s."""
        return self.h_slow

    @property
    def work(self) -> Hashable:
        """What the work of a step depends on beside its sizes and corrections: TM and BEM predict alike."""
        predictor = self.predictor if self.predictor in ("FEM", EXTRAPOLATION) else "implicit"
        return (self.split, predictor, self.predict, self.solution, self.coupling, self.interface)

    @property
    def passes(self) -> int:
        """How often a step is done over, with every correction; until they agree one pass is counted."""
        return 1 if self.corrections == "converge" else 1 + int(self.corrections)

    @property
    def order(self) -> int:
        """See `Scheme`: that of the solution, also where the sides exchange values at the ends of a step."""
        return TABLEAUX[self.solution].order

    @property
    def two_rates(self) -> Multirate:
        """See `Scheme`."""
        return self

    @property
    def numerical_oscillation(self) -> NumericalOscillation | None:
        """See `Scheme`: the trapezoidal rule is not damped."""
        return NumericalOscillation() if self.solution == "TM" else None

    @property
    def past(self) -> PastReading:
        """See `Scheme`: with the points within a step of the fast variables."""
        fast = np.concatenate([self.split.fast_x, self.split.fast_y])
        return PastReading(1, why_not="a macro step reads none of its own points", within=fast)

    @property
    def inner_points(self) -> InnerPoints:
        """See `Scheme`: the fast points."""
        return InnerPoints(self.point_times)

    def with_step(self, h: float) -> Multirate:
        """See `Scheme`: the ratio stays."""
        return replace(self, h_slow=h)

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`: both steps, as a study has them."""
        return ("h_slow", self.h_slow, "s"), ("h_fast", self.h_fast, "s")

    def finer(self, part: float) -> Multirate | None:
        """See `Scheme`: the ratio stays, the fast step is round and the macro step a whole multiple of it."""
        h_fast = rounded_down(self.h_fast * part ** (1.0 / self.order))
        h_slow = float(f"{self.ratio * h_fast:.12g}")
        return self.with_step(h_slow) if 0.0 < h_slow < self.h_slow else None

    def with_ratio(self, ratio: int) -> Multirate:
        """Return the scheme with another ratio at the same smallest step."""
        check_whole("ratio", ratio, RATIO)
        check_fast_steps(ratio, self.passes)
        return replace(self, h_slow=ratio * self.h_fast, ratio=ratio)

    def converged(self) -> Multirate:
        """Return the scheme with corrections until prediction and result agree.

        With the interface held, since under the network's response nothing is corrected.
        """
        return replace(self, corrections="converge", coupling=str(self.coupling), interface=HELD)

    def predicting_implicitly(self) -> Multirate | None:
        """Return the scheme with an implicit prediction; None where it has no explicit one that decides.

        None decides where it is corrected until it agrees, or a level is predicted.
        """
        if self.predictor != "FEM" or self.corrections == "converge" or self.interface == SCHUR:
            return None
        return replace(self, predictor="TM") if self.has(True) and self.has(False) else None

    def fast_steps(self, h: float) -> int:
        """Return the number of fast steps in a macro step of h in s, which may be a shortened one."""
        return max(1, math.ceil(h / self.h_fast - TUNED.rounding)) if self.has(True) else 1

    def point_times(self, h: float) -> NDArray[np.float64]:
        """Return the times in s of the fast points of a macro step of h in s."""
        count = self.fast_steps(h)
        return h * np.arange(1, count + 1) / count

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: equations (19) to (22) of Huang and Tzounas."""
        return multirate_program(self, h, before)

    def has(self, fast: bool) -> bool:
        """Return whether a side has variables."""
        return bool((self.split.fast_x == fast).any() or (self.split.fast_y == fast).any())

    def __str__(self) -> str:
        corrections = f"corrections: {self.corrections}" if self.corrections else "no corrections"
        return (
            f"multirate {self.predictor} predictor ({self.predict}), {self.solution} solution, "
            f"{self.interpolation} interpolation, h_slow = {self.h_slow:g} s, ratio {self.ratio}, "
            f"{corrections}{NEWTON_WORDS[self.newton]}{self._couplings()}"
        )

    def _couplings(self) -> str:
        """Return the couplings that are not the usual ones."""
        mean = ", mean coupling" if self.coupling == MEAN else ""
        return mean + (", Schur interface" if self.interface == SCHUR else "")
