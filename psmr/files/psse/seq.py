"""PSS/E SEQ files: negative- and zero-sequence data of the elements of a RAW file.

Sections, each ended by a record that begins with 0. Sources up to version 32: the readers of GridPACK
(PSSE_seq_parser.hpp) and of the IEEE ODM adapters (PSSEXfrZeroSeqDataMapper.java), which quote the records.
Versions 33 and 34: the headings in savnw.seq of NREL's PyPSSE and in sample.seq of psse_model_util, and the
program STEPS, whose writer says that with CZG = 1 the grounding of a generator is in per unit. In savnw.raw
the transformers with CZ0 = 1 have the same impedance in the positive sequence, in pu on the system base.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from psmr.base.errors import Mistakes, warn
from psmr.files.psse.conventions import suffix
from psmr.files.psse.record import PsseRecord, name_part, split
from psmr.files.text import WINDOWS, read_text
from psmr.network.case.case import Case
from psmr.network.case.tables import SequenceRow

_IMPEDANCE = ("I", "ID", "R", "X")
_SHUNT = ("I", "G", "B")
_LINE = ("I", "J", "CKT", "RLINZ", "XLINZ", "BCHZ", "GI", "BI", "GJ", "BJ")
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("positive-sequence generator", _IMPEDANCE),
    ("negative-sequence generator", _IMPEDANCE),
    ("zero-sequence generator", _IMPEDANCE),
    ("negative-sequence shunt", _SHUNT),
    ("zero-sequence shunt", _SHUNT),
    ("zero-sequence line", _LINE),
    ("zero-sequence mutual", ()),
    ("zero-sequence transformer", ("I", "J", "K", "CKT", "CC", "RG1", "XG1", "R01", "X01")),
)
"""The sections and the fields of their records, up to version 32."""

_MACHINE = "I ID ZRPOS ZXPPDV ZXPDV ZXSDV ZRNEG ZXNEGDV ZR0 ZX0DV CZG ZRG ZXG REFDEG"
_TRANSFORMER = "I J K CKT CZ0 CZG CC RG1 XG1 R01 X01 RG2 XG2 R02 X02 RNUTRL XNUTRL"

SECTIONS_34: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("generator", tuple(_MACHINE.split())),
    ("load", ()),
    ("zero-sequence line", (*_LINE, "IPR", "SCTYP")),
    ("zero-sequence mutual", ()),
    ("zero-sequence transformer", tuple(_TRANSFORMER.split())),
    ("zero-sequence switched shunt", ()),
    ("zero-sequence fixed shunt", ()),
    ("induction machine", ()),
    ("non-conventional source", ()),
)
"""The same of versions 33 and 34; a file of version 34 has settings of the program before them."""

FIRST_OF_NEW, NEWEST = 33, 34

CONNECTIONS: Mapping[int, str] = {1: "YNyn", 2: "YNd", 3: "Dyn", 4: "Dd"}
"""Windings by the code CC of a transformer with two of them."""

REVERSED: Mapping[str, str] = {"YNd": "Dyn", "Dyn": "YNd"}


@dataclass
class _SequenceData:
    """What a file says, by element, of the branches and generators that are `known`."""

    known: frozenset[str]
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)

    def add(self, record: PsseRecord, names: tuple[str, ...], **values: Any) -> None:
        """Take values of the first element of these names that the case has; warn where it has none."""
        name = next((name for name in names if name in self.known), None)
        if name is None:
            what = f"{names[0]} is not in the case, or out of service: its sequence data are left out"
            warn(f"{record.where}: {what}")
            return
        self.values.setdefault(name, {}).update(values)
        self.where.setdefault(name, record.where)


def with_seq(case: Case, path: str | Path) -> Case:
    """Return a case with the sequence data in a SEQ file.

    Raises CaseError for a file that cannot be read, a newer version, and data that cannot be; names file and
    line. Warns of data of what the case does not have, and of sections that psmr has no use for.
    """
    mistakes = Mistakes()
    branches = (row.name for row in case.branches)
    found = _SequenceData(frozenset((*branches, *(row.name for row in case.generators))))
    for section, record in _records(path):
        mistakes.attempt(_take, found, section, record)
    rows = []
    for name, values in found.values.items():
        row = mistakes.attempt(SequenceRow, name, **values, where=found.where[name])
        rows += [] if row is None else [row]
    mistakes.finish()
    given = {row.element for row in rows}
    return replace(case, sequence=(*rows, *(row for row in case.sequence if row.element not in given)))


def _records(path: str | Path) -> Iterator[tuple[str, PsseRecord]]:
    place, lines = str(path), read_text(path, WINDOWS)
    sections, current, settings = SECTIONS, -1, False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("@!"):
            continue
        fields = split(line, f"{place}:{number}")
        if current < 0:
            head = PsseRecord(place, number, "head", ("IC", "REV"), fields)
            version = head.whole("REV", FIRST_OF_NEW - 1)
            if version > NEWEST:
                raise head.error(
                    "REV", f"psmr reads SEQ files up to version {NEWEST}; save it as one of those"
                )
            sections, current = (SECTIONS_34 if version >= FIRST_OF_NEW else SECTIONS), 0
            continue
        if not fields:
            continue
        first = fields[0] or ""
        if first == "Q":
            return
        # Settings are the records that begin with a word; they have a 0 of their own, with or without them.
        if sections is SECTIONS_34 and current == 0 and first[:1].isalpha():
            settings = True
        elif first == "0":
            current, settings = current + (not settings and "SYSTEM-WIDE" not in line), False
        elif current >= len(sections):
            return
        else:
            section, names = sections[current]
            yield section, PsseRecord(place, number, section, names, fields)


def _take(found: _SequenceData, section: str, record: PsseRecord) -> None:
    takers = {
        "negative-sequence generator": _generator,
        "zero-sequence generator": _generator,
        "generator": _whole_generator,
        "zero-sequence line": _line,
        "zero-sequence transformer": _transformer,
    }
    if section in takers:
        takers[section](found, record)
    elif section != "positive-sequence generator":
        warn(f"{record.where}: psmr has no use for this section; left out")


def _generator(found: _SequenceData, record: PsseRecord) -> None:
    ident = name_part(record.text("ID", "1"))
    key = "2" if record.section.startswith("negative") else "0"
    values = {f"r{key}": record.real("R", 0.0), f"x{key}": record.real("X")}
    found.add(record, (f"G{record.bus('I')}{suffix(ident)}",), **values)


def _whole_generator(found: _SequenceData, record: PsseRecord) -> None:
    record.require(record.whole("CZG", 1) == 1, "CZG", "must be 1, grounding in pu; other units are not read")
    ident = name_part(record.text("ID", "1"))
    fields = {
        "r2": "ZRNEG",
        "x2": "ZXNEGDV",
        "r0": "ZR0",
        "x0": "ZX0DV",
        "r_ground": "ZRG",
        "x_ground": "ZXG",
    }
    needed = ("ZXNEGDV", "ZX0DV")
    values = {key: record.real(name, None if name in needed else 0.0) for key, name in fields.items()}
    found.add(record, (f"G{record.bus('I')}{suffix(ident)}",), **values)


def _ends(record: PsseRecord, kind: str) -> tuple[str, str]:
    """Return the names of a branch, as it stands and from its other end."""
    i, j, ident = abs(record.whole("I")), abs(record.whole("J")), name_part(record.text("CKT", "1"))
    return f"{kind}{i}-{j}{suffix(ident)}", f"{kind}{j}-{i}{suffix(ident)}"


def _line(found: _SequenceData, record: PsseRecord) -> None:
    for name in ("GI", "BI", "GJ", "BJ"):
        record.require(record.real(name, 0.0) == 0, name, "line shunts of the zero sequence are not read")
    for name in ("IPR", "SCTYP"):
        record.require(record.real(name, 0.0) == 0, name, "protected series capacitors are not read")
    values = {"r0": record.real("RLINZ", 0.0), "x0": record.real("XLINZ"), "b0": record.real("BCHZ", 0.0)}
    found.add(record, _ends(record, "line"), **values)


def _transformer(found: _SequenceData, record: PsseRecord) -> None:
    if record.whole("K", 0):
        raise record.error(
            "K", "zero-sequence data of three windings are not read; give a [[sequence]] of each"
        )
    for name in ("CZ0", "CZG"):
        right = "must be 1, pu on the system base; other units are not read"
        record.require(record.whole(name, 1) == 1, name, right)
    for name in ("RG2", "XG2", "R02", "X02", "RNUTRL", "XNUTRL"):
        right = "a second winding's and a common neutral's data are not read; give a [[sequence]] of the case"
        record.require(record.real(name, 0.0) == 0, name, right)
    code = record.whole("CC")
    right = "must be 1 to 4; give other connections as a [[sequence]] of the case"
    record.require(code in CONNECTIONS, "CC", right)
    names, connection = _ends(record, "transformer"), CONNECTIONS[code]
    name = next((name for name in names if name in found.known), names[0])
    backwards = name != names[0]
    connection = REVERSED.get(connection, connection) if backwards else connection
    values: dict[str, Any] = {"connection": connection}
    if code != 4 and (record.has("R01") or record.has("X01")):
        values |= {"r0": record.real("R01", 0.0), "x0": record.real("X01")}
    neutral = {"r_ground": record.real("RG1", 0.0), "x_ground": record.real("XG1", 0.0)}
    end = "_to" if (code == 3) != backwards else ""
    if code != 4:
        values |= {f"{key}{end}": value for key, value in neutral.items()}
    found.add(record, (name,), **values)
