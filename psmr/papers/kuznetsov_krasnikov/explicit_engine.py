"""Methods that find their points as they go: along time, or along the arc.

The one loop of the explicit methods along time or arc, Runge-Kutta's and Adams'; compiled.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SchemeError, SimulationError
from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.control.engine import Piece
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.newton import POLICIES
from psmr.integrate.solve.records import VALID, copy, newton_state_of
from psmr.integrate.solve.status import DONE, NO_ROOM, SPENT, VANISHED, Status
from psmr.integrate.tableaux import EXPLICIT, EXPLICIT_PAIRS
from psmr.papers.kuznetsov_krasnikov.adams import (
    adams_step,
    choose_order_after_accepted,
    choose_order_after_refused,
    empty_history,
    estimates,
    restart,
)
from psmr.papers.kuznetsov_krasnikov.embedded import (
    RungeKutta,
    arrive,
    choose_step_after_accepted,
    choose_step_after_refused,
    exhausted,
    first_step,
    go_back,
    passed,
    proposed,
    retried,
    runge_kutta_step,
)
from psmr.papers.kuznetsov_krasnikov.explicit_rates import (
    ACCEPTED,
    ALGEBRAIC,
    EVALUATED,
    FAILED,
    REJECTED,
    REVERSALS,
    WHOLE,
    Progress,
    Rules,
    begin,
    follow,
)


@lean
def run_explicit(blocks, method, history, end, w, rules, progress, times, rows):  # type: ignore[no-untyped-def]
    """Step until t = end or the rows are full; return (rows filled, status).

    `method` is a `RungeKutta`; where there is a `history` it is Adams' method that steps.
    """
    whole, algebraic = blocks[WHOLE], blocks[ALGEBRAIC]
    n, controlled = progress.z.size - 1, history is not None or method.difference.size > 0
    filled, refused, reason = 0, False, DONE
    while progress.z[n] < end:
        status = exhausted(rules, progress, filled, times.size)
        if status != DONE:
            return filled, status
        h, last = proposed(rules, progress, end)
        if h == 0.0:
            return filled, VANISHED if reason == DONE else reason
        copy(w, progress.before)
        error, landing, ahead = np.inf, False, h
        while ahead != 0.0:
            h = ahead
            if history is None:
                status, estimate = runge_kutta_step(whole, algebraic, method, h, w, rules, progress)
                error = error if landing else estimate
            else:
                status = adams_step(whole, algebraic, h, w, rules, progress, history)
                if status == DONE and not landing:
                    error = estimates(history, h, progress, rules)
            ahead = 0.0
            if landing or passed(status, error, rules, w, end):
                ahead = retried(landing, progress, h, status, w, end)
                landing = last = True
        if status == DONE and error <= 1.0:
            if last:
                w[-1] = end
            if history is None:
                copy(method.stages[method.b.size], progress.rate)
            else:
                newton_state_of(whole).scalars[VALID] = 0.0
                follow(whole, w, rules, progress.rate)
                progress.counts[EVALUATED] += 1
            arrive(whole, w, rules, progress, h, times, rows, filled)
            filled += 1
            if controlled and not last:
                if history is None:
                    choose_step_after_accepted(method, h, error, refused, progress)
                else:
                    choose_order_after_accepted(history, h, progress, rules)
            refused, reason = False, DONE
            continue
        go_back(blocks, progress, w)
        if status == NO_ROOM or not controlled:
            return filled, status
        progress.counts[REJECTED] += 1
        refused, reason = True, status
        if history is None:
            choose_step_after_refused(method, h, error, progress)
        else:
            choose_order_after_refused(history, h, error, progress)
    return filled, DONE


def _blocks(system: System, parameters: Sequence[Reals], w: Reals) -> dict[int, Block]:
    everything = np.arange(system.n + system.m)
    algebraic = everything[system.n :]
    return {
        WHOLE: make_block(system, "step", parameters, w, everything, everything),
        ALGEBRAIC: make_block(system, "algebraic", parameters, w, algebraic, algebraic),
    }


@dataclass(frozen=True, eq=False)
class ExplicitChoices:
    """Settings of such a method.

    Attributes
    ----------
    method
        ``"FEM"``, ``"RK2"``, ``"RK4"``, ``"RK54"`` or ``"Adams"``.
    weights
        (n + 1,) weights of the states and of time in the arc; None along time.
    tolerances
        Relative and absolute tolerance of the local error; None for steps of one size.
    longest
        Longest step, in s or along the arc.
    most
        Steps allowed, rejected ones included.
    newton, tolerance
        How g = 0 is solved.
    words
        The scheme in words.
    """

    method: str
    weights: Reals | None
    tolerances: tuple[float, float] | None
    longest: float
    most: int
    newton: str
    tolerance: float
    words: str


class ExplicitEngine:
    """A method that finds its points as it goes: along time, or along the arc.

    Raises
    ------
    SchemeError
        For an adaptive method on a system with limits that move: the derivative of a state on such a limit is
        not among those that its error estimate compares.
    """

    ends_at_stops = False

    def __init__(
        self, system: System, choices: ExplicitChoices, parameters: Sequence[Reals], w: Reals
    ) -> None:
        self.blocks = _blocks(system, parameters, w)
        size, self.name = system.n + 1, choices.method
        self._size = system.n + system.m
        self.adaptive = choices.tolerances is not None
        if self.adaptive and system.limits_move.any():
            name = system.names_x[int(np.argmax(system.limits_move))]
            raise SchemeError(
                f"{name} has a limit that moves with a variable, and {choices.words} has no error estimate "
                "for the instant at which the state leaves it; take a fixed-step scheme (TM, RK4, Multirate)"
            )
        relative, absolute = choices.tolerances or (0.0, 0.0)
        self.rules = Rules(
            arc=choices.weights is not None,
            weights=np.ones(size) if choices.weights is None else choices.weights,
            relative=relative,
            absolute=absolute,
            longest=float(choices.longest),
            most=int(choices.most),
            policy=POLICIES[choices.newton],
            tolerance=float(choices.tolerance),
        )
        self.progress = Progress(
            z=np.zeros(size),
            rate=np.zeros(size),
            direction=np.zeros(size),
            h=np.zeros(2),
            counts=np.zeros(5, np.int64),
            before=np.zeros(w.size),
            landing=np.zeros(6),
        )
        self.history = empty_history(size)
        tableau = EXPLICIT["FEM" if self.name == "Adams" else self.name]
        # A copy: read-only entries would be another type, and the loop machine code of its own.
        estimate = np.array(EXPLICIT_PAIRS[self.name].difference if self.name in EXPLICIT_PAIRS else ())
        stages, new = np.zeros((tableau.stages + 2, size)), np.zeros(size)
        self.method = RungeKutta(tableau.A, tableau.b, estimate, 0.2, stages, new)

    def begin(self, end: float, w: Reals, stops: Reals) -> int:
        """See `Engine`."""
        blocks, self._end = self._blocks(), end
        begin(blocks, w, self.rules, self.progress)
        self.progress.h[0] = self.rules.longest
        if self.adaptive:
            # An order of p takes h^(p+1): that of the estimate for the pair, 1 at the start of a multistep
            # method.
            power = 0.2 if self.name == "RK54" else 0.5
            ahead = min(self.rules.longest, math.inf if self.rules.arc else end - float(w[-1]))
            status = first_step(blocks, power, ahead, w, self.rules, self.progress, self.method)
            if status != DONE:
                return int(status)
        restart(self.history, self.progress)
        return DONE

    def advance(self, most: int, w: Reals) -> tuple[Piece, int]:
        """See `Engine`."""
        blocks, end, times, rows = self._blocks(), self._end, np.empty(most), np.empty((most, self._size))
        history = self.history if self.name == "Adams" else None
        filled, status = run_explicit(
            blocks, self.method, history, end, w, self.rules, self.progress, times, rows
        )
        return Piece.of_points(times[:filled], rows[:filled]), int(status)

    def _blocks(self) -> NDArray[np.int64]:
        return np.array([self.blocks[WHOLE].address, self.blocks[ALGEBRAIC].address])

    def failed(self) -> tuple[Block, float | None]:
        """See `Engine`."""
        return self.blocks[int(self.progress.counts[FAILED])], None

    def forget(self, autonomous: bool) -> None:
        """See `Engine`; a span begins without history anyway."""

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        for block in self.blocks.values():
            block.take_out(system, parameters, w, out)

    def counted(self) -> dict[str, int]:
        """See `Engine`."""
        count = self.progress.counts
        return {"rejected": int(count[REJECTED]), "reversals": int(count[REVERSALS])}

    def failure(self, status: int, end: float, w: Reals) -> PsmrError:
        """See `Engine`."""
        if status not in (SPENT, VANISHED):
            step = float(self.progress.h[0])
            return step_failure(self.failed()[0], status, w, step, step, 0.0)
        count, h = self.progress.counts, self.progress.h
        spent = f"{count[ACCEPTED]} steps ({count[REJECTED]} rejected, {count[EVALUATED]} evaluations)"
        where = f"t = {w[-1]:.9g} s of {end:g} s"
        sentence = Status(status).sentence
        turned = count[REVERSALS] / max(1, count[ACCEPTED])
        if status == SPENT:
            advice = (
                "raise most_steps, loosen the tolerance"
                if self.adaptive
                else "raise most_steps, take a larger h"
            )
            if self.rules.arc:
                advice += f", or look for a solution that runs to infinity: the arc is {h[1]:.4g} long so far"
                if turned > 0.1:
                    advice += f"; {100 * turned:.0f} % of the steps turned back: the run chatters"
            return SimulationError(
                f"{where} after {spent}: {sentence} It has most_steps = {self.rules.most}. Remedy: {advice}"
            )
        return SimulationError(
            f"{where} after {spent}, with a step of {h[0]:.3g}: {sentence} The solution jumps or runs to "
            "infinity here, or rtol and atol are too small"
        )
