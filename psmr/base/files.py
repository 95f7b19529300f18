"""Files written whole or not at all, in the place of regular files only, with signals held back meanwhile."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from psmr.base.errors import InputError, in_line

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


# The signals that came, of each `uninterrupted` that is open.
_came: list[list[int]] = []


def signal_waits() -> bool:
    """Return whether a signal waits for the end of what is not interrupted: who waits inside may go on."""
    return any(_came)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a signal that comes inside have its effect when what is inside is done, a few seconds at most.

    For the files of a run, which appear together, and for machine code: LLVM calls back into Python while it
    makes and loads it, and an exception that a signal raises there is lost, or leaves a library without its
    object. Signals that are ignored or end the process at once stay as they are; a thread other than the main
    one gets none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.getsignal(number) for number in ENDING}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in usual:
        signal.signal(number, lambda number, frame: came.append(number))
    _came.append(came)
    try:
        yield
    finally:
        _came.pop()
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


if sys.platform != "win32":  # there an open file can neither be renamed nor removed
    import fcntl

_SHOWN = 100
"""Of a path that is longer, this many characters at each end are shown."""

_MARK = ".psmr-"
_UNFINISHED = re.compile(rf"\..*{re.escape(_MARK)}\w{{8}}(\.[^.]*)?")
"""Names of the temporary files that `atomic` makes."""


class OutputTransaction:
    """A context in which files are written; all appear when it ends without an error, otherwise none.

    With `parents` missing folders are made. Files of an earlier run that would contradict the new ones,
    `instead`, are removed when those appear; `removed` are those that existed. Temporary files that a killed
    process left in the same folders are removed as well: its locks ended.
    """

    def __init__(
        self, error: type[InputError] = InputError, parents: bool = True, instead: Iterable[Path] = ()
    ) -> None:
        self.error, self.parents, self.instead = error, parents, tuple(instead)
        self.removed: list[Path] = []
        self._ready: list[tuple[int, Path, Path]] = []
        self._made: list[Path] = []

    def __enter__(self) -> OutputTransaction:
        for earlier in self.instead:
            if earlier.is_file() and not earlier.is_symlink():
                require_replaceable(earlier, self.error)
        return self

    @contextmanager
    def file(self, path: str | os.PathLike[str]) -> Iterator[Path]:
        """Yield a temporary path beside `path` that takes its place with the others.

        Only a regular file is replaced: a link, a pipe or a device stays what it is. Raises the error for
        that, for a folder that cannot be written and a disk that is full.
        """
        target = Path(path)
        with self._naming(target):
            require_replaceable(target, self.error)
            if self.parents:
                self._made += [
                    place for place in (target.parent, *target.parent.parents) if not place.exists()
                ]
                target.parent.mkdir(parents=True, exist_ok=True)
            _remove_unfinished(target.parent)
            handle, temporary = -1, None
            try:
                with uninterrupted():  # a file that was made is known here
                    handle, temporary = _locked_temporary(target)
                yield temporary
                os.fsync(handle)
                # mkstemp makes files that only their owner may read; a result gets the permissions of any new
                # file.
                temporary.chmod(0o666 & ~_umask())
                if sys.platform == "win32":
                    os.close(handle)
                    handle = -1
                # Once more: the run may have taken hours.
                require_replaceable(target, self.error)
            except BaseException:
                if temporary is not None:
                    with uninterrupted():
                        _drop(handle, temporary)
                raise
            self._ready.append((handle, temporary, target))

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        ready, self._ready = self._ready, []
        with uninterrupted():  # a signal that comes while files and folders are removed would leave some
            try:
                if kind is None:
                    self._replace(ready)
            finally:
                for handle, temporary, _ in ready:
                    _drop(handle, temporary)
                for place in sorted(self._made, reverse=True):
                    # Of the folders that were made those stay in which there is something.
                    with contextlib.suppress(OSError):
                        place.rmdir()

    def _replace(self, ready: Sequence[tuple[int, Path, Path]]) -> None:
        for _, temporary, target in ready:
            with self._naming(target):
                os.replace(temporary, target)
        new = {target for _, _, target in ready}
        for earlier in self.instead:
            if earlier not in new and earlier.is_file() and not earlier.is_symlink():
                with self._naming(earlier):
                    earlier.unlink(missing_ok=True)
                self.removed.append(earlier)

    @contextmanager
    def _naming(self, target: Path) -> Iterator[None]:
        """Turn an error of the operating system into one that names the file."""
        try:
            yield
        except BrokenPipeError:  # of standard output or standard error, never of a file
            raise
        except (OSError, ValueError) as reason:
            if isinstance(reason, ValueError) and "\0" not in str(target):
                raise
            raise self.error(unwritable(target, reason)) from reason


@contextmanager
def atomic(path: str | os.PathLike[str], error: type[InputError] = InputError) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends well, else is removed.

    See `OutputTransaction` for the arguments and for the errors.
    """
    with OutputTransaction(error) as files, files.file(path) as temporary:
        yield temporary


