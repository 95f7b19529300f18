"""A record of a PSS/E file: fields by name, each with the line where it stands.

A field that is left out has the standard's default.

The records of a PSS/E DYR file: which values a model's record has, and which parameters they are.

Components declare their records (`psmr.dae.declare.component.Component.records`): the model's name, then the
names of the parameters in the order of the values. ``name=value`` is a value that must be as given, for the
component has no such option; ``-name`` one that changes nothing in psmr. Source: Siemens PTI, PSS/E Model
Library, the data sheets of the models.

The fields of PSS/E's free format, which is list-directed input of Fortran.

Fields are separated by commas or blanks, texts are in single or double quotes, two commas in a row leave a
field out, ``3*0.5`` is a field three times, ``3*`` leaves three out, and a slash ends the record. Source:
ISO/IEC 1539-1:2018, Fortran, 13.10.3.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence

from psmr.base.errors import CaseError, PsmrWarning, shown
from psmr.dae.declare.component import Component
from psmr.devices.catalogue import ROLES, components, records_of, role_parameters
from psmr.files.rounding import in_order

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

    Parameters
    ----------
    path, line, section
        Where it stands, for messages.
    names
        Names of the fields in their order.
    fields
        Their texts as `free_format.split` gives them.
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
            what = f"{name} = {text}: must be a whole number; taken as {written}"
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=3)
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
            what = f"{name} = {self.text(name)}: must be > 0; taken as the default {default:g}"
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=2)
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
            warnings.warn(f"{self.where}: {what}", PsmrWarning, stacklevel=2)
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


class Records:
    """The records of some components: which component a model is, and which parameters its values are."""

    def __init__(self, kinds: Iterable[type[Component]], own: Iterable[type[Component]] = ()) -> None:
        self.kinds: dict[str, type[Component]] = {}
        self.layouts: dict[str, list[list[str]]] = {}
        self.own: frozenset[str] = frozenset()
        for kind in kinds:
            self._add(kind, records_of(kind))
        self.own = frozenset(model for kind in own for model in self._add(kind, _own_records(kind)))

    def _add(self, kind: type[Component], records: tuple[str, ...]) -> set[str]:
        split = [record.split() for record in records]
        for model, *_ in split:
            self.kinds[model], self.layouts[model] = kind, []
        for model, *names in split:
            self.layouts[model].append(names)
        return {model for model, *_ in split}

    def with_own(self, own: Iterable[type[Component]]) -> Records:
        """Return these and those of the user's own components, which come first."""
        plants = [kind for kind in own if kind.role in ROLES]
        return Records(components(), plants) if plants else self

    def names_of(self, model: str, count: int) -> list[str]:
        """Return the names of the `count` values of a model's record, the first layout where none fits."""
        layouts = self.layouts[model]
        return next((names for names in layouts if len(names) == count), layouts[0])

    def component_for(self, model: str) -> tuple[str, type[Component]] | None:
        """Return (role, component) of a model, or None where there is none."""
        kind = self.kinds.get(model)
        return None if kind is None else (kind.role, kind)


def _own_records(kind: type[Component]) -> tuple[str, ...]:
    """Return the records of a component of the user's own: its name, its parameters, unless it says else."""
    names = [name for name in role_parameters(kind) if name != "s_n"]
    return records_of(kind) or (" ".join([kind.__name__.upper(), *names]),)


LIBRARY = Records(components())
names_of, component_for = LIBRARY.names_of, LIBRARY.component_for

MODELS: Mapping[str, str] = {model: " ".join(layouts[0]) for model, layouts in LIBRARY.layouts.items()}
"""Model to the names of its values, in their order, after bus, name and machine identifier."""

ALIASES = {"IEEEG1CC": "IEEEG1"}
"""Names that psmr gives to what a record with other values is; files have the name after it."""


def parameters(
    component: type[Component], values: Mapping[str, float], mbase: float, zr: float, zx: float
) -> dict[str, float]:
    """Return the component's parameters: those of the record, and the machine's base and impedance.

    The impedance that the network file gives a generator is, per unit on its base, the stator resistance and,
    for the classical machine, the transient reactance.
    """
    found = dict(values)
    if "ta_tb" in found:
        found["t_a"] = found.pop("ta_tb") * found["t_b"]
    if "x_comp" in found:
        found |= {"r_c": 0.0, "x_c": -found.pop("x_comp")}
    for name in [name for name in found if name.endswith("_deg")]:
        found[name.removesuffix("_deg")] = math.radians(found.pop(name))
    declared = role_parameters(component)
    found |= component.from_record(found)
    outside = {"s_n": mbase, "r_a": zr, "x_d1": zx, "r_e": zr, "x_e": zx}
    return {name: value for name, value in outside.items() if name in declared} | found


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
