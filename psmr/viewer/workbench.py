"""A study that is being edited, its system, the runs that were made of it and the one that goes on."""

from __future__ import annotations

import copy
import functools
import itertools
import os
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError, PsmrError, SchemeError, StudyError, shown
from psmr.base.threads import one_thread
from psmr.dae.compile.notice import say
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.figures.run.report import BADGES, ReportOrigin, run_page, run_text
from psmr.files.case_file import CaseFile
from psmr.files.shipped import shipped_cases
from psmr.files.text import parsed_toml
from psmr.files.toml.document import Document, read_document
from psmr.files.toml.lines import Lines
from psmr.files.toml.write import toml_pairs
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.topology.islands import find_plant, plants
from psmr.network.topology.network import at_buses, branches, buses, find_branch, find_bus, is_load
from psmr.pencil.operator.step_operator import step_operator
from psmr.study.file.read_study import is_study, study_of
from psmr.study.file.study import FORMAT, TABLES, VERSION, Study, load_system
from psmr.study.output import write_text
from psmr.study.run.run import Run
from psmr.study.run.set_up import size_of
from psmr.study.run.simulate import simulate
from psmr.viewer.classroom import Classroom

LARGEST = 400
"""Variables up to which the modes of a step are computed while a slider moves: about 50 ms."""

EVENTS = {
    "fault": ("bus", {"clear": 0.1}),
    "line-trip": ("line", {}),
    "load-trip": ("bus", {"fraction": 1.0}),
    "generator-trip": ("generator", {}),
}
"""For each event that can be put on the diagram: the field that names where, and what else it needs; the time
of clearing counts from the start."""


@dataclass(frozen=True)
class ModePoints:
    """Eigenvalues of the system and what a step makes of them, complex arrays in 1/s and rad/s; h in s."""

    exact: NDArray[np.complex128]
    numerical: NDArray[np.complex128]
    h: float


@dataclass(frozen=True)
class Finished:
    """A run with the study that it came from, under a name of its own, and what is said of it."""

    label: str
    run: Run
    text: str
    colour: str
    headline: str
    summary: str


