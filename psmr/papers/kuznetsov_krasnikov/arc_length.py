"""Explicit methods that choose their steps, and runs along the arc of the solution, the "best argument"."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn

import numpy as np

from psmr.base.arguments import explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError, nearest
from psmr.base.numbers import plain
from psmr.integrate.schemes.choices import (
    MOST_STEPS,
    Newton,
    Weights,
    check_choice,
    check_fields,
    check_newton_tolerance,
    check_positive,
    check_whole_steps,
)
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.scheme import Scheme, StepChoice, StepOperator, rounded_down
from psmr.integrate.schemes.stability import explicit_limit, explicit_operator
from psmr.integrate.tableaux import EXPLICIT

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System


ADAPTIVE_METHODS = ("RK54", "Adams")

# An increment below the rounding of a number cannot be distinguished from an error.
LEAST_RTOL = 100 * float(np.finfo(float).eps)


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class Adaptive(Scheme):
    r"""Advance every variable explicitly, with steps that keep the local error below a tolerance.

    Parameters
    ----------
    method
        ``"RK54"``, the Runge-Kutta pair of Dormand and Prince, order 5 with an error estimate of order 4; or
        ``"Adams"``, Adams-Bashforth-Moulton of order 1 to 12 in PECE form, two evaluations a step.
    rtol, atol
        The root mean square over the states of error / (atol + rtol \|x\|) is kept below 1 at each step.
    longest
        Longest step in s.
    most_steps
        Steps after which a run that has not reached its end fails.
    newton, tolerance
        How g = 0 is solved at every evaluation, as in `SingleRate`; `tolerance` must not be above `rtol`.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.

    Notes
    -----
    On a stiff system the step is that of the stability limit, whatever the tolerance: an explicit method
    stays explicit. A state that meets its limit is held there; the error control shortens the steps around
    that instant. A limit that moves with a variable is refused: no stage has the derivative of a state on it.
    """

    method: Annotated[str, ADAPTIVE_METHODS] = "RK54"
    rtol: Annotated[float, Positive()] = 1e-6
    atol: Annotated[float, Positive()] = 1e-9
    longest: float = math.inf
    most_steps: int = MOST_STEPS
    newton: Newton = "very dishonest"
    tolerance: Annotated[float, Positive()] = 1e-10

    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.longest != math.inf:
            check_positive("longest", self.longest, "s")
        check_whole_steps(self.most_steps)
        if self.rtol < LEAST_RTOL:
            raise SchemeError(
                f"rtol = {self.rtol:g}: must be at least 2.3e-14, a hundred times the rounding of a number",
                field="rtol",
            )
        if self.tolerance > self.rtol:
            raise SchemeError(
                f"tolerance = {self.tolerance:g} of Newton is above rtol = {self.rtol:g}: the algebraic"
                " variables would carry "
                "a larger error than the steps are chosen for; take tolerance <= rtol",
                field="tolerance",
            )

    @property
    def step_choice(self) -> StepChoice:
        """See `Scheme`."""
        return StepChoice(self.longest)

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`."""
        return ("rtol", self.rtol, ""), ("atol", self.atol, "")

    def finer(self, part: float) -> Adaptive | None:
        """See `Scheme`: the error is proportional to the tolerances, with Newton's below `rtol`."""
        rtol, atol = rounded_down(part * self.rtol), rounded_down(part * self.atol)
        possible = max(LEAST_RTOL, self.tolerance) <= rtol < self.rtol and atol > 0.0
        return replace(self, rtol=rtol, atol=atol) if possible else None

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: it finds its points as it goes."""
        from psmr.papers.kuznetsov_krasnikov.explicit_engine import ExplicitEngine

        return ExplicitEngine(
            system, parameters, w, str(self), method=self.method, tolerances=(self.rtol, self.atol),
            longest=self.longest, most=self.most_steps, newton=self.newton, tolerance=self.tolerance,
        )  # fmt: skip

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: there is none."""
        return StepOperator(functools.partial(no_operator, self), math.nan)

    def __str__(self) -> str:
        name = {"RK54": "Runge-Kutta 5(4)", "Adams": "Adams PECE"}[self.method]
        return f"adaptive {name}, rtol = {self.rtol:g}, atol = {self.atol:g}"


def no_operator(scheme: Scheme, linear: LinearDae) -> NoReturn:
    """Raise the error for a report on a method that chooses its own steps."""
    raise SchemeError(
        f"{scheme}: a method that chooses its own steps has no step operator; its steps follow the "
        "tolerance, and on a stiff system the stability limit of the method. For a report take a fixed-step "
        "method"
    )


