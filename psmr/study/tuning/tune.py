"""Tuning: the cheapest scheme whose modes are bent by less than asked.

Here candidates are held against the nonlinear simulation and the clock, and the files of a tuning are
written: the winner as a study, the figure, and every candidate.
"""

from __future__ import annotations

import json
import math
import os
import textwrap
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arguments import check_arguments
from psmr.base.declared import Option
from psmr.base.errors import SchemeError, StudyError
from psmr.base.files import OutputTransaction
from psmr.base.modules import draw
from psmr.base.numbers import fraction, hertz
from psmr.dae.system.eigenvalues import modes_of
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.files.case_file import CaseFile
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.multirate import EXTRAPOLATION
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.deformation import LARGEST, deformation
from psmr.pencil.deformation.report import deformation_columns
from psmr.pencil.modes.search import ModeChoice, ShiftInvert, find
from psmr.pencil.modes.shapes import fit_mode
from psmr.pencil.modes.spectrum import REPRESENTED
from psmr.pencil.modes.verdict import mode_text
from psmr.study.output import placed
from psmr.study.tuning.candidates import (
    GRID,
    CostModel,
    Family,
    calibrate,
    families,
    families_at_size,
    measured,
    moved_along_mode,
)
from psmr.study.tuning.tuning import BandModes, Candidate, ChosenModes, EveryMode, Target, Tuning


