"""The frequency at buses: how fast the phase of a bus voltage turns, from the equations of the system."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.integrate.solve.ramps import Course, Place
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import nominal_frequency
from psmr.study.events.spans import system_in

# Half the distance in s of the two points by which g is differentiated with respect to time. Loads and inputs
# ramp linearly, so that the difference is exact but for rounding, which a large distance makes small.
STEP = 0.5


def frequencies(
    system: System,
    spans: Sequence[Span],
    names: Sequence[str],
    t: Reals,
    x: Reals,
    y: Reals,
    systems: MutableMapping[Span, System] | None = None,
) -> Reals:
    """Return (K, len(names)) frequencies in Hz of the named buses at the recorded points.

    `systems` has the systems of spans that were looked at before, and takes those of new ones.

    f = f_n + (1/2 pi) d(angle)/dt with the derivative of the voltage from the differentiated algebraic
    equations, g_y y' = -g_x f - g_t: no filter and no difference of recorded points. NaN where the
    bus is in a part of the network that nothing supplies: without a voltage there is no frequency.
    """
    f_n = nominal_frequency(system)
    assert f_n is not None
    values = np.full((len(t), len(names)), np.nan)
    for span in spans:
        rows = range(len(t))[span.rows]
        alive = [bus for bus in names if bus not in span.devices.dead]
        if not rows or not alive:
            continue
        if systems is None or span not in systems:
            now = system_in(system, span, x[rows[0]], y[rows[0]])
            if span.delayed is not None:  # what is read late is among the held inputs, with its rates
                now = replace(now, delays=())
            if systems is not None:
                systems[span] = now
        else:
            now = systems[span]
        n = now.n
        at_x, at_y = (
            np.array([system.index(name) - shift for name in own], dtype=np.intp)
            for own, shift in ((now.names_x, 0), (now.names_y, system.n))
        )
        # What reads a variable that stands still has it as an input that the whole system does not have.
        own = np.array([name in system.names_u for name in now.names_u], dtype=bool)
        held = np.array(
            [system.names_u.index(name) for name in now.names_u if name in system.names_u], dtype=np.intp
        )
        live = np.array([bus not in span.devices.dead for bus in names], dtype=bool)
        re, im = (
            np.array([now.index(f"{bus}.v_{part}") for bus in alive], dtype=np.intp) for part in ("re", "im")
        )
        courses = _courses_in(system, span, now)
        moves = span.moves or span.delayed is not None or _reads_time(now)
        for row in rows:
            u, rates = now.u0.copy(), np.zeros(now.k)
            u[own] = span.held(t[row : row + 1])[0, held]
            rates[own] = span.rates(float(t[row]))[held]
            now = _with(now, courses, float(t[row]), 0.0)
            w = now.buffer(x[row, at_x], y[row, at_y], u, float(t[row]))
            matrix = now.jacobian(w)
            moving = now.f(x[row, at_x], y[row, at_y], u, float(t[row]))
            turning = matrix[n:, :n] @ moving
            if moves:
                turning = turning + _over_time(now, w, rates, courses)
            slope = np.concatenate([moving, splu(matrix[n:, n:].tocsc()).solve(-turning)])
            v_re, v_im = w[re], w[im]
            turn = (v_re * slope[im] - v_im * slope[re]) / (v_re**2 + v_im**2)
            values[row, live] = f_n + turn / (2 * np.pi)
    return values


def _reads_time(system: System) -> bool:
    """Return whether a rate is given without which no equation reads the time."""
    return any(device.parameters.get(name) for device in system.devices for name in device.component.ramps)


def _courses_in(system: System, span: Span, now: System) -> dict[Place, Course]:
    """Return the courses of parameters of a span by their places in the system that it has."""
    found = {}
    for (group, row, column), course in span.parameter_courses.items():
        device = system.groups[group].names[row]
        if device not in span.out:
            name = tuple(parameters_of(system.groups[group].compiled.component))[column]
            found[now.parameter_place(device, name)] = course
    return found


def _with(system: System, courses: Mapping[Place, Course], t: float, ahead: float) -> System:
    """Return the system with its courses as the lines that hold at t in s have them `ahead` s later."""
    if not courses:
        return system
    parameters = tuple(matrix.copy() for matrix in system.parameters)
    for (group, row, column), course in courses.items():
        parameters[group][row, column] = course.at(t) + ahead * course.rate_at(t)
    return replace(system, parameters=parameters)


def _over_time(system: System, w: Reals, rates: Reals, courses: Mapping[Place, Course]) -> Reals:
    """Return (m,) derivatives of g with respect to time, at fixed x and y."""
    begin = system.n + system.m
    ends = []
    for side in (STEP, -STEP):
        moved = w.copy()
        moved[begin:-1] += side * rates
        moved[-1] += side
        there = _with(system, courses, float(w[-1]), side)
        ends.append(there.residual(moved)[system.n :])
    return np.asarray((ends[0] - ends[1]) / (2 * STEP))
