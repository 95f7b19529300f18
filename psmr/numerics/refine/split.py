"""The cheapest split of the work: who goes along with a step, and who has steps of its own.

A device whose error over the present step H is e, in units of the tolerance, would need about e^(1/p) / 0.9
steps over H by itself, with p the power of the step with which the estimate falls. With the devices in the
order of their errors, a split is a list of levels: the first takes all rows at the pace of a device i_1, the
next those that need more at the pace of i_2, and so on. Its work, in rows times steps over H, is found for
all splits together by dynamic programming from the most demanding device down. Devices whose errors share a
power of two are one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.numerics.step.controller import MOST_CHANGE, SAFETY

# Powers of two of the errors that are told apart: below the least, no step is limited by them.
LEAST, BINS = -10, 64

# What a step costs beside its rows, and what it costs to open a level, in rows times steps (measured: a step
# of a small block, and pivots for a new one).
PER_STEP, PER_ROW_OPENED, PER_OPENING = 25.0, 2.0, 50.0

# A split must promise this part of the work to be preferred to one step for all.
WORTH = 0.5


class Bins(NamedTuple):
    """Rows and largest error of the devices by powers of two of the errors, and room for their work."""

    rows: np.ndarray
    top: np.ndarray
    above: np.ndarray
    best: np.ndarray


def bins() -> Bins:
    """Return empty bins."""
    return Bins(*np.zeros((4, BINS)))


@lean
def clear(b):  # type: ignore[no-untyped-def]
    """Empty the bins."""
    for k in range(BINS):
        b.rows[k] = b.top[k] = 0.0


@lean
def add(b, error, rows):  # type: ignore[no-untyped-def]
    """Take a device with an error in units of the tolerance and a number of rows."""
    k = 0
    if error > 0.001:
        k = min(BINS - 1, math.frexp(error)[1] - LEAST)
    b.rows[k] += rows
    b.top[k] = max(b.top[k], error)


@lean
def _steps(error, power):  # type: ignore[no-untyped-def]
    return max(1.0 / MOST_CHANGE, error ** (1.0 / power) / SAFETY)


@lean
def _opening(rows):  # type: ignore[no-untyped-def]
    return PER_OPENING + PER_ROW_OPENED * rows


@lean
def cheapest(b, order, power):  # type: ignore[no-untyped-def]
    """Return the work over H of the splits of the devices in the bins.

    Parameters
    ----------
    order
        Rows of the level that takes them all.
    power
        Power of the step with which the estimate falls.

    Returns
    -------
    handed, handed_steps
        Work of all that have an error above one, the others being done, and the steps of their first level.
    again, again_steps
        Least work of everything with a shorter step for all, and the steps of that.
    split, steps
        Least work of everything with any step for all, and the steps of that.
    alone
        Work of everything with one step for all.
    """
    above, last = 0.0, -1
    for k in range(BINS - 1, -1, -1):
        b.above[k] = above
        above += b.rows[k]
        if last < 0 and b.rows[k] > 0.0:
            last = k
    handed, handed_steps = 0.0, 1.0
    again, again_steps, split, steps, alone = np.inf, 1.0, np.inf, 1.0, 0.0
    if last < 0:
        return handed, handed_steps, 0.0, 1.0, 0.0, 1.0 / MOST_CHANGE, 0.0
    b.best[last] = 0.0
    whole = order + PER_STEP
    one = -LEAST  # the bin of errors between a half and one
    reached_one = last <= one
    for j in range(last, -1, -1):
        if b.rows[j] > 0.0 or (j == one and not reached_one):
            here = _steps(b.top[j], power) if b.rows[j] > 0.0 else 1.0
            if j < last:
                rows = b.above[j]
                cost, count = np.inf, 1.0
                for i in range(j + 1, last + 1):
                    if b.rows[i] > 0.0:
                        s = _steps(b.top[i], power)
                        c = s * (rows + PER_STEP) + b.best[i]
                        if c < cost:
                            cost, count = c, s
                if j <= one and not reached_one:
                    handed, handed_steps = cost + _opening(rows), count
                    reached_one = True
                b.best[j] = cost + here * _opening(rows)
            if b.rows[j] > 0.0:
                c = here * whole + b.best[j]
                if j == last:
                    alone = c
                if c < split:
                    split, steps = c, here
                if SAFETY * here >= 1.0 and c < again:
                    again, again_steps = c, here
        if j <= one:
            reached_one = True
    return handed, handed_steps, again, again_steps, split, steps, alone


@lean
def promising(b, order, power):  # type: ignore[no-untyped-def]
    """Return whether a split would be worth its price if it lasted: its levels kept, steps as long as can be.

    See `cheapest` for the parameters, whose bins these are.
    """
    whole, rows, top = order + PER_STEP, 0.0, 0.0
    for k in range(BINS - 1, -1, -1):
        if b.rows[k] == 0.0:
            continue
        if top == 0.0:
            top = b.top[k] ** (1.0 / power)
        elif b.top[k] ** (1.0 / power) * whole + top * (rows + PER_STEP) < WORTH * top * whole:
            return True
        rows += b.rows[k]
    return False
