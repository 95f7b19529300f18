"""Where machine code is kept: folders that nobody else may write, checked files, and a lock for each.

Machine code that is loaded is run. It is therefore read only from folders and files that belong to this user,
that neither group nor others may write, and that are no symbolic links. Where the cache folder is not like
that, or cannot be written, a private one serves for this process and is removed at its end. Who may write a
folder above can put another one in its place, but no file of this user's with the right checksum into it: the
checksum is one of folder and name as well, so that no entry passes for another one.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import platformdirs

from psmr.base.files import signal_waits
from psmr.dae.compile.notice import say


def unsafe_because(status: os.stat_result, place: Path) -> str | None:
    """Return why code from a folder or file is not to be run, None where nothing speaks against it."""
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return "it is neither a folder nor a regular file"
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            return f"it belongs to another user (number {status.st_uid})"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            mode = stat.S_IMODE(status.st_mode)
            mend = f"`chmod -R go-w {shlex.quote(str(place))}`"
            return f"others may write it (mode {mode:o}; where all in it is yours, {mend} mends that)"
    return None


@functools.cache
def root() -> Path:
    """Return the folder that everything compiled is kept below.

    ``PSMR_CACHE_DIR`` names it; the default is ``psmr`` in the user's cache folder of the platform.
    """
    named = os.environ.get("PSMR_CACHE_DIR")
    wanted = Path(os.path.abspath(named)) if named else platformdirs.user_cache_path("psmr", appauthor=False)
    reason = _unusable(wanted)
    if reason is None:
        return wanted
    place = _private()
    _say(wanted, reason, place)
    return place


def folder(name: str) -> Path:
    """Return a folder below `root`, made if needed; a private one where it is not safe."""
    wanted = root() / name
    reason = _unusable(wanted)
    if reason is None:
        return wanted
    place = _private() / name
    with contextlib.suppress(OSError):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    _say(wanted, reason, place)
    return place


def lasting(place: Path) -> bool:
    """Return whether a folder that `folder` gave outlives this process."""
    return not _private.cache_info().currsize or _private() not in place.parents


def _say(wanted: Path, reason: str, place: Path) -> None:
    say(
        f"{wanted} cannot keep compiled code: {reason}; make it a folder of yours or name one with "
        f"PSMR_CACHE_DIR, until then each process compiles for itself (in {place})"
    )


def _unusable(place: Path) -> str | None:
    """Make a folder; return why it cannot be used, None where it can."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        status = place.lstat()
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    if stat.S_ISREG(status.st_mode):
        return "it is a file, no folder"
    reason = unsafe_because(status, place)
    if reason is None and not os.access(place, os.W_OK | os.X_OK):
        reason = "it cannot be written"
    return reason


@functools.cache
def _private() -> Path:
    """Return a fresh folder of this process; one that is not there where no disk has room for it."""
    try:
        place = Path(tempfile.mkdtemp(prefix="psmr-"))
    except OSError:
        return Path(tempfile.gettempprefix()) / "nowhere"
    atexit.register(_remove, place, os.getpid())
    return place


def _remove(place: Path, process: int) -> None:
    # A forked process ends with its parent's list of things to do.
    if os.getpid() == process:
        shutil.rmtree(place, ignore_errors=True)


LOCK_SUFFIX = ".lock"

_FORMAT = b"psmr compiled code, "
_HEAD = _FORMAT + b"2\n"
FLAGS = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""Neither follow a link nor wait at a pipe; where the system has no such flags, the status decides."""

_ABANDONED = 3600.0
"""Age in s at which a temporary file is nobody's any more: writing one takes milliseconds."""


def read_entry(path: Path) -> bytes | None:
    """Return what was written to an entry; None where there is none or it cannot be used."""
    try:
        handle = os.open(path, os.O_RDONLY | FLAGS)
        with open(handle, "rb") as file:
            reason = unsafe_because(os.fstat(file.fileno()), path)
            content = file.read() if reason is None else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror or str(error)
    data = None
    if reason is None:
        data, reason = _unpacked(path, content)
    if reason is not None:
        report_unusable(path, reason)
    return data


