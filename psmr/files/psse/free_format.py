"""The fields of PSS/E's free format, which is list-directed input of Fortran.

Fields are separated by commas or blanks, texts are in single or double quotes, two commas in a row leave a
field out, ``3*0.5`` is a field three times, ``3*`` leaves three out, and a slash ends the record. Source:
ISO/IEC 1539-1:2018, Fortran, 13.10.3.
"""

from __future__ import annotations

import re

from psmr.base.errors import CaseError, shown

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<plain>[^,\s'"/*]+)(?![^,\s/])
        | (?P<mark>[,/])
        | (?P<none>[1-9][0-9]*)\*(?![^,\s/])
        | (?:(?P<times>[1-9][0-9]*)\*)?
          (?: '(?P<single>(?:[^']|''|'(?=[^\s,/'"]))*)' | "(?P<double>(?:[^"]|"")*)" | (?P<other>[^,\s'"/]+) )
        | $
        | (?P<open>['"])
    )""",
    re.VERBOSE,
)
"""A field; an apostrophe within a text is one that no separator follows, or is doubled."""

_QUOTES = {"single": "'", "double": '"'}

_MOST = 1000
"""Times that a field may be repeated; no record has so many fields."""


def fields_of(line: str, place: str, separated: bool = True) -> tuple[list[str | None], bool, bool]:
    """Return the fields of a line, whether a slash ends it, and whether a comma is the last thing in it.

    A field that is left out is None. `separated` says whether a comma was the last thing before the line, or
    nothing: then a comma at its beginning leaves a field out.

    Raises
    ------
    CaseError
        For a quotation mark without its partner and a field that is repeated too often, naming `place`.
    """
    fields: list[str | None] = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup
        if kind is None:
            continue
        if kind == "mark":
            if match["mark"] == "/":
                return fields, True, separated
            fields += [None] if separated else []
        elif kind == "plain":
            fields.append(match["plain"])
        elif kind == "none":
            fields += [None] * _count(match["none"], place)
        elif kind == "open":
            rest = line[match.start("open") :][:20]
            raise CaseError(f"{place}: a quotation mark at {rest!r} is not closed")
        else:
            quote = _QUOTES.get(kind, "")
            fields += [match[kind].replace(2 * quote, quote)] * _count(match["times"] or "1", place)
        separated = kind == "mark"
    return fields, False, separated


def split(line: str, place: str) -> list[str | None]:
    """Return the fields of a record of one line, see `fields_of`."""
    return fields_of(line, place)[0]


def _count(times: str, place: str) -> int:
    if len(times) > len(str(_MOST)) or int(times) > _MOST:
        raise CaseError(f"{place}: {shown(times)}*: a field can be repeated at most {_MOST} times")
    return int(times)
