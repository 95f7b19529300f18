"""Signals: what can be asked of a run by name, what a pattern and a sum mean, and their values at points.

Sums and differences of signals are written as such: ``"G1.delta - G2.delta"``, ``"sum(L*.p)"``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.sampling import sampled_variables
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points, Speeds, Variables
from psmr.network.signals.quantities import (
    CENTRE,
    QUANTITIES,
    VOLTAGE_QUANTITIES,
    Quantity,
    Terminal,
    computed_signals,
    terminals,
)
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import aliases

Term = tuple[float, str]

# Between two terms stands a sign with a space on either side: names of branches have dashes of their own.
_SIGN = re.compile(r"\s+([+-])\s+")
_TERM = re.compile(r"(?:(?P<factor>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*\*\s*)?(?P<name>\S.*?)\s*$")
_ALL = re.compile(r"sum\((?P<pattern>.+)\)$")
_WILDCARD = re.compile(r"[*?\[]")


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern with wildcards means, in their order."""
    means = re.compile(translate(pattern)).match
    return [name for name in names if means(name)]


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
        names = matching(every["pattern"], known) if every else [name]
        if not names or (not every and name not in known):
            return [], every["pattern"] if every else name
        for own in names:
            found[own] = found.get(own, 0.0) + factor
    return [(factor, name) for name, factor in found.items()], ""


