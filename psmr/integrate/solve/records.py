"""What compiled code sees of a block: small records of views, opened from one row of addresses.

Units that are compiled once and called by address cannot take arrays; they take the row of addresses and
lengths that `psmr.integrate.solve.block.Block` keeps, and open what they need as views. A view costs two
loads and keeps nothing alive.

Loops over the vectors of a block are at the end. LLVM turns them into vector instructions where the entries
are known to be contiguous. The whole system and its algebraic equations have contiguous variables in w, the
sides of a partition have not: `position` asks which at each iteration, and LLVM hoists the question out of
the loop and makes two loops. A loop that begins at a variable index runs over a slice, without which LLVM
cannot know that the index is never negative.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.numba_internals import array_lowering
from psmr.integrate.solve.lu import Lu, Search


def _opened(context: Any, builder: Any, array: Any, address: Any, shape: Sequence[Any]) -> Any:
    """Return the array of a type that begins at an address."""
    made = array_lowering().make_array(array)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(array.dtype))
    itemsize = context.get_constant(types.intp, size)
    strides: list[Any] = []
    step = itemsize
    for length in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, length)
    array_lowering().populate_array(
        made,
        data=builder.inttoptr(address, made.data.type),
        shape=shape,
        strides=strides,
        itemsize=itemsize,
        meminfo=None,
    )
    return made._getvalue()


@dataclass(frozen=True)
class View:
    """What an array of a record is: its numbers, and its columns where it is a table."""

    kind: Any
    columns: int = 0


# Numbers of double precision, positions (uint32: a signed index would be tested for wrap-around at each
# access), whole numbers.
REALS, PLACES, INTEGERS = View(types.float64), View(types.uint32), View(types.int64)


def array_at(view: View) -> Any:
    """Return the compiled function that makes an address and a length an array."""
    array = types.Array(view.kind, 1, "C")

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _opened(context, builder, array, arguments[0], arguments[1:])

    @intrinsic
    def row(typing_context, address, count):  # type: ignore[no-untyped-def]
        return array(types.int64, types.int64), generate

    return row


reals, places, integers = map(array_at, (REALS, PLACES, INTEGERS))


def opener(record: Any, views: Sequence[View], first: int) -> Any:
    """Return the compiled function that opens a record of arrays from a row of addresses and lengths.

    `record`, `views`: A named tuple, and what each of its arrays is.
    `first`: Number of the arrays before it in the row, whose address the function takes.
    """
    arrays = [types.Array(view.kind, 2 if view.columns else 1, "C") for view in views]
    opened = types.NamedTuple(arrays, record)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        row = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

        def number(place: int) -> Any:
            return builder.load(builder.gep(row, [ir.Constant(ir.IntType(64), place)], inbounds=True))

        values = []
        for k, (view, array) in enumerate(zip(views, arrays, strict=True), first):
            shape = [number(2 * k + 1)]
            if view.columns:
                shape.append(ir.Constant(ir.IntType(64), view.columns))
            values.append(_opened(context, builder, array, number(2 * k), shape))
        return context.make_tuple(builder, opened, values)

    @intrinsic
    def open_record(typing_context, row):  # type: ignore[no-untyped-def]
        return opened(types.int64), generate

    return open_record


# Places in `NewtonState.scalars`.
SCALE = 0  # h * gamma of the factorised matrix; NaN when a factorisation is due
CONTRACTION = 1  # theta / (1 - theta) last measured with a fresh matrix; 1 when unknown
VALID = 2  # 1 when F holds the residual at the present w
WORST = 3  # last update, relative to max(1, |w|)
HOMOTOPY = 4  # part of the residual `shift` that is taken off the equations: continuation
FALL = 5  # part of the residual that the update of a kept matrix left when one was last looked at
UNSEEN = 6  # so many solves need no such look
NETWORK_SCALE = 7  # h * gamma when all of the matrix was last factorised; NaN when nothing of that holds
TURNING = 8  # rate in rad/s of the frame: see `psmr.integrate.solve.turning`
QUICK = 9  # by how much states at rest are quicker than they are, so that a stage has them at rest
SCALARS = 10

# Places in `NewtonState.counts`.
ITERATIONS, RESIDUALS, FACTORISATIONS, REFRESHES, SOLVES, REPIVOTS, HONEST_SOLVES, DAMPED_SOLVES = range(8)
WORST_AT, PARTIAL = 8, 9
COUNTS = 10

# Columns of `Limits.moving`: the state, its place in `bounded`, the positions in w of its limits (-1 for a
# constant one), and the places in J of the entries in their columns (the last one where there is none).
STATE, BOUNDED, LOWER_AT, UPPER_AT, LOWER_SLOT, UPPER_SLOT = range(6)


class Matrix(NamedTuple):
    """Rows and variables of a block, and its Newton matrix.

    `table`: Addresses of the kernels, see `psmr.dae.compile.kernels`.
    `variables`: Positions in w; the first ones are states, as many as `Work.known` is long.
    `constant`, `J`, `F`: Constant Jacobian entries, Jacobian (then Newton matrix), raw residual; one entry
      longer than needed.
    `state_slots`, `diagonal`: Places in J of all entries in state rows, and of their diagonal.
    `angles`: Variables that turn with the frame, states first, counted within the block.
    `resting`, `resting_slots`: Rows of the states that are at rest, and the places of their entries in J.
    `own`: Time in s over which the rate of a state at rest leads it past a limit, 0 of others; empty where
      none is.
    `turn`: Room for an update, where states at rest leave the angle of all open; otherwise empty.
    """

    table: np.ndarray
    variables: np.ndarray
    constant: np.ndarray
    J: np.ndarray
    F: np.ndarray
    state_slots: np.ndarray
    diagonal: np.ndarray
    angles: np.ndarray
    resting: np.ndarray
    resting_slots: np.ndarray
    own: np.ndarray
    turn: np.ndarray


class BlockPositions(NamedTuple):
    """Where the variables of a block are in w; see `psmr.integrate.solve.records.position`.

    `first`: Position of the first one where the others follow it one by one, `SCATTERED` elsewhere.
    `variables`: See `Matrix`.
    """

    first: int
    variables: np.ndarray


class Limits(NamedTuple):
    """Non-windup limits of the states of a block.

    `lower`, `upper`, `bounded`: Limits of all states, and which states have one; of a limit that moves the
      value last needed.
    `moving`: (count, 6) the states with a limit that moves, and where it is; see the names above.
    `slots`, `ends`: Places in J of the entries of bounded states' rows, one row after the other, and where
      each ends.
    `columns`, `free`: Of these entries the number of the column in the order of elimination, and the value
      where no limit holds the row.
    `held`, `held_in_matrix`: For each bounded state -1, 0 or 1: which limit holds it, now and in the
      factorised matrix.
    """

    lower: np.ndarray
    upper: np.ndarray
    bounded: np.ndarray
    moving: np.ndarray
    slots: np.ndarray
    ends: np.ndarray
    columns: np.ndarray
    free: np.ndarray
    held: np.ndarray
    held_in_matrix: np.ndarray


class Ramps(NamedTuple):
    """Held inputs and parameters that change with time, along a cubic from each row of a table to the next.

    `at`: Positions in w of the held inputs.
    `rows`: (rows, 5) time in s from which a cubic holds, and its coefficients from there on, constant first.
      NaN for the second one: from there on what is read is in the step being solved, on the line from the
      value that is the first coefficient, the third one in s before, to what the fourth is the position of in
      w.
    `ends`, `cursor`: Of each input, then of each parameter, where its rows end, and the row that was last
      used.
    `until`: Time in s up to which the line before it is followed, by one number: a stage behind the end of a
      step that ends at a row does not see the line from there on.
    `places`: Addresses of the parameters; zero for those the block does not have.
    """

    at: np.ndarray
    rows: np.ndarray
    ends: np.ndarray
    cursor: np.ndarray
    until: np.ndarray
    places: np.ndarray


class Work(NamedTuple):
    """Work vectors of a solve.

    `known`: Known part of the state equations.
    `defect`, `update`: Newton residual and update.
    `guess`, `start`, `full`: Variables before the solve, and before the last update of a damped one, or
      before a continuation of earlier results was written; the undamped update.
    `shift`: Residual at the beginning of a continuation.
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


