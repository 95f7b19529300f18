"""The two sides of a partition as rows and variables, and the interface between them in a step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block, column_indices
from psmr.integrate.step.network_response import (
    NetworkResponse,
    ResponseBlock,
    no_response,
    probe_of,
    response_block,
    response_matrix,
    slow_network,
)
from psmr.integrate.step.validity import AGE, DUE, Probe, no_probe

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


UNCHANGED = 1e-9
"""Part of the largest derivative of the slow algebraic equations within which all of them are the same.

A run that starts at rest moves by less until its first event.
"""


class HeldInterface:
    """Every slow variable that the fast rows read is interpolated.

    `places` numbers the blocks by role and side; `every` says whether all slow variables are recorded within
    a step.
    """

    outdated_at: Sequence[float] = ()
    """Times in s at which what the interface is made of no longer held."""

    def __init__(
        self,
        system: System,
        blocks: Mapping[int, Block],
        places: Mapping[tuple[str, str], int],
        sides: Sides,
        every: bool,
    ) -> None:
        self.system, self.blocks, self.places = system, blocks, places
        self.sides, self.every = sides, every

    @property
    def response(self) -> NetworkResponse:
        """What answers fast variables at once."""
        return no_response()

    def probe(self) -> Probe:
        """Return what tries at macro points whether the interface still holds."""
        return no_probe()

    def interpolated(self) -> Indices:
        """Return the positions of the slow variables that are interpolated."""
        return self._wanted()

    def forget(self) -> None:
        """Take note that w is about to jump."""

    def settle(self, w: Reals) -> bool:
        """Bring the interface to where w has jumped; return whether its block and response are new."""
        return False

    def outdated(self, w: Reals) -> bool:
        """Make the interface anew at w where it no longer holds; return as `settle`."""
        raise NotImplementedError

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str], sides: Sides
    ) -> None:
        """Go on with these sides, and the devices in `out` out of service, which have left the blocks."""
        self.system, self.sides = system, sides

    def _wanted(self) -> Indices:
        """Return the slow variables that fast points have: all that are recorded, or that fast rows read."""
        return self.sides.slow if self.every else self._read_by_fast()

    def _read_by_fast(self) -> Indices:
        """Return the slow variables that fast rows read; all of them where there are no such rows."""
        fast = [self.blocks[number] for (_, side), number in self.places.items() if side == "fast"]
        if not fast:
            return self.sides.slow
        rows = fast[0].kernels.row_indices
        return read_by(self.blocks[0], rows[rows < self.system.n + self.system.m], self.sides.slow)


class SchurInterface(HeldInterface):
    """Slow algebraic variables answer fast ones by the network's response; slow states are interpolated.

    `rounds` solves of the fast block reach over a macro step, whose predictions use `history` points before
    it; AGE and DUE of the interpreter's `state` say how old the response is, and when it is tried.
    """

    def __init__(
        self,
        system: System,
        blocks: dict[int, Block],
        places: Mapping[tuple[str, str], int],
        sides: Sides,
        every: bool,
        parameters: Sequence[Reals],
        w: Reals,
        rounds: int,
        history: int,
        state: NDArray[np.int64],
    ) -> None:
        super().__init__(system, blocks, places, sides, every)
        self._parameters, self._out, self._late = parameters, tuple[str, ...](), False
        self._rounds, self._state = min(rounds, TUNED.trial_rounds), state
        self._most = TUNED.predicted_gain_part / (
            3.0 if history < 2 else 7.0
        )  # a line or a parabola predicts
        self.outdated_at: list[float] = []
        self._formed = np.zeros(0)
        self._fast = places["fast", "fast"]
        self._slow = places.get(("algebraic", "slow"), places["slow", "slow"])
        read = self._responding()
        self.block = blocks[self._fast] = self._made(w, read, self._gains(w, read))
        self._state[AGE], self._state[DUE] = -1, TUNED.trial_interval

    @property
    def response(self) -> NetworkResponse:
        """See `HeldInterface`."""
        return self.block.response

    def probe(self) -> Probe:
        """See `HeldInterface`: what tries the network's response."""
        read = self._read_by_fast()
        read = read[read >= self.system.n]
        fast, slow = (self._fast, self.block), (self._slow, self.blocks[self._slow])
        size = self.system.w0.size
        return probe_of(self.response, fast, slow, read, self._rounds, self._most, size)

    def interpolated(self) -> Indices:
        """See `HeldInterface`."""
        wanted = self._wanted()
        return wanted[wanted < self.system.n]

    def forget(self) -> None:
        """See `HeldInterface`."""
        self._late = True

    def settle(self, w: Reals) -> bool:
        """See `HeldInterface`: the response is formed where the slow algebraic equations have changed."""
        late, self._late = self._late, False
        if not late or self.block.loaded is None:
            return False
        now = slow_network(self.system, w, self.blocks[0], self.sides.slow_rows).data
        if np.abs(now - self._formed).max(initial=0.0) > UNCHANGED * np.abs(now).max(initial=0.0):
            return self._form(w, self._responding())
        self._state[AGE], self._state[DUE] = -1, TUNED.trial_interval
        return False

    def outdated(self, w: Reals) -> bool:
        """See `HeldInterface`: the entries of S stay that there were, so that soon only values change."""
        self.outdated_at.append(float(w[-1]))
        return self._form(w, self.response.at, self.block.gains)

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str], sides: Sides
    ) -> None:
        """See `HeldInterface`."""
        super().take_out_of_service(system, parameters, w, out, sides)
        self._parameters, self._out = parameters, tuple(out)
        self._form(w, self._responding())

    def _form(self, w: Reals, read: Indices, earlier: sparse.csr_array | None = None) -> bool:
        """Form the response as it is at w; return whether the block of the fast equations is new."""
        self._state[AGE] = -1
        if earlier is None:
            self._state[DUE] = TUNED.trial_interval
        gains = self._gains(w, read, earlier)
        if earlier is not None and self.block.update_gains(gains, w):
            return False
        self.block.become(self._made(w, read, gains))
        if self.block.loaded is not None:
            self.block.load(*self.block.loaded, w)
        return True

    def _gains(self, w: Reals, read: Indices, earlier: sparse.csr_array | None = None) -> sparse.csr_array:
        """Return S at w, of the slow algebraic equations whose derivatives are then those last formed."""
        network = slow_network(self.system, w, self.blocks[0], self.sides.slow_rows)
        algebraic = self.sides.slow[self.sides.slow >= self.system.n]
        found = response_matrix(network, algebraic, self.sides.fast, read, earlier)
        self._formed = network.data
        return found

    def _made(self, w: Reals, read: Indices, gains: sparse.csr_array) -> ResponseBlock:
        rows = self.blocks[self._fast].kernels.row_indices.astype(np.intp)
        places = rows[rows < self.system.n + self.system.m], self.sides.fast
        return response_block(self.system, self._parameters, w, gains, places, read, self._out)

    def _responding(self) -> Indices:
        """Return the positions of the variables that the response gives."""
        wanted = self._wanted()
        return wanted[wanted >= self.system.n]
