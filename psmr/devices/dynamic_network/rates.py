"""Rates of change by the chain rule: what a junction needs of the currents of the devices at it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Terms, rows_of
from psmr.dae.declare.device import derived


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
