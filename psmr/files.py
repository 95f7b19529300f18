"""Writing files: whole or not at all, and in the place of regular files only."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from psmr.errors import InputError

if sys.platform != "win32":  # there an open file can neither be renamed nor removed
    import fcntl

_SHOWN = 100
"""Of a path that is longer, this many characters at each end are shown."""

_MARK = ".psmr-"
_UNFINISHED = re.compile(rf"\..*{re.escape(_MARK)}\w{{8}}(\.[^.]*)?")
"""Names of the temporary files that `atomic` makes."""


@contextmanager
def atomic(
    path: str | os.PathLike[str], error: type[InputError] = InputError, parents: bool = True
) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends well, else is removed.

    What a process that was killed has left there of its own is removed, too: its lock is gone with it.

    Parameters
    ----------
    path
        The file. Only a regular one is replaced: a link, a pipe or a device stays what it is.
    error
        What is raised.
    parents
        Whether missing folders are made.

    Raises
    ------
    InputError
        For what is no regular file, a folder that cannot be written and a disk that is full.
    """
    target = Path(path)
    handle, temporary = None, None
    try:
        require_replaceable(target, error)
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        _remove_unfinished(target.parent)
        handle, temporary = _locked_beside(target)
        yield temporary
        os.fsync(handle)
        # mkstemp makes files that only their owner may read; a result gets the permissions of any new file.
        temporary.chmod(0o666 & ~_umask())
        if sys.platform == "win32":
            os.close(handle)
            handle = None
        # Once more: the run may have taken hours.
        require_replaceable(target, error)
        os.replace(temporary, target)
    except BrokenPipeError:  # of standard output or standard error, never of a file
        raise
    except (OSError, ValueError) as reason:
        if isinstance(reason, ValueError) and "null" not in str(reason):
            raise
        raise error(unwritable(target, reason)) from reason
    finally:
        if handle is not None:
            os.close(handle)
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_texts(
    texts: Mapping[Path, str], error: type[InputError] = InputError, parents: bool = True
) -> None:
    """Write files, all of them or none; see `atomic`."""
    with ExitStack() as files:
        places = [files.enter_context(atomic(path, error, parents)) for path in texts]
        for at, place, text in zip(texts, places, texts.values(), strict=True):
            try:
                place.write_text(text, encoding="utf-8")
            except OSError as reason:
                raise error(unwritable(at, reason)) from reason


def require_replaceable(path: str | os.PathLike[str], error: type[InputError] = InputError) -> None:
    """Raise the error of a path at which there is something other than a regular file.

    Raises
    ------
    InputError
        With what it is: a link, a folder, a pipe, a device.
    """
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):  # nothing is there, or writing will say why
        return
    if stat.S_ISREG(mode):
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


def abridged(path: object) -> str:
    """Return a path as a message shows it: not more of it than can be read, control characters as escapes."""
    shown = os.fspath(path) if isinstance(path, os.PathLike) else str(path)
    shown = shown if shown.isprintable() else repr(shown)
    return shown if len(shown) <= 2 * _SHOWN + 3 else f"{shown[:_SHOWN]}...{shown[-_SHOWN:]}"


def _locked_beside(target: Path) -> tuple[int, Path]:
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