def read_trusted(path: Path) -> bytes | None:
    """Return what an entry of the package's own holds; None where there is none or it is damaged.

    Who may write it may write the package: owner, rights and links are not looked at.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        report_unusable(path, error.strerror or str(error))
        return None
    data, reason = _unpacked(path, content)
    if reason is not None:
        report_unusable(path, reason)
    return data


def _unpacked(path: Path, content: bytes) -> tuple[bytes | None, str | None]:
    """Return (what an entry holds, why it cannot be used); neither where another version of psmr wrote it."""
    head, checksum, data = content[: len(_HEAD)], content[len(_HEAD) :][:32], content[len(_HEAD) + 32 :]
    if head == _HEAD and checksum == _checksum(path, data):
        return data, None
    if head != _HEAD and head.startswith(_FORMAT) and len(head) == len(_HEAD):
        return None, None
    return None, f"it is damaged ({len(content)} bytes)"


def _checksum(path: Path, data: bytes) -> bytes:
    return hashlib.sha256(f"{path.parent.name}/{path.name}\n".encode() + data).digest()


def report_unusable(path: Path, reason: str) -> None:
    """Print, once in a process, that an entry is not used and why."""
    say(f"{path}: {reason}; it is compiled anew, as all such entries are", once="unusable")


def write_entry(path: Path, data: bytes) -> None:
    """Write an entry whole: a temporary file, synchronised, then renamed.

    Where that fails (no space left, no right to write) standard error says so, once, and nothing is kept.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _remove_abandoned(path.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | FLAGS, 0o600)
        with open(handle, "wb") as file:
            file.write(_HEAD + _checksum(path, data) + data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _remove_file(temporary)
        reason = error.strerror or str(error)
        say(f"compiled code cannot be kept in {path.parent}: {reason}; going on without", once="not kept")
    except BaseException:
        _remove_file(temporary)
        raise


def _remove_file(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files, and the locks, of processes that ended while they wrote."""
    now = time.time()
    for file in (*folder.glob(".*.tmp"), *folder.glob(f".*{LOCK_SUFFIX}")):
        try:
            if now - file.stat().st_mtime > _ABANDONED:
                file.unlink()
        except OSError:  # another process was faster
            continue


# Time in s after which a waiting process compiles the entry for itself: far above what compiling takes, so
# that a process that was stopped while it compiled delays nobody for long.
TIMEOUT = 60.0

# Time in s between two attempts, and time in s after which the user is informed that this process waits.
POLL_INTERVAL, NOTICE_AFTER = 0.02, 0.5


def acquire(entry: Path, waiting: Callable[[], None]) -> IO[bytes] | None:
    """Wait until no other process compiles an entry, and return the lock for `release`.

    `waiting` is called once where that takes long. A process that ends, however it ends, releases its locks.
    None where there are no locks (on Windows, on some network drives), where a signal to end is held back, or
    after `TIMEOUT`: two processes then compile the entry. Where entries cannot be written, those that wait
    find none and compile it one after the other.
    """
    try:
        import fcntl
    except ImportError:
        return None
    place, informed, began = _lock_file(entry), False, time.monotonic()
    try:
        file = os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | FLAGS, 0o600), "wb")
    except OSError:
        return None
    while time.monotonic() - began < TIMEOUT and not signal_waits():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if not informed and time.monotonic() - began > NOTICE_AFTER:
                informed = True
                waiting()
            time.sleep(POLL_INTERVAL)
        except OSError:
            with contextlib.suppress(OSError):
                place.unlink()
            break
    file.close()
    return None


def release(entry: Path, lock: IO[bytes] | None) -> None:
    """Release a lock; a process that waits reads the entry, or acquires the lock in turn."""
    if lock is None:
        return
    import fcntl

    with contextlib.suppress(OSError):
        _lock_file(entry).unlink()
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)  # also for a process that was forked meanwhile
    lock.close()


def _lock_file(entry: Path) -> Path:
    return entry.with_name(f".{entry.name}{LOCK_SUFFIX}")
