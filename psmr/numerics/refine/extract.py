"""The block of chosen devices, made in compiled code without allocating: as `restrict` does, at run time.

Everything is taken from the whole system's block: the pattern, the constant entries, the limits, and the
order of elimination, which for a part of a matrix fills in no more than for the whole of it.
"""

from __future__ import annotations

from psmr.dae.compile.decorators import lean
from psmr.numerics.refine.frame import ADDS, ENTRIES, NONE, NUMBERS, READS
from psmr.numerics.refine.level import place
from psmr.numerics.solve.pivots import READY
from psmr.numerics.solve.records import (
    BOUNDED,
    KEPT,
    LOWER_AT,
    LOWER_SLOT,
    RATE,
    ROW,
    SCALE,
    STATE,
    UPPER_AT,
    UPPER_SLOT,
    VALID,
    WORST,
    kept_of,
    limits_of,
    lu_of,
    matrix_of,
    ramps_of,
)
from psmr.numerics.solve.views import integer_rows, integers, places, reals

TABLE, VARIABLES, CONSTANT = place("matrix.table"), place("matrix.variables"), place("matrix.constant")
STATE_SLOTS, DIAGONAL = place("matrix.state_slots"), place("matrix.diagonal")
LOWER, UPPER, BOUNDED_STATES = place("limits.lower"), place("limits.upper"), place("limits.bounded")
MOVING, SLOTS, ENDS = place("limits.moving"), place("limits.slots"), place("limits.ends")
HELD, HELD_IN_MATRIX = place("limits.held"), place("limits.held_in_matrix")
COURSES = tuple(place(f"ramps.{name}") for name in ("at", "rows", "ends", "cursor", "until"))
COURSE_PLACES = place("ramps.places")
INDPTR, INDICES, ORDER = place("lu.indptr"), place("lu.indices"), place("lu.order")

# Arrays whose length follows from the block alone: as many entries as it has states, rows, rows and one more,
# entries of the Jacobian, entries and one more. `lu.work` has two for each row.
AS_STATES = (DIAGONAL, LOWER, UPPER, place("work.known"))
AS_ROWS = (
    VARIABLES,
    *(place(f"work.{name}") for name in ("defect", "update", "guess", "start", "full", "shift")),
    *(place(f"lu.{name}") for name in ("order", "position", "D", "pair")),
    *(place(f"search.{name}") for name in ("pivot_of", "mark", "stack", "head", "topological", "sums")),
)
AS_POINTERS = (place("matrix.F"), INDPTR, place("lu.Lp"), place("lu.Up"), place("search.Tp"))
AS_ENTRIES = (INDICES, place("lu.rows"))
AS_VALUES = (CONSTANT, place("matrix.J"))
LU_WORK = place("lu.work")

# Columns of the table of kernels; see `psmr.dae.compile.kernels`.
_COUNT, _FIRST_POINTER = 3, 4


@lean
def extract(frame, whole, block, base, variables_from, rows_from, chosen, level, rows, read):  # type: ignore[no-untyped-def]
    """Fill a block with the rows and variables of the sets with chosen[set] >= level.

    Parameters
    ----------
    frame, whole, block
        The whole system, its block, and the room that is filled.
    base
        (4,) addresses of the room's device arrays.
    variables_from, rows_from
        Variables and rows to choose among, ascending.
    rows, read
        Room for the rows and for the variables outside that are read.

    Returns
    -------
    order, reads
        Rows of the block, and variables outside that it reads.
    """
    r, size = integers(block, ROW), frame.atom.size
    column_place, row_place = frame.column_place, frame.row_place
    variables = places(r[VARIABLES], size)
    n = states = 0
    for v in variables_from:
        if chosen[frame.atom[v]] >= level:
            variables[n] = v
            column_place[v] = n
            n += 1
            if v < frame.states:
                states += 1
    count = 0
    for i in rows_from:
        if chosen[frame.row_atom[i]] >= level:
            rows[count] = i
            row_place[i] = count
            count += 1
    _pattern(frame, whole, r, variables, n, states)
    frame.marks[-1] += 1
    reads = _devices(frame, whole, r, base, rows, n, read)
    reads = _limits(frame, whole, r, variables, states, read, reads)
    order, old = places(r[ORDER], size), lu_of(whole).order
    at = 0
    for k in range(old.size):
        c = column_place[old[k]]
        if c != NONE:
            order[at] = c
            at += 1
    old_row = integers(whole, ROW)
    for k in COURSES:
        r[k], r[k + 1] = old_row[k], old_row[k + 1]
    _courses(frame, whole, r, base)
    for k in AS_STATES:
        r[k + 1] = states
    for k in AS_ROWS:
        r[k + 1] = n
    for k in AS_POINTERS:
        r[k + 1] = n + 1
    for k in AS_ENTRIES:
        r[k + 1] = r[CONSTANT + 1] - 1
    r[AS_VALUES[1] + 1] = r[CONSTANT + 1]
    r[LU_WORK + 1] = 2 * n
    for i in range(n):
        column_place[variables[i]] = NONE
        row_place[rows[i]] = NONE
    lu_of(block).state[READY] = 0
    memory = kept_of(block).memory
    memory[SCALE], memory[RATE], memory[VALID], memory[WORST], memory[KEPT] = float("nan"), 1.0, 0.0, 0.0, 0.0
    return n, reads


