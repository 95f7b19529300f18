"""Signals: what can be asked of a run by name, computed quantities included, and what a pattern means.

Sums and differences of signals, written as such: ``"G1.delta - G2.delta"``, ``"sum(L*.p)"``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError, nearest, shown
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.network.sequence.unbalance import PHASES, SEQUENCES
from psmr.network.signals.terminals import QUANTITIES, Terminal, terminals
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import aliases, buses, nominal_frequency

Term = tuple[float, str]

# Between two terms stands a sign with a space on either side: names of branches have dashes of their own.
_SIGN = re.compile(r"\s+([+-])\s+")
_TERM = re.compile(r"(?:(?P<factor>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*\*\s*)?(?P<name>\S.*?)\s*$")
_ALL = re.compile(r"sum\((?P<pattern>.+)\)$")


def is_sum(text: str) -> bool:
    """Return whether a text is written as a sum: has a sign between spaces, a factor, or ``sum(...)``."""
    match = _TERM.match(text.strip())
    return bool(_SIGN.search(text) or (match and (match["factor"] or _ALL.match(match["name"]))))


def written_in(text: str) -> list[str]:
    """Return the names and patterns that a sum is written with."""
    matches = [_TERM.match(piece.removeprefix("-").strip()) for piece in _SIGN.split(text.strip())[::2]]
    names = [match["name"] for match in matches if match]
    return [every["pattern"] if (every := _ALL.match(name)) else name for name in names]


def terms_of(text: str, known: Collection[str]) -> tuple[list[Term], str]:
    """Return the (factor, name) pairs of a sum, and the first part of it that is no known signal, or ``""``.

    ``sum(pattern)`` stands for all known signals that the pattern means.
    """
    pieces = _SIGN.split(text.strip())
    signs = [1.0, *(1.0 if sign == "+" else -1.0 for sign in pieces[1::2])]
    found: dict[str, float] = {}
    for sign, piece in zip(signs, pieces[::2], strict=True):
        if piece.startswith("-"):
            sign, piece = -sign, piece[1:].strip()
        match = _TERM.match(piece)
        if match is None:
            return [], piece
        factor, name = sign * float(match["factor"] or 1.0), match["name"]
        every = _ALL.match(name)
        names = [n for n in known if fnmatchcase(n, every["pattern"])] if every else [name]
        if not names or (not every and name not in known):
            return [], every["pattern"] if every else name
        for own in names:
            found[own] = found.get(own, 0.0) + factor
    return [(factor, name) for name, factor in found.items()], ""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Signals, sums among them, by the signals that these are sums of.

    Attributes
    ----------
    names
        All that is needed, each once.
    parts
        Of each signal the (factor, place in `names`) pairs.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[tuple[float, int], ...], ...]

    @classmethod
    def of(cls, names: Iterable[str], sums: Mapping[str, Sequence[Term]]) -> Expansion:
        """Return the expansion of names, of which `sums` has the terms of those that are sums."""
        wanted = tuple(names)
        needed = dict.fromkeys(part for name in wanted for _, part in sums.get(name, [(1.0, name)]))
        place = {name: k for k, name in enumerate(needed)}
        parts = (tuple((a, place[part]) for a, part in sums.get(name, [(1.0, name)])) for name in wanted)
        return cls(tuple(needed), tuple(parts))

    def combined(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (K, signals) values of (K, len(names)) values of what they are sums of."""
        columns = [sum(factor * values[:, k] for factor, k in part) for part in self.parts]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))

    def matrix(self) -> NDArray[np.float64]:
        """Return the (signals, len(names)) factors."""
        found = np.zeros((len(self.parts), len(self.names)))
        for row, part in enumerate(self.parts):
            for factor, k in part:
                found[row, k] = factor
        return found


CENTRE = "coi"
"""What stands for the centre of inertia of the island with the most kinetic energy: ``"coi.frequency"``."""

UNITS: Mapping[str, str] = {
    "v": "pu",
    "angle": "rad",
    "frequency": "Hz",
    "coi_angle": "rad",
    "coi_frequency": "Hz",
    **QUANTITIES,
}
"""Units of the computed quantities."""


SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("speed", "w", "omega_r", "rotor_speed"), ("omega", "slip")),
    **dict.fromkeys(("angle", "rotor_angle", "theta"), ("delta", "theta", "angle")),
    **dict.fromkeys(("voltage", "vm", "v_mag", "u"), ("v", "v_m")),
    **dict.fromkeys(("power", "active_power", "p_mw", "pe", "p_e"), ("p", "p_from")),
    **dict.fromkeys(("reactive_power", "q_mvar", "qe", "q_e"), ("q", "q_from")),
    **dict.fromkeys(("current", "i_mag"), ("i", "i_from")),
    **dict.fromkeys(("efd", "e_fd", "field_voltage", "vf"), ("v_f",)),
    **dict.fromkeys(("f", "freq", "frequency_hz"), ("frequency", "omega")),
}
"""What others call a quantity, and its names here, the first that a device has."""


