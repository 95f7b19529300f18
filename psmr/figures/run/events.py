"""Events on a panel over time: faults shaded, a line for anything else, and what it is."""

from __future__ import annotations

import string
from collections.abc import Sequence

from psmr.figures.chart import DASHED, FAINT, FAST, TOP, Mark, Words, across, band
from psmr.study.events import Fault
from psmr.study.record.recorded import Recorded

# Events that a page lists and its figures mark by letters; a time series has hundreds.
LETTERED = 60


def event_lines(run: Recorded, other: Recorded | None = None) -> list[Mark]:
    """Return shades and lines; beside another run, drawn dashed, its own events alone are dashed lines."""
    marks: list[Mark] = [band(event.start, event.cleared) for event in run.events if isinstance(event, Fault)]
    marks += [across("x", t, dashes=DASHED if other is None else ()) for t, _ in run.instants]
    if run.stopped is not None:
        marks.append(across("x", run.stopped.t, FAST, 1.0))
    return marks + [across("x", t, dashes=DASHED) for t, _ in _theirs(run, other)]


def event_captions(run: Recorded, other: Recorded | None = None) -> list[Mark]:
    """Return what happens, above a panel: one caption above the other, those of late events to the left."""
    captions = [*_captions(run), *((t, f"dashed: {label}") for t, label in _theirs(run, other))]
    late = float(run.t[0] + 0.6 * (run.t[-1] - run.t[0]))
    marks: list[Mark] = []
    for level, (t, label) in enumerate(sorted(captions, key=lambda one: one[0], reverse=True)):
        side, right = ("right", -4) if t > late else ("left", 4)
        # A thin stem leads from a raised label down to its line.
        stem = 11.0 + 10 * level if level else 0.0
        shift = right, 3 + 10 * level
        marks.append(Words(f"{label}, {t:g} s", (t, 1.0), TOP, shift, 7.5, FAINT, side, stem=stem))  # type: ignore[arg-type]
    return marks


def event_letters(run: Recorded, ends: tuple[float, float], width: float) -> list[Mark]:
    """Return each event by the letter that it has in the table of events.

    Parameters
    ----------
    run
        Whose events they are.
    ends, width
        Times in s at both ends of the panel, and its width in points.
    """
    letter_width = 5.0 / width * (ends[1] - ends[0])
    close: list[tuple[float, list[str]]] = []
    for letter, (instant, _) in zip(letters(len(run.instants)), run.instants, strict=True):
        # Events closer than the letters before them are wide share their place.
        if close and instant - close[-1][0] < letter_width * (len(_together(close[-1][1])) + 1):
            close[-1][1].append(letter)
        else:
            close.append((instant, [letter]))
    if len(run.instants) > LETTERED:
        return []
    return [Words(_together(marks), (t, 1.0), TOP, (2, 2), colour=FAINT) for t, marks in close]


def letters(count: int) -> list[str]:
    """Return a, b, ... z, aa, ab, ... for so many events."""
    alphabet = string.ascii_lowercase
    return [alphabet[k] if k < 26 else alphabet[k // 26 - 1] + alphabet[k % 26] for k in range(count)]


def _together(marks: Sequence[str]) -> str:
    """Return the letters of events that share a place, as a range where there are many."""
    return ",".join(marks) if len(marks) < 3 else f"{marks[0]}-{marks[-1]}"


def _captions(run: Recorded) -> tuple[tuple[float, str], ...]:
    """Return (time, label) of the events of a run, and of the monitor that ended it."""
    stopped = () if run.stopped is None else ((run.stopped.t, f"stopped by {run.stopped.monitor}"),)
    return (*run.instants, *stopped)


def _theirs(run: Recorded, other: Recorded | None) -> list[tuple[float, str]]:
    """Return (time, label) of the events that another run alone has."""
    own = _captions(run)
    return [] if other is None else [caption for caption in _captions(other) if caption not in own]
