"""The folder of a sweep: its definition, finished rows as one Parquet data set, signals, and a lock."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import StudyError, first_few
from psmr.files.text import require_file
from psmr.study.output import atomic, require_folder, write_text
from psmr.sweep.point_runner import Batch
from psmr.sweep.sweep import Sweep, json_form
from psmr.version import __version__

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "psmr-sweep-results"

# Files of a data set above which they are joined when the sweep is done.
MANY_FILES = 64


class Store:
    """The results of one sweep, written as they arrive.

    Each batch is one file, which appears whole or not at all, so that a sweep that is killed at any instant
    keeps every batch that arrived. Signals of a batch are written before its rows, under the same name;
    those without rows are of a batch that did not get that far, and go when the folder is opened again.

    Raises StudyError when another process is at work on the folder, when it holds another sweep (what is
    different), or when it cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], sweep: Sweep, count: int) -> None:
        self.folder, self.count = Path(folder), count
        self.runs, self.signals = self.folder / "runs", self.folder / "signals"
        require_folder(folder)
        try:
            for place in (self.folder, self.runs):
                place.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.folder)
        except OSError as error:
            raise StudyError(f"cannot write to {self.folder}: {error.strerror or error}") from error
        try:
            self._describe(sweep)
            self._remove_unfinished()
        except BaseException:
            self.close()
            raise

    def _describe(self, sweep: Sweep) -> None:
        """Write what is swept, or find out that the folder holds the same."""
        now = {"format": FORMAT, "psmr": __version__, "points": self.count, **sweep.definition()}
        now["content"] = {name: _digest(path) for name, path in _files(sweep)}
        now = json_form(now)
        place = self.folder / "sweep.json"
        if not place.exists():
            if any(self.runs.iterdir()):
                raise StudyError(
                    f"{self.folder}: has results of a sweep that is not described; choose another folder"
                )
            write_text(place, json.dumps(now, indent=1, ensure_ascii=False) + "\n")
            return
        try:
            before = json.loads(place.read_text(encoding="utf-8"))
            if not isinstance(before, dict):
                raise ValueError("it is no description of a sweep")
        except (OSError, ValueError, RecursionError) as error:
            raise StudyError(f"{place}: cannot be read ({error}); choose another folder") from error
        changed = [words for words in _differences("", before, now) if words]
        if changed:
            raise StudyError(
                f"{self.folder} holds another sweep; different are: {first_few(changed, 8, '; ')}. Choose "
                "another folder, or remove this one"
            )

    def _remove_unfinished(self) -> None:
        for file in (*self.folder.glob("*/.*.parquet"), *self.folder.glob("*/.*.tmp")):
            file.unlink(missing_ok=True)
        written = list(self.signals.glob("part-*.parquet"))
        finished = set(self.finished().tolist()) if written else set()
        for file in written:
            if int(file.stem.removeprefix("part-")) not in finished:
                file.unlink()

    def finished(self) -> NDArray[np.int64]:
        """Return the numbers of the points that are done, in order."""
        parts = [_table(file, ["run"])["run"].to_numpy() for file in sorted(self.runs.glob("part-*.parquet"))]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def write(self, batch: Batch) -> None:
        """Write a batch; StudyError when the disk is full or the folder has gone: what is there stays."""
        name = f"part-{batch.numbers[0]:08d}.parquet"
        with self._readably():
            if batch.signals is not None:
                self.signals.mkdir(exist_ok=True)
                _write(self.signals / name, batch.signals)
            _write(self.runs / name, batch.rows)

    @contextlib.contextmanager
    def _readably(self) -> Iterator[None]:
        try:
            yield
        except (OSError, StudyError) as wrong:
            error = wrong if isinstance(wrong, OSError) else wrong.__cause__
            if not isinstance(error, OSError):
                raise
            reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
            raise StudyError(
                f"{self.folder}: {reason or error}; every run that was finished before is there. Make room "
                "and give the command again: it goes on where it was"
            ) from wrong

    def join(self) -> None:
        """Join many small files of rows into few, in the order of the points."""
        files = sorted(self.runs.glob("part-*.parquet"))
        if len(files) <= MANY_FILES:
            return
        import pyarrow

        with self._readably():
            for first in range(0, len(files), MANY_FILES):
                members = files[first : first + MANY_FILES]
                table = pyarrow.concat_tables([_table(file) for file in members])
                # The new file takes the name of its first member, whose rows are among its own: killed here,
                # the other members hold rows twice, and a reader takes one of each.
                _write(members[0], table.sort_by("run"))
                for file in members[1:]:
                    file.unlink()

    def report_of(self, sweep: Sweep) -> tuple[Path, ...]:
        """Return the files of the report on these rows, where it was written before and all are there."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            noted = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
            files = tuple(self.folder / name for name in noted["files"])
            if (
                noted["name"] == sweep.name
                and noted["worst"] == sweep.worst
                and all(map(Path.is_file, files))
            ):
                return files
        return ()

    def note_report(self, sweep: Sweep, files: tuple[Path, ...]) -> tuple[Path, ...]:
        """Note the files of a report that is whole, and return them."""
        names = [file.relative_to(self.folder).as_posix() for file in files]
        noted = {"name": sweep.name, "worst": sweep.worst, "files": names}
        write_text(self.folder / "report.json", json.dumps(noted, indent=1, ensure_ascii=False) + "\n")
        return files

    def table(self) -> pd.DataFrame:
        """Return all rows, in the order of the points."""
        return read_rows(self.folder)

    def release(self) -> None:
        """Close the lock in a forked process; who took it keeps it, and its file stays where it is."""
        self._lock.close()

    def close(self) -> None:
        """Let others have the folder, and leave no lock in it."""
        place = _lock_of(self.folder)
        if os.name == "nt":  # there an open file cannot be removed
            self._lock.close()
        with contextlib.suppress(OSError):
            place.unlink()
        self._lock.close()


def read_rows(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the rows in a folder of a sweep, in the order of the points."""
    import pyarrow

    files = sorted(Path(folder, "runs").glob("part-*.parquet"))
    if not files:
        raise StudyError(f"{folder}: has no finished run of a sweep")
    table = pyarrow.concat_tables([_table(file) for file in files]).to_pandas()
    return table.drop_duplicates("run").sort_values("run", ignore_index=True)


