"""A study that is being edited, its system, the runs that were made of it and the one that goes on."""

from __future__ import annotations

import os
import threading
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError, PsmrError, SchemeError, StudyError, shown
from psmr.base.threads import one_thread
from psmr.dae.compile.notice import say
from psmr.dae.system.system import System
from psmr.figures.run.report import BADGES
from psmr.files.case_file import CaseFile
from psmr.files.shipped import shipped_cases
from psmr.files.text import parsed_toml
from psmr.files.toml.document import Document, read_document
from psmr.files.toml.lines import Lines
from psmr.files.toml.write import toml_pairs
from psmr.integrate.schemes.scheme import Scheme
from psmr.network.topology.islands import find_plant, plants
from psmr.network.topology.network import at_buses, branches, buses, find_branch, find_bus, is_load
from psmr.pencil.operator.step_operator import step_operator
from psmr.study.file.read_study import is_study, study_of
from psmr.study.file.study import FORMAT, VERSION, Study, load_system
from psmr.study.output import write_text
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate

LARGEST = 400
"""Variables up to which the modes of a step are computed while a slider moves: about 50 ms."""

TABLES = ("scheme", "simulation", "event", "monitor", "criteria", "output")

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
    """A run with the study that it came from, under a name of its own."""

    label: str
    run: Run
    text: str


class Workbench:
    """A study as text, which the page's controls change and its reader may edit, and its runs.

    It is opened from a study file, or a case file, of which a first study is made; InputError for a file
    that is neither, cannot be read, or whose case has no start. With `allow_code` modules are imported that
    the study, whatever it becomes, or its case names.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        dynamics: str | os.PathLike[str] | None = None,
        allow_code: bool = False,
    ) -> None:
        self.runs: list[Finished] = []
        self.allow_code = allow_code
        self.path = Path(path).resolve()
        content = self._opened(dynamics)
        for key in ("case", "dynamics"):
            if key in content and content[key] not in shipped_cases():
                content[key] = str((self.path.parent / content[key]).resolve())
        names = {str(file.resolve()): name for name, file in shipped_cases().items()}
        content["case"] = names.get(content["case"], content["case"])
        self.text = study_toml(content)
        self.study = self._parsed(self.text)
        self._load(self.study.case)

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

    def edit(self, text: str) -> None:
        """Take a text as the study; where it names another case, that is loaded.

        InputError for a text that is no study, with the line; the study stays as it was.
        """
        study = self._parsed(text)
        if study.case != self.study.case:
            self._load(study.case)
        self.text, self.study = text, study

    def _load(self, case: CaseFile) -> None:
        system: System = load_system(case)
        self.system, self.linear = system, system.linearise()

    def _parsed(self, text: str) -> Study:
        here = self.path.parent == Path.cwd()
        place = Path("study") if here else self.path.parent / "study"
        document = Document(place, parsed_toml(place, text), Lines(text), StudyError, True, text)
        study = study_of(document, self.allow_code)
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
            exact = np.linalg.eigvals(self.linear.state_matrix()).astype(complex)
        return ModePoints(exact, np.log(z[np.abs(z) > 1e-12]) / h, h)

    def save(self, path: str, replace: bool = False) -> Path:
        """Write the study to a file, which runs with `psmr run` from anywhere, and return its path.

        InputError for a name without .toml, a file that is there unless `replace` and it is a study, a
        folder that cannot be written.
        """
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
        return f"{len(self.runs) + 1}: {', '.join(words[:4])}"


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


class Job:
    """A run of the study of a workbench, on a thread of its own, which has reached `t` of `t_end` in s.

    When it has `ended`, `words` says how, and `failed` whether by an error.
    """

    def __init__(self, bench: Workbench) -> None:
        assert bench.study.t_end is not None
        self.bench, self.study, self.text, self.label = bench, bench.study, bench.text, bench.label()
        self.system, self.linear = bench.system, bench.linear
        self.t, self.t_end, self.words, self.ended = 0.0, bench.study.t_end, "", False
        self.failed = False
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
            run = self._run()
        except Cancelled:
            self.words = f"Cancelled at t = {self.t:.3g} s; nothing is kept."
        except PsmrError as error:
            self.words, self.failed = str(error), True
        except Exception as error:  # a mistake of psmr's own: shown whole where the command was given
            say(traceback.format_exc())
            self.words, self.failed = f"{type(error).__name__}: {error}; please report this", True
        else:
            self.bench.runs.append(Finished(self.label, run, self.text))
            self.words = f"{BADGES[run.judgement.colour]}: {run.judgement.headline}"
        finally:
            self.ended = True

    def _run(self) -> Run:
        study = self.study
        with warnings.catch_warnings():
            # What the pencil warns of stands in the run's own judgement.
            warnings.simplefilter("ignore")
            return simulate(
                self.system,
                study.recipe.scheme(self.linear),
                study.t_end,
                study.events,
                all=study.fast_points,
                progress=self._reached,
                monitors=study.monitors,
                criteria=study.criteria,
                record=study.record,
            )

    def _reached(self, t: float) -> None:
        self.t = t
        if self._stop.is_set():
            raise Cancelled
