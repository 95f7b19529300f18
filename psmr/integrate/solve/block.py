"""A block: rows and variables that are solved together, with their Newton matrix and its factors.

The whole system is a block, and so are its algebraic equations and either side of a partition: one Newton.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import SingularError
from psmr.dae.compile.arguments import address_of
from psmr.dae.compile.kernels import Kernels
from psmr.dae.compile.restrict import restrict
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.courses import NOTHING, Courses
from psmr.integrate.solve.equations import evaluate
from psmr.integrate.solve.lu import BORDER, FAILED_AT, Lu, Search, first_factors
from psmr.integrate.solve.newton import solve, solve_block
from psmr.integrate.solve.records import (
    CONTRACTION,
    HOMOTOPY,
    NETWORK_SCALE,
    SCALE,
    TURNING,
    VALID,
    BlockArrays,
    Limits,
    Matrix,
    Work,
    initial_newton_state,
    row_of,
)
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_FINITE
from psmr.integrate.solve.turning import NOTHING_TURNS, Turned, at_rest, within


def ordering(indptr: NDArray[np.uint32], indices: NDArray[np.uint32]) -> tuple[NDArray[np.intp], int]:
    """Return the columns in the order of elimination, minimum degree on A + A^T, and the entries of a factor.

    SuperLU computes it as a part of a factorisation; it gets a diagonally dominant matrix of the same
    pattern, since the ordering depends on the pattern alone and must not fail on values. The entries are
    those of its larger factor. Runs that differ in their events have the same patterns: those last met are
    remembered.
    """
    order, entries, _ = _ordering(indptr.astype(np.int32).tobytes(), indices.astype(np.int32).tobytes())
    return order.copy(), entries


@functools.lru_cache(maxsize=32)
def _ordering(starts: bytes, rows: bytes) -> tuple[NDArray[np.intp], int, NDArray[np.intp]]:
    """Return also how many entries each of these columns has in the lower factor."""
    indptr, indices = np.frombuffer(starts, np.int32), np.frombuffer(rows, np.int32)
    n = len(indptr) - 1
    pattern = sparse.csc_matrix((np.ones(len(indices)), indices, indptr), (n, n))
    dominant = pattern + sparse.diags_array(np.full(n, 2.0 * n + 2.0), format="csc")
    done = splu(
        dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    L = done.L
    return np.argsort(done.perm_c), int(max(L.nnz, done.U.nnz)), np.diff(L.indptr).astype(np.intp)


def order_and_room(
    indptr: NDArray[np.uint32], indices: NDArray[np.uint32], network: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.uint32], int, int]:
    """Return the order of elimination of the columns, the room in a factor, in entries, and the border.

    Behind the border is the `network`, one flag a column, where most of the work is there: its products, and
    as many for each column as one costs beside its products. Else all columns are ahead of it.
    """
    n = len(indptr) - 1
    if not n:
        return np.zeros(0, np.uint32), 0, 0
    order, entries, below = _ordering(indptr.astype(np.int32).tobytes(), indices.astype(np.int32).tobytes())
    border = n
    if network is not None:
        behind = network[order]
        if 2 * np.sum(below[behind] ** 2) > np.sum(below**2 + TUNED.products_a_column):
            border = n - int(np.count_nonzero(behind))
            order = np.concatenate([order[~behind], order[behind]])
    # Pivots off the diagonal fill in more than the symmetric pattern; n for the column in hand.
    return order.astype(np.uint32), 2 * entries + 2 * n, border


def make_lu(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    order: NDArray[Any] | None = None,
    room: int | None = None,
    border: int | None = None,
) -> tuple[Lu, Search]:
    """Return the arrays of a factorisation of a square CSC pattern, not factorised yet.

    `indptr`, `indices`: The pattern of order n.
    `order`: Order of elimination of the columns; None computes it with `order_and_room`.
    `room`: Entries that each factor may have; None for what the pattern suggests. Where pivots off the
      diagonal need more, `first_factors` says so.
    `border`: How many columns of the order are ahead of the border, see `Lu`; None for all.
    """
    n = len(indptr) - 1
    if order is None:
        order, usual, _ = order_and_room(indptr, indices)
        room = usual if room is None else room
    room = 8 * len(indices) + 2 * n if room is None else room

    def index(size: int) -> NDArray[np.uint32]:
        return np.zeros(size, np.uint32)

    def work(size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    lu = Lu(
        indptr=np.ascontiguousarray(indptr, dtype=np.uint32),
        indices=np.ascontiguousarray(indices, dtype=np.uint32),
        rows=index(len(indices)),
        order=np.ascontiguousarray(order, dtype=np.uint32),
        position=index(n),
        Lp=index(n + 1),
        Li=index(room),
        Lx=np.zeros(room),
        Le=index(n),
        Up=index(n + 1),
        Ui=index(room),
        Ux=np.zeros(room),
        Ue=index(n),
        D=np.zeros(n),
        pair=index(n),
        mark=index(n),
        work=np.zeros(2 * n),
        state=work(3),
    )
    lu.state[BORDER] = n if border is None else border
    search = Search(
        pivot_of=work(n),
        mark=work(n),
        stack=work(n),
        head=work(n),
        topological=work(n),
        sums=np.zeros(n),
        Tp=index(n + 1),
        Ti=index(room),
        Tx=np.zeros(room),
    )
    return lu, search


def with_room(lu: Lu) -> tuple[Lu, Search]:
    """Return the arrays with twice the room for the factors, not factorised yet."""
    room = 2 * lu.Li.size + len(lu.indptr)
    return make_lu(lu.indptr, lu.indices, lu.order, room, int(lu.state[BORDER]))


def factorise(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    values: Reals,
    order: NDArray[np.intp] | None = None,
    columns: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
) -> Lu:
    """Factorise a square CSC matrix, choosing the pivots.

    `indptr`, `indices`, `values`: The matrix (n, n) in CSC form; `values` may be longer than `indices`, what
      is beyond is ignored.
    `order`: Order of elimination of the columns; None computes it with `ordering`.
    `columns`, `rows`: Names of the variables and equations, for the message.

    Raises SingularError naming the variable that cannot be determined and the equations that were left for
    it, or an entry that is not finite.
    """
    lu, search = make_lu(indptr, indices, order)
    while (status := first_factors(lu, search, values)) == NO_ROOM:
        lu, search = with_room(lu)
    if status != DONE:
        raise SingularError(why_singular(lu, search, status, values, columns, rows))
    return lu


def why_singular(
    lu: Lu,
    search: Search,
    status: int,
    values: Reals,
    columns: Sequence[str] | None,
    rows: Sequence[str] | None,
) -> str:
    """Say why `first_factors` ended with SINGULAR or NOT_FINITE."""
    if status == NOT_FINITE:
        bad = np.flatnonzero(~np.isfinite(values[: len(lu.indices)]))
        if bad.size:
            at = int(bad[0])
            column = int(np.searchsorted(lu.indptr, at, side="right")) - 1
            where = f"d {_named(rows, 'row', int(lu.indices[at]))} / d {_named(columns, 'column', column)}"
            return f"the Jacobian entry {where} is {values[at]}"
    left = np.flatnonzero(search.pivot_of < 0)
    equations = ", ".join(_named(rows, "row", int(i)) for i in left[:3])
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return (
        f"the matrix is singular: {_named(columns, 'column', int(lu.state[FAILED_AT]))} cannot be determined "
        f"from the remaining equations ({equations}{more})"
    )


def _named(names: Sequence[str] | None, kind: str, index: int) -> str:
    return names[index] if names is not None else f"{kind} {index}"


_PURPOSE = {
    "step": "the step",
    "algebraic": "the algebraic equations of an explicit stage",
    "predictor": "the prediction of the macro step",
    "fast": "the fast step",
    "slow": "the slow step",
    "event": "the algebraic equations",
    "linearisation": "the linearisation",
}


@dataclass(frozen=True, eq=False)
class Layout:
    """What depends on the kernels of a block alone: all blocks with them share it, and none writes into it.

    `columns`, `rows`: Names of variables and equations.
    `state_slots`, `diagonal`: See `Matrix`.
    `moving`, `slots`, `ends`, `slot_columns`: See `Limits`.
    `order`, `room`, `border`: See `psmr.integrate.solve.block.order_and_room`.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    state_slots: NDArray[np.uint32]
    diagonal: NDArray[np.uint32]
    moving: NDArray[np.int64]
    slots: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    slot_columns: NDArray[np.uint32]
    order: NDArray[np.uint32]
    room: int
    border: int


