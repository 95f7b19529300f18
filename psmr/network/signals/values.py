"""Values of signals at points of a run, span by span, by the table of quantities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points, Speeds
from psmr.network.signals.quantities import Quantity
from psmr.network.signals.signals import Signals
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import sources_of


class SignalValues:
    """The values of signals at points, which come in order of time.

    `signals`, `names`: what can be asked for, and what is; no sums.
    `system`: the system of the run at its start; None where only variables and voltages are asked for.

    `turning`: columns of what is known but for whole turns; see `Turning`.
    `solved`: whether something takes the network solved at each point.
    `by_span`: whether something depends on what holds in a span.
    """

    def __init__(self, signals: Signals, names: Sequence[str], system: System | None) -> None:
        self._signals, self._count = signals, len(names)
        direct: list[int] = []
        asked: dict[Quantity, list[tuple[int, str]]] = {}
        for column, name in enumerate(names):
            known = signals.quantity(name)
            if known is None:
                direct.append(column)
            else:
                asked.setdefault(known[0], []).append((column, known[1]))
        self._direct = np.array(direct, dtype=np.intp)
        self._places = np.array([signals.places[names[column]] for column in direct], dtype=np.intp)
        self._asked = [
            (quantity, tuple(device for _, device in own), np.array([column for column, _ in own]))
            for quantity, own in asked.items()
        ]
        none = np.zeros(0, dtype=np.intp)
        self.turning = np.concatenate([none, *(columns for q, _, columns in self._asked if q.turns)])
        self.solved = self.by_span = any(quantity.solved for quantity in asked)
        self._system = system
        self._connections: Connections | None = None
        self._speeds = None if system is None or not self.by_span else Speeds(system, sources_of(system))

    def begin(self, span: Span) -> None:
        """Start a span, whose points come next."""
        self._connections = None if self._system is None else Connections(self._system, span)

    def angles(self, t: Reals, x: Reals, y: Reals) -> Reals:
        """Return (K, turning) values of what is known but for whole turns, at points as `at` takes them."""
        points = Points(t, x, y, self._signals.variables, self._connections)
        found = [quantity.values(points, devices) for quantity, devices, _ in self._asked if quantity.turns]
        return np.hstack([np.empty((len(t), 0)), *found])

    def at(
        self,
        t: Reals,
        x: Reals,
        y: Reals,
        solved: Reals | None = None,
        inputs: Reals | None = None,
        angles: Reals | None = None,
    ) -> Reals:
        """Return (K, names) values at the next points of a span; `turning` ones within half a turn.

        `t`, `x`, `y`: (K,) times in s, (K, n) states and (K, m) algebraic variables; `solved`: (K, m)
        algebraic variables of what takes the network solved at each point; y where left out; `inputs`: (K, k)
        held inputs; where left out as the span has them; `angles`: (K, turning) values that are known
        already.
        """
        found = np.empty((len(t), self._count))
        if not len(t):
            return found
        plain = Points(t, x, y, self._signals.variables, self._connections, inputs)
        found[:, self._direct] = plain.at(self._places)
        exact = plain
        if self.by_span:
            speeds = None if self._speeds is None else self._speeds.of(t, x)
            y = y if solved is None else solved
            exact = Points(t, x, y, self._signals.variables, self._connections, inputs, speeds)
        if angles is not None:
            found[:, self.turning] = angles
        for quantity, devices, columns in self._asked:
            if angles is None or not quantity.turns:
                found[:, columns] = quantity.values(exact if quantity.solved else plain, devices)
        return found


class Turning:
    """Makes angles go on without jumps from point to point, also from before to after a NaN."""

    def __init__(self) -> None:
        self._before: Reals | None = None

    def __call__(self, angles: Reals) -> Reals:
        """Return the next (K, j) angles in rad, with whole turns."""
        if not angles.size:
            return angles
        before = angles[0] if self._before is None else self._before
        found = _continuous(np.vstack([before, angles]))[1:]
        self._before = np.where(np.isnan(found[-1]), before, found[-1])
        return found


def _continuous(angles: Reals) -> Reals:
    """Return (K, j) angles in rad that go on without jumps, also from before to after a NaN."""
    if not np.isnan(angles).any():
        return np.unwrap(angles, axis=0)
    found = angles.copy()
    for column in found.T:
        known = ~np.isnan(column)
        column[known] = np.unwrap(column[known])
    return found