def write_texts(
    texts: Mapping[Path, str], error: type[InputError] = InputError, parents: bool = True
) -> None:
    """Write files, all of them or none; see `OutputTransaction`."""
    with OutputTransaction(error, parents) as files:
        for at, text in texts.items():
            with files.file(at) as place:
                place.write_text(text, encoding="utf-8")


TABLES, PAGES, RUNS = (".csv",), (".html", ".htm"), (".psmr",)
PARQUET = (".parquet", ".pq")
PICTURES = (".svg", ".png", ".pdf", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""What the names of files end in, by what is in them."""


def require_suffix(
    path: str | os.PathLike[str], suffixes: Sequence[str], error: type[InputError] = InputError
) -> str:
    """Return the ending of a path in lower case; raises the error for none of the suffixes, and no path."""
    if not os.fspath(path):
        raise error("the path of a file is empty; name a file")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        known = " or ".join([", ".join(suffixes[:-1]), suffixes[-1]] if suffixes[1:] else suffixes)
        raise error(f"{abridged(path)}: must end in {known}, which is what is written there")
    return suffix


def require_replaceable(path: str | os.PathLike[str], error: type[InputError] = InputError) -> None:
    """Raise the error of a path at which there is something other than a regular file that may be written.

    Replacing a file needs no permission of the file, only of its folder. Who took the permission to write
    from a file wants it to stay all the same, from the superuser, too. The message says what it is.
    """
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):  # nothing is there, or writing will say why
        return
    if stat.S_ISREG(mode):
        if not mode & 0o222 or not os.access(path, os.W_OK):
            raise error(
                f"cannot write to {abridged(path)}: it is protected against writing; make it writable "
                "(chmod u+w), remove it, or name another file"
            )
        return
    what = (
        "a symbolic link"
        if stat.S_ISLNK(mode)
        else "a folder"
        if stat.S_ISDIR(mode)
        else "no regular file (a pipe or device)"
    )
    raise error(f"cannot write to {abridged(path)}: it is {what}, which is not replaced; name another file")


def unwritable(path: str | os.PathLike[str], reason: OSError | ValueError) -> str:
    """Return the sentence on a path that cannot be written."""
    why = getattr(reason, "strerror", None) or str(reason)
    return f"cannot write to {abridged(path)}: {why}; choose another place (-o, or [output] folder)"


def unreadable(path: object, reason: OSError | ValueError) -> str:
    """Return the sentence on a path that cannot be read."""
    why = getattr(reason, "strerror", None) or str(reason)
    denied = isinstance(reason, PermissionError)
    remedy = "ask for the permission, of the file and its folders" if denied else "is the path right?"
    return f"{abridged(path)}: cannot be read: {why}; {remedy}"


def abridged(path: object) -> str:
    """Return a path as a message shows it: not more of it than can be read, control characters as escapes."""
    shown = os.fspath(path) if isinstance(path, os.PathLike) else str(path)
    shown = in_line(shown)
    return shown if len(shown) <= 2 * _SHOWN + 3 else f"{shown[:_SHOWN]}...{shown[-_SHOWN:]}"


def _locked_temporary(target: Path) -> tuple[int, Path]:
    """Make a temporary file beside another, locked while this process lives, and return both."""
    while True:
        # The suffix stays last: some writers choose the format by it.
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}{_MARK}", suffix=target.suffix, dir=target.parent
        )
        if sys.platform != "win32":
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # one that tidies up was faster
                os.close(handle)
                continue
            except OSError:  # a file system without locks, in which nobody tidies up
                pass
            if os.fstat(handle).st_nlink == 0:
                os.close(handle)
                continue
        return handle, Path(name)


def _remove_unfinished(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while they wrote."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
    finally:
        os.close(handle)


def _drop(handle: int, temporary: Path) -> None:
    """Close a temporary file, and remove it where it did not take its place."""
    with contextlib.suppress(OSError):  # closed before
        os.close(handle)
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
