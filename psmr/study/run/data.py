"""The data of a run: its points, what it was made of, and what lies between its points."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InputError, PsmrError, shown
from psmr.dae.declare.component import Turn
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.run.timers import under_way
from psmr.integrate.schemes.scheme import leaves_newton_tolerance
from psmr.integrate.timeline.delayed_inputs import DelayedInputs
from psmr.integrate.timeline.span import Change, Span, with_shared_ends
from psmr.network.signals.signals import Signals
from psmr.network.topology.connections import system_in
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.dead_parts import interruptions
from psmr.study.detectors.detection import Detection, Detectors, detect
from psmr.study.detectors.detector import Stop
from psmr.study.events import Event
from psmr.study.events.when import When
from psmr.study.outcome import Outcome
from psmr.study.record.dense_output import AlgebraicPoints, dense_points, with_algebraic_solved
from psmr.study.record.equilibrium_after import equilibrium_after, in_turning_frame
from psmr.study.record.record import PIECE, FinishedRun, ReducedRecord
from psmr.study.record.stats import Stats

# Bytes of algebraic variables up to which those solved anew are kept beside them.
LARGE = 2**28


@dataclass(frozen=True, eq=False)
class RunData:
    """The points of a simulation and what it was made of.

    Attributes
    ----------
    t
        (K,) accepted times in s. The instant of an event stands twice: the row before it and the row after.
    x, y
        (K, n) states and (K, m) algebraic variables; those that were kept, where `record` chose some. The
        algebraic ones are as accurate as the scheme made them; see `algebraic`.
    names_x, names_y
        Their names, ``"device.variable"``.
    scheme, events
        What was asked for.
    instants
        (time, label) of every change that an event made.
    stats
        Work counters, beside what single rate would have cost.
    certificate
        How much the scheme deforms the modes; None where it was not asked for.
    stopped
        What a monitor ended the run by; None where it came to its end.
    units
        Units of the variables that are not in pu.
    name
        Name of the system.
    system
        The system at the start of the run, from which signals of devices are computed.
    timeline
        What held from when on; see `psmr.integrate.timeline.span.Span`.
    kept
        What there is beside them of a run that kept chosen signals or not every step; None of one that kept
        every point whole.
    acted
        (time, label) of what devices did by themselves: relays, trips.
    turns
        Timers of what devices do by themselves that were started or stopped.
    failure
        What the run failed by, of one that did not come to its end and was kept all the same; otherwise "".
    criteria
        The limits by which the run is judged.
    """

    t: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    scheme: Scheme
    events: tuple[Event, ...]
    instants: tuple[tuple[float, str], ...]
    stats: Stats
    certificate: Certificate | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    stopped: Stop | None = None
    system: System | None = None
    timeline: tuple[Span, ...] = ()
    kept: ReducedRecord | None = None
    acted: tuple[tuple[float, str], ...] = ()
    turns: tuple[Turn, ...] = ()
    failure: str = ""
    criteria: Criteria = USUAL

    def __post_init__(self) -> None:
        # A state that left the finite numbers must never look like a result.
        tables = [(self.x, self.names_x), (self.y, self.names_y)]
        if self.kept is not None:
            tables.append((self.kept.values, self.kept.names))
        for table, names in tables:
            for first in range(0, len(table), PIECE):
                values = table[first : first + PIECE]
                if np.isfinite(values.sum()):
                    continue
                bad = ~np.isfinite(values)
                # A bus without a voltage has neither an angle nor a frequency, nor those of its island.
                own = {*self.names_x, *self.names_y}
                undefined = [
                    k for k, n in enumerate(names) if n not in own and n.endswith(("angle", "frequency"))
                ]
                bad[:, undefined] &= ~np.isnan(values[:, undefined])
                if bad.any():
                    row, column = np.argwhere(bad)[0]
                    raise PsmrError(
                        f"{names[column]} = {values[row, column]} at t = {self.t[first + row]:g} s; the run "
                        "left the finite numbers, take a smaller step"
                    )

    def __getstate__(self) -> dict[str, Any]:
        # What the points give again is not written a second time.
        again = {"signals", "spans"}
        return {k: v for k, v in self.__dict__.items() if k not in again and not k.startswith("_")}

    @functools.cached_property
    def signals(self) -> Signals:
        """Names of what can be asked of the run; see `psmr.network.signals.signals.Signals`."""
        if self.kept is not None and self.kept.chosen:
            return Signals(self.names_x, self.names_y, kept=self.kept.names)
        return Signals(self.names_x, self.names_y) if self.system is None else Signals.of(self.system)

    def algebraic(self, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Return (K, m) algebraic variables, solved from the states of each point to rounding.

        `y` has them as the scheme left them, off by a part of Newton's tolerance, so that powers do not
        balance to the last digit. Powers, currents and frequencies are computed from these, with
        `VariableStep` all that is asked for by name; of schemes with two rates, whose sides differ by more,
        it is `y`.
        """
        check_arguments(RunData.algebraic, locals())
        if not (leaves_newton_tolerance(self.scheme) and (self.whole or self._thinned)):
            return self.y[rows]
        if self.y.nbytes > LARGE:
            assert self.system is not None
            return with_algebraic_solved(self.system, self.spans, self.t, self.x, self.y, rows)
        return self._settled[rows]

    @property
    def sampled(self) -> NDArray[np.float64]:
        """(K, s) what samples had written at each time, `names_u` of the system ahead of other held inputs.

        Raises
        ------
        InputError
            Of a run that kept chosen signals: ask for one of them by name.
        """
        count = 0 if self.system is None else self.system.s
        if count and any(span.sampled is None for span in self.timeline):
            raise InputError(f"{self.name}: the run kept chosen signals; ask for a sampled one by its name")
        values = [np.zeros((0, count))]
        values += [span.held_at_rows(self.t[span.rows])[:, :count] for span in self.timeline if count]
        return np.concatenate(values) if count else np.zeros((len(self.t), 0))

    @property
    def _thinned(self) -> bool:
        """Whether some points were kept with all their variables, as the scheme left them."""
        if self.kept is None or self.kept.chosen or self.scheme.error_control is not None:
            return False
        return self.system is not None and not self.system.delays

    @functools.cached_property
    def _settled(self) -> NDArray[np.float64]:
        assert self.system is not None
        return with_algebraic_solved(self.system, self.spans, self.t, self.x, self.y, slice(None))

    @property
    def changes(self) -> tuple[Change, ...]:
        """What events and devices did to the system, in order of time."""
        return tuple(change for span in self.timeline for change in span.changes)

    @functools.cached_property
    def spans(self) -> tuple[Span, ...]:
        """What held from when on, with the past of what reads it."""
        past = self.scheme.past
        if self.system is None or not self.system.delays or self.kept is not None or past is None:
            return self.timeline
        points = np.hstack([self.x, self.y])
        delayed = DelayedInputs.of_run(self.system, past.degree, self.t, points)
        return tuple(replace(span, delayed=delayed) for span in self.timeline)

    @property
    def unmet(self) -> tuple[str, ...]:
        """The events that waited for a condition that did not hold, and did not happen."""
        met = {cause.event for change in self.changes for cause in change.causes}
        waited = ((k, event) for k, event in enumerate(self.events) if isinstance(event, When))
        return tuple(str(event) for k, event in waited if k not in met)

    @functools.cached_property
    def outcome(self) -> Outcome:
        """What happened: synchronism, voltages, frequency, limits; see `psmr.study.outcome`."""
        if self.kept is not None:
            return self.kept.outcome
        t_end = float(self.t[-1])
        if self.system is None:
            return Outcome(
                machines=0, t_end=t_end, stopped=self.stopped, acted=self.acted, failed=self.failure
            )
        detectors = Detectors.of(self.system, self.criteria, t_end)
        detect(Detection(self.system, detectors.all), self.spans, self.t, self.x, self.y)
        parts = interruptions(self.system, self.spans, self.ends[0])
        return Outcome.of(
            detectors, self.criteria, t_end, self.stopped, self.acted, self.failure, parts, self.spans
        )

    @property
    def ends(self) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]:
        """(x, y) of the whole system at the first and at the last point."""
        if self.kept is not None:
            return self.kept.ends
        return (self.x[0], self.y[0]), (self.x[-1], self.y[-1])

    @property
    def taken(self) -> NDArray[np.float64]:
        """(K,) times in s of every accepted point of a scheme that chooses its steps, whatever was kept."""
        return self.t if self.kept is None else self.kept.taken

    @property
    def whole(self) -> bool:
        """Whether every accepted point and variable was kept, with the system: points between can be had."""
        return self.kept is None and self.system is not None


