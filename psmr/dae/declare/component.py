"""How a component is declared: names, parameters with units, and one plain function of its equations.

Residual, exact Jacobian, initialisation and the equations in the documentation all come from this one text,
which is evaluated in two namespaces: `NumericMath`, of floats, arrays and complex steps, and
`psmr.dae.compile.expression.Graph`. What a device does by itself during a run, as relays do, are actions:
between two of them the parameters are constant, and at one the run is not smooth, as at an event.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, shown
from psmr.base.numbers import plain
from psmr.dae.declare.samples import Samples


def _at_once(p: Any) -> Any:
    return 0.0


def _always(p: Any) -> Any:
    return True


def _nothing(v: Any, p: Any) -> Mapping[str, Any]:
    return {}


KINDS = ("tap", "shunt", "limiter", "shedding", "trip", "commutation", "block", "recovery", "area")
"""What an action can be: a tap or a shunt that moves, a limiter that takes over or lets go, load that is
shed, what trips, a converter whose commutation fails, that is blocked or goes on, a decision of an area."""


@dataclass(frozen=True)
class Act:
    """What a device did by itself: its name, the kind (`KINDS`), and its position then, nan for none.

    Positions: of a tap its ratio or step, of a shunt its susceptance or steps, 1 of a limiter that takes over
    and 0 of one that lets go, of shedding the part of the load that is shed by then.
    """

    device: str
    kind: str
    value: float = math.nan


@dataclass(frozen=True)
class Turn:
    """A timer of a device's action that was started or stopped.

    `t`, `device`, `action`: when in s, whose, and which of its component's actions.
    `due`: when in s it runs out, inf where it has acted, -inf where its condition has ended.
    """

    t: float
    device: str
    action: int
    due: float


@dataclass(frozen=True)
class Action:
    """A condition, the time for which it has to hold, and what changes then.

    `name`: Of what happens, in a few words; "" for what a list of events need not show.
    `condition`: ``condition(m, v, p)`` is above zero while the condition holds; with `m`, `v` and `p` as in
      `Component.equations`, for many devices and points at once. It reads states, algebraic variables and
      connected inputs.
    `delay`: ``delay(p)`` in s for which it has to hold without a break; at once where left out.
    `effect`: ``effect(v, p)`` returns new values of the device's own parameters, with `v` and `p` at the
      instant. ``v.before`` has the variables before what else happened at that instant, a fault's clearing
      for instance. A name with a dot is a parameter of another device, ``"device.parameter"``, or of the one
      that this device acts on, ``"acts_on.parameter"``; ``v.acts_on`` has the latter's as they are.
    `used`: ``used(p)`` says whether a device with such parameters has the action at all.
    `trips`: Whether the device that it acts on, itself where there is none, goes out of service, with the
      plant that it is part of.
    `protects`: Whether it is listed as protection that acted; what trips is.
    `again`: Whether it acts again after the same delay where the condition goes on holding.
    `at_zero`: Whether it acts at the zero of its condition itself, not just after it.
    `pauses`: Whether its timer stands still while its device is out of service, and goes on from there.
    `words`: ``words(p, acts_on)`` returns what is listed in place of the name, of a device with parameters p.
    `kind`: One of `KINDS`, for what reads it; "" for what only a person reads. What trips is of that kind.
    `value`: Position that it leads to (`Act`); where left out the first value that its effect returns.
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
    pauses: bool = False
    words: Callable[[Any, str], str] | None = None
    kind: str = ""
    value: float = math.nan

    def __post_init__(self) -> None:
        if self.kind and self.kind not in KINDS:
            raise InputError(f"Action: kind = {shown(self.kind)}: must be one of {', '.join(KINDS)}")

    def act(self, device: str, effect: Mapping[str, Any]) -> tuple[Act, ...]:
        """Return what a device did, by what its effect was; nothing without a kind."""
        kind = self.kind or ("trip" if self.trips else "")
        value = next(iter(effect.values()), math.nan) if math.isnan(self.value) else self.value
        return (Act(device, kind, float(np.ravel(value)[0])),) if kind else ()


Check = Callable[[float], str | None]
Terms = tuple[Any, ...]