@dataclass(frozen=True, repr=False)
class Signals:
    """Names of what can be asked of a run: states, algebraic variables, and what is computed from them.

    Wherever a device has ``v_re`` and ``v_im``, the magnitude ``v`` (pu) and the ``angle`` (rad) are signals
    as well. Sources, loads and shunts have ``p`` (MW), ``q`` (Mvar) and ``i`` (pu on the system base), of
    what sources give and of what loads and shunts take; branches have them at both ends, ``p_from`` ...
    ``i_to``, of what flows into the branch; buses have a ``frequency`` (Hz). Voltages of buses and currents
    into branches at their from bus are also there by phase and sequence, ``v_a`` ... ``v_0``, ``i_a`` ...
    ``i_0``. ``coi.frequency`` and ``coi.angle`` are those of the centre of inertia of the island with the
    most kinetic energy, ``bus7.coi_frequency`` and ``bus7.coi_angle`` of the island of that bus. A device's
    own variable of such a name goes first.

    Attributes
    ----------
    names_x, names_y
        States and algebraic variables.
    terminals
        Where devices meet the network.
    frequency_of
        Buses whose frequency can be computed.
    centres_of
        Buses whose island can have a centre of inertia.
    kept
        Computed signals that a run kept as such, where it kept chosen signals only; None otherwise.
    aliases
        Other names of buses, and the bus of each that has it alone: ``"BUS 16.v"`` is ``"bus16.v"``.
    """

    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    terminals: tuple[Terminal, ...] = ()
    frequency_of: tuple[str, ...] = ()
    centres_of: tuple[str, ...] = ()
    kept: tuple[str, ...] | None = None
    aliases: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, system: System) -> Signals:
        """Return the signals of a system's runs."""
        places = buses(system) if nominal_frequency(system) is not None else ()
        centres = places if sources_of(system) else ()
        alone = tuple((name, found[0]) for name, found in aliases(system).items() if len(found) == 1)
        return cls(system.names_x, system.names_y, terminals(system), places, centres, aliases=alone)

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of bus voltages: magnitudes and angles."""
        own = set(self.names_x) | set(self.names_y)
        every = (*self.names_x, *self.names_y)
        places = [name.removesuffix(".v_re") for name in every if name.endswith(".v_re")]
        names = [f"{p}.{q}" for p in places if f"{p}.v_im" in own for q in ("v", "angle")]
        names += [name for name in self.kept or () if of_voltage(name)]
        return tuple(dict.fromkeys(name for name in names if name not in own))

    @property
    def of_devices(self) -> tuple[str, ...]:
        """Names of powers, currents and frequencies, which are computed only when they are asked for."""
        own = set(self.names_x) | set(self.names_y)
        names = [name for terminal in self.terminals for name in terminal.names]
        names += [f"{bus}.frequency" for bus in self.frequency_of]
        names += self.unbalanced
        names += [f"{CENTRE}.{kind}" for kind in ("frequency", "angle") if self.centres_of]
        names += [f"{bus}.coi_{kind}" for bus in self.centres_of for kind in ("frequency", "angle")]
        names += [name for name in self.kept or () if not of_voltage(name)]
        return tuple(name for name in names if name not in own)

    @property
    def unbalanced(self) -> tuple[str, ...]:
        """Names of the sequence and phase quantities of buses, and of branches at their from bus."""
        ends = [terminal.device for terminal in self.terminals if terminal.end == "_from"]
        places = [*((bus, "v") for bus in self.frequency_of), *((branch, "i") for branch in ends)]
        return tuple(f"{place}.{letter}_{part}" for place, letter in places for part in (*PHASES, *SEQUENCES))

    @property
    def names(self) -> tuple[str, ...]:
        """Signals of a table where none are chosen: recorded variables, bus voltages, all `kept`."""
        return tuple(dict.fromkeys((*self.names_x, *self.names_y, *self.derived, *(self.kept or ()))))

    @property
    def everything(self) -> tuple[str, ...]:
        """All that can be asked for: `names`, and powers, currents and frequencies."""
        return tuple(dict.fromkeys((*self.names, *self.of_devices)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.everything)

    def __len__(self) -> int:
        return len(self.everything)

    def __contains__(self, name: object) -> bool:
        return name in self.everything

    def __repr__(self) -> str:
        return (
            f"<{len(self)} signals: {len(self.names_x)} states, {len(self.names_y)} algebraic variables, "
            f"{len(self) - len(self.names_x) - len(self.names_y)} computed; list(signals) names them>"
        )

    def select(self, patterns: str | Iterable[str] | None) -> tuple[str, ...]:
        """Return the signals that the patterns mean, in the order of the patterns, each once.

        A pattern is a name or has wildcards: ``"G1.omega"``, ``"*.omega"``, ``"bus[5-8].v"``, ``"G*.p"``.
        None means `names`. A sum of names is a signal as well (``"G1.delta - G2.delta"``, with spaces around
        the signs, ``"0.5 * bus5.v + 0.5 * bus6.v"``), ``"sum(L*.p)"`` the sum of all that a pattern means.

        Raises
        ------
        InputError
            For a pattern that means nothing, with the nearest known name.
        """
        if patterns is None:
            return self.names
        wanted = (patterns,) if isinstance(patterns, str) else tuple(patterns)
        if not wanted:
            raise InputError(
                "names of signals: none is given; give at least one name or pattern, or leave names out"
            )
        chosen: dict[str, None] = {}
        known, unbalanced = self.everything, set(self.unbalanced)
        for pattern in wanted:
            if not isinstance(pattern, str):
                raise InputError(f"{shown(pattern)} is no name of a signal; a name is 'device.variable'")
            found = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
            if not found and (other := self.by_alias(pattern)) in known:
                found = [other]
            if pattern not in found:
                found = [name for name in found if name not in unbalanced] or found
            if not found and is_sum(pattern):
                _, missing = terms_of(pattern, known)
                if missing:
                    raise InputError(f"{pattern}: there is no signal {missing!r}{_meant(missing, known)}")
                found = [pattern.strip()]
            if not found:
                few = "" if self.kept is None else "; this run kept only what record= asked for"
                raise InputError(
                    f"there is no signal {pattern!r}{_meant(pattern, known)}; a name is 'device.variable', "
                    f"'*' stands for any text ('*.omega'){few}"
                )
            chosen.update(dict.fromkeys(found))
        return tuple(chosen)

    def by_alias(self, name: str) -> str:
        """Return a signal of a bus that is called by an alias under the bus's own name."""
        bus, _, wanted = name.rpartition(".")
        return f"{dict(self.aliases).get(' '.join(bus.split()), bus)}.{wanted}"

    def expansion(self, names: Iterable[str]) -> Expansion:
        """Return signals that `select` gave by those that they are sums of."""
        wanted = tuple(names)
        written = [name for name in wanted if is_sum(name)]
        known = dict.fromkeys(self.everything) if written else {}
        sums = {name: terms_of(name, known)[0] for name in written if name not in known}
        return Expansion.of(wanted, sums)

    def computed(self, name: str) -> bool:
        """Return whether a signal is computed from the recorded variables and not one of them."""
        return name not in self._recorded

    @functools.cached_property
    def _recorded(self) -> frozenset[str]:
        return frozenset((*self.names_x, *self.names_y))


