"""What comes of a trial: the numbers, pass or fail, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psmr.acceptance.battery import Trial
from psmr.acceptance.bench import SOURCE
from psmr.base.arrays import Reals
from psmr.base.errors import SimulationError
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.system import System
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.impedance import impedance_scan
from psmr.study.events import SetPoint
from psmr.study.file.study import Study
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate
from psmr.sweep.measures import MeasureColumn, Start

BACK = 0.1
"""Part of the rating within which active power is back after a dip."""

STILL = 0.02
"""Part of the rating by which active power may still move in the last half second of a run."""

SWING, PERIODS, SETTLE = 1e-3, 8, 5.0
"""Of the scan: size of the source's swing, periods that are looked at, and the time before them in s."""

FINE, POINTS = 1e-7, 30
"""Of the scan: tolerance of a run, and least points in a period."""

AGREES = 0.01
"""Relative difference of the measured admittance from that of the linearised plant that passes."""

GROWS = 1e-3
"""Real part of a mode in 1/s above which a plant is unstable at rest."""

PASS, FAIL = "pass", "fail"


@dataclass(frozen=True)
class Acceptance:
    """The measure of a sweep over trials: what the plant did, pass or fail."""

    trials: tuple[Trial, ...]
    plant: str
    bus: str
    rating_mva: float

    kind: ClassVar[str] = "acceptance"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("verdict", True),)
    shown: ClassVar[tuple[str, ...]] = ("verdict", "why", "recovery", "v_least", "v_most")
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[MeasureColumn, ...]] = (
        MeasureColumn("verdict", "text", "", "pass or fail"),
        MeasureColumn("why", "text", "", "what decided, with the number"),
        MeasureColumn("recovery", "number", "s", "from when the voltage is back until active power is"),
        MeasureColumn("v_least", "number", "pu", "lowest voltage at the bus"),
        MeasureColumn("v_most", "number", "pu", "highest voltage at the bus"),
        MeasureColumn("p_end", "number", "pu", "active power at the end, of the rating"),
        MeasureColumn("q_end", "number", "pu", "reactive power at the end, of the rating"),
        MeasureColumn(
            "y", "numbers", "pu", "measured admittance dd, dq, qd, qq: real parts, imaginary parts"
        ),
        MeasureColumn("y_linear", "numbers", "pu", "that of the linearised plant"),
        MeasureColumn("seconds", "number", "s", "wall time of the integration"),
    )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        trial = next(t for t in self.trials if t.name == start.labels["trial"])
        if trial.kind == "scan":
            return self._scanned(trial, start), None
        scheme = start.scheme
        if trial.kind == "frequency" and isinstance(scheme, VariableStep):
            # The detector of slips asks that a bus turns less than half a turn between two points.
            scheme = replace(scheme, h_max=0.1 / abs(trial.level))
        try:
            run = simulate(start.system, scheme, trial.t_end, start.events, certify=False)
        except SimulationError as error:
            return {"verdict": FAIL, "why": f"the run failed: {error}"}, None
        found, why = self._numbers(run), _reasons(trial, run)
        recovery, late = self._recovery(trial, run)
        moving = np.ptp(_within(run, f"{self.plant}.p", run.t[-1] - 0.5)) / self.rating_mva
        why += late + ([f"active power still moves by {moving:.3g} pu"] if moving > STILL else [])
        said = "; ".join(why) or (f"active power back after {recovery:.3g} s" if recovery is not None else "")
        verdict = {"verdict": FAIL if why else PASS, "why": said, "recovery": recovery}
        return verdict | found, run

    def _numbers(self, run: Run) -> dict[str, Any]:
        v = run[f"{self.bus}.v"].to_numpy()
        end = {name: run[f"{self.plant}.{name}"].to_numpy()[-1] / self.rating_mva for name in ("p", "q")}
        extremes = {"v_least": float(v.min()), "v_most": float(v.max())}
        return (
            extremes
            | {f"{name}_end": float(value) for name, value in end.items()}
            | {"seconds": run.stats.counters.seconds}
        )

    def _recovery(self, trial: Trial, run: Run) -> tuple[float | None, list[str]]:
        """Return for how long active power was away after the voltage was back, and what is wrong with it."""
        v, p = (run[name].to_numpy() for name in (f"{self.bus}.v", f"{self.plant}.p"))
        away = (run.t >= trial.clears) & ((v < 0.9) | (v > 1.1))
        if away[-1]:
            return None, [f"the voltage is not back at the end, {v[-1]:.3g} pu"]
        if trial.kind not in ("dip", "swell") or trial.recovery is None:
            return None, []
        limit, clause = trial.recovery
        returned = float(run.t[away].max()) if away.any() else trial.clears
        late = (run.t >= returned) & (np.abs(p - p[0]) > BACK * self.rating_mva)
        recovery = float(run.t[late].max()) - returned if late.any() else 0.0
        words = f"active power back after {recovery:.3g} s, asked {limit:g} s ({clause})"
        return recovery, [words] if recovery > limit else []

    def _scanned(self, trial: Trial, start: Start) -> dict[str, Any]:
        """Return the admittance measured by swings of the source at a frequency, beside the linear one."""
        linear = impedance_scan(start.system, plant=self.plant_devices(start), bus=self.bus, f=[trial.level])
        assert linear.plant_admittance is not None
        phasors = []
        for swing in ("swing_d", "swing_q"):
            events = (SetPoint(SOURCE, "f_s", trial.level, 0.0), SetPoint(SOURCE, swing, SWING, 0.0))
            t_end = SETTLE + PERIODS / trial.level
            scheme = start.scheme
            if isinstance(scheme, VariableStep):
                scheme = replace(scheme, tolerance=FINE, h_max=1 / (POINTS * trial.level))
            try:
                run = simulate(start.system, scheme, t_end, events, certify=False)
            except SimulationError as error:
                return {"verdict": FAIL, "why": f"the run failed: {error}"}
            phasors.append(_phasors(run, self.bus, trial.level))
        v, i = (np.array(part).T for part in zip(*phasors, strict=True))
        measured, own = i @ np.linalg.inv(v), linear.plant_admittance[0]
        off = float(np.abs(measured - own).max() / np.abs(own).max())
        words = f"off by {100 * off:.2g} % of the linearised plant, allowed {100 * AGREES:g} %"
        both = {"y": measured, "y_linear": own}
        return {"verdict": PASS if off <= AGREES else FAIL, "why": words} | {
            name: [*y.real.ravel().tolist(), *y.imag.ravel().tolist()] for name, y in both.items()
        }

    def plant_devices(self, start: Start) -> tuple[str, ...]:
        """Return what stands on the plant's side of the bus."""
        return tuple(d.name for d in start.system.devices if d.name not in (SOURCE, self.bus))


