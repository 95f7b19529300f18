"""The network's response: what slow algebraic variables are while fast variables move between two points.

Slow states hardly move within a fast step, slow algebraic variables follow the fast ones at once. With J_s of
the slow algebraic equations g_s after their own variables y_s and J_f after the fast ones,

    y_s = l + S w_fast,    S = -J_s^-1 J_f,

to first order, where the level l = y_s - S w_fast changes slowly, and is interpolated. The fast equations are
solved together with these equations for the variables they read: S is the Schur complement's part of their
Newton matrix. Negligible entries of S, beside the largest of their row, are left out, from matrix and level
alike, so that only the response to them is late.

S is that of one point. It is formed anew after each event that changes the slow algebraic equations, and
where it no longer holds (`psmr.integrate.step.validity`).

The matrix S = -J_s^-1 J_f by which slow algebraic variables answer fast ones, as far as it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import SuperLU, splu, spsolve_triangular

from psmr.base.arrays import Reals
from psmr.base.errors import SingularError
from psmr.dae.compile.codegen import CompiledComponent, compile_components
from psmr.dae.compile.kernels import jacobian
from psmr.dae.declare.component import Component, Parameter
from psmr.dae.system.assemble import Term
from psmr.dae.system.places import Group
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block, column_indices, make_block
from psmr.integrate.solve.courses import Courses
from psmr.integrate.step.validity import Probe, no_probe

Indices = NDArray[Any]

Loaded = tuple[Sequence[Reals], Reals, Reals, Courses]


class NetworkResponse(NamedTuple):
    """The responding variables as the interpreter sees them.

    `at`: (k,) positions in w.
    `ends`, `of`, `gains`: S by rows: where each begins, positions in w of the fast variables, and entries.
    `level`: (k,) levels, which the block of the fast equations reads.
    """

    at: np.ndarray
    ends: np.ndarray
    of: np.ndarray
    gains: np.ndarray
    level: np.ndarray


def no_response() -> NetworkResponse:
    """Return the response of a step without any."""
    none = np.zeros(0, np.uint32)
    return NetworkResponse(none, np.zeros(1, np.uint32), none, np.zeros(0), np.zeros(0))


class Level(Component):
    """What a responding variable is beside its level."""

    inputs = ("value",)
    outputs = ("row",)
    level = Parameter(unit="pu", doc="level of the variable")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return what is added to the row."""
        return (), (), (v.value - p.level,)


@dataclass
class ResponseBlock(Block):
    """The fast equations, and those of the slow algebraic variables that they read.

    `terms`: Entries of S with their signs as parameters of `Term`.
    `gains`: S; None before it is formed.
    `response`: What the interpreter needs.
    `loaded`: Parameters, limits and courses that were last loaded; None before.
    """

    terms: tuple[Reals, Reals] = (np.zeros((0, 1)), np.zeros((0, 1)))
    gains: sparse.csr_array | None = None
    response: NetworkResponse = field(default_factory=no_response)
    loaded: Loaded | None = None

    def load(
        self,
        parameters: Sequence[Reals],
        lower: Reals,
        upper: Reals,
        courses: Courses,
        w: Reals,
        before: int = 0,
    ) -> None:
        """See `Block`; the response stays as it is."""
        self.loaded = parameters, lower, upper, courses
        super().load((*self.terms, *parameters), lower, upper, courses, w, len(self.terms) + before)

    def become(self, new: ResponseBlock) -> None:
        """Take the equations of another block; what was counted and loaded stays."""
        new.records.newton.counts[:] = self.records.newton.counts
        self.kernels, self.columns, self.rows = new.kernels, new.columns, new.rows
        self.terms, self.gains, self.response = new.terms, new.gains, new.response
        self._keep(new.records)

    def update_gains(self, gains: sparse.csr_array, w: Reals) -> bool:
        """Write another S with the same entries into the equations; return whether it has the same."""
        old = self.gains
        if old is None or not (
            np.array_equal(old.indptr, gains.indptr) and np.array_equal(old.indices, gains.indices)
        ):
            return False
        self.gains = gains
        self.terms[0][:, 0] = -gains.data
        self.response.gains[:] = gains.data
        self.kernels.parameters[0][:, 0] = -gains.data
        self.kernels.write_constant(w, self.records.matrix.constant)
        self.forget()
        return True


