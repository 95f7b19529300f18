"""What is found out at each point of a sweep: outcomes of runs, damping, stability of the scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import InputError, StudyError
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.system import System
from psmr.network.dynamic.switching import doubts_on
from psmr.study.certificate.certificate import Certificate, Scheme, damping
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.controls import Controls
from psmr.study.detectors.converters import Slip
from psmr.study.detectors.detection import Monitor
from psmr.study.detectors.detector import Extreme
from psmr.study.events import Event
from psmr.study.outcome import judge_run
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate

if TYPE_CHECKING:
    from psmr.study.file.study import Study


class MeasureColumn(NamedTuple):
    """A column of the table: its name, what it holds, its unit and what it says."""

    name: str
    holds: Literal["number", "count", "text", "flag", "numbers"]
    unit: str
    doc: str


@dataclass(frozen=True, eq=False)
class Start:
    """The base of one run.

    `system` and `scheme` have the parameters and choices of the point; `t_end` is None where the study has no
    simulation. `certify` returns the certificate of the scheme on the system, computed once for all runs that
    share them; of a scheme that chooses its steps that at the steps of a run, where one is given. `labels`
    say what varied, by the columns of the row. `at` returns the system with more settings (`Setting`,
    `LoadGrowth`).
    """

    system: System
    scheme: Scheme
    events: tuple[Event, ...]
    monitors: tuple[Monitor, ...]
    t_end: float | None
    certify: Callable[[Run | None], Certificate]
    criteria: Criteria = USUAL
    labels: Mapping[str, Any] = field(default_factory=dict)
    at: Callable[[tuple[Any, ...]], System] | None = None

    def run(
        self,
        events: tuple[Event, ...] | None = None,
        monitors: tuple[Monitor, ...] = (),
        system: System | None = None,
    ) -> Run:
        """Simulate, with other events, further monitors or another system where given."""
        assert self.t_end is not None  # a measure that simulates has asked for it
        return simulate(
            system or self.system,
            self.scheme,
            self.t_end,
            self.events if events is None else events,
            certify=False,
            monitors=(*self.monitors, *monitors),
            criteria=self.criteria,
        )


class Measure(Protocol):
    """What every measure offers.

    Attributes
    ----------
    kind
        What a sweep file calls it.
    order
        The columns that order the rows, the worst first, and whether small is bad.
    shown
        The columns that a reader sees first.
    longest_fault
        For how long it lets the fault of a point last at most, in s, where it finds the clearing time itself;
        None where faults last as their axes say.
    columns
        What it fills, beside the labels, `run`, `status` and `message`.
    """

    kind: ClassVar[str]
    order: ClassVar[tuple[tuple[str, bool], ...]]
    shown: ClassVar[tuple[str, ...]]

    @property
    def longest_fault(self) -> float | None: ...  # noqa: D102
    @property
    def columns(self) -> tuple[MeasureColumn, ...]: ...  # noqa: D102

    def check(self, study: Study, events: bool) -> None:
        """Raise StudyError for a study that it cannot measure; `events` where an axis has some."""

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """Return the values of the columns, and the run whose signals are kept, if any."""


def needs_simulation(kind: str, study: Study) -> None:
    """Raise StudyError for a study without a simulation."""
    if study.t_end is None:
        raise StudyError(f"{kind} needs runs; add [simulation] with t_end (s)")


def refuses_events(kind: str, study: Study, events: bool) -> None:
    """Raise StudyError for a study with events, where nothing is simulated."""
    if events or study.events:
        raise StudyError(f"{kind} is about small motions at the start; leave the events out")


@dataclass(frozen=True)
class Outcomes:
    """A run at each point: outcome, certificate of the scheme on the system at its start, work."""

    kind: ClassVar[str] = "outcomes"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (
        ("lost_at", True),
        ("verdict", True),
        ("angle_spread", False),
        ("lowest_voltage", True),
        ("nadir", True),
    )
    shown: ClassVar[tuple[str, ...]] = (
        "synchronism", "lost_at", "lost_machines", "angle_spread", "lowest_voltage", "lowest_voltage_bus",
        "nadir", "verdict",
    )  # fmt: skip
    longest_fault: ClassVar[None] = None

    @property
    def columns(self) -> tuple[MeasureColumn, ...]:
        """See `Measure`."""
        return OUTCOME + CERTIFICATE + JUDGEMENT + WORK

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        needs_simulation(self.kind, study)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        run = start.run()
        certificate = start.certify(run)
        return {**_outcome(run), **certified(certificate), **_judged(run, certificate), **_work(run)}, run


OUTCOME = (
    MeasureColumn(
        "synchronism", "text", "", "kept, lost, or none where fewer than two sources have an angle"
    ),
    MeasureColumn("lost_at", "number", "s", "time at which synchronism was lost"),
    MeasureColumn(
        "lost_machines", "text", "", "the machines on the smaller side then, or the converter that slipped"
    ),
    MeasureColumn(
        "angle_spread", "number", "deg", "by how much two sources of an island moved apart since connected"
    ),
    MeasureColumn("angle_spread_at", "number", "s", "when that was"),
    MeasureColumn("lowest_voltage", "number", "pu", "lowest voltage of a bus without a fault at it"),
    MeasureColumn("lowest_voltage_bus", "text", "", "where that was"),
    MeasureColumn("lowest_voltage_at", "number", "s", "when that was"),
    MeasureColumn("low_voltage", "number", "s", "longest time without a break below 0.8 pu"),
    MeasureColumn("end_voltage", "number", "pu", "lowest voltage at the end"),
    MeasureColumn("end_voltage_bus", "text", "", "where that was"),
    MeasureColumn("nadir", "number", "Hz", "lowest frequency of a centre of inertia"),
    MeasureColumn("nadir_at", "number", "s", "when that was"),
    MeasureColumn("overshoot", "number", "Hz", "highest frequency of a centre of inertia"),
    MeasureColumn("dead_buses", "text", "", "buses without supply at the end or before"),
    MeasureColumn("load_lost", "number", "MW", "load that lost its supply with them"),
    MeasureColumn("limits", "count", "", "states that reached a limit"),
    MeasureColumn("collapsed_at", "number", "s", "time at which the voltage collapsed"),
    MeasureColumn("nose", "number", "s", "time at which the largest power of the loads was passed"),
    MeasureColumn("limited_machines", "text", "", "machines that reached a limit of excitation, in order"),
    MeasureColumn("load_shed", "number", "MW", "load that relays shed"),
    MeasureColumn("stopped", "text", "", "what ended the run early"),
    MeasureColumn("t_end", "number", "s", "end of the run"),
)

CERTIFICATE = (
    MeasureColumn("certificate", "text", "", "verdict on the scheme, or why there is none"),
    MeasureColumn("stable", "flag", "", "whether no numerical mode grows"),
    MeasureColumn("spectral_radius", "number", "", "largest magnitude of an eigenvalue of one step"),
    MeasureColumn("mode_real", "number", "1/s", "least damped oscillatory mode"),
    MeasureColumn("mode_imag", "number", "rad/s", "least damped oscillatory mode"),
    MeasureColumn("deformation", "number", "", "relative deformation of that mode by the scheme"),
)

JUDGEMENT = (
    MeasureColumn(
        "verdict", "text", "",
        "red, amber or green by the outcome and the accuracy check; the run itself is also judged by its "
        "estimated error and the system after its events, and may be amber where this is green",
    ),
    MeasureColumn("reason", "text", "", "the gravest thing for which it is not green"),
)  # fmt: skip

WORK = (
    MeasureColumn("steps", "count", "", "accepted steps"),
    MeasureColumn("rejected", "count", "", "steps that were tried and taken back"),
    MeasureColumn("iterations", "count", "", "Newton iterations"),
    MeasureColumn("factorisations", "count", "", "factorised matrices"),
    MeasureColumn("seconds", "number", "s", "wall time of the integration"),
)


def _outcome(run: Run) -> dict[str, Any]:
    outcome = run.outcome
    lost, controls = outcome.out_of_step, outcome.controls or Controls()
    synchronism = "lost" if lost is not None else "none" if outcome.machines < 2 else "kept"
    losers = () if lost is None else (lost.converter,) if isinstance(lost, Slip) else lost.first

    def of(extreme: Extreme | None, *names: str) -> dict[str, Any]:
        """Return value, place and time of an extreme under names, of which "" is left out."""
        found = (None,) * 3 if extreme is None else (extreme.value, extreme.place, extreme.t)
        return {name: part for name, part in zip(names, found, strict=False) if name}

    return {
        "synchronism": synchronism,
        "lost_at": None if lost is None else lost.t,
        "lost_machines": ", ".join(losers) or None,
        **of(outcome.angle_spread, "angle_spread", "", "angle_spread_at"),
        **of(outcome.lowest_voltage, "lowest_voltage", "lowest_voltage_bus", "lowest_voltage_at"),
        **of(outcome.low_voltage, "low_voltage"),
        **of(outcome.end_voltage, "end_voltage", "end_voltage_bus"),
        **of(outcome.nadir, "nadir", "", "nadir_at"),
        **of(outcome.overshoot, "overshoot"),
        "dead_buses": ", ".join(bus for part in outcome.interruptions for bus in part.buses) or None,
        "load_lost": sum(part.p_mw for part in outcome.interruptions),
        "limits": len(outcome.limits),
        "collapsed_at": None if outcome.collapse is None else outcome.collapse.t,
        "nose": run.nose,
        "limited_machines": ", ".join(controls.machines) or None,
        "load_shed": sum(one.mw for one in controls.shed),
        "stopped": None if outcome.stopped is None else str(outcome.stopped),
        "t_end": outcome.t_end,
    }


def certified(certificate: Certificate) -> dict[str, Any]:
    """Return the columns `CERTIFICATE` of a certificate."""
    mode = certificate.mode
    return {
        "certificate": certificate.verdict or certificate.note,
        "stable": certificate.stable,
        "spectral_radius": certificate.spectral_radius,
        "mode_real": None if mode is None else mode.real,
        "mode_imag": None if mode is None else mode.imag,
        "deformation": certificate.deformation,
    }


def _judged(run: Run, certificate: Certificate) -> dict[str, Any]:
    doubts = doubts_on(run.system, run.changes, run.scheme)
    judged = judge_run(run.outcome, (certificate,), doubts=doubts, nose=run.nose)
    reason = judged.reasons[0] if judged.reasons else None
    headline = run.outcome.out_of_step is not None or run.outcome.stopped is not None
    return {"verdict": judged.colour, "reason": judged.headline if headline else reason}


def _work(run: Run) -> dict[str, Any]:
    counters = run.stats.counters
    return {
        "steps": counters.steps,
        "rejected": counters.rejected,
        "iterations": sum(counters.newton_iterations.values()),
        "factorisations": sum(counters.factorisations_by_role.values()),
        "seconds": counters.seconds,
    }


@explains_keywords(StudyError)
@dataclass(frozen=True)
class Damping:
    """The least damped oscillatory mode of a band, and all others of it, of the linearised system.

    Parameters
    ----------
    from_hz, up_to_hz
        Frequencies that count.

    Raises
    ------
    StudyError
        For an invalid band.
    """

    from_hz: float = 0.05
    up_to_hz: float = 5.0

    kind: ClassVar[str] = "damping"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("damping_ratio", True),)
    shown: ClassVar[tuple[str, ...]] = (
        "damping_ratio",
        "frequency",
        "mode_real",
        "mode_imag",
        "dominant_state",
    )
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[MeasureColumn, ...]] = (
        MeasureColumn("damping_ratio", "number", "", "of the least damped oscillatory mode in the band"),
        MeasureColumn("frequency", "number", "Hz", "of that mode"),
        MeasureColumn("mode_real", "number", "1/s", "that mode"),
        MeasureColumn("mode_imag", "number", "rad/s", "that mode"),
        MeasureColumn("dominant_state", "text", "", "state of the largest participation factor in it"),
        MeasureColumn("growing", "count", "", "modes of any frequency that grow"),
        MeasureColumn("real", "numbers", "1/s", "all modes in the band, the least damped first"),
        MeasureColumn("imag", "numbers", "rad/s", "all modes in the band, the least damped first"),
    )

    def __post_init__(self) -> None:
        settle_fields(self, StudyError, numbers=True)
        if not (0 <= self.from_hz < self.up_to_hz < math.inf):
            raise StudyError(
                f"{self.kind}: from_hz = {self.from_hz!r}, up_to_hz = {self.up_to_hz!r}: must be a band of "
                "frequencies, the first >= 0 and below the second"
            )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        refuses_events(self.kind, study, events)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        table = modes(start.system.linearise())
        within = table["pair"] & table["frequency_hz"].between(self.from_hz, self.up_to_hz)
        band = table[within].sort_values("damping_ratio", kind="stable")
        values: dict[str, Any] = {
            "real": band["real"].tolist(),
            "imag": band["imag"].tolist(),
            "growing": int(table["grows"].sum()),
        }
        if len(band):
            least = band.iloc[0]
            values |= {
                "damping_ratio": float(least["damping_ratio"]),
                "frequency": float(least["frequency_hz"]),
                "mode_real": float(least["real"]),
                "mode_imag": float(least["imag"]),
                "dominant_state": str(least["dominant_state"]),
            }
        return values, None


@dataclass(frozen=True)
class Stability:
    """Stability of the scheme on the linearised system, and the deformation of its least damped mode."""

    kind: ClassVar[str] = "stability"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("spectral_radius", False), ("deformation", False))
    shown: ClassVar[tuple[str, ...]] = ("stable", "spectral_radius", "deformation", "damping_change")
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[MeasureColumn, ...]] = (
        *CERTIFICATE,
        MeasureColumn(
            "damping_change", "number", "", "damping ratio of that mode in the scheme less that of the system"
        ),
    )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        refuses_events(self.kind, study, events)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        certificate = start.certify(None)
        if certificate.stability is None:
            raise InputError(f"no accuracy check: {certificate.note}")
        both = certificate.mode, certificate.mode_numerical
        changed = None if None in both else damping(both[1]) - damping(both[0])  # type: ignore[arg-type]
        return {**certified(certificate), "damping_change": changed}, None
