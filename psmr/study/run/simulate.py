"""A run from a system, a scheme and events: checked, certified, marched."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from psmr.dae.system.system import System
from psmr.errors import EventError, InputError, PsmrError, PsmrWarning, SchemeError
from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Change, Trajectory
from psmr.study.events import Event
from psmr.study.events.schedule import schedule
from psmr.study.monitors.monitors import AngleSpread, Island, Monitor, VoltageCollapse
from psmr.study.monitors.watching import Stop, Watching
from psmr.study.record.certificate import Scheme, certify
from psmr.study.record.signals import units_of
from psmr.study.record.stats import Stats
from psmr.study.run.run import Run
from psmr.study.topology.islands import first_dead_island

# A solution that is resolved turns back on itself at a few corners at most, not at every tenth step.
CHATTER = 0.1

# The argument of `simulate` bears the same name.
_certify = certify


def simulate(
    system: System,
    scheme: Scheme,
    t_end: float,
    events: Iterable[Event] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    all: bool = False,
    progress: Callable[[float], None] | None = None,
    certify: bool = True,
    partial: bool = False,
    monitors: Iterable[Monitor] = (),
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `SingleRate`, `Multirate`, `Smes`, `SlowManifold`, `ArcLength` or `Adaptive`.
    t_end
        Length of the run in s.
    events
        `Fault`, `LoadTrip`, `LoadRamp`, `LineTrip`, `GeneratorTrip`, `ShuntSwitch`, `SetPoint`,
        `ParameterStep`, `TimeSeries`; checked together before the run.
    start
        (x, y), (n,) states and (m,) algebraic variables, instead of the equilibrium; y is made consistent
        with x.
    all
        Record the fast points within a macro step as well, not only the accepted macro points.
    progress
        Called with the time reached in s, a few times per second of computing.
    certify
        Compute the deformation certificate before the run (a dense eigenvalue problem of the size of the
        system).
    partial
        Keep the points up to a failure: `partial` of the error is then a `Run` to there.
    monitors
        `AngleSpread`, `VoltageCollapse`, `Island`: what ends the run early; `stopped` of the run says why.

    Returns
    -------
    Run
        Trajectory, work counters and certificate. At an event its instant stands twice, before and after.

    Raises
    ------
    InputError
        For a time, event or start that cannot be; before any time is simulated.
    SimulationError
        When a step does not converge: time, iteration, worst variable.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on this system, before the run; when a run along the
        arc chattered, after it.
    """
    if (
        isinstance(t_end, bool)
        or not isinstance(t_end, int | float)
        or not math.isfinite(t_end)
        or t_end <= 0
    ):
        raise InputError(f"t_end = {t_end!r}: must be a finite number > 0 in s")
    _check_kinds(system, scheme, events)
    events = tuple(events)
    monitors = _monitors(monitors)
    changes = schedule(system, events, t_end, dead_islands=any(isinstance(m, Island) for m in monitors))
    end, cut_off = t_end, None
    if (dead := first_dead_island(system, changes)) is not None:
        end, changes = dead.t, tuple(change for change in changes if change.t < dead.t)
        cut_off = Stop(dead.t, "island", f"{dead.label} leaves {dead} without a source")
        _refuse_stop_at_start(cut_off)
    watching = Watching(look for m in monitors if (look := m.at_work(system, changes)) is not None)
    certificate = _certify(system, scheme) if certify else None

    def run_of(trajectory: Trajectory) -> Run:
        return Run(
            t=trajectory.t,
            x=trajectory.x,
            y=trajectory.y,
            names_x=system.names_x,
            names_y=system.names_y,
            name=system.name,
            scheme=scheme,
            events=events,
            instants=tuple(
                (change.t, change.label)
                for change in changes
                if change.label and change.t <= trajectory.t[-1]
            ),
            stopped=watching.stop or cut_off,
            stats=Stats.of(trajectory.counters, scheme, system.n + system.m),
            certificate=certificate,
            units=units_of(system.devices),
            system=system,
            changes=changes,
        )

    try:
        trajectory = integrate(
            system,
            scheme,
            end,
            changes,
            start=start,
            every=all,
            progress=progress,
            partial=True,
            watch=watching if watching.looks else None,
        )
    except PsmrError as error:
        reached, error.partial = error.partial, None
        if reached is not None:
            error.args = (f"{error}{_reason(system, changes, reached)}",)
            error.partial = run_of(reached) if partial else None
        raise
    _refuse_stop_at_start(watching.stop)
    jumped = trajectory.counters.jumped_at
    if jumped:
        warnings.warn(
            "the algebraic variables jumped to another solution at t = "
            f"{', '.join(f'{t:.6g}' for t in jumped)} s, since the one that was followed had ended: a "
            "voltage collapse looks like this",
            PsmrWarning,
            stacklevel=2,
        )
    chatter = trajectory.counters.chatter
    if chatter > CHATTER:
        warnings.warn(
            f"{100 * chatter:.0f} % of the steps turned back on the step before: the run chatters about a"
            " slow manifold "
            f"that its steps are too long for. Scheme: {scheme}; take a smaller h, a tighter tolerance,"
            " or an implicit "
            "scheme",
            PsmrWarning,
            stacklevel=2,
        )
    return run_of(trajectory)