class Workbench:
    """A study as text, which the page's controls change and its reader may edit, and its runs.

    It is opened from a study file, or a case file, of which a first study is made; InputError for a file
    that is neither, cannot be read, or whose case has no start. With `allow_code` modules are imported that
    the study, whatever it becomes, or its case names. In a class (`room`) no study names a file or code:
    `cases` are what it may name; `calculate` then is `Workers.run`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dynamics: str | os.PathLike[str] | None = None,
        allow_code: bool = False,
        room: Classroom | None = None,
    ) -> None:
        self.runs: list[Finished] = []
        self.count = itertools.count(1)
        self.allow_code, self.room = allow_code, room
        self.calculate: Callable[..., Any] | None = None
        self.path = Path(path).resolve()
        content = self._opened(dynamics)
        shipped = shipped_cases()
        for key in ("case", "dynamics"):
            if key in content and content[key] not in shipped:
                content[key] = str((self.path.parent / content[key]).resolve())
        names = {str(file.resolve()): name for name, file in shipped.items()}
        content["case"] = names.get(content["case"], content["case"])
        self.cases: dict[str, dict[str, Any]]
        self.cases = {name: {"case": str(file.resolve())} for name, file in shipped.items()}
        if room is not None and content["case"] not in shipped:
            own: dict[str, Any] = {key: content.pop(key) for key in ("case", "dynamics") if key in content}
            content = {**content, "case": Path(own["case"]).stem}
            self.cases[content["case"]] = own
        self.text = study_toml(content)
        self.study = self._parsed(self.text)
        self._load(self.study.case)

    def fresh(self) -> Workbench:
        """Return a workbench with the study of this one, and no runs."""
        other = copy.copy(self)
        other.runs, other.count = [], itertools.count(1)
        return other

    def _opened(self, dynamics: str | os.PathLike[str] | None) -> dict[str, Any]:
        if is_study(self.path):
            document = read_document(self.path, StudyError)
            study_of(document, self.allow_code)  # what is wrong with it is said with the file's own lines
            return dict(document.content)
        content = {"format": FORMAT, "version": VERSION, "name": f"{self.path.stem}, a study"}
        content |= {"case": str(self.path)} | (
            {"dynamics": str(Path(dynamics).resolve())} if dynamics else {}
        )
        scheme = {"type": "variable", "tolerance": 1e-4}
        return content | {"scheme": scheme, "simulation": {"t_end": 10.0}}

    @property
    def content(self) -> dict[str, Any]:
        """The study's tables, a new dictionary."""
        return parsed_toml(self.path, self.text)

    def edit(self, text: str, trusted: bool = True) -> None:
        """Take a text as the study; where it names another case, that is loaded.

        One that is not `trusted` imports no modules. InputError for a text that is no study, with the line;
        the study stays as it was.
        """
        study = self._parsed(text, trusted)
        if study.case != self.study.case:
            self._load(study.case)
        self.text, self.study = text, study

    def _load(self, case: CaseFile) -> None:
        self.system, self.linear = _linearised(case) if self.room is None else _shared(case)

    def _parsed(self, text: str, trusted: bool = True) -> Study:
        here = self.path.parent == Path.cwd() or self.room is not None
        place = Path("study") if here else self.path.parent / "study"
        content = parsed_toml(place, text) if self.room is None else self.room.admitted(text, self.cases)
        document = Document(place, content, Lines(text), StudyError, True, text)
        study = study_of(document, self.allow_code and trusted)
        if study.t_end is None:
            raise StudyError("study: add [simulation] with t_end, the end of the run in s")
        return study

    def change(self, **tables: Any) -> None:
        """Put tables in the place of those of the study; InputError where that is none, which then stays."""
        self.edit(study_toml(self.content | tables))

    def places(self, kind: str) -> tuple[str, ...]:
        """Return where an event of a kind of `EVENTS` can be: buses, branches, loaded buses or machines."""
        if kind == "fault":
            return buses(self.system)
        if kind == "line-trip":
            return tuple(branch.name for branch in branches(self.system))
        if kind == "load-trip":
            return tuple(bus for bus, there in at_buses(self.system).items() if any(map(is_load, there)))
        return tuple(plants(self.system))

    def add_event(self, kind: str, place: str, start: float, lasting: float = 0.1) -> None:
        """Add an event of a kind of `EVENTS` at a place, at a time in s; a fault is cleared after `lasting`.

        InputError for a place that the system does not have, and a time outside the run.
        """
        if place not in self.places(kind):
            raise InputError(
                f"{place}: there is no {kind} there; known: {', '.join(self.places(kind)) or 'none'}"
            )
        assert self.study.t_end is not None
        if not 0.0 <= start < self.study.t_end:
            raise InputError(f"start = {start:g} s: must be within the run, from 0 to {self.study.t_end:g} s")
        where, more = EVENTS[kind]
        event = {"type": kind, where: place, "start": start} | more
        if "clear" in event:
            event["clear"] = round(start + lasting, 12)
        self.change(event=[*self.content.get("event", []), event])

    def remove_event(self, number: int) -> None:
        """Remove an event by its number, from 0."""
        events = self.content.get("event", [])
        self.change(event=events[:number] + events[number + 1 :])

    def events(self) -> list[tuple[str, str]]:
        """Return kind and place of each event of the study; the place is empty where the diagram has none."""
        found = []
        for event in self.content.get("event", []):
            kind = event["type"]
            given = event.get(EVENTS[kind][0], "") if kind in EVENTS else ""
            found.append((kind, self._place(kind, given)))
        return found

    def _place(self, kind: str, given: int | str) -> str:
        """Return the name of where an event happens, which a study may give as a number or as two buses."""
        if kind == "line-trip":
            return find_branch(self.system, str(given), kind).name
        if kind == "generator-trip":
            return find_plant(self.system, given, kind).name
        return find_bus(self.system, given, kind) if kind in EVENTS else ""

    @property
    def step(self) -> float | None:
        """Step of the scheme in s, the long one of two; None where it follows a tolerance."""
        found = self.content.get("scheme", {})
        return found.get("h", found.get("h_slow"))

    def set_step(self, h: float) -> None:
        """Change the step of a fixed-step scheme to `h` s, the short one of two in proportion."""
        self.change(scheme=self._with_step(h))

    def _with_step(self, h: float) -> dict[str, Any]:
        scheme = dict(self.content.get("scheme", {}))
        if "h_slow" in scheme:
            if "h_fast" in scheme:
                scheme["h_fast"] = float(f"{scheme['h_fast'] * h / scheme['h_slow']:.6g}")
            scheme["h_slow"] = h
        elif "h" in scheme:
            scheme["h"] = h
        else:
            raise SchemeError("the scheme chooses its steps by a tolerance; it has no step to change")
        return scheme

    def modes(self, h: float) -> ModePoints:
        """Return the modes of the system and those of the study's scheme with a step of `h` s.

        SchemeError for a system of more than `LARGEST` variables, and a scheme without a pencil.
        """
        if self.system.n + self.system.m > LARGEST:
            raise SchemeError(
                f"{self.system.n + self.system.m} variables are too many for a map that moves, at most"
                f" {LARGEST}; the report of a run has the modes"
            )
        study = self.study
        if self.step is not None:
            study = self._parsed(study_toml(self.content | {"scheme": self._with_step(h)}))
        scheme: Scheme | None = study.recipe.scheme(self.linear)
        if scheme is not None and scheme.step_choice is not None:
            scheme = None if scheme.error_control is None else scheme.error_control.at_step(h)
        if scheme is None:
            raise SchemeError("this scheme has no pencil")
        with one_thread(self.linear.n + self.linear.m):
            z = np.linalg.eigvals(step_operator(self.linear, scheme)).astype(complex)
            exact = _exact_modes(self.linear)
        return ModePoints(exact, np.log(z[np.abs(z) > 1e-12]) / h, h)

    def save(self, path: str, replace: bool = False) -> Path:
        """Write the study to a file, which runs with `psmr run` from anywhere, and return its path.

        InputError for a name without .toml, a file that is there unless `replace` and it is a study, a
        folder that cannot be written.
        """
        if self.room is not None:
            raise InputError("this server writes no files; download the study instead")
        target = Path(path).expanduser().resolve()  # where a link leads is what is written
        if target.suffix != ".toml":
            raise InputError(f"{shown(path)}: a study file ends in .toml")
        if target.exists() and not replace:
            raise InputError(f"{target} is there already; choose another name, or tick 'replace'")
        if target.exists() and not _holds_study(target):
            raise InputError(f"{target} is no study, and stays as it is; choose another name")
        write_text(target, self.text)
        return target

    def label(self) -> str:
        """Return a name for the next run: its number and scheme."""
        scheme = self.content.get("scheme", {"type": "variable"})
        words = [f"{key} {value}" if key != "type" else str(value) for key, value in scheme.items()]
        return f"{next(self.count)}: {', '.join(words[:4])[:80]}"

    def keep(self, finished: Finished) -> None:
        """Keep a run; of those of a class the newest alone."""
        self.runs = [*self.runs, finished][-self.room.runs if self.room else 0 :]


