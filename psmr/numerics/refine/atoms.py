"""The smallest sets of variables and equations that may have a step of their own: devices, a bus among them.

A block of any such sets must be well posed: its algebraic equations must determine its algebraic variables. A
device whose equations do so by themselves stands alone; where a variable is found from the equation of
another device the two are one. Every union of sets then has a full transversal of entries of g_y, so that no
choice among them is structurally singular; a choice that is singular by its values is found by the
factorisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import (
    connected_components,
    maximum_bipartite_matching,
    min_weight_full_bipartite_matching,
)

from psmr.dae.compile.kernels import jacobian
from psmr.dae.declare.component import rows_of
from psmr.dae.system.system import System
from psmr.numerics.refine.activity import JOINED
from psmr.numerics.solve.block import Block, column_indices

Places = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Atoms:
    """A system cut into sets that may be refined.

    Attributes
    ----------
    names
        Devices of each set, joined by `psmr.numerics.refine.activity.JOINED`.
    of_variable, of_row
        (n + m,) the set of each variable and of each row of the residual.
    sizes
        (sets,) number of variables.
    """

    names: tuple[str, ...]
    of_variable: Places
    of_row: Places
    sizes: NDArray[np.int64]


class _Entries(NamedTuple):
    """Entries of g_y in the Jacobian of a whole system: their places, equations and variables."""

    place: NDArray[np.intp]
    row: NDArray[np.intp]
    column: NDArray[np.intp]


def atoms_of(system: System, whole: Block, w: NDArray[np.float64]) -> Atoms:
    """Cut a system into the smallest sets of devices that are well posed.

    All blocks of a system share what was found last; it serves where the same entries of g_y are there.

    Parameters
    ----------
    system
        The DAE.
    whole
        The block of all its rows and variables.
    w
        Buffer at which an entry of g_y counts that is not zero.
    """
    kernels, matrix = whole.kernels, whole.records.matrix
    entries = kernels.shared_by_all("entries of g_y", lambda: _entries(whole))
    values = np.empty(kernels.nnz + 1)
    jacobian(matrix.table, matrix.constant, w, values)
    present = values[entries.place] != 0.0
    known: dict[bytes, Atoms] = kernels.shared_by_all("atoms", dict)
    key = present.tobytes()
    found = known.get(key)  # asked once: a run in another thread may replace what is there
    if found is None:
        m, ones = kernels.rows - kernels.states, np.ones(int(present.sum()))
        places = entries.row[present], entries.column[present]
        found = _atoms(system, sparse.csc_array((ones, places), shape=(m, m)))
        known.clear()
        known[key] = found
    return found


def _entries(whole: Block) -> _Entries:
    """Return the entries of g_y, those that hold devices out of service among them."""
    kernels, n = whole.kernels, whole.kernels.states
    row, column = kernels.indices.astype(np.intp), column_indices(kernels)
    place = np.flatnonzero((row >= n) & (column >= n))
    return _Entries(place, row[place] - n, column[place] - n)


def _atoms(system: System, gy: sparse.csc_array) -> Atoms:
    devices = system.devices
    kinds = {device.component for device in devices}
    widths = {c: (len(c.states), len(c.algebraic), len(rows_of(c))) for c in kinds}
    counts = np.array([widths[device.component] for device in devices], dtype=np.intp).reshape(-1, 3).T
    number = np.arange(len(devices))
    states, algebraic, rows = (np.repeat(number, count) for count in counts)
    joined = _joined(gy, rows, algebraic, len(devices))
    variables = joined[np.concatenate([states, algebraic])].astype(np.uint32)
    count = int(joined.max(initial=-1)) + 1
    return Atoms(
        names=_names(system, joined, count),
        of_variable=variables,
        of_row=joined[np.concatenate([states, rows])].astype(np.uint32),
        sizes=np.bincount(variables, minlength=count),
    )


def _names(system: System, joined: NDArray[np.intp], count: int) -> tuple[str, ...]:
    if count == len(system.devices):
        return tuple(device.name for device in system.devices)
    members: list[list[str]] = [[] for _ in range(count)]
    for device, atom in zip(system.devices, joined, strict=True):
        members[atom].append(device.name)
    return tuple(JOINED.join(names) for names in members)


def _joined(
    gy: sparse.csc_array, row_device: NDArray[np.intp], column_device: NDArray[np.intp], count: int
) -> NDArray[np.intp]:
    """Return the set of each device: one more for each, but one for devices that share a pair."""
    entries = gy.tocoo()
    inside = row_device[entries.row] == column_device[entries.col]
    own = sparse.csr_array((entries.data[inside], (entries.row[inside], entries.col[inside])), shape=gy.shape)
    if (maximum_bipartite_matching(own, perm_type="column") >= 0).all():
        return np.arange(count)
    cost = sparse.csr_array((np.where(inside, 1.0, 2.0), (entries.row, entries.col)), shape=gy.shape)
    try:
        row, column = min_weight_full_bipartite_matching(cost)
    except ValueError:  # no choice is well posed, not even all devices together
        return np.zeros(count, dtype=np.intp)
    pairs = (np.ones(row.size), (row_device[row], column_device[column]))
    return np.asarray(connected_components(sparse.csr_array(pairs, shape=(count, count)), False)[1])
