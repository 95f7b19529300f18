"""The error of a run, estimated from a second run with error control.

The difference of two runs is the error of the worse one, but for that of the better one; where both are far
off, it says nothing. The second run is therefore much the better one (Stetter 1980 and Shampine 1986 call it
global error estimation by reintegration): `VariableStep` at a tenth of the tolerance of a run that follows
one itself, and of any other run at a thousandth of the limit of its error. It knows nothing of the scheme of
the run, so that whatever this does wrong shows: its steps, what is interpolated between two rates, coupling.
It ends a step at each sample of the first run, so that nothing has to be interpolated, and keeps none of its
other points.

To judge a run a coarse reference mostly does: where a run differs from one at a tolerance of a tenth of the
limit by less than half the limit, both are within the limit but for an error that both have in common. For a
run that follows a tolerance it is of another method, since stops may lead it to the same steps. Only
otherwise a better one is made. Where error control takes too long beside fixed steps, as where these pass
over a ripple, the second run has half the step of the first one: the error is their difference, over 1 - 2^-p
with the order p.

Behind the loss of synchronism values are not compared: swings pass ever faster, and what is judged is when it
was lost. What the estimate does not have: the error of the instants at which devices acted by themselves,
which both runs share, and what lies between the samples.

What counts at those points are the voltages of buses, their magnitudes in pu, and the speeds of sources:
machines, and converters that form the voltage, whose droop makes a speed of their measured power. A bus
counts while no fault is on at it and its part of the network is not dead, a source while it is in service. A
system without buses has its variables instead, those of one name together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, SimulationError
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import AUTO, VariableStep
from psmr.integrate.timeline.span import Span
from psmr.network.signals.points import Points
from psmr.network.topology.connections import Connections
from psmr.network.topology.islands import DeadParts, sources_of
from psmr.network.topology.network import buses
from psmr.study.detectors.detection import Detection, detect
from psmr.study.detectors.detector import Detector, Finding
from psmr.study.estimated_error import GlobalError
from psmr.study.outcome import Outcome
from psmr.study.record.record import FinishedRun, Sampled

TIME_ROUNDING = 1e-9
"""Bound of the rounding of the times of points in s, far below any step."""

APART = 0.1
"""Longest time in s between two samples of a run with shorter steps: a tenth of the period of a swing."""

FIRST, SOON, GROWTH = 1e-5, 0.4, 1.25
"""Times in s after an event from which the next point is a sample, first and last, and by which they grow.