class BlockArrays(NamedTuple):
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
    scalars[SCALE], scalars[CONTRACTION], scalars[NETWORK_SCALE], scalars[QUICK] = np.nan, 1.0, np.nan, 1.0
    return NewtonState(scalars, np.zeros(COUNTS, np.int64))


# In compiled code a block is the address of its row: an address and a length for each array of `BlockArrays`,
# one after the other, then the address of the solver and `BlockPositions.first`. Each function opens what it
# needs.
_VIEWS = {
    Matrix: (View(types.int64, 8), PLACES, *(REALS,) * 3, *(PLACES,) * 5, *(REALS,) * 2),
    Limits: (*(REALS,) * 2, PLACES, View(types.int64, 6), *(PLACES,) * 3, REALS, *(INTEGERS,) * 2),
    Ramps: (PLACES, View(types.float64, 5), *(INTEGERS,) * 2, REALS, INTEGERS),
    Work: (REALS,) * 7,
    Lu: (
        *(PLACES,) * 7,
        REALS,
        *(PLACES,) * 3,
        REALS,
        PLACES,
        REALS,
        *(PLACES,) * 2,
        REALS,
        INTEGERS,
    ),
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
def positions_of(block):  # type: ignore[no-untyped-def]
    """Open where the variables of a block are."""
    r = integers(block, ROW)
    return BlockPositions(r[FIRST], places(r[_VARIABLES], r[_VARIABLES + 1]))


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


def row_of(records: BlockArrays, solver: int) -> np.ndarray:
    """Return the row of addresses and lengths that compiled code opens; the arrays must outlive it."""
    places: list[int] = []
    for array in itertools.chain.from_iterable(records):
        places += (address_of(array), len(array))
    row = np.zeros(ROW, np.int64)
    row[: len(places)] = places
    row[SOLVER], row[FIRST] = solver, _first(records.matrix.variables)
    return row


def _first(variables: np.ndarray) -> int:
    """Return `BlockPositions.first`."""
    first = int(variables[0]) if variables.size else 0
    return first if np.array_equal(variables, np.arange(first, first + variables.size)) else SCATTERED


# Length of the slices in which the largest entry is searched: short, but long beside the start of a loop.
VECTOR_CHUNK = 256


@intrinsic
def whole_of(typing_context, real):  # type: ignore[no-untyped-def]
    """Return the bits of a number that is not negative as a whole number.

    They have the order of the numbers, with NaN behind infinity. The largest of whole numbers takes vector
    instructions; that of real ones does not, since there the order matters where one is NaN.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def real_of(typing_context, whole):  # type: ignore[no-untyped-def]
    """Return the number whose bits a whole number has."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@lean
def position(places, i):  # type: ignore[no-untyped-def]
    """Return where in w variable i of a block is; see `psmr.integrate.solve.records.BlockPositions`."""
    at = np.uint64(i)
    return np.uint64(places.first) + at if places.first >= 0 else np.uint64(places.variables[at])


@lean
def copy(source, target):  # type: ignore[no-untyped-def]
    """Write the first entries of `source` into all of `target`; a slice assignment may allocate."""
    for i in range(target.size):
        target[i] = source[i]


@lean
def largest_size(values):  # type: ignore[no-untyped-def]
    """Return the largest absolute value, NaN where one is NaN."""
    largest = 0
    for i in range(values.size):
        largest = max(largest, whole_of(abs(values[i])))
    return real_of(largest)


@lean
def largest_part(values, places, w, unit):  # type: ignore[no-untyped-def]
    """Return the largest |value| / (unit max(1, |w|)) of a block, NaN where one is NaN, and which it is."""
    largest, near = 0, 0
    for first in range(0, values.size, VECTOR_CHUNK):
        part, here = values[first : first + VECTOR_CHUNK], 0
        for i in range(part.size):
            scale = unit * max(1.0, abs(w[position(places, first + i)]))
            here = max(here, whole_of(abs(part[i]) / scale))
        if here > largest:
            largest, near = here, first
    for i in range(near, values.size):
        scale = unit * max(1.0, abs(w[position(places, i)]))
        if whole_of(abs(values[i]) / scale) == largest:
            return real_of(largest), i
    return real_of(largest), 0
