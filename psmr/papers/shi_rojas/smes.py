"""The stabilized multirate explicit scheme of Shi and Rojas: its record, and how many micro steps it takes.

Source: Efficient simulation of singularly perturbed systems using a stabilized multirate explicit scheme,
algorithm 1 and condition (14). The micro step delta is a parameter of its own here; the paper's is epsilon *
Delta. By what a macro step multiplies each mode is its linear map, in closed form; the pencil maps the
program of the same step (`psmr.pencil.operator`), and that both agree is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import check_arguments, explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.choices import (
    Newton,
    check_choice,
    check_fields,
    check_newton_tolerance,
    check_positive,
)
from psmr.integrate.schemes.scheme import InnerPoints, Scheme
from psmr.integrate.schemes.stability import Spectrum, longest_step, mode_words, narrowest
from psmr.integrate.step.program import NEW, NOW, Instruction, Program, Rate, Repeat, Restore, Stage
from psmr.integrate.tableaux import EXPLICIT

BASES = ("FEM", "RK2", "RK4")
NODES = ("settled", "macro")


def setbacks(base: str, nodes: str) -> NDArray[np.float64]:
    """Return (s,) by how many N delta each stage's long step is shorter than c_i h."""
    c = EXPLICIT[base].c
    return np.full(c.size, 2.0) if nodes == "macro" else 1.0 + c


def room_for_micro(base: str, h: float, nodes: str) -> float:
    """Return what N delta must stay below for a macro step h, so that no long step goes backwards, in s."""
    if base == "FEM":
        return h
    c, back = EXPLICIT[base].c, setbacks(base, nodes)
    return float((c / back)[c > 0].min()) * h


def amplification(
    eigenvalues: ArrayLike,
    h: float,
    delta: float,
    micro: ArrayLike,
    base: str = "FEM",
    nodes: str = "settled",
) -> NDArray[np.complex128]:
    """Return by what one macro step multiplies the mode of each eigenvalue (1/s); (14) for forward Euler.

    The linear map of the step is this function of the state matrix, M = R(A). A sequence of numbers `micro`
    gives a row for each.
    """
    s = np.asarray(eigenvalues, dtype=complex)
    number = np.asarray(micro)[..., None]
    tableau, back = EXPLICIT[base], setbacks(base, nodes)
    with np.errstate(over="ignore", invalid="ignore"):
        settle = EXPLICIT["FEM"].stability_function(delta * s) ** number
        rates = np.zeros((tableau.stages, *settle.shape), complex)
        for i, c in enumerate(tableau.c):
            at = settle
            if i > 0:
                along = np.tensordot(tableau.A[i, :i] / c, rates[:i], 1)
                at = settle * (settle + (c * h - back[i] * number * delta) * along)
            rates[i] = s * at
        return np.asarray(settle + (h - number * delta) * np.tensordot(tableau.b, rates, 1))


# Micro steps tried by `Smes.for_system`: 100 a decade, so that the best one is missed by some 1 %.
PER_DECADE = 100

# Below this damping ratio the best micro step for a complex mode leaves more than 0.7 of it.
LIGHT = 0.7

# Numbers of micro steps that are looked at together.
BATCH = 256


def choose(
    linear: LinearDae, h: float, base: str, delta: float | None, margin: float, nodes: str
) -> tuple[float, int]:
    """Return (delta in s, N) with the fewest micro steps; arguments and errors as in `Smes.for_system`."""
    spectrum = Spectrum.of(linear)
    steps = micro_steps(spectrum, h, base, nodes) if delta is None else np.array([delta])
    widened = spectrum.widened(h, margin)
    fast = widened[np.abs(widened) * h > 1.0]
    best: tuple[int, float, float] | None = None
    for trial in map(float, steps[::-1]):
        micro = smallest_micro(widened, h, trial, base, best[0] if best else None, nodes)
        if micro is not None:
            # Of equally short ones the one that leaves least of the fast modes.
            left = float(np.abs(amplification(fast, h, trial, micro, base, nodes)).max(initial=0.0))
            if best is None or (micro, left) < best[:2]:
                best = (micro, left, trial)
    if best is None:
        raise SchemeError(_refusal(spectrum, h, base, delta, margin, nodes))
    micro, _, chosen = best
    limit, mode = narrowest(spectrum.damped, base)
    if 0.0 < limit < h:
        stages = EXPLICIT[base].stages
        alone, cost = stages * math.ceil(h / limit), stages * (micro + 1)
        if cost > alone:
            raise SchemeError(_no_gain(base, h, (chosen, micro), cost, alone, limit, mode))
    return chosen, micro


def smallest_micro(
    eigenvalues: ArrayLike,
    h: float,
    delta: float,
    base: str = "FEM",
    most: int | None = None,
    nodes: str = "settled",
) -> int | None:
    """Return the smallest number N >= 1 of micro steps for which every mode (1/s) decays, or None.

    N delta is kept below `room_for_micro`, and N is not looked for above `most`; the others are as in `Smes`.
    """
    limit = math.ceil(room_for_micro(base, h, nodes) / delta) - 1
    limit = limit if most is None else min(limit, most)
    for first in range(1, limit + 1, BATCH):
        number = np.arange(first, min(first + BATCH, limit + 1))
        factors = np.abs(amplification(eigenvalues, h, delta, number, base, nodes))
        good = np.flatnonzero((factors < 1.0).all(axis=1))
        if good.size:
            return int(number[good[0]])
    return None


