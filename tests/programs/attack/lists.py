"""Runs with random lists of events, relays and conditions: six ways to the same run, and its verdicts.

The same list later is the same run later; a study in a file runs as Python does, to the bit; what is kept
decides nothing; a saved run is that run. Powers balance at each bus and point
(`tests.programs.robustness.balance`), and an oracle (`tests.programs.verdicts.oracle`) finds what the outcome
says.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import partitioning
import psmr
from psmr.errors import InputError, PsmrError, PsmrWarning
from tests.internals import System, prepare, run_study, toml_pairs
from tests.programs.attack.tally import Tally, Wrong
from tests.programs.robustness import balance
from tests.programs.robustness.lists import later
from tests.programs.verdicts.compare import EXACT, disagreements
from tests.programs.verdicts.network import grid_of, states_by_changes
from tests.programs.verdicts.oracle import Oracle

CASES = balance.CASES

# Cases of which a run takes a moment, one by one with all others.
SMALL = tuple(name for name in CASES if not name.startswith("new-england"))

BEFORE, FIRST, LATER = 1.0, 51.0, 501.0
"""How many s later the events of three runs are that must be one."""

SHIFTED = 1e-8
"""Largest difference of signals of runs of which one is later."""

CHOSEN = 100.0
"""The same in tolerances, where these choose the steps."""

GROWS = 1e-9
"""Largest movement without events: in more an equilibrium is left, which is another one later."""

FINE = psmr.VariableStep(1e-6, h_max=2e-3)

SEEN = ("*.v", "*.omega", "*.delta", "*.p")


@dataclass(frozen=True)
class Given:
    """A list that `simulate` accepts, with the system and the scheme of its run."""

    task: balance.Task
    system: System
    scheme: Any
    events: tuple[Any, ...]

    def simulate(self, by: float = 0.0, **options: Any) -> Any:
        """Return the run, its events so many s later."""
        given = {"scheme": self.scheme, "certify": False, "partial": True, **options}
        scheme = given.pop("scheme")
        events = [later(event, by) for event in self.events]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)
            try:
                return psmr.simulate(self.system, scheme, balance.T_END + by, events, **given)
            except InputError:
                raise
            except PsmrError as error:
                if error.partial is None:
                    raise
                return error.partial


def given(seed: int, number: int, cases: Sequence[str] = CASES) -> Given:
    """Return the list of a number, the cases in turn, of four one with two rates; refused events go."""
    task = balance.task_of(seed, number, cases[number % len(cases)])
    random = np.random.default_rng([seed, number, 7])
    system, scheme = task.system(), task.scheme
    if random.random() < 0.25:
        split = partitioning.by_participation(system.linearise(), delta=20.0)
        scheme = psmr.Multirate(split, float(random.choice([0.01, 0.02])), int(random.choice([2, 4])))
    events = list(task.events)
    while True:
        found = Given(task, system, scheme, tuple(events))
        try:
            found.simulate(scheme=psmr.SingleRate("BEM", 0.05), record=psmr.Record("*.v", every=1000))
        except InputError as error:
            if (wrong := getattr(error, "event", None)) not in events:
                raise
            events.remove(wrong)  # it contradicts the others
            continue
        except PsmrError:
            pass
        return found


def attack(tally: Tally, folder: Path, seed: int, number: int, cases: Sequence[str] = CASES) -> None:
    """Make one run and look at it in every way; of four one is judged, and of four one comes later."""
    words = f"--seed {seed} --first {number}"
    try:
        what = given(seed, number, cases)
        run = what.simulate()
    except PsmrError:
        tally.add("lists", "refused")
        return
    words += f": {what.task.case}, {what.scheme}, {what.task}; {list(what.events)}"
    tally.add("lists", "run")
    checks: dict[str, Callable[[], str]] = {
        "powers of lists": lambda: powers(what, run),
        "lists by file": lambda: by_file(what, run, folder),
        "lists kept in part": lambda: kept(what, run, judged=number % 4 == 0),
        "lists saved": lambda: saved(run, folder),
    }
    if what.task.case in SMALL and number % 4 == 1:
        checks["lists later"] = lambda: shifted(what)
    if what.task.case in SMALL and number % 4 == 2:
        checks["verdicts on lists"] = lambda: verdicts(what)
    for kind, check in checks.items():
        tally.attempt(kind, words, check)


def powers(what: Given, run: Any) -> str:
    """Raise Wrong where power is missing; with two rates, whose sides differ, no powers are asked for."""
    if (again := balance.thrice(run)) is not None:
        raise Wrong(f"t = {again!r} s stands more than twice")
    if isinstance(what.scheme, psmr.Multirate):
        return "refused"
    if not (found := balance.unbalance(run)).missing <= balance.LARGEST:
        raise Wrong(str(found))
    return "run"


def by_file(what: Given, run: Any, folder: Path) -> str:
    """Raise Wrong where a study in a file gives another run."""
    if isinstance(what.scheme, psmr.Multirate) and what.task.case not in SMALL:
        return "refused"  # the search for a stable split, of hundreds of variables, takes a minute
    case, _ = balance.load(what.task.case)
    psmr.write_case(dataclasses.replace(case, relays=what.task.relays), folder / "case.toml")
    (folder / "study.toml").write_text(study_of(what))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        study = psmr.read_study(folder / "study.toml")
        if study.events != what.events:
            raise Wrong(f"the events read are {study.events}")
        system, recipe = prepare(study)
        if not np.array_equal(system.w0, what.system.w0):
            raise Wrong("the equilibrium is another one")
        scheme = recipe.scheme(system.linearise())
        if isinstance(scheme, psmr.Multirate):  # the file may have looked for a split that is stable
            run = what.simulate(scheme=scheme)
        try:
            _, other, _ = run_study(study, write=False)
        except PsmrError as error:
            if not run.failure:
                raise Wrong(f"by file it fails: {error}") from error
            return "run"
    same(run, other)
    return "run"


def study_of(what: Given) -> str:
    """Return the text of a study."""
    scheme = what.scheme
    if isinstance(scheme, psmr.Multirate):
        made = {"type": "multirate", "delta": 20.0, "h_slow": scheme.h_slow, "ratio": scheme.ratio}
    elif isinstance(scheme, psmr.VariableStep):
        made = {"type": "variable", "tolerance": scheme.tolerance}
    else:
        made = {"type": "single", "method": scheme.method, "h": scheme.h}
    parts = [
        toml_pairs({"format": "psmr-study", "version": 1, "case": "case.toml"}),
        f"[scheme]\n{toml_pairs(made)}",
        f"[simulation]\n{toml_pairs({'t_end': balance.T_END})}",
    ]
    for event in what.events:
        plain = event.event if isinstance(event, psmr.When) else event
        values = {f.name: getattr(plain, f.name) for f in dataclasses.fields(plain) if f.init}
        values = {"type": plain.kind} | {name: v for name, v in values.items() if v is not None}
        if isinstance(event, psmr.When):
            values["when"] = event.condition
        parts.append(f"[[event]]\n{toml_pairs(values)}")
    return "\n".join(parts)


def same(run: Any, other: Any) -> None:
    """Raise Wrong where two runs are not one, to the bit."""
    for name in ("t", "x", "y"):
        if not np.array_equal(getattr(run, name), getattr(other, name)):
            raise Wrong(f"{name} differs")
    alike(run, other)
    if len(run.spans) != len(other.spans):
        raise Wrong(f"{len(run.spans)} spans and {len(other.spans)}")
    for a, b in zip(run.spans, other.spans, strict=True):
        equal = all(map(np.array_equal, a.parameters, b.parameters)) and np.array_equal(a.inputs, b.inputs)
        if not (equal and (a.t, a.rows, a.out) == (b.t, b.rows, b.out)):
            raise Wrong(f"what holds from t = {a.t!r} s on differs")


def alike(run: Any, other: Any) -> None:
    """Raise Wrong where two runs say something else of what happened.

    Numbers are compared in the digits that are said: sums over more points at once round otherwise.
    """
    for name in ("instants", "acted", "unmet", "failure"):
        a, b = (getattr(r, name) for r in (run, other))
        if a != b:
            raise Wrong(f"{name}: {a}\nand {b}")
    a, b = ([*r.outcome.lines(), *sorted(f.sentence for f in r.outcome.findings)] for r in (run, other))
    if a != b:
        raise Wrong(f"outcome: {a}\nand {b}")


def present(run: Any, patterns: Sequence[str]) -> list[str]:
    """Return the patterns of which a run has a signal."""
    names = [*run.signals.everything]
    return [pattern for pattern in patterns if fnmatch.filter(names, pattern)]


def kept(what: Given, run: Any, judged: bool) -> str:
    """Raise Wrong where a run that keeps less says something else, or has other values."""
    pattern = "*.v"
    for record in (psmr.Record(pattern, every=7), psmr.Record(every=5)):
        other = what.simulate(record=record)
        alike(run, other)
        names = [pattern] if record.signals else present(run, SEEN)
        full, part = run.frame(names), other.frame(names)
        rows = full.loc[part.index].to_numpy()
        off = np.abs(rows - part.to_numpy())
        if not np.nanmax(off, initial=0.0) <= 1e-9 * max(1.0, np.nanmax(np.abs(rows), initial=0.0)):
            raise Wrong(f"{record}: values differ by {np.nanmax(off):.3g}")
    if judged and not run.failure:
        runs = [
            what.simulate(certify=True, record=record) for record in (None, psmr.Record(pattern, every=7))
        ]
        a, b = (r.judgement for r in runs)
        if (a.colour, len(a.reasons)) != (b.colour, len(b.reasons)):
            raise Wrong(f"judged {a} and {b}")
    return "run"


def saved(run: Any, folder: Path) -> str:
    """Raise Wrong where a run that was saved and loaded is another one."""
    run.save(folder / "run.psmr")
    other = psmr.load_run(folder / "run.psmr")
    same(run, other)
    names = present(run, SEEN)
    if not np.array_equal(run.frame(names), other.frame(names), equal_nan=True):
        raise Wrong("signals differ")
    if str(run.judgement) != str(other.judgement):
        raise Wrong(f"judged {run.judgement} and {other.judgement}")
    return "run"


def shifted(what: Given) -> str:
    """Raise Wrong where events later do not give the same run later: with fixed steps to rounding.

    Chosen steps follow the rounding of times (one refused or not), so that two runs are as good as their
    tolerance; behind a loss of synchronism they are not compared.
    """
    if isinstance(what.scheme, psmr.VariableStep):
        _shifted(what, LATER, CHOSEN * what.scheme.tolerance)
        what = dataclasses.replace(what, scheme=psmr.SingleRate("TM", 0.005))
    return _shifted(what, FIRST, SHIFTED)


def _shifted(what: Given, by: float, most: float) -> str:
    for end in sorted({FIRST, by}):
        alone = dataclasses.replace(what, events=()).simulate(end)
        if alone.instants or alone.acted or np.abs(alone.x - alone.x[0]).max() > GROWS:
            return "refused"
    first, other = what.simulate(BEFORE), what.simulate(by)
    if first.failure or other.failure:
        return "refused"  # what grows without bound takes any rounding with it
    end = min(first.t[-1] - BEFORE, other.t[-1] - by)
    if most > SHIFTED and first.outcome.out_of_step is not None:
        end = min(end, first.outcome.out_of_step.t - BEFORE)
    (before, labels), (after, others) = (
        zip(*((t - shift, label) for t, label in run.instants), strict=True) if run.instants else ((), ())
        for run, shift in ((first, BEFORE), (other, by))
    )
    if len(before) != len(after) or not np.allclose(before, after, rtol=0.0, atol=most):
        raise Wrong(
            f"instants {list(zip(before, labels, strict=True))} and {list(zip(after, others, strict=True))}"
        )
    times = np.arange(0.00317, end, 0.01)
    times = times[[np.abs(np.array([*before, 1e9]) - t).min() > 1e-6 for t in times]]
    a, b = (
        run.at(shift + times, present(run, SEEN)).to_numpy() for run, shift in ((first, BEFORE), (other, by))
    )
    off = np.nan_to_num(np.abs(a - b) / np.maximum(1.0, np.abs(a)))
    if off.max(initial=0.0) > most:
        row, column = np.unravel_index(off.argmax(), off.shape)
        first_row = int(np.flatnonzero(off.max(axis=1) > most)[0])
        raise Wrong(
            f"by {by - BEFORE:g} s later it differs by {off[row, column]:.3g} at {times[row]:.6g} s, "
            f"beyond {most:g} first at {times[first_row]:.6g} s; lost: {first.outcome.lost}"
        )
    return "run"


def verdicts(what: Given) -> str:
    """Raise Wrong where the oracle finds something else in a fine run."""
    run = what.simulate(scheme=FINE)
    if run.failure:
        return "refused"
    states = states_by_changes(grid_of(what.system), run.changes)
    oracle = Oracle(what.system, what.events, balance.T_END, run.t, run.x, run.y, states)
    if wrong := list(disagreements(run, oracle, EXACT)):
        raise Wrong("; ".join(wrong))
    return "run"
