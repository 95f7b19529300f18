"""What compiled code sees of a block: small records of views, opened from one row of addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from psmr.dae.compile.address import address_of
from psmr.dae.compile.decorators import lean
from psmr.integrate.solve.lu import Lu, Search
from psmr.integrate.solve.views import integer_rows, integers, places, real_rows, reals

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
        (rows, 5) time in s from which a cubic holds, and its coefficients from there on, constant first.
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
ARRAYS = 54
SOLVER = 2 * ARRAYS
FIRST = SOLVER + 1
ROW = FIRST + 1

SCATTERED = -1


@lean
def matrix_of(block):  # type: ignore[no-untyped-def]
    """Open the matrix of a block."""
    r = integers(block, ROW)
    return Matrix(
        integer_rows(r[0], r[1], 8),
        places(r[2], r[3]),
        reals(r[4], r[5]),
        reals(r[6], r[7]),
        reals(r[8], r[9]),
        places(r[10], r[11]),
        places(r[12], r[13]),
    )


@lean
def places_of(block):  # type: ignore[no-untyped-def]
    """Open where the variables of a block are."""
    r = integers(block, ROW)
    return Places(r[FIRST], places(r[2], r[3]))


@lean
def limits_of(block):  # type: ignore[no-untyped-def]
    """Open the limits of a block."""
    r = integers(block, ROW)
    return Limits(
        reals(r[14], r[15]),
        reals(r[16], r[17]),
        places(r[18], r[19]),
        integer_rows(r[20], r[21], 6),
        places(r[22], r[23]),
        places(r[24], r[25]),
        integers(r[26], r[27]),
        integers(r[28], r[29]),
    )


@lean
def ramps_of(block):  # type: ignore[no-untyped-def]
    """Open the ramps of a block."""
    r = integers(block, ROW)
    return Ramps(
        places(r[30], r[31]),
        real_rows(r[32], r[33], 5),
        integers(r[34], r[35]),
        integers(r[36], r[37]),
        reals(r[38], r[39]),
        integers(r[40], r[41]),
    )


@lean
def work_of(block):  # type: ignore[no-untyped-def]
    """Open the work vectors of a block."""
    r = integers(block, ROW)
    return Work(
        reals(r[42], r[43]),
        reals(r[44], r[45]),
        reals(r[46], r[47]),
        reals(r[48], r[49]),
        reals(r[50], r[51]),
        reals(r[52], r[53]),
        reals(r[54], r[55]),
    )


@lean
def lu_of(block):  # type: ignore[no-untyped-def]
    """Open the factors of a block."""
    r = integers(block, ROW)
    return Lu(
        places(r[56], r[57]),
        places(r[58], r[59]),
        places(r[60], r[61]),
        places(r[62], r[63]),
        places(r[64], r[65]),
        places(r[66], r[67]),
        places(r[68], r[69]),
        reals(r[70], r[71]),
        places(r[72], r[73]),
        places(r[74], r[75]),
        reals(r[76], r[77]),
        reals(r[78], r[79]),
        places(r[80], r[81]),
        reals(r[82], r[83]),
        integers(r[84], r[85]),
    )


@lean
def search_of(block):  # type: ignore[no-untyped-def]
    """Open the room for the choice of pivots of a block."""
    r = integers(block, ROW)
    return Search(
        integers(r[86], r[87]),
        integers(r[88], r[89]),
        integers(r[90], r[91]),
        integers(r[92], r[93]),
        integers(r[94], r[95]),
        reals(r[96], r[97]),
        places(r[98], r[99]),
        places(r[100], r[101]),
        reals(r[102], r[103]),
    )


@lean
def newton_state_of(block):  # type: ignore[no-untyped-def]
    """Open what outlives a call: memory and counts."""
    r = integers(block, ROW)
    return NewtonState(reals(r[104], r[105]), integers(r[106], r[107]))


@lean
def follows(block):  # type: ignore[no-untyped-def]
    """Return whether anything of a block changes with time along a course."""
    return integers(block, ROW)[35] > 0


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
    parts = (*records.matrix, *records.limits, *records.ramps, *records.work, *records.lu, *records.search)
    places: list[int] = []
    for array in (*parts, *records.newton):
        places += (address_of(array), len(array))
    row = np.zeros(ROW, np.int64)
    row[: len(places)] = places
    row[SOLVER], row[FIRST] = solver, _first(records.matrix.variables)
    return row


def _first(variables: np.ndarray) -> int:
    """Return `Places.first`."""
    first = int(variables[0]) if variables.size else 0
    return first if np.array_equal(variables, np.arange(first, first + variables.size)) else SCATTERED
