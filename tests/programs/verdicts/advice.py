"""Does it help to follow the advice on a run that is off? Random runs with random schemes.

Run ``python -m tests.programs.verdicts.advice`` from the repository's root. The advice is taken from the
words, as one types it into a study, and followed. It is enough where the true error, against a run at 1e-9,
is below the limit; too fine where three times as long steps, or as large a tolerance, would have been enough
as well.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import time
import warnings
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

import partitioning
import psmr
from psmr.errors import PsmrError
from tests.internals import Detection, Samples, detect, quantities
from tests.programs.verdicts.lists import CASES, Task, system_of, task_of

EXACT = psmr.VariableStep(1e-9, "ESDIRK43")

FINER = 3.0
"""How much finer than needed advice may be."""

POINTS = 400
"""Points of a run after each event, and so many more at random, at which its error is measured."""

ENOUGH, SHORT, FINE = "enough", "not enough", "too fine"
SILENT, NONE, FAILED = "nothing said", "not off", "failed"

SMALL = tuple(case for case in CASES if not case.startswith("new-england"))


@dataclass(frozen=True)
class Followed:
    """One run, and what following its advice did: one of KINDS, true and estimated errors in parts."""

    task: Task
    scheme: str
    kind: str
    advice: str = ""
    guessed: bool = False
    errors: tuple[float, ...] = ()
    seconds: tuple[float, float] = (0.0, 0.0)

    def __str__(self) -> str:
        errors = ", ".join(f"{error:.2g}" for error in self.errors)
        return f"{self.kind}, {self.scheme}: {self.advice} ({errors})\n  {self.task}"


def scheme_of(case: str, random: np.random.Generator) -> Any:
    """Return a scheme with coarse steps or a coarse tolerance."""
    linear = system_of(case).linearise()
    kind = random.choice(
        ["single", "single", "single", "multirate", "multirate", "variable", "explicit", "paper"]
    )
    if kind == "single":
        return psmr.SingleRate(
            str(random.choice(["TM", "BEM", "SDIRK2"])), float(random.choice([0.05, 0.02, 0.01, 0.005]))
        )
    if kind == "explicit":
        return psmr.SingleRate(
            str(random.choice(["FEM", "RK4"])), float(random.choice([0.01, 0.005, 0.002, 0.001]))
        )
    if kind == "variable":
        method = str(random.choice(["auto", "auto", "TR-BDF2", "ESDIRK43"]))
        return psmr.VariableStep(float(random.choice([0.1, 0.05, 0.02, 0.01])), method)
    split = partitioning.by_participation(linear, delta=20.0, algebraic="participation")
    if kind == "multirate":
        return psmr.Multirate(
            split,
            float(random.choice([0.05, 0.02, 0.01])),
            int(random.choice([3, 4, 5, 10])),
            predictor=str(random.choice(["FEM", "TM"])),
            solution=str(random.choice(["TM", "BEM"])),
        )
    made = [
        lambda: psmr.Smes.for_system(linear, h=0.02, base=str(random.choice(["FEM", "RK2", "RK4"]))),
        lambda: psmr.SlowManifold(split, 0.02),
        lambda: psmr.Adaptive("RK54", rtol=1e-2, atol=1e-3),
        lambda: psmr.ArcLength("RK4", h=0.02),
    ]
    return made[int(random.integers(len(made)))]()


def typed(words: str, scheme: Any) -> Any:
    """Return the scheme that advice means, made of its words."""
    named: dict[str, Any] = dict(
        re.findall(r'(\w+) = ("?[-+\w.]*\w"?)', words.partition("Take ")[2].partition(". ")[0])
    )
    values = {name: float(value) for name, value in named.items() if name != "type"}
    if "type" in named:
        return psmr.VariableStep(**values)
    if "h_fast" in values:
        choices = {
            f: getattr(scheme, f) for f in ("predictor", "solution", "interpolation", "newton", "corrections")
        }
        return psmr.Multirate.from_steps(scheme.split, values["h_slow"], values["h_fast"], **choices)
    if "micro" in values:
        values["micro"] = int(values["micro"])
    return replace(scheme, **values)


def true_error(run: Any, exact: Any, random: np.random.Generator) -> float:
    """Return the largest error of voltages, or of speeds, of a run in parts of their largest change.

    At its points up to the loss of synchronism, not at the instants of events themselves.
    """
    losses = [r.outcome.out_of_step.t for r in (run, exact) if r.outcome.out_of_step is not None]
    end = min([*losses, float(run.t[-1]), float(exact.t[-1])])
    instants = np.unique([0.0, *run.t[1:][np.diff(run.t) == 0.0]])
    t = np.unique(run.t[(run.t <= end) & ~np.isin(run.t, instants)])
    if not t.size:
        return 0.0
    chosen = [t[t > instant][:POINTS] for instant in instants] + [random.choice(t, POINTS)]
    t = np.unique(np.concatenate(chosen))
    errors, (mine, _), (right, jumped) = [], _values(run, t), _values(exact.refined(t), t)
    _, *same = np.intersect1d(mine.t, right.t, return_indices=True)
    for quantity in quantities(run.system):
        own = quantity.columns
        off = np.nan_to_num(np.abs(mine.values[same[0], own] - right.values[same[1], own]))
        course = np.vstack([np.abs(right.values[:, own] - right.first[own]), jumped[own]])
        errors.append(float(off.max(initial=0.0)) / max(1e-4, float(np.nan_to_num(course).max(initial=0.0))))
    return max(errors)


def _values(run: Any, t: np.ndarray) -> Any:
    """Return samples of a run at times in s, of supplied buses and of sources in service, and jumps."""
    samples = Samples(run.system, t)
    detect(Detection(run.system, [samples]), run.spans, run.t, run.x, run.y)
    return samples.result(), samples.jumped


def followed(task: Task, number: int) -> Followed:
    """Return what following the advice on a run of a list with a random scheme does."""
    random = np.random.default_rng([number, len(task.events), zlib.crc32(task.case.encode())])
    system = system_of(task.case)
    warnings.simplefilter("ignore")
    try:
        scheme = scheme_of(task.case, random)
    except PsmrError as error:
        return Followed(task, "", FAILED, str(error))
    result = Followed(task, str(scheme)[:60], FAILED)
    simulate = functools.partial(psmr.simulate, system, t_end=task.t_end, events=task.events)
    try:
        run, exact = simulate(scheme), simulate(EXACT, certify=False)
    except PsmrError as error:
        return replace(result, advice=str(error)[:80])
    began = time.perf_counter()
    error = run.judgement.error
    if error is None:
        return replace(result, kind=SILENT, advice=str(run.judgement.reasons))
    if not error.exceeds(run.criteria.error):
        return replace(result, kind=NONE)
    seconds = time.perf_counter() - began, run.stats.counters.seconds
    if error.advice is None:
        return replace(result, kind=SILENT)
    limit, words = run.criteria.error, str(error.advice)
    result = replace(result, advice=words, guessed=error.advice.error is None, seconds=seconds)
    advised = typed(words, scheme)
    try:
        taken = simulate(advised, certify=False)
        errors = [true_error(r, exact, random) for r in (run, taken)]
    except PsmrError as failure:
        return replace(result, kind=SHORT, advice=f"{words} {str(failure)[:80]}")
    kind = ENOUGH if errors[1] <= limit else SHORT
    coarser = coarsened(advised)
    if (
        kind == ENOUGH
        and errors[0] > limit
        and coarser is not None
        and coarser.accuracy[0][1] < scheme.accuracy[0][1]
    ):
        try:
            errors.append(true_error(simulate(coarser, certify=False), exact, random))
        except PsmrError:
            errors.append(np.inf)
        kind = FINE if errors[-1] <= limit else ENOUGH
    return replace(result, kind=kind, errors=tuple(errors))


def coarsened(scheme: Any) -> Any:
    """Return a scheme with `FINER` times as long steps, or as large tolerances; None where there is none."""
    names = {
        name: FINER * value
        for name, value, _ in scheme.accuracy
        if name in ("h", "h_slow", "tolerance", "rtol", "atol")
    }
    try:
        return replace(scheme, **names)
    except PsmrError:
        return None


def main() -> int:
    """Print what did not help, and a table; return 1 where less than 95 of 100 helped."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.verdicts.advice", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="lists, the cases in turn (300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=SMALL)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args()
    chosen = [
        task_of(asked.cases[k % len(asked.cases)], asked.seed, k // len(asked.cases))
        for k in range(asked.count)
    ]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for result in pool.map(followed, chosen, range(asked.count)):
            counts[f"{result.kind}{', guessed' if result.guessed else ''}"] += 1
            if result.kind != NONE:
                print(result, flush=True)
    print(dict(counts))
    told = [counts[kind] + counts[f"{kind}, guessed"] for kind in (ENOUGH, SHORT, FINE)]
    return int(told[1] > 0.05 * sum(told) or told[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
