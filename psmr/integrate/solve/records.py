"""What compiled code sees of a block: small records of views, opened from one row of addresses."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numba import types

from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.lu import Lu, Search
from psmr.integrate.solve.views import INTEGERS, PLACES, REALS, View, integers, opener, places

# Places in `NewtonState.scalars`.
SCALE = 0  # h * gamma of the factorised matrix; NaN when a factorisation is due
CONTRACTION = 1  # theta / (1 - theta) last measured with a fresh matrix; 1 when unknown
VALID = 2  # 1 when F holds the residual at the present w
WORST = 3  # last update, relative to max(1, |w|)
HOMOTOPY = 4  # part of the residual `shift` that is taken off the equations: continuation
FALL = 5  # part of the residual that the update of a kept matrix left when one was last looked at
UNSEEN = 6  # so many solves need no such look
SCALARS = 7

# Places in `NewtonState.counts`.
ITERATIONS, RESIDUALS, FACTORISATIONS, REFRESHES, SOLVES, REPIVOTS, HONEST_SOLVES, DAMPED_SOLVES = range(8)
WORST_AT = 8
COUNTS = 9

# Columns of `Limits.moving`: the state, its place in `bounded`, the positions in w of its limits (-1 for a
# constant one), and the places in J of the entries in their columns (the last one where there is none).
STATE, BOUNDED, LOWER_AT, UPPER_AT, LOWER_SLOT, UPPER_SLOT = range(6)


class Matrix(NamedTuple):
    """Rows and variables of a block, and its Newton matrix.

    Attributes
    ----------
    table
        Addresses of the kernels, see `psmr.dae.compile.kernels`.
    variables
        Positions in w; the first ones are states, as many as `Work.known` is long.
    constant, J, F
        Constant Jacobian entries, Jacobian (then Newton matrix), raw residual; one entry longer than needed.
    state_slots, diagonal
        Places in J of all entries in state rows, and of their diagonal.
    """

    table: np.ndarray
    variables: np.ndarray
    constant: np.ndarray
    J: np.ndarray
    F: np.ndarray
    state_slots: np.ndarray
    diagonal: np.ndarray


class Places(NamedTuple):
    """Where the variables of a block are in w; see `psmr.integrate.solve.vector_kernels.position`.

    Attributes
    ----------
    first
        Position of the first one where the others follow it one by one, `SCATTERED` elsewhere.
    variables
        See `Matrix`.
    """

    first: int
    variables: np.ndarray


class Limits(NamedTuple):
    """Non-windup limits of the states of a block.

    Attributes
    ----------
    lower, upper, bounded
        Limits of all states, and which states have one; of a limit that moves the value last needed.
    moving
        (count, 6) the states with a limit that moves, and where it is; see the names above.
    slots, ends
        Places in J of the entries of bounded states' rows, one row after the other, and where each ends.
    held, held_in_matrix
        For each bounded state -1, 0 or 1: which limit holds it, now and in the factorised matrix.
    """

    lower: np.ndarray
    upper: np.ndarray
    bounded: np.ndarray
    moving: np.ndarray
    slots: np.ndarray
    ends: np.ndarray
    held: np.ndarray
    held_in_matrix: np.ndarray


class Ramps(NamedTuple):
    """Held inputs and parameters that change with time, along a cubic from each row of a table to the next.

    Attributes
    ----------
    at
        Positions in w of the held inputs.
    rows
        (rows, 5) time in s from which a cubic holds, and its coefficients from there on, constant first. NaN
        for the second one: from there on what is read is in the step being solved, on the line from the value
        that is the first coefficient, the third one in s before, to what the fourth is the position of in w.
    ends, cursor
        Of each input, then of each parameter, where its rows end, and the row that was last used.
    until
        Time in s up to which the line before it is followed, by one number: a stage behind the end of a step
        that ends at a row does not see the line from there on.
    places
        Addresses of the parameters; zero for those the block does not have.
    """

    at: np.ndarray
    rows: np.ndarray
    ends: np.ndarray
    cursor: np.ndarray
    until: np.ndarray
    places: np.ndarray


class Work(NamedTuple):
    """Work vectors of a solve.

    Attributes
    ----------
    known
        Known part of the state equations.
    defect, update
        Newton residual and update.
    guess, start, full
        Variables before the solve, and before the last update of a damped one, or before a continuation of
        earlier results was written; the undamped update.
    shift
        Residual at the beginning of a continuation.
    """

    known: np.ndarray
    defect: np.ndarray
    update: np.ndarray
    guess: np.ndarray
    start: np.ndarray
    full: np.ndarray
    shift: np.ndarray


class NewtonState(NamedTuple):
    """What Newton remembers from one solve to the next; see the names above for the places."""

    scalars: np.ndarray
    counts: np.ndarray


class Records(NamedTuple):
    """All that compiled code opens of a block.

    The order of the fields is that of the row of addresses.
    """

    matrix: Matrix
    limits: Limits
    ramps: Ramps
    work: Work
    lu: Lu
    search: Search
    newton: NewtonState


def initial_newton_state() -> NewtonState:
    """Return the state of a new block: no matrix, an unknown rate."""
    scalars = np.zeros(SCALARS)
    scalars[SCALE], scalars[CONTRACTION] = np.nan, 1.0
    return NewtonState(scalars, np.zeros(COUNTS, np.int64))


# In compiled code a block is the address of its row: an address and a length for each array of `Records`, one
# after the other, then the address of the solver and `Places.first`. Each function opens what it needs.
_VIEWS = {
    Matrix: (View(types.int64, 8), PLACES, *(REALS,) * 3, *(PLACES,) * 2),
    Limits: (*(REALS,) * 2, PLACES, View(types.int64, 6), *(PLACES,) * 2, *(INTEGERS,) * 2),
    Ramps: (PLACES, View(types.float64, 5), *(INTEGERS,) * 2, REALS, INTEGERS),
    Work: (REALS,) * 7,
    Lu: (*(PLACES,) * 7, REALS, *(PLACES,) * 2, *(REALS,) * 2, PLACES, REALS, INTEGERS),
    Search: (*(INTEGERS,) * 5, REALS, *(PLACES,) * 2, REALS),
    NewtonState: (REALS, INTEGERS),
}
_BEFORE = list(itertools.accumulate(map(len, _VIEWS.values()), initial=0))
SOLVER = 2 * _BEFORE[-1]
FIRST = SOLVER + 1
ROW = FIRST + 1

SCATTERED = -1

matrix_of, limits_of, ramps_of, work_of, lu_of, search_of, newton_state_of = (
    opener(record, views, before) for (record, views), before in zip(_VIEWS.items(), _BEFORE, strict=False)
)

_VARIABLES = 2  # the second array of all
_RAMP_ENDS = 2 * (_BEFORE[2] + 2)


@lean
def places_of(block):  # type: ignore[no-untyped-def]
    """Open where the variables of a block are."""
    r = integers(block, ROW)
    return Places(r[FIRST], places(r[_VARIABLES], r[_VARIABLES + 1]))


@lean
def follows(block):  # type: ignore[no-untyped-def]
    """Return whether anything of a block changes with time along a course."""
    return integers(block, ROW)[_RAMP_ENDS + 1] > 0


@lean
def follow_until(block, time):  # type: ignore[no-untyped-def]
    """Let all blocks of a run follow the lines that hold before a time in s, also behind it."""
    if follows(block):
        ramps_of(block).until[0] = time


@lean
def solver_of(block):  # type: ignore[no-untyped-def]
    """Return where the solver of a block is."""
    return integers(block, ROW)[SOLVER]


def row_of(records: Records, solver: int) -> np.ndarray:
    """Return the row of addresses and lengths that compiled code opens; the arrays must outlive it."""
    places: list[int] = []
    for array in itertools.chain.from_iterable(records):
        places += (address_of(array), len(array))
    row = np.zeros(ROW, np.int64)
    row[: len(places)] = places
    row[SOLVER], row[FIRST] = solver, _first(records.matrix.variables)
    return row


def _first(variables: np.ndarray) -> int:
    """Return `Places.first`."""
    first = int(variables[0]) if variables.size else 0
    return first if np.array_equal(variables, np.arange(first, first + variables.size)) else SCATTERED
