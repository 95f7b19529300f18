"""Arrays of a compiled unit, opened from their addresses.

Units that are compiled once and called by address cannot take arrays; they take the row of addresses and
lengths that `psmr.integrate.solve.block.Block` keeps, and open what they need as views. A view costs two
loads and keeps nothing alive.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.numba_internals import make_array, populate_array


def _view(kind: Any, dimensions: int) -> Any:
    """Return the compiled function that makes an address and lengths an array of a kind."""
    array = types.Array(kind, dimensions, "C")

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, *shape = arguments
        made = make_array(array)(context, builder)
        size = context.get_abi_sizeof(context.get_data_type(kind))
        itemsize = context.get_constant(types.intp, size)
        strides, step = [], itemsize
        for length in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, length)
        populate_array(
            made,
            data=builder.inttoptr(address, made.data.type),
            shape=shape,
            strides=strides,
            itemsize=itemsize,
            meminfo=None,
        )
        return made._getvalue()

    if dimensions == 1:

        @intrinsic
        def row(typing_context, address, count):  # type: ignore[no-untyped-def]
            return array(types.int64, types.int64), generate

        return row

    @intrinsic
    def table(typing_context, address, rows, columns):  # type: ignore[no-untyped-def]
        return array(types.int64, types.int64, types.int64), generate

    return table


# Numbers of double precision, positions (uint32: a signed index would be tested for wrap-around at each
# access), whole numbers; as a row (address, count) or a table (address, rows, columns).
reals, real_rows = _view(types.float64, 1), _view(types.float64, 2)
places = _view(types.uint32, 1)
integers, integer_rows = _view(types.int64, 1), _view(types.int64, 2)
