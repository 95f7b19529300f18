"""From a declaration to symbols: trace the equations once with sympy, differentiate, print as Python text.

Comparisons and selections stay opaque functions with a derivative of their own: nested sympy ``Piecewise``
limiters fold into nonsense, and a selection must never multiply the branch that was not taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import sympy as sp
from sympy.printing.pycode import PythonCodePrinter

from psmr.dae.declare.component import Component, local_rows, local_variables, parameters_of
from psmr.dae.declare.mathematics import NEAR
from psmr.errors import InputError


class GreaterOrEqual(sp.Function):
    """The comparison a >= b; its derivative is zero."""

    nargs = 2

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """Decide comparisons between numbers."""
        if a.is_number and b.is_number:
            return sp.Integer(1) if a >= b else sp.Integer(0)
        return None

    def _eval_derivative(self, s: Any) -> Any:
        return sp.S.Zero


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

    def _eval_derivative(self, s: Any) -> Any:
        condition, a, b = self.args
        return Where(condition, a.diff(s), b.diff(s))


class Clip(sp.Function):
    """The limiter min(max(x, lower), upper); within `NEAR` of a limit its derivative is that of the inside.

    An equilibrium at a limit is found to rounding only: on which side of the limit it lies says nothing.
    """

    nargs = 3

    def _eval_derivative(self, s: Any) -> Any:
        x, lower, upper = self.args
        below, above = lower.diff(s), upper.diff(s)
        inside = Where(GreaterOrEqual(x, lower - NEAR), x.diff(s), below)
        return Where(
            GreaterOrEqual(lower, upper),
            above,
            Where(GreaterOrEqual(upper + NEAR, x), inside, above),
        )


class SymbolicMath:
    """Mathematical functions on sympy expressions, the counterpart of ``NumericMath``."""

    sin = sp.sin
    cos = sp.cos
    tan = sp.tan
    exp = sp.exp
    log = sp.log
    sqrt = sp.sqrt
    atan2 = sp.atan2
    ge = GreaterOrEqual
    where = Where

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
    def clip(x: Any, lower: Any, upper: Any) -> Any:
        """Return x limited to [lower, upper]."""
        return Clip(x, lower, upper)

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
    jacobian
        Entries (row, variable, derivative) that are not identically zero.
    """

    variables: dict[str, sp.Symbol]
    parameters: dict[str, sp.Symbol]
    expressions: tuple[sp.Expr, ...]
    jacobian: tuple[tuple[int, int, sp.Expr], ...]

    def is_constant(self, expression: sp.Expr) -> bool:
        """Return whether an expression depends on parameters only."""
        return expression.free_symbols.isdisjoint(self.variables.values())


def trace(component: type[Component]) -> Trace:
    """Evaluate the equations of `component` on symbols and differentiate them.

    Raises
    ------
    InputError
        When the function returns another number of equations than the declaration has rows.
    """
    variables = {name: sp.Symbol(f"v_{name}", real=True) for name in local_variables(component)}
    parameters = {name: sp.Symbol(f"p_{name}", real=True) for name in parameters_of(component)}
    parts = component.equations(SymbolicMath, SimpleNamespace(**variables), SimpleNamespace(**parameters))
    _check_counts(component, parts)
    expressions = tuple(sp.sympify(e) for part in parts for e in part)
    columns = list(variables.items())[:-1]
    jacobian = tuple(
        (row, column, derivative)
        for row, expression in enumerate(expressions)
        for column, (_, symbol) in enumerate(columns)
        if expression.has(symbol) and (derivative := sp.diff(expression, symbol)) != 0
    )
    return Trace(variables, parameters, expressions, jacobian)


def _check_counts(component: type[Component], parts: Any) -> None:
    wanted = (
        len(component.states),
        len(local_rows(component)) - len(component.states) - len(component.outputs),
    )
    names = ("derivatives (one a state)", "residuals (one a row)", "injections (one an output)")
    for part, count, name in zip(parts, (*wanted, len(component.outputs)), names, strict=True):
        if len(part) != count:
            raise InputError(
                f"{component.__name__}.equations returned {len(part)} {name}, {count} are declared"
            )
    if wanted[1] != len(component.algebraic):
        raise InputError(
            f"{component.__name__} has {wanted[1]} residual rows "
            f"for {len(component.algebraic)} algebraic variables"
        )


class _Printer(PythonCodePrinter):
    """Prints Python for numba: small powers as products, selections as conditional expressions."""

    def _print_GreaterOrEqual(self, e: Any) -> str:
        return "({} >= {})".format(*map(self._print, e.args))

    def _print_Where(self, e: Any) -> str:
        return "({1} if {0} else {2})".format(*map(self._print, e.args))

    def _print_Clip(self, e: Any) -> str:
        return "min(max({}, {}), {})".format(*map(self._print, e.args))

    def _print_Integer(self, e: Any) -> str:
        return f"{int(e)}.0"

    def _print_Rational(self, e: Any) -> str:
        return f"({e.p}.0/{e.q}.0)"

    def _print_Pow(self, e: Any, rational: bool = False) -> str:
        base, exponent = e.args
        twice = 2 * exponent
        if not (twice.is_Integer and 0 < abs(twice) <= 8):
            return str(super()._print_Pow(e, rational=rational))
        text = f"({self._print(base)})"
        factors = [text] * (abs(int(twice)) // 2) + [f"sqrt{text}"] * (abs(int(twice)) % 2)
        product = "*".join(factors)
        return f"({product})" if exponent > 0 else f"(1.0/({product}))"


def kernel_source(
    traced: Trace, expressions: list[sp.Expr], name: str, target: str, width: int, first: int = 0
) -> str:
    """Return the text of one kernel: for each device, ``out[target[i]] += expression``.

    Parameters
    ----------
    traced
        The component.
    expressions
        What to evaluate; expression k goes to column ``first + k`` of the target table.
    name, target, width, first
        Name of the function, name of its target table, number of columns of that table, first column used.
    """
    printer = _Printer({"fully_qualified_modules": False})
    shared, reduced = sp.cse(expressions, symbols=(sp.Symbol(f"s{i}") for i in range(10**6)))
    used = set().union(*(e.free_symbols for e in expressions))
    lines = [
        '@cfunc(SIGNATURE, cache=True, error_model="numpy", fastmath={"contract"})',
        f"def {name}(n, index, {target}, P, w, out):",
        "    for i in range(n):",
    ]
    for k, symbol in enumerate(traced.variables.values()):
        if symbol in used:
            lines.append(f"        {symbol} = w[index[i * {len(traced.variables)} + {k}]]")
    for k, symbol in enumerate(traced.parameters.values()):
        if symbol in used:
            lines.append(f"        {symbol} = P[i * {len(traced.parameters)} + {k}]")
    lines += [f"        {symbol} = {printer.doprint(e)}" for symbol, e in shared]
    lines += [
        f"        out[{target}[i * {width} + {k}]] += {printer.doprint(e)}"
        for k, e in enumerate(reduced, start=first)
    ]
    return "\n".join(lines) + "\n"
