"""The errors of psmr, one small tree, and texts as a terminal or a page may show them.

Every message says what went wrong, where (file and line, device and field, variable, time and iteration),
with which value, and what to try.
"""

from __future__ import annotations

import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, fields
from html import escape
from typing import Any, ParamSpec, TypeVar

_STEERING = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls of terminals (Cc) but tab and end of line; C1 begins with \x80
    r"\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # directions, lines, no width
    r"\ud800-\udfff\U000e0000-\U000e007f"  # halves of characters, tags that nobody sees
)
_OF_TEXT = re.compile(f"[{_STEERING}]")
_OF_LINE = re.compile(f"[{_STEERING}\t\n]")


def printable(text: str) -> str:
    r"""Return a text of lines with escapes such as ``\u001b`` for characters that would steer its reader.

    A terminal obeys ESC and C1, U+202E turns the order of what follows round, and others are not seen.
    """
    return text if text.isprintable() else _OF_TEXT.sub(_escape, text)


def in_line(text: str) -> str:
    """Return a text as `printable` does, with tabs and ends of lines as escapes, too."""
    return text if text.isprintable() else _OF_LINE.sub(_escape, text)


def has_control_characters(text: str) -> bool:
    """Return whether a text has a character that `in_line` escapes."""
    return not text.isprintable() and _OF_LINE.search(text) is not None


def _escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    # A pair of halves beyond U+FFFF is how JSON and JavaScript escape it, in whose texts this happens, too.
    if number < 0x10000:
        return f"\\u{number:04x}"
    return f"\\u{0xD7C0 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


SMALLEST = 1e-4
"""Percentage below which only that is said."""


def percent_text(fraction: float, sign: str = "", unit: str = "%") -> str:
    """Return a fraction as a percentage to three digits; nothing where it is not a number."""
    if fraction != fraction:
        return ""
    percent = 100.0 * fraction
    if 0.0 < abs(percent) < SMALLEST:
        text = "0" if sign else f"< {SMALLEST:g}"
    else:
        text = f"{percent:{sign if percent else ''}.3g}"
    return f"{text}\N{NO-BREAK SPACE}{unit}"


class PrintedFields:
    """What frozen dataclasses print of themselves: the call that makes them, and a table of their fields."""

    def __repr__(self) -> str:
        """Return the call that makes the record, without what has its default."""
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in self._fields() if not self._is_default(f))
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><td {left}>{f.name}</td><td {left}>{escape(str(getattr(self, f.name)))}</td>"
            f"<td {left}>{'default' if self._is_default(f) else ''}</td></tr>"
            for f in self._fields()
        )
        return f"<p><strong>{escape(str(self))}</strong></p><table>{rows}</table>"

    def _fields(self) -> tuple[Field[Any], ...]:
        return fields(self)  # type: ignore[arg-type]

    def _is_default(self, field: Field[Any]) -> bool:
        return bool(getattr(self, field.name) == field.default)


SHOWN = 50
"""So many mistakes of a file are listed; of more only the number is said."""

_LONGEST = 200
"""Of a value that is longer, this many characters are shown."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


class PsmrError(Exception):
    """Base of every error that psmr raises on purpose.

    Attributes
    ----------
    partial
        The points up to a failure in a run, where its caller asked to keep them; otherwise None.
    """

    partial: Any = None

    def __str__(self) -> str:
        # What it quotes of a file must not steer the terminal that shows it.
        return printable(super().__str__())


class InputError(PsmrError, ValueError):
    """Something that was handed in is wrong: a name, a value, a file.

    Attributes
    ----------
    field
        Name of the field or argument that is wrong, where it is one alone; otherwise "".
    mistakes
        Each for itself, where there are several.
    """

    mistakes: tuple[str, ...] = ()

    def __init__(self, *words: object, field: str = "") -> None:
        super().__init__(*words)
        self.field = field


class CaseError(InputError):
    """A case (network, devices, parameters) is wrong or contradicts itself."""


class StudyError(InputError):
    """A study file is wrong or contradicts itself."""


class SchemeError(InputError):
    """A choice of the integration scheme is out of range or does not fit the system."""


class EventError(InputError):
    """An event names something that is not there, or a time outside the run.

    Attributes
    ----------
    event
        The event, where one alone is at fault; otherwise None.
    """

    event: Any = None


class PowerFlowError(PsmrError):
    """The power flow has no solution, or none was found."""


class InitialisationError(PsmrError):
    """No equilibrium was found, or a device starts outside its limits."""


class SimulationError(PsmrError):
    """A step did not converge or left the finite numbers."""


class SingularError(PsmrError):
    """A matrix that must be regular is singular."""


class PsmrWarning(UserWarning):
    """Something that lets a run go on and that its user must know."""

    def __str__(self) -> str:
        return printable(super().__str__())


class PsmrDeprecationWarning(PsmrWarning, FutureWarning):
    """Something works under a former name or in a former form, and will not in a later version."""


def warn(words: str, kind: type[PsmrWarning] = PsmrWarning) -> None:
    """Warn of something, at the first line outside psmr that led there."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "psmr":
        frame, level = frame.f_back, level + 1
    warnings.warn(words, kind, stacklevel=level + 1)


