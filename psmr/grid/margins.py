"""Whether devices start inside their limits, and by how much not."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from psmr.dae.component import bounds_of
from psmr.dae.device import Device
from psmr.dae.mathematics import NumericMath
from psmr.dae.system import System
from psmr.errors import InitialisationError

NEAR = 1e-9
"""A limit counts as reached within this distance: ten times the residual that `build` promises."""


class _Named(float):
    """A parameter's value that remembers the parameter's name as long as no arithmetic is done with it."""

    name = ""

    @classmethod
    def make(cls, name: str, value: float) -> _Named:
        self = cls(value)
        self.name = name
        return self


def check_margins(system: System, devices: Sequence[Device]) -> None:
    """Raise InitialisationError naming every device that starts at or outside one of its limits.

    Non-windup limits are compared with their states; every ``m.clip`` in the equations with what it is asked
    to pass.
    """
    found = [line for device in devices for line in _violations(system, device)]
    if found:
        raise InitialisationError(
            "limits are active at the start: "
            + "; ".join(found)
            + ". Widen the limits, or change the dispatch"
        )


def _violations(system: System, device: Device) -> list[str]:
    component = device.component
    names = (*component.states, *component.algebraic, *component.inputs)
    v = {n: float(system.w0[system.index(device.connections.get(n, f"{device.name}.{n}"))]) for n in names}
    found = []
    p = {name: _Named.make(name, value) for name, value in device.parameters.items()}
    for state in component.limits:
        low, high = bounds_of(component, state, p)
        found += _compare(f"{device.name}.{state}", v[state], low, high)

    class Recorder(NumericMath):
        @staticmethod
        def clip(x: Any, lower: Any, upper: Any) -> Any:
            found.extend(_compare(f"{device.name}: input of a limiter", float(x), lower, upper))
            return x

    component.equations(Recorder, SimpleNamespace(**v, t=0.0), SimpleNamespace(**p))
    return found


def _compare(what: str, value: float, low: float, high: float) -> list[str]:
    for bound, side, distance in ((low, "below", low - value), (high, "above", value - high)):
        if distance >= -NEAR:
            named = f"{bound.name} = " if isinstance(bound, _Named) else ""
            return [f"{what} = {value:.6g} is {distance:.3g} {side} {named}{float(bound):g}"]
    return []
