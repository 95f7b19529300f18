"""One equation between the points of a step, and what it reads with a delay, as shift states.

With the delay tau = (m + theta) h the value at t + c h - tau is a polynomial in those at the ends of the
steps around it, of the degree with which a run reads its past (`psmr.integrate.timeline.delayed_inputs`), so
that the equations of a step are exact whether or not tau is a multiple of h. What a step longer than tau
reads of itself is on the line from its start to the stage. Signals of the fast side are known at the fast
points, and their shift states are those at the fast points of earlier steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import Delays, LinearDae
from psmr.integrate.constants import TUNED
from psmr.integrate.schemes.multirate import lagrange_weights
from psmr.integrate.schemes.scheme import PastReading, Scheme, point_times, reading_past
from psmr.integrate.timeline.delayed_inputs import first_node

STATE = "w(t)"
NEW = "w(t+h)"
KEPT = ("remembered(t-h)", "remembered(t-2h)")
NEW_KEPT = ("remembered(t)", "remembered(t-h) kept")

Term = tuple[str, sp.sparray]


class InputTerm(NamedTuple):
    """What an equation takes of what inputs add to f and g at a point.

    `point`, `at`: Name of the point, and its time in parts of the step after t.
    `rows`, `weights`: The rows of f and g, and a weight of each.
    """

    point: str
    at: float
    rows: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Equation:
    """One block row: ``matrix @ unknown = sum(term @ block for block, term in terms)``.

    `unknown`: Name of the block that the row is solved for.
    `matrix`: Square matrix on the unknown.
    `terms`: Pairs of a block name and its matrix. A block is one of the state, or an unknown of an equation.
    `what`: Words for a message when the matrix is singular.
    `inputs`: What its first rows take of what inputs add to f and g.
    """

    unknown: str
    matrix: sp.sparray
    terms: tuple[Term, ...]
    what: str
    inputs: tuple[InputTerm, ...] = ()


def merged_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Add up the terms of the same block."""
    found: dict[str, sp.sparray] = {}
    for block, matrix in terms:
        found[block] = found[block] + matrix if block in found else matrix
    return tuple(found.items())


class ShiftStates(NamedTuple):
    """Names of the blocks of past signals at t, and of those that they are at t + h."""

    state: tuple[str, ...]
    successors: tuple[str, ...]


def require_readable(linear: LinearDae, scheme: Scheme) -> None:
    """Raise SchemeError where a scheme cannot read what a linear DAE reads with a delay."""
    assert linear.delays is not None
    names = (*linear.names_x, *linear.names_y)
    for k, (reader, tau) in enumerate(zip(linear.delays.names, linear.delays.tau.tolist(), strict=True)):
        reading_past(scheme, reader, names[int(_sources(linear.delays)[k])], tau)


def _sources(delays: Delays) -> np.ndarray:
    return sp.csr_matrix(delays.c).indices


def read_at(steps: float, degree: int) -> dict[int, float]:
    """Return the weights of the values 0, 1, 2, ... steps ago in the one so many `steps` ago."""
    interval = max(0, math.floor(steps + TUNED.rounding))
    first = first_node(interval, degree + 1, 0, interval + degree + 1)
    ages = first + np.arange(degree + 1)
    weights = lagrange_weights(ages.astype(float), steps)
    return {int(age): float(weight) for age, weight in zip(ages, weights, strict=True)}


class Register(NamedTuple):
    """Past values of some signals, at points a part of a step apart.

    `sources`: Positions in w of the signals.
    `of`: (q,) the place in `sources` of what each delay reads; -1 for what is not in it.
    `within`: Names of the points within a step, in order of time, without its end.
    """

    sources: np.ndarray
    of: np.ndarray
    within: tuple[str, ...]

    @property
    def points(self) -> int:
        """How many points a step has."""
        return len(self.within) + 1

    def name(self, age: int) -> str:
        """Return the name of the block of values so many points ago; they are part of the state."""
        part = "" if self.points == 1 else f"/{self.points}"
        return f"read(t-{age}h{part})"

    def successor(self, age: int) -> str:
        """Return the name of the block that is this one at the end of the step."""
        return f"next {self.name(age)}"


def _past(scheme: Scheme) -> PastReading:
    assert scheme.past is not None  # see `require_readable`
    return scheme.past


def _registers(delays: Delays, scheme: Scheme, within: tuple[str, ...]) -> list[Register]:
    """Return the past that a step reads: of what has points within a step, and of the rest.

    A step without points within has one past, that at its ends, whichever side a signal is of.
    """
    places = _sources(delays)
    inner, found = _past(scheme).has_within(places) & bool(within), []
    for fast in np.unique(inner).tolist():
        sources = np.unique(places[inner == fast])
        of = np.where(inner == fast, np.searchsorted(sources, places), -1)
        found.append(Register(sources, of, within if fast else ()))
    return found