def _reason(system: System, changes: Sequence[Change], reached: Trajectory) -> str:
    """Return a sentence on the monitor that would have ended a failed run before, "" where none would."""
    usual = (AngleSpread(), VoltageCollapse())
    watching = Watching(look for m in usual if (look := m.at_work(system, changes)) is not None)
    points = np.hstack([reached.x, reached.y])
    # The instant of a change stands twice; a span begins with its second row.
    begins = [0, *(1 + np.flatnonzero(np.diff(reached.t) == 0.0))]
    for first, last in itertools.pairwise([*begins, len(reached.t)]):
        watching.begin(float(reached.t[first]))
        if watching.looks and watching.look(reached.t[first:last], points[first:last]) is not None:
            break
    else:
        return ""
    stop = watching.stop
    assert stop is not None
    return f". Before that, at t = {stop.t:.6g} s: {stop}; a monitor would have ended the run there"


def _check_kinds(system: object, scheme: object, events: object) -> None:
    """Raise the error of an argument that is of another kind than it must be, with what was meant."""
    if not isinstance(system, System):
        raise InputError(
            f"system: {_kind(system)} is not a system; make one with psmr.build(psmr.read_case(path))"
        )
    if isinstance(scheme, type):
        raise SchemeError(
            f"scheme: {scheme.__name__} is the class; make one of it with its step sizes, for instance "
            'psmr.SingleRate("TM", h=0.01)'
        )
    if not isinstance(getattr(scheme, "step", None), float):
        raise SchemeError(
            f"scheme: {_kind(scheme)} is not a scheme; use psmr.SingleRate, Multirate, Smes, SlowManifold, "
            "ArcLength or Adaptive"
        )
    if isinstance(events, str) or not isinstance(events, Iterable):
        raise EventError(f"events: {_kind(events)} is not a list of events; write [event] for a single one")


def _kind(value: object) -> str:
    return repr(value) if isinstance(value, str) else type(value).__name__


def _monitors(monitors: Iterable[Monitor]) -> tuple[Monitor, ...]:
    if not isinstance(monitors, Iterable):
        raise InputError(
            f"monitors: {monitors!r} is not a list of monitors; write [monitor] for a single one"
        )
    monitors = tuple(monitors)
    for monitor in monitors:
        if not callable(getattr(monitor, "at_work", None)):
            raise InputError(
                f"{monitor!r} is not a monitor; use psmr.AngleSpread, psmr.VoltageCollapse or psmr.Island"
            )
    return monitors


def _refuse_stop_at_start(stop: Stop | None) -> None:
    """Raise InputError where a monitor would end the run before it has begun."""
    if stop is not None and stop.t <= 0:
        raise InputError(
            f"{stop} at t = 0: the run would end before it begins; give the monitor another limit, or leave "
            "it or the event out"
        )
