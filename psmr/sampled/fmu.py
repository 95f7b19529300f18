"""A functional mock-up unit (FMI 2.0, 3.0) that runs at samples, by FMPy and the addresses of its functions.

Sampled states of its device are the number of samples so far, the time in s at which the unit started, and
its state as bytes, six to a number. A unit that cannot write its state, or has much of it, has in their place
the number of a state that is kept beside; it starts with the inputs of the sample that finds `samples` at 0.
One that does not give its state goes back to its start alone.
"""

from __future__ import annotations

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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, first_few, in_line
from psmr.dae.compile.arguments import address_of
from psmr.sampled import fmu_adapter as adapter
from psmr.sampled.description import Port, in_words, labels
from psmr.sampled.fmu_description import FmuDescription, number
from psmr.sampled.instance import checked, run_sample
from psmr.sampled.library import open_library

MOST_BYTES = 6000
"""Of a longer state only its number stands among the sampled states."""

_STATUS = ("ok", "warning", "discard", "error", "fatal", "pending")

_DTYPES = ("", "i1", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "", "i8")
"""Numbers of numpy by the kinds of `psmr.sampled.layout`."""


class Fmu(FmuDescription):
    """A unit of FMI 2 or 3 for co-simulation or scheduled execution, see `FmuDescription`."""

    def instance(self, name: str = "", /, **parameters: float | str) -> FmuCode:
        """Return a unit that runs, with parameters by name; what is not given has the unit's start value.

        Raises InputError for a parameter that it does not have, of the wrong kind or outside its bounds, and
        with the unit's own words where it objects.
        """
        return FmuCode(self, name, parameters)


class _Group(NamedTuple):
    """Ports of one type of FMI that follow each other, and the place of their first number among all."""

    type: str
    kind: int
    references: np.ndarray
    values: np.ndarray
    first: int