def positive(value: float) -> str | None:
    """Return what would be right where `value` is not above zero."""
    return None if value > 0 else "must be > 0"


def per_unit(value: float) -> str | None:
    """Return what would be right where `value` is no voltage in per unit: below zero, or in percent."""
    return None if 0 < value < 2 else "must be a voltage in pu, above 0 and below 2; 1.01 is 101 %"


def nonnegative(value: float) -> str | None:
    """Return what would be right where `value` is below zero."""
    return None if value >= 0 else "must be >= 0"


def nonpositive(value: float) -> str | None:
    """Return what would be right where `value` is above zero."""
    return None if value <= 0 else "must be <= 0"


def negative(value: float) -> str | None:
    """Return what would be right where `value` is not below zero."""
    return None if value < 0 else "must be < 0"


def nonzero(value: float) -> str | None:
    """Return what would be right where `value` is zero."""
    return None if value != 0 else "must not be 0"


def fraction(value: float) -> str | None:
    """Return what would be right where `value` is outside [0, 1]."""
    return None if 0 <= value <= 1 else "must be between 0 and 1"


def whole(low: int, high: int) -> Check:
    """Return the check for a whole number from `low` to `high`: a code, an order."""

    def check(value: float) -> str | None:
        good = value == int(value) and low <= value <= high
        return None if good else f"must be a whole number from {low} to {high}"

    return check


def flag(value: float) -> str | None:
    """Return what would be right where `value` is neither 0 nor 1."""
    return None if value in (0.0, 1.0) else "must be 0 or 1"


@dataclass(frozen=True)
class Parameter:
    """A constant of a component, declared as a class attribute that bears its name.

    Attributes
    ----------
    unit
        Unit, with its per-unit base where that is not the system's (``"pu on machine base"``).
    doc
        What it is, in a few words.
    check
        Returns what would be right where a value is wrong, otherwise None. Finiteness is always required.
    default
        Value taken where the case does not give one; None where it must.
    """

    unit: str
    doc: str
    check: Check | None = None
    default: float | None = None

    def __post_init__(self) -> None:
        # The library declares two thousand at each start, all of these types.
        right = self.default is None or (type(self.default) is float and math.isfinite(self.default))
        if not right or (type(self.unit), type(self.doc)) != (str, str):
            settle_fields(self, numbers=True)
        if self.check is not None and not callable(self.check):
            raise InputError(f"Parameter: check = {shown(self.check)}: must be a function of the value")

    def objection(self, value: object) -> str | None:
        """Return what would be right where `value` cannot be taken, otherwise None."""
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be a number, not {type(value).__name__}"
        if not math.isfinite(value):
            return "must be finite"
        return self.check(float(value)) if self.check else None


