"""Backward differentiation formulae on a system, with a pair that begins them: an engine of chosen steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.constants import BDF
from psmr.integrate.control.bdf import TAKEN, Bdf, bdf_for, forget_points, kinks_of
from psmr.integrate.control.bdf_steps import advance_bdf
from psmr.integrate.control.engine import ControlledSteps
from psmr.integrate.step.interpreter import Interpreter
from psmr.integrate.step.program import Program
from psmr.integrate.tableaux import ImplicitPair


class BdfSteps(ControlledSteps):
    """See `psmr.integrate.control.engine.ControlledSteps`, whose pair takes the steps after events and kinks.

    `tolerance` is that of the run.
    """

    def __init__(
        self, system: System, program: Program, pair: ImplicitPair, tolerance: float, *others: Any
    ) -> None:
        super().__init__(system, program, pair, pair.tolerance_of_step(tolerance), *others)
        self.frame = None  # the formulae read points of long ago
        self.bdf: Bdf = bdf_for(system, BDF.tolerance * tolerance, self.control.switching)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`: the pair takes the first steps of a span."""
        forget_points(self.bdf)
        return super().begin(end, w, stops)

    def _take(
        self,
        interpreter: Interpreter,
        times: Reals,
        ends: NDArray[np.int64],
        most: int,
        w: Reals,
        rows: Reals,
    ) -> tuple[int, int]:
        """See `ControlledSteps`."""
        return advance_bdf(interpreter, self.control, self.bdf, times, ends, most, w, rows)  # type: ignore[no-any-return]

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """See `Engine`."""
        super().take_out_of_service(system, parameters, w, out)
        self.bdf = self.bdf._replace(kinks=kinks_of(self.control.switching))

    def counted(self) -> dict[str, Any]:
        """See `Engine`."""
        return super().counted() | {"by_order": tuple(map(int, self.bdf.whole[TAKEN:]))}
