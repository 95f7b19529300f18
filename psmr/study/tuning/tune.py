"""Tuning: the cheapest scheme whose modes are bent by less than asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from psmr.base.arguments import check_arguments
from psmr.base.errors import SchemeError
from psmr.dae.system.system import System
from psmr.integrate.schemes.multirate_program import EXTRAPOLATION
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.deformation import LARGEST
from psmr.study.tuning.candidates import GRID, Family, families, families_at_size
from psmr.study.tuning.cost import CostModel, calibrate
from psmr.study.tuning.mode_errors import BandModes, ChosenModes, EveryMode
from psmr.study.tuning.tuning import Candidate, Target, Tuning


def tune(
    system: System,
    up_to: float,
    accuracy: float | None = None,
    damping: float | None = None,
    frequency: float | None = None,
    margin: float = 0.1,
    progress: Callable[[float], None] | None = None,
) -> Tuning:
    """Find the cheapest scheme whose modes in a band are deformed by less than asked.

    Searched are the threshold delta, the macro step, the ratio, predictor, predicted set, interpolation and
    corrections of multirate schemes with TM solution, and the step of the single-rate methods. In each family
    the largest step of a grid that meets the bounds is found by bisection, as deformation grows with the
    step.

    Parameters
    ----------
    system
        At its equilibrium. Beyond 2,000 variables a candidate is judged by chosen modes of the band, its
        stability by the outermost multipliers (`psmr.pencil.operator.outermost`), and only steps that would
        be cheaper than the best one so far are tried; `Tuning.coverage` says so.
    up_to, accuracy, damping, frequency, margin
        See `Target`.
    progress
        Called with the part of the work done, 0 to 1.

    Raises
    ------
    InputError
        For a target that is not one, a band without modes, or a system that is unstable to begin with (naming
        the mode).
    SchemeError
        When no candidate reaches the target; the message shows the best one.
    SingularError
        For a singular gy.
    """
    check_arguments(tune, locals())
    target = Target(up_to, accuracy, damping, frequency, margin)
    linear = system.linearise()
    small = system.n + system.m <= LARGEST
    modes: BandModes = EveryMode(linear, target) if small else ChosenModes(linear, target)
    known = list(families(linear) if small else families_at_size(linear))
    costs = calibrate(system, [family.make(GRID[0]) for family in known], quick=not small)
    tried: list[Candidate] = []
    best: Candidate | None = None
    for k, family in enumerate(known):
        if small:
            tried += _search(modes, target, family, costs)
        else:
            cheaper = _search_below(modes, target, family, costs, best)
            tried += cheaper
            best = min(
                (c for c in (best, *cheaper) if c is not None and c.meets), key=lambda c: c.cost, default=None
            )
        if progress is not None:
            progress((k + 1) / len(known))
    tried.sort(key=lambda candidate: candidate.cost)
    single, multirate = (
        # Beyond LARGEST those that meet it have their margin already.
        next((c for c in good if not small or _has_margin(modes, c.scheme, target)), None)
        for good in ([c for c in tried if c.meets and c.scheme.has_ratio is ratio] for ratio in (False, True))
    )
    found = [c for c in (single, multirate) if c is not None]
    if not found:
        raise SchemeError(_out_of_reach(tried, target))
    return Tuning(
        name=system.name,
        target=target,
        winner=min(found, key=lambda c: c.cost),
        best_single=single,
        best_multirate=multirate,
        candidates=tuple(tried),
        costs=costs,
        modes=modes.count,
        coverage=modes.coverage,
    )


def _search(modes: BandModes, target: Target, family: Family, costs: CostModel) -> list[Candidate]:
    """Return what a bisection on the grid tried; the last step that meets the target is among them."""
    if not math.isfinite(costs.of(family.make(GRID[0]))):
        return []
    if not family.split:
        # Few enough to try every step: the figure then has the whole curve of each method.
        return [_judged(modes, target, family, step, costs) for step in GRID]
    tried = []
    low, high = -1, len(GRID)
    if family.choices["predictor"] == EXTRAPOLATION:
        # Unstable at any step where the sides have a strong algebraic loop: then the shortest says so.
        tried.append(_judged(modes, target, family, GRID[0], costs))
        low, high = (0, high) if tried[0].meets else (-1, 0)
    while high - low > 1:
        middle = (low + high) // 2
        candidate = _judged(modes, target, family, GRID[middle], costs)
        tried.append(candidate)
        low, high = (middle, high) if candidate.meets else (low, middle)
    return tried


def _search_below(
    modes: BandModes, target: Target, family: Family, costs: CostModel, best: Candidate | None
) -> list[Candidate]:
    """Return what a search among the steps tried that would be cheaper than the best candidate so far.

    The shortest of them comes first: where it misses the target the family is done with, as most are.
    """
    cheaper = [step for step in GRID if best is None or costs.of(family.make(step)) < best.cost]
    cheaper = [step for step in cheaper if math.isfinite(costs.of(family.make(step)))]
    tried: list[Candidate] = []
    low, high = -1, len(cheaper)
    while high - low > 1:
        middle = (low + high) // 2 if tried else 0
        candidate = _judged(modes, target, family, cheaper[middle], costs)
        if candidate.meets and not _has_margin(modes, candidate.scheme, target):
            candidate = replace(candidate, meets=False)
        tried.append(candidate)
        low, high = (middle, high) if candidate.meets else (low, middle)
    return tried


def _judged(modes: BandModes, target: Target, family: Family, step: float, costs: CostModel) -> Candidate:
    scheme = family.make(step)
    found = modes.of(scheme)
    return Candidate(
        scheme=scheme,
        recorded=family.recorded(step),
        cost=costs.of(scheme),
        deformation=found.largest[0],
        damping_error=found.largest[1],
        frequency_error=found.largest[2],
        worst=found.worst,
        stable=found.stable,
        meets=bool(found.stable) and target.shortfall(found.largest) <= 1.0,
    )


def _has_margin(modes: BandModes, scheme: Scheme, target: Target) -> bool:
    return modes.stable(scheme.with_step((1.0 + target.margin) * scheme.step))


def _out_of_reach(tried: list[Candidate], target: Target) -> str:
    def miss(candidate: Candidate) -> float:
        errors = (candidate.deformation, candidate.damping_error, candidate.frequency_error)
        return math.inf if candidate.stable is False else target.shortfall(errors)

    best = min(tried, key=miss)
    if not math.isfinite(miss(best)):
        return f"no scheme that was tried is stable and represents every mode up to {target.up_to:g} Hz"
    return (
        f"no scheme that was tried reaches {target}. The best one misses it by a factor {miss(best):.3g}: "
        f"{best}. "
        f"Ask for less; steps below {1e3 * GRID[0]:g} ms are not tried, but a scheme can be given one"
    )
