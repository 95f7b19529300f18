"""The exact map of a common step within which devices take steps of their own.

Savcenco, Hundsdorfer and Verwer, BIT Numerical Mathematics 47, 2007, as `psmr.numerics.refine` does it: a
step for all; then the rows of the next level over the same time with steps of their own, while what they read
of others is on the polynomial through the points of the step that these have taken; and so on within each of
these. What is refined ends with its own values, the others keep theirs, and each rate at the end is that of
the last stage of its own level. The next step begins with these rates. They are those at the new point except
in rows that read what is refined more deeply than they are; how far they are off there is part of the state.

On a linear DAE all of this is linear. Every array below has a column for each entry of the state at t, so
that the step, taken once with the identity, is its matrix. Program, nodes and weights of the polynomial are
those that the compiled step runs on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import SuperLU

from psmr.dae.system.linear import LinearDae
from psmr.errors import SchemeError, shown
from psmr.numerics.refine.nest import shape_of
from psmr.numerics.refine.step import interpolation
from psmr.numerics.schemes.nested_step import NestedStep, members, owner
from psmr.numerics.step.encoded import blocks_of, encode
from psmr.numerics.step.program import NEW, NOW, Program, Rate, Stage, value
from psmr.pencil.operator.equations import Equation
from psmr.pencil.operator.rows import implicit, matrices

Reals = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class _Level:
    """Rows that are advanced together, and what they read.

    Attributes
    ----------
    ends
        (steps + 1,) start of the common step, and the ends of the level's steps in units of it.
    variables, states
        Positions of the variables, states first, and how many these are.
    rows
        Positions of the rows, those of the states first.
    read
        Positions of the variables outside that the rows read.
    shown
        Those of `variables` that deeper levels read, as positions in it.
    factors
        Solver of the stages by their coefficient in s, and what the variables outside add to the right side.
    """

    ends: Reals
    variables: Places
    states: int
    rows: Places
    read: Places
    shown: Places
    factors: dict[float, tuple[SuperLU, sparse.csr_array]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _UnderWay:
    """A step of a level that is taken while deeper ones are refined.

    Attributes
    ----------
    begin, h
        Its start in s after that of the common step, and its length in s.
    variables
        Positions of the variables that are kept of it.
    values
        (nodes, variables, state) their values at the nodes of the polynomial.
    """

    begin: float
    h: float
    variables: Places
    values: Reals


def nested_operator(
    linear: LinearDae, step: NestedStep, factorised: Callable[[Equation], SuperLU]
) -> NDArray[np.float64]:
    """Return the matrix T of a common step: state(t + h) = T state(t).

    Parameters
    ----------
    linear
        Linearised DAE of n states and m algebraic variables.
    step
        The common step, and who takes how many steps in it.
    factorised
        What factorises the matrix of a stage.

    Returns
    -------
    ndarray
        (n + m + k, n + m + k), on w = (x, y) and on how far the rates with which the step begins are from
        those at w, in the k rows of states that read what is refined more deeply than they are.

    Raises
    ------
    SchemeError
        For a device that the system has not.
    SingularError
        When the equations of a stage have no unique solution.
    """
    return _Walk(linear, step, factorised).operator()


def depths(linear: LinearDae, step: NestedStep) -> tuple[Places, Places]:
    """Return the level of each variable and of each row, 0 for those that go along with the common step.

    Raises
    ------
    SchemeError
        For a device that the system has not.
    """
    level_of = {d: k for k, level in enumerate(step.levels, start=1) for d in members(level.devices)}
    variables = [owner(name) for name in linear.names_x + linear.names_y]
    rows = [owner(name) for name in linear.names_x + linear.names_g]
    if strange := level_of.keys() - set(variables):
        raise SchemeError(f"{step}: {shown(min(strange))} is no device with variables of this system")
    return (
        np.array([level_of.get(device, 0) for device in variables], dtype=np.intp),
        np.array([level_of.get(device, 0) for device in rows], dtype=np.intp),
    )


class _Walk:
    """Takes the step with a column for each entry of the state.

    Attributes
    ----------
    w, first
        (n + m, state) the present point, and (n, state) the rates with which the next step of each begins.
    under_way
        Steps that deeper levels are in, the outermost first.
    """

    def __init__(
        self, linear: LinearDae, step: NestedStep, factorised: Callable[[Equation], SuperLU]
    ) -> None:
        self.linear, self.step, self.factorised = linear, step, factorised
        self.matrices = matrices(linear)
        self.program = step.level_program
        self.nodes, self.points = _nodes(self.program)
        self.rates = self.matrices[1][: linear.n]
        of_variable, of_row = depths(linear, step)
        self.levels = self._levels(of_variable, of_row)
        entries = self.rates.tocoo()
        coupled = of_variable[entries.col] > of_variable[entries.row]
        self.off = np.unique(entries.row[coupled & (entries.data != 0.0)])
        self.under_way: list[_UnderWay] = []
        size = linear.n + linear.m
        state = np.eye(size + len(self.off))
        self.w = state[:size].copy()
        self.first = self.rates @ self.w
        self.first[self.off] += state[size:]

    def operator(self) -> Reals:
        """Take the step and return its matrix."""
        self._advance(0, 0)
        return np.vstack([self.w, self.first[self.off] - self.rates[self.off] @ self.w])

    def _levels(self, of_variable: Places, of_row: Places) -> list[_Level]:
        jacobian, n = sparse.csr_array(self.linear.jacobian()), self.linear.n
        grids = [(0.0, 1.0), *((0.0, *level.ends) for level in self.step.levels)]
        found: list[_Level] = []
        wanted = np.zeros(of_variable.size, dtype=bool)
        for k in reversed(range(len(grids))):
            variables, rows = np.flatnonzero(of_variable >= k), np.flatnonzero(of_row >= k)
            read = np.setdiff1d(np.unique(jacobian[rows].indices), variables).astype(np.intp)
            found.append(
                _Level(
                    ends=np.array(grids[k]),
                    variables=variables,
                    states=int(np.count_nonzero(variables < n)),
                    rows=rows,
                    read=read,
                    shown=np.flatnonzero(wanted[variables]),
                )
            )
            wanted[read] = True
        return found[::-1]

    def _advance(self, k: int, number: int) -> None:
        """Take step `number` of a level, of all that it has in the common step, and what is refined in it."""
        level = self.levels[k]
        begin, end_at = self.step.h * level.ends[number : number + 2]
        h = end_at - begin
        end, last, nodes = self._attempt(level, begin, h)
        deeper = self._within(k, number)
        if deeper is None:
            rest = np.ones(level.variables.size, dtype=bool)
        else:
            d, numbers = deeper
            self.under_way.append(_UnderWay(begin, h, level.variables[level.shown], nodes))
            for inner in numbers:
                self._advance(d, inner)
            self.under_way.pop()
            rest = ~np.isin(level.variables, self.levels[d].variables)
        self.w[level.variables[rest]] = end[rest]
        moved = rest[: level.states]
        self.first[level.variables[: level.states][moved]] = last[moved]

    def _within(self, k: int, number: int) -> tuple[int, range] | None:
        """Return the next level with steps of its own in step `number` of level k, and their numbers."""
        begin, end = self.levels[k].ends[number : number + 2]
        for d in range(k + 1, len(self.levels)):
            numbers = range(*np.searchsorted(self.levels[d].ends, (begin, end)).tolist())
            if len(numbers) > 1:
                return d, numbers
        return None

    def _attempt(self, level: _Level, begin: float, h: float) -> tuple[Reals, Reals, Reals]:
        """Return end of a step of a level, rates there, and what deeper levels read of it at the nodes."""
        own, n = level.variables, level.states
        start = self.w[own[:n]]
        rates, points = {}, {NOW: self.w[own[level.shown]]}
        end, last = self.w[own], self.first[own[:n]]
        for instruction in self.program.instructions:
            if isinstance(instruction, Rate):
                rates[instruction.name] = self.first[own[:n]]
                continue
            assert isinstance(instruction, Stage)
            a = h * instruction.gamma
            known = start + h * sum(
                (weight * rates[name] for name, weight in instruction.rates), np.zeros_like(start)
            )
            solver, outside = self._factors(level, a)
            right = outside @ self._outside(level, begin + h * value(instruction.at, 0))
            right[:n] += known
            end = solver.solve(np.ascontiguousarray(right))
            last = (end[:n] - known) / a
            if instruction.rate is not None:
                rates[instruction.rate] = last
            points[instruction.to] = end[level.shown]
        return end, last, np.stack([points[name] for name in self.points])

    def _factors(self, level: _Level, a: float) -> tuple[SuperLU, sparse.csr_array]:
        if a not in level.factors:
            level.factors.clear()  # the stages of a step have one matrix
            rows = implicit(self.matrices, a)[level.rows]
            steps = level.ends.size - 1
            words = f"{steps} steps in {self.step.h:g} s, f at the new point times {a:g} s"
            stage = Equation(f"level with {steps} steps", rows[:, level.variables], (), words)
            level.factors[a] = self.factorised(stage), -rows[:, level.read]
        return level.factors[a]

    def _outside(self, level: _Level, time: float) -> Reals:
        """Return the variables that a level reads of others, at a time within their steps."""
        found = np.zeros((level.read.size, self.w.shape[1]))
        weights = np.empty(self.nodes.size)
        for step in self.under_way:  # what is in a deeper step as well is overwritten by that
            _, here, there = np.intersect1d(level.read, step.variables, return_indices=True)
            interpolation(self.nodes, (time - step.begin) / step.h, weights)
            found[here] = np.tensordot(weights, step.values[:, there], 1)
        return found


def _nodes(program: Program) -> tuple[Reals, list[str]]:
    """Return times, in units of a step, and names of the points through which it is interpolated."""
    encoded = encode(program, tuple((block, k) for k, block in enumerate(blocks_of(program))))
    shape = shape_of(encoded)
    name_of = {place: name for name, place in encoded.places.items()}
    return shape.nodes, [*(name_of[int(place)] for place in shape.node_points), NEW]
