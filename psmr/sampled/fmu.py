"""A unit of FMI that runs: opened, started, brought back to an earlier state, its failures in words.

Sampled states of its device are the number of samples so far, the time in s at which the unit started, and
its state as bytes, six to a number. A unit that cannot write its state, or has much of it, has in their place
the number of a state that is kept beside; one that does not give its state goes back to its start alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import itertools
import math
import os
import secrets
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, first_few, in_line
from psmr.dae.compile.arguments import address_of
from psmr.sampled import fmu_adapter as adapter
from psmr.sampled.description import in_words, labels
from psmr.sampled.fmu_description import FmuDescription
from psmr.sampled.instance import checked, run_sample
from psmr.sampled.library import _opened

MOST_BYTES = 6000
"""Of a longer state only its number stands among the sampled states."""

_STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")

_DTYPES = ("", "i1", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "", "i8")
"""Numbers of numpy by the kinds of `psmr.sampled.layout`."""


class _Group(NamedTuple):
    """Ports of one type that follow each other.

    `type`, `kind`: Of FMI, as its functions have it in their names, and of `psmr.sampled.layout`.
    `references`, `values`: Of the variables, and the numbers that the functions are handed.
    `first`: Place of the first number among all inputs or outputs.
    """

    type: str
    kind: int
    references: np.ndarray
    values: np.ndarray
    first: int


class Fmu(FmuDescription):
    """A functional mock-up unit of FMI 2 or 3 for co-simulation or scheduled execution.

    Its description is read (`psmr.sampled.fmu_description.FmuDescription`); `instance` runs its code.
    """

    def instance(self, name: str = "", /, **parameters: float | str) -> FmuCode:
        """Return a unit of this kind with parameters by name; what is not given has the unit's start value.

        Raises InputError for a parameter that it does not have, of the wrong kind or outside its bounds, and
        with the unit's own words where it objects.
        """
        return FmuCode(self, name, parameters)


class FmuCode:
    """One unit that runs, as a run calls it (`psmr.ExternalCode`).

    Attributes
    ----------
    fmu, name
        The `Fmu` that it is of, and what it is called.
    address, handle
        Of the compiled function of a sample, and its first argument.
    states
        Names of its sampled states. Where all are zero the unit starts, with the inputs of that sample; one
        that does not write its state does so, too, where it began in another process.
    values
        States and outputs after `initialize` or `sample`.
    repeatable
        Whether a sample may be done over: whether the unit gives its state.
    opaque
        That the states are the memory of a program, which mean nothing by themselves.
    later
        Of no use here: the unit's time is that of its start and the samples since.
    messages
        What the unit said so far: (its time in s, words).
    """

    opaque = True
    later = 0.0

    def __init__(self, fmu: FmuDescription, name: str, given: Mapping[str, float | str]) -> None:
        self.fmu, self.name, self.given = fmu, name or fmu.info.name, dict(given)
        self.repeatable = bool(fmu.keeps_state)
        self.messages: list[tuple[float, str]] = []
        checked(fmu, given)
        self._times, self._row = np.array([0.0, fmu.info.period, 0.0]), np.zeros(adapter.SIZE, np.int64)
        self._inputs, self._outputs = (self._groups(ports) for ports in (fmu.info.inputs, fmu.info.outputs))
        self._load()
        start = [x for port in fmu.info.inputs for x in _start(fmu.variables[port.name])]
        self.values = np.zeros(0)
        self._start: tuple[float, float, Reals] = 0.0, 0.0, np.array(start)
        self.address, self.handle = adapter.sample.address, address_of(self._row)
        self.initialize(0.0, np.array(start))
        self._lay_out()

    def scale(self, factors: Sequence[float]) -> None:
        """Have each value of the outputs multiplied by a factor, so that it is in the units of the host."""
        self._scales[:] = factors

    def initialize(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """Start the unit anew at t in s with these inputs; return `values`.

        A unit of FMI is not told which `outputs` it should begin with. Raises InputError with its own words
        where it objects.
        """
        unit, version = self._unit, self.fmu.version
        self._times[[0, 2]] = t
        try:
            _free(unit, version, self._kept)
            unit.instantiate(**self._callbacks)
            if self.fmu.said:
                unit.setDebugLogging(True, self.fmu.said)
            for name, value in self.given.items():
                variable = self.fmu.variables[name]
                self._set(_type(variable, version), [variable.valueReference], [value])
            if version == 2:
                unit.setupExperiment(startTime=t)
            unit.enterInitializationMode(**({"startTime": t} if version == 3 else {}))
            for group in self._inputs:
                self._set(group.type, group.references, inputs[group.first : group.first + group.values.size])
            unit.exitInitializationMode()
            found = np.array([x for group in self._outputs for x in self._get(group)])
        except Exception as error:
            words = in_line(" ".join(str(error).split()))
            raise InputError(f"{self._where(t)}: it does not start: {words}{self._reason()}") from error
        finally:
            self._row[adapter.INSTANCE] = _address(unit.component)
        if self.values.size:
            self._serials[:] = 0.0
            self.values[len(self.states) :] = found * self._scales
            self._row[adapter.STARTED] = 1
            try:
                self.sample(t, inputs)
            finally:
                self._row[adapter.STARTED] = 0
            self._start = float(self.values[2]), t, np.array(inputs)
            if self.repeatable:
                self._kept[adapter.MOST] = getattr(unit, f"get{self._state}")().value
        return self.values.copy()

    def sample(self, t: float, inputs: Reals) -> Reals:
        """Run one sample at t in s on the inputs and `values`; return the outputs; raises SimulationError."""
        return run_sample(self, t, inputs)

    def failure(self, t: float, reads: Reals, what: str = "") -> str:
        """Return the words on the sample that failed last: at t in s, with these inputs."""
        status, h, info = int(self._row[adapter.STATUS]), self._times[1], self.fmu.info
        returned = _STATUS[status] if 0 <= status < len(_STATUS) else f"status {status}"
        given = [f"{name} = {x:.6g}" for name, x in zip(labels(info.inputs), reads, strict=True)]
        found = [x for group in self._outputs for x in group.values.tolist()]
        outputs = [f"{name} = {x}" for name, x in zip(labels(info.outputs), found, strict=True)]
        wrong = [words for words, x in zip(outputs, found, strict=True) if not math.isfinite(x)]
        came, where = float(self._flags.view(float)[1]), int(self._row[adapter.FAILED])
        with contextlib.suppress(Exception):  # not all units of FMI 2 say what they discard a step for
            ended = where == adapter.STEPPING and returned == "discard" and self._unit.getBooleanStatus(3)
            where = adapter.ENDING if ended else where
        why = {
            adapter.RESTORING: self._why,
            adapter.SETTING: f"it does not take its inputs ({returned})",
            adapter.NO_INPUT: "its input is no number",
            adapter.STEPPING: f"it does not do its step of {h:g} s ({returned})",
            adapter.EARLY: f"it ended its step of {h:g} s early, at {came:.9g} s of its own time; a sample "
            "is a whole step: give a shorter period",
            adapter.ENDING: "it asks to end the simulation",
            adapter.GETTING: f"it does not give its outputs ({returned})",
            adapter.NO_NUMBER: f"its output is no number: {first_few(wrong, 4)}",
            adapter.SAVING: f"it does not give its state ({returned})",
        }[where]
        inputs = f". Its inputs at that sample: {first_few(given, 8)}" if given else ""
        return f"{self._where(t)}: {why}{self._reason()}{inputs}"

    def close(self) -> None:
        """Give the unit back."""
        self._finish()

    def _where(self, t: float) -> str:
        return f"{self.name}: {self.fmu.path}: {self.fmu.info.name}, t = {t:.9g} s"

    def _reason(self) -> str:
        """Return what the unit said at its time of the last sample."""
        said = [words for at, words in self.messages if at == self._times[2]]
        return f"; it says: {first_few(said[-3:], 3, '; ')}" if said else ""

    def _say(self, words: bytes | None) -> int:
        said = (float(self._times[2]), in_words(words))
        if said[1] and (not self.messages or self.messages[-1][1] != said[1]):
            self.messages.append(said)
        return 0

    def _groups(self, ports: Sequence[Any]) -> list[_Group]:
        """Return the groups of ports."""
        groups, first, version = [], 0, self.fmu.version
        kinds = [_kind(self.fmu.variables[port.name], port.kind, version) for port in ports]
        for (of, kind), members in itertools.groupby(zip(kinds, ports, strict=True), lambda pair: pair[0]):
            own = [port for _, port in members]
            references = np.array([self.fmu.variables[port.name].valueReference for port in own], np.uint32)
            values = np.zeros(sum(port.width for port in own), _DTYPES[kind])
            groups.append(_Group(of, kind, references, values, first))
            first += values.size
        return groups

    def _set(self, of: str, references: Iterable[int], values: Iterable[Any]) -> None:
        convert = {"String": str, "Boolean": bool, "Real": float, "Float64": float, "Float32": float}.get(
            of, round
        )
        getattr(self._unit, f"set{of}")([int(r) for r in references], [convert(value) for value in values])

    def _get(self, group: _Group) -> list[float]:
        sizes = () if self.fmu.version == 2 else (group.values.size,)
        found = getattr(self._unit, f"get{group.type}")(group.references.tolist(), *sizes)
        return [float(value) for value in found]

    def _load(self) -> None:
        """Load the library from a copy of its own: units that share its variables are apart."""
        fmu, version, here = self.fmu, self.fmu.version, os.getcwd()
        folder = Path(tempfile.mkdtemp(prefix="psmr-fmu-"))
        with zipfile.ZipFile(fmu.path) as archive:
            wanted = (f"{os.path.dirname(fmu.binary)}/", "resources/")
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(wanted)])
        (folder / "resources").mkdir(exist_ok=True)
        module = importlib.import_module(f"fmpy.fmi{version}")
        make = getattr(module, f"FMU{version}{'ScheduledExecution' if fmu.scheduled else 'Slave'}")
        try:
            _opened(folder / fmu.binary)
            unit = make(
                guid=fmu.description.guid,
                modelIdentifier=fmu.face.modelIdentifier,
                unzipDirectory=os.fspath(folder),
                instanceName=self.name,
            )
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, InputError):
                raise
            words = in_line(" ".join(str(error).split()))
            raise InputError(f"{fmu.path}: {fmu.binary} is no library of FMI {version}: {words}") from error
        finally:
            os.chdir(here)  # FMPy leaves it where a library cannot be loaded
        self._unit, self._callbacks = unit, _callbacks(module, version, self)
        self._kept, self._state = (
            np.zeros(adapter.MOST + 1, np.int64),
            f"FMU{'s' if version == 2 else 'S'}tate",
        )
        self._finish = weakref.finalize(self, _close, unit, version, self._kept, folder)

    def _lay_out(self) -> None:
        """Make the row that the compiled function is handed, and what it points to."""
        fmu, unit, prefix, state, size = self.fmu, self._unit, f"fmi{self.fmu.version}", self._state, 0
        if fmu.keeps_state and fmu.face.canSerializeFMUstate:
            kept = getattr(unit, f"get{state}")()
            size = len(getattr(unit, f"serialize{state}")(kept))
            getattr(unit, f"free{state}")(kept)
        size = size if size <= MOST_BYTES else 0
        numbers, outputs = -(-size // 6) or 1, sum(group.values.size for group in self._outputs)
        self.states = ("samples", "start", *(f"memory_{k}" for k in range(numbers)))
        self.values, self._scales = np.zeros(2 + numbers + outputs), np.ones(outputs)
        self._flags, self._bytes = np.zeros(16, np.uint8), np.zeros(6 * numbers, np.uint8)
        self._last, self._serials = np.full(2 + numbers, np.nan), np.zeros(adapter.MOST)
        self._clocks = np.array(fmu.schedule, np.int64).reshape(-1, 3)
        self._tables = [
            self._table(f"{prefix}{way}", groups)
            for way, groups in (("Set", self._inputs), ("Get", self._outputs))
        ]
        double = ctypes.POINTER(ctypes.c_double)
        self._back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, double, double)(_weak(self._restore))
        self._why = ""
        self._row[adapter.SERIAL] = secrets.randbits(20) << 32  # numbers of no other process
        addresses = {
            "step": self._entry(f"{prefix}{'ActivateModelPartition' if fmu.scheduled else 'DoStep'}"),
            "restore": _address(self._back),
            "save": self._entry(f"{prefix}Get{state}") if fmu.keeps_state else 0,
            "write": self._entry(f"{prefix}Serialize{state}") if size else 0,
        }
        arrays = {
            "sets": self._tables[0], "gets": self._tables[1], "clocks": self._clocks, "times": self._times,
            "flags": self._flags, "scales": self._scales, "bytes": self._bytes, "last": self._last,
            "kept": self._kept, "serials": self._serials,
        }  # fmt: skip
        counts = {
            "instance": _address(unit.component), "version": fmu.version, "set_count": len(self._inputs),
            "get_count": len(self._outputs), "clock_count": len(self._clocks), "byte_count": size,
            "states": 2 + numbers, "outputs": outputs,
            "reads": sum(group.values.size for group in self._inputs),
        }  # fmt: skip
        for name, value in (addresses | counts | {key: address_of(a) for key, a in arrays.items()}).items():
            self._row[adapter.FIELDS.index(name)] = value

    def _entry(self, name: str) -> int:
        return _address(getattr(self._unit.dll, name))

    def _table(self, function: str, groups: Sequence[_Group]) -> np.ndarray:
        """Return the rows of groups as compiled code reads them."""
        rows = [
            (
                self._entry(f"{function}{g.type}"), g.kind, address_of(g.references), g.references.size,
                address_of(g.values), g.first, g.values.size,
            )
            for g in groups
        ]  # fmt: skip
        return np.array(rows, np.int64).reshape(-1, adapter.GROUP)

    def _restore(self, t: float, reads: Any, values: Any) -> int:
        """Bring the unit to the sampled states that it is handed; return 0 where that went well."""
        states = np.ctypeslib.as_array(values, (len(self.states),))
        size, number, count = int(self._row[adapter.BYTE_COUNT]), states[2], int(self._row[adapter.READS])
        start, began, inputs = self._start
        try:
            unknown = states[0] == 0.0 and not size and number != start
            if unknown or not states.any():
                self.initialize(
                    states[1] if unknown and number else t,
                    np.ctypeslib.as_array(reads, (count,)) if count else np.zeros(0),
                )
                states[:] = self.values[: states.size]
            elif size:
                self._set_written(b"".join(int(x).to_bytes(6, "little") for x in states[2:])[:size])
            elif number == start and not self.repeatable:
                self.initialize(began, inputs)
            elif not self.repeatable:
                raise InputError(
                    "it is asked to go back and does not give its state (canGetAndSetFMUState): run it from "
                    "its start, by a scheme that does no sample over"
                )
            elif number != start and self._serials[int(number) % adapter.MOST] != number:
                raise InputError(
                    "it is asked to go on from a state that is not kept: it does not write its states "
                    f"(canSerializeFMUState), of which {adapter.MOST} are kept; run it from its start"
                )
            else:
                place = adapter.MOST if number == start else int(number) % adapter.MOST
                getattr(self._unit, f"set{self._state}")(ctypes.c_void_p(int(self._kept[place])))
            self._times[0] = states[1]
        except Exception as error:
            self._why = in_line(str(error))
            return 1
        return 0

    def _set_written(self, data: bytes) -> None:
        """Bring the unit to a state that was written."""
        unit, name = self._unit, self._state
        state = getattr(unit, f"de{'S' if name == 'FMUstate' else 's'}erialize{name}")(data)
        getattr(unit, f"set{name}")(state)
        getattr(unit, f"free{name}")(state)


def _free(unit: Any, version: int, kept: np.ndarray) -> None:
    """Give back an instance of a unit where there is one, with its states."""
    if unit.component:
        for place in np.flatnonzero(kept):
            getattr(unit, f"freeFMU{'s' if version == 2 else 'S'}tate")(ctypes.c_void_p(int(kept[place])))
        kept[:] = 0
        getattr(unit, f"fmi{version}FreeInstance")(unit.component)
        unit.component = None


def _close(unit: Any, version: int, kept: np.ndarray, folder: Path) -> None:
    """Give a unit back, and the copy of its library."""
    _free(unit, version, kept)
    shutil.rmtree(folder, ignore_errors=True)


def _callbacks(module: Any, version: int, code: FmuCode) -> dict[str, Any]:
    """Return what FMPy's `instantiate` takes so that what the unit says is kept."""
    if version == 3:
        say = _weak(code._say)
        return {"logMessage": lambda environment, status, category, words: say(words)}
    _SPEAKING[id(code)] = code
    functions = module.fmi2CallbackFunctions()
    functions.logger, functions.componentEnvironment = _logger(), id(code)
    functions.allocateMemory = module.defaultCallbacks.allocateMemory
    functions.freeMemory = module.defaultCallbacks.freeMemory
    importlib.import_module("fmpy.logging").addLoggerProxy(ctypes.byref(functions))
    return {"callbacks": functions}


