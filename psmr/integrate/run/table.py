"""A table over time that grows row by row: in memory, and beyond a limit in a temporary file.

The memory that a process may still take, and what of it a table that grows leaves to others.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import PsmrError, SimulationError

# So much stays free for what is done with a table, or as much as the table has, if that is less.
RESERVE = 2**28

# So few bytes are never what a machine lacks; to ask whether they are there takes longer than to use them.
SMALL = 2**22

# Where Linux has its groups of processes.
GROUPS = Path("/sys/fs/cgroup")


def available_memory() -> float | None:
    """Return the bytes of memory that this process may still take; None where the system does not say."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    for group in _groups():
        try:
            limit = int((group / "memory.max").read_text(encoding="ascii"))
            used = int((group / "memory.current").read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such group, or "max"
            continue
        found.append(float(max(0, limit - used + _reclaimable(group))))
    return min(found, default=None)


def _groups() -> list[Path]:
    """Return the folders of this process's group and of those that it is in."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    own = next((line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::")), "")
    parts = own.split("/") if own else []
    return [GROUPS.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _reclaimable(group: Path) -> int:
    """Return the bytes of files that a group has in memory and that make room where it is needed."""
    try:
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def room_for_more(taken: float, wanted: float) -> float:
    """Return how many bytes, up to `wanted`, something that has `taken` bytes may take in addition."""
    if taken + wanted <= SMALL:
        return wanted
    free = available_memory()
    return wanted if free is None else min(wanted, max(0.0, free - min(RESERVE, taken)))


def bytes_text(count: float) -> str:
    """Return a number of bytes to three digits, with its unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024.0:
            return f"{count:.3g} {unit}"
        count /= 1024.0
    return f"{count:.3g} PiB"


Reals = NDArray[np.float64]

# A table that is full grows by this factor; the operating system moves pages, not numbers.
GROWTH = 1.25

# Rows that a table makes room for at once at least take so many bytes; they take memory only as they come.
LEAST = 2**18

# Bytes that are asked for at once at most; an operating system may refuse more than it has.
MOST_EXPECTED = 2**31


class Table:
    """Rows of a time and `width` values each.

    Parameters
    ----------
    width
        Values in a row.
    limit
        Bytes that the rows may take in memory; what is more goes to a temporary file, which disappears with
        the table. None: no limit.
    expected
        Rows that are expected; they take memory only as they come.
    """

    def __init__(self, width: int, limit: float | None = None, expected: int = 0) -> None:
        self.width, self.count = 1 + width, 0
        self._limit = limit
        row = 8 * self.width
        first = int(room_for_more(0.0, min(row * expected, MOST_EXPECTED)) / row)
        self._rows = np.empty((first, self.width))
        self._file: IO[bytes] | None = None

    def append(self, t: Reals, values: Reals) -> None:
        """Take (K,) times and (K, width) values; they are copied.

        Raises
        ------
        PsmrError
            Where the disk is full.
        SimulationError
            Where the memory of the machine is, but for a reserve.
        """
        count = self.count + len(t)
        if self._file is None and self._limit is not None and 8 * count * self.width > self._limit:
            self._file = tempfile.TemporaryFile(prefix="psmr-")  # noqa: SIM115  # open as long as the table
            self._write(self._rows[: self.count])
            self._rows = np.empty((0, self.width))
        if self._file is not None:
            self._write(np.column_stack([t, values]))
        else:
            if count > len(self._rows):
                self._widen(self._room(count, float(t[0])))
            self._rows[self.count : count, 0] = t
            self._rows[self.count : count, 1:] = values
        self.count = count

    def _widen(self, room: int) -> None:
        """Make room for so many rows."""
        if self.count:
            self._rows.resize((room, self.width), refcheck=False)
        else:  # which does not write zeros into memory that may not be used
            self._rows = np.empty((room, self.width))

    def _room(self, count: int, t: float) -> int:
        """Return the rows to make room for, where `count` are needed at t in s."""
        row, there = 8.0 * self.width, len(self._rows)
        wanted = max(count, int(GROWTH * there), int(LEAST / row))
        room = there + int(room_for_more(row * there, row * (wanted - there)) / row)
        if room < count:
            raise SimulationError(
                f"t = {t:.6g} s: the {self.count} points of the run so far take "
                f"{bytes_text(row * self.count)}, and the memory of this machine has no room for more; "
                "record fewer signals or every k-th step (record, every), which also goes to a file, take a "
                "shorter run, or a larger machine"
            )
        return room

    def _write(self, rows: Reals) -> None:
        assert self._file is not None
        try:
            self._file.write(np.ascontiguousarray(rows).data)
            self._file.flush()
        except OSError as error:
            raise PsmrError(
                f"the points of the run cannot be kept in {tempfile.gettempdir()}: "
                f"{error.strerror or error}; make room there, choose another folder (TMPDIR), record fewer "
                "signals, or every k-th step only"
            ) from error

    def rows(self) -> Reals:
        """Return the (count, 1 + width) rows, the time first; nothing can be appended while they are used."""
        if self._file is not None and self.count:
            return np.memmap(self._file, dtype=float, mode="r", shape=(self.count, self.width))
        self._rows.resize((self.count, self.width), refcheck=False)
        return self._rows
