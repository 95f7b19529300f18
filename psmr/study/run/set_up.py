"""What a run is carried out with beside its system and scheme, and how large it will be: before any step."""

from __future__ import annotations

import functools
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from psmr.base.arguments import positive_number, unknown_keyword
from psmr.base.errors import InputError, PsmrWarning, SchemeError, shown
from psmr.base.files import OutputTransaction
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.placement import placement
from psmr.integrate.run.actions import Actions
from psmr.integrate.run.recorder import available_memory, bytes_text
from psmr.integrate.run.trajectory import Follower
from psmr.integrate.schemes.scheme import Scheme, oscillates, smallest_step
from psmr.integrate.timeline.span import Change
from psmr.network.dynamic.switching import (
    dynamic_elements,
    events_outside,
    faults_left_undamped,
    oscillating_faults,
    unbalance_beside_phasors,
    zero_elements,
    zero_statuses,
)
from psmr.network.sequence.impedances import warn_of_assumptions
from psmr.network.sequence.unbalance import Values, dependent_admittances
from psmr.network.start.tap_changers import following_taps, has_tap_changers
from psmr.network.topology.islands import plants
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.dead_parts import dead_part
from psmr.study.detectors.detection import MONITORS, Detection, Detectors, Island, Monitor
from psmr.study.detectors.detector import Detector, Stop
from psmr.study.events import Event
from psmr.study.events.generator import Connected, Synchronisation
from psmr.study.events.schedule import plan_events
from psmr.study.output import table_writer
from psmr.study.record.record import Record
from psmr.study.record.reintegrate import Samples
from psmr.study.record.signal_recorder import SignalRecorder
from psmr.study.run.dependent_changes import ChangeAtPoint, Waiting

Dependent = Callable[[System, Collection[str]], Values]

_STEP = 'the step belongs to the scheme, for instance scheme=psmr.SingleRate("TM", h={value!r})'
_END = "t_end={value!r} is the length of the run in s"
_START = "start=(x, y) sets the first point"

MEANT: Mapping[str, str] = {
    "memory": "record=psmr.Record(memory={value!r}) bounds the memory of what is kept, in MiB",
    "files": "record=psmr.Record(files={value!r}) writes files while the run goes",
    "signals": "record={value!r} keeps these signals; the others are not kept",
    "tolerance": "the tolerance belongs to the scheme, scheme=psmr.VariableStep(tolerance={value!r})",
    "method": "the method belongs to the scheme, for instance scheme=psmr.SingleRate({value!r}, h=0.005)",
    **dict.fromkeys(("h", "dt", "step", "step_size"), _STEP),
    **dict.fromkeys(("tend", "t_stop", "tstop", "tf", "end", "duration", "until", "time"), _END),
    **dict.fromkeys(("x0", "y0"), _START),
}
"""What a keyword that a run does not have was meant to say, as one writes it."""


