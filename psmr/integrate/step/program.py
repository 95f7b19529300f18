"""A step as data: a short program over named points, its words and its work.

A scheme yields the program of its step; everything else reads it. `psmr.integrate.step.run_program` runs it
compiled on the nonlinear DAE, `psmr.pencil.operator.equations` maps it on the linear one.

A *point* is a value of w = (x, y) with a name; ``"now"`` is the one at the start of the step, ``"new"`` the
one at its end. Each instruction works on the *present* point, which begins as ``"now"``. A *rate* is a value
of f with a name. Coefficients and times are in units of the step h; what is inside a `Repeat` has one value
each time round where it differs from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

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

    `role`: Block of equations that is evaluated; see `Stage`.
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

    `rows`: Which variables.
    `to`: Name of the result.
    `terms`: (point, weight) pairs.
    """

    rows: Side
    to: str
    terms: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Add:
    """Add the variables of a side at the present point, with a weight, to the point `to`.

    The present point stays as it is.

    `rows`: Which variables.
    `to`: Point that takes them.
    `weights`: Weight of the present point.
    `anew`: Whether `to` begins with nothing.
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

    `role`: What it is solved for, the name of the block of equations in counters and messages. Stages of one
      role share a Newton matrix.
    `rows`: Which rows, and which variables.
    `to`, `base`: Names of the result and of the point that x starts from.
    `rates`: (name, coefficient) pairs.
    `gamma`: Coefficient of f at the result.
    `at`: Time of the result, 0 at the start of the step and 1 at its end.
    `outside`: (point, weights) pairs: what the variables of the other side are; () leaves them as they are.
    `with_response`: Whether the algebraic variables of the other side also respond to the variables of this
      side beside the same combination of points: `psmr.integrate.step.network_response`.
    `guess`: Point whose values Newton starts from, or several points for an extrapolation from those that are
      there (of a stage of both sides); None for the continuation of what the stage was when it was last
      solved (`psmr.integrate.step.interpreter`), and where there is none, for the present point.
    `cubes`: With several points, the third-order terms of the result and of each of them; see
      `psmr.integrate.step.instructions.extrapolate`.
    `matrix`: What modified Newton does here: a ``"new"`` matrix, the one that is ``"kept"``, or a new one in
      the ``"first"`` pass of the enclosing `Iterate`.
    `rate`: Name under which f at the result is kept; None for not at all.
    `shown`: Whether the result is a point of the trajectory within the step.
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

    `body`: Begins from the point `predicted` and ends with the present point.
    `predicted`: Point that takes the values of the present one.
    `most`: Most repetitions; None for as many as it takes.
    `epsilon`: Largest difference that counts as agreement.
    """

    body: tuple[Instruction, ...]
    predicted: str
    most: int | None
    epsilon: float


@dataclass(frozen=True)
class March:
    """Take fast steps to the end of the step, and find the moments of the fast variables on the way.

    The fast steps end on a grid of times of their own and where held inputs jump within the step; the slow
    variables that they read are on the polynomial through their values, and through the levels of those that
    respond, at the last accepted points. See `psmr.integrate.step.march`.

    `body`: The two stages of a fast step, with coefficients and times in units of that step, each from the
      point before it.
    `mean`: Weight of the first of them in the mean over a fast step; the second one has the rest.
    `to`: Name of the point with the fast variables at the end; the slow ones are those at the start again.
    `moments`: Names of two points: the fast variables' mean over the step, and by how much the line with
      their first moment rises in half of it.
    `times`: How many fast steps are counted where the length of the step is not known.
    """

    body: tuple[Stage, Stage]
    mean: float
    to: str
    moments: tuple[str, str]
    times: int


Instruction = Rate | CopyRate | Restore | Combine | Add | Stage | Repeat | Iterate | March


@dataclass(frozen=True)
class Program:
    """The instructions of one step.

    `instructions`: In the order in which they are done; the last point is ``"new"``.
    `history`, `history_of`: Accepted points before the step that it reads: 0, 1 or 2 (`OLDER`), of the slow
      side or of all.
    `carried`: Names of points within the step that outlive it, under the name ``"older "`` and their own.
    """

    instructions: tuple[Instruction, ...]
    history: int = 0
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
        elif isinstance(instruction, March):
            yield from _flat(instruction.body, times * instruction.times)
        else:
            yield instruction, times


def value(each: Each, i: int) -> float:
    """Return a number of an instruction the i-th time round, counted from 0."""
    return each[0] if len(each) == 1 else each[i]


