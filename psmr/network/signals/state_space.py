"""A system as matrices between named inputs and outputs: which there are, and what each reads or drives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.declared import Option
from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import Component, local_rows, parameters_of
from psmr.dae.system.complex_step import (
    Place,
    derivatives,
    injection_derivatives,
    input_columns,
    parameter_columns,
)
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import JunctionBus
from psmr.network.signals.signals import CENTRE, Signals, of_centre, quantity, unit_of, units_of
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.islands import island_of, islands, leading, shares, sources_of
from psmr.network.topology.network import buses, out_of_service, power_base

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


class OutputRows:
    """Rows of signals over the variables, held inputs and chosen parameters of a system.

    Parameters
    ----------
    system, w
        The system and the point, a buffer of it.
    parameters
        Places of the parameters that are inputs.
    """

    def __init__(self, system: System, w: Reals, signals: Signals, parameters: Sequence[Place]) -> None:
        self._system, self._w, self._signals = system, w, signals
        self._parameters = {place: len(w) + k for k, place in enumerate(parameters)}
        self._size = len(w) + len(parameters)
        self._terminals = {name: t for t in signals.terminals for name in t.names}

    def matrix(self, names: Sequence[str]) -> sparse.csr_array:
        """Return (len(names), n + m + k + 1 + parameters) derivatives; of a frequency that of the angle.

        Raises
        ------
        InputError
            For the magnitude of a current that is zero, which has no derivative, and for phases and
            sequences, which are the positive sequence where a system is balanced.
        """
        for name in set(names) & set(self._signals.unbalanced):
            device, _, kind = name.rpartition(".")
            balanced = {"v": "v", "i": "i_from"}[kind[0]]
            raise InputError(f"{name} is a quantity of one phase or sequence; take {device}.{balanced}")
        rows = [self._row(name) for name in names]
        return sparse.csr_array(sparse.vstack(rows, format="csr"))

    def _row(self, name: str) -> sparse.csr_array:
        device, kind = name.rpartition(".")[0], quantity(name)
        if not self._signals.computed(name):
            return self._over({self._system.index(name): 1.0})
        if name in self._terminals:
            return self._of_terminal(self._terminals[name], kind.partition("_")[0])
        if of_centre(name):
            return self._of_centre(name, "" if device == CENTRE else device)
        re, im = (self._system.index(f"{device}.v_{part}") for part in ("re", "im"))
        a, b = self._w[[re, im]]
        size = np.hypot(a, b)
        if kind == "v":
            return self._over({re: a / size, im: b / size})
        return self._over({re: -b / size**2, im: a / size**2})

    def _of_centre(self, name: str, bus: str) -> sparse.csr_array:
        """Return the row of the angle of a centre of inertia, of the largest island where no bus is named."""
        out, sources = out_of_service(self._system), sources_of(self._system)
        places = island_of(bus, islands(self._system, out), out, sources)
        if not places:
            raise InputError(
                f"{name}: there is no machine or forming converter in service in the island of {bus}"
            )
        own = [sources[k] for k in leading(places, sources)]
        return self._over({self._system.index(s.angle): a for s, a in zip(own, shares(own), strict=True)})

    def _over(self, entries: Mapping[int, float]) -> sparse.csr_array:
        values = np.array(list(entries.values()), dtype=float)
        places = np.array(list(entries), dtype=np.intp)
        row = sparse.coo_array((values, (np.zeros(len(places), dtype=np.intp), places)), (1, self._size))
        return sparse.csr_array(row)

    def _of_terminal(self, terminal: Terminal, kind: str) -> sparse.csr_array:
        system, w = self._system, self._w
        group = next(g for g, one in enumerate(system.groups) if terminal.device in one.names)
        device = system.groups[group].names.index(terminal.device)
        current, slopes = 0j, np.zeros(self._size, dtype=complex)
        for unit, output in ((1.0, f"i_re{terminal.port}"), (1j, f"i_im{terminal.port}")):
            value, places, own = injection_derivatives(system, w, group, device, output)
            current += terminal.sign * unit * value
            np.add.at(slopes, places, terminal.sign * unit * own)
            row = local_rows(system.groups[group].compiled.component).index(output)
            for (g, d, parameter), column in self._parameters.items():
                if (g, d) == (group, device):
                    by = derivatives(system, w, group, [device], parameter=parameter)[0, row]
                    slopes[column] += terminal.sign * unit * by
        if kind == "i":
            if current == 0:
                raise InputError(
                    f"{terminal.device}.i{terminal.end} is zero at this point, where its magnitude has no "
                    f"derivative; take {terminal.device}.p{terminal.end} or q{terminal.end}"
                )
            return self._dense(np.real(np.conj(current) * slopes) / abs(current))
        re, im = (system.index(f"{terminal.bus}.v_{part}") for part in ("re", "im"))
        base = power_base(system)
        assert base is not None
        power = base * complex(w[re], w[im]) * np.conj(slopes)
        power[re] += base * np.conj(current)
        power[im] += base * 1j * np.conj(current)
        return self._dense(power.real if kind == "p" else power.imag)

    def _dense(self, values: Reals) -> sparse.csr_array:
        places = np.flatnonzero(values)
        return self._over(dict(zip(places.tolist(), values[places].tolist(), strict=True)))


def rate_rows(
    linear: LinearDae, b: sparse.csc_array, rows: sparse.csr_array, direct: Reals
) -> tuple[sparse.csr_array, Reals, Reals]:
    """Return the rows, the feedthrough and that of the inputs' rates of the rates of change of signals.

    Of a signal c w + d u that is c_x x' + c_y y' + d u' with y' = -g_y^-1 (g_x x' + B_g u') and
    x' = f_x x + f_y y + B_f u.
    """
    n = linear.n
    back = splu(sparse.csc_matrix(linear.gy)).solve(rows[:, n:].toarray().T, "T").T if linear.m else 0.0
    back = np.asarray(back).reshape(rows.shape[0], linear.m)
    of_rates = sparse.csr_array(rows[:, :n].toarray() - back @ linear.gx)
    jacobian = sparse.csr_array(linear.jacobian())[:n]
    b = sparse.csc_array(b)
    return (
        sparse.csr_array(of_rates @ jacobian),
        np.asarray((of_rates @ b[:n]).toarray()),
        np.asarray(direct - back @ b[n:].toarray()),
    )


def state_space(
    system: System,
    inputs: Annotated[
        str | Iterable[str], Option("set-points, injections (bus5.p), parameters", "NAME", "input")
    ],
    outputs: Annotated[str | Iterable[str], Option("signals, or patterns", "NAME", "output")],
    linear: LinearDae | None = None,
) -> StateSpace:
    """Return the system linearised at its starting point; see `psmr.System.state_space`.

    Parameters
    ----------
    system, inputs, outputs
        See there.
    linear
        The linearisation where it is another one than `system.linearise()`: that in a turning frame.
    """
    check_arguments(state_space, locals())
    w, size = system.w0, system.n + system.m
    linear = system.linearise() if linear is None else linear
    signals = Signals.of(system)
    named = {outputs} if isinstance(outputs, str) else set(outputs)
    unbalanced = set(signals.unbalanced) - named  # those that only a pattern means
    chosen = tuple(name for name in signals.select(outputs) if name not in unbalanced)
    expansion = signals.expansion(chosen)
    names = expansion.names
    given = chosen_inputs(system, w, inputs)
    b = sparse.csc_array(given.columns)
    b.data[system.held_at_limits(w)[b.indices]] = 0.0

    places = list(given.parameters.values())
    rows = OutputRows(system, w, signals, places).matrix(names)
    direct = np.zeros((len(names), len(given.names)))
    for k, position in given.held.items():
        direct[:, k] = rows[:, [position]].toarray()[:, 0]
    for number, k in enumerate(given.parameters):
        direct[:, k] = rows[:, [len(w) + number]].toarray()[:, 0]
    c, with_rate = sparse.csr_array(rows[:, :size]), np.zeros_like(direct)
    late = sparse.csr_array(rows[:, [delay.input for delay in system.delays]])

    turning = [k for k, name in enumerate(names) if signals.computed(name) and _is_frequency(name)]
    if turning:
        if system.delays:
            raise InputError(
                f"outputs: {names[turning[0]]} is the rate of an angle, which with delays has the rates of "
                "what is read late; take the angle: at f in Hz its gain in rad times j f is that of the "
                "frequency"
            )
        slopes = rate_rows(linear, b, c[turning], direct[turning])
        hertz = [part / (2 * np.pi) for part in slopes]
        c = c.tolil()
        c[turning] = hertz[0]
        c, direct[turning], with_rate[turning] = sparse.csr_array(c), hertz[1], hertz[2]
    units, factors = units_of(system), expansion.matrix()
    return StateSpace(
        linear=linear,
        b=b,
        c=sparse.csr_array(sparse.csr_array(factors) @ c),
        c_late=sparse.csr_array(sparse.csr_array(factors) @ late),
        d=factors @ direct,
        d_rate=factors @ with_rate,
        inputs=given.names,
        outputs=chosen,
        input_units=given.units,
        output_units=tuple(unit_of(signals, units, name) for name in chosen),
        name=system.name,
    )


def _is_frequency(name: str) -> bool:
    return quantity(name) in ("frequency", "coi_frequency")
