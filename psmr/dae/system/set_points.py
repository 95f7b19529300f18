"""Set-points that a start leaves out, solved for so that the devices that read them are at rest.

A case's devices get theirs from its power flow; a device that takes the place of another in a system whose
start is known gets them from the rest: the variables that the start has stay, those that it leaves out are
found by Gauss-Newton steps on the equations that read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import InputError
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System

Reals = NDArray[np.float64]

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

    Raises
    ------
    InputError
        Where nothing determines one of them, or no value brings the equations that read them to rest: with
        the equation of the worst residual.
    """
    names = [n for n in (*system.names_x, *system.names_y) if n not in start]
    unknown = [*names, *wanted]
    places = np.array([system.index(name) for name in unknown])
    w = system.w0.copy()
    w[[system.index(name) for name in wanted]] = 1.0  # most references are near 1 pu, and none need be at 0
    rows = np.flatnonzero(_slopes(system, w, places).any(axis=1))
    what = f"{', '.join(wanted)} {'has' if len(wanted) == 1 else 'have'} no start value"
    remedy = "give it a start value" if len(wanted) == 1 else "give them start values"
    for _ in range(ITERATIONS):
        residual, slopes = _residual(system, w)[rows], _slopes(system, w, places)[rows]
        step = np.linalg.lstsq(slopes, -residual, rcond=None)[0]
        for k in range(HALVINGS):
            tried = w.copy()
            tried[places] += 0.5**k * step
            if np.linalg.norm(_residual(system, tried)[rows]) < np.linalg.norm(residual):
                break
        else:  # as good as rounding lets it be
            break
        w = tried
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
