"""Modules by their names: of rooms above, of packages that need not be installed, of the user's own.

A module of the user's own is imported under its own name, with its folder on Python's path, so that the
processes of a sweep and `psmr.load_run` find the same classes. What was changed since is imported anew.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from psmr.base.errors import InputError, PsmrError, first_few, nearest, shown


def function_above(name: str) -> Callable[..., Any]:
    """Return a function of psmr by its module and name below `psmr`: ``"figures.run.plots.trajectories"``."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(f"psmr.{module}"), function)
    return found


def draw(name: str, *arguments: Any, **options: Any) -> Any:
    """Return what a function of `psmr.figures` makes of its arguments: "run.plots.trajectories"."""
    return function_above(f"figures.{name}")(*arguments, **options)


def defer(package: str, *names: str) -> None:
    """Let modules of a package be imported when something of them is first used.

    scipy takes all names of numpy, and numpy loads for that what hardly anything uses: its reader of Fortran
    and its tools for tests are a tenth of the processor time of a warm `psmr run`.
    """
    for name in names:
        module = f"{package}.{name}"
        spec = None if module in sys.modules else importlib.util.find_spec(module)
        if spec is not None and spec.loader is not None:
            spec.loader = importlib.util.LazyLoader(spec.loader)
            sys.modules[module] = later = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(later)
            setattr(sys.modules[package], name, later)


OURS = ("psmr", "partitioning", "__main__")


def optional(module: str, what: str, install: str, otherwise: str) -> ModuleType:
    """Return a module of a package that need not be installed; PsmrError where it is not, or fails to import.

    `what` needs it, the beginning of a sentence; `install` is what pip installs, `otherwise` what can be done
    without the package.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            why = f'which is not installed; pip install "{install}"'
        else:
            why = f"which is installed and {import_failure(package, error)}"
        raise PsmrError(f"{what} needs {package}, {why}, or {otherwise}") from error


def import_failure(package: str, error: BaseException) -> str:
    """Return the words on a package whose import fails."""
    words = " ".join(str(error).split())
    again = f"pip install --force-reinstall {package}"
    return f"cannot be imported ({type(error).__name__}: {words}); install it anew ({again})"


def broken_package(error: BaseException) -> str | None:
    """Return the package that an exception comes from while it was imported, None for any other exception."""
    step: TracebackType | None = error.__traceback__
    found = None
    while step is not None:
        if step.tb_frame.f_code.co_name == "<module>":
            found = str(step.tb_frame.f_globals.get("__name__")).partition(".")[0]
        step = step.tb_next
    return None if found is None or found in OURS else found


_DIGEST = "__psmr_digest__"
"""The attribute that keeps what the source of a module of the user's was when it was imported."""


ALLOW = "--allow-code (from Python allow_code=True)"
"""What has the modules imported that a file names."""


def load_modules(
    names: Iterable[str], folders: Iterable[Path], where: str, allowed: bool
) -> tuple[ModuleType, ...]:
    """Return modules by their names, ``mine`` for ``mine.py`` or the package ``mine``, imported.

    They are looked for in the folders, in this order, then among the installed ones; `where` is the file and
    line, or the argument, that names them, `allowed` whether they may be imported, which runs them. Raises
    InputError where they may not, before any is imported; for a name that is none, a module that is not
    there, one whose name another one has, and one that does not import: with its own error and its line.
    """
    names, looked = tuple(names), tuple(dict.fromkeys(Path(folder).resolve() for folder in folders))
    for name in names:
        _check(name, where)
    if names and not allowed:
        code = first_few([_code(name, looked) for name in names], 3)
        raise InputError(
            f"{where}: modules: reading this file would run {code}; where you trust that code, give {ALLOW}"
        )
    return tuple(_load(name, looked, where) for name in names)


def _check(name: str, where: str) -> None:
    if name.endswith(".py") or not all(part.isidentifier() for part in name.split(".")):
        stem = Path(name).stem
        hint = f'; write "{stem}"' if stem.isidentifier() else ""
        raise InputError(
            f"{where}: modules: {shown(name)}: must be the name of a module, as import takes it{hint}"
        )


def _code(name: str, folders: tuple[Path, ...]) -> str:
    """Return what the import of a module runs, in words."""
    path = _found(name, folders)
    return f"the installed module {name}" if path is None else f"{name} ({path})"


