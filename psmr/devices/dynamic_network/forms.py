"""Forms that devices have in a region: stators as states, and the rate of the current at a junction.

Sources: Sauer and Pai (1998), chapter 3, stators of generators; Kundur (1994), chapter 13, a voltage behind a
reactance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, flag, parameters_of, rows_of
from psmr.dae.declare.derived import derived
from psmr.devices.blocks import machine_frame, machine_to_network
from psmr.devices.dynamic_network.bus import STORAGE, rate_of
from psmr.devices.machines.textbook import F_N, ClassicalMachine, InfiniteBus
from psmr.devices.placement import placement

SPEED = Parameter(
    "1", "1 where the speed voltages of the stator are flux times speed, 0 where they are the flux", flag,
    default=1.0,
)  # fmt: skip


def with_stator(component: type[Component]) -> type[Component] | None:
    """Return a source with the energy of its stator as states, None where it has no such form."""
    if issubclass(component, ClassicalMachine | InfiniteBus):
        return with_series_current(component)
    if _has_algebraic_stator(component):
        return with_stator_fluxes(component)
    return None


def _has_algebraic_stator(component: type[Component]) -> bool:
    return (
        placement(component).role == "machine"
        and {"i_d", "i_q"} <= set(component.algebraic)
        and {"delta", "omega"} <= set(component.states)
        and "r_a" in parameters_of(component)
    )


@derived
def with_stator_fluxes(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return a machine with its stator fluxes as states.

    psi_d' = w0 (r_a i_d + w psi_q + v_d),   psi_q' = w0 (r_a i_q - w psi_d + v_q)

    with w = omega, or 1 where `stator_speed` is 0. The machine's own two stator equations then say what the
    fluxes are of the currents: at rest the voltage behind r_a is v_d + r_a i_d = -psi_q, v_q + r_a i_q =
    psi_d. Source: Sauer and Pai (1998), chapter 3, signs of a generator.
    """
    inner = component.equations

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the machine's equations and the derivatives of the stator fluxes."""
        v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
        u_re, u_im = machine_to_network(m, -v.psi_q - p.r_a * v.i_d, v.psi_d - p.r_a * v.i_q, v.delta)
        behind = SimpleNamespace(**(vars(v) | {"v_re": u_re, "v_im": u_im}))
        at_rest = SimpleNamespace(**(vars(p) | {"speed_voltage": 0}))
        derivatives, residuals, injections = inner(m, behind, at_rest)
        w, w_n = 1 + p.stator_speed * (v.omega - 1), rate_of(p)
        fluxes = (
            w_n * (p.r_a * v.i_d + w * v.psi_q + v_d),
            w_n * (p.r_a * v.i_q - w * v.psi_d + v_q),
        )
        return (*derivatives, *fluxes), residuals, injections

    return _with_states(component, "stator fluxes as states", ("psi_d", "psi_q"), equations)


