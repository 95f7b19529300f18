"""Numbers as they are handed in: Python's own, numpy's, fractions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def plain(value: Any) -> Any:
    """Return a number of any kind as an int or a float, and everything else as it is.

    A Boolean is not a number; an array of no dimension is the number in it.
    """
    if type(value) in (int, float, bool):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def plain_numbers(record: Any) -> None:
    """Make the numbers among the fields of a frozen record Python's own.

    What is computed, compared, shown and pickled is then the same whoever handed the number in.
    """
    for name, given in list(vars(record).items()):
        if (value := plain(given)) is not given:
            object.__setattr__(record, name, value)
