"""The compiled face of a system: kernels called by address through a table, on a system or on a block of it.

A row of the table is one component with all its devices::

    residual, jacobian, constant jacobian (addresses), number of devices, index, row, slot, parameters
    (pointers)

The residual has one more entry than there are rows and the Jacobian one more than it has non-zeros: the last
entry takes what a block does not want, so that a device that owns one fast row needs no test in its kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.decorators import lean
from psmr.dae.compile.notice import announced

Indices = NDArray[np.uint32]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Kernels:
    """What a compiled loop needs of a system, or of the block of it with chosen rows and variables.

    `table`: (G, 8) addresses and pointers, a row a component; see the module's text.
    `rows`, `nnz`: Number of residual rows and of Jacobian entries; buffers are one longer.
    `states`: The first `states` rows and variables are states and their equations.
    `indptr`, `indices`: CSC pattern of the Jacobian in compact numbering, row indices ascending, the diagonal
      of the state rows and the columns of the variables that limit them included.
    `row_indices`, `variables`: Position of each row in the residual of the whole system, of each column in w.
    `lower`, `upper`: (states,) constant non-windup limits, infinite where there are none.
    `lower_at`, `upper_at`: (states,) positions in w of the limits that move, -1 for the others.
    `lower_slot`, `upper_slot`: (states,) places in the Jacobian of the entries in the columns of those
      limits; the last entry where a limit is constant or no variable of the block.
    `bounded`: States that have a limit, in compact numbering.
    `selected`, `parameters`: Which devices of each component take part, and their parameter values (loaded by
      `load`).
    `keep`: Arrays that the table points to.
    """

    table: NDArray[np.int64]
    rows: int
    nnz: int
    states: int
    indptr: Indices
    indices: Indices
    row_indices: Indices
    variables: Indices
    lower: Reals
    upper: Reals
    lower_at: NDArray[np.intp]
    upper_at: NDArray[np.intp]
    lower_slot: NDArray[np.intp]
    upper_slot: NDArray[np.intp]
    bounded: Indices
    selected: tuple[NDArray[np.intp], ...]
    parameters: tuple[Reals, ...]
    keep: tuple[Any, ...]
    _shared: dict[str, Any] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> Any:
        raise TypeError("kernels hold addresses of this process: pickle the system and make them anew")

    def shared_by_all(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what all kernels of this block have in common under a name, made where nobody asked for it.

        Copies, which differ in their parameters and limits, share it: it must depend on neither.
        """
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    @property
    def shared(self) -> Mapping[str, Any]:
        """What all kernels of this block have in common, by name."""
        return self._shared

    def copy(self, parameters: Sequence[Reals], lower: Reals, upper: Reals) -> Kernels:
        """Return kernels of the same block with parameters and limits of their own.

        `parameters`: parameter matrices of the system, one a component; `lower`, `upper`: (states,) constant
        limits.
        """
        values = tuple(
            given.copy() if len(chosen) == len(given) else np.ascontiguousarray(given[chosen])
            for chosen, given in zip(self.selected, parameters, strict=True)
        )
        table = self.table.copy()
        table[:, _PARAMETERS] = [address_of(own) for own in values if len(own)]
        return replace(
            self, table=table, parameters=values, lower=lower, upper=upper, keep=(*self.keep, values)
        )

    def with_target(
        self, row: int, kernel: int, target: Indices, index: Indices | None = None
    ) -> NDArray[np.int64]:
        """Return a row of the table for another kernel of its devices, evaluated by `residual`.

        `target` names the entries that it adds to, `index` what it reads where that is something else.
        """
        new = self.table[row].copy()
        new[[_RESIDUAL, _ROW]] = kernel, address_of(target)
        if index is not None:
            new[_INDEX] = address_of(index)
        return new

    def with_parameters(self, table: NDArray[np.int64], of: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return a table that other kernels of this block made of the rows `of`, with its own parameters."""
        new = table.copy()
        new[:, _PARAMETERS] = self.table[of, _PARAMETERS]
        return new

    def load(self, parameters: Sequence[Reals]) -> None:
        """Copy the parameter matrices of the system, one a component, into the table's own."""
        for own, chosen, given in zip(self.parameters, self.selected, parameters, strict=True):
            own[:] = given if len(chosen) == len(given) else given[chosen]

    def write_constant(self, w: Reals, out: Reals) -> None:
        """Write the entries of the Jacobian that do not change within a span; ``out`` has one entry more."""
        constant_jacobian(self.table, w, out)


@intrinsic
def call_kernel(  # type: ignore[no-untyped-def]
    typing_context, address, count, index, target, parameters, w, out
):
    """Call a kernel by its address."""
    signature = types.void(types.int64, *(types.int64,) * 6)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        integer = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [integer] * 6).as_pointer()
        builder.call(builder.inttoptr(arguments[0], function), arguments[1:])
        return context.get_dummy_value()

    return signature, generate


