"""The compiled function that a run calls at each sample of a library: numbers in, one sample, numbers out.

It is one function for all libraries. What it needs of an instance stands in a row of addresses and lengths,
whose address is the handle: tables of (kind, address) of each input and output as the library has them in its
structures, and the arrays of its states. No Python runs in it.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.decorators import lean, unit
from psmr.integrate.solve.records import View, array_at, integers, reals

GOOD, MESSAGE, FAILED, NO_NUMBER, NO_INPUT, OVERRUN = 0, 1, 2, 1 << 40, 1 << 41, 1 << 43
"""How a sample ended: what the library returns (0 to 2; others are errors, too), an output or an input that
is no number, a write behind its states, which no int of C is."""

GUARDS, GUARD = 8, 0x5AFE57A7
"""How many words stand behind the states of each kind, and what each is, while nobody writes there."""

FIELDS = (
    "function", "instance", "time", "text", "inputs", "input_count", "outputs", "output_count", "scales",
    "ints", "int_count", "floats", "float_count", "doubles", "double_count",
    "later", "said", "said_count", "status",
)  # fmt: skip
"""What stands in the row of an instance: addresses and lengths, and how its last sample ended."""

SIZE = len(FIELDS)
(
    FUNCTION, INSTANCE, TIME, TEXT, INPUTS, INPUT_COUNT, OUTPUTS, OUTPUT_COUNT, SCALES,
    INTS, INT_COUNT, FLOATS, FLOAT_COUNT, DOUBLES, DOUBLE_COUNT, LATER, SAID, SAID_COUNT, STATUS,
) = range(SIZE)  # fmt: skip


def row_of(**given: int) -> np.ndarray:
    """Return the row of an instance with these fields."""
    return np.array([given.get(name, 0) for name in FIELDS], np.int64)


LENGTH = 240
"""Bytes of a message that are kept, with the 8 of its time before it."""

LINES = 64
"""Messages that are kept until somebody asks for them."""

_bytes, _shorts, _words = (array_at(View(kind)) for kind in (types.int8, types.int16, types.int32))
_unsigned_bytes, _unsigned_shorts, _unsigned_words, _singles = (
    array_at(View(kind)) for kind in (types.uint8, types.uint16, types.uint32, types.float32)
)


@intrinsic
def _call(typing_context, function, instance):  # type: ignore[no-untyped-def]
    """Call a function of a library with its instance."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        word = ir.IntType(32)
        function = ir.FunctionType(word, [ir.IntType(64)]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], function), [arguments[1]])

    return types.int32(types.int64, types.int64), generate


@lean
def put_number(kind, address, value):  # type: ignore[no-untyped-def]
    """Store a number as C has a kind of value; return whether it can be."""
    if value - value != 0.0:
        return False
    if kind == 9:
        reals(address, 1)[0] = value
        return True
    if kind == 8:
        _singles(address, 1)[0] = np.float32(value)
        return True
    whole = np.rint(value)
    if kind == 1 or kind == 2:
        _bytes(address, 1)[0] = np.int8(min(max(whole, -128.0), 127.0))
    elif kind == 3:
        _unsigned_bytes(address, 1)[0] = np.uint8(min(max(whole, 0.0), 255.0))
    elif kind == 4:
        _shorts(address, 1)[0] = np.int16(min(max(whole, -32768.0), 32767.0))
    elif kind == 5:
        _unsigned_shorts(address, 1)[0] = np.uint16(min(max(whole, 0.0), 65535.0))
    elif kind == 6:
        _words(address, 1)[0] = np.int32(min(max(whole, -2147483648.0), 2147483647.0))
    else:
        _unsigned_words(address, 1)[0] = np.uint32(min(max(whole, 0.0), 4294967295.0))
    return True


