"""A run from a system, a scheme and events: checked, certified, integrated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Literal, Never

from numpy.typing import ArrayLike

from psmr.base.arguments import check_arguments, positive_number
from psmr.base.errors import InputError, PsmrError, PsmrWarning, SchemeError, shown
from psmr.base.files import OutputTransaction
from psmr.dae.system.system import System
from psmr.integrate.run.actions import Actions
from psmr.integrate.run.integrate import integrate
from psmr.integrate.run.trajectory import Change, Follower, Trajectory
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.topology.plants import plants
from psmr.study.certificate.certificate import Scheme, certify
from psmr.study.certificate.step_sizes import judged_steps
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.detection import Detection, Detectors, Monitor, detect
from psmr.study.detectors.finding import Finding, Stop
from psmr.study.detectors.islands import dead_part
from psmr.study.detectors.monitors import Island
from psmr.study.events import Event
from psmr.study.events.schedule import schedule
from psmr.study.outcome.outcome import Outcome
from psmr.study.output.tables import table_writer
from psmr.study.record.record import Record
from psmr.study.record.recording import Recording
from psmr.study.record.signals import units_of
from psmr.study.record.stats import Stats
from psmr.study.run.arguments import checked_monitors, refuse_slips
from psmr.study.run.run import Run
from psmr.study.run.size import check_size

# A solution that is resolved turns back on itself at a few corners at most, not at every tenth step.
CHATTER = 0.1

# The argument of `simulate` bears the same name.
_certify = certify


def simulate(
    system: System,
    scheme: Scheme | None = None,
    t_end: float | None = None,
    events: Iterable[Event] = (),
    start: tuple[ArrayLike, ArrayLike] | None = None,
    all: bool = False,
    progress: Callable[[float], None] | None = None,
    certify: bool | Literal["always"] = True,
    partial: bool = False,
    monitors: Iterable[Monitor] = (),
    record: Record | str | Iterable[str] | None = None,
    large: bool = False,
    every: int | None = None,
    transaction: OutputTransaction | None = None,
    criteria: Criteria | None = None,
    **slips: Never,
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `VariableStep`, `SingleRate`, `Multirate`, `Smes`, `SlowManifold`, `ArcLength` or `Adaptive`; where
        left out `VariableStep` with its usual tolerance.
    t_end
        Length of the run in s; it must be given.
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
        Compute the deformation certificate, up to 2,000 variables (a dense eigenvalue problem of the size of
        the system): before the run, or at the steps that were taken where the scheme chooses them.
        ``"always"``: at any size, see `psmr.certify`.
    partial
        Keep the points up to a failure: `partial` of the error is then a `Run` to there, whose `failure` says
        what it failed by.
    monitors
        `AngleSpread`, `VoltageCollapse`, `FrequencyOutside`, `Island`: what ends the run early; `stopped` of
        the run says why.
    record
        What is kept: names or patterns of signals, or a `psmr.Record`, which also thins, bounds the memory
        and writes files while the run goes. None: every point, whole. Outcome, monitors and certificates are
        the same in any case.
    large
        Go on where the run is estimated to take more memory, disk or time than `psmr.study.run.size` allows.
    every
        Of the accepted steps between two events every how many-th is kept, as ``psmr.Record(every=)`` says;
        every one where left out.
    transaction
        Group of output files that are published together, those of `record` among them; None: these alone,
        when the run has ended well.
    criteria
        The limits by which the run is judged; those of `psmr.Criteria` where left out.

    Returns
    -------
    Run
        Trajectory, work counters and certificate. At an event its instant stands twice, before and after.

    Raises
    ------
    InputError
        If a keyword, time, event or starting point is invalid, or the run is too large for the machine;
        before any time is simulated.
    SimulationError
        When a step does not converge: time, iteration, worst variable.

    Warns
    -----
    PsmrWarning
        When the pencil says that the scheme is unstable on this system, or an explicit prediction breaks down
        on it, before the run; when a run along the arc chattered, after it.
    """
    refuse_slips(slips, simulate)
    scheme = VariableStep() if scheme is None else scheme
    if isinstance(scheme, int | float) and t_end is None:
        raise SchemeError(f"scheme = {shown(scheme)}: must be a scheme; write t_end= for the length of a run")
    check_arguments(simulate, locals(), leaving=("t_end",))
    t_end = positive_number("t_end", t_end)
    start = None if start is None else tuple(start)  # type: ignore[assignment]
    if start is not None and len(start) != 2:
        raise InputError("start: must be two arrays, (x, y), or left out for the equilibrium")
    events = tuple(events)
    monitors = checked_monitors(monitors, t_end)
    islanding = any(isinstance(monitor, Island) for monitor in monitors)
    changes = schedule(system, events, t_end, dead_islands=islanding)
    end, cut_off = t_end, None
    # Without the monitor `schedule` has refused events that leave one.
    if islanding and (cut_off := dead_part(system, changes)) is not None:
        end, changes = cut_off.t, tuple(change for change in changes if change.t < cut_off.t)
        _refuse_stop_at_start(cut_off)
    acting = Actions(system, lambda name: _lost_with(system, name))
    wanted = Record.of(record, every)
    criteria = USUAL if criteria is None else criteria
    detectors = Detectors.of(system, criteria, end)
    detection = Detection(
        system, changes, () if wanted is None else detectors.all, monitors, acts=bool(acting)
    )
    if not large:
        check_size(system, scheme, t_end, wanted, all)
    recording = None if wanted is None else Recording(system, wanted, detection, scheme.follows_error)
    followers: list[Follower] = [detection] if detection.ends or recording is not None else []
    followers += [recording] if recording is not None else []
    any_size = certify == "always"
    before = _certify(system, scheme, any_size=any_size) if certify and not scheme.chooses_steps else None

    def run_of(trajectory: Trajectory, failure: str = "") -> Run:
        t, x, y, kept = trajectory.t, trajectory.x, trajectory.y, None
        names_x, names_y = system.names_x, system.names_y
        stopped = detection.stop or cut_off
        acted = tuple((change.t, change.label) for change in trajectory.acted if change.protects)
        if recording is not None:
            outcome = Outcome.of(detectors, criteria, recording.last_time, stopped, acted, failure)
            t, x, y, kept = recording.result(outcome)
            names_x, names_y = recording.names_x, recording.names_y
        made = tuple(sorted((*changes, *trajectory.acted), key=lambda change: change.t))
        certificate = before
        if certify and scheme.chooses_steps:
            # Of a run that keeps some of its points only, the steps are not known.
            whole = wanted is None or wanted.every == 1
            events_at = [change.t for change in made if change.t < t[-1]]
            steps = judged_steps(t, events_at) if whole else None
            certificate = _certify(system, scheme, any_size=any_size, steps=steps)
        return Run(
            t=t,
            x=x,
            y=y,
            names_x=names_x,
            names_y=names_y,
            name=system.name,
            scheme=scheme,
            events=events,
            instants=tuple((change.t, change.label) for change in made if change.label and change.t <= t[-1]),
            stopped=stopped,
            stats=Stats.of(trajectory.counters, scheme, system.n + system.m),
            certificate=certificate,
            units=units_of(system),
            system=system,
            changes=made,
            kept=kept,
            acted=acted,
            criteria=criteria,
            failure=failure,
        )

    try:
        with ExitStack() as files:
            if recording is not None:
                for path in recording.record.files:
                    recording.writers.append(
                        files.enter_context(table_writer(path, recording.names, transaction))
                    )
            trajectory = integrate(
                system,
                scheme,
                end,
                changes,
                start=start,
                every=all,
                progress=progress,
                partial=True,
                followers=followers,
                keep=recording is None,
                acting=acting or None,
            )
            _refuse_stop_at_start(detection.stop)
            if recording is not None:
                recording.finish()
    except PsmrError as error:
        reached, error.partial = error.partial, None
        if reached is not None:
            made = sorted((*changes, *reached.acted), key=lambda change: change.t)
            if recording is None:
                detect(Detection(system, made, detectors.all), reached.t, reached.x, reached.y)
            error.args = (f"{error}{_acted(reached.acted)}{_reason(detectors.findings())}",)
            error.partial = run_of(reached, str(error)) if partial else None
        raise
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


def _lost_with(system: System, name: str) -> tuple[str, ...]:
    """Return the devices of the plant that a device is part of; the device alone where it is of none."""
    return next((plant.devices for plant in plants(system).values() if name in plant.devices), (name,))


def _acted(changes: Sequence[Change]) -> str:
    """Return a sentence on the protection that acted before a failure, "" where none did."""
    words = [f"{change.label} (t = {change.t:.6g} s)" for change in changes if change.protects]
    return f" Protection had acted: {'; '.join(words)}." if words else ""


def _reason(findings: Sequence[Finding]) -> str:
    """Return a sentence on what was beyond a limit before a failure, "" where nothing was."""
    return f" Before that: {findings[0].sentence}" if findings else ""


def _refuse_stop_at_start(stop: Stop | None) -> None:
    """Raise InputError where a monitor would end the run before it has begun."""
    if stop is not None and stop.t <= 0:
        raise InputError(
            f"{stop} at t = 0: the run would end before it begins; give the monitor another limit, or leave "
            "it or the event out"
        )
