"""The compiled function that a run calls at each sample of a unit of FMI, by the addresses of its functions.

It is one function for all units. What it needs of one stands in a row of addresses and counts, whose address
is the handle. It brings the unit to the state that it is handed, where that is not the one it left, sets the
inputs, has it do its step or the partitions of the clocks that are due, gets the outputs and the state.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.decorators import lean, unit
from psmr.dae.compile.numba_internals import cgutils
from psmr.integrate.solve.records import View, array_at, integers, reals
from psmr.sampled.adapter import SIGNATURE, get_number, put_number

# Places in the row of a unit: addresses and counts. TIMES are its start, step and time of the last sample in
# s; where SAVE is 0 it gives no state, where BYTE_COUNT is 0 not as bytes, and KEPT has MOST of them.
(
    INSTANCE, VERSION, STEP, SETS, SET_COUNT, GETS, GET_COUNT, CLOCKS, CLOCK_COUNT, TIMES, FLAGS, SCALES,
    RESTORE, SAVE, WRITE, BYTES, BYTE_COUNT, LAST, STATES, KEPT, NUMBERS, NUMBER, READS, OUTPUTS, STARTED,
    FAILED, STATUS, SIZE,
) = range(28)  # fmt: skip

# Places in the row of ports of one kind that follow each other: COUNT variables, LENGTH numbers.
FUNCTION, KIND, WIDTH, REFERENCES, COUNT, VALUES, FIRST, LENGTH, GROUP = range(9)

MOST = 4096
"""So many states are kept of a unit that does not write them: as many samples may be done over."""

LONG = 11
"""The kind of an int64, which `psmr.sampled.layout` has not."""

GOOD, RESTORING, NO_INPUT, SETTING, STEPPING, EARLY, ENDING, GETTING, NO_NUMBER, SAVING = range(10)
"""Where a sample failed."""

_pairs = array_at(View(types.uint16))


@intrinsic
def _call(typing_context, address, arguments):  # type: ignore[no-untyped-def]
    """Call a function of C that returns a status by its address, with the arguments of a tuple."""

    def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
        kinds = [context.get_value_type(kind) for kind in arguments]
        function = builder.inttoptr(given[0], ir.FunctionType(ir.IntType(32), kinds).as_pointer())
        found = builder.call(function, cgutils.unpack_tuple(builder, given[1]))
        return builder.sext(found, ir.IntType(64))

    return types.int64(types.int64, arguments), generate


@lean
def _exchange(row, group):  # type: ignore[no-untyped-def]
    """Set or get the variables of one kind; return the unit's status."""
    one, references, count, values = row[INSTANCE], group[REFERENCES], group[COUNT], group[VALUES]
    if row[VERSION] == 2:
        return _call(group[FUNCTION], (one, references, count, values))
    return _call(group[FUNCTION], (one, references, count, values, group[LENGTH]))


@lean
def _step(row, n, times):  # type: ignore[no-untyped-def]
    """Do step n, or the partitions of the clocks that are due; return where it failed and the status."""
    one, now, h, last, flags = row[INSTANCE], times[2], times[1], np.uint8(row[SAVE] == 0), row[FLAGS]
    if row[VERSION] == 2:
        return STEPPING, _call(row[STEP], (one, now, h, np.int32(last)))
    if row[CLOCK_COUNT] == 0:
        status = _call(row[STEP], (one, now, h, last, flags, flags + 1, flags + 2, flags + 8))
        ended, early = integers(flags, 1)[0] & 0xFF00, integers(flags, 1)[0] & 0xFF0000
        if status > 1 or (ended == 0 and early == 0):
            return STEPPING, status
        return ENDING if ended != 0 else EARLY, 2
    for k in range(row[CLOCK_COUNT]):
        clock = integers(row[CLOCKS] + 24 * k, 3)
        if n >= clock[2] and (n - clock[2]) % clock[1] == 0:
            status = _call(row[STEP], (one, np.uint32(clock[0]), now))
            if status > 1:
                return STEPPING, status
    return STEPPING, 0


@lean
def _save(row, now):  # type: ignore[no-untyped-def]
    """Get the unit's state; write its bytes, six to a number, or its number; return the status."""
    number, status, last = row[NUMBER] + 1, 0, reals(row[LAST], row[STATES])
    row[NUMBER] = number
    place = row[KEPT]
    if row[BYTE_COUNT] == 0:
        place += 8 * (number % MOST)
        now[2] = reals(row[NUMBERS], MOST)[number % MOST] = number
    if row[SAVE] != 0:
        status = _call(row[SAVE], (row[INSTANCE], place))
    if row[BYTE_COUNT] != 0 and status <= 1:
        status = _call(row[WRITE], (row[INSTANCE], integers(place, 1)[0], row[BYTES], row[BYTE_COUNT]))
        pairs = _pairs(row[BYTES], row[STATES] * 3 - 6)
        for i in range(row[STATES] - 2):
            now[2 + i] = pairs[3 * i] + 65536.0 * (pairs[3 * i + 1] + 65536.0 * pairs[3 * i + 2])
    for i in range(last.size):
        last[i] = now[i]
    return status


@lean
def _sampled(row, t, reads, values):  # type: ignore[no-untyped-def]
    """Do one sample; return where it failed and the unit's status."""
    size, times, scales = row[STATES], reals(row[TIMES], 3), reals(row[SCALES], row[OUTPUTS])
    now, given, kept = reals(values, size + row[OUTPUTS]), reals(reads, row[READS]), reals(row[LAST], size)
    for i in range(size):
        if now[i] != kept[i]:
            if _call(row[RESTORE], (t, reads, values)) != 0:
                return RESTORING, 3
            break
    times[2] = times[0] + now[0] * times[1]
    for g in range(row[SET_COUNT]):
        group = integers(row[SETS] + 8 * GROUP * g, GROUP)
        for i in range(group[LENGTH]):
            place, value = group[VALUES] + group[WIDTH] * i, given[group[FIRST] + i]
            if group[KIND] == LONG:
                integers(place, 1)[0] = np.int64(np.rint(value))
            elif not put_number(group[KIND], place, value):
                return NO_INPUT, 3
        status = _exchange(row, group)
        if status > 1:
            return SETTING, status
    where, status = _step(row, int(now[0]), times)
    if status > 1:
        return where, status
    good = True
    for g in range(row[GET_COUNT]):
        group = integers(row[GETS] + 8 * GROUP * g, GROUP)
        status = _exchange(row, group)
        if status > 1:
            return GETTING, status
        for i in range(group[LENGTH]):
            place, at = group[VALUES] + group[WIDTH] * i, group[FIRST] + i
            long = group[KIND] == LONG
            value = np.float64(integers(place, 1)[0]) if long else get_number(group[KIND], place)
            now[size + at] = value * scales[at]
            good = good and value - value == 0.0
    now[0] += 1.0
    status = _save(row, now)
    return (SAVING, status) if status > 1 else (GOOD, 0) if good else (NO_NUMBER, 3)


@unit(SIGNATURE, "the calls of units of FMI", 3)
def sample(handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Do one sample at t in s, or write the state of a unit that has started; see `psmr.ExternalCode`."""
    row = integers(handle, SIZE)
    if row[STARTED] == 0:
        row[FAILED], row[STATUS] = _sampled(row, t, reads, values)
        if row[FAILED] != GOOD:
            reals(row[LAST], 1)[0] = np.nan  # nobody knows in which state it is now
        return row[FAILED]
    now = reals(values, row[STATES])
    now[0], now[1] = 0.0, t
    return max(0, _save(row, now) - 1)
