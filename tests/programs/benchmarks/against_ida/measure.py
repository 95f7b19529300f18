"""Errors, and processor times that take turns, of all rivals on a case."""

from __future__ import annotations

import csv
import gc
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.disturbances import Disturbance, instants, values_at, watched
from tests.internals import System, integrate
from tests.programs.benchmarks.against_ida import compiled_ida
from tests.programs.benchmarks.against_ida.cases import PROBLEMS
from tests.programs.benchmarks.against_ida.rivals import ANDES, Outcome, Rival, outcome, rivals

Reals = NDArray[np.float64]

# Tolerance of IDA's run that the reference has to agree with.
FINEST = 1e-9
# Runs that take less than this in s are measured several times in a round.
SHORT, REPEATS = 0.05, 5
# And those that take more once.
LONG = 3.0
# Family of the row that says how far the two fine runs agree (its rms), and the number of variables.
REFERENCE = "reference"


@dataclass(frozen=True)
class Row:
    """A rival on a case: what a line of the file has.

    `ms`, `events_ms`: Least processor time, and that of events where it is not in it.
    `rms`, `largest`, `rms_watched`: Errors relative to the largest value of a variable or 1, at all instants:
      of all variables, and of speeds and bus voltages; NaN for a set-up.
    """

    case: str
    family: str
    label: str
    ms: float
    events_ms: float
    steps: int
    failures: int
    residuals: int
    factorisations: int
    solves: int
    rms: float
    largest: float
    rms_watched: float


@dataclass(frozen=True)
class Reference:
    """Values that errors are taken against, and how far two methods of different kind agree on them."""

    values: Reals
    scale: Reals
    watched: NDArray[np.intp]
    agreement: float

    def errors(self, values: Reals) -> tuple[float, float, float]:
        """Return the rms and largest error of all variables, and the rms error of those that are watched."""
        off = np.abs(values - self.values) / self.scale
        near = off[:, self.watched]
        return float(np.sqrt(np.mean(off**2))), float(off.max()), float(np.sqrt(np.mean(near**2)))


def reference(case: str, system: System, what: Disturbance, prefix: Path | None) -> Reference:
    """Return the mean of a fine run of psmr and one of IDA, each of which is half their difference off it.

    Neither method is the measure of the other. Where IDA has no such run, that of psmr stands alone, and the
    agreement is NaN.
    """
    times = instants(what)
    run = integrate(system, psmr.VariableStep(PROBLEMS[case].reference), what.t_end, what.changes)
    own = values_at(system, what, run, times)
    scale = np.maximum(1.0, np.abs(own).max(axis=0))
    for states_alone in (False, True):
        options = compiled_ida.Options(FINEST, states_alone)
        try:
            other = compiled_ida.run(system, what.changes, options, what.t_end, times, prefix).values
        except psmr.PsmrError:
            continue
        off = float(np.sqrt(np.mean(((own - other) / scale) ** 2)))
        return Reference((own + other) / 2, scale, watched(system), off)
    return Reference(own, scale, watched(system), np.nan)


def measure(
    case: str,
    system: System,
    what: Disturbance,
    known: Reference,
    rounds: int,
    prefix: Path | None,
    every: bool,
) -> Iterator[Row]:
    """Yield a row for each rival that has a solution; every second round goes from the last to the first."""
    yield Row(
        case,
        REFERENCE,
        f"{system.n} + {system.m}",
        *(np.nan,) * 2,
        *(0,) * 5,
        known.agreement,
        *(np.nan,) * 2,
    )
    first: dict[Rival, Outcome] = {}
    errors: dict[Rival, tuple[float, float, float]] = {}
    for rival in rivals(system, every):
        whole = rival.t_end is None
        try:
            done = outcome(rival, system, what, prefix, whole)
        except psmr.PsmrError as error:
            print(f"{case}, {rival.family} {rival.label}: {error}", flush=True)
            continue
        errors[rival] = known.errors(done.values) if whole else (np.nan,) * 3
        first[rival] = replace(done, values=None)
    # Taking values at instants is no part of a run, and the first one may have compiled something; it has to
    # do where it took long.
    costs = {rival: [done] for rival, done in first.items() if done.seconds > LONG}
    order = [rival for rival in first if rival not in costs]
    for turn in range(rounds):
        for rival in order if turn % 2 == 0 else order[::-1]:
            for _ in range(REPEATS if first[rival].seconds < SHORT else 1):
                gc.collect()
                costs.setdefault(rival, []).append(outcome(rival, system, what, prefix, False))
    for rival, done in first.items():
        seconds = min(cost.seconds for cost in costs[rival])
        events = min(cost.events for cost in costs[rival])
        yield _row(case, rival, replace(done, seconds=seconds, events=events), errors[rival])


def by_andes() -> Iterator[Row]:
    """Yield rows of ANDES on its own NPCC case, which is that of psmr; none where it is not installed.

    Its fault is one of 0.01 pu; it has errors of speeds and voltages alone, against its own finest run.
    """
    from tests.programs.benchmarks.equal_error import peers

    try:
        found = peers.andes_study("npcc_full", "severe fault")
    except ImportError as error:
        print(f"ANDES is left out: {error}", flush=True)
        return
    for row in found:
        if row.family == peers.ANDES:
            errors = (row.rms_watched, row.largest_watched, row.rms_watched)
            yield Row("npcc", ANDES, row.label, 1e3 * row.seconds, 0.0, row.steps, 0, 0, 0, 0, *errors)


def _row(case: str, rival: Rival, done: Outcome, errors: tuple[float, float, float]) -> Row:
    count = done.counts.get
    return Row(
        case, rival.family, rival.label, 1e3 * done.seconds, 1e3 * done.events, count("steps", 0),
        count("error failures", 0) + count("convergence failures", 0), count("residuals", 0),
        count("factorisations", 0), count("solves", 0), *errors,
    )  # fmt: skip


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows in place of those that a file has of their cases and families."""
    new = {(row.case, row.family) for row in rows}
    kept = [row for row in read(path) if (row.case, row.family) not in new]
    order = list(PROBLEMS)
    every = sorted([*kept, *rows], key=lambda row: order.index(row.case))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in every:
            cells = asdict(row).items()
            writer.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in cells})


def read(path: Path) -> list[Row]:
    """Return the rows of a file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_parsed(line) for line in csv.DictReader(file)]


def _parsed(line: dict[str, str]) -> Row:
    kinds = {"str": str, "int": int, "float": float}
    return Row(**{field.name: kinds[str(field.type)](line[field.name]) for field in fields(Row)})
