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
from psmr.sampled.adapter import SIGNATURE, _get, _put

FIELDS = (
    "instance", "version", "step", "sets", "set_count", "gets", "get_count", "clocks", "clock_count", "times",
    "flags", "scales", "restore", "save", "write", "bytes", "byte_count", "last", "states", "kept", "serials",
    "serial", "reads", "outputs", "started", "failed", "status",
)  # fmt: skip
"""What stands in the row: addresses and counts; the last state's number; where a sample failed, and how.

`times` are the unit's start, step and time of the last sample in s. `save` 0: it gives no state; `byte_count`
0: not as bytes. Then the number of its state stands among the sampled states, and `kept` has so many of them.
"""

SIZE = len(FIELDS)
(
    INSTANCE, VERSION, STEP, SETS, SET_COUNT, GETS, GET_COUNT, CLOCKS, CLOCK_COUNT, TIMES,
    FLAGS, SCALES, RESTORE, SAVE, WRITE, BYTES, BYTE_COUNT, LAST, STATES, KEPT, SERIALS,
    SERIAL, READS, OUTPUTS, STARTED, FAILED, STATUS,
) = range(SIZE)  # fmt: skip

FUNCTION, KIND, REFERENCES, COUNT, VALUES, FIRST, LENGTH, GROUP = range(8)
"""Places in the row of ports of one kind that follow each other: `COUNT` variables, `LENGTH` numbers."""

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
    one, now, h, last = row[INSTANCE], times[2], times[1], np.uint8(row[SAVE] == 0)
    if row[VERSION] == 2:
        return STEPPING, _call(row[STEP], (one, now, h, np.int32(last)))
    if row[CLOCK_COUNT] == 0:
        flags = row[FLAGS]  # an event is needed, end, early; the time it came to
        status = _call(row[STEP], (one, now, h, last, flags, flags + 1, flags + 2, flags + 8))
        if status > 1:
            return STEPPING, status
        ended, early = integers(flags, 1)[0] & 0xFF00, integers(flags, 1)[0] & 0xFF0000
        return (ENDING, 2) if ended != 0 else (EARLY, 2) if early != 0 else (STEPPING, status)
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
    serial, status, last = row[SERIAL] + 1, 0, reals(row[LAST], row[STATES])
    row[SERIAL] = serial
    if row[BYTE_COUNT] == 0:
        now[2] = serial
        reals(row[SERIALS], MOST)[serial % MOST] = serial
    if row[SAVE] != 0:
        place = row[KEPT] + (8 * (serial % MOST) if row[BYTE_COUNT] == 0 else 0)
        status = _call(row[SAVE], (row[INSTANCE], place))
        if row[BYTE_COUNT] != 0 and status <= 1:
            state = integers(place, 1)[0]
            status = _call(row[WRITE], (row[INSTANCE], state, row[BYTES], row[BYTE_COUNT]))
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
            if group[KIND] == LONG:
                integers(group[VALUES] + 8 * i, 1)[0] = np.int64(np.rint(given[group[FIRST] + i]))
            elif not _put(group[KIND], group[VALUES] + WIDTHS[group[KIND]] * i, given[group[FIRST] + i]):
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
            if group[KIND] == LONG:
                value = np.float64(integers(group[VALUES] + 8 * i, 1)[0])
            else:
                value = _get(group[KIND], group[VALUES] + WIDTHS[group[KIND]] * i)
            at = group[FIRST] + i
            now[size + at] = value * scales[at]
            good = good and value - value == 0.0
    now[0] += 1.0
    status = _save(row, now)
    if status > 1:
        return SAVING, status
    return (GOOD, 0) if good else (NO_NUMBER, 3)


WIDTHS = (0, 1, 1, 1, 2, 2, 4, 4, 4, 8, 0, 8)
"""Bytes of a number by its kind."""


@unit(SIGNATURE, "the calls of units of FMI", 3)
def sample(handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Do one sample at t in s, or write the state of a unit that has started; see `psmr.ExternalCode`."""
    row = integers(handle, SIZE)
    if row[STARTED] == 0:
        row[FAILED], row[STATUS] = _sampled(row, t, reads, values)
        return row[FAILED]
    now = reals(values, row[STATES])
    now[0], now[1] = 0.0, t
    return max(0, _save(row, now) - 1)