@lean
def _pattern(frame, whole, r, variables, n, states):  # type: ignore[no-untyped-def]
    """Write the pattern, the constant entries, and the places of the entries in rows of states."""
    lu, constant = lu_of(whole), matrix_of(whole).constant
    row_place, slot_place = frame.row_place, frame.slot_place
    full = constant.size
    indptr, indices = places(r[INDPTR], n + 1), places(r[INDICES], full)
    own, in_states = reals(r[CONSTANT], full), places(r[STATE_SLOTS], full)
    diagonal = places(r[DIAGONAL], n)
    nnz = slots = found = 0
    for c in range(n):
        indptr[c] = nnz
        v = variables[c]
        for p in range(lu.indptr[v], lu.indptr[v + 1]):
            i = row_place[lu.indices[p]]
            if i == NONE:
                continue
            indices[nnz], slot_place[p], own[nnz] = i, nnz, constant[p]
            if i < states:
                in_states[slots] = nnz
                slots += 1
                if i == c:
                    diagonal[found] = nnz
                    found += 1
            nnz += 1
    indptr[n] = nnz
    own[nnz] = 0.0
    r[CONSTANT + 1], r[STATE_SLOTS + 1] = nnz + 1, slots


@lean
def _devices(frame, whole, r, base, rows, n, read):  # type: ignore[no-untyped-def]
    """Write the table of kernels with the devices that add to a row of the block; return what they read."""
    table, lu = matrix_of(whole).table, lu_of(whole)
    row_place, column_place, slot_place = frame.row_place, frame.column_place, frame.slot_place
    now, size, reads = frame.marks[-1], frame.atom.size, 0
    nnz = r[CONSTANT + 1] - 1
    for k in range(n):
        for q in range(frame.first[rows[k]], frame.first[rows[k] + 1]):
            device = frame.adding[q]
            if frame.marks[device] == now:
                continue
            frame.marks[device] = now
            g, at = frame.group[device], frame.at[device]
            to = frame.counts[g]
            frame.counts[g] += 1
            frame.chosen[device] = to
            width = frame.widths[g]
            old = places(table[g, _FIRST_POINTER] + 4 * at * width[READS], width[READS])
            new = places(base[READS] + 4 * (frame.offsets[g, READS] + to * width[READS]), width[READS])
            for j in range(width[READS]):
                v = old[j]
                new[j] = v
                if v < size and column_place[v] == NONE and frame.seen[v] != now:
                    frame.seen[v] = now
                    read[reads] = v
                    reads += 1
            old = places(table[g, _FIRST_POINTER + 1] + 4 * at * width[ADDS], width[ADDS])
            new = places(base[ADDS] + 4 * (frame.offsets[g, ADDS] + to * width[ADDS]), width[ADDS])
            for j in range(width[ADDS]):
                i = row_place[old[j]]
                new[j] = n if i == NONE else i
            old = places(table[g, _FIRST_POINTER + 2] + 4 * at * width[ENTRIES], width[ENTRIES])
            new = places(
                base[ENTRIES] + 4 * (frame.offsets[g, ENTRIES] + to * width[ENTRIES]), width[ENTRIES]
            )
            for j in range(width[ENTRIES]):
                new[j] = nnz
                p = old[j]
                if p >= frame.column.size or row_place[lu.indices[p]] == NONE:
                    continue
                if column_place[frame.column[p]] != NONE:
                    new[j] = slot_place[p]
            numbers = reals(table[g, _FIRST_POINTER + 3] + 8 * at * width[NUMBERS], width[NUMBERS])
            copied = reals(
                base[NUMBERS] + 8 * (frame.offsets[g, NUMBERS] + to * width[NUMBERS]), width[NUMBERS]
            )
            for j in range(width[NUMBERS]):
                copied[j] = numbers[j]
    own, used = integer_rows(r[TABLE], table.shape[0], table.shape[1]), 0
    for g in range(table.shape[0]):
        if frame.counts[g] == 0:
            continue
        for j in range(_COUNT):
            own[used, j] = table[g, j]
        own[used, _COUNT] = frame.counts[g]
        for j in range(4):
            item = 8 if j == NUMBERS else 4
            own[used, _FIRST_POINTER + j] = base[j] + item * frame.offsets[g, j]
        frame.counts[g] = 0
        used += 1
    r[TABLE + 1] = used
    return reads


