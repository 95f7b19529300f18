"""What nested levels of steps remember: the points they go between, who is in them, and what it took."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.refine.atoms import Atoms
from psmr.numerics.refine.frame import Frame
from psmr.numerics.refine.level import Level
from psmr.numerics.refine.split import Bins, bins
from psmr.numerics.step.encoded import AT_START, KEEP, NUMBERS, OPERATION, RATE, SAVE, STAGE, TARGET, Encoded
from psmr.numerics.step.solvable import nothing_unsolved

# The whole system and four levels below it: with steps a tenth of those above, 10,000 to one.
LEVELS = 5

# Points of the polynomial that interpolates a step: start, at most four inner stages, end.
MOST_NODES = 6

# A stage this close to the end is the end.
NEAR_END = 1e-9

# Columns of `Nest.clock`: start and length of the present step, end of the interval, next step to try, error
# of the last accepted one, steps per present step in the cheapest split (0 where one step for all is as
# cheap), error of the present one, and what is left of it when the refined sets add nothing.
AT, STEP, END, NEXT, BEFORE, SPLIT, ERROR, REST = range(8)

# Places in `Nest.state`: whether the rates at the start are carried over from the end of the last step, sets
# that were refined in it, entries of the log, steps of refined sets, rows times these steps, steps taken
# back, whether levels are wanted that have not been made, common steps in a row in which a split was worth
# its price, steps below those of all that were taken down.
CARRIED, RECENT, LOGGED, REFINED, REFINED_ROWS, TAKEN_BACK, WANTED, STEADY, OWN = range(9)

# Steps below those of all that are taken down between two calls; of a step of all that has more than half as
# many, some are not.
MOST_OWN = 1 << 16


class StepShape(NamedTuple):
    """What is kept of a step of the method; see `Nest` for the fields."""

    first: int
    last: int
    nodes: NDArray[np.float64]
    node_points: NDArray[np.int64]
    outliving: NDArray[np.int64]


def shape_of(encoded: Encoded) -> StepShape:
    """Return what is kept of a step: the points at the inner stages make its interpolation."""
    code, numbers = encoded.code, encoded.numbers
    nodes, places = [0.0], [AT_START]
    rates, stages = code[code[:, OPERATION] == RATE], code[code[:, OPERATION] == STAGE]
    present = 0.0
    for row in code:
        if row[OPERATION] == STAGE:
            present = float(numbers[row[NUMBERS]])
        elif row[OPERATION] == SAVE and 0.0 < present < 1.0 - NEAR_END:
            nodes.append(present)
            places.append(int(row[TARGET]))
    return StepShape(
        int(rates[0, TARGET]),
        int(stages[-1, KEEP]),
        np.array([*nodes, 1.0]),
        np.array(places, np.int64),
        encoded.outliving,
    )


class Nest(NamedTuple):
    """Levels of steps; level 0 is the whole system, each further one a part of the one above.

    Attributes
    ----------
    blocks, bases
        Addresses of the levels' blocks and of their device arrays.
    first, last
        Places of the rates at the start and at the end of a step.
    nodes, node_points, weights
        Times of the points through which a step is interpolated in units of it, the places of all but the
        last among the machine's points, and room for weights by level.
    outliving, times
        Points that outlive a step, in it and after it, and their times by level.
    clock
        (levels, 8) reals, see the names above.
    solvable
        (levels, 2) what Newton could not solve, of the levels below the first; that of the first is with the
        steps of all. See `psmr.numerics.step.solvable`.
    refused, ending, orders, reads, counts
        (levels,) whether the last step was rejected, whether the present one ends the interval, rows, outside
        variables that are read, and sets.
    level_of
        (sets,) the deepest level that a set is in.
    members, kept
        (levels, sets) sets of a level, and whether its block has a set.
    rows, read
        (levels, n + m) rows of a level, and the variables outside that it reads.
    final
        Ends of the present steps; like the machine's points each entry belongs to the deepest level that its
        variable is in.
    saved, entry
        (levels, points, .) the machine's points and (levels, n) rates at the start, of the level above, in
        the variables of a level.
    error, need, pace, taken
        (sets,) error of the last step in units of the tolerance; steps that a set would have needed in the
        present step of all, steps per second that it needed in the last one, and steps it took.
    recent
        Sets that were refined in the last step of all.
    bins
        See `psmr.numerics.refine.split`.
    log_set, log_steps, log_end
        Sets that were refined and their steps, one accepted step of all after the other, and where each ends.
    own_level, own_time, own_end, own_begin
        Levels and ends in s of the accepted steps below those of all, one accepted step of all after the
        other, and where each ends; and where those of each level begin, for one that is given up.
    by_order, flushed
        (n + m + 1,) factorisations of refined blocks by their order, and those of each level counted so far.
    state
        Whole numbers, see the names above.
    """

    blocks: np.ndarray
    bases: np.ndarray
    first: int
    last: int
    nodes: np.ndarray
    node_points: np.ndarray
    weights: np.ndarray
    outliving: np.ndarray
    times: np.ndarray
    clock: np.ndarray
    solvable: np.ndarray
    refused: np.ndarray
    ending: np.ndarray
    orders: np.ndarray
    reads: np.ndarray
    counts: np.ndarray
    level_of: np.ndarray
    members: np.ndarray
    kept: np.ndarray
    rows: np.ndarray
    read: np.ndarray
    final: np.ndarray
    saved: np.ndarray
    entry: np.ndarray
    error: np.ndarray
    need: np.ndarray
    pace: np.ndarray
    taken: np.ndarray
    recent: np.ndarray
    bins: Bins
    log_set: np.ndarray
    log_steps: np.ndarray
    log_end: np.ndarray
    own_level: np.ndarray
    own_time: np.ndarray
    own_end: np.ndarray
    own_begin: np.ndarray
    by_order: np.ndarray
    flushed: np.ndarray
    state: np.ndarray


def nest_for(
    frame: Frame,
    atoms: Atoms,
    levels: list[Level],
    shape: StepShape,
    points: tuple[int, int],
) -> Nest:
    """Return the memory of nested levels: the whole system, and `levels` below it.

    Parameters
    ----------
    frame, atoms, levels
        The whole system, its sets, and room for the blocks below it.
    shape
        What is kept of a step.
    points
        Number of the machine's points, and length of w.
    """
    size, sets, count = frame.atom.size, len(atoms.names), len(levels) + 1

    def whole(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    def places(*shape: int) -> NDArray[np.uint32]:
        return np.zeros(shape, np.uint32)

    rows = places(count, size)
    rows[0] = np.arange(size)
    orders = whole(count)
    orders[0] = size
    return Nest(
        blocks=np.array([0, *(level.address for level in levels)], np.int64),
        bases=np.array([[0] * 4, *(level.bases for level in levels)], np.int64),
        first=shape.first,
        last=shape.last,
        nodes=shape.nodes,
        node_points=shape.node_points,
        weights=np.zeros((count, MOST_NODES)),
        outliving=shape.outliving,
        times=np.full((count, max(1, len(shape.outliving))), np.nan),
        clock=np.zeros((count, 8)),
        solvable=nothing_unsolved(count),
        refused=whole(count),
        ending=whole(count),
        orders=orders,
        reads=whole(count),
        counts=whole(count),
        level_of=whole(sets),
        members=places(count, sets),
        kept=np.zeros((count, sets), np.uint8),
        rows=rows,
        read=places(count, size),
        final=np.zeros(points[1]),
        saved=np.zeros((count, *points)),
        entry=np.zeros((count, frame.states)),
        error=np.zeros(sets),
        need=np.zeros(sets),
        pace=np.zeros(sets),
        taken=whole(sets),
        recent=places(sets),
        bins=bins(),
        log_set=places(max(1 << 16, 2 * sets)),
        log_steps=places(max(1 << 16, 2 * sets)),
        log_end=whole(1 << 16),
        own_level=np.zeros(MOST_OWN, np.uint8),
        own_time=np.zeros(MOST_OWN),
        own_end=whole(1 << 16),
        own_begin=whole(count),
        by_order=whole(size + 1),
        flushed=whole(count),
        state=whole(9),
    )
