"""The voltages of the buses, in pu (`Voltages`), and the states that reach a limit (`Limits`).

A bus counts while no fault is on at it and its part of the network is not dead. Between points the magnitude
is a straight line, but for a jump to or from where it does not count.

**Lowest and highest voltage** of the run, and at its end.

**Low voltage**: a bus is below `Criteria.v_low` for `v_low_time` without a break. **High voltage**: above
`v_high` for `v_high_time`; **overvoltage**: above `v_trip` for `v_trip_time`. **Voltage at the end**: a bus
that began between `v_end_low` and `v_end_high` ends outside. Sources: see `psmr.Criteria`.

**Limits**: states that reach a non-windup limit, and when each first does (s). A state is at its limit where
the projection onto it has put it, to rounding. That is no fault of a run: it says which regulators no longer
regulate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.compile.decorators import lean
from psmr.dae.system.system import System
from psmr.devices.placement import placement
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections
from psmr.network.topology.network import buses
from psmr.study.criteria import Criteria
from psmr.study.detectors.detector import Extreme, Finding, digits_beyond

# Places in a row of `Voltages._spells`: when it began, the longest one and when that began, and when one
# first lasted too long.
SINCE, LONGEST, BEGAN, EXCEEDED = range(4)

# Rounding of times in s, far below any step.
ROUNDING = 1e-9

# How many spells of low voltage that were too long and are over are remembered, the last ones.
REMEMBERED = 1000

# Change of a voltage in pu below which it stands, over so many halves of the duration of the first band.
STANDS, WINDOW = 1e-3, 20


@dataclass(frozen=True)
class Band:
    """A limit of a voltage and how long it may be beyond it.

    `what`: in words.
    `limit`, `above`, `duration`: in pu; whether what is above it is beyond it; in s.
    `colour`: how a run is judged in which it is for longer.
    """

    what: str
    limit: float
    above: bool
    duration: float
    colour: str = "amber"


def bands_of(criteria: Criteria) -> tuple[Band, ...]:
    """Return the bands of some criteria, the low one first."""
    return (
        Band("low voltage", criteria.v_low, False, criteria.v_low_time),
        Band("high voltage", criteria.v_high, True, criteria.v_high_time),
        Band("overvoltage", criteria.v_trip, True, criteria.v_trip_time, "red"),
    )


class Voltages:
    """See the module.

    `lowest`, `highest`: of all points.
    `end`: the lowest of the last point; None where no bus counts. Says where a fault is on.
    """

    def __init__(
        self, system: System, bands: Sequence[Band], ends: tuple[float, float] = (0.0, np.inf)
    ) -> None:
        self.lowest: Extreme | None = None
        self.highest: Extreme | None = None
        self.end: Extreme | None = None
        self.bands = tuple(bands)
        self._places, self._ends = buses(system), ends
        count = len(self._places)
        self._limits = np.array([band.limit for band in bands])
        self._above = np.array([band.above for band in bands])
        self._durations = np.array([band.duration for band in bands])
        self._spells = np.zeros((len(self.bands), 4, count))
        self._spells[:, EXCEEDED] = np.inf
        self._over = np.zeros((REMEMBERED, 3))  # place, and when they began and ended, around and around
        self._overs = np.zeros(1, np.int64)
        self._last = np.full(count, np.nan)  # voltage of the point before, NaN where it did not count
        self._at = np.zeros(1)
        self._first: float | None = None
        self._began_inside = np.zeros(count, bool)
        self._ended = np.zeros(count)
        self._past: list[tuple[float, Reals]] = []  # points of before, half a duration apart

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._counted, self._connections = connections.counted, connections

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if not self._places:
            return
        t, v = points.t, points.v
        if self._first is None:
            self._first = float(t[0])
            self._began_inside = (v[0] >= self._ends[0]) & (v[0] <= self._ends[1])
        low, high = follow_spells(  # in one order of the numbers, so that it is compiled once
            np.ascontiguousarray(t), np.ascontiguousarray(v), self._counted, self._limits, self._above,
            self._durations, self._at, self._last, self._spells, self._over, self._overs,
        )  # fmt: skip
        if low[0] >= 0 and (self.lowest is None or v[low] < self.lowest.value):
            self.lowest = self._extreme(t, v, low)
        if high[0] >= 0 and (self.highest is None or v[high] > self.highest.value):
            self.highest = self._extreme(t, v, high)
        self._ended = np.where(self._counted, v[-1], np.nan)
        due = self._past[-1][0] + self._durations[0] / 2 if self._past else -np.inf
        while (k := int(np.searchsorted(t, due, side="right"))) < len(t):
            self._past = [*self._past[-WINDOW:], (float(t[k]), v[k])]
            due = t[k] + self._durations[0] / 2
        self.end = None
        if self._counted.any():
            low = self._extreme(t, v, (len(t) - 1, int(np.nanargmin(self._ended))))
            faulted = ", ".join(
                self._places[k] for k in np.flatnonzero(self._connections.faulted & ~self._connections.dead)
            )
            self.end = replace(low, where=f"{low.where} (a fault is on at {faulted})") if faulted else low

    def _extreme(self, t: Reals, v: Reals, at: tuple[int, int]) -> Extreme:
        return Extreme(float(v[at]), f"at {self._places[at[1]]}", float(t[at[0]]), self._places[at[1]])

    def longest(self, band: int) -> Extreme | None:
        """Return the longest time in s without a break beyond a band's limit, where and when it began."""
        if self._first is None:
            return None
        longest = self._spells[band, LONGEST]
        place = int(longest.argmax())
        if not longest[place] > 0.0:
            return Extreme(0.0, "", self._first)
        return Extreme(
            float(longest[place]),
            f"at {self._places[place]}",
            float(self._spells[band, BEGAN, place]),
            self._places[place],
        )

    def exceeded(self, band: int) -> list[tuple[float, str]]:
        """Return since when in s it lasted too long, and at which buses, in order of time."""
        when = self._spells[band, EXCEEDED]
        return sorted((float(when[k]), self._places[k]) for k in np.flatnonzero(np.isfinite(when)))

    def low_at(self, t: float) -> list[tuple[float, str]]:
        """Return since when in s buses are beyond the first band for too long at `t`, in order of time.

        Also those that came back less than the band's duration before: where synchronism is lost voltages
        swing.
        """
        duration = self._durations[0]
        spells = [(int(place), since, end) for place, since, end in self._over[: self._overs[0]]]
        still = np.flatnonzero(self._last < self._limits[0]).tolist()
        spells += [(place, self._spells[0, SINCE, place], np.inf) for place in still]
        began = [(since + duration, k) for k, since, end in spells if since + duration < t <= end + duration]
        return sorted((float(when), self._places[k]) for when, k in began)

    def still_low(self, falling: bool) -> list[tuple[float, str]]:
        """Return since when in s buses are beyond the first band for too long at the last point, in order.

        With `falling` those whose voltages are lower than some durations before and half as long before.
        """
        t, since = self._at[0], self._spells[0, SINCE]
        window = WINDOW * self._durations[0] / 2
        whole, half = ([v for at, v in self._past if at >= t - back] for back in (window, window / 2))
        with np.errstate(invalid="ignore"):
            low = (self._last < self._limits[0]) & (t - since >= self._durations[0] - ROUNDING)
            for past in (*whole[:1], *half[:1]) if falling else ():
                low &= self._last < past - STANDS
        return sorted((float(since[k]), self._places[k]) for k in np.flatnonzero(low))

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        return (*filter(None, map(self._of_band, range(len(self.bands)))), *self._of_end())

    def _of_band(self, number: int) -> Finding | None:
        found, band = self.exceeded(number), self.bands[number]
        longest = self.longest(number)
        if not found or longest is None:
            return None
        t, bus = found[0]
        side = "above" if band.above else "below"
        worst = longest.place
        others = _others(len(found))
        return Finding(
            t,
            band.what,
            bus,
            longest.value,
            band.duration,
            "s",
            "red" if band.colour == "red" else "amber",
            f"{worst}{others} stayed {side} {band.limit:g} pu for "
            f"{digits_beyond(longest.value, band.duration, 3)} s from t = {longest.t:.4g} s; at most "
            f"{band.duration:g} s is allowed.",
            tuple(dict.fromkeys((f"{bus}.v", f"{worst}.v"))),
        )

    def _of_end(self) -> tuple[Finding, ...]:
        if self.end is None:
            return ()
        found = []
        for limit, outside, furthest, side in (
            (self._ends[0], self._ended < self._ends[0], np.argmin, "below"),
            (self._ends[1], self._ended > self._ends[1], np.argmax, "above"),
        ):
            beyond = np.flatnonzero(outside & self._began_inside)
            if not beyond.size:
                continue
            place = int(beyond[furthest(self._ended[beyond])])
            bus, v = self._places[place], float(self._ended[place])
            others = _others(beyond.size)
            found.append(
                Finding(
                    self.end.t, "voltage at the end", bus, v, float(limit), "pu", "amber",
                    f"The run ends with {digits_beyond(v, limit, 3)} pu at {bus}{others}, {side} "
                    f"{limit:.3g} pu.", (f"{bus}.v",), True,
                )
            )  # fmt: skip
        return tuple(found)


