"""Steps along the equilibrium of fast states: an engine of chosen steps for the slow ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SimulationError
from psmr.dae.system.system import System
from psmr.integrate.control.engine import ControlledSteps
from psmr.integrate.control.grid import Piece
from psmr.integrate.solve.algebraic_solve import impasse, matrix_at
from psmr.integrate.solve.records import QUICK
from psmr.integrate.solve.status import NOT_CONVERGED, NOT_FINITE, VANISHED
from psmr.integrate.solve.turning import Frame, in_frame, turned

# Steps that are taken before the frame is turned along, and before what acts is looked at.
FEW = 8

# Time in s from one look at the modes of the states at rest to the next.
LOOK_AT_MODES = 60.0

ON = (
    "Remedy: go on from there with psmr.VariableStep, start=(run.x[-1], run.y[-1]) of the run that "
    "partial=True leaves: it follows what these states do"
)


class QuasiSteadySteps(ControlledSteps):
    """See `psmr.integrate.control.engine.ControlledSteps`; `resting` are positions of the states at rest.

    Their frame turns as fast as they do all the time.
    """

    loosest = 1e-6

    def __init__(
        self, resting: NDArray[np.intp], system: System, program: Any, pair: Any, *others: Any
    ) -> None:
        self.resting, self._looked_at = resting, -np.inf
        super().__init__(system, program, pair, *others)
        self.blocks[0].rest(system, resting)

    def _frame(self, system: System, out: Collection[str] = ()) -> Frame | None:
        """See `ControlledSteps`."""
        found = turned(system)
        return None if found is None else Frame(found.without(system, out))

    def _rate(self, w: Reals) -> float:
        """Return how fast the angles at rest turn at the point in w, in rad/s."""
        block = self.blocks[0]
        assert self.frame is not None
        block.turn(self.frame.turned, 0.0)
        block.evaluate(w)
        found = block.records.matrix.F[block.records.matrix.angles[0]]
        return float(found / block.records.newton.scalars[QUICK])

    def _turn_along(self, w: Reals, least: float) -> bool:
        """See `ControlledSteps`: Newton finds how fast the frame turns."""
        assert self.frame is not None
        self.blocks[0].turn(self.frame.turned, self._rate(w))
        return False

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`.

        Raises SimulationError where what should rest has an equilibrium that it leaves.
        """
        if not w[-1] < self._looked_at + LOOK_AT_MODES:
            self._require_stable(w)
        return super().advance(min(most, FEW), w)

    def _advance_turned(self, frame: Frame, most: int, w: Reals) -> tuple[Piece, int]:
        """See `ControlledSteps`: between two points the frame turns as fast as the mean of both."""
        start, begun, rate = float(frame.angle(w[-1])), float(w[-1]), self._rate(w)
        frame.turned.turn(w, -start)
        self.blocks[0].turn(frame.turned, rate)
        piece, status = self._advance(most, w)
        room, rates = w.copy(), [rate]
        for t, row in zip(piece.t, piece.rows, strict=True):
            room[: row.size], room[-1] = row, t
            rates.append(self._rate(room))
        self.blocks[0].turn(frame.turned, rates[-1])
        steps = np.diff(piece.t, prepend=begun)
        angles = start + np.cumsum(steps * 0.5 * (np.array(rates[1:]) + rates[:-1]))
        frame.begin(float(w[-1]), float(angles[-1]) if angles.size else start)
        frame.turned.turn(w, frame.angle(w[-1]))
        frame.turned.turn(piece.rows, angles)
        return piece, status

    def _require_stable(self, w: Reals) -> None:
        """Raise SimulationError where the states at rest would leave their equilibrium at the point in w."""
        block, before = self.blocks[0], self._looked_at
        states, angles = block.kernels.states, block.records.matrix.angles
        J = matrix_at(block, w)
        held = block.records.limits.bounded[block.records.limits.held != 0]
        rows = np.setdiff1d(block.records.matrix.resting, held)
        gy = splu(J[states:, states:].tocsc())
        follows = gy.solve(J[states:, rows].toarray())
        A = J[rows][:, rows].toarray() - J[rows][:, states:] @ follows
        s = np.linalg.eigvals(in_frame(A, np.flatnonzero(np.isin(rows, angles))))
        worst = s[int(s.real.argmax())] if s.size else -1.0
        if worst.real > 0.0:
            what = f"at {abs(worst.imag) / (2 * np.pi):.3g} Hz" if worst.imag else "without turning back"
            since = f" since t = {before:.6g} s" if np.isfinite(before) else ""
            raise SimulationError(
                f"t = {w[-1]:.6g} s: the states at rest leave their equilibrium{since}: they grow {what} by "
                f"{worst.real:.3g} 1/s. {ON}"
            )
        self._looked_at = float(w[-1])

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        if status not in (VANISHED, NOT_CONVERGED, NOT_FINITE):
            return super().failure(status, end, w)
        found = impasse(self.blocks[0], w)
        why = f" {found.words}" if found is not None else ""
        return SimulationError(
            f"t = {w[-1]:.6g} s: the states at rest have no equilibrium from here on: a voltage collapse, "
            f"or a swing that does not come to rest, looks like this.{why} {ON}"
        )
