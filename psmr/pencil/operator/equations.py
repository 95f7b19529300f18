"""The equations of one step on a linear DAE, as a list of block rows.

On x' = fx x + fy y, 0 = gx x + gy y the program of a step is a short list of linear equations, each for one
unknown point in terms of the points before it and of the state at t. Here the program is turned into that
list; `psmr.pencil.operator.step_operator` stacks it into the pencil or substitutes it into the step operator.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme, steady_program
from psmr.integrate.step.program import (
    NOW,
    OLDER,
    Add,
    Combine,
    CopyRate,
    Instruction,
    Iterate,
    Rate,
    Repeat,
    Restore,
    Stage,
    value,
)
from psmr.integrate.step.sides import sides_of
from psmr.pencil.operator.equation import (
    KEPT,
    NEW,
    NEW_KEPT,
    STATE,
    Equation,
    InputTerm,
    Term,
    merged_terms,
    require_readable,
    with_past,
)
from psmr.pencil.operator.loops import OneSide, SideMatrices, loop_results, uniform

# From so many steps in a row on their power is cheaper than each by itself, as long as the side has not more
# rows: its powers are dense.
CLOSED_FROM, CLOSED_UP_TO = 6, 250


@dataclass(frozen=True, eq=False)
class StepEquations:
    """All block rows of one step.

    `equations`: In the order of solution.
    `state`: Names of the blocks known at t, in the order of the state vector.
    `successors`: The unknowns that are those blocks at t + h.
    `history_of`: Positions in w of the variables whose values at earlier points are part of the state.
    `slow`: Positions in w of the slow variables where the new point itself is the prediction (corrections
      until they agree), else None.
    """

    equations: tuple[Equation, ...]
    state: tuple[str, ...]
    successors: tuple[str, ...]
    history_of: np.ndarray
    slow: np.ndarray | None = None

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """Lengths of the blocks of the state."""
        lengths = {equation.unknown: equation.matrix.shape[0] for equation in self.equations}
        return tuple(lengths[name] for name in self.successors)


class SampledStep(NamedTuple):
    """A step in which values are sampled.

    `h`, `before`: The step in s, and the distances in s back to the accepted points that there are.
    `within`: (N, N) what w = (x, y) becomes by the samples behind some times round of the fast steps, counted
      from 1; their algebraic variables are then solved for anew.
    `held`: Places in w of the sampled variables, which no prediction extrapolates.
    """

    h: float
    before: tuple[float, ...] = ()
    within: Mapping[int, sp.csr_array] = MappingProxyType({})
    held: range = range(0)


def step_equations(
    linear: LinearDae, scheme: Scheme, closed_up_to: int = CLOSED_UP_TO, stops: Sequence[int] = ()
) -> StepEquations:
    """Turn the program of one step into equations on the linear DAE.

    `linear`: the DAE: sparse fx (n, n), fy (n, m), gx (m, n), gy (m, m); `scheme`: any whose step is a
    program; `closed_up_to`: rows of the largest side of which many equal steps in a row are one dense
    equation (`psmr.pencil.operator.loops`) in place of one each; 0 for an equation of every point; `stops`:
    steps in such a row after which there is a point all the same, ascending. Returns in the variables w = (x,
    y) of the linear DAE, in its order. Raises SchemeError for a partition of another system, or a scheme
    whose step is no program.
    """
    if linear.delays is not None:
        require_readable(linear, scheme)
        closed_up_to = 0  # the closed form of many steps has no inputs
    return equations_with(side_matrices(linear, scheme), scheme, closed_up_to, stops)


def side_matrices(linear: LinearDae, scheme: Scheme) -> SideMatrices:
    """Return the matrices of which the step of a scheme on a linear DAE is made."""
    program, sides = steady_program(scheme), sides_of(linear, scheme.split)
    remembered = sides.of(program.history_of)[1] if program.history else np.zeros(0, dtype=int)
    return SideMatrices(linear, sides, remembered)


def equations_with(
    known: SideMatrices,
    scheme: Scheme,
    closed_up_to: int = 0,
    stops: Sequence[int] = (),
    sampled: SampledStep | None = None,
) -> StepEquations:
    """Return the `step_equations` of a scheme, of matrices that may change within the step.

    `sampled`: The step, where it is not the usual one.
    """
    linear = known.linear
    program = scheme.program(sampled.h, sampled.before) if sampled else steady_program(scheme)
    writer = _Writer(known, sampled.h if sampled else scheme.step, closed_up_to, stops)
    if sampled:
        writer.within_steps, writer.held = sampled.within, np.array(sampled.held, int)
    writer.write(program.instructions, "", 0)
    equations = _needed(writer.equations(), NEW)
    state: tuple[str, ...] = (STATE,)
    successors: tuple[str, ...] = (NEW,)
    if program.history:
        identity = sp.eye_array(len(known.remembered), format="csr")
        taken = sp.eye_array(linear.n + linear.m, format="csr")[known.remembered]
        history: tuple[Term, ...] = ((STATE, taken), (KEPT[0], identity))
        kept = NEW_KEPT[: program.history]
        equations += [
            Equation(name, identity, (term,), "history") for name, term in zip(kept, history, strict=False)
        ]
        state, successors = (STATE, *KEPT[: program.history]), (NEW, *kept)
    if linear.delays is not None:
        equations, shifted = with_past(equations, linear, scheme, writer.within())
        state, successors = (*state, *shifted.state), (*successors, *shifted.successors)
    return StepEquations(
        tuple(equations), state, successors, known.remembered, known.sides.slow if writer.iterated else None
    )


class _Writer:
    """Follows a program and writes an equation for each stage.

    `points`, `rates`: Which block a name stands for at present; for a rate the point at which f is taken.
    `times`: Time of each block and of the rates, in parts of the step after t: inputs are those of that time.
    `iterated`: Whether a prediction is corrected until it agrees with the result.
    `within_steps`, `held`: See `SampledStep`.
    """

    def __init__(self, known: SideMatrices, h: float, closed_up_to: int, stops: Sequence[int]) -> None:
        self.known, self.sides, self.h = known, known.sides, h
        self.closed_up_to, self.stops = closed_up_to, stops
        self.identity, self.place = known.identity, known.place
        self.points: dict[str, str] = {NOW: STATE, OLDER[0]: KEPT[0], OLDER[1]: KEPT[1]}
        self.rates: dict[str, str] = {}
        self.times: dict[str, float] = {STATE: 0.0, NEW: 1.0}
        self.present = STATE
        self.iterated = False
        self.within_steps: Mapping[int, sp.csr_array] = {}
        self.held = np.zeros(0, int)
        self._shown: dict[int, str] = {}
        self._equations: list[Equation] = []

    def equations(self) -> list[Equation]:
        """Return the equations, the last point under the name `NEW`."""
        last = self.present

        def named(block: str) -> str:
            return NEW if block == last else block

        return [
            replace(
                e,
                unknown=named(e.unknown),
                terms=merged_terms([(named(b), m) for b, m in e.terms]),
                inputs=tuple(taken._replace(point=named(taken.point)) for taken in e.inputs),
            )
            for e in self._equations
        ]

    def within(self) -> tuple[str, ...]:
        """Return the names of the points within the step, of the last pass, without its end."""
        return tuple(self._shown[i] for i in sorted(self._shown))[:-1]

    def write(self, instructions: tuple[Instruction, ...], label: str, i: int) -> None:
        """Follow instructions; `label` tells points of one name apart, i counts the times round."""
        for instruction in instructions:
            if isinstance(instruction, Rate):
                self.rates[instruction.name] = self.present
            elif isinstance(instruction, CopyRate):
                self.rates[instruction.name] = self.rates[instruction.source]
            elif isinstance(instruction, Restore):
                self.present = self.points[instruction.to] = self.points[instruction.source]
            elif isinstance(instruction, Combine):
                self._combine(instruction, label)
            elif isinstance(instruction, Add):
                self._add(instruction, label, i)
            elif isinstance(instruction, Stage):
                self._stage(instruction, label, i)
            elif isinstance(instruction, Repeat):
                self._repeat(instruction, label)
            elif isinstance(instruction, Iterate):
                self._iterate(instruction, label, i)
            else:
                raise SchemeError(
                    "a march has no step of its own; its scheme at a fixed step has a loop for it"
                )

    def _repeat(self, repeat: Repeat, label: str) -> None:
        last = repeat.times - 1  # it and the first one may weigh what they add otherwise
        stops = {*self.stops, *self.within_steps, last}
        ends = sorted({1, repeat.times, *(stop for stop in stops if 1 < stop < repeat.times)})
        for begin, end in zip([0, *ends], ends, strict=False):
            if begin == 0 or end - begin < CLOSED_FROM or not self._power(repeat, begin, end, label):
                for k in range(begin, end):
                    if k > begin:
                        self.write(repeat.between, label, k - 1)
                    self.write(repeat.body, f" {k + 1}{label}", k)
            if end in self.within_steps and end < repeat.times:
                *_, stage = (part for part in repeat.body if isinstance(part, Stage))
                self._sample(stage, self.within_steps[end], value(stage.at, end - 1), f" {end}{label}")
            if end < repeat.times:
                self.write(repeat.between, label, end - 1)

    def _sample(self, stage: Stage, jump: sp.csr_array, at: float, label: str) -> None:
        """Write what samples make of the present point, a result of a stage, at a part of the step."""
        parts = self.known.parts_of(stage.rows, stage.with_response)
        made = parts.mass @ jump + parts.picked if parts.others.shape[0] else parts.mass @ jump
        unknown = f"sampled{label}"
        self.times[unknown] = at
        left = self.known.left_of(stage, 0.0, at)
        self._equations.append(Equation(unknown, left, ((self.present, made),), "after samples"))
        self.present = self.points[stage.to] = unknown

    def _power(self, repeat: Repeat, first: int, end: int, label: str) -> bool:
        """Write the steps of a loop from `first` up to `end` as one equation for each point that they change.

        Returns whether they are powers of one map of a side that is not too large; where not, nothing is
        written.
        """
        loop = uniform(repeat, range(first, end))
        if loop is None or len(self.sides.of(loop.stage.rows)[0]) > self.closed_up_to:
            return False
        parts = self.known.parts_of(loop.stage.rows, loop.stage.with_response)
        if parts.others.shape[0] and not loop.stage.outside:
            return False
        variables = self.sides.of(loop.stage.rows)[1]
        side = OneSide(parts.own, variables, parts.others, parts.mass, self.known.rates_of(loop.stage, 0.0))
        left, begin = self.known.left_of(loop.stage, self.h * loop.stage.gamma, 0.0), self.present
        for k, made in enumerate(loop_results(loop, side, left, self.h)):
            terms: list[Term] = [(begin, made.of_start)]
            if made.adds:
                terms.append((self.points[made.to], self.identity))
            for name, matrix in made.of_others:
                read = matrix @ parts.others
                terms.append((self.points[name], read @ self.place if name in OLDER else read))
            unknown = f"{made.to} {end}{label}"
            self.times[unknown] = loop.time
            self._equations.append(Equation(unknown, self.identity, merged_terms(terms), "steps in a row"))
            self.points[made.to] = unknown
            if k == 0:
                self.present = unknown
        return True

    def _iterate(self, iterate: Iterate, label: str, i: int) -> None:
        if iterate.most is None:
            self.iterated = True
            self.points[iterate.predicted] = NEW
            self.write(iterate.body, label, i)
            return
        for k in range(iterate.most + 1):
            self.write(iterate.body, f"{label}, pass {k + 1}", i)
            self.points[iterate.predicted] = self.present

    def _combine(self, combine: Combine, label: str) -> None:
        places = self.sides.of(combine.rows)[1]
        kept = np.union1d(self.sides.beyond(combine.rows), self.held[np.isin(self.held, places)])
        own, others = self.identity[np.setdiff1d(places, self.held)], self.identity[kept]
        terms: list[Term] = [(self.present, others.T @ others)] if others.shape[0] else []
        for name, weight in combine.terms:
            read = weight * (own @ self.place if name in OLDER else own)
            terms.append((self.points[name], (own.T @ read).tocsr()))
        unknown = f"{combine.to}{label}"
        self.times[unknown] = self.times[self.present]
        self._equations.append(Equation(unknown, self.identity, merged_terms(terms), "extrapolation"))
        self.present = self.points[combine.to] = unknown

    def _add(self, add: Add, label: str, i: int) -> None:
        own = self.identity[self.sides.of(add.rows)[1]]
        terms: list[Term] = [(self.present, value(add.weights, i) * (own.T @ own).tocsr())]
        if not add.anew:
            terms.append((self.points[add.to], self.identity))
        unknown = f"{add.to}{label}{' begun' if add.anew else ''}"
        unknown += " again" if unknown in self.times else ""  # two stages of a fast step add to a mean
        self.times[unknown] = self.times[self.present]
        self._equations.append(Equation(unknown, self.identity, merged_terms(terms), "sum"))
        self.points[add.to] = unknown

    def _stage(self, stage: Stage, label: str, i: int) -> None:
        side, h = stage.rows, self.h
        parts = self.known.parts_of(side, stage.with_response)
        terms: list[Term] = [(self.points[stage.base], parts.mass)]
        for name, weight in stage.rates:
            block = self.rates[name]
            terms.append((block, h * weight * self.known.rates_of(stage, self.times[block])))
        outside = [(self.points[name], value(weights, i), name) for name, weights in stage.outside]
        for block, weight, name in outside or [(self.present, 1.0, "")]:
            if parts.others.shape[0] and weight:
                terms.append((block, weight * (parts.older if name in OLDER else parts.picked)))
        unknown = f"{stage.to}{label}"
        self.times[unknown] = at = value(stage.at, i)
        states = parts.own < self.known.linear.n
        inputs = [InputTerm(unknown, at, parts.own, np.where(states, h * stage.gamma, 1.0))]
        inputs += [
            InputTerm(point, self.times[point], parts.own, np.where(states, h * weight, 0.0))
            for point, weight in ((self.rates[name], weight) for name, weight in stage.rates)
        ]
        posed = " (is the partition well posed?)" if side != "all" else ""
        words = f"{stage.role}, step {h:g} s, f at the new point times {h * stage.gamma:g} s{posed}"
        left = self.known.left_of(stage, h * stage.gamma, at)
        self._equations.append(Equation(unknown, left, merged_terms(terms), words, tuple(inputs)))
        self.present = self.points[stage.to] = unknown
        if stage.rate is not None:
            self.rates[stage.rate] = unknown
        if stage.shown:
            self._shown[i] = unknown


def _needed(equations: list[Equation], last: str) -> list[Equation]:
    """Return the equations that lead to a block: a prediction that is the result itself leaves one over."""
    wanted, kept = {last}, []
    for equation in reversed(equations):
        if equation.unknown in wanted:
            wanted |= {block for block, _ in equation.terms}
            kept.append(equation)
    return kept[::-1]
