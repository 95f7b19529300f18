"""The estimated error of a step, filtered through the Newton matrix that solved its stages; compiled.

h times a combination of the rates is an error of the states as if they were not coupled. Solved with the
Newton matrix it holds for stiff states (Hosea and Shampine 1996, section 4), and its algebraic part is the
change of the algebraic variables that follows from it.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.lu import solve
from psmr.integrate.solve.records import WORST_AT, limits_of, lu_of, newton_state_of, places_of, work_of
from psmr.integrate.solve.vector_kernels import largest_part, position


@lean
def local_errors(block, rates, weights, h):  # type: ignore[no-untyped-def]
    """Write h times the combination of the rates into the block's `defect`: what each state adds to it.

    `rates` (s, n) are by position in w, `weights` (s,) those of the method less those of its companion.
    """
    work, limits = work_of(block), limits_of(block)
    places, defect, n = places_of(block), work.defect, work.known.size
    for i in range(defect.size):
        defect[i] = 0.0
    for j in range(weights.size):
        weight, rate = h * weights[j], rates[j]
        if weight != 0.0:
            for i in range(n):
                defect[i] += weight * rate[position(places, i)]
    for b in range(limits.bounded.size):
        if limits.held[b] != 0:  # the state is its limit, whatever its rates were
            defect[limits.bounded[b]] = 0.0


@lean
def filtered_estimate(block, rates, weights, h, w):  # type: ignore[no-untyped-def]
    """Write the estimated error of each variable of a block into its `update`; see `local_errors`.

    w is the end of the step.
    """
    local_errors(block, rates, weights, h)
    solve(lu_of(block), work_of(block).defect, work_of(block).update)


@lean
def largest_error(block, w, tolerance):  # type: ignore[no-untyped-def]
    """Return the largest entry of `update` relative to tolerance max(1, |w|); its place is kept."""
    largest, at = largest_part(work_of(block).update, places_of(block), w, tolerance)
    newton_state_of(block).counts[WORST_AT] = at
    return largest
