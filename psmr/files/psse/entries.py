"""The records of a PSS/E DYR file: words up to a slash, over lines; user-written ones are unwrapped."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from psmr.base.errors import CaseError, PsmrWarning, nearest
from psmr.files.psse.load_layout import KINDS, USER_WRITTEN
from psmr.files.psse.record import LIBRARY, MODELS, PsseRecord, component_for, fields_of

OF_PLANT = "USRMDL"
"""Name under which PSS/E has a model of a plant as a user-written one: its own comes after the identifier."""

COUNTS: Mapping[str, int] = {OF_PLANT: 6, USER_WRITTEN: 7}
"""How many counts there are after the name: the third is that of whole numbers, the fourth that of values."""

UNDER_OTHER_NAMES: Mapping[str, str] = {
    **{
        f"{name}U1": f"{name}1"
        for name in ("REGCA", "REECA", "REECB", "REPCA", "WTDTA", "WTTQA", "WTPTA", "WTARA", "GENTPJ")
    },
    **{f"REGFMA1_{version}": "REGFMA1" for version in (33, 34, 35)},
}
"""Models of the library by the names that they have as user-written ones, with the same values.

PSS/E up to version 33 has them so. Sources: PowerWorld, What's New in version 20, USRMDL from DYR; InterPSS'
parser of GENTPJ1; for REGFMA1 its public user-written model for PSS/E 33 to 35.
"""

_OF_A_BUS = "disconnects a bus with all that is on it; FRQTPAT and VTGTPAT trip one generator"
BESIDE = {
    **dict.fromkeys(("FRQDCAT", "FRQDCA", "VTGDCAT", "VTGDCA"), _OF_A_BUS),
    "WT4E2": "has eleven values more than WT4E1, and no public text says what they are",
    "WT4G2": "has the nine values of WT4G1, and no public text says in what it differs",
    "COMPCC": "compensates for a second machine as well; COMP and IEEEVC for one",
}
"""What a model that psmr has not does, and which others are near: more than a name that is spelled alike."""

UNORDERED = {
    "HYGOV4": "HYGOV4",
    "REPCGFMC1": "REPCGFMC1",
    **dict.fromkeys(("SVSMO3", "SVSMO3T2", "SVSMO3U2"), "SVSMO3"),
}
"""Models of which no public text has the order of the values in a record, and the component that each is."""

_KIND = 4
"""Place of the kind of a model in a record of USRMDL, after the names of both."""

_ROLES = {
    "1": "machine",
    "2": "compensator",
    "3": "stabiliser",
    "4": "exciter",
    "5": "governor",
    "9": "underexcitation limiter",
    "101": "machine",
    "102": "electrical control",
    "103": "drive train",
    "104": "pitch control",
    "105": "aerodynamics",
    "106": "wind",
    "107": "plant control",
}
"""Kinds of user-written models of plants.

Source: PSS/E, Program Application Guide. Public records (InterPSS' test cases, PNNL's GENQEC) have models of
the kinds 1, 4, 5, 9, 101, 103, 105 and 106, whose names say the same; none of the others.
"""

_AFTER_NAMES = 5
"""Words of a record among which a name may be its own: bus, model, identifier, the name of a user-written
model, and a bus of its own before the next record's name."""

_LOADS = ("USRLOD", "USRBUS")


@dataclass(frozen=True)
class Entry:
    """A record: where it begins, and its words with the line of each."""

    path: str
    line: int
    words: tuple[tuple[int, str], ...]

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"

    @property
    def model(self) -> str:
        """Name of the model in capitals."""
        return self.head().text("model").upper()

    @property
    def name(self) -> str:
        """Name of the model, with that of a user-written one behind it, as messages quote it."""
        if not self.model.startswith("USR"):
            return repr(self.model)
        place = 3 if self.model in COUNTS else 2
        inner = self.words[place][1] if place < len(self.words) else ""
        return f"{self.model!r} {inner!r}" if inner else repr(self.model)

    @property
    def consequence(self) -> str:
        """What a run lacks without this record, as messages say it."""
        head, kind = self.head(), self.words[4][1] if len(self.words) > _KIND else ""
        what = f"at bus {head.text('bus')}"
        if self.model in _LOADS:
            return f"the load {what} keeps its static characteristic"
        what = f"generator {head.text('id', '1')!r} {what}"
        if self.model != OF_PLANT:
            return f"{what} runs without it"
        role = _ROLES.get(kind.split(".")[0], "")
        lost = "has no machine by it, and keeps no controllers" if role == "machine" else "runs without it"
        return f"{what} {lost}{f' ({role})' if role else ''}"

    def refuse(self, also: str) -> None:
        """Raise CaseError for a model that psmr does not have."""
        if kind := UNORDERED.get(self.model):
            raise CaseError(
                f"{self.where}: {self.name}{also}: no public text has the order of its values; give it in a"
                f' TOML file (type = "{kind}"), or skip it with a warning (--skip-unknown-models)'
            )
        near = BESIDE.get(self.model)
        hint = f": it {near}" if near else nearest(self.model, (*filter(component_for, MODELS), *KINDS))
        raise CaseError(
            f"{self.where}: psmr has no model {self.name}{also}{hint}; take it out, or skip unknown models"
            " with a warning (--skip-unknown-models)"
        )

    def head(self) -> PsseRecord:
        """Return number, model and identifier."""
        return PsseRecord(
            self.path, self.line, "dyr", ("bus", "model", "id"), [word for _, word in self.words]
        )


