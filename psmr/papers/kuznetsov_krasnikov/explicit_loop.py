"""The one loop of the explicit methods along time or arc, Runge-Kutta's and Adams'; compiled."""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.records import VALID, newton_state_of
from psmr.integrate.solve.status import DONE, NO_ROOM, VANISHED
from psmr.integrate.solve.vector_kernels import copy
from psmr.papers.kuznetsov_krasnikov.adams import (
    adams_step,
    choose_order_after_accepted,
    choose_order_after_refused,
    estimates,
)
from psmr.papers.kuznetsov_krasnikov.embedded import (
    choose_step_after_accepted,
    choose_step_after_refused,
    runge_kutta_step,
)
from psmr.papers.kuznetsov_krasnikov.explicit_rates import ALGEBRAIC, EVALUATED, REJECTED, WHOLE, follow
from psmr.papers.kuznetsov_krasnikov.trial_step import arrive, exhausted, go_back, passed, proposed, retried


@lean
def run_explicit(blocks, method, history, end, w, rules, progress, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end or the rows are full; return (rows filled, status).

    `method` is a `RungeKutta`; where there is a `history` it is Adams' method that steps.
    """
    whole, algebraic = blocks[WHOLE], blocks[ALGEBRAIC]
    n, controlled = progress.z.size - 1, history is not None or method.difference.size > 0
    filled, refused, reason = 0, False, DONE
    while progress.z[n] < end:
        status = exhausted(rules, progress, filled, times.size)
        if status != DONE:
            return filled, status
        h, last = proposed(rules, progress, end)
        if h == 0.0:
            return filled, VANISHED if reason == DONE else reason
        copy(w, progress.before)
        error, landing, ahead = np.inf, False, h
        while ahead != 0.0:
            h = ahead
            if history is None:
                status, estimate = runge_kutta_step(whole, algebraic, method, h, w, rules, progress)
                error = error if landing else estimate
            else:
                status = adams_step(whole, algebraic, h, w, rules, progress, history)
                if status == DONE and not landing:
                    error = estimates(history, h, progress, rules)
            ahead = 0.0
            if landing or passed(status, error, rules, w, end):
                ahead = retried(landing, progress, h, status, w, end)
                landing = last = True
        if status == DONE and error <= 1.0:
            if last:
                w[-1] = end
            if history is None:
                copy(method.stages[method.b.size], progress.rate)
            else:
                newton_state_of(whole).scalars[VALID] = 0.0
                follow(whole, w, rules, progress.rate)
                progress.counts[EVALUATED] += 1
            arrive(whole, w, rules, progress, h, times, rows, filled)
            filled += 1
            if controlled and not last:
                if history is None:
                    choose_step_after_accepted(method, h, error, refused, progress)
                else:
                    choose_order_after_accepted(history, h, progress, rules)
            refused, reason = False, DONE
            continue
        go_back(blocks, progress, w)
        if status == NO_ROOM or not controlled:
            return filled, status
        progress.counts[REJECTED] += 1
        refused, reason = True, status
        if history is None:
            choose_step_after_refused(method, h, error, progress)
        else:
            choose_order_after_refused(history, h, error, progress)
    return filled, DONE
