"""Sums and differences of signals, written as such: ``"G1.delta - G2.delta"``, ``"sum(L*.p)"``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

Term = tuple[float, str]

# Between two terms stands a sign with a space on either side: names of branches have dashes of their own.
_SIGN = re.compile(r"\s+([+-])\s+")
_TERM = re.compile(r"(?:(?P<factor>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*\*\s*)?(?P<name>\S.*?)\s*$")
_ALL = re.compile(r"sum\((?P<pattern>.+)\)$")


def is_sum(text: str) -> bool:
    """Return whether a text is written as a sum: has a sign between spaces, a factor, or ``sum(...)``."""
    match = _TERM.match(text.strip())
    return bool(_SIGN.search(text) or (match and (match["factor"] or _ALL.match(match["name"]))))


def written_in(text: str) -> list[str]:
    """Return the names and patterns that a sum is written with."""
    matches = [_TERM.match(piece.removeprefix("-").strip()) for piece in _SIGN.split(text.strip())[::2]]
    names = [match["name"] for match in matches if match]
    return [every["pattern"] if (every := _ALL.match(name)) else name for name in names]


def terms_of(text: str, known: Collection[str]) -> tuple[list[Term], str]:
    """Return the (factor, name) pairs of a sum, and the first part of it that is no known signal, or ``""``.

    ``sum(pattern)`` stands for all known signals that the pattern means.
    """
    pieces = _SIGN.split(text.strip())
    signs = [1.0, *(1.0 if sign == "+" else -1.0 for sign in pieces[1::2])]
    found: dict[str, float] = {}
    for sign, piece in zip(signs, pieces[::2], strict=True):
        if piece.startswith("-"):
            sign, piece = -sign, piece[1:].strip()
        match = _TERM.match(piece)
        if match is None:
            return [], piece
        factor, name = sign * float(match["factor"] or 1.0), match["name"]
        every = _ALL.match(name)
        names = [n for n in known if fnmatchcase(n, every["pattern"])] if every else [name]
        if not names or (not every and name not in known):
            return [], every["pattern"] if every else name
        for own in names:
            found[own] = found.get(own, 0.0) + factor
    return [(factor, name) for name, factor in found.items()], ""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Signals, sums among them, by the signals that these are sums of.

    Attributes
    ----------
    names
        All that is needed, each once.
    parts
        Of each signal the (factor, place in `names`) pairs.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[tuple[float, int], ...], ...]

    @classmethod
    def of(cls, names: Iterable[str], sums: Mapping[str, Sequence[Term]]) -> Expansion:
        """Return the expansion of names, of which `sums` has the terms of those that are sums."""
        wanted = tuple(names)
        needed = dict.fromkeys(part for name in wanted for _, part in sums.get(name, [(1.0, name)]))
        place = {name: k for k, name in enumerate(needed)}
        parts = (tuple((a, place[part]) for a, part in sums.get(name, [(1.0, name)])) for name in wanted)
        return cls(tuple(needed), tuple(parts))

    def combined(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (K, signals) values of (K, len(names)) values of what they are sums of."""
        columns = [sum(factor * values[:, k] for factor, k in part) for part in self.parts]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))

    def matrix(self) -> NDArray[np.float64]:
        """Return the (signals, len(names)) factors."""
        found = np.zeros((len(self.parts), len(self.names)))
        for row, part in enumerate(self.parts):
            for factor, k in part:
                found[row, k] = factor
        return found
