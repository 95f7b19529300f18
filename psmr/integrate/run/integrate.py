"""The loop over time: spans between discontinuities run compiled, events solve g = 0 anew."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, SimulationError, SingularError
from psmr.dae.compile.code_cache import seconds_compiling
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.grid import NO_STOPS, times_off_grid
from psmr.integrate.run.actions import Actions
from psmr.integrate.run.advance_span import (
    autonomous,
    begin_span,
    instants_of,
    integrate_span,
    put_inputs,
    solve_within_limits,
)
from psmr.integrate.run.recorder import Recorder
from psmr.integrate.run.samples import GridSamples, sample_now, samplers_in
from psmr.integrate.run.staircases import at_jump, jump_table, with_jumps_as_changes, with_snapped_jumps
from psmr.integrate.run.start import KeptStarts, RunStart, kept_starts
from psmr.integrate.run.trajectory import Counters, Follower, Trajectory
from psmr.integrate.schemes.scheme import Engine, PastReading, Scheme, point_times, reading_past
from psmr.integrate.solve.algebraic_solve import algebraic_block, algebraic_solve
from psmr.integrate.solve.block import Block
from psmr.integrate.step.sampling import Samplers
from psmr.integrate.timeline.delayed_inputs import History
from psmr.integrate.timeline.span import AsTripped, Change, Service, Span, first_span, span_after


def integrate(
    system: System,
    scheme: Scheme,
    t_end: float,
    changes: Sequence[Change] = (),
    start: tuple[ArrayLike, ...] | None = None,
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

    `t_end`: End in s; the last step is shortened where it is no multiple of the step.
    `changes`: New parameter and input values at their instants, in any order. The step before an instant is
      shortened to reach it. At the instant the algebraic equations are solved again, f is evaluated anew and
      history is dropped.
    `start`: (x, y) in place of the system's starting values; y is a guess and is made consistent. Behind
      them (s,) values of what samples write, where they are others.
    `every`: Record the fast points of a multirate scheme too.
    `progress`: Called with the time reached, about ten times a second.
    `partial`: Keep the points up to a failure: they are `partial` of the error.
    `followers`: See the points as they come, one after another, and may end the run at one of them.
    `keep`: Whether the trajectory has all points; otherwise the first one alone, so that memory does not grow
      with the length of the run.
    `acting`: The devices that act by themselves; None where none does.
    `stops`: Times in s, in ascending order, at which a step ends, of a scheme that chooses its steps.
    `service`: What says which devices are in service; None: all but those that changes take out.

    Raises InputError for an end before the start, a starting value that is not finite or beyond its limit,
    and stops of a scheme whose steps are fixed; EventError for a change outside the run, or of a parameter or
    input that is not there; SimulationError for a step or a change that does not converge, with time,
    variable and what to try; SingularError for a singular matrix, naming the variable.
    """
    w = _starting_buffer(system, start)
    t_start = float(w[-1])
    if not math.isfinite(t_end) or t_end <= t_start:
        raise InputError(f"t_end = {t_end!r}: must be a finite time after the start at {t_start:g} s")
    if stops is not None and scheme.step_choice is None:
        raise InputError(f"stops: {scheme} has fixed steps, which end where they do")
    scheme = able_to_read_delays(scheme, system)
    same = TUNED.least_tolerance * (t_end - t_start)
    if scheme.step_choice is None:
        same = TUNED.rounding * min(scheme.step, t_end - t_start)
    instants = instants_of(system, changes, t_start, t_end, same)
    expected = 0
    if scheme.step_choice is None:
        expected = _expected_points(scheme, t_end - t_start, instants, every)
    run = _prepared(
        system, scheme, w, t_end, start is None, same, service or AsTripped(), acting, followers, keep,
        every, expected, progress,
    )  # fmt: skip
    if any(course.jumps for change in changes for _, course in change.courses):
        within = run.engine.take_jumps(None) and run.history is None
        follow = with_snapped_jumps if within else with_jumps_as_changes
        instants = instants_of(system, follow(changes, t_start, t_end, same), t_start, t_end, same)
    ends = sorted({t_start, *instants, float(t_end)})
    unsettled = acting is not None and bool(acting.dependent(run.span))
    try:
        run.sample(system.sampled, followed=t_start in instants)
        for begin, end in zip(ends, [*ends[1:], None], strict=True):
            run.w[-1] = begin
            if begin in instants or run.due <= begin + same or unsettled:
                run.happen(instants.get(begin, ()))
            unsettled = False
            if end is None or run.recorder.stopped():
                break
            run.advance(end, stops)
            if run.recorder.stopped():
                break
    except (SimulationError, SingularError) as error:
        if partial:
            error.partial = run.trajectory()
        raise
    found = run.trajectory()
    run.done()
    return found


