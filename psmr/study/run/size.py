"""How large a run will be, and whether the machine has room for it: known before any time is simulated."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.integrate.run.table import available_memory, bytes_text
from psmr.integrate.schemes.scheme import Scheme
from psmr.study.record.recorded import Record

# Seconds of computing per fast step and unknown, about: 63 unknowns of WSCC-9 take 30 us a step.
SECONDS = 0.5e-6
# A run that is estimated to take longer is asked about.
LONGEST = 7 * 86_400.0
# Text of a number in a CSV file in bytes, and its share of memory where it is kept.
CSV, REAL = 20, 8
# Of what is free this share may be taken.
SHARE = 0.9


@dataclass(frozen=True)
class Size:
    """Estimates of a run.

    `steps`: Fast steps, the corrections of macro steps counted.
    `points`: Points that are kept.
    `memory`, `disk`: Bytes of points in memory, and in files and the folder for temporary files.
    `seconds`: Time of computing in s, to an order of magnitude.
    `least`: Whether the run may have more steps than these: its error chooses them, and a longest step is
      known.
    """

    steps: float
    points: float
    memory: float
    disk: float
    seconds: float
    least: bool = False

    def __str__(self) -> str:
        least = "at least " if self.least else ""
        return (
            f"{least}{self.steps:.3g} steps and {self.points:.3g} points: about {bytes_text(self.memory)} of "
            f"memory, {bytes_text(self.disk)} of disk, {_duration(self.seconds)}"
        )


def size_of(system: System, scheme: Scheme, t_end: float, record: Record | None, all: bool) -> Size:
    """Return the estimates of a run; of steps that the error chooses those that it must have at least."""
    ratio, macro_steps = float(scheme.ratio), t_end / scheme.longest_step
    steps = macro_steps * ratio * _passes(scheme)
    points = macro_steps * (ratio if all else 1.0)
    width, memory, disk = 1.0 + system.n + system.m, 0.0, 0.0
    if record is None:
        memory = REAL * width * points
    else:
        points /= record.every
        kept = REAL * width * points
        memory = min(kept, record.memory * 2.0**20)
        disk = (kept if kept > memory else 0.0) + len(record.files) * CSV * width * points
    return Size(steps, points, memory, disk, SECONDS * steps * (width - 1.0), scheme.chooses_steps)


def check_size(system: System, scheme: Scheme, t_end: float, record: Record | None, all: bool) -> None:
    """Refuse a run that is larger than the machine, with the estimate and what makes it smaller.

    Raises InputError for more memory or disk than is free, more than a week of computing, and more steps than
    the scheme is allowed.
    """
    size = size_of(system, scheme, t_end, record, all)
    allowed = getattr(scheme, "most_steps", math.inf)
    if size.steps > allowed:
        raise InputError(
            f"the run is too large: {size}; the scheme is allowed most_steps = {allowed:,}. Take a longer "
            "h_max (longest) or a shorter run, or allow more steps"
        )
    for what, remedy in _objections(size, record):
        raise InputError(
            f"the run is too large: {size}; {what}. {remedy}, or go on all the same with large=True (--yes)"
        )


def _objections(size: Size, record: Record | None) -> Iterator[tuple[str, str]]:
    free = available_memory() if size.memory > 0 else None
    if free is not None and size.memory > SHARE * free:
        yield (
            f"{bytes_text(free)} of memory are free",
            "Record fewer signals or every k-th step (record, every)",
        )
    folder = tempfile.gettempdir() if record is None or not record.files else _there(record.files[0])
    if size.disk > 0 and size.disk > SHARE * shutil.disk_usage(folder).free:
        yield (
            f"{bytes_text(shutil.disk_usage(folder).free)} are free in {folder}",
            "Record fewer signals or every k-th step (record, every)",
        )
    if size.seconds > LONGEST:
        yield f"more than {_duration(LONGEST)}", "Take a longer step or a shorter run"


def _passes(scheme: Scheme) -> float:
    return float(getattr(scheme, "passes", 1))


def _there(file: str | os.PathLike[str]) -> Path:
    """Return the folder of a file, or the nearest above it that exists."""
    place = Path(file).resolve().parent
    return next(folder for folder in (place, *place.parents) if folder.exists())


def _duration(seconds: float) -> str:
    for least, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= least:
            return f"{seconds / least:.3g} {unit}"
    return f"{seconds:.3g} s"
