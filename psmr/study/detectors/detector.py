"""The protocol of detectors, and the description of the network that they receive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import parameters_of
from psmr.dae.system.system import System
from psmr.devices.network import Bus
from psmr.network.topology.islands import islands
from psmr.network.topology.network import buses
from psmr.network.topology.remembered import of_devices
from psmr.study.detectors.finding import Finding
from psmr.study.events.spans import Span

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Connections:
    """What is connected in a span.

    Attributes
    ----------
    out
        Devices out of service.
    islands
        The buses of each connected part.
    faulted
        (buses,) whether a fault is on at each bus.
    """

    out: frozenset[str]
    islands: list[frozenset[str]]
    faulted: NDArray[np.bool_]


class Detector(Protocol):
    """What every detector offers."""

    def begin(self, span: Span, connections: Connections) -> None:
        """Start a span."""

    def take(self, t: Reals, x: Reals, y: Reals) -> None:
        """Take (K,) times in s, (K, n) states and (K, m) algebraic variables, K > 0."""

    def findings(self) -> tuple[Finding, ...]:
        """Return what is beyond a limit so far."""


def connections_in(system: System, span: Span) -> Connections:
    """Return what is connected in a span."""
    out = span.absent(system)
    faulted = np.zeros(len(buses(system)), dtype=bool)
    for number, columns, places in _faults_of(system):
        fault = span.parameters[number][:, columns]
        if np.count_nonzero(fault):
            faulted[places[fault.any(axis=1)]] = True
    return Connections(out, islands(system, out), faulted)


@of_devices
def _faults_of(system: System) -> tuple[tuple[int, list[int], NDArray[np.intp]], ...]:
    """Return groups of buses, the columns of their parameters that are a fault, and which buses they are."""
    at, found = {bus: k for k, bus in enumerate(buses(system))}, []
    for number, group in enumerate(system.groups):
        component = group.compiled.component
        if issubclass(component, Bus):
            declared = tuple(parameters_of(component))
            columns = [declared.index("g_fault"), declared.index("b_fault")]
            found.append((number, columns, np.array([at[name] for name in group.names], dtype=np.intp)))
    return tuple(found)
