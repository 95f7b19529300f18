"""What plots and reports read of a run, and what one stores that did not keep every variable and point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike, NDArray

from psmr.base.arrays import Reals
from psmr.dae.system.system import System
from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span
from psmr.network.signals.signals import Signals
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import Criteria
from psmr.study.detectors.finding import Stop
from psmr.study.events import Event
from psmr.study.outcome.global_error import GlobalError
from psmr.study.outcome.judgement import Judgement
from psmr.study.outcome.outcome import Outcome
from psmr.study.record.stats import Stats


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples of a run.

    Attributes
    ----------
    t
        (S,) times in s, ascending, none at the instant of an event.
    values
        (S, q) values in pu; NaN where one does not count.
    first
        (q,) values of the first point of the run.
    """

    t: Reals
    values: Reals
    first: Reals


@dataclass(frozen=True, eq=False)
class ReducedRecord:
    """What a run stores in addition to its points where these are thinned or signals were chosen.

    Attributes
    ----------
    names, values
        Names of the j signals that were computed while the run went, and (K, j) values.
    chosen
        Whether signals were chosen; otherwise every state and algebraic variable is there.
    outcome
        The outcome, of every accepted step.
    ends
        (x, y) of the whole system at the first and at the last point.
    every
        Of how many accepted steps one was kept.
    sampled
        Voltages and speeds at some points, by which the error of the run is estimated.
    taken
        (K,) times in s of every accepted point of a scheme that chooses its steps, otherwise none.
    periods
        (k,) times in s and (k, n + m) points at the end of each stretch with unequal phases in a region,
        by which exponents over a period are found.
    """

    names: tuple[str, ...]
    values: Reals
    chosen: bool
    outcome: Outcome
    ends: tuple[tuple[Reals, Reals], tuple[Reals, Reals]]
    every: int
    sampled: Sampled
    taken: Reals
    periods: tuple[tuple[Reals, Reals], ...] = ()


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
    def taken(self) -> NDArray: ...  # noqa: D102
    @property
    def ends(self) -> tuple[tuple[NDArray, NDArray], tuple[NDArray, NDArray]]: ...  # noqa: D102
    @property
    def timeline(self) -> tuple[Span, ...]: ...  # noqa: D102
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
    def certificates(self) -> tuple[Certificate, ...]: ...  # noqa: D102
    @property
    def outcome(self) -> Outcome: ...  # noqa: D102
    @property
    def judgement(self) -> Judgement: ...  # noqa: D102
    @property
    def stats(self) -> Stats: ...  # noqa: D102
