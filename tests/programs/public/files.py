"""The case files below a folder, each text once, and the DYR files that belong to a RAW file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

KINDS = {".raw": "RAW", ".rawx": "RAWX", ".m": "MATPOWER"}
NUMBERS = rb"\s*=\s*\[\s*(?:%[^\n]*\n\s*)*[\d\]]"
MATRICES = tuple(re.compile(rb"\b" + name + NUMBERS) for name in (b"bus", b"gen", b"branch"))
MACHINES = ("GEN", "REGC", "REGF", "WT3G", "WT4G", "WT1G", "WT2G")
UNIT = re.compile(r"^[ \t\[]*(\d+)[ \t]*,?[ \t]*['\"]?([\w ]{1,2}?) *['\"]?[ \t]*[, ](.*)$", re.MULTILINE)
FIELDS = 12
"""Numbers of a generator's record after its identifier at least; loads have fewer of them."""
RECORD = re.compile(r"(?:^|/)[^\S\n]*(\d+)[\s,]+'\s*(\w+)\s*'[\s,]+'?\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Item:
    """A case file, and the DYR file that goes with it, if any."""

    kind: str
    path: Path
    dynamics: Path | None = None

    def names(self, folder: Path) -> tuple[str, str]:
        """Return the paths of both files below a folder; the second is empty where there is none."""
        dynamics = "" if self.dynamics is None else str(self.dynamics.relative_to(folder))
        return str(self.path.relative_to(folder)), dynamics


def cases(folder: Path) -> Iterator[Item]:
    """Yield the RAW, RAWX and MATPOWER files below a folder, those with the same text once."""
    seen: set[bytes] = set()
    for path in _files(folder, KINDS):
        kind, text = KINDS[path.suffix.lower()], path.read_bytes()
        digest = hashlib.sha256(b" ".join(text.split())).digest()
        if digest not in seen and _is_case(kind, text):
            seen.add(digest)
            yield Item(kind, path)


def pairs(folder: Path) -> Iterator[Item]:
    """Yield each DYR file below a folder with the RAW file that has its generators.

    Looked at are the files of its own folder, or else of those beside it; where several have all the
    generators of its machines, the one whose name has more in common with its own is taken, then the smaller
    one.
    """
    raws: dict[Path, list[Path]] = {}
    for path in _files(folder, (".raw", ".rawx")):
        raws.setdefault(path.parent, []).append(path)
    seen: set[bytes] = set()
    units: dict[Path, set[tuple[int, str]]] = {}
    for path in _files(folder, (".dyr",)):
        text = path.read_bytes()
        named = {
            (int(bus), ident)
            for bus, model, ident in RECORD.findall(text.decode("latin-1"))
            if model.upper().startswith(MACHINES)
        }
        for near in (raws.get(path.parent, []), _beside(raws, path.parent)):
            fitting = [raw for raw in near if named and named <= _kept(units, raw)]
            if fitting:
                raw = max(fitting, key=lambda raw: (_common(raw.stem, path.stem), -raw.stat().st_size))
                digest = hashlib.sha256(text + raw.read_bytes()).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield Item("RAW + DYR", raw, path)
                break


def _beside(raws: dict[Path, list[Path]], folder: Path) -> list[Path]:
    return [raw for other, found in raws.items() if other.parent == folder.parent for raw in found]


def _files(folder: Path, suffixes: object) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in suffixes and p.is_file())  # type: ignore[operator]


def _is_case(kind: str, text: bytes) -> bool:
    """Say whether a file is a case at all: other programs have files of these names as well."""
    if kind == "MATPOWER":
        return all(pattern.search(text) for pattern in MATRICES)
    if kind == "RAWX":
        return b"network" in text[:10000]
    return b"\0" not in text and text.count(b",") + text.count(b" ") > text.count(b"\n") > 4


def _kept(units: dict[Path, set[tuple[int, str]]], raw: Path) -> set[tuple[int, str]]:
    """Return bus and identifier of each generator of a RAW file, by its lines of more than 14 fields."""
    if raw not in units:
        units[raw] = {
            (int(bus), ident.strip() or "1")
            for bus, ident, rest in UNIT.findall(raw.read_text("latin-1"))
            if len(rest.replace(",", " ").split()) > FIELDS
        }
    return units[raw]


def _common(one: str, other: str) -> int:
    """Return how many letters two names have in common at their beginning."""
    alike = (a == b for a, b in zip(one.lower(), other.lower(), strict=False))
    return len(list(takewhile(bool, alike)))