def slow_network(system: System, w: Reals, whole: Block, slow_rows: Indices) -> sparse.csr_array:
    """Return the derivatives of the slow algebraic equations after all variables at w, (rows, N)."""
    size, matrix, places = system.n + system.m, whole.records.matrix, whole.kernels
    whole.evaluate(w)  # what follows a course is then as it is at w
    jacobian(matrix.table, matrix.constant, w, matrix.J)
    columns = places.variables[column_indices(places)]
    rows = places.row_indices[places.indices].astype(np.int64)
    complete = sparse.csr_array((matrix.J[:-1].copy(), (rows, columns)), shape=(size, size))
    return complete[slow_rows[slow_rows >= system.n]]


def response_block(
    system: System,
    parameters: Sequence[Reals],
    w: Reals,
    gains: sparse.csr_array,
    fast: tuple[Indices, Indices],
    read: Indices,
    out: Collection[str] = (),
) -> ResponseBlock:
    """Return the block of the fast equations with the network's response.

    `gains` is S, `fast` has the positions of the fast rows and of their variables, `read` those of the slow
    algebraic variables that respond, `out` the devices out of service; constant entries are those at w.
    """
    rows, variables = fast
    size, entries = system.n + system.m, gains.tocoo()
    term, level = compile_components([Term, Level])
    count = len(read)
    added, time = np.arange(size, size + count), len(w) - 1
    extra = (_group(term, variables[entries.col], size + entries.row, time), _group(level, read, added, time))
    terms = -entries.data[:, None], np.zeros((count, 1))
    names = tuple(f"response of {system.names_y[k - system.n]}" for k in read)
    wider = replace(
        system,
        names_y=(*system.names_y, *names),
        names_g=(*system.names_g, *names),
        groups=(*extra, *system.groups),
        parameters=(*terms, *system.parameters),
    )
    block = make_block(
        wider,
        "fast",
        (*terms, *parameters),
        w,
        np.concatenate([rows, added]),
        np.concatenate([variables, read]),
        out,
    )
    response = NetworkResponse(
        at=np.ascontiguousarray(read, dtype=np.uint32),
        ends=np.ascontiguousarray(gains.indptr, dtype=np.uint32),
        of=np.ascontiguousarray(variables[gains.indices], dtype=np.uint32),
        gains=np.ascontiguousarray(gains.data),
        level=block.kernels.parameters[1].reshape(-1),
    )
    return ResponseBlock(
        block.role,
        block.kernels,
        block.columns,
        block.rows,
        block.records,
        terms=terms,
        gains=gains,
        response=response,
    )


def probe_of(
    response: NetworkResponse,
    fast: tuple[int, Block],
    slow: tuple[int, Block],
    read: Indices,
    rounds: int,
    most: float,
    size: int,
) -> Probe:
    """Return what is needed to try the response later on.

    `fast`, `slow`: Numbers and blocks of the fast equations and of the last slow solve of a macro step, over
      which `rounds` solves of the fast block reach.
    `read`: Positions of the responding variables that the fast equations read.
    `most`, `size`: Gain from which on the response is formed anew, and the length of w.
    """
    if not response.gains.size:
        return no_probe()
    number, block = fast
    variables = block.kernels.variables
    own = np.flatnonzero(~np.isin(variables, response.at))
    rows = len(block.kernels.row_indices) - len(response.at) + np.searchsorted(response.at, read)
    places = slow[1].kernels.variables
    order = np.argsort(places)
    return Probe(
        fast=number,
        slow=slow[0],
        rounds=rounds,
        most=most,
        rows=rows.astype(np.uint32),
        signs=TUNED.trial_change * np.random.default_rng(0).choice((-1.0, 1.0), len(rows)),
        moved=np.ascontiguousarray(variables[own], dtype=np.uint32),
        places=own.astype(np.uint32),
        own=order[np.searchsorted(places, read, sorter=order)].astype(np.uint32),
        by=np.zeros(len(own) + slow[1].size),
        base=np.zeros(slow[1].size + 1),
        point=np.zeros(size),
    )


def _group(compiled: CompiledComponent, reads: Indices, adds: Indices, time: int) -> Group:
    """Return devices without names that read one variable and the time, and add to one row."""
    index = np.column_stack([reads, np.full(len(reads), time)])
    return Group(
        compiled,
        ("",) * len(reads),
        np.ascontiguousarray(index, dtype=np.uint32).reshape(-1, 2),
        np.ascontiguousarray(adds, dtype=np.uint32).reshape(-1, 1),
    )