def _prepared(
    system: System,
    scheme: Scheme,
    w: Reals,
    t_end: float,
    usual: bool,
    same: float,
    service: Service,
    acting: Actions | None,
    followers: Sequence[Follower],
    keep: bool,
    every: bool,
    expected: int,
    progress: Callable[[float], None] | None,
) -> _Integration:
    """Return an integration at its first point, which is consistent and recorded.

    `w` is a guess of it, `usual` says whether that is the system's own. Raises InputError, SimulationError,
    SingularError as `integrate`.
    """
    past = scheme.past or PastReading(1)
    inner = past.has_within([delay.source for delay in system.delays])
    within = every or bool(inner.any())
    starts = kept_starts(system, scheme, within, service) if usual else KeptStarts()
    begun, state = starts.take(lambda: _start(system, scheme, w, service, within))
    w, span, parameters, algebraic, engine = (
        begun.w,
        begun.span,
        begun.parameters,
        begun.algebraic,
        begun.engine,
    )
    samplers = samplers_in(system, scheme, engine)
    began, compiling = time.perf_counter(), seconds_compiling()
    history = None
    if system.delays:
        history = History(
            system,
            past.degree,
            span.t,
            w,
            within=inner,
            same=same,
            step=scheme.step,
            last_stage=scheme.program(scheme.step).last_stage,
            unsolved=past.own_step,
            least_jump=10.0 * scheme.tolerance,
        )
        courses = span.courses(system.n + system.m, history.delayed)
        for block in (*engine.blocks.values(), algebraic):
            block.take_courses(courses)
    engine.forget(autonomous(system, parameters) and history is None)
    if acting is not None:
        acting.start(same, history.delayed if history else None)
    recorder = Recorder(
        system.n,
        system.n + system.m,
        system.n + system.m + system.s,
        followers,
        keep,
        expected,
        acting,
        (*system.names_x, *system.names_y, *system.names_u[: system.s]),
        history,
        every,
    )
    span = replace(span, sampled=recorder.sampled)
    recorder.begin(span, w)
    on_grid = None
    if samplers is not None and scheme.step_choice is None:
        on_grid = GridSamples(samplers, engine, scheme.two_rates)
    return _Integration(
        system, scheme, engine, algebraic, parameters, service, acting, history, recorder, samplers, on_grid,
        w, t_end, same, span, progress, began, compiling, lambda: starts.give_back(begun, state),
    )  # fmt: skip


def _start(system: System, scheme: Scheme, w: Reals, service: Service, every: bool) -> RunStart:
    """Return what a run begins with at the point w, whose algebraic variables are a guess.

    Raises InputError, SimulationError, SingularError as `integrate`.
    """
    parameters = list(system.parameters)
    algebraic = algebraic_block(system, parameters, w, scheme.resting(system))
    algebraic_solve(algebraic, w, "start")
    _require_within_limits(system, w)
    engine: Engine = scheme.engine(system, parameters, w, every)
    span = first_span(system, service, w)
    if span.out:
        engine.take_out_of_service(system, parameters, w, span.out)
        algebraic.take_out_of_service(system, parameters, w, span.out)
    return RunStart(w, span, parameters, algebraic, engine)


