"""From the estimated error of a step to the next step; compiled.

A proportional-integral controller (Gustafsson, ACM Trans. Math. Software 17, 1991). Errors are in units of
the tolerance; `order` is the power of the step with which the estimate falls.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED

# The error before the first step of a span.
NONE_BEFORE = 0.0


@lean
def after_accepted(order, h, error, before, refused):  # type: ignore[no-untyped-def]
    """Return the next step in s after one that was accepted.

    `before` is the error of the accepted step before it, `NONE_BEFORE` after an event: then the error alone
    decides. `refused` says that the step was tried longer before, so that the next one is no longer either.
    """
    if before == NONE_BEFORE:
        change = TUNED.safety * max(error, TUNED.first_change**-order) ** (-1.0 / order)
    else:
        error, before = max(error, TUNED.least_error), max(before, TUNED.least_error)
        change = TUNED.safety * error ** (-TUNED.proportional / order) * before ** (TUNED.integral / order)
        change = min(TUNED.largest_change, max(1.0 / TUNED.largest_change, change))
    return h * (min(1.0, change) if refused else change)


@lean
def after_rejected(order, h, error):  # type: ignore[no-untyped-def]
    """Return the step in s with which one is taken again whose error is too large, or is not known (inf)."""
    if not error < float("inf"):
        return TUNED.retreat * h
    return h * max(1.0 / TUNED.largest_change, min(TUNED.safety, TUNED.safety * error ** (-1.0 / order)))


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
    if wanted < h or wanted > TUNED.worth_a_matrix * h:
        return wanted
    return planned if last else h


@lean
def remembered(error, before):  # type: ignore[no-untyped-def]
    """Return the error to keep for the next step; after the first of a span, which was a guess, it is 1."""
    return error if before != NONE_BEFORE else 1.0
