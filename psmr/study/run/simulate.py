"""A run from a system, a scheme and events: checked, certified, integrated; what is said where one fails."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import check_arguments
from psmr.base.errors import PsmrError, PsmrWarning, first_few, warn
from psmr.base.files import OutputTransaction
from psmr.dae.declare.component import Act
from psmr.dae.declare.device import Device
from psmr.dae.system.system import System
from psmr.devices.loads.zip import ExponentialLoad, ZipLoad
from psmr.integrate.run.integrate import integrate
from psmr.integrate.run.trajectory import Counters, Trajectory
from psmr.integrate.schemes.sampled import SampledMultirate
from psmr.integrate.schemes.scheme import damped_after_events
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.integrate.timeline.span import Change, Span
from psmr.network.dynamic.switching import dynamic_elements
from psmr.network.signals.signals import units_of
from psmr.network.topology.connections import system_at_start
from psmr.network.topology.islands import DeadParts
from psmr.network.topology.network import at_buses, bus_voltages, out_of_service
from psmr.sampled.code import messages_of
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.certificate.certify import certify as certified
from psmr.study.certificate.certify import foreseen, judged_steps
from psmr.study.criteria import Criteria
from psmr.study.detectors.dead_parts import Interruption, interruptions
from psmr.study.detectors.detection import Detection, Monitor, detect
from psmr.study.detectors.detector import Finding, names_of
from psmr.study.events import Event
from psmr.study.outcome import Outcome
from psmr.study.record.record import Record
from psmr.study.record.stats import Stats
from psmr.study.run.run import Run
from psmr.study.run.set_up import Setup, check_size, refuse_number_as_scheme, refuse_unknown_keywords, set_up

LOW = 0.9
"""Voltage in pu below which a load of constant power is named."""
SHOWN = 4


def constant_power_at_low_voltage(system: System, x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Return a sentence on loads of constant power at buses of low voltage, "" where there are none.

    `system`, `x`, `y`: the system, and its (n,) states and (m,) algebraic variables at the last point that
    was reached.
    """
    if (len(x), len(y)) != (system.n, system.m):
        return ""
    out = out_of_service(system)
    found = [
        (float(v), load.name)
        for v, devices in zip(np.hypot(*bus_voltages(system, x, y)), at_buses(system).values(), strict=True)
        for load in devices
        if v < LOW and load.name not in out and _constant_power(load)
    ]
    if not found:
        return ""
    found.sort()
    words = first_few([f"{name} at {v:.3f} pu" for v, name in found], SHOWN)
    return (
        f" Loads of constant power are at low voltage there ({words}): the lower the voltage, the more"
        ' current they draw, and beyond a fold there is no solution. Take loads = "impedance", or a share of'
        " it, if that is not what they are."
    )


def _constant_power(load: Device) -> bool:
    """Return whether the current of a load grows as the voltage falls."""
    p = load.parameters
    if issubclass(load.component, ZipLoad):
        return bool((p["p_p"] and p["p"]) or (p["q_p"] and p["q"]))
    if issubclass(load.component, ExponentialLoad):
        return p["exponent_p"] < 1 or p["exponent_q"] < 1
    return False


# A solution that is resolved turns back on itself at a few kinks at most, not at every tenth step.
CHATTER = 0.1


def run_of(setup: Setup, trajectory: Trajectory, certificate: Certificate | None, failure: str = "") -> Run:
    """Return the run that a trajectory is.

    `certificate`: what the pencil says of the scheme; where it chooses its steps, that follows from those it
    took; `failure`: what the run failed by; "" of one that came to its end.
    """
    system, recording = setup.system, setup.recording
    t, x, y, kept = trajectory.t, trajectory.x, trajectory.y, None
    taken = t
    names_x, names_y = system.names_x, system.names_y
    acted = tuple((change.t, change.label) for change in trajectory.acted if change.protects)
    first, end = (x[0], y[0]), float(t[-1]) if recording is None else recording.last_time
    spans = trajectory.spans if recording is None else recording.spans()
    parts = interruptions(system, spans, first)
    if recording is not None:
        outcome = Outcome.of(
            setup.detectors, setup.criteria, end, setup.stopped, acted, failure, parts, spans
        )
        t, x, y, kept = recording.result(outcome)
        taken = kept.taken
        names_x, names_y = recording.names_x, recording.names_y
    if setup.certify and setup.scheme.step_choice is not None:
        scheme = setup.scheme.after(trajectory.counters.by_order)
        events = [span.t for span in spans if span.changes]
        certificate = _certificate_of_steps(setup, scheme, taken, events)
    return Run(
        t=t,
        x=x,
        y=y,
        names_x=names_x,
        names_y=names_y,
        name=system.name,
        scheme=setup.scheme,
        events=setup.events,
        instants=_instants(system, spans, parts),
        stopped=setup.stopped,
        stats=Stats.of(trajectory.counters, setup.scheme, system.n + system.m),
        certificate=certificate,
        units=units_of(system),
        system=system,
        timeline=spans,
        kept=kept,
        acted=acted,
        turns=trajectory.turns,
        criteria=setup.criteria,
        failure=failure,
    )


