"""What every explicit variable-step loop does around its step: propose, accept, go back; compiled.

The step that ends exactly at a given time is found by false position. Along the arc the time reached is a
result of the step. The step that passes the end is taken again with other sizes until it ends there, so
that the last point is a step of the method and not an interpolation.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.records import VALID, newton_state_of
from psmr.integrate.solve.status import DONE, FULL, SPENT
from psmr.integrate.solve.vector_kernels import copy
from psmr.papers.kuznetsov_krasnikov.explicit_rates import ACCEPTED, ALGEBRAIC, REJECTED, WHOLE, accept

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


@lean
def exhausted(rules, progress, filled, room):  # type: ignore[no-untyped-def]
    """Return the status that ends the loop before a step: no row left, or no step; else `DONE`."""
    if filled == room:
        return FULL
    if progress.counts[ACCEPTED] + progress.counts[REJECTED] >= rules.most:
        return SPENT
    return DONE


@lean
def proposed(rules, progress, end):  # type: ignore[no-untyped-def]
    """Return the step to try, 0 where it is rounding, and whether it ends the span."""
    t = progress.z[progress.z.size - 1]
    h = min(progress.h[0], rules.longest)
    last = not rules.arc and t + h * (1.0 + 1e-9) >= end
    if last:
        h = end - t
    # Along the arc s has no origin, and t may move by less than its rounding while x jumps.
    least = 0.0 if rules.arc else 4e-16 * abs(t)
    return (h if h > least else 0.0), last


@lean
def passed(status, error, rules, w, end):  # type: ignore[no-untyped-def]
    """Return whether a step that would be accepted goes beyond the end, as one along the arc may."""
    return status == DONE and error <= 1.0 and rules.arc and w[-1] > end


@lean
def retried(landing, progress, h, status, w, end):  # type: ignore[no-untyped-def]
    """Return the step to take in place of h so that it ends at the end, 0 where h was that step.

    The first call, with `landing` false, is for the step that went beyond the end.
    """
    found = progress.landing
    if not landing:
        bracket(found, progress.z[progress.z.size - 1], h, w[-1], end)
    elif found[TRIES] == LANDED or status != DONE:
        return 0.0
    else:
        narrow(found, h, w[-1] - end, end)
    return again(found)


@lean
def arrive(whole, w, rules, progress, h, times, rows, filled):  # type: ignore[no-untyped-def]
    """Take the point in w as the new one, and write it into a row."""
    accept(whole, w, rules, progress, h)
    times[filled] = w[-1]
    for q in range(rows.shape[1]):
        rows[filled, q] = w[q]


@lean
def go_back(blocks, progress, w):  # type: ignore[no-untyped-def]
    """Make w what it was before the step."""
    copy(progress.before, w)
    newton_state_of(blocks[WHOLE]).scalars[VALID] = 0.0
    newton_state_of(blocks[ALGEBRAIC]).scalars[VALID] = 0.0
