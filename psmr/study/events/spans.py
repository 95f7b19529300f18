"""The system as a span of a run has it."""

from __future__ import annotations

import numpy as np

from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Change, Span, first_span
from psmr.network.topology.connections import system_in
from psmr.network.topology.islands import DeadParts

# Bound of the rounding of the times of points in s, far below any step.
TIME_ROUNDING = 1e-9


def devices_of(change: Change) -> frozenset[str]:
    """Return the devices that a change sets something of, or takes out."""
    named = (name for name, _ in (*change.inputs, *change.rates, *change.courses, *change.states))
    values = (device for device, _, _ in change.parameters)
    return frozenset([*values, *map(_owner, named), *change.out, *change.back])


def at_start(system: System) -> System:
    """Return the system without the devices that are out of service when a run begins."""
    span = first_span(system, DeadParts(system))
    return system_in(system, span, system.x0, system.y0) if span.out else system


def altered(system: System, span: Span, start: Span) -> bool:
    """Return whether the system of a span is another than that of the span that the run started with."""
    same = all(np.array_equal(a, b) for a, b in zip(start.parameters, span.parameters, strict=True))
    given = np.ones(system.k, dtype=bool)
    given[[delay.input - system.n - system.m for delay in system.delays]] = False
    same = same and np.array_equal(start.inputs[given], span.inputs[given])
    return not same or span.out != start.out or span.moves


def driven(system: System, span: Span) -> bool:
    """Return whether a span moves by itself: an input or a load ramps, or something follows a course."""
    found = span.moves
    for group, matrix in zip(system.groups, span.parameters, strict=True):
        component = group.compiled.component
        names = tuple(parameters_of(component))
        found = found or bool(matrix[:, [names.index(name) for name in component.ramps]].any())
    return found


def _owner(name: str) -> str:
    return name.rpartition(".")[0]