It is fast at first.
"""


@dataclass(frozen=True, eq=False)
class Quantity:
    """What is measured alike.

    `what`: In words: ``"voltage"``, ``"speed"``, or the name of the variables.
    `names`: Names of the signals.
    `columns`: Their columns among the samples.
    """

    what: str
    names: tuple[str, ...]
    columns: slice


def quantities(system: System) -> tuple[Quantity, ...]:
    """Return what is measured of a system, in the order of the columns of its samples."""
    groups: dict[str, list[str]] = {}
    if buses(system):
        groups["voltage"] = [f"{bus}.v" for bus in buses(system)]
        groups["speed"] = [name for _, name, _ in _speeds(system)]
    else:
        for name in (*system.names_x, *system.names_y):
            groups.setdefault(name.rpartition(".")[2], []).append(name)
    found, first = [], 0
    for what, names in groups.items():
        found.append(Quantity(what, tuple(names), slice(first, first + len(names))))
        first += len(names)
    return tuple(found)


def _speeds(system: System) -> list[tuple[str, str, float]]:
    """Return (source, name of the state that is its speed, factor that makes it one in pu)."""
    states, found = set(system.names_x), []
    for source in sources_of(system):
        if source.speed:
            found.append((source.name, source.speed, 1.0))
        elif f"{source.name}.p_m" in states:
            found.append((source.name, f"{source.name}.p_m", system.parameter(source.name, "m_p")))
    return found


class Samples:
    """Takes samples of a run; see `psmr.study.detectors.detector.Detector`.

    `system`: The system of the run.
    `times`: (S,) times in s at which samples are taken, ascending; None: soon after one another behind an
      event, later `APART`.
    `dense`: How many times as many samples are taken where `times` does not say.

    `jumped`: (q,) largest change since the first point right behind an event, whose instant is no sample.
    """

    def __init__(self, system: System, times: Reals | None = None, dense: int = 1) -> None:
        self._times, self._network = times, bool(buses(system))
        growth = GROWTH ** (1.0 / dense)
        self._soon = FIRST * growth ** np.arange(math.ceil(math.log(SOON / FIRST) / math.log(growth)))
        self._apart = APART / dense
        speeds = _speeds(system) if self._network else []
        self._sources = [source for source, _, _ in speeds]
        self._places = np.array([system.index(name) for _, name, _ in speeds], dtype=np.intp)
        self._factors = np.array([factor for _, _, factor in speeds])
        self._first: Reals | None = None
        self.jumped = np.empty(0)
        self._t: list[Reals] = []
        self._values: list[Reals] = []
        self._began = self._last = 0.0
        self._counted = np.ones(0, bool)

    def begin(self, connections: Connections) -> None:
        """See `Detector`."""
        span = connections.span
        if self._t and self._t[-1][-1] >= span.t - TIME_ROUNDING:  # the row before the event
            self._t[-1], self._values[-1] = self._t[-1][:-1], self._values[-1][:-1]
            if not self._t[-1].size:
                self._t.pop()
                self._values.pop()
        self._began = self._last = span.t
        in_service = np.array([source not in connections.out for source in self._sources], bool)
        self._counted = np.concatenate([connections.counted, in_service])

    def take(self, points: Points) -> None:
        """See `Detector`."""
        if self._first is None:
            self._first = self._of(points, slice(1))[0]
            self.jumped = np.zeros_like(self._first)
        if abs(float(points.t[0]) - self._began) <= TIME_ROUNDING:
            jump = np.abs(self._of(points, slice(1))[0] - self._first)
            if self._network:
                jump[~self._counted] = 0.0
            self.jumped = np.fmax(self.jumped, jump)
        rows = self._rows(points.t)
        if rows.size:
            values = self._of(points, rows)
            if self._network:
                values[:, ~self._counted] = np.nan
            t = points.t[rows]
            self._t.append(
                t if self._times is None else self._times[np.searchsorted(self._times, t - TIME_ROUNDING)]
            )
            self._values.append(values)

    def findings(self) -> tuple[Finding, ...]:
        """See `Detector`."""
        return ()

    def _of(self, points: Points, rows: slice | NDArray[np.intp]) -> Reals:
        x = points.x[rows]
        if not self._network:
            return np.hstack([x, points.y[rows]])
        return np.hstack([points.v[rows], self._factors * x[:, self._places]])

    def _rows(self, t: Reals) -> NDArray[np.intp]:
        """Return which of (K,) times in s are samples."""
        if self._times is not None:
            place = np.searchsorted(self._times, t - TIME_ROUNDING)
            nearest = self._times[np.minimum(place, len(self._times) - 1)]
            same = (np.abs(nearest - t) <= TIME_ROUNDING) & (t > self._began + TIME_ROUNDING)
            # Of two points of one time but for rounding the first: a step ends at a row of a series, too.
            wanted, rows = np.unique(
                np.where(same & (nearest > self._last), nearest, -1.0), return_index=True
            )
            rows = rows[wanted >= 0.0]
            self._last = max(self._last, float(wanted[-1]))
            return rows
        before, last = self._last - self._began, float(t[-1]) - self._began
        first, apart = self._soon[-1], self._apart
        late = first + apart * np.arange(max(1.0, (before - first) // apart), (last - first) / apart + 1)
        due = np.concatenate([self._soon, late])
        due = due[(due > before + TIME_ROUNDING) & (due <= last + TIME_ROUNDING)]
        self._last = float(t[-1])
        return np.unique(np.searchsorted(t, self._began + due - TIME_ROUNDING))

    def result(self) -> Sampled:
        """Return the samples."""
        assert self._first is not None
        values = [np.empty((0, self._first.size)), *self._values]
        return Sampled(np.concatenate([np.empty(0), *self._t]), np.concatenate(values), self._first)


def samples_of(run: FinishedRun) -> Sampled:
    """Return the samples of a run that has its system."""
    if run.kept is not None:
        return run.kept.sampled
    assert run.system is not None
    samples = Samples(run.system)
    detect(Detection(run.system, [samples]), run.spans, run.t, run.x, run.y)
    return samples.result()


FINER = 10.0
"""How much smaller the tolerance of the second run is than that of the first one."""

COARSE, JUDGED, FINE = 0.1, 1e-2, 1e-3
"""Tolerances of the second run in parts of the limit.

