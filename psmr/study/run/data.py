"""The data of a run: its points, what it was made of, and what follows from both."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.arguments import check_arguments
from psmr.base.errors import PsmrError
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import leaves_newton_tolerance
from psmr.integrate.timeline.past import DelayedInputs
from psmr.integrate.timeline.span import Change, Span
from psmr.network.signals.signals import Signals
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import USUAL, Criteria
from psmr.study.detectors.dead_parts import interruptions
from psmr.study.detectors.detection import Detection, Detectors, detect
from psmr.study.detectors.detector import Stop
from psmr.study.events import Event
from psmr.study.events.when import When
from psmr.study.outcome import Outcome
from psmr.study.record.dense_output import with_algebraic_solved
from psmr.study.record.record import PIECE, ReducedRecord
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
    failure: str = ""
    criteria: Criteria = USUAL

    def __post_init__(self) -> None:
        # A state that left the finite numbers must never look like a result.
        tables = [(self.x, self.names_x), (self.y, self.names_y)]
        if self.kept is not None:
            tables.append((self.kept.values, self.kept.names))
        own = {*self.names_x, *self.names_y}
        for table, names in tables:
            for first in range(0, len(table), PIECE):
                values = table[first : first + PIECE]
                if np.isfinite(values.sum()):
                    continue
                bad = ~np.isfinite(values)
                # A bus without a voltage has neither an angle nor a frequency, nor those of its island.
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
        return Outcome.of(detectors, self.criteria, t_end, self.stopped, self.acted, self.failure, parts)

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