@dataclass
class Block:
    """A block with its names, on the Python side.

    `role`: What it is solved for: ``"step"``, ``"algebraic"``, ``"predictor"``, ``"fast"``, ``"slow"``.
    `kernels`: Its kernels and pattern.
    `columns`, `rows`: Names of its variables and equations.
    `records`: What compiled code opens; replaced as a whole when an array changes its size.
    `first`: Buffer at the first solution of the block's equations without limits; None before it.
    `whole`: Positions of its rows and variables while every device is in service.
    `resting`: Positions of states that are at rest.
    `address`: Where compiled code opens it; changes with `records`.
    """

    role: str
    kernels: Kernels
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    records: BlockArrays
    first: Reals | None = None
    resting: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    whole: tuple[NDArray[Any], NDArray[Any]] = field(init=False, repr=False)
    address: int = field(init=False)
    _row: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.whole = self.kernels.row_indices, self.kernels.variables
        self._keep(self.records)

    def _keep(self, records: BlockArrays) -> None:
        self.records, self._row = records, row_of(records, solve_block.address)
        self.address = address_of(self._row)

    @property
    def purpose(self) -> str:
        """Words for the role."""
        return _PURPOSE[self.role]

    @property
    def size(self) -> int:
        """Order of the matrix."""
        return self.kernels.rows

    def solve(self, w: Reals, a: float, policy: int, tolerance: float, effort: int) -> int:
        """Solve for the block's variables in w; see `psmr.integrate.solve.newton`. Return a status.

        Where the factors need more room than there is, they get it.
        """
        while (status := int(solve(self.address, w, a, policy, tolerance, effort))) == NO_ROOM:
            self.make_room()
        return status

    def evaluate(self, w: Reals) -> None:
        """Write the raw residual at w into F."""
        self.records.newton.scalars[VALID] = 0.0
        evaluate(self.address, w)

    def load(
        self,
        parameters: Sequence[Reals],
        lower: Reals,
        upper: Reals,
        courses: Courses,
        w: Reals,
        before: int = 0,
    ) -> None:
        """Take new parameters, constant limits and what follows a course; the old ones are forgotten.

        `before` is the number of groups that the block has before those of the system.
        """
        self.kernels.load(parameters)
        states = self.kernels.row_indices[: self.kernels.states]
        self.records.limits.lower[:] = lower[states]
        self.records.limits.upper[:] = upper[states]
        self.take_courses(courses, before)
        self.kernels.write_constant(w, self.records.matrix.constant)
        self.forget()

    def take_courses(self, courses: Courses, before: int = 0) -> None:
        """Take what follows a course; see `load`."""
        if courses or len(self.records.ramps.ends):
            self._keep(self.records._replace(ramps=courses.in_block(self.kernels, before)))

    def take_out_of_service(
        self,
        system: System,
        parameters: Sequence[Reals],
        w: Reals,
        out: Collection[str],
        places: tuple[NDArray[Any], NDArray[Any]] | None = None,
    ) -> None:
        """Make the block anew without the devices in `out` alone, with other rows and variables where given.

        Their algebraic variables leave the block and keep their values, as their states do. What was counted
        stays; pivots are chosen at the next solve.
        """
        rows, variables = places or self.whole
        new = make_block(system, self.role, parameters, w, rows, variables, out)
        new.records.newton.counts[:] = self.records.newton.counts
        self.kernels, self.columns, self.rows = new.kernels, new.columns, new.rows
        self._keep(new.records)
        if len(self.resting):
            self.rest(system, self.resting)

    def turn(self, turned: Turned, rate: float) -> None:
        """Let what turns be seen from a frame that turns by `rate` in rad/s."""
        scalars, matrix = self.records.newton.scalars, self.records.matrix
        if not len(matrix.angles):
            matrix = matrix._replace(angles=within(self.kernels, turned.angles))
            self._keep(self.records._replace(matrix=matrix))
        scalars[TURNING], scalars[VALID] = rate, 0.0

    def rest(self, system: System, resting: NDArray[np.intp]) -> None:
        """Let the states at some positions in w be at rest."""
        self.resting, records = resting, self.records
        self._keep(records._replace(matrix=at_rest(system, self.kernels, records.matrix, resting)))

    def forget(self) -> None:
        """Let the next Newton solve begin with a new matrix."""
        scalars = self.records.newton.scalars
        scalars[SCALE], scalars[CONTRACTION], scalars[VALID], scalars[HOMOTOPY] = np.nan, 1.0, 0.0, 0.0
        scalars[NETWORK_SCALE] = np.nan

    def make_room(self) -> None:
        """Double the room for the factors; pivots are chosen at the next solve."""
        lu, search = with_room(self.records.lu)
        self._keep(self.records._replace(lu=lu, search=search))
        self.records.newton.scalars[SCALE] = np.nan

    def singular(self, status: int) -> SingularError:
        """Return the error for a matrix without pivots; names the variable."""
        records = self.records
        why = why_singular(records.lu, records.search, status, records.matrix.J, self.columns, self.rows)
        return SingularError(why)