class FmuCode:
    """One unit that runs, as a run calls it (`psmr.ExternalCode`).

    Attributes
    ----------
    states
        Names of its sampled states. Where all are zero the unit starts, with the inputs of that sample.
    values
        States and outputs after `initialize` or `sample`.
    opaque
        That the states are the memory of a program, which mean nothing by themselves.
    messages
        What the unit said so far: (its time in s, words).
    """

    opaque = True

    def __init__(self, fmu: FmuDescription, name: str, given: Mapping[str, float | str]) -> None:
        self.fmu, self.name, self.given = fmu, name or fmu.info.name, given
        self.repeatable = bool(fmu.face.canGetAndSetFMUstate)
        self.messages: list[tuple[float, str]] = []
        checked(fmu, given)
        self._row, self._times = np.zeros(adapter.SIZE, np.int64), np.array([0.0, fmu.info.period, 0.0])
        self._inputs, self._outputs = self._groups(fmu.info.inputs), self._groups(fmu.info.outputs)
        self._kept, self._numbers = np.zeros(adapter.MOST, np.int64), np.zeros(adapter.MOST)
        self._name = f"FMU{'s' if fmu.version == 2 else 'S'}tate"
        self._load()
        self._start(0.0, np.array([x for port in fmu.info.inputs for x in _starts(fmu.variables[port.name])]))
        self._lay_out()
        self.address, self.handle = adapter.sample.address, address_of(self._row)

    def scale(self, factors: Sequence[float]) -> None:
        """Have each value of the outputs multiplied by a factor, so that it is in the units of the host."""
        self._scales[:] = factors

    def initialize(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """Start the unit anew at t in s with these inputs, and outputs where they are known; return `values`.

        Of outputs it is told those that it begins with (initial = "exact" or "approx"). Raises InputError
        with its own words where it objects.
        """
        found = self._start(t, inputs, None if outputs is None else outputs / self._scales)
        self.values[len(self.states) :] = found * self._scales
        self._row[adapter.STARTED] = 1
        try:
            self.sample(t, inputs)
        finally:
            self._row[adapter.STARTED] = 0
        if not self._row[adapter.BYTE_COUNT]:
            self._keep[adapter.LAST][:] = np.nan  # it starts with the inputs of the first sample
        return self.values.copy()

    def sample(self, t: float, inputs: Reals) -> Reals:
        """Run one sample at t in s on the inputs and `values`; return the outputs; raises SimulationError."""
        return run_sample(self, t, inputs)

    def failure(self, t: float, reads: Reals, what: str = "") -> str:
        """Return the words on the sample that failed last: at t in s, with these inputs."""
        status, info = int(self._row[adapter.STATUS]), self.fmu.info
        returned = _STATUS[status] if 0 <= status < len(_STATUS) else f"status {status}"
        given = [f"{name} = {x:.6g}" for name, x in zip(labels(info.inputs), reads, strict=True)]
        found = zip(labels(info.outputs), (x for g in self._outputs for x in g.values.tolist()), strict=True)
        wrong = [f"{name} = {x}" for name, x in found if not math.isfinite(x)]
        why = {
            adapter.RESTORING: self._why,
            adapter.SETTING: f"it does not take its inputs ({returned})",
            adapter.NO_INPUT: "its input is no number",
            adapter.STEPPING: f"it does not do its step of {info.period:g} s ({returned})",
            adapter.EARLY: f"it ended its step of {info.period:g} s early; give a period that it does whole",
            adapter.ENDING: "it asks to end the simulation",
            adapter.GETTING: f"it does not give its outputs ({returned})",
            adapter.NO_NUMBER: f"its output is no number: {first_few(wrong, 4)}",
            adapter.SAVING: f"it does not give its state ({returned})",
        }[int(self._row[adapter.FAILED])]
        return f"{self._words(t, why)}. Its inputs at that sample: {first_few(given, 8) or 'none'}"

    def _words(self, t: float, why: str) -> str:
        """Return a sentence on the unit, with what it said at its time of the last sample."""
        said = [words for at, words in self.messages if at == self._times[2]]
        end = f"; it says: {first_few(said[-3:], 3, '; ')}" if said else ""
        return f"{self.name}: {self.fmu.path}: {self.fmu.info.name}, t = {t:.9g} s: {why}{end}"

    def _say(self, words: bytes | None) -> None:
        said = (float(self._times[2]), in_words(words))
        if said[1] and (not self.messages or self.messages[-1][1] != said[1]):
            self.messages.append(said)

    def _groups(self, ports: Sequence[Port]) -> list[_Group]:
        groups, first = [], 0
        for (of, kind), members in itertools.groupby(ports, self._kind):
            own = list(members)
            references = np.array([self.fmu.variables[port.name].valueReference for port in own], np.uint32)
            values = np.zeros(sum(port.width for port in own), _DTYPES[kind])
            groups.append(_Group(of, kind, references, values, first))
            first += values.size
        return groups

    def _kind(self, port: Port) -> tuple[str, int]:
        """Return the type of a port and the kind of its numbers in memory."""
        old, of = self.fmu.version == 2, _type(self.fmu.variables[port.name], self.fmu.version)
        return of, adapter.LONG if "Int64" in of else 6 if old and of == "Boolean" else port.kind

    def _set(self, of: str, references: Iterable[int], values: Iterable[Any]) -> None:
        kinds = {"String": str, "Boolean": bool, "Real": float, "Float64": float, "Float32": float}
        getattr(self._unit, f"set{of}")(
            [int(r) for r in references], [kinds.get(of, round)(x) for x in values]
        )

    def _start(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """Start the unit at t in s with these inputs and outputs in its own units; return its outputs."""
        unit, version = self._unit, self.fmu.version
        self._times[[0, 2]] = t
        _free(unit, self._name, self._kept)
        self._numbers[:] = 0.0
        try:
            unit.instantiate(**self._callbacks)
            if kinds := self.fmu.said():
                unit.setDebugLogging(True, kinds)
            for name, value in self.given.items():
                variable = self.fmu.variables[name]
                self._set(_type(variable, version), [variable.valueReference], [value])
            for port, value in zip(self.fmu.info.outputs, () if outputs is None else outputs, strict=False):
                variable = self.fmu.variables[port.name]
                if variable.initial in ("exact", "approx") and port.width == 1:
                    self._set(_type(variable, version), [variable.valueReference], [value])
            if version == 2:
                unit.setupExperiment(startTime=t)
            unit.enterInitializationMode(**({"startTime": t} if version == 3 else {}))
            for group in self._inputs:
                self._set(group.type, group.references, inputs[group.first : group.first + group.values.size])
            unit.exitInitializationMode()
            self._row[adapter.INSTANCE] = _address(unit.component)
            sizes = [() if version == 2 else (group.values.size,) for group in self._outputs]
            return np.array([
                float(x)
                for group, size in zip(self._outputs, sizes, strict=True)
                for x in getattr(unit, f"get{group.type}")(group.references.tolist(), *size)
            ])  # fmt: skip
        except Exception as error:
            words = in_line(" ".join(str(error).split()))
            raise InputError(self._words(t, f"it does not start: {words}")) from error

    def _load(self) -> None:
        """Load the library from a copy of its own: units that share its variables are apart."""
        fmu, here = self.fmu, os.getcwd()
        folder = Path(tempfile.mkdtemp(prefix="psmr-fmu-"))
        with zipfile.ZipFile(fmu.path) as archive:
            wanted = (f"{os.path.dirname(fmu.binary)}/", "resources/")
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(wanted)])
        (folder / "resources").mkdir(exist_ok=True)
        module = importlib.import_module(f"fmpy.fmi{fmu.version}")
        make = getattr(module, f"FMU{fmu.version}{'ScheduledExecution' if fmu.scheduled else 'Slave'}")
        token, own = fmu.about.guid, fmu.face.modelIdentifier
        try:
            open_library(folder / fmu.binary)
            self._unit = make(
                guid=token, modelIdentifier=own, unzipDirectory=os.fspath(folder), instanceName=self.name
            )
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, InputError):
                raise
            words = in_line(" ".join(str(error).split()))
            raise InputError(
                f"{fmu.path}: {fmu.binary} is no library of FMI {fmu.version}: {words}"
            ) from error
        finally:
            os.chdir(here)  # FMPy leaves it where a library cannot be loaded
        self._callbacks = _callbacks(module, fmu.version, self)
        weakref.finalize(self, _free, self._unit, self._name, self._kept, folder)

    def _lay_out(self) -> None:
        """Make the row that the compiled function is handed, and what it points to."""
        fmu, unit, size, prefix = self.fmu, self._unit, 0, f"fmi{self.fmu.version}"
        if self.repeatable and fmu.face.canSerializeFMUstate:
            state = getattr(unit, f"get{self._name}")()
            size = len(getattr(unit, f"serialize{self._name}")(state))
            getattr(unit, f"free{self._name}")(state)
        size = size if size <= MOST_BYTES else 0
        numbers, outputs = -(-size // 6) or 1, sum(group.values.size for group in self._outputs)
        self.states = ("samples", "start", *(f"memory_{k}" for k in range(numbers)))
        self.values, self._scales, self._why = np.zeros(2 + numbers + outputs), np.ones(outputs), ""
        double = ctypes.POINTER(ctypes.c_double)
        self._back = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, double, double)(self._restored)
        self._keep = {
            adapter.SETS: self._table(f"{prefix}Set", self._inputs),
            adapter.GETS: self._table(f"{prefix}Get", self._outputs),
            adapter.CLOCKS: np.array(fmu.schedule, np.int64).reshape(-1, 3),
            adapter.TIMES: self._times, adapter.FLAGS: np.zeros(2, np.int64), adapter.SCALES: self._scales,
            adapter.BYTES: np.zeros(6 * numbers, np.uint8), adapter.LAST: np.full(2 + numbers, np.nan),
            adapter.KEPT: self._kept, adapter.NUMBERS: self._numbers,
        }  # fmt: skip
        values = {place: address_of(array) for place, array in self._keep.items()} | {
            adapter.VERSION: fmu.version, adapter.SET_COUNT: len(self._inputs),
            adapter.GET_COUNT: len(self._outputs), adapter.CLOCK_COUNT: len(fmu.schedule),
            adapter.STEP: self._entry(f"{prefix}{'ActivateModelPartition' if fmu.scheduled else 'DoStep'}"),
            adapter.RESTORE: _address(self._back), adapter.BYTE_COUNT: size, adapter.STATES: 2 + numbers,
            adapter.SAVE: self._entry(f"{prefix}Get{self._name}") if self.repeatable else 0,
            adapter.WRITE: self._entry(f"{prefix}Serialize{self._name}") if size else 0,
            adapter.READS: sum(group.values.size for group in self._inputs), adapter.OUTPUTS: outputs,
            adapter.NUMBER: secrets.randbits(20) << 32,  # numbers of no other process
        }  # fmt: skip
        self._row[list(values)] = list(values.values())

    def _entry(self, name: str) -> int:
        return _address(getattr(self._unit.dll, name))

    def _table(self, function: str, groups: Sequence[_Group]) -> np.ndarray:
        """Return the rows of groups as compiled code reads them."""
        rows = [
            (
                self._entry(f"{function}{g.type}"), g.kind, g.values.itemsize, address_of(g.references),
                g.references.size, address_of(g.values), g.first, g.values.size,
            )
            for g in groups
        ]  # fmt: skip
        return np.array(rows, np.int64).reshape(-1, adapter.GROUP)

    def _restored(self, t: float, reads: Any, values: Any) -> int:
        """Bring the unit to the sampled states that it is handed; return 0 where that went well."""
        states, count = np.ctypeslib.as_array(values, (len(self.states),)), int(self._row[adapter.READS])
        size, place = int(self._row[adapter.BYTE_COUNT]), int(states[2]) % adapter.MOST
        unit, name = self._unit, self._name
        try:
            if not states.any() or (not size and states[0] == 0.0):
                inputs = np.ctypeslib.as_array(reads, (count,)) if count else np.zeros(0)
                held = np.ctypeslib.as_array(values, (self.values.size,))[states.size :]
                self._start(states[1] or t, inputs, held / self._scales)
                states[1] = self._times[0]
            elif size:
                data = b"".join(int(x).to_bytes(6, "little") for x in states[2:])[:size]
                state = getattr(unit, f"{'deS' if self.fmu.version == 2 else 'des'}erialize{name}")(data)
                getattr(unit, f"set{name}")(state)
                getattr(unit, f"free{name}")(state)
            elif self.repeatable and self._numbers[place] == states[2]:
                getattr(unit, f"set{name}")(ctypes.c_void_p(int(self._kept[place])))
            else:
                does = "write its states (canSerialize" if self.repeatable else "give its state (canGetAndSet"
                raise InputError(
                    f"it is asked to go back to a state that is not kept, since it does not {does}FMUState); "
                    "run it from its start"
                )
            self._times[0] = states[1]
        except Exception as error:
            self._why = in_line(str(error))
            return 1
        return 0


