"""Arrays of a compiled unit, opened from their addresses.

Units that are compiled once and called by address cannot take arrays; they take the row of addresses and
lengths that `psmr.integrate.solve.block.Block` keeps, and open what they need as views. A view costs two
loads and keeps nothing alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from psmr.dae.compile.numba_internals import make_array, populate_array


def _opened(context: Any, builder: Any, array: Any, address: Any, shape: Sequence[Any]) -> Any:
    """Return the array of a type that begins at an address."""
    made = make_array(array)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(array.dtype))
    itemsize = context.get_constant(types.intp, size)
    strides: list[Any] = []
    step = itemsize
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


@dataclass(frozen=True)
class View:
    """What an array of a record is: its numbers, and its columns where it is a table."""

    kind: Any
    columns: int = 0


# Numbers of double precision, positions (uint32: a signed index would be tested for wrap-around at each
# access), whole numbers.
REALS, PLACES, INTEGERS = View(types.float64), View(types.uint32), View(types.int64)


def _row(view: View) -> Any:
    """Return the compiled function that makes an address and a length an array."""
    array = types.Array(view.kind, 1, "C")

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _opened(context, builder, array, arguments[0], arguments[1:])

    @intrinsic
    def row(typing_context, address, count):  # type: ignore[no-untyped-def]
        return array(types.int64, types.int64), generate

    return row


reals, places, integers = map(_row, (REALS, PLACES, INTEGERS))


def opener(record: Any, views: Sequence[View], first: int) -> Any:
    """Return the compiled function that opens a record of arrays from a row of addresses and lengths.

    Parameters
    ----------
    record, views
        A named tuple, and what each of its arrays is.
    first
        Number of the arrays before it in the row, whose address the function takes.
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
