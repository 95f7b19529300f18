"""What a device does by itself during a run: it changes parameters when a condition has held for a time.

Relays, trips and holds are of this kind. They are no equations: between two actions the parameters are
constant, and at an action the run is not smooth, as at an event. The run finds the instant
(`psmr.integrate.run.timers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


def _at_once(p: Any) -> Any:
    return 0.0


def _always(p: Any) -> Any:
    return True


def _nothing(v: Any, p: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Action:
    """A condition, the time for which it has to hold, and what changes then.

    Attributes
    ----------
    name
        Of what happens, in a few words; "" for what a list of events need not show.
    condition
        ``condition(m, v, p)`` is above zero while the condition holds; with `m`, `v` and `p` as in
        `Component.equations`, for many devices and points at once. It reads states, algebraic variables and
        connected inputs.
    delay
        ``delay(p)`` in s for which it has to hold without a break; at once where left out.
    effect
        ``effect(v, p)`` returns new values of the device's own parameters, with `v` and `p` at the instant.
        ``v.before`` has the variables before what else happened at that instant, a fault's clearing for
        instance. A name with a dot is a parameter of another device, ``"device.parameter"``, or of the one
        that this device acts on, ``"acts_on.parameter"``; ``v.acts_on`` has the latter's as they are.
    used
        ``used(p)`` says whether a device with such parameters has the action at all.
    trips
        Whether the device that it acts on, itself where there is none, goes out of service, with the plant
        that it is part of.
    protects
        Whether it is listed as protection that acted; what trips is.
    again
        Whether it acts again after the same delay where the condition goes on holding.
    at_zero
        Whether it acts at the zero of its condition itself, not just after it.
    words
        ``words(p, acts_on)`` returns what is listed in place of the name, of a device with parameters p.
    """

    name: str
    condition: Callable[[Any, Any, Any], Any]
    delay: Callable[[Any], Any] = _at_once
    effect: Callable[[Any, Any], Mapping[str, Any]] = _nothing
    used: Callable[[Any], Any] = _always
    trips: bool = False
    protects: bool = False
    again: bool = False
    at_zero: bool = False
    words: Callable[[Any, str], str] | None = None
