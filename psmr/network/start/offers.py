"""Which device of a plant offers what an input of another one reads."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.dae.declare.component import Component
from psmr.devices.placement import placement

Kinds = Mapping[str, type[Component]]


def givers(kinds: Kinds, name: str, port: str) -> list[str]:
    """Return the devices that offer what an input reads; one that passes a signal on stands before others."""
    signal = signal_read(kinds[name], port)
    found = [other for other, kind in kinds.items() if other != name and signal in offered_by(kind)]
    passing = [other for other in found if signal in placement(kinds[other]).passes]
    return passing or found


def offered_by(component: type[Component]) -> tuple[str, ...]:
    """Return what others can read of a component."""
    return (*component.states, *component.algebraic, *component.sampled_outputs)


def signal_read(kind: type[Component], port: str) -> str:
    """Return the signal that an input reads: its name, but for one that is passed on."""
    return next((signal for signal, own in placement(kind).passes.items() if own == port), port)
