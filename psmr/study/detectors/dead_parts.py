"""Parts of the network that are left without a source; see `psmr.network.topology.islands`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.zip import demand
from psmr.integrate.timeline.span import Change, Span, first_span, spans_by_changes
from psmr.network.signals.points import Points
from psmr.network.signals.quantities import QUANTITIES, terminals
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import DeadParts
from psmr.network.topology.network import at_buses, buses, is_load, is_motor, power_base
from psmr.study.detectors.detector import Stop, names_of


def dead_part(system: System, changes: Sequence[Change]) -> Stop | None:
    """Return where the changes, in order of time, first leave a part without a source; None for nowhere."""
    spans = spans_by_changes(system, changes, DeadParts(system))
    return next(filter(None, itertools.starmap(cut_off, itertools.pairwise(spans))), None)


def cut_off(before: Span, now: Span) -> Stop | None:
    """Return what leaves buses without a source from one span to the next; None where nothing does."""
    dead = now.devices.dead - before.devices.dead
    labels = "; ".join(change.label for change in now.changes if change.label)
    return Stop(now.t, "island", f"{labels} leaves {names_of(dead)} without a source") if dead else None


@dataclass(frozen=True)
class Interruption:
    """Buses that lost their supply at the same time, for as long.

    `t`, `until`: Time in s at which they lost it, and at which they have it again; None: to the end of the
      run.
    `buses`: Names of the buses.
    `p_mw`: Active power of their loads in MW: of static loads by their data at that time, of motors and
      composite loads that at the start of the run.
    `lost`: Plants and motors that went out of service with them, and stay out.
    `every`: Whether no bus of the network had supply any more.
    """

    t: float
    until: float | None
    buses: tuple[str, ...]
    p_mw: float
    lost: tuple[str, ...]
    every: bool

    @property
    def what(self) -> str:
        """What happened, in words."""
        place = "the whole network" if self.every else names_of(self.buses)
        lost = [f"{names_of(self.lost)} out of service"] if self.lost else []
        load = [f"{self.p_mw:.4g} MW of load lost"] if self.p_mw else []
        return ", ".join([f"{place} dead", *lost, *load])

    def __str__(self) -> str:
        until = "" if self.until is None else f" to {self.until:.4g} s"
        return f"{self.what} (t = {self.t:.4g} s{until})"


def interruptions(
    system: System, spans: Sequence[Span], first: tuple[Reals, Reals]
) -> tuple[Interruption, ...]:
    """Return the interruptions of supply of a run, in order of time.

    `system`, `spans`: the system of the run at its start, and what its changes have made of it, one after
    another; `first`: (x, y) at the first point.
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