def _others(count: int) -> str:
    """Return words on the other ones of so many buses."""
    return f" (and {count - 1} other{'s' * (count > 2)})" if count > 1 else ""


@lean
def follow_spells(t, v, counted, limits, above, durations, at, last, spells, over, overs):  # type: ignore[no-untyped-def]
    """Follow how long each voltage is beyond each limit, through (K,) times and (K, places) voltages.

    `at` is the time of the point before and `last` the voltages there, NaN where they did not count. Rows of
    `over`, of which `overs` counts all, are spells beyond the first limit that were too long and are over.
    Returns row and column of the lowest voltage that counts and of the highest one, -1 where none does.
    """
    low, high, lowest, highest = (-1, -1), (-1, -1), np.inf, -np.inf
    floor, ceiling = -np.inf, np.inf  # between them a voltage is beyond no limit
    for b in range(limits.size):
        if above[b]:
            ceiling = min(ceiling, limits[b])
        else:
            floor = max(floor, limits[b])
    for k in range(t.size):
        for c in range(counted.size):
            now = v[k, c] if counted[c] else np.nan
            if now < lowest:
                lowest, low = now, (k, c)
            if now > highest:
                highest, high = now, (k, c)
            before = last[c]
            last[c] = now
            if floor <= now <= ceiling and floor <= before <= ceiling:
                continue
            for b in range(limits.size):
                was = _beyond(before, limits[b], above[b])
                if _beyond(now, limits[b], above[b]):
                    if not was:
                        spells[b, SINCE, c] = _crossing(at[0], before, t[k], now, limits[b])
                    until = t[k]
                elif was:
                    until = _crossing(at[0], before, t[k], now, limits[b])
                else:
                    continue
                since = spells[b, SINCE, c]
                if until - since > spells[b, LONGEST, c]:
                    spells[b, LONGEST, c], spells[b, BEGAN, c] = until - since, since
                if until - since >= durations[b] - ROUNDING:
                    spells[b, EXCEEDED, c] = min(spells[b, EXCEEDED, c], since + durations[b])
                    if b == 0 and not _beyond(now, limits[b], above[b]):
                        row = over[overs[0] % over.shape[0]]
                        row[0], row[1], row[2] = c, since, until
                        overs[0] += 1
        at[0] = t[k]
    return low, high


