"""Equations of a component as LaTeX, from the same function that its kernels are compiled from."""

import math

import sympy as sp
from symbolic import GreaterOrEqual, trace
from sympy.printing.latex import LatexPrinter

from psmr.dae.declare.component import Component, parameters_of

GREEK = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "theta",
    "kappa",
    "lambda",
    "mu",
    "omega",
    "psi",
    "phi",
    "tau",
)

# An expression of more operations than this is broken up: nobody reads it in one line.
LONG = 40


def symbol(name: str) -> str:
    """Return ``x_d1`` as x with the subscript d1, Greek where the name is."""
    head, _, rest = name.partition("_")
    head = f"\\{head}" if head in GREEK else head if len(head) == 1 else f"\\mathrm{{{head}}}"
    return f"{head}_{{\\mathrm{{{rest.replace('_', ',')}}}}}" if rest else head


class Printer(LatexPrinter):
    """Prints selections as what they were written as: minimum, maximum, limit, or cases."""

    def _print_Where(self, e: sp.Basic, exp: str | None = None) -> str:
        text = self._selection(e)
        return f"\\left({text}\\right)^{{{exp}}}" if exp else text

    def _selection(self, e: sp.Basic) -> str:
        condition, a, b = e.args
        if isinstance(condition, GreaterOrEqual):
            larger, smaller = condition.args
            if (larger, smaller) == (b, a):
                return f"\\min\\left({self._print(a)},\\ {self._print(b)}\\right)"
            if (larger, smaller) == (a, b):
                return f"\\max\\left({self._print(a)},\\ {self._print(b)}\\right)"
        return (
            f"\\begin{{cases}}{self._print(a)} & {self._print(condition)} \\\\ "
            f"{self._print(b)} & \\text{{otherwise}}\\end{{cases}}"
        )

    def _print_Clip(self, e: sp.Basic, exp: str | None = None) -> str:
        x, lower, upper = map(self._print, e.args)
        text = f"\\min\\left(\\max\\left({x},\\ {lower}\\right),\\ {upper}\\right)"
        return f"\\left({text}\\right)^{{{exp}}}" if exp else text

    def _print_Float(self, e: sp.Basic) -> str:
        turns = float(e) / math.pi
        if turns == round(turns) and turns:
            return r"\pi" if turns == 1 else rf"{turns:.0f} \pi"
        return f"{float(e):g}"

    def _print_GreaterOrEqual(self, e: sp.Basic) -> str:
        return f"{self._print(e.args[0])} \\ge {self._print(e.args[1])}"


def equations(component: type[Component]) -> list[str]:
    """Return the lines of the equations: derivatives, residuals, injections, abbreviations."""
    traced = trace(component)
    names = {s: symbol(n) for n, s in (*traced.variables.items(), *traced.parameters.items())}
    abbreviations, expressions = [], list(traced.expressions)
    if any(sp.count_ops(e) > LONG for e in expressions):
        free = (sp.Symbol(f"c{i}") for i in range(1, 1000))
        abbreviations, expressions = sp.cse(expressions, symbols=free)
        names |= {s: f"c_{{{str(s)[1:]}}}" for s, _ in abbreviations}
    printer = Printer({"symbol_names": names, "fold_short_frac": False})
    states = [rf"\dot{{{symbol(n)}}} &= " for n in component.states]
    residuals = ["0 &= "] * len(component.algebraic)
    injections = [rf"{symbol(n)} &\mathrel{{+}}= " for n in component.outputs]
    heads = [*states, *residuals, *injections]
    lines = [head + printer.doprint(e) for head, e in zip(heads, expressions, strict=True)]
    return lines + [rf"{names[s]} &= {printer.doprint(e)}" for s, e in abbreviations]


def parameter_rows(component: type[Component]) -> list[tuple[str, str, str, str, str]]:
    """Return symbol, name, unit, meaning and default of each parameter."""
    rows = []
    for name, parameter in parameters_of(component).items():
        default = "" if parameter.default is None else f"{parameter.default:g}"
        rows.append((f"${symbol(name)}$", f"`{name}`", parameter.unit, parameter.doc, default))
    return rows
