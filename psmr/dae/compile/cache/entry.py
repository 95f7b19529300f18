"""Files of the cache: written whole or not at all, used only where their checksum is right.

The checksum is one of folder and name as well, so that no entry passes for another one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from pathlib import Path

from psmr.dae.compile.cache.folder import unsafe_because
from psmr.dae.compile.notice import say

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
    if reason is None:
        head, checksum, data = content[: len(_HEAD)], content[len(_HEAD) :][:32], content[len(_HEAD) + 32 :]
        if head == _HEAD and checksum == _checksum(path, data):
            return data
        if head != _HEAD and head.startswith(_FORMAT) and len(head) == len(_HEAD):
            return None  # of another version of psmr
        reason = f"it is damaged ({len(content)} bytes)"
    report_unusable(path, reason)
    return None


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
        _remove(temporary)
        reason = error.strerror or str(error)
        say(f"compiled code cannot be kept in {path.parent}: {reason}; going on without", once="not kept")
    except BaseException:
        _remove(temporary)
        raise


def _remove(file: Path) -> None:
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
