"""The program of a scheme on a system: its blocks of equations, and the interpreter that runs it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.courses import Place
from psmr.integrate.solve.newton import POLICIES
from psmr.integrate.solve.records import VALID
from psmr.integrate.step.input_jumps import InputJumps, no_jumps
from psmr.integrate.step.interface import HeldInterface, SchurInterface
from psmr.integrate.step.interpreter import (
    AUTONOMOUS,
    CORRECTIONS,
    DIFFERENCE,
    DIVIDED,
    EVALUATED_BLOCK,
    FAILED,
    HAS_HISTORY,
    LEAST,
    PARTS,
    ROOM,
    STATES,
    TOLERANCE_FACTOR,
    Interpreter,
    StageHistory,
    forget,
    no_stage_history,
)
from psmr.integrate.step.march_room import NO_MARCH, MarchRoom, march_room
from psmr.integrate.step.program import Program
from psmr.integrate.step.program_table import MOST_LISTED, Encoded, blocks_of, encode
from psmr.integrate.step.run_program import with_program
from psmr.integrate.step.sampling import Samplers
from psmr.integrate.step.sides import sides_in_service, sides_of

Programs = Callable[[float, tuple[float, ...]], Program]
"""The program of a step of h in s, given the distances in s to the accepted points before it."""

NO_POINTS = np.zeros((0, 0))


@dataclass(frozen=True)
class NewtonSettings:
    """Settings of an engine, in addition to the program.

    `newton`, `tolerance`: Newton's policy and tolerance.
    `drifts_from`: Coefficient h gamma of a stage in s from which on the tolerance falls with it; inf for
      none.
    """

    newton: str
    tolerance: float
    drifts_from: float = math.inf


class Stepper:
    """The program of a scheme on a system: blocks, interpreter, and the network's response where it has one.

    `system`: The DAE.
    `programs`: Yields the program of a step.
    `step`: Usual step in s.
    `choices`: Newton's.
    `split`: Partition of the system, for programs with a fast and a slow side.
    `parameters`, `w`: Parameter matrices, and the buffer at the start.
    `every`: Whether the points within a step are recorded.
    `first_step`: The program of the first step after an event; None: that of any other.
    `grid`: Of a program that marches; see `psmr.integrate.step.march_room.MarchRoom`.

    `restarts`: Whether that is another one.
    `samplers`: What samples.
    """

    def __init__(
        self,
        system: System,
        programs: Programs,
        step: float,
        choices: NewtonSettings,
        split: Partition | None,
        parameters: Sequence[Reals],
        w: Reals,
        every: bool,
        first_step: Program | None = None,
        grid: tuple[float, float, float] = NO_MARCH,
    ) -> None:
        self._grid = grid
        self.programs, self._first_program = programs, first_step
        self.restarts = first_step is not None
        self._size = system.n + system.m
        program = programs(step, ())
        steady = programs(step, uniform(step, program.history))
        self.sides = sides_of(system, split)
        places = [("step", "all"), *blocks_of(program), *blocks_of(steady)]
        self.places = {place: k for k, place in enumerate(dict.fromkeys(places))}
        self.blocks: dict[int, Block] = {}
        for (role, side), number in self.places.items():
            rows, variables = self.sides.of(side, algebraic_from=system.n if role == "algebraic" else None)
            self.blocks[number] = make_block(system, role, parameters, w, rows, variables)
        self.system = system
        self.samplers = Samplers(system)
        self._state, self._measured = np.zeros(STATES, np.int64), np.zeros(ROOM + 3 * MOST_LISTED)
        self._measured[TOLERANCE_FACTOR] = 1.0
        # Twice the fast steps of a macro step: solves of the trapezoidal rule are of half a step.
        rounds = max((2 * times for stage, times in steady.stages() if stage.with_response), default=0)
        sides = system, self.blocks, self.places, self.sides, every
        self.interface = HeldInterface(*sides)
        if rounds:
            self.interface = SchurInterface(*sides, parameters, w, rounds, program.history, self._state)
        self.history = program.history
        self._encoded: dict[tuple[float, tuple[float, ...], bool], Encoded] = {}
        part, usual = self._program(step, ()), self._program(step, uniform(step, self.history))
        first = self._program(step, (), True)
        self.encoded, every_program = part, (part, usual, first)
        self._depths = np.zeros(max(encoded.depths.size for encoded in every_program), np.int64)
        for encoded in every_program:
            depths = self._depths[: encoded.depths.size]
            np.maximum(depths, encoded.depths, out=depths)
        self._state[HAS_HISTORY] = int(self.history > 0)
        interpreter = Interpreter(
            run=0,
            code=part.code,
            numbers=part.numbers,
            part_code=part.code,
            part_numbers=part.numbers,
            blocks=np.zeros(len(self.blocks), np.int64),
            points=np.zeros((max(encoded.points for encoded in every_program), w.size)),
            rates=np.zeros((max(1, *(encoded.rates for encoded in every_program)), system.n)),
            loops=np.zeros((max(1, *(encoded.loops for encoded in every_program)), 2), np.int64),
            fast=self.sides.fast.astype(np.uint32),
            slow=self.sides.slow.astype(np.uint32),
            read=self.interface.interpolated().astype(np.uint32),
            response=self.interface.response,
            probe=self.interface.probe(),
            march=self._march_room(),
            stage_history=self._stage_history(),
            jumps=no_jumps(),
            sampling=self.samplers.compiled,
            inner_points=NO_POINTS,
            divided=np.zeros(0, np.int64),
            state=self._state,
            measured=self._measured,
            policy=POLICIES[choices.newton],
            tolerance=float(choices.tolerance),
            drifts_from=float(choices.drifts_from),
        )
        self.interpreter = with_program(interpreter)
        self.forget(False)

    def _stage_history(self) -> StageHistory:
        """Return room for the last results of all stages."""
        sizes = np.array([block.records.work.update.size for block in self.blocks.values()])
        return no_stage_history(self._depths, sizes[np.arange(self._depths.size) % sizes.size])

    def _march_room(self) -> MarchRoom:
        """Return room for the polynomials of what fast rows read of the slow side."""
        clocks = [self.samplers.of_clock(c) for c in range(len(self.samplers.clocks))]
        slow = [self.read_slowly(np.concatenate([s.at for s in own]).tolist(), ()) for own in clocks]
        reads = len(self.interface.interpolated()), len(self.interface.response.at)
        return march_room(self.fast, self._grid, slow, reads)

    def _program(self, h: float, before: tuple[float, ...], first: bool = False) -> Encoded:
        key = (h, before, first)
        if key not in self._encoded:
            program = (self._first_program if first else None) or self.programs(h, before)
            self._encoded[key] = encode(program, tuple(self.places.items()))
        return self._encoded[key]

    def read_slowly(self, inputs: Collection[int], parameters: Collection[Place]) -> bool:
        """Return whether slow equations read one of the held inputs (positions in w) or of the parameters."""
        slow = np.zeros(self._size + 1, bool)
        slow[self.sides.slow_rows] = True
        for g, group in enumerate(self.system.groups):
            own = [row for group_of, row, _ in parameters if group_of == g]
            row, column = np.array(group.compiled.entries, np.intp).reshape(-1, 2).T
            followed = np.isin(group.index[:, column], list(inputs))
            if slow[group.row[own]].any() or slow[group.row[:, row][followed]].any():
                return True
        return False

    def ready(self, w: Reals) -> Interpreter:
        """Return the interpreter as it is at w, with the addresses of the blocks as they are."""
        if self.interface.settle(w):
            self._renew()
        self.interpreter.blocks[:] = [block.address for block in self.blocks.values()]
        return self.interpreter

    def at(self, h: float, before: tuple[float, ...], first: bool = False) -> Interpreter:
        """Return the interpreter for steps of h in s, `before` being the distances in s to earlier points.

        With `first` for the first one after an event.
        """
        encoded, plain = self._program(h, before, first), self._program(h, (), first)
        return self.interpreter._replace(
            code=encoded.code, numbers=encoded.numbers, part_code=plain.code, part_numbers=plain.numbers
        )

    def note_parts(self, parts: NDArray[np.int64]) -> None:
        """Let the interpreter write into `parts` which of the steps of a grid were taken in parts."""
        self.interpreter = self.interpreter._replace(divided=parts)

    def take_jumps(self, jumps: InputJumps) -> None:
        """Let held inputs jump at instants of the steps that come."""
        self.interpreter = self.interpreter._replace(jumps=jumps)

    def note_jump(self) -> None:
        """Take note that held inputs have jumped in w."""
        self._state[EVALUATED_BLOCK] = -1
        self.blocks[0].records.newton.scalars[VALID] = 0.0

    @property
    def fast(self) -> int:
        """Number of the block of the fast equations, -1 without any."""
        return self.places.get(("fast", "fast"), -1)

    def form_response(self, w: Reals) -> None:
        """Make the interface between the sides anew at w where it no longer holds."""
        if self.interface.outdated(w):
            self._renew()

    def _renew(self) -> None:
        """Let the interpreter have what changes with the interface."""
        self.interpreter = self.interpreter._replace(
            response=self.interface.response,
            probe=self.interface.probe(),
            march=self._march_room(),
            stage_history=self._stage_history(),
        )

    def forget(self, autonomous: bool) -> None:
        """Drop history, since w is about to jump; `autonomous` holds from here on."""
        self.interface.forget()
        forget(self.interpreter.stage_history)
        self._state[EVALUATED_BLOCK], self._state[AUTONOMOUS] = -1, int(autonomous)

    @property
    def autonomous(self) -> bool:
        """Whether no equation reads the time."""
        return bool(self._state[AUTONOMOUS])

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """Make the blocks anew with the devices in `out` out of service."""
        self.samplers.take_out_of_service(out)
        whole = self.blocks[0]
        whole.take_out_of_service(system, parameters, w, out)
        self.system, self.sides = system, sides_in_service(self.sides, whole, w)
        for (role, side), number in self.places.items():
            if number:
                places = self.sides.of(side, algebraic_from=system.n if role == "algebraic" else None)
                self.blocks[number].take_out_of_service(system, parameters, w, out, places)
        self.interface.take_out_of_service(system, parameters, w, out, self.sides)
        self.interpreter = self.interpreter._replace(
            fast=self.sides.fast.astype(np.uint32),
            slow=self.sides.slow.astype(np.uint32),
            read=self.interface.interpolated().astype(np.uint32),
        )
        self._renew()

    def failed(self) -> tuple[Block, float, float]:
        """Return the block in which the last step failed, the least part tried in s, the last difference."""
        measured = self._measured
        return self.blocks[int(self._state[FAILED])], float(measured[LEAST]), float(measured[DIFFERENCE])

    def counted(self) -> dict[str, Any]:
        """Return what `Counters` has beside the work of the blocks."""
        state = self._state
        return {
            "corrections": int(state[CORRECTIONS]),
            "divided": int(state[DIVIDED]),
            "parts": int(state[PARTS]),
            "outdated_at": tuple(self.interface.outdated_at),
        }


def uniform(h: float, history: int) -> tuple[float, ...]:
    """Return the distances of the points before a step when the steps before it had the same size."""
    distances: tuple[float, ...] = ()
    for _ in range(history):
        distances = (h, *(h + back for back in distances))
    return distances
