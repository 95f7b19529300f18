"""The frequency of each island, in Hz.

It is the mean speed of its machines, weighted with the kinetic energy (the frequency of the centre of
inertia), times the nominal frequency.
Without a machine it is that of the converters that form the voltage, weighted with their ratings; see
`psmr.network.signals.points.Speeds`. An infinite bus keeps that of its island at the nominal one.

**Frequency outside**: below `Criteria.f_low` or above `f_high`. **Final frequency** outside `f_end_low` to
`f_end_high`. Sources: see `psmr.Criteria`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections, TurningIsland
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import nominal_frequency
from psmr.study.detectors.detector import Extreme, Finding, digits_beyond

# A frequency that moves by less, in parts of the nominal one, has not moved: no digit of a summary shows it.
UNCHANGED = 1e-5


class Frequency:
    """See the module.

    `system`: what is looked at.
    `band`, `final`: limits in parts of the nominal frequency, at any time and at the end.

    `end`: of the last point, that island whose frequency is furthest from the nominal one.
    """

    def __init__(
        self, system: System, band: tuple[float, float], final: tuple[float, float] = (0.0, math.inf)
    ) -> None:
        self.end: Extreme | None = None
        self._extremes: tuple[Extreme, Extreme, Extreme] | None = None  # first, lowest and highest
        self._band, self._final = band, final
        self._sources, self.f_n = sources_of(system), nominal_frequency(system)
        self._islands: tuple[TurningIsland, ...] = ()
        # Of each side and island: when first, the value then, and the furthest value.
        self._outside: dict[tuple[str, str], tuple[float, float, float]] = {}

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._islands = connections.turning

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if self.f_n is None:
            return
        ends, f_n = [], self.f_n
        for island, speed in zip(self._islands, points.frequencies.T, strict=True):
            first, low, high, last = (
                Extreme(f_n * float(speed[k]), island.where, float(points.t[k]))
                for k in (0, speed.argmin(), speed.argmax(), -1)
            )
            start, lowest, highest = self._extremes or (first, low, high)
            lowest, highest = min(lowest, low, key=_value), max(highest, high, key=_value)
            self._extremes = start, lowest, highest
            ends.append(last)
            self._beyond("below", min, speed < self._band[0], points.t, speed, low)
            self._beyond("above", max, speed > self._band[1], points.t, speed, high)
        self.end = max(ends, key=lambda end: abs(end.value - f_n), default=None)

    @property
    def lowest(self) -> Extreme | None:
        """Of all points, the first one where it hardly fell; None where no island has a frequency."""
        return self._furthest(1)

    @property
    def highest(self) -> Extreme | None:
        """Of all points, the first one where it hardly rose; None where no island has a frequency."""
        return self._furthest(2)

    def _furthest(self, side: int) -> Extreme | None:
        if self._extremes is None or self.f_n is None:
            return None
        start, extreme = self._extremes[0], self._extremes[side]
        return start if abs(extreme.value - start.value) < UNCHANGED * self.f_n else extreme

    def _beyond(
        self,
        side: str,
        further: Callable[..., float],
        beyond: NDArray[np.bool_],
        t: Reals,
        speed: Reals,
        worst: Extreme,
    ) -> None:
        if beyond.any() and self.f_n is not None:
            k = int(beyond.argmax())
            new = float(t[k]), self.f_n * float(speed[k]), worst.value
            first, value, furthest = self._outside.get((side, worst.where), new)
            self._outside[side, worst.where] = first, value, further(furthest, worst.value)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        if self.f_n is None:
            return ()
        found = []
        limits = dict(zip(("below", "above"), self._band, strict=True))
        members = [self._sources[k] for island in self._islands for k in island.places]
        signals = tuple(source.speed or source.angle for source in members)
        for (side, where), (t, value, worst) in self._outside.items():
            limit = self.f_n * limits[side]
            found.append(
                Finding(
                    t, "frequency", where, worst, limit, "Hz", "red",
                    f"The frequency{' ' + where if where else ''} went {side} {limit:.4g} Hz at t = {t:.4g} "
                    f"s (furthest {digits_beyond(worst, limit, 5)} Hz); generators may trip at once there.",
                    signals, began=value,
                )
            )  # fmt: skip
        low, high = (self.f_n * limit for limit in self._final)
        if self.end is not None and not low <= self.end.value <= high:
            place = f" {self.end.where}" if self.end.where else ""
            value, limit = self.end.value, low if self.end.value < low else high
            found.append(
                Finding(
                    self.end.t, "final frequency", self.end.where, value, limit, "Hz", "amber",
                    f"The run ends at {digits_beyond(value, limit, 5)} Hz{place}, outside {low:.4g} to "
                    f"{high:.4g} Hz.",
                    signals, True,
                )
            )  # fmt: skip
        return tuple(found)


def _value(extreme: Extreme) -> float:
    return extreme.value