def _linearised(case: CaseFile) -> tuple[System, LinearDae]:
    system: System = load_system(case)
    return system, system.linearise()


# Sessions of a class, whose cases do not change, have the same systems.
_shared = functools.lru_cache(maxsize=32)(_linearised)


@functools.lru_cache(maxsize=8)
def _exact_modes(linear: LinearDae) -> NDArray[np.complex128]:
    return np.linalg.eigvals(linear.state_matrix()).astype(complex)


def _holds_study(path: Path) -> bool:
    try:
        return is_study(path)
    except InputError:
        return False


def study_toml(content: Mapping[str, Any]) -> str:
    """Return the tables of a study as TOML."""
    parts = [toml_pairs({key: value for key, value in content.items() if key not in TABLES})]
    for name in TABLES:
        table = content.get(name)
        if isinstance(table, list):
            parts += [f"[[{name}]]\n{toml_pairs(row)}" for row in table]
        elif table is not None:
            parts.append(f"[{name}]\n{toml_pairs(table)}")
    return "\n".join(parts)


class Cancelled(Exception):
    """Raised within a run whose end was asked for."""


def finished(
    study: Study,
    system: System,
    linear: LinearDae,
    label: str,
    room: Classroom | None,
    progress: Callable[[float], None],
) -> Finished:
    """Return a run of a study, its verdict, and its summary.

    InputError for a run that is too large.
    """
    assert study.t_end is not None
    scheme = study.recipe.scheme(linear)
    if room is not None:
        expected = VariableStep() if scheme is None else scheme
        room.refuse_run(size_of(system, expected, study.t_end, study.record, study.fast_points))
    with warnings.catch_warnings():
        # What the pencil warns of stands in the run's own judgement.
        warnings.simplefilter("ignore")
        run = simulate(
            system,
            scheme,
            study.t_end,
            study.events,
            all=study.fast_points,
            progress=progress,
            monitors=study.monitors,
            criteria=study.criteria,
            record=study.record,
        )
        judgement = run.judgement
        # The table of work at the end of a summary is wider than the page.
        words = run_text(run, work=False)
    return Finished(label, run, study.text, judgement.colour, judgement.headline, words)


