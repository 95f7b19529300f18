"""The cache of compiled code, in the form that numba asks for: an entry for each signature of a function.

The folder is named after everything that shapes the machine code: the statements of psmr's sources, the
versions of Python and numba (`psmr.dae.compile.cache.sources`). An edited or upgraded psmr therefore never
meets stale code (numba alone would miss an edited callee in another file). Entries are checked before they
are used (`psmr.dae.compile.cache.entry`).
"""

from __future__ import annotations

import functools
import gc
import hashlib
import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from psmr.dae.compile.cache import folder as folders
from psmr.dae.compile.cache.compile_lock import acquire, release
from psmr.dae.compile.cache.entry import read_entry, report_unusable, write_entry
from psmr.dae.compile.cache.sources import code_bytes, fingerprint, in_fingerprint, statements_digest
from psmr.dae.compile.notice import Notice, announce, say, unheard
from psmr.dae.compile.numba_internals import CompileResult, dumps, rtsys


@functools.cache
def folder() -> Path:
    """Return the folder of the compiled functions of this version of psmr."""
    return folders.folder(fingerprint())


@functools.cache
def _file_digest(name: str) -> str:
    """Return what the entries of a file's functions are named after beside the fingerprint."""
    file = Path(name)
    try:
        return "" if in_fingerprint(file) else statements_digest([file])
    except (OSError, SyntaxError):  # typed at a prompt, or from an archive: the code alone says what it is
        return ""


class CodeCache:
    """The cache of one function, in the form that numba's dispatchers ask for: a file for each signature.

    Parameters
    ----------
    dispatcher
        What compiles: a dispatcher of numba's, or anything with its ``py_func`` and ``targetoptions``.

    Attributes
    ----------
    notice
        What is said when the function must be compiled; a general line, once, where it is None.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._locks: dict[int, list[tuple[Path, IO[bytes] | None]]] = {}  # those of each thread
        self.notice: Notice | None = None
        function = dispatcher.py_func
        own = hashlib.sha256(_file_digest(function.__code__.co_filename).encode())
        own.update(code_bytes(function))
        if function.__closure__:
            own.update(dumps(tuple(cell.cell_contents for cell in function.__closure__)))
        self._own = own.digest()
        self._name = f"{function.__module__}.{function.__qualname__}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str:
        """The folder of the entries."""
        return str(folder())

    def _path(self, signature: Any, codegen: Any) -> Path:
        digest = hashlib.sha256(self._own)
        digest.update(repr((str(signature), codegen.magic_tuple(), self._dispatcher.targetoptions)).encode())
        return folder() / f"{self._name[-100:]}-{digest.hexdigest()[:24]}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, None where there is none: then numba compiles it."""
        # numba refreshes its whole context here, a quarter of a second; code that is only loaded needs the
        # runtime (which frees arrays) alone. Where something is compiled, the compiler refreshes it.
        rtsys.initialize(target_context)
        path = self._path(signature, target_context.codegen())
        found = self._read(path, target_context)
        if found is None:
            locks = self._locks.setdefault(threading.get_ident(), [])
            locks.append((path, acquire(path, self._say_waiting)))
            found = self._read(path, target_context)  # another process may have made it meanwhile
        if found is None:
            self._announce()
        return found

    def _read(self, path: Path, target_context: Any) -> Any:
        data = read_entry(path)
        if data is not None:
            try:
                return CompileResult._rebuild(target_context, *pickle.loads(data))
            except Exception as error:  # whatever a pickle of another make may raise
                report_unusable(path, f"it cannot be used ({type(error).__name__}: {error})")
        return None

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
        write_entry(self._path(signature, result.codegen), dumps(result._reduce()))

    def _announce(self) -> None:
        # What is compiled as part of another function was announced with that one. A dispatcher that is here
        # and no longer compiles was interrupted.
        _compiling[:] = [other for other in _compiling if getattr(other._dispatcher, "is_compiling", True)]
        inside = any(other is not self for other in _compiling)
        _compiling.append(self)
        if inside:
            return
        place = folder()
        kept = str(place) if folders.lasting(place) else ""
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
