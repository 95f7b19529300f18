"""Whether devices start inside their limits, and by how much not.

A start at a limit (within `NEAR`) is a warning: ratings are round numbers, and a unit that is dispatched at
one of them stands there. A start outside is an error: no set-point gives the power flow's operating point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.errors import InitialisationError, PsmrWarning
from psmr.dae.declare.component import bounds_of
from psmr.dae.declare.device import Device
from psmr.dae.declare.mathematics import NEAR, NumericMath
from psmr.dae.system.system import System


@dataclass(frozen=True)
class Margin:
    """A limit and what it limits, at the start.

    Attributes
    ----------
    device
        Name of the device.
    state
        Name of the limited state; empty for the input of a limiter within the equations.
    value, limit
        What is limited, and the limit.
    side
        ``"lower"`` or ``"upper"``.
    name
        Name of the limit's parameter or variable; empty where the limit is computed.
    """

    device: str
    state: str
    value: float
    limit: float
    side: str
    name: str = ""

    @property
    def excess(self) -> float:
        """How far the value is outside, negative inside."""
        return self.value - self.limit if self.side == "upper" else self.limit - self.value

    @property
    def outside(self) -> bool:
        """Whether the limit is exceeded by more than rounding."""
        return not self.excess <= NEAR

    @property
    def touched(self) -> bool:
        """Whether the value is at the limit up to rounding."""
        return abs(self.excess) <= NEAR

    def __str__(self) -> str:
        what = f"{self.device}.{self.state}" if self.state else f"{self.device}: input of a limiter"
        limit = f"{self.name} = {self.limit:g}" if self.name else f"{self.limit:g}"
        if self.touched:
            return f"{what} is at {limit}"
        way = "above" if (self.side == "upper") == self.outside else "below"
        return f"{what} = {self.value:.6g} is {abs(self.excess):.3g} {way} {limit}"


class _Named(float):
    """A parameter or variable that remembers its name as long as no arithmetic is done with it."""

    name = ""

    @classmethod
    def make(cls, name: str, value: float) -> _Named:
        self = cls(value)
        self.name = name
        return self


def margins(system: System, devices: Sequence[Device]) -> list[Margin]:
    """Return every finite limit of the devices with what it limits at the start.

    Non-windup limits are compared with their states; every ``m.clip`` in the equations with what it is asked
    to pass; and states with what they can be at rest (`Component.rest_limits`).
    """
    return [margin for device in devices for margin in _margins(system, device)]


def within_limits(system: System, devices: Sequence[Device]) -> System:
    """Return the system with the states that rounding put outside a limit placed on it.

    Warns (PsmrWarning) of every limit that the start touches.

    Raises
    ------
    InitialisationError
        Where devices start outside their limits: all of them, by how much.
    """
    found = margins(system, devices)
    outside = [str(margin) for margin in found if margin.outside]
    if outside:
        raise InitialisationError(
            f"{_several(outside, 'a limit is', 'limits are')} exceeded at the start: {'; '.join(outside)}. "
            "Widen the limits, change the dispatch, or say what a start beyond limits does (start_at_limits)"
        )
    touched = [str(margin) for margin in found if margin.touched]
    if touched:
        warnings.warn(
            f"{_several(touched, 'a limit is', 'limits are')} touched at the start: {'; '.join(touched)}. "
            "The linearisation is that of the inside",
            PsmrWarning,
            stacklevel=3,
        )
    return clipped_to_limits(system)


def clipped_to_limits(system: System) -> System:
    """Return the system with the states that rounding put beyond a limit on it."""
    return system.with_start(np.clip(system.x0, *system.limits(system.w0)))


def _several(lines: Sequence[str], one: str, more: str) -> str:
    return one if len(lines) == 1 else f"{len(lines)} {more}"


def _margins(system: System, device: Device) -> Iterator[Margin]:
    component = device.component
    names = (*component.states, *component.algebraic, *component.inputs)
    places = {n: system.index(device.connections.get(n, f"{device.name}.{n}")) for n in names}
    v = {name: _Named.make(name, system.w0[place]) for name, place in places.items()}
    p = {name: _Named.make(name, value) for name, value in device.parameters.items()}
    passed: list[tuple[str, float, float, float]] = [
        (state, v[state], *bounds_of(component, state, v | p)) for state in component.limits
    ]

    class Recorder(NumericMath):
        @staticmethod
        def clip(x: Any, lower: Any, upper: Any) -> Any:
            passed.append(("", float(x), lower, upper))
            return x

    component.equations(Recorder, SimpleNamespace(**v, t=0.0), SimpleNamespace(**p))
    for state, value, lower, upper in passed:
        for limit, side in ((lower, "lower"), (upper, "upper")):
            if np.isfinite(limit):
                yield Margin(device.name, state, value, float(limit), side, getattr(limit, "name", ""))
    for state, limit in component.rest_limits(p).items():
        yield Margin(device.name, state, float(v[state]), float(limit), "upper", getattr(limit, "name", ""))