# Columns of the table.
_RESIDUAL, _JACOBIAN, _CONSTANT, _COUNT, _INDEX, _ROW, _SLOT, _PARAMETERS = range(8)


@lean
def _evaluate(table, kernel, target, w, out):  # type: ignore[no-untyped-def]
    """Call one kind of kernel for every component that has it; it adds to the entries named by `target`."""
    for k in range(table.shape[0]):
        if table[k, kernel] != 0:
            call_kernel(
                table[k, kernel],
                table[k, _COUNT],
                table[k, _INDEX],
                table[k, target],
                table[k, _PARAMETERS],
                w.ctypes.data,
                out.ctypes.data,
            )


_announced = announced("the evaluation of residual and Jacobian", 0.7, once=True)


@_announced
@lean
def residual(table, w, out):  # type: ignore[no-untyped-def]
    """Write the residual: raw state derivatives, then the algebraic residuals; ``out`` has one entry more."""
    out[:] = 0.0
    _evaluate(table, _RESIDUAL, _ROW, w, out)


@_announced
@lean
def constant_jacobian(table, w, out):  # type: ignore[no-untyped-def]
    """Write the entries of the Jacobian that depend on parameters only; ``out`` has one entry more."""
    out[:] = 0.0
    _evaluate(table, _CONSTANT, _SLOT, w, out)


@_announced
@lean
def jacobian(table, constant, w, out):  # type: ignore[no-untyped-def]
    """Write the Jacobian from its constant part and the varying entries; ``out`` has one entry more."""
    for i in range(out.size):
        out[i] = constant[i]
    _evaluate(table, _JACOBIAN, _SLOT, w, out)


Table = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SwitchTables:
    """Tables that `psmr.dae.compile.kernels.residual` evaluates.

    `margins`: (G, 8) table of the margins of all devices, `count` numbers.
    `shares`: (G, 8) table of the shares of the block's rows, ``rows + 1`` numbers. It reads a buffer that
      ends with the margins that decide.
    `of`: (G,) rows of the block's table that they are made from.
    `count`: Number of margins.
    `keep`: Arrays that the tables point to.
    """

    margins: Table
    shares: Table
    of: NDArray[np.intp]
    count: int
    keep: tuple[Any, ...]


def switch_tables(kernels: Kernels, groups: Sequence[Any], size: int) -> SwitchTables:
    """Return the tables of a block of a system with these groups, whose buffer has `size` numbers."""
    found = kernels.shared_by_all("switches", lambda: _switch_tables(kernels, groups, size))
    margins, shares = (kernels.with_parameters(table, found.of) for table in (found.margins, found.shares))
    return replace(found, margins=margins, shares=shares, keep=(kernels.keep, *found.keep))


def _switch_tables(kernels: Kernels, groups: Sequence[Any], size: int) -> SwitchTables:
    """Return the tables of a block that has none yet."""
    place = np.full(size, kernels.rows, np.uint32)
    place[kernels.row_indices] = np.arange(kernels.rows)
    called = [(g, devices) for g, devices in zip(groups, kernels.selected, strict=True) if devices.size]
    count, of, keep, margins, shares = 0, [], [], [], []
    for row, (group, devices) in enumerate(called):
        code = group.compiled
        if not code.switches:
            continue
        at = np.arange(count, count + devices.size * code.switches, dtype=np.uint32)
        count += at.size
        index = np.hstack([group.index[devices], size + at.reshape(devices.size, -1)])
        index = np.ascontiguousarray(index, dtype=np.uint32)
        target = np.ascontiguousarray(place[group.row[devices][:, list(code.switched)]])
        margins.append(kernels.with_target(row, code.margins, at))
        shares.append(kernels.with_target(row, code.shares, target, index))
        of.append(row)
        keep += [at, index, target]
    width = kernels.table.shape[1]
    return SwitchTables(
        np.array(margins, np.int64).reshape(-1, width),
        np.array(shares, np.int64).reshape(-1, width),
        np.array(of, dtype=np.intp),
        count,
        tuple(keep),
    )
