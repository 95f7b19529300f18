"""Changes at their instants, where a run is not smooth: checked before the run, applied in it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import EventError, SimulationError, nearest
from psmr.dae.declare.algebraic_form import form_for
from psmr.dae.declare.component import Component, parameters_of
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.run.at_rest import put_at_rest
from psmr.integrate.run.history import History
from psmr.integrate.run.service import AsTripped, OutOfService, Service
from psmr.integrate.run.trajectory import Change
from psmr.integrate.schemes.scheme import Engine
from psmr.integrate.solve.algebraic_solve import algebraic_solve
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.ramps import Course, Following, Place

Reals = NDArray[np.float64]


@dataclass
class Now:
    """What the changes up to an instant have made of the system, beside parameters and inputs.

    Attributes
    ----------
    service
        What says which devices are in service.
    devices
        Those that are not.
    inputs, parameters
        What follows a course: held inputs by their position in w, parameters by their places.
    history
        What is read with a delay; None where nothing is.
    """

    service: Service = field(default_factory=AsTripped)
    devices: OutOfService = field(default_factory=OutOfService)
    inputs: dict[int, Course] = field(default_factory=dict)
    parameters: dict[Place, Course] = field(default_factory=dict)
    history: History | None = None

    @property
    def moves(self) -> bool:
        """Whether anything follows a course or the past of the run."""
        return bool(self.inputs or self.parameters or self.history)

    @property
    def due(self) -> float:
        """The next time in s at which what is read with a delay jumps; inf for none."""
        return math.inf if self.history is None else self.history.due

    def following(self) -> Following:
        """Return all that does."""
        return Following(self.inputs, self.parameters, self.history.delayed if self.history else None)

    def rows(self, a: float, b: float, same: float) -> Reals:
        """Return the times of the rows of all courses between a and b in s; closer than `same` are one."""
        if not self.moves:
            return np.zeros(0)
        courses = (*self.inputs.values(), *self.parameters.values())
        t = np.unique(np.concatenate([np.zeros(0), *(course.t for course in courses)]))
        t = t[(t > a + same) & (t < b - same)]
        return np.asarray(t[np.diff(t, prepend=-np.inf) > same])

    def put(self, w: Reals, parameters: Sequence[Reals]) -> None:
        """Write what follows a course or the past as it is at the time in w."""
        if self.history is not None:
            self.history.put(w)
        for place, course in self.inputs.items():
            w[place] = course.at(w[-1])
        for (group, row, column), course in self.parameters.items():
            parameters[group][row, column] = course.at(w[-1])


def instants_of(
    system: System, changes: Sequence[Change], t_start: float, t_end: float, same: float
) -> dict[float, list[Change]]:
    """Return the changes by instant; instants closer than `same` in s are one.

    Raises
    ------
    EventError
        For a change outside the run, of a variable that is no held input, or to a value that the component
        does not take.
    InputError
        For a device, parameter or input that is not there, with the nearest known name.
    """
    instants: dict[float, list[Change]] = {}
    held = range(system.n + system.m, system.n + system.m + system.k)
    delayed = {delay.input for delay in system.delays}
    for change in sorted(changes, key=lambda change: change.t):
        if not t_start <= change.t <= t_end:
            raise EventError(
                f"{change}: t = {change.t:g} s is outside the run from {t_start:g} s to {t_end:g} s"
            )
        for device, parameter, value in change.parameters:
            wrong = objection(system, device, parameter, value)
            if wrong:
                raise EventError(f"{change}: {device}.{parameter} = {value:g}: {wrong}")
        courses = [course for course in change.courses if course[0] in system.names_u]
        for name, _ in (*change.inputs, *change.rates, *courses):
            if system.index(name) in delayed:
                raise EventError(
                    f"{change}: {name} reads a signal with a delay and cannot be set; change what it reads"
                )
            if system.index(name) not in held:
                raise EventError(f"{change}: {name} is a variable, not a held input; only inputs can be set")
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
    if f"{parameter}_rate" not in system.groups[group].compiled.component.ramps:
        raise EventError(f"{change}: {name} is neither a held input nor a parameter that has a rate")


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
    if parameter in component.buses:
        return "is a connection, which stays during a run; give the case this value"
    values = system.parameters_at(device)
    changed = values | {parameter: float(value)}
    if parameter in component.delays.values() and value != values[parameter]:
        return "is a delay, which stays during a run; give the case this value"
    if form_for(component, changed) is not component:
        return "zero makes the block algebraic, which cannot begin during a run; give the case this value"
    return declared[parameter].objection(float(value)) or component.conflict(changed)


def apply_changes(
    system: System,
    changes: list[Change],
    parameters: list[Reals],
    engine: Engine,
    algebraic: Block,
    w: Reals,
    now: Now,
) -> None:
    """Apply the changes of one instant and solve g = 0 after it.

    States are continuous but for those that a change sets. A state beyond a limit that was changed, or that
    moved with what changed, is at that limit at once. `now` is brought up to date.

    Raises
    ------
    EventError
        When a lower limit ends above its upper one.
    SimulationError, SingularError
        When the algebraic equations have no solution after the change.
    """
    what = ", ".join(map(str, changes))
    limits_before = system.constant_limits(parameters)
    now.put(w, parameters)
    for change in changes:
        for device, parameter, value in change.parameters:
            group, row, column = place = system.parameter_place(device, parameter)
            parameters[group][row, column] = value
            now.parameters.pop(place, None)
        for name, value in change.states:
            w[system.index(name)] = value
    lower, upper = system.constant_limits(parameters)
    for i in np.flatnonzero(lower > upper):
        raise EventError(
            f"{what}: the lower limit {lower[i]:g} of {system.names_x[i]} is above the upper one {upper[i]:g}"
        )
    moved = np.flatnonzero((lower != limits_before[0]) | (upper != limits_before[1]))
    w[moved] = np.clip(w[moved], lower[moved], upper[moved])
    _set_courses(system, changes, w, now)
    now.put(w, parameters)
    following = now.following()
    before = now.devices
    now.devices = now.service.after(parameters, gone_after(before.gone, changes))
    returning: Collection[str] = ()
    if now.devices != before:
        begun = frozenset(name for change in changes for name in change.back)
        returning = frozenset(now.service.put(w, before, now.devices)) - begun
        engine.take_out(system, parameters, w, now.devices.out)
        algebraic.take_out(system, parameters, w, now.devices.out)
    for block in (*engine.blocks.values(), algebraic):
        block.load(parameters, lower, upper, following, w)
    engine.forget(autonomous(system, parameters) and not now.moves)
    solve_within_limits(system, algebraic, w, what, (lower, upper), now.devices.out)
    put_at_rest(system, parameters, following, w, returning, now.devices.out)


def gone_after(gone: frozenset[str], changes: Iterable[Change]) -> frozenset[str]:
    """Return the devices that stay out after changes, in order of time, by those that did before."""
    for change in changes:
        gone = gone.difference(change.back).union(change.out)
    return gone


def solve_within_limits(
    system: System,
    algebraic: Block,
    w: Reals,
    what: str,
    constant: tuple[Reals, Reals],
    out: Collection[str] = (),
) -> None:
    """Solve g = 0 and put the states onto limits that moved past them.

    Parameters
    ----------
    what
        The occasion, for messages.
    constant
        (n,) limits that do not move.
    out
        Devices out of service: their states stay.

    Raises
    ------
    SimulationError, SingularError
        As `algebraic_solve`; and where each solution moves the limits again.
    """
    algebraic_solve(algebraic, w, what)
    places = np.flatnonzero(system.limits_move)
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


def _set_courses(system: System, changes: list[Change], w: Reals, now: Now) -> None:
    """Write the held inputs as they are from now on, and let begin and end what follows a course."""
    for change in changes:
        for name, value in change.inputs:
            place = system.index(name)
            w[place] = value
            now.inputs.pop(place, None)
        for name, rate in change.rates:
            place = system.index(name)
            now.inputs.pop(place, None)
            if rate != 0:
                now.inputs[place] = Course.line(float(w[-1]), float(w[place]), rate)
        for name, course in change.courses:
            if name in system.names_u:
                now.inputs[system.index(name)] = course
            else:
                device, _, parameter = name.rpartition(".")
                now.parameters[system.parameter_place(device, parameter)] = course


def autonomous(system: System, parameters: Sequence[Reals]) -> bool:
    """Return whether no equation reads the time: f at the end of a step then serves the start of the next.

    The parameters decide for components that read the time only while they ramp.
    """
    for group, matrix in zip(system.groups, parameters, strict=True):
        if group.compiled.timed:
            rates = _rates(group.compiled.component)
            if not rates or any(np.count_nonzero(matrix[:, column]) for column in rates):
                return False
    return True


def _rates(component: type[Component]) -> tuple[int, ...]:
    """Return the columns of the parameters that say how fast a component's inputs ramp."""
    declared = tuple(parameters_of(component))
    return tuple(declared.index(name) for name in component.ramps)