@lean
def get_number(kind, address):  # type: ignore[no-untyped-def]
    """Return the number that C has at an address as a kind of value."""
    if kind == 9:
        return reals(address, 1)[0]
    if kind == 8:
        return np.float64(_singles(address, 1)[0])
    if kind == 1 or kind == 2:
        return np.float64(_bytes(address, 1)[0])
    if kind == 3:
        return np.float64(_unsigned_bytes(address, 1)[0])
    if kind == 4:
        return np.float64(_shorts(address, 1)[0])
    if kind == 5:
        return np.float64(_unsigned_shorts(address, 1)[0])
    if kind == 6:
        return np.float64(_words(address, 1)[0])
    return np.float64(_unsigned_words(address, 1)[0])


@lean
def _keep_message(row, t):  # type: ignore[no-untyped-def]
    """Copy the message of a library with its time, unless it is the one before or there is no room."""
    text, said = integers(row[TEXT], 1)[0], integers(row[SAID_COUNT], 1)
    if text == 0 or said[0] == LINES:
        return
    line = row[SAID] + said[0] * (LENGTH + 8)
    reals(line, 1)[0] = t
    new, old = _unsigned_bytes(line + 8, LENGTH), _unsigned_bytes(line - LENGTH, LENGTH)
    same = said[0] > 0
    for k in range(LENGTH - 1):
        letter = _unsigned_bytes(text + k, 1)[0]
        new[k] = letter
        same = same and letter == old[k]
        if letter == 0:
            break
    if not same:
        said[0] += 1


def _sample(handle, t, reads, values):  # type: ignore[no-untyped-def]
    """Run one sample at t in s; `reads` and `values` are addresses, see `psmr.sampled.code`."""
    row = integers(handle, SIZE)
    n, outputs = row[INPUT_COUNT], row[OUTPUT_COUNT]
    ints, floats, doubles = row[INT_COUNT], row[FLOAT_COUNT], row[DOUBLE_COUNT]
    given, found = reals(reads, n), reals(values, ints + floats + doubles + outputs)
    table, scales = integers(row[INPUTS], 2 * n), reals(row[SCALES], outputs)
    for k in range(n):
        if not put_number(table[2 * k], table[2 * k + 1], given[k]):
            row[STATUS] = NO_INPUT
            return row[STATUS]
    table = integers(row[OUTPUTS], 2 * outputs)
    at = ints + floats + doubles
    for k in range(outputs):
        put_number(table[2 * k], table[2 * k + 1], found[at + k] / scales[k])
    own_ints, own_floats, own = (
        _words(row[INTS], ints),
        _singles(row[FLOATS], floats),
        reals(row[DOUBLES], doubles),
    )
    for k in range(ints):
        own_ints[k] = np.int32(found[k])
    for k in range(floats):
        own_floats[k] = np.float32(found[ints + k])
    for k in range(doubles):
        own[k] = found[ints + floats + k]
    reals(row[TIME], 1)[0] = t + reals(row[LATER], 1)[0]
    status = np.int64(_call(row[FUNCTION], row[INSTANCE]))
    for end in (row[INTS] + 4 * ints, row[FLOATS] + 4 * floats, row[DOUBLES] + 8 * doubles):
        guards = _words(end, GUARDS)
        for k in range(GUARDS):
            if guards[k] != GUARD:
                row[STATUS] = OVERRUN
                return row[STATUS]
    if status == MESSAGE:
        _keep_message(row, t)
    elif status != GOOD:
        row[STATUS] = status
        return status
    for k in range(ints):
        found[k] = own_ints[k]
    for k in range(floats):
        found[ints + k] = own_floats[k]
    for k in range(doubles):
        found[ints + floats + k] = own[k]
    good = True
    for k in range(outputs):
        value = get_number(table[2 * k], table[2 * k + 1]) * scales[k]
        if value - value == 0.0:
            found[at + k] = value
        else:
            good = False
    row[STATUS] = GOOD if good else NO_NUMBER
    return row[STATUS]


SIGNATURE = types.int64(types.int64, types.float64, types.int64, types.int64)

sample = unit(SIGNATURE, "the calls of controllers", 1)(_sample)
"""``sample.address`` is that of `_sample`."""
