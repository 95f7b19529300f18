"""What can drive a system: held inputs, injections at buses, parameters of devices; and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from scipy import sparse

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import Component, parameters_of
from psmr.dae.system.complex_step import Place, input_columns, parameter_columns
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import JunctionBus
from psmr.network.topology.network import buses, power_base

INJECTIONS = {"i_re": "pu", "i_im": "pu", "i_d": "pu", "i_q": "pu", "p": "MW", "q": "Mvar"}
"""What can be injected at a bus, with its unit."""

# A number that cannot be moved by this part is a whole one: a flag, a code, a status.
MOVED = 1e-6


@dataclass(frozen=True, eq=False)
class Inputs:
    """Chosen inputs of a system.

    Attributes
    ----------
    names, units
        Of each.
    columns
        (n + m, q) derivatives of f and g, before limits.
    held, parameters
        By the number of the input, its position in w, or its place among the parameters, where it is one.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    columns: sparse.csc_array
    held: dict[int, int]
    parameters: dict[int, Place]


def known_inputs(system: System) -> dict[str, str]:
    """Return the names of all that can be an input of a system, with what each is.

    ``"held"``, ``"injection"`` or ``"parameter"``. A held input goes before a parameter of its name.
    """
    found = dict.fromkeys(system.names_u, "held")
    for bus in buses(system):
        for name in INJECTIONS:
            if name not in ("p", "q") or power_base(system) is not None:
                found.setdefault(f"{bus}.{name}", "injection")
    for device in system.devices:
        for name in _continuous(device.component, device.parameters):
            found.setdefault(f"{device.name}.{name}", "parameter")
    return found


def _continuous(component: type[Component], values: Mapping[str, float]) -> Iterable[str]:
    """Yield the parameters of a component that are no whole numbers."""
    for name, parameter in parameters_of(component).items():
        value = values[name]
        step = MOVED * max(abs(value), 1.0)
        if name not in component.structural and not (
            parameter.objection(value + step) and parameter.objection(value - step)
        ):
            yield name


def chosen_inputs(system: System, w: Reals, patterns: str | Iterable[str]) -> Inputs:
    """Return the inputs that patterns mean, at a buffer w of the system.

    Raises
    ------
    InputError
        For a pattern that means nothing, with the nearest name.
    """
    known = known_inputs(system)
    names = matching(patterns, known, "input")
    held = {k: system.index(name) for k, name in enumerate(names) if known[name] == "held"}
    parameters = {
        k: system.parameter_place(*_parted(name))
        for k, name in enumerate(names)
        if known[name] == "parameter"
    }
    injected = [k for k, name in enumerate(names) if known[name] == "injection"]
    parts = [
        input_columns(system, w, list(held.values())),
        parameter_columns(system, w, list(parameters.values())),
        _injections(system, w, [names[k] for k in injected]),
    ]
    order = np.argsort([*held, *parameters, *injected])
    columns = sparse.csc_array(sparse.hstack(parts, format="csc")[:, order])
    _refuse_held_limits(system, w, names, parameters)
    units = tuple(_unit(system, name, known[name]) for name in names)
    return Inputs(names, units, columns, held, parameters)


def matching(patterns: str | Iterable[str], known: Iterable[str], what: str) -> tuple[str, ...]:
    """Return the known names that patterns mean, in the order of the patterns, each once.

    Raises
    ------
    InputError
        For a pattern that means nothing, with the nearest name, and for none at all.
    """
    names = list(known)
    wanted = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    if not wanted:
        raise InputError(f"{what}s: none is given; give at least one name or pattern")
    chosen: dict[str, None] = {}
    for pattern in wanted:
        if not isinstance(pattern, str):
            raise InputError(f"{shown(pattern)} is no name of an {what}; a name is 'device.variable'")
        found = [name for name in names if name == pattern or fnmatchcase(name, pattern)]
        if not found:
            own = [name for name in names if name.rpartition(".")[0] == pattern.rpartition(".")[0]]
            hint = nearest(pattern, own) or nearest(pattern, names)
            there = (
                f"; {own[0].rpartition('.')[0]} has {', '.join(map(_last, own))}" if own and not hint else ""
            )
            raise InputError(f"there is no {what} {pattern!r}{hint}{there}")
        chosen.update(dict.fromkeys(found))
    return tuple(chosen)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parted(name: str) -> tuple[str, str]:
    device, _, quantity = name.rpartition(".")
    return device, quantity


def _unit(system: System, name: str, kind: str) -> str:
    device, quantity = _parted(name)
    if kind == "injection":
        return INJECTIONS[quantity]
    component = system.device(device).component
    return component.units.get(quantity, "pu") if kind == "held" else parameters_of(component)[quantity].unit


def _injections(system: System, w: Reals, names: Sequence[str]) -> sparse.csc_array:
    """Return the columns of injections at buses, of currents and powers.

    A power is that of a current that keeps it constant at the voltage of this point.
    """
    columns = sparse.lil_array((system.n + system.m, len(names)))
    rows = {name: system.n + k for k, name in enumerate(system.names_g)}
    kinds = {device.name: device.component for device in system.devices}
    for k, name in enumerate(names):
        bus, quantity = _parted(name)
        if issubclass(kinds[bus], JunctionBus):
            raise InputError(
                f"{name}: {bus} joins elements whose currents are states, with no capacitance to take "
                "another current; take a bus with charging, or one outside the region"
            )
        v = complex(w[system.index(f"{bus}.v_re")], w[system.index(f"{bus}.v_im")])
        along = v / abs(v)
        current = {"i_re": 1.0, "i_im": 1j, "i_d": along, "i_q": 1j * along}.get(quantity)
        if current is None:
            base = power_base(system)
            assert base is not None
            current = np.conj({"p": 1.0, "q": 1j}[quantity] / base / v)
        columns[rows[f"{bus}.i_re"], k] = np.real(current)
        columns[rows[f"{bus}.i_im"], k] = np.imag(current)
    return sparse.csc_array(columns)


def _refuse_held_limits(system: System, w: Reals, names: Sequence[str], parameters: dict[int, Place]) -> None:
    """Refuse a parameter that is the limit at which a state is held: it moves the state itself."""
    held = system.held_at_limits(w)
    for k, place in parameters.items():
        bound = [state for state in system.limited_by(place) if held[state]]
        if bound:
            raise InputError(
                f"{names[k]} is the limit that holds {system.names_x[bound[0]]} at this point; take another "
                "input, or a point within the limit"
            )
