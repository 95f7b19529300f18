"""The points of a run, gathered piece by piece and watched as they come; and tables that grow row by row.

A table is in memory, and beyond a limit in a temporary file; the limit leaves others their memory.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import PsmrError, SimulationError
from psmr.integrate.control.grid import Piece
from psmr.integrate.run.actions import Actions
from psmr.integrate.run.trajectory import Counters, Follower, Trajectory
from psmr.integrate.timeline.delayed_inputs import History
from psmr.integrate.timeline.span import SampledRows, Span, with_shared_ends

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


# A table that is full grows by this factor; the operating system moves pages, not numbers.
GROWTH = 1.25

# Rows that a table makes room for at once at least take so many bytes; they take memory only as they come.
LEAST = 2**18

# Bytes that are asked for at once at most; an operating system may refuse more than it has.
MOST_EXPECTED = 2**31


class GrowingTable:
    """Rows of a time and `width` values each.

    `width`: Values in a row.
    `limit`: Bytes that the rows may take in memory; what is more goes to a temporary file, which disappears
      with the table. None: no limit.
    `expected`: Rows that are expected; they take memory only as they come.
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

        Raises PsmrError where the disk is full; SimulationError where the memory of the machine is, but for a
        reserve.
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
                room = self._room(count, float(t[0]))
                if self.count:
                    self._rows.resize((room, self.width), refcheck=False)
                else:  # which does not write zeros into memory that may not be used
                    self._rows = np.empty((room, self.width))
            self._rows[self.count : count, 0] = t
            self._rows[self.count : count, 1:] = values
        self.count = count

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


# No quantity of a power system, in whatever unit, is larger.
LARGEST = 1e30


