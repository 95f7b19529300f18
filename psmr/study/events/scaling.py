"""Parts of loads and units that trip and come back, whatever else events do to them meanwhile.

What is left of a load or a unit is the product of what each event has left of it. Everything else that
sets its data, a ramp, a series, a step, sets those of the whole, of which what is left has its part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.integrate.solve.ramps import Course
from psmr.integrate.timeline.change import Change
from psmr.network.topology.network import is_load, is_motor
from psmr.study.events.synchronisation import Synchronisation

POWERS = ("p", "q")
"""Parameters of a static load that are in proportion to what is connected of it."""

RATINGS = ("s_n", "t_rate", "turbines")
"""Those of a unit: fewer equal units of the same per-unit data."""


def scaling(
    system: System, t: float, label: str, parts: Iterable[tuple[str, float]], out: tuple[str, ...] = ()
) -> Change:
    """Return the change at t in s that leaves (device, part) pairs connected and takes devices out."""
    parts = tuple(parts)
    wholes = [
        (device, name, part, system.parameter(device, name))
        for device, part in parts
        for name in scaled_names(system.device(device))
    ]
    alone = [(device, name, part * whole) for device, name, part, whole in wholes if whole != 0]
    return Change(t, tuple(alone), label=label, out=out, parts=parts)


def scaled_names(device: Device) -> tuple[str, ...]:
    """Return the parameters of a device that are in proportion to what is connected of it."""
    names = POWERS if is_load(device) and not is_motor(device) else RATINGS
    return tuple(name for name in names if name in device.parameters)


class Connected:
    """What is connected of devices as events trip parts of them and bring them back, and their whole data.

    `system`: The system before any of them.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._names: dict[str, tuple[str, ...]] = {}
        self._values: dict[tuple[str, str], float | Course] = {}
        self._parts: dict[str, dict[int, float]] = {}

    def plain(self, change: Change, event: int) -> Change:
        """Return a change of an event, the next in order of time, with the values that hold.

        `event` tells the events apart that trip parts.
        """
        touched: dict[tuple[str, str], float | Course] = {}
        if not change.parts:
            touched |= {(device, name): value for device, name, value in change.parameters}
        for full, course in change.courses:
            device, _, name = full.rpartition(".")
            touched[device, name] = course
        for device, part in change.parts:
            self._parts.setdefault(device, {})[event] = part
            self._names[device] = scaled_names(self._system.device(device))
            for name in self._names[device]:
                value = self._values.get((device, name), self._system.parameter(device, name))
                touched.setdefault((device, name), value)
        self._values |= touched
        return _plain(
            change, touched, {d: math.prod(left.values()) for d, left in self._parts.items()}, self._names
        )

    def whole(self, system: System, t: float) -> System:
        """Return a system of t in s with the data of the wholes, where parts of devices are tripped."""
        return system.with_values(
            (device, name, float(value.at(t)) if isinstance(value, Course) else value)
            for (device, name), value in self._values.items()
            if name in self._names.get(device, ())
        )


def resolved(system: System, changes: Iterable[tuple[Change, object]]) -> Iterator[Change]:
    """Yield plain changes of the values that hold, for (change, its event) pairs in order of time.

    Synchronisations stay as they are.
    """
    connected = Connected(system)
    for change, event in changes:
        yield change if isinstance(change, Synchronisation) else connected.plain(change, id(event))


def _plain(
    change: Change,
    touched: dict[tuple[str, str], float | Course],
    left: dict[str, float],
    names: dict[str, tuple[str, ...]],
) -> Change:
    """Return a change that sets what is touched, scaled where a part of the device is left."""
    if not any(device in left for device, _ in touched):
        return change
    parameters, courses = [], []
    for (device, name), value in touched.items():
        part = left.get(device, 1.0) if name in names.get(device, ()) else 1.0
        if isinstance(value, Course) and part:
            courses.append((f"{device}.{name}", Course(value.t, part * value.value, part * value.rate)))
        else:
            parameters.append((device, name, 0.0 if isinstance(value, Course) else part * value))
    return replace(change, parameters=tuple(parameters), courses=tuple(courses), parts=())
