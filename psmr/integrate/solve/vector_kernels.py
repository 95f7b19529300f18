"""Compiled loops over the vectors of a block that LLVM turns into vector instructions.

It does so where the entries are known to be contiguous. The whole system and its algebraic equations have
contiguous variables in w, the sides of a partition have not: `position` asks which at each iteration, and
LLVM hoists the question out of the loop and makes two loops. A loop that begins at a variable index runs over
a slice, without which LLVM cannot know that the index is never negative.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.decorators import lean

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
    """Return where in w variable i of a block is; see `psmr.integrate.solve.records.Places`."""
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
