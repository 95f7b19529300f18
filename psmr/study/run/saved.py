"""A run in a file, whole: points, system, scheme, events, certificates, as JSON and arrays.

Every value is encoded by its kind, an object by its class and its fields. Reading makes objects of psmr's
classes and fills their fields: it calls no function, and imports trusted modules alone.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import io
import itertools
import json
import math
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from partitioning.partition import Partition
from psmr.base.arguments import check_arguments, misfit
from psmr.base.declared import ALLOW_CODE
from psmr.base.errors import InputError, PsmrError, deprecated, shown, warn
from psmr.base.files import RUNS, OutputTransaction, require_suffix, unreadable
from psmr.base.modules import ALLOW, is_installed, load_modules, source_of
from psmr.dae.compile.codegen import CompiledComponent, compile_component
from psmr.dae.declare.component import Component
from psmr.dae.declare.derived import MAKERS, Origin, packed, unpacked
from psmr.dae.system.system import first_invalid_table
from psmr.devices import catalogue  # noqa: F401  # imports all that makes classes
from psmr.files.text import require_file
from psmr.integrate.run.recorder import available_memory, bytes_text
from psmr.integrate.schemes.choices import DefaultChoice, Weights
from psmr.sampled.code import allow_codes
from psmr.study.detectors.detector import Stop
from psmr.study.output import placed
from psmr.study.record.record import FinishedRun
from psmr.study.run.run import Run

OWN = re.compile(
    r"(partitioning|psmr\.(dae|integrate|papers|devices|sampled|pencil\.(deformation|modes)"
    r"|study\.(certificate|criteria|events|detectors|estimated_error|outcome|record|run)))(\.[a-z_0-9]+)*"
)
"""Modules of psmr in which the classes stand of which a run consists."""

CHECKED = re.compile(
    r"psmr\.(dae\.declare|integrate\.schemes|papers|study\.(criteria|detectors\.detection))\b"
)
"""Where records look at what they are given, and may do so again. Events do not: some read files for it."""

FORMER = {"Span.late": "delayed", "with_poles": "with_breaker_poles"}
"""Fields and makers of classes (`MAKERS`) that had another name in files of earlier psmr."""

LATER: dict[str, Any] = dict.fromkeys(("Span.sampled", "Counters.samples", "Device.code", "Outcome.controls"))
LATER["Change.acts"] = {"tuple": []}
"""Fields that files of earlier psmr do not have, and what stands for them."""


class Encoder:
    """Turns values into what JSON can hold; arrays go to a list beside it.

    What is met again is encoded by its number, so that it is written once and is one object again.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.modules: set[str] = set()  # other than psmr's, whose classes it holds
        self._met: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no number of an object is given twice

    def encode(self, value: Any) -> Any:
        """Return a value for JSON; raises InputError for a value of a kind that a file cannot hold."""
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, DefaultChoice):  # what the run had, whatever will be usual
            return str(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is complex:
            return {"complex": [self.encode(value.real), self.encode(value.imag)]}
        if id(value) in self._met:
            return {"same": self._met[id(value)]}
        encoded = self._encoded(value)
        self._met[id(value)] = len(self._alive)
        self._alive.append(value)
        return encoded

    def _encoded(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if kind in (tuple, list, set, frozenset):
            return {kind.__name__: [self.encode(part) for part in value]}
        if kind is Weights:
            return {"weights": self.encode(dict(value))}
        if kind in (dict, MappingProxyType):
            return {"dict": [[self.encode(key), self.encode(part)] for key, part in value.items()]}
        if isinstance(value, PurePath):
            return {"path": str(value)}
        if isinstance(value, CompiledComponent):
            return {"compiled": self.encode(value.component)}
        if isinstance(value, type) and issubclass(value, Component):
            return self._class(packed(value))
        if isinstance(value, Partition):
            return {"partition": [self.encode(part) for part in value.__reduce__()[1]]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            state = {item.name: self.encode(getattr(value, item.name)) for item in dataclasses.fields(value)}
            return {"object": self._named(kind), "fields": state}
        raise InputError(
            f"it holds a {kind.__module__}.{kind.__qualname__}, which no file can keep; a dataclass "
            "in a module of its own can be kept"
        )

    def _array(self, value: Any) -> dict[str, Any]:
        if value.dtype == object and value.ndim == 1:  # a column of words
            return {"objects": [self.encode(part) for part in value]}
        if value.dtype.hasobject:
            raise InputError(f"it holds an array of {value.dtype}, which no file can keep")
        self.arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": len(self.arrays) - 1}

    def _class(self, component: type[Component] | Origin) -> dict[str, Any]:
        if not isinstance(component, Origin):
            return {"class": self._named(component)}
        maker = component.maker.__name__
        choices = [self.encode(choice) for choice in component.choices]
        return {"made": maker, "of": self._class(component.component), "choices": choices}

    def _named(self, kind: type) -> list[str]:
        """Return module and name of a class that another process finds by them.

        Raises InputError for a class that is not defined at the top level of a module.
        """
        if kind.__module__ == "__main__" or "." in kind.__qualname__:
            raise InputError(
                f"{kind.__qualname__} is defined in a script, notebook or function, which no other process"
                " finds: such a run stays in this one, where it can be plotted, and its report and tables be"
                f" written; to save it or to sweep it on several processes, move {kind.__name__} to a"
                ' file, such as mine.py, and name that: modules = ["mine"]'
            )
        if not OWN.fullmatch(kind.__module__):
            self.modules.add(kind.__module__)
        return [kind.__module__, kind.__qualname__]


class Damaged(Exception):
    """What was read is nothing that `Encoder` writes."""


class Decoder:
    """Makes values again of what `Encoder` gave.

    `array`: Returns an array by its number.
    `modules`: Names of modules beside psmr's whose classes are made.
    """

    def __init__(self, array: Callable[[int], np.ndarray], modules: Iterable[str] = ()) -> None:
        self.array, self.modules = array, frozenset(modules)
        self._met: list[Any] = []
        self.former = False

    def decode(self, encoded: Any) -> Any:
        """Return the value that was encoded.

        Raises Damaged for what `Encoder` does not write; InputError for a class of a module that is neither
        psmr's nor trusted, and one that has changed.
        """
        if encoded is None or isinstance(encoded, bool | int | float | str):
            return encoded
        if not isinstance(encoded, dict) or not encoded:
            raise Damaged(f"a {type(encoded).__name__} stands where a value is to be")
        kind = next(iter(encoded))
        given = encoded[kind]
        if kind == "float":
            return float(given)
        if kind == "complex":
            return complex(*map(self.decode, given))
        if kind == "same":
            return self._met[given]
        made = self._made(kind, given, encoded)
        self._met.append(made)
        return made

    def _made(self, kind: str, given: Any, encoded: Mapping[str, Any]) -> Any:
        match kind:
            case "array":
                return self.array(given)
            case "number":
                return self.array(given)[()]
            case "objects":
                column = np.empty(len(given), dtype=object)
                column[:] = [self.decode(part) for part in given]
                return column
            case "tuple" | "list" | "set" | "frozenset":
                make = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind]
                return make([self.decode(part) for part in given])
            case "dict":
                return {self.decode(key): self.decode(part) for key, part in given}
            case "weights":
                return Weights(self.decode(given))
            case "path":
                return Path(given)
            case "compiled":
                return compile_component(self.decode(given))
            case "class" | "made":
                return unpacked(self._component(encoded))
            case "partition":
                return Partition(*map(self.decode, given))
            case "object":
                return self._object(given, encoded["fields"])
        raise Damaged(f"there is no kind of value {kind!r}")

    def _component(self, encoded: Mapping[str, Any]) -> type[Component] | Origin:
        if "made" in encoded:
            choices = tuple(map(self.decode, encoded["choices"]))
            maker = FORMER.get(encoded["made"], encoded["made"])
            self.former |= maker != encoded["made"]
            return Origin(MAKERS[maker], self._component(encoded["of"]), choices)
        found = self._found(*encoded["class"])
        if not issubclass(found, Component):
            raise Damaged(f"{found.__name__} is no component")
        return found

    def _object(self, name: Any, fields: Mapping[str, Any]) -> Any:
        kind = self._found(*name)
        if not dataclasses.is_dataclass(kind):
            raise Damaged(f"{kind.__name__} is no record")
        known = {item.name for item in dataclasses.fields(kind)}
        own, written = f"{kind.__name__}.", fields.keys()
        fields = {FORMER.get(f"{own}{field}", field): part for field, part in fields.items()}
        # Behind the others, which are decoded in the order in which they were encoded.
        fields |= {name: LATER[own + name] for name in known - fields.keys() if own + name in LATER}
        self.former |= fields.keys() != written
        if known != fields.keys():
            other = ", ".join(sorted(known ^ fields.keys()))
            raise InputError(f"its {kind.__name__} has other fields ({other}) than that of this psmr")
        made = object.__new__(kind)
        for field, encoded in fields.items():
            object.__setattr__(made, field, self.decode(encoded))
        if wrong := misfit(made):
            raise Damaged(wrong)
        check = getattr(made, "__post_init__", None)
        if check is not None and CHECKED.match(kind.__module__):
            check()
        return made

    def _found(self, module: str, name: str) -> type:
        """Return a class that may be made, by its module and name."""
        if not all(part.isidentifier() for part in (*module.split("."), name)):
            raise Damaged(f"{shown(f'{module}.{name}')} is no name of a class")
        if not OWN.fullmatch(module) and module not in self.modules:
            raise InputError(
                f"it holds a {name} of the module {module}, which is not psmr's; where you trust both, "
                f"psmr.load_run(path, modules=[{module!r}]) or psmr plot --modules {module}; {ALLOW} imports"
                " all that it names"
            )
        for place in (module, *(_places(name, module) if OWN.fullmatch(module) else ())):
            try:
                found = vars(importlib.import_module(place)).get(name)
            except ModuleNotFoundError as error:
                if module in self.modules or not module.startswith(str(error.name)):
                    raise
                continue
            if isinstance(found, type) and found.__module__ == place:
                return found
        raise InputError(f"the module {module} has no class {name}")


def _places(name: str, module: str) -> list[str]:
    """Return the modules of psmr that have a class of a name, those of the room in which it stood first."""
    known = (place for place in _classes().get(name, ()) if OWN.fullmatch(place))
    return sorted(known, key=lambda place: place.split(".")[:2] != module.split(".")[:2])


@functools.cache
def _classes() -> dict[str, list[str]]:
    """Return the modules of psmr by the names of their classes; none is imported for it."""
    found: dict[str, list[str]] = {}
    for package in ("partitioning", "psmr"):
        folder = Path(sys.modules[package].__path__[0])
        for file in sorted(folder.rglob("*.py")):
            place = ".".join((package, *file.relative_to(folder).with_suffix("").parts))
            for name in re.findall(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
                found.setdefault(name, []).append(place.removesuffix(".__init__"))
    return found


FORMAT, VERSION = "psmr-run", 6
HEAD, BODY, ARRAY = "head.json", "run.json", "arrays/{}.npy"
UNREADABLE = zipfile.BadZipFile, zlib.error, KeyError, ValueError, RecursionError, EOFError, MemoryError


def save_run(
    run: FinishedRun, path: str | os.PathLike[str], transaction: OutputTransaction | None = None
) -> None:
    """Write a run into a file that `load_run` reads, whole or not at all.

    The file is a ZIP archive of JSON and of arrays, which `numpy.load` opens as well. It appears at once, or
    with the others of `transaction`.

    Raises InputError for a name that ends otherwise, a folder that cannot be written, and for a run of
    components that have no module of their own (made in a prompt or a notebook), which no other process could
    read.
    """
    from psmr.version import __version__

    require_suffix(path, RUNS)
    encoder = Encoder()
    try:
        body = encoder.encode(run)
    except InputError as error:
        raise InputError(f"the run cannot be saved: {error}") from error
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "psmr": __version__, "name": run.name}
    if encoder.modules:
        head["modules"] = {name: source_of(name) for name in sorted(encoder.modules)}
    with (
        placed(path, transaction) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        file.writestr(HEAD, json.dumps(head))
        file.writestr(BODY, json.dumps(body, allow_nan=False, separators=(",", ":")))
        for k, array in enumerate(encoder.arrays):
            with file.open(ARRAY.format(k), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def load_run(
    path: str | os.PathLike[str],
    modules: Annotated[
        Iterable[str],
        "modules of your own, by name, whose components, events or schemes a saved run has; imported",
        "MODULE",
    ] = (),
    allow_code: Annotated[bool, ALLOW_CODE] = False,
) -> Run:
    """Return the `psmr.Run` that `Run.save` wrote.

    Reading a file runs nothing that is in it.

    Parameters
    ----------
    path
        The file.
    modules
        Names of modules of your own whose components, events or schemes the run has. They are imported: from
        the run's folder or the current one, as they are installed, or else from where they were as it was
        saved.
    allow_code
        Whether all the modules are imported that the file names, in the same way, which runs them, and its
        controllers may run: for files and modules whose authors you trust.

    Raises
    ------
    InputError
        For a file that is no saved run, one of another version, or one with classes of other modules.

    Warns
    -----
    PsmrWarning
        For a file that another version of psmr wrote, and for a module that has changed since.
    """
    check_arguments(load_run, locals())
    from psmr.version import __version__

    place = Path(path)
    require_file(place)
    with _readable(place) as file:
        _require_room(place, file)
        head = json.loads(file.read(HEAD))
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise KeyError(HEAD)
    version, writer = head.get("version"), head.get("psmr")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{place}: a run of version {version!r}, written by psmr {writer}; this psmr reads version "
            f"{VERSION}; run the study again"
        )
    known = found if isinstance(found := head.get("modules"), dict) else {}
    modules = tuple(dict.fromkeys((*modules, *(known if allow_code else ()))))
    _import(place, modules, known)
    other = "" if writer == __version__ else f"psmr {writer} wrote it, this is {__version__}"
    try:
        with _readable(place) as file:
            run, former = _decoded(file, modules)
    except (Damaged, PsmrError, ImportError) as error:
        words = "is damaged" if isinstance(error, Damaged) else "cannot be opened"
        why = f"{error} ({other})" if other else str(error)
        again = "; run the study again" if other or isinstance(error, Damaged) else ""
        raise InputError(f"{place}: {words}: {why}{again}") from error
    if allow_code and run.system is not None:
        allow_codes(device.code for device in run.system.devices)
    if other:
        warn(f"{place}: {other}; its points are as they were, what follows from them as this psmr has it")
    if former:
        deprecated(f"{place}: fields as psmr had them before 1.0", "save the run again, run.save(path)")
    return run


def _require_room(place: Path, file: zipfile.ZipFile) -> None:
    """Raise InputError for a file whose parts are larger than the memory, by what they say that they are."""
    needed, free = sum(part.file_size for part in file.infolist()), available_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{place}: says that it holds {bytes_text(needed)}, more than the {bytes_text(free)} of memory"
            " that are free; save a run of fewer signals or every k-th step (record), or take another machine"
        )


def _import(place: Path, modules: tuple[str, ...], known: dict[str, Any]) -> None:
    """Import the modules that may be; `known` says where those of the run were, and their digests then."""
    for name in modules:
        then = found if isinstance(found := known.get(name), dict) else {}
        # The folder is whatever the file says: a module that is installed is not looked for there.
        homes = () if is_installed(name) else (_home(str(then.get("file", ""))),)
        load_modules((name,), (place.parent, Path(), *homes), str(place), allowed=True)
        if then and source_of(name).get("digest") != then.get("digest"):
            warn(
                f"{place}: {name} is not as it was when the run was saved; its points are as they were, what"
                " is computed from them is as the module says now"
            )


def _home(file: str) -> Path:
    """Return the folder in which a module was, by its file."""
    path = Path(file.replace("\0", ""))
    return path.parent.parent if path.name == "__init__.py" else path.parent


@contextmanager
def _readable(place: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the open archive; what is wrong with it as an archive becomes a sentence."""
    try:
        with zipfile.ZipFile(place) as file:
            yield file
    except OSError as error:
        raise InputError(unreadable(place, error)) from error
    except UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{place}: is not a run saved by run.save or `psmr run --save`, or is damaged"
        ) from error


def _decoded(file: zipfile.ZipFile, modules: Iterable[str]) -> tuple[Run, bool]:
    """Return the run in an open file, and whether it has what is otherwise since."""

    def array(k: Any) -> np.ndarray:
        if type(k) is not int:
            raise Damaged(f"{k!r} is no number of an array")
        # Through memory: numpy reads a file of its own kind by its descriptor.
        return np.lib.format.read_array(io.BytesIO(file.read(ARRAY.format(k))), allow_pickle=False)

    content = json.loads(file.read(BODY))
    try:
        decoder = Decoder(array, modules)
        run = decoder.decode(content)
        _check(run)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise Damaged(f"{type(error).__name__} {error}") from error
    return run, decoder.former


def _check(run: Any) -> None:
    """Raise Damaged for what is no run, and for one whose parts do not fit one another."""
    if not isinstance(run, Run):
        raise Damaged(f"it holds a {type(run).__name__} and no run")
    if not isinstance(run.stopped, Stop | None):
        raise Damaged(f"what stopped it is a {type(run.stopped).__name__}")
    if wrong := "" if run.system is None else first_invalid_table(run.system):
        raise Damaged(f"{wrong} of its system does not fit the rest of it")
    if {table.dtype.kind for table in (run.t, run.x, run.y)} != {"f"}:
        raise Damaged("its points are no numbers")
    shapes = (len(run.t), len(run.names_x)), (len(run.t), len(run.names_y))
    if (run.x.shape, run.y.shape) != shapes:
        raise Damaged(f"its points have shapes {run.x.shape} and {run.y.shape} in place of {shapes}")
    begins = [span.first for span in run.timeline] + ([len(run.t)] if run.timeline else [])
    if begins[:1] not in ([], [0]) or any(b <= a for a, b in itertools.pairwise(begins)):
        raise Damaged(f"its spans begin at rows {begins[:-1]} of {len(run.t)}")
    for change in run.changes:
        for name, course in change.courses:
            rows = course.t.shape
            if len(rows) != 1 or {table.shape for table in (course.t, course.value, course.rate)} != {rows}:
                raise Damaged(f"the rows of the course of {name} do not fit one another")
    run.__post_init__()
    # What every look at a run begins with; what does not fit is said here and not there.
    for look in (run.signals.everything, run.outcome, run.stats):
        str(look)
