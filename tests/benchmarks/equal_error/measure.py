"""Cost and error of schemes on one case: processor times interleaved, errors at common instants."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr.dae.system.system import System
from psmr.numerics.run.integrate import integrate
from psmr.numerics.schemes.scheme import Scheme
from psmr.study.record.dense import dense_points
from psmr.study.record.spans import spans_of
from tests.benchmarks.equal_error.cases import Disturbance, watched

Reals = NDArray[np.float64]

# Tolerance of the run that errors are taken against; its own error is 1e-4 of the least tolerance measured.
REFERENCE = 1e-9


@dataclass(frozen=True)
class Measured:
    """What a scheme cost and how far it was off.

    Attributes
    ----------
    family, label
        Which line of a figure, and the scheme.
    seconds
        Processor time, the median.
    steps
        Accepted steps; 0 where it does not say.
    rms, largest
        Error of all variables at all instants, relative to the largest value of the variable or 1.
    rms_watched, largest_watched
        That of speeds and bus voltages.
    """

    family: str
    label: str
    seconds: float
    steps: int
    rms: float
    largest: float
    rms_watched: float
    largest_watched: float


def instants(disturbance: Disturbance) -> Reals:
    """Return the instants at which errors are taken: multiples of their spacing, which fixed steps meet."""
    first, spacing = disturbance.times
    whole = np.arange(np.ceil(first / spacing - 1e-9), disturbance.t_end / spacing - 1e-9)
    return np.asarray(whole * spacing)


def values_at(system: System, disturbance: Disturbance, run: Any, times: Reals) -> Reals:
    """Return (K, n + m) values of a trajectory: its points, or its dense output between them."""
    points = np.hstack([run.x, run.y])
    place = np.minimum(np.searchsorted(run.t, times - 1e-9), len(run.t) - 1)
    met = np.abs(run.t[place] - times) < 1e-7
    out = points[place]
    if not met.all():
        spans = spans_of(system, run.t, disturbance.changes)
        out[~met] = dense_points(system, spans, run.t, points, times[~met])
    return np.asarray(out)


def measure(
    system: System,
    disturbance: Disturbance,
    schemes: Sequence[tuple[str, Scheme]],
    ida: Sequence[float],
    repeats: int,
    reference: float = REFERENCE,
    chosen: NDArray[np.intp] | None = None,
    before: float | None = None,
) -> list[Measured]:
    """Return what each scheme and each tolerance of IDA cost, and its error.

    Schemes are given with the family they belong to. Each round runs all of them once, so that what else the
    machine does falls on all alike; a run that has no solution is left out. `reference` is the tolerance of
    the run that errors are taken against, `chosen` are the positions that are watched (speeds and voltages).
    With `before` the cost of a run to that time in s, with its set-up, is taken off.
    """
    times = instants(disturbance)
    fine = integrate(system, psmr.VariableStep(reference), disturbance.t_end, disturbance.changes)
    exact = values_at(system, disturbance, fine, times)
    scale = np.maximum(1.0, np.abs(exact).max(axis=0))
    chosen = watched(system) if chosen is None else chosen
    short = None if before is None else replace(disturbance, t_end=before)
    scheme_of = {str(scheme): scheme for _, scheme in schemes}
    seconds: dict[str, list[float]] = {}
    found: dict[str, Measured] = {}
    for repeat in range(repeats):
        for family, label, run in _runs(system, disturbance, schemes, ida, times):
            if repeat and label not in found:
                continue
            began = time.process_time()
            try:
                result = run()
            except psmr.PsmrError:
                continue
            spent = time.process_time() - began
            if short is not None:
                began = time.process_time()
                integrate(system, scheme_of[label], short.t_end, short.changes)
                spent -= time.process_time() - began
            seconds.setdefault(label, []).append(spent)
            if not repeat:
                values = (
                    result
                    if isinstance(result, np.ndarray)
                    else values_at(system, disturbance, result, times)
                )
                off = np.abs(values - exact) / scale
                found[label] = Measured(
                    family, label, 0.0, 0 if isinstance(result, np.ndarray) else result.counters.steps,
                    _rms(off), float(off.max()), _rms(off[:, chosen]), float(off[:, chosen].max()),
                )  # fmt: skip
    return [
        Measured(**(vars(row) | {"seconds": float(np.median(seconds[label]))}))
        for label, row in found.items()
    ]


def _runs(
    system: System,
    disturbance: Disturbance,
    schemes: Sequence[tuple[str, Scheme]],
    ida: Sequence[float],
    times: Reals,
) -> list[tuple[str, str, Callable[[], Any]]]:
    runs: list[tuple[str, str, Callable[[], Any]]] = []
    for family, scheme in schemes:

        def own(scheme: Scheme = scheme) -> Any:
            return integrate(system, scheme, disturbance.t_end, disturbance.changes)

        runs.append((family, str(scheme), own))
    for tolerance in ida:

        def other(tolerance: float = tolerance) -> Any:
            from tests.benchmarks.equal_error.ida import IdaRun

            return IdaRun(system, disturbance.changes, tolerance).run(disturbance.t_end, times)

        runs.append(("IDA", f"IDA, tolerance {tolerance:g}", other))
    return runs


def _rms(off: Reals) -> float:
    return float(np.sqrt(np.mean(off**2)))


def ratio(rows: Sequence[Measured], families: Sequence[str], own: str, error: float, by: str) -> str:
    """Return how many times more the cheapest of some families costs than another one at equal error.

    Costs lie on straight lines between the measured ones, in logarithms. A family that does not reach the
    error costs more than its dearest run, ``">"``; one that is better with its cheapest run costs less than
    that one where it need not be as good, ``"<"``.
    """
    mine, mark = _cost(rows, own, error, by)
    if mark:
        return "-"
    found = [_cost(rows, family, error, by) for family in families]
    theirs, mark = min((cost for cost in found if np.isfinite(cost[0])), default=(np.nan, ""))
    return f"{mark}{theirs / mine:.1f}" if np.isfinite(theirs) else "-"


def _cost(rows: Sequence[Measured], family: str, error: float, by: str) -> tuple[float, str]:
    """Return the cost at an error, and "<" or ">" where it is a bound only."""
    points = sorted((getattr(row, by), row.seconds) for row in rows if row.family == family)
    if not points:
        return float("nan"), ""
    errors, costs = np.array(points).T
    if error < errors[0]:
        return float(costs[0]), ">"
    if error > errors[-1]:
        return float(costs[-1]), "<"
    return float(np.exp(np.interp(np.log(error), np.log(errors), np.log(costs)))), ""
