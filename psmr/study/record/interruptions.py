"""The parts of the network that were dead in a run; see `psmr.network.topology.islands`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.zip import demand
from psmr.integrate.timeline.span import Span, first_span
from psmr.network.signals.points import Points
from psmr.network.signals.quantities import QUANTITIES, terminals
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import DeadParts
from psmr.network.topology.network import at_buses, buses, is_load, is_motor, power_base
from psmr.study.outcome import Interruption


def interruptions(
    system: System, spans: Sequence[Span], first: tuple[Reals, Reals]
) -> tuple[Interruption, ...]:
    """Return the interruptions of supply of a run, in order of time.

    Parameters
    ----------
    system, spans
        The system of the run at its start, and what its changes have made of it, one after another.
    first
        (x, y) at the first point.
    """
    began: dict[str, tuple[Span, Span]] = {}
    found: dict[tuple[Span, Span, float | None], list[str]] = {}
    for before, now in itertools.pairwise(spans):
        for bus in before.devices.dead - now.devices.dead:
            found.setdefault((*began.pop(bus), now.t), []).append(bus)
        began |= dict.fromkeys(now.devices.dead - before.devices.dead, (before, now))
    for bus, (last, dead) in began.items():
        found.setdefault((last, dead, None), []).append(bus)
    parts = [_interruption(system, *when, there, first) for when, there in found.items()]
    return tuple(sorted(parts, key=lambda part: (part.t, part.buses)))


def _interruption(
    system: System,
    last: Span,
    dead: Span,
    until: float | None,
    there: Sequence[str],
    first: tuple[Reals, Reals],
) -> Interruption:
    """Return the interruption of some buses, from the last span before it and the first one in it."""
    devices = [device for bus in there for device in at_buses(system)[bus]]
    loads = [device for device in devices if is_load(device) and device.name not in last.devices.gone]
    lost = {device.name for device in devices if device.name in dead.devices.gone - last.devices.gone}
    return Interruption(
        t=dead.t,
        until=until,
        buses=tuple(sorted(there)),
        p_mw=_drawn(system, dead, loads, first),
        lost=tuple(sorted(lost)),
        every=dead.devices.dead == frozenset(buses(system)),
    )


def _drawn(system: System, span: Span, loads: Sequence[Device], first: tuple[Reals, Reals]) -> float:
    """Return what loads draw in MW: static ones by their data, others as they did at the first point."""
    base, power = power_base(system), 0.0
    motors = {load.name for load in loads if is_motor(load)}
    moving = tuple(terminal.device for terminal in terminals(system) if terminal.device in motors)
    if moving:
        start = Connections(system, first_span(system, DeadParts(system)))
        x, y = (part[None] for part in first)
        drawn = QUANTITIES["p"].values(Points.of(start, np.zeros(1), x, y), moving)
        power += sum(drawn[0].tolist())
    for load in loads:
        if not is_motor(load) and base is not None:
            given = SimpleNamespace(**system.parameters_at(load.name, span.parameters))
            power += base * float(demand(given)[0])
    return power
