"""The outcome of a run, its certificate and its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.network.dynamic.switching import doubts_on
from psmr.study.certificate.certificate import Certificate
from psmr.study.detectors.converters import Slip
from psmr.study.detectors.detector import Extreme
from psmr.study.outcome import judge_run
from psmr.study.run.run import Run
from psmr.sweep.measures.measure import Column, Start, needs_simulation

if TYPE_CHECKING:
    from psmr.study.file.study import Study


@dataclass(frozen=True)
class Outcomes:
    """A run at each point: outcome, certificate of the scheme on the system at its start, work."""

    kind: ClassVar[str] = "outcomes"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (
        ("lost_at", True),
        ("angle_spread", False),
        ("lowest_voltage", True),
        ("nadir", True),
    )
    shown: ClassVar[tuple[str, ...]] = (
        "synchronism", "lost_at", "lost_machines", "angle_spread", "lowest_voltage", "lowest_voltage_bus",
        "nadir", "colour",
    )  # fmt: skip
    longest_fault: ClassVar[None] = None

    @property
    def columns(self) -> tuple[Column, ...]:
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
    Column("synchronism", "text", "", "kept, lost, or none where fewer than two sources have an angle"),
    Column("lost_at", "number", "s", "time at which synchronism was lost"),
    Column(
        "lost_machines", "text", "", "the machines on the smaller side then, or the converter that slipped"
    ),
    Column("angle_spread", "number", "deg", "largest difference of two rotor angles in an island"),
    Column("angle_spread_at", "number", "s", "when that was"),
    Column("lowest_voltage", "number", "pu", "lowest voltage of a bus without a fault at it"),
    Column("lowest_voltage_bus", "text", "", "where that was"),
    Column("lowest_voltage_at", "number", "s", "when that was"),
    Column("low_voltage", "number", "s", "longest time without a break below 0.8 pu"),
    Column("end_voltage", "number", "pu", "lowest voltage at the end"),
    Column("end_voltage_bus", "text", "", "where that was"),
    Column("nadir", "number", "Hz", "lowest frequency of a centre of inertia"),
    Column("nadir_at", "number", "s", "when that was"),
    Column("overshoot", "number", "Hz", "highest frequency of a centre of inertia"),
    Column("dead_buses", "text", "", "buses without supply at the end or before"),
    Column("load_lost", "number", "MW", "load that lost its supply with them"),
    Column("limits", "count", "", "states that reached a limit"),
    Column("stopped", "text", "", "what ended the run early"),
    Column("t_end", "number", "s", "end of the run"),
)

CERTIFICATE = (
    Column("certificate", "text", "", "verdict on the scheme, or why there is none"),
    Column("stable", "flag", "", "whether no numerical mode grows"),
    Column("spectral_radius", "number", "", "largest magnitude of an eigenvalue of one step"),
    Column("mode_real", "number", "1/s", "least damped oscillatory mode"),
    Column("mode_imag", "number", "rad/s", "least damped oscillatory mode"),
    Column("deformation", "number", "", "relative deformation of that mode by the scheme"),
)

JUDGEMENT = (
    Column(
        "colour", "text", "",
        "red, amber or green by the outcome and the certificate; the run itself is also judged by its "
        "estimated error and the system after its events, and may be amber where this is green",
    ),
    Column("reason", "text", "", "the gravest thing for which it is not green"),
)  # fmt: skip

WORK = (
    Column("steps", "count", "", "accepted steps"),
    Column("rejected", "count", "", "steps that were tried and taken back"),
    Column("iterations", "count", "", "Newton iterations"),
    Column("factorisations", "count", "", "factorised matrices"),
    Column("seconds", "number", "s", "wall time of the integration"),
)


def _outcome(run: Run) -> dict[str, Any]:
    outcome = run.outcome
    lost = outcome.out_of_step
    synchronism = "lost" if lost is not None else "none" if outcome.machines < 2 else "kept"
    losers = () if lost is None else (lost.converter,) if isinstance(lost, Slip) else lost.first

    def value(extreme: Extreme | None) -> float | None:
        return None if extreme is None else extreme.value

    def when(extreme: Extreme | None) -> float | None:
        return None if extreme is None else extreme.t

    def bus(extreme: Extreme | None) -> str | None:
        return None if extreme is None else extreme.place

    return {
        "synchronism": synchronism,
        "lost_at": None if lost is None else lost.t,
        "lost_machines": ", ".join(losers) or None,
        "angle_spread": value(outcome.angle_spread),
        "angle_spread_at": when(outcome.angle_spread),
        "lowest_voltage": value(outcome.lowest_voltage),
        "lowest_voltage_bus": bus(outcome.lowest_voltage),
        "lowest_voltage_at": when(outcome.lowest_voltage),
        "low_voltage": value(outcome.low_voltage),
        "end_voltage": value(outcome.end_voltage),
        "end_voltage_bus": bus(outcome.end_voltage),
        "nadir": value(outcome.nadir),
        "nadir_at": when(outcome.nadir),
        "overshoot": value(outcome.overshoot),
        "dead_buses": ", ".join(bus for part in outcome.interruptions for bus in part.buses) or None,
        "load_lost": sum(part.p_mw for part in outcome.interruptions),
        "limits": len(outcome.limits),
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
    judged = judge_run(run.outcome, (certificate,), doubts=doubts)
    reason = judged.reasons[0] if judged.reasons else None
    headline = run.outcome.out_of_step is not None or run.outcome.stopped is not None
    return {"colour": judged.colour, "reason": judged.headline if headline else reason}


def _work(run: Run) -> dict[str, Any]:
    counters = run.stats.counters
    return {
        "steps": counters.steps,
        "rejected": counters.rejected,
        "iterations": sum(counters.newton_iterations.values()),
        "factorisations": sum(counters.factorisations_by_role.values()),
        "seconds": counters.seconds,
    }
