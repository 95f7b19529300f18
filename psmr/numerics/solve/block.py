"""A block: rows and variables that are solved together, with their Newton matrix and its factors.

The whole system is a block, and so are its algebraic equations and the fast and the slow side of a partition.
All blocks have one type, so that one compiled Newton serves them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.dae.compile.kernels import Kernels
from psmr.dae.compile.restrict import restrict
from psmr.dae.system.system import System
from psmr.numerics.solve.lu import Lu, factorise, ordering, unfactorised

Reals = NDArray[np.float64]
Ramp = tuple[float, float, float]

# Places in `Arrays.memory`.
SCALE = 0  # h * gamma of the factorised matrix; NaN when a factorisation is due
RATE = 1  # theta / (1 - theta) last measured with a fresh matrix; 1 when unknown
VALID = 2  # 1 when F holds the residual at the present w
WORST = 3  # last update, relative to max(1, |w|)

# Places in `Arrays.counts`.
ITERATIONS, RESIDUALS, FACTORISATIONS, REFRESHES, SOLVES, WORST_AT = range(6)

# Columns of `Arrays.moving`: the state, its place in `bounded`, the positions in w of its limits (-1 for a
# constant one), and the places in J of the entries in their columns (the last one where there is none).
STATE, BOUNDED, LOWER_AT, UPPER_AT, LOWER_SLOT, UPPER_SLOT = range(6)


_PURPOSE = {
    "step": "the step",
    "algebraic": "the algebraic equations of an explicit stage",
    "predictor": "the prediction of the macro step",
    "fast": "the fast step",
    "slow": "the slow step",
    "event": "the algebraic equations",
}


class Arrays(NamedTuple):
    """What compiled code needs of a block.

    Attributes
    ----------
    table
        Addresses of the kernels, see `psmr.dae.compile.kernels`.
    variables
        Positions in w; the first `states` of them are states.
    constant, J, F
        Constant Jacobian entries, Jacobian (then Newton matrix), raw residual; one entry longer than needed.
    state_slots, diagonal
        Places in J of all entries in state rows, and of their diagonal.
    lower, upper, bounded
        Non-windup limits of the states, and which states have one; of a limit that moves the value that was
        last needed.
    moving
        (count, 6) the states with a limit that moves, and where it is; see the names above.
    limit_slots, limit_ends
        Places in J of the entries of the rows of bounded states, one row after the other.
    held, held_in_matrix
        For each bounded state -1, 0 or 1: which limit holds it, now and in the factorised matrix.
    ramped, ramps
        Positions in w of the held inputs that change with time, and (count, 3) value, rate and the time in s
        at which they have that value.
    known, defect, update
        Work vectors: known part of the state equations, Newton residual and update.
    start, full
        Work vectors of a damped solve: variables before the update, and the undamped update.
    memory, counts
        What outlives a call; see the names above.
    lu
        Factors of the Newton matrix; `unfactorised` before the first one.
    """

    table: NDArray[np.int64]
    variables: np.ndarray
    constant: np.ndarray
    J: np.ndarray
    F: np.ndarray
    state_slots: np.ndarray
    diagonal: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    bounded: np.ndarray
    moving: np.ndarray
    limit_slots: np.ndarray
    limit_ends: np.ndarray
    held: np.ndarray
    held_in_matrix: np.ndarray
    ramped: np.ndarray
    ramps: np.ndarray
    known: np.ndarray
    defect: np.ndarray
    update: np.ndarray
    start: np.ndarray
    full: np.ndarray
    memory: np.ndarray
    counts: np.ndarray
    lu: Lu


@dataclass
class Block:
    """A block with its names, on the Python side.

    Attributes
    ----------
    role
        What it is solved for: ``"step"``, ``"algebraic"``, ``"predictor"``, ``"fast"``, ``"slow"``.
    arrays
        What compiled loops take; replaced as a whole when pivots change.
    first
        Buffer at the first solution of the block's equations without limits; None before it.
    """

    role: str
    kernels: Kernels
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    order: NDArray[Any]
    arrays: Arrays
    first: Reals | None = None

    @property
    def purpose(self) -> str:
        """Words for the role."""
        return _PURPOSE[self.role]

    @property
    def size(self) -> int:
        """Order of the matrix."""
        return self.kernels.rows

    def load(
        self, parameters: Sequence[Reals], lower: Reals, upper: Reals, ramps: Mapping[int, Ramp], w: Reals
    ) -> None:
        """Take new parameters, constant limits and ramps of inputs; what the old ones gave is forgotten.

        `ramps` has a (value, rate, time at which it has that value) for the position of an input in w.
        """
        self.kernels.load(parameters)
        states = self.kernels.row_indices[: self.kernels.states]
        self.arrays.lower[:] = lower[states]
        self.arrays.upper[:] = upper[states]
        self.arrays = self.arrays._replace(
            ramped=np.array(list(ramps), dtype=np.uint32), ramps=np.array(list(ramps.values())).reshape(-1, 3)
        )
        self.kernels.write_constant(w, self.arrays.constant)
        self.forget()

    def take_out(
        self,
        system: System,
        parameters: Sequence[Reals],
        w: Reals,
        out: Collection[str],
        rows: NDArray[Any] | None = None,
    ) -> None:
        """Make the block anew with the devices in `out` out of service, and other rows where given.

        What was counted stays; pivots are chosen at the next solve.
        """
        k = self.kernels
        rows = k.row_indices if rows is None else rows
        new = make_block(system, self.role, parameters, w, rows, k.variables, out)
        new.arrays.counts[:] = self.arrays.counts
        self.kernels, self.rows, self.order, self.arrays = new.kernels, new.rows, new.order, new.arrays

    def forget(self) -> None:
        """Let the next Newton solve begin with a new matrix."""
        self.arrays.memory[SCALE] = np.nan
        self.arrays.memory[RATE] = 1.0
        self.arrays.memory[VALID] = 0.0

    @property
    def held_columns(self) -> NDArray[np.intp]:
        """Columns of the algebraic variables of devices out of service."""
        return column_indices(self.kernels)[self.kernels.ones]

    def repivot(self) -> None:
        """Choose pivots for the Newton matrix in J, which has none yet or whose old ones do not suit it.

        Raises
        ------
        SingularError
            When there are none; names the variable.
        """
        k = self.kernels
        lu = factorise(k.indptr, k.indices, self.arrays.J, self.order, self.columns, self.rows)
        self.arrays = self.arrays._replace(lu=lu)
        self.forget()


def _moving(kernels: Kernels) -> NDArray[np.int64]:
    """Return `Arrays.moving`."""
    states = np.flatnonzero((kernels.lower_at >= 0) | (kernels.upper_at >= 0))
    places = (kernels.lower_at, kernels.upper_at, kernels.lower_slot, kernels.upper_slot)
    columns = [states, np.searchsorted(kernels.bounded, states), *(place[states] for place in places)]
    return np.ascontiguousarray(np.stack(columns, axis=1), dtype=np.int64)


def column_indices(kernels: Kernels) -> NDArray[np.intp]:
    """Return the column of each Jacobian entry."""
    indptr = kernels.indptr.astype(np.intp)
    return np.repeat(np.arange(kernels.rows), indptr[1:] - indptr[:-1])


def make_block(
    system: System,
    role: str,
    parameters: Sequence[Reals],
    w: Reals,
    rows: NDArray[Any],
    variables: NDArray[Any],
    out: Collection[str] = (),
) -> Block:
    """Return the block of a system with the given rows and variables.

    Parameters
    ----------
    system, parameters
        The whole, and its parameter matrices.
    role
        Name for counters and messages.
    w
        Buffer at which constant entries are evaluated (they depend on parameters only).
    rows, variables
        Positions in the residual and in w, states first and equal on both sides.
    out
        Names of devices out of service; see `psmr.dae.compile.restrict.restrict`.
    """
    kernels = restrict(system, parameters, rows, variables, out)
    size, states, nnz = kernels.rows, kernels.states, kernels.nnz
    names_w = (*system.names_x, *system.names_y, *system.names_u)
    names_r = (*system.names_x, *system.names_g)
    column_of = column_indices(kernels)
    indices = kernels.indices.astype(np.int64)
    in_state_rows = np.flatnonzero(indices < states)
    diagonal = np.flatnonzero((indices == column_of) & (indices < states))
    limited = np.flatnonzero(np.isin(indices, kernels.bounded))
    limited = limited[np.argsort(indices[limited], kind="stable")]
    constant = np.empty(nnz + 1)
    kernels.write_constant(w, constant)
    order = ordering(kernels.indptr, kernels.indices)
    count = len(kernels.bounded)

    def index(values: Any) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=np.uint32)

    arrays = Arrays(
        table=kernels.table,
        variables=kernels.variables,
        constant=constant,
        J=np.zeros(nnz + 1),
        F=np.zeros(size + 1),
        state_slots=index(in_state_rows),
        diagonal=index(diagonal),
        lower=np.array(kernels.lower),
        upper=np.array(kernels.upper),
        bounded=kernels.bounded,
        moving=_moving(kernels),
        limit_slots=index(limited),
        limit_ends=index(np.searchsorted(indices[limited], kernels.bounded, side="right")),
        held=np.zeros(count, np.int8),
        held_in_matrix=np.zeros(count, np.int8),
        ramped=index([]),
        ramps=np.zeros((0, 3)),
        known=np.zeros(states),
        defect=np.zeros(size),
        update=np.zeros(size),
        start=np.zeros(size),
        full=np.zeros(size),
        memory=np.array([np.nan, 1.0, 0.0, 0.0]),
        counts=np.zeros(6, np.int64),
        lu=unfactorised(),
    )
    columns = tuple(names_w[i] for i in kernels.variables)
    return Block(role, kernels, columns, tuple(names_r[i] for i in kernels.row_indices), order, arrays)
