"""Induction motors that stall.

The slip of a motor is the part of the nominal speed that its rotor lacks: about 0.01 where it runs, 1 where
it stands still, above 1 where it turns backwards.

**Stalled**: at the end a motor in service has a slip above `Criteria.motor_slip`: it stands still, or was too
slow at the end of a run to be said to restart. **Running backwards**: a slip above 1 at any point. Source:
NERC, A Technical Reference Paper: Fault-Induced Delayed Voltage Recovery, version 1.2 (2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import is_motor
from psmr.study.criteria import Criteria
from psmr.study.detectors.detector import Connections, Points
from psmr.study.detectors.finding import Finding, digits_beyond

# A shaft that stands still is held there to rounding, and by loose solves to a little more.
BACKWARDS = 1.0 + 1e-3


class Motors:
    """See the module."""

    def __init__(self, system: System, criteria: Criteria) -> None:
        self._names, self._slips = _slips_of(system)
        self._system, self._limit = system, criteria.motor_slip
        count = len(self._names)
        self._now, self._since = np.zeros(count), np.full(count, np.nan)
        self._backwards = np.full(count, np.nan)
        self._t = 0.0

    def begin(self, span: Span, connections: Connections) -> None:
        """See `Detector`."""
        self._here = np.array(
            [name.rpartition(".")[0] not in connections.out for name in self._names], dtype=bool
        )

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if not self._names:
            return
        t, slip = points.t, points.x[:, self._slips]
        self._t = float(t[-1])
        self._now = np.where(self._here, slip[-1], 0.0)
        above = slip > self._limit
        for k in np.flatnonzero(above.any(axis=0) | np.isfinite(self._since)):
            fine = np.flatnonzero(~above[:, k])
            if fine.size:
                begins = int(fine[-1]) + 1
                self._since[k] = t[begins] if begins < len(t) else np.nan
            elif np.isnan(self._since[k]):
                self._since[k] = t[0]
        for k in np.flatnonzero((slip > BACKWARDS).any(axis=0) & self._here & np.isnan(self._backwards)):
            self._backwards[k] = t[int(np.argmax(slip[:, k] > BACKWARDS))]

    def stalled(self) -> tuple[tuple[str, float, float], ...]:
        """Return (motor, slip, since when in s) of those that are too slow now."""
        slow = np.flatnonzero(self._now > self._limit)
        return tuple((self._names[k], float(self._now[k]), float(self._since[k])) for k in slow)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        found = []
        for name, slip, since in self.stalled():
            motor, _, variable = name.rpartition(".")
            which = motor if variable == "slip" else f"motor {variable[-1].upper()} of {motor}"
            state = "stands still" if slip > 0.99 else "has not come back to speed"
            found.append(
                Finding(
                    since, "motor stalled", motor, slip, self._limit, "", "amber",
                    f"{which} stalled: its slip is above {self._limit:g} from t = {since:.4g} s "
                    f"and {digits_beyond(slip, self._limit, 3)} at the end, where it {state}.",
                    (name, f"{motor}.p", f"{motor}.q"), motor=motor,
                )
            )  # fmt: skip
        for k in np.flatnonzero(np.isfinite(self._backwards)):
            motor = self._names[k].rpartition(".")[0]
            found.append(
                Finding(
                    float(self._backwards[k]), "motor runs backwards", motor, float(self._now[k]), 1.0, "",
                    "red", f"{motor} runs backwards from t = {self._backwards[k]:.4g} s: its slip is above "
                    "1, which no passive load drives it to.", (self._names[k],), motor=motor,
                )
            )  # fmt: skip
        return tuple(found)


@cached_by_devices
def _slips_of(system: System) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the states that are slips of motors, and their places in x."""
    motors = {device.name for device in system.devices if is_motor(device)}
    names = []
    for name in system.names_x:
        device, _, variable = name.rpartition(".")
        if device in motors and (variable == "slip" or variable.startswith("slip_")):
            names.append(name)
    return tuple(names), np.array([system.index(name) for name in names], dtype=np.intp)