@dataclass(frozen=True, eq=False)
class Expansion:
    """Signals, sums among them, by the signals that these are sums of.

    `names`: all that is needed, each once.
    `parts`: of each signal the (factor, place in `names`) pairs.
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
        if all(part == ((1.0, k),) for k, part in enumerate(self.parts)):
            return values
        columns = [sum(factor * values[:, k] for factor, k in part) for part in self.parts]
        return np.column_stack(columns) if columns else np.empty((len(values), 0))

    def matrix(self) -> NDArray[np.float64]:
        """Return the (signals, len(names)) factors."""
        found = np.zeros((len(self.parts), len(self.names)))
        for row, part in enumerate(self.parts):
            for factor, k in part:
                found[row, k] = factor
        return found


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
    names_x, names_y, names_s
        States, algebraic variables, and what samples write.
    of_devices
        The quantity and the device of what is computed only where it is asked for, by name.
    terminals
        Where devices meet the network.
    kept
        Computed signals that a run kept as such, where it kept chosen signals only; None otherwise.
    aliases
        Other names of buses, and the bus of each that has it alone: ``"BUS 16.v"`` is ``"bus16.v"``.
    """

    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    of_devices: Mapping[str, tuple[Quantity, str]] = field(default_factory=dict)
    terminals: tuple[Terminal, ...] = ()
    kept: tuple[str, ...] | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    names_s: tuple[str, ...] = ()

    @classmethod
    def of(cls, system: System) -> Signals:
        """Return the signals of a system's runs."""
        sampled = system.names_u[: system.s]
        own = {*system.names_x, *system.names_y, *sampled}
        computed = ((name, (QUANTITIES[of], device)) for name, of, device in computed_signals(system))
        alone = tuple((name, found[0]) for name, found in aliases(system).items() if len(found) == 1)
        found = {name: quantity for name, quantity in computed if name not in own}
        return cls(system.names_x, system.names_y, found, terminals(system), aliases=alone, names_s=sampled)

    @functools.cached_property
    def places(self) -> Mapping[str, int]:
        """Where each recorded variable stands among all of them."""
        return {name: k for k, name in enumerate((*self.names_x, *self.names_y, *self.names_s))}

    @functools.cached_property
    def variables(self) -> Variables:
        """Where variables of devices stand."""
        return Variables(self.places)

    @functools.cached_property
    def of_voltage(self) -> Mapping[str, tuple[Quantity, str]]:
        """The quantity and the device of magnitudes and angles of voltages, by name."""
        named = [name.removesuffix(".v_re") for name in self.places if name.endswith(".v_re")]
        named = [place for place in named if f"{place}.v_im" in self.places]
        found = {f"{place}.{of}": (QUANTITIES[of], place) for place in named for of in VOLTAGE_QUANTITIES}
        return {name: quantity for name, quantity in found.items() if name not in self.places}

    def quantity(self, name: str) -> tuple[Quantity, str] | None:
        """Return the quantity and the device of a computed signal; None of a variable, or what was kept."""
        return self.of_voltage.get(name) or self.of_devices.get(name)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Signals of a table where none are chosen: recorded variables, bus voltages, all `kept`."""
        kept, centre = self.kept or (), f"{CENTRE}."
        voltages = [
            name for name in kept if quantity(name) in VOLTAGE_QUANTITIES and not name.startswith(centre)
        ]
        return tuple(dict.fromkeys((*self.places, *self.of_voltage, *voltages, *kept)))

    @functools.cached_property
    def everything(self) -> tuple[str, ...]:
        """All that can be asked for: `names`, and powers, currents and frequencies."""
        return tuple(dict.fromkeys((*self.names, *self.of_devices)))

    @functools.cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.everything)

    def __iter__(self) -> Iterator[str]:
        return iter(self.everything)

    def __len__(self) -> int:
        return len(self.everything)

    def __contains__(self, name: object) -> bool:
        return name in self._known

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
        known = self.everything
        for pattern in wanted:
            if not isinstance(pattern, str):
                raise InputError(f"{shown(pattern)} is no name of a signal; a name is 'device.variable'")
            found = [pattern] if pattern in self else []
            if _WILDCARD.search(pattern):
                found = [*found, *(name for name in matching(pattern, known) if name != pattern)]
            if not found and (other := self.by_alias(pattern)) in self:
                found = [other]
            if pattern not in found:
                found = [name for name in found if not self.only_by_name(name)] or found
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

    def only_by_name(self, name: str) -> bool:
        """Return whether a pattern means a signal only where it means nothing else."""
        return name in self.of_devices and self.of_devices[name][0].by_name

    def computed(self, name: str) -> bool:
        """Return whether a signal is computed from the recorded variables and not one of them."""
        return name not in self.places


def default_panels(signals: Signals) -> list[tuple[str, ...]]:
    """Return what is worth seeing: machine speeds and bus voltages, else what was kept by kind."""
    speeds = tuple(name for name in signals.names_x if name.endswith(".omega"))
    known = (*signals.of_voltage, *(signals.kept or ()))
    voltages = tuple(dict.fromkeys(name for name in known if name.endswith(".v")))
    if speeds or voltages:
        return [panel for panel in (speeds, voltages) if panel]
    kinds: dict[str, list[str]] = {}
    chosen = () if signals.kept is None else signals.names
    for name in chosen or signals.names_x or signals.names_y:
        kinds.setdefault(name.rpartition(".")[2], []).append(name)
    return [tuple(panel) for panel in list(kinds.values())[:4]]


def quantity(name: str) -> str:
    """Return the variable's own name, without the device."""
    return name.rpartition(".")[2]


def unit_of(signals: Signals, units: Mapping[str, str], name: str) -> str:
    """Return the unit of a signal; `units` has those of the recorded variables that are not in pu."""
    if is_sum(name) and signals.computed(name):
        found = {unit_of(signals, units, own) for own in written_in(name)}
        return found.pop() if len(found) == 1 else ""
    known = QUANTITIES.get(quantity(name)) if signals.computed(name) else None
    return units.get(name, "pu") if known is None else known.unit


@cached_by_devices
def units_of(system: System) -> Mapping[str, str]:
    """Return the units, by full name, of the variables that are not in pu."""
    units = {}
    for device in system.devices:
        component = device.component
        for variable in (*component.states, *component.algebraic, *sampled_variables(component)):
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


