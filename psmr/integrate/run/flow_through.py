"""Integrate over a span with a method that finds its own points."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.run.recorder import Recorder
from psmr.integrate.schemes.scheme import FlowEngine
from psmr.integrate.solve.failure import step_failure
from psmr.integrate.solve.status import DONE, FULL, NO_ROOM, SPENT, VANISHED

Reals = NDArray[np.float64]

# Wall time of a compiled chunk in s, as on a grid, and points in the largest one.
CHUNK = 0.1
MOST_POINTS = 65536

# Bytes of the points that stand in memory before they are recorded.
ROOM = 2**25


def flow_through(
    engine: FlowEngine,
    end: float,
    w: Reals,
    rows: Reals,
    recorder: Recorder,
    progress: Callable[[float], None] | None,
) -> None:
    """Advance w to t = end in s and record every point; a step ends at each time of `rows` before it.

    Raises
    ------
    SimulationError
        Where the steps allowed are spent, the step vanishes, or a step fails that cannot be shortened.
    """
    for stop in (end,) if engine.lands else (*rows.tolist(), end):
        _flow_to(engine, stop, w, rows, recorder, progress)
        if recorder.stopped() or recorder.paused():
            return


def _flow_to(
    engine: FlowEngine,
    end: float,
    w: Reals,
    stops: Reals,
    recorder: Recorder,
    progress: Callable[[float], None] | None,
) -> None:
    room, started = recorder.chunk(64), False
    while True:
        times, rows = np.empty(room), np.empty((room, recorder.size))
        began = time.perf_counter()
        filled, status = 0, DONE
        if not started:
            status = engine.begin(end, w, stops)
            started = status == DONE
        if started:
            filled, status = engine.flow(end, w, times, rows)
        elapsed = time.perf_counter() - began
        recorder.add(times[:filled], rows[:filled], filled)
        if recorder.stopped() or recorder.paused():
            return
        if filled:
            most = min(MOST_POINTS, max(64, ROOM // (8 * recorder.size)))
            timed = min(most, 4 * room, max(64, int(filled * CHUNK / max(elapsed, 1e-6))))
            room = recorder.chunk(timed)
        if progress is not None:
            progress(float(w[-1]))
        if status == DONE:
            return
        if status == FULL:
            continue
        if status in (SPENT, VANISHED):
            raise engine.failure(status, end, w)
        block, h = engine.failed()
        if status != NO_ROOM:
            raise step_failure(block, status, w, h, h, 0.0)
        block.make_room()
