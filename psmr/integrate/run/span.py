"""Integrate over the span between two discontinuities, with the engine of any scheme."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.control.time_grid import NO_STOPS, ROOM
from psmr.integrate.run.recorder import Recorder
from psmr.integrate.schemes.scheme import Engine, advance
from psmr.integrate.solve.algebraic_solve import other_solutions
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.status import DONE, FULL, NOT_CONVERGED, NOT_FINITE
from psmr.integrate.timeline.past import History
from psmr.integrate.timeline.span import Span, going_on

Reals = NDArray[np.float64]

# Wall time of a compiled chunk in s, short enough for a smooth progress bar and a prompt Ctrl-C, and steps in
# the first and in the largest one.
CHUNK = 0.1
FEWEST, MOST = 64, 65536


def integrate_span(
    engine: Engine,
    algebraic: Block,
    end: float,
    w: Reals,
    stops: Reals,
    recorder: Recorder,
    progress: Callable[[float], None] | None,
    span: Span,
    history: History | None,
) -> None:
    """Advance w to t = end in s and record every point; a step ends at each time of `stops` before it.

    What is read with a delay is known for so many steps, and is then extended by the points that they added.

    Where no part of a fixed step has a solution near the last point, the `algebraic` equations have come to
    the end of the solution that was followed: they jump to another one, if there is one.

    Raises
    ------
    SimulationError
        Where the steps allowed are spent, the step vanishes, or a step fails that cannot be shortened.
    """
    for stop in (end,) if engine.ends_at_stops else (*stops.tolist(), end):
        room, begun = recorder.chunk(FEWEST), False
        while w[-1] < stop:
            if history is not None:
                _extend(history, span, recorder.size, engine, algebraic, w, end)
                room = min(room, history.steps)
            began, status = time.perf_counter(), DONE
            if not begun:
                status = engine.begin(stop, w, stops)
                begun = status == DONE
            if begun:
                piece, status = advance(engine, room, w)
                elapsed = time.perf_counter() - began
                recorder.add(piece)
                if recorder.stopped() or recorder.paused():
                    return
                room = recorder.chunk(_next_room(room, len(piece.ends), elapsed, recorder.size))
            if progress is not None:
                progress(float(w[-1]))
            if status == DONE:
                break
            if status != FULL:
                failure = engine.failure(status, stop, w)
                if status not in (NOT_CONVERGED, NOT_FINITE) or not _jump(
                    engine, algebraic, w, recorder, span
                ):
                    raise failure
                if recorder.stopped() or recorder.paused():
                    return
                begun = False
        if recorder.stopped() or recorder.paused():
            return


def _extend(
    history: History, span: Span, size: int, engine: Engine, algebraic: Block, w: Reals, end: float
) -> None:
    """Let all blocks read the past as far as it goes."""
    if not history.extend(float(w[-1]), end):
        following = span.following(size, history.delayed)
        for block in (*engine.blocks.values(), algebraic):
            block.follow(following)


def _next_room(room: int, steps: int, elapsed: float, size: int) -> int:
    """Return how many steps to take next, after so many in so many s of wall time."""
    if not steps:
        return room
    most = min(MOST, max(FEWEST, ROOM // (8 * size)))
    return min(most, 4 * room, max(FEWEST, int(steps * CHUNK / max(elapsed, 1e-6))))


def _jump(engine: Engine, algebraic: Block, w: Reals, recorder: Recorder, span: Span) -> bool:
    """Take the rest of a step that failed from another solution of the algebraic equations at w.

    Returns whether there is one from which the step can be ended; w then is its end, otherwise as it was.
    """
    _, end = engine.failed()
    if end is None:
        return False
    for there in other_solutions(algebraic, w):
        begin = there.copy()
        engine.forget(False)
        engine.begin(end, there, NO_STOPS)
        piece, status = advance(engine, 1, there)
        while status == FULL and not len(piece.ends):
            piece, status = advance(engine, 1, there)
        if status == DONE:
            recorder.jump(going_on(span, float(begin[-1])), w, begin)
            if not (recorder.stopped() or recorder.paused()):
                recorder.add(piece)
            w[:] = there
            return True
    return False