Side = Literal["before", "after"]
SIDES = ("before", "after")


# A time outside the run by less than this part of its length is its first or last time, rounded.
ROUNDED = 1e-9


def within_run(t: Reals, times: ArrayLike) -> Reals:
    """Return (L,) times in s; those outside the (K,) times of a run by rounding are its first or last one.

    Raises InputError for a time outside the run, or that is not a number.
    """
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    found, slack = np.clip(wanted, t[0], t[-1]), ROUNDED * (t[-1] - t[0])
    wrong = ~(np.abs(wanted - found) <= slack)
    if wrong.any():
        raise InputError(
            f"t = {wanted[wrong][0]:g} s: must be within the run, from {t[0]:g} s to {t[-1]:g} s; take a time"
            " there, or simulate to a later t_end"
        )
    return found


def interpolated(t: Reals, values: Reals, times: ArrayLike, side: Side = "after") -> Reals:
    """Return (L, j) values at (L,) times in s, straight between the recorded points.

    `t`, `values`: (K,) recorded times, twice at an event, and (K, j) values there; `times`: where values are
    wanted, in any order; `side`: at the very instant of an event the value before it or after it. Raises
    InputError for a time outside the run or that is not a number.
    """
    if side not in SIDES:
        raise InputError(
            f'side = {shown(side)}: must be "before" or "after" (the value at the instant of an event)'
        )
    wanted = within_run(t, times)
    if side == "after":
        first = np.searchsorted(t, wanted, side="right") - 1
        second = np.minimum(first + 1, len(t) - 1)
    else:
        second = np.searchsorted(t, wanted, side="left")
        first = np.maximum(second - 1, 0)
    length = t[second] - t[first]
    part = np.where(length > 0, (wanted - t[first]) / np.where(length > 0, length, 1.0), 0.0)
    straight = values[first] + part[:, None] * (values[second] - values[first])
    # At a recorded point its value to the last digit.
    return np.asarray(np.where(part[:, None] == 1.0, values[second], straight))


