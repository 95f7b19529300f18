"""The equations of one step on a linear DAE, as a list of block rows.

On x' = fx x + fy y, 0 = gx x + gy y the program of a step is a short list of linear equations, each for one
unknown point in terms of the points before it and of the state at t. Here the program is turned into that
list; `psmr.pencil.operator.step_operator` stacks it into the pencil or substitutes it into the step operator.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.solve.partition_sides import Sides, sides_of
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
    Side,
    Stage,
    value,
)
from psmr.integrate.step.response_matrix import response_matrix
from psmr.pencil.operator.equation import KEPT, NEW, NEW_KEPT, STATE, Equation, Taken, Term, merged
from psmr.pencil.operator.loops import OneSide, closed, uniform
from psmr.pencil.operator.matrices import implicit, matrices
from psmr.pencil.operator.past import require_readable, with_past

# From so many steps in a row on their power is cheaper than each by itself, as long as the side has not more
# rows: its powers are dense.
CLOSED_FROM, CLOSED_UP_TO = 6, 250


@dataclass(frozen=True, eq=False)
class StepEquations:
    """All block rows of one step.

    Attributes
    ----------
    equations
        In the order of solution.
    state
        Names of the blocks known at t, in the order of the state vector.
    successors
        The unknowns that are those blocks at t + h.
    history_of
        Positions in w of the variables whose values at earlier points are part of the state.
    slow
        Positions in w of the slow variables where the new point itself is the prediction
        (corrections until they agree), else None.
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


def step_equations(
    linear: LinearDae, scheme: Scheme, closed_up_to: int = CLOSED_UP_TO, stops: Sequence[int] = ()
) -> StepEquations:
    """Turn the program of one step into equations on the linear DAE.

    Parameters
    ----------
    linear
        The DAE: sparse fx (n, n), fy (n, m), gx (m, n), gy (m, m).
    scheme
        Any whose step is a program.
    closed_up_to
        Rows of the largest side of which many equal steps in a row are one dense equation
        (`psmr.pencil.operator.loops`) in place of one each; 0 for an equation of every point.
    stops
        Steps in such a row after which there is a point all the same, ascending.

    Returns
    -------
    StepEquations
        In the variables w = (x, y) of the linear DAE, in its order.

    Raises
    ------
    SchemeError
        For a partition of another system, or a scheme whose step is no program.
    """
    if linear.delays is not None:
        require_readable(linear, scheme)
        closed_up_to = 0  # the closed form of many steps has no inputs
    program = scheme.steady_program()
    sides = sides_of(linear, scheme.split)
    remembered = sides.of(program.history_of)[1] if program.history else np.zeros(0, dtype=int)
    writer = _Writer(linear, sides, scheme.step, remembered, closed_up_to, stops)
    writer.write(program.instructions, "", 0)
    equations = _needed(writer.equations(), NEW)
    state: tuple[str, ...] = (STATE,)
    successors: tuple[str, ...] = (NEW,)
    if program.history:
        identity = sp.eye_array(len(remembered), format="csr")
        taken = sp.eye_array(linear.n + linear.m, format="csr")[remembered]
        history: tuple[Term, ...] = ((STATE, taken), (KEPT[0], identity))
        kept = NEW_KEPT[: program.history]
        equations += [
            Equation(name, identity, (term,), "history") for name, term in zip(kept, history, strict=False)
        ]
        state, successors = (STATE, *KEPT[: program.history]), (NEW, *kept)
    if linear.delays is not None:
        equations, shifted = with_past(equations, linear, scheme)
        state, successors = (*state, *shifted.state), (*successors, *shifted.successors)
    return StepEquations(
        tuple(equations), state, successors, remembered, sides.slow if writer.iterated else None
    )


@dataclass(frozen=True, eq=False)
class _Parts:
    """What the equations of a side's stages are made of.

    Attributes
    ----------
    own
        Positions of its rows.
    others
        What takes the variables of the other side out of w.
    mass, rates
        The side's rows of E and of f, above empty ones for the other side's variables.
    picked, older
        `others` below empty rows, on w and on the remembered variables.
    """

    own: np.ndarray
    others: sp.csr_array
    mass: sp.csr_array
    rates: sp.csr_array
    picked: sp.csr_array
    older: sp.csr_array