ONE_STEP = ("FEM", "RK2", "RK4")


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class ArcLength(Scheme):
    """Advance states and time by an explicit method over the arc length of the solution.

    With d lambda^2 = sum_i (w_i dx_i)^2 + (w_t dt)^2 the system becomes dx/d lambda = f / v, dt/d lambda = 1
    / v, v^2 = sum_i (w_i f_i)^2 + w_t^2 (Kuznetsov and Krasnikov, equation (13), with weights): where the
    solution is steep, t waits. Algebraic variables are solved at every evaluation and have no part in the
    length. The end of the run and every change are met exactly, by a shortened step.

    Parameters
    ----------
    method
        ``"FEM"``, ``"RK2"``, ``"RK4"`` with a fixed step, or an `Adaptive`.
    h
        Step in lambda; of an adaptive method the longest, without which a step can go far past the end.
    weights
        w_i of every state, or by full name of a state, 1 where left out. They make unlike units comparable.
    weight_t
        w_t in 1/s.
    most_steps
        Steps after which a run that has not reached its end fails; of an adaptive method in place of its own.
    newton, tolerance
        How g = 0 is solved at every evaluation, as in `SingleRate`; those of an adaptive method are its own.

    Raises
    ------
    SchemeError
        For an unknown choice or a value out of range.

    Notes
    -----
    Near an equilibrium f = 0 and dt = d lambda / w_t: the wrapper is then its base method with the step h /
    w_t, and what the pencil says of that method holds (`base`). A steep boundary layer is where it helps. On
    a stiff slow manifold the long steps go across and not along: the solution *chatters* about the manifold
    at about +- h / (2 w_i), bounded, though every step is linearly unstable. The counters of a run say how
    often a step turned back on the one before it.
    """

    method: Annotated[str, ONE_STEP] | Adaptive
    h: Annotated[float, Positive()]
    weights: float | Mapping[str, float] = 1.0
    weight_t: Annotated[float, Positive("1/s")] = 1.0
    most_steps: int = MOST_STEPS
    newton: Newton = "very dishonest"
    tolerance: float = 1e-10

    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.method, Adaptive):
            if self.method.longest != math.inf:
                raise SchemeError(
                    f"method: longest = {self.method.longest:g} s of the adaptive method has no meaning"
                    " along the arc; "
                    "h of ArcLength limits its steps"
                )
        else:
            check_choice("method", self.method, ONE_STEP)
        check_newton_tolerance(self.tolerance)
        check_whole_steps(self.most_steps)
        if isinstance(self.weights, Mapping):
            object.__setattr__(self, "weights", Weights({k: plain(v) for k, v in self.weights.items()}))
            for name, weight in self.weights.items():
                _weight(f"weights[{name!r}]", weight)
        else:
            _weight("weights", self.weights)

    @property
    def base(self) -> SingleRate | Adaptive | None:
        """The method it is near an equilibrium, with step h / w_t; None for RK2, none of `SingleRate`."""
        if isinstance(self.method, Adaptive):
            return self.method
        if self.method == "RK2":
            return None
        return SingleRate(self.method, self.h / self.weight_t, self.newton, self.tolerance)

    def vector(self, names_x: tuple[str, ...]) -> np.ndarray:
        """Return (n + 1,) weights of the named states and of time.

        Raises
        ------
        SchemeError
            For the weight of a state that is not there, with the nearest known one.
        """
        named = self.weights if isinstance(self.weights, Mapping) else {}
        for name in named:
            if name not in names_x:
                raise SchemeError(f"weights: there is no state {name!r}{nearest(name, names_x)}")
        usual = 1.0 if isinstance(self.weights, Mapping) else float(self.weights)
        return np.array([*(named.get(name, usual) for name in names_x), self.weight_t], dtype=float)

    @property
    def step_choice(self) -> StepChoice:
        """See `Scheme`."""
        return StepChoice(self.operator.step)

    @property
    def order(self) -> int:
        """See `Scheme`: of an adaptive method that of its tolerances."""
        return 1 if isinstance(self.method, Adaptive) else EXPLICIT[self.method].order

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`: the tolerances of an adaptive method, otherwise the step along the arc."""
        return self.method.accuracy if isinstance(self.method, Adaptive) else (("h", self.h, ""),)

    def finer(self, part: float) -> ArcLength | None:
        """See `Scheme`."""
        if isinstance(self.method, Adaptive):
            method = self.method.finer(part)
            return None if method is None else replace(self, method=method)
        h = rounded_down(self.h * part ** (1.0 / self.order))
        return replace(self, h=h) if 0.0 < h < self.h else None

    def with_step(self, h: float) -> ArcLength:
        """See `Scheme`: the weights stay."""
        return replace(self, h=h * self.weight_t)

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: it finds its points as it goes."""
        from psmr.papers.kuznetsov_krasnikov.explicit_engine import ExplicitEngine

        weights, adaptive = self.vector(system.names_x), isinstance(self.method, Adaptive)
        own: Any = self.method if adaptive else self
        return ExplicitEngine(
            system, parameters, w, str(self), method=own.method, weights=weights,
            tolerances=(own.rtol, own.atol) if adaptive else None, longest=self.h, most=self.most_steps,
            newton=own.newton, tolerance=own.tolerance,
        )  # fmt: skip

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: at an equilibrium, where nothing but t moves, a step of lambda is h / w_t in time."""
        h = self.h / self.weight_t
        if isinstance(self.method, Adaptive):
            return StepOperator(functools.partial(no_operator, self), h)
        remark = (
            "Near an equilibrium nothing moves but time, so the arc is time itself: the run is its base "
            f"method, {self.method} with a step of {h:g} s, and so is the report. "
            "Away from it the steps are shorter. Where the base method is unstable at this step the run does "
            "not grow but chatters about the slow manifold; the run's counters say how often a step turned "
            "back."
        )
        return StepOperator(
            functools.partial(explicit_operator, method=self.method, h=h),
            h,
            functools.partial(explicit_limit, method=self.method, factor=self.weight_t, unit=""),
            (remark,),
        )

    def __str__(self) -> str:
        method = (
            f"{self.method}, steps up to" if isinstance(self.method, Adaptive) else f"{self.method}, step"
        )
        weights = (
            f"by state ({len(self.weights)})" if isinstance(self.weights, Mapping) else f"{self.weights:g}"
        )
        return f"arc length, {method} {self.h:g}, weights {weights}, of time {self.weight_t:g} 1/s"


def _weight(field: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:  # type: ignore[arg-type, operator]
        raise SchemeError(
            f"{field} = {value!r}: must be a finite number >= 0 (0 leaves a state out of the length)",
            field=field,
        )