def read_at_end(
    linear: LinearDae, scheme: Scheme, z: complex, blocks: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return (q, k) what a run reads with delays at the end of a step, where all grows by z in a step.

    `blocks` has the (size, k) values of each block by its name.
    """
    assert linear.delays is not None
    inner = point_times(scheme, scheme.step).size - 1
    found = np.zeros((len(linear.delays.tau), blocks[NEW].shape[1]), dtype=complex)
    for register in _registers(linear.delays, scheme, ("",) * inner):
        values = [blocks[NEW][register.sources]]
        values += [blocks[register.successor(age)] for age in range(1, register.points)]
        for k in np.flatnonzero(register.of >= 0).tolist():
            steps = float(linear.delays.tau[k]) / scheme.step * register.points
            for age, weight in read_at(steps, _past(scheme).degree).items():
                whole, part = divmod(age, register.points)
                found[k] += weight * values[part][register.of[k]] * z**-whole
    return found


def with_past(
    equations: list[Equation], linear: LinearDae, scheme: Scheme, within: tuple[str, ...]
) -> tuple[list[Equation], ShiftStates]:
    """Return the equations of a step with what they read with a delay, and the shift states of that.

    `within` names the fast points within the step.
    """
    assert linear.delays is not None
    state: list[str] = []
    shifts: list[Equation] = []
    for register in _registers(linear.delays, scheme, within):
        equations, oldest = _reading(equations, linear, scheme, register)
        shifts += _shifts(linear, register, oldest)
        state += map(register.name, range(1, oldest + 1))
    return equations + shifts, ShiftStates(tuple(state), tuple(shift.unknown for shift in shifts))


def _picked(linear: LinearDae, register: Register) -> sp.csr_array:
    return sp.eye_array(linear.n + linear.m, format="csr")[register.sources]


def _reading(
    equations: list[Equation], linear: LinearDae, scheme: Scheme, register: Register
) -> tuple[list[Equation], int]:
    """Return the equations with what they read of a register, and how many points back that goes."""
    delays, h, points, past = linear.delays, scheme.step, register.points, _past(scheme)
    assert delays is not None
    picked, by_row, oldest = _picked(linear, register), sp.csr_array(delays.b), 0
    found: list[Equation] = []
    for equation in equations:
        terms, matrix = list(equation.terms), equation.matrix
        for point, at, rows, weights in equation.inputs:
            below = sp.csr_array((equation.matrix.shape[0] - len(rows), len(delays.tau)))
            taken = sp.vstack([sp.diags_array(weights) @ by_row[rows], below], format="csc")
            read: dict[int, sp.sparray] = {}
            for k in np.flatnonzero(register.of >= 0).tolist():
                column, tau = sp.csr_array(taken[:, [k]]), float(delays.tau[k])
                if not column.nnz:
                    continue
                row = sp.csr_array(([1.0], ([0], [register.of[k]])), shape=(1, len(register.sources)))
                part = 1.0 - tau / (h * at) if at and past.own_step else 0.0
                if part > TUNED.rounding:  # of the line to the point that is being solved
                    to_point, to_start = part * (column @ row @ picked), (1.0 - part) * (column @ row)
                    read[0] = read[0] + to_start if 0 in read else to_start
                    if point == equation.unknown:
                        matrix = matrix - to_point
                    else:
                        terms.append((point, to_point))
                    continue
                for age, weight in read_at((tau / h - at) * points, past.degree).items():
                    part = weight * (column @ row)
                    read[age] = read[age] + part if age in read else part
            terms += [
                (STATE, term @ picked) if age == 0 else (register.name(age), term)
                for age, term in read.items()
            ]
            oldest = max([oldest, *read])
        found.append(Equation(equation.unknown, matrix, merged_terms(terms), equation.what, equation.inputs))
    return found, max(oldest, len(register.within))


def _shifts(linear: LinearDae, register: Register, oldest: int) -> list[Equation]:
    """Return the equations of what a register has at the end of the step, up to the `oldest` points ago."""
    picked, identity = _picked(linear, register), sp.eye_array(len(register.sources), format="csr")
    found = []
    for age in range(1, oldest + 1):
        before = age - register.points  # points ago at the start of the step
        term: Term = (register.name(before), identity)
        if before <= 0:
            term = (STATE if before == 0 else register.within[-age], picked)
        found.append(Equation(register.successor(age), identity, (term,), "past signals"))
    return found
