"""The sections of a PSS/E RAW file as lists of records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from psmr.base.errors import CaseError, warn
from psmr.files.psse.conventions import THRSHZ
from psmr.files.psse.direct_current import MODELLED
from psmr.files.psse.epc import read_epc
from psmr.files.psse.rawx import read_rawx
from psmr.files.psse.record import (
    CASE,
    COUNTED,
    LAST_ADJUSTED,
    LINES,
    VERSIONS,
    PsseRecord,
    fields,
    sections,
    split,
)
from psmr.files.text import WINDOWS, read_text

_ALIASES = {
    "fixed bus shunt": "fixed shunt",
    "nontransformer branch": "branch",
    "non-transformer branch": "branch",
    "system switching device": "switching device",
    "area interchange": "area",
    "transformer impedance correction": "impedance correction",
    "voltage source converter": "vsc dc",
    "vsc dc": "vsc dc",
}
_NAMED_ZERO = ("zone", "owner")
_LABEL = re.compile(r"\b(END OF|BEGIN)\s+(.+?)\s+DATA\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class RawFile:
    """A RAW file cut into records.

    `head`: the case identification, with SBASE, REV and BASFRQ.
    `title`: the first line of text.
    `version`: 23 to 27, or 29 to 36.
    `records`: section to its records; a transformer or a DC line is a tuple of its lines, everything else of
        one.
    `threshold`: reactance in pu up to which a branch without resistance counts as none (THRSHZ).
    `load_buses_have_none`: whether machines at buses of type 1 do not count: in PSS/E.
    """

    head: PsseRecord
    title: str
    version: int
    records: Mapping[str, tuple[tuple[PsseRecord, ...], ...]]
    threshold: float = THRSHZ
    load_buses_have_none: bool = True


def read_sections(path: str | Path, form: str = "raw") -> RawFile:
    """Cut a RAW file into its sections and records.

    One that begins with a brace is RAWX, whatever it is called.

    `path`: the file, or ``-`` for standard input; `form`: ``"raw"``, ``"rawx"`` (the error on a file that is
    none then describes the format) or ``"epc"``. Raises CaseError for a file that is not a text, a version
    that is not known, a section that is missing or not ended, a quotation mark that is not closed; with file
    and line.
    """
    if form == "epc":
        return RawFile(*read_epc(path), load_buses_have_none=False)
    if form == "rawx":
        return RawFile(*read_rawx(path))
    text = read_text(path, WINDOWS)
    if "".join(text[:10]).lstrip().startswith("{"):
        return RawFile(*read_rawx(path))
    lines = [(i, line) for i, line in enumerate(text, start=1) if not line.lstrip().startswith("@!")]
    if not lines:
        raise CaseError(f"{path}:1: there is nothing but comments")
    number, line = lines[0]
    place = f"{path}:{number} (case identification)"
    head = PsseRecord(str(path), number, "case identification", CASE.split(), split(line, place))
    if head.one_of("IC", (0, 1), 0) == 1:
        warn(f"{place}: IC = 1: adds to the case that PSS/E has open; read as a case of its own")
    first = next((k for k in (1, 2) if k < len(lines) and _BUS.match(lines[k][1])), 3)
    if first < 3:
        what = f"must be {_TITLES[first - 1]} of text; a bus stands there, and is read as one"
        warn(f"{path}:{lines[first][0]} (title): {what}")
    version = head.one_of("REV", VERSIONS, _version_of([line for _, line in lines], first))
    title = " ".join(lines[1][1].split()) if first > 1 and len(lines) > 1 else ""
    threshold = next((float(found[1]) for _, line in lines if (found := _THRSHZ.match(line))), THRSHZ)
    return RawFile(head, title, version, _cut(str(path), version, lines[first:], len(text)), threshold)


_THRSHZ = re.compile(r"\s*GENERAL\s*,.*\bTHRSHZ\s*=\s*([0-9]*\.?[0-9]+(?:[Ee][+-]?[0-9]{1,2})?)\b")
"""The system-wide data of version 34 and later."""


_BUS = re.compile(r"\s*[0-9]{1,6}\s*,\s*'[^,]{1,14}'\s*,\s*[0-9.]+\s*,\s*[1-4]\s*,.*[0-9]")
"""A bus from version 24 on; nothing that anybody would write as a title."""

_TITLES = ("the first of two lines", "the second of two lines")

_WRITER = re.compile(r"(?:PSS.{0,4}E|\b(?:REV|VER|RAW))[^0-9]{0,3}(2[3-79]|3[0-6])\b", re.IGNORECASE)

_ADJUSTED = "BEGIN TRANSFORMER ADJUSTMENT DATA"


def _version_of(lines: Sequence[str], first: int) -> int | None:
    """Return the version of a file whose first line has no REV: that in its comment, or what its lines say.

    Up to version 30 PSS/E writes none; from 31 on it must be there. Buses of version 23 have their names
    behind their voltages; the adjustment of transformers ends with version 27. `first` is the place of the
    first bus.
    """
    comment = lines[0].partition("/")[2]
    named = _WRITER.search(comment)
    if named:
        return int(named[1])
    if comment.strip():
        return None
    if not re.match(r"\s*[0-9]+[\s,]*'", "".join(lines[first : first + 1])):
        return 23
    return LAST_ADJUSTED if any(_ADJUSTED in line.upper() for line in lines) else 30


def _cut(
    path: str, version: int, lines: Sequence[tuple[int, str]], last: int
) -> dict[str, tuple[tuple[PsseRecord, ...], ...]]:
    order, names = sections(version), fields(version)
    found: dict[str, list[tuple[PsseRecord, ...]]] = {section: [] for section in order}
    held: list[PsseRecord] = []
    at, quit_ = 0, False
    labelled: list[str] = []
    for number, line in lines:
        if not line.strip():
            continue
        section = order[at] if at < len(order) else None
        place = f"{path}:{number} ({section or 'after the last section'})"
        kept = section in names
        values = split(line, place) if kept or line.lstrip()[:1] in ("0", "Q", "q") else ["..."]
        if not values:
            continue
        if values[0] in ("Q", "q") and len(values) == 1:
            quit_, last = True, number
            break
        if section == "substation":
            # Its blocks of nodes, switches and terminals have endings of their own; it is the last section.
            continue
        if section is None and values == ["0"] and order[-1] in labelled:
            # One more than the sections are, after an ending that names the last of them.
            continue
        if section is None and line.lstrip()[0].isalpha():
            warn(f"{place}: nothing is read from here on")
            break
        if section is None:
            raise CaseError(f"{place}: nothing may follow but Q; is a section's 0 written twice?")
        if section in _NAMED_ZERO and re.match(r"\s*0\s*,\s*['\"]", line):
            # The zone or owner 0, which GridPACK writes.
            continue
        if values[0] == "0" and (len(values) == 1 or not _number(values[1])):
            if held:
                raise CaseError(
                    f"{place}: ends within the {section} of line {held[0].line}, which has"
                    f" {_length(held[0])} lines; is a line missing or too much, there or before?"
                )
            _check_labels(place, line, section, order[at + 1] if at + 1 < len(order) else None, order)
            labelled = [s for _, name in _LABEL.findall(line) if (s := _named(name, order))]
            at += 1
        elif section in COUNTED or section in LINES:
            held.append(PsseRecord(path, number, section, names[_kind(section, held)], values))
            if len(held) == _length(held[0]):
                found[section].append(tuple(held))
                held = []
        elif kept:
            found[section].append((PsseRecord(path, number, section, names[section], values),))
    _check_end(path, last, order, at, "generator" if quit_ else "switched shunt", bool(held))
    return {section: tuple(records) for section, records in found.items()}


def _kind(section: str, held: Sequence[PsseRecord]) -> str:
    """Return the layout of a line of a record after others."""
    count = len(held)
    if count == 0 or section != "multi-terminal dc":
        return section if count == 0 else f"{section} {min(count, 2)}"
    converters, buses = (max(held[0].whole(name, 0), 0) for name in ("NCONV", "NDCBS"))
    return f"{section} {1 if count <= converters else 2 if count <= converters + buses else 3}"


def _length(first: PsseRecord) -> int:
    """Return how many lines a record has.

    A transformer has four with two windings and five with three; a multi-terminal DC line one for itself, and
    one for each of its converters, DC buses and DC links.
    """
    if first.section == "multi-terminal dc":
        return 1 + sum(max(first.whole(name, 0), 0) for name in ("NCONV", "NDCBS", "NDCLN"))
    return LINES.get(first.section) or (4 if first.whole("K", 0) == 0 else 5)


def _number(text: str | None) -> bool:
    return bool(re.fullmatch(r"[+-]?[0-9.]+([EeDd][+-]?[0-9]+)?", text or "0"))


def _check_labels(place: str, line: str, section: str, following: str | None, order: Sequence[str]) -> None:
    """Raise CaseError where the comment of an ending 0 names another section than its place says."""
    for word, label in _LABEL.findall(line.partition("/")[2]):
        named = _named(label, order)
        right = section if word.upper() == "END OF" else following
        if named and named != right:
            raise CaseError(
                f"{place}: {word} {label} DATA stands where the {section} section ends"
                f" and {following or 'nothing'} follows; is a section or its ending 0 missing or too much?"
            )


def _named(label: str, order: Sequence[str]) -> str | None:
    """Return the section that a comment names; None where the words are not known."""
    words = " ".join(label.lower().split())
    for alias, section in _ALIASES.items():
        words = section if words.startswith(alias) else words
    longest = sorted(order, key=len, reverse=True)
    return next((section for section in longest if re.match(rf"{re.escape(section)}\b", words)), None)


def _check_end(path: str, line: int, order: Sequence[str], at: int, last: str, within: bool) -> None:
    """Raise CaseError where the file ends before everything that a case needs has been read."""
    if within or at <= order.index(last):
        section = order[at] if at < len(order) else ""
        raise CaseError(
            f"{path}:{line}: the file ends before the {section} section has ended; sections are missing"
            " (is the file whole? every section ends with a line that begins with 0, the file with Q)"
        )


UNMODELLED = {"facts": "MODE", "gne": ""}
"""Sections of devices without a model, and the field that is 0 for one out of service, empty for none."""


def is_unmodelled(record: PsseRecord) -> bool:
    """Return whether a record is the first line of a device in service that psmr has no model of."""
    # Lines after the first of a GNE device are numbers or texts, the first has its name, model and terminals.
    if record.section == "gne":
        return not _number(record.text("NAME")) and _number(record.text("NTERM", "-"))
    status = record.whole(UNMODELLED[record.section], 1)
    return status not in (MODELLED if record.section == "facts" else (0,))