Sizes = Mapping[Side, tuple[int, int]]
"""Number of states and of algebraic variables of each side."""


def order_of(stage: Stage, sizes: Sizes) -> int:
    """Return the order of the matrix of a stage: the algebraic rows alone where the states are explicit."""
    states, algebraic = sizes[stage.rows]
    return algebraic if stage.gamma == 0.0 else states + algebraic


def matrices(program: Program, sizes: Sizes) -> dict[int, int]:
    """Return how many matrices of each order a step factorises with modified Newton (Jacobian kept for it).

    Every correction of a given number is counted; of corrections until they agree, one pass.
    """
    counted: dict[int, int] = {}

    def count(instructions: tuple[Instruction, ...], times: int, first: int) -> None:
        for instruction in instructions:
            if isinstance(instruction, Repeat):
                count(instruction.body, times * instruction.times, times)
                count(instruction.between, times * (instruction.times - 1), times)
            elif isinstance(instruction, Iterate):
                count(instruction.body, times * (1 + (instruction.most or 0)), times)
            elif isinstance(instruction, Stage):
                new = {"new": times, "first": first, "kept": 0}[instruction.matrix]
                order = order_of(instruction, sizes)
                if order and new:
                    counted[order] = counted.get(order, 0) + new

    count(program.instructions, 1, 1)
    return counted


class Entry(NamedTuple):
    """An instruction in words: its heading and sentences, and whose variables it reads across the sides."""

    heading: str
    sentences: tuple[str, ...]
    reads: Literal["", "slow", "fast"] = ""


_REFRESH = {
    "honest": "a matrix at every Newton iteration",
    "dishonest": "one matrix a step, kept while Newton iterates",
    "very dishonest": "a matrix only where the convergence rate asks for one",
}
_RULES = {
    (1.0, 0.0): "Forward Euler: x + h f(t)",
    (0.5, 0.5): "Trapezoidal: x + h/2 (f(t) + f(t + h))",
    (0.0, 1.0): "Backward Euler: x + h f(t + h)",
}
_WHO: dict[Side, str] = {
    "all": "Every variable is predicted",
    "fast": "The fast variables are predicted",
    "slow": "The slow variables are predicted, the fast ones held",
}


def words(program: Program, h: float, sizes: Sizes, newton: str) -> tuple[Entry, ...]:
    """Return the instructions of a step of h in s, in their order."""
    return tuple(_entries(program.instructions, h, sizes, newton))


def _entries(instructions: tuple[Instruction, ...], h: float, sizes: Sizes, newton: str) -> Iterator[Entry]:
    moved = False
    for instruction in instructions:
        if isinstance(instruction, Rate):
            where = "the point that was reached" if moved else "t"
            states = sizes[instruction.rows][0]
            rates = f"{states} rates {instruction.name}; nothing is solved."
            yield Entry(f"Evaluate f at {where}", (rates,))
        elif isinstance(instruction, Combine) and instruction.to != "guess":
            yield _combination(instruction, h)
        elif isinstance(instruction, Stage):
            moved = True
            yield from _interpolation(instruction)
            yield _stage(instruction, h, sizes, newton, 1)
        elif isinstance(instruction, Repeat):
            moved = True
            for stage in instruction.body:
                if isinstance(stage, Stage):
                    yield from _interpolation(stage)
                    yield _stage(stage, h, sizes, newton, instruction.times)
        elif isinstance(instruction, Iterate):
            yield from _entries(instruction.body, h, sizes, newton)
            yield Entry("Correct", (_corrections(instruction),))
        elif isinstance(instruction, March):
            yield Entry(
                "March the fast side to the end of the step", (_marching(instruction, sizes),), "slow"
            )


def _stage(stage: Stage, h: float, sizes: Sizes, newton: str, times: int) -> Entry:
    states, algebraic = sizes[stage.rows]
    order, explicit = order_of(stage, sizes), stage.gamma == 0.0
    step = h / times if stage.role == "fast" else h
    sentences = [_rule(stage, h, step)]
    if explicit:
        work = f"{states} states are explicit, then {algebraic} equations are solved for y (order {order})."
    else:
        work = f"{states} state rows and {algebraic} algebraic rows are solved together (order {order})"
        work += f"; {_REFRESH[newton]}."
    if times > 1 or stage.role == "fast":
        work = f"{times} steps, each: {work}"
    if stage.with_response:
        sentences.append(
            "The slow algebraic variables that they read respond to the fast ones within each solve, by the "
            "Schur complement of the slow algebraic equations, that many rows more. It is formed after each "
            "event, and anew where it no longer holds: that is tried at least every fifth macro step."
        )
    if stage.role == "slow" and any(sizes["fast"]):
        mean = [name for name, _ in stage.outside] == ["mean"]
        sentences.append(
            "The fast variables are their mean over the macro step."
            if mean
            else "The fast variables are those of the last fast step."
        )
    across = stage.role == "slow" and stage.gamma != 0.0 and any(sizes["fast"])
    return Entry(_heading(stage, h, times), (*sentences, work), "fast" if across else "")


