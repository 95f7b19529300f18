"""PSLF's EPC files, as the records of a RAW file of version 33.

No public text describes the format. Each section of a file names its columns, and files of systems that are
public as RAW files, too, say what stands there (LLNL's GridDyn, BSD-3-Clause). What none of them has is an
error that names it: three windings, tables of impedances, nominal voltages of windings that are not those of
the buses, lines of several sections, controlled shunts, direct current.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, Mistakes
from psmr.files.psse.record import CASE, PsseRecord, fields
from psmr.files.text import read_text

VERSION = 33
"""Of the RAW file whose records are made."""

SBASE = re.compile(r"sbase\s+\S")
HEADER = re.compile(r"\s*([a-z][a-z ]*?)\s+data\s*\[\s*([0-9]+)\s*\]", re.IGNORECASE)
TOKEN = re.compile(r'"([^"]*)"|([^\s:"]+)|(:)')

PASSED_OVER = (
    *("area", "zone", "owner", "interface", "interface branch", "transaction"),
    *("line", "qtable", "substation", "ba", "gcd"),
)
"""Sections that are not in the network's equations."""

KINDS = {0: "3", 1: "1", 2: "2", -2: "2"}
"""Types of buses: swing, load, generator; IDE of a RAW file."""

# What stands before the colon, and after it.
BUS = "I NAME BASKV", "ty vsched volt angle ar zone vmax vmin date_in date_out pid L own st"
BRANCH = "I from kv J to kv2 CKT se long_id", "st resist react charge"
TRANSFORMER = (
    "I from kv J to kv2 CKT long_id",
    "st ty no reg_name reg_kv zt int int_name int_kv tert tert_name tert_kv ar zone tbase ps_r ps_x pt_r pt_x"
    " ts_r ts_x vnomp vnoms vnomt anglp gmag bmag rate1 rate2 rate3 rate4 aloss tmax tmin vtmax vtmin stepp"
    " tapp tapfp tapfs tapft",
)
GENERATOR = (
    "I bus kv ID long_id",
    "st no reg_name reg_kv prf qrf ar zone pgen pmax pmin qgen qmax qmin mbase cmp_r cmp_x gen_r gen_x",
)
LOAD = "I bus kv ID long_id", "st mw mvar mw_i mvar_i mw_z mvar_z"
SHUNT = "I bus kv ID to to_name to_kv ck se long_id", "st ar zone pu_mw pu_mvar"

Rows = tuple[tuple[PsseRecord, ...], ...]


def read_epc(path: str | Path) -> tuple[PsseRecord, str, int, dict[str, Rows]]:
    """Return (case identification, title, version, records by section) of an EPC file, as of a RAW file.

    Raises CaseError for a file without sections, a section with another number of records than it says, a
    record that is cut off, and for what is not read; with file and line.
    """
    lines = list(enumerate(read_text(path), start=1))
    starts = [(k, header) for k, (_, line) in enumerate(lines) if (header := HEADER.match(line))]
    if not starts:
        raise CaseError(f"{path}:1: has no sections; an EPC file has lines like 'bus data  [  9]'")
    title, (number, base) = _preamble(path, lines[: starts[0][0]])
    head = PsseRecord(str(path), number, "case identification", CASE.split(), ["0", base, str(VERSION)])
    base_mva = head.real("SBASE")
    found: dict[str, list[PsseRecord]] = {}
    ends = [k for k, _ in starts[1:]] + [len(lines)]
    for (start, header), end in zip(starts, ends, strict=True):
        section, count = header[1].lower(), int(header[2])
        where = f"{path}:{lines[start][0]} ({section} data)"
        if section in PASSED_OVER or not count:
            continue
        if section not in COLUMNS:
            raise CaseError(f"{where}: {count} records of a kind that psmr does not read from EPC files")
        joined = list(_joined(lines[start + 1 : end]))
        if len(joined) != count:
            raise CaseError(f"{where}: {len(joined)} records where the header says {count}")
        found[section] = [_record(path, section, number, text) for number, text in joined]
    vsched = {record.text("I"): record.text("vsched") for record in found.get("bus", ())}
    mistakes = Mistakes()

    def rows(section: str, made: Callable[..., tuple[PsseRecord, ...]], *given: Any) -> Rows:
        tried = [mistakes.attempt(made, record, *given) for record in found.get(section, ())]
        return tuple(lines for lines in tried if lines is not None)

    records = {
        "bus": rows("bus", _bus),
        "load": rows("load", _load),
        "fixed shunt": rows("shunt", _shunt, base_mva),
        "generator": rows("generator", _generator, vsched),
        "branch": rows("branch", _branch),
        "transformer": rows("transformer", _transformer),
    }
    mistakes.finish()
    return head, title, VERSION, records


COLUMNS = {
    "bus": BUS,
    "branch": BRANCH,
    "transformer": TRANSFORMER,
    "generator": GENERATOR,
    "load": LOAD,
    "shunt": SHUNT,
}


def _preamble(path: str | Path, lines: Sequence[tuple[int, str]]) -> tuple[str, tuple[int, str]]:
    """Return the title, and the base power in MVA with its line."""
    texts = [line.strip() for _, line in lines]
    after = texts[texts.index("title") + 1 :] if "title" in texts else []
    title = after[0] if after and after[0] != "!" else ""
    bases = [(k, text.split()[1]) for (k, _), text in zip(lines, texts, strict=True) if SBASE.match(text)]
    if not bases:
        raise CaseError(f"{path}:1: gives no sbase, the base power in MVA, in its solution parameters")
    return title, bases[0]