def _free(unit: Any, name: str, kept: np.ndarray, folder: Path | None = None) -> None:
    """Give back an instance of a unit where there is one, with its states, and the copy of its library."""
    if unit.component:
        for place in np.flatnonzero(kept):
            getattr(unit, f"free{name}")(ctypes.c_void_p(int(kept[place])))
        kept[:] = 0
        getattr(unit, f"fmi{2 if name == 'FMUstate' else 3}FreeInstance")(unit.component)
        unit.component = None
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _callbacks(module: Any, version: int, code: FmuCode) -> dict[str, Any]:
    """Return what FMPy's `instantiate` takes so that what the unit says is kept."""
    _SPEAKING[id(code)] = code
    if version == 3:
        return {"logMessage": functools.partial(_log, id(code))}
    functions = module.fmi2CallbackFunctions()
    functions.logger, functions.componentEnvironment = _logger(), id(code)
    functions.allocateMemory = module.defaultCallbacks.allocateMemory
    functions.freeMemory = module.defaultCallbacks.freeMemory
    importlib.import_module("fmpy.logging").addLoggerProxy(ctypes.byref(functions))
    return {"callbacks": functions}


_SPEAKING: weakref.WeakValueDictionary[int, FmuCode] = weakref.WeakValueDictionary()


def _log(key: int, *given: Any) -> None:
    code = _SPEAKING.get(key)
    if code is not None:
        code._say(given[-1])


@functools.cache
def _logger() -> Any:
    """Return the one logger of units of FMI 2: FMPy hands all they say to the one that it was given last."""
    return importlib.import_module("fmpy.fmi2").fmi2CallbackLoggerTYPE(_log)


def _address(of: Any) -> int:
    return ctypes.cast(of, ctypes.c_void_p).value or 0


def _type(variable: Any, version: int) -> str:
    """Return the type of a variable as the functions that set and get it have it in their names."""
    return ("Integer" if version == 2 else "Int64") if variable.type == "Enumeration" else variable.type


def _starts(variable: Any) -> list[float]:
    """Return the start values of an input."""
    found = [number(word) for word in str(variable.start or 0).split()]
    return found * math.prod(variable.shape or ()) if len(found) == 1 else found
