"""A functional mock-up unit (FMI 2 and 3): what it says of itself, read without running it.

Functional Mock-up Interface, Modelica Association, versions 2.0 (2014) and 3.0 (2022). A unit is an archive
with a description and libraries for some platforms. psmr reads it with FMPy and runs those for co-simulation
and, of FMI 3, for scheduled execution at samples (`psmr.sampled.fmu`).
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from psmr.base.errors import InputError, first_few, in_line, nearest
from psmr.base.modules import optional
from psmr.sampled.description import CodeInfo, CodeParameter, Port
from psmr.sampled.layout import TEXT

KINDS = {
    "Real": 9, "Float64": 9, "Float32": 8, "Int8": 2, "UInt8": 3, "Int16": 4, "UInt16": 5, "Int32": 6,
    "UInt32": 7, "Integer": 6, "Int64": 6, "UInt64": 7, "Enumeration": 6, "Boolean": 3, "String": TEXT,
}  # fmt: skip
"""Kinds of `psmr.sampled.layout` by the types of variables."""

# Units by their exponents of kg, m, s, A, rad, and names that stay although others have the same exponents.
_SYMBOLS = {
    (1, 2, -3, -1, 0): "V", (0, 0, 0, 1, 0): "A", (1, 2, -3, 0, 0): "W", (0, 0, -1, 0, 0): "Hz",
    (0, 0, -1, 0, 1): "rad/s", (0, 0, 0, 0, 1): "rad", (0, 0, 1, 0, 0): "s", (0, 0, 0, 0, 0): "1",
}  # fmt: skip
_PREFIXES = {1.0: "", 1e3: "k", 1e6: "M"}
_NAMED = ("pu", "var", "kvar", "Mvar", "VA", "kVA", "MVA", "deg")


class FmuDescription:
    """The description of a unit of FMI 2 or 3 for co-simulation or scheduled execution: no code of it runs.

    Parameters
    ----------
    path
        The unit, a file ``.fmu``.
    period
        Time between two samples in s, the unit's communication step; that of its description where left out
        (default experiment, or its fixed internal step). Scheduled execution has the intervals of its clocks.
    clocks
        Names of the input clocks that are activated; all where left out, which then are periodic.

    Attributes
    ----------
    info
        What it says of itself, a `psmr.sampled.description.CodeInfo`: ports are inputs and outputs that are
        numbers, outputs those at the end of a step.
    version
        Of FMI: 2 or 3.
    scheduled
        Whether it is run by its clocks.
    said
        Kinds of its messages that FMI names, which are kept.
    schedule
        Of each clock: value reference, samples between activations, samples before the first.

    Raises
    ------
    InputError
        For a file that is no unit, one of another version of FMI, for model exchange only or without a
        library for this platform, and for a step that it does not take.
    PsmrError
        Where FMPy is not installed.
    """

    def __init__(
        self, path: str | os.PathLike[str], period: float | None = None, clocks: Sequence[str] = ()
    ) -> None:
        self.path, self.period, self.clocks = Path(path), period, tuple(clocks)
        self._root, self._files = _opened(self.path)
        self.version = _version(self.path, self._root)
        self.fmpy = optional("fmpy", f"{path}: a unit of FMI", "psmr[fmi]", "wire a library in its place")
        try:
            self.description = self.fmpy.read_model_description(os.fspath(path))
        except Exception as error:
            words = getattr(error, "problems", [" ".join(str(error).split())])
            raise InputError(f"{path}: modelDescription.xml: {in_line(first_few(words, 3, '; '))}") from error
        both = self.description.coSimulation, self.description.scheduledExecution
        self.scheduled = both[1] is not None and (both[0] is None or bool(clocks))
        self.face = both[self.scheduled]
        if self.face is None:
            raise InputError(
                f"{path}: is for model exchange only: it leaves its states to whoever runs it; export it for "
                "co-simulation"
            )
        self.binary = self._binary()
        self.keeps_state = self.face.canGetAndSetFMUstate
        kinds = [str(e.get("name")) for e in self._root.iterfind("LogCategories/Category")]
        self.said = [kind for kind in kinds if kind.startswith("logStatus")]
        base, self.schedule = self._clocked() if self.scheduled else (self._step(), ())
        about = self.description
        self.info = CodeInfo(
            name=in_line(about.modelName or self.path.stem),
            version=in_line(about.version or ""),
            text=in_line(about.description or ""),
            creator=in_line(about.author or about.generationTool or ""),
            api=tuple(int(part) for part in about.fmiVersion.split(".")[:2]),
            period=base,
            mode=0,
            inputs=self._ports("input"),
            outputs=self._ports("output"),
            parameters=tuple(
                self._parameter(v)
                for v in self.variables.values()
                if v.causality == "parameter" and v.type in KINDS and not v.shape
            ),
            states=(0, 0, 0),
        )

    @cached_property
    def variables(self) -> dict[str, Any]:
        """The variables of its description by name; a second name of one is left out."""
        found = self.description.modelVariables
        return {v.name: v for v in found if getattr(v, "alias", None) is None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.fspath(self.path)!r})"

    def _binary(self) -> str:
        """Return the path of the library for this platform within the archive."""
        place = self.fmpy.platform_tuple if self.version == 3 else self.fmpy.platform
        wanted = f"binaries/{place}/{self.face.modelIdentifier}{self.fmpy.sharedLibraryExtension}"
        if wanted not in self._files:
            parts = [name.split("/") for name in self._files]
            others = sorted({part[1] for part in parts if part[0] == "binaries" and len(part) > 2})
            raise InputError(
                f"{self.path}: has no {wanted}, the library for this platform: it is for "
                f"{first_few(others, 6) or 'none'}; ask its maker for one with {place}"
            )
        return wanted

    def _ports(self, causality: str) -> tuple[Port, ...]:
        """Return the inputs or outputs that are numbers; a text, a clock, bytes keep their start values."""
        return tuple(
            Port(v.name, in_line(v.description or ""), self._unit(v), KINDS[v.type], math.prod(v.shape or ()))
            for v in self.variables.values()
            if v.causality == causality and KINDS.get(v.type, TEXT) != TEXT
        )

    def _parameter(self, variable: Any) -> CodeParameter:
        kind = KINDS[variable.type]
        low, high = (
            getattr(variable, side) or getattr(variable.declaredType, side, None) for side in ("min", "max")
        )
        return CodeParameter(
            name=variable.name,
            group="",
            text=in_line(variable.description or ""),
            unit=self._unit(variable),
            kind=kind,
            fixed=variable.variability == "fixed",
            default=(variable.start or "") if kind == TEXT else number(variable.start),
            lower=-math.inf if low is None else float(low),
            upper=math.inf if high is None else float(high),
        )

    def _unit(self, variable: Any) -> str:
        """Return the unit of a variable as psmr calls it where its base units say which it is."""
        name = str(variable.unit or getattr(variable.declaredType, "unit", None) or "")
        base = next((u.baseUnit for u in self.description.unitDefinitions if u.name == name), None)
        if base is None or name in _NAMED or base.offset or base.K or base.mol or base.cd:
            return name
        symbol = _SYMBOLS.get((base.kg, base.m, base.s, base.A, base.rad), "")
        if symbol == "rad" and math.isclose(base.factor, math.pi / 180.0):
            return "deg"
        known = symbol and base.factor in _PREFIXES and (base.factor == 1.0 or symbol in "VAW")
        return _PREFIXES[base.factor] + symbol if known else name

    def _step(self) -> float:
        """Return the step of co-simulation in s."""
        fixed = number(getattr(self.face, "fixedInternalStepSize", None))
        usual = number(getattr(self.description.defaultExperiment, "stepSize", None))
        period = (usual or fixed) if self.period is None else self.period
        if not 0.0 < period < math.inf:
            raise InputError(
                f"{self.path}: period = {period:g} s: must be the time between two steps of the unit, whose "
                "description names none",
                field="period",
            )
        if fixed and abs(period / fixed - round(period / fixed)) > 1e-9 * period / fixed:
            raise InputError(
                f"{self.path}: period = {period:g} s: must be a whole multiple of its own step, {fixed:g} s",
                field="period",
            )
        return period

    def _clocked(self) -> tuple[float, tuple[tuple[int, int, int], ...]]:
        """Return the time in s that divides all intervals of its clocks, and `schedule` by priority."""
        found = {
            e.get("name", ""): e for e in self._root.iterfind("ModelVariables/Clock[@causality='input']")
        }
        for name in self.clocks:
            if name not in found:
                raise InputError(f"{self.path}: has no input clock {name!r}{nearest(name, found)}")
        chosen = sorted(
            (e for name, e in found.items() if not self.clocks or name in self.clocks),
            key=lambda e: int(e.get("priority", 0)),
        )
        times = [_times(element) for element in chosen]
        unknown = [e.get("name", "") for e, (interval, _) in zip(chosen, times, strict=True) if not interval]
        if unknown or not times:
            what = f"the clock {first_few(unknown, 4)} has no interval" if unknown else "there is no clock"
            raise InputError(
                f"{self.path}: {what} that stays, and psmr activates those that have one; name them (clocks)",
                field="clocks",
            )
        base = reduce(_common, [part for pair in times for part in pair if part])
        if self.period is not None and not math.isclose(self.period, base, rel_tol=1e-9):
            raise InputError(
                f"{self.path}: period = {self.period:g} s: its clocks ask for {float(base):g} s",
                field="period",
            )
        return float(base), tuple(
            (int(e.get("valueReference", 0)), int(interval / base), int(shift / base))
            for e, (interval, shift) in zip(chosen, times, strict=True)
        )


def _opened(path: Path) -> tuple[ElementTree.Element, frozenset[str]]:
    """Return the description in a unit, and the names of its files."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = frozenset(archive.namelist())
            return ElementTree.fromstring(archive.read("modelDescription.xml")), files
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: is no unit of FMI, which is a zip archive ({error})") from error
    except KeyError as error:
        raise InputError(f"{path}: is no unit of FMI: it has no modelDescription.xml") from error
    except ElementTree.ParseError as error:
        raise InputError(f"{path}: modelDescription.xml: {error}") from error


def _version(path: Path, root: ElementTree.Element) -> int:
    given = in_line(root.get("fmiVersion", ""))
    if given != "2.0" and not given.startswith("3."):
        raise InputError(
            f"{path}: is of FMI {given or 'without a version'}; psmr has 2.0 and 3: export it anew"
        )
    return int(given[0])


def number(text: object) -> float:
    """Return a number of a description; 0 where there is none."""
    return float(text == "true") if text in ("true", "false") else float(str(text or 0))


def _times(clock: ElementTree.Element) -> tuple[Fraction, Fraction]:
    """Return interval and shift of a clock in s; 0 where its description has none that stays."""
    if clock.get("intervalVariability") not in ("constant", "fixed", "tunable"):
        return Fraction(0), Fraction(0)
    if clock.get("intervalCounter"):
        one = Fraction(1, int(clock.get("resolution", 1)))
        return int(clock.get("intervalCounter", 0)) * one, int(clock.get("shiftCounter", 0)) * one
    return Fraction(clock.get("intervalDecimal", "0")), Fraction(clock.get("shiftDecimal", "0"))


def _common(a: Fraction, b: Fraction) -> Fraction:
    """Return the largest time of which both are whole multiples."""
    shared = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(shared, a.denominator * b.denominator)