def refuse_unknown_keywords(unknown: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raise InputError for keywords that a function does not have, with what was meant."""
    for name, value in unknown.items():
        raise InputError(unknown_keyword(function, name, unknown, MEANT.get(name, "").format(value=value)))


def refuse_number_as_scheme(scheme: object, t_end: object) -> None:
    """Raise SchemeError where the length of a run was handed over as its scheme."""
    if isinstance(scheme, int | float) and t_end is None:
        raise SchemeError(f"scheme = {shown(scheme)}: must be a scheme; write t_end= for the length of a run")


def checked_start(start: tuple[ArrayLike, ...] | None) -> tuple[ArrayLike, ...] | None:
    """Return (x, y) or (x, y, sampled), or None for the equilibrium; raise InputError for what is neither."""
    if start is None:
        return None
    given = tuple(start)
    if len(given) not in (2, 3):
        raise InputError(
            "start: must be two arrays, (x, y), with what samples had written three, (x, y, sampled), or "
            "left out for the equilibrium"
        )
    return given


def checked_monitors(monitors: Iterable[Monitor], t_end: float) -> tuple[Monitor, ...]:
    """Return the monitors of a run to t_end (s); raise InputError for what is none or has no effect."""
    if not isinstance(monitors, Iterable):
        raise InputError(
            f"monitors: {monitors!r} is not a list of monitors; write [monitor] for a single one"
        )
    monitors = tuple(monitors)
    for monitor in monitors:
        if isinstance(monitor, type) or not callable(getattr(monitor, "detector", None)):
            *others, last = (f"psmr.{kind.__name__}" for kind in MONITORS.values())
            raise InputError(f"{monitor!r} is not a monitor; use {', '.join(others)} or {last}")
        duration = getattr(monitor, "duration", 0.0)
        if duration > t_end:
            raise InputError(
                f"monitor {monitor}: duration = {duration:g} s is longer than the run, t_end = {t_end:g} s, "
                "so that it could never end it; take a shorter duration or a longer run"
            )
    return monitors


@dataclass(frozen=True, eq=False)
class Setup:
    """The events of a run, what follows its points, and what is kept of them.

    `system`, `scheme`: What is simulated, and how.
    `t_end`: Length of the run in s, as asked for.
    `end`: Time in s up to which it is integrated: earlier than `t_end` where the events cut off a part.
    `cut_off`: What cuts off a part then.
    `start`: (x, y) in place of the equilibrium.
    `events`, `changes`: What was asked for, and what the events do, in order of time up to `end`.
    `actions`: What devices do by themselves; None where none does.
    `criteria`: By what the run is judged.
    `seeing`: What finds what was beyond them as the points come, of a run that does not keep every point.
    `detection`: The detectors and monitors that see every point as it comes.
    `recording`: What keeps a part of the points; None of a run that keeps every point whole.
    `certify`: Whether there is a certificate; ``"always"``: at any size.
    """

    system: System
    scheme: Scheme
    t_end: float
    end: float
    cut_off: Stop | None
    start: tuple[ArrayLike, ...] | None
    events: tuple[Event, ...]
    changes: tuple[Change, ...]
    actions: Actions | None
    criteria: Criteria
    seeing: Detectors | None
    detection: Detection
    recording: SignalRecorder | None
    certify: bool | Literal["always"]

    @functools.cached_property
    def detectors(self) -> Detectors:
        """What finds what was beyond the criteria."""
        return self.seeing or Detectors.of(self.system, self.criteria, self.end)

    @property
    def record(self) -> Record | None:
        """What was asked to be kept; None for every point whole."""
        return None if self.recording is None else self.recording.record

    @property
    def followers(self) -> tuple[Follower, ...]:
        """What sees the points while they come."""
        if self.recording is not None:
            return self.detection, self.recording
        return (self.detection,) if self.detection.ends else ()

    @property
    def stopped(self) -> Stop | None:
        """What ended the run before its time."""
        return self.detection.stop or self.cut_off

    @contextmanager
    def files(self, transaction: OutputTransaction | None) -> Iterator[None]:
        """Write the files of the record while the points come; they appear when all went well."""
        with ExitStack() as files:
            if self.recording is not None:
                for path in self.recording.record.files:
                    writer = table_writer(path, self.recording.names, transaction)
                    self.recording.writers.append(files.enter_context(writer))
            yield
            _refuse_stop_at_start(self.detection.stop)
            if self.recording is not None:
                self.recording.finish()


def set_up(
    system: System,
    scheme: Scheme,
    t_end: float | None,
    events: Iterable[Event],
    start: tuple[ArrayLike, ...] | None,
    monitors: Iterable[Monitor],
    record: Record | str | Iterable[str] | None,
    every: int | None,
    criteria: Criteria | None,
    certify: bool | Literal["always"],
) -> Setup:
    """Return what a run is carried out with; the arguments are those of `psmr.simulate`.

    Raises InputError for a length, event, monitor, record or starting point that is wrong or cannot be met.
    """
    t_end = positive_number("t_end", t_end)
    start = checked_start(start)
    events = tuple(events)
    monitors = checked_monitors(monitors, t_end)
    for sampler in system.samplers:
        if sampler.period > t_end:
            raise InputError(
                f"{sampler.device} samples every {sampler.period:g} s, and the run ends at {t_end:g} s: its "
                "samples would do nothing; take a longer run, or a shorter period (in s)"
            )
    islanding = any(isinstance(monitor, Island) for monitor in monitors)
    plan, before = plan_events(system, events, t_end), system
    if plan.system is not before:
        system = plan.system
        scheme, start = _widened(scheme, system), _extended(start, system, before)
    changes = tuple(change for change in plan.scheduled if not isinstance(change, Synchronisation))
    if dynamic_elements(system):
        _warn_of_region(system, changes, scheme)
    end, cut_off = t_end, None
    if islanding and (cut_off := dead_part(system, changes)) is not None:
        end, changes = cut_off.t, tuple(change for change in changes if change.t < cut_off.t)
        _refuse_stop_at_start(cut_off)
    if plan.unbalanced:
        warn_of_assumptions(system)
    unequal = plan.unbalanced or plan.along_lines or _relays_open_branches(system)
    respond: Dependent | None = dependent_admittances if unequal else None
    if zero_elements(system):
        respond = _with_zero_sequence(respond)
    if has_tap_changers(system):
        respond = _with_taps(respond)
    ahead = [change for change in plan.scheduled if plan.depends_on_run(change)]
    known = [change for change in plan.scheduled if not plan.depends_on_run(change)]
    connected = Connected(system)
    actions = Actions(
        system,
        partial(_lost_with, system),
        respond,
        [Waiting(plan, each, connected) for each in plan.conditional],
        [change for change in ahead if change.t < end],
        ChangeAtPoint(plan, connected),
    )
    wanted = Record.of(record, every)
    criteria = USUAL if criteria is None else criteria
    recording, while_it_goes, detectors = None, tuple[Detector, ...](), None
    if wanted is not None:
        samples, detectors = Samples(system), Detectors.of(system, criteria, end)
        while_it_goes = *detectors.all, samples
        recording = SignalRecorder(system, wanted, samples, scheme)
    detection = Detection(system, while_it_goes, monitors, islanding and bool(actions))
    return Setup(
        system=system,
        scheme=scheme,
        t_end=t_end,
        end=end,
        cut_off=cut_off,
        start=start,
        events=events,
        changes=tuple(change for change in known if cut_off is None or change.t < end),
        actions=actions or None,
        criteria=criteria,
        seeing=detectors,
        detection=detection,
        recording=recording,
        certify=certify,
    )


@cached_by_devices
def _relays_open_branches(system: System) -> bool:
    """Return whether there are devices that open branches."""
    return any(placement(group.compiled.component).acts_on == "branch" for group in system.groups)


def _warn_of_region(system: System, changes: Sequence[Change], scheme: Scheme) -> None:
    """Warn of changes that a region with dynamics of the network, or a scheme, does not show as they are."""
    if unequal := unbalance_beside_phasors(system, changes):
        warnings.warn(unequal, PsmrWarning, stacklevel=4)
    if outside := events_outside(system, changes):
        warnings.warn(
            f"{outside}. The offsets of the currents that such an event leaves live in all lines and stators"
            " between it and the sources; what is a phasor answers at once and without them, so that a region"
            " chosen by modes does not make this event right. Let the region reach from the event to the"
            " sources near it for the first cycles",
            PsmrWarning,
            stacklevel=4,
        )
    if swinging := oscillating_faults(system, changes):
        warnings.warn(swinging, PsmrWarning, stacklevel=4)
    if oscillates(scheme) and (undamped := faults_left_undamped(system, changes, smallest_step(scheme))):
        warnings.warn(undamped, PsmrWarning, stacklevel=4)


def _widened(scheme: Scheme, system: System) -> Scheme:
    """Return a scheme for a system with more variables for its events, which are fast."""
    split = getattr(scheme, "split", None)
    if split is None:
        return scheme
    wider: dict[str, Any] = {}
    for kind in "xyg":
        before, names = getattr(split, f"names_{kind}"), getattr(system, f"names_{kind}")
        fast = dict(zip(before, getattr(split, f"fast_{kind}"), strict=True))
        wider |= {f"fast_{kind}": np.array([fast.get(n, True) for n in names]), f"names_{kind}": names}
    return replace(scheme, split=replace(split, **wider))  # type: ignore[type-var]  # schemes are dataclasses


def _extended(
    start: tuple[ArrayLike, ...] | None, system: System, before: System
) -> tuple[ArrayLike, ...] | None:
    """Return a starting point with more variables for events, which begin at zero."""
    if start is None or (np.shape(start[0]), np.shape(start[1])) != ((before.n,), (before.m,)):
        return start
    known = dict(zip((*before.names_x, *before.names_y), np.concatenate(start[:2]), strict=True))
    x, y = (np.array([known.get(n, 0.0) for n in names]) for names in (system.names_x, system.names_y))
    return x, y, *start[2:]


def _with_zero_sequence(respond: Dependent | None) -> Dependent:
    """Return what follows from the parameters of a system, the statuses of its zero sequence among them."""

    def found(system: System, out: Collection[str]) -> Values:
        return (*(respond(system, out) if respond else ()), *zero_statuses(system, out))

    return found


def _with_taps(respond: Dependent | None) -> Dependent:
    """Return what follows from the parameters of a system, from its taps first."""

    def found(system: System, out: Collection[str]) -> Values:
        own = following_taps(system, out)
        moved = system.with_values(own) if own else system
        return (*own, *(respond(moved, out) if respond else ()))

    return found


def _lost_with(system: System, name: str) -> tuple[str, ...]:
    """Return the devices of the plant that a device is part of; the device alone where it is of none."""
    return next((plant.devices for plant in plants(system).values() if name in plant.devices), (name,))


def _refuse_stop_at_start(stop: Stop | None) -> None:
    """Raise InputError where a monitor would end the run before it has begun."""
    if stop is not None and stop.t <= 0:
        raise InputError(
            f"{stop} at t = 0: the run would end before it begins; give the monitor another limit, or leave "
            "it or the event out"
        )


# Seconds of computing per fast step and unknown, about: 63 unknowns of WSCC-9 take 30 us a step.
SECONDS = 0.5e-6
# A run that is estimated to take longer is asked about.
LONGEST = 7 * 86_400.0
# Text of a number in a CSV file in bytes, and its share of memory where it is kept.
CSV, REAL = 20, 8
# Of what is free this share may be taken.
SHARE = 0.9


@dataclass(frozen=True)
class Size:
    """Estimates of a run.

    `steps`: Fast steps, the corrections of macro steps counted.
    `points`: Points that are kept.
    `memory`, `disk`: Bytes of points in memory, and in files and the folder for temporary files.
    `seconds`: Time of computing in s, to an order of magnitude.
    `least`: Whether the run may have more steps than these: its error chooses them, and a longest step is
      known.
    """

    steps: float
    points: float
    memory: float
    disk: float
    seconds: float
    least: bool = False

    def __str__(self) -> str:
        least = "at least " if self.least else ""
        return (
            f"{least}{self.steps:.3g} steps and {self.points:.3g} points: about {bytes_text(self.memory)} of "
            f"memory, {bytes_text(self.disk)} of disk, {duration_text(self.seconds)}"
        )


def size_of(system: System, scheme: Scheme, t_end: float, record: Record | None, all: bool) -> Size:
    """Return the estimates of a run; of steps that the error chooses those that it must have at least."""
    chosen, two_rates = scheme.step_choice, scheme.two_rates
    macro_steps = t_end / (scheme.step if chosen is None else chosen.longest)
    ratio = 1.0 if two_rates is None else float(two_rates.ratio)
    steps = macro_steps * ratio * float(getattr(scheme, "passes", 1))
    points = macro_steps * (ratio if all else 1.0)
    width, memory, disk = 1.0 + system.n + system.m + system.s, 0.0, 0.0
    if record is None:
        memory = REAL * width * points
    else:
        points /= record.every
        kept = REAL * width * points
        memory = min(kept, record.memory * 2.0**20)
        disk = (kept if kept > memory else 0.0) + len(record.files) * CSV * width * points
    return Size(steps, points, memory, disk, SECONDS * steps * (width - 1.0), chosen is not None)


def check_size(system: System, scheme: Scheme, t_end: float, record: Record | None, all: bool) -> None:
    """Refuse a run that is larger than the machine, with the estimate and what makes it smaller.

    Raises InputError for more memory or disk than is free, more than a week of computing, and more steps than
    the scheme is allowed.
    """
    size = size_of(system, scheme, t_end, record, all)
    allowed = getattr(scheme, "most_steps", math.inf)
    if size.steps > allowed:
        raise InputError(
            f"the run is too large: {size}; the scheme is allowed most_steps = {allowed:,}. Take a longer "
            "h_max (longest) or a shorter run, or allow more steps"
        )
    for what, remedy in _objections(size, record):
        raise InputError(
            f"the run is too large: {size}; {what}. {remedy}, or go on all the same with large=True (--yes)"
        )


def _objections(size: Size, record: Record | None) -> Iterator[tuple[str, str]]:
    free = available_memory() if size.memory > 0 else None
    if free is not None and size.memory > SHARE * free:
        yield (
            f"{bytes_text(free)} of memory are free",
            "Record fewer signals or every k-th step (record, every)",
        )
    file = Path(record.files[0] if record and record.files else tempfile.gettempdir()).resolve()
    folder = next(place for place in (file, *file.parents) if place.is_dir())
    if size.disk > 0 and size.disk > SHARE * shutil.disk_usage(folder).free:
        yield (
            f"{bytes_text(shutil.disk_usage(folder).free)} are free in {folder}",
            "Record fewer signals or every k-th step (record, every)",
        )
    if size.seconds > LONGEST:
        yield f"more than {duration_text(LONGEST)}", "Take a longer step or a shorter run"


def duration_text(seconds: float) -> str:
    """Return a time in s in the unit that suits it."""
    for least, unit in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= least:
            return f"{seconds / least:.3g} {unit}"
    return f"{seconds:.3g} s"
