"""What a run keeps of its points, what is there of one that kept a part, and the values of its signals."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import explains_keywords, settle_fields
from psmr.base.arrays import Reals
from psmr.base.declared import Option
from psmr.base.errors import InputError, shown
from psmr.base.files import require_suffix
from psmr.dae.declare.component import Turn
from psmr.dae.system.system import System
from psmr.integrate.timeline.span import Change, Span
from psmr.network.signals.signals import Signals, SignalValues, Unwrap
from psmr.study.certificate.certificate import Certificate, Scheme
from psmr.study.criteria import Criteria
from psmr.study.detectors.detector import Stop
from psmr.study.estimated_error import GlobalError
from psmr.study.events import Event
from psmr.study.outcome import Judgement, Outcome
from psmr.study.output import FORMATS
from psmr.study.record.stats import Stats


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples of a run.

    `t`: (S,) times in s, ascending, none at the instant of an event.
    `values`: (S, q) values in pu; NaN where one does not count.
    `first`: (q,) values of the first point of the run.
    """

    t: Reals
    values: Reals
    first: Reals


@dataclass(frozen=True, eq=False)
class ReducedRecord:
    """What a run stores in addition to its points where these are thinned or signals were chosen.

    `names`, `values`: names of the j signals that were computed while the run went, and (K, j) values.
    `chosen`: whether signals were chosen; otherwise every state and algebraic variable is there.
    `outcome`: the outcome, of every accepted step.
    `ends`: (x, y) of the whole system at the first and at the last point.
    `every`: of how many accepted steps one was kept.
    `sampled`: voltages and speeds at some points, by which the error of the run is estimated.
    `taken`: (K,) times in s of every accepted point of a scheme that chooses its steps, otherwise none.
    `periods`: (k,) times in s and (k, n + m) points at the end of each stretch with unequal phases in a
      region, by which exponents over a period are found.
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


class FinishedRun(Protocol):
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
    def refined(self, times: ArrayLike) -> FinishedRun: ...  # noqa: D102
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
    def turns(self) -> tuple[Turn, ...]: ...  # noqa: D102
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


MEMORY = 256.0
"""Memory in MiB for what is kept, where nothing is said."""


@explains_keywords(InputError)
@dataclass(frozen=True)
class Record:
    r"""What a run keeps of its points.

    Outcome, monitors and work are those of every accepted step, whatever is kept.

    Parameters
    ----------
    signals
        Names or patterns of the signals that are kept, as in `Run.frame`; None: every state and algebraic
        variable.
    every
        Of the accepted steps between two events every how many-th is kept, beside the first and the last.
    within
        Of the accepted steps those are kept that lines between them need to be within this of all others,
        relative to max(1, \|value\|): a step that is nearly on the line of its neighbours is left out. It
        counts of every state and algebraic variable, as the first angle sees them, or of the signals that
        are chosen. None: all; not with `every`.
    memory
        Memory in MiB for what is kept. What is more goes to a temporary file (in the folder ``TMPDIR``), from
        which the run reads it, and which disappears with it.
    files
        Files that are written while the run goes, ``.csv`` or ``.parquet``; they appear when it ends well.

    Raises
    ------
    InputError
        For no signal, a step below 1, memory below 0, or a file of another kind.

    Examples
    --------
    >>> Record(["G*.omega", "bus5.v"], every=10, files=["run.parquet"])
    """

    signals: Annotated[
        tuple[str, ...] | None,
        "keep these signals only, written while the run goes, in place of the study's record",
        "NAME",
        Option(name="record"),
    ] = None
    every: Annotated[int, "keep and write only every K-th accepted step", "K"] = 1
    memory: Annotated[float, "memory in MiB for what is kept; the rest goes to a temporary file", "MIB"] = (
        MEMORY
    )
    files: tuple[str | os.PathLike[str], ...] = ()
    within: Annotated[
        float | None, "keep only steps that are further than this from lines between those kept", "E"
    ] = None

    def __post_init__(self) -> None:
        for name, single in (("signals", str), ("files", str | os.PathLike)):
            if isinstance(getattr(self, name), single):
                object.__setattr__(self, name, (getattr(self, name),))
        settle_fields(self)
        if self.signals is not None:
            chosen = tuple(self.signals)
            if not chosen:
                raise InputError("record = []: must be names or patterns of signals, at least one")
            object.__setattr__(self, "signals", chosen)
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise InputError(f"every = {self.every!r}: must be a whole number >= 1 (of steps)")
        within = self.within
        if within is not None and not (isinstance(within, int | float) and 0 < within < 1):
            raise InputError(f"within = {within!r}: must be a number above 0 and below 1; 1e-4 is usual")
        if within is not None and self.every > 1:
            raise InputError(f"every = {self.every}: not with within = {within:g}, which thins by error")
        memory = self.memory
        if isinstance(memory, bool) or not isinstance(memory, int | float) or not 0 <= memory < math.inf:
            raise InputError(f"memory = {memory!r}: must be a finite number >= 0 in MiB")
        files = tuple(self.files)
        for file in files:
            try:
                require_suffix(file, tuple(FORMATS))
            except InputError as error:
                raise InputError(f"files: {error}") from error
        object.__setattr__(self, "files", files)

    @classmethod
    def of(cls, wanted: Record | str | Iterable[str] | None, every: int | None = None) -> Record | None:
        """Return a record from itself or from signals, and from how often points are kept.

        None without `every` stays None: every point, whole, in memory.

        Raises
        ------
        InputError
            For what is no record; for `every` beside a record, which says how often itself.
        """
        if isinstance(wanted, Record):
            if every is not None:
                raise InputError(
                    f"every = {every!r}: the record says it, every = {wanted.every}; write "
                    f"record=psmr.Record(..., every={every!r})"
                )
            return wanted
        if wanted is not None and not isinstance(wanted, Iterable):
            raise InputError(
                f"record = {shown(wanted)}: must be names or patterns of signals, or a psmr.Record"
            )
        if wanted is None and every is None:
            return None
        signals = (wanted,) if isinstance(wanted, str) else None if wanted is None else tuple(wanted)
        return cls(signals, 1 if every is None else every)


# Rows that are looked at together where a run may be larger than the memory.
PIECE = 4096


def values_of(run: FinishedRun, names: Sequence[str], exact: bool = True) -> Reals:
    """Return (K, len(names)) values of the named signals, of which each is one of the run's.

    Those that are `exact` come of the network solved at each point (see `psmr.study.run.run.Run.algebraic`):
    all of a scheme that follows an error, of others those of devices' equations. A drawing needs no more than
    the scheme left.
    """
    return next(_pieces(run, names, exact, len(run.t)))[1]


def values_in_pieces(run: FinishedRun, names: Sequence[str]) -> Iterator[tuple[slice, Reals]]:
    """Yield the values of `values_of` some rows at a time, all at once where devices' equations are asked."""
    yield from _pieces(run, names, True, PIECE)


