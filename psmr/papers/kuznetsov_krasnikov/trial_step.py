"""What every explicit variable-step loop does around its step: propose, accept, go back; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.records import VALID, newton_state_of
from psmr.integrate.solve.status import DONE, FULL, SPENT
from psmr.integrate.solve.vector_kernels import copy
from psmr.papers.kuznetsov_krasnikov.explicit_rates import ACCEPTED, ALGEBRAIC, REJECTED, WHOLE, accept
from psmr.papers.kuznetsov_krasnikov.false_position import LANDED, TRIES, again, bracket, narrow


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
    newton_state_of(blocks[WHOLE]).memory[VALID] = 0.0
    newton_state_of(blocks[ALGEBRAIC]).memory[VALID] = 0.0
