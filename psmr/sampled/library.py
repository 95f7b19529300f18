"""A manufacturer's controller as a library of the IEEE/CIGRE interface: opened, described, run by samples."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, SimulationError, first_few, in_line, nearest
from psmr.sampled import layout

NEEDED = ("Model_GetInfo", "Model_CheckParameters", "Model_Initialize", "Model_Outputs")

# Versions (first two numbers) of the interface that have the structures of `layout`: TB 958 calls it API 2,
# its libraries 1.1 or 2.0.
APIS = ((1, 1), (2, 0))

EMT, RMS = 1, 2
MODES = {0: "not said", EMT: "instantaneous values", RMS: "phasors", EMT | RMS: "either"}

# No controller has more ports, parameters or states; of memory that is none of the interface's, it is said.
MOST = 100_000

# Places in the heads of files: the machine of ELF, and where PE has its own head.
_ELF, _PE, _MACH = b"\x7fELF", b"MZ", (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_ELF_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64"}
_PE_MACHINES = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "arm64"}
_ALIKE = {"amd64": "x86_64", "aarch64": "arm64"}
_SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}


@dataclass(frozen=True)
class Port:
    """An input or an output of a library: `width` values of one kind."""

    name: str
    text: str
    unit: str
    kind: int
    width: int


@dataclass(frozen=True)
class CodeParameter:
    """A parameter of a library: its default and bounds; `fixed` says that it holds from the start on."""

    name: str
    group: str
    text: str
    unit: str
    kind: int
    fixed: bool
    default: float | str
    lower: float
    upper: float


@dataclass(frozen=True)
class CodeInfo:
    """What a library says of itself.

    `api`: Four numbers of the interface.
    `period`: Time between two samples, s.
    `mode`: Whether it works on instantaneous values (1), phasors (2), either (3); 0: it does not say.
    `states`: Number of states that are int32, float and double.
    """

    name: str
    version: str
    text: str
    creator: str
    api: tuple[int, ...]
    period: float
    mode: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[CodeParameter, ...]
    states: tuple[int, int, int]


class CodeLibrary:
    """A compiled controller written to the IEEE/CIGRE interface (CIGRE Technical Brochure 958, API 2).

    A library is a program: opening it runs its code with all rights of the person.

    Parameters
    ----------
    path
        The library: ``.so`` on Linux, ``.dll`` on Windows, ``.dylib`` on macOS, for the processor of this
        Python.

    Attributes
    ----------
    path
        Where it was found.
    info
        What it says of itself, a `CodeInfo`.

    Raises
    ------
    InputError
        For a file that is not there, is no library or one for another machine, lacks an entry point, has
        another version of the interface or describes itself in a way that cannot be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._library = _opened(self.path)
        missing = [name for name in NEEDED if not hasattr(self._library, name)]
        if missing:
            raise InputError(
                f"{self.path}: has no {', '.join(missing)}: it is not written to the IEEE/CIGRE interface "
                "(CIGRE TB 958), or does not export its functions; ask its maker for the library with that "
                "interface"
            )
        get = self._library.Model_GetInfo
        get.restype = ctypes.POINTER(layout.Info)
        found = get()
        if not found:
            raise InputError(f"{self.path}: Model_GetInfo returned nothing")
        self.info = _info_of(self.path, found.contents)

    def instance(self, mode: int = EMT, **parameters: float | str) -> CodeInstance:
        """Return a controller with these parameters by name; what is not given has the library's default.

        `mode` is 1 for instantaneous values and 2 for phasors. Raises InputError for a parameter that the
        library does not have, of the wrong kind or outside its bounds, and with the library's own words for
        one that it objects to.
        """
        return CodeInstance(self, mode, parameters)

    def function(self, name: str) -> Any:
        """Return a function of the library that takes an instance; None where it is left out."""
        return getattr(self._library, name, None)

    def __repr__(self) -> str:
        return f"CodeLibrary({os.fspath(self.path)!r})"


