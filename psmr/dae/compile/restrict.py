"""The compiled face of a system or of a block of it, made from the index tables of its components.

A block has chosen rows and as many chosen variables; only the devices that add to one of the rows are called.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError
from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.kernels import Kernels, Reals
from psmr.dae.declare.device import Device

# Blocks of a system whose index tables are kept, so that the runs of a sweep share them.
BLOCKS = 16

_known: WeakKeyDictionary[Any, dict[Any, Kernels]] = WeakKeyDictionary()


class SystemTables(Protocol):
    """What is read of a system by what it is made from; `psmr.dae.system.system.System` says what each is."""

    @property
    def devices(self) -> tuple[Device, ...]: ...  # noqa: D102
    @property
    def names_x(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_y(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_u(self) -> tuple[str, ...]: ...  # noqa: D102
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


def restrict(
    system: SystemTables,
    parameters: Sequence[Reals] | None,
    rows: NDArray[Any],
    variables: NDArray[Any],
    out: Collection[str] = (),
) -> Kernels:
    """Return the kernels of the block with the given rows and variables.

    `parameters`: parameter matrices, one a component; None for the system's own; `rows`, `variables`:
    positions in the residual and in w, of equal length, states first and equal on both sides. Variables may
    be held inputs (initialisation solves for set-points); `out`: names of devices out of service.

    Only the devices that add to one of the rows are called. A device out of service is not: its derivatives
    are then zero, and its algebraic variables and equations are not part of the block, so that nothing that
    solves it changes them.
    """
    rows = np.asarray(rows, dtype=np.intp)
    variables = np.asarray(variables, dtype=np.intp)
    if out:
        rows, variables = _in_service(system, out, rows, variables)
    parameters = system.parameters if parameters is None else parameters
    known = _known.setdefault(system.groups[0], {}) if system.groups else {}
    key = rows.tobytes(), variables.tobytes(), frozenset(out), system.limited.tobytes()
    if key not in known:
        if len(known) >= BLOCKS:
            del known[next(iter(known))]
        known[key] = _restrict(system, parameters, rows, variables, out)
    states = rows[: known[key].states]
    return known[key].copy(parameters, system.lower[states], system.upper[states])


def _restrict(
    system: SystemTables,
    parameters: Sequence[Reals],
    rows: NDArray[np.intp],
    variables: NDArray[np.intp],
    out: Collection[str],
) -> Kernels:
    """Return the kernels of a block that was not met before; see `restrict`."""
    count = rows.size
    states = int(np.count_nonzero(rows < system.n))
    row_place = np.full(system.n + system.m, count, dtype=np.intp)
    row_place[rows] = np.arange(count)
    column_place = np.full(system.w0.size, -1, dtype=np.intp)
    column_place[variables] = np.arange(count)

    lower_at, upper_at = _moving_limits(system, out, rows[:states])
    bound_keys = [_bound_keys(places, column_place, count) for places in (lower_at, upper_at)]
    selected, keys = [], [np.arange(states) * (count + 1), *bound_keys]
    for group in system.groups:
        takes_part = (row_place[group.row] < count).any(axis=1) & ~_among(group, out)
        selected.append(np.flatnonzero(takes_part))
        keys.append(_entry_keys(group, selected[-1], row_place, column_place, count).ravel())
    pattern = _distinct(np.concatenate(keys))
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
        pointers = [address_of(array) for array in arrays]
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
        keep=tuple(kept),
    )


def _distinct(keys: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the keys that are not negative, each once, ascending."""
    # numpy.unique hashes whole numbers, which takes ten times as long as to sort these (measured, 500,000).
    keys = np.sort(keys[keys >= 0])
    return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys


def _moving_limits(
    system: SystemTables, out: Collection[str], states: NDArray[np.intp]
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


def _in_service(
    system: SystemTables, out: Collection[str], rows: NDArray[np.intp], variables: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and variables without the algebraic ones of devices out of service.

    Raises InputError where the block has more of their variables than of their rows, or fewer.
    """
    left_rows, left_variables = [], []
    for group in system.groups:
        component = group.compiled.component
        own = slice(len(component.states), len(component.states) + len(component.algebraic))
        devices = _among(group, out)
        left_rows.append(group.row[devices, own].ravel())
        left_variables.append(group.index[devices, own].ravel())
    stays = ~np.isin(rows, np.concatenate(left_rows)), ~np.isin(variables, np.concatenate(left_variables))
    equations, unknowns = (int(np.count_nonzero(~kept)) for kept in stays)
    if equations != unknowns:
        raise InputError(
            f"out of service: {', '.join(sorted(out))}: a block of the system has {unknowns} of their "
            f"algebraic variables and {equations} of their equations; it needs as many of each"
        )
    return rows[stays[0]], variables[stays[1]]
