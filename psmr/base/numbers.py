"""Numbers as they are handed in: Python's own, numpy's, fractions, and in texts."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from types import FunctionType
from typing import Any

# What most values are: to ask for the other kinds takes a microsecond, ten thousand times in a start.
_AS_THEY_ARE = frozenset((int, float, bool, str, type(None), FunctionType))


def plain(value: Any) -> Any:
    """Return a number of any kind as an int or a float, and everything else as it is.

    A Boolean is not a number; an array of no dimension is the number in it.
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    if isinstance(value, Integral):
        return int(value)
    return real(value) if isinstance(value, Real) else value


def real(value: Any) -> float:
    """Return a real number as a float; one beyond the largest is infinite, as 1e400 is."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


_REAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def real_in(text: str) -> float:
    """Return the number that a text is; ValueError for one that is none.

    Python's ``float`` also reads digits of other scripts and underscores; in a file or an option both are
    mistakes.
    """
    if not _REAL.fullmatch(text.strip()):
        raise ValueError(f"not a number: {text!r}")
    return float(text)


def whole_in(text: str) -> int:
    """Return the whole number that a text is, of digits 0 to 9; ValueError for one that is none."""
    if not _WHOLE.fullmatch(text.strip()):
        raise ValueError(f"not a whole number: {text!r}")
    return int(text)


def fraction(text: str) -> float:
    """Read 1%, 0.2pp or 0.01 as a fraction."""
    number = text.strip().removesuffix("pp").removesuffix("%").strip()
    value = real_in(number)
    return value / 100.0 if number != text.strip() else value


def hertz(text: str) -> float:
    """Read 2Hz or 2 as a frequency in Hz."""
    return real_in(text.strip().lower().removesuffix("hz"))


def comma_separated(text: str) -> tuple[str, ...]:
    """Read words with commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def comma_separated_numbers(text: str) -> tuple[float, ...]:
    """Read numbers with commas between them."""
    return tuple(real_in(part) for part in comma_separated(text))


def are_numbers(values: Any) -> bool:
    """Return whether something is a number, or an array of numbers of any shape; texts are none."""
    import numpy as np

    try:
        found = np.asarray(values)
    except (ValueError, TypeError, OverflowError):  # rows of different lengths
        return False
    if found.dtype.kind == "O":
        return found.size > 0 and all(
            type(value) is not bool and isinstance(value, Real) and math.isfinite(real(value))
            for value in found.flat
        )
    return found.dtype.kind in "iufc"
