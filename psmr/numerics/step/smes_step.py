"""The macro step of `psmr.numerics.schemes.smes.Smes`, compiled."""

from __future__ import annotations

import numpy as np

from psmr.dae.compile.cache import compiled
from psmr.dae.compile.kernels import residual
from psmr.numerics.solve.block import RESIDUALS, SCALE, VALID, WORST_AT
from psmr.numerics.solve.newton import DISHONEST, DONE, NOT_FINITE, follow_ramps, place, projected
from psmr.numerics.step.one_step import ALGEBRAIC, BLOCK, WHOLE, close


@compiled
def _plain_micro_steps(whole, w, t, delta, count, F, n, within):  # type: ignore[no-untyped-def]
    """Take micro steps where there is neither algebraic equation nor limit: nothing but the derivative."""
    for j in range(count):
        follow_ramps(whole, w)
        residual(whole.table, w, F)
        for q in range(n):
            w[q] += delta * F[q]
        w[-1] = t + (j + 1) * delta
        if within.shape[0] > 0:
            for q in range(n):
                within[j, q] = w[q]


@compiled
def micro_steps(whole, algebraic, w, delta, count, rate, policy, tolerance, within):  # type: ignore[no-untyped-def]
    """Take `count` forward Euler steps of delta in s from w; each fills a row of `within` that has any."""
    n, t = whole.known.size, w[-1]
    if algebraic.update.size == 0 and whole.bounded.size == 0:
        _plain_micro_steps(whole, w, t, delta, count, whole.F, n, within)
        whole.counts[RESIDUALS] += count
        whole.memory[VALID] = 0.0
        return DONE
    for j in range(count):
        projected(whole, w, rate)
        for q in range(n):
            whole.known[q] = w[q] + delta * rate[q]
        w[-1] = t + (j + 1) * delta
        place(whole, w)
        status = close(algebraic, whole, w, policy, tolerance)
        if status != DONE:
            return status
        if within.shape[0] > 0:
            within[j, :] = w[: within.shape[1]]
    return DONE


@compiled
def macro_step(  # type: ignore[no-untyped-def]
    whole, algebraic, A, b, c, back, h, delta, micro, w, first, rates, policy, tolerance, within, none
):
    """Advance w by h in s; return a status. `first` keeps U_1 (n,), `rates` (s, n) the stage derivatives."""
    n, t = whole.known.size, w[-1]
    if policy == DISHONEST:
        algebraic.memory[SCALE] = np.nan
    status = micro_steps(whole, algebraic, w, delta, micro, rates[0], policy, tolerance, within)
    if status != DONE:
        return BLOCK * ALGEBRAIC + status
    first[:] = w[:n]
    projected(whole, w, rates[0])
    for i in range(1, b.size):
        along = (c[i] * h - back[i] * micro * delta) / c[i]
        whole.known[:] = first
        for j in range(i):
            if A[i, j] != 0.0:
                for q in range(n):
                    whole.known[q] += along * A[i, j] * rates[j, q]
        w[-1] = t + c[i] * h - (back[i] - 1.0) * micro * delta
        place(whole, w)
        status = close(algebraic, whole, w, policy, tolerance)
        if status == DONE:
            status = micro_steps(whole, algebraic, w, delta, micro, rates[i], policy, tolerance, none)
        if status != DONE:
            return BLOCK * ALGEBRAIC + status
        projected(whole, w, rates[i])
    whole.known[:] = first
    for i in range(b.size):
        for q in range(n):
            whole.known[q] += (h - micro * delta) * b[i] * rates[i, q]
    w[-1] = t + h
    place(whole, w)
    status = close(algebraic, whole, w, policy, tolerance)
    return DONE if status == DONE else BLOCK * ALGEBRAIC + status


@compiled
def run_smes(  # type: ignore[no-untyped-def]
    whole, algebraic, A, b, c, back, delta, micro, room, times, steps, ratios, first, last, w, kept, rates,
    policy, tolerance, every, record,
):  # fmt: skip
    """Take macro steps first..last-1 from times[k] with steps[k]; see `run_single`.

    A step that is too short for its micro steps (the last one before a change or the end) is all micro steps,
    ratios[k] equal ones. With `every` a step fills micro + 1 rows of `record`.
    """
    n, size = whole.known.size, record.shape[1]
    w0, none = w.copy(), np.empty((0, size))
    for k in range(first, last):
        w[-1] = times[k]
        w0[:] = w
        whole.memory[VALID] = 0.0
        h, row = steps[k], 1 + k * (micro + 1) if every else k + 1
        if micro * delta < room * h:
            within = record[row : row + micro] if every else none
            status = macro_step(
                whole,
                algebraic,
                A,
                b,
                c,
                back,
                h,
                delta,
                micro,
                w,
                kept,
                rates,
                policy,
                tolerance,
                within,
                none,
            )
        else:
            count = ratios[k]
            within = record[row : row + count] if every else none
            status = micro_steps(whole, algebraic, w, h / count, count, rates[0], policy, tolerance, within)
            status = status if status == DONE else BLOCK * ALGEBRAIC + status
        for q in range(n):
            if status == DONE and not np.isfinite(w[q]):
                whole.counts[WORST_AT] = q
                status = BLOCK * WHOLE + NOT_FINITE
        if status != DONE:
            w[:] = w0
            whole.memory[VALID] = 0.0
            algebraic.memory[VALID] = 0.0
            return k, status
        record[row + ratios[k] - 1 if every else row, :] = w[:size]
    return last, DONE
