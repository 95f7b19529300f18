"""What a library says of itself: ports, parameters, states, and the interface that it is written to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psmr.base.errors import InputError, in_line
from psmr.sampled import layout

# Versions (first two numbers) of the interface that have the structures of `layout`: TB 958 calls it API 2,
# its libraries 1.1 or 2.0.
APIS = ((1, 1), (2, 0))

EMT, RMS = 1, 2
MODES = {0: "not said", EMT: "instantaneous values", RMS: "phasors", EMT | RMS: "either"}

# No controller has more ports, parameters or states; of memory that is none of the interface's, it is said.
MOST = 100_000


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


def info_of(told: dict[str, Any]) -> CodeInfo:
    """Return what a message has of it."""
    ports = {what: tuple(Port(**port) for port in told[what]) for what in ("inputs", "outputs")}
    parameters = tuple(CodeParameter(**one) for one in told["parameters"])
    lists = {what: tuple(told[what]) for what in ("api", "states")}
    return CodeInfo(**{**told, **ports, **lists, "parameters": parameters})


def state_names(info: CodeInfo) -> tuple[str, ...]:
    """Return names of the states of a library, which gives them none: by their kind and place."""
    kinds = zip(("int", "single", "double"), info.states, strict=True)
    return tuple(f"{kind}_{k}" for kind, count in kinds for k in range(count))


def labels(ports: Iterable[Port]) -> tuple[str, ...]:
    """Return a name for each value of ports: that of the port, with its place where it has several."""
    return tuple(
        port.name if port.width == 1 else f"{port.name}[{k}]" for port in ports for k in range(port.width)
    )


def in_words(text: bytes | None) -> str:
    """Return a text of a library as one line of a message."""
    return in_line(" ".join((text or b"").decode("utf-8", "replace").split()))


def description(path: Path, found: layout.Info) -> CodeInfo:
    """Return the description in the memory of a library; raises InputError for one that cannot be."""
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
    for what in ("input", "output", "parameter"):
        if (count := sizes[f"{what}_count"]) and not getattr(found, f"{what}s"):
            raise InputError(
                f"{path}: describes itself with {count} {what}s, and says nowhere which they are"
            )
    info = CodeInfo(
        name=in_words(found.name) or path.stem,
        version=in_words(found.version),
        text=in_words(found.text),
        creator=in_words(found.creator),
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
        port = Port(
            in_words(signal.name), in_words(signal.text), in_words(signal.unit), signal.kind, signal.width
        )
        if port.kind not in layout.KINDS or port.kind == layout.TEXT or not 1 <= port.width <= MOST:
            raise InputError(
                f"{path}: the port {port.name} is of kind {port.kind} and has {port.width} values: psmr "
                "wires numbers (kinds 1 to 9 of the interface, at least one value)"
            )
        yield port


def _parameters(path: Path, entries: Iterable[layout.Parameter]) -> Iterator[CodeParameter]:
    for entry in entries:
        name, kind = in_words(entry.name), entry.kind
        if kind not in layout.KINDS:
            raise InputError(
                f"{path}: the parameter {name} is of kind {kind}, and there are 1 to {layout.TEXT}"
            )
        field, text = f"kind_{kind}", kind == layout.TEXT
        yield CodeParameter(
            name=name,
            group=in_words(entry.group),
            text=in_words(entry.text),
            unit=in_words(entry.unit),
            kind=kind,
            fixed=bool(entry.fixed),
            default=plain_value(getattr(entry.default, field), kind),
            lower=-math.inf if text else _number(getattr(entry.lower, field)),
            upper=math.inf if text else _number(getattr(entry.upper, field)),
        )


def plain_value(value: Any, kind: int) -> float | str:
    """Return a value of C of a kind: a text, or a number; a char is the number of its byte."""
    return (value or b"").decode("utf-8", "replace") if kind == layout.TEXT else _number(value)


def _number(value: Any) -> float:
    return value[0] if isinstance(value, bytes) else value