@lean
def _courses(frame, whole, r, base):  # type: ignore[no-untyped-def]
    """Write where the block has the parameters that follow a course; zero for those it does not have."""
    table, old = matrix_of(whole).table, ramps_of(whole).places
    own = integers(r[COURSE_PLACES], old.size)
    r[COURSE_PLACES + 1] = old.size
    for k in range(old.size):
        own[k] = 0
        for g in range(table.shape[0]):
            size = 8 * frame.widths[g, NUMBERS]
            within = old[k] - table[g, _FIRST_POINTER + NUMBERS]
            if within < 0 or within >= size * table[g, _COUNT]:
                continue
            device = frame.begins[g] + within // size
            if frame.marks[device] == frame.marks[-1]:
                own[k] = base[NUMBERS] + 8 * frame.offsets[g, NUMBERS]
                own[k] += size * frame.chosen[device] + within % size


@lean
def _limits(frame, whole, r, variables, states, read, reads):  # type: ignore[no-untyped-def]
    """Write the limits of the block's states; return what is read, by limits that move too."""
    old, now, size = limits_of(whole), frame.marks[-1], frame.atom.size
    column_place, slot_place = frame.column_place, frame.slot_place
    lower, upper = reals(r[LOWER], states), reals(r[UPPER], states)
    for i in range(states):
        lower[i], upper[i] = old.lower[variables[i]], old.upper[variables[i]]
    count = old.bounded.size
    bounded, slots, ends = (
        places(r[BOUNDED_STATES], count),
        places(r[SLOTS], old.slots.size),
        places(r[ENDS], count),
    )
    held, in_matrix = integers(r[HELD], count), integers(r[HELD_IN_MATRIX], count)
    first = many = used = 0
    for b in range(count):
        end, i = old.ends[b], column_place[old.bounded[b]]
        if i != NONE:
            bounded[many] = i
            held[many] = in_matrix[many] = 0
            for q in range(first, end):
                if column_place[frame.column[old.slots[q]]] != NONE:
                    slots[used] = slot_place[old.slots[q]]
                    used += 1
            ends[many] = used
            many += 1
        first = end
    moving, moved, b = integer_rows(r[MOVING], old.moving.shape[0], 6), 0, 0
    nnz = r[CONSTANT + 1] - 1
    for k in range(old.moving.shape[0]):
        i = column_place[old.moving[k, STATE]]
        if i == NONE:
            continue
        while bounded[b] != i:
            b += 1
        moving[moved, STATE], moving[moved, BOUNDED] = i, b
        for side in range(2):
            at, p = old.moving[k, LOWER_AT + side], old.moving[k, LOWER_SLOT + side]
            moving[moved, LOWER_AT + side], moving[moved, LOWER_SLOT + side] = at, nnz
            if 0 <= at < size:
                if column_place[at] != NONE:
                    moving[moved, LOWER_SLOT + side] = slot_place[p]
                elif frame.seen[at] != now:
                    frame.seen[at] = now
                    read[reads] = at
                    reads += 1
        moved += 1
    r[BOUNDED_STATES + 1] = r[ENDS + 1] = r[HELD + 1] = r[HELD_IN_MATRIX + 1] = many
    r[SLOTS + 1], r[MOVING + 1] = used, moved
    return reads


assert (UPPER_AT, UPPER_SLOT) == (LOWER_AT + 1, LOWER_SLOT + 1)
