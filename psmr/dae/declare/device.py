"""A device, one named instance of a component, and the class that its numbers make of that component.

Whole numbers choose variables: a code says which signals a device reads, an order how many states a filter
has. `Component.structural` names such parameters, `Component.switched` those that leave a part out where they
are zero, and `Component.shape` returns what the class of a choice has instead.

A first-order block t x' = u - x is written x' = (u - x) / t. Where t is zero x is an algebraic variable, and
its residual 0 = u - x is the same expression evaluated with t = 1; a non-windup limit, be it a parameter or a
variable, is then a plain limiter on it. An integrator x' = k u whose gain or flag is zero keeps the value 0.

Each such class is made once: nothing divides by zero, nothing is approximated by a small time constant, and
the kernels hold no case distinctions (`psmr.dae.declare.derived`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, nearest, shown
from psmr.base.numbers import plain
from psmr.dae.declare.component import Check, Component, Parameter, Terms, nonnegative, parameters_of, rows_of
from psmr.dae.declare.derived import derived, packed, unpacked
from psmr.dae.declare.sampled_forms import resting_form, sampled_form
from psmr.dae.declare.samples import ExternalCode
from psmr.dae.declare.sampling import check_code, check_times


def structure_for(component: type[Component], values: Mapping[str, float]) -> type[Component]:
    """Return `component` itself, or its class for the whole numbers that `values` has."""
    on = tuple(int(any(values[name] != 0 for name in _names(entry))) for entry in component.switched)
    if not component.structural and all(on):
        return component
    return structured(component, (*(int(values[name]) for name in component.structural), *on))


def _names(entry: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the parameters of an entry of `Component.switched`."""
    return (entry,) if isinstance(entry, str) else entry


def _stay(value: int) -> Check:
    def check(other: float) -> str | None:
        return None if other == value else f"must stay {value}, as it chooses the variables"

    return check


@derived
def structured(component: type[Component], choice: tuple[int, ...]) -> tuple[str, Mapping[str, Any]]:
    """Return the class of `component` with the values `choice` of its structural and switched parameters."""
    declared = parameters_of(component)
    count = len(component.structural)
    entries = zip(component.switched, choice[count:], strict=True)
    off = [name for entry, on in entries if not on for name in _names(entry)]
    given = dict(zip(component.structural, choice[:count], strict=True)) | dict.fromkeys(off, 0)
    fixed = {name: replace(declared[name], check=_stay(value)) for name, value in given.items()}
    attributes = {"structural": (), "switched": (), **component.shape(*choice), **fixed}
    return "_".join(map(str, choice)), attributes


def form_for(component: type[Component], values: Mapping[str, float]) -> type[Component]:
    """Return `component` with the structure of `values`, in algebraic form where time constants are zero.

    Where it samples, it has what a computing delay and a hold of order one need.
    """
    return sampled_form(_continuous_form(structure_for(component, values), values), values)


def _continuous_form(component: type[Component], values: Mapping[str, float]) -> type[Component]:
    vanished = tuple(s for s, constants in component.lags.items() if all(values[c] == 0 for c in constants))
    idle = tuple((s, gain) for s in component.integrals for gain in _zeros(component, s, values))
    if not (vanished or idle):
        return component
    return algebraic_form(component, vanished, idle)


def _zeros(component: type[Component], state: str, values: Mapping[str, float]) -> tuple[str, ...]:
    """Return the first gain or flag of an integrator that is zero, if one is."""
    gains = component.integrals[state]
    names = (gains,) if isinstance(gains, str) else gains
    return tuple(name for name in names if values[name] == 0)[:1]


def _limited(m: Any, x: Any, lower: Any, upper: Any) -> Any:
    """Return x within its limits, of which one may be open (None)."""
    if lower is None:
        return m.min(x, upper)
    return m.max(x, lower) if upper is None else m.clip(x, lower, upper)


def _stay_zero(value: float) -> str | None:
    return None if value == 0 else "must be 0 in this algebraic form; give the case another value"


@derived
def algebraic_form(
    component: type[Component], vanished: tuple[str, ...], idle: tuple[tuple[str, str], ...] = ()
) -> tuple[str, Mapping[str, Any]]:
    """Return `component` with some states as algebraic variables.

    `vanished` are states whose time constants (`Component.lags`) are zero, `idle` integrators of which a gain
    or flag (`Component.integrals`) is zero, with its name.
    """
    states = component.states
    resting = tuple(s for s, _ in idle)
    moved = tuple(s for s in states if s in vanished or s in resting)
    kept = tuple(s for s in states if s not in moved)
    ones = tuple(sorted({c for s in vanished for c in component.lags[s]}))
    bounds = tuple((s, *component.limits[s]) for s in vanished if s in component.limits and s not in resting)
    inner, first_guess = component.equations, component.guess
    constants = tuple(parameters_of(component))

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations with the residuals of the former states at the end."""
        unit = SimpleNamespace(**(vars(p) | dict.fromkeys(ones, 1)))
        derivatives, residuals, injections = inner(m, v, unit)
        found = dict(zip(states, derivatives, strict=True))
        found.update({s: -getattr(v, s) for s in resting})
        for s, low, high in bounds:
            x = getattr(v, s)
            sides = (b and getattr(p if b in constants else v, b) for b in (low, high))
            found[s] = _limited(m, x + found[s], *sides) - x
        return tuple(found[s] for s in kept), (*residuals, *(found[s] for s in moved)), injections

    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the component's own guess; an idle integrator starts at zero."""
        unit = SimpleNamespace(**(vars(p) | dict.fromkeys(ones, 1)))
        return dict(first_guess(terminal, unit)) | dict.fromkeys(resting, 0.0)

    declared = parameters_of(component)
    fixed = (*ones, *(gain for _, gain in idle))
    return f"algebraic_{'_'.join(moved)}", {
        "__doc__": f"{component.__name__} where {', '.join(moved)} are algebraic. {component.__doc__}",
        "states": kept,
        "algebraic": (*component.algebraic, *moved),
        "rows": (*rows_of(component), *moved),
        "limits": {s: names for s, names in component.limits.items() if s not in moved},
        "lags": {},
        "integrals": {},
        "equations": staticmethod(equations),
        "guess": staticmethod(guess),
        **{c: replace(declared[c], check=_stay_zero) for c in fixed},
    }


@dataclass(frozen=True)
class Device:
    """A component with a name, parameter values and connections.

    Attributes
    ----------
    name
        Unique name; variables are called ``"name.variable"``.
    component
        The declaration; its structure where that is a choice, its algebraic form where a time constant is
        zero; see `structure_for` and `form_for`.
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
    code
        What computes the samples of a component that declares `reads`.

    Raises
    ------
    InputError
        For a missing, unknown or impossible parameter value, for a connection the component does not have,
        for a delay that is not a finite time of at least 0, or of an input that reads nothing, and for
        samples that are declared wrongly, at impossible times or without the code that they need.
    """

    name: str
    component: type[Component]
    parameters: Mapping[str, float]
    connections: Mapping[str, str] = field(default_factory=dict)
    acts_on: str = ""
    data: Mapping[str, float | str] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    code: ExternalCode | None = None

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
        check_times(self.name, self.component, values)
        check_code(self.name, self.component, self.code)
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

    @property
    def at_rest(self) -> Device:
        """The device with what its samples write as algebraic variables (`resting_form`); itself without."""
        if self.component.samples is None:
            return self
        return replace(self, component=resting_form(self.component), code=None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"component": packed(self.component)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, component=unpacked(state["component"]))
