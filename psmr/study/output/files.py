"""Writing results: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psmr.errors import StudyError


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its place when the block ends well, else is removed.

    Raises
    ------
    StudyError
        When the folder cannot be written.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # The suffix stays last: some writers choose the format by it.
        handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise StudyError(_unwritable(target, error)) from error
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files that only their owner may read; a result gets the permissions of any new file.
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    except IsADirectoryError as error:
        raise StudyError(_unwritable(target, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Find out before a run whether files can be made in a folder, and leave no trace.

    Raises
    ------
    StudyError
        When it cannot be made or written.
    """
    place = Path(folder)
    missing = [p for p in (place, *place.parents) if not p.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise StudyError(_unwritable(place, error)) from error
    finally:
        for made in missing:
            if made.is_dir() and not any(made.iterdir()):
                made.rmdir()


def _unwritable(path: Path, error: OSError) -> str:
    return f"cannot write to {path}: {error.strerror or error}; choose another place (-o, or [output] folder)"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
