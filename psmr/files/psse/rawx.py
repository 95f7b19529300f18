"""RAWX files, PSS/E's power flow data as JSON (versions 35 and 36), cut into the records of a RAW file.

A section is an object with the names of its ``fields`` and its rows as ``data``; a row is a list, and the
case identification is one row. Source: Siemens PTI, PSS/E Program Operation Manual, extensible power flow
data file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from psmr.base.errors import CaseError, shown, warn
from psmr.files.psse.conventions import THRSHZ
from psmr.files.psse.record import CASE, PsseRecord, fields
from psmr.files.text import TOO_DEEP, TOO_LONG, deepest_bracket, longest_number, read_utf8

VERSIONS = (35, 36)

UNSAID = {"sbase": 100.0, "rev": VERSIONS[0], "basfrq": 60.0}
"""What stands for a case identification that is not there, PSS/E's own values: MVA, version, Hz."""

# RAWX's name of a section, its name in RAW files, and the names of fields that differ.
SECTIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "bus": ("bus", {"ibus": "I"}),
    "load": ("load", {"ibus": "I", "loadid": "ID", "stat": "STATUS"}),
    "fixshunt": ("fixed shunt", {"ibus": "I", "shntid": "ID", "stat": "STATUS"}),
    "generator": ("generator", {"ibus": "I", "machid": "ID"}),
    "acline": ("branch", {"ibus": "I", "jbus": "J", "rpu": "R", "xpu": "X", "bpu": "B", "stat": "ST"}),
    "sysswd": ("switching device", {"ibus": "I", "jbus": "J", "xpu": "X"}),
    "transformer": ("transformer", {"ibus": "I", "jbus": "J", "kbus": "K"}),
    "swshunt": ("switched shunt", {"ibus": "I", "shntid": "ID", "swreg": "SWREM"}),
    "area": ("area", {"iarea": "I"}),
    "twotermdc": ("two-terminal dc", {}),
    "vscdc": ("vsc dc", {}),
    "ntermdc": ("multi-terminal dc", {}),
    "facts": ("facts", {"ibus": "I", "jbus": "J", "fcreg": "REMOT"}),
    "gne": ("gne", {}),
    "indmach": ("induction machine", {"ibus": "I", "imid": "ID"}),
}

Rows = list[tuple[PsseRecord, ...]]


def read_rawx(
    path: str | Path,
) -> tuple[PsseRecord, str, int, dict[str, tuple[tuple[PsseRecord, ...], ...]], float]:
    """Return (case identification, title, version, records by section, THRSHZ) of a RAWX file.

    Raises CaseError for a file that is no JSON (with the line) or no RAWX, and for another version.
    """
    text = read_utf8(path)
    network = _network(path, text)
    head, title = _head(path, network.get("caseid"), text)
    version = head.one_of("REV", VERSIONS)
    layout = fields(version)
    found: dict[str, tuple[tuple[PsseRecord, ...], ...]] = {}
    for name, (section, others) in SECTIONS.items():
        if name in network:
            rows = _rows(path, text, name, network[name], others)
            found[section] = tuple(_records(path, section, layout, line, row) for line, row in rows)
    if "impcor" in network:
        rows = _rows(path, text, "impcor", network["impcor"], {})
        found["impedance correction"] = tuple(_corrections(path, rows))
    section = "multi-terminal dc"
    if found.get(section):
        parts = _parts_of_multi_terminal(path, text, network, layout)
        found[section] = tuple((first, *parts.get(first.text("NAME"), ())) for (first,) in found[section])
    for _, (section, _) in SECTIONS.items():
        found.setdefault(section, ())
    return head, title, version, found, _threshold(path, text, network)


def _threshold(path: str | Path, text: str, network: Mapping[str, Any]) -> float:
    """Return the reactance in pu up to which a branch counts as none: that of the file, or the usual one."""
    general = network.get("general")
    if not isinstance(general, dict) or not isinstance(general.get("data"), list):
        return THRSHZ
    rows = general["data"] if general["data"] and isinstance(general["data"][0], list) else [general["data"]]
    for line, row in _rows(path, text, "general", general | {"data": rows}, {}):
        return PsseRecord(str(path), line, "general", tuple(row), tuple(row.values())).real("THRSHZ", THRSHZ)
    return THRSHZ


def _network(path: str | Path, text: str) -> Mapping[str, Any]:
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: _once(path, text, pairs))
    except json.JSONDecodeError as error:
        rest = shown(error.doc[error.pos :][:20])
        what = f"{path}:{error.lineno}: is no valid JSON: {error.msg} in column {error.colno}: {rest}"
        raise CaseError(f"{what}; is the file whole?") from error
    except RecursionError as error:
        raise CaseError(f"{path}{deepest_bracket(text)}: is no valid JSON: {TOO_DEEP}") from error
    except ValueError as error:
        if isinstance(error, CaseError):
            raise
        raise CaseError(f"{path}{longest_number(text)}: is no valid JSON: {TOO_LONG}") from error
    network = content.get("network") if isinstance(content, dict) else None
    if not isinstance(network, dict):
        raise CaseError(f'{path}:1: is no RAWX file: it must be an object with "network"')
    return network