class Component:
    """A kind of device, declared and never instantiated.

    A subclass names its variables and writes `equations`; parameters are class attributes of type
    `Parameter`. What files call it and where it stands in a plant, its ``role`` for instance, it says in
    further class attributes (`psmr.devices.placement.Placement`).

    Attributes
    ----------
    states
        Differential variables.
    algebraic
        Algebraic variables.
    inputs
        Variables read from other devices. An input that nothing provides is *held*: it keeps one value until
        an event changes it, and initialisation may solve for it (a set-point).
    outputs
        Rows of other devices to which this one adds its injections, for instance the current balances of a
        bus.
    rows
        Names of the algebraic residual rows; the names in `algebraic` when left out.
    optional
        Constants for inputs that nothing provides and that are not set-points.
    limits
        Non-windup limits: state -> names of the (lower, upper) bounds, None where that side is open. A bound
        is a parameter, or a variable that the device reads: then the limit moves with it. `equations` returns
        the raw derivative; the DAE is x = bound in place of it where x is at a limit and the derivative would
        take it beyond. Where the bounds cross, the upper one holds.
    lags
        States that vanish with their time constants: state -> names of the time constants. Where all of them
        are zero, the state is an algebraic variable (see `psmr.dae.declare.device`).
    integrals
        Integrators that a zero gain or flag leaves out: state -> its name, or names of which one is zero.
    ramps
        Rates of change: parameters without which, all of them zero, no equation reads the time.
    courses
        Parameters that may follow a course over time during a run.
    structural
        Whole-number parameters that choose the variables, for instance a code; `shape` says what each choice
        has (see `psmr.dae.declare.device`).
    switched
        Parameters, gains as a rule, that leave a part of the device out where they are zero, or tuples of
        names of which all are: `shape` has 1 or 0 for each, after the values of `structural`.
    actions
        What the device does by itself during a run.
    delays
        Inputs that are read as they were some time ago: input -> name of the parameter that is the delay in
        s. At a delay of 0 the input is read as it is (see `psmr.dae.declare.device.Device.delays`).
    together
        Own variables that a partition keeps on one side.
    samples
        When it samples, of a digital controller: `psmr.Samples`. Between samples what it computed is held.
    sampled_states
        What it remembers from one sample to the next.
    sampled_outputs
        What its samples give to others, which read it as any variable.
    sample
        ``sample(m, v, p)`` returns new sampled states and new outputs, two tuples, with `m`, `v` and `p` as
        in `equations`: ``v`` has what is there just before the sample, ``v.t`` its time in s.
    reads
        In place of `sample` where external code computes (`Device.code`): ``reads(m, v, p)`` returns what it
        is handed.
    written, releases, kept
        Of forms of a sampled component (`psmr.dae.declare.sampled_forms`). With a computing delay or a line
        between samples: what a sample writes, and what is written from what a delay later. At rest: the
        variables that samples write.
    instantaneous
        Whether it has voltages and currents as they are at each instant, not phasors: of a network with its
        own dynamics, which two rates by samples keep together.
    units
        Unit of a variable where it is not ``"pu"``.
    """

    states: ClassVar[tuple[str, ...]] = ()
    algebraic: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[Mapping[str, float]] = {}
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {}
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    integrals: ClassVar[Mapping[str, str | tuple[str, ...]]] = {}
    ramps: ClassVar[tuple[str, ...]] = ()
    courses: ClassVar[tuple[str, ...]] = ()
    structural: ClassVar[tuple[str, ...]] = ()
    switched: ClassVar[tuple[str | tuple[str, ...], ...]] = ()
    actions: ClassVar[tuple[Action, ...]] = ()
    delays: ClassVar[Mapping[str, str]] = {}
    together: ClassVar[tuple[tuple[str, ...], ...]] = ()
    samples: ClassVar[Samples | None] = None
    sampled_states: ClassVar[tuple[str, ...]] = ()
    sampled_outputs: ClassVar[tuple[str, ...]] = ()
    sample: ClassVar[Any] = None
    reads: ClassVar[Any] = None
    written: ClassVar[tuple[str, ...]] = ()
    releases: ClassVar[Mapping[str, str]] = {}
    kept: ClassVar[tuple[str, ...]] = ()
    instantaneous: ClassVar[bool] = False
    units: ClassVar[Mapping[str, str]] = {}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the state derivatives, the algebraic residuals and the injections.

        Parameters
        ----------
        m
            Mathematical functions: ``sin cos tan exp log sqrt atan2 where ge le min max clip``.
        v
            Variables by name: states, algebraic, inputs, and the time ``v.t`` in s.
        p
            Parameters by name.
        """
        return (), (), ()

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Return what is wrong between the values of several parameters, and what would be right."""
        return None

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes of the class that values of `structural` and `switched` ask for."""
        return {}

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return a starting guess for the equilibrium by variable name, nothing more."""
        return {}


def improper(p: Mapping[str, float], *pairs: tuple[str, str]) -> str | None:
    """Return the objection to a lead, or the gain of a derivative, without its lag: (lead, lag) names."""
    for lead, lag in pairs:
        if p[lag] == 0 and p[lead] != 0:
            return f"{lag} = 0 and {lead} = {p[lead]:g}: {lag} must be > 0 where {lead} is not 0"
    return None


def ungained(p: Mapping[str, float], *pairs: tuple[str, str]) -> str | None:
    """Return the objection to a regulator without any gain: names of its two gains."""
    for first, second in pairs:
        if p[first] == 0 == p[second]:
            return f"{first} = {second} = 0: one of them must be > 0"
    return None


