"""The files and folders of results."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from psmr.base import files
from psmr.base.errors import StudyError
from psmr.base.files import OutputTransaction


def atomic(path: str | os.PathLike[str]) -> AbstractContextManager[Path]:
    """Yield a temporary path that takes the place of `path`; see `psmr.base.files.atomic`.

    Raises
    ------
    StudyError
        For what is no regular file, a folder that cannot be written and a disk that is full.
    """
    return files.atomic(path, StudyError)


def placed(
    path: str | os.PathLike[str], transaction: OutputTransaction | None
) -> AbstractContextManager[Path]:
    """Yield a temporary path that takes the place of `path`: with other files, or when its block ends."""
    return atomic(path) if transaction is None else transaction.file(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all; see `atomic`."""
    files.write_texts({Path(path): text}, StudyError)


def check_writable(folder: str | os.PathLike[str], names: Iterable[str] = ()) -> None:
    """Find out before a run whether files can be made in a folder, and leave no trace.

    Parameters
    ----------
    folder
        Which is made where it is missing.
    names
        Of files that will be written there, or removed as out of date.

    Raises
    ------
    StudyError
        When it cannot be made or written, and for what is there by one of the names and must stay.
    """
    place = Path(folder)
    require_folder(folder)
    for name in names:
        files.require_replaceable(place / name, StudyError)
    missing: list[Path] = []
    try:
        missing = [p for p in (place, *place.parents) if not p.exists()]
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except (OSError, ValueError) as error:
        raise StudyError(files.unwritable(place, error)) from error
    finally:
        with contextlib.suppress(OSError):
            for made in missing:
                if made.is_dir() and not any(made.iterdir()):
                    made.rmdir()


def require_folder(folder: str | os.PathLike[str]) -> None:
    """Raise StudyError where a folder is to be and the path, or a part of it, is something else, or empty."""
    if not os.fspath(folder):
        raise StudyError("folder = '': the path is empty; name a folder, . for the current one")
    for place in (Path(folder), *Path(folder).parents):
        try:
            mode = place.stat().st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISDIR(mode):
            return
        what = "a file" if stat.S_ISREG(mode) else "a pipe or device"
        raise StudyError(
            f"cannot write to {files.abridged(folder)}: {files.abridged(place)} is {what} and no folder; "
            "name a folder for the files (-o, or [output] folder)"
        )
