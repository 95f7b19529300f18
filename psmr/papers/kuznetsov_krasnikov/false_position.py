"""False position for the step that ends exactly at a given time, compiled.

Along the arc the time reached is a result of the step. The step that passes the end is taken again with other
sizes until it ends there, so that the last point is a step of the method and not an interpolation.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean

# Each try gains about a digit or more (Illinois modification), and there are 17.
MOST_TRIES = 60

# Two units in the last place of the end.
ROUNDING = 4e-16

# Places in a bracket; the tries made so far, or the word that the step just taken is the one to keep.
LOW, MISS_LOW, HIGH, MISS_HIGH, SIDE, TRIES = range(6)
LANDED = -1.0


@lean
def bracket(found, before, h, after, end):  # type: ignore[no-untyped-def]
    """Write the bracket [0, h] of a step that goes from time `before` to time `after` around `end`."""
    found[LOW], found[MISS_LOW], found[HIGH], found[MISS_HIGH] = 0.0, before - end, h, after - end
    found[SIDE], found[TRIES] = 0.0, 0.0


@lean
def again(found):  # type: ignore[no-untyped-def]
    """Return the step to take next: a trial, or the one to keep once the bracket is narrow."""
    trial = next_trial(found) if found[TRIES] < MOST_TRIES else 0.0
    if trial == 0.0:
        found[TRIES] = LANDED
        return found[HIGH]
    found[TRIES] += 1.0
    return trial


@lean
def narrow(found, trial, miss, end):  # type: ignore[no-untyped-def]
    """Take note that the step `trial` misses the end by `miss`; rounding counts as none."""
    if abs(miss) <= ROUNDING * abs(end):
        found[HIGH], found[MISS_HIGH] = trial, 0.0
    elif miss > 0.0:
        found[HIGH], found[MISS_HIGH] = trial, miss
        if found[SIDE] == 1.0:
            found[MISS_LOW] *= 0.5
        found[SIDE] = 1.0
    else:
        found[LOW], found[MISS_LOW] = trial, miss
        if found[SIDE] == -1.0:
            found[MISS_HIGH] *= 0.5
        found[SIDE] = -1.0


@lean
def next_trial(found):  # type: ignore[no-untyped-def]
    """Return the next step to try, or 0 where the bracket cannot be narrowed any more."""
    if found[MISS_HIGH] == 0.0:
        return 0.0
    low, high = found[LOW], found[HIGH]
    trial = (low * found[MISS_HIGH] - high * found[MISS_LOW]) / (found[MISS_HIGH] - found[MISS_LOW])
    return trial if low < trial < high else 0.0
