"""One block row of a step on a linear DAE."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

STATE = "w(t)"
NEW = "w(t+h)"
KEPT = ("remembered(t-h)", "remembered(t-2h)")
NEW_KEPT = ("remembered(t)", "remembered(t-h) kept")

Term = tuple[str, sp.sparray]


class Taken(NamedTuple):
    """What an equation takes of what inputs add to f and g at a point.

    `point`, `at`: Name of the point, and its time in parts of the step after t.
    `rows`, `weights`: The rows of f and g, and a weight of each.
    """

    point: str
    at: float
    rows: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class Equation:
    """One block row: ``matrix @ unknown = sum(term @ block for block, term in terms)``.

    `unknown`: Name of the block that the row is solved for.
    `matrix`: Square matrix on the unknown.
    `terms`: Pairs of a block name and its matrix. A block is one of the state, or an unknown of an equation.
    `what`: Words for a message when the matrix is singular.
    `inputs`: What its first rows take of what inputs add to f and g.
    """

    unknown: str
    matrix: sp.sparray
    terms: tuple[Term, ...]
    what: str
    inputs: tuple[Taken, ...] = ()


def merged(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Add up the terms of the same block."""
    found: dict[str, sp.sparray] = {}
    for block, matrix in terms:
        found[block] = found[block] + matrix if block in found else matrix
    return tuple(found.items())
