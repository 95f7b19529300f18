"""The system as a span of a run has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.component import parameters_of
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span, first_span
from psmr.network.topology.islands import DeadParts
from psmr.network.topology.network import branches

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


def system_in(system: System, span: Span, x: Reals, y: Reals, t: float | None = None) -> System:
    """Return the system as a span has it, without the devices that are out of service.

    What reads a variable of one of them has the value at which that stands still as a held input.

    `system`, `span`: the system of the run at its start, and the span; `x`, `y`: (n,) states and (m,)
    algebraic variables of the whole system, from which it starts; `t`: time in s of that point; the beginning
    of the span where left out.
    """
    t = span.t if t is None else t
    parameters = span.parameters_at(t)
    names = (*system.names_x, *system.names_y, *system.names_u)
    now = dict(zip(names, map(float, np.concatenate([x, y, span.held(np.array([t]))[0]])), strict=True))
    out = _left_out(system, span)
    start = {name: value for name, value in now.items() if _owner(name) not in out}
    devices = []
    for device in system.devices:
        if device.name in out:
            continue
        stands = {port: of for port, of in device.connections.items() if _owner(of) in out}
        start |= {f"{device.name}.{port}": now[of] for port, of in stands.items()}
        connections = {port: of for port, of in device.connections.items() if port not in stands}
        values = system.parameters_at(device.name, parameters)
        devices.append(replace(device, parameters=values, connections=connections))
    left = assemble(devices, start, name=system.name)
    return replace(left, w0=left.buffer(t=t))


def _left_out(system: System, span: Span) -> frozenset[str]:
    """Return the devices out of service, and the branches of dead parts, which end at buses that are out."""
    dead = span.devices.dead
    return span.out.union(branch.name for branch in branches(system) if dead.intersection(branch.ends))


def _owner(name: str) -> str:
    return name.rpartition(".")[0]
