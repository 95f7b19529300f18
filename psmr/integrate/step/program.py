"""A step as data: a short program over named points.

A scheme yields the program of its step; everything else reads it. `psmr.integrate.step.run_program` runs it
compiled on the nonlinear DAE, `psmr.pencil.operator.equations` maps it on the linear one,
`psmr.integrate.step.description` says it in words and `psmr.integrate.step.description` counts it.

A *point* is a value of w = (x, y) with a name; ``"now"`` is the one at the start of the step, ``"new"`` the
one at its end. Each instruction works on the *present* point, which begins as ``"now"``. A *rate* is a value
of f with a name. Coefficients and times are in units of the step h; what is inside a `Repeat` has one value
each time round where it differs from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

NOW, NEW = "now", "new"
BEFORE = "older "
"""What a point that outlives its step is called then, before its own name."""
OLDER = ("older", "oldest")
"""Accepted points before the step: one step back, two steps back."""

Side = Literal["all", "fast", "slow"]
Each = tuple[float, ...]
"""A number, or one for each time round the enclosing `Repeat`."""


@dataclass(frozen=True)
class Rate:
    """Let `name` be f at the present point, on the rows of a side.

    Attributes
    ----------
    role
        Block of equations that is evaluated; see `Stage`.
    """

    name: str
    role: str
    rows: Side = "all"


@dataclass(frozen=True)
class CopyRate:
    """Let the rate `name` be the rate `source`."""

    name: str
    source: str


@dataclass(frozen=True)
class Restore:
    """Make the point `source` the present one, under the name `to`."""

    to: str
    source: str


@dataclass(frozen=True)
class Combine:
    """Let the variables of a side be a combination of points; the result is the present point, called `to`.

    Nothing is solved, and the variables of the other side stay as they are.

    Attributes
    ----------
    rows
        Which variables.
    to
        Name of the result.
    terms
        (point, weight) pairs.
    """

    rows: Side
    to: str
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Add:
    """Add the variables of a side at the present point, with a weight, to the point `to`.

    The present point stays as it is.

    Attributes
    ----------
    rows
        Which variables.
    to
        Point that takes them.
    weights
        Weight of the present point.
    anew
        Whether `to` begins with nothing.
    """

    rows: Side
    to: str
    weights: Each
    anew: bool = False


@dataclass(frozen=True)
class Stage:
    """Solve the rows of a side for its variables; the result is the present point, under the name `to`.

    States: x = x(base) + h (sum_j weights[j] rate[j] + gamma f(w)); algebraic rows: 0 = g(w). With gamma = 0
    the states are explicit and the algebraic rows alone are solved.

    Attributes
    ----------
    role
        What it is solved for, the name of the block of equations in counters and messages. Stages of one role
        share a Newton matrix.
    rows
        Which rows, and which variables.
    to, base
        Names of the result and of the point that x starts from.
    rates
        (name, coefficient) pairs.
    gamma
        Coefficient of f at the result.
    at
        Time of the result, 0 at the start of the step and 1 at its end.
    outside
        (point, weights) pairs: what the variables of the other side are; () leaves them as they are.
    with_response
        Whether the algebraic variables of the other side also respond to the variables of this side
        beside the same combination of points: `psmr.integrate.step.network_response`.
    guess
        Point whose values Newton starts from, or several points for an extrapolation from those that are
        there (of a stage of both sides); None for the continuation of what the stage was when it was last
        solved (`psmr.integrate.step.stage_history`), and where there is none, for the present point.
    cubes
        With several points, the third-order terms of the result and of each of them; see
        `psmr.integrate.step.extrapolation.extrapolate`.
    matrix
        What modified Newton does here: a ``"new"`` matrix, the one that is ``"kept"``, or a new one in the
        ``"first"`` pass of the enclosing `Iterate`.
    rate
        Name under which f at the result is kept; None for not at all.
    shown
        Whether the result is a point of the trajectory within the step.
    """

    role: str
    rows: Side
    to: str
    base: str
    rates: tuple[tuple[str, float], ...] = ()
    gamma: float = 0.0
    at: Each = (1.0,)
    outside: tuple[tuple[str, Each], ...] = ()
    with_response: bool = False
    guess: str | tuple[str, ...] | None = None
    cubes: tuple[float, ...] = ()
    matrix: Literal["new", "kept", "first"] = "new"
    rate: str | None = None
    shown: bool = False


@dataclass(frozen=True)
class Repeat:
    """Do the body `times` times, and `between` after each time but the last."""

    times: int
    body: tuple[Instruction, ...]
    between: tuple[Instruction, ...] = ()


@dataclass(frozen=True)
class Iterate:
    """Do the body, then again with the result in place of the prediction until the slow variables agree.

    Attributes
    ----------
    body
        Begins from the point `predicted` and ends with the present point.
    predicted
        Point that takes the values of the present one.
    most
        Most repetitions; None for as many as it takes.
    epsilon
        Largest difference that counts as agreement.
    """

    body: tuple[Instruction, ...]
    predicted: str
    most: int | None
    epsilon: float


Instruction = Rate | CopyRate | Restore | Combine | Add | Stage | Repeat | Iterate


@dataclass(frozen=True)
class Program:
    """The instructions of one step.

    Attributes
    ----------
    instructions
        In the order in which they are done; the last point is ``"new"``.
    history, history_of
        Accepted points before the step that it reads: 0, 1 or 2 (`OLDER`), of the slow side or of all.
    words
        Headings for the explanation, by role.
    carried
        Names of points within the step that outlive it, under the name ``"older "`` and their own.
    """

    instructions: tuple[Instruction, ...]
    history: int = 0
    words: dict[str, str] = field(default_factory=dict, hash=False, compare=False)
    carried: tuple[str, ...] = ()
    history_of: Side = "slow"

    def flat(self) -> Iterator[tuple[Instruction, int]]:
        """Yield the instructions that are no loops, and how often each is done with a single pass."""
        yield from _flat(self.instructions, 1)

    @property
    def last_stage(self) -> float:
        """Time of the last stage, 1 at the end of the step: a method may have one behind it."""
        return max(max(stage.at) for stage, _ in self.stages())

    def stages(self) -> Iterator[tuple[Stage, int]]:
        """Yield the stages, and how often each is solved with a single pass."""
        for instruction, times in self.flat():
            if isinstance(instruction, Stage):
                yield instruction, times


def _flat(instructions: tuple[Instruction, ...], times: int) -> Iterator[tuple[Instruction, int]]:
    for instruction in instructions:
        if isinstance(instruction, Repeat):
            yield from _flat(instruction.body, times * instruction.times)
            yield from _flat(instruction.between, times * (instruction.times - 1))
        elif isinstance(instruction, Iterate):
            yield from _flat(instruction.body, times)
        else:
            yield instruction, times


def value(each: Each, i: int) -> float:
    """Return a number of an instruction the i-th time round, counted from 0."""
    return each[0] if len(each) == 1 else each[i]