class Recorder:
    """Points in the order of time, and how many steps made them.

    `followers`: What sees the points as they come, one after another.
    `keep`: Whether all points are kept; otherwise the first one alone.
    `expected`: About how many there will be.
    `acting`: The devices that act by themselves; None where none does.
    `names`: Of the variables, for messages.
    `history`: What is read with a delay, which sees all points; None where nothing is.
    `inner`: Whether followers and table have the points within a step.
    `states`, `variables`, `size`: Number of states n, of states and algebraic variables n + m, and with
      sampled variables n + m + s.
    `sampled`: What samples had written at the last points; None where nothing samples.
    `steps`, `macro_steps`, `divided_at`, `jumped_at`: As in `Counters`.
    `spans`: What held from when on, each with its first row.
    """

    def __init__(
        self,
        states: int,
        variables: int,
        size: int,
        followers: Sequence[Follower] = (),
        keep: bool = True,
        expected: int = 0,
        acting: Actions | None = None,
        names: Sequence[str] = (),
        history: History | None = None,
        inner: bool = False,
    ) -> None:
        self.states, self.variables, self.size = states, variables, size
        self.sampled = None
        if size > variables:
            self.sampled = SampledRows(np.zeros(1), np.zeros((1, size - variables)))
        self.steps = self.macro_steps = 0
        self.divided_at: tuple[float, ...] = ()
        self.jumped_at: tuple[float, ...] = ()
        self.spans: list[Span] = []
        self._stopped = False
        self._paused = False
        self._followers = tuple(followers)
        self._whole = keep
        self._table = GrowingTable(size, expected=expected if keep else 1)
        self._acting = acting
        self._names = names
        self._history, self._inner = history, inner
        self._last: tuple[float, Reals] = (math.nan, np.empty(0))
        self._until = math.nan

    def stopped(self) -> bool:
        """Return whether a follower has ended the integration; the last point is the one at which it did."""
        return self._stopped

    def instant(self, t: float, same: float) -> float:
        """Return t, or the time of the last point where they are one: an instant stands twice, exactly."""
        return self._until if abs(t - self._until) <= same else t

    def paused(self) -> bool:
        """Return whether an action falls between the last point and the next, which is dropped."""
        return self._paused

    def go_on(self) -> tuple[float, Reals]:
        """Return the time in s and the (n + m + s,) values of the last point, from which it goes on."""
        self._paused = False
        return self._last

    def chunk(self, by_the_clock: int) -> int:
        """Return how many steps to take before they are looked at.

        Where that may end the run, not as many as the clock suggests but always as many: the work of the
        steps beyond the end is counted too, and a run repeated must count the same.
        """
        if self._acting is None and not any(follower.ends for follower in self._followers):
            return by_the_clock
        return max(16, min(256, 2**16 // self.size))

    def begin(self, span: Span, w: Reals) -> None:
        """Take the point in w at which a span begins."""
        for follower in self._followers:
            follower.begin(span if self._history is None else replace(span, delayed=self._history))
        if self._history is not None:
            self._history.begin()
        if self._acting is not None:
            self._acting.begin(span, w)
        times, rows = np.array([span.t]), w[None, : self.size]
        if self._before_action(times, rows) is None:
            self.spans.append(replace(span, first=self._table.count))
            self._keep(times, rows, np.zeros(1, np.int64))

    def jump(self, span: Span, before: Reals, w: Reals) -> None:
        """Take the point in w, at which the algebraic variables have jumped to another solution.

        The point before stands there too, also where it is within a divided step, whose points are left out.
        """
        self.jumped_at += (float(w[-1]),)
        if self._until < before[-1]:
            times, rows = before[-1:].copy(), before[None, : self.size].copy()
            if self._before_action(times, rows) is None:
                self._keep(times, rows, np.zeros(1, np.int64))
        if not (self._stopped or self._paused):
            self.begin(span, w)

    def take_sampled(self, w: Reals) -> None:
        """Take the point in w behind samples that were taken at the time of the last point."""
        times, rows = w[-1:].copy(), w[None, : self.size].copy()
        if self._before_action(times, rows) is None:
            self._keep(times, rows, np.zeros(1, np.int64))

    def stops_before(self, span: Span) -> bool:
        """Return whether a follower ends the integration before a span that is about to begin."""
        for follower in self._followers:
            self._stopped |= follower.stops_before(span)
        return self._stopped

    def add(self, piece: Piece) -> None:
        """Take the points of some steps."""
        at = piece.ends
        if self._acting is not None:
            jumps = at[(at > 0) & (piece.t[at - 1] == piece.t[at])]
            seen = np.union1d(at, jumps - 1) if jumps.size else at
            kept = self._before_action(piece.t[seen], piece.rows[seen])
            at = at if kept is None else at[at < seen[kept]]
        count = int(at[-1]) + 1 if at.size else 0
        t, rows, places = piece.t[:count], piece.rows[:count], np.arange(count)
        divided = piece.parts[: at.size].nonzero()[0]
        if divided.size:
            begins = np.append(0, at + 1)
            inner = np.concatenate([np.arange(begins[k], at[k]) for k in divided])
            if inner.size:
                places = np.setdiff1d(places, inner)
                t, rows = t[places], rows[places]
        # Steps that are complete at each point.
        complete = places + 1 if at.size == count else np.searchsorted(at, places, side="right")
        number = self._keep(t, rows, complete)
        self.steps += int(piece.fast[:number].sum()) - number
        self.divided_at += tuple(float(piece.starts[k]) for k in divided if k < number)

    def _before_action(self, times: Reals, rows: Reals) -> int | None:
        """Return how many of the points come before an action of a device, None for all."""
        self._note_sampled(times, rows)
        kept = self._acting.look(times, rows[:, : self.variables]) if self._acting is not None else None
        self._paused = kept is not None
        return kept

    def _note_sampled(self, times: Reals, rows: Reals) -> None:
        if self.sampled is not None:
            self.sampled.t, self.sampled.values = times, rows[:, self.variables :]

    def _keep(self, times: Reals, rows: Reals, complete: NDArray[np.int64]) -> int:
        """Keep points until a follower ends the run; return how many steps they complete.

        `complete` has how many steps are complete at each point.
        """
        if not rows.size or (rows.max() < LARGEST and rows.min() > -LARGEST):
            return self._follow(times, rows, complete)
        wrong = int(np.argmax(~(np.abs(rows) < LARGEST).all(axis=1)))
        number = self._follow(times[:wrong], rows[:wrong], complete[:wrong])
        if not self._stopped:
            self._refuse(float(times[wrong]), rows[wrong])
        return number

    def _follow(self, times: Reals, rows: Reals, complete: NDArray[np.int64]) -> int:
        if not len(times):
            return 0
        if self._history is not None:
            accepted = np.diff(complete, prepend=0) > 0
            accepted[-1] = True  # the end of a step, or the begin of a span
            self._history.points(times, rows[:, : self.variables], accepted)
            if not self._inner:
                times, rows, complete = times[accepted], rows[accepted], complete[accepted]
        self._note_sampled(times, rows)
        for follower in self._followers:
            last = follower.points(times, rows[:, : self.variables])
            if last is not None:
                self._stopped = True
                times, rows, complete = times[: last + 1], rows[: last + 1], complete[: last + 1]
        self._until = float(times[-1])
        if self._acting is not None:
            self._last = self._until, rows[-1].copy()
        if self._whole:
            self._table.append(times, rows)
        elif self._table.count == 0:
            self._table.append(times[:1], rows[:1])
        number = int(complete[-1])
        self.steps += number
        self.macro_steps += number
        return number

    def _refuse(self, t: float, row: Reals) -> None:
        """Raise the error of a point whose values no quantity has."""
        worst = int(np.argmax(np.where(np.isfinite(row), np.abs(row), np.inf)))
        name = self._names[worst] if self._names else f"variable {worst + 1}"
        raise SimulationError(
            f"t = {t:.6g} s: {name} = {row[worst]:.3g}, and no quantity is beyond {LARGEST:g}: the scheme is "
            "unstable on this system, or the system itself is; take a smaller step or an implicit scheme"
        )

    def trajectory(self, counters: Counters, h: float) -> Trajectory:
        """Return everything so far; of one that keeps none the first point alone."""
        rows = self._table.rows()
        t, states, size = rows[:, 0].copy(), 1 + self.states, 1 + self.variables
        spans = with_shared_ends(self.spans, len(rows)) if self._whole else ()
        if self.sampled is not None:
            spans = tuple(
                replace(span, sampled=SampledRows(t[span.rows], rows[span.rows, size:])) for span in spans
            )
        return Trajectory(t, rows[:, 1:states], rows[:, states:size], counters, h, spans)
