"""A record of a PSS/E file: fields by name, and which fields and sections a RAW file of each version has.

A field that is left out has the standard's default. PSS/E's free format is list-directed input of Fortran:
fields are separated by commas or blanks, texts are in single or double quotes, two commas in a row leave a
field out, ``3*0.5`` is a field three times, ``3*`` leaves three out, and a slash ends the record. Source:
ISO/IEC 1539-1:2018, Fortran, 13.10.3.

Version 23 has loads and shunts in the bus record and transformers among the branches; 24 to 27 have loads of
their own; 29 and 30 have shunts in the bus record and switched shunts before the impedance correction; 31 to
33 have fixed shunts of their own and three ratings to a branch; from 34 on there are system-wide data,
switching devices, twelve ratings and names on branches; 35 and 36 number the nodes of substations; 36 has
voltage droop controls, ratings of switching devices in sets of their own, types of loads, and interfaces.
Fields after those that psmr reads are left out here. Areas, zones, transfers, owners, groups of line
sections, ratings, types of loads, interfaces and substations say nothing about the equations of the network
and are passed over; so is the system-wide data, which sets the solver of the program that wrote it. Voltage
droop controls move the voltages that generators hold in a power flow, and a solved file has stored those.
Source: Siemens PTI, PSS/E Program Operation Manual; for 23 to 31 also MATPOWER's psse_parse, for 24 to 27
that alone, for 36 the titles of columns that PSS/E itself writes into a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from psmr.base.errors import CaseError, shown, warn
from psmr.files.text import in_order

_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[EeDd][+-]?[0-9]+)?")
_THREE_DIGITS = re.compile(r"([+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+))([+-][0-9]{3})")
"""Fortran leaves the letter out where an exponent has three digits."""
_BUSES = ("I", "J", "K", "IREG", "SWREM", "CONT", "IBUS", "IP", "REMOT")
"""Fields that name a bus: by its number, or in files that are saved so by its name."""
_LAST_BUS = 999997
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}(\.0*)?")


def _written_as_real(text: str) -> int:
    """Return a whole number that is written as 1e-7 times itself, 0 where a text is none.

    PSS/E's own example of RAWX has 0.1000000E-06 for 1 and 0.1010000E-04 for 101.
    """
    value = 1e7 * _value(text) if _REAL.fullmatch(text) else 0.0
    return round(value) if 0 < value <= _LAST_BUS and abs(value - round(value)) < 1e-6 * value else 0


def _value(real: str) -> float:
    return float(real.replace("D", "E").replace("d", "e"))


def name_part(text: str) -> str:
    """Return an identifier as names can have it: in upper case, without blanks and dots."""
    return re.sub(r"[\s.]+", "_", text.upper())


class PsseRecord:
    """The fields of one record, or of one of its lines, under the names that the format gives them.

    `fields` are their texts as `split` gives them; `path`, `line` and `section` say where it stands.
    """

    def __init__(
        self, path: str, line: int, section: str, names: Sequence[str], fields: Sequence[str | None]
    ) -> None:
        self.path, self.line, self.section = path, line, section
        self._fields: Mapping[str, str | None] = dict(zip(names, fields, strict=False))

    @property
    def where(self) -> str:
        """File, line and section."""
        return f"{self.path}:{self.line} ({self.section})"

    def error(self, name: str, right: str) -> CaseError:
        """Return the error for a field whose value is wrong, saying what would be right."""
        value = self._fields.get(name)
        return CaseError(f"{self.where}: {name} = {shown(value) if value else 'missing'}: {right}")

    def require(self, good: bool, name: str, right: str) -> None:
        """Raise the error for a field unless `good`."""
        if not good:
            raise self.error(name, right)

    def has(self, name: str) -> bool:
        """Say whether a field is given."""
        return bool((self._fields.get(name) or "").strip())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields up to the last that is given."""
        return tuple(self._fields)

    def text(self, name: str, default: str = "") -> str:
        """Return a field as text without blanks at its ends."""
        return (self._fields.get(name) or "").strip() or default

    def real(self, name: str, default: float | None = None) -> float:
        """Return a field as a finite number; `default` where it is left out, if the standard has one."""
        text = self.text(name)
        if not text:
            if default is None:
                raise self.error(name, "must be given, as a number")
            return default
        text = _THREE_DIGITS.sub(r"\1E\2", text)
        if not _REAL.fullmatch(text):
            raise self.error(name, "must be a finite number")
        value = _value(text)
        if not math.isfinite(value):
            raise self.error(name, "must be a finite number")
        return value

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a field as a whole number; `default` where it is left out, if the standard has one."""
        text = self.text(name)
        if not text:
            if default is None:
                raise self.error(name, "must be given, as a whole number")
            return default
        if written := _written_as_real(text):
            warn(f"{self.where}: {name} = {text}: must be a whole number; taken as {written}")
            return written
        if not _WHOLE.fullmatch(text):
            named = name in _BUSES and text[:1].isalpha()
            remedy = "; are buses given by their names? Save the case with bus numbers" if named else ""
            raise self.error(name, f"must be a whole number of at most nine digits{remedy}")
        return int(text.split(".")[0])

    def positive(self, name: str, default: float | None = None) -> float:
        """Return a field as a number above zero."""
        value = self.real(name, default)
        self.require(value > 0, name, "must be > 0")
        return value

    def in_place_of_zero(self, name: str, default: float) -> float:
        """Return a field as a number above zero; the default, with a warning, where it is zero."""
        if self.has(name) and self.real(name) == 0:
            warn(f"{self.where}: {name} = {self.text(name)}: must be > 0; taken as the default {default:g}")
            return default
        return self.positive(name, default)

    def share(self, needed: bool) -> float:
        """Return RMPCT, which has to be above 0 where it is `needed`: where another bus is regulated."""
        if not needed and self.real("RMPCT", 100.0) <= 0:
            return 100.0
        return self.in_place_of_zero("RMPCT", 100.0)

    def limits(self, low: str, high: str, default: float) -> tuple[float, float]:
        """Return two limits, where left out -`default` and `default`; the second must be at least the first.

        Where it is below that by no more than rounding, both are the first, with a warning.
        """
        least, most = self.real(low, -default), self.real(high, default)
        found = in_order(least, most)
        self.require(found is not None, high, f"must be at least {low} = {least:g}")
        if found != (least, most):
            what = f"{high} = {self.text(high)} is below {low} = {least:g} by rounding; both are {least:g}"
            warn(f"{self.where}: {what}")
        return found or (least, most)

    def one_of(self, name: str, choices: Sequence[int], default: int | None = None) -> int:
        """Return a field as one of a few whole numbers."""
        value = self.whole(name, default)
        self.require(value in choices, name, f"must be one of {', '.join(map(str, choices))}")
        return value

    def bus(self, name: str) -> int:
        """Return a field as a bus number, which is above zero."""
        value = self.whole(name)
        self.require(value > 0, name, "must be a bus number > 0")
        return value


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

    Raises CaseError for a quotation mark without its partner and a field that is repeated too often, naming
    `place`.
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


VERSIONS = (23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36)

LAST_ADJUSTED = 27
"""Last version with transformers among the branches and their adjustment in a section of its own."""

CASE = "IC SBASE REV XFRRAT NXFRAT BASFRQ"

LINES = {"two-terminal dc": 3, "vsc dc": 3}
"""Sections whose records have as many lines."""

COUNTED = ("transformer", "multi-terminal dc")
"""Sections whose records say in their first line how many lines they have."""


def sections(version: int) -> tuple[str, ...]:
    """Return the names of a version's sections in their order."""
    early = (
        "impedance correction, multi-terminal dc, multi-section line, zone, inter-area transfer, owner, facts"
    )
    first, machines = "bus, load, fixed shunt", "gne, induction machine"
    rest = f"transformer, area, two-terminal dc, vsc dc, {early}, switched shunt"
    if version <= LAST_ADJUSTED:
        found = f"bus, {'load, ' if version > 23 else ''}generator, branch, transformer adjustment, area"
        found += f", two-terminal dc, switched shunt, {early}"
    elif version <= 30:
        found = "bus, load, generator, branch, transformer, area, two-terminal dc, vsc dc"
        found += f", switched shunt, {early}"
    elif version < 34:
        found = f"{first}, generator, branch, {rest}{'' if version == 31 else f', {machines}'}"
    else:
        between, after = "generator", ""
        if version >= 36:
            between = "voltage droop control, generator, switching device rating set"
            after = ", load type, interface, interface element"
        found = f"system-wide, {first}, {between}, branch, switching device, {rest}, {machines}{after}"
        found += ", substation"
    return tuple(found.split(", "))


