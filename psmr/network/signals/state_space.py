"""A system as matrices between named inputs and outputs: which there are, and what each reads or drives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.declared import Option
from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import Component, parameters_of
from psmr.dae.system.complex_step import Place, input_columns, parameter_columns
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.devices.dynamic_network.bus import JunctionBus
from psmr.integrate.timeline.span import AsTripped, first_span
from psmr.network.signals.points import STEP, Points
from psmr.network.signals.quantities import QUANTITIES
from psmr.network.signals.signals import Signals, unit_of, units_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.network import buses, power_base

INJECTIONS = {"i_re": "pu", "i_im": "pu", "i_d": "pu", "i_q": "pu", "p": "MW", "q": "Mvar"}
"""What can be injected at a bus, with its unit."""

# A number that cannot be moved by this part is a whole one: a flag, a code, a status.
MOVED = 1e-6


@dataclass(frozen=True, eq=False)
class Inputs:
    """Chosen inputs of a system.

    `names`, `units`: of each.
    `columns`: (n + m, q) derivatives of f and g, before limits.
    `held`, `parameters`: by the number of the input, its position in w, or its place among the parameters,
      where it is one.
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

    Raises InputError for a pattern that means nothing, with the nearest name.
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

    Raises InputError for a pattern that means nothing, with the nearest name, and for none at all.
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
            names_of = ", ".join(name.rpartition(".")[2] for name in own)
            there = f"; {own[0].rpartition('.')[0]} has {names_of}" if own and not hint else ""
            raise InputError(f"there is no {what} {pattern!r}{hint}{there}")
        chosen.update(dict.fromkeys(found))
    return tuple(chosen)


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


def output_rows(
    system: System, w: Reals, signals: Signals, names: Sequence[str], parameters: Sequence[Place]
) -> sparse.csr_array:
    """Return (names, n + m + k + 1 + parameters) derivatives of signals, of a frequency those of the angle.

    By the variables and held inputs of a system at the point w, and by chosen parameters.

    Raises InputError for the magnitude of a current that is zero, which has no derivative, and for phases and
    sequences, which are the positive sequence where a system is balanced.
    """
    connections = Connections(system, first_span(system, AsTripped(), w))
    found = sparse.lil_array((len(names), len(w) + len(parameters)))
    for row, name in enumerate(names):
        quantity, device = signals.quantity(name) or (None, name.rpartition(".")[0])
        if quantity is None:
            found[row, system.index(name)] = 1.0
            continue
        if quantity.by_name:
            balanced = {"v": "v", "i": "i_from"}[quantity.name[0]]
            raise InputError(f"{name} is a quantity of one phase or sequence; take {device}.{balanced}")
        quantity = QUANTITIES[quantity.rate_of or quantity.name]
        assert quantity.reads is not None
        reads = quantity.reads(connections, device)
        if not reads:
            raise InputError(
                f"{name}: there is no machine or forming converter in service in the island of {device}"
            )
        value = quantity.values(_moved(connections, w, []), (device,))[0, 0].real
        if value == 0.0 and quantity.name.startswith("i"):
            end = quantity.name.removeprefix("i")
            raise InputError(
                f"{name} is zero at this point, where its magnitude has no derivative; take"
                f" {device}.p{end} or q{end}"
            )
        found[row, reads] = quantity.values(_moved(connections, w, reads), (device,))[:, 0].imag / STEP
        for k, (group, own, column) in enumerate(parameters):
            if system.groups[group].names[own] == device:
                moved = [matrix.astype(complex) for matrix in system.parameters]
                moved[group][own, column] += 1j * STEP
                span = replace(connections.span, parameters=tuple(moved))
                points = _moved(Connections(system, span), w, [])
                found[row, len(w) + k] = quantity.values(points, (device,))[0, 0].imag / STEP
    return sparse.csr_array(found)


def _moved(connections: Connections, w: Reals, places: Sequence[int]) -> Points:
    """Return the point w once for each of some places in it, moved there by a complex step; w for none."""
    n, size = connections.system.n, connections.system.n + connections.system.m
    points = np.tile(w.astype(complex), (max(1, len(places)), 1))
    points[np.arange(len(places)), list(places)] += 1j * STEP
    times = np.full(len(points), w[-1])
    return Points.of(connections, times, points[:, :n], points[:, n:size], points[:, size:-1])


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
        str | Iterable[str], "set-points, injections (bus5.p), parameters", "NAME", Option(name="input")
    ],
    outputs: Annotated[str | Iterable[str], "signals, or patterns", "NAME", Option(name="output")],
    linear: LinearDae | None = None,
) -> StateSpace:
    """Return the system linearised at its starting point; see `psmr.System.state_space`.

    `system`, `inputs`, `outputs`: see there; `linear`: the linearisation where it is another one than
    `system.linearise()`: that in a turning frame.
    """
    check_arguments(state_space, locals())
    w, size = system.w0, system.n + system.m
    linear = system.linearise() if linear is None else linear
    signals = Signals.of(system)
    named = {outputs} if isinstance(outputs, str) else set(outputs)
    chosen = tuple(n for n in signals.select(outputs) if n in named or not signals.only_by_name(n))
    expansion = signals.expansion(chosen)
    names = expansion.names
    given = chosen_inputs(system, w, inputs)
    b = sparse.csc_array(given.columns)
    b.data[system.held_at_limits(w)[b.indices]] = 0.0

    places = list(given.parameters.values())
    rows = output_rows(system, w, signals, names, places)
    direct = np.zeros((len(names), len(given.names)))
    for k, position in given.held.items():
        direct[:, k] = rows[:, [position]].toarray()[:, 0]
    for number, k in enumerate(given.parameters):
        direct[:, k] = rows[:, [len(w) + number]].toarray()[:, 0]
    c, with_rate = sparse.csr_array(rows[:, :size]), np.zeros_like(direct)
    late = sparse.csr_array(rows[:, [delay.input for delay in system.delays]])

    known = ((k, signals.quantity(name)) for k, name in enumerate(names))
    turning = [k for k, quantity in known if quantity is not None and quantity[0].rate_of]
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
