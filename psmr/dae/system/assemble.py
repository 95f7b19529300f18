"""From devices to a system: number variables and rows, resolve the wiring, group devices by component.

A case's devices get their set-points from its power flow; a device that takes the place of another in a
system whose start is known gets them from the rest: the variables that the start has stay, those that it
leaves out are found by Gauss-Newton steps on the equations that read them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, nearest, shown
from psmr.base.newton import newton
from psmr.base.numbers import plain, real
from psmr.dae.compile.codegen import compile_components
from psmr.dae.compile.kernels import Reals
from psmr.dae.declare.component import (
    Component,
    Parameter,
    bounds_of,
    crossed_limits,
    local_rows,
    own_variables,
    parameters_of,
    rows_of,
)
from psmr.dae.declare.device import Device
from psmr.dae.declare.sampling import sampled_variables
from psmr.dae.system.linear import Delay, LinearDae
from psmr.dae.system.places import Group
from psmr.dae.system.system import System

# Central differences of residuals are good to some 1e-10 of their terms with this part of a value; Newton
# then gains nine digits a step, and the residual of the end is exact.
DIFFERENCE = 1e-6
ITERATIONS, HALVINGS = 50, 10

# Residual of the end, relative to the terms of the equation: what `psmr.build` allows at its start.
RESIDUAL = 1e-10

# Columns of the Jacobian, of length 1, that depend on the others to this determine nothing.
DEPENDENT = 1e-9


def left_out(devices: Sequence[Device], start: Mapping[str, float]) -> list[str]:
    """Return the set-points that a start forgets, by full name.

    They are the held inputs without a value of a device of which it has nothing, or of any device where it
    has set-points of others. A start that names no set-point and something of every device leaves them at 0.
    """
    missing = {
        device.name: [
            f"{device.name}.{name}"
            for name in device.component.inputs
            if name not in device.connections
            and name not in device.component.optional
            and f"{device.name}.{name}" not in start
        ]
        for device in devices
    }
    named = {name.rpartition(".")[0] for name in start}
    given = any(
        f"{device.name}.{name}" in start
        for device in devices
        for name in device.component.inputs
        if name not in device.connections and name not in device.component.optional
    )
    forgotten = [names for device, names in missing.items() if given or (named and device not in named)]
    return [name for names in forgotten for name in names]


def with_set_points(system: System, start: Mapping[str, float], wanted: Sequence[str]) -> System:
    """Return the system with the `wanted` set-points, and all variables that `start` leaves out, solved for.

    Raises InputError where nothing determines one of them, or no value brings the equations that read them to
    rest: with the equation of the worst residual.
    """
    names = [n for n in (*system.names_x, *system.names_y) if n not in start]
    unknown = [*names, *wanted]
    places = np.array([system.index(name) for name in unknown])
    w = system.w0.copy()
    w[[system.index(name) for name in wanted]] = 1.0  # most references are near 1 pu, and none need be at 0
    rows = np.flatnonzero(_slopes(system, w, places).any(axis=1))
    what = f"{', '.join(wanted)} {'has' if len(wanted) == 1 else 'have'} no start value"
    remedy = "give it a start value" if len(wanted) == 1 else "give them start values"

    def step(w: Reals, residual: Reals) -> Reals:
        return np.asarray(np.linalg.lstsq(_slopes(system, w, places)[rows], -residual, rcond=None)[0])

    def moved(w: Reals, way: Reals) -> Reals:
        near = w.copy()
        near[places] += way
        return near

    # To the end: it is then as good as rounding lets it be.
    w, residual, _ = newton(
        lambda w: _residual(system, w)[rows], step, w, lambda left: False, ITERATIONS, HALVINGS, moved
    )
    slopes = _slopes(system, w, places)[rows]
    allowed = RESIDUAL * np.maximum(1.0, np.abs(slopes) @ np.abs(w[places]))
    if not (np.abs(residual) <= allowed).all():
        names_r = (*system.names_x, *system.names_g)
        worst = int(np.argmax(np.abs(residual) / allowed))
        raise InputError(
            f"{what}, and no value brings what reads {'it' if len(wanted) == 1 else 'them'} to rest: "
            f"{names_r[rows[worst]]} has the residual {residual[worst]:.3g}; {remedy}"
        )
    _require_determined(slopes, unknown, what, remedy)
    return replace(system, w0=system.with_constant_signals(w))


def _residual(system: System, w: Reals) -> Reals:
    return system.residual(system.with_constant_signals(w))


def _slopes(system: System, w: Reals, places: NDArray[np.intp]) -> Reals:
    """Return the (n + m, k) derivatives of the residuals with respect to k entries of w."""
    columns = []
    for place in places:
        ahead, behind = w.copy(), w.copy()
        step = DIFFERENCE * max(1.0, abs(w[place]))
        ahead[place] += step
        behind[place] -= step
        columns.append(
            (_residual(system, ahead) - _residual(system, behind)) / (ahead[place] - behind[place])
        )
    return np.column_stack(columns)


def _require_determined(slopes: Reals, unknown: Sequence[str], what: str, remedy: str) -> None:
    """Raise InputError naming a variable that the (rows, k) derivatives do not determine."""
    size = np.linalg.norm(slopes, axis=0)
    _, values, right = np.linalg.svd(slopes / np.where(size > 0.0, size, 1.0))
    if len(values) < len(unknown) or values[-1] <= DEPENDENT:
        loose = unknown[int(np.argmax(np.abs(right[-1])))]
        raise InputError(f"{what}, and nothing determines {loose} at rest; {remedy}")


def assemble(devices: Sequence[Device], start: Mapping[str, float] | None = None, name: str = "") -> System:
    """Join devices into one DAE.

    Parameters
    ----------
    devices
        With unique names; their order is the order of the variables.
    start
        Starting values by full name of states, algebraic variables and held inputs; 0 where left out, and the
        declared constant for optional inputs. A set-point (a held input that is not optional) that it leaves
        out while it has others, or of a device of which it has nothing, is solved for together with the
        variables that it leaves out, so that what reads them is at rest.
    name
        Name of the case.

    Raises
    ------
    InputError
        For a duplicate device, a connection to something that is not there, a starting value that is not
        finite or that belongs to nothing, with the nearest known name, and set-points that it leaves out and
        that nothing determines, or that bring nothing to rest, with the worst residual.
    """
    check_arguments(assemble, locals())
    _check_unique([device.name for device in devices])
    names_x = tuple(f"{d.name}.{v}" for d in devices for v in d.component.states)
    names_y = tuple(f"{d.name}.{v}" for d in devices for v in d.component.algebraic)
    names_g = tuple(f"{d.name}.{r}" for d in devices for r in rows_of(d.component))
    names_s = tuple(f"{d.name}.{v}" for d in devices for v in sampled_variables(d.component))
    names_u = (*names_s, *(f"{d.name}.{v}" for d in devices for v in d.held))
    variables = {v: i for i, v in enumerate((*names_x, *names_y, *names_u))}
    rows = {r: i for i, r in enumerate((*names_x, *names_g))}

    groups, parameters = [], []
    kinds = tuple(dict.fromkeys(device.component for device in devices))
    for component, kernels in zip(kinds, compile_components(kinds), strict=True):
        members = [device for device in devices if device.component is component]
        index = [_positions(d, variables, time=len(variables)) for d in members]
        row = [_row_positions(d, rows) for d in members]
        declared = parameters_of(component)
        groups.append(
            Group(
                kernels,
                tuple(d.name for d in members),
                np.array(index, dtype=np.uint32).reshape(len(members), -1),
                np.array(row, dtype=np.uint32).reshape(len(members), -1),
            )
        )
        values = [[d.parameters[p] for p in declared] for d in members]
        parameters.append(np.array(values, dtype=float).reshape(len(members), len(declared)))

    lower, upper = _limits(devices)
    lower_at, upper_at = _moving_limits(devices, variables)
    system = System(
        names_x=names_x,
        names_y=names_y,
        names_u=names_u,
        names_g=names_g,
        w0=_starting_values(devices, variables, start or {}),
        groups=tuple(groups),
        parameters=tuple(parameters),
        together=_together(devices, variables, len(names_x) + len(names_y)),
        lower=lower,
        upper=upper,
        lower_at=lower_at,
        upper_at=upper_at,
        devices=tuple(devices),
        name=name,
        delays=_delays(devices, variables, len(names_x) + len(names_y)),
    )
    system = replace(system, w0=system.with_constant_signals(system.w0))
    wanted = left_out(devices, start or {})
    if wanted and system.s:
        return assemble(devices, start_at_rest(devices, start or {}), name)
    return with_set_points(system, start or {}, wanted) if wanted else system


def start_at_rest(devices: Sequence[Device], start: Mapping[str, float]) -> dict[str, float]:
    """Return a start with what it leaves out so that no sample changes anything: all values by name."""
    found = assemble([device.at_rest for device in devices], start)
    names = (*found.names_x, *found.names_y, *found.names_u)
    return dict(zip(names, map(float, found.w0[:-1]), strict=True))


def _check_unique(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two devices are called {name!r}; names must be unique")
        seen.add(name)


def _positions(device: Device, variables: Mapping[str, int], time: int) -> list[int]:
    component = device.component
    own = [variables[f"{device.name}.{v}"] for v in own_variables(component)]
    read = [_resolve(device, v, variables) for v in component.inputs]
    return [*own, *read, time]


def _row_positions(device: Device, rows: Mapping[str, int]) -> list[int]:
    component = device.component
    own = [rows[f"{device.name}.{r}"] for r in (*component.states, *rows_of(component))]
    written = [_resolve(device, r, rows) for r in component.outputs]
    assert len(own) + len(written) == len(local_rows(component))
    return own + written


def _resolve(device: Device, port: str, known: Mapping[str, int], delayed: bool = False) -> int:
    """Return the position of what a port reads or writes, of a `delayed` one that of its source."""
    own = f"{device.name}.{port}"
    target = own if device.delay(port) > 0.0 and not delayed else device.connections.get(port, own)
    if target not in known:
        raise InputError(
            f"{device.name}.{port} is connected to {target!r}, which is not there{nearest(target, known)}"
        )
    return known[target]


def _delays(devices: Sequence[Device], variables: Mapping[str, int], size: int) -> tuple[Delay, ...]:
    """Return what is read with a delay; the first `size` positions are those of variables."""
    found = []
    for device in devices:
        for port in device.component.inputs:
            if (tau := device.delay(port)) > 0.0:
                source = _resolve(device, port, variables, delayed=True)
                if source >= size:
                    raise InputError(
                        f"{device.name}.{port} reads {device.connections[port]} with a delay, which is a "
                        "held input; only states and algebraic variables have a past: delay what sets it"
                    )
                found.append(Delay(variables[f"{device.name}.{port}"], source, tau))
    return tuple(found)


def _limits(devices: Sequence[Device]) -> tuple[Reals, Reals]:
    """Return (n,) lower and upper non-windup limits that are parameters."""
    lower, upper = [], []
    for device in devices:
        if wrong := crossed_limits(device.component, device.parameters):
            raise InputError(f"{device.name}: {wrong}")
        for state in device.component.states:
            low, high = bounds_of(device.component, state, device.parameters)
            lower.append(low)
            upper.append(high)
    return np.array(lower, dtype=float), np.array(upper, dtype=float)


def _moving_limits(
    devices: Sequence[Device], variables: Mapping[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return (n,) positions in w of the lower and upper limits that are variables, -1 for the others."""
    places = [
        [
            -1 if bound is None or bound in device.parameters else _resolve(device, bound, variables)
            for bound in device.component.limits.get(state, (None, None))
        ]
        for device in devices
        for state in device.component.states
    ]
    lower_at, upper_at = np.array(places, dtype=np.intp).reshape(-1, 2).T
    return lower_at, upper_at


