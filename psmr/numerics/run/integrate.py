"""The march through time: spans between changes run compiled, changes solve the algebraic equations anew."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.dae.system.system import System
from psmr.errors import InputError, SimulationError, SingularError
from psmr.numerics.run.counters import Counters
from psmr.numerics.run.discontinuities import Now, apply_changes, instants_of
from psmr.numerics.run.engine import Engine, Scheme, make_engine
from psmr.numerics.run.recorder import Log, Piece
from psmr.numerics.run.time_grid import Span
from psmr.numerics.run.trajectory import Change, Trajectory, Watch
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.scheme import Multirate
from psmr.numerics.schemes.smes import Smes
from psmr.numerics.solve.algebraic_solve import MOST_REPIVOTS, algebraic_block, balance, consistent
from psmr.numerics.solve.failure import disagreement, step_failure
from psmr.numerics.solve.newton import DONE, NO_PIVOTS, NOT_AGREED
from psmr.numerics.step.one_step import BLOCK
from psmr.numerics.steppers.explicit_engine import FlowEngine
from psmr.numerics.steppers.flow_through import flow_through

Reals = NDArray[np.float64]

__all__ = ["Change", "Trajectory", "consistent", "march"]

# Wall time of a compiled chunk in s: short enough for a smooth progress bar and a prompt Ctrl-C.
CHUNK = 0.1

# A rest of a span shorter than this part of a step is rounding of the times, not a step.
ROUNDING = 1e-9

# Changes closer than this part of the run are one, where no step says what is close.
SAME = 1e-12


def march(
    system: System,
    scheme: Scheme,
    t_end: float,
    changes: Sequence[Change] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    every: bool = False,
    progress: Callable[[float], None] | None = None,
    partial: bool = False,
    watch: Watch | None = None,
) -> Trajectory:
    """Integrate a system from its starting time to t_end.

    Parameters
    ----------
    system
        The DAE at its starting point.
    scheme
        `SingleRate`, `Multirate`, `Smes`, or one that finds its own points: `Adaptive`, `ArcLength`.
    t_end
        End in s; the last step is shortened where it is no multiple of the step.
    changes
        New parameter and input values at their instants, in any order. The step before an instant is
        shortened to reach it. At the instant the algebraic equations are solved again, f is evaluated anew
        and history is dropped.
    start
        (x, y) in place of the system's starting values; y is a guess and is made consistent.
    every
        Record the fast points of a multirate scheme too.
    progress
        Called with the time reached, about ten times a second.
    partial
        Keep the points up to a failure: they are `partial` of the error.
    watch
        Looks at the accepted points, piece by piece, and may end the run at one of them.

    Raises
    ------
    InputError
        For an end before the start, or a starting value that is not finite or beyond its limit.
    EventError
        For a change outside the run, or of a parameter or input that is not there.
    SimulationError
        For a step or a change that does not converge, with time, variable and what to try.
    SingularError
        For a singular matrix, naming the variable.
    """
    began = time.perf_counter()
    w = _starting_buffer(system, start)
    t_start = float(w[-1])
    if not math.isfinite(t_end) or t_end <= t_start:
        raise InputError(f"t_end = {t_end!r}: must be a finite time after the start at {t_start:g} s")
    parameters = [matrix.copy() for matrix in system.parameters]
    same = SAME * (t_end - t_start) if isinstance(scheme, Adaptive | ArcLength) else ROUNDING * scheme.step
    instants = instants_of(system, changes, t_start, t_end, same)
    event = algebraic_block(system, parameters, w)
    repivots = balance(event, w, "start")
    _require_within_limits(system, w)
    engine = make_engine(system, scheme, parameters, w, every)
    blocks = [*engine.blocks.values(), event]
    now = Now()
    log = Log(system.n, system.n + system.m, watch)
    log.begin(t_start, w)

    def trajectory() -> Trajectory:
        counters = Counters.of(
            blocks,
            steps=log.steps,
            macro_steps=log.macro_steps,
            corrections=engine.corrections(),
            repivots=repivots,
            seconds=time.perf_counter() - began,
            **(engine.choices() if isinstance(engine, FlowEngine) else {}),
        )
        return log.trajectory(counters, scheme.step)

    ends = sorted({t_start, *instants, float(t_end)})
    try:
        for begin, end in zip(ends, [*ends[1:], None], strict=True):
            w[-1] = begin
            if begin in instants:
                repivots += apply_changes(system, instants[begin], parameters, engine, event, w, now)
                log.begin(begin, w)
            if end is None or log.stopped():
                break
            if isinstance(engine, FlowEngine):
                repivots += flow_through(engine, end, w, log, progress)
            else:
                repivots += _cross(engine, scheme, _span(scheme, begin, end), w, every, log, progress)
            if log.stopped():
                break
    except (SimulationError, SingularError) as error:
        if partial:
            error.partial = trajectory()
        raise
    return trajectory()


def _cross(
    engine: Engine,
    scheme: Scheme,
    span: Span,
    w: Reals,
    every: bool,
    log: Log,
    progress: Callable[[float], None] | None,
) -> int:
    """March through one span and log it; return the number of repivots."""
    rows = 1 + (int(span.ratios.sum()) if every else len(span.steps))
    t, record = np.empty(rows), np.empty((rows, log.size))
    _fill_times(scheme, span, every, t)
    # Row of the point that each step ends with.
    ends = np.concatenate([[0], np.cumsum(span.ratios)]) if every else np.arange(rows)
    return _run(engine, scheme, span, w, Piece(t, record, ends), log, progress)


def _run(
    engine: Engine,
    scheme: Scheme,
    span: Span,
    w: Reals,
    piece: Piece,
    log: Log,
    progress: Callable[[float], None] | None,
) -> int:
    """March through one span in chunks, each logged; return the number of repivots."""
    done, total, chunk, repivots, tries = 0, len(span.steps), 16, 0, 0
    while done < total:
        first = done
        began = time.perf_counter()
        done, status = engine.advance(span, done, min(total, done + chunk), w, piece.rows)
        elapsed = time.perf_counter() - began
        log.add_piece(piece, span.ratios, first, done)
        if log.stopped():
            return repivots
        if done > first:
            tries = 0
            chunk = max(1, min(4 * chunk, int((done - first) * CHUNK / max(elapsed, 1e-6))))
        if status != DONE:
            block, kind = engine.blocks[status // BLOCK], status % BLOCK
            h = float(span.steps[done])
            w[-1] = span.times[done]
            if kind == NOT_AGREED:
                assert isinstance(scheme, Multirate)
                raise disagreement(w, h, engine.difference(), scheme.epsilon)
            if kind != NO_PIVOTS:
                raise step_failure(block, kind, w, h, engine.honest)
            if tries == MOST_REPIVOTS:
                raise SimulationError(
                    f"t = {w[-1]:.6g} s, step {h:.3g} s: after {tries} new choices of pivots in one step "
                    f"the matrix of {block.columns[0]} ... {block.columns[-1]} is still badly scaled; "
                    "try a smaller step"
                )
            try:
                block.repivot()
            except SingularError as error:
                raise SingularError(f"t = {w[-1]:.6g} s, step {h:.3g} s, {block.purpose}: {error}") from error
            repivots, tries = repivots + 1, tries + 1
        elif progress is not None:
            progress(float(span.times[done]) if done < total else span.end)
    return repivots


def _span(scheme: Scheme, a: float, b: float) -> Span:
    """Divide [a, b] into steps at a + k h, the last one shortened."""
    h = scheme.step
    whole = math.floor((b - a) / h + ROUNDING)
    rest = b - (a + whole * h)
    ratio = len(_within(scheme, h))
    steps, ratios = [h] * whole, [ratio] * whole
    if whole == 0 or rest > ROUNDING * h:
        steps.append(rest)
        ratios.append(len(_within(scheme, rest)))
    times = a + h * np.arange(len(steps))
    return Span(times.astype(float), np.array(steps), np.array(ratios, np.int64), b)


def _within(scheme: Scheme, h: float) -> Reals:
    """Return the times of the points within a step of h in s, counted from its start; the last one is h."""
    if isinstance(scheme, Smes):
        return scheme.within(h)
    count = max(1, math.ceil(h / scheme.h_fast - ROUNDING)) if isinstance(scheme, Multirate) else 1
    return h * np.arange(1, count + 1) / count


def _fill_times(scheme: Scheme, span: Span, every: bool, t: Reals) -> None:
    """Write the times of the rows of a span, its first point included."""
    t[0] = span.times[0]
    if every:
        # All steps have one size but the last, which may be shortened.
        inner = span.times[:-1, None] + _within(scheme, float(span.steps[0]))
        t[1:] = np.concatenate([inner.ravel(), span.times[-1] + _within(scheme, float(span.steps[-1]))])
    else:
        t[1:-1] = span.times[1:]
    t[-1] = span.end


def _starting_buffer(system: System, start: tuple[ArrayLike, ArrayLike] | None) -> Reals:
    w = system.w0.copy() if start is None else system.buffer(*start, t=float(system.w0[-1]))
    names = (*system.names_x, *system.names_y, *system.names_u, "t")
    for i in np.flatnonzero(~np.isfinite(w)):
        raise InputError(f"start: {names[i]} = {w[i]}; it must be finite")
    return w


def _require_within_limits(system: System, w: Reals) -> None:
    x, (lower, upper) = w[: system.n], system.limits(w)
    slack = 1e-9 * np.maximum(1.0, np.abs(x))  # an equilibrium at a limit is found to rounding only
    for i in np.flatnonzero((x > upper + slack) | (x < lower - slack)):
        raise InputError(
            f"start: {system.names_x[i]} = {x[i]:g} is outside its limits [{lower[i]:g}, {upper[i]:g}]"
        )
