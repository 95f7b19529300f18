"""What a step of the backward differentiation formulae knows and asks: points, weights, errors; compiled.

`psmr.integrate.differentiation` has the formulae. Each variable, state or algebraic, is continued by the
polynomial P through its last points. What the formula leaves of the states is

    (h S - alpha) (x - P),    S = sum_j 1 / (t - t_j) over the points of P,

the first term of the error of a step whatever the distances of the points: an estimate that costs no solve.
An algebraic variable errs as far as the states do, and differs from P as they do where the equations are
smooth. Where they have a kink it differs by more and errs by nothing: what the states' errors make of it, a
solve with the Newton matrix, decides where its difference does not allow the step.

Orders 3 to 5 make modes grow that swing with little damping where h times their frequency is about 1 to 9, as
those of a network or of a converter's filter do: to the size of the tolerance, at which the error control
holds them and with them the step. The sign is that the step does not grow though order 2 would allow it as
well, which it never does where the error is that of a smooth solution. Then order 2 is taken, and none above
it until the step is another one.

The order of the next step is the one that allows the longest (Shampine and Reichelt, SIAM J. Sci. Comput. 18,
1997; Brenan, Campbell and Petzold, section 5.2.4): differences over one point more and one less estimate the
errors of the orders above and below.

At order 2 steps are many where the tolerance is small, and so is the sum of their errors: it would go with
the 2/3 power of the tolerance. Where order 2 is taken for long, its errors count by so much more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.constants import BDF
from psmr.integrate.control.error_size import SO_FAR, largest_error
from psmr.integrate.control.switching import Switching
from psmr.integrate.differentiation import FORMULAE, MOST_ORDER
from psmr.integrate.solve.equations import project
from psmr.integrate.solve.lu import solve
from psmr.integrate.solve.records import copy, limits_of, lu_of, real_of, whole_of, work_of
from psmr.integrate.step.interpreter import EVALUATED_BLOCK
from psmr.integrate.step.program_table import AT_START

# Points that are kept: those of order 5, one more for the order above, and room to a power of two.
DEPTH = 8

# The highest order that damps every mode at every step.
A_STABLE = 2

# Places in `Bdf.whole`: points there are, the place of the youngest, the order, steps of one size and order,
# refusals in a row, steps that may go without a second iteration, whether order and step still rise from
# their start, steps of the pair since the last kink, how often the step did not grow (of late less how often
# it did), and accepted steps by order, those of the pair first.
POINTS, YOUNGEST, ORDER, ALIKE, REFUSED, UNCHECKED, RISING, SETTLED, STAGNANT, TAKEN = range(10)
WHOLE_NUMBERS = TAKEN + MOST_ORDER + 1
# Places in `Bdf.real`: next step in s, contraction of the matrix, step in s for which the weights are known,
# the step that was broken off for a kink, and the step in s from which A-stable orders alone are taken, 0 for
# none.
SIZE, CONTRACTS, KNOWN_FOR, BROKEN, HELD_FROM = range(5)
# Rows of `Bdf.weights`: values of P, the known part K, and those of another order.
VALUE, KNOWN, OTHER = range(3)


class Bdf(NamedTuple):
    """What the formulae remember of a run on a system.

    `values`, `times`: (DEPTH, n + m) last points, in a ring, and their times in s.
    `predicted`: (n + m,) P at the end of the step.
    `weights`: Of the points, the youngest first; see the names above.
    `leading`, `constants`: Leading coefficient and error constant of each order.
    `orders`: Least and highest order.
    `whole`, `real`: Numbers that outlive a step; see the names above.
    `tolerance`, `newton`: Largest estimated error of a step, and Newton's, in a disturbance of size 1.
    `held_weight`: By how much errors of order 2 count more where no order above it is taken.
    `kinks`: See `psmr.integrate.control.switching.Switching`: of a step with no stage within.
    `stage`, `node`: Place of a stage within the pair's step, and at which part of it that is.
    """

    values: np.ndarray
    times: np.ndarray
    predicted: np.ndarray
    weights: np.ndarray
    leading: np.ndarray
    constants: np.ndarray
    orders: np.ndarray
    whole: np.ndarray
    real: np.ndarray
    tolerance: float
    newton: float
    held_weight: float
    kinks: Switching
    stage: int
    node: float


def bdf_for(system: System, tolerance: float, switching: Switching) -> Bdf:
    """Return what is remembered before a run; `tolerance` is that of a step, `switching` that of the pair."""
    size = system.n + system.m
    near = 1 + int(np.abs(switching.parts[1 : switching.end] - 0.5).argmin())
    return Bdf(
        values=np.zeros((DEPTH, size)),
        times=np.zeros(DEPTH),
        predicted=np.zeros(size),
        weights=np.zeros((OTHER + 1, DEPTH)),
        leading=np.array([np.nan, *(formula.leading for formula in FORMULAE)]),
        constants=np.array([np.nan, *(formula.constant for formula in FORMULAE)]),
        orders=np.array([1, MOST_ORDER]),
        whole=np.zeros(WHOLE_NUMBERS, np.int64),
        real=np.zeros(HELD_FROM + 1),
        tolerance=float(tolerance),
        newton=min(BDF.newton_share * tolerance, BDF.loosest_tolerance),
        held_weight=max(1.0, (BDF.held_tolerance / tolerance) ** (1.0 / A_STABLE)),
        kinks=kinks_of(switching),
        stage=int(switching.stages[near]),
        node=float(switching.parts[near]),
    )


def kinks_of(switching: Switching) -> Switching:
    """Return what a step needs to see kinks that has a start and an end alone, from that of the pair.

    What kinks make of such a step is what the end is off by: a itself times the shares of the rates.
    """
    own = {
        name: np.zeros_like(getattr(switching, name)) for name in ("place", "at", "listed", "room", "rows")
    }
    return switching._replace(
        stages=np.array([AT_START, AT_START]),
        parts=np.array([0.0, 1.0]),
        middle=1,
        end=1,
        middle_stage=0,
        values=np.zeros((2, switching.place.size)),
        seen=np.zeros(2, np.uint8),
        follows=np.zeros(1, np.uint8),
        gamma=1.0,
        missed=1.0,
        behind=0.0,
        **own,
    )


def forget_points(bdf: Bdf) -> None:
    """Begin anew: the pair takes the next steps."""
    bdf.whole[POINTS] = bdf.whole[SETTLED] = 0


@lean
def back(bdf, j):  # type: ignore[no-untyped-def]
    """Return the place of the point j before the youngest."""
    return (bdf.whole[YOUNGEST] - j) & (DEPTH - 1)


@lean
def store_point(bdf, t, w):  # type: ignore[no-untyped-def]
    """Take the point in w at t as the youngest."""
    whole = bdf.whole
    at = (whole[YOUNGEST] + 1) & (DEPTH - 1)
    copy(w, bdf.values[at])
    bdf.times[at] = t
    whole[YOUNGEST], whole[POINTS] = at, min(DEPTH, whole[POINTS] + 1)


@lean
def weigh(bdf, count, t, h, alpha, row):  # type: ignore[no-untyped-def]
    """Write the weights of the last `count` points in P(t) into a row, with an alpha those in K behind it."""
    times, weights = bdf.times, bdf.weights
    for j in range(count):
        own, value, slope = times[back(bdf, j)], 1.0, 0.0
        for i in range(count):
            if i != j:
                other = times[back(bdf, i)]
                value *= (t - other) / (own - other)
                slope += h / (t - other)
        weights[row, j] = value
        if alpha > 0.0:
            weights[row + 1, j] = value - value * slope / alpha


@lean
def combine_points(bdf, count, row, into):  # type: ignore[no-untyped-def]
    """Write the first entries of the combination of the last points with a row of weights, whose sum is 1.

    What was equal at all of them is it exactly: what is out of service stays as it is.
    """
    values, weights, first = bdf.values, bdf.weights[row], bdf.values[back(bdf, 0)]
    for i in range(into.size):
        into[i] = first[i]
    j = 1
    while j < count:  # two at a time: reading and writing is all there is to do
        u, one = weights[j], values[back(bdf, j)]
        v, two = (weights[j + 1], values[back(bdf, j + 1)]) if j + 1 < count else (0.0, one)
        for i in range(into.size):
            into[i] += u * (one[i] - first[i]) + v * (two[i] - first[i])
        j += 2


@lean
def difference(w, other, unit):  # type: ignore[no-untyped-def]
    """Return the largest |w - other| / (unit max(1, |w|)), NaN where one is NaN."""
    largest = 0
    for i in range(other.size):
        largest = max(largest, whole_of(abs(w[i] - other[i]) / max(1.0, abs(w[i]))))
    return real_of(largest) / unit


@lean
def weight(bdf, q):  # type: ignore[no-untyped-def]
    """Return by how much the error of order q counts."""
    return bdf.held_weight if q == A_STABLE and bdf.real[HELD_FROM] > 0.0 else 1.0


@lean
def left_by(bdf, q, t, h):  # type: ignore[no-untyped-def]
    """Return which part of w - P the formula leaves, for points at the distances that they have."""
    total = 0.0
    for j in range(q + 1):
        total += h / (t - bdf.times[back(bdf, j)])
    furthest = t - bdf.times[back(bdf, q)]
    return weight(bdf, q) * max(abs(total - bdf.leading[q]), bdf.constants[q] * (q + 1) * h / furthest)


@lean
def next_error(bdf, q, t, h, found):  # type: ignore[no-untyped-def]
    """Return the error of order q with points h apart, where w - P over the points there are is `found`."""
    part = weight(bdf, q) * bdf.constants[q]
    for j in range(q + 1):
        part *= (j + 1) * h / (t - bdf.times[back(bdf, j)])
    return part * found


@lean
def algebraic_error(block, bdf, w, part, unit):  # type: ignore[no-untyped-def]
    """Return the largest error of all variables that follows from `part` of what the states differ from P."""
    work, limits, predicted = work_of(block), limits_of(block), bdf.predicted
    defect, n = work.defect, work.known.size
    for i in range(n):
        defect[i] = part * (w[i] - predicted[i])
    for i in range(n, defect.size):
        defect[i] = 0.0
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:
            defect[limits.bounded[b]] = 0.0
    solve(lu_of(block), defect, work.update)
    return largest_error(block, w, unit)


@lean
def begin_points(interpreter, control, bdf, h, w):  # type: ignore[no-untyped-def]
    """Make points of the step of the pair, of h in s, that ended at the point in w, and choose the next step.

    States are on the cubic through their values and rates at both ends, algebraic variables on the parabola
    through their values there and at a stage. Its third derivative gives the step of order 2.
    """
    block, start, rates = interpreter.blocks[0], interpreter.points[AT_START], interpreter.rates
    whole, real = bdf.whole, bdf.real
    n, last, t = work_of(block).known.size, rates.shape[0] - 1, w[w.size - 1]
    largest = 0.0
    for i in range(n):
        third = 6.0 * (2.0 * (start[i] - w[i]) + h * (rates[0, i] + rates[last, i]))
        largest = max(largest, abs(third) / max(1.0, abs(w[i])))
    part = BDF.longest_first_step
    if largest > 0.0:
        allowed = BDF.first_step_share * bdf.tolerance * control.disturbance.size[SO_FAR]
        part = min(part, (allowed / (bdf.constants[2] * largest)) ** (1.0 / 3.0))
    part = max(part, BDF.shortest_first_step)
    whole[POINTS] = 0
    for k in range(3 if 3.0 * part <= 1.0 else 2, 0, -1):
        _interpolated(
            bdf, start, rates[0], interpreter.points[bdf.stage], w, rates[last], n, h, 1.0 - k * part
        )
        bdf.times[whole[YOUNGEST]] = t - k * part * h
    store_point(bdf, t, w)
    whole[ORDER] = min(max(2, bdf.orders[0]), bdf.orders[1])
    whole[ALIKE], whole[REFUSED], whole[UNCHECKED], whole[RISING], whole[STAGNANT] = 2, 0, 0, 1, 0
    real[SIZE], real[KNOWN_FOR], real[BROKEN], real[HELD_FROM] = part * h, 0.0, h, 0.0
    project(block, w, rates[0])
    interpreter.state[EVALUATED_BLOCK] = -1
    bdf.kinks.seen[0] = 0
    for k in range(control.outliving.shape[0]):
        interpreter.points[control.outliving[k, 1], w.size - 1] = np.nan


@lean
def _interpolated(bdf, start, first, middle, end, last, n, h, s):  # type: ignore[no-untyped-def]
    """Store the point at the part s of a step of the pair as the youngest."""
    at = (bdf.whole[YOUNGEST] + 1) & (DEPTH - 1)
    bdf.whole[YOUNGEST] = at
    bdf.whole[POINTS] += 1
    row, left, node = bdf.values[at], 1.0 - s, bdf.node
    a, b, c = (1.0 + 2.0 * s) * left * left, s * left * left * h, -s * s * left * h
    for i in range(n):
        row[i] = end[i] + a * (start[i] - end[i]) + b * first[i] + c * last[i]
    a, b = (s - node) * (s - 1.0) / node, s * (s - 1.0) / (node * (node - 1.0))
    for i in range(n, row.size):
        row[i] = end[i] + a * (start[i] - end[i]) + b * (middle[i] - end[i])


@lean
def choose_order(bdf, size, found, t, h, w, unit):  # type: ignore[no-untyped-def]
    """Return (how much longer the next step may be, its order, whether it may be longer at all by now).

    The step of h to t was accepted and is not among the points yet; `found` is the difference w - P by which
    its order is judged, in units of the tolerance, the first `size` variables are those of the other orders.
    `predicted` is lost.
    """
    whole, q, out = bdf.whole, bdf.whole[ORDER], bdf.predicted[:size]
    error = max(next_error(bdf, q, t, h, found), BDF.least_error)
    best, order = BDF.safety * error ** (-1.0 / (q + 1.0)), q
    due = whole[ALIKE] > q or whole[RISING] != 0 or (best > BDF.early_increase and whole[ALIKE] > 1)
    if not due:
        return best, order, False
    if q > bdf.orders[0] and best < BDF.largest_increase:
        weigh(bdf, q, t, h, 0.0, OTHER)
        combine_points(bdf, q, OTHER, out)
        error = max(next_error(bdf, q - 1, t, h, difference(w, out, unit)), BDF.least_error)
        ratio = BDF.safety_below * error ** (-1.0 / q)
        if ratio > best:
            best, order = ratio, q - 1
    if q < highest_order(bdf, h) and whole[POINTS] >= q + 2:
        weigh(bdf, q + 2, t, h, 0.0, OTHER)
        combine_points(bdf, q + 2, OTHER, out)
        error = max(next_error(bdf, q + 1, t, h, difference(w, out, unit)), BDF.least_error)
        ratio = BDF.safety_above * error ** (-1.0 / (q + 2.0))
        if ratio > best:
            best, order = ratio, q + 1
    held = bdf.real[HELD_FROM] > 0.0
    stays = best < BDF.least_increase and (held or order > A_STABLE >= bdf.orders[0])
    whole[STAGNANT] = max(0, whole[STAGNANT] + (1 if stays else -1))
    if held:  # where its errors hold the step by now, an order above may be better
        if whole[STAGNANT] >= BDF.held_choices:
            bdf.real[HELD_FROM], whole[STAGNANT] = 0.0, 0
        return best, order, True
    if stays and whole[STAGNANT] >= BDF.stagnant_choices:
        weigh(bdf, A_STABLE + 1, t, h, 0.0, OTHER)
        combine_points(bdf, A_STABLE + 1, OTHER, out)
        error = next_error(bdf, A_STABLE, t, h, difference(w, out, unit))
        if error < BDF.held_error:
            bdf.real[HELD_FROM], whole[STAGNANT] = h, 0
            error *= bdf.held_weight
            return BDF.safety * max(error, BDF.least_error) ** (-1.0 / (A_STABLE + 1.0)), A_STABLE, True
    return best, order, True


@lean
def highest_order(bdf, h):  # type: ignore[no-untyped-def]
    """Return the highest order that may follow a step of h."""
    held = bdf.real[HELD_FROM]
    if held > 0.0 and held < BDF.held_range * h and h < BDF.held_range * held:
        return min(A_STABLE, bdf.orders[1])
    if held > 0.0:
        bdf.real[HELD_FROM], bdf.whole[STAGNANT] = 0.0, 0
    return bdf.orders[1]


@lean
def plan_step(bdf, h, best, order, due):  # type: ignore[no-untyped-def]
    """Set size and order of the next step after one of h, from what `choose_order` returned."""
    whole, real, q = bdf.whole, bdf.real, bdf.whole[ORDER]
    longer = best >= BDF.least_increase
    if due and longer and order == q and best < BDF.rising_increase:
        whole[RISING] = 0
    if due and (longer or order != q):
        real[SIZE] = h * min(best, BDF.largest_increase) if longer or best < BDF.kept_decrease else h
        whole[ORDER], whole[ALIKE] = order, 0
        if order != q:
            real[KNOWN_FOR] = 0.0
    elif best < BDF.early_decrease:
        real[SIZE], whole[ALIKE] = h * max(BDF.largest_decrease, best), 0
    elif due:
        whole[RISING] = 0
