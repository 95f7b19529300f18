"""Whether devices start inside their limits, by how much not, and how such limits are widened.

A start at a limit (within `NEAR`) is a warning: ratings are round numbers, and a unit that is dispatched at
one of them stands there. A start outside is an error: no set-point gives the power flow's operating point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.errors import InitialisationError, warn
from psmr.dae.declare.component import NEAR, NumericMath, bounds_of, local_variables, parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.declare.sampling import samplings
from psmr.dae.system.system import System
from psmr.devices.placement import placement


@dataclass(frozen=True)
class Margin:
    """A limit and what it limits, at the start.

    `device`: name of the device.
    `state`: name of the limited state; empty for the input of a limiter within the equations.
    `value`, `limit`: what is limited, and the limit.
    `side`: ``"lower"`` or ``"upper"``.
    `name`: name of the limit's parameter or variable; empty where the limit is computed.
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

    Non-windup limits are compared with their states; every ``m.clip`` in the equations and samples with what
    it is asked to pass; and states with what they can be at rest (`Placement.rest_limits`).
    """
    return [margin for device in devices for margin in _margins(system, device)]


def within_limits(system: System, devices: Sequence[Device]) -> System:
    """Return the system with the states that rounding put outside a limit placed on it.

    Warns (PsmrWarning) of every limit that the start touches.

    Raises InitialisationError where devices start outside their limits: all of them, by how much.
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
        warn(
            f"{_several(touched, 'a limit is', 'limits are')} touched at the start: {'; '.join(touched)}. "
            "The linearisation is that of the inside"
        )
    return clipped_to_limits(system)


def clipped_to_limits(system: System) -> System:
    """Return the system with the states that rounding put beyond a limit on it."""
    return system.with_start(np.clip(system.x0, *system.limits(system.w0)))


def _several(lines: Sequence[str], one: str, more: str) -> str:
    return one if len(lines) == 1 else f"{len(lines)} {more}"


def _margins(system: System, device: Device) -> Iterator[Margin]:
    component = device.component
    names = local_variables(component)[:-1]
    places = {n: system.index(device.connections.get(n, f"{device.name}.{n}")) for n in names}
    v = {name: _Named.make(name, system.w0[place]) for name, place in places.items()}
    p = {name: _Named.make(name, value) for name, value in device.parameters.items()}
    closed = getattr(component, "closed", False)  # a limiter rests at its own limits
    passed: list[tuple[str, float, float, float]] = [
        (state, v[state], *bounds_of(component, state, v | p))
        for state in component.limits
        if not closed and state not in placement(component).timers
    ]

    class Recorder(NumericMath):
        @staticmethod
        def clip(x: Any, lower: Any, upper: Any) -> Any:
            passed.append(("", float(x), lower, upper))
            return x

    for evaluate in () if closed else (component.equations, *(s.values for s in samplings(component))):
        evaluate(Recorder, SimpleNamespace(**v, t=0.0), SimpleNamespace(**p))
    for state, value, lower, upper in passed:
        for limit, side in ((lower, "lower"), (upper, "upper")):
            if np.isfinite(limit):
                yield Margin(device.name, state, value, float(limit), side, getattr(limit, "name", ""))
    for state, limit in placement(component).rest_limits(p).items():
        name = getattr(limit, "name", "") or "its pick-up" * closed
        yield Margin(device.name, state, float(v[state]), float(limit), "upper", name)


ADJUST, HOLD, REFUSE = "adjust", "hold", "refuse"
CHOICES = (ADJUST, HOLD, REFUSE)
"""What happens where a start is beyond a limit: the limit moves there, it holds, or that is an error."""


def widened(system: System, devices: Sequence[Device]) -> tuple[list[Device], list[str], list[Margin]]:
    """Return the devices with every limit that the start exceeds moved to the start.

    A limit that is a parameter takes the value that it limits. A limit that is computed moves with the limit
    parameter in it, by what the limit is short of; one that is a variable of the device, in proportion.

    Beside them, a sentence for each limit moved, and the exceeded limits that no parameter moves.
    """
    found: list[Device] = []
    words: list[str] = []
    stuck: list[Margin] = []
    for device in devices:
        # What a device reads and limits, as a field current, is beyond its limit until the device acts.
        stuck += [m for m in margins(system, [device]) if m.outside and m.state in device.component.inputs]
        # A limit that is a variable follows its parameter when the system is solved again.
        done: list[Margin] = []
        while beyond := [m for m in margins(system, [device]) if m.outside and m not in (*stuck, *done)]:
            name, value = _moved(system, device, beyond[0])
            if name is None:
                stuck.append(beyond[0])
                continue
            if name != beyond[0].name and beyond[0].name:
                done.append(beyond[0])
            words.append(f"{beyond[0]}: {name} = {device.parameters[name]:.6g} set to {value:.6g}")
            device = replace(device, parameters={**device.parameters, name: value})
        found.append(device)
    return found, words, stuck


def _moved(system: System, device: Device, margin: Margin) -> tuple[str | None, float]:
    """Return the parameter that moves a limit to what it limits, and its new value; None where none does."""
    if margin.name in device.parameters:
        return margin.name, margin.value
    named = margin.name.replace("_high", "_max").replace("_low", "_min")
    if margin.name in device.component.algebraic and named in device.parameters and margin.limit:
        return named, device.parameters[named] * margin.value / margin.limit
    here = margins(system, [device])
    k = here.index(margin)
    ending = "_max" if margin.side == "upper" else "_min"
    references = placement(device.component).references if margin.state else ()
    for name in (*references, *parameters_of(device.component)):
        if not (name.endswith(ending) or name in references) or name not in device.parameters:
            continue
        value = device.parameters[name]

        def short(trial: float, name: str = name) -> float:
            changed = replace(device, parameters={**device.parameters, name: trial})
            moved = margins(system, [changed])
            return moved[k].excess if len(moved) == len(here) else np.nan

        step = max(abs(value), 1.0)
        slope = (short(value + step) - short(value)) / step
        new = value - short(value) / slope if slope else np.nan
        # Limits are linear in their parameters: one step arrives, up to rounding.
        if np.isfinite(new) and abs(short(new)) <= 1e-9 * max(1.0, abs(margin.value)):
            return name, float(new)
    return None, 0.0
