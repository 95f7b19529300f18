"""What would bring the error of a run below its limit, tried before it is proposed.

What the order of a method says of a shorter step holds where steps resolve all there is. Where one passes
over a transient, a shorter one has points within it and may have the larger error: of 53 steps that followed
from the order alone 19 were not enough. A proposal is therefore integrated as the run was, with what events
and devices did in that, and its error estimated as that of the run (`psmr.study.record.reintegrate`): the
coarsest first, until one is enough and another, at most `NEEDED` times coarser, is not.

Only steps or tolerances of the scheme change, to round numbers that fit each other (`Scheme.finer`). Where
none is enough within the work that all trials may take, error control is tried in place of the scheme, also
of one that keeps states at rest; where that is not enough either, the next proposal is given as a guess.
"""

from __future__ import annotations

import math

from psmr.base.errors import PsmrError
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.study.detectors.detection import Detectors
from psmr.study.estimated_error import Advice, GlobalError
from psmr.study.outcome import Outcome
from psmr.study.record.record import FinishedRun
from psmr.study.record.reintegrate import (
    LEAST_TOLERANCE,
    Integrated,
    Samples,
    StepBudget,
    compared_until,
    integrate_again,
    judged,
)

AIM, ENOUGH = 0.5, 0.75
"""Parts of the limit at which a proposal aims, and up to which one that was tried is enough.

What an estimate does not see, between the samples, has room above.
"""

DENSE, EVERY = 5, 50
"""How many times as many samples a trial has as a run, of fixed steps and of chosen ones, which are fewer.

Nobody looks at what lies between them any more.
"""

ROUGH = 3.0
"""Part of the limit above which a coarse reference shows that a proposal is not enough."""

NEEDED = 2.3
"""How much finer a proposal may be than one that has the limit as its error."""

FINEST, COARSEST = 0.125, 0.7
"""Parts of a step that is not enough between which the next one lies."""

LEAST_ORDER = 0.5
"""Order that two trials must show for the next proposal to follow from it."""

TRIALS = 10
"""Largest number of trials with one scheme."""

WORK, ROWS = 5.0, 2e6
"""Steps of all trials with one scheme until one is enough: in parts of those of the run, and times variables.

The larger one counts; two million rows are a second of a small system or less. Coarser ones, tried behind
one that is enough, take less than that.
"""


def advice_on(run: FinishedRun, error: GlobalError) -> Advice | None:
    """Return what would bring the error of a run below its limit; None where nothing is known.

    `run`: with its system; `error`: by which it was judged, above the limit.
    """
    assert run.system is not None
    scheme, limit = run.scheme, run.criteria.error
    # What states at rest leave out no tolerance brings back, so that a guess at one says nothing.
    rests = scheme.resting(run.system) is not None
    own = _sought(run, scheme, error.part)
    if (scheme.error_control is not None and not rests) or (own is not None and own.error is not None):
        return own
    # A tolerance of the limit is tried first, and the largest before it taken as not enough.
    coarse = VariableStep(max(LEAST_TOLERANCE, min(limit / FINEST, 0.5)))
    other = _sought(run, coarse, math.inf, another=True)
    return other if rests or own is None or (other is not None and other.error is not None) else own


def _sought(run: FinishedRun, scheme: Scheme, off: float, another: bool = False) -> Advice | None:
    """Return the coarsest scheme that is enough, or a guess at it; None where there is none.

    `scheme`, `off`: one that is not enough, and its error in parts, inf where that is not known.
    """
    assert run.system is not None
    limit, found = run.criteria.error, None
    size = run.system.n + run.system.m
    ratio = 1 if scheme.two_rates is None else scheme.two_rates.ratio
    most = StepBudget(max(WORK * run.stats.counters.steps, ROWS / size) / ratio)
    # Parts of the step or tolerance: of one that is not enough, of one that is, and of what is tried.
    coarse, fine = 1.0, 0.0
    # Where sides exchange values the order is often less than that of the method: half of it above 1 counts.
    order = scheme.order if ratio == 1 else 0.5 * (1.0 + scheme.order)
    part = _finer_part(off / limit, order)
    for _ in range(TRIALS):
        proposed = scheme.finer(part**scheme.order)
        part = 1.0 if proposed is None else proposed.accuracy[0][1] / scheme.accuracy[0][1]
        if proposed is None or not fine < part < coarse:
            return found
        if not _fits(run, proposed, most):
            return Advice(proposed, another=another)
        error = _tried(run, proposed, most)
        left = math.inf if error is None else max(error.part, 1e-12)
        slope = 0.0 if math.inf in (left, off) else math.log(off / left) / math.log(coarse / part)
        if error is not None and left <= ENOUGH * limit:
            found, fine, most = Advice(proposed, error, another), part, StepBudget(math.inf)
            if limit <= left * NEEDED ** min(slope, scheme.order):
                return found
        else:
            coarse, off, order = part, left, min(order, slope) if slope > LEAST_ORDER else order
        if found is None:
            part *= _finer_part(off / limit, order)
        elif coarse <= ENOUGH * NEEDED * fine:
            return found
        else:
            part = math.sqrt(coarse * fine)
    guess = None if found else scheme.finer(part**scheme.order)
    return found if guess is None else Advice(guess, another=another)


def _finer_part(off: float, order: float) -> float:
    """Return the part of a step or tolerance to try after one with an error of `off` limits."""
    return min(max((AIM / off) ** (1.0 / order), FINEST), COARSEST)


def _fits(run: FinishedRun, scheme: Scheme, most: StepBudget) -> bool:
    """Return whether a trial may be within the steps that are left, as far as that is known before it."""
    return most.left > (0.0 if scheme.step_choice is not None else run.t[-1] / scheme.step)


def _tried(run: FinishedRun, scheme: Scheme, most: StepBudget) -> GlobalError | None:
    """Return the estimated error that a scheme gives to a run; None where it, or the second run, fails."""
    assert run.system is not None
    samples = Samples(run.system, dense=DENSE if scheme.step_choice is None else EVERY)
    end = float(run.t[-1])
    detectors = Detectors.of(run.system, run.criteria, end)
    try:
        steps = integrate_again(run, scheme, end, [*detectors.all, samples], most)
        end = compared_until(Outcome.of(detectors, run.criteria, end, None, ()), end)
        return judged(Integrated(run, scheme, end, steps, samples.result()), ROUGH)
    except PsmrError:
        return None
