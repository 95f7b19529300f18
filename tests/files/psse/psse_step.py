"""The integration of PSS/E's own runs, on psmr's equations and in the steps of the trace.

What is left between a trace and this run is not a matter of the step. Both formulae are found from the
traces.

Machines, SEXS, stabilisers and most governors: x + h (3 f - f_before) / 2, the second order of Adams and
Bashforth, with a first step by Euler's method after each event. Of Euler's, Heun's and this one it alone
brings the classical machine's rotor angle from 4e-2 to 2e-3 degrees of PSS/E's.

`IMPLICIT`: the trapezoidal rule over the device's own equations, with what it reads (bus voltage, field
current, speed) held at its values of the start of the step. So the field voltage of ESAC1A follows the trace
to 5e-5 through a rise of 0.6 pu, where Adams-Bashforth and the exact solution are off by 2e-3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr import assemble
from tests.internals import System

Reals = NDArray[np.float64]

TOLERANCE = 1e-12
"""Change of the algebraic variables in pu at which a network solution ends."""

IMPLICIT = ("ESAC1A", "ESST1A", "EXST1", "HYGOV")
"""Models that PSS/E steps by the trapezoidal rule, as far as the traces tell: each is nearer to them so."""


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


def stepped(
    system: System,
    events: Sequence[Any],
    t_end: float,
    h: float,
    given: Mapping[str, Reals] | None = None,
) -> Stepped:
    """Return the run of a system with one event, which lasts, in PSS/E's steps.

    States in `given` are not stepped: they have (K + 1,) values, one for each instant of the K steps.
    """
    (change,) = (change for event in events for change in event.changes(system))
    x, y = system.x0.copy(), system.y0.copy()
    t, xs, ys = [0.0], [x], [y]
    now, solve, last = system, _Network(system), None
    devices = [_Device(system, d.name) for d in system.devices if d.component.__name__ in IMPLICIT]
    taken = {system.names_x.index(name): values for name, values in (given or {}).items()}
    for k in range(round(t_end / h)):
        if k == round(change.t / h):
            now = _after(system, change)
            solve, last = _Network(now), None
            y = solve(x, y)
            t.append(k * h)
            xs.append(x)
            ys.append(y)
        rate, limits = now.f(x, y), now.limits(now.buffer(x, y))
        new = x + h * (rate if last is None else 1.5 * rate - 0.5 * last)
        for device in devices:
            new[device.states] = device.step(now, x, y, rate, limits, h)
        for place, values in taken.items():
            new[place] = values[k + 1]
        x, last = np.clip(new, *limits), rate
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


class _Device:
    """A device's own equations, stepped by the trapezoidal rule with what it reads held."""

    def __init__(self, system: System, name: str) -> None:
        own = [variable.rpartition(".")[0] == name for variable in (*system.names_x, *system.names_y)]
        self.places = np.flatnonzero(own)
        self.states = self.places[self.places < system.n]
        self.algebraic = self.places[self.places >= system.n] - system.n

    def step(
        self, system: System, x: Reals, y: Reals, rate: Reals, limits: tuple[Reals, Reals], h: float
    ) -> Reals:
        """Return its states after a step from (x, y); one that meets a limit stays there."""
        x, y, begin, count = x.copy(), y.copy(), x[self.states], len(self.states)
        lower, upper = (side[self.states] for side in limits)
        slope = rate[self.states]
        slope = np.where(((begin >= upper) & (slope > 0)) | ((begin <= lower) & (slope < 0)), 0.0, slope)
        held = np.zeros(count, dtype=bool)
        for _ in range(40):
            implicit = begin + h / 2 * (slope + system.f(x, y)[self.states])
            residual = np.where(held, 0.0, x[self.states] - implicit)
            residual = np.concatenate([residual, system.g(x, y)[self.algebraic]])
            matrix = system.jacobian(system.buffer(x, y)).toarray()[np.ix_(self.places, self.places)]
            matrix[:count] *= np.where(held, 0.0, -h / 2)[:, None]
            matrix[:count, :count] += np.eye(count)
            change = np.linalg.solve(matrix, residual)
            x[self.states] -= change[:count]
            y[self.algebraic] -= change[count:]
            beyond = (x[self.states] > upper) | (x[self.states] < lower)
            held |= beyond
            x[self.states] = np.clip(x[self.states], lower, upper)
            if not beyond.any() and np.abs(change).max() <= TOLERANCE:
                return x[self.states]
        raise psmr.PsmrError(f"{system.name}: a device's step has no solution within 40 iterations")


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
