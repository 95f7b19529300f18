"""The angles and speeds of the sources of a system over time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.topology.network import nominal_frequency
from psmr.network.topology.plants import Source


def angles_of(system: System, span: Span, members: Sequence[Source], t: Reals, x: Reals, y: Reals) -> Reals:
    """Return (K, members) angles in rad at points of a span; that of an infinite bus is a held input."""
    places = np.array([system.index(source.angle) for source in members], dtype=np.intp)
    return span.values(t, x, y, places)


class Speeds:
    """The speeds of sources, in parts of the nominal one.

    That of a machine is a state. A converter that forms the voltage has none: its speed at a point is the
    mean one over the step that ends there, from its angle, which is a state. Where no time has passed, at the
    start and at an event, it is the last one, and 1 at first. An infinite bus keeps 1.
    """

    def __init__(self, system: System, sources: Sequence[Source]) -> None:
        self._nominal = 2.0 * math.pi * (nominal_frequency(system) or 1.0)
        self._turning = [k for k, source in enumerate(sources) if source.speed]
        self._forming = [k for k, s in enumerate(sources) if not s.speed and math.isfinite(s.weight)]
        self._omega = np.array([system.index(sources[k].speed) for k in self._turning], dtype=np.intp)
        self._theta = np.array([system.index(sources[k].angle) for k in self._forming], dtype=np.intp)
        self._count, self._last = len(sources), np.ones(len(self._forming))
        self._before: tuple[float, Reals] | None = None

    def of(self, t: Reals, x: Reals) -> Reals:
        """Return (K, sources) speeds at the next (K,) times in s with (K, n) states."""
        speeds = np.ones((len(t), self._count))
        speeds[:, self._turning] = x[:, self._omega]
        if not self._forming:
            return speeds
        theta = x[:, self._theta]
        began, angle = (float(t[0]), theta[0]) if self._before is None else self._before
        passed = np.diff(t, prepend=began)[:, None]
        turned = np.diff(theta, axis=0, prepend=angle[None])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(passed > 0.0, 1.0 + turned / (passed * self._nominal), self._last)
        self._before, self._last = (float(t[-1]), theta[-1].copy()), found[-1].copy()
        speeds[:, self._forming] = found
        return speeds
