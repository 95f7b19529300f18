"""Where Newton begins: a stage extrapolated from points of this step and of the one before it; compiled."""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.records import places_of, work_of
from psmr.integrate.solve.vector_kernels import position
from psmr.integrate.step.interpreter import EVALUATED_BLOCK
from psmr.integrate.step.program_table import BLOCK, COUNT, LIST, NUMBERS


@lean
def _divided(points, row, first, k, h):  # type: ignore[no-untyped-def]
    """Return 1 / prod (s_k - s_j) over the points j that are there, s = (time - t) / h."""
    last, product = points.shape[1] - 1, 1.0
    own = points[row[LIST + k], last]
    for j in range(first, row[COUNT]):
        other = points[row[LIST + j], last]
        if j != k and other == other:
            product *= (own - other) / h
    return 1.0 / product


@lean
def _weight(points, row, first, k, t, h, s, share):  # type: ignore[no-untyped-def]
    """Return the weight of point k at s: that of the polynomial, and `share` of the divided difference."""
    last, value = points.shape[1] - 1, 1.0
    for j in range(first, row[COUNT]):
        other = points[row[LIST + j], last]
        if j != k and other == other:
            value *= s - (other - t) / h
    return (value + share) * _divided(points, row, first, k, h)


@lean
def _share(points, row, numbers, first, t, h):  # type: ignore[no-untyped-def]
    """Return how much of the divided difference makes the weights right in the cubes."""
    last, s, there = points.shape[1] - 1, numbers[row[NUMBERS]], 0
    missing, gained, size = numbers[row[NUMBERS] + 1] * s**3, 0.0, 0.0
    for k in range(first, row[COUNT]):
        own = points[row[LIST + k], last]
        if own == own:
            there += 1
            cube = numbers[row[NUMBERS] + 2 + k] * ((own - t) / h) ** 3
            missing -= _weight(points, row, first, k, t, h, s, 0.0) * cube
            part = _divided(points, row, first, k, h) * cube
            gained, size = gained + part, size + abs(part)
    if there < 4 or not abs(gained) > TUNED.rounding * size:
        return 0.0
    return missing / gained


@lean
def _reach(points, row, numbers, first, t, h, share):  # type: ignore[no-untyped-def]
    """Return the sum of the sizes of the weights."""
    last, total = points.shape[1] - 1, 0.0
    for k in range(first, row[COUNT]):
        own = points[row[LIST + k], last]
        if own == own:
            total += abs(_weight(points, row, first, k, t, h, numbers[row[NUMBERS]], share))
    return total


@lean
def extrapolate(interpreter, row, numbers, t, h, w):  # type: ignore[no-untyped-def]
    r"""Write an extrapolation from the listed points into the variables of a block.

    At s = (time - t) / h a point has the value w + w' s h + w'' s^2 h^2 / 2 + cube w''' s^3 h^3 + ... A
    solution has cube = 1/6, a stage of a Runge-Kutta method has not, so that a polynomial through stages is
    off by that. From four points on the weights are right in 1, s, s^2, the third-order terms as they are,
    and further powers, as many as there are points left; those of three are the parabola's.

    A point whose time is NaN is not there. Where the step is much longer than the last one weights are large
    and amplify what Newton left in the points: then points are left out, the first ones first.
    """
    block = interpreter.blocks[row[BLOCK]]
    points, places, size = interpreter.points, places_of(block), work_of(block).update.size
    last, waiting, weight_of_it, anew = w.size - 1, -1, 0.0, True
    first, s = 0, numbers[row[NUMBERS]]
    share = _share(points, row, numbers, first, t, h)
    while _reach(points, row, numbers, first, t, h, share) > TUNED.largest_weights:
        first += 1
        share = _share(points, row, numbers, first, t, h)
    for k in range(first, row[COUNT]):
        own = points[row[LIST + k], last]
        if own != own:
            continue
        weight = _weight(points, row, first, k, t, h, s, share)
        if waiting < 0:  # two at a time: reading and writing is all there is to do
            waiting, weight_of_it = row[LIST + k], weight
            continue
        one, two = points[waiting], points[row[LIST + k]]
        waiting = -1
        for q in range(size):
            at = position(places, q)
            value = weight_of_it * one[at] + weight * two[at]
            w[at] = value if anew else w[at] + value
        anew = False
    if waiting >= 0:
        one = points[waiting]
        for q in range(size):
            at = position(places, q)
            value = weight_of_it * one[at]
            w[at] = value if anew else w[at] + value
    interpreter.state[EVALUATED_BLOCK] = -1
