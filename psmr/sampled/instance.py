"""One controller of a library: memory of its own, its parameters, and its samples."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, SimulationError, first_few, nearest
from psmr.sampled import layout
from psmr.sampled.adapter import (
    FAILED,
    FUNCTION,
    GOOD,
    GUARD,
    GUARDS,
    LENGTH,
    LINES,
    MESSAGE,
    NO_INPUT,
    NO_NUMBER,
    OVERRUN,
    STATUS,
    row_of,
    sample,
)
from psmr.sampled.description import (
    EMT,
    MODES,
    RMS,
    CodeInfo,
    CodeParameter,
    in_words,
    labels,
    plain_value,
    state_names,
)


class Described(Protocol):
    """A file with a controller, and what that says of itself."""

    path: Path
    info: CodeInfo


class Library(Described, Protocol):
    """What an instance needs of the library that it is of."""

    def function(self, name: str) -> Any:
        """Return a function of the library that takes an instance; None where it is left out."""


class CodeInstance:
    """One controller of a library, with memory of its own, as a run calls it (`psmr.ExternalCode`).

    Its states belong to whoever runs it: `values` of a sample are the int32, the float and the double states,
    then the outputs, all as double, in and out.

    Attributes
    ----------
    library
        The `CodeLibrary` that it is of.
    parameters
        Values by name that it runs with: those given, and defaults; the library may have changed some.
    address, handle
        Of the compiled function ``int64 f(int64 handle, double t, const double *reads, double *values)`` and
        its first argument; what it returns is 0 where all went well.
    states
        Names of the states.
    repeatable
        True: a sample depends on what it is handed alone.
    """

    repeatable = True

    def __init__(self, library: Library, name: str, mode: int, given: Mapping[str, float | str]) -> None:
        self.library, self.name, info = library, name, library.info
        if mode not in (EMT, RMS) or (info.mode and not info.mode & mode):
            raise InputError(
                f"{library.path}: mode = {mode!r}: {info.name} works on {MODES[info.mode]} "
                f"({EMT}: {MODES[EMT]}, {RMS}: {MODES[RMS]})",
                field="mode",
            )
        self.states = state_names(info)
        self._said: list[tuple[float, str]] = []
        self._inputs, self._outputs = (
            layout.structure_of((port.name, port.kind, port.width) for port in ports)
            for ports in (info.inputs, info.outputs)
        )
        self._parameters = layout.structure_of((p.name, p.kind, 1) for p in info.parameters)
        for key, value in checked(library, given).items():
            setattr(self._parameters, key, value)
        words = [width * count + GUARDS for width, count in zip((1, 1, 2), info.states, strict=True)]
        self._states = [np.zeros(size, np.int32) for size in words]
        for part in self._states:
            part[-GUARDS:] = GUARD
        addresses = [ctypes.addressof(part) for part in (self._inputs, self._outputs, self._parameters)]
        places = [part.ctypes.data for part in self._states]
        self._instance = layout.Instance(*addresses, 0.0, mode, None, None, *places)
        self._call("Model_FirstCall")
        before = self.parameters
        self._call("Model_CheckParameters", InputError)
        for key, value in self.parameters.items():
            if value != before[key]:
                self._said.append((0.0, f"{key} = {before[key]!r} was changed to {value!r} by the library"))
        self._tables()
        self.address, self.handle = sample.address, self._row.ctypes.data
        if (end := library.function("Model_Terminate")) is not None:
            kept = self._instance, self._states, self._inputs, self._outputs, self._parameters
            weakref.finalize(self, _terminate, end, *kept)
        self.values = np.zeros(len(self.states) + len(self._scales))

    def _tables(self) -> None:
        """Make the row that the compiled function is handed, and what it points to."""
        info, address = self.library.info, ctypes.addressof(self._instance)
        self._ports = [
            layout.places(structure, ports)
            for structure, ports in ((self._inputs, info.inputs), (self._outputs, info.outputs))
        ]
        inputs, outputs = self._ports
        self._scales, self._later = np.ones(len(outputs) // 2), np.zeros(1)
        self._lines, self._count = np.zeros((LINES, LENGTH + 8), np.uint8), np.zeros(1, np.int64)
        ints, floats, doubles = (part.ctypes.data for part in self._states)
        self._row = row_of(
            function=self._entry("Model_Outputs"),
            instance=address,
            time=address + layout.Instance.time.offset,
            text=address + layout.Instance.message.offset,
            inputs=inputs.ctypes.data,
            input_count=len(inputs) // 2,
            outputs=outputs.ctypes.data,
            output_count=len(outputs) // 2,
            scales=self._scales.ctypes.data,
            ints=ints,
            int_count=info.states[0],
            floats=floats,
            float_count=info.states[1],
            doubles=doubles,
            double_count=info.states[2],
            later=self._later.ctypes.data,
            said=self._lines.ctypes.data,
            said_count=self._count.ctypes.data,
        )

    def _entry(self, name: str) -> int:
        return ctypes.cast(self.library.function(name), ctypes.c_void_p).value or 0

    def scale(self, factors: Sequence[float]) -> None:
        """Have each value of the outputs multiplied by a factor, so that it is in the units of the host."""
        self._scales[:] = factors

    @property
    def later(self) -> float:
        """Time in s that the controller has run before t = 0: its own time is t + later."""
        return float(self._later[0])

    @later.setter
    def later(self, seconds: float) -> None:
        self._later[0] = seconds

    @property
    def parameters(self) -> dict[str, float | str]:
        """See the class."""
        return {
            p.name: plain_value(getattr(self._parameters, p.name), p.kind)
            for p in self.library.info.parameters
        }

    @property
    def messages(self) -> list[tuple[float, str]]:
        """What the library said so far: (time in s, words)."""
        for line in self._lines[: self._count[0]]:
            words = in_words(bytes(line[8:]).partition(b"\0")[0])
            if words and (not self._said or self._said[-1][1] != words):
                self._said.append((float(line[:8].view(float)[0]), words))
        self._count[0] = 0
        return self._said

    def initialize(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """Set `values` from inputs, and outputs where they are known, at t in s; return them."""
        states = len(self.states)
        self.values[:] = 0.0
        self.values[states:] = 0.0 if outputs is None else outputs
        self._row[FUNCTION] = self._entry("Model_Initialize")
        try:
            self.sample(t, inputs, "Model_Initialize")
            return self.values.copy()
        finally:
            self._row[FUNCTION] = self._entry("Model_Outputs")

    def sample(self, t: float, inputs: Reals, what: str = "Model_Outputs") -> Reals:
        """Run one sample at t in s on the inputs, in the order of their ports, and `values`; return outputs.

        Raises SimulationError with the library's own words where it gives up, and for outputs that are no
        numbers.
        """
        return run_sample(self, t, inputs, what)

    def failure(self, t: float, reads: Reals, what: str = "Model_Outputs") -> str:
        """Return the words on the sample that failed last: at t in s, with these inputs."""
        status, info = int(self._row[STATUS]), self.library.info
        given = dict(zip(labels(info.inputs), map(float, reads), strict=True))
        inputs = first_few([f"{name} = {value:.6g}" for name, value in given.items()], 8)
        if status == NO_INPUT:
            wrong = [f"{name} = {value}" for name, value in given.items() if not math.isfinite(value)]
            why = f"its input is no number: {first_few(wrong, 4)}"
        elif status == NO_NUMBER:
            found = dict(zip(labels(info.outputs), layout.values(self._outputs, info.outputs), strict=True))
            wrong = [f"{name} = {value}" for name, value in found.items() if not math.isfinite(value)]
            why = f"its output is no number: {first_few(wrong, 4)}"
        elif status == OVERRUN:
            kinds = zip(info.states, ("whole", "single", "double"), strict=True)
            own = ", ".join(f"{count} {kind}" for count, kind in kinds)
            why = f"{what} wrote behind its states, of which it says that they are {own}"
        else:
            why = f"{what} ended with {_an_error(status)}: {self._reason()}"
        return f"{self._where()}, t = {t:.9g} s: {why}. Its inputs at that sample: {inputs}"

    def _call(self, name: str, error: type[InputError] | type[SimulationError] = SimulationError) -> None:
        """Call a function of the library; keep its message, or raise the error with its words."""
        function = self.library.function(name)
        if function is None:
            return
        function.restype = ctypes.c_int32
        code = function(ctypes.byref(self._instance))
        if code not in (GOOD, MESSAGE):
            raise error(f"{self._where()}: {name} ended with {_an_error(code)}: {self._reason()}")
        message = in_words(self._instance.message)
        if code == MESSAGE and message and (not self._said or self._said[-1][1] != message):
            self._said.append((0.0, message))

    def _reason(self) -> str:
        return in_words(self._instance.error) or in_words(self._instance.message) or "it gives no reason"

    def _where(self) -> str:
        own = f"{self.name}: " if self.name else ""
        return f"{own}{self.library.path}: {self.library.info.name}"


def _terminate(end: Any, instance: layout.Instance, *kept: Any) -> None:
    """Call Model_Terminate for an instance, with the memory `kept` that it points to."""
    end(ctypes.byref(instance))


def _an_error(status: int) -> str:
    """Return what a status is called: the interface knows one error, libraries return others as well."""
    return "an error" if status == FAILED else f"the status {status}, which the interface does not know"


def run_sample(code: Any, t: float, inputs: Reals, what: str = "") -> Reals:
    """Run one sample of a controller at t in s on `inputs` and its `values`; return its outputs."""
    reads = np.ascontiguousarray(inputs, float)
    kinds = ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
    run = ctypes.CFUNCTYPE(*kinds)(code.address)
    if run(code.handle, t, reads.ctypes.data, code.values.ctypes.data):
        raise SimulationError(code.failure(t, reads, what))
    return np.array(code.values[len(code.states) :])


def checked(library: Described, given: Mapping[str, float | str]) -> dict[str, Any]:
    """Return the value of each parameter as C takes it."""
    known = {p.name: p for p in library.info.parameters}
    mistakes = []
    for name, value in given.items():
        if name not in known:
            mistakes.append(f"has no parameter {name!r}{nearest(name, known)}")
        elif why := _objection(known[name], value):
            mistakes.append(f"{name} = {value!r}: {why}")
    if mistakes:
        raise InputError(f"{library.path}: {library.info.name} {'; '.join(mistakes)}")
    return {name: _as_c(p, given.get(name, p.default)) for name, p in known.items()}


def _objection(parameter: CodeParameter, value: float | str) -> str:
    """Return what is wrong with a value, "" where it may be."""
    if (parameter.kind == layout.TEXT) != isinstance(value, str):
        return "must be a text" if parameter.kind == layout.TEXT else "must be a number"
    if isinstance(value, str):
        return ""
    if not math.isfinite(value) or (parameter.kind in layout.WHOLE and value != int(value)):
        return "must be a whole number" if parameter.kind in layout.WHOLE else "must be a number"
    low, high = layout.BOUNDS.get(parameter.kind, (-math.inf, math.inf))
    if not low <= value <= high:
        return f"must be from {low} to {high}, which its kind of number can be"
    if parameter.lower < parameter.upper and not parameter.lower <= value <= parameter.upper:
        unit = f" {parameter.unit}" if parameter.unit else ""
        return f"must be from {parameter.lower:g} to {parameter.upper:g}{unit}, the bounds of the library"
    return ""


def _as_c(parameter: CodeParameter, value: float | str) -> Any:
    if isinstance(value, str):
        return value.encode()
    if parameter.kind == 1:
        return bytes([int(value)])
    return int(value) if parameter.kind in layout.WHOLE else float(value)