def deprecated(what: str, remedy: str, until: str = "2.0") -> None:
    """Warn (PsmrDeprecationWarning) of what works in every version before `until`, and say what to do now.

    The one way in which psmr gives up a name, a field, an option or a form of a file: docs/stability.md.
    """
    warn(f"{what}: deprecated, psmr {until} will not take it; {remedy}", PsmrDeprecationWarning)


CALLED: Mapping[str, str] = {
    **dict.fromkeys(("trapezoidal", "trapezoidal rule", "trapezoid"), "TM"),
    **dict.fromkeys(("backward euler", "implicit euler"), "BEM"),
    **dict.fromkeys(("forward euler", "explicit euler", "euler"), "FEM"),
    **dict.fromkeys(("runge-kutta", "rk"), "RK4"),
}
"""What methods are called elsewhere."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name closest to `name`, or an empty string.

    Capitals do not count, and what a name is elsewhere (`CALLED`) is known.
    """
    by_lower = {one.lower(): one for one in known}
    by_lower |= {other: one for other, one in CALLED.items() if one.lower() in by_lower}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    matches = matches or [one for one in by_lower if len(name) > 2 and one.startswith(name.lower())]
    return f"; did you mean {by_lower[matches[0]]!r}?" if matches else ""


def shown(value: Any) -> str:
    """Return a value for a message, cut where it is long."""
    try:
        words = repr(value)
    except ValueError:
        # Python writes no whole number of more than 4,300 digits.
        return "a whole number of more than 4300 digits"
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def without_numbers(words: str) -> str:
    """Return words with # for each number, names apart: the same for sentences that differ in values."""
    return re.sub(r"(?<![\w.-])[-+]?\d[\d.]*(e[-+]?\d+)?", "#", words)


def first_few(words: Sequence[str], most: int, mark: str = ", ") -> str:
    """Return words as a list in a message: the first, at most so many, and how many more there are."""
    return mark.join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


class Mistakes:
    """Collects what is wrong with a file while it is read; `finish` raises all of it as one `error`."""

    def __init__(self, error: type[InputError] = CaseError) -> None:
        self.error = error
        self.found: list[str] = []

    def attempt(
        self, what: Callable[Given, Result], *arguments: Given.args, **more: Given.kwargs
    ) -> Result | None:
        """Return what a function returns; where it raises InputError keep that, and return None."""
        try:
            return what(*arguments, **more)
        except InputError as error:
            self.found += [words for words in error.mistakes or (str(error),) if words not in self.found]
            return None

    def finish(self) -> None:
        """Raise the error with everything that was found, if anything was."""
        if self.found:
            raise self.made()

    def made(self) -> InputError:
        """Return the error with everything that was found, which is not nothing, in order of the lines."""
        self.found = _by_line(self.found)
        if len(self.found) == 1:
            return self.error(self.found[0])
        more = len(self.found) - SHOWN
        rest = [f"... and {more} more"] if more > 0 else []
        error = self.error("\n  ".join([f"{len(self.found)} mistakes:", *self.found[:SHOWN], *rest]))
        error.mistakes = tuple(self.found)
        return error


def _by_line(found: list[str]) -> list[str]:
    """Return sentences that begin with file and line in the order of files, as met, and lines."""
    places = [re.match(r"(.+?):(\d+)(?=[: ])", words) for words in found]
    files = [place[1] for place in places if place]
    if len(files) < len(found):
        return found
    keys = [(files.index(place[1]), int(place[2])) for place in places if place]
    return [found[k] for k in sorted(range(len(found)), key=keys.__getitem__)]


def error_at(error: InputError, kind: type[InputError], place: str) -> InputError:
    """Return an error of a kind that says the same, every mistake with its place before it."""
    mistakes = Mistakes(kind)
    mistakes.found = [f"{place}: {words}" if place else words for words in error.mistakes or (str(error),)]
    return mistakes.made()


@contextmanager
def errors_at(kind: type[InputError], place: str = "") -> Iterator[None]:
    """Make of an InputError one of a kind, with a place before every mistake."""
    try:
        yield
    except InputError as error:
        raise error_at(error, kind, place) from error
