"""How much more load a system may have before a disturbance, so that it survives it: by bisection.

The loads grow ahead of the run, in the power flow, at constant power factor; its slack supplies the growth.
The secure operation limit is the largest load at which the run is stable. Source: T. Van Cutsem, C. Vournas,
Voltage Stability of Electric Power Systems (1998), section 9.2; IEEE PES-TR19 (2015), section 4 of the Nordic
system.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.errors import PowerFlowError, SimulationError, SingularError, StudyError
from psmr.devices.tap_changers import SteppedControl
from psmr.network.powerflow.adjustment import check_adjust
from psmr.network.topology.islands import sources_of
from psmr.study.detectors.detection import AngleSpread
from psmr.study.run.run import Run
from psmr.sweep.axes.axis import LoadGrowth, take_texts
from psmr.sweep.bisection import last_survivor
from psmr.sweep.measures import MeasureColumn, Start, needs_simulation

if TYPE_CHECKING:
    from psmr.study.file.study import Study


@explains_keywords(StudyError)
@dataclass(frozen=True)
class LoadMargin:
    """By how much loads can grow before a disturbance, so that the system is stable after it.

    It is not where synchronism is lost, the voltage collapses or passes the nose (`psmr.Run.nose`), a monitor
    ends the run, or there is no solution. Tap changers that the growth takes out of their dead bands and
    `adjust` leaves there move in the run: let the disturbance come when they have settled.

    Parameters
    ----------
    loads
        A bus with loads, ``"area 2"``, ``"zone 7"``, or a pattern of buses.
    step, most
        The margin is a multiple of `step`, up to `most`, both in MW.
    adjust
        Controls that the power flow moves into their bands as the loads grow, as in `psmr.read_case`.
    restored
        Whether each tap changer must have what it keeps within its dead band at the end of the run.

    Raises
    ------
    StudyError
        For powers that are no such numbers.
    """

    loads: int | str = "*"
    step: float = 25.0
    most: float = 1000.0
    adjust: tuple[str, ...] = ()
    restored: bool = False

    kind: ClassVar[str] = "load-margin"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("load_margin", True),)
    shown: ClassVar[tuple[str, ...]] = ("load_margin", "unstable_then")
    longest_fault: ClassVar[None] = None

    columns: ClassVar[tuple[MeasureColumn, ...]] = (
        MeasureColumn("load_margin", "number", "MW", "largest growth of load that was survived, 0 for none"),
        MeasureColumn("bounded", "flag", "", "whether a larger one that was tried is not"),
        MeasureColumn("unstable_then", "text", "", "what happens at the smallest growth that is not"),
        MeasureColumn("trials", "count", "", "runs of the bisection"),
    )

    def __post_init__(self) -> None:
        take_texts(self, "adjust")
        check_adjust(self.adjust)
        settle_fields(self, StudyError, numbers=True)
        if not (math.isfinite(self.most) and 0 < self.step <= self.most):
            raise StudyError(
                f"{self.kind}: step = {self.step:g}, most = {self.most:g}: must be powers in MW > 0, the"
                " first not above the second"
            )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        needs_simulation(self.kind, study)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        unstable: dict[int, str] = {}
        trials, kept = 0, None

        def survives(count: int) -> bool:
            nonlocal trials, kept
            trials += 1
            reason, run = self._tried(start, count * self.step)
            if reason:
                unstable[count] = reason
            else:
                kept = run
            return not reason

        most = math.floor(self.most / self.step * (1 + 1e-12))
        margin = last_survivor(most, survives) if survives(0) else 0
        then = unstable.get(0) or unstable.get(margin + 1)
        values = {"load_margin": margin * self.step, "bounded": then is not None}
        return {**values, "unstable_then": then, "trials": trials}, kept

    def _tried(self, start: Start, growth: float) -> tuple[str, Run | None]:
        """Return how a run with so many MW more is unstable, "" where it is not, and the run."""
        assert start.at is not None
        try:
            system = start.at((LoadGrowth(self.loads, growth, self.adjust),)) if growth else start.system
            turning = len(sources_of(system)) > 1
            monitors = (AngleSpread(start.criteria.angle_deg),) if turning else ()
            run = start.run(monitors=monitors, system=system)
        except PowerFlowError as error:
            return f"no power flow: {error}", None
        except (SimulationError, SingularError) as error:
            return f"no solution: {error}", None
        outcome = run.outcome
        if outcome.collapse is not None or outcome.out_of_step is not None or run.stopped is not None:
            return outcome.headline, run
        if run.nose is not None:
            return f"past the nose from t = {run.nose:.4g} s on", run
        return next(_unrestored(run), "") if self.restored else "", run


def _unrestored(run: Run) -> Iterator[str]:
    """Yield the tap changers that end outside their dead bands, in words."""
    system = run.system_at(float(run.t[-1]))
    for device in system.devices:
        if issubclass(device.component, SteppedControl):
            p, name = system.parameters_at(device.name), device.component.measured
            value = float(system.w0[system.index(f"{device.name}.{name}")])
            if abs(value - p[f"{name}_set"]) > p["half_band"]:
                yield f"not restored: {device.name}.{name} ends at {value:.4g}"