def refined(run: FinishedRun, times: ArrayLike) -> tuple[Reals, Reals, Reals, tuple[Span, ...]]:
    """Return t, x, y and timeline of a run with further points at (L,) times in s, in the order of time.

    The points are those of the dense output of the method (`psmr.study.record.dense_output`); times at which
    a point is recorded, or outside the run, add none.
    """
    t = run.t
    wanted = np.unique(np.asarray(times, dtype=float))
    if np.isnan(wanted).any():
        raise InputError("times: has a value that is not a number (NaN)")
    wanted = np.setdiff1d(wanted[(wanted > t[0]) & (wanted < t[-1])], t)
    if wanted.size == 0 or run.system is None:
        return t, run.x, run.y, run.timeline
    points = np.hstack([run.x, run.y])
    new = dense_points(run.system, run.spans, t, points, wanted)
    at = np.searchsorted(t, wanted, side="right")
    points, n = np.insert(points, at, new, axis=0), run.x.shape[1]
    moved = [replace(span, first=span.first + int((at <= span.first).sum())) for span in run.timeline]
    t = np.insert(t, at, wanted)
    return t, points[:, :n], points[:, n:], with_shared_ends(moved, len(t))


def with_dense_output(run: FinishedRun, times: Reals) -> FinishedRun:
    """Return a run with the points of its dense output at (L,) times in s.

    A scheme of fixed steps has none, nor has one whose fast side takes steps within those that are recorded,
    and a run that kept a part of its points or variables lost it: these are returned as they are.
    """
    if not run.whole or run.system is None:
        return run
    control = run.scheme.on(run.system).error_control
    return run.refined(times) if control is not None and control.dense else run


def strictly_ascending(t: Reals) -> Reals:
    """Return (K,) times that ascend strictly: the row after an event is the next number above its instant."""
    times = np.array(t, dtype=float)
    for k in np.flatnonzero(np.diff(times) <= 0.0) + 1:
        times[k] = np.nextafter(times[k - 1], np.inf)
    return times


