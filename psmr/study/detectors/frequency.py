"""The frequency of each island, in Hz.

It is the mean speed of its machines, weighted with the kinetic energy (the frequency of the centre of
inertia; P. Kundur, Power System Stability and Control, 1994, section 13.4), times the nominal frequency.
Without a machine it is that of the converters that form the voltage, weighted with their ratings; see
`psmr.study.detectors.sources.Speeds`. An infinite bus keeps that of its island at the nominal one.

**Frequency outside**: below `Criteria.f_low` or above `f_high`. **Final frequency** outside `f_end_low` to
`f_end_high`. Sources: see `psmr.Criteria`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.network.topology.network import nominal_frequency
from psmr.study.detectors.detector import Connections, Points, TurningIsland
from psmr.study.detectors.finding import Extreme, Finding
from psmr.study.detectors.sources import sources_of
from psmr.study.events.spans import Span

Reals = NDArray[np.float64]


class Frequency:
    """See the module.

    Parameters
    ----------
    system
        What is looked at.
    band, final
        Limits in parts of the nominal frequency, at any time and at the end.

    Attributes
    ----------
    lowest, highest
        Of all points; None where no island has a frequency of its own.
    end
        Of the last point, that island whose frequency is furthest from the nominal one.
    """

    def __init__(
        self, system: System, band: tuple[float, float], final: tuple[float, float] = (0.0, math.inf)
    ) -> None:
        self.lowest: Extreme | None = None
        self.highest: Extreme | None = None
        self.end: Extreme | None = None
        self._band, self._final = band, final
        self._sources, self.f_n = sources_of(system), nominal_frequency(system)
        self._islands: tuple[TurningIsland, ...] = ()
        # Of each side and island: when first, and the furthest value.
        self._outside: dict[tuple[str, str], tuple[float, float]] = {}

    def begin(self, span: Span, connections: Connections) -> None:
        """See `Detector`."""
        self._islands = connections.turning

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if self.f_n is None:
            return
        self.end = None
        t = points.t
        for island, speed in zip(self._islands, points.frequencies.T, strict=True):
            hertz = self.f_n * speed
            low, high = int(hertz.argmin()), int(hertz.argmax())
            if self.lowest is None or hertz[low] < self.lowest.value:
                self.lowest = Extreme(float(hertz[low]), island.where, float(t[low]))
            if self.highest is None or hertz[high] > self.highest.value:
                self.highest = Extreme(float(hertz[high]), island.where, float(t[high]))
            if self.end is None or abs(hertz[-1] - self.f_n) > abs(self.end.value - self.f_n):
                self.end = Extreme(float(hertz[-1]), island.where, float(t[-1]))
            self._beyond("below", speed < self._band[0], low, t, hertz, island.where)
            self._beyond("above", speed > self._band[1], high, t, hertz, island.where)

    def _beyond(
        self, side: str, beyond: NDArray[np.bool_], worst: int, t: Reals, hertz: Reals, where: str
    ) -> None:
        if not beyond.any():
            return
        value = float(hertz[worst])
        first, furthest = self._outside.get((side, where), (float(t[int(np.argmax(beyond))]), value))
        further = max if side == "above" else min
        self._outside[side, where] = first, further(furthest, value)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        if self.f_n is None:
            return ()
        found = []
        limits = dict(zip(("below", "above"), self._band, strict=True))
        members = [self._sources[k] for island in self._islands for k in island.places]
        signals = tuple(source.speed or source.angle for source in members)
        for (side, where), (t, worst) in self._outside.items():
            limit = self.f_n * limits[side]
            found.append(
                Finding(
                    t, "frequency", where, worst, limit, "Hz", "red",
                    f"The frequency{' ' + where if where else ''} went {side} {limit:.4g} Hz at t = {t:.4g} "
                    f"s (furthest {worst:.5g} Hz); generators may trip at once there.", signals,
                )
            )  # fmt: skip
        low, high = (self.f_n * limit for limit in self._final)
        if self.end is not None and not low <= self.end.value <= high:
            place = f" {self.end.where}" if self.end.where else ""
            found.append(
                Finding(
                    self.end.t, "final frequency", self.end.where, self.end.value,
                    low if self.end.value < low else high, "Hz", "amber",
                    f"The run ends at {self.end.value:.5g} Hz{place}, outside {low:.4g} to {high:.4g} Hz.",
                    signals, True,
                )
            )  # fmt: skip
        return tuple(found)
