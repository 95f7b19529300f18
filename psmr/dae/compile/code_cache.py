"""The cache of numba's compiled code: a folder named after the sources, a file for each signature.

The folder is named after everything that shapes the machine code: the versions of Python and numba, and the
statements of psmr's sources, without comments, docstrings and layout. An edited or upgraded psmr therefore
never meets stale code (numba alone would miss an edited callee in another file), while words that change
compile nothing. Taking sources apart costs a third of a second; what was found for the bytes of some files is
remembered on disk.
"""

from __future__ import annotations

import ast
import functools
import gc
import hashlib
import marshal
import pickle
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from sys import implementation
from types import CodeType
from typing import IO, Any

import llvmlite
import llvmlite.binding as llvm
import numba

from psmr.dae.compile import cache_files, shipped_code
from psmr.dae.compile.cache_files import acquire, read_entry, release, report_unusable, write_entry
from psmr.dae.compile.notice import Notice, announce, say, unheard
from psmr.dae.compile.numba_internals import CompileResult, dumps, rtsys

_PACKAGE = Path(__file__).parents[2]
_COMPILED_LAYERS = ("dae", "integrate")
_COMPILERS = ("numba", "llvmlite", "psmr.dae.compile")
"""A module that imports one of these may have compiled functions."""

SOURCES = "sources"


PYTHON = f"{implementation.cache_tag} {EXTENSION_SUFFIXES[0]}"
"""What bytecode and compiled extensions of this Python fit: its minor version, not the last number."""


@functools.cache
def fingerprint() -> str:
    """Return a short hash of the sources and versions that shape the compiled code."""
    versions = f"{PYTHON} {numba.__version__} {llvmlite.__version__}"
    return hashlib.sha256(f"{versions} {_sources_digest(_files())}".encode()).hexdigest()[:16]


def in_fingerprint(file: Path) -> bool:
    """Return whether the fingerprint covers a file, where compiled code depends on it."""
    return file in _files()


@functools.cache
def _files() -> Mapping[Path, str]:
    """Return the files of the layers with compiled code and the names of their modules."""
    found = {}
    for layer in _COMPILED_LAYERS:
        for file in sorted((_PACKAGE / layer).rglob("*.py")):
            parts = (_PACKAGE.name, *file.relative_to(_PACKAGE).with_suffix("").parts)
            found[file] = ".".join(parts).removesuffix(".__init__")
    return found


def _sources_digest(files: Mapping[Path, str]) -> str:
    """Return the hash of the modules with compiled functions and of all that they import, in a layer."""
    sources = {module: file.read_bytes() for file, module in files.items()}
    return _remembered(sources, lambda: compiled_statements(sources))


def statements_digest(files: Sequence[Path]) -> str:
    """Return the hash of the statements of files."""
    sources = {file.name: file.read_bytes() for file in files}
    return _remembered(sources, lambda: {name: statements(ast.parse(s)) for name, s in sources.items()})


def _remembered(sources: Mapping[str, bytes], work_out: Any) -> str:
    raw = hashlib.sha256(PYTHON.encode())
    for name, source in sources.items():
        raw.update(f"\n{name} {len(source)}\n".encode() + source)
    name = raw.hexdigest()[:32]
    if (known := shipped_code.read_entry(SOURCES, name)) is not None:
        return known.decode()
    collected = gc.isenabled()
    gc.disable()  # a fifth of the time, in trees that have no circles
    try:
        found = hashlib.sha256(repr(work_out()).encode()).hexdigest()
    finally:
        if collected:
            gc.enable()
    write_entry(cache_files.folder(SOURCES) / name, found.encode())
    return found


def compiled_statements(sources: Mapping[str, bytes]) -> dict[str, str]:
    """Return the statements of the modules, of those given, that shape compiled code.

    Those are the modules that import a compiler, and what they import of the others, at any depth.
    """
    trees = {module: ast.parse(source) for module, source in sources.items()}
    imports = {module: set(_imports(tree)) for module, tree in trees.items()}
    waiting = [module for module in trees if any(name.startswith(_COMPILERS) for name in imports[module])]
    found = set(waiting)
    while waiting:
        new = (imports[waiting.pop()] & trees.keys()) - found
        found |= new
        waiting += new
    return {module: statements(trees[module]) for module in sorted(found)}


def _imports(tree: ast.AST) -> list[str]:
    """Return the names of the modules that a module imports anywhere, and of what may be modules."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def statements(tree: ast.AST) -> str:
    """Return a module in a form that neither comments nor docstrings nor the layout change."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def code_bytes(function: Any) -> bytes:
    """Return the bytecode of a function in bytes that its docstring and its place in a file do not change."""
    code = function.__code__
    constants = tuple(None if part is function.__doc__ else part for part in code.co_consts)
    # Version 2 writes no references, which depend on who else holds an object.
    return marshal.dumps(_without_place(code.replace(co_consts=constants)), 2)