def _pieces(
    run: FinishedRun, names: Sequence[str], exact: bool, length: int
) -> Iterator[tuple[slice, Reals]]:
    expansion = run.signals.expansion(names)
    wanted, own, states = expansion.names, {*run.names_x, *run.names_y}, set(run.names_x)
    kept = {} if run.kept is None else {name: k for k, name in enumerate(run.kept.names) if name not in own}
    stored = {k: kept[name] for k, name in enumerate(wanted) if name in kept}
    asked = np.array([k for k in range(len(wanted)) if k not in stored], dtype=np.intp)
    values = SignalValues(run.signals, [wanted[k] for k in asked], run.system)
    angles, unwrap, count = asked[values.wrapped], Unwrap(), len(run.t)
    every = exact and run.scheme.error_control is not None and any(name not in states for name in wanted)
    length = count if values.by_span else length
    columns = asked if stored else slice(None)  # a slice is not copied through an index
    for first in range(0, count, length):
        rows = slice(first, min(first + length, count))
        found = np.empty((rows.stop - first, len(wanted)))
        if run.kept is not None:
            found[:, list(stored)] = run.kept.values[rows, list(stored.values())]
        y = run.algebraic(rows) if every else run.y[rows]
        if values.by_span:
            solved = run.algebraic(rows) if exact and not every else y
            for span in run.spans:
                part = span.rows
                values.begin(span)
                found[part, columns] = values.at(run.t[part], run.x[part], y[part], solved[part])
        else:
            found[:, columns] = values.at(run.t[rows], run.x[rows], y)
        found[:, angles] = unwrap(found[:, angles])
        yield rows, expansion.combined(found)