def result_page(entry: Finished, progress: Callable[[float], None]) -> str:
    """Return the report on a run as HTML; it names no file of this machine."""
    origin = ReportOrigin("psmr run study.toml", entry.text, "")
    return run_page(entry.run, title=entry.run.name, origin=origin)


class Job:
    """A run of the study of a workbench, or the page on one (`of`), on a thread of its own.

    It has reached `t` of `t_end` in s, or has a place in the `queue`. When it has `ended`, `words` says how,
    `failed` whether by an error, and `colour` is that of the verdict; `page` is what was made of a run.
    """

    def __init__(self, bench: Workbench, of: Finished | None = None) -> None:
        assert bench.study.t_end is not None
        self.bench, self.of = bench, of
        self.t, self.t_end, self.queue, self.ended = 0.0, bench.study.t_end, 0, False
        self.words, self.colour, self.page, self.failed = "", "", "", False
        self.work: tuple[Any, ...] = (result_page, of)
        if of is None:
            self.work = finished, bench.study, bench.system, bench.linear, bench.label(), bench.room
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._carry_out, name="psmr view: run", daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """Ask the run to end at the next point at which it says how far it is."""
        self._stop.set()

    def wait(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _carry_out(self) -> None:
        try:
            if self.bench.calculate is None:
                function, *arguments = self.work
                result = function(*arguments, progress=self._reached)
            else:
                result = self.bench.calculate(*self.work, progress=self._reached, queued=self._queued)
        except Cancelled:
            self.words = f"Cancelled at t = {self.t:.3g} s; nothing is kept."
        except PsmrError as error:
            self.words, self.failed = str(error), True
        except Exception as error:  # a mistake of psmr's own: shown whole where the command was given
            say(traceback.format_exc())
            self.words, self.failed = f"{type(error).__name__}: {error}; please report this", True
        else:
            if isinstance(result, Finished):
                self.bench.keep(result)
                self.words, self.colour = f"{BADGES[result.colour]}: {result.headline}", result.colour
            else:
                self.page = result
        finally:
            self.ended = True

    def _reached(self, t: float) -> None:
        self.t = t
        if self._stop.is_set():
            raise Cancelled

    def _queued(self, place: int) -> None:
        self.queue = place
        self._reached(0.0)
