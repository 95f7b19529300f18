"""The integration of PSS/E's own runs: second-order Adams-Bashforth in steps of 5 ms, on psmr's equations.

What is left between a trace and this run is not a matter of the step. The formula, x + h (3 f - f_before) / 2
with a first step by Euler's method after each event, is found from the traces: of Euler's, Heun's and
Adams-Bashforth's it alone brings the classical machine's rotor angle from 4e-2 to 2e-3 degrees of PSS/E's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System

Reals = NDArray[np.float64]

TOLERANCE = 1e-12
"""Change of the algebraic variables in pu at which a network solution ends."""


@dataclass
class Stepped:
    """Times and points of a run."""

    t: Reals
    x: Reals
    y: Reals
    names: tuple[str, ...]

    def values(self, name: str) -> Reals:
        """Return (K,) values of a variable, or of the magnitude or angle of a bus voltage."""
        points = np.hstack([self.x, self.y])
        if name in self.names:
            return points[:, self.names.index(name)]
        bus, _, part = name.rpartition(".")
        voltage = self.values(f"{bus}.v_re") + 1j * self.values(f"{bus}.v_im")
        return np.abs(voltage) if part == "v" else np.unwrap(np.angle(voltage))


def adams_bashforth(system: System, events: Sequence[Any], t_end: float, h: float) -> Stepped:
    """Return the run of a system with one event, which lasts, by second-order Adams-Bashforth."""
    (change,) = (change for event in events for change in event.changes(system))
    x, y = system.x0.copy(), system.y0.copy()
    t, xs, ys = [0.0], [x], [y]
    now, solve, last = system, _Network(system), None
    for k in range(round(t_end / h)):
        if k == round(change.t / h):
            now = _after(system, change)
            solve, last = _Network(now), None
            y = solve(x, y)
            t.append(k * h)
            xs.append(x)
            ys.append(y)
        rate = now.f(x, y)
        x = x + h * (rate if last is None else 1.5 * rate - 0.5 * last)
        last = rate
        x = np.clip(x, *now.limits(now.buffer(x, y)))
        y = solve(x, y)
        t.append((k + 1) * h)
        xs.append(x)
        ys.append(y)
    return Stepped(np.array(t), np.array(xs), np.array(ys), (*system.names_x, *system.names_y))


class _Network:
    """The algebraic equations of a system, by Newton with a matrix that is renewed when it is slow."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.inverse: Reals | None = None

    def __call__(self, x: Reals, y: Reals) -> Reals:
        for count in range(60):
            residual = self.system.g(x, y)
            if self.inverse is None or count % 8 == 7:
                n = self.system.n
                matrix = self.system.jacobian(self.system.buffer(x, y))[n:, n:]
                self.inverse = np.linalg.inv(matrix.toarray())
            step = self.inverse @ residual
            y = y - step
            if np.abs(step).max() <= TOLERANCE:
                return y
        raise psmr.PsmrError(f"{self.system.name}: the network has no solution within 60 iterations")


def _after(system: System, change: Any) -> System:
    """Return the system after an event."""
    new = {(device, name): value for device, name, value in change.parameters}
    devices = [
        replace(d, parameters={k: new.get((d.name, k), v) for k, v in d.parameters.items()})
        for d in system.devices
    ]
    start = dict(zip((*system.names_x, *system.names_y), (*system.x0, *system.y0), strict=True))
    start |= dict(zip(system.names_u, system.u0, strict=True)) | dict(change.inputs)
    return assemble(devices, start, name=system.name)