To judge by, where the difference is small and where it is not, and to estimate the error.
"""

CLEAR = 0.5
"""Part of the limit up to which a coarse reference decides."""

LEAST_CHANGE = 1e-4
"""Change below which an error is measured by this, in pu or in parts of a value above 1.

Less has no meaning in a study, and at rest nothing changes at all.
"""

STEPS, MOST = 5_000, 2.0
"""Steps, and parts of those of the run, after which a reference to judge fixed steps by is given up.

Where a ripple is aliased on purpose, error control costs many times the run.
"""

LEAST_TOLERANCE = VariableStep(1e-6).least_tolerance
"""The least tolerance of the second run."""


@dataclass(frozen=True, eq=False)
class Integrated:
    """What the error of an integration of a run's system follows from.

    `run`: The run: its system, what events and devices did to it, and where it began.
    `scheme`: What it was integrated with, which is that of the run or was tried in its place.
    `end`: Time in s from which values are not compared.
    `steps`: How many accepted steps it took.
    `sampled`: Its samples.
    """

    run: FinishedRun
    scheme: Scheme
    end: float
    steps: int
    sampled: Sampled

    @classmethod
    def of(cls, run: FinishedRun) -> Integrated:
        """Return that of the run itself; raises InputError for a run that has no system."""
        if run.system is None:
            raise InputError(
                "the error is estimated by a second run of its system, which this run does not have"
            )
        end = compared_until(run.outcome, float(run.t[-1]))
        return cls(run, run.scheme, end, run.stats.counters.steps, samples_of(run))


def compared_until(outcome: Outcome, end: float) -> float:
    """Return the time in s up to which values of a run to `end` in s are compared."""
    lost = outcome.out_of_step
    return end if lost is None else min(lost.t, end)


def judged_error(run: FinishedRun) -> GlobalError:
    """Return an estimated error by which a run can be judged, the better one only where it is needed.

    Raises InputError, SimulationError as `estimated_error`.
    """
    return judged(Integrated.of(run))


def judged(found: Integrated, rough: float = math.inf) -> GlobalError:
    """Return an estimated error by which what was integrated can be judged.

    `rough`: error in parts of the limit above which that by a coarse reference will do. Raises InputError,
    SimulationError as `estimated_error`.
    """
    limit, scheme = found.run.criteria.error, found.scheme
    reference, most = _reference(COARSE * limit), max(STEPS, MOST * found.steps)
    if scheme.error_control is not None:
        if scheme.tolerance >= 0.5 * COARSE * limit:
            return _estimated(found)
        reference, most = _reference(COARSE * limit, "ESDIRK43"), math.inf
        if reference.program(1.0) == scheme.program(1.0):
            reference = replace(reference, method="ESDIRK32")
    try:
        error = difference(found, reference, most)
        if error.part <= CLEAR * limit:
            return replace(error, bound=True)
        if error.part > rough * limit:
            return error
        if scheme.error_control is None:
            return difference(found, _reference(JUDGED * limit), most)
    except SimulationError:
        if scheme.step_choice is not None and scheme.error_control is None:
            raise
        if scheme.step_choice is None:
            return difference(found, scheme.with_step(0.5 * scheme.step))
    return _estimated(found)


def estimated_error(run: FinishedRun) -> GlobalError:
    """Return the estimated error of a run.

    Raises InputError for a run that has no system, and one whose tolerance is so small that there is no finer
    one; SimulationError when the second run fails.
    """
    return _estimated(Integrated.of(run))


def _estimated(found: Integrated) -> GlobalError:
    scheme = found.scheme
    if scheme.error_control is None:
        return difference(found, _reference(FINE * found.run.criteria.error))
    if scheme.tolerance < 2.0 * LEAST_TOLERANCE:
        raise InputError(
            f"tolerance = {scheme.tolerance:g}: the error is estimated from a run at a smaller one, and the "
            f"least is {LEAST_TOLERANCE:.2g}"
        )
    return difference(found, _reference(scheme.tolerance / FINER))


def _reference(tolerance: float, method: str = AUTO) -> VariableStep:
    """Return error control at a tolerance, or at the least there is."""
    return VariableStep(max(tolerance, LEAST_TOLERANCE), method)


def difference(found: Integrated, reference: Scheme, most: float = math.inf) -> GlobalError:
    """Return the largest difference of what was integrated from a run by a reference; see the module.

    `reference`: error control; or the scheme of the run with half its step, whose difference is the error but
    for a factor that follows from the order; `most`: steps after which the second run is given up. Raises
    SimulationError when the second run fails, or takes too long.
    """
    run = found.run
    assert run.system is not None
    rows = found.sampled.t <= found.end
    times = found.sampled.t[rows]
    if not times.size:
        return GlobalError(0.0, "", "", found.end, 0.0, 0.0, reference, found.scheme)
    samples = Samples(run.system, times)
    integrate_again(
        run,
        reference,
        found.end,
        [samples],
        StepBudget(most),
        times if reference.step_choice is not None else None,
    )
    theirs = samples.result()
    same = np.isin(times, theirs.t)
    return _largest(found, reference, times[same], found.sampled.values[rows][same], theirs, samples.jumped)


def integrate_again(
    run: FinishedRun,
    scheme: Scheme,
    end: float,
    detectors: Sequence[Detector],
    most: StepBudget,
    stops: Reals | None = None,
) -> int:
    """Integrate the system of a run again, with another scheme, and return its steps.

    `end`, `stops`: end in s, and times in s at which a step ends; `detectors`: what sees the points, of which
    none is kept; `most`: ends what takes too long. Raises SimulationError when it fails, or takes too long.
    """
    assert run.system is not None
    changes = tuple(change for change in run.changes if change.t < end)
    counters = integrate(
        run.system,
        scheme,
        end,
        changes,
        start=run.ends[0],
        followers=[Detection(run.system, detectors), most],
        keep=False,
        stops=stops,
        service=DeadParts(run.system),
    ).counters
    if most.passed:
        raise SimulationError(f"a second run, {scheme}, takes more than {most.most:g} steps")
    return counters.steps


def _largest(
    found: Integrated, reference: Scheme, t: Reals, mine: Reals, theirs: Sampled, jumped: Reals
) -> GlobalError:
    """Return the largest difference of (S, q) samples, in parts of the largest change of what is like it.

    Changes are those of the samples, and (q,) jumps at the instants of events.
    """
    run = found.run
    assert run.system is not None
    factor = 1.0 if reference.error_control is not None else 1.0 / (1.0 - 0.5**reference.order)
    errors = []
    for quantity in quantities(run.system):
        own, values = quantity.columns, theirs.values[:, quantity.columns]
        off = np.nan_to_num(np.abs(mine[:, own] - values))
        if not off.size:
            continue
        first = theirs.first[own]
        least = LEAST_CHANGE * max(1.0, float(np.abs(first).max()))
        changed = np.vstack([np.abs(values - first), jumped[own]])
        change = max(least, float(np.nan_to_num(changed).max()))
        row, column = np.unravel_index(int(off.argmax()), off.shape)
        value, name = float(off[row, column]), quantity.names[column]
        part, value = factor * (value / change), factor * value
        errors.append(
            GlobalError(part, quantity.what, name, float(t[row]), value, change, reference, found.scheme)
        )
    return max(errors, key=lambda error: error.part)


class StepBudget:
    """Ends an integration of too many steps; see `psmr.integrate.run.trajectory.Follower`."""

    ends = True

    def __init__(self, most: float) -> None:
        self.most, self._steps = most, 0

    @property
    def left(self) -> float:
        """How many more there may be."""
        return self.most - self._steps

    @property
    def passed(self) -> bool:
        """Whether there were too many."""
        return self.left < 0

    def begin(self, span: Span) -> None:
        """Take note of nothing."""

    def stops_before(self, span: Span) -> bool:
        """Take note of nothing."""
        return False

    def points(self, t: Reals, points: Reals) -> int | None:
        """Return the first of the points once there are too many."""
        self._steps += len(t)
        return 0 if self.passed and len(t) else None
