"""Records of arrays passed by reference between compiled functions.

numba passes a named tuple by value: each call takes every number of every array apart and puts it together
again, some ten for an array. For a record of thirty arrays that is most of what there is to compile. A
reference is one pointer; a field is loaded where it is read, and since no field of a record changes within a
call, the compiler may load it once.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic, models, register_model

from psmr.dae.compile.numba_internals import (
    AttributeTemplate,
    cgutils,
    infer_getattr,
    lower_getattr_generic,
)


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
