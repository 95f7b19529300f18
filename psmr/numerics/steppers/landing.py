"""False position for the step that ends exactly at a given time, compiled.

Along the arc the time reached is a result of the step. The step that passes the end is taken again with other
sizes until it ends there, so that the last point is a step of the method and not an interpolation.
"""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.cache import compiled

# Each try gains about a digit or more (Illinois modification), and there are 17.
MOST_TRIES = 60

# Two units in the last place of the end.
ROUNDING = 4e-16

LOW, MISS_LOW, HIGH, MISS_HIGH, SIDE = range(5)


@compiled
def bracket(before, h, after, end):  # type: ignore[no-untyped-def]
    """Return the bracket [0, h] of a step that goes from time `before` to time `after` around `end`."""
    return np.array([0.0, before - end, h, after - end, 0.0])


@compiled
def narrow(found, trial, miss, end):  # type: ignore[no-untyped-def]
    """Take note that the step `trial` misses the end by `miss`; return whether that is rounding."""
    if abs(miss) <= ROUNDING * abs(end):
        found[HIGH], found[MISS_HIGH] = trial, 0.0
        return True
    if miss > 0.0:
        found[HIGH], found[MISS_HIGH] = trial, miss
        if found[SIDE] == 1.0:
            found[MISS_LOW] *= 0.5
        found[SIDE] = 1.0
    else:
        found[LOW], found[MISS_LOW] = trial, miss
        if found[SIDE] == -1.0:
            found[MISS_HIGH] *= 0.5
        found[SIDE] = -1.0
    return False


@compiled
def next_trial(found):  # type: ignore[no-untyped-def]
    """Return the next step to try, or 0 where the bracket cannot be narrowed any more."""
    if found[MISS_HIGH] == 0.0:
        return 0.0
    low, high = found[LOW], found[HIGH]
    trial = (low * found[MISS_HIGH] - high * found[MISS_LOW]) / (found[MISS_HIGH] - found[MISS_LOW])
    return trial if low < trial < high else 0.0
