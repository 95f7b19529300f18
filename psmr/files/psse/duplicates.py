"""Records of one device that stand in a RAW file more than once: the last counts, as in PSS/E.

PSS/E updates a device by a record that names it again. Source: powsybl-core, issue 3607 and pull request
3643, where its authors hold their reader against PSS/E.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from psmr.base.errors import PsmrWarning
from psmr.files.psse.record import PsseRecord, name_part

Records = Mapping[str, Sequence[tuple[PsseRecord, ...]]]

_NAMED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "bus": (("I",), ""),
    "load": (("I",), "ID"),
    "fixed shunt": (("I",), "ID"),
    "switched shunt": (("I",), "ID"),
    "generator": (("I",), "ID"),
    "branch": (("I", "J"), "CKT"),
    "switching device": (("I", "J"), "CKT"),
    "transformer": (("I", "J", "K"), "CKT"),
}
"""Sections, the fields of the buses that a record names, in any order, and that of its identifier."""


def last_of_each(records: Records) -> dict[str, tuple[tuple[PsseRecord, ...], ...]]:
    """Return the records of a file without those that a later one of the same device replaces.

    Warns
    -----
    PsmrWarning
        For each record that is left out, naming the line of the one that counts.
    """
    found = {section: tuple(there) for section, there in records.items()}
    for section in _NAMED:
        found[section] = _last(section, found.get(section, ()))
    return found


def _last(section: str, records: Sequence[tuple[PsseRecord, ...]]) -> tuple[tuple[PsseRecord, ...], ...]:
    keys = [_key(section, lines[0]) for lines in records]
    last = dict(zip(keys, records, strict=True))
    if len(last) == len(records):
        return tuple(records)
    for key, lines in zip(keys, records, strict=True):
        if last[key] is not lines:
            ident = f" {key[-1]!r}" if _NAMED[section][1] else ""
            warnings.warn(
                f"{lines[0].where}: {section} {'-'.join(key[:-1])}{ident} stands in line {last[key][0].line}"
                " again, which counts, as in PSS/E; this one is left out (give parallel ones identifiers of"
                " their own)",
                PsmrWarning,
                stacklevel=4,
            )
    return tuple(last.values())


def _key(section: str, record: PsseRecord) -> tuple[str, ...]:
    """Return the buses that a record names and its identifier, as texts."""
    names, ident = _NAMED[section]
    buses = sorted(record.text(name, "0").lstrip("-") for name in names)
    return (*(bus for bus in buses if bus != "0"), name_part(record.text(ident, "1")) if ident else "")
