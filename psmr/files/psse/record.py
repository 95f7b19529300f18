"""A record of a PSS/E file: fields by name, each with the line where it stands.

A field that is left out has the standard's default.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence

from psmr.base.errors import CaseError, PsmrWarning, shown
from psmr.files.rounding import in_order

_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[EeDd][+-]?[0-9]+)?")
_THREE_DIGITS = re.compile(r"([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+))([+-][0-9]{3})")
"""Fortran leaves the letter out where an exponent has three digits."""
_BUSES = ("I", "J", "K", "IREG", "SWREM", "CONT", "IBUS", "IP", "REMOT")
"""Fields that name a bus: by its number, or in files that are saved so by its name."""
_LAST_BUS = 999997
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")


def _written_as_real(text: str) -> int:
    """Return a whole number that is written as 1e-7 times itself, 0 where a text is none.

    PSS/E's own example of RAWX has 0.1000000E-06 for 1 and 0.1010000E-04 for 101.
    """
    value = 1e7 * _value(text) if _REAL.fullmatch(text) else 0.0
    return round(value) if 0 < value <= _LAST_BUS and abs(value - round(value)) < 1e-6 * value else 0


def _value(real: str) -> float:
    return float(real.replace("D", "E").replace("d", "e"))


def name_part(text: str) -> str:
    """Return an identifier as names can have it: in upper case, without blanks and dots."""
    return re.sub(r"[\s.]+", "_", text.upper())


class PsseRecord:
    """The fields of one record, or of one of its lines, under the names that the format gives them.

    Parameters
    ----------
    path, line, section
        Where it stands, for messages.
    names
        Names of the fields in their order.
    fields
        Their texts as `free_format.split` gives them.
    """

    def __init__(
        self, path: str, line: int, section: str, names: Sequence[str], fields: Sequence[str | None]
    ) -> None:
        self.path, self.line, self.section = path, line, section
        self._fields: Mapping[str, str | None] = dict(zip(names, fields, strict=False))

    @property
    def where(self) -> str:
        """File, line and section."""
        return f"{self.path}:{self.line} ({self.section})"

    def error(self, name: str, right: str) -> CaseError:
        """Return the error for a field whose value is wrong, saying what would be right."""
        value = self._fields.get(name)
        return CaseError(f"{self.where}: {name} = {shown(value) if value else 'missing'}: {right}")

    def require(self, good: bool, name: str, right: str) -> None:
        """Raise the error for a field unless `good`."""
        if not good:
            raise self.error(name, right)

    def has(self, name: str) -> bool:
        """Say whether a field is given."""
        return bool((self._fields.get(name) or "").strip())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields up to the last that is given."""
        return tuple(self._fields)

    def text(self, name: str, default: str = "") -> str:
        """Return a field as text without blanks at its ends."""
        return (self._fields.get(name) or "").strip() or default

    def real(self, name: str, default: float | None = None) -> float:
        """Return a field as a finite number; `default` where it is left out, if the standard has one."""
        text = self.text(name)
        if not text:
            if default is None:
                raise self.error(name, "must be given, as a number")
            return default
        text = _THREE_DIGITS.sub(r"\1E\2", text)
        if not _REAL.fullmatch(text):
            raise self.error(name, "must be a finite number")
        value = _value(text)
        if not math.isfinite(value):
            raise self.error(name, "must be a finite number")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a field as a whole number; `default` where it is left out, if the standard has one."""
        text = self.text(name)
        if not text:
            if default is None:
                raise self.error(name, "must be given, as a whole number")
            return default
        if written := _written_as_real(text):
            what = f"{name} = {text}: must be a whole number; taken as {written}"
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=3)
            return written
        if not _WHOLE.fullmatch(text):
            named = name in _BUSES and text[:1].isalpha()
            remedy = "; are buses given by their names? Save the case with bus numbers" if named else ""
            raise self.error(name, f"must be a whole number of at most nine digits{remedy}")
        return int(text.split(".")[0])

    def positive(self, name: str, default: float | None = None) -> float:
        """Return a field as a number above zero."""
        value = self.real(name, default)
        self.require(value > 0, name, "must be > 0")
        return value

    def in_place_of_zero(self, name: str, default: float) -> float:
        """Return a field as a number above zero; the default, with a warning, where it is zero."""
        if self.has(name) and self.real(name) == 0:
            what = f"{name} = {self.text(name)}: must be > 0; taken as the default {default:g}"
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=2)
            return default
        return self.positive(name, default)

    def share(self, needed: bool) -> float:
        """Return RMPCT, which has to be above 0 where it is `needed`: where another bus is regulated."""
        if not needed and self.real("RMPCT", 100.0) <= 0:
            return 100.0
        return self.in_place_of_zero("RMPCT", 100.0)

    def limits(self, low: str, high: str, default: float) -> tuple[float, float]:
        """Return two limits, where left out -`default` and `default`; the second must be at least the first.

        Where it is below that by no more than rounding, both are the first, with a warning.
        """
        least, most = self.real(low, -default), self.real(high, default)
        found = in_order(least, most)
        self.require(found is not None, high, f"must be at least {low} = {least:g}")
        if found != (least, most):
            what = f"{high} = {self.text(high)} is below {low} = {least:g} by rounding; both are {least:g}"
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=2)
        return found or (least, most)

    def one_of(self, name: str, choices: Sequence[int], default: int | None = None) -> int:
        """Return a field as one of a few whole numbers."""
        value = self.whole(name, default)
        self.require(value in choices, name, f"must be one of {', '.join(map(str, choices))}")
        return value

    def bus(self, name: str) -> int:
        """Return a field as a bus number, which is above zero."""
        value = self.whole(name)
        self.require(value > 0, name, "must be a bus number > 0")
        return value
