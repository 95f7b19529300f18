"""Arrays without reference counts inside compiled code.

numba counts references to every array of a tuple, atomically, whenever the tuple is taken apart or handed
on. On WSCC-9 that took a quarter of a Newton step (measured). A compiled loop whose caller keeps the arrays
alive borrows them instead.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = cgutils.unpack_tuple(builder, value, len(kind.types))
        borrowed = [_without_owner(context, builder, t, v) for t, v in zip(kind.types, parts, strict=True)]
        return context.make_tuple(builder, kind, borrowed)
    return value


@intrinsic
def borrow(typing_context, value):  # type: ignore[no-untyped-def]
    """Return the same array, or tuple of arrays and numbers, without an owner.

    The caller must keep the arrays alive while the result is used, and must not return it.
    """
    signature = value(value)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return signature, generate
