"""From the estimated error of a step to the next step; compiled.

A proportional-integral controller (Gustafsson, ACM Trans. Math. Software 17, 1991). Errors are in units of
the tolerance; `order` is the power of the step with which the estimate falls.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean

# Exponents, times the order, of the error of this step and of the last one; the part of the step that would
# just do; the largest changes at a time.
PROPORTIONAL, INTEGRAL, SAFETY, LEAST_CHANGE, MOST_CHANGE = 0.7, 0.4, 0.9, 0.2, 5.0

# The largest change after the first step of a span, which is short since nothing was known before it.
FIRST_CHANGE = 1e3

# Below this error a step says no more than that it may be much longer.
LEAST_ERROR = 1e-4

# The error before the first step of a span.
NONE_BEFORE = 0.0

# Where a step has no solution there is no estimate to go by.
RETREAT = 0.25

# A step is kept, and with it the Newton matrix, where the controller would lengthen it by less than this. The
# error that lengthens a kept step is far below the tolerance, and the error of a run is that of its worst
# steps: at equal error 1.3 costs 3 to 5 % less than 1.2 (measured: NPCC, WECC, New England, 1,354 buses).
KEEP = 1.3


@lean
def after_accepted(order, h, error, before, refused):  # type: ignore[no-untyped-def]
    """Return the next step in s after one that was accepted.

    `before` is the error of the accepted step before it, `NONE_BEFORE` after an event: then the error alone
    decides. `refused` says that the step was tried longer before, so that the next one is no longer either.
    """
    if before == NONE_BEFORE:
        change = SAFETY * max(error, FIRST_CHANGE**-order) ** (-1.0 / order)
    else:
        error, before = max(error, LEAST_ERROR), max(before, LEAST_ERROR)
        change = SAFETY * error ** (-PROPORTIONAL / order) * before ** (INTEGRAL / order)
        change = min(MOST_CHANGE, max(LEAST_CHANGE, change))
    return h * (min(1.0, change) if refused else change)


@lean
def after_rejected(order, h, error):  # type: ignore[no-untyped-def]
    """Return the step in s with which one is taken again whose error is too large, or is not known (inf)."""
    if not error < float("inf"):
        return RETREAT * h
    return h * max(LEAST_CHANGE, min(SAFETY, SAFETY * error ** (-1.0 / order)))


@lean
def within(t, h, end):  # type: ignore[no-untyped-def]
    """Return (step in s from t that goes no further than `end`, whether it ends there).

    Two equal steps stand in place of a long one and a rest.
    """
    if t + h * (1.0 + 1e-9) >= end:
        return end - t, True
    return (0.5 * (end - t) if t + 2.0 * h > end else h), False


@lean
def kept(wanted, h, last, planned):  # type: ignore[no-untyped-def]
    """Return the next step after one of h in s: h again where the controller wants little more.

    The last step of a span was cut short and says nothing of the next: that stays as it was `planned`.
    """
    if wanted < h or wanted > KEEP * h:
        return wanted
    return planned if last else h


@lean
def remembered(error, before):  # type: ignore[no-untyped-def]
    """Return the error to keep for the next step; after the first of a span, which was a guess, it is 1."""
    return error if before != NONE_BEFORE else 1.0