def _moving(kernels: Kernels) -> NDArray[np.int64]:
    """Return `Limits.moving`."""
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

    `role`: Name for counters and messages.
    `w`: Buffer at which constant entries are evaluated (they depend on parameters only).
    `rows`, `variables`: Positions in the residual and in w, states first and equal on both sides.
    `out`: Names of devices out of service; see `psmr.dae.compile.restrict.restrict`.
    """
    kernels = restrict(system, parameters, rows, variables, out)
    layout = kernels.shared_by_all("layout", lambda: _layout(system, kernels))
    lu, search = make_lu(kernels.indptr, kernels.indices, layout.order, layout.room, layout.border)
    records = BlockArrays(
        matrix=_matrix(kernels, layout, w),
        limits=_limits(kernels, layout),
        ramps=NOTHING.in_block(kernels, 0),
        work=Work(np.zeros(kernels.states), *(np.zeros(kernels.rows) for _ in range(6))),
        lu=lu,
        search=search,
        newton=initial_newton_state(),
    )
    return Block(role, kernels, layout.columns, layout.rows, records)


def _layout(system: System, kernels: Kernels) -> Layout:
    """Return what the blocks with these kernels share."""
    names_w = (*system.names_x, *system.names_y, *system.names_u)
    names_r = (*system.names_x, *system.names_g)
    indices = kernels.indices.astype(np.int64)
    of_state = indices < kernels.states
    bounded = np.zeros(kernels.rows, dtype=bool)
    bounded[kernels.bounded] = True
    slots = np.flatnonzero(bounded[indices])
    slots = slots[np.argsort(indices[slots], kind="stable")]
    order, room, border = order_and_room(kernels.indptr, kernels.indices, _network(system, kernels))
    return Layout(
        columns=tuple(names_w[i] for i in kernels.variables),
        rows=tuple(names_r[i] for i in kernels.row_indices),
        state_slots=_index(np.flatnonzero(of_state)),
        diagonal=_index(np.flatnonzero((indices == column_indices(kernels)) & of_state)),
        moving=_moving(kernels),
        slots=_index(slots),
        ends=_index(np.searchsorted(indices[slots], kernels.bounded, side="right")),
        slot_columns=_index(np.argsort(order)[column_indices(kernels)[slots]]),
        order=order,
        room=room,
        border=border,
    )


def _network(system: System, kernels: Kernels) -> NDArray[np.bool_]:
    """Return which columns are algebraic variables where several devices meet: they add to one equation."""
    devices_at = np.zeros(system.n + system.m, np.intp)
    for group, devices in zip(system.groups, kernels.selected, strict=True):
        devices_at += np.bincount(group.row[devices].ravel(), minlength=devices_at.size)[: devices_at.size]
    met = np.flatnonzero(devices_at > 1)
    return np.isin(kernels.variables, met[met >= system.n])


def _index(values: Any) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values, dtype=np.uint32)


def _matrix(kernels: Kernels, layout: Layout, w: Reals) -> Matrix:
    constant = np.empty(kernels.nnz + 1)
    kernels.write_constant(w, constant)
    return Matrix(
        table=kernels.table,
        variables=kernels.variables,
        constant=constant,
        J=np.zeros(kernels.nnz + 1),
        F=np.zeros(kernels.rows + 1),
        state_slots=layout.state_slots,
        diagonal=layout.diagonal,
        **NOTHING_TURNS,
    )


def _limits(kernels: Kernels, layout: Layout) -> Limits:
    count = len(kernels.bounded)
    return Limits(
        lower=np.array(kernels.lower),
        upper=np.array(kernels.upper),
        bounded=kernels.bounded,
        moving=layout.moving,
        slots=layout.slots,
        ends=layout.ends,
        columns=layout.slot_columns,
        free=np.zeros(len(layout.slots)),
        held=np.zeros(count, np.int64),
        held_in_matrix=np.zeros(count, np.int64),
    )
