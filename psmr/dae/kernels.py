"""The compiled face of a system: kernels called by address through a table, on a system or on a block of it.

A row of the table is one component with all its devices::

    residual, jacobian, constant jacobian (addresses), number of devices, index, row, slot, parameters
    (pointers)

The residual has one more entry than there are rows and the Jacobian one more than it has non-zeros: the last
entry takes what a block does not want, so that a device that owns one fast row needs no test in its kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from psmr.dae.cache import lean
from psmr.errors import InputError

Indices = NDArray[np.uint32]
Reals = NDArray[np.float64]


class Whole(Protocol):
    """What `restrict` reads of a system; see `psmr.dae.system.System` for the meaning of each."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def m(self) -> int: ...  # noqa: D102
    @property
    def w0(self) -> Reals: ...  # noqa: D102
    @property
    def groups(self) -> Sequence[Any]: ...  # noqa: D102
    @property
    def parameters(self) -> Sequence[Reals]: ...  # noqa: D102
    @property
    def lower(self) -> Reals: ...  # noqa: D102
    @property
    def upper(self) -> Reals: ...  # noqa: D102
    @property
    def lower_at(self) -> NDArray[np.intp]: ...  # noqa: D102
    @property
    def upper_at(self) -> NDArray[np.intp]: ...  # noqa: D102
    @property
    def limited(self) -> NDArray[np.bool_]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Kernels:
    """What a compiled loop needs of a system, or of the block of it with chosen rows and variables.

    Attributes
    ----------
    table
        (G, 8) addresses and pointers, a row a component; see the module's text.
    rows, nnz
        Number of residual rows and of Jacobian entries; buffers are one longer.
    states
        The first `states` rows and variables are states and their equations.
    indptr, indices
        CSC pattern of the Jacobian in compact numbering, row indices ascending, the diagonal of the state
        rows and the columns of the variables that limit them included.
    row_indices, variables
        Position of each row in the residual of the whole system, of each column in w.
    lower, upper
        (states,) constant non-windup limits, infinite where there are none.
    lower_at, upper_at
        (states,) positions in w of the limits that move, -1 for the others.
    lower_slot, upper_slot
        (states,) places in the Jacobian of the entries in the columns of those limits; the last entry where
        a limit is constant or no variable of the block.
    bounded
        States that have a limit, in compact numbering.
    selected, parameters
        Which devices of each component take part, and their parameter values (loaded by `load`).
    ones
        Jacobian entries that are 1: they keep the algebraic variables of devices out of service.
    keep
        Arrays that the table points to.
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
    ones: Indices
    keep: tuple[Any, ...]

    def load(self, parameters: Sequence[Reals]) -> None:
        """Copy the parameter matrices of the system, one a component, into the table's own."""
        for own, chosen, given in zip(self.parameters, self.selected, parameters, strict=True):
            own[:] = given[chosen]

    def write_constant(self, w: Reals, out: Reals) -> None:
        """Write the entries of the Jacobian that do not change within a span; ``out`` has one entry more."""
        constant_jacobian(self.table, w, out)
        out[self.ones] = 1.0


def restrict(
    system: Whole,
    parameters: Sequence[Reals] | None,
    rows: NDArray[Any],
    variables: NDArray[Any],
    out: Collection[str] = (),
) -> Kernels:
    """Return the kernels of the block with the given rows and variables.

    Parameters
    ----------
    system
        The whole.
    parameters
        Parameter matrices, one a component; None for the system's own.
    rows, variables
        Positions in the residual and in w, of equal length, states first and equal on both sides. Variables
        may be held inputs (initialisation solves for set-points).
    out
        Names of devices out of service.

    Notes
    -----
    Only the devices that add to one of the rows are called. A device out of service is not: its derivatives
    are then zero, and the block holds its algebraic variables with an entry of 1 in each of its own rows.
    """
    rows = np.asarray(rows, dtype=np.intp)
    variables = np.asarray(variables, dtype=np.intp)
    parameters = system.parameters if parameters is None else parameters
    count = rows.size
    states = int(np.count_nonzero(rows < system.n))
    row_place = np.full(system.n + system.m, count, dtype=np.intp)
    row_place[rows] = np.arange(count)
    column_place = np.full(system.w0.size, -1, dtype=np.intp)
    column_place[variables] = np.arange(count)

    held = _held_keys(system, out, row_place, column_place, count)
    lower_at, upper_at = _moving_limits(system, out, rows[:states])
    bound_keys = [_bound_keys(places, column_place, count) for places in (lower_at, upper_at)]
    selected, keys = [], [np.arange(states) * (count + 1), held, *bound_keys]
    for group in system.groups:
        takes_part = (row_place[group.row] < count).any(axis=1) & ~_among(group, out)
        selected.append(np.flatnonzero(takes_part))
        keys.append(_entry_keys(group, selected[-1], row_place, column_place, count).ravel())
    pattern = np.unique(np.concatenate(keys))
    pattern = pattern[pattern >= 0]
    nnz = pattern.size
    indptr = np.searchsorted(pattern, np.arange(count + 1) * count).astype(np.uint32)
    indices = (pattern % max(count, 1)).astype(np.uint32)

    table, kept, chosen, values = [], [], [], []
    for group, devices, matrix in zip(system.groups, selected, parameters, strict=True):
        own = np.ascontiguousarray(matrix[devices])
        chosen.append(devices)
        values.append(own)
        if devices.size == 0:
            continue
        keys_here = _entry_keys(group, devices, row_place, column_place, count)
        slots = _slots(keys_here, pattern)
        arrays = (
            np.ascontiguousarray(group.index[devices]),
            np.ascontiguousarray(row_place[group.row[devices]].astype(np.uint32)),
            np.ascontiguousarray(slots.astype(np.uint32)),
            own,
        )
        kept.append(arrays)
        code = group.compiled
        pointers = [array.ctypes.data for array in arrays]
        table.append([code.residual, code.jacobian, code.constant, devices.size, *pointers])

    lower_slot, upper_slot = (_slots(keys, pattern) for keys in bound_keys)
    return Kernels(
        table=np.array(table, dtype=np.int64).reshape(-1, 8),
        rows=count,
        nnz=nnz,
        states=states,
        indptr=indptr,
        indices=indices,
        row_indices=rows.astype(np.uint32),
        variables=variables.astype(np.uint32),
        lower=system.lower[rows[:states]],
        upper=system.upper[rows[:states]],
        lower_at=lower_at,
        upper_at=upper_at,
        lower_slot=lower_slot,
        upper_slot=upper_slot,
        bounded=np.flatnonzero(system.limited[rows[:states]]).astype(np.uint32),
        selected=tuple(chosen),
        parameters=tuple(values),
        ones=np.searchsorted(pattern, held).astype(np.uint32),
        keep=tuple(kept),
    )