def fields(version: int) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fields of each section; a transformer's lines are `transformer 1` to `3`."""
    new, newest = version >= 34, version >= 35
    rates = _numbered("RATE", 12) if new else "RATEA RATEB RATEC"
    names = "NAME " if new else ""
    owners = "O1 F1 O2 F2 O3 F3 O4 F4"
    meter = "MET " if version > 30 else ""
    turned = "RATIO ANGLE " if version <= LAST_ADJUSTED else ""
    line = "I" if version < 31 else "NAME"
    source = "IBUS TYPE MODE DCSET ACSET ALOSS BLOSS MINLOSS SMAX IMAX PWF MAXQ MINQ REMOT"
    source += " NREG RMPCT" if newest else " RMPCT"
    converter = f"IP NB ANMX ANMN RC XC EBAS TR TAP TMX TMN STP IC {'ND ' if newest else ''}IF IT ID XCAP"
    layout = {
        "bus": "I NAME BASKV IDE AREA ZONE OWNER VM VA NVHI NVLO EVHI EVLO",
        "load": "I ID STATUS AREA ZONE PL QL IP IQ YP YQ OWNER SCALE INTRPT DGENP DGENQ DGENM",
        "fixed shunt": "I ID STATUS GL BL",
        "area": "I ISW PDES PTOL ARNAME",
        "generator": f"I ID PG QG QT QB VS IREG {'NREG ' if newest else ''}MBASE ZR ZX RT XT GTAP STAT RMPCT"
        f" PT PB {'BASLOD ' if newest else ''}{owners} WMOD WPF",
        "branch": f"I J CKT R X B {names}{rates} {turned}GI BI GJ BJ ST {meter}LEN",
        "switching device": f"I J CKT X {rates if version < 36 else 'RSETNAM'} STAT NSTAT MET STYPE NAME",
        "transformer": f"I J K CKT CW CZ CM MAG1 MAG2 NMETR NAME STAT {owners} VECGRP ZCOD",
        "transformer 1": "R1-2 X1-2 SBASE1-2 R2-3 X2-3 SBASE2-3 R3-1 X3-1 SBASE3-1 VMSTAR ANSTAR",
        "transformer 2": f"WINDV NOMV ANG {rates} COD CONT {'NODE ' if newest else ''}RMA RMI VMA VMI NTP TAB"
        " CR CX CNXA",
        "switched shunt": f"I MODSW ADJM STAT VSWHI VSWLO SWREM RMPCT RMIDNT BINIT {_blocks('N', 'B')}"
        if not newest
        else f"I ID MODSW ADJM STAT VSWHI VSWLO SWREM NREG RMPCT RMIDNT BINIT"
        f" {'NAME ' if version == 36 else ''}{_blocks('S', 'N', 'B')}",
        "two-terminal dc": f"{line} MDC RDC SETVL VSCHD VCMOD RCOMP DELTI METER",
        "two-terminal dc 1": converter,
        "two-terminal dc 2": converter,
        "vsc dc": "NAME MDC RDC",
        "vsc dc 1": source,
        "vsc dc 2": source,
        "multi-terminal dc": f"{line} NCONV NDCBS NDCLN MDC VCONV VCMOD VCONVN",
        "multi-terminal dc 1": "IB N ANGMX ANGMN RC XC EBAS TR TAP TPMX TPMN TSTP SETVL DCPF MARG CNVCOD",
        "multi-terminal dc 2": "IDC IB AREA ZONE DCNAME IDC2 RGRND OWNER",
        "multi-terminal dc 3": f"IDC JDC DCCKT {meter}RDC LDC",
        "impedance correction": _numbered("V", 40, 0),
        "facts": f"{'N' if version < 31 else 'NAME'} I J MODE PDES QDES VSET SHMX TRMX VTMN VTMX VSMX IMX"
        " LINX RMPCT OWNER SET1 SET2 VSREF REMOT",
        "gne": "NAME MODEL NTERM",
        "induction machine": f"I ID STAT SC DC AREA ZONE OWNER {'NAME ' if version == 36 else ''}TC BC MBASE"
        " RATEKV PCODE PSET H A B D E RA XA XM R1 X1 R2 X2 X3 E1 SE1 E2 SE2 IA1 IA2 XAMULT",
    }
    if version == 23:
        layout["bus"] = "I IDE PL QL GL BL AREA VM VA NAME BASKV ZONE"
    elif version <= 30:
        layout["bus"] = "I NAME BASKV IDE GL BL AREA ZONE VM VA OWNER"
    if version <= LAST_ADJUSTED:
        layout["switched shunt"] = f"I MODSW VSWHI VSWLO SWREM BINIT {_blocks('N', 'B')}"
    elif version in (29, 30, 31):
        percent = "" if version == 29 else "RMPCT "
        layout["switched shunt"] = f"I MODSW VSWHI VSWLO SWREM {percent}RMIDNT BINIT {_blocks('N', 'B')}"
    return {section: tuple(text.split()) for section, text in layout.items()}


def _blocks(*names: str) -> str:
    """Return the names of the fields of the eight blocks of a switched shunt."""
    return " ".join(f"{name}{i}" for i in range(1, 9) for name in names)


def _numbered(name: str, count: int, first: int = 1) -> str:
    return " ".join(f"{name}{i}" for i in range(first, first + count))