def explain_failure(setup: Setup, error: PsmrError, certificate: Certificate | None, partial: bool) -> None:
    """Add to an error what had happened before it, and the run up to it where that is wanted.

    `error`: what the integration failed by, with the trajectory up to there; `certificate`: as in `run_of`;
    `partial`: whether `partial` of the error becomes the run.
    """
    reached, error.partial = error.partial, None
    if reached is None:
        return
    if setup.recording is None:
        detection = Detection(setup.system, setup.detectors.all)
        detect(detection, reached.spans, reached.t, reached.x, reached.y)
    loads = (
        constant_power_at_low_voltage(setup.system, reached.x[-1], reached.y[-1]) if len(reached.y) else ""
    )
    more = f"{loads}{_acted(reached.acted)}{_reason(setup.detectors.findings())}"
    if setup.certify:
        more += foreseen(setup.system, setup.scheme, certificate)
    error.args = (f"{error}.{more}" if more and not str(error).endswith(".") else f"{error}{more}",)
    error.partial = run_of(setup, reached, certificate, str(error)) if partial else None


def warn_of_counters(counters: Counters, scheme: Scheme) -> None:
    """Warn of jumps to another solution and of steps that chatter."""
    if counters.jumped_at:
        warnings.warn(
            "the algebraic variables jumped to another solution at t = "
            f"{', '.join(f'{t:.6g}' for t in counters.jumped_at)} s, since the one that was followed had "
            "ended: a voltage collapse looks like this",
            PsmrWarning,
            stacklevel=3,
        )
    if counters.chatter > CHATTER:
        warnings.warn(
            f"{100 * counters.chatter:.0f} % of the steps turned back on the step before: the run chatters "
            f"about a slow manifold that its steps are too long for. Scheme: {scheme}; take a smaller h, a "
            "tighter tolerance, or an implicit scheme",
            PsmrWarning,
            stacklevel=3,
        )


def _instants(
    system: System, spans: Sequence[Span], parts: Sequence[Interruption]
) -> tuple[tuple[float, str], ...]:
    """Return (time in s, words) of what happened up to the end: changes, and parts that died of them.

    Moves of taps and shunts are one line of each kind; a limiter is listed when it first takes over, and when
    it first lets go.
    """
    found, known = [], set[Act]()
    moves: dict[str, list[tuple[float, str]]] = {}
    for last, now in itertools.pairwise(spans):
        for change in now.changes:
            for act in change.acts:
                moves.setdefault(act.kind, []).append((now.t, act.device))
            if change.label and not _is_routine(change, known):
                found.append((now.t, change.label + _without_effect(system, change, last, now)))
            known.update(change.acts)
    for kind, one, more in (
        ("tap", "tap changer moves", "tap changers move"),
        ("shunt", "shunt is switched", "shunts are switched"),
    ):
        if made := moves.get(kind):
            count = len({device for _, device in made})
            words = f"{count} {one if count == 1 else more} {len(made)} times, up to t = {made[-1][0]:.4g} s"
            found.append((made[0][0], words))
    found += [(part.t, part.what) for part in parts]
    ended = [(part.until, part.buses) for part in parts if part.until is not None]
    found += [(until, f"{names_of(there)} supplied again") for until, there in ended]
    return tuple(sorted(found, key=lambda instant: instant[0]))


def _is_routine(change: Change, known: Collection[Act]) -> bool:
    """Return whether a change is moves of taps and shunts, decisions of areas, and limiters that repeat."""
    if change.causes or change.protects or not change.acts:
        return False
    return all(
        act.kind in ("tap", "shunt", "area") or (act.kind == "limiter" and act in known)
        for act in change.acts
    )


