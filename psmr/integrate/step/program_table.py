"""A program as the compiled interpreter reads it: one table of whole numbers, one row of real ones."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.step.interpreter import DEPTH
from psmr.integrate.step.program import (
    BEFORE,
    NOW,
    OLDER,
    Add,
    Combine,
    CopyRate,
    Each,
    Instruction,
    Iterate,
    March,
    Program,
    Rate,
    Repeat,
    Restore,
    Stage,
)

# Operations, in column 0 of the code.
RATE, COPY_RATE, RESTORE, SAVE, COMBINE, STAGE, REPEAT, AGAIN, ITERATE, AGREE, EXTRAPOLATE = range(11)
ADD, LEVELS, MARCH = 11, 12, 13

# Columns of the code by operation. Numbers of an instruction begin at NUMBERS in `Encoded.numbers`; with each
# time round a loop they begin STRIDE entries further.
OPERATION = 0
BLOCK, TARGET = 1, 2  # RATE: block, rate. COPY_RATE: source, rate. RESTORE, SAVE: point
SIDE, POINTS = 1, 4  # COMBINE, LEVELS: side, number of points, which begin at column LIST
ANEW = 3  # ADD: SIDE, TARGET, and whether the point begins with nothing
ALGEBRAIC, BASE, COUNT, MATRIX, KEEP, SHOWN = 2, 3, 4, 5, 6, 7  # STAGE: COUNT rates from column LIST
LOOP, NUMBERS, STRIDE = 8, 9, 10
LIST = 11
TIMES, JUMP = 1, 2  # REPEAT: times; AGAIN: times, first instruction of the body, one after `between`
MOST = 3  # AGREE: side, JUMP, most; KEEP: the point
# MARCH: one after the stages of a fast step, the point at its end in KEEP, then two moments and three
# points of its own from column LIST; NUMBERS: its time, and its weight in the mean
# EXTRAPOLATE: BLOCK, and COUNT points from column LIST; NUMBERS: the time, `Stage.cubes`
MOST_LISTED = 8
# STAGE: where its last results are, -1 where none are stored, and how many of them a pass of an `Iterate` has
SLOT, PASS = LIST + MOST_LISTED, LIST + MOST_LISTED + 1
WIDTH = PASS + 1

# Points with a place of their own; those that a program names follow.
AT_START, AT_ORIGIN, AT_OLDER, AT_OLDEST = range(4)
RESERVED = {NOW: AT_START, OLDER[0]: AT_OLDER, OLDER[1]: AT_OLDEST}
PRESENT = -1

MATRICES = {"kept": 0, "new": 1, "first": 2}

# Sets of variables: both sides, and the slow variables that the fast equations read.
SIDES = {"all": 0, "fast": 1, "slow": 2}
READ = 3


@dataclass(frozen=True, eq=False)
class Encoded:
    """A program for the interpreter.

    `code`, `numbers`: (instructions, WIDTH) whole numbers, and coefficients; see the names above.
    `points`, `rates`, `loops`: How many points, rates and loop counters it needs.
    `depths`: (slots,) how many last results are kept in each place for them; see
      `psmr.integrate.step.interpreter`.
    `outliving`: (k, 2) places of the points that outlive the step, in it and after it.
    `places`: Place of each point that is kept, by its name.
    """

    code: NDArray[np.int64]
    numbers: NDArray[np.float64]
    points: int
    rates: int
    loops: int
    depths: NDArray[np.int64]
    outliving: NDArray[np.int64]
    places: Mapping[str, int]


def blocks_of(program: Program) -> list[tuple[str, str]]:
    """Return the (role, side) of every block of equations that a program solves or evaluates.

    The algebraic rows of explicit stages are a block of their own, with the role ``"algebraic"``.
    """
    found: dict[tuple[str, str], None] = {}
    for instruction, _ in program.flat():
        if isinstance(instruction, Rate | Stage):
            found[instruction.role, instruction.rows] = None
        if isinstance(instruction, Stage) and instruction.gamma == 0.0:
            found["algebraic", instruction.rows] = None
    return list(found)


@functools.lru_cache(maxsize=64)
def encode(program: Program, blocks: tuple[tuple[tuple[str, str], int], ...]) -> Encoded:
    """Return a program for the interpreter; the runs of a sweep share it, and none writes into it.

    `blocks` has each (role, side) of `blocks_of` with the number of its block.
    """
    writer = _Writer(program, dict(blocks))
    writer.write(program.instructions, None)
    outliving = [(writer.point(name), writer.point(BEFORE + name)) for name in program.carried]
    code = np.array(writer.rows, dtype=np.int64).reshape(-1, WIDTH)
    return Encoded(
        code,
        np.array(writer.numbers),
        len(writer.points) + 1,
        len(writer.rates),
        writer.loops,
        writer.depths(),
        np.array(outliving, dtype=np.int64).reshape(-1, 2),
        dict(writer.points),
    )


class _Writer:
    """Writes instructions one after the other, and keeps track of which point is the present one."""

    def __init__(self, program: Program, blocks: Mapping[tuple[str, str], int]) -> None:
        self.blocks = blocks
        self.rows: list[list[int]] = []
        self.numbers: list[float] = []
        self.points = dict(RESERVED)
        self.rates: dict[str, int] = {}
        self.loops = 0
        self.depth_of: dict[int, int] = {}
        self.times = 0  # how often a stage that is now written is solved in a pass of an `Iterate`
        self.present = NOW
        # A point is saved only if it is read when it is no longer the present one.
        self.read = _read_later(program.instructions) | set(program.carried)
        if any(isinstance(instruction, March) for instruction in program.instructions):
            for stage in program.instructions:  # the estimate of the error reads the first places
                if isinstance(stage, Stage) and stage.rate:
                    self.rate(stage.rate)

    def point(self, name: str) -> int:
        """Return the place of a point; it is given one where it has none."""
        # One after the reserved ones, of which AT_ORIGIN has no name.
        return self.points.setdefault(name, len(self.points) + 1)

    def rate(self, name: str) -> int:
        """Return the place of a rate."""
        return self.rates.setdefault(name, len(self.rates))

    def depths(self) -> NDArray[np.int64]:
        """Return `Encoded.depths`."""
        depths = np.zeros(max(self.depth_of, default=-1) + 1, np.int64)
        depths[list(self.depth_of)] = list(self.depth_of.values())
        return depths

    def slot(self, block: int) -> int:
        """Return the place of the last results of the next stage of a block.

        It is the same in all programs of a scheme, some of which lack stages of other blocks. Places between
        them are nobody's and keep nothing.
        """
        slot = block
        while slot in self.depth_of:
            slot += len(self.blocks)
        self.depth_of[slot] = max(DEPTH, self.times + 1)
        return slot

    def row(self, operation: int, **columns: int) -> list[int]:
        """Append an instruction and return it."""
        row = [0] * WIDTH
        row[OPERATION] = operation
        for name, number in columns.items():
            row[globals()[name]] = number
        self.rows.append(row)
        return row

    def write(self, instructions: tuple[Instruction, ...], loop: int | None) -> None:
        """Append instructions; `loop` is the counter of the enclosing loop."""
        for instruction in instructions:
            if isinstance(instruction, Rate):
                block = self.blocks[instruction.role, instruction.rows]
                self.row(RATE, BLOCK=block, TARGET=self.rate(instruction.name))
            elif isinstance(instruction, CopyRate):
                source = self.rate(instruction.source)
                self.row(COPY_RATE, BLOCK=source, TARGET=self.rate(instruction.name))
            elif isinstance(instruction, Restore):
                if instruction.source != self.present:
                    self.row(RESTORE, TARGET=self.point(instruction.source))
                self._now_present(instruction.to)
            elif isinstance(instruction, Combine):
                terms: tuple[tuple[str, Each], ...] = tuple((name, (w,)) for name, w in instruction.terms)
                sides = ("fast", "slow") if instruction.rows == "all" else (instruction.rows,)
                for side in sides:
                    self._combine(SIDES[side], terms, None)
                self._now_present(instruction.to)
            elif isinstance(instruction, Add):
                self._add(instruction, loop)
            elif isinstance(instruction, Stage):
                self._stage(instruction, loop)
            elif isinstance(instruction, Repeat):
                self._repeat(instruction)
            elif isinstance(instruction, March):
                self._march(instruction)
            else:
                self._iterate(instruction)

    def _now_present(self, name: str) -> None:
        self.present = name
        if name in self.read:
            self.row(SAVE, TARGET=self.point(name))

    def _add(self, add: Add, loop: int | None) -> None:
        sides = ("fast", "slow") if add.rows == "all" else (add.rows,)
        for side in sides:
            row = self.row(
                ADD,
                SIDE=SIDES[side],
                TARGET=self.point(add.to),
                ANEW=int(add.anew),
                LOOP=-1 if loop is None else loop,
            )
            self._numbers(row, [add.weights])

    def _combine(
        self, variables: int, terms: tuple[tuple[str, Each], ...], loop: int | None, operation: int = COMBINE
    ) -> None:
        row = self.row(operation, SIDE=variables, POINTS=len(terms), LOOP=-1 if loop is None else loop)
        self._numbers(row, [weights for _, weights in terms])
        for k, (name, _) in enumerate(terms):
            row[LIST + k] = self.point(name)

    def _numbers(self, row: list[int], values: list[Each]) -> None:
        """Append the numbers of an instruction, those of one time round after the other."""
        times = max((len(each) for each in values), default=1)
        row[NUMBERS], row[STRIDE] = len(self.numbers), len(values) if times > 1 else 0
        for i in range(times):
            self.numbers += [each[0] if len(each) == 1 else each[i] for each in values]

    def _stage(self, stage: Stage, loop: int | None) -> None:
        if len(stage.rates) > MOST_LISTED or len(stage.outside) > MOST_LISTED:
            raise ValueError(f"{stage.to}: more than {MOST_LISTED} rates or points in one stage")
        own = stage.rows
        if isinstance(stage.guess, tuple):
            row = self.row(EXTRAPOLATE, BLOCK=self.blocks[stage.role, own], COUNT=len(stage.guess))
            self._numbers(row, [stage.at, *((cube,) for cube in stage.cubes)])
            for k, name in enumerate(stage.guess):
                row[LIST + k] = self.point(name)
            self.present = ""
        elif stage.guess in (None, self.present):
            pass
        elif own != "all":
            self._combine(SIDES[own], ((stage.guess, (1.0,)),), None)
        else:
            self.row(RESTORE, TARGET=self.point(stage.guess))
            self.present = stage.guess
        if stage.outside:
            self._combine(READ if own == "fast" else SIDES["fast"], stage.outside, loop)
        if stage.with_response and stage.outside:
            self._combine(READ, stage.outside, loop, LEVELS)
        explicit = stage.gamma == 0.0
        row = self.row(
            STAGE,
            BLOCK=self.blocks[stage.role, own],
            ALGEBRAIC=self.blocks["algebraic", own] if explicit else -1,
            BASE=PRESENT if stage.base == self.present else self.point(stage.base),
            COUNT=len(stage.rates),
            MATRIX=MATRICES[stage.matrix],
            KEEP=-1 if stage.rate is None else self.rate(stage.rate),
            SHOWN=int(stage.shown),
            LOOP=-1 if loop is None else loop,
            SLOT=-1 if stage.guess else self.slot(self.blocks[stage.role, own]),
            PASS=self.times,
        )
        self._numbers(row, [stage.at, (stage.gamma,), *((weight,) for _, weight in stage.rates)])
        for k, (name, _) in enumerate(stage.rates):
            row[LIST + k] = self.rate(name)
        self._now_present(stage.to)

    def _repeat(self, repeat: Repeat) -> None:
        loop, self.loops = self.loops, self.loops + 1
        self.row(REPEAT, LOOP=loop)
        first = len(self.rows)
        self.times *= repeat.times
        self.write(repeat.body, loop)
        again = self.row(AGAIN, TIMES=repeat.times, LOOP=loop)
        self.write(repeat.between, loop)
        # After `between` the interpreter goes on with the body; AGAIN leaves the loop after the last time.
        jump = self.row(AGAIN, TIMES=-1, JUMP=first)
        jump[LOOP] = loop
        self.times //= repeat.times
        again[JUMP] = len(self.rows)

    def _march(self, march: March) -> None:
        first, second = march.body
        row = self.row(MARCH, KEEP=self.point(march.to))
        self._numbers(row, [first.at, (march.mean,)])
        for k, name in enumerate(
            (*march.moments, *(f"{march.to}, {own}" for own in ("within", "before", "coarse")))
        ):
            row[LIST + k] = self.point(name)
        for stage in (first, second):
            self.present = stage.base
            self._stage(stage, None)
        row[JUMP] = len(self.rows)
        self.present = ""

    def _iterate(self, iterate: Iterate) -> None:
        loop, self.loops = self.loops, self.loops + 1
        self.row(ITERATE, LOOP=loop)
        first = len(self.rows)
        outside, self.times = self.times, 1
        self.write(iterate.body, loop)
        self.times = outside
        most = -1 if iterate.most is None else iterate.most
        row = self.row(AGREE, JUMP=first, LOOP=loop, KEEP=self.point(iterate.predicted))
        row[MOST] = most
        self._numbers(row, [(iterate.epsilon,)])


def _read_later(instructions: tuple[Instruction, ...]) -> set[str]:
    """Return the names of the points that are read by name when another point may be the present one."""
    names: set[str] = set()
    for instruction in instructions:
        if isinstance(instruction, Stage):
            names |= {name for name, _ in instruction.outside}
            guess = instruction.guess or ()
            names |= {guess} if isinstance(guess, str) else set(guess)
            names |= {instruction.base} if instruction.base != instruction.to else set()
        elif isinstance(instruction, Restore):
            names.add(instruction.source)
        elif isinstance(instruction, Combine):
            names |= {name for name, _ in instruction.terms}
        elif isinstance(instruction, Repeat):
            names |= _read_later(instruction.body) | _read_later(instruction.between)
        elif isinstance(instruction, Iterate):
            names |= _read_later(instruction.body) | {instruction.predicted}
    return names - set(RESERVED)