def _once(path: str | Path, text: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of the file, in which each name may stand once."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            last = [match.start() for match in re.finditer(rf"{re.escape(json.dumps(name))}\s*:", text)][-1:]
            place = f"{path}:{_line(text, last[0])}" if last else str(path)
            raise CaseError(f"{place}: has the name {name!r} twice in one object; leave one")
        found[name] = value
    return found


def _head(path: str | Path, section: Any, text: str) -> tuple[PsseRecord, str]:
    if section is None:
        assumed = ", ".join(f"{name.upper()} = {value:g}" for name, value in UNSAID.items())
        warn(f"{path}: has no caseid; {assumed} stand for it")
        section = {"fields": list(UNSAID), "data": list(UNSAID.values())}
    place = f"{path}:{_line(text, _start(text, 'caseid'))} (caseid)"
    if not isinstance(section, dict) or not {"fields", "data"} <= section.keys():
        raise CaseError(f'{place}: must be there, with "fields" and "data"')
    row = section["data"]
    row = row[0] if row and isinstance(row[0], list) else row
    values = {str(k).upper(): v for k, v in zip(section["fields"], row, strict=False)}
    line = _line(text, _start(text, "caseid"))
    names = CASE.split()
    head = PsseRecord(
        str(path), line, "case identification", names, [_written(values.get(name)) for name in names]
    )
    return head, str(values.get("TITLE1") or "").strip()


def _rows(
    path: str | Path, text: str, name: str, section: Any, others: Mapping[str, str]
) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Yield (line, values by RAW's names) for the rows of a section."""
    start = _start(text, name)
    place = f"{path}:{_line(text, start)} ({name})"
    good = isinstance(section, dict) and all(isinstance(section.get(k), list) for k in ("fields", "data"))
    if not good:
        raise CaseError(f'{place}: must have lists "fields" and "data"')
    names = [others.get(str(k), str(k).upper()) for k in section["fields"]]
    lines = _lines(text, start, len(section["data"]))
    for line, row in zip(lines, section["data"], strict=True):
        if not isinstance(row, list) or len(row) > len(names):
            raise CaseError(f"{path}:{line} ({name}): must be a list of at most {len(names)} values")
        yield line, {k: _written(v) for k, v in zip(names, row, strict=False)}


def _start(text: str, name: str) -> int:
    found = re.search(rf'"{name}"\s*:\s*\{{', text)
    return found.start() if found else 0


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _lines(text: str, start: int, count: int) -> list[int]:
    """Return the lines of the rows of a section that begins at `start`."""
    found = re.compile(r'"data"\s*:\s*\[').search(text, start)
    if not found:
        return [_line(text, start)] * count
    decoder, between = json.JSONDecoder(), re.compile(r"[\s,]*")
    lines, line, position = [], _line(text, found.end()), found.end()
    for _ in range(count):
        opened = between.match(text, position).end()  # type: ignore[union-attr]  # nothing is a match, too
        try:
            _, end = decoder.raw_decode(text, opened)
        except json.JSONDecodeError:  # what was found is the name of something else
            return [_line(text, start)] * count
        lines.append(line + text.count("\n", position, opened))
        line += text.count("\n", position, end)
        position = end
    return lines


def _written(value: Any) -> str | None:
    """Return a value as a RAW file has it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else repr(value)


def _parts_of_multi_terminal(
    path: str | Path, text: str, network: Mapping[str, Any], layout: Mapping[str, Sequence[str]]
) -> dict[str, list[PsseRecord]]:
    """Return the converters, DC buses and links of multi-terminal DC lines by name, in the order of RAW."""
    found: dict[str, list[PsseRecord]] = {}
    for k, name in enumerate(("ntermdcconv", "ntermdcbus", "ntermdclink"), start=1):
        own = layout[f"multi-terminal dc {k}"]
        for line, row in _rows(path, text, name, network[name], {"nbrdg": "N"}) if name in network else ():
            record = PsseRecord(str(path), line, "multi-terminal dc", own, [row.get(field) for field in own])
            found.setdefault((row.get("NAME") or "").strip(), []).append(record)
    return found


def _corrections(
    path: str | Path, rows: Iterator[tuple[int, dict[str, str | None]]]
) -> Iterator[tuple[PsseRecord]]:
    """Yield the impedance correction tables, whose points are rows in RAWX, as RAW files have them."""
    tables: dict[str | None, tuple[int, list[str | None]]] = {}
    for line, row in rows:
        _, values = tables.setdefault(row.get("ITABLE"), (line, [row.get("ITABLE")]))
        values += [row.get(name) for name in ("TAP", "REFACT", "IMFACT")]
    for line, values in tables.values():
        values += ["0"] * 3
        names = [f"V{k}" for k in range(len(values))]
        yield (PsseRecord(str(path), line, "impedance correction", names, values),)


def _records(
    path: str | Path,
    section: str,
    layout: Mapping[str, Sequence[str]],
    line: int,
    row: Mapping[str, str | None],
) -> tuple[PsseRecord, ...]:
    """Return the record of a row, cut into the lines that RAW files have."""

    def record(part: str, names: Mapping[str, str]) -> PsseRecord:
        own = layout[part]
        return PsseRecord(str(path), line, section, own, [row.get(names.get(k, k)) for k in own])

    first = record(section, {})
    if section == "transformer":
        pairs = {k: k.replace("-", "_") for k in layout["transformer 1"]}
        windings = [record("transformer 2", _numbered(layout["transformer 2"], k)) for k in (1, 2, 3)]
        count = 3 if first.whole("K", 0) else 2
        return (first, record("transformer 1", pairs), *windings[:count])
    if section == "two-terminal dc":
        names = layout["two-terminal dc 1"]
        return (first, *(record("two-terminal dc 1", {k: k + end for k in names}) for end in ("R", "I")))
    if section == "vsc dc":
        numbered = [_numbered(layout["vsc dc 1"], k) | {"REMOT": f"VSREG{k}"} for k in (1, 2)]
        return (first, *(record("vsc dc 1", names) for names in numbered))
    return (first,)


def _numbered(names: Sequence[str], k: int) -> dict[str, str]:
    """Return RAWX's names of the fields of winding or converter k."""
    return {n: n.replace("RATE", f"WDG{k}RATE") if n.startswith("RATE") else f"{n}{k}" for n in names}
