"""The spans of a run: changes at their instants, checked before the run and applied in it, and the way on.

States of devices that come into service begin at rest with the voltage that they find.
"""

from __future__ import annotations

import functools
import operator
import time
from collections.abc import Callable, Collection, Sequence

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import EventError, SimulationError, nearest
from psmr.dae.declare.component import parameters_of
from psmr.dae.declare.device import form_for
from psmr.dae.system.kept import kept
from psmr.dae.system.places import limit_columns
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.control.grid import NO_STOPS, ROOM
from psmr.integrate.run.recorder import Recorder
from psmr.integrate.schemes.scheme import Engine, advance
from psmr.integrate.solve.algebraic_solve import algebraic_solve, other_solutions
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.courses import Courses
from psmr.integrate.solve.newton import DAMPED, HONEST
from psmr.integrate.solve.status import DONE, FULL, NOT_CONVERGED, NOT_FINITE
from psmr.integrate.timeline.delayed_inputs import History
from psmr.integrate.timeline.span import Change, Service, Span, continued_span

VALUES = 64
"""Values of parameters that are kept as such that a device takes."""

LONG = 1e6
"""Step in s of implicit Euler after which a state is at rest: beside it no time constant counts."""

CLOSE = 1e-9
"""Newton's tolerance, of states that begin anew."""


def put_at_rest(
    system: System,
    parameters: Sequence[Reals],
    courses: Courses,
    w: Reals,
    devices: Collection[str],
    out: Collection[str],
) -> None:
    """Write into w the states of some devices that are at rest, with the algebraic equations solved anew.

    Where there are none, as of an integrator that is driven, their states go on from where they stood.
    """
    states = {name: system.device(name).component.states for name in devices}
    places = np.sort([system.index(f"{name}.{s}") for name in states for s in states[name]]).astype(int)
    if not places.size:
        return
    rows = np.concatenate([places, np.arange(system.n, system.n + system.m)])
    block = make_block(system, "event", parameters, w, rows, rows, out)
    block.load(parameters, *system.constant_limits(parameters), courses, w)
    found = w.copy()
    block.records.work.known[:] = found[places]
    if block.solve(found, LONG, HONEST, CLOSE, DAMPED) == DONE:
        w[:] = found


def instants_of(
    system: System, changes: Sequence[Change], t_start: float, t_end: float, same: float
) -> dict[float, list[Change]]:
    """Return the changes by instant; instants closer than `same` in s are one.

    Raises EventError for a change outside the run, of a variable that is no held input, or to a value that
    the component does not take; InputError for a device, parameter or input that is not there, with the
    nearest known name.
    """
    instants: dict[float, list[Change]] = {}
    held = range(system.n + system.m, system.n + system.m + system.k)
    delayed = {delay.input for delay in system.delays}
    for change in sorted(changes, key=operator.attrgetter("t")):
        if not t_start <= change.t <= t_end:
            raise EventError(
                f"{change}: t = {change.t:g} s is outside the run from {t_start:g} s to {t_end:g} s"
            )
        for device, parameter, value in change.parameters:
            key = device, parameter, value
            if wrong := kept(system, "objections", key, functools.partial(objection, system, *key), VALUES):
                raise EventError(f"{change}: {device}.{parameter} = {value:g}: {wrong}")
        courses = [course for course in change.courses if course[0] in system.names_u]
        for name, _ in (*change.inputs, *change.rates, *courses):
            if system.index(name) in delayed:
                raise EventError(
                    f"{change}: {name} reads a signal with a delay and cannot be set; change what it reads"
                )
            if system.index(name) not in held:
                raise EventError(f"{change}: {name} is a variable, not a held input; only inputs can be set")
            if name in system.names_u[: system.s] and _owner(name) not in change.back:
                raise EventError(
                    f"{change}: {name} is what {_owner(name)} writes at its samples; change what that reads"
                )
        for name, _ in change.states:
            if name not in system.names_x and not (name in system.names_y and _owner(name) in change.back):
                raise EventError(f"{change}: {name} is no state{nearest(name, system.names_x)}")
        for name, _ in change.courses:
            if name not in system.names_u:
                _check_course(system, change, name)
        _check_out(system, change)
        near = (t_start, float(t_end), *list(instants)[-1:])
        instant = next((t for t in near if abs(t - change.t) <= same), change.t)
        instants.setdefault(float(instant), []).append(change)
    return instants


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def _check_course(system: System, change: Change, name: str) -> None:
    """Raise EventError for a course of a parameter that its component does not take as one that moves."""
    device, _, parameter = name.rpartition(".")
    group, _, _ = system.parameter_place(device, parameter)
    if parameter not in system.groups[group].compiled.component.courses:
        raise EventError(f"{change}: {name} is neither a held input nor a parameter that may follow a course")


def _check_out(system: System, change: Change) -> None:
    """Raise EventError where what goes out of service is not there, or would leave others without a row."""
    if not change.out:
        return
    known = {device.name: device for device in system.devices}
    for name in change.out:
        if name not in known:
            raise EventError(f"{change}: there is no device {name!r}{nearest(name, known)}")
    for device in system.devices:
        for port in device.component.outputs:
            target = device.connections[port].rpartition(".")[0]
            if target in change.out and device.name not in change.out:
                raise EventError(
                    f"{change}: {device.name} adds to an equation of {target}, which cannot go out of "
                    "service without it"
                )