def crossed(p: Mapping[str, float], *pairs: tuple[str, str]) -> str | None:
    """Return the objection to limits that leave nothing between them: names of (lower, upper) limits."""
    for low, high in pairs:
        if p[low] >= p[high]:
            return f"{low} = {p[low]:g}: must be below {high} = {p[high]:g}"
    return None


def parameters_of(component: type[Component]) -> Mapping[str, Parameter]:
    """Return the parameters of a component in the order of their declaration, those of its bases first."""
    return _declared(component)  # type: ignore[arg-type]  # a class is hashable


@functools.cache
def _declared(component: type[Component]) -> Mapping[str, Parameter]:
    found: dict[str, Parameter] = {}
    for base in reversed(component.__mro__):
        found.update({name: value for name, value in vars(base).items() if isinstance(value, Parameter)})
    return MappingProxyType(found)


def bounds_of(component: type[Component], state: str, values: Mapping[str, float]) -> tuple[float, float]:
    """Return the non-windup limits of a state, infinite on an open side or where `values` lacks the bound."""
    low, high = (name or "" for name in component.limits.get(state, (None, None)))
    return (values.get(low, -math.inf), values.get(high, math.inf))


def crossed_limits(component: type[Component], values: Mapping[str, float]) -> str | None:
    """Return the objection to a state whose lower limit is above its upper one."""
    for state in component.states:
        low, high = bounds_of(component, state, values)
        if low > high:
            names = component.limits[state]
            return f"the lower limit {names[0]} = {low:g} is above the upper limit {names[1]} = {high:g}"
    return None


def rows_of(component: type[Component]) -> tuple[str, ...]:
    """Return the names of the algebraic residual rows of a component."""
    return component.rows or component.algebraic


def own_variables(component: type[Component]) -> tuple[str, ...]:
    """Return the variables that a device has itself: states, algebraic, sampled states and outputs."""
    sampled = (*component.sampled_states, *component.sampled_outputs)
    return (*component.states, *component.algebraic, *sampled)


def local_variables(component: type[Component]) -> tuple[str, ...]:
    """Return every variable a device reads, in the order of its index row: own, inputs, time."""
    return (*own_variables(component), *component.inputs, "t")


def local_rows(component: type[Component]) -> tuple[str, ...]:
    """Return every residual row a device writes to, in the order of its row table: own, then outputs."""
    return (*component.states, *rows_of(component), *component.outputs)


NEAR = 1e-9
"""A limit counts as reached within this distance: ten times the residual that a start is allowed."""


class NumericMath:
    """Mathematical functions on numbers and arrays, safe for complex-step differentiation."""

    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    tan = staticmethod(np.tan)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)

    @staticmethod
    def atan2(y: Any, x: Any) -> Any:
        """Return the angle of (x, y), analytic in both arguments."""
        if np.iscomplexobj(y) or np.iscomplexobj(x):
            # A complex step perturbs the angle by the imaginary part of log(x + jy) taken along the real
            # axis.
            base = np.arctan2(np.real(y), np.real(x))
            square = np.real(x) ** 2 + np.real(y) ** 2
            return base + 1j * (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / square
        return np.arctan2(y, x)

    @staticmethod
    def ge(a: Any, b: Any) -> Any:
        """Return whether a >= b."""
        return np.real(a) >= np.real(b)

    @staticmethod
    def le(a: Any, b: Any) -> Any:
        """Return whether a <= b."""
        return np.real(a) <= np.real(b)

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        """Return a where the condition holds, b elsewhere."""
        return np.where(condition, a, b)

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        """Return the smaller of a and b."""
        return np.where(np.real(a) <= np.real(b), a, b)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        """Return the larger of a and b."""
        return np.where(np.real(a) >= np.real(b), a, b)

    @staticmethod
    def clip(x: Any, lower: Any, upper: Any) -> Any:
        """Return x limited to [lower, upper]."""
        return NumericMath.min(NumericMath.max(x, lower), upper)

    @staticmethod
    def abs(x: Any) -> Any:
        """Return the absolute value."""
        return np.where(np.real(x) >= 0, x, -x)