def _without_effect(system: System, change: Change, last: Span, now: Span) -> str:
    """Return words on a change of what is dead, or to what is so already; "" of one with an effect."""
    if bool(_devices_of(change)) and _devices_of(change) <= last.out & now.out:
        return " (without effect: it is dead)"
    others = (change.inputs, change.out, change.rates, change.courses, change.states, change.back)
    if change.parameters and not any(others):
        places = [(system.parameter_place(device, name), value) for device, name, value in change.parameters]
        if all(last.parameters[group][row, column] == value for (group, row, column), value in places):
            return " (without effect: it is so already)"
    return ""


def _devices_of(change: Change) -> frozenset[str]:
    """Return the devices that a change sets something of, or takes out."""
    named = (name for name, _ in (*change.inputs, *change.rates, *change.courses, *change.states))
    values = (device for device, _, _ in change.parameters)
    return frozenset([*values, *(name.rpartition(".")[0] for name in named), *change.out, *change.back])


def _certificate_of_steps(
    setup: Setup, scheme: Scheme, taken: NDArray[np.float64], events: Iterable[float]
) -> Certificate:
    """Return the certificate of a scheme at the steps that were taken; (K,) times in s."""
    end = float(taken[-1])
    steps = judged_steps(taken, [event for event in events if event < end])
    return certified(
        system_at_start(setup.system),
        scheme,
        any_size=setup.certify == "always",
        steps=steps,
        t_end=end,
    )


def _acted(changes: Sequence[Change]) -> str:
    """Return a sentence on the protection that acted before a failure, "" where none did."""
    words = [f"{change.label} (t = {change.t:.6g} s)" for change in changes if change.protects]
    return f" Protection had acted: {'; '.join(words)}." if words else ""


def _reason(findings: Sequence[Finding]) -> str:
    """Return a sentence on what was beyond a limit before a failure, "" where nothing was."""
    return f" Before that: {findings[0].sentence}" if findings else ""


def simulate(
    system: System,
    scheme: Scheme | None = None,
    t_end: float | None = None,
    events: Iterable[Event] = (),
    start: tuple[ArrayLike, ...] | None = None,
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
    **unknown: Never,
) -> Run:
    """Simulate a system from t = 0 to `t_end`.

    Parameters
    ----------
    system
        The DAE, at its equilibrium.
    scheme
        `VariableStep`, `QuasiSteadyState`, `SampledMultirate`, `SingleRate`, `Multirate`, `Smes`,
        `SlowManifold`, `ArcLength` or `Adaptive`; where left out `VariableStep` with its usual tolerance,
        and where something samples `SampledMultirate`.
    t_end
        Length of the run in s; it must be given.
    events
        `Fault`, `LoadTrip`, `LoadRamp`, `LineTrip`, `LineClose`, `OpenPhases`, `GeneratorTrip`,
        `ShuntSwitch`, `SetPoint`, `ParameterStep`, `TimeSeries`, `When`; checked together before the run.
    start
        (x, y), (n,) states and (m,) algebraic variables, instead of the equilibrium; y is made consistent
        with x. (x, y, sampled): (s,) values of what samples write as well, as in `Run.sampled`.
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
        Go on where the run is estimated to take more memory, disk or time than `psmr.study.run.set_up`
        allows.
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
    refuse_unknown_keywords(unknown, simulate)
    refuse_number_as_scheme(scheme, t_end)
    check_arguments(simulate, locals(), leaving=("t_end",))
    if scheme is None:
        scheme = SampledMultirate() if system.samplers else VariableStep()
    if dynamic_elements(system):
        scheme = damped_after_events(scheme)
    setup = set_up(system, scheme, t_end, events, start, monitors, record, every, criteria, certify)
    if not large:
        check_size(setup.system, setup.scheme, setup.t_end, setup.record, all)
    certificate = None
    if certify and scheme.step_choice is None:
        certificate = certified(system, scheme, any_size=certify == "always", t_end=setup.end)
    said = messages_of(setup.system.devices)
    try:
        with setup.files(transaction):
            trajectory = integrate(
                setup.system,
                setup.scheme,
                setup.end,
                setup.changes,
                start=setup.start,
                every=all,
                progress=progress,
                partial=True,
                followers=setup.followers,
                keep=setup.recording is None,
                acting=setup.actions,
                service=DeadParts(setup.system),
            )
    except PsmrError as error:
        explain_failure(setup, error, certificate, partial)
        raise
    finally:
        for words in messages_of(setup.system.devices)[len(said) :]:
            warn(words)
    warn_of_counters(trajectory.counters, scheme)
    return run_of(setup, trajectory, certificate)