def micro_steps(spectrum: Spectrum, h: float, base: str, nodes: str) -> NDArray[np.float64]:
    """Return the micro steps to try in s: 1/|s| of each mode faster than h, and a grid over their range.

    delta = 1/|s| removes a real mode in one step; -Re s / |s|^2 is the best one step can do for a complex
    one.
    """
    room = room_for_micro(base, h, nodes)
    s = spectrum.damped[np.abs(spectrum.damped) * h > 1.0]
    best = -s.real / np.abs(s) ** 2
    best = best[best > 0.0]
    if not best.size:
        return np.array([0.01 * room])  # nothing is fast: a micro step that does no harm
    low, high = 0.1 * float(best.min()), max(2.0 * float(best.max()), float(1.0 / np.abs(s).min()))
    count = math.ceil(PER_DECADE * math.log10(high / low)) + 1
    steps = np.unique(np.concatenate([best, 1.0 / np.abs(s), np.geomspace(low, high, count)]))
    return np.asarray(steps[steps < room])


def _refusal(spectrum: Spectrum, h: float, base: str, delta: float | None, margin: float, nodes: str) -> str:
    """Say that there is no N, and which mode is in the way."""
    upper = spectrum.damped[spectrum.damped.imag >= 0]
    alone = []
    for s in upper:
        pair = Spectrum(np.array([s]))
        steps = micro_steps(pair, h, base, nodes) if delta is None else [delta]
        widened = pair.widened(h, margin)
        if all(smallest_micro(widened, h, float(d), base, nodes=nodes) is None for d in steps):
            alone.append(complex(s))
    limits = {s: longest_step([s], "FEM") for s in (alone or map(complex, upper))}
    worst = min(limits, key=lambda s: limits[s])
    chosen = "whatever delta" if delta is None else f"with delta = {delta:g} s"
    together = "" if alone else ", each mode on its own could be damped but not all together; the narrowest"
    limit = f"only with steps below {limits[worst]:.3g} s" if limits[worst] > 0.0 else "with no step at all"
    return (
        f"SMES on {base} with h = {h:g} s: there is no number N of micro steps with N delta < "
        f"{room_for_micro(base, h, nodes):g} s that makes the step stable, {chosen}{together}: mode "
        f"{mode_words(worst)}, which forward Euler, the method of the micro steps, damps {limit}. Take a "
        "smaller h, "
        f"{'base RK4 where the mode is slow, ' if base != 'RK4' else ''}or an implicit scheme"
    )


def _no_gain(
    base: str, h: float, found: tuple[float, int], cost: int, alone: int, limit: float, mode: complex
) -> str:
    """Say that the base method alone is cheaper, and which mode is in the way."""
    delta, micro = found
    advice = f"and h is hardly longer; take a longer h, or {base} alone"
    if -mode.real < LIGHT * abs(mode):
        advice = (
            "which is too lightly damped for micro steps to remove; take a smaller h or an implicit scheme"
        )
    return (
        f"SMES on {base} with h = {h:g} s has no number N of micro steps that gains anything: "
        f"the cheapest stable one is N = {micro} with delta = {delta:.3g} s, "
        f"{cost} evaluations in a macro step, and {base} alone takes {alone} with its "
        f"longest stable step {limit:.3g} s. That is set by the mode {mode_words(mode)}, {advice}"
    )


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

    h: Annotated[float, Positive("s")]
    delta: Annotated[float, Positive("s")]
    micro: int
    base: Annotated[str, BASES] = "FEM"
    newton: Newton = "dishonest"
    tolerance: float = 1e-10
    nodes: Annotated[str, NODES] = "settled"

    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_newton_tolerance(self.tolerance)
        if isinstance(self.micro, bool) or not isinstance(self.micro, int | np.integer) or self.micro < 1:
            raise SchemeError(
                f"micro = {self.micro!r}: the number of micro steps must be a whole number >= 1; "
                f"for none at all take SingleRate({self.base!r}, h={self.h!r})",
                field="micro",
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
                f"margin = {margin!r}: must be at least 0 and below 1, a fraction of the eigenvalues",
                field="margin",
            )
        chosen, micro = choose(linear, h, base, delta, margin, nodes)
        return cls(h, chosen, micro, base, newton, tolerance, nodes)

    @classmethod
    def makers(cls) -> tuple[Callable[..., Smes], ...]:
        """See `Scheme`: delta and micro may be left out, and are searched then."""
        return (cls, cls.for_system)

    @classmethod
    def chosen(cls, choices: Mapping[str, Any], linear: LinearDae | None) -> Smes | None:
        """See `Scheme`."""
        if {"delta", "micro"} <= choices.keys():
            if "margin" in choices:
                raise SchemeError("margin is for the search of micro; leave out margin, or delta and micro")
            return cls(**choices)
        if "micro" in choices:
            raise SchemeError("micro needs delta beside it; leave out both to have them searched")
        return None if linear is None else cls.for_system(linear, **choices)

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
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`: with the micro steps, which a study may leave to be searched for its h."""
        return ("h", self.h, "s"), ("delta", self.delta, "s"), ("micro", self.micro, "")

    @property
    def inner_points(self) -> InnerPoints:
        """See `Scheme`: the micro steps, for which there must be room."""
        # Two per cent beyond the step that micro steps fill, where nothing would be left for the long step.
        room = 1.02 * self.micro * self.delta / room_for_micro(self.base, 1.0, self.nodes)
        return InnerPoints(self.point_times, room)

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
