"""The statements of a MATPOWER case file, carried out: assignments, conversions of units, settings.

MATPOWER's distribution cases give ohms and kW and convert them at the end of the file; those statements are
carried out on the matrices. What would need more of MATLAB is refused only where it could change a number of
the case. Source: R. D. Zimmerman and C. E. Murillo-Sanchez, MATPOWER User's Manual, appendix B.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import CaseError

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

    `names`: what its names stand for.
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


NEEDED = ("bus", "gen", "branch")
MATRICES = (*NEEDED, "dcline")
_FIELDS = (*MATRICES, "baseMVA", "version")

_BUS = "PQ=1 PV=2 REF=3 NONE=4 BUS_I=1 BUS_TYPE PD QD GS BS BUS_AREA VM VA BASE_KV ZONE VMAX VMIN LAM_P LAM_Q"
_GEN = "GEN_BUS=1 PG QG QMAX QMIN VG MBASE GEN_STATUS PMAX PMIN"
_BRANCH = "F_BUS=1 T_BUS BR_R BR_X BR_B RATE_A RATE_B RATE_C TAP SHIFT BR_STATUS=11 PF=14 QF PT QT"
_ORDERS = {
    "idx_bus": "PQ PV REF NONE BUS_I BUS_TYPE PD QD GS BS BUS_AREA VM VA BASE_KV ZONE VMAX VMIN",
    "idx_gen": "GEN_BUS PG QG QMAX QMIN VG MBASE GEN_STATUS PMAX PMIN",
    "idx_brch": "F_BUS T_BUS BR_R BR_X BR_B RATE_A RATE_B RATE_C TAP SHIFT BR_STATUS",
}
"""The names that MATPOWER's functions of this name return, in their order, as far as a case needs them."""


def _columns(text: str) -> dict[str, int]:
    """Return the columns that names stand for; one without a number follows the one before it."""
    found: dict[str, int] = {}
    last = 0
    for word in text.split():
        name, _, given = word.partition("=")
        last = int(given) if given else last + 1
        found[name] = last
    return found


