"""Signals: the columns of a run by name, computed ones included, and what a pattern means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.errors import InputError, nearest

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Signals:
    """Names of what a run holds, in order: states, algebraic variables, bus voltages.

    Wherever a device has ``v_re`` and ``v_im``, the magnitude ``v`` (pu) and the ``angle`` (rad) are signals
    as well.
    """

    names_x: tuple[str, ...]
    names_y: tuple[str, ...]

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the computed signals."""
        own = set(self.names_x) | set(self.names_y)
        places = [name.removesuffix(".v_re") for name in self.names_y if name.endswith(".v_re")]
        names = [f"{p}.{q}" for p in places if f"{p}.v_im" in own for q in ("v", "angle")]
        return tuple(name for name in names if name not in own)

    @property
    def names(self) -> tuple[str, ...]:
        """Every signal."""
        return (*self.names_x, *self.names_y, *self.derived)

    def select(self, patterns: str | Iterable[str] | None) -> tuple[str, ...]:
        """Return the signals that the patterns mean, in the order of the patterns, each once.

        A pattern is a name or has wildcards: ``"G1.omega"``, ``"*.omega"``, ``"bus[5-8].v"``.

        Raises
        ------
        InputError
            For a pattern that means nothing, with the nearest known name.
        """
        if patterns is None:
            return self.names
        chosen: dict[str, None] = {}
        known = self.names
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            found = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
            if not found:
                raise InputError(
                    f"there is no signal {pattern!r}{nearest(pattern, known)}; a name is 'device.variable', "
                    "'*' stands for any text ('*.omega')"
                )
            chosen.update(dict.fromkeys(found))
        return tuple(chosen)

    def values(self, names: Sequence[str], x: Reals, y: Reals) -> Reals:
        """Return (K, len(names)) values of signals from (K, n) states and (K, m) algebraic variables."""
        place_x = {name: i for i, name in enumerate(self.names_x)}
        place_y = {name: i for i, name in enumerate(self.names_y)}
        out = np.empty((len(x), len(names)))
        for column, name in enumerate(names):
            if name in place_x:
                out[:, column] = x[:, place_x[name]]
            elif name in place_y:
                out[:, column] = y[:, place_y[name]]
            else:
                device, _, quantity = name.rpartition(".")
                v_re, v_im = y[:, place_y[f"{device}.v_re"]], y[:, place_y[f"{device}.v_im"]]
                magnitude = quantity == "v"
                out[:, column] = np.hypot(v_re, v_im) if magnitude else np.unwrap(np.arctan2(v_im, v_re))
        return out


def default_panels(signals: Signals) -> list[tuple[str, ...]]:
    """Return what is worth seeing: machine speeds and bus voltages, else the states by kind."""
    speeds = tuple(name for name in signals.names_x if name.endswith(".omega"))
    voltages = tuple(name for name in signals.derived if name.endswith(".v"))
    if speeds or voltages:
        return [panel for panel in (speeds, voltages) if panel]
    kinds: dict[str, list[str]] = {}
    for name in signals.names_x or signals.names_y:
        kinds.setdefault(name.rpartition(".")[2], []).append(name)
    return [tuple(panel) for panel in list(kinds.values())[:4]]


def quantity(name: str) -> str:
    """Return the variable's own name, without the device."""
    return name.rpartition(".")[2]


def units_of(devices: Iterable[Any]) -> dict[str, str]:
    """Return the units, by full name, of the variables that are not in pu."""
    units = {}
    for device in devices:
        component = device.component
        for variable in (*component.states, *component.algebraic):
            unit = component.units.get(variable, "pu")
            if unit != "pu":
                units[f"{device.name}.{variable}"] = unit
    return units