class CodeInstance:
    """One controller of a library, with memory of its own.

    Attributes
    ----------
    library
        The `CodeLibrary` that it is of.
    parameters
        Values by name that it runs with: those given, and defaults; the library may have changed some.
    messages
        What the library said so far: (time in s, words).
    """

    def __init__(self, library: CodeLibrary, mode: int, given: Mapping[str, float | str]) -> None:
        self.library, info = library, library.info
        if mode not in (EMT, RMS) or (info.mode and not info.mode & mode):
            raise InputError(
                f"{library.path}: mode = {mode!r}: {info.name} works on {MODES[info.mode]} "
                f"({EMT}: {MODES[EMT]}, {RMS}: {MODES[RMS]})",
                field="mode",
            )
        self.messages: list[tuple[float, str]] = []
        self._inputs, self._outputs = (
            layout.structure_of((port.name, port.kind, port.width) for port in ports)
            for ports in (info.inputs, info.outputs)
        )
        self._parameters = layout.structure_of((p.name, p.kind, 1) for p in info.parameters)
        for name, value in _checked(library, given).items():
            setattr(self._parameters, name, value)
        kinds = (np.int32, np.float32, np.float64)
        self._states = [np.zeros(max(1, size), kind) for size, kind in zip(info.states, kinds, strict=True)]
        addresses = [ctypes.addressof(part) for part in (self._inputs, self._outputs, self._parameters)]
        places = [part.ctypes.data for part in self._states]
        self._instance = layout.Instance(*addresses, 0.0, mode, None, None, *places)
        self._call("Model_FirstCall")
        before = self.parameters
        self._call("Model_CheckParameters", InputError)
        for name, value in self.parameters.items():
            if value != before[name]:
                self.messages.append(
                    (0.0, f"{name} = {before[name]!r} was changed to {value!r} by the library")
                )

    @property
    def parameters(self) -> dict[str, float | str]:
        """See the class."""
        return {p.name: _plain(getattr(self._parameters, p.name)) for p in self.library.info.parameters}

    @property
    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Copies of the states: int32, float and double; set them to go on from there."""
        sizes = self.library.info.states
        ints, floats, doubles = (part[:size].copy() for part, size in zip(self._states, sizes, strict=True))
        return ints, floats, doubles

    @states.setter
    def states(self, values: Sequence[np.ndarray]) -> None:
        for part, given, size in zip(self._states, values, self.library.info.states, strict=True):
            part[:size] = given

    def initialize(self, t: float, inputs: Reals, outputs: Reals | None = None) -> Reals:
        """Set the states from inputs, and outputs where they are known, at t in s; return the outputs."""
        if outputs is not None:
            _put(self._outputs, self.library.info.outputs, outputs)
        return self._at(t, inputs, "Model_Initialize")

    def sample(self, t: float, inputs: Reals) -> Reals:
        """Run one sample at t in s on the inputs, in the order of their ports; return the outputs.

        Raises SimulationError with the library's own words where it gives up, and for outputs that are no
        numbers.
        """
        return self._at(t, inputs, "Model_Outputs")

    def close(self) -> None:
        """Tell the library that the run has ended."""
        self._call("Model_Terminate")

    def _at(self, t: float, inputs: Reals, name: str) -> Reals:
        info = self.library.info
        _put(self._inputs, info.inputs, inputs)
        self._instance.time = t
        self._call(name)
        found = np.array([value for port in info.outputs for value in _values(self._outputs, port)])
        if not np.isfinite(found).all():
            names = labels(info.outputs)
            wrong = [f"{names[k]} = {found[k]}" for k in np.flatnonzero(~np.isfinite(found))]
            given = [
                f"{label} = {value:.6g}" for label, value in zip(labels(info.inputs), inputs, strict=True)
            ]
            raise SimulationError(
                f"{self._where()}, t = {t:.9g} s: {first_few(wrong, 4)}. Its inputs at that sample: "
                f"{first_few(given, 8)}"
            )
        return found

    def _call(self, name: str, error: type[InputError] | type[SimulationError] = SimulationError) -> None:
        """Call a function of the library; keep its message, or raise the error with its words."""
        function = self.library.function(name)
        if function is None:
            return
        function.restype = ctypes.c_int32
        code, instance = function(ctypes.byref(self._instance)), self._instance
        if code == 2:
            why = _words(instance.error) or _words(instance.message) or "it gives no reason"
            raise error(f"{self._where()}, t = {instance.time:.9g} s: {name} ended with an error: {why}")
        message = _words(instance.message)
        if code == 1 and message and (not self.messages or self.messages[-1][1] != message):
            self.messages.append((instance.time, message))

    def _where(self) -> str:
        return f"{self.library.path}: {self.library.info.name}"


def labels(ports: Iterable[Port]) -> tuple[str, ...]:
    """Return a name for each value of ports: that of the port, with its place where it has several."""
    return tuple(
        port.name if port.width == 1 else f"{port.name}[{k}]" for port in ports for k in range(port.width)
    )


def _opened(path: Path) -> ctypes.CDLL:
    """Return the library in a file."""
    try:
        with path.open("rb") as file:
            head, size = file.read(4096), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    foreign = _foreign(head)
    if foreign:
        raise InputError(
            f"{path}: is {foreign}, and this is {_SYSTEMS.get(sys.platform, sys.platform)} on "
            f"{_machine()}: ask its maker for the library for this machine"
        )
    if size < (whole := _size_of(head)):  # to open it would end this program
        raise InputError(f"{path}: is cut short: it has {size} of at least {whole} bytes; copy it again")
    try:
        return ctypes.CDLL(os.fspath(path.absolute()))
    except OSError as error:
        raise InputError(f"{path}: cannot be opened as a library: {in_line(str(error))}") from error


def _machine() -> str:
    name = platform.machine().lower()
    return _ALIKE.get(name, name)


def _foreign(head: bytes) -> str:
    """Return what a file is that begins so where it is no library for this machine, "" where it is one."""
    if head[:4] == _ELF and len(head) >= 20:
        system, machine = "linux", _ELF_MACHINES.get(struct.unpack_from("<H", head, 18)[0], "")
    elif head[:2] == _PE and len(head) >= 64:
        at = struct.unpack_from("<I", head, 60)[0]
        known = at + 6 <= len(head) and head[at : at + 4] == b"PE\0\0"
        system, machine = (
            "win32",
            _PE_MACHINES.get(struct.unpack_from("<H", head, at + 4)[0], "") if known else "",
        )
    elif head[:4] in _MACH:
        system, machine = "darwin", ""
    else:
        return "no library"
    if system == sys.platform and (not machine or machine == _machine()):
        return ""
    return f"a library for {_SYSTEMS[system]}" + (f" on {machine}" if machine else "")


def _size_of(head: bytes) -> int:
    """Return the least size in bytes of a file of ELF (64 bits) that begins so: its table of sections is last."""
    if head[:5] != _ELF + b"\2" or len(head) < 64:
        return 0
    (start,), (entry, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
    return int(start + entry * count)


def _words(text: bytes | None) -> str:
    """Return a text of a library as one line of a message."""
    return in_line(" ".join((text or b"").decode("utf-8", "replace").split()))


def _info_of(path: Path, found: layout.Info) -> CodeInfo:
    """Return the description in the memory of a library."""
    api = tuple(found.api)
    if api[:2] not in APIS:
        raise InputError(
            f"{path}: is written to version {'.'.join(map(str, api))} of the IEEE/CIGRE interface; psmr has "
            f"{' and '.join(f'{a}.{b}' for a, b in APIS)} (API 2, whose values have kinds of their own). Ask "
            "its maker for a library of that version"
        )
    sizes = {
        name: getattr(found, name)
        for name in ("input_count", "output_count", "parameter_count", "ints", "floats", "doubles")
    }
    wrong = [f"{name} = {size}" for name, size in sizes.items() if not 0 <= size <= MOST]
    if wrong or not 0.0 < found.period < math.inf:
        wrong += [] if 0.0 < found.period < math.inf else [f"a sample of {found.period!r} s"]
        raise InputError(f"{path}: describes itself with {', '.join(wrong)}, which cannot be")
    info = CodeInfo(
        name=_words(found.name) or path.stem,
        version=_words(found.version),
        text=_words(found.text),
        creator=_words(found.creator),
        api=api,
        period=found.period,
        mode=found.mode & (EMT | RMS),
        inputs=tuple(_ports(path, found.inputs[: found.input_count])),
        outputs=tuple(_ports(path, found.outputs[: found.output_count])),
        parameters=tuple(_parameters(path, found.parameters[: found.parameter_count])),
        states=(found.ints, found.floats, found.doubles),
    )
    for what, entries in (("input", info.inputs), ("output", info.outputs), ("parameter", info.parameters)):
        names = [entry.name for entry in entries]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{path}: has more than one {what} {', '.join(twice)}")
    return info


def _ports(path: Path, signals: Iterable[layout.Signal]) -> Iterator[Port]:
    for signal in signals:
        port = Port(_words(signal.name), _words(signal.text), _words(signal.unit), signal.kind, signal.width)
        if port.kind not in layout.KINDS or port.kind == layout.TEXT or not 1 <= port.width <= MOST:
            raise InputError(
                f"{path}: the port {port.name} is of kind {port.kind} and has {port.width} values: psmr "
                "wires numbers (kinds 1 to 9 of the interface, at least one value)"
            )
        yield port


def _parameters(path: Path, entries: Iterable[layout.Parameter]) -> Iterator[CodeParameter]:
    for entry in entries:
        name, kind = _words(entry.name), entry.kind
        if kind not in layout.KINDS:
            raise InputError(
                f"{path}: the parameter {name} is of kind {kind}, and there are 1 to {layout.TEXT}"
            )
        field, text = f"kind_{kind}", kind == layout.TEXT
        yield CodeParameter(
            name=name,
            group=_words(entry.group),
            text=_words(entry.text),
            unit=_words(entry.unit),
            kind=kind,
            fixed=bool(entry.fixed),
            default=_plain(getattr(entry.default, field)),
            lower=-math.inf if text else _number(getattr(entry.lower, field)),
            upper=math.inf if text else _number(getattr(entry.upper, field)),
        )


def _plain(value: Any) -> float | str:
    """Return a value of C: a text, or a number; a char is the number of its byte."""
    if value is None:
        return ""
    if isinstance(value, bytes) and len(value) != 1:
        return value.decode("utf-8", "replace")
    return _number(value)


def _number(value: Any) -> float:
    return value[0] if isinstance(value, bytes) else value


def _checked(library: CodeLibrary, given: Mapping[str, float | str]) -> dict[str, Any]:
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


def _put(structure: ctypes.Structure, ports: Sequence[Port], values: Reals) -> None:
    """Put values (K,), in the order of the ports, into the structure."""
    at = 0
    for port in ports:
        part = values[at : at + port.width]
        at += port.width
        made = [
            bytes([int(v)]) if port.kind == 1 else int(v) if port.kind in layout.WHOLE else v for v in part
        ]
        if port.width == 1:
            setattr(structure, port.name, made[0])
        else:
            getattr(structure, port.name)[:] = made


def _values(structure: ctypes.Structure, port: Port) -> list[float]:
    value = getattr(structure, port.name)
    return [_number(v) for v in ([value] if port.width == 1 else value)]
