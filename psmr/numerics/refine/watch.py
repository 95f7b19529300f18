"""The loop of `VariableStep` under watch: whether steps of their own may pay for single devices; compiled.

So many steps for all in a row, none of them longer than another by more than a factor, say that something may
stay fast: what an event excites dies out, the steps grow, and steps of their own for what they are held short
by gain nothing at equal error (tests/benchmarks/self_adjusting.py). Before that nothing is asked of single
devices. From then on accepted steps are asked which sets of devices their errors are of, and whether a split
of the work would be worth its price if it lasted: one in `PATIENCE`, and each while it would or where steps
have become shorter, since something may have woken up. Neither changes a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced
from psmr.dae.compile.reference import by_reference
from psmr.numerics.refine.atoms import Atoms
from psmr.numerics.refine.split import PER_STEP, WORTH, Bins, add, bins, clear, promise
from psmr.numerics.solve.passes import copy, largest_part, position
from psmr.numerics.solve.records import matrix_of, places_of, work_of
from psmr.numerics.solve.status import DONE, FULL
from psmr.numerics.step.variable import take_step

# Steps in a row that are looked at together, and by which factor they may differ.
LOOK, ALIKE = 20, 2.0

# So many common steps in a row must have been worth a split before one is made; after one that was not, the
# next that is asked is so many further on.
PATIENCE = 5

# Places in `Watch.state`: what is watched, steps to the next decision, steps in a row in which a split was
# worth its price, whether there is something to decide.
WATCHED, LEFT, STEADY, DUE = range(4)

# What is watched: the lengths of the steps, with nothing known of sets; the errors of the sets.
LENGTHS, SETS = range(2)

# Places in `Watch.lengths`.
SHORTEST, LONGEST = range(2)


class Watch(NamedTuple):
    """What is remembered of the last steps.

    Attributes
    ----------
    state
        Whole numbers, see the names above.
    lengths
        Shortest and longest step in s since the last decision.
    set_of, sizes
        (n + m,) sets of the variables, and variables of each set; see `psmr.numerics.refine.atoms`.
    error
        (sets,) room for errors.
    bins
        See `psmr.numerics.refine.split`.
    """

    state: np.ndarray
    lengths: np.ndarray
    set_of: np.ndarray
    sizes: np.ndarray
    error: np.ndarray
    bins: Bins


def watch_for() -> Watch:
    """Return a watch over the lengths of the steps, which knows of no sets."""
    none, ends = np.zeros(0, np.int64), np.array([np.inf, 0.0])
    state = np.array([LENGTHS, LOOK, 0, 0], np.int64)
    return Watch(state, ends, np.zeros(0, np.uint32), none, np.zeros(0), bins())


def with_sets(watch: Watch, atoms: Atoms) -> Watch:
    """Return the watch with sets that it can ask for their errors."""
    return watch._replace(set_of=atoms.of_variable, sizes=atoms.sizes, error=np.zeros(atoms.sizes.size))


def look_anew(watch: Watch, what: int) -> None:
    """Watch something from the next step on."""
    watch.state[:] = what, LOOK, 0, 0
    watch.lengths[:] = np.inf, 0.0


@lean
def errors_of_sets(block, set_of, tolerance, error, w):  # type: ignore[no-untyped-def]
    """Write the largest error among the variables of each set, in units of the tolerance.

    The block's `update` is the estimate; `error` must be zero for the sets that have variables in the block.
    """
    update, variables, scale = work_of(block).update, matrix_of(block).variables, 1.0 / tolerance
    for i in range(update.size):
        v = variables[i]
        size = abs(update[i]) * scale
        value = abs(w[v])
        if value > 1.0:
            size /= value
        a = set_of[v]
        if not size <= error[a]:
            error[a] = size


@lean
def may_pay(block, order, w):  # type: ignore[no-untyped-def]
    """Return whether a split would be worth it if every variable were a device of its own, errors aside.

    With the N variables in the order of the steps u that they need, relative to the most, it is where
    u_k + k / N < 1 / WORTH for some k: where no more than k of them need as much as 1 / WORTH - k / N. Split
    by devices, no fewer variables are refined for the same u, and errors only take from the gain: where this
    says no, no `promise` is above WORTH. Nor is one where a step of a single row costs too much: a hundred
    variables are too few for any split.
    """
    update, places = work_of(block).update, places_of(block)
    if update.size + PER_STEP <= WORTH * (1.0 + PER_STEP):
        return False
    largest, _ = largest_part(update, places, w, 1.0)
    before = 0
    while WORTH * before < update.size:
        least, count = (1.0 / WORTH - before / update.size) ** order * largest, 0
        for i in range(update.size):
            if abs(update[i]) >= least * max(1.0, abs(w[position(places, i)])):
                count += 1
        if count <= before:
            return True
        before = count
    return False


@lean
def _anew(watch, what):  # type: ignore[no-untyped-def]
    """Do as `look_anew`, but for what is due."""
    watch.state[WATCHED], watch.state[LEFT], watch.state[STEADY] = what, LOOK, 0
    watch.lengths[SHORTEST], watch.lengths[LONGEST] = np.inf, 0.0


@lean
def _promised(block, control, watch, w):  # type: ignore[no-untyped-def]
    """Return the gain that the errors of the sets in an accepted step promise, or `WORTH` for no more."""
    error, found = watch.error, watch.bins
    for a in range(error.size):
        error[a] = 0.0
    errors_of_sets(block, watch.set_of, control.tolerance, error, w)
    clear(found)
    for a in range(error.size):
        add(found, error[a], watch.sizes[a])
    return promise(found, work_of(block).update.size, control.order, WORTH)


@lean
def _noted(machine, control, watch, length, w):  # type: ignore[no-untyped-def]
    """Take note of an accepted step of a length in s; return whether there is something to decide."""
    state, lengths, block = watch.state, watch.lengths, machine.blocks[0]
    state[LEFT] -= 1
    lengths[SHORTEST], lengths[LONGEST] = min(lengths[SHORTEST], length), max(lengths[LONGEST], length)
    if state[WATCHED] == LENGTHS:
        if state[LEFT] == 0:
            alike = lengths[LONGEST] <= ALIKE * lengths[SHORTEST]
            paying = alike and may_pay(block, control.order, w)
            known = watch.sizes.size > 0
            state[DUE] = 1 if paying and not known else 0
            _anew(watch, SETS if paying and known else LENGTHS)
        return state[DUE] != 0
    fallen = lengths[LONGEST] > ALIKE * length
    if state[STEADY] > 0 or fallen or state[LEFT] % PATIENCE == PATIENCE - 1:
        worth = _promised(block, control, watch, w) > WORTH
        state[STEADY] = state[STEADY] + 1 if worth else 0
    if state[LEFT] == 0:
        state[LEFT] = LOOK
        if state[STEADY] == 0:
            _anew(watch, LENGTHS)
    state[DUE] = 1 if state[STEADY] == PATIENCE - 1 else 0
    return state[DUE] != 0


@announced("the variable-step integrator under watch", 3)
@lean
def run_watched(machine, control, watch, end, w, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end, the rows are full, or there is something to decide; return (rows filled, status).

    See `psmr.numerics.step.variable.run_variable`, whose steps these are. Where there is something to decide
    the status is that of full rows.
    """
    machine, control, watch = by_reference(machine), by_reference(control), by_reference(watch)
    corners, filled = by_reference(control.corners), 0
    while w[w.size - 1] < end:
        if filled == times.size:
            return filled, FULL
        began = w[w.size - 1]
        status = take_step(machine, control, corners, end, w)
        if status != DONE:
            return filled, status
        times[filled] = w[w.size - 1]
        copy(w, rows[filled])
        filled += 1
        if w[w.size - 1] < end and _noted(machine, control, watch, w[w.size - 1] - began, w):
            return filled, FULL
    return filled, DONE
