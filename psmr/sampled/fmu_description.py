"""What a functional mock-up unit (FMI 2.0, 3.0) says of itself: read by FMPy, without running it."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
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
_FACTORS = {(1.0, ""): "", (1e3, "V"): "k", (1e3, "A"): "k", (1e3, "W"): "k", (1e6, "W"): "M"}
_NAMED = ("pu", "var", "kvar", "Mvar", "VA", "kVA", "MVA", "deg")


class FmuDescription:
    """The description of a unit for co-simulation or scheduled execution.

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
        What it says of itself; ports are inputs and outputs that are numbers.
    version
        Of FMI: 2 or 3.
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
        self.path = Path(path)
        self.schedule: tuple[tuple[int, int, int], ...] = ()
        self._root, files = _opened(self.path)
        given = in_line(self._root.get("fmiVersion", ""))
        if given != "2.0" and not given.startswith("3."):
            raise InputError(f"{path}: is of FMI {given or '(none)'}; psmr has 2.0 and 3: export it anew")
        self.version = int(given[0])
        fmpy = optional("fmpy", f"{path}: a unit of FMI", "psmr[fmi]", "wire a library in its place")
        try:
            self.about = fmpy.read_model_description(os.fspath(path))
        except Exception as error:
            words = getattr(error, "problems", [" ".join(str(error).split())])
            raise InputError(f"{path}: modelDescription.xml: {in_line(first_few(words, 3, '; '))}") from error
        both = self.about.coSimulation, self.about.scheduledExecution
        self.scheduled = both[1] is not None and (both[0] is None or bool(clocks))
        self.face = both[self.scheduled]
        if clocks and not self.scheduled:
            raise InputError(
                f"{path}: clocks = {clocks[0]!r}: it has no scheduled execution, whose clocks tick"
            )
        if self.face is None:
            raise InputError(
                f"{path}: is for model exchange only: it leaves its states to whoever runs it; export it for "
                "co-simulation"
            )
        place = fmpy.platform_tuple if self.version == 3 else fmpy.platform
        self.binary = f"binaries/{place}/{self.face.modelIdentifier}{fmpy.sharedLibraryExtension}"
        if self.binary not in files:
            others = {name.split("/")[1] for name in files if name.startswith("binaries/")} - {""}
            raise InputError(
                f"{path}: has no {self.binary}, the library for this platform: it is for "
                f"{first_few(sorted(others), 6) or 'none'}; ask its maker for one with {place}"
            )
        self.variables = {v.name: v for v in self.about.modelVariables if not getattr(v, "alias", None)}
        parameters = [v for v in self.variables.values() if v.causality == "parameter" and not v.shape]
        self.info = CodeInfo(
            name=in_line(self.about.modelName or self.path.stem),
            version=in_line(self.about.version or ""),
            text=in_line(self.about.description or ""),
            creator=in_line(self.about.author or self.about.generationTool or ""),
            api=(self.version, 0),
            period=self._clocked(period, clocks) if self.scheduled else self._step(period),
            mode=0,
            inputs=self._ports("input"),
            outputs=self._ports("output"),
            parameters=tuple(self._parameter(v) for v in parameters if v.type in KINDS),
            states=(0, 0, 0),
        )

    def said(self) -> list[str]:
        """Return the kinds of its messages that FMI names."""
        kinds = [str(e.get("name")) for e in self._root.iterfind("LogCategories/Category")]
        return [kind for kind in kinds if kind.startswith("logStatus")]

    def _ports(self, causality: str) -> tuple[Port, ...]:
        return tuple(
            Port(v.name, in_line(v.description or ""), self._unit(v), KINDS[v.type], math.prod(v.shape or ()))
            for v in self.variables.values()
            if v.causality == causality and KINDS.get(v.type, TEXT) != TEXT
        )

    def _parameter(self, v: Any) -> CodeParameter:
        low, high = (getattr(v, side) or getattr(v.declaredType, side, None) for side in ("min", "max"))
        lower, upper = -math.inf if low is None else float(low), math.inf if high is None else float(high)
        start = v.start or "" if v.type == "String" else number(v.start)
        words, fixed = in_line(v.description or ""), v.variability == "fixed"
        return CodeParameter(v.name, "", words, self._unit(v), KINDS[v.type], fixed, start, lower, upper)

    def _unit(self, variable: Any) -> str:
        """Return the unit of a variable as psmr calls it where its base units say which it is."""
        name = str(variable.unit or getattr(variable.declaredType, "unit", None) or "")
        base = next((u.baseUnit for u in self.about.unitDefinitions if u.name == name), None)
        if base is None or name in _NAMED or base.offset or base.K or base.mol or base.cd:
            return name
        symbol = _SYMBOLS.get((base.kg, base.m, base.s, base.A, base.rad), "")
        if symbol == "rad" and math.isclose(base.factor, math.pi / 180.0):
            return "deg"
        prefix = _FACTORS.get((base.factor, "" if base.factor == 1.0 else symbol))
        return name if prefix is None or not symbol else prefix + symbol

    def _step(self, period: float | None) -> float:
        """Return the step of co-simulation in s."""
        fixed = number(getattr(self.face, "fixedInternalStepSize", None))
        usual = number(getattr(self.about.defaultExperiment, "stepSize", None))
        h = (usual or fixed) if period is None else period
        if not 0.0 < h < math.inf:
            wrong = "must be the time between two steps of the unit, whose description names none"
        elif fixed and abs(h / fixed - round(h / fixed)) > 1e-9 * h / fixed:
            wrong = f"must be a whole multiple of its own step, {fixed:g} s"
        else:
            return h
        raise InputError(f"{self.path}: period = {h:g} s: {wrong}", field="period")

    def _clocked(self, period: float | None, clocks: Sequence[str]) -> float:
        """Return the time in s that divides all intervals of its clocks; fill `schedule` by priority."""
        found = {
            e.get("name", ""): e for e in self._root.iterfind("ModelVariables/Clock[@causality='input']")
        }
        for name in clocks:
            if name not in found:
                raise InputError(f"{self.path}: has no input clock {name!r}{nearest(name, found)}")
        chosen = sorted((found[name] for name in clocks or found), key=lambda e: int(e.get("priority", 0)))
        times = [_times(element) for element in chosen]
        unknown = [e.get("name", "") for e, (interval, _) in zip(chosen, times, strict=True) if not interval]
        if unknown or not times:
            what = f"the clock {first_few(unknown, 4)} has no interval" if unknown else "there is no clock"
            raise InputError(
                f"{self.path}: {what} that stays, and psmr activates those that have one; name them (clocks)"
            )
        base = math.gcd(*(part for pair in times for part in pair))
        if period is not None and not math.isclose(1e12 * period, base, rel_tol=1e-9):
            raise InputError(f"{self.path}: period = {period:g} s: its clocks ask for {base / 1e12:g} s")
        self.schedule = tuple(
            (int(e.get("valueReference", 0)), interval // base, shift // base)
            for e, (interval, shift) in zip(chosen, times, strict=True)
        )
        return base / 1e12


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


def number(text: object) -> float:
    """Return a number of a description; 0 where there is none."""
    return float(text == "true") if text in ("true", "false") else float(str(text or 0))


def _times(clock: ElementTree.Element) -> tuple[int, int]:
    """Return interval and shift of a clock in ps; 0 where its description has none that stays."""
    if clock.get("intervalVariability") not in ("constant", "fixed", "tunable"):
        return 0, 0
    counted = clock.get("intervalCounter") is not None
    one = number(clock.get("resolution")) if counted else 1.0
    interval, shift = (
        number(clock.get(f"{what}{'Counter' if counted else 'Decimal'}")) for what in ("interval", "shift")
    )
    return round(1e12 * interval / one), round(1e12 * shift / one)