@dataclass
class _Integration:
    """An integration as it goes: what is solved, what holds, and what has been recorded.

    `parameters`: Matrices of the span, in the list that the engine reads.
    `samplers`, `on_grid`: What samples, and when on a grid of fixed steps; None where nothing does.
    `w`, `t_end`: The buffer with the point that was reached, and the time in s at which it ends.
    `same`: Times closer than this in s are one.
    `began`, `compiling`: Wall time in s at which it began, and what compiling had taken until then.
    `done`: Leaves what it began with to the next one.
    """

    system: System
    scheme: Scheme
    engine: Engine
    algebraic: Block
    parameters: list[Reals]
    service: Service
    acting: Actions | None
    history: History | None
    recorder: Recorder
    samplers: Samplers | None
    on_grid: GridSamples | None
    w: Reals
    t_end: float
    same: float
    span: Span
    progress: Callable[[float], None] | None
    began: float
    compiling: float
    done: Callable[[], None]

    def happen(self, known: Sequence[Change] = ()) -> None:
        """Make all that happens at the time in w, and begin a span at the point that it leads to.

        Changes that were known before, what devices do that are due and what follows from both are made as
        one. What acts at once by the point to which they lead comes next, and so on; the last point alone
        counts.
        """
        acting, made = self.acting, list[Change]()
        at = self.recorder.instant(float(self.w[-1]), self.same)
        self.w[-1] = max(self.w[-1], at)  # to the last bit: inputs may jump there
        if self.history is not None:
            self.history.arrive(at)
        while True:
            changes = [*known, *self._acted(at, known)]
            made += changes
            span = span_after(self.system, self.span, at, changes, self.service)
            if self.recorder.stops_before(_begun_by(span, made)):
                return
            goes_on = not known and self.history is None and all(map(_leaves_states, changes))
            self.engine.note(self.w if goes_on else None)
            self._begin(span)
            known = ()
            if acting is None or not acting.at_once(self.span, self.w):
                break
        self.span = _begun_by(self.span, made)
        self.recorder.begin(self.span, self.w)

    def _acted(self, at: float, known: Sequence[Change]) -> list[Change]:
        """Return what devices do at `at` in s beside known changes, and what follows from both."""
        acting = self.acting
        if acting is None:
            return []
        put_inputs(self.system, self.span, self.history, self.w)
        if not known and acting.changes_due(at):
            # What depends on the point needs its voltages better than a step leaves them.
            algebraic_solve(self.algebraic, self.w, f"t = {at:g} s")
        t = known[0].t if known else at
        span = span_after(self.system, self.span, at, known, self.service)
        acted = acting.act(t, self.w, span, waiting=bool(known))
        if acted != Change(t):
            span = span_after(self.system, self.span, at, [*known, acted], self.service)
        acted = acted.followed_by(Change(t, acting.dependent(span)))
        if acted == Change(t):
            return []
        acting.acted.append(acted)
        if wrong := acting.problem(at):
            raise SimulationError(f"{self.system.name}: {wrong}")
        return [acted]

    def _begin(self, span: Span) -> None:
        """Bring blocks and point to a span, and solve the network there."""
        before, self.span = self.span, span
        self.parameters[:] = span.parameters
        begin_span(self.system, before, span, self.engine, self.algebraic, self.service, self.history, self.w)
        if self.samplers is not None:
            self.samplers.load(span.parameters)
        if self.history is not None:
            self.span = replace(span, inputs=self.w[self.system.n + self.system.m : -1].copy())

    def advance(self, end: float, stops: Reals | None) -> None:
        """Go on to `end` in s, through what devices do by themselves and what jumps in the past bring."""
        while self.w[-1] < end - self.same and not self.recorder.stopped():
            begin, ahead = float(self.w[-1]), min(end, self.due)
            if self.on_grid is not None:
                ahead = self.on_grid.end(begin, ahead)
            self._march(ahead, stops, end)
            if self.recorder.paused():
                self._back()
            elif not self.recorder.stopped():
                self._go_on()
                self.sample(begin, followed=min(end, self.due) <= self.w[-1] + self.same)
            if self.due <= self.w[-1] + self.same < end and not self.recorder.stopped():
                self.happen()

    def sample(self, since: float, followed: bool) -> None:
        """Take the samples due at the time in w, to which a march came from `since`, and another one begins.

        They come ahead of changes at that time that have `followed`, and lead to the point from there on.
        """
        if self.samplers is None or self.w[-1] >= self.t_end - self.same or self.recorder.stopped():
            return
        if sample_now(self.samplers, since, self.w) and not followed:
            if self.samplers.answered:
                limits = self.system.constant_limits(self.span.parameters)
                solve_within_limits(
                    self.system, self.algebraic, self.w, "what samples write", limits, self.span.out
                )
            self.recorder.take_sampled(self.w)

    @property
    def due(self) -> float:
        """When anything happens next that was not known before, in s; inf for never."""
        jump = math.inf if self.history is None else self.history.due
        return jump if self.acting is None else min(jump, self.acting.due)

    def _march(self, end: float, stops: Reals | None, last: float) -> None:
        """Take steps to `end` in s; some of them end at rows of courses, where inputs jump, and at stops.

        From `last` in s on another span follows in any case.
        """
        t, span = float(self.w[-1]), self.span
        end = at_jump(span, end, last, self.same)
        rows = span.course_rows(t, end, self.same)
        if stops is not None:
            rows = np.union1d(rows, stops[(stops > t) & (stops < end)])
        first = self.system.n + self.system.m
        inputs = [first + place for place in span.input_courses]
        two = self.scheme.two_rates
        fast = self.engine.marches or (two is not None and two.ratio > 1)
        if fast and (inputs or span.parameter_courses):
            fast = not self.engine.read_slowly(inputs, span.parameter_courses)
        sampled, ending = None, NO_STOPS
        if self.on_grid is not None:
            sampled, ending = self.on_grid.on_grid(t, end, rows)
        unread = fast and (self.on_grid is None or not self.on_grid.slow)
        table = jump_table(
            self.system, self.engine, self.algebraic, span, t, last, unread, self.samplers, sampled
        )
        self.engine.take_jumps(table)
        jumps = NO_STOPS if table is None else table.t[table.jumping & (table.t < end)]
        if fast and self.engine.marches:  # fast steps end there
            rows, jumps = NO_STOPS if stops is None else np.intersect1d(rows, stops), NO_STOPS
        rows = np.union1d(rows, jumps) if jumps.size else rows
        if rows.size and fast and two is not None:
            rows = times_off_grid(t, rows, two.h_fast, end if jumps.size else None)
        rows = np.union1d(rows, ending) if ending.size else rows
        integrate_span(
            self.engine, self.algebraic, end, self.w, rows, self.recorder, self.progress, span, self.history
        )

    def _go_on(self) -> None:
        """Let the steps of the span go on as planned where a march of it ended for what acts."""
        if self.acting is not None and self.history is None:
            self.engine.note(self.w)

    def _back(self) -> None:
        """Go back to the last point before an action."""
        if self.samplers is not None and not self.samplers.repeatable:
            raise SimulationError(
                f"t = {self.w[-1]:.6g} s: something acts between two samples, and external code keeps states "
                "of its own, so that the run cannot go back to there; take code whose states can be read"
            )
        self.w[-1], self.w[: self.recorder.size] = self.recorder.go_on()
        put_inputs(self.system, self.span, self.history, self.w)
        self._go_on()
        still = autonomous(self.system, self.parameters) and not self.span.followed and self.history is None
        self.engine.forget(still)

    def trajectory(self) -> Trajectory:
        """Return what has been recorded, with the work that it took."""
        recorder = self.recorder
        counters = Counters.of(
            [*self.engine.blocks.values(), self.algebraic],
            steps=recorder.steps,
            macro_steps=recorder.macro_steps,
            divided_at=recorder.divided_at,
            jumped_at=recorder.jumped_at,
            samples=None if self.samplers is None else self.samplers.counted(),
            seconds=time.perf_counter() - self.began - (seconds_compiling() - self.compiling),
            **self.engine.counted(),
        )
        found = recorder.trajectory(counters, self.scheme.step)
        if self.acting is None:
            return found
        return replace(found, acted=tuple(self.acting.acted), turns=tuple(self.acting.turns))


