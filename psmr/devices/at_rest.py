"""Values of a block diagram at rest, which follow from one another: what runs a diagram for its guess."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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
