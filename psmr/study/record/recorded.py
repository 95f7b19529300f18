"""What plots and reports read of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from numpy.typing import ArrayLike, NDArray

from psmr.dae.system.system import System
from psmr.integrate.run.trajectory import Change
from psmr.network.signals.signals import Signals
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import Criteria
from psmr.study.detectors.finding import Stop
from psmr.study.events import Event
from psmr.study.events.spans import Span
from psmr.study.outcome.global_error import GlobalError
from psmr.study.outcome.judgement import Judgement
from psmr.study.outcome.outcome import Outcome
from psmr.study.record.reduced_record import ReducedRecord
from psmr.study.record.stats import Stats


class Recorded(Protocol):
    """The fields of `psmr.study.run.run.Run` that are shown; see there for the meaning of each."""

    @property
    def t(self) -> NDArray: ...  # noqa: D102
    @property
    def x(self) -> NDArray: ...  # noqa: D102
    @property
    def y(self) -> NDArray: ...  # noqa: D102
    def algebraic(self, rows: slice = slice(None)) -> NDArray: ...  # noqa: D102
    @property
    def names_x(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def names_y(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def system(self) -> System | None: ...  # noqa: D102
    def refined(self, times: ArrayLike) -> Recorded: ...  # noqa: D102
    @property
    def whole(self) -> bool: ...  # noqa: D102
    @property
    def estimated_error(self) -> GlobalError: ...  # noqa: D102
    @property
    def kept(self) -> ReducedRecord | None: ...  # noqa: D102
    @property
    def ends(self) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]: ...  # noqa: D102
    @property
    def changes(self) -> tuple[Change, ...]: ...  # noqa: D102
    @property
    def spans(self) -> tuple[Span, ...]: ...  # noqa: D102
    @property
    def signals(self) -> Signals: ...  # noqa: D102
    @property
    def units(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def scheme(self) -> Scheme: ...  # noqa: D102
    @property
    def events(self) -> tuple[Event, ...]: ...  # noqa: D102
    @property
    def instants(self) -> tuple[tuple[float, str], ...]: ...  # noqa: D102
    @property
    def unmet(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def acted(self) -> tuple[tuple[float, str], ...]: ...  # noqa: D102
    @property
    def stopped(self) -> Stop | None: ...  # noqa: D102
    @property
    def criteria(self) -> Criteria: ...  # noqa: D102
    @property
    def failure(self) -> str: ...  # noqa: D102
    @property
    def certificate(self) -> Certificate | None: ...  # noqa: D102
    @property
    def certificate_after(self) -> Certificate | None: ...  # noqa: D102
    @property
    def outcome(self) -> Outcome: ...  # noqa: D102
    @property
    def judgement(self) -> Judgement: ...  # noqa: D102
    @property
    def stats(self) -> Stats: ...  # noqa: D102