def _moving_limits(
    system: Whole, out: Collection[str], states: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions in w of the limits of the given states; devices out of service follow none."""
    lower_at, upper_at = system.lower_at.copy(), system.upper_at.copy()
    for group in system.groups:
        still = group.index[_among(group, out), : len(group.compiled.component.states)]
        lower_at[still] = upper_at[still] = -1
    return lower_at[states], upper_at[states]


def _bound_keys(places: NDArray[np.intp], column_place: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return column * count + row of the entry of each state's limit, -1 where the block has no such one."""
    column = np.where(places >= 0, column_place[places], -1)
    return np.asarray(np.where(column >= 0, column * count + np.arange(places.size), -1), dtype=np.intp)


def _slots(keys: NDArray[np.intp], pattern: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the place of each key in the pattern, one past its end for what a block does not want."""
    return np.asarray(np.where(keys >= 0, np.searchsorted(pattern, keys), pattern.size), dtype=np.intp)


def _entry_keys(
    group: Any,
    devices: NDArray[np.intp],
    row_place: NDArray[np.intp],
    column_place: NDArray[np.intp],
    count: int,
) -> NDArray[np.intp]:
    """Return column * count + row of each Jacobian entry of each device, -1 for entries outside the block."""
    entries = np.array(group.compiled.entries, dtype=np.intp).reshape(-1, 2)
    row = (
        row_place[group.row[np.ix_(devices, entries[:, 0])]]
        if devices.size
        else np.empty((0, len(entries)), int)
    )
    column = column_place[group.index[np.ix_(devices, entries[:, 1])]] if devices.size else row
    return np.asarray(np.where((row < count) & (column >= 0), column * count + row, -1), dtype=np.intp)


def _among(group: Any, names: Collection[str]) -> NDArray[np.bool_]:
    if not names:
        return np.zeros(len(group.names), dtype=bool)
    return np.array([name in names for name in group.names], dtype=bool)


def _held_keys(
    system: Whole,
    out: Collection[str],
    row_place: NDArray[np.intp],
    column_place: NDArray[np.intp],
    count: int,
) -> NDArray[np.intp]:
    """Return column * count + row of the entries that hold the algebraic variables of devices out of service.

    Raises
    ------
    InputError
        Where the block has more of their variables than of their rows, or fewer.
    """
    if not out:
        return np.zeros(0, dtype=np.intp)
    rows, columns = [], []
    for group in system.groups:
        component = group.compiled.component
        own = slice(len(component.states), len(component.states) + len(component.algebraic))
        devices = _among(group, out)
        rows.append(row_place[group.row[devices, own]].ravel())
        columns.append(column_place[group.index[devices, own]].ravel())
    row, column = np.concatenate(rows), np.concatenate(columns)
    row, column = row[row < count], column[column >= 0]
    if row.size != column.size:
        raise InputError(
            f"out of service: {', '.join(sorted(out))}: a block of the system has {column.size} of their "
            f"algebraic variables and {row.size} of their equations; it needs as many of each"
        )
    return np.asarray(column * count + row, dtype=np.intp)


@intrinsic
def _call(  # type: ignore[no-untyped-def]
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
            _call(
                table[k, kernel],
                table[k, _COUNT],
                table[k, _INDEX],
                table[k, target],
                table[k, _PARAMETERS],
                w.ctypes.data,
                out.ctypes.data,
            )


@lean
def residual(table, w, out):  # type: ignore[no-untyped-def]
    """Write the residual: raw state derivatives, then the algebraic residuals; ``out`` has one entry more."""
    out[:] = 0.0
    _evaluate(table, _RESIDUAL, _ROW, w, out)


@lean
def constant_jacobian(table, w, out):  # type: ignore[no-untyped-def]
    """Write the entries of the Jacobian that depend on parameters only; ``out`` has one entry more."""
    out[:] = 0.0
    _evaluate(table, _CONSTANT, _SLOT, w, out)


@lean
def jacobian(table, constant, w, out):  # type: ignore[no-untyped-def]
    """Write the Jacobian from its constant part and the varying entries; ``out`` has one entry more."""
    for i in range(out.size):
        out[i] = constant[i]
    _evaluate(table, _JACOBIAN, _SLOT, w, out)