def _together(devices: Sequence[Device], variables: Mapping[str, int], size: int) -> NDArray[np.intp]:
    labels = np.arange(size)
    for device in devices:
        for bundle in device.component.together:
            places = [variables[f"{device.name}.{v}"] for v in bundle]
            labels[places] = labels[places[0]]
    return labels


def _starting_values(
    devices: Sequence[Device], variables: Mapping[str, int], start: Mapping[str, float]
) -> Reals:
    w = np.zeros(len(variables) + 1)
    for device in devices:
        component: type[Component] = device.component
        for port, value in component.optional.items():
            if port not in device.connections:
                w[variables[f"{device.name}.{port}"]] = value
    for name, value in start.items():
        if name not in variables:
            raise InputError(f"start: there is no variable {name!r}{nearest(name, variables)}")
        value = plain(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(real(value)):
            raise InputError(f"start: {name} = {shown(value)}; it must be a finite number")
        w[variables[name]] = value
    return w


def with_delays(system: System, delays: Mapping[str, float]) -> System:
    """Return a system, at the same equilibrium, in which inputs of devices are read with a delay.

    Parameters
    ----------
    system
        From `psmr.build` or `psmr.assemble`, at rest.
    delays
        Delay in s by ``"device.input"``, for instance ``{"PSS2.omega": 0.1}``. ``"AVR1.v"`` is the voltage
        that AVR1 measures, its inputs v_re and v_im. A delay of 0 takes one away.

    Raises
    ------
    InputError
        For a device or input that is not there, with the nearest one, an input that reads no signal, and a
        delay that is not a finite time of at least 0.
    """
    check_arguments(with_delays, locals())
    devices = {device.name: device for device in system.devices}
    for name, tau in delays.items():
        if not isinstance(name, str) or "." not in name:
            raise InputError(f'delays: {shown(name)}: must be "device.input", for instance "AVR1.v"')
        owner, _, port = name.rpartition(".")
        if owner not in devices:
            raise InputError(f"delays: {name!r}: there is no device {owner!r}{nearest(owner, devices)}")
        device = devices[owner]
        inputs = device.component.inputs
        pair = (f"{port}_re", f"{port}_im")
        ports = pair if port not in inputs and set(pair) <= set(inputs) else (port,)
        devices[owner] = replace(device, delays={**device.delays, **dict.fromkeys(ports, tau)})
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    kept = {f"{d.name}.{port}" for d in devices.values() for port in d.held}
    start = {n: value for n, value in start.items() if n not in system.names_u[system.s :] or n in kept}
    found = assemble(tuple(devices.values()), start, name=system.name)
    return replace(found, w0=found.buffer(t=float(system.w0[-1])))


class _State(Component):
    """A state without a derivative of its own; terms add it."""

    states = ("value",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (0,), (), ()


class _Algebraic(Component):
    """An algebraic variable with an empty equation; terms fill it."""

    algebraic = ("value",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (), (0,), ()


class Term(Component):
    """One entry of the Jacobian."""

    inputs = ("of",)
    outputs = ("row",)
    a = Parameter(unit="1/s or pu", doc="entry of the Jacobian")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return what is added to the row."""
        return (), (), (p.a * v.of,)


def linear_system(linear: LinearDae) -> System:
    """Return x' = fx x + fy y, 0 = gx x + gy y as a system that starts at zero and keeps the names."""
    n, m = linear.n, linear.m
    carriers = [Device(f"x{i}", _State, {}) for i in range(n)] + [
        Device(f"y{j}", _Algebraic, {}) for j in range(m)
    ]
    entries = sparse.coo_array(linear.jacobian())
    terms = [
        Device(
            f"term{k}",
            Term,
            {"a": float(a)},
            {"of": f"{carriers[column].name}.value", "row": f"{carriers[row].name}.value"},
        )
        for k, (row, column, a) in enumerate(zip(entries.row, entries.col, entries.data, strict=True))
    ]
    system = assemble([*carriers, *terms], name="linearised")
    return replace(
        system,
        names_x=linear.names_x,
        names_y=linear.names_y,
        names_g=linear.names_g,
        together=np.asarray(linear.groups),
    )
