"""The equations of a component as sympy expressions, for printing.

Comparisons and selections stay opaque functions: nested sympy ``Piecewise`` limiters fold into nonsense.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import sympy as sp

from psmr.dae.declare.component import Component, local_variables, parameters_of


class GreaterOrEqual(sp.Function):
    """The comparison a >= b."""

    nargs = 2

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """Decide comparisons between numbers."""
        if a.is_number and b.is_number:
            return sp.Integer(1) if a >= b else sp.Integer(0)
        return None


class Where(sp.Function):
    """The selection of a where the condition holds, otherwise b."""

    nargs = 3

    @classmethod
    def eval(cls, condition: Any, a: Any, b: Any) -> Any:
        """Drop the selection where it makes no difference."""
        if a == b:
            return a
        if condition.is_number:
            return a if condition == 1 else b
        return None


class Clip(sp.Function):
    """The limiter min(max(x, lower), upper)."""

    nargs = 3


class SymbolicMath:
    """Mathematical functions on sympy expressions."""

    sin = sp.sin
    cos = sp.cos
    tan = sp.tan
    exp = sp.exp
    log = sp.log
    sqrt = sp.sqrt
    atan2 = sp.atan2
    ge = GreaterOrEqual
    where = Where
    clip = Clip

    @staticmethod
    def le(a: Any, b: Any) -> Any:
        """Return whether a <= b."""
        return GreaterOrEqual(b, a)

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        """Return the smaller of a and b."""
        return Where(GreaterOrEqual(b, a), a, b)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        """Return the larger of a and b."""
        return Where(GreaterOrEqual(a, b), a, b)

    @staticmethod
    def abs(x: Any) -> Any:
        """Return the absolute value."""
        return Where(GreaterOrEqual(x, 0), x, -x)


@dataclass(frozen=True)
class Trace:
    """The equations of a component as symbols.

    Attributes
    ----------
    variables, parameters
        Symbols by name; variables in the order of a device's index row (the last is the time).
    expressions
        Right-hand sides in the order of a device's row table: derivatives, residuals, injections.
    """

    variables: dict[str, sp.Symbol]
    parameters: dict[str, sp.Symbol]
    expressions: tuple[sp.Expr, ...]


def trace(component: type[Component]) -> Trace:
    """Evaluate the equations of `component` on symbols."""
    variables = {name: sp.Symbol(f"v_{name}", real=True) for name in local_variables(component)}
    parameters = {name: sp.Symbol(f"p_{name}", real=True) for name in parameters_of(component)}
    parts = component.equations(SymbolicMath, SimpleNamespace(**variables), SimpleNamespace(**parameters))
    return Trace(variables, parameters, tuple(sp.sympify(e) for part in parts for e in part))
