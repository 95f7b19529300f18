"""A run: what a simulation gives back, as arrays, as tables, as files."""

from __future__ import annotations

import csv
import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.dae.system.system import System
from psmr.errors import InputError, PsmrError
from psmr.numerics.run.trajectory import Change
from psmr.study.events import Event
from psmr.study.monitors.watching import Stop
from psmr.study.output.files import atomic
from psmr.study.record.certificate import Certificate, Scheme
from psmr.study.record.judgement import Judgement, judge_run
from psmr.study.record.observe import outcome_of
from psmr.study.record.outcome import Outcome
from psmr.study.record.rest import certificate_after
from psmr.study.record.signals import Signals
from psmr.study.record.spans import Span, spans_of
from psmr.study.record.stats import Stats
from psmr.study.record.values import values_of
from psmr.study.run.compared import Comparison, compare
from psmr.study.run.notebook import run_html
from psmr.study.run.points import SIDES, Side, between
from psmr.study.run.saved import save_run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a simulation.

    Attributes
    ----------
    t
        (K,) accepted times in s. The instant of an event stands twice: the row before it and the row after.
    x, y
        (K, n) states and (K, m) algebraic variables.
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
    changes
        What the events did to the system, in order of time.
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
    changes: tuple[Change, ...] = ()

    def __post_init__(self) -> None:
        # A state that left the finite numbers must never look like a result.
        for values, names in ((self.x, self.names_x), (self.y, self.names_y)):
            bad = ~np.isfinite(values)
            if bad.any():
                row, column = np.argwhere(bad)[0]
                raise PsmrError(
                    f"{names[column]} = {values[row, column]} at t = {self.t[row]:g} s; the run left the "
                    "finite numbers, take a smaller step"
                )

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.t)} points to t = {self.t[-1]:g} s: {self.outcome.headline})"

    @functools.cached_property
    def signals(self) -> Signals:
        """Names of what can be asked of the run; see `psmr.study.record.signals.Signals`."""
        return Signals(self.names_x, self.names_y) if self.system is None else Signals.of(self.system)

    @functools.cached_property
    def spans(self) -> tuple[Span, ...]:
        """The stretches between the events, with the parameters and inputs of each."""
        return () if self.system is None else spans_of(self.system, self.t, self.changes)

    @functools.cached_property
    def outcome(self) -> Outcome:
        """What happened: synchronism, voltages, frequency, limits; see `psmr.study.record.outcome`."""
        return outcome_of(self)

    @functools.cached_property
    def certificate_after(self) -> Certificate | None:
        """The certificate on the system that the last event left; None where no event altered it.

        Computed when it is first asked for; see `psmr.study.record.rest.certificate_after`.
        """
        return None if self.certificate is None else certificate_after(self)

    @property
    def judgement(self) -> Judgement:
        """Red, amber or green, with the reasons; see `psmr.study.record.judgement.Judgement`."""
        return judge_run(self.outcome, self.certificate, self.certificate_after)

    def __getitem__(self, names: str | Iterable[str]) -> pd.Series | pd.DataFrame:
        """Return one signal by its name as a Series, or several by pattern or list as a DataFrame.

        Raises
        ------
        InputError
            For a name that means nothing, with the nearest known one.
        """
        table = self.frame(names)
        single = isinstance(names, str) and list(table.columns) == [names]
        return table[names] if single else table

    def at(
        self, times: ArrayLike, names: str | Iterable[str] | None = None, side: Side = "after"
    ) -> pd.DataFrame:
        """Return signals at times in s as a table, straight between the recorded points.

        Parameters
        ----------
        times
            A time or several, within the run.
        names
            As in `frame`.
        side
            ``"before"`` or ``"after"``: which of the two values at the very instant of an event.

        Raises
        ------
        InputError
            For a time outside the run, and a name that means nothing.
        """
        import pandas as pd

        chosen = self.signals.select(names)
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
        values = between(self.t, values_of(self, chosen), wanted, side)
        return pd.DataFrame(values, index=pd.Index(wanted, name="t"), columns=list(chosen))

    def compare(self, other: Run, names: str | Iterable[str] | None = None) -> Comparison:
        """Return how far another run is from this one; see `psmr.study.run.compared.compare`."""
        return compare(self, other, names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run into a file for `psmr.load_run`; see `psmr.study.run.saved.save_run`."""
        save_run(self, path)

    def _repr_html_(self) -> str:
        return run_html(self)

    def values(self, names: str | Iterable[str]) -> NDArray[np.float64]:
        """Return (K, j) values of the j signals that names or patterns mean (see `frame`)."""
        return values_of(self, self.signals.select(names))

    def frame(
        self, names: str | Iterable[str] | None = None, instants: Literal["both", "before", "after"] = "both"
    ) -> pd.DataFrame:
        """Return signals as a table, a row per accepted time.

        Parameters
        ----------
        names
            Names or patterns: ``"G1.omega"``, ``"*.omega"``, ``["bus5.v", "G*.delta"]``; None: every
            recorded variable, and bus voltages.
        instants
            At the instant of an event the rows before and after it, or one of them: then no time stands
            twice, as `reindex` wants it.

        Raises
        ------
        InputError
            For a name that means nothing, with the nearest known one.
        """
        import pandas as pd

        chosen = self.signals.select(names)
        values = values_of(self, chosen)
        table = pd.DataFrame(values, index=pd.Index(self.t, name="t"), columns=list(chosen))
        if instants == "both":
            return table
        if instants not in SIDES:
            raise InputError(f'instants = {instants!r}: must be "both", "before" or "after"')
        return table[~table.index.duplicated(keep="first" if instants == "before" else "last")]

    def to_csv(self, path: str | os.PathLike[str], names: str | Iterable[str] | None = None) -> None:
        """Write signals as CSV, first column ``t`` in s, every digit; the file appears whole or not at all.

        Raises
        ------
        InputError
            For a name that means nothing, or a folder that cannot be written.
        """
        chosen = self.signals.select(names)
        values = np.column_stack([self.t, values_of(self, chosen)])
        with atomic(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
            # A name may have a comma or a quote in it: the head follows the rules of CSV.
            csv.writer(file, lineterminator="\n").writerow(["t", *chosen])
            # repr gives the shortest text that reads back as the same number.
            file.writelines(",".join(map(repr, row)) + "\n" for row in values.tolist())

    def to_parquet(self, path: str | os.PathLike[str], names: str | Iterable[str] | None = None) -> None:
        """Write signals as Parquet, column ``t`` first; the file appears whole or not at all.

        Raises
        ------
        PsmrError
            When pyarrow is not installed.
        InputError
            For a name that means nothing, or a folder that cannot be written.
        """
        require_pyarrow()
        table = self.frame(names).reset_index()
        with atomic(path) as temporary:
            table.to_parquet(temporary, engine="pyarrow", index=False)

    def plot(self, names: str | Iterable[str] | None = None, **options: Any) -> Figure:
        """Return a figure over time, events marked; see `psmr.study.output.plots.trajectories`."""
        from psmr.study.output.plots import trajectories

        return trajectories(self, names, **options)

    def to_html(
        self, path: str | os.PathLike[str], system: System | None = None, interactive: bool = False
    ) -> None:
        """Write a report on the run, one page with figures; see `psmr.study.output.report.run_page`.

        `system` takes the place of the run's own; `interactive` adds figures to zoom and hover over.
        """
        from psmr.study.output.report import run_page, write_page

        write_page(path, run_page(self, system, interactive=interactive))

    def summary(self) -> str:
        """Return what a terminal shows of the run."""
        from psmr.study.output.report import run_text

        return run_text(self)


def require_pyarrow() -> None:
    """Raise PsmrError where Parquet files cannot be written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise PsmrError(
            "Parquet files need pyarrow, which is not installed; pip install 'psmr[parquet]', or write CSV"
        ) from error
