"""The drawing of a block diagram in lines of text: what its function writes when it is run with words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from psmr.base.errors import InputError, nearest

SUM, PRODUCT, POWER, ATOM = range(4)
"""How tightly the outermost operation of an expression binds."""

WIDTH = 98
"""Columns of a line of the drawing."""


class Symbol:
    """An expression in words.

    Attributes
    ----------
    text, binds
        The expression, and how tightly its outermost operation binds.
    fixed
        Whether it has parameters only.
    chain
        Signal and blocks that it comes out of, where it has no name of its own.
    factor
        The fixed factor and the rest of a product.
    """

    __array_ufunc__ = None

    def __init__(
        self,
        text: str,
        binds: int = ATOM,
        fixed: bool = False,
        chain: tuple[str, ...] = (),
        factor: tuple[Symbol, Symbol] | None = None,
    ) -> None:
        self.text, self.binds, self.fixed, self.chain, self.factor = text, binds, fixed, chain, factor

    def __str__(self) -> str:
        return self.text

    def within(self, least: int) -> str:
        """Return the text as part of an operation that binds at least so tightly."""
        return f"({self.text})" if self.binds < least else self.text

    def __add__(self, other: Any) -> Symbol:
        other = symbol(other)
        if "0" in (self.text, other.text):
            return self if other.text == "0" else other
        if other.text.startswith("-"):
            return self - Symbol(other.text[1:], other.binds, other.fixed)
        return Symbol(f"{self.text} + {other.text}", SUM, self.fixed and other.fixed)

    def __radd__(self, other: Any) -> Symbol:
        return symbol(other) + self

    def __sub__(self, other: Any) -> Symbol:
        other = symbol(other)
        if other.text == "0":
            return self
        return Symbol(f"{self.text} - {other.within(PRODUCT)}", SUM, self.fixed and other.fixed)

    def __rsub__(self, other: Any) -> Symbol:
        return symbol(other) - self

    def __mul__(self, other: Any) -> Symbol:
        other = symbol(other)
        if "1" in (self.text, other.text):
            return self if other.text == "1" else other
        factor = None
        if self.fixed != other.fixed:
            one, rest = (self, other) if self.fixed else (other, self)
            factor = (one * rest.factor[0], rest.factor[1]) if rest.factor else (one, rest)
        text = f"{self.within(PRODUCT)} {other.within(PRODUCT)}"
        return Symbol(text, PRODUCT, self.fixed and other.fixed, factor=factor)

    def __rmul__(self, other: Any) -> Symbol:
        return symbol(other) * self

    def __truediv__(self, other: Any) -> Symbol:
        other = symbol(other)
        if other.text == "1":
            return self
        factor = None
        if other.fixed and not self.fixed:
            one, rest = self.factor or (Symbol("1", fixed=True), self)
            factor = (one / other, rest)
        text = f"{self.within(PRODUCT)}/{other.within(POWER)}"
        return Symbol(text, PRODUCT, self.fixed and other.fixed, factor=factor)

    def __rtruediv__(self, other: Any) -> Symbol:
        return symbol(other) / self

    def __pow__(self, other: Any) -> Symbol:
        return Symbol(f"{self.within(ATOM)}^{symbol(other).within(ATOM)}", POWER, self.fixed)

    def __neg__(self) -> Symbol:
        return Symbol(f"-{self.within(PRODUCT)}", PRODUCT, self.fixed)


def symbol(value: Any) -> Symbol:
    """Return a symbol as it is, a number as one."""
    return value if isinstance(value, Symbol) else Symbol(f"{value:.6g}", fixed=True)


class SymbolNames:
    """Variables, or the parameters `constants`, by name: each is its own name."""

    def __init__(self, constants: Collection[str] | None = None) -> None:
        self._constants = constants

    def __getattr__(self, name: str) -> Symbol:
        if self._constants is not None and name not in self._constants:
            raise AttributeError(f"there is no parameter {name!r}", name=name)
        return Symbol(name, fixed=self._constants is not None)


class Writing:
    """The mathematical functions, in words."""

    def __init__(self, drawing: BlockDrawing) -> None:
        self._drawing = drawing

    def __getattr__(self, name: str) -> Any:
        if name not in ("sin", "cos", "tan", "exp", "log", "sqrt", "atan2", "min", "max"):
            raise AttributeError(name)

        def written(*values: Any) -> Symbol:
            given = [symbol(value) for value in values]
            return Symbol(f"{name}({', '.join(x.text for x in given)})", fixed=all(x.fixed for x in given))

        return written

    def ge(self, a: Any, b: Any) -> Symbol:
        """Return a >= b."""
        return Symbol(f"{symbol(a).text} >= {symbol(b).text}", SUM, symbol(a).fixed and symbol(b).fixed)

    def le(self, a: Any, b: Any) -> Symbol:
        """Return a <= b."""
        return Symbol(f"{symbol(a).text} <= {symbol(b).text}", SUM, symbol(a).fixed and symbol(b).fixed)

    def where(self, condition: Any, a: Any, b: Any) -> Symbol:
        """Return a where the condition holds, else b."""
        a, b, fixed = symbol(a), symbol(b), all(symbol(x).fixed for x in (condition, a, b))
        return Symbol(f"({a.text} where {symbol(condition).text}, else {b.text})", fixed=fixed)

    def abs(self, x: Any) -> Symbol:
        """Return |x|."""
        return Symbol(f"|{symbol(x).text}|", fixed=symbol(x).fixed)

    def clip(self, x: Any, lower: Any, upper: Any) -> Symbol:
        """Return x behind a limiter."""
        return self._drawing.block(x, "", between((symbol(lower).text, symbol(upper).text)))


def between(limits: tuple[str | None, str | None] | None) -> str:
    """Return limits in words."""
    low, high = limits or (None, None)
    if low is None or high is None:
        return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""
    return f"limits [{low}, {high}]"


class BlockDrawing:
    """Lines of a drawing, each a signal and the blocks that it passes to a named one.

    `start` is the signal at which the drawing begins a loop.
    """

    def __init__(self, start: str = "") -> None:
        self.lines: list[list[str]] = []
        self._start = start

    def block(self, u: Any, transfer: str, limits: str, name: str = "") -> Symbol:
        """Add a block behind u and return its output, which ends the line where it has a name."""
        u, transfer = symbol(u), transfer.replace("+ s -", "- s ")
        if u.factor and (transfer or u.factor[1].chain):
            gain, u = u.factor
            transfer = _scaled(gain, transfer) if transfer else gain.text
        links = (*(u.chain or (u.text,)), ", ".join(filter(None, (transfer, limits))))
        if name:
            self._end(links, name)
            return Symbol(name)
        of = " of " if transfer.startswith(("polygon", "dead band", "delay")) else " "
        inline = f"{transfer}{of}{u.within(PRODUCT)}" if transfer else f"{u.within(PRODUCT)} in {limits}"
        return Symbol(
            inline if not limits or not transfer else f"({inline} in {limits})", PRODUCT, chain=links
        )

    def define(self, name: str, value: Any, limits: str = "") -> Symbol:
        """Add what a named signal is, and return the name."""
        if isinstance(value, Symbol) and value.chain and "'" not in name:
            self._end(value.chain, name)
        else:
            text = value if isinstance(value, str) else symbol(value).text
            self.lines.append([", ".join(filter(None, (f"{name} = {text}", limits)))])
        return Symbol(name.rstrip("'"))

    def result(self, name: str, value: Any) -> None:
        """Add what an algebraic variable is."""
        if not (isinstance(value, Symbol) and value.text == name):
            self.define(name, value)

    def magnitude(self, re: Symbol, im: Symbol) -> Symbol:
        """Return the magnitude of a phasor."""
        return Symbol(f"|{re.text.removesuffix('_re')}|")

    def _end(self, links: tuple[str, ...], name: str) -> None:
        for line in self.lines:
            if len(line) > 1 and line[-1] == links[0]:
                line += [*links[1:], name]
                return
        self.lines.append([*links, name])

    def _along(self) -> list[list[str]]:
        """Return the lines along the signals: each behind those that it reads, a loop from its start."""
        left, found = list(self.lines), []
        while left:
            ready = (
                line
                for line in left
                if not any(_read(line) & _made(other) for other in left if other is not line)
            )
            first = next(ready, None) or next((line for line in left if self._start in _read(line)), left[0])
            left = [line for line in left if line is not first]
            found.append(first)
        return found

    def text(self) -> list[str]:
        """Return the lines, wrapped before an arrow, short ones beside each other."""
        found: list[str] = []
        for links in self._along():
            whole = " -> ".join(links)
            if found and len(found[-1]) + len(whole) + 6 <= WIDTH and len(links) <= 3:
                found[-1] += f"      {whole}"
                continue
            line = links[0]
            for link in links[1:]:
                if len(line) + len(link) + 4 > WIDTH:
                    found.append(line)
                    line = f"-> {link}"
                else:
                    line += f" -> {link}"
            found.append(line)
        return found


def _made(line: list[str]) -> set[str]:
    """Return the names of the signals that a line leads to or defines."""
    name, equals, _ = line[0].partition(" = ")
    return {link for link in line[1:] if link.isidentifier()} | ({name.rstrip("'")} if equals else set())


def _read(line: list[str]) -> set[str]:
    """Return the names that a line reads."""
    return set(re.findall(r"[^\W\d]\w*", " ".join(line))) - _made(line)


class DrawnDocstring:
    """The docstring of a class, with the drawing behind its first paragraph, made when it is asked for."""

    def __init__(self, text: str, draw: Callable[[type], BlockDrawing]) -> None:
        self._text, self._draw = text, draw
        self._whole: str | None = None

    def __get__(self, instance: Any, kind: type) -> str:
        if self._whole is None:
            first, _, rest = inspect.cleandoc(self._text).partition("\n\n")
            drawing = "\n".join(f"    {line}" for line in self._draw(kind).text())
            self._whole = "\n\n".join(filter(None, (first, f"::\n\n{drawing}", rest)))
        return self._whole


class Anything:
    """What every operation on it returns: a diagram that is run with it says only what its blocks are.

    As the namespace of parameters it has the `declared` names alone.
    """

    _declared: Collection[str] | None = None

    def __init__(self, declared: Collection[str] | None = None) -> None:
        self._declared = declared

    def __getattr__(self, name: str) -> Anything:
        if self._declared is not None and name not in self._declared:
            hint = nearest(name, self._declared)
            raise AttributeError(f"there is no parameter {name!r}{hint}", name=name)
        return self if self._declared is None else Anything()

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Anything:
        if ufunc not in (np.add, np.subtract, np.multiply, np.divide, np.power):
            self._refuse()
        return self

    def _same(self, *given: Any, **named: Any) -> Anything:
        return self

    __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = __abs__ = _same

    def _refuse(self, *_: Any) -> Any:
        raise InputError(
            "diagrams are traced symbolically: use b.where, b.ge, b.le, b.min, b.max or b.clip in place of "
            "`if`, and the functions of b in place of those of math and numpy"
        )

    __bool__ = __float__ = __int__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


def _scaled(gain: Symbol, transfer: str) -> str:
    """Return a block with a gain in its numerator."""
    if transfer == "1/s" and gain.text.startswith("1/"):
        return f"1/(s {gain.text[2:]})"
    if transfer.startswith("1/"):
        text = gain.within(PRODUCT)
        return (f"({text})" if "/" in text else text) + transfer[1:]
    return f"{gain.within(PRODUCT)} {transfer}"
