"""The two sides of a partition as rows and variables, and the interface between them in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from partitioning import Partition, PartitionError
from partitioning.matching import pairings
from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError, SingularError
from psmr.dae.compile.kernels import jacobian
from psmr.dae.system.linear import LinearDae
from psmr.integrate.solve.block import Block, column_indices

Indices = NDArray[Any]


class DaeNames(Protocol):
    """What a partition is held against: a system, or a DAE linearised."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def m(self) -> int: ...  # noqa: D102
    @property
    def names_x(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_y(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_g(self) -> tuple[str, ...]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Sides:
    """Fast and slow variables and rows, as positions in w and in the residual."""

    fast: Indices
    slow: Indices
    fast_rows: Indices
    slow_rows: Indices

    def of(self, side: str, algebraic_from: int | None = None) -> tuple[Indices, Indices]:
        """Return rows and variables of a side or of both, the algebraic ones alone from a position on."""
        if side == "all":
            rows = np.sort(np.concatenate([self.fast_rows, self.slow_rows]))
            variables = np.sort(np.concatenate([self.fast, self.slow]))
        else:
            rows = self.fast_rows if side == "fast" else self.slow_rows
            variables = self.fast if side == "fast" else self.slow
        if algebraic_from is not None:
            return rows[rows >= algebraic_from], variables[variables >= algebraic_from]
        return rows, variables

    def beyond(self, side: str) -> Indices:
        """Return the variables of the other side; none beside both."""
        return {"fast": self.slow, "slow": self.fast, "all": self.fast[:0]}[side]


def sides_of(system: DaeNames, split: Partition | None) -> Sides:
    """Return the sides of a partition; without one every variable is slow.

    Raises SchemeError for the partition of another system.
    """
    if split is None:
        every, none = np.arange(system.n + system.m), np.zeros(0, np.intp)
        return Sides(none, every, none, every)
    require_same_system(split, system)
    variables = np.concatenate([split.fast_x, split.fast_y])
    rows = np.concatenate([split.fast_x, split.fast_g])
    return Sides(*(np.flatnonzero(mask) for mask in (variables, ~variables, rows, ~rows)))


def require_same_system(split: Partition, system: DaeNames) -> None:
    """Raise SchemeError for the partition of another system."""
    if (split.names_x, split.names_y, split.names_g) != (system.names_x, system.names_y, system.names_g):
        raise SchemeError(
            f"split is a partition of {len(split.names_x)} states and {len(split.names_y)} algebraic "
            f"variables of another system; this one has {len(system.names_x)} and {len(system.names_y)}: "
            "make the partition from its own linearise()"
        )


def read_by(whole: Block, fast_rows: Indices, slow: Indices) -> Indices:
    """Return the slow variables that the fast rows read."""
    kernels = whole.kernels
    fast = np.isin(kernels.row_indices, fast_rows)
    columns = column_indices(kernels)[fast[kernels.indices]]
    read = np.zeros(len(kernels.variables), bool)
    read[columns] = True
    return np.intersect1d(kernels.variables[read], slow, assume_unique=True)


def sides_in_service(sides: Sides, whole: Block, w: Reals) -> Sides:
    """Return the sides without the devices that left `whole`.

    The sides keep their other variables. They keep their rows too, unless a side would have more equations
    than variables: the equations are then paired with the variables once more. Raises SingularError where the
    algebraic equations are singular without these devices.
    """
    kernels, n = whole.kernels, whole.kernels.states
    is_fast, is_fast_row = (
        np.isin(places, fast)
        for places, fast in ((kernels.variables, sides.fast), (kernels.row_indices, sides.fast_rows))
    )
    if np.count_nonzero(is_fast) != np.count_nonzero(is_fast_row):
        try:
            is_fast_row[n:] = pairings(_algebraic(whole, w)).equations(is_fast[n:])[0]
        except PartitionError as error:
            raise SingularError(f"fast and slow rows without the devices out of service: {error}") from error
    return Sides(
        kernels.variables[is_fast],
        kernels.variables[~is_fast],
        kernels.row_indices[is_fast_row],
        kernels.row_indices[~is_fast_row],
    )


def _algebraic(whole: Block, w: Reals) -> LinearDae:
    """Return the algebraic equations of the whole system at w, linearised."""
    kernels, matrix, n = whole.kernels, whole.records.matrix, whole.kernels.states
    jacobian(matrix.table, matrix.constant, w, matrix.J)
    pattern = (matrix.J[:-1].copy(), kernels.indices.astype(np.int32), kernels.indptr.astype(np.int32))
    gy = sparse.csc_matrix(pattern, (kernels.rows, kernels.rows))[n:, n:]
    none = sparse.csc_matrix((0, 0))
    m = gy.shape[0]
    return LinearDae(
        none, sparse.csc_matrix((0, m)), sparse.csc_matrix((m, 0)), gy, (), whole.columns[n:], whole.rows[n:],
        np.arange(m),
    )  # fmt: skip
