"""Runs of one list of events with several schemes, each judged against the oracle on a fine run."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import partitioning
import psmr
from psmr.errors import PsmrError, PsmrWarning
from tests.internals import MARGIN, judged_error
from tests.programs.verdicts.lists import Task, system_of
from tests.programs.verdicts.network import INFINITE, MACHINE
from tests.programs.verdicts.oracle import Limits, Oracle, Seen

Reals = NDArray[np.float64]

FINE = psmr.VariableStep(1e-7, h_max=2e-3)

AGREES = 0.01
"""Largest difference of two runs that agree, in parts of the largest excursion."""

SAME = 0.002
"""Difference up to which a run must not be said to be off."""

UNCHANGED = 1e-5
"""Part of the nominal frequency by which it may move without that being an extreme of a run."""

EXACT = 1e-3
"""How far from its limit a figure of the fine run itself must lie to be counted, in parts of the limit."""

NAMES = {
    "angle spread": "angle", "loop angle": "loop", "motor stalled": "stalled",
    "motor runs backwards": "backwards",
}  # fmt: skip
"""What the findings of an outcome are called here, where otherwise."""

RIGHT, WRONG, FAILED = "right", "wrong", "failed"
APART, UNSAID, ALARM = "apart, said", "apart, not said", "not apart, said"
KINDS = (RIGHT, WRONG, APART, UNSAID, ALARM, FAILED)
COLOURS = ("green", "amber", "red")


@dataclass(frozen=True)
class Result:
    """How one run of a list compares: one of KINDS, why, and how far it is from the fine run."""

    task: Task
    scheme: str
    kind: str
    why: str = ""
    apart: float = math.nan
    colour: str = ""
    estimate: float = math.nan

    def __str__(self) -> str:
        figures = f"apart {self.apart:.2g}, estimated {self.estimate:.2g}"
        return f"{self.kind}, {self.scheme} ({self.colour}, {figures}): {self.why}\n  {self.task}"


@functools.cache
def schemes(case: str) -> Mapping[str, Any]:
    """Return the schemes by name; the split follows the case."""
    found: dict[str, Any] = {f"VariableStep {t:g}": psmr.VariableStep(t) for t in (1e-3, 1e-4, 1e-5, 1e-6)}
    found["TM 5 ms"] = psmr.SingleRate("TM", h=0.005)
    split = partitioning.by_participation(system_of(case).linearise(), delta=20.0, algebraic="participation")
    found["multirate 20/5 ms"] = psmr.Multirate(split, h_slow=0.02, ratio=4)
    return found


def compared(task: Task) -> list[Result]:
    """Return how the fine run and every scheme compare with the oracle on the fine run."""
    system = system_of(task.case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        try:
            fine = psmr.simulate(system, FINE, task.t_end, task.events, certify=False)
        except PsmrError as error:
            return [Result(task, "fine", FAILED, str(error))]
        oracle = Oracle(system, task.events, task.t_end, fine.t, fine.x, fine.y)
        results = [_judged(task, "fine", fine, oracle, EXACT, 0.0)]
        wrong = "; ".join(_figures(fine, oracle.judge(Limits())))
        if wrong:
            results.append(Result(task, "fine, figures", WRONG, wrong, 0.0))
        for name, scheme in schemes(task.case).items():
            try:
                run = psmr.simulate(system, scheme, task.t_end, task.events, certify=False)
            except PsmrError as error:
                results.append(Result(task, name, FAILED, str(error)))
                continue
            apart, error = difference(oracle, run), _estimated(run)
            result = _judged(task, name, run, oracle, AGREES, apart)
            said = not error <= MARGIN * run.criteria.error
            if apart > AGREES:
                result = replace(result, kind=APART if said or result.colour == "red" else UNSAID)
            elif apart < SAME and said and result.kind == RIGHT:
                result = replace(result, kind=ALARM)
            result = replace(result, estimate=error)
            results.append(result)
        results.append(_recorded(task))
    return results


def _estimated(run: Any) -> float:
    """Return the error by which a run is judged, in parts; NaN where it is not known, which is amber too."""
    try:
        return judged_error(run).part
    except PsmrError:
        return math.nan


def _recorded(task: Task) -> Result:
    """Return whether a run that keeps next to nothing has, in words, the outcome of one that keeps it all."""
    system, outcomes = system_of(task.case), []
    for record in (None, psmr.Record("bus*.v", every=50)):
        try:
            run = psmr.simulate(
                system, psmr.VariableStep(), task.t_end, task.events, record=record, certify=False
            )
        except PsmrError as error:
            outcomes.append(str(error))
        else:
            outcomes.append(
                "; ".join([*run.outcome.lines(), *sorted(f.sentence for f in run.outcome.findings)])
            )
    kind = RIGHT if outcomes[0] == outcomes[1] else WRONG
    return Result(task, "recorded", kind, "" if kind == RIGHT else f"{outcomes[0]} but {outcomes[1]}", 0.0)


def _judged(task: Task, name: str, run: Any, oracle: Oracle, margin: float, apart: float) -> Result:
    words = list(disagreements(run, oracle, margin))
    return Result(task, name, WRONG if words else RIGHT, "; ".join(words), apart, _colour(run))


def shown(run: Any) -> float:
    """Return the part of a swing's range that a run's points show at least, in the quarter before the last.

    With N points of equal distance a swing it is cos(pi / N); 1 of a run that is not said to keep swinging.
    """
    finding = next((found for found in run.outcome.findings if found.what == "not settled"), None)
    if finding is None:
        return 1.0
    quarter = 0.25 * (run.t[-1] - run.spans[-1].t)
    rows = (run.t >= run.t[-1] - 2.0 * quarter) & (run.t <= run.t[-1] - quarter)
    slopes = np.sign(np.diff(run.values(finding.signals[:1])[rows, 0]))
    turns = max(1, int((slopes[1:] != slopes[:-1]).sum()))
    return float(np.cos(np.pi / max(2.0, 2.0 * rows.sum() / turns)))


def disagreements(run: Any, oracle: Oracle, margin: float) -> Iterator[str]:
    """Yield in what the outcome of a run is not what the oracle finds, its limits moved by a part of them."""
    found = {NAMES.get(finding.what, finding.what) for finding in run.outcome.findings}
    least, most = oracle.judge(Limits(1.0 + margin)), oracle.judge(Limits(1.0 - margin, shown(run)))
    missed = set(least.found) - found - least.doubtful
    more = found - set(most.found) - most.doubtful
    for what in sorted(missed):
        yield f"{what} at {sorted(least.found[what])[:4]} not found"
    for finding in run.outcome.findings:
        if NAMES.get(finding.what, finding.what) in more:
            yield f"found without reason: {finding.sentence}"
    colour = _colour(run)
    # Where one limit within the margin makes it green and another one red, amber is between.
    first, last = COLOURS.index(least.colour), COLOURS.index(most.colour)
    if not (missed or more) and not least.doubtful and colour not in COLOURS[first : last + 1]:
        yield f"outcome {colour}, must be {' or '.join(COLOURS[first : last + 1])}"


def _colour(run: Any) -> str:
    """Return how the outcome alone is judged."""
    colours = {finding.colour for finding in run.outcome.findings}
    return "red" if "red" in colours else "amber" if "amber" in colours else "green"


def _figures(run: Any, seen: Seen) -> Iterator[str]:
    """Yield the figures of the fine run's outcome that are not those of its points."""
    outcome, f_n = run.outcome, _nominal(run)
    # Without a machine the speed is the mean turn of an angle over a step, here over other pairs of points.
    hertz = 1e-6 if any(name.endswith(".omega") for name in run.names_x) else 1e-5
    pairs = [
        ("lowest voltage", outcome.lowest_voltage, 1.0, 1e-9),
        ("highest voltage", outcome.highest_voltage, 1.0, 1e-9),
        ("nadir", outcome.nadir, f_n, hertz),
        ("overshoot", outcome.overshoot, f_n, hertz),
        ("final frequency", outcome.end_frequency, f_n, hertz),
    ]
    for what, extreme, scale, tolerance in pairs:
        right = seen.figures.get(what)
        if what in ("nadir", "overshoot") and right is not None and abs(right - 1.0) < UNCHANGED:
            right, tolerance = 1.0, max(tolerance, UNCHANGED)
        if (extreme is None) != (right is None):
            yield f"{what}: {extreme}, must be {right}"
        elif right is not None and abs(extreme.value - scale * right) > tolerance * scale:
            yield f"{what}: {extreme.value:.9g}, must be {scale * right:.9g}"
    if outcome.lost is not None and "angle" in seen.since:
        if abs(outcome.lost.t - seen.since["angle"]) > 5e-3:
            yield f"lost at {outcome.lost.t:.6g} s, must be {seen.since['angle']:.6g} s"
        if not _parties(outcome.lost, seen):
            yield f"lost by {outcome.lost.first} and {outcome.lost.second}, must be {seen.found['angle']}"


