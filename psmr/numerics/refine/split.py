"""The cheapest split of the work: who goes along with a step, and who has steps of its own.

A device whose error over the present step H is e, in units of the tolerance, would need about e^(1/p) / 0.9
steps over H by itself, with p the power of the step with which the estimate falls. With the devices in the
order of their errors, a split is a list of levels: the first takes all rows at the pace of a device i_1, the
next those that need more at the pace of i_2, and so on. Its work, in rows times steps over H, is found for
all splits together by dynamic programming from the most demanding device down. Devices whose errors share a
power of two are one.

A split saves work since who needs no short step does not take one, and pays in errors: with one step for all
most errors are far below the tolerance, in the split each level has one that just meets it. With a root mean
square E of the errors in the split and E_1 with one step for all, that step could be (E / E_1)^(1/p) times as
long and no less accurate. The work of a split is therefore counted that many times: its work at equal error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.numerics.step.controller import MOST_CHANGE, SAFETY

# Powers of two of the errors that are told apart. An error below the least counts as the least: who has it
# could take steps a hundred times as long.
LEAST, BINS = -20, 64

# What a step costs beside its rows, and what it costs to open a level, in rows times steps (measured: a step
# of a small block, and pivots for a new one).
PER_STEP, PER_ROW_OPENED, PER_OPENING = 25.0, 2.0, 50.0

# A split begins, and goes on, while it promises this gain. The errors of the others are extrapolated to steps
# many times as long, and the coupling is not in them, so that only a part of the promise is kept (measured,
# by the rms of all variables): 0.2 to 0.35 of 3 and 1.5 with five plants in 9,241 and 1,354 buses, whose
# ripple the voltages follow; half of 1.6 behind a severe fault; half and more of 7 to 17 where nothing reads
# the ripple.
WORTH = 5.0


class Bins(NamedTuple):
    """The devices by powers of two of their errors, and room for what splits of them cost.

    Attributes
    ----------
    rows, top, squares
        Rows, largest error (the least there can be, where there is none), and sum over the rows of the
        squared errors in each bin.
    above, within
        Rows of all bins above one; sum of squares up to it.
    best, left
        Least work of what is above a bin in levels of its own, and the sum of squares it has in these.
    """

    rows: np.ndarray
    top: np.ndarray
    squares: np.ndarray
    above: np.ndarray
    within: np.ndarray
    best: np.ndarray
    left: np.ndarray


def bins() -> Bins:
    """Return empty bins."""
    return Bins(*np.zeros((len(Bins._fields), BINS)))


@lean
def clear(b):  # type: ignore[no-untyped-def]
    """Empty the bins."""
    least = 2.0 ** (LEAST - 1)
    for k in range(BINS):
        b.rows[k] = b.squares[k] = 0.0
        b.top[k] = least
        least *= 2.0


@lean
def add(b, error, rows):  # type: ignore[no-untyped-def]
    """Take a device with an error in units of the tolerance, which each of its rows counts with."""
    least = 2.0 ** (LEAST - 1)
    if not error > least:
        error = least
    k = min(BINS - 1, math.frexp(error)[1] - LEAST)
    b.rows[k] += rows
    b.top[k] = max(b.top[k], error)
    b.squares[k] += rows * error**2


@lean
def _steps(error, power):  # type: ignore[no-untyped-def]
    return max(1.0 / MOST_CHANGE, error ** (1.0 / power) / SAFETY)


@lean
def _opening(rows):  # type: ignore[no-untyped-def]
    return PER_OPENING + PER_ROW_OPENED * rows


@lean
def _at_equal_error(work, squares, alone, power):  # type: ignore[no-untyped-def]
    """Return the work of a split with a sum of squares where one step for all has that `alone`."""
    return work * (squares / alone) ** (0.5 / power)


@lean
def cheapest(b, order, power):  # type: ignore[no-untyped-def]
    """Return the work over H of the splits of the devices in the bins, at equal error.

    Levels are chosen by their work, the steps of the first by that at equal error.

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
    above, last, squares = 0.0, -1, 0.0
    for k in range(BINS - 1, -1, -1):
        b.above[k] = above
        above += b.rows[k]
        if last < 0 and b.rows[k] > 0.0:
            last = k
    for k in range(BINS):
        squares += b.squares[k]
        b.within[k] = squares
    handed, handed_steps = 0.0, 1.0
    again, again_steps, split, steps, alone = np.inf, 1.0, np.inf, 1.0, 0.0
    if last < 0:
        return handed, handed_steps, 0.0, 1.0, 0.0, 1.0 / MOST_CHANGE, 0.0
    b.best[last] = b.left[last] = 0.0
    whole = order + PER_STEP
    together = squares * _steps(b.top[last], power) ** (-2.0 * power)  # with one step for all
    one = -LEAST  # the bin of errors between a half and one
    for j in range(last, -1, -1):
        here = _steps(b.top[j], power)
        if j < last:
            rows = b.above[j]
            cost, count, left = np.inf, 1.0, 0.0
            for i in range(j + 1, last + 1):
                if b.rows[i] > 0.0:
                    s = _steps(b.top[i], power)
                    c = s * (rows + PER_STEP) + b.best[i]
                    if c < cost:
                        cost, count = c, s
                        left = (b.within[i] - b.within[j]) * s ** (-2.0 * power) + b.left[i]
            if j == one:
                work, handed_steps = cost + _opening(rows), count
                handed = _at_equal_error(work, b.within[j] + left, together, power)
            b.best[j], b.left[j] = cost + here * _opening(rows), left
        left = b.within[j] * here ** (-2.0 * power) + b.left[j]
        c = _at_equal_error(here * whole + b.best[j], left, together, power)
        if j == last:
            alone = c
        if c < split:
            split, steps = c, here
        if SAFETY * here >= 1.0 and c < again:
            again, again_steps = c, here
    return handed, handed_steps, again, again_steps, split, steps, alone


@lean
def promise(b, order, power, least):  # type: ignore[no-untyped-def]
    """Return the gain at equal error of the best split in two if it lasted: work without over work with it.

    The block of those that have steps of their own is kept, and the others take steps as long as can be. See
    `cheapest` for the other parameters, whose bins these are. Where none gains more than `least`, at least
    one, that is returned: errors only take from a gain, so that most splits need not be looked at.
    """
    whole, rows, squares, top = order + PER_STEP, 0.0, 0.0, 0.0
    for k in range(BINS):
        rows += b.rows[k]
        squares += b.squares[k]
        if b.rows[k] > 0.0:
            top = b.top[k]
    gain, within, end = least, 0.0, top * least**-power
    for k in range(BINS):
        if b.top[k] >= end:
            break
        rows -= b.rows[k]
        within += b.squares[k]
        if gain * (rows + PER_STEP) < whole:
            work = (b.top[k] / top) ** (1.0 / power) * whole + rows + PER_STEP
            if gain * work < whole:
                left = squares - within + within * (top / b.top[k]) ** 2.0
                gain = max(gain, whole / _at_equal_error(work, left, squares, power))
    return gain
