"""A program in words, and how much work it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from psmr.integrate.step.program import (
    NOW,
    OLDER,
    Combine,
    Instruction,
    Iterate,
    Program,
    Rate,
    Repeat,
    Side,
    Stage,
    value,
)

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


def _corrections(iterate: Iterate) -> str:
    condition = f"the slow solution differs from the prediction by more than {iterate.epsilon:g}"
    again = "it takes the prediction's place, and the steps from the interpolation on are done again"
    if iterate.most is None:
        return f"As long as {condition}, {again}. The matrices below are those of one pass."
    times = "once" if iterate.most == 1 else f"up to {iterate.most} times"
    return f"Where {condition}, {again}, {times}."
