"""March through a span with a method that finds its own points."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psmr.errors import SimulationError, SingularError
from psmr.numerics.run.recorder import Log
from psmr.numerics.solve.algebraic_solve import MOST_REPIVOTS
from psmr.numerics.solve.failure import step_failure
from psmr.numerics.solve.newton import DONE, NO_PIVOTS
from psmr.numerics.step.one_step import BLOCK
from psmr.numerics.steppers.explicit_engine import FlowEngine
from psmr.numerics.steppers.flow import FULL, SPENT, VANISHED

Reals = NDArray[np.float64]

# Wall time of a compiled chunk in s, as in `psmr.numerics.run.integrate`, and points in the largest one.
CHUNK = 0.1
MOST_POINTS = 65536


def flow_through(
    engine: FlowEngine, end: float, w: Reals, log: Log, progress: Callable[[float], None] | None
) -> int:
    """Advance w to t = end in s and log every point; return the number of repivots.

    Raises
    ------
    SimulationError
        Where the steps allowed are spent, the step vanishes, or a step fails that cannot be shortened.
    """
    repivots, tries, room = 0, 0, 64
    started = False
    while True:
        times, rows = np.empty(room), np.empty((room, log.size))
        began = time.perf_counter()
        filled, status = 0, DONE
        if not started:
            status = engine.begin(end, w)
            started = status == DONE
        if started:
            filled, status = engine.advance(end, w, times, rows)
        elapsed = time.perf_counter() - began
        log.add(times[:filled], rows[:filled], filled)
        if log.stopped():
            return repivots
        if filled:
            tries = 0
            room = min(MOST_POINTS, 4 * room, max(64, int(filled * CHUNK / max(elapsed, 1e-6))))
        if progress is not None:
            progress(float(w[-1]))
        if status == DONE:
            return repivots
        if status == FULL:
            continue
        if status in (SPENT, VANISHED):
            raise engine.failure(status, end, w)
        block, kind = engine.blocks[status // BLOCK], status % BLOCK
        if kind != NO_PIVOTS:
            raise step_failure(block, kind, w, engine.last_step(), engine.honest)
        if tries == MOST_REPIVOTS:
            raise SimulationError(
                f"t = {w[-1]:.6g} s: after {tries} new choices of pivots in one step the matrix of"
                f" {block.columns[0]} ... "
                f"{block.columns[-1]} is still badly scaled; the algebraic equations are close to singular"
            )
        try:
            block.repivot()
        except SingularError as error:
            raise SingularError(f"t = {w[-1]:.6g} s, {block.purpose}: {error}") from error
        repivots, tries = repivots + 1, tries + 1