def _joined(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the records of a section, each with its first line: one that ends with a slash goes on."""
    number, text = 0, ""
    for at, line in lines:
        if not line.strip() or line.strip().lower() == "end":
            continue
        number = number if text else at
        text += " " + line.strip().removesuffix("/")
        if not line.rstrip().endswith("/"):
            yield number, text
            text = ""
    if text:
        yield number, text


def _record(path: str | Path, section: str, number: int, text: str) -> PsseRecord:
    """Return a record with the names of its columns; blanks within quotation marks are its own."""
    before, after = (names.split() for names in COLUMNS[section])
    tokens = [(m[1] if m[1] is not None else m[2] or m[3], bool(m[3])) for m in TOKEN.finditer(text)]
    colon = next((k for k, (_, separates) in enumerate(tokens) if separates), len(tokens))
    values = [value for value, separates in tokens if not separates]
    if colon != len(before) or len(values) < colon + 4:
        names = " ".join(before)
        raise CaseError(f"{path}:{number} ({section} data): must be {names} : {' '.join(after[:4])} ...")
    return PsseRecord(str(path), number, f"{section} data", [*before, *after], values)


def _made(
    record: PsseRecord, section: str, texts: Mapping[str, str], numbers: Mapping[str, Any]
) -> PsseRecord:
    """Return a record of a RAW file's section: its texts, and its numbers by the columns they stand in."""
    read = {k: repr(record.real(v) if isinstance(v, str) else v) for k, v in numbers.items()}
    names, values = fields(VERSION)[section], {**texts, **read}
    own = [values.get(name) for name in names]
    return PsseRecord(record.path, record.line, record.section, names, own)


def _texts(record: PsseRecord, *names: str) -> dict[str, str]:
    return {name: record.text(name) for name in names}


def _require_none(record: PsseRecord, name: str, what: str) -> None:
    record.require(record.whole(name, 0) <= 0, name, f"{what} not read from EPC files")


def _bus(record: PsseRecord) -> tuple[PsseRecord, ...]:
    kind = record.one_of("ty", tuple(KINDS))
    _require_none(record, "st", "buses out of service are")
    texts = _texts(record, "I", "NAME", "BASKV") | {"IDE": KINDS[kind]}
    return (_made(record, "bus", texts, {"VM": "volt", "VA": "angle"}),)


def _load(record: PsseRecord) -> tuple[PsseRecord, ...]:
    no_sign = "must be 0: no public file says which sign it has"
    record.require(record.real("mvar_z", 0.0) == 0, "mvar_z", no_sign)
    texts = _texts(record, "I", "ID") | {"STATUS": record.text("st")}
    numbers = {"PL": "mw", "QL": "mvar", "IP": "mw_i", "IQ": "mvar_i", "YP": "mw_z"}
    return (_made(record, "load", texts, numbers),)


def _shunt(record: PsseRecord, base: float) -> tuple[PsseRecord, ...]:
    texts = _texts(record, "I", "ID") | {"STATUS": record.text("st")}
    numbers = {"GL": base * record.real("pu_mw"), "BL": base * record.real("pu_mvar")}
    return (_made(record, "fixed shunt", texts, numbers),)


def _generator(record: PsseRecord, vsched: Mapping[str, str]) -> tuple[PsseRecord, ...]:
    """Return a generator, which holds the scheduled voltage of the bus that it regulates."""
    own, no = record.text("I"), record.text("no")
    remote = no if no in vsched and no != own else "0"
    texts = _texts(record, "I", "ID") | {"STAT": record.text("st"), "IREG": remote}
    texts["VS"] = vsched.get(own if remote == "0" else no, "1.0")
    numbers: dict[str, Any] = {"PG": "pgen", "QG": "qgen", "QT": "qmax", "QB": "qmin", "MBASE": "mbase"}
    numbers |= {"ZR": record.real("gen_r", 0.0), "ZX": record.real("gen_x", 1.0)}
    numbers["RMPCT"] = 100.0 * record.real("qrf", 1.0) or 100.0
    return (_made(record, "generator", texts, numbers),)


def _branch(record: PsseRecord) -> tuple[PsseRecord, ...]:
    several = "lines of several sections are not read from EPC files"
    record.require(record.whole("se", 1) <= 1, "se", several)
    texts = _texts(record, "I", "J", "CKT") | {"ST": record.text("st")}
    return (_made(record, "branch", texts, {"R": "resist", "X": "react", "B": "charge"}),)


def _transformer(record: PsseRecord) -> tuple[PsseRecord, ...]:
    """Return the four lines of two windings; ratios in per unit of the buses' voltages."""
    for name in ("tert", "int"):
        _require_none(record, name, "three windings are")
    _require_none(record, "zt", "tables of impedances are")
    for nominal, bus in (("vnomp", "kv"), ("vnoms", "kv2")):
        off = abs(record.positive(nominal) - record.positive(bus))
        right = f"must be the bus's {record.text(bus)} kV: no public file says what another one changes"
        record.require(off <= 1e-3 * record.real(bus), nominal, right)
    for name in ("gmag", "bmag"):
        record.require(record.real(name) == 0, name, "must be 0: no public file says on which base it is")
    texts = _texts(record, "I", "J", "CKT") | {"K": "0", "CW": "1", "CZ": "2", "CM": "1"}
    texts["STAT"] = record.text("st")
    ratio = record.positive("tapp") * record.positive("tapfp")
    return (
        _made(record, "transformer", texts, {}),
        _made(record, "transformer 1", {}, {"R1-2": "ps_r", "X1-2": "ps_x", "SBASE1-2": "tbase"}),
        _made(record, "transformer 2", {}, {"WINDV": ratio, "ANG": "anglp"}),
        _made(record, "transformer 2", {}, {"WINDV": "tapfs"}),
    )