def _table(file: Path, columns: list[str] | None = None) -> Any:
    """Return the rows in a file of the data set."""
    import pyarrow
    import pyarrow.parquet as parquet

    require_file(file)
    try:
        return parquet.read_table(file, columns=columns)
    except pyarrow.ArrowException as error:
        raise StudyError(
            f"{file}: is damaged ({error}); remove it, and give the command again: its runs are done anew"
        ) from error


def _write(path: Path, table: Any) -> None:
    import pyarrow.parquet as parquet

    with atomic(path) as temporary:
        parquet.write_table(table, temporary)


def _lock_of(folder: Path) -> Path:
    return folder / ".lock"


def _locked(folder: Path) -> IO[str]:
    """Return the open lock of a folder, which the system releases when this process ends, however it ends.

    Who holds it removes it before letting it go. One that was opened before and locked after that is no lock
    any more: another sweep may have made a new one.
    """
    place = _lock_of(folder)
    while True:
        file = _lock(folder, place)
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(place)):
                return file
        file.close()


def _lock(folder: Path, place: Path) -> IO[str]:
    """Open and lock a file."""
    if place.is_symlink() or (place.exists() and not place.is_file()):
        raise StudyError(f"{place}: is no lock of a sweep but a link, a pipe or a device; remove it")
    file = open(place, "a", encoding="utf-8")  # noqa: SIM115
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            file.close()
            raise _busy(folder) from error
    except BlockingIOError as error:
        file.close()
        raise _busy(folder) from error
    return file


def _busy(folder: Path) -> StudyError:
    return StudyError(
        f"{folder}: another sweep is at work on this folder; wait for it to end, or choose another "
        "folder (-o)"
    )


def _files(sweep: Sweep) -> Iterator[tuple[str, Path]]:
    """Yield what files the rows follow from."""
    for case in sweep.cases:
        yield Path(case.path).name, Path(case.path)
        if case.dynamics is not None:
            yield Path(case.dynamics).name, Path(case.dynamics)
    for axis in sweep.axes:
        file = getattr(axis, "file", None)
        if file is not None:
            yield Path(file).name, Path(file)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _differences(place: str, before: Any, now: Any) -> Iterator[str]:
    """Yield what differs between two plain values, in words."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _differences(f"{place}.{key}" if place else key, before.get(key), now.get(key))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for k, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _differences(f"{place}[{k + 1}]", old, new)
    elif before != now:
        if place.startswith("content."):
            yield f"the content of {place.removeprefix('content.')}"
        else:
            yield f"{place} = {_short(now)}, there {_short(before)}"


def _short(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=False)
    return words if len(words) <= 80 else f"{words[:77]}..."
