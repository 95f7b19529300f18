"""Derivatives of the devices' equations with respect to what no Jacobian has: held inputs and parameters.

A component's equations are evaluated with an imaginary part of `STEP` on one variable or parameter; the
imaginary part of the result is the derivative, without the rounding of a difference (Squire and Trapp, SIAM
Review 40, 1998).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from psmr.dae.declare.component import NumericMath, local_variables, parameters_of
from psmr.dae.system.linear import Delays
from psmr.dae.system.system import System

Reals = NDArray[np.float64]
Place = tuple[int, int, int]
"""Group, row and column of a parameter in `System.parameters`."""

STEP = 1e-30


def evaluated(component: Any, v: Sequence[Any], p: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    """Return the values of all rows of a component, in the order of `local_rows`, each of a shape.

    `v` and `p` are values of its variables and parameters, in the order of their declaration.
    """
    variables = dict(zip(local_variables(component), v, strict=True))
    parameters = dict(zip(parameters_of(component), p, strict=True))
    with np.errstate(all="ignore"):  # a branch of `where` that is not taken may divide by zero
        parts = component.equations(NumericMath, SimpleNamespace(**variables), SimpleNamespace(**parameters))
    return [np.broadcast_to(value, shape) for part in parts for value in part]


def derivatives(
    system: System,
    w: Reals,
    group: int,
    devices: Sequence[int],
    variable: int | None = None,
    parameter: int | None = None,
) -> Reals:
    """Return (devices, rows) derivatives of a group's devices with respect to one variable or parameter.

    `system`, `w`: the system and the point, a buffer of it; `group`, `devices`: number of the group, and
    which of its devices; `variable`, `parameter`: which of the component's local variables or of its
    parameters.
    """
    own, component = system.groups[group], system.groups[group].compiled.component
    v = [w[own.index[devices, k]].astype(complex) for k in range(own.index.shape[1])]
    p = [column.astype(complex) for column in system.parameters[group][devices].T]
    (v if parameter is None else p)[variable if parameter is None else parameter] += 1j * STEP  # type: ignore[index]
    values = evaluated(component, v, p, (len(devices),))
    return np.array([np.imag(value) / STEP for value in values]).reshape(-1, len(devices)).T


def input_columns(system: System, w: Reals, positions: Sequence[int]) -> sparse.csc_array:
    """Return the (n + m, len(positions)) derivatives of f and g with respect to held inputs, by place in w.

    Rows of states that a limit holds are not left out.
    """
    column = np.full(len(w), -1, dtype=np.intp)
    column[list(positions)] = np.arange(len(positions))
    parts = []
    for g, group in enumerate(system.groups):
        for k in range(group.index.shape[1]):
            devices = np.flatnonzero(column[group.index[:, k]] >= 0)
            if devices.size:
                slopes = derivatives(system, w, g, devices.tolist(), variable=k)
                at = np.repeat(column[group.index[devices, k]], slopes.shape[1])
                parts.append((slopes.ravel(), group.row[devices].ravel(), at))
    return _columns(system, parts, len(positions))


def delays_at(system: System, w: Reals) -> Delays:
    """Return the terms of what a system reads with a delay, linearised at a buffer w."""
    size, count = system.n + system.m, len(system.delays)
    inputs = [delay.input for delay in system.delays]
    free = sparse.diags_array(1.0 - system.held_at_limits(w))
    places = np.arange(count), [delay.source for delay in system.delays]
    return Delays(
        b=sparse.csc_matrix(free @ input_columns(system, w, inputs)),
        c=sparse.csc_matrix((np.ones(count), places), shape=(count, size)),
        tau=np.array([delay.tau for delay in system.delays]),
        names=tuple(system.names_u[place - size] for place in inputs),
    )


def parameter_columns(system: System, w: Reals, places: Sequence[Place]) -> sparse.csc_array:
    """Return the (n + m, len(places)) derivatives of f and g with respect to parameters of devices."""
    parts = []
    for k, (g, row, parameter) in enumerate(places):
        slopes = derivatives(system, w, g, [row], parameter=parameter)
        parts.append((slopes.ravel(), system.groups[g].row[row], np.full(slopes.size, k)))
    return _columns(system, parts, len(places))


def _columns(
    system: System, parts: Iterable[tuple[Reals, NDArray[Any], NDArray[np.intp]]], count: int
) -> sparse.csc_array:
    parts = [(np.zeros(0), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)), *parts]
    data, rows, columns = (np.concatenate([part[k] for part in parts]) for k in range(3))
    shape = (system.n + system.m, count)
    return sparse.csc_array(sparse.coo_array((data, (rows.astype(np.intp), columns)), shape=shape))
