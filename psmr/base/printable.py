"""Texts as a terminal or a page may show them: of others without what would steer it, and of records."""

from __future__ import annotations

import re
from dataclasses import Field, fields
from html import escape
from typing import Any

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


def steers(text: str) -> bool:
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
