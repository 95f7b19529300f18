"""Where compiled code is kept: folders that nobody else may write.

Machine code that is loaded is run. It is therefore read only from folders and files that belong to this user,
that neither group nor others may write, and that are no symbolic links. Where the cache folder is not like
that, or cannot be written, a private one serves for this process and is removed at its end. Who may write a
folder above can put another one in its place, but no file of this user's with the right checksum into it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shlex
import shutil
import stat
import tempfile
from pathlib import Path

import platformdirs

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
