"""Tuning: the cheapest scheme whose modes are bent by less than asked."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.errors import InputError, SchemeError, SingularError
from psmr.numerics.schemes.scheme import Scheme
from psmr.pencil.deformation.critical import refuse_unstable
from psmr.pencil.deformation.deformation import LARGEST
from psmr.pencil.modes.columns import deformation_columns
from psmr.pencil.modes.matching import REPRESENTED, match
from psmr.pencil.modes.spectrum import Modes, modes_of, multipliers_of
from psmr.pencil.modes.verdict import mode_text, stable_and_radius
from psmr.pencil.operator.exact import step_operator
from psmr.study.tuning.candidates import GRID, Family, families
from psmr.study.tuning.cost import CostModel, calibrate
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
        At its equilibrium, at most 2,000 variables.
    up_to, accuracy, damping, frequency, margin
        See `Target`.
    progress
        Called with the part of the work done, 0 to 1.

    Raises
    ------
    InputError
        For a target that is none, a band without modes, a system too large, or one that is unstable to begin
        with (naming the mode).
    SchemeError
        When no candidate reaches the target; the message shows the best one.
    SingularError
        For a singular gy.
    """
    target = Target(up_to, accuracy, damping, frequency, margin)
    if system.n + system.m > LARGEST:
        raise InputError(
            f"{system.n + system.m} variables are more than the {LARGEST} for which every mode of every "
            f"candidate is "
            "computed; judge single schemes with psmr.deformation(..., modes=...)"
        )
    linear = system.linearise()
    modes = modes_of(linear)
    refuse_unstable(modes)
    band = _band(modes, target)
    known = list(families(linear))
    costs = calibrate(system, [family.make(GRID[0]) for family in known])
    tried: list[Candidate] = []
    for k, family in enumerate(known):
        tried += _search(linear, modes, band, target, family, costs)
        if progress is not None:
            progress((k + 1) / len(known))
    tried.sort(key=lambda candidate: candidate.cost)
    good = [
        candidate for candidate in tried if candidate.meets and _has_margin(linear, modes, candidate, target)
    ]
    if not good:
        raise SchemeError(_out_of_reach(tried, target))
    return Tuning(
        name=system.name,
        target=target,
        winner=good[0],
        best_single=next((c for c in good if not c.scheme.has_ratio), None),
        best_multirate=next((c for c in good if c.scheme.has_ratio), None),
        candidates=tuple(tried),
        costs=costs,
        modes=int(band.sum()),
    )


def _band(modes: Modes, target: Target) -> np.ndarray:
    size = np.abs(modes.s)
    band = (size <= 2.0 * np.pi * target.up_to) & (size > modes.zero) & (modes.s.imag >= 0.0)
    if not band.any():
        slowest = modes.s[int(np.argmin(np.where(size > modes.zero, size, np.inf)))]
        raise InputError(
            f"up_to = {target.up_to:g} Hz: no mode of the system is that slow; the slowest is "
            f"{mode_text(slowest)} "
            f"({abs(slowest) / (2 * np.pi):.3g} Hz)"
        )
    return band


def _search(
    linear: LinearDae, modes: Modes, band: np.ndarray, target: Target, family: Family, costs: CostModel
) -> list[Candidate]:
    """Return what a bisection on the grid tried; the last step that meets the target is among them."""
    if not math.isfinite(costs.of(family.make(GRID[0]))):
        return []
    if not family.split:
        # Few enough to try every step: the figure then has the whole curve of each method.
        return [_judged(linear, modes, band, target, family, step, costs) for step in GRID]
    tried = []
    low, high = -1, len(GRID)
    while high - low > 1:
        middle = (low + high) // 2
        candidate = _judged(linear, modes, band, target, family, GRID[middle], costs)
        tried.append(candidate)
        low, high = (middle, high) if candidate.meets else (low, middle)
    return tried


def _judged(
    linear: LinearDae,
    modes: Modes,
    band: np.ndarray,
    target: Target,
    family: Family,
    step: float,
    costs: CostModel,
) -> Candidate:
    scheme = family.make(step)
    errors, worst, stable = _errors(linear, modes, band, scheme)
    return Candidate(
        scheme=scheme,
        recorded=family.recorded(step),
        cost=costs.of(scheme),
        deformation=errors[0],
        damping_error=errors[1],
        frequency_error=errors[2],
        worst=worst,
        stable=stable,
        meets=stable and target.shortfall(errors) <= 1.0,
    )


def _errors(
    linear: LinearDae, modes: Modes, band: np.ndarray, scheme: Scheme
) -> tuple[tuple[float, float, float], complex, bool]:
    """Return largest deformation, damping and frequency error of the band, worst mode, stability."""
    s = modes.s[band]
    lost = (math.inf, math.inf, math.inf)
    try:
        numerical = multipliers_of(step_operator(linear, scheme), linear.n + linear.m)
    except SingularError:
        return lost, complex(s[0]), False
    matched = match(modes, numerical, scheme.step)
    stable = stable_and_radius(modes, numerical, matched, scheme.step)[0]
    status = [matched.status[k] for k in np.flatnonzero(band)]
    missing = [k for k, words in enumerate(status) if words != REPRESENTED]
    if missing:
        return lost, complex(s[missing[0]]), stable
    columns = deformation_columns(s, matched.s_numerical[band], status)
    names = ("relative_deformation", "damping_error", "frequency_error")
    errors = [np.nan_to_num(np.abs(columns[name]), nan=0.0) for name in names]
    return (
        (float(errors[0].max()), float(errors[1].max()), float(errors[2].max())),
        complex(s[int(errors[0].argmax())]),
        stable,
    )


def _has_margin(linear: LinearDae, modes: Modes, candidate: Candidate, target: Target) -> bool:
    scheme, factor = candidate.scheme, 1.0 + target.margin
    longer = scheme.with_step(factor * scheme.step)
    try:
        numerical = multipliers_of(step_operator(linear, longer), linear.n + linear.m)
    except SingularError:
        return False
    matched = match(modes, numerical, longer.step)
    return stable_and_radius(modes, numerical, matched, longer.step)[0]


def _out_of_reach(tried: list[Candidate], target: Target) -> str:
    def miss(candidate: Candidate) -> float:
        errors = (candidate.deformation, candidate.damping_error, candidate.frequency_error)
        return target.shortfall(errors) if candidate.stable else math.inf

    best = min(tried, key=miss)
    if not math.isfinite(miss(best)):
        return f"no scheme that was tried is stable and represents every mode up to {target.up_to:g} Hz"
    return (
        f"no scheme that was tried reaches {target}. The best one misses it by a factor {miss(best):.3g}: "
        f"{best}. "
        f"Ask for less, or take a step below {1e3 * GRID[0]:g} ms"
    )