def objection(system: System, device: str, parameter: str, value: float) -> str | None:
    """Return what would be right where a device cannot take a parameter's value during a run."""
    system.parameter_place(device, parameter)  # an error where it is not there
    component = system.device(device).component
    declared = parameters_of(component)
    values = system.parameters_at(device)
    changed = values | {parameter: float(value)}
    if component.samples is not None and parameter in component.samples.names:
        return "says when it samples, which stays during a run; give the case this value"
    if parameter in component.delays.values() and value != values[parameter]:
        return "is a delay, which stays during a run; give the case this value"
    if form_for(component, changed) is not component:
        return "zero makes the block algebraic, which cannot begin during a run; give the case this value"
    return declared[parameter].objection(float(value)) or component.conflict(changed)


def begin_span(
    system: System,
    before: Span,
    span: Span,
    engine: Engine,
    algebraic: Block,
    service: Service,
    history: History | None,
    w: Reals,
) -> None:
    """Bring blocks and the point w from one span to the next, and solve g = 0 there.

    States are continuous but for those that a change sets. A state beyond a limit that was changed, or that
    moved with what changed, is at that limit at once. Raises EventError when a lower limit ends above its
    upper one; SimulationError, SingularError when the algebraic equations have no solution after the change.
    """
    what = ", ".join(map(str, span.changes))
    parameters, out = span.parameters, span.out
    for change in span.changes:
        for name, value in (*change.states, *change.inputs):
            w[system.index(name)] = value
    lower, upper = limits = system.constant_limits(parameters)
    if any(before.parameters[group] is not parameters[group] for _, group, _, _ in limit_columns(system)):
        for i in np.flatnonzero(lower > upper):
            raise EventError(
                f"{what}: the lower limit {lower[i]:g} of {system.names_x[i]} is above the upper one "
                f"{upper[i]:g}"
            )
        lower_before, upper_before = system.constant_limits(before.parameters)
        moved = np.flatnonzero((lower != lower_before) | (upper != upper_before))
        w[moved] = np.clip(w[moved], lower[moved], upper[moved])
    put_inputs(system, span, history, w)
    courses = span.courses(system.n + system.m, history.delayed if history else None)
    returning: Collection[str] = ()
    if span.devices != before.devices:
        begun = frozenset(name for change in span.changes for name in change.back)
        returning = frozenset(service.put(w, before.devices, span.devices)) - begun
        engine.take_out_of_service(system, parameters, w, out)
        algebraic.take_out_of_service(system, parameters, w, out)
    for block in (*engine.blocks.values(), algebraic):
        block.load(parameters, lower, upper, courses, w)
    engine.forget(autonomous(system, parameters) and not span.followed and history is None)
    solve_within_limits(system, algebraic, w, what, limits, out)
    put_at_rest(system, parameters, courses, w, returning, out)


def put_inputs(system: System, span: Span, history: History | None, w: Reals) -> None:
    """Write into w the held inputs at its time, on courses and by the past; what samples write is there."""
    w[system.n + system.m + system.s : -1] = span.held(w[-1:])[0, system.s :]
    if history is not None:
        history.put(w)


def solve_within_limits(
    system: System,
    algebraic: Block,
    w: Reals,
    what: str,
    constant: tuple[Reals, Reals],
    out: Collection[str] = (),
) -> None:
    """Solve g = 0 and put the states onto limits that moved past them.

    `what`: The occasion, for messages.
    `constant`: (n,) limits that do not move.
    `out`: Devices out of service: their states stay.

    Raises SimulationError, SingularError as `algebraic_solve`; and where each solution moves the limits
    again.
    """
    algebraic_solve(algebraic, w, what)
    places = system.limits_move.nonzero()[0]
    places = np.setdiff1d(places, algebraic.resting)  # those have been solved for within their limits
    if not places.size:
        return
    moving = np.array([i for i in places if system.names_x[i].rpartition(".")[0] not in out], dtype=np.intp)
    before = w[moving]
    for _ in range(TUNED.most_rounds):
        lower, upper = system.limits(w, constant)
        x = np.clip(before, lower[moving], upper[moving])
        far = np.abs(x - w[moving]) > TUNED.least_tolerance * np.maximum(1.0, np.abs(x))
        w[moving] = x
        if not far.any():
            return
        algebraic_solve(algebraic, w, what)
    worst = system.names_x[moving[int(far.argmax())]]
    raise SimulationError(
        f"{what} (t = {w[-1]:.6g} s): {worst} and its limit, of which one moves the other, have not settled "
        f"after {TUNED.most_rounds} rounds; is there a point at which the state is within its limit?"
    )


def autonomous(system: System, parameters: Sequence[Reals]) -> bool:
    """Return whether no equation reads the time: f at the end of a step then serves the start of the next.

    The parameters decide for components that read the time only while they ramp.
    """
    for group, matrix in zip(system.groups, parameters, strict=True):
        if group.compiled.timed:
            component = group.compiled.component
            declared = tuple(parameters_of(component))
            rates = [declared.index(name) for name in component.ramps]
            if not rates or any(np.count_nonzero(matrix[:, column]) for column in rates):
                return False
    return True


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
    the end of the solution that was followed: they jump to another one, if there is one. Raises
    SimulationError where the steps allowed are spent, the step vanishes, or a step fails that cannot be
    shortened.
    """
    for stop in (end,) if engine.ends_at_stops else (*stops.tolist(), end):
        room, begun = recorder.chunk(FEWEST), False
        while w[-1] < stop:
            if history is not None:
                _extend(history, span, recorder.variables, engine, algebraic, w, end)
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
        courses = span.courses(size, history.delayed)
        for block in (*engine.blocks.values(), algebraic):
            block.take_courses(courses)


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
            recorder.jump(continued_span(span, float(begin[-1])), w, begin)
            if not (recorder.stopped() or recorder.paused()):
                recorder.add(piece)
            w[:] = there
            return True
    return False
