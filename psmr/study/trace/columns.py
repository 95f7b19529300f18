"""What a column of a trace is: the signal, and how its numbers become those of psmr."""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import dataclass, replace

from psmr.base.errors import InputError

UNIT = re.compile(r"(.*?)\s*[\[(]([^\[\]()]*)[\])]")
"""A name that ends with a unit in brackets."""

POWERS = {"w": 1e-6, "kw": 1e-3, "mw": 1.0, "gw": 1e3, "var": 1e-6, "kvar": 1e-3, "mvar": 1.0, "gvar": 1e3}
ANGLES = {"deg": math.pi / 180.0, "degree": math.pi / 180.0, "degrees": math.pi / 180.0, "°": math.pi / 180.0}
PER_UNIT = ("pu", "p.u.", "puu")

PSSE = re.compile(r"(SPD|SPEED|POWR|VARS|ETRM|VOLT|EFD|FREQ)\s*(\d+)\s*(?:\[.*\])?\s*(\w*)", re.IGNORECASE)
"""The identifiers that PSS/E gives its channels: what, bus, and machine."""


@dataclass(frozen=True)
class Column:
    """How a column of a trace becomes a signal of psmr: scale times the column, plus offset, in its unit.

    `unit` is one that is still to be converted, ``""`` for psmr's own.
    """

    column: str
    signal: str
    scale: float = 1.0
    offset: float = 0.0
    unit: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the signal is the column's own name, not one that a map gives it."""
        return self.signal in (self.column, split_unit(self.column)[0])

    def __str__(self) -> str:
        scale = "" if self.scale == 1.0 else f"{self.scale:.6g} "
        offset = f" + {self.offset:.6g}" if self.offset else ""
        return f"{self.signal} = {scale}{self.column!r}{offset}"


def split_unit(name: str) -> tuple[str, str]:
    """Return a name without the unit in brackets at its end, and that unit."""
    found = UNIT.fullmatch(name)
    return (found[1], found[2].strip()) if found and found[1] else (name, "")


def recognised(column: Column, known: Container[str], base_mva: float, frequency_hz: float) -> Column | None:
    """Return the column of a signal of the run for one that bears a name of PSS/E; None for another name.

    PSS/E has deviations of speed and frequency, and powers, in per unit of the system's base.
    """
    found = PSSE.fullmatch(column.signal.strip())
    if found is None:
        return None
    what, bus, machine = found[1].upper(), found[2], found[3]
    plant = f"{bus}-{machine}" if f"G{bus}-{machine}.p" in known else bus
    signal, scale, offset = {
        "SPD": (f"G{plant}.omega", 1.0, 1.0),
        "SPEED": (f"G{plant}.omega", 1.0, 1.0),
        "POWR": (f"G{plant}.p", base_mva, 0.0),
        "VARS": (f"G{plant}.q", base_mva, 0.0),
        "ETRM": (f"bus{bus}.v", 1.0, 0.0),
        "VOLT": (f"bus{bus}.v", 1.0, 0.0),
        "EFD": (f"AVR{plant}.v_f", 1.0, 0.0),
        "FREQ": (f"bus{bus}.frequency", frequency_hz, frequency_hz),
    }[what]
    return replace(column, signal=signal, scale=scale, offset=offset, unit="") if signal in known else None


def converted(column: Column, unit: str, base_mva: float, frequency_hz: float, source: str) -> Column:
    """Return the column with its unit converted to that of the signal.

    Raises
    ------
    InputError
        For a unit that does not become that of the signal.
    """
    if not column.unit:
        return column
    word, own = column.unit.lower(), unit.lower()
    scale = math.nan
    if word == own or (word in PER_UNIT and own == "pu"):
        scale = 1.0
    elif own in ("mw", "mvar"):
        scale = base_mva if word in PER_UNIT else POWERS.get(word, math.nan)
    elif own == "rad":
        scale = ANGLES.get(word, math.nan)
    elif own == "pu" and column.signal.endswith(".omega"):
        scale = {"hz": 1.0 / frequency_hz, "rad/s": 0.5 / math.pi / frequency_hz}.get(word, math.nan)
    elif own == "hz":
        scale = frequency_hz if word in PER_UNIT else {"rad/s": 0.5 / math.pi}.get(word, math.nan)
    scale = 0.01 if word == "%" and own == "pu" else scale
    if math.isnan(scale):
        what = f"{column.unit!r} is no unit of {column.signal}, which is in {unit}"
        raise InputError(f"{source}: {column.column!r}: {what}; give scale and offset: --map FILE")
    return replace(column, scale=scale * column.scale, unit="")
