"""The interface between the sides of a step: what fast rows see of the network, held or by its response."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.constants import TUNED
from psmr.integrate.solve.block import Block
from psmr.integrate.step.network_response import (
    NetworkResponse,
    ResponseBlock,
    no_response,
    probe_of,
    response_block,
    response_matrix,
    slow_network,
)
from psmr.integrate.step.sides import Indices, Sides, read_by
from psmr.integrate.step.validity import AGE, DUE, Probe, no_probe

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
        """Return the slow variables that fast rows or samples read; all of them without such rows."""
        fast = [self.blocks[number] for (_, side), number in self.places.items() if side == "fast"]
        if not fast:
            return self.sides.slow
        rows = fast[0].kernels.row_indices
        found = read_by(self.blocks[0], rows[rows < self.system.n + self.system.m], self.sides.slow)
        sampled = [sampler.index for sampler in self.system.samplers]
        return (
            np.union1d(found, np.intersect1d(np.concatenate(sampled), self.sides.slow)) if sampled else found
        )


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