class SignalValues:
    """The values of signals at points, which come in order of time.

    `signals`, `names`: what can be asked for, and what is; no sums.
    `system`: the system of the run at its start; None where only variables and voltages are asked for.

    `wrapped`: columns of what is known but for whole turns; see `Unwrap`.
    `solved`: whether something takes the network solved at each point.
    `by_span`: whether something depends on what holds in a span.
    """

    def __init__(self, signals: Signals, names: Sequence[str], system: System | None) -> None:
        self._signals, self._count = signals, len(names)
        direct: list[int] = []
        asked: dict[Quantity, list[tuple[int, str]]] = {}
        for column, name in enumerate(names):
            known = signals.quantity(name)
            if known is None:
                direct.append(column)
            else:
                asked.setdefault(known[0], []).append((column, known[1]))
        self._direct = np.array(direct, dtype=np.intp)
        self._places = np.array([signals.places[names[column]] for column in direct], dtype=np.intp)
        self._asked = [
            (quantity, tuple(device for _, device in own), np.array([column for column, _ in own]))
            for quantity, own in asked.items()
        ]
        none = np.zeros(0, dtype=np.intp)
        self.wrapped = np.concatenate([none, *(columns for q, _, columns in self._asked if q.wraps)])
        self.solved = any(quantity.solved for quantity in asked)
        first = len(signals.names_x) + len(signals.names_y)
        self.by_span = self.solved or bool((self._places >= first).any())
        self._system = system
        self._connections: Connections | None = None
        self._speeds = None if system is None or not self.solved else Speeds(system, sources_of(system))

    def begin(self, span: Span) -> None:
        """Start a span, whose points come next."""
        self._connections = None if self._system is None else Connections(self._system, span)

    def angles(self, t: Reals, x: Reals, y: Reals) -> Reals:
        """Return (K, wrapped) values of what is known but for whole turns, at points as `at` takes them."""
        points = Points(t, x, y, self._signals.variables, self._connections)
        found = [quantity.values(points, devices) for quantity, devices, _ in self._asked if quantity.wraps]
        return np.hstack([np.empty((len(t), 0)), *found])

    def at(
        self,
        t: Reals,
        x: Reals,
        y: Reals,
        solved: Reals | None = None,
        inputs: Reals | None = None,
        angles: Reals | None = None,
    ) -> Reals:
        """Return (K, names) values at the next points of a span; `wrapped` ones within half a turn.

        `t`, `x`, `y`: (K,) times in s, (K, n) states and (K, m) algebraic variables; `solved`: (K, m)
        algebraic variables of what takes the network solved at each point; y where left out; `inputs`: (K, k)
        held inputs; where left out as the span has them; `angles`: (K, wrapped) values that are known
        already.
        """
        found = np.empty((len(t), self._count))
        if not len(t):
            return found
        plain = Points(t, x, y, self._signals.variables, self._connections, inputs)
        found[:, self._direct] = plain.at(self._places)
        exact = plain
        if self.solved:
            speeds = None if self._speeds is None else self._speeds.of(t, x)
            y = y if solved is None else solved
            exact = Points(t, x, y, self._signals.variables, self._connections, inputs, speeds)
        if angles is not None:
            found[:, self.wrapped] = angles
        for quantity, devices, columns in self._asked:
            if angles is None or not quantity.wraps:
                found[:, columns] = quantity.values(exact if quantity.solved else plain, devices)
        return found


class Unwrap:
    """Makes angles go on without jumps from point to point, also from before to after a NaN."""

    def __init__(self) -> None:
        self._before: Reals | None = None

    def __call__(self, angles: Reals) -> Reals:
        """Return the next (K, j) angles in rad, with whole turns."""
        if not angles.size:
            return angles
        before = angles[0] if self._before is None else self._before
        found = _continuous(np.vstack([before, angles]))[1:]
        self._before = np.where(np.isnan(found[-1]), before, found[-1])
        return found


def _continuous(angles: Reals) -> Reals:
    """Return (K, j) angles in rad that go on without jumps, also from before to after a NaN."""
    if not np.isnan(angles).any():
        return np.unwrap(angles, axis=0)
    found = angles.copy()
    for column in found.T:
        known = ~np.isnan(column)
        column[known] = np.unwrap(column[known])
    return found
