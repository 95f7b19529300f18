"""The loop over time: spans between discontinuities run compiled, events solve g = 0 anew."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.errors import InputError, SimulationError, SingularError
from psmr.dae.compile.cache.code_cache import seconds_compiling
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.time_grid import times_off_grid
from psmr.integrate.run.actions import Actions
from psmr.integrate.run.changes import Now, apply_changes, autonomous, instants_of
from psmr.integrate.run.counters import Counters
from psmr.integrate.run.history import History
from psmr.integrate.run.recorder import Recorder
from psmr.integrate.run.service import Service
from psmr.integrate.run.span import integrate_span
from psmr.integrate.run.trajectory import Change, Follower, Trajectory
from psmr.integrate.schemes.scheme import Engine, Scheme
from psmr.integrate.solve.algebraic_solve import algebraic_block, algebraic_solve

Reals = NDArray[np.float64]

__all__ = ["Change", "Trajectory", "integrate"]


def integrate(
    system: System,
    scheme: Scheme,
    t_end: float,
    changes: Sequence[Change] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    every: bool = False,
    progress: Callable[[float], None] | None = None,
    partial: bool = False,
    followers: Sequence[Follower] = (),
    keep: bool = True,
    acting: Actions | None = None,
    stops: Reals | None = None,
    service: Service | None = None,
) -> Trajectory:
    """Integrate a system from its starting time to t_end.

    Parameters
    ----------
    system
        The DAE at its starting point.
    scheme
        Any scheme.
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
    followers
        See the points as they come, one after another, and may end the run at one of them.
    keep
        Whether the trajectory has all points; otherwise the first one alone, so that memory does not grow
        with the length of the run.
    acting
        The devices that act by themselves; None where none does.
    stops
        Times in s, in ascending order, at which a step ends, of a scheme that chooses its steps.
    service
        What says which devices are in service; None: all but those that changes take out.

    Raises
    ------
    InputError
        For an end before the start, a starting value that is not finite or beyond its limit, and stops of a
        scheme whose steps are fixed.
    EventError
        For a change outside the run, or of a parameter or input that is not there.
    SimulationError
        For a step or a change that does not converge, with time, variable and what to try.
    SingularError
        For a singular matrix, naming the variable.
    """
    w = _starting_buffer(system, start)
    t_start = float(w[-1])
    if not math.isfinite(t_end) or t_end <= t_start:
        raise InputError(f"t_end = {t_end!r}: must be a finite time after the start at {t_start:g} s")
    if stops is not None and not scheme.chooses_steps:
        raise InputError(f"stops: {scheme} has fixed steps, which end where they do")
    scheme = able_to_read_delays(scheme, system)
    parameters = [matrix.copy() for matrix in system.parameters]
    same = TUNED.least_tolerance * (t_end - t_start)
    if not scheme.chooses_steps:
        same = TUNED.rounding * min(scheme.step, t_end - t_start)
    instants = instants_of(system, changes, t_start, t_end, same)
    algebraic = algebraic_block(system, parameters, w)
    algebraic_solve(algebraic, w, "start")
    _require_within_limits(system, w)
    inner = scheme.read_within_steps([delay.source for delay in system.delays])
    engine: Engine = scheme.engine(system, parameters, w, every or bool(inner.any()))
    blocks = [*engine.blocks.values(), algebraic]
    began, compiling = time.perf_counter(), seconds_compiling()
    now = Now() if service is None else Now(service, service.after(parameters, frozenset()))
    if now.devices.out:
        engine.take_out(system, parameters, w, now.devices.out)
        algebraic.take_out(system, parameters, w, now.devices.out)
    if system.delays:
        now.history = History(
            system.delays,
            scheme.delay_degree,
            scheme.step,
            scheme.program(scheme.step).last_stage,
            inner,
            scheme.reads_unsolved_step,
            same,
            10.0 * scheme.tolerance,
            t_start,
            w,
        )
        following = now.following()
        for block in blocks:
            block.follow(following)
    engine.forget(autonomous(system, parameters) and not now.moves)
    expected = 0
    if not scheme.chooses_steps:
        per_step = _points(scheme, every)
        # At each instant a step is shortened, and the point stands twice; at the rows of a course once.
        expected = per_step * (math.ceil((t_end - t_start) / scheme.step) + len(instants) + 1)
        expected += len(instants) + 1 + sum(len(c.t) for change in changes for _, c in change.courses)
    if acting is not None:
        acting.start(parameters, same)
        acting.without(now.devices.out)
    recorder = Recorder(
        system.n,
        system.n + system.m,
        followers,
        keep,
        expected,
        acting,
        (*system.names_x, *system.names_y),
        now.history,
        every,
    )
    recorder.begin(t_start, w)

    def trajectory() -> Trajectory:
        counters = Counters.of(
            blocks,
            steps=recorder.steps,
            macro_steps=recorder.macro_steps,
            divided_at=recorder.divided_at,
            jumped_at=recorder.jumped_at,
            seconds=time.perf_counter() - began - (seconds_compiling() - compiling),
            **engine.counted(),
        )
        found = recorder.trajectory(counters, scheme.step)
        return found if acting is None else replace(found, acted=tuple(acting.acted))

    def cross(end: float) -> None:
        rows = now.rows(float(w[-1]), end, same)
        if stops is not None:
            rows = np.union1d(rows, stops[(stops > w[-1]) & (stops < end)])
        if rows.size and scheme.ratio > 1 and not engine.read_slowly(now.inputs, now.parameters):
            rows = times_off_grid(float(w[-1]), rows, scheme.step / scheme.ratio)
        integrate_span(engine, algebraic, end, w, rows, recorder, progress, now)

    def switch(t: float, changes: list[Change]) -> None:
        """Apply the changes of one instant, at t in s, and begin a span."""
        if now.history is not None:
            now.history.arrive(t)
        apply_changes(system, changes, parameters, engine, algebraic, w, now)
        if acting is not None:
            acting.without(now.devices.out)
        recorder.begin(t, w)

    def act(changing: bool = False) -> None:
        """Let devices act that are due here, and those that act on what they changed.

        Changes that depend on the point wait where others are still to be made (`changing`).
        """
        if acting is not None:
            acting.changing = changing
        while acting is not None and acting.due <= w[-1] + same and not recorder.stopped():
            at = recorder.instant(float(w[-1]), same)
            if acting.changes_due(at):
                # What depends on the point needs its voltages better than a step leaves them.
                algebraic_solve(algebraic, w, f"t = {at:g} s")
            change = acting.act(at, w)
            if wrong := acting.problem(at):
                raise SimulationError(f"{system.name}: {wrong}")
            recorder.change(change)
            if recorder.stopped():
                return
            switch(at, [change])

    def back() -> None:
        """Go back to the last point before an action."""
        w[-1], w[: recorder.size] = recorder.go_on()
        now.put(w, parameters)
        engine.forget(autonomous(system, parameters) and not now.moves)

    ends = sorted({t_start, *instants, float(t_end)})
    try:
        for begin, end in zip(ends, [*ends[1:], None], strict=True):
            w[-1] = begin
            if begin in instants:
                switch(recorder.instant(begin, same), instants[begin])
            if end is None or recorder.stopped():
                break
            act()
            while w[-1] < end - same and not recorder.stopped():
                reached = min(end, now.due if acting is None else min(now.due, acting.due))
                cross(reached)
                if recorder.paused():
                    back()
                elif now.due <= w[-1] + same < end and not recorder.stopped():
                    switch(recorder.instant(now.due, same), [])
                act(changing=end in instants and w[-1] >= end - same)
            if recorder.stopped():
                break
    except (SimulationError, SingularError) as error:
        if partial:
            error.partial = trajectory()
        raise
    return trajectory()


def able_to_read_delays(scheme: Scheme, system: System) -> Scheme:
    """Return the scheme with steps no longer than what the system's delays allow.

    Raises
    ------
    SchemeError
        Where it cannot read signals with such delays.
    """
    names = (*system.names_x, *system.names_y, *system.names_u)
    for delay in system.delays:
        scheme = scheme.reading(names[delay.input], names[delay.source], delay.source, delay.tau)
    return scheme


def _points(scheme: Scheme, every: bool) -> int:
    """Return how many points of a step are recorded."""
    return scheme.point_times(scheme.step).size if every else 1


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
