"""How a library of the IEEE/CIGRE interface lays out its memory.

"Guidelines for use of real-code in EMT models for HVDC, FACTS and inverter based generators in power systems
analysis", CIGRE Technical Brochure 958, 2025, API version 2; the order of the fields follows the public
header of the repository temcdrm/emthub. A library exports

    Model_GetInfo          its description, the same for all instances
    Model_FirstCall        before anything else (optional)
    Model_CheckParameters  may object to parameters, or change them
    Model_Initialize       sets the states; outputs may stand in their places before
    Model_Outputs          one sample: inputs and states to outputs and new states
    Model_Terminate        at the end (optional)

Inputs, outputs and parameters are one C structure each, with the members in the order of their descriptions;
the states are three arrays, int32, float and double, that belong to the program and not to the library.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

TEXT = 10
"""The kind of a text that ends with a zero: of parameters only."""

KINDS: dict[int, Any] = {
    1: ctypes.c_char, 2: ctypes.c_int8, 3: ctypes.c_uint8, 4: ctypes.c_int16, 5: ctypes.c_uint16,
    6: ctypes.c_int32, 7: ctypes.c_uint32, 8: ctypes.c_float, 9: ctypes.c_double, TEXT: ctypes.c_char_p,
}  # fmt: skip
"""Types of C by the number of the interface."""

WHOLE = frozenset(range(1, 8))
"""Kinds that are whole numbers; a char is one of a byte."""

BOUNDS = {1: (0, 255)} | {
    kind: (0, 256**size - 1) if kind % 2 else (-(256**size) // 2, 256**size // 2 - 1)
    for kind, size in ((2, 1), (3, 1), (4, 2), (5, 2), (6, 4), (7, 4))
}
"""The least and the greatest number of a kind, of those that are whole."""


class Signal(ctypes.Structure):
    """An input or an output."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("unit", ctypes.c_char_p),
        ("kind", ctypes.c_int), ("width", ctypes.c_int32),
    ]  # fmt: skip


class _Value(ctypes.Union):
    """A default of a parameter."""

    _fields_ = [(f"kind_{kind}", of_c) for kind, of_c in KINDS.items()]


class _Bound(ctypes.Union):
    """A bound of a parameter: a text has none."""

    _fields_ = [(f"kind_{kind}", of_c) for kind, of_c in KINDS.items() if kind != TEXT]


class Parameter(ctypes.Structure):
    """A parameter; `fixed` says that it holds from the start on."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("group", ctypes.c_char_p), ("text", ctypes.c_char_p),
        ("unit", ctypes.c_char_p), ("kind", ctypes.c_int), ("fixed", ctypes.c_int32),
        ("default", _Value), ("lower", _Bound), ("upper", _Bound),
    ]  # fmt: skip


class Info(ctypes.Structure):
    """What `Model_GetInfo` points at."""

    _fields_ = [
        ("api", ctypes.c_uint8 * 4),
        *(
            (name, ctypes.c_char_p)
            for name in (
                "name", "version", "text", "general", "created", "creator", "changed", "changed_by",
                "comment", "history",
            )
        ),
        ("period", ctypes.c_double), ("mode", ctypes.c_uint8),
        ("input_count", ctypes.c_int32), ("inputs", ctypes.POINTER(Signal)),
        ("output_count", ctypes.c_int32), ("outputs", ctypes.POINTER(Signal)),
        ("parameter_count", ctypes.c_int32), ("parameters", ctypes.POINTER(Parameter)),
        ("ints", ctypes.c_int32), ("floats", ctypes.c_int32), ("doubles", ctypes.c_int32),
    ]  # fmt: skip


class Instance(ctypes.Structure):
    """One controller: what each function but `Model_GetInfo` is handed."""

    _fields_ = [
        ("inputs", ctypes.c_void_p), ("outputs", ctypes.c_void_p), ("parameters", ctypes.c_void_p),
        ("time", ctypes.c_double), ("mode", ctypes.c_uint8),
        ("error", ctypes.c_char_p), ("message", ctypes.c_char_p),
        ("ints", ctypes.c_void_p), ("floats", ctypes.c_void_p), ("doubles", ctypes.c_void_p),
    ]  # fmt: skip


def structure_of(members: Iterable[tuple[str, int, int]]) -> ctypes.Structure:
    """Return the structure, all zero, of members (name, kind, width) as C lays them out."""
    fields = [(name, KINDS[kind] if width == 1 else KINDS[kind] * width) for name, kind, width in members]
    return type("Members", (ctypes.Structure,), {"_fields_": fields})()


def places(structure: ctypes.Structure, ports: Iterable[Any]) -> np.ndarray:
    """Return (2 K,) the kind and the address of each value of ports in their structure, in a row."""
    base, found = ctypes.addressof(structure), []
    for port in ports:
        first, size = base + getattr(type(structure), port.name).offset, ctypes.sizeof(KINDS[port.kind])
        found += [(port.kind, first + k * size) for k in range(port.width)]
    return np.array(found, np.int64).ravel()


def values(structure: ctypes.Structure, ports: Iterable[Any]) -> list[float]:
    """Return each value of ports in their structure; a char is the number of its byte."""
    parts = [(getattr(structure, port.name), port.width) for port in ports]
    every = [value for part, width in parts for value in ([part] if width == 1 else part)]
    return [float(value[0] if isinstance(value, bytes) else value) for value in every]