def unwrapped(entry: Entry) -> Entry:
    """Return the record of a model of the library that PSS/E has as a user-written one as one of that model.

    The model's name comes after the identifier, then counts, of which the third and fourth say how many
    whole numbers and values follow. Other records stay as they are, and those of user-written models that
    bear a name of the library and have other values.

    Raises
    ------
    CaseError
        Where there are more or fewer of them.
    """
    counts = COUNTS.get(entry.model, 0)
    first = 4 + counts
    if not counts or len(entry.words) < first:
        return entry
    given = entry.words[3][1].upper()
    name = UNDER_OTHER_NAMES.get(given, given)
    of_load = entry.model == USER_WRITTEN
    if not (name in KINDS if of_load else component_for(name)):
        return entry
    words = [word for _, word in entry.words[4:first]]
    names = [f"count {k}" for k in range(1, counts + 1)]
    record = PsseRecord(entry.path, entry.line, given, names, words)
    whole, values = record.whole("count 3"), record.whole("count 4")
    there = len(entry.words) - first
    if there != whole + values:
        raise CaseError(
            f"{entry.where}: {given}: its third and fourth counts say {whole} whole numbers and {values}"
            f" values, and there are {there} of both; does the record end with a slash?"
        )
    if not of_load and name == given and there not in map(len, LIBRARY.layouts[name]):
        return entry
    passed = first + whole if of_load else first
    head = (entry.words[0], (entry.words[3][0], name), entry.words[2])
    return replace(entry, words=(*head, *entry.words[passed:]))


def _begins_another(words: list[tuple[int, str]], others: Container[str]) -> bool:
    """Say whether the last two words of a record are the bus and the model of another one."""
    if len(words) <= _AFTER_NAMES or not words[-2][1].isdecimal():
        return False
    name = words[-1][1].upper()
    return name in others or name in KINDS or name in COUNTS or component_for(name) is not None


def entries(path: str, lines: list[str], others: Container[str] = ()) -> Iterator[Entry]:
    """Yield the records of a file; a line that begins with ``@!`` is a comment, as in RAW files.

    `others` are names of models that begin a record, beside those of plants and loads.
    """
    held: list[tuple[int, str]] = []
    separated = True
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("@!"):
            continue
        if not held and line.lstrip().startswith("#"):
            what = "begins with #, which is no mark of a comment in PSS/E; passed over as one"
            warnings.warn(f"{path}:{number}: {what}", PsmrWarning, stacklevel=3)
            continue
        values, ended, separated = fields_of(line, f"{path}:{number}", separated or not held)
        for value in values:
            held.append((number, (value or "").strip()))
            if _begins_another(held, others):
                *held, bus, model = held
                what = f"its record has no slash before {bus[1]} {model[1]!r}, where the next begins"
                warnings.warn(f"{path}:{held[0][0]}: {what}", PsmrWarning, stacklevel=3)
                yield Entry(path, held[0][0], tuple(held))
                held = [bus, model]
        if ended and held:
            yield Entry(path, held[0][0], tuple(held))
        if ended:
            held = []
    if held:
        what = "the last record does not end with a slash; is the file whole? It is taken as it stands"
        warnings.warn(f"{path}:{held[0][0]}: {what}", PsmrWarning, stacklevel=3)
        yield Entry(path, held[0][0], tuple(held))
