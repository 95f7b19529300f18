"""Values of a block diagram at rest, which follow from one another: what runs a diagram for its guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.errors import InputError
from psmr.dae.declare.component import NumericMath


class Unknown:
    """A value at rest that follows from what comes of it: the way back, step by step, to the set-point."""

    __array_ufunc__ = None  # an array leaves the operation to it

    def __init__(self, source: Any = None, back: Callable[[Any], Any] = lambda y: y) -> None:
        self.source, self.back = source, back
        self.value: Any = None
        self._same: list[Unknown] = []

    def settle(self, value: Any) -> None:
        """Take a value, and all that it was made of with it."""
        if self.value is not None:
            return
        self.value = value
        for other in self._same:
            other.settle(value)
        if isinstance(self.source, Unknown):
            self.source.settle(self.back(value))

    def settle_as(self, other: Any) -> None:
        """Take the value of another one, at once or when either is settled."""
        if not isinstance(other, Unknown) or other.value is not None:
            self.settle(other.value if isinstance(other, Unknown) else other)
            return
        self._same.append(other)
        other._same.append(self)

    def _then(self, operate: Callable[[Any], Any], back: Callable[[Any], Any]) -> Any:
        return Unknown(self, back) if self.value is None else operate(self.value)

    def __add__(self, other: Any) -> Any:
        return self._then(lambda x: x + other, lambda y: y - other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._then(lambda x: x - other, lambda y: y + other)

    def __rsub__(self, other: Any) -> Any:
        return self._then(lambda x: other - x, lambda y: other - y)

    def __mul__(self, other: Any) -> Any:
        return self._then(lambda x: x * other, lambda y: y / other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._then(lambda x: x / other, lambda y: y * other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._then(lambda x: other / x, lambda y: other / y)

    def __neg__(self) -> Any:
        return self._then(lambda x: -x, lambda y: -y)


class Resting(NumericMath):
    """The mathematical functions at rest: limiters and gates are open to what is not yet known."""

    opened = True

    @staticmethod
    def clip(x: Any, lower: Any, upper: Any) -> Any:
        """Return x as it is."""
        return x

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        """Return a where the condition holds, b elsewhere, or the one that is not known."""
        return _open(a, b) or NumericMath.where(condition, a, b)

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        """Return the smaller of a and b, or the one that is not known."""
        return _open(a, b) or NumericMath.min(a, b)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        """Return the larger of a and b, or the one that is not known."""
        return _open(a, b) or NumericMath.max(a, b)


def _open(*values: Any) -> Unknown | None:
    return next((x for x in values if isinstance(x, Unknown)), None)


class RestVariables(SimpleNamespace):
    """The variables at rest: a state that is read before its block is not yet known."""

    def __init__(self, found: dict[str, Any], **read: Any) -> None:
        super().__init__(**read)
        self._found = found

    def __getattr__(self, name: str) -> Any:
        return self._found.setdefault(name, Unknown())


def guess_of(kind: Any, blocks: Callable[..., Any]) -> Callable[[Any, Any], Mapping[str, Any]]:
    """Return the guess of a diagram that leads in one line from its set-point to what the machine needs.

    `kind` is a class of `psmr.devices.diagram.BlockDiagram`, `blocks` makes its blocks. One without a
    set-point is at rest with its inputs.
    """

    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for what the machine needs."""
        known = dict(kind.known(terminal, p))
        read = {"v_re": np.real(terminal.voltage), "v_im": np.imag(terminal.voltage)}
        read |= {"v_f": 1.0, "i_f": 1.0, "omega": 1.0} | dict.fromkeys(("delta", "i_d", "i_q"), 0.0)
        read |= {**kind.optional, **terminal.signals, **known}
        start = {kind.set_point: Unknown()} if kind.set_point else {}
        values, missing = _found_at_rest(kind, blocks, read | start, known | start, p)
        if missing and kind.set_point not in missing:
            # Beside the line that leads to the set-point are others that begin at it.
            start = {name: values[name] for name in start}
            values, missing = _found_at_rest(kind, blocks, read | start, known | start, p)
        if missing:
            raise InputError(
                f"{kind.__name__}: the guess does not find {', '.join(missing)}: no line of blocks leads "
                f"there from what is known at rest; {_REMEDY}"
            )
        # A gain below zero times nothing is -0.0.
        return {name: x + 0.0 for name, x in values.items()}

    return guess


_REMEDY = "return more variables from known(terminal, p), or declare a guess(terminal, p)"


def _found_at_rest(
    kind: Any, blocks: Callable[..., Any], read: Mapping[str, Any], found: dict[str, Any], p: Any
) -> tuple[dict[str, Any], list[str]]:
    """Run a diagram at rest: the variables that it found, and the names of those that it did not."""
    try:
        kind.diagram(blocks(Resting, v := RestVariables(found, **read), p, rest=found), v, p)
    except TypeError as error:
        raise InputError(
            f"{kind.__name__}: the guess leads back through blocks, sums, products and quotients alone "
            f"({error}); {_REMEDY}"
        ) from error
    values = {name: x.value if isinstance(x, Unknown) else x for name, x in found.items()}
    return values, [name for name, x in values.items() if x is None or isinstance(x, Unknown)]