def _parties(lost: Any, seen: Seen) -> bool:
    """Return whether one of the pairs that moved apart has a member in each group."""
    return any(
        {*pair.split()} & {*lost.first} and {*pair.split()} & {*lost.second} for pair in seen.found["angle"]
    )


def _nominal(run: Any) -> float:
    system = run.system
    return float(next(d.parameters["f_n"] for d in system.devices if "f_n" in d.parameters))


def difference(oracle: Oracle, run: Any) -> float:
    """Return the largest difference of a run from the fine one, in parts of the largest excursion.

    Of all voltages and, apart, of all speeds, at the points of the run; the points of the fine one, 2 ms
    apart, are joined by straight lines. While a fault is on at a bus, its voltage does not count.
    """
    system = oracle.system
    turning = [source for source in oracle.grid.sources if source.kind != INFINITE]
    speeds = [
        system.index(f"{source.name}.{'omega' if source.kind == MACHINE else 'p_m'}") for source in turning
    ]
    droops = [1.0 if source.kind == MACHINE else system.parameter(source.name, "m_p") for source in turning]
    parts = [
        np.array([system.index(f"{bus}.{part}") - system.n for bus in oracle.grid.buses])
        for part in ("v_re", "v_im")
    ]
    rights = (oracle.v, oracle.x[:, speeds] * droops)
    others = (np.hypot(*(run.y[:, part] for part in parts)), run.x[:, speeds] * droops)
    begins = [0, *(1 + np.flatnonzero(np.diff(run.t) == 0.0)).tolist(), len(run.t)]
    if len(begins) != len(oracle.pieces) + 1:
        return math.inf
    worst = 0.0
    for right, other in zip(rights, others, strict=True):
        apart = 0.0
        for piece, a, b in zip(oracle.pieces, begins[:-1], begins[1:], strict=True):
            t, known = oracle.t[piece.rows], right[piece.rows]
            for k in np.flatnonzero(~np.isnan(known[0])):
                apart = max(apart, float(np.abs(np.interp(run.t[a:b], t, known[:, k]) - other[a:b, k]).max()))
        # A change below 1e-4 pu, 5 mHz, has no meaning in a study; docs/benchmarks/schemes.md says so.
        worst = max(worst, apart / max(1e-4, float(np.nanmax(np.abs(right - right[0]), initial=0.0))))
    return worst
