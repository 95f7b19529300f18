"""The engine of explicit methods that find their points as they go, Runge-Kutta's and Adams'; compiled.

Adams-Bashforth-Moulton of variable step and order in PECE form, along time or arc: the predictor of order k
and the corrector of order k + 1 are written in modified divided differences on the nodes as they are (Krogh,
1974; Shampine and Gordon, 1975), in the notation of Hairer, Norsett and Wanner, Solving Ordinary Differential
Equations I, section III.5:

    Phi*_j(n) = beta_j(n) Phi_j(n),    Phi_0(n) = f_n,    Phi_(j+1)(n) = Phi_j(n) - Phi*_j(n-1)
    p = z_n + h sum_(j<k) g_j Phi*_j(n),    z_(n+1) = p + h g_k Phi_k(n+1) with f(p) for f_(n+1)

A step costs two evaluations, after the prediction and after the correction. The error of order k is estimated
by h (g_k - g_(k-1)) Phi_k(n+1) (section III.7); the corrected value, one order better, is kept. Order and
step are chosen as by Shampine and Gordon, Computer Solution of Ordinary Differential Equations, chapter 7.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SchemeError, SimulationError
from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.integrate.control.grid import Piece
from psmr.integrate.solve.algebraic_solve import step_failure
from psmr.integrate.solve.block import Block, make_block
from psmr.integrate.solve.newton import POLICIES
from psmr.integrate.solve.records import VALID, copy, newton_state_of
from psmr.integrate.solve.status import DONE, NO_ROOM, SPENT, VANISHED, Status
from psmr.integrate.tableaux import EXPLICIT, EXPLICIT_PAIRS
from psmr.papers.kuznetsov_krasnikov.explicit_steps import (
    ACCEPTED,
    ALGEBRAIC,
    EVALUATED,
    FAILED,
    REJECTED,
    RETREAT,
    REVERSALS,
    WHOLE,
    Progress,
    Rules,
    RungeKutta,
    arrive,
    begin,
    choose_step_after_accepted,
    choose_step_after_refused,
    error_norm,
    exhausted,
    first_step,
    follow,
    go_back,
    passed,
    proposed,
    put,
    retried,
    runge_kutta_step,
)

# Shampine and Gordon's: beyond it the stability interval has all but gone.
HIGHEST_ORDER = 12

# Part of the tolerated error that a new step aims at (Shampine and Gordon).
AIM = 0.5

# Places in `History.number`.
ORDER, POINTS, EQUAL, STARTING, FAILURES = range(5)


class History(NamedTuple):
    """What the multistep method remembers.

    Attributes
    ----------
    phi, star, trial
        (order + 3, n + 1) modified divided differences at the last point, times beta for the step tried, and
        at the point tried.
    nodes
        Positions s of the last points, latest first.
    g, beta, c
        Coefficients of the step tried.
    number
        Order k, points in `nodes`, steps of equal size made, whether the start lasts, failures of this step.
    errors
        (order + 3,) estimates by order for the step tried, in units of what is tolerated; infinite: unknown.
    predicted, new, work
        (n + 1,) prediction, correction, and room.
    """

    phi: np.ndarray
    star: np.ndarray
    trial: np.ndarray
    nodes: np.ndarray
    g: np.ndarray
    beta: np.ndarray
    c: np.ndarray
    number: np.ndarray
    errors: np.ndarray
    predicted: np.ndarray
    new: np.ndarray
    work: np.ndarray


def empty_history(size: int) -> History:
    """Return a history for z of `size` = n + 1 components."""
    rows = HIGHEST_ORDER + 3
    phi, star, trial = (np.zeros((rows, size)) for _ in range(3))
    nodes, g, beta, errors = (np.zeros(rows) for _ in range(4))
    room = (np.zeros(size) for _ in range(3))
    return History(phi, star, trial, nodes, g, beta, np.zeros(rows + 2), np.zeros(5, np.int64), errors, *room)


@lean
def restart(history, progress):  # type: ignore[no-untyped-def]
    """Begin with order 1 at the point and derivative in `progress`."""
    for j in range(history.phi.shape[0]):
        for q in range(history.phi.shape[1]):
            history.phi[j, q] = 0.0 if j > 0 else progress.rate[q]
    history.nodes[0] = progress.h[1]
    number = history.number
    number[ORDER], number[POINTS], number[EQUAL], number[STARTING], number[FAILURES] = 1, 1, 0, 1, 0


@lean
def _coefficients(history, h):  # type: ignore[no-untyped-def]
    """Write g_0..g_(k+1), and Phi*_j as far as there are points."""
    k, nodes, g, c = history.number[ORDER], history.nodes, history.g, history.c
    ahead, beta = nodes[0] + h, history.beta
    beta[0] = 1.0
    for j in range(min(k, history.number[POINTS] - 1) + 1):
        if j > 0:
            beta[j] = beta[j - 1] * (ahead - nodes[j - 1]) / (nodes[0] - nodes[j])
        for q in range(history.phi.shape[1]):
            history.star[j, q] = beta[j] * history.phi[j, q]
    # c_0q = 1/q, c_jq = c_(j-1)q - c_(j-1)(q+1) h / (s_(n+1) - s_(n-j+1)), g_j = c_j1.
    for q in range(1, k + 4):
        c[q] = 1.0 / q
    g[0] = 1.0
    for j in range(1, min(k + 1, history.number[POINTS]) + 1):
        ratio = h / (ahead - nodes[j - 1])
        for q in range(1, k + 4 - j):
            c[q] -= c[q + 1] * ratio
        g[j] = c[1]


@lean
def _differences(history, rate):  # type: ignore[no-untyped-def]
    """Write Phi_0..Phi_(k+1) at the new point from its derivative."""
    trial, star = history.trial, history.star
    last = min(history.number[ORDER], history.number[POINTS] - 1)
    for q in range(rate.size):
        trial[0, q] = rate[q]
        for j in range(last + 1):
            trial[j + 1, q] = trial[j, q] - star[j, q]


@lean
def _estimate(history, order, h, progress, rules):  # type: ignore[no-untyped-def]
    """Write the error estimate of one order from the differences at the new point."""
    factor = h * (history.g[order] - history.g[order - 1])
    for q in range(history.work.size):
        history.work[q] = factor * history.trial[order, q]
    history.errors[order] = error_norm(history.work, progress.z, history.new, rules)


@lean
def estimates(history, h, progress, rules):  # type: ignore[no-untyped-def]
    """Write the error estimates of this order and the two below it; return that of this one."""
    k, errors = history.number[ORDER], history.errors
    for order in range(errors.size):
        errors[order] = np.inf
    for order in range(max(1, k - 2), k + 1):
        _estimate(history, order, h, progress, rules)
    return errors[k]


@lean
def adams_step(whole, algebraic, h, w, rules, progress, history):  # type: ignore[no-untyped-def]
    """Predict, evaluate, correct: the corrected point is in w, not evaluated yet; return a status."""
    k, star, g = history.number[ORDER], history.star, history.g
    predicted, new = history.predicted, history.new
    _coefficients(history, h)
    for q in range(new.size):
        total = 0.0
        for j in range(k - 1, -1, -1):
            total += g[j] * star[j, q]
        predicted[q] = progress.z[q] + h * total
    status = put(whole, algebraic, predicted, w, rules, progress)
    if status != DONE:
        return status
    follow(whole, w, rules, history.work)
    progress.counts[EVALUATED] += 1
    _differences(history, history.work)
    for q in range(new.size):
        new[q] = predicted[q] + h * g[k] * history.trial[k, q]
    return put(whole, algebraic, new, w, rules, progress)


@lean
def _lower(history):  # type: ignore[no-untyped-def]
    """Return whether the estimates ask for the order below."""
    k, errors = history.number[ORDER], history.errors
    if k == 1:
        return False
    if k == 2:
        return errors[1] <= 0.5 * errors[2]
    return max(errors[k - 1], errors[k - 2]) <= errors[k]


@lean
def choose_order_after_accepted(history, h, progress, rules):  # type: ignore[no-untyped-def]
    """Take the new point into the history, and choose order and step for the next."""
    number, errors, nodes = history.number, history.errors, history.nodes
    k, lower = number[ORDER], _lower(history)
    _differences(history, progress.rate)
    for j in range(k + 2):
        copy(history.trial[j], history.phi[j])
    equal = number[POINTS] > 1 and abs(h - (nodes[0] - nodes[1])) <= 1e-10 * h
    number[EQUAL] = number[EQUAL] + 1 if equal else 1
    enough = number[POINTS] > k
    for j in range(nodes.size - 1, 0, -1):
        nodes[j] = nodes[j - 1]
    nodes[0] = progress.h[1]
    number[POINTS] = min(number[POINTS] + 1, nodes.size)
    number[FAILURES] = 0
    if lower or k == HIGHEST_ORDER:
        number[STARTING] = 0
    if number[STARTING]:
        number[ORDER] = k + 1
        progress.h[0] = 2.0 * h
        return
    if not lower and enough and number[EQUAL] > k and k < HIGHEST_ORDER:
        _estimate(history, k + 1, h, progress, rules)
        if k == 1:
            number[ORDER] += errors[2] < 0.5 * errors[1]
        elif errors[k - 1] <= min(errors[k], errors[k + 1]):
            lower = True
        else:
            number[ORDER] += errors[k + 1] < errors[k]
    number[ORDER] -= lower
    k = number[ORDER]
    error = errors[k]
    if error * 2.0 ** (k + 1) <= AIM:
        progress.h[0] = 2.0 * h
    elif error <= AIM:
        progress.h[0] = h
    else:
        progress.h[0] = h * max(0.5, min(0.9, (AIM / error) ** (1.0 / (k + 1))))


@lean
def choose_order_after_refused(history, h, error, progress):  # type: ignore[no-untyped-def]
    """Choose order and step to try again: half the step; from the third time on order 1 and what it needs."""
    number = history.number
    number[STARTING] = 0
    number[FAILURES] += 1
    if not np.isfinite(error):
        progress.h[0] = RETREAT * h
    elif number[FAILURES] < 3:
        number[ORDER] -= _lower(history)
        progress.h[0] = 0.5 * h
    else:
        error = history.errors[1] if np.isfinite(history.errors[1]) else error
        progress.h[0] = h * min(0.5, np.sqrt(AIM / max(error, AIM)))
        number[ORDER] = 1


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


class ExplicitEngine:
    """See `psmr.integrate.schemes.scheme.Engine`; `words` are those of the scheme.

    `method` is ``"FEM"``, ``"RK2"``, ``"RK4"``, ``"RK54"`` or ``"Adams"``, `weights` (n + 1,) those of the
    arc, None along time, `tolerances` the relative and the absolute one, None for steps of one size, which is
    `longest`. SchemeError for an adaptive method on a system with limits that move: the derivative of a state
    on such a limit is not among those that its error estimate compares.
    """

    ends_at_stops = False
    samplers = None
    marches = False

    def __init__(
        self, system: System, parameters: Sequence[Reals], w: Reals, words: str, *, method: str,
        weights: Reals | None = None, tolerances: tuple[float, float] | None = None,
        longest: float, most: int, newton: str, tolerance: float,
    ) -> None:  # fmt: skip
        everything = np.arange(system.n + system.m)
        roles = {WHOLE: ("step", everything), ALGEBRAIC: ("algebraic", everything[system.n :])}
        self.blocks = {
            block: make_block(system, role, parameters, w, places, places)
            for block, (role, places) in roles.items()
        }
        size, self.name = system.n + 1, method
        self._size = system.n + system.m
        self.adaptive = tolerances is not None
        if self.adaptive and system.limits_move.any():
            name = system.names_x[int(np.argmax(system.limits_move))]
            raise SchemeError(
                f"{name} has a limit that moves with a variable, and {words} has no error estimate "
                "for the instant at which the state leaves it; take a fixed-step scheme (TM, RK4, Multirate)"
            )
        relative, absolute = tolerances or (0.0, 0.0)
        self.rules = Rules(
            arc=weights is not None,
            weights=np.ones(size) if weights is None else weights,
            relative=relative,
            absolute=absolute,
            longest=float(longest),
            most=int(most),
            policy=POLICIES[newton],
            tolerance=float(tolerance),
        )
        z, rate, direction = (np.zeros(size) for _ in range(3))
        counts = np.zeros(5, np.int64)
        self.progress = Progress(z, rate, direction, np.zeros(2), counts, np.zeros(w.size), np.zeros(6))
        self.history = empty_history(size)
        tableau = EXPLICIT["FEM" if self.name == "Adams" else self.name]
        # A copy: read-only entries would be another type, and the loop machine code of its own.
        estimate = np.array(EXPLICIT_PAIRS[self.name].difference if self.name in EXPLICIT_PAIRS else ())
        stages, new = np.zeros((tableau.stages + 2, size)), np.zeros(size)
        self.method = RungeKutta(tableau.A, tableau.b, estimate, 0.2, stages, new)

    def note(self, w: Reals | None) -> None:
        """See `Engine`: each span begins anew."""

    def take_jumps(self, jumps: object) -> bool:
        """See `Engine`: a jump ends a span."""
        return False

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

    def take_out_of_service(
        self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]
    ) -> None:
        """See `Engine`."""
        for block in self.blocks.values():
            block.take_out_of_service(system, parameters, w, out)

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
