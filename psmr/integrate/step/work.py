"""How much work a program is: matrices factorised in a step, by order."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.integrate.step.program import Instruction, Iterate, Program, Repeat, Side, Stage

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
