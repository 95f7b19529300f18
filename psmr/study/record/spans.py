"""The stretches of a run between its events, and the system as each stretch has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import local_variables, parameters_of
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.numerics.run.trajectory import Change
from psmr.study.topology.network import out_of_service

Reals = NDArray[np.float64]

# Rounding of the times of the points, far below any step.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Span:
    """The rows of a run between two events, and what the events up to there have made of the system.

    Attributes
    ----------
    rows
        Rows of the run.
    t
        Time in s at which the span begins.
    parameters
        A (count, parameters) matrix for each group of the system.
    inputs, rates
        (k,) held inputs at `t`, and how fast they grow in 1/s.
    out
        Devices that an event took out of service: they inject nothing and their variables stand still.
    """

    rows: slice
    t: float
    parameters: tuple[Reals, ...]
    inputs: Reals
    rates: Reals
    out: frozenset[str]

    def held(self, t: Reals) -> Reals:
        """Return (K, k) held inputs at (K,) times in s."""
        return np.asarray(self.inputs + (t[:, None] - self.t) * self.rates)

    def absent(self, system: System) -> frozenset[str]:
        """Return the devices out of service: taken out, or with the status 0."""
        return self.out | out_of_service(replace(system, parameters=self.parameters))


def spans_of(system: System, t: Reals, changes: Sequence[Change]) -> tuple[Span, ...]:
    """Return the spans of a run with (K,) times t; the instant of a change stands twice in t.

    Parameters
    ----------
    system, t
        The system of the run at its start, and the run's times in s.
    changes
        What the events did, in order of time.
    """
    begins = [0, *(np.flatnonzero(np.diff(t) == 0.0) + 1).tolist()]
    held = system.n + system.m
    parameters, out = system.parameters, frozenset[str]()
    inputs, rates = system.u0, np.zeros(system.k)
    since, done = float(t[0]), 0
    spans = []
    for begin, end in zip(begins, [*begins[1:], len(t)], strict=True):
        now = float(t[begin])
        # The row at which the run begins is before any change, also before one at that time.
        until = done if begin == 0 else _due(changes, now)
        inputs = inputs + (now - since) * rates
        if until > done:
            parameters = tuple(matrix.copy() for matrix in parameters)
            rates = rates.copy()
        for change in changes[done:until]:
            for device, name, value in change.parameters:
                group, row, column = system.parameter_place(device, name)
                parameters[group][row, column] = value
            for name, value in change.inputs:
                inputs[system.index(name) - held] = value
                rates[system.index(name) - held] = 0.0
            for name, rate in change.rates:
                rates[system.index(name) - held] = rate
            out |= set(change.out)
        since, done = now, until
        spans.append(Span(slice(begin, end), now, parameters, inputs, rates, out))
    return tuple(spans)


def _due(changes: Sequence[Change], t: float) -> int:
    return sum(change.t <= t + SAME for change in changes)


def altered(system: System, span: Span) -> bool:
    """Return whether the system of a span is another than the one that the run started with."""
    same = all(np.array_equal(a, b) for a, b in zip(system.parameters, span.parameters, strict=True))
    return not same or bool(span.out) or not np.array_equal(system.u0, span.inputs) or bool(span.rates.any())


def system_in(system: System, span: Span, x: Reals, y: Reals, t: float | None = None) -> System:
    """Return the system as a span has it, without the devices that were taken out.

    Parameters
    ----------
    system, span
        The system of the run at its start, and the span.
    x, y
        (n,) states and (m,) algebraic variables of the whole system, from which it starts.
    t
        Time in s of that point; the beginning of the span where left out.

    Raises
    ------
    InputError
        When a device that stays reads a variable of one that was taken out.
    """
    t = span.t if t is None else t
    devices = []
    for device in system.devices:
        names = tuple(parameters_of(device.component))
        if device.name not in span.out and names:
            group, row, _ = system.parameter_place(device.name, names[0])
            values = dict(zip(names, map(float, span.parameters[group][row]), strict=True))
            devices.append(replace(device, parameters=values))
        elif device.name not in span.out:
            devices.append(device)
    names = (*system.names_x, *system.names_y, *system.names_u)
    values_now = np.concatenate([x, y, span.held(np.array([t]))[0]])
    start = {
        name: float(value)
        for name, value in zip(names, values_now, strict=True)
        if name.rpartition(".")[0] not in span.out
    }
    left = assemble(devices, start, name=system.name)
    return replace(left, w0=left.buffer(t=t))


def limits_in(system: System, span: Span) -> tuple[Reals, Reals]:
    """Return the (n,) lower and upper non-windup limits of a span that do not move."""
    lower, upper = system.lower.copy(), system.upper.copy()
    for group, matrix in zip(system.groups, span.parameters, strict=True):
        component = group.compiled.component
        variables, names = local_variables(component), tuple(parameters_of(component))
        for state, (low, high) in component.limits.items():
            places = group.index[:, variables.index(state)]
            if low in names:
                lower[places] = matrix[:, names.index(low)]
            if high in names:
                upper[places] = matrix[:, names.index(high)]
    return lower, upper