def _leaves_states(change: Change) -> bool:
    """Return whether a change sets parameters alone."""
    others = (change.inputs, change.out, change.rates, change.courses, change.states, change.back)
    return not any(others)


def _begun_by(span: Span, changes: Sequence[Change]) -> Span:
    """Return a span that changes have begun, as it is where they are its own."""
    return span if len(changes) == len(span.changes) else replace(span, changes=tuple(changes))


def _expected_points(
    scheme: Scheme, length: float, instants: Mapping[float, Sequence[Change]], every: bool
) -> int:
    """Return about how many points a run of a length in s with fixed steps has."""
    # At each instant a step is shortened, and the point stands twice; at the rows of a course once.
    points = point_times(scheme, scheme.step).size if every else 1
    found = points * (math.ceil(length / scheme.step) + len(instants) + 1)
    courses = (course for changes in instants.values() for change in changes for _, course in change.courses)
    return found + len(instants) + 1 + sum(len(course.t) for course in courses)


def able_to_read_delays(scheme: Scheme, system: System) -> Scheme:
    """Return the scheme with steps no longer than what the system's delays allow.

    Raises SchemeError where it cannot read signals with such delays.
    """
    names = (*system.names_x, *system.names_y, *system.names_u)
    for delay in system.delays:
        scheme = reading_past(scheme, names[delay.input], names[delay.source], delay.tau)
    return scheme


def _starting_buffer(system: System, start: tuple[ArrayLike, ...] | None) -> Reals:
    w = system.w0.copy() if start is None else system.buffer(start[0], start[1], t=float(system.w0[-1]))
    if start is not None and len(start) > 2:
        sampled = np.asarray(start[2], dtype=float)
        if sampled.shape != (system.s,):
            raise InputError(f"start: sampled has shape {sampled.shape}, needed is ({system.s},)")
        w[system.n + system.m : system.n + system.m + system.s] = sampled
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