@lean
def _beyond(v, limit, above):  # type: ignore[no-untyped-def]
    """Return whether a voltage is beyond a limit; one that does not count is not."""
    return v > limit if above else v < limit


@lean
def _crossing(t0, v0, t1, v1, limit):  # type: ignore[no-untyped-def]
    """Return when a voltage passes the limit between points, at once where one of them does not count."""
    if np.isnan(v0):
        return t1
    if np.isnan(v1):
        return t0
    return t0 + (limit - v0) / (v1 - v0) * (t1 - t0)


# A state counts as at its limit within this part of max(1, |limit|): rounding of the projection onto it.
AT_LIMIT = 1e-9

SIDES = ("lower limit", "upper limit")


@dataclass(frozen=True)
class Limit:
    """A state that reached a non-windup limit, and when first (s)."""

    state: str
    side: str
    t: float


class Limits:
    """See the module."""

    def __init__(self, system: System) -> None:
        self.system = system
        # Limits of each side not met so far; a timer that stands at one is at rest.
        timers = {f"{d.name}.{state}" for d in system.devices for state in placement(d.component).timers}
        mask = system.limited & np.array([name not in timers for name in system.names_x], dtype=bool)
        self._open = [mask, mask.copy()]
        self._met: dict[tuple[int, str], float] = {}

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        self._out = connections.span.out
        self._constant = self.system.constant_limits(connections.span.parameters)

    def take(self, points: Points) -> None:
        """See `Detector`."""
        t, x = points.t, points.x
        at = (self.system.lower_at, self.system.upper_at)
        found = []
        for k, (constant, moving) in enumerate(zip(self._constant, at, strict=True)):
            open_ = np.flatnonzero(self._open[k])
            if not open_.size:
                continue
            over = np.flatnonzero(moving[open_] >= 0)
            column, limits = np.full(open_.size, -1), np.ascontiguousarray(points.at(moving[open_[over]]))
            column[over] = np.arange(over.size)
            rows = np.empty(open_.size, np.int64)
            first_met(np.take(x, open_, axis=1), constant[open_], column, limits, k == 1, rows)
            for j in np.flatnonzero(rows >= 0).tolist():
                i = int(open_[j])
                if self.system.names_x[i].rpartition(".")[0] not in self._out:
                    found.append((i, SIDES[k], float(t[rows[j]])))
                    self._open[k][i] = False
        for i, side, when in sorted(found):
            self._met[i, side] = when

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`: there are none."""
        return ()

    def met(self) -> tuple[Limit, ...]:
        """Return the limits that were met, in order of time."""
        names = self.system.names_x
        found = [Limit(names[i], side, t) for (i, side), t in self._met.items()]
        return tuple(sorted(found, key=lambda limit: limit.t))


@lean
def first_met(values, constant, column, limits, upper, rows):  # type: ignore[no-untyped-def]
    """Write for each column of `values` the first row in which it is at its limit, -1 where in none.

    The limit is `constant`, or the `column` of `limits` where that is not negative.
    """
    sign = -1.0 if upper else 1.0
    for c in range(rows.size):
        rows[c] = -1
        moves, bound = column[c] >= 0, constant[c]
        if not moves and not np.isfinite(bound):
            continue
        for k in range(values.shape[0]):
            if moves:
                bound = limits[k, column[c]]
            slack = AT_LIMIT * max(1.0, abs(bound))
            if np.isfinite(bound) and sign * (values[k, c] - bound) <= slack:
                rows[c] = k
                break