class _Writer:
    """Follows a program and writes an equation for each stage.

    Attributes
    ----------
    points, rates
        Which block a name stands for at present; for a rate the point at which f is taken.
    times
        Time of each block and of the rates, in parts of the step after t: inputs are those of that time.
    iterated
        Whether a prediction is corrected until it agrees with the result.
    """

    def __init__(
        self,
        linear: LinearDae,
        sides: Sides,
        h: float,
        remembered: np.ndarray,
        closed_up_to: int,
        stops: Sequence[int],
    ) -> None:
        self.linear, self.sides, self.h = linear, sides, h
        self.closed_up_to, self.stops = closed_up_to, stops
        self.identity = sp.eye_array(linear.n + linear.m, format="csr")
        # What takes the remembered variables to their places in w.
        self.place = self.identity[remembered].T.tocsr()
        self.matrices = self.mass, self.rates_matrix, _ = matrices(linear)
        self.points: dict[str, str] = {NOW: STATE, OLDER[0]: KEPT[0], OLDER[1]: KEPT[1]}
        self.rates: dict[str, str] = {}
        self.times: dict[str, float] = {STATE: 0.0, NEW: 1.0}
        self.present = STATE
        self.iterated = False
        self._equations: list[Equation] = []
        self._parts: dict[tuple[Side, bool], _Parts] = {}
        self._left: dict[tuple[str, float], sp.csr_array] = {}  # one object a matrix: it is factorised once

    def equations(self) -> list[Equation]:
        """Return the equations, the last point under the name `NEW`."""
        last = self.present

        def named(block: str) -> str:
            return NEW if block == last else block

        return [
            replace(
                e,
                unknown=named(e.unknown),
                terms=merged([(named(b), m) for b, m in e.terms]),
                inputs=tuple(taken._replace(point=named(taken.point)) for taken in e.inputs),
            )
            for e in self._equations
        ]

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
            else:
                self._iterate(instruction, label, i)

    def _repeat(self, repeat: Repeat, label: str) -> None:
        last = repeat.times - 1  # it and the first one may weigh what they add otherwise
        ends = [1, *(stop for stop in self.stops if 1 < stop < last), last, repeat.times]
        for begin, end in zip([0, *ends], ends, strict=False):
            if begin == 0 or end - begin < CLOSED_FROM or not self._power(repeat, begin, end, label):
                for k in range(begin, end):
                    if k > begin:
                        self.write(repeat.between, label, k - 1)
                    self.write(repeat.body, f" {k + 1}{label}", k)
            if end < repeat.times:
                self.write(repeat.between, label, end - 1)

    def _power(self, repeat: Repeat, first: int, end: int, label: str) -> bool:
        """Write the steps of a loop from `first` up to `end` as one equation for each point that they change.

        Returns whether they are powers of one map of a side that is not too large; where not, nothing is
        written.
        """
        loop = uniform(repeat, range(first, end))
        if loop is None or len(self.sides.of(loop.stage.rows)[0]) > self.closed_up_to:
            return False
        parts = self._parts_of(loop.stage.rows, loop.stage.with_response)
        if parts.others.shape[0] and not loop.stage.outside:
            return False
        variables = self.sides.of(loop.stage.rows)[1]
        side = OneSide(parts.own, variables, parts.others, parts.mass, parts.rates)
        begin = self.present
        for k, made in enumerate(closed(loop, side, self._left_of(loop.stage, parts), self.h)):
            terms: list[Term] = [(begin, made.of_start)]
            if made.adds:
                terms.append((self.points[made.to], self.identity))
            for name, matrix in made.of_others:
                read = matrix @ parts.others
                terms.append((self.points[name], read @ self.place if name in OLDER else read))
            unknown = f"{made.to} {end}{label}"
            self.times[unknown] = loop.time
            self._equations.append(Equation(unknown, self.identity, merged(terms), "steps in a row"))
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
        own, others = (
            self.identity[self.sides.of(combine.rows)[1]],
            self.identity[self.sides.beyond(combine.rows)],
        )
        terms: list[Term] = [(self.present, others.T @ others)] if others.shape[0] else []
        for name, weight in combine.terms:
            read = weight * (own @ self.place if name in OLDER else own)
            terms.append((self.points[name], (own.T @ read).tocsr()))
        unknown = f"{combine.to}{label}"
        self.times[unknown] = self.times[self.present]
        self._equations.append(Equation(unknown, self.identity, merged(terms), "extrapolation"))
        self.present = self.points[combine.to] = unknown

    def _add(self, add: Add, label: str, i: int) -> None:
        own = self.identity[self.sides.of(add.rows)[1]]
        terms: list[Term] = [(self.present, value(add.weights, i) * (own.T @ own).tocsr())]
        if not add.anew:
            terms.append((self.points[add.to], self.identity))
        unknown = f"{add.to}{label}{' begun' if add.anew else ''}"
        self.times[unknown] = self.times[self.present]
        self._equations.append(Equation(unknown, self.identity, merged(terms), "sum"))
        self.points[add.to] = unknown

    def _responding(self) -> sp.csr_array:
        """Return what takes the slow variables out of w, the responding ones less their response."""
        n, sides = self.linear.n, self.sides
        jacobian = sp.csr_array(self.linear.jacobian_at_once())
        read = np.unique(jacobian[sides.fast_rows].indices)
        read = np.intersect1d(read[read >= n], sides.slow)
        algebraic_rows, algebraic = sides.of("slow", algebraic_from=n)
        gains = response_matrix(jacobian[algebraic_rows], algebraic, sides.fast, read)
        spread = sp.eye_array(sides.slow.size, format="csr")[np.searchsorted(sides.slow, read)]
        return (self.identity[sides.slow] - spread.T @ gains @ self.identity[sides.fast]).tocsr()

    def _parts_of(self, side: Side, with_response: bool) -> _Parts:
        """Return what the stages of a side are made of; the same for each of its fast steps."""
        if (side, with_response) not in self._parts:
            own = self.sides.of(side)[0]
            others = self._responding() if with_response else self.identity[self.sides.beyond(side)]
            size, older = self.mass.shape[1], others @ self.place
            below = sp.csr_array((others.shape[0], size))
            self._parts[side, with_response] = _Parts(
                own,
                others,
                mass=_on_top(self.mass[own], below),
                rates=_on_top(self.rates_matrix[own], below),
                picked=_on_top(sp.csr_array((len(own), size)), others),
                older=_on_top(sp.csr_array((len(own), older.shape[1])), older),
            )
        return self._parts[side, with_response]

    def _left_of(self, stage: Stage, parts: _Parts) -> sp.csr_array:
        """Return the matrix of a stage's equation: one object for all with the same."""
        key = (stage.rows, self.h * stage.gamma)
        if key not in self._left:
            left = implicit(self.matrices, self.h * stage.gamma)
            self._left[key] = _on_top(left[parts.own], parts.others) if parts.others.shape[0] else left
        return self._left[key]

    def _stage(self, stage: Stage, label: str, i: int) -> None:
        side, h = stage.rows, self.h
        parts = self._parts_of(side, stage.with_response)
        terms: list[Term] = [(self.points[stage.base], parts.mass)]
        terms += [(self.rates[name], h * weight * parts.rates) for name, weight in stage.rates]
        outside = [(self.points[name], value(weights, i), name) for name, weights in stage.outside]
        for block, weight, name in outside or [(self.present, 1.0, "")]:
            if parts.others.shape[0] and weight:
                terms.append((block, weight * (parts.older if name in OLDER else parts.picked)))
        unknown = f"{stage.to}{label}"
        self.times[unknown] = at = value(stage.at, i)
        states = parts.own < self.linear.n
        inputs = [Taken(unknown, at, parts.own, np.where(states, h * stage.gamma, 1.0))]
        inputs += [
            Taken(point, self.times[point], parts.own, np.where(states, h * weight, 0.0))
            for point, weight in ((self.rates[name], weight) for name, weight in stage.rates)
        ]
        posed = " (is the partition well posed?)" if side != "all" else ""
        words = f"{stage.role}, step {h:g} s, f at the new point times {h * stage.gamma:g} s{posed}"
        self._equations.append(
            Equation(unknown, self._left_of(stage, parts), merged(terms), words, tuple(inputs))
        )
        self.present = self.points[stage.to] = unknown
        if stage.rate is not None:
            self.rates[stage.rate] = unknown


def _on_top(above: sp.csr_array, below: sp.csr_array) -> sp.csr_array:
    return sp.vstack([above, below], format="csr")


def _needed(equations: list[Equation], last: str) -> list[Equation]:
    """Return the equations that lead to a block: a prediction that is the result itself leaves one over."""
    wanted, kept = {last}, []
    for equation in reversed(equations):
        if equation.unknown in wanted:
            wanted |= {block for block, _ in equation.terms}
            kept.append(equation)
    return kept[::-1]