# Up to this many entries the whole of a solution costs less than the search for the part that is needed.
SMALL = 20_000


def response_matrix(
    own: sparse.csr_array,
    variables: Indices,
    fast: Indices,
    read: Indices,
    earlier: sparse.csr_array | None = None,
) -> sparse.csr_array:
    """Return S, the rows of the variables that are read.

    `own`: (n, N) derivatives of the slow algebraic equations after w = (x, y).
    `variables`: (n,) positions of their variables.
    `fast`: Positions of the fast variables, the columns of the result.
    `read`: Positions of the responding variables, among `variables`, the rows of the result.
    `earlier`: An S of these variables; the entries that it has are not left out.

    Raises SingularError where the slow algebraic equations do not determine their variables.
    """
    own = sparse.csc_array(own)
    forced = own[:, fast]
    moving = np.flatnonzero(np.diff(forced.indptr))
    if not (moving.size and read.size):
        return sparse.csr_array((len(read), len(fast)))
    try:
        lu = splu(sparse.csc_matrix(own[:, variables]))
    except RuntimeError as error:
        raise SingularError(
            f"the {len(variables)} slow algebraic equations do not determine the slow algebraic variables, "
            "so that there is no response to the fast ones: take interface='held', or another partition"
        ) from error
    wanted = np.searchsorted(variables, read)
    if len(variables) * moving.size <= SMALL:
        found = -lu.solve(forced[:, moving].toarray())[wanted]
    else:
        found = -some_of_solution(lu, sparse.coo_array(forced[:, moving]), wanted)
    size = np.abs(found)
    kept = (size >= TUNED.negligible * size.max(axis=1)[:, None]) & (size > 0.0)
    if earlier is not None:
        place = np.zeros(len(fast), np.intp)
        place[moving] = np.arange(moving.size)
        had = sparse.coo_array(earlier)
        kept[had.row, place[had.col]] = True
    row, column = np.nonzero(kept)
    return sparse.csr_array((found[kept], (row, moving[column])), shape=(len(read), len(fast)))


def some_of_solution(lu: SuperLU, right: sparse.coo_array, wanted: Indices) -> Reals:
    """Return some rows of the solution of A X = B, at a cost that follows them and the rows B has.

    With P_r A P_c = L U (SuperLU's permutations) the solution is X = P_c U^-1 L^-1 P_r B. Behind L^-1 only
    those rows are not zero that those of P_r B lead to along the columns of L, and of U^-1 only those are
    needed that the wanted ones lead to along its rows: both are some thousand of ten thousands in a network
    (Gilbert and Peierls, Sparse partial pivoting in time proportional to arithmetic operations, SIAM J.
    Sci. Stat. Comput. 9(5), 1988).

    `lu`: Factors of A, (N, N).
    `right`: B, (N, K).
    `wanted`: (R,) positions in X.

    Returns (R, K).
    """
    row, asked = lu.perm_r[right.row], lu.perm_c[wanted]
    lower, upper = sparse.csc_array(lu.L), sparse.csr_array(lu.U)
    moved, needed = _reached(sparse.csr_array(lower.T), row), _reached(upper, asked)
    forward = np.zeros((len(moved), right.shape[1]))
    np.add.at(forward, (np.searchsorted(moved, row), right.col), right.data)
    forward = spsolve_triangular(lower[moved][:, moved], forward, unit_diagonal=True)
    _, in_moved, in_needed = np.intersect1d(moved, needed, assume_unique=True, return_indices=True)
    backward = np.zeros((len(needed), right.shape[1]))
    backward[in_needed] = forward[in_moved]
    backward = spsolve_triangular(sparse.csc_array(upper[needed][:, needed]), backward, lower=False)
    return np.asarray(backward[np.searchsorted(needed, asked)])


def _reached(graph: sparse.csr_array, start: Indices) -> Indices:
    """Return the sorted nodes that some nodes lead to, themselves included; (i, j) is an edge from i to j."""
    count, first = graph.shape[0], np.unique(start)
    # One more node has edges to those of the start, so that a single search finds what all of them reach.
    ends = np.append(graph.indptr, graph.nnz + len(first))
    edges = np.concatenate([graph.indices, first])
    wider = sparse.csr_array((np.ones(len(edges)), edges, ends), shape=(count + 1, count + 1))
    return np.sort(breadth_first_order(wider, count, return_predecessors=False)[1:])
