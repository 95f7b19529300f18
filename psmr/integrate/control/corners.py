"""Corners of the equations within a step: a limiter that is met, a comparison that turns; compiled.

An equation with a corner is smooth on each side of it, and a method of high order over it is one of low
order. A step sees the margins of all devices (`psmr.dae.compile.switches`) at its start, its stages and its
end, those of a stage as soon as it is solved: what is behind a corner that ends the step need not be. Of
those that change their signs `psmr.integrate.control.first_corner` asks what they make of the step.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.kernels import residual
from psmr.dae.compile.switch_tables import SwitchTables
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.vector_kernels import VECTOR_CHUNK
from psmr.integrate.tableaux.tableaux import Tableau


class Corners(NamedTuple):
    """What a step needs to see corners.

    Attributes
    ----------
    margins, shares
        See `psmr.dae.compile.switch_tables.SwitchTables`.
    stages, parts
        Places of the points, and at which part of the step they are, ascending: the start, 0, the stages
        within the step, the end, 1, and a stage behind it.
    middle, end
        Which of them is nearest to the middle, and which is the end.
    middle_stage
        The stage nearest to the middle, counted from 0.
    values, seen
        (points, M) margins, and at which points those of the step tried are known; see `forget_margins`.
    place, at
        (M,) margins that change their signs, and at which part of the step.
    listed
        How many margins had changed their signs where it was last asked whether they matter.
    room
        Buffer with the margins that decide behind it.
    rows
        Shares of the rows; one entry longer than needed.
    follows
        Whether the step before was ended at a corner, which may lie a little ahead then.
    gamma
        Of the method: the coefficient of the rate at a stage, relative to the step.
    missed, behind
        Part of h D that the method misses, see `largest_miss`, and what a stage behind the end adds to it:
        its weight.
    """

    margins: np.ndarray
    shares: np.ndarray
    stages: np.ndarray
    parts: np.ndarray
    middle: int
    end: int
    middle_stage: int
    values: np.ndarray
    seen: np.ndarray
    place: np.ndarray
    at: np.ndarray
    listed: np.ndarray
    room: np.ndarray
    rows: np.ndarray
    follows: np.ndarray
    gamma: float
    missed: float
    behind: float


def corners_for(
    tables: SwitchTables, tableau: Tableau, places: Mapping[str, int], size: int, rows: int
) -> Corners:
    """Return what is needed for a method whose program keeps its stages at `places`.

    `size` is that of the buffer, `rows` the number of equations.
    """
    order, parts, end = _points_of(tableau)
    names = [f"stage {i + 1}" for i in order]
    names[end - 1] = "now"  # the end is in the buffer
    middle = int(np.abs(parts - 0.5).argmin())
    return Corners(
        margins=tables.margins,
        shares=tables.shares,
        stages=np.array([places[name] for name in ("now", *names)]),
        parts=parts,
        middle=middle,
        end=end,
        middle_stage=order[middle - 1],
        values=np.zeros((parts.size, tables.count)),
        seen=np.zeros(parts.size, np.uint8),
        place=np.zeros(tables.count, np.int64),
        at=np.zeros(tables.count),
        listed=np.zeros(1, np.int64),
        room=np.zeros(size + tables.count),
        rows=np.zeros(rows + 1),
        follows=np.zeros(1, np.uint8),
        gamma=float(tableau.gamma),
        missed=largest_miss(tableau),
        behind=float(np.abs(tableau.b[:-1][tableau.c[:-1] > 1.0]).sum()),
    )


@functools.cache
def _points_of(tableau: Tableau) -> tuple[tuple[int, ...], np.ndarray, int]:
    """Return the stages behind the start in their order, `Corners.parts` and `Corners.end`."""
    c = np.append(tableau.c[:-1], 1.0)  # rational numbers: the last one is 1 to rounding
    order = tuple(int(i) for i in np.argsort(c, kind="stable") if c[i] > 0.0)
    return order, np.array([0.0, *c[list(order)]]), 1 + order.index(len(c) - 1)


@functools.cache
def largest_miss(tableau: Tableau) -> float:
    """Return the largest error of the quadrature of a rate with a corner, relative to h times D at the end.

    A corner at the part s of the step adds S (c - s) to the rate from there on: the method makes
    sum_j b_j (c_j - s)_+ of it in place of (1 - s)^2 / 2. A stage behind the end is taken to be there.
    """
    s = np.linspace(0.0, 1.0, 1001)[:-1, None]
    found = np.maximum(np.minimum(tableau.c, 1.0) - s, 0.0) @ tableau.b
    return float(np.max(np.abs(found - (1.0 - s[:, 0]) ** 2 / 2.0) / (1.0 - s[:, 0])))


@lean
def forget_margins(corners):  # type: ignore[no-untyped-def]
    """Begin with a step that is tried: none of its margins are known."""
    corners.listed[0] = 0
    for j in range(corners.seen.size):
        corners.seen[j] = 0


@lean
def evaluate_margins(interpreter, corners, point, w):  # type: ignore[no-untyped-def]
    """Evaluate the margins at a point of the step, the present one in w, unless they are known."""
    if corners.seen[point] == 0:
        residual(corners.margins, w, corners.values[point])
        corners.seen[point] = 1


@lean
def _crossing(corners, point, k):  # type: ignore[no-untyped-def]
    """Return at which part of the step margin k changes its sign: before `point`, behind the one seen before.

    It is the parabola through both and the one before them or, where there is none, behind them; a straight
    line where no other was seen yet.
    """
    parts, values, seen = corners.parts, corners.values, corners.seen
    before = point - 1
    while seen[before] == 0:
        before -= 1
    third = before - 1
    while third >= 0 and seen[third] == 0:
        third -= 1
    if third < 0:
        third = point + 1
        while third < parts.size and seen[third] == 0:
            third += 1
    left, right, low, high = parts[before], parts[point], values[before, k], values[point, k]
    slope, bend = (high - low) / (right - left), 0.0
    if third < parts.size:
        bend = (values[third, k] - low) / (parts[third] - left) - slope
        bend /= parts[third] - right
    begin, end, side = left, right, low >= 0.0
    for _ in range(TUNED.most_iterations):
        middle = 0.5 * (begin + end)
        if (low + (middle - left) * (slope + (middle - right) * bend) >= 0.0) == side:
            begin = middle
        else:
            end = middle
    return end


@lean
def _with_other_signs(start, there, place):  # type: ignore[no-untyped-def]
    """List the margins that have another sign there; return how many. Most have not, many at a time."""
    count = 0
    for first in range(0, start.size, VECTOR_CHUNK):
        begin, end, changed = start[first : first + VECTOR_CHUNK], there[first : first + VECTOR_CHUNK], 0
        for k in range(begin.size):
            changed |= (begin[k] >= 0.0) != (end[k] >= 0.0)
        if changed != 0:
            for k in range(begin.size):
                if (begin[k] >= 0.0) != (end[k] >= 0.0):
                    place[count] = first + k
                    count += 1
    return count


@lean
def margins_with_other_signs(corners, point, least):  # type: ignore[no-untyped-def]
    """List the margins that have another sign at a point than at the start; return how many.

    They ascend in time, from the part `least` of the step on. For a stage they are those only that have at
    the end, where that is known, the sign of the start.
    """
    values, place, at, end = corners.values, corners.place, corners.at, corners.end
    seen = corners.seen
    count = 0
    for c in range(_with_other_signs(values[0], values[point], place)):
        k = place[c]  # what is listed of the first c takes c places at most
        side = values[0, k] >= 0.0
        if point != end and seen[end] != 0 and (values[end, k] >= 0.0) != side:
            continue
        if not np.isfinite(values[0, k] + values[point, k]):
            continue
        first = 1
        while seen[first] == 0 or (values[first, k] >= 0.0) == side:
            first += 1
        part = _crossing(corners, first, k)
        if part < least:
            continue
        q = count
        while q > 0 and at[q - 1] > part:
            place[q], at[q] = place[q - 1], at[q - 1]
            q -= 1
        place[q], at[q] = k, part
        count += 1
    return count


@lean
def follow_corner(corners, cut):  # type: ignore[no-untyped-def]
    """Go on to the next step; `cut` says that this one was ended at a corner."""
    corners.follows[0] = cut