def after_events(t: Reals) -> NDArray[np.bool_]:
    """Return for each of (K,) recorded times whether it is the point after an event, of the same time."""
    return np.concatenate([[False], np.diff(t) == 0.0])


def at_rows_of(t: Reals, other: Reals, values: Reals) -> tuple[NDArray[np.bool_], Reals]:
    """Return which of (K,) times t another run has too, and its values there.

    `t`: (K,) times of a run, twice at an event; `other`, `values`: (L,) times of the other and (L, j) values.
    Returns (K,) whether a time is within the other, and a row of j values for each that is: straight between
    its points, before and after an event each for itself.
    """
    rows = (t >= other[0]) & (t <= other[-1])
    after = after_events(t)[rows]
    found = np.empty((int(rows.sum()), values.shape[1]))
    for flag, side in ((False, "before"), (True, "after")):
        at = after == flag
        found[at] = interpolated(other, values, t[rows][at], side)  # type: ignore[arg-type]
    return rows, found


Where = Literal["point", "equilibrium"]


def system_at(run: FinishedRun, t: float) -> System:
    """Return the system as it stands at t in s; see `psmr.study.run.run.Run.system_at`."""
    return _system_in(run, *_span_at(run, t))


def linear_system_at(run: FinishedRun, t: float, at: Where) -> tuple[System, LinearDae]:
    """Return that system, started where it is linearised, and its linearisation; see `Run.linearise`."""
    if at not in ("point", "equilibrium"):
        raise InputError(f'at = {shown(at)}: must be "point" or "equilibrium"')
    span, t = _span_at(run, t)
    system = _system_in(run, span, t)
    if at == "point":
        return system, system.linearise()
    assert run.system is not None
    found = equilibrium_after(run.system, span, run.ends[0], system, run.outcome.lost is None)
    if found is None:
        raise InputError(
            f"no equilibrium was found for the system as it stands at t = {t:g} s; linearise at the point of "
            'the run (at="point"), or at a later time, when the run has settled'
        )
    system = found.start(system)
    return system, in_turning_frame(system, system.linearise(), found.turning)


def _span_at(run: FinishedRun, t: float) -> tuple[Span, float]:
    """Return the span that a time in s lies in, the later one at the instant of an event, and the time.

    Raises InputError for a run without its system, and a time outside the run.
    """
    if run.system is None:
        raise InputError(
            f"{run.name}: the run has no system to return; it was loaded from a file that could not keep it"
        )
    t = float(within_run(run.t, t)[0])
    return next(span for span in reversed(run.spans) if run.t[span.rows.start] <= t), t


def _system_in(run: FinishedRun, span: Span, t: float) -> System:
    assert run.system is not None
    point = _point(run, t)
    left: list[float] = []
    point = AlgebraicPoints(run.system, span, left).points(np.array([t]), point[None])[0]
    if left:
        raise InputError(
            f"t = {t:g} s: no solution of the algebraic equations was found near the point of the run; take "
            "another time"
        )
    found = system_in(run.system, span, point[: run.system.n], point[run.system.n :], t)
    if not found.devices:
        raise InputError(f"t = {t:g} s: no part of the network has supply, so that no system is left")
    timers = under_way(run.turns, t, {device.name for device in found.devices})
    # A run takes no samples at its end.
    sampled = float(run.t[run.t <= t][-1]) if t < run.t[-1] else -np.inf
    return replace(found, timers=timers, sampled=sampled)


def _point(run: FinishedRun, t: float) -> Reals:
    """Return the (n + m,) point of a run at t in s, the later one at the instant of an event."""
    if run.kept is not None:
        at = {float(run.t[0]): 0, float(run.t[-1]): 1}.get(t)
        if at is None:
            raise InputError(
                f"t = {t:g} s: the run kept a part of its points or variables, so that its system is known "
                f"at its first and last time, {run.t[0]:g} s and {run.t[-1]:g} s; simulate without `record`"
            )
        return np.concatenate(run.ends[at])
    fine = with_dense_output(run, np.array([t]))
    return interpolated(fine.t, np.hstack([fine.x, fine.y]), t)[0]
