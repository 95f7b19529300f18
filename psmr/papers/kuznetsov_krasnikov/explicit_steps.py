"""Steps of explicit methods along time or along the arc of the solution, compiled.

Such a method advances z = (x, t), n + 1 numbers, over an independent variable s. Along time dz/ds = (f, 1).
Along the arc

    dx/ds = f / v,    dt/ds = 1 / v,    v^2 = sum_i (w_i f_i)^2 + w_t^2

so that the weighted length of z has the derivative 1 (Kuznetsov and Krasnikov, equation (13), there with unit
weights). The algebraic equations are solved before every evaluation. A limit that holds a state makes its
derivative zero, and a point beyond a limit is put onto it.

The step that ends exactly at a given time is found by false position: along the arc the time reached is a
result of the step. The step that passes the end is taken again with other sizes until it ends there, so that
the last point is a step of the method and not an interpolation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.equations import place, project
from psmr.integrate.solve.newton import ALL, DISHONEST
from psmr.integrate.solve.records import SCALE, VALID, WORST_AT, copy, newton_state_of, work_of
from psmr.integrate.solve.status import DONE, FULL, NO_ROOM, NOT_FINITE, SPENT
from psmr.integrate.step.instructions import solve_algebraic

# Places in `Progress.counts`.
ACCEPTED, REJECTED, REVERSALS, EVALUATED, FAILED = range(5)

# The two blocks of such a method.
WHOLE, ALGEBRAIC = 0, 1


class Rules(NamedTuple):
    r"""Settings of an explicit method.

    `arc`: whether s is arc length, with the (n + 1,) `weights` of the states and of time. The local error is
    kept below absolute + relative \|z\| in the root mean square over z; with both 0 every step has the size
    `longest`, in s along time, in arc length along the arc. `most` steps are allowed, rejected ones included;
    `policy` and `tolerance` are Newton's on the algebraic equations.
    """

    arc: bool
    weights: np.ndarray
    relative: float
    absolute: float
    longest: float
    most: int
    policy: int
    tolerance: float


class Progress(NamedTuple):
    """What a variable-step loop remembers between calls.

    Attributes
    ----------
    z, rate
        (n + 1,) last accepted point, and dz/ds there.
    direction
        (n + 1,) last accepted change of z, weighted; zero before the first.
    h
        [next step, position s since the start of the span].
    counts
        Accepted and rejected steps, reversals of direction, evaluations, block that failed; see above.
    before, landing
        Every variable at the last accepted point, while a step is tried; the bracket of a step to the end.
    """

    z: np.ndarray
    rate: np.ndarray
    direction: np.ndarray
    h: np.ndarray
    counts: np.ndarray
    before: np.ndarray
    landing: np.ndarray


@lean
def put(whole, algebraic, z, w, rules, progress):  # type: ignore[no-untyped-def]
    """Write z into w, states within their limits, and solve for y; return a status."""
    n = work_of(whole).known.size
    for i in range(n):
        if not np.isfinite(z[i]):
            newton_state_of(whole).counts[WORST_AT] = i
            progress.counts[FAILED] = WHOLE
            return NOT_FINITE
        work_of(whole).known[i] = z[i]
    place(whole, w)
    w[-1] = z[n]
    if rules.policy == DISHONEST:
        newton_state_of(algebraic).scalars[SCALE] = np.nan
    status = solve_algebraic(algebraic, whole, w, rules.policy, rules.tolerance, ALL)
    progress.counts[FAILED] = ALGEBRAIC
    return status


@lean
def follow(whole, w, rules, rate):  # type: ignore[no-untyped-def]
    """Write dz/ds (n + 1,) at the point in w, whose algebraic equations are solved."""
    n = work_of(whole).known.size
    project(whole, w, rate[:n])
    rate[n] = 1.0
    if not rules.arc:
        return
    length = rules.weights[n] * rules.weights[n]
    for i in range(n):
        length += (rules.weights[i] * rate[i]) ** 2
    if not np.isfinite(length):  # the square of a very large derivative
        largest = rules.weights[n]
        for i in range(n):
            largest = max(largest, abs(rules.weights[i] * rate[i]))
        length = (rules.weights[n] / largest) ** 2
        for i in range(n):
            length += (rules.weights[i] * rate[i] / largest) ** 2
        length = np.sqrt(length) * largest
    else:
        length = np.sqrt(length)
    for i in range(n + 1):
        rate[i] /= length


@lean
def begin(blocks, w, rules, progress):  # type: ignore[no-untyped-def]
    """Start a span at the point in w: no history, no direction."""
    whole = blocks[WHOLE]
    n = work_of(whole).known.size
    for i in range(n):
        progress.z[i] = w[i]
    progress.z[n] = w[-1]
    for i in range(n + 1):
        progress.direction[i] = 0.0
    progress.h[1] = 0.0
    newton_state_of(whole).scalars[VALID] = 0.0
    follow(whole, w, rules, progress.rate)
    progress.counts[EVALUATED] += 1


@lean
def error_norm(error, z, new, rules):  # type: ignore[no-untyped-def]
    """Return the root mean square over z (along time: over x) of the error, in units of what is tolerated."""
    size = error.size if rules.arc else error.size - 1
    total = 0.0
    for i in range(size):
        scale = rules.absolute + rules.relative * max(abs(z[i]), abs(new[i]))
        total += (error[i] / scale) ** 2
    return np.sqrt(total / max(size, 1))


@lean
def accept(whole, w, rules, progress, h):  # type: ignore[no-untyped-def]
    """Take the point in w as the new one; count whether the step turned back on the one before it."""
    n = work_of(whole).known.size
    along = 0.0
    for i in range(n + 1):
        new = w[i] if i < n else w[-1]
        weight = rules.weights[i] if rules.arc else 1.0
        change = weight * (new - progress.z[i])
        along += change * progress.direction[i]
        progress.direction[i] = change
        progress.z[i] = new
    if along < 0.0:
        progress.counts[REVERSALS] += 1
    progress.counts[ACCEPTED] += 1
    progress.h[1] += h


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


# Step-size control (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.4): aim
# at this part of the step that would just do, and change it by no more than these factors at a time.
SAFETY, LEAST_CHANGE, MOST_CHANGE = 0.9, 0.2, 10.0

# Where a trial step has no algebraic solution or leaves the finite numbers there is no error estimate to go
# by.
RETREAT = 0.25


class RungeKutta(NamedTuple):
    """An explicit method, its coefficients A and b, and its room.

    `difference` are the weights of the rates in the estimate, without any every step has the size
    progress.h[0]; `power` is 1 / (order of the estimate + 1); `stages` (s + 2, n + 1) are derivatives and the
    estimate, `new` (n + 1,) is the point of a stage.
    """

    A: np.ndarray
    b: np.ndarray
    difference: np.ndarray
    power: float
    stages: np.ndarray
    new: np.ndarray


@lean
def runge_kutta_step(whole, algebraic, method, h, w, rules, progress):  # type: ignore[no-untyped-def]
    """Try a step h from progress.z: point in w, its derivative in stages[s]; return (status, error norm)."""
    A, b, difference, stages, new = method.A, method.b, method.difference, method.stages, method.new
    z, size = progress.z, progress.z.size
    s = b.size
    copy(progress.rate, stages[0])
    for i in range(1, s + 1):
        for q in range(size):
            total = 0.0
            for j in range(i):
                weight = A[i, j] if i < s else b[j]
                total += weight * stages[j, q]
            new[q] = z[q] + h * total
        status = put(whole, algebraic, new, w, rules, progress)
        if status != DONE:
            return status, np.inf
        follow(whole, w, rules, stages[i])
        progress.counts[EVALUATED] += 1
    if difference.size == 0:
        return DONE, 0.0
    for q in range(size):
        total = 0.0
        for j in range(s + 1):
            total += difference[j] * stages[j, q]
        new[q] = w[q] if q < size - 1 else w[-1]
        stages[s + 1, q] = h * total
    return DONE, error_norm(stages[s + 1], z, new, rules)


@lean
def first_step(blocks, power, ahead, w, rules, progress, method):  # type: ignore[no-untyped-def]
    """Put a first step into progress.h[0] (Hairer, Norsett and Wanner I, section II.4); return a status.

    `ahead` is the longest step that makes sense: what is left of the span along time.
    """
    whole, algebraic, stages, new = blocks[WHOLE], blocks[ALGEBRAIC], method.stages, method.new
    z, rate, size = progress.z, progress.rate, progress.z.size
    for q in range(size):
        stages[0, q] = 0.0
    value, slope = error_norm(z, z, z, rules), error_norm(rate, z, z, rules)
    h = min(1e-6 if value < 1e-5 or slope < 1e-5 else 0.01 * value / slope, ahead)
    for q in range(size):
        new[q] = z[q] + h * rate[q]
    copy(w, progress.before)
    status = put(whole, algebraic, new, w, rules, progress)
    curvature = 0.0
    if status == DONE:
        follow(whole, w, rules, stages[1])
        progress.counts[EVALUATED] += 1
        for q in range(size):
            stages[0, q] = stages[1, q] - rate[q]
        curvature = error_norm(stages[0], z, z, rules) / h
    go_back(blocks, progress, w)
    if status == NO_ROOM:
        return status
    steepest = max(slope, curvature)
    better = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** power
    progress.h[0] = min(100.0 * h, better, ahead, rules.longest)
    return DONE


@lean
def choose_step_after_accepted(method, h, error, refused, progress):  # type: ignore[no-untyped-def]
    """Choose the step after an accepted one of h, which was tried longer before if it was `refused`."""
    change = MOST_CHANGE if error == 0.0 else min(MOST_CHANGE, SAFETY * error ** (-method.power))
    progress.h[0] = h * (min(1.0, change) if refused else max(LEAST_CHANGE, change))


@lean
def choose_step_after_refused(method, h, error, progress):  # type: ignore[no-untyped-def]
    """Choose the step to try in place of one of h."""
    part = max(LEAST_CHANGE, SAFETY * error ** (-method.power)) if np.isfinite(error) else RETREAT
    progress.h[0] = h * part