COLUMNS = {**_columns(_BUS), **_columns(_GEN), **_columns(_BRANCH)}
"""MATPOWER's constants: columns of the matrices, counted from 1, and types of buses."""

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?|Inf|inf)")
_ASSIGN = re.compile(r"(?:(\w+)\.)?(\w+)\s*((?:[.({].*?)?)\s*(?<![=~<>])=(?!=)\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class Line:
    """Numbers that stand on one line; `value` is the first."""

    number: int
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The first number."""
        return self.values[0]


@dataclass(frozen=True)
class Statement:
    """A statement: the line where it begins, its text, and the parts of it that stand on each line."""

    number: int
    text: str
    lines: tuple[tuple[int, str], ...]


@dataclass
class Workspace:
    """What the statements of a file have assigned so far.

    `path`: the file, for messages.
    `struct`: name of the struct that is the case; empty for a function that returns its matrices one by one.
    `scalars`, `matrices`: ``baseMVA`` and ``version``; ``bus``, ``gen`` and ``branch``: numbers with their
        lines.
    """

    path: str
    struct: str = "mpc"
    scalars: dict[str, Line] = field(default_factory=dict)
    matrices: dict[str, list[Line]] = field(default_factory=dict)
    _numbers: dict[str, Value] = field(default_factory=dict)
    _unknown: dict[str, str] = field(default_factory=dict)
    _skipping: list[bool] = field(default_factory=list)

    def number(self, name: str) -> float:
        """Return a number by its name, a column's or one that the file has assigned."""
        if name in self.scalars:
            return self.scalars[name].value
        value = self._numbers.get(name, COLUMNS.get(name))
        if value is None:
            raise NotUnderstood(self._unknown.get(name, f"there is no number {name!r}"))
        return value  # type: ignore[return-value]  # a column that was kept under a name, where it is one

    def matrix(self, name: str) -> Reals:
        """Return a matrix of the case; rows shorter than the longest end with NaN."""
        if name not in self.matrices:
            raise NotUnderstood(f"there is no matrix {name!r}")
        rows = self.matrices[name]
        found = np.full((len(rows), max((len(row.values) for row in rows), default=0)), np.nan)
        for at, row in zip(found, rows, strict=True):
            at[: len(row.values)] = row.values
        return found

    def carry_out(self, statement: Statement) -> None:
        """Carry out one statement.

        Raises CaseError for one that could change the numbers of the case and is not understood.
        """
        text = statement.text
        place = f"{self.path}:{statement.number}"
        function = re.match(r"function\b\s*(?:(\w+)\s*=)?(?:\[([^\]]*)\]\s*=)?", text)
        if function:
            self.struct = function[1] or ("" if function[2] and "bus" in function[2] else self.struct)
        elif self._is_block(place, text) or any(self._skipping) or text in ("return", "define_constants"):
            return
        elif taken := re.fullmatch(r"\[([^\]]*)\]\s*=\s*(\w+)", text):
            self._constants(place, taken[1], taken[2])
        else:
            self._assign(place, statement)

    def _is_block(self, place: str, text: str) -> bool:
        """Say whether a statement begins or ends a block, and keep whether the block is passed over."""
        word = re.match(r"[a-z]+", text)
        if word is None or word[0] not in ("if", "else", "elseif", "for", "while", "switch", "end"):
            return False
        if word[0] == "end":
            if self._skipping:
                self._skipping.pop()
        elif any(self._skipping) and word[0] != "else":
            self._skipping.append(True)
        elif word[0] == "else" and self._skipping:
            self._skipping[-1] = not self._skipping[-1]
        elif word[0] == "if":
            self._skipping.append(not self._evaluated(place, text[2:]))
        else:
            raise CaseError(f"{place}: {text[:40]!r} is not understood: psmr carries out no loops")
        return True

    def _evaluated(self, place: str, text: str) -> Value:
        try:
            return Expression(text, self).value()
        except NotUnderstood as error:
            raise CaseError(f"{place}: {text.strip()[:40]!r} is not understood: {error}") from error

    def _constants(self, place: str, names: str, function: str) -> None:
        """Give the constants of one of MATPOWER's functions the names that the file has for them."""
        order = _ORDERS.get(function)
        if order is None:
            return
        for name, right in zip(re.split(r"[\s,.]+", names.strip()), order.split(), strict=False):
            if name and name != right:
                raise CaseError(f"{place}: {name!r} stands where {function} has {right!r}")

    def _assign(self, place: str, statement: Statement) -> None:
        match = _ASSIGN.fullmatch(statement.text)
        if match is None:
            if re.search(rf"\b{self.struct or 'bus'}\b", statement.text):
                raise self._refusal(place, statement)
            return
        struct, name, part, value = match[1] or "", match[2], match[3], match[4].strip()
        if struct == "" and name == self.struct:
            if re.fullmatch(r"struct(\(\s*\))?", value):
                return
            raise self._refusal(place, statement)
        if struct != self.struct:
            self._local(name, value)
        elif part.startswith("(") and name in MATRICES:
            self._convert(place, name, part, value)
        elif part or name not in _FIELDS:
            # Nested fields, cells and fields that are not of the power flow.
            if struct == "" and not part:
                self._local(name, value)
        elif name in MATRICES:
            self._once(place, name)
            self.matrices[name] = self._rows(name, statement)
        else:
            self._once(place, name)
            text = value.strip("'\"") if name == "version" else value
            self.scalars[name] = Line(statement.number, (self._entry(place, name, text),))

    def _refusal(self, place: str, statement: Statement) -> CaseError:
        return CaseError(
            f"{place}: {statement.text[:40]!r} is not understood and may change the case; psmr carries out"
            " assignments to matrices and arithmetic on their columns; run the file in MATLAB or Octave and"
            " save the case with savecase"
        )

    def _once(self, place: str, name: str) -> None:
        if name in self.scalars or name in self.matrices:
            raise CaseError(f"{place}: {self.struct}.{name} is given twice")

    def _local(self, name: str, value: str) -> None:
        """Keep a number of the file's own, or why it is none: it may never be needed."""
        self._numbers.pop(name, None)
        try:
            self._numbers[name] = Expression(value, self).value()
        except NotUnderstood as error:
            self._unknown[name] = f"{name} = {value[:30]}: {error}"

    def _convert(self, place: str, name: str, part: str, value: str) -> None:
        """Carry out an assignment to columns or elements of a matrix."""
        result = self._evaluated(place, value)
        try:
            matrix = self.matrix(name)
            rows, columns = Expression(part, self).indices(matrix.shape)
        except NotUnderstood as error:
            raise CaseError(f"{place}: {name}{part[:30]} is not understood: {error}") from error
        try:
            matrix[np.ix_(rows, columns)] = result
        except ValueError as error:
            raise CaseError(f"{place}: {name}{part[:30]}: both sides must have the same size") from error
        self.matrices[name] = [
            Line(row.number, (*map(float, values[: max(len(row.values), max(columns) + 1)]),))
            for row, values in zip(self.matrices[name], matrix, strict=True)
        ]

    def _entry(self, place: str, name: str, text: str) -> float:
        """Return a number, written out or as an expression."""
        if not _NUMBER.fullmatch(text):
            try:
                return float(Expression(text, self).value())
            except (NotUnderstood, TypeError) as error:
                raise CaseError(f"{place} (mpc.{name}): {text[:30]!r} is not a number: {error}") from error
        value = float(text) if "f" in text else number_text(text)
        if value in (float("inf"), float("-inf")) and "nf" not in text:
            raise CaseError(f"{place} (mpc.{name}): {text[:30]!r} is too large for a number")
        return value

    def _rows(self, name: str, statement: Statement) -> list[Line]:
        """Return the rows of a matrix; they end at a semicolon or at the end of a line."""
        rows = []
        inside = False
        for number, text in statement.lines:
            place = f"{self.path}:{number}"
            if not inside:
                before, bracket, text = text.partition("[")
                if not bracket:
                    if before.partition("=")[2].strip():
                        raise CaseError(f"{place} (mpc.{name}): must be a matrix in brackets")
                    continue
                inside = True
            text, bracket, after = text.partition("]")
            for part in text.split(";"):
                values = tuple(
                    self._entry(place, name, word) for word in re.split(r"[\s,]+", part.strip()) if word
                )
                if values:
                    rows.append(Line(number, values))
            if bracket:
                if after.strip(" ;\t"):
                    raise CaseError(
                        f"{place} (mpc.{name}): {after[:20]!r} after the matrix is not understood"
                    )
                break
        if not inside:
            raise CaseError(f"{self.path}:{statement.number} (mpc.{name}): must be a matrix in brackets")
        return rows
