"""What compiled functions are given: addresses of arrays, records by reference, and records of constants.

Records of arrays passed by reference between compiled functions.

numba passes a named tuple by value: each call takes every number of every array apart and puts it together
again, some ten for an array. For a record of thirty arrays that is most of what there is to compile. A
reference is one pointer; a field is loaded where it is read, and since no field of a record changes within a
call, the compiler may load it once.
"""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any, TypeVar

import numpy as np
from numba import types
from numba.extending import intrinsic, models, register_model, typeof_impl

from psmr.dae.compile.numba_internals import (
    AttributeTemplate,
    cgutils,
    infer_getattr,
    lower_constant,
    lower_getattr_generic,
)

_from_buffer = c_char.from_buffer


def address_of(array: np.ndarray) -> int:
    """Return where the numbers of an array stand, 0 where it has none.

    The array must outlive whoever keeps the address.
    """
    if array.size == 0:
        return 0
    try:
        # A third of the time of `array.ctypes.data`; a block has fifty arrays, a sweep blocks for each run.
        return addressof(_from_buffer(array.data))
    except TypeError:  # it cannot be written into, or has gaps, which nothing that opens it could know
        assert array.flags.c_contiguous
        return int(array.ctypes.data)


class Reference(types.Type):  # type: ignore[misc]
    """A named tuple by reference, with the same attributes."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"reference({record})")


@register_model(Reference)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager.lookup(kind.record).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        fields = reference.record.fields
        return reference.record.types[fields.index(name)] if name in fields else None


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Reference, value: Any, name: str) -> Any:
    place = kind.record.fields.index(name)
    loaded = builder.load(cgutils.gep_inbounds(builder, value, 0, place))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@intrinsic
def by_reference(typing_context, record):  # type: ignore[no-untyped-def]
    """Return a reference to a named tuple, for the functions that this one calls; it ends with this one.

    A reference stays as it is.
    """
    if isinstance(record, Reference):
        return record(record), lambda context, builder, signature, arguments: arguments[0]

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return cgutils.alloca_once_value(builder, arguments[0])

    return Reference(record)(record), generate


T = TypeVar("T")


class Numbers(types.Type):  # type: ignore[misc]
    """A record of whole and real numbers, each known when a function that reads it is compiled."""

    def __init__(self, record: Any) -> None:
        self.record = record
        super().__init__(f"numbers({record!r})")

    def type_of(self, name: str) -> Any:
        """Return the numba type of a field; None where there is none of that name."""
        value = getattr(self.record, name, None)
        return {int: types.int64, float: types.float64}.get(type(value))


register_model(Numbers)(models.OpaqueModel)


@infer_getattr
class _ConstantFields(AttributeTemplate):  # type: ignore[misc]
    key = Numbers

    def generic_resolve(self, numbers: Numbers, name: str) -> Any:
        return numbers.type_of(name)


@lower_getattr_generic(Numbers)
def _constant_field(context: Any, builder: Any, kind: Numbers, value: Any, name: str) -> Any:
    return context.get_constant(kind.type_of(name), getattr(kind.record, name))


@lower_constant(Numbers)
def _no_value(context: Any, builder: Any, kind: Numbers, record: Any) -> Any:
    return context.get_dummy_value()


def compile_time(record: type[T]) -> type[T]:
    """Let compiled functions read the fields of a frozen dataclass of numbers, each as a constant."""
    typeof_impl.register(record)(lambda value, context: Numbers(value))
    return record
