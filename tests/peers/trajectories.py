"""Runs of ANDES and psmr through one fault, at times that both can be compared at."""

from __future__ import annotations

import contextlib
import functools
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

import psmr
from tests.internals import System, integrate
from tests.peers.andes_system import in_andes_names, load, machines, start

Reals = NDArray[np.float64]

EVENT = 1e-6
"""s by which ANDES steps around an event: its default, 1e-4 s, is a delay of the event by as much."""


@dataclass(frozen=True)
class Disturbance:
    """A short circuit through x pu at a bus from 1.0 s to 1.1 s, whose clearing may trip a line.

    `trip` names the line in psmr and in ANDES.
    """

    bus: int
    x: float
    trip: tuple[str, str] | None = None
    start: float = 1.0
    clear: float = 1.1


@dataclass(frozen=True)
class Sampled:
    """Rotor angles in rad by machine and voltages in pu by bus number, both (times, ...)."""

    delta: Reals
    v: Reals

    def differences(self, other: Sampled) -> Reals:
        """Return the largest difference in angle and in voltage."""
        return np.array([np.abs(self.delta - other.delta).max(), np.abs(self.v - other.v).max()])

    def extrapolated(self, whole: Sampled) -> Sampled:
        """Return this run, at half the step of `whole`, without its error of second order."""
        return Sampled(self.delta + (self.delta - whole.delta) / 3, self.v + (self.v - whole.v) / 3)


def times(event: Disturbance, t_end: float) -> list[Reals]:
    """Return the times to compare at, in the fault and after it, not at the instants themselves."""
    return [
        np.linspace(event.start + 0.01, event.clear - 0.01, 9),
        np.linspace(event.clear + 0.01, t_end - 0.01, 400),
    ]


def sampled(t: Reals, values: Reals, event: Disturbance, t_end: float) -> Reals:
    """Interpolate by cubic splines, one for the fault and one for the time after it."""
    found = []
    ends = ((event.start, event.clear), (event.clear, t_end))
    for (begin, end), at in zip(ends, times(event, t_end), strict=True):
        # The instant of an event stands for the time before it; ANDES' step around it is not smooth.
        inside = np.flatnonzero((t > begin + 2 * EVENT) & (t < end - 2 * EVENT))
        found.append(CubicSpline(t[inside], values[inside])(at))
    return np.concatenate(found)


def andes_run(
    raw: Path, dyr: Path, event: Disturbance, h: float, t_end: float, tolerance: float = 1e-9
) -> Sampled:
    """Run ANDES' trapezoidal rule with a fixed step, and events to `EVENT`."""
    fault = {"bus": event.bus, "tf": event.start, "tc": event.clear, "xf": event.x}
    system = load(raw, in_andes_names(dyr), fault, event.trip[1] if event.trip else None)
    # No stop at large angles, no smaller steps, no residuals set to zero: the plain rule.
    settings = {"tf": t_end, "tstep": h, "fixt": 1, "shrinkt": 0, "tol": tolerance, "criteria": 0}
    for name, value in {**settings, "reset_tiny": 0, "max_iter": 30}.items():
        setattr(system.TDS.config, name, value)
    system.store_switch_times = functools.partial(system.store_switch_times, eps=EVENT)
    with contextlib.redirect_stdout(io.StringIO()):
        start(system)
        assert system.TDS.run(no_summary=True)
    t, x, y = (np.array(part) for part in (system.dae.ts.t, system.dae.ts.x, system.dae.ts.y))
    order = np.argsort([int(bus) for bus in system.Bus.idx.v])
    delta = x[:, [model.delta.a[i] for model, i in machines(system)]]
    values = (delta, y[:, np.asarray(system.Bus.v.a)[order]])
    return Sampled(*(sampled(t, value, event, t_end) for value in values))


def psmr_run(system: System, event: Disturbance, h: float, t_end: float) -> Sampled:
    """Run psmr's trapezoidal rule; machines and buses are in the order of the bus numbers."""
    fault = psmr.Fault(
        bus=event.bus, start=event.start, clear=event.clear, x=event.x, trip=event.trip and event.trip[0]
    )
    found = integrate(system, psmr.SingleRate("TM", h, tolerance=1e-11), t_end, fault.changes(system))
    bus_of = {d.name: d.connections.get("v_re", "").rpartition(".")[0] for d in system.devices}
    number = {d.name: int(d.name.removeprefix("bus")) for d in system.devices if d.name.startswith("bus")}
    angles = [i for i, name in enumerate(system.names_x) if name.endswith(".delta")]
    angles.sort(key=lambda i: number[bus_of[system.names_x[i].rpartition(".")[0]]])
    buses = sorted(number, key=number.__getitem__)
    re, im = ([system.index(f"{bus}.{part}") - system.n for bus in buses] for part in ("v_re", "v_im"))
    values = (found.x[:, angles], np.hypot(found.y[:, re], found.y[:, im]))
    return Sampled(*(sampled(found.t, value, event, t_end) for value in values))