def growth_at_rest(system: System) -> float:
    """Return the real part of the rightmost mode in 1/s, at least 0 for the free angle of the source.

    Of code that is sampled an eigenvalue between two samples says nothing: it is 0.
    """
    return 0.0 if system.samplers else float(modes(system.linearise())["real"].max())


def _within(run: Run, name: str, begin: float) -> Reals:
    return np.asarray(run[name].to_numpy()[run.t >= begin])


def _reasons(trial: Trial, run: Run) -> list[str]:
    """Return for what a plant fails: it has tripped, slipped or stopped."""
    outcome, asked = run.outcome, f" ({trial.clause})" if trial.clause else ""
    trips = [change for change in run.changes if any(act.kind == "trip" for act in change.acts)]
    why = [f"{change} at {change.t:.3g} s{asked}" for change in trips]
    why += [f"{slip.converter} lost the angle of its bus at {slip.t:.3g} s{asked}" for slip in outcome.slips]
    why += [f"stopped: {outcome.stopped}"] if outcome.stopped is not None else []
    return why


def _phasors(run: Run, bus: str, hertz: float) -> tuple[list[complex], list[complex]]:
    """Return the phasors of the voltage at a bus and of the current that the plant draws, in d and q.

    The axes are along and across the voltage at rest. Least squares over whole periods, with a constant.
    """
    assert run.system is not None
    base = run.system.device(SOURCE).parameters["s_base"]
    kept = run.t >= run.t[-1] - PERIODS / hertz
    v = run[f"{bus}.v_re"].to_numpy() + 1j * run[f"{bus}.v_im"].to_numpy()
    power = (run[f"{SOURCE}.p"].to_numpy() + 1j * run[f"{SOURCE}.q"].to_numpy()) / base
    along = np.exp(-1j * np.angle(v[0]))
    angle = 2 * np.pi * hertz * run.t[kept]
    design = np.column_stack([np.ones_like(angle), np.cos(angle), np.sin(angle)])
    found = []
    for signal in (v * along, np.conj(power / v) * along):
        parts = np.linalg.lstsq(design, np.column_stack([signal[kept].real, signal[kept].imag]), rcond=None)[
            0
        ]
        found.append((parts[1] - 1j * parts[2]).tolist())
    return found[0], found[1]
