"""What happened in a run, found again from the points of a fine run in the plainest way there is.

Angles between sources are integrals of their speeds (trapezoidal rule over the points), frequencies are means
of speeds, voltages are those of the points, converters are held against their bus by following the angle
between them from point to point, which a step of 2 ms allows. The limits stand here as numbers of the
standards, not read from the program. Only what is connected follows from `network`, which reads the events.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.internals import System
from tests.programs.verdicts.network import (
    FORMER,
    INFINITE,
    MACHINE,
    Grid,
    State,
    grid_of,
    states_of,
    times_of,
)

Reals = NDArray[np.float64]

# Red where it is found; everything else is amber.
RED = frozenset({"angle", "loop", "overvoltage", "frequency", "backwards"})


@dataclass(frozen=True)
class Limits:
    """The limits of the planning standards; `tolerant` above 1 asks for more before something is found.

    `shown` is the part of a swing's range that the points of the judged run show at least.

    Angles in degrees, speeds and voltages in pu, times in s. NERC PRC-024-3 (frequencies, high voltages),
    PRC-006-5 (final frequency), WECC TPL-001-WECC-CRT-3.2 (low voltages, damping), Kundur (1994) section
    13.5.3 (angles) and 7.2 (motors), Gardner (2005) chapter 6 (loops).
    """

    tolerant: float = 1.0
    shown: float = 1.0

    def high(self, limit: float, neutral: float = 0.0) -> float:
        """Return an upper limit, its distance from the neutral value made larger."""
        return neutral + (limit - neutral) * self.tolerant

    def low(self, limit: float, neutral: float | None = None) -> float:
        """Return a lower limit, its distance from the neutral value, or itself, made larger."""
        return limit / self.tolerant if neutral is None else neutral + (limit - neutral) * self.tolerant


@dataclass
class Seen:
    """What an oracle has found.

    Attributes
    ----------
    found
        Names of what is beyond a limit, each with where: sources of a pair, buses, motors, converters.
    since
        When each was first so, in s.
    figures
        Lowest and highest voltage in pu, lowest, highest and final frequency of an island in pu, largest
        movement of two connected sources apart in degrees.
    doubtful
        Names of what these points cannot settle.
    """

    found: dict[str, set[str]] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    figures: dict[str, float] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)

    def add(self, what: str, where: str, t: float) -> None:
        """Take note of what is beyond a limit."""
        self.found.setdefault(what, set()).add(where)
        self.since[what] = min(t, self.since.get(what, math.inf))

    def least(self, what: str, value: float) -> None:
        """Take note of a value, of which the smallest counts."""
        self.figures[what] = min(value, self.figures.get(what, math.inf))

    def most(self, what: str, value: float) -> None:
        """Take note of a value, of which the largest counts."""
        self.figures[what] = max(value, self.figures.get(what, -math.inf))

    @property
    def colour(self) -> str:
        """How a run is judged in which this was found."""
        return "red" if RED & set(self.found) else "amber" if self.found else "green"


@dataclass(frozen=True)
class Piece:
    """The points between two changes, and what holds there."""

    state: State
    rows: slice


class Oracle:
    """A fine run and what holds when; `judge` says what happened in it by some limits."""

    def __init__(
        self,
        system: System,
        events: Sequence[Any],
        t_end: float,
        t: Reals,
        x: Reals,
        y: Reals,
        states: list[State] | None = None,
    ) -> None:
        self.system, self.events, self.t_end = system, events, t_end
        self.t, self.x, self.y = t, x, y
        self._judged: dict[Limits, Seen] = {}
        self.grid: Grid = grid_of(system)
        times = times_of(events) if states is None else [state.t for state in states]
        self.last = max((0.0, *times))
        states = states_of(self.grid, events) if states is None else states
        begins = [0, *(1 + np.flatnonzero(np.diff(t) == 0.0)).tolist(), len(t)]
        self.speeds = np.column_stack([self._speed(source) for source in self.grid.sources])
        self.angles = self._integrated(self.speeds)
        parts = [[self._column(f"{bus}.{part}") for bus in self.grid.buses] for part in ("v_re", "v_im")]
        voltage = np.array(parts[0]).T + 1j * np.array(parts[1]).T
        self.bus_angles, self.v = np.angle(voltage), np.abs(voltage)
        lost: set[str] = set()
        self.pieces = [
            Piece(
                self._supplied([state for state in states if state.t <= t[a] + 1e-12][-1], a, lost),
                slice(a, b),
            )
            for a, b in itertools.pairwise(begins)
        ]
        for piece in self.pieces:
            for k, bus in enumerate(self.grid.buses):
                if bus in piece.state.faulted or piece.state.island(bus) is None:
                    self.v[piece.rows, k] = np.nan

    def _supplied(self, state: State, row: int, lost: set[str]) -> State:
        """Return what holds with the islands that are supplied, and add the sources of the others to `lost`.

        Converters that form a voltage have none where nothing draws a current; they do not come back.
        """
        islands = []
        for island in state.islands:
            members = [s for s in self.grid.sources if s.bus in island and s.name not in state.gone | lost]
            dark = not any(self.v[row, k] for k, bus in enumerate(self.grid.buses) if bus in island)
            if not members or (dark and all(source.kind == FORMER for source in members)):
                lost |= {source.name for source in members}
            else:
                islands.append(island)
        return replace(state, islands=tuple(islands), gone=state.gone | lost)

    def judge(self, limits: Limits) -> Seen:
        """Return what is beyond the limits."""
        if limits in self._judged:
            return self._judged[limits]
        seen = self._judged[limits] = Seen()
        self._synchronism(seen, limits)
        self._loops(seen, limits)
        self._voltages(seen, limits)
        self._frequencies(seen, limits)
        self._motors(seen, limits)
        self._settling(seen, limits)
        return seen

    def _column(self, name: str) -> Reals:
        place = self.system.index(name)
        n = self.system.n
        return self.x[:, place] if place < n else self.y[:, place - n]

    def _speed(self, source: Any) -> Reals:
        """Return the (K,) speed of a source in pu, of a converter by its droop."""
        if source.kind == INFINITE:
            return np.ones(len(self.t))
        if source.kind == MACHINE:
            return self._column(f"{source.name}.omega")
        p_ref = np.full(len(self.t), self.system.u0[self.system.names_u.index(f"{source.name}.p_ref")])
        for event in sorted(self.events, key=lambda event: event.start):
            if isinstance(event, psmr.SetPoint) and (event.device, event.name) == (source.name, "p_ref"):
                first = np.flatnonzero(self.t == event.start)[
                    -1
                ]  # the instant stands twice, before and after
                p_ref[first:] = event.value
        droop = self.system.parameter(source.name, "m_p")
        return 1.0 + droop * (p_ref - self._column(f"{source.name}.p_m"))

    def _integrated(self, speeds: Reals) -> Reals:
        """Return (K, sources) angles in rad from where the run began."""
        pace = np.array(
            [
                2.0 * np.pi * (1.0 if s.kind == INFINITE else self.system.parameter(s.name, "f_n"))
                for s in self.grid.sources
            ]
        )
        steps = 0.5 * np.diff(self.t)[:, None] * (speeds[1:] + speeds[:-1] - 2.0)
        return np.vstack([np.zeros(len(pace)), np.cumsum(steps, axis=0)]) * pace

    def _members(self, state: State) -> Iterator[tuple[int, list[int]]]:
        """Yield each island's number and the places of its sources in service."""
        for number, island in enumerate(state.islands):
            yield (
                number,
                [
                    k
                    for k, source in enumerate(self.grid.sources)
                    if source.bus in island and source.name not in state.gone
                ],
            )

    def _synchronism(self, seen: Seen, limits: Limits) -> None:
        """Two sources move apart by more than 180 degrees from where they were when they became connected."""
        reference: dict[tuple[int, int], float] = {}
        for piece in self.pieces:
            angles, t = self.angles[piece.rows], self.t[piece.rows]
            now: dict[tuple[int, int], float] = {}
            for _, members in self._members(piece.state):
                for a in members:
                    for b in members:
                        if a < b:
                            apart = angles[:, a] - angles[:, b]
                            now[a, b] = reference.get((a, b), float(apart[0]))
                            moved = np.abs(np.degrees(apart - now[a, b]))
                            seen.most("angle", float(moved.max()))
                            beyond = np.flatnonzero(moved > limits.high(180.0))
                            if beyond.size:
                                names = (self.grid.sources[k].name for k in (a, b))
                                seen.add("angle", " ".join(names), float(t[beyond[0]]))
            reference = now

    def _loops(self, seen: Seen, limits: Limits) -> None:
        """The loop of a converter moves against its bus by more than 270 degrees."""
        for name, bus in self.grid.followers.items():
            theta, at = self._column(f"{name}.theta"), self.bus_angles[:, self.grid.buses.index(bus)]
            error, begun, drifted = 0.0, None, 0.0
            for piece in self.pieces:
                state = piece.state
                if name in state.gone or state.island(bus) is None:
                    break
                loop, raw = theta[piece.rows], _near(theta[piece.rows] - at[piece.rows])
                if bus in state.faulted:
                    # What the loop turned against its sources meanwhile no sample of its bus shows.
                    members = next(m for k, m in self._members(state) if k == state.island(bus))
                    mean = self.angles[piece.rows][:, members].mean(axis=1)
                    drifted += float(np.ptp(loop - mean))
                    continue
                if begun is None:
                    begun = error = float(raw[0])
                if drifted > np.pi:
                    seen.doubtful.add("loop")
                drifted = 0.0
                steps = _near(np.diff(np.concatenate([[error], raw])))
                if np.abs(steps[1:]).max(initial=0.0) > 0.5 * np.pi:
                    seen.doubtful.add("loop")
                path = error + np.cumsum(steps)
                error = float(path[-1])
                beyond = np.flatnonzero(np.abs(path - begun) > np.radians(limits.high(270.0)))
                if beyond.size:
                    seen.add("loop", name, float(self.t[piece.rows][beyond[0]]))

    def _voltages(self, seen: Seen, limits: Limits) -> None:
        """Bands with durations, and the voltages at the end."""
        bands = (
            ("low voltage", -1.0, limits.low(0.8), limits.high(2.0)),
            ("high voltage", 1.0, limits.high(1.1), limits.high(1.0)),
            ("overvoltage", 1.0, limits.high(1.2), limits.high(0.05)),
        )
        seen.least("lowest voltage", float(np.nanmin(self.v)))
        seen.most("highest voltage", float(np.nanmax(self.v)))
        for k, bus in enumerate(self.grid.buses):
            v = self.v[:, k]
            for what, sign, limit, duration in bands:
                for since, until in _spells(self.t, sign * (v - limit)):
                    if until - since >= duration:
                        seen.add(what, bus, since + duration)
            if limits.low(0.9) <= v[0] <= limits.high(1.1) and not (
                np.isnan(v[-1]) or limits.low(0.9) <= v[-1] <= limits.high(1.1)
            ):
                seen.add("voltage at the end", bus, self.t_end)

    def _frequencies(self, seen: Seen, limits: Limits) -> None:
        """The mean speed of the machines of an island, or of its converters where it has none."""
        for last, piece in ((piece is self.pieces[-1], piece) for piece in self.pieces):
            for _, members in self._members(piece.state):
                mean = self._mean(piece, members)
                if mean is None:
                    continue
                seen.least("nadir", float(mean.min()))
                seen.most("overshoot", float(mean.max()))
                beyond = (mean < limits.low(0.95, 1.0)) | (mean > limits.high(1.03, 1.0))
                where = self.grid.sources[members[0]].bus
                if beyond.any():
                    seen.add("frequency", where, float(self.t[piece.rows][int(np.argmax(beyond))]))
                if last:
                    end = float(mean[-1])
                    if abs(end - 1.0) >= abs(seen.figures.get("final frequency", 1.0) - 1.0):
                        seen.figures["final frequency"] = end
                    low, high = limits.low(59.3 / 60.0, 1.0), limits.high(60.7 / 60.0, 1.0)
                    if not low <= end <= high:
                        seen.add("final frequency", where, self.t_end)

    def _mean(self, piece: Piece, members: Sequence[int]) -> Reals | None:
        kinds = {self.grid.sources[k].kind for k in members}
        if INFINITE in kinds:
            return None
        kind = MACHINE if MACHINE in kinds else FORMER
        chosen = [k for k in members if self.grid.sources[k].kind == kind]
        weights = np.array([self.grid.sources[k].weight for k in chosen])
        return np.asarray(self.speeds[piece.rows][:, chosen] @ weights / weights.sum())

    def _motors(self, seen: Seen, limits: Limits) -> None:
        """A slip above 0.2 at the end, or above 1 at any time."""
        for name, bus in self.grid.motors.items():
            slip = self._column(f"{name}.slip")
            for piece in self.pieces:
                if name in piece.state.gone or piece.state.island(bus) is None:
                    break
                if slip[piece.rows].max() > limits.high(1.001, 1.0):
                    seen.add("backwards", name, float(self.t[piece.rows][slip[piece.rows].argmax()]))
            else:
                if slip[-1] > limits.high(0.2):
                    seen.add("stalled", name, self.t_end)

    def _settling(self, seen: Seen, limits: Limits) -> None:
        """In the last quarter after the last event something moves by too much, and no less than before."""
        quarter = 0.25 * (self.t_end - self.last)
        if quarter < 1.0:
            return
        piece = self.pieces[-1]
        t, v = self.t[piece.rows], self.v[piece.rows]
        moving = {bus: (v[:, k], 0.01) for k, bus in enumerate(self.grid.buses)}
        for _, members in self._members(piece.state):
            mean = self._mean(piece, members)
            if mean is not None:
                turning = [k for k in members if self.grid.sources[k].kind == MACHINE]
                moving[f"mean {members[0]}"] = mean, 0.0005
                for k in turning:
                    moving[self.grid.sources[k].name] = self.speeds[piece.rows][:, k] - mean, 0.0005
        for name, (values, limit) in moving.items():
            before, now = (
                float(np.ptp(values[(t >= self.t_end - n * quarter) & (t <= self.t_end - (n - 1) * quarter)]))
                for n in (2, 1)
            )
            if now > limits.high(limit) and now >= limits.high(0.99) * limits.shown * before:
                seen.add("not settled", name, self.t_end)


def _near(angle: Reals) -> Reals:
    """Return angles in rad within half a turn of zero."""
    return np.angle(np.exp(1j * angle))


def _spells(t: Reals, beyond: Reals) -> Iterator[tuple[float, float]]:
    """Yield (since, until) of each time for which a value is above zero, on straight lines between points.

    NaN ends one at the last point before it.
    """
    since = None
    changes = np.flatnonzero(np.diff(beyond > 0.0)) + 1
    for k in [0, *changes.tolist()]:
        above = beyond[k] > 0.0
        if above and since is None:
            since = float(t[k])
            if k and not np.isnan(beyond[k - 1]) and beyond[k] != beyond[k - 1]:
                since -= float(beyond[k] / (beyond[k] - beyond[k - 1]) * (t[k] - t[k - 1]))
        elif not above and since is not None:
            until = float(t[k - 1])
            if not np.isnan(beyond[k]):
                until += float(beyond[k - 1] / (beyond[k - 1] - beyond[k]) * (t[k] - t[k - 1]))
            yield since, until
            since = None
    if since is not None:
        yield since, float(t[-1])
