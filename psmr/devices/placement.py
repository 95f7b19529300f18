"""What files call a component and where it stands in a plant: what its class says beside its equations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from psmr.dae.declare.component import Component

Values = Mapping[str, float]


def _none(*given: Values) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Placement:
    """What a class of component may say of itself beside its equations, each as an attribute of that name.

    Attributes
    ----------
    role
        What a case file calls such a device (``"exciter"``, see `psmr.devices.catalogue`); empty for what no
        case names.
    records
        The records of a DYR file that stand for it, each the model's name and the names of the parameters
        that its values are (see `psmr.files.psse.record`). Those of a base are the base's.
    grid
        What a converter does to the voltage of its bus: ``"follows"``, then something else has to hold the
        island, or ``"forms"``, with its angle as the state `theta`.
    integrates_voltage
        Whether it holds the voltage of its bus with an integrator: two of them there share no reactive power.
    passes
        Signals that it takes and gives on under the same name: the variable -> the own input that takes it.
        Other devices read this device's, it reads theirs.
    shared
        Parameters that it takes from another device of its plant, where one has them.
    acts_on
        What a relay acts on: ``"load"``, ``"branch"``, or ``"source"``, a generator or a motor.
    ripples
        States that a voltage moves which is held between samples, also at rest.
    timers
        States that may move at the start, as the time that an overcurrent relay counts.
    references
        Parameters that limit what `rest_limits` has, for the start that adjusts limits.
    buses
        Parameters that number a bus, 0 for the device's own: parameter -> the inputs that read the real and
        the imaginary part of the voltage there.
    branch
        What a device reads of a branch: the names of three parameters (the bus at which it is read, the
        branch's other bus, its circuit; a bus 0 for none) and of four inputs, which read the current into the
        branch there and the voltage, each the real and the imaginary part. They are `optional`.
    memory
        Parameters that only its start (`prepared`) and its actions set; a case does not give them.
    time_left
        ``time_left(v, p)`` returns how long a limiter that counts would go on counting at the present rate,
        in s, 0 where its count has run out and infinite where it does not count: the signal of that name.
    unlikely
        ``unlikely(p)`` yields what the parameters of a device may be and are not in any equipment, with the
        values.
    rest_limits
        ``rest_limits(p)`` returns the highest values that states can have at rest, where a gate holds them.
        Initialisation has such gates open (``m.opened``), as it has limiters.
    from_record
        ``from_record(values)`` returns the parameters that the values of a DYR record stand for together, by
        their names.
    prepared
        ``prepared(p)`` returns the parameters in `memory` that the power flow at a load's bus decides, before
        the start.
    at_start
        ``at_start(v, p)`` returns the parameters that the start decides, from the states and algebraic
        variables there.
    """

    role: str = ""
    records: tuple[str, ...] = ()
    grid: str = ""
    integrates_voltage: bool = False
    passes: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    acts_on: str = ""
    ripples: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    buses: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    branch: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    time_left: Callable[[Any, Any], Any] | None = None
    unlikely: Callable[[Values], Iterable[str]] = _none
    rest_limits: Callable[[Values], Values] = _none
    from_record: Callable[[Values], Values] = _none
    prepared: Callable[[Values], Values] = _none
    at_start: Callable[[Values, Values], Values] = _none


def placement(component: type[Component]) -> Placement:
    """Return what a class of component says of itself beside its equations."""
    return _said(component)  # type: ignore[arg-type]  # a class is hashable


@functools.cache
def _said(component: type[Component]) -> Placement:
    said = {f.name: getattr(component, f.name) for f in fields(Placement) if hasattr(component, f.name)}
    return Placement(**said | {"records": vars(component).get("records", ())})
