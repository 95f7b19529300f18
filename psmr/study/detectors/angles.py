"""Angle differences between sources, and loss of synchronism.

Sources are machines by their rotor angles, converters that form the voltage by the angle of their frame, and
an infinite bus by the angle that it keeps. All are integrals of speeds, so that they go on through any number
of turns and no step is too long to follow them. A difference of angles does not depend on the frame.

How many whole turns lie between two sources when they become connected is a matter of representation. It is
settled by the network: along each branch the voltage turns by less than half a turn, and between a source and
its bus as well, so that the differences add up from source to source. From then on they are continuous.

**Angle spread**: by how much in degrees two sources of one island have moved apart since they were connected:
since the start of the run, or since a tie between their islands closed. What they turned before, in different
islands, does not count, and neither does what a wide network adds up to at rest, where the sources in between
hold the voltage.

**Lost synchronism**: the angle spread is beyond half a turn (`Criteria.angle_deg`). Between two equal
voltages E the voltage half-way is E cos(delta / 2), zero at half a turn; two machines with a difference delta
at rest have their unstable equilibrium at pi - delta, before it. Machines of a larger network may come back.

**Angle difference**: of two sources of one island, as it stands; for comparison with other programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from psmr.base.arrays import Reals
from psmr.base.errors import first_few
from psmr.dae.system.system import System
from psmr.network.signals.points import Points, angles_of
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import sources_of
from psmr.network.topology.network import branches_in_service, bus_voltages, buses
from psmr.study.detectors.detector import Extreme, Finding

Indices = NDArray[np.intp]

TURN = 2.0 * np.pi

ANGLE_SPREAD = "angle spread"
"""What the finding is called of sources that moved apart; the headline of an outcome says it."""

# Below this voltage in pu an angle is none: beside a bolted fault.
NO_VOLTAGE = 1e-3


@dataclass(frozen=True)
class LostSynchronism:
    """Two groups of machines in one island that fell out of step.

    `t`: time in s at which two of them had first moved too far apart.
    `first`, `second`: the machines on both sides of the largest gap between their movements, the smaller
      group first.
    `ahead`, `behind`: the two.
    `moved_deg`: the angle spread then.
    """

    t: float
    first: tuple[str, ...]
    second: tuple[str, ...]
    ahead: str
    behind: str
    moved_deg: float

    @property
    def sides(self) -> str:
        """Who against whom, and when."""
        return f"{first_few(self.first, 8)} against {first_few(self.second, 8)} at t = {self.t:.4g} s"

    def __str__(self) -> str:
        return f"lost synchronism: {self.sides}"


@dataclass(frozen=True)
class _Pairs:
    """Pairs of sources that became connected at the same instant.

    `first`, `second`: places of the sources: every one of `first` with every one of `second`.
    `reference`: (sources,) angles in rad at that instant.
    """

    first: Indices
    second: Indices
    reference: Reals

    def moved(self, angles: Reals) -> Reals:
        """Return (K,) largest movement in rad of two of them apart."""
        a = angles[:, self.first] - self.reference[self.first]
        b = angles[:, self.second] - self.reference[self.second]
        return np.maximum(a.max(axis=1) - b.min(axis=1), b.max(axis=1) - a.min(axis=1))

    def furthest(self, angles: Reals) -> tuple[int, int]:
        """Return the two that have moved apart furthest at (sources,) angles in rad, the one ahead first."""
        apart = angles - self.reference
        sides = ((self.first, self.second), (self.second, self.first))
        pairs = [(int(one[apart[one].argmax()]), int(two[apart[two].argmin()])) for one, two in sides]
        return max(pairs, key=lambda pair: apart[pair[0]] - apart[pair[1]])

    def within(self, members: Indices) -> _Pairs | None:
        """Return those that are both among some; None where there are none."""
        first, second = np.intersect1d(self.first, members), np.intersect1d(self.second, members)
        return _Pairs(first, second, self.reference) if first.size and second.size else None


class Angles:
    """See the module.

    `lost`: the first loss of synchronism; None where it was kept.
    `spread`, `difference`: largest angle spread and angle difference in degrees; None where no island has two
      sources.
    """

    def __init__(self, system: System, limit_deg: float) -> None:
        self.lost: LostSynchronism | None = None
        self.spread: Extreme | None = None
        self.difference: Extreme | None = None
        self.sources = sources_of(system)
        self._system, self._limit = system, np.radians(limit_deg)
        self._turns = np.zeros(len(self.sources))
        self._groups: list[Indices] | None = None
        self._wanted: list[Indices] = []
        self._pairs: list[_Pairs] = []

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._out = connections.out
        self._wanted = [np.array(places, dtype=np.intp) for places in connections.members]

    def angles(self, points: Points) -> Reals:
        """Return (K, sources) angles in rad, with the turns that the network gives them."""
        angles = angles_of(points, self.sources)
        held, wanted = ([part.tolist() for part in parts] for parts in (self._groups or (), self._wanted))
        if self._groups is None or held != wanted:
            self._connect(angles[0], points.x[0], points.y[0])
        return angles + TURN * self._turns

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if len(self.sources) < 2:
            return
        t, angles = points.t, self.angles(points)
        for places in self._groups or ():
            if len(places) > 1:
                self._widest(places, t, np.degrees(angles[:, places]))
        if not self._pairs:
            return
        moved = np.array([pairs.moved(angles) for pairs in self._pairs])
        which, k = np.unravel_index(moved.argmax(), moved.shape)
        degrees = float(np.degrees(moved[which, k]))
        if self.spread is None or degrees > self.spread.value:
            ahead, behind = self._names(self._pairs[which].furthest(angles[k]))
            self.spread = Extreme(degrees, f"{ahead} against {behind}", float(t[k]))
        over = np.flatnonzero((moved > self._limit).any(axis=0)) if self.lost is None else ()
        for k in over[:1]:
            which = moved[:, k].argmax()
            self.lost = self._parted(self._pairs[which], float(t[k]), angles[k], float(moved[which, k]))

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        if self.lost is None:
            return ()
        words = f"{self.lost}"
        names = dict.fromkeys((*self.lost.first[:4], *self.lost.second[:4]))
        signals = tuple(source.angle for source in self.sources if source.name in names)
        return (
            Finding(
                self.lost.t,
                ANGLE_SPREAD,
                f"{self.lost.ahead} - {self.lost.behind}",
                self.lost.moved_deg,
                float(np.degrees(self._limit)),
                "deg",
                "red",
                f"{words[0].upper()}{words[1:]}.",
                signals,
            ),
        )

    def _names(self, places: Iterable[int]) -> list[str]:
        return [self.sources[int(k)].name for k in places]

    def _widest(self, places: Indices, t: Reals, degrees: Reals) -> None:
        wide = degrees.max(axis=1) - degrees.min(axis=1)
        k = int(wide.argmax())
        if self.difference is None or wide[k] > self.difference.value:
            ahead, behind = self._names(places[[degrees[k].argmax(), degrees[k].argmin()]])
            self.difference = Extreme(float(wide[k]), f"between {ahead} and {behind}", float(t[k]))

    def _connect(self, angles: Reals, x: Reals, y: Reals) -> None:
        """Follow a change of the islands, from (sources,) angles in rad, (n,) states and (m,) others."""
        before = {int(k): n for n, places in enumerate(self._groups or ()) for k in places}
        pairs = [inside for old in self._pairs for new in self._wanted if (inside := old.within(new))]
        for places in self._wanted:
            by_network = self._by_network(places, angles, x, y)
            parts: dict[int, list[int]] = {}
            for k in places.tolist():  # those that come into service are parts of their own
                parts.setdefault(before.get(k, -1 if self._groups is None else -2 - k), []).append(k)
            joined = sorted(parts.values(), key=len, reverse=True)
            anchor = joined[0][0]
            if self._groups is None:
                self._turns[places] = by_network[places]
                joined = [places.tolist()]
            for part in joined[1:]:  # whole turns that bring the part to where the network has it
                self._turns[part] += round(
                    float(by_network[part[0]] - by_network[anchor])
                    - float(self._turns[part[0]] - self._turns[anchor])
                )
            reference = angles + TURN * self._turns
            if self._groups is None and len(places) > 1:
                pairs.append(_Pairs(places, places, reference))
            known = np.array(joined[0], dtype=np.intp)
            for part in joined[1:]:
                new = np.array(part, dtype=np.intp)
                pairs.append(_Pairs(known, new, reference))
                known = np.concatenate([known, new])
        self._groups, self._pairs = self._wanted, pairs

    def _by_network(self, places: Indices, angles: Reals, x: Reals, y: Reals) -> Reals:
        """Return (sources,) whole turns to add to the angles of some, as the voltages of the network say."""
        turns, system = np.zeros(len(self.sources)), self._system
        if len(places) < 2:
            return turns
        names = buses(system)
        at = {bus: k for k, bus in enumerate(names)}
        re, im = bus_voltages(system, x, y)
        voltage = np.where(np.hypot(re, im) < NO_VOLTAGE, np.nan, np.arctan2(im, re))
        ends = np.array([[at[b] for b in branch.ends] for branch in branches_in_service(system, self._out)])
        i, j = ends.reshape(-1, 2).T
        joined = coo_array((np.ones(i.size), (i, j)), shape=(len(names), len(names))).tocsr()
        root = at[self.sources[int(places[0])].bus]
        order, previous = breadth_first_order(joined, root, directed=False)
        unwrapped = [0.0] * len(names)
        unwrapped[root] = float(np.nan_to_num(voltage[root]))
        turn = np.zeros(len(names))  # from the bus before; none where one of them has no voltage
        turn[order[1:]] = voltage[order[1:]] - voltage[previous[order[1:]]]
        turn = np.nan_to_num(turn - TURN * np.round(turn / TURN)).tolist()
        for bus in order[1:].tolist():
            unwrapped[bus] = unwrapped[previous[bus]] + turn[bus]
        for k in places.tolist():
            from_bus = float(angles[k]) - unwrapped[at[self.sources[k].bus]]
            from_bus -= TURN * round(from_bus / TURN)  # within half a turn
            turns[k] = round((unwrapped[at[self.sources[k].bus]] + from_bus - float(angles[k])) / TURN)
        return turns

    def _parted(self, pairs: _Pairs, t: float, angles: Reals, moved: float) -> LostSynchronism:
        """Return the two groups on both sides of the largest gap between (sources,) movements."""
        members = np.union1d(pairs.first, pairs.second)
        movement = (angles - pairs.reference)[members]
        order = np.argsort(movement, kind="stable")
        cut = 1 + int(np.diff(movement[order]).argmax())
        sides = [tuple(self._names(sorted(members[part]))) for part in (order[:cut], order[cut:])]
        first, second = sorted(sides, key=len)
        ahead, behind = self._names(pairs.furthest(angles))
        return LostSynchronism(t, first, second, ahead, behind, float(np.degrees(moved)))