# FMPy's function that puts together what a unit of FMI 2 says hands it to the logger that was given last,
# whichever unit says it: so there is one logger, which lives as long as the process.
_SPEAKING: weakref.WeakValueDictionary[int, FmuCode] = weakref.WeakValueDictionary()


@functools.cache
def _logger() -> Any:
    def log(environment: int, name: bytes, status: int, category: bytes, words: bytes) -> None:
        code = _SPEAKING.get(environment)
        if code is not None:
            code._say(words)

    return importlib.import_module("fmpy.fmi2").fmi2CallbackLoggerTYPE(log)


def _weak(method: Callable[..., int]) -> Callable[..., int]:
    """Return a function that calls a method and keeps nothing alive."""
    reference = weakref.WeakMethod(method)

    def call(*given: Any) -> int:
        found = reference()
        return 1 if found is None else found(*given)

    return call


def _address(of: Any) -> int:
    return ctypes.cast(of, ctypes.c_void_p).value or 0


def _type(variable: Any, version: int) -> str:
    """Return the type of a variable as the functions that set and get it have it in their names."""
    return ("Integer" if version == 2 else "Int64") if variable.type == "Enumeration" else variable.type


def _kind(variable: Any, kind: int, version: int) -> tuple[str, int]:
    """Return the type of a variable and the kind of its numbers in memory."""
    of = _type(variable, version)
    return of, adapter.LONG if of in ("Int64", "UInt64") else 6 if (of, version) == ("Boolean", 2) else kind


def _start(variable: Any) -> list[float]:
    """Return the start values of an input, zero where it has none."""
    size, words = math.prod(variable.shape or ()), str(variable.start or 0).split()
    found = [float(word == "true") if word in ("true", "false") else float(word) for word in words]
    return found * size if len(found) == 1 else found
