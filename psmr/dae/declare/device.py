"""A device: one named instance of a component, with its numbers and its wiring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, nearest, shown
from psmr.base.numbers import plain
from psmr.dae.declare.component import Component, Parameter, nonnegative, parameters_of
from psmr.dae.declare.forms import form_for, packed, unpacked


@dataclass(frozen=True)
class Device:
    """A component with a name, parameter values and connections.

    Attributes
    ----------
    name
        Unique name; variables are called ``"name.variable"``.
    component
        The declaration; its structure where that is a choice, its algebraic form where a time constant is
        zero (`psmr.dae.declare.forms`, `psmr.dae.declare.forms`).
    parameters
        Value of each parameter, in the units of its declaration; declared defaults may be left out.
    connections
        Input -> ``"device.variable"`` that it reads, output -> ``"device.row"`` that it adds to. Inputs left
        out are held.
    acts_on
        Name of the device that a run changes when this one acts; empty where it acts by its equations alone.
    data
        What else is known of it, which its equations do not read.
    delays
        Connected input -> how long ago, in s, the signal had the value that is read: the delay of a
        measurement or a channel. Those that the component declares are parameters and not given here.

    Raises
    ------
    InputError
        For a missing, unknown or impossible parameter value, for a connection the component does not have,
        and for a delay that is not a finite time of at least 0, or of an input that reads nothing.
    """

    name: str
    component: type[Component]
    parameters: Mapping[str, float]
    connections: Mapping[str, str] = field(default_factory=dict)
    acts_on: str = ""
    data: Mapping[str, float | str] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settle_fields(self)
        if not isinstance(self.component, type) or not issubclass(self.component, Component):
            raise InputError(
                f"{self.name}: component = {shown(self.component)}: must be a class that declares a "
                "psmr.Component"
            )
        declared = parameters_of(self.component)
        kind = self.component.__name__
        for key in self.parameters:
            if key not in declared:
                raise InputError(f"{self.name}: {kind} has no parameter {key!r}{nearest(key, declared)}")
        values: dict[str, float] = {}
        for key, parameter in declared.items():
            value = self.parameters.get(key, parameter.default)
            if value is None:
                raise InputError(
                    f"{self.name}.{key}: missing; {kind} needs the {parameter.doc} in {parameter.unit}"
                )
            wrong = parameter.objection(value)
            if wrong:
                raise InputError(
                    f"{self.name}.{key} = {value!r}: {wrong} ({parameter.doc}, {parameter.unit})"
                )
            values[key] = float(value)
        if wrong := self.component.conflict(values):
            raise InputError(f"{self.name}: {wrong}")
        object.__setattr__(self, "component", form_for(self.component, values))
        ports = (*self.component.inputs, *self.component.outputs)
        for port in self.connections:
            if port not in ports:
                raise InputError(f"{self.name}: {kind} has no input or output {port!r}{nearest(port, ports)}")
        missing = [port for port in self.component.outputs if port not in self.connections]
        if missing:
            raise InputError(f"{self.name}: output {missing[0]!r} is not connected; {kind} must add to a row")
        object.__setattr__(self, "parameters", values)
        object.__setattr__(self, "connections", dict(self.connections))
        object.__setattr__(
            self, "delays", {port: self._delay(port, tau) for port, tau in self.delays.items()}
        )

    def _delay(self, port: str, tau: object) -> float:
        """Return the delay of an input in s, checked."""
        declared = self.component.delays
        if port in declared:
            raise InputError(
                f"{self.name}: the delay of {port} is the parameter {declared[port]!r}; give it that value"
            )
        if port not in self.component.inputs or port not in self.connections:
            known = [name for name in self.component.inputs if name in self.connections]
            raise InputError(
                f"{self.name}: delays has {port!r}, which is no input that reads a signal"
                f"{nearest(port, known)}"
            )
        if wrong := Parameter("s", "delay", nonnegative).objection(tau):
            raise InputError(
                f"{self.name}: the delay of {port} is {shown(tau)}: {wrong}; it is the time in s by which "
                "the signal comes later, 0 for none"
            )
        return float(plain(tau))

    def delay(self, port: str) -> float:
        """Return how long ago, in s, a signal had the value that an input reads; 0 for one read as it is."""
        if port not in self.connections:
            return 0.0
        declared = self.component.delays.get(port)
        return self.delays.get(port, 0.0) if declared is None else self.parameters[declared]

    @property
    def held(self) -> tuple[str, ...]:
        """The inputs whose values stand among the held ones: those that read nothing, or with a delay."""
        ports = self.component.inputs
        return tuple(port for port in ports if port not in self.connections or self.delay(port) > 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"component": packed(self.component)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, component=unpacked(state["component"]))
