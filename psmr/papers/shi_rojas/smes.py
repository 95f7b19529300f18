"""The stabilized multirate explicit scheme: one record of its choices.

Source: Shi and Rojas, Efficient simulation of singularly perturbed systems using a stabilized multirate
explicit scheme, algorithm 1 and condition (14). The micro step delta is a parameter of its own here; the
paper's is epsilon * Delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from psmr.base.arguments import check_arguments, settle_fields
from psmr.base.errors import SchemeError
from psmr.base.keywords import explains_keywords
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.choices import (
    NEWTONS,
    Newton,
    check_choice,
    check_newton_tolerance,
    check_positive,
)
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.step.program import NEW, NOW, Instruction, Program, Rate, Repeat, Restore, Stage
from psmr.integrate.tableaux.runge_kutta import EXPLICIT
from psmr.papers.shi_rojas.micro_steps import BASES, NODES, choose, room_for_micro, setbacks


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class Smes(Scheme):
    """Let the fast modes die out in `micro` forward Euler steps of `delta`, then take one long step.

    With F the derivative (algebraic variables solved at every evaluation), E(v) = v + delta F(v) and E^N its
    N-fold repetition, one macro step from x at t is

        U_1 = E^N(x),                                                  k_1 = F(U_1)
        U_i = E^N(U_1 + (c_i h - r_i N delta) sum_j (A[i, j] / c_i) k_j),    k_i = F(U_i)      (i > 1)
        x(t + h) = U_1 + (h - N delta) sum_i b_i k_i

    with A, b, c those of the base method. For ``"FEM"`` that is algorithm 1 of the paper. The stages of
    ``"RK2"`` (the midpoint rule) and ``"RK4"`` are re-equilibrated: each is preceded by N micro steps of its
    own, since a Runge-Kutta method for both kinds of steps is not stable. U_1 stands at t + N delta. With
    ``nodes="macro"`` r_i = 2 and U_i stands at t + c_i h; with ``"settled"`` r_i = 1 + c_i and U_i stands at
    t + N delta + c_i (h - N delta), where a step that begins with U_1 wants it.

    Parameters
    ----------
    h
        Macro step in s.
    delta
        Micro step in s.
    micro
        Number N of micro steps before each stage, at least 1.
    base
        ``"FEM"``, ``"RK2"`` or ``"RK4"``.
    newton, tolerance
        How g = 0 is solved at every evaluation, as in `SingleRate`; ``"dishonest"`` refreshes g_y once per
        macro step.
    nodes
        Where the stages of RK2 and RK4 stand. ``"macro"`` leaves an error of first order in N delta,
        ``"settled"`` does not: on WSCC-9 with RK4 and h = 20 ms the dominant mode is deformed by 0.28 and by
        0.03 %, and in none of 16 combinations of base, step and system was ``"macro"`` the better one
        (docs/explicit.md).

    Raises
    ------
    SchemeError
        For a value out of range; for N delta >= h, or r_2 N delta >= c_2 h with RK2 and RK4, where a stage
        would have to step backwards.

    Notes
    -----
    On x' = A x the step multiplies a mode by `amplification`; it is stable where that is below 1 in
    magnitude, condition (14) for ``"FEM"``. Limits of states are respected: a derivative is zero where a
    limit holds the state, and each step, micro or long, ends at the limit it would pass.
    """

    h: float
    delta: float
    micro: int
    base: Annotated[str, BASES] = "FEM"
    newton: Newton = "dishonest"
    tolerance: float = 1e-10
    nodes: Annotated[str, NODES] = "settled"

    split: ClassVar[None] = None
    ratio: ClassVar[int] = 1

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        check_positive("h", self.h, "s")
        check_positive("delta", self.delta, "s")
        check_newton_tolerance(self.tolerance)
        check_choice("base", self.base, BASES)
        check_choice("newton", self.newton, NEWTONS)
        check_choice("nodes", self.nodes, NODES)
        if isinstance(self.micro, bool) or not isinstance(self.micro, int | np.integer) or self.micro < 1:
            raise SchemeError(
                f"micro = {self.micro!r}: the number of micro steps must be a whole number >= 1; "
                f"for none at all take SingleRate({self.base!r}, h={self.h!r})"
            )
        object.__setattr__(self, "micro", int(self.micro))
        room = room_for_micro(self.base, self.h, self.nodes)
        if not self.micro * self.delta < room:
            what = (
                "the macro step"
                if self.base == "FEM"
                else f"{room / self.h:g} h, where the stages of {self.base} begin"
            )
            raise SchemeError(
                f"micro * delta = {self.micro} * {self.delta:g} s = {self.micro * self.delta:g} s must be"
                " shorter than "
                f"{room:g} s ({what}); take fewer or shorter micro steps, or a longer h"
            )

    @classmethod
    def for_system(
        cls,
        linear: LinearDae,
        h: float,
        base: Annotated[str, BASES] = "FEM",
        delta: float | None = None,
        margin: float = 0.1,
        newton: Newton = "dishonest",
        tolerance: float = 1e-10,
        nodes: Annotated[str, NODES] = "settled",
    ) -> Smes:
        """Choose delta and the number of micro steps from the spectrum of a DAE, by condition (14).

        Of all micro steps the one is taken that needs the fewest, so that every damped mode decays.

        Parameters
        ----------
        linear
            The DAE, linearised where its fast modes are as they will be in the run.
        h
            Macro step in s.
        base
            As in the record.
        delta
            Micro step in s, where it is not to be chosen.
        margin
            Fraction by which the eigenvalues of the fast modes may change in a run of a nonlinear system. At
            0 the search finds delta = 1/|s|, N = 1 for a single fast mode, which the slightest change of s
            undoes.

        Raises
        ------
        SchemeError
            Where no number N of micro steps with N delta < h makes the step stable, or only one that
            costs more than the base method alone with its longest stable step; names mode and damping.
        """
        check_arguments(Smes.for_system, locals(), SchemeError)
        check_positive("h", h, "s")
        check_choice("base", base, BASES)
        check_choice("nodes", nodes, NODES)
        if delta is not None:
            check_positive("delta", delta, "s")
        if not 0.0 <= margin < 1.0:
            raise SchemeError(
                f"margin = {margin!r}: must be at least 0 and below 1, a fraction of the eigenvalues"
            )
        chosen, micro = choose(linear, h, base, delta, margin, nodes)
        return cls(h, chosen, micro, base, newton, tolerance, nodes)

    @classmethod
    def makers(cls) -> tuple[Callable[..., Smes], ...]:
        """See `Scheme`: delta and micro may be left out, and are searched then."""
        return (cls, cls.for_system)

    @classmethod
    def chosen(cls, choices: Mapping[str, Any], linear: LinearDae) -> Smes:
        """See `Scheme`."""
        return cls(**choices) if {"delta", "micro"} <= choices.keys() else cls.for_system(linear, **choices)

    @classmethod
    def check_choices(cls, choices: Mapping[str, Any]) -> None:
        """See `Scheme`."""
        if {"delta", "micro"} <= choices.keys():
            if "margin" in choices:
                raise SchemeError("margin is for the search of micro; leave out margin, or delta and micro")
            cls(**choices)
        elif "micro" in choices:
            raise SchemeError("micro needs delta beside it; leave out both to have them searched")

    @property
    def step(self) -> float:
        """Time between two accepted points (the macro step) in s."""
        return self.h

    def fits(self, h: float) -> bool:
        """Return whether a step of h in s, shortened before a change, has room for its micro steps."""
        return self.micro * self.delta < room_for_micro(self.base, h, self.nodes)

    def point_times(self, h: float) -> NDArray[np.float64]:
        """Return the times of the points within a step of h in s; one without room is equal micro steps."""
        if self.fits(h):
            return np.append(self.delta * np.arange(1, self.micro + 1), h)
        count = math.ceil(h / self.delta)
        return h * np.arange(1, count + 1) / count

    def with_step(self, h: float) -> Smes:
        """See `Scheme`: the micro steps stay."""
        return replace(self, h=h)

    @property
    def shortest_step(self) -> float:
        """See `Scheme`: room for the micro steps."""
        # Two per cent beyond the step that micro steps fill, where nothing would be left for the long step.
        return 1.02 * self.micro * self.delta / room_for_micro(self.base, 1.0, self.nodes)

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: the formulas above; a step without room for the micro steps is equal ones."""
        if not self.fits(h):
            count = math.ceil(h / self.delta)
            return Program((Restore("U1", NOW), self._settle("U1", 0.0, 1.0 / count, count, True)))
        tableau, back = EXPLICIT[self.base], setbacks(self.base, self.nodes)
        delta, spent = self.delta / h, self.micro * self.delta / h
        instructions: list[Instruction] = [
            Restore("U1", NOW),
            self._settle("U1", 0.0, delta, self.micro, True),
        ]
        instructions.append(Rate("k1", "step"))
        for i in range(1, tableau.stages):
            c = float(tableau.c[i])
            along, at = (c - back[i] * spent) / c, c - (back[i] - 1.0) * spent
            rates = tuple((f"k{j + 1}", float(along * a)) for j, a in enumerate(tableau.A[i, :i]) if a)
            name = f"U{i + 1}"
            instructions += [
                Stage("step", "all", name, "U1", rates, at=(float(at),), matrix="kept"),
                self._settle(name, float(at), delta, self.micro, False),
                Rate(f"k{i + 1}", "step"),
            ]
        weights = tuple((f"k{i + 1}", float((1.0 - spent) * b)) for i, b in enumerate(tableau.b) if b)
        instructions.append(Stage("step", "all", NEW, "U1", weights, matrix="kept"))
        return Program(tuple(instructions))

    @staticmethod
    def _settle(name: str, start: float, delta: float, count: int, first: bool) -> Repeat:
        """Return `count` forward Euler steps of delta on the point `name`, from a time of `start`."""
        matrix: Literal["first", "kept"] = "first" if first else "kept"
        at = tuple(start + (j + 1) * delta for j in range(count))
        rates = (("k", delta),)
        micro = Stage("step", "all", name, name, rates, at=at, matrix=matrix, shown=first)
        return Repeat(count, (Rate("k", "step"), micro))

    @property
    def evaluations(self) -> int:
        """Evaluations of the derivative in a macro step: one for each micro step and each stage."""
        return EXPLICIT[self.base].stages * (self.micro + 1)

    def __str__(self) -> str:
        return f"SMES on {self.base}, h = {self.h:g} s, {self.micro} micro steps of {self.delta:g} s"
