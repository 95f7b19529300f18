"""Frozen records of numbers that compiled functions read as if the numbers stood there."""

from __future__ import annotations

from typing import Any, TypeVar

from numba import types
from numba.extending import models, register_model, typeof_impl

from psmr.dae.compile.numba_internals import (
    AttributeTemplate,
    infer_getattr,
    lower_constant,
    lower_getattr_generic,
)

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
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Numbers

    def generic_resolve(self, numbers: Numbers, name: str) -> Any:
        return numbers.type_of(name)


@lower_getattr_generic(Numbers)
def _field(context: Any, builder: Any, kind: Numbers, value: Any, name: str) -> Any:
    return context.get_constant(kind.type_of(name), getattr(kind.record, name))


@lower_constant(Numbers)
def _nothing(context: Any, builder: Any, kind: Numbers, record: Any) -> Any:
    return context.get_dummy_value()


def compile_time(record: type[T]) -> type[T]:
    """Let compiled functions read the fields of a frozen dataclass of numbers, each as a constant."""
    typeof_impl.register(record)(lambda value, context: Numbers(value))
    return record
