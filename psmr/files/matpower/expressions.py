"""Expressions of MATLAB as MATPOWER's case files have them: arithmetic on numbers and columns of matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from psmr.base.arrays import Reals

Value = float | Reals

_TOKEN = re.compile(
    r"\s*(?:((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?)|([A-Za-z]\w*)|(\.[*/^]|[-+*/^(),.:\[\]=~]))"
)
_FUNCTIONS: Mapping[str, Callable[[Value], Value]] = {
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "abs")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan")},
}
_CONSTANTS = {"pi": math.pi, "Inf": math.inf, "inf": math.inf, "NaN": math.nan, "nan": math.nan}


class NotUnderstood(Exception):
    """Why an expression has no value here."""


class Names(Protocol):
    """What the names in an expression stand for."""

    def number(self, name: str) -> float:
        """Return a number by its name; raises NotUnderstood."""

    def matrix(self, name: str) -> Reals:
        """Return (rows, columns) a matrix of the case by its field; raises NotUnderstood."""


def number_text(text: str) -> float:
    """Return the number in a text that `_TOKEN` takes for one."""
    return float(text.replace("D", "e").replace("d", "e"))


class Expression:
    """An expression cut into tokens, and its evaluation from left to right.

    Parameters
    ----------
    text
        The expression.
    names
        What its names stand for.
    """

    def __init__(self, text: str, names: Names) -> None:
        self._names = names
        self._tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise NotUnderstood(f"{text[position:][:20].strip()!r} is not understood")
            self._tokens.append(match[0].strip())
            position = match.end()
        self._at = 0

    def value(self) -> Value:
        """Return the value of the whole expression."""
        value = self._sum()
        if self._at < len(self._tokens):
            raise NotUnderstood(f"{self._tokens[self._at]!r} is not understood")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, token: str = "") -> str:
        found = self._peek()
        if not found or (token and found != token):
            raise NotUnderstood(f"{found!r} stands where {token or 'a value'!r} must be")
        self._at += 1
        return found

    def _sum(self) -> Value:
        value = self._product()
        while self._peek() in ("+", "-"):
            sign, other = self._take(), self._product()
            value = value + other if sign == "+" else value - other
        return value

    def _product(self) -> Value:
        value = self._signed()
        while self._peek() in ("*", ".*", "/", "./"):
            sign, other = self._take(), self._signed()
            if not sign.startswith(".") and np.ndim(other) and (np.ndim(value) or sign == "/"):
                raise NotUnderstood(f"{sign!r} between matrices is not understood; .{sign} is by elements")
            with np.errstate(divide="ignore", invalid="ignore"):
                value = value * other if sign.endswith("*") else np.divide(value, other)
        return value

    def _signed(self) -> Value:
        if self._peek() in ("+", "-"):
            return self._signed() if self._take() == "+" else -self._signed()
        return self._power()

    def _power(self) -> Value:
        value = self._primary()
        while self._peek() in ("^", ".^"):
            if self._take() == "^" and np.ndim(value):
                raise NotUnderstood("'^' of a matrix is not understood; .^ is by elements")
            value = value ** (self._signed() if self._peek() in ("+", "-") else self._primary())
        return value

    def _primary(self) -> Value:
        token = self._take()
        if token == "(":
            value = self._sum()
            self._take(")")
            return value
        if token[0].isdigit() or (token[0] == "." and token[1:].isdigit()):
            return number_text(token)
        if not token[0].isalpha():
            raise NotUnderstood(f"{token!r} is not understood")
        if self._peek() == ".":
            self._take()
            return self._part(self._take())
        if self._peek() == "(" and token in _FUNCTIONS:
            self._take()
            value = self._sum()
            self._take(")")
            return _FUNCTIONS[token](value)
        if self._peek() == "(":
            return self._part(token)
        return _CONSTANTS[token] if token in _CONSTANTS else self._names.number(token)

    def _part(self, field: str) -> Value:
        """Return a part of a matrix of the case, or a number of it, such as its base."""
        if self._peek() != "(":
            return self._names.number(field)
        matrix = self._names.matrix(field)
        rows, columns = self.indices(matrix.shape)
        part = matrix[np.ix_(rows, columns)]
        return float(part[0, 0]) if part.size == 1 else part

    def indices(self, shape: Sequence[int]) -> list[list[int]]:
        """Take ``(rows, columns)`` and return the positions, from 0, in a matrix of this shape."""
        self._take("(")
        found = [self._index(shape[0])]
        self._take(",")
        found.append(self._index(shape[1]))
        self._take(")")
        return found

    def _index(self, size: int) -> list[int]:
        if self._peek() == ":":
            self._take()
            return list(range(size))
        values: list[Value] = []
        if self._peek() == "[":
            self._take()
            while self._peek() != "]":
                if self._peek() == ",":
                    self._take()
                values.append(self._sum())
            self._take("]")
        else:
            values.append(self._sum())
        found = [int(value) - 1 for value in values if np.ndim(value) == 0 and value == int(value)]
        if len(found) < len(values) or any(not 0 <= k < size for k in found):
            raise NotUnderstood(f"an index must be a whole number from 1 to {size}")
        return found