def _heading(stage: Stage, h: float, times: int) -> str:
    if stage.role == "predictor":
        return f"Predict the point at t + {h:g} s"
    if stage.role == "fast":
        return f"Fast steps to t + {h:g} s"
    if stage.role == "slow":
        return "Slow step" if stage.gamma else f"Slow algebraic variables at t + {h:g} s"
    kind = "Explicit" if stage.gamma == 0.0 else "Implicit"
    if times > 1:
        return f"{times} {kind.lower()} steps to t + {value(stage.at, times - 1):.4g} h"
    return f"{kind} stage, {stage.to}, at t + {value(stage.at, 0):.4g} h"


def _rule(stage: Stage, h: float, step: float) -> str:
    """Return what the states are solved for: by the name of the rule, or as a formula."""
    scale = step / h if step else 1.0
    old = stage.rates[0][1] if stage.rates else 0.0
    known = (round(old / scale, 12), round(stage.gamma / scale, 12))
    single = len(stage.rates) <= 1 and all(name.startswith("f(") for name, _ in stage.rates)
    if single and known in _RULES:
        who = f"{_WHO[stage.rows]}. " if stage.role == "predictor" else ""
        return f"{who}{_RULES[known]} with h = {step:g} s."
    base = "x(t)" if stage.base == NOW else "x before" if stage.base == stage.to else f"x({stage.base})"
    terms = [f"{weight:.6g} h {name}" for name, weight in stage.rates]
    terms += [f"{stage.gamma:.6g} h f"] if stage.gamma else []
    return f"x = {' + '.join([base, *terms])}, with h = {h:g} s."


def _interpolation(stage: Stage) -> Iterator[Entry]:
    points = [name for name, _ in stage.outside]
    if not points or stage.rows != "fast":
        return
    if set(points) & set(OLDER):
        how = (
            "On the cubic through the values at t - 2h, t - h and t and the prediction, at each fast step; "
            "after an event, while that history is short, on the line and then the parabola."
        )
    else:
        how = "On the line from the value at t to the prediction, at each fast step."
    yield Entry("Interpolate the slow variables that the fast equations read", (how,), "slow")


def _combination(combine: Combine, h: float) -> Entry:
    """Return how points make the prediction, or how a leg at the middle of a step is carried to its end."""
    if combine.to in ("predicted", "extrapolated"):
        return Entry(f"Extrapolate to t + {h:g} s", (_extrapolation(combine),))
    terms = " + ".join(f"{weight:.6g} w({'t' if name == NOW else name})" for name, weight in combine.terms)
    return Entry(f"Carry the {combine.rows} variables to t + {h:g} s", (f"w = {terms}; nothing is solved.",))


def _extrapolation(combine: Combine) -> str:
    who = "The slow variables are"
    if combine.rows == "all":
        who = "All variables are" if combine.to == "predicted" else "The states are"
    curve = "parabola through the values at t - 2h, t - h and t"
    if OLDER[1] not in dict(combine.terms):
        curve = "line through the values at t - h and t"
    return (
        f"{who} extrapolated on the {curve}; nothing is solved. The first step after an event, when there "
        "is no history, predicts by the rule of the solution."
    )


def _marching(march: March, sizes: Sizes) -> str:
    states, algebraic = sizes["fast"]
    return (
        f"Fast steps of two implicit stages each, of {states} state rows and {algebraic} algebraic rows; "
        "what they read of the slow side is on the parabola through the last three accepted points, of "
        "algebraic variables their level under the network's response. The slow stages see the line with the "
        "same mean and the same first moment over the step."
    )


def _corrections(iterate: Iterate) -> str:
    condition = f"the slow solution differs from the prediction by more than {iterate.epsilon:g}"
    again = "it takes the prediction's place, and the steps from the interpolation on are done again"
    if iterate.most is None:
        return f"As long as {condition}, {again}. The matrices below are those of one pass."
    times = "once" if iterate.most == 1 else f"up to {iterate.most} times"
    return f"Where {condition}, {again}, {times}."