@derived
def with_series_current(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return a voltage behind an impedance with the current through its reactance as a state.

    (x_d1 / w0) di/dt = w e exp(j delta) - v - (r_a + j x_d1) i

    w is the speed of a machine, or 1 where `stator_speed` is 0 and for an infinite bus; i is per unit on the
    machine base, in the frame of the network. A source that moves e and delta itself says so by `moved`.
    """
    turning = "omega" in component.states
    moved = getattr(component, "moved", lambda m, v: {"e": v.e, "delta": v.delta})

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the source's equations, the derivatives of its current and the current into the bus."""
        # The terminal voltage with which the algebraic stator carries this current.
        e, delta = (moved(m, v)[name] for name in ("e", "delta"))
        e_re, e_im = e * m.cos(delta), e * m.sin(delta)
        behind = {
            "v_re": e_re - (p.r_a * v.i_l_re - p.x_d1 * v.i_l_im),
            "v_im": e_im - (p.r_a * v.i_l_im + p.x_d1 * v.i_l_re),
        }
        derivatives, _, _ = component.equations(m, SimpleNamespace(**(vars(v) | behind)), p)
        speed = 1 + p.stator_speed * (v.omega - 1) if turning else 1
        k = rate_of(p) / p.x_d1
        current = (
            k * (behind["v_re"] + (speed - 1) * e_re - v.v_re),
            k * (behind["v_im"] + (speed - 1) * e_im - v.v_im),
        )
        base = p.s_n / p.s_base
        return (*derivatives, *current), (), (base * v.i_l_re, base * v.i_l_im)

    what, own = "the current of its stator as a state", ("i_l_re", "i_l_im")
    return _with_states(component, what, own, equations, f_n=F_N)


def _with_states(
    component: type[Component],
    what: str,
    states: tuple[str, str],
    equations: Callable[[Any, Any, Any], tuple[Terms, Terms, Terms]],
    **parameters: Parameter,
) -> tuple[str, Mapping[str, Any]]:
    """Return what the component has with two more states, which a partition keeps together."""
    return "stator", {
        "__doc__": f"{component.__name__} with {what}. {component.__doc__}",
        "states": (*component.states, *states),
        "together": (*component.together, states),
        "instantaneous": True,
        "equations": staticmethod(equations),
        **parameters,
        "stator_speed": SPEED,
        "storage": STORAGE,
    }


class Rated:
    """A value and its derivative in time; operations follow the chain rule."""

    __array_ufunc__ = None
    __slots__ = ("rate", "value")

    def __init__(self, value: Any, rate: Any = 0) -> None:
        self.value, self.rate = value, rate

    def __add__(self, other: Any) -> Rated:
        other = rated(other)
        return Rated(self.value + other.value, self.rate + other.rate)

    def __sub__(self, other: Any) -> Rated:
        other = rated(other)
        return Rated(self.value - other.value, self.rate - other.rate)

    def __mul__(self, other: Any) -> Rated:
        other = rated(other)
        return Rated(self.value * other.value, self.rate * other.value + self.value * other.rate)

    def __truediv__(self, other: Any) -> Rated:
        other = rated(other)
        ratio = self.value / other.value
        return Rated(ratio, (self.rate - ratio * other.rate) / other.value)

    def __pow__(self, power: Any) -> Rated:
        return Rated(self.value**power, power * self.value ** (power - 1) * self.rate)

    def __neg__(self) -> Rated:
        return Rated(-self.value, -self.rate)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Rated:
        return rated(other) - self

    def __rtruediv__(self, other: Any) -> Rated:
        return rated(other) / self


def rated(x: Any) -> Rated:
    """Return a value with its rate; one without is a constant."""
    return x if isinstance(x, Rated) else Rated(x)


class RatedMath:
    """The mathematical functions of `m` on values with rates."""

    def __init__(self, m: Any) -> None:
        self.m = m
        slopes: dict[str, Callable[[Any], Any]] = {
            "sin": m.cos,
            "cos": lambda x: -m.sin(x),
            "tan": lambda x: 1 / m.cos(x) ** 2,
            "exp": m.exp,
            "log": lambda x: 1 / x,
            "sqrt": lambda x: 0.5 / m.sqrt(x),
        }
        for name, slope in slopes.items():
            setattr(self, name, functools.partial(_apply, getattr(m, name), slope))

    def atan2(self, y: Any, x: Any) -> Rated:
        """Return the angle of (x, y)."""
        y, x = rated(y), rated(x)
        rate = (x.value * y.rate - y.value * x.rate) / (x.value**2 + y.value**2)
        return Rated(self.m.atan2(y.value, x.value), rate)

    def ge(self, a: Any, b: Any) -> Any:
        """Return whether a >= b."""
        return self.m.ge(rated(a).value, rated(b).value)

    def le(self, a: Any, b: Any) -> Any:
        """Return whether a <= b."""
        return self.m.le(rated(a).value, rated(b).value)

    def where(self, condition: Any, a: Any, b: Any) -> Rated:
        """Return a where the condition holds, b elsewhere."""
        a, b = rated(a), rated(b)
        where = self.m.where
        return Rated(where(condition, a.value, b.value), where(condition, a.rate, b.rate))

    def min(self, a: Any, b: Any) -> Rated:
        """Return the smaller of a and b."""
        return self.where(self.le(a, b), a, b)

    def max(self, a: Any, b: Any) -> Rated:
        """Return the larger of a and b."""
        return self.where(self.ge(a, b), a, b)

    def clip(self, x: Any, lower: Any, upper: Any) -> Rated:
        """Return x limited to [lower, upper]."""
        return self.min(self.max(x, lower), upper)

    def abs(self, x: Any) -> Rated:
        """Return the absolute value."""
        return self.where(self.ge(x, 0), x, -rated(x))


def _apply(function: Callable[[Any], Any], slope: Callable[[Any], Any], x: Any) -> Rated:
    x = rated(x)
    return Rated(function(x.value), slope(x.value) * x.rate)


@derived
def with_current_rates(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return a device that gives a junction d_re + j d_im, the rate di/dt / w0 of its current, as well.

    Its currents must be functions of its own states and algebraic variables (see `reads_voltage`). The rates
    of the algebraic variables are variables too; their equations are the derivatives of the residuals.
    """
    inner = component.equations
    own = tuple(f"{name}_rate" for name in component.algebraic)
    port = component.outputs.index("i_re"), component.outputs.index("i_im")

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the device's equations, the derivatives of its residuals, and the rates of its current."""
        derivatives, residuals, injections = inner(m, v, p)
        moving = dict(zip(component.states, derivatives, strict=True))
        moving |= {name: getattr(v, f"{name}_rate") for name in component.algebraic}
        variables = {name: Rated(value, moving.get(name, 0)) for name, value in vars(v).items()}
        constants = {name: Rated(value) for name, value in vars(p).items()}
        _, moved, flowing = inner(RatedMath(m), SimpleNamespace(**variables), SimpleNamespace(**constants))
        w0 = 2 * np.pi * p.f_n
        rates = tuple(rated(flowing[k]).rate / w0 for k in port)
        return derivatives, (*residuals, *(rated(r).rate for r in moved)), (*injections, *rates)

    return "junction", {
        "__doc__": f"{component.__name__} at a bus without capacitance. {component.__doc__}",
        "algebraic": (*component.algebraic, *own),
        "rows": (*rows_of(component), *own),
        "outputs": (*component.outputs, "d_re", "d_im"),
        "equations": staticmethod(equations),
    }