def _load(name: str, folders: tuple[Path, ...], where: str) -> ModuleType:
    path = _found(name, folders)
    if path is None:
        return _installed(name, folders, where)
    there = sys.modules.get(name)
    source = path.read_bytes()
    if there is not None and _file_of(there) == path and _digest(source) == getattr(there, _DIGEST, ""):
        return there
    ours = there is None or hasattr(there, _DIGEST) or _file_of(there) == path
    if name in sys.stdlib_module_names or not ours:
        of = "Python has a module of this name" if name in sys.stdlib_module_names else f"{there} is loaded"
        raise InputError(f"{where}: modules: {path}: {of}; rename the file, and what names it")
    if there is not None and not hasattr(there, _DIGEST):
        # The program's own import of the same file: its classes are meant.
        setattr(there, _DIGEST, _digest(source))
        return there
    return _imported(name, path, source, where)


def _imported(name: str, path: Path, source: bytes, where: str) -> ModuleType:
    """Import a module from its source; a compiled copy of it may be older by less than its time shows."""
    package = path.name == "__init__.py"
    folder = str(path.parent.parent if package else path.parent)
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)
    for old in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[old]
    importlib.invalidate_caches()
    inside = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    assert spec is not None
    try:
        return _run(importlib.util.module_from_spec(spec), source, str(path))
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{path}:{line_of(error, path)}: {type(error).__name__}: {_words(error)}; {where} names this"
            " module, which must import"
        ) from error


def _run(module: ModuleType, source: bytes, path: str) -> ModuleType:
    """Carry out the source of a new module and return it; it is among the imported ones if that succeeds."""
    sys.modules[module.__name__] = module
    linecache.checkcache(path)
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    setattr(module, _DIGEST, _digest(source))
    return module


def packed_modules(names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """Return file and source of imported modules of the user's own, for machines that have no such files.

    Packages are not among them: what is more than a file has to be installed there.
    """
    files = {name: _file_of(sys.modules[name]) for name in names if hasattr(sys.modules.get(name), _DIGEST)}
    return {
        name: (str(path), path.read_bytes())
        for name, path in files.items()
        if path is not None and path.name != "__init__.py"
    }


def unpack_modules(parcel: Mapping[str, tuple[str, bytes]]) -> None:
    """Import the modules of `packed_modules` from their sources."""
    for name, (path, source) in parcel.items():
        if getattr(sys.modules.get(name), _DIGEST, "") != _digest(source):
            _run(ModuleType(name), source, path)


def _installed(name: str, folders: tuple[Path, ...], where: str) -> ModuleType:
    try:
        found = importlib.import_module(name)
        if not hasattr(found, _DIGEST):  # otherwise it is one from another folder
            return found
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{where}: modules: {name}: {error}") from error
    except Exception as error:
        raise InputError(f"{where}: modules: {name}: {type(error).__name__}: {error}") from error
    there = [path.stem for folder in folders if folder.is_dir() for path in folder.glob("*.py")]
    listed = " or ".join(map(str, folders))
    raise InputError(
        f"{where}: modules: there is no {name}.py in {listed}{nearest(name, there)}, and no installed module"
        f" {name}; put the file there"
    )


def is_installed(name: str) -> bool:
    """Return whether Python finds a module without `load_modules`: one that is installed, or imported."""
    first = name.partition(".")[0]
    there = sys.modules.get(first)
    if there is not None:
        return not hasattr(there, _DIGEST)
    return importlib.machinery.PathFinder.find_spec(first) is not None


def _found(name: str, folders: tuple[Path, ...]) -> Path | None:
    """Return the file of a module in the first folder that has it; None where none has."""
    places = (place for folder in folders for place in (folder / f"{name}.py", folder / name / "__init__.py"))
    return next((place for place in places if place.is_file()), None)


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def line_of(error: BaseException, path: Path) -> int:
    """Return the line of a file at which an error arose; the first where that is not known."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return (frames[-1].lineno if frames else None) or 1


def _words(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error)


def _digest(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


def source_of(name: str) -> dict[str, str]:
    """Return the file of an imported module and the digest of its source; empty where it has none."""
    path = _file_of(sys.modules[name]) if name in sys.modules else None
    if path is None or not path.is_file():
        return {}
    return {"file": str(path), "digest": _digest(path.read_bytes())}
