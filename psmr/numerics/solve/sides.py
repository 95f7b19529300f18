"""The two sides of a partition as rows and variables, and what becomes of them when devices leave service."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partitioning import PartitionError
from partitioning.matching import pairings
from psmr.dae.compile.kernels import Kernels, jacobian
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.errors import SchemeError, SingularError
from psmr.numerics.schemes.scheme import Multirate
from psmr.numerics.solve.block import Block, column_indices

Places = NDArray[Any]


def sides(system: System, scheme: Multirate) -> tuple[Places, ...]:
    """Return fast and slow variables and fast and slow rows, as positions in w and in the residual.

    Raises
    ------
    SchemeError
        For the partition of another system.
    """
    split = scheme.split
    if (split.names_x, split.names_y, split.names_g) != (system.names_x, system.names_y, system.names_g):
        raise SchemeError(
            f"split is a partition of {len(split.names_x)} states and {len(split.names_y)} algebraic "
            f"variables of another system; {system!r} needs one made from its own linearise()"
        )
    variables = np.concatenate([split.fast_x, split.fast_y])
    rows = np.concatenate([split.fast_x, split.fast_g])
    return tuple(np.flatnonzero(mask) for mask in (variables, ~variables, rows, ~rows))


def read_by(whole: Block, fast_rows: Places, slow: Places) -> Places:
    """Return the slow variables that the fast rows read."""
    kernels = whole.kernels
    columns = column_indices(kernels)[np.isin(kernels.indices, fast_rows)]
    return np.intersect1d(columns, slow)


def rows_of_sides(
    whole: Block, fast: Kernels, slow: Kernels, w: NDArray[np.float64]
) -> tuple[Places, Places]:
    """Return the rows of the fast and of the slow side for devices out of service in `whole`.

    The sides keep their variables. They keep their rows too, unless a side would have more equations than
    variables of the devices that left: the equations are then paired with the variables once more.

    Raises
    ------
    SingularError
        Where the algebraic equations are singular without these devices.
    """
    kernels = whole.kernels
    held_rows = kernels.indices[kernels.ones]
    held_variables = whole.held_columns
    if np.isin(held_rows, fast.row_indices).sum() == np.isin(held_variables, fast.variables).sum():
        return fast.row_indices, slow.row_indices
    n, size = kernels.states, kernels.rows
    is_fast = np.isin(np.arange(size), fast.variables)
    try:
        fast_g = pairings(_algebraic(whole, w)).equations(is_fast[n:])[0]
    except PartitionError as error:
        raise SingularError(f"fast and slow rows without the devices out of service: {error}") from error
    is_fast_row = np.concatenate([is_fast[:n], fast_g])
    return np.flatnonzero(is_fast_row), np.flatnonzero(~is_fast_row)


def _algebraic(whole: Block, w: NDArray[np.float64]) -> LinearDae:
    """Return the algebraic equations of the whole system at w, linearised."""
    kernels, arrays, n = whole.kernels, whole.arrays, whole.kernels.states
    jacobian(arrays.table, arrays.constant, w, arrays.J)
    pattern = (arrays.J[:-1].copy(), kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32))
    gy = sparse.csc_matrix(pattern, (kernels.rows, kernels.rows))[n:, n:]
    none = sparse.csc_matrix((0, 0))
    m = gy.shape[0]
    return LinearDae(
        none, sparse.csc_matrix((0, m)), sparse.csc_matrix((m, 0)), gy, (), whole.columns[n:], whole.rows[n:],
        np.arange(m),
    )  # fmt: skip