def default_panels(signals: Signals) -> list[tuple[str, ...]]:
    """Return what is worth seeing: machine speeds and bus voltages, else what was kept by kind."""
    speeds = tuple(name for name in signals.names_x if name.endswith(".omega"))
    voltages = tuple(name for name in signals.derived if name.endswith(".v"))
    if speeds or voltages:
        return [panel for panel in (speeds, voltages) if panel]
    kinds: dict[str, list[str]] = {}
    chosen = () if signals.kept is None else signals.names
    for name in chosen or signals.names_x or signals.names_y:
        kinds.setdefault(name.rpartition(".")[2], []).append(name)
    return [tuple(panel) for panel in list(kinds.values())[:4]]


def of_voltage(name: str) -> bool:
    """Return whether a computed signal is the magnitude or the angle of a voltage."""
    return quantity(name) in ("v", "angle") and not of_centre(name)


def of_centre(name: str) -> bool:
    """Return whether a computed signal is one of a centre of inertia."""
    return name.startswith(f"{CENTRE}.") or quantity(name).startswith("coi_")


def quantity(name: str) -> str:
    """Return the variable's own name, without the device."""
    return name.rpartition(".")[2]


def unit_of(signals: Signals, units: Mapping[str, str], name: str) -> str:
    """Return the unit of a signal; `units` has those of the recorded variables that are not in pu."""
    if is_sum(name) and signals.computed(name):
        found = {unit_of(signals, units, own) for own in written_in(name)}
        return found.pop() if len(found) == 1 else ""
    if signals.computed(name):
        kind = quantity(name)
        return UNITS.get(kind) or UNITS.get(kind.partition("_")[0]) or units.get(name, "pu")
    return units.get(name, "pu")


@cached_by_devices
def units_of(system: System) -> Mapping[str, str]:
    """Return the units, by full name, of the variables that are not in pu."""
    units = {}
    for device in system.devices:
        component = device.component
        for variable in (*component.states, *component.algebraic):
            unit = component.units.get(variable, "pu")
            if unit != "pu":
                units[f"{device.name}.{variable}"] = unit
    return units


def _meant(name: str, known: Sequence[str]) -> str:
    """Return which signal a name means that is none: the same quantity, or one that is written like it."""
    device, _, wanted = name.rpartition(".")
    if same := [one for one in known if one.lower() == name.lower()]:
        return f"; did you mean {same[0]!r}?"
    own = [one for one in known if one.rpartition(".")[0] == device]
    right = [f"{device}.{ours}" for ours in SYNONYMS.get(wanted, ()) if f"{device}.{ours}" in own]
    return f"; did you mean {right[0]!r}?" if right else nearest(name, own) or nearest(name, known)