def tune(
    system: System,
    up_to: Annotated[float, hertz, "modes up to this frequency count, for instance 2Hz", "F"],
    accuracy: Annotated[float | None, fraction, "largest relative deformation, for instance 1%", "P"] = None,
    damping: Annotated[
        float | None,
        fraction,
        "largest change of a damping ratio, for instance 0.2pp",
        "P",
        Option(name="damping_error"),
    ] = None,
    frequency: Annotated[
        float | None,
        fraction,
        "largest change of a frequency, for instance 0.5%",
        "P",
        Option(name="frequency_error"),
    ] = None,
    margin: Annotated[
        float, fraction, "safety margin: must also be stable with steps this much longer (default 10%)", "P"
    ] = 0.1,
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
        stability by the outermost multipliers (`psmr.pencil.operator.step_operator`), and only steps that
        would be cheaper than the best one so far are tried; `Tuning.coverage` says so.
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
    good = [c for c in tried if c.meets]
    single, multirate = (
        # Beyond LARGEST those that meet it have their margin already.
        next((c for c in kind if not small or _has_margin(modes, c.scheme, target)), None)
        for kind in (
            [c for c in good if c.scheme.two_rates is None],
            [c for c in good if c.scheme.two_rates is not None],
        )
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


# The ringdown from which a mode is read: of second order in the kick, so that 1e-4 leaves 1e-8.
KICK, CYCLES = 1e-4, 12.0

# Simulated seconds of the timed run.
TIMED = 20.0


@dataclass(frozen=True)
class Confirmation:
    """A candidate held against the nonlinear simulation and the clock.

    Attributes
    ----------
    mode
        Least damped oscillation of the system in the band, 1/s.
    predicted, observed
        What the scheme makes of it by the pencil, and fitted to the ringdown of a nonlinear run.
    deformation_predicted, deformation_observed
        Relative deformation of both.
    cost_predicted, cost_measured
        Seconds of work for a simulated second, by the model and by the clock (processor time).
    """

    mode: complex
    predicted: complex
    observed: complex
    deformation_predicted: float
    deformation_observed: float
    cost_predicted: float
    cost_measured: float

    def __str__(self) -> str:
        return (
            f"Confirmed on mode {mode_text(self.mode)}: deformation {100 * self.deformation_predicted:.4g} % "
            f"predicted, {100 * self.deformation_observed:.4g} % in a nonlinear ringdown; "
            f"cost {1e3 * self.cost_predicted:.3g} ms a simulated second predicted, "
            f"{1e3 * self.cost_measured:.3g} ms by the clock"
        )


def confirm(system: System, candidate: Candidate) -> Confirmation:
    """Hold a candidate against a nonlinear ringdown (its mode) and the clock (its cost)."""
    linear = system.linearise()
    small = linear.n + linear.m <= LARGEST
    # Of a large system the least damped oscillation alone.
    report = deformation(linear, candidate.scheme, modes=None if small else 1)
    rows = report.table[(report.table["status"] == REPRESENTED) & (report.table["imag"] > 0.0)]
    row = rows.iloc[int(np.argmin(rows["damping_ratio"].to_numpy()))]
    s = complex(row["real"], row["imag"])
    predicted = complex(row["real_numerical"], row["imag_numerical"])
    w = moved_along_mode(system, s, KICK)
    n = system.n
    left = _left(linear, s, small)
    t_end = max(8.0, CYCLES * 2.0 * np.pi / s.imag)
    steps = int(t_end / candidate.scheme.step)
    run = integrate(
        system, candidate.scheme, steps * candidate.scheme.step, start=(w[:n], w[n : n + system.m])
    )
    signal = ((run.x - system.x0) @ left).real
    settled = slice(min(3, len(run.t) // 10), None)  # the spline has its history after two steps
    observed = fit_mode(run.t[settled], signal[settled], predicted)
    both = deformation_columns(np.array([s, s]), np.array([predicted, observed]), ("", ""))
    bent = both["relative_deformation"]
    return Confirmation(
        s,
        predicted,
        observed,
        float(bent[0]),
        float(bent[1]),
        candidate.cost,
        measured(system, candidate.scheme, TIMED),
    )


def _left(linear: LinearDae, s: complex, small: bool) -> NDArray[np.complex128]:
    """Return (n,) what each state contributes to the coordinate of a mode: its left eigenvector."""
    linear.require_no_delays("coordinate of a mode")
    if small:
        modes = modes_of(linear)
        return np.asarray(np.linalg.inv(modes.vectors[: linear.n])[np.abs(modes.s - s).argmin()])
    pencil = ShiftInvert(linear)
    found = find(pencil, ModeChoice(near=(s,)))
    _, _, lu, _ = pencil.polished(complex(found.s[0]), found.vectors[:, 0])
    return np.asarray(pencil.left(lu)[: linear.n].conj())


WIDTH = 110


def tuning_record(tuning: Tuning, confirmation: Confirmation) -> dict[str, Any]:
    """Return the result as plain numbers by name."""

    def record(candidate: Candidate | None) -> dict[str, Any] | None:
        if candidate is None:
            return None
        names = ("cost", "deformation", "damping_error", "frequency_error")
        return {"scheme": candidate.recorded, **{name: getattr(candidate, name) for name in names}}

    return {
        "system": tuning.name,
        "target": asdict(tuning.target),
        "advice": tuning.advice,
        "winner": record(tuning.winner),
        "best_single": record(tuning.best_single),
        "best_multirate": record(tuning.best_multirate),
        "candidates": len(tuning.candidates),
        "confirmation": asdict(confirmation),
    }


FILES = ("tuned.toml", "pareto.svg", "candidates.csv")
"""What `write_tuning` writes."""


def write_tuning(folder: str | os.PathLike[str], tuning: Tuning, case: CaseFile) -> tuple[Path, ...]:
    """Write study, figure and table into a folder, all or none, and return their paths.

    Raises StudyError when the folder cannot be written.
    """
    place = Path(folder)
    files = tuple(place / name for name in FILES)
    with OutputTransaction(StudyError) as transaction:
        with transaction.file(files[2]) as temporary:
            temporary.write_text(tuning.table.to_csv(index=False), encoding="utf-8")
        draw("run.plots.save_pareto", tuning, files[1], transaction)
        write_study(files[0], tuning, case, transaction)
    return files


def write_study(
    path: str | os.PathLike[str], tuning: Tuning, case: CaseFile, transaction: OutputTransaction | None = None
) -> None:
    """Write the winner as a study file beside which, or from which, the case file is found.

    The file appears at once, or with the others of `transaction`.

    Raises
    ------
    StudyError
        When it cannot be written.
    """
    place = Path(path)

    def relative(file: str | os.PathLike[str]) -> str:
        return os.path.relpath(Path(file).resolve(), place.resolve().parent).replace(os.sep, "/")

    # What a study file need not say of its case is left out.
    reading = {
        f.name: getattr(case, f.name) for f in fields(case) if f.name not in ("path", "format") and f.compare
    }
    given = [f.name for f in fields(case) if f.name in reading and reading[f.name] != f.default]
    if case.dynamics is not None:
        reading["dynamics"] = relative(case.dynamics)
    lines = [
        f"# The cheapest scheme for {tuning.name} with {tuning.target}.",
        *(f"# {line}" for line in textwrap.wrap(str(tuning.winner), WIDTH - 2)),
        'format = "psmr-study"',
        "version = 1",
        f"name = {_toml(f'{tuning.name}, tuned')}",
        f"case = {_toml(relative(case.path))}",
        *(f"{name} = {_toml(reading[name])}" for name in given),
        "",
        "[scheme]",
        *(f"{key} = {_toml(value)}" for key, value in tuning.winner.recorded.items()),
        "",
        "[simulation]",
        "t_end = 10.0  # s; add [[event]] tables",
    ]
    with placed(place, transaction) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # A JSON string is a TOML basic string; numbers read alike.
    return json.dumps(value, ensure_ascii=False)
