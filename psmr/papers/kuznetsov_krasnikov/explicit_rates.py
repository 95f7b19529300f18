"""The derivative that an explicit variable-step method follows: along time, or along the arc of the solution.

Such a method advances z = (x, t), n + 1 numbers, over an independent variable s. Along time dz/ds = (f, 1).
Along the arc

    dx/ds = f / v,    dt/ds = 1 / v,    v^2 = sum_i (w_i f_i)^2 + w_t^2

so that the weighted length of z has the derivative 1 (Kuznetsov and Krasnikov, equation (13), there with unit
weights). The algebraic equations are solved before every evaluation. A limit that holds a state makes its
derivative zero, and a point beyond a limit is put onto it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.equations import place, project
from psmr.integrate.solve.newton import ALL, DISHONEST
from psmr.integrate.solve.records import SCALE, VALID, WORST_AT, newton_state_of, work_of
from psmr.integrate.solve.status import NOT_FINITE
from psmr.integrate.step.instructions import solve_algebraic

# Places in `Progress.counts`.
ACCEPTED, REJECTED, REVERSALS, EVALUATED, FAILED = range(5)

# The two blocks of such a method.
WHOLE, ALGEBRAIC = 0, 1


class Rules(NamedTuple):
    r"""Settings of an explicit method.

    Attributes
    ----------
    arc
        Whether the independent variable is arc length.
    weights
        (n + 1,) weights of the states and of time in the arc; unused along time.
    relative, absolute
        Tolerances of the local error: it is kept below absolute + relative \|z\| in the root mean square
        over z. With relative = 0 and absolute = 0 every step has the size `longest`.
    longest
        Largest step; s along time, arc length along the arc.
    most
        Steps allowed, rejected ones included.
    policy, tolerance
        Of Newton on the algebraic equations.
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
    before
        Every variable at the last accepted point, while a step is tried.
    landing
        The bracket of `psmr.papers.kuznetsov_krasnikov.embedded`.
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
