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
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from psmr.dae.compile.codegen import CompiledComponent, compile_components
from psmr.dae.compile.kernels import jacobian
from psmr.dae.declare.component import Component, Parameter
from psmr.dae.system.group import Group
from psmr.dae.system.linear_system import Term
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block, column_indices, make_block
from psmr.integrate.solve.ramps import Following
from psmr.integrate.step.validity import Probe, no_probe

Reals = NDArray[np.float64]
Places = NDArray[Any]

Loaded = tuple[Sequence[Reals], Reals, Reals, Following]


class NetworkResponse(NamedTuple):
    """The responding variables as the interpreter sees them.

    Attributes
    ----------
    at
        (k,) positions in w.
    ends, of, gains
        S by rows: where each begins, positions in w of the fast variables, and entries.
    level
        (k,) levels, which the block of the fast equations reads.
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

    Attributes
    ----------
    terms
        Entries of S with their signs as parameters of `Term`.
    gains
        S; None before it is formed.
    response
        What the interpreter needs.
    loaded
        Parameters, limits and courses that were last loaded; None before.
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
        following: Following,
        w: Reals,
        before: int = 0,
    ) -> None:
        """See `Block`; the response stays as it is."""
        self.loaded = parameters, lower, upper, following
        super().load((*self.terms, *parameters), lower, upper, following, w, len(self.terms) + before)

    def become(self, new: Block) -> None:
        """Take the equations of another block; what was counted and loaded stays."""
        new.records.newton.counts[:] = self.records.newton.counts
        self.kernels, self.columns, self.rows = new.kernels, new.columns, new.rows
        self.terms, self.gains, self.response = type(self).terms, None, no_response()
        if isinstance(new, ResponseBlock):
            self.terms, self.gains, self.response = new.terms, new.gains, new.response
        self._keep(new.records)

    def renew(self, gains: sparse.csr_array, w: Reals) -> bool:
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


def slow_network(system: System, w: Reals, whole: Block, slow_rows: Places) -> sparse.csr_array:
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
    fast: tuple[Places, Places],
    read: Places,
    out: Collection[str] = (),
) -> ResponseBlock:
    """Return the block of the fast equations with the network's response.

    Parameters
    ----------
    system, parameters
        The DAE.
    w
        Buffer at which constant entries are evaluated.
    gains
        S.
    fast
        Positions of the fast rows and of their variables.
    read
        Positions of the slow algebraic variables that respond.
    out
        Names of devices out of service.
    """
    rows, variables = fast
    size, entries = system.n + system.m, gains.tocoo()
    term, level = compile_components([Term, Level])
    count = len(read)
    added, time = np.arange(size, size + count), len(w) - 1
    extra = (
        _group(term, variables[entries.col], size + entries.row, time),
        _group(level, read, added, time),
    )
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
    read: Places,
    rounds: int,
    most: float,
    size: int,
) -> Probe:
    """Return what is needed to try the response later on.

    Parameters
    ----------
    response
        The response.
    fast, slow
        Numbers and blocks of the fast equations and of the last slow solve of a macro step.
    read
        Positions of the responding variables that the fast equations read.
    rounds
        How many solves of the fast block reach over a macro step.
    most
        Gain from which on the response is formed anew.
    size
        Length of w.
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
        signs=TUNED.trial * np.random.default_rng(0).choice((-1.0, 1.0), len(rows)),
        moved=np.ascontiguousarray(variables[own], dtype=np.uint32),
        places=own.astype(np.uint32),
        own=order[np.searchsorted(places, read, sorter=order)].astype(np.uint32),
        by=np.zeros(len(own) + slow[1].size),
        base=np.zeros(slow[1].size + 1),
        point=np.zeros(size),
    )


def _group(compiled: CompiledComponent, reads: Places, adds: Places, time: int) -> Group:
    """Return devices without names that read one variable and the time, and add to one row."""
    index = np.column_stack([reads, np.full(len(reads), time)])
    return Group(
        compiled,
        ("",) * len(reads),
        np.ascontiguousarray(index, dtype=np.uint32).reshape(-1, 2),
        np.ascontiguousarray(adds, dtype=np.uint32).reshape(-1, 1),
    )
