"""The order of columns, room for the factors, and what a singular matrix cannot determine, by name."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import SingularError
from psmr.integrate.solve.lu import FAILED_AT, Lu, Search, first_factors
from psmr.integrate.solve.status import DONE, NO_ROOM, NOT_FINITE


def ordering(indptr: NDArray[np.uint32], indices: NDArray[np.uint32]) -> tuple[NDArray[np.intp], int]:
    """Return the columns in the order of elimination, minimum degree on A + A^T, and the entries of a factor.

    SuperLU computes it as a part of a factorisation; it gets a diagonally dominant matrix of the same
    pattern, since the ordering depends on the pattern alone and must not fail on values. The entries are
    those of its larger factor. Runs that differ in their events have the same patterns: those last met are
    remembered.
    """
    order, entries = _ordering(indptr.astype(np.int32).tobytes(), indices.astype(np.int32).tobytes())
    return order.copy(), entries


@functools.lru_cache(maxsize=32)
def _ordering(starts: bytes, rows: bytes) -> tuple[NDArray[np.intp], int]:
    indptr, indices = np.frombuffer(starts, np.int32), np.frombuffer(rows, np.int32)
    n = len(indptr) - 1
    pattern = sparse.csc_matrix((np.ones(len(indices)), indices, indptr), (n, n))
    dominant = pattern + sparse.diags_array(np.full(n, 2.0 * n + 2.0), format="csc")
    done = splu(
        dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    return np.argsort(done.perm_c), int(max(done.L.nnz, done.U.nnz))


def order_and_room(indptr: NDArray[np.uint32], indices: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], int]:
    """Return the order of elimination of the columns, and the entries to make room for in each factor."""
    n = len(indptr) - 1
    order, entries = ordering(indptr, indices) if n else (np.zeros(0, np.intp), 0)
    # Pivots off the diagonal fill in more than the symmetric pattern; n for the column in hand.
    return order.astype(np.uint32), 2 * entries + 2 * n


def make_lu(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    order: NDArray[Any] | None = None,
    room: int | None = None,
) -> tuple[Lu, Search]:
    """Return the arrays of a factorisation of a square CSC pattern, not factorised yet.

    Parameters
    ----------
    indptr, indices
        The pattern of order n.
    order
        Order of elimination of the columns; None computes it with `order_and_room`.
    room
        Entries that each factor may have; None for what the pattern suggests. Where pivots off the diagonal
        need more, `first_factors` says so.
    """
    n = len(indptr) - 1
    if order is None:
        order, usual = order_and_room(indptr, indices)
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
        Up=index(n + 1),
        Ui=index(room),
        Ux=np.zeros(room),
        D=np.zeros(n),
        pair=index(n),
        work=np.zeros(2 * n),
        state=work(2),
    )
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
    return make_lu(lu.indptr, lu.indices, lu.order, 2 * lu.Li.size + len(lu.indptr))


def factorise(
    indptr: NDArray[np.uint32],
    indices: NDArray[np.uint32],
    values: NDArray[np.float64],
    order: NDArray[np.intp] | None = None,
    columns: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
) -> Lu:
    """Factorise a square CSC matrix, choosing the pivots.

    Parameters
    ----------
    indptr, indices, values
        The matrix (n, n) in CSC form; `values` may be longer than `indices`, what is beyond is ignored.
    order
        Order of elimination of the columns; None computes it with `ordering`.
    columns, rows
        Names of the variables and equations, for the message.

    Raises
    ------
    SingularError
        Naming the variable that cannot be determined and the equations that were left for it, or an entry
        that is not finite.
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
    values: NDArray[np.float64],
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