def _without_place(code: CodeType) -> CodeType:
    constants = tuple(_without_place(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename="", co_firstlineno=1, co_linetable=b"", co_consts=constants)


@functools.cache
def folder() -> Path:
    """Return the folder of the compiled functions of this version of psmr."""
    return cache_files.folder(fingerprint())


@functools.cache
def _file_digest(name: str) -> str:
    """Return what the entries of a file's functions are named after beside the fingerprint."""
    file = Path(name)
    try:
        return "" if in_fingerprint(file) else statements_digest([file])
    except (OSError, SyntaxError):  # typed at a prompt, or from an archive: the code alone says what it is
        return ""


def _rebuilt(path: Path, data: bytes | None, target_context: Any) -> Any:
    """Return the compiled function that an entry holds; None where there is none or it cannot be used."""
    if data is not None:
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception as error:  # whatever a pickle of another make may raise
            report_unusable(path, f"it cannot be used ({type(error).__name__}: {error})")
    return None


def _symbols(module: Any) -> bytes:
    """Return the bitcode of a module that says which functions another one has, and nothing of them."""
    names = (function.name for function in module.functions if not function.is_declaration)
    text = "\n".join(f'@"{name}" = global i8 0' for name in names)
    return bytes(llvm.parse_assembly(text).as_bitcode())


class CodeCache:
    """The cache of one function, in the form that numba's dispatchers ask for: a file for each signature.

    `dispatcher`: What compiles: a dispatcher of numba's, or anything with its ``py_func`` and
      ``targetoptions``.

    `notice`: What is said when the function must be compiled; a general line, once, where it is None.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._locks: dict[int, list[tuple[Path, IO[bytes] | None]]] = {}  # those of each thread
        self.notice: Notice | None = None
        function = dispatcher.py_func
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")

    @functools.cached_property
    def _own(self) -> bytes:
        """The hash of what the function is, beside the fingerprint."""
        function = self._dispatcher.py_func
        own = hashlib.sha256(_file_digest(function.__code__.co_filename).encode())
        own.update(code_bytes(function))
        if function.__closure__:
            own.update(dumps(tuple(cell.cell_contents for cell in function.__closure__)))
        return own.digest()

    @property
    def cache_path(self) -> str:
        """The folder of the entries."""
        return str(folder())

    def _entry(self, signature: Any, processor: tuple[str, str, str]) -> str:
        """Return the name of an entry for a processor: triple, name and features."""
        digest = hashlib.sha256(self._own)
        digest.update(repr((str(signature), processor, self._dispatcher.targetoptions)).encode())
        return f"{self._name[-100:]}-{digest.hexdigest()[:24]}"

    def _path(self, signature: Any, codegen: Any) -> Path:
        return folder() / self._entry(signature, codegen.magic_tuple())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, None where there is none: then numba compiles it."""
        # numba refreshes its whole context here, a quarter of a second; code that is only loaded needs the
        # runtime (which frees arrays) alone. Where something is compiled, the compiler refreshes it.
        rtsys.initialize(target_context)
        found = self._shipped(signature, target_context)
        if found is not None:
            return found
        path = self._path(signature, target_context.codegen())
        found = self._read(path, target_context)
        if found is None:
            locks = self._locks.setdefault(threading.get_ident(), [])
            locks.append((path, acquire(path, self._say_waiting)))
            found = self._read(path, target_context)  # another process may have made it meanwhile
        if found is None:
            self._announce()
        return found

    def _shipped(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code that came with the package, None where there is none for this processor."""
        target = shipped_code.shipped_target()
        if target is None:
            return None
        triple = target_context.codegen().magic_tuple()[0]
        name = self._entry(signature, (triple, target.name, target.features))
        return _rebuilt(
            shipped_code.PLACE / fingerprint() / name,
            shipped_code.read_shipped(fingerprint(), name),
            target_context,
        )

    def _read(self, path: Path, target_context: Any) -> Any:
        return _rebuilt(path, read_entry(path), target_context)

    def _say_waiting(self) -> None:
        if self.notice is not None and not unheard():
            say(f"waiting for another process that is {self.notice}")

    @contextmanager
    def releasing_locks(self) -> Iterator[None]:
        """Release, at the end, the locks that were acquired inside, where machine code was missing."""
        thread = threading.get_ident()
        locks = self._locks.setdefault(thread, [])
        before, began = len(locks), time.perf_counter()
        outermost = thread not in _inside
        _inside.add(thread)
        collecting = gc.isenabled()
        gc.disable()  # what a compiler makes lives until it is done: a tenth of its time
        try:
            yield
        finally:
            if collecting:
                gc.enable()
            if outermost:
                _inside.discard(thread)
                _spent[thread] = seconds_compiling() + time.perf_counter() - began
            while len(locks) > before:
                release(*locks.pop())

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the machine code for a signature."""
        _compiling[:] = [other for other in _compiling if other is not self]
        if any(not lifted.can_cache for lifted in result.lifted) or result.library.has_dynamic_globals:
            return
        (name, kind, (code, _)), *rest = result._reduce()
        # numba would keep all bitcode, for callers to optimise: ours are compiled with parts of their own.
        kept = name, kind, (code, _symbols(result.library._final_module))
        write_entry(self._path(signature, result.codegen), dumps((kept, *rest)))

    def _announce(self) -> None:
        # What is compiled as part of another function was announced with that one. A dispatcher that is here
        # and no longer compiles was interrupted.
        _compiling[:] = [other for other in _compiling if getattr(other._dispatcher, "is_compiling", True)]
        inside = any(other is not self for other in _compiling)
        _compiling.append(self)
        if inside:
            return
        place = folder()
        kept = str(place) if cache_files.lasting(place) else ""
        if self.notice is not None:
            announce(self.notice.what, self.notice.seconds, kept, self.notice.once)
        else:
            announce("smaller parts for this machine ('psmr warmup' does it ahead)", 5, kept, once=True)

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    disable = flush = enable


_compiling: list[CodeCache] = []
_inside: set[int] = set()
_spent: dict[int, float] = {}


def seconds_compiling() -> float:
    """Return the wall time in s for which this thread has compiled or loaded machine code so far."""
    return _spent.get(threading.get_ident(), 0.0)
