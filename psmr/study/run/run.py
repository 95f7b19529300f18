"""A run: what a simulation gives back, as arrays, as tables, as files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError, first_few
from psmr.base.files import OutputTransaction
from psmr.base.modules import draw, function_above, optional
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.state_space import StateSpace
from psmr.dae.system.system import System
from psmr.integrate.run.advance_span import autonomous
from psmr.network.dynamic.switching import doubts_on
from psmr.network.signals.signals import unit_of
from psmr.network.signals.state_space import state_space
from psmr.network.topology.network import find_bus
from psmr.study.certificate.certificate import Certificate
from psmr.study.estimated_error import GlobalError
from psmr.study.outcome import Judgement, judge_run
from psmr.study.output import Write, csv_table, parquet_table, table_writer
from psmr.study.record.advice import advice_on
from psmr.study.record.equilibrium_after import certificate_after
from psmr.study.record.long_term import generation_sensitivity, nose
from psmr.study.record.modes_over_period import (
    PeriodicModes,
    certificate_while_unequal,
    longest,
    modes_over_period,
)
from psmr.study.record.record import FinishedRun, values_in_pieces, values_of
from psmr.study.record.reintegrate import TIME_ROUNDING, estimated_error, judged_error
from psmr.study.run.comparison import Comparison, compare
from psmr.study.run.data import (
    RunData,
    Side,
    Where,
    after_events,
    interpolated,
    linear_system_at,
    refined,
    strictly_ascending,
    system_at,
    with_dense_output,
    within_run,
)

if TYPE_CHECKING:
    import pandas as pd
    import xarray
    from matplotlib.figure import Figure


class Run(RunData):
    """The result of a simulation, as tables, files and figures; its fields are those of `RunData`."""

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {len(self.t)} points to t = {self.t[-1]:g} s: {self.outcome.headline})"

    @functools.cached_property
    def certificate_after(self) -> Certificate | None:
        """The certificate on the system that the last event left; None where no event altered it.

        Computed when it is first asked for; see `psmr.study.record.equilibrium_after`.
        """
        return None if self.certificate is None else certificate_after(self)

    @functools.cached_property
    def certificate_unequal(self) -> Certificate | None:
        """The certificate while phases are unequal in a region; None where they never are for a period.

        Of the longest such stretch before the last event; see `psmr.periodic_modes`.
        """
        return None if self.certificate is None else certificate_while_unequal(self)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates that there are, in order of time."""
        every = (self.certificate, self.certificate_unequal, self.certificate_after)
        return tuple(certificate for certificate in every if certificate is not None)

    @functools.cached_property
    def estimated_error(self) -> GlobalError:
        """The error of the run, estimated by a second run with error control.

        Computed when it is first asked for; see `psmr.study.record.reintegrate`. Where there is no estimate,
        its `part` is NaN and its `note` says why.
        """
        return self._error_by(estimated_error)

    def _error_by(self, estimate: Callable[[FinishedRun], GlobalError]) -> GlobalError:
        try:
            return estimate(self)
        except PsmrError as error:
            return GlobalError.unknown(self.scheme, str(error))

    @functools.cached_property
    def _judged_error(self) -> GlobalError | None:
        if self.certificate is None or self.system is None or self.failure:
            return None
        found = self._error_by(judged_error)
        return replace(found, advice=advice_on(self, found)) if found.exceeds(self.criteria.error) else found

    @property
    def judgement(self) -> Judgement:
        """Red, amber or green, with the reasons; see `psmr.study.outcome.Judgement`.

        A second run estimates the error when it is first asked for, where there is a certificate.
        """
        doubts = doubts_on(self.system, self.changes, self.scheme)
        return judge_run(self.outcome, self.certificates, self._judged_error, doubts, self.nose)

    @functools.cached_property
    def nose(self) -> float | None:
        """When in s the run passed the largest power that its loads could have; None where it did not.

        There the long-term equilibrium is singular: dQg/dq, of all generators by a load, changes its sign
        through infinity, and from there on tap changers lower the voltage that they are to raise. Computed
        when it is first asked for, of a run in which taps moved; see `psmr.study.record.long_term`.
        """
        return nose(self)

    def generation_sensitivity(self, bus: int | str, times: ArrayLike | None = None) -> pd.Series:
        """Return dQg/dq at times in s, 100 by default: reactive power of all machines by that of a bus.

        In the long-term equilibrium near each point, in which tap changers keep their voltages as they are
        and loads draw what they draw (`psmr.study.record.long_term`): it grows towards the nose, and is
        below zero past it. NaN where there is no such equilibrium.

        Raises
        ------
        InputError
            For a bus that is not there, a time outside the run, and a run that did not keep its points.
        """
        check_arguments(Run.generation_sensitivity, locals())
        import pandas as pd

        if self.system is None or not self.whole:
            raise InputError("generation_sensitivity: the run has no system, or kept a part of its points")
        name = find_bus(self.system, bus, "generation_sensitivity")
        wanted = within_run(
            self.t, np.linspace(self.t[0], self.t[-1], 100) if times is None else np.ravel(times)
        )
        found = [generation_sensitivity(self, name, float(t)) for t in wanted]
        return pd.Series(found, index=pd.Index(wanted, name="t"), name=f"dQg/dq at {name}")

    def __getitem__(self, names: str | Iterable[str]) -> pd.Series | pd.DataFrame:
        """Return one signal by its name as a Series, or several by pattern or list as a DataFrame.

        Raises
        ------
        InputError
            For a name that means nothing, with the nearest known one.
        """
        check_arguments(Run.__getitem__, locals())
        table = self.frame(names)
        own = [names, self.signals.by_alias(names)] if isinstance(names, str) else []
        single = len(table.columns) == 1 and table.columns[0] in own
        return table[table.columns[0]] if single else table

    def at(
        self, times: ArrayLike, names: str | Iterable[str] | None = None, side: Side = "after"
    ) -> pd.DataFrame:
        """Return signals at times in s as a table.

        Between the recorded points they are those of the method's dense output where its steps are long
        (`VariableStep`): states by a cubic of fourth order in the step, algebraic variables from 0 = g(x, y).
        Elsewhere points lie on straight lines.

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
        SimulationError
            Where the algebraic equations have no solution near the line between two points.
        """
        check_arguments(Run.at, locals())
        import pandas as pd

        chosen = self.signals.select(names)
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
        inside = within_run(self.t, wanted)
        fine = with_dense_output(self, inside)
        values = interpolated(fine.t, values_of(fine, chosen), inside, side)
        return pd.DataFrame(values, index=pd.Index(wanted, name="t"), columns=list(chosen))

    def system_at(self, t: float) -> System:
        """Return the system as it stands at t in s, started at the run's point there.

        Its devices, parameters and inputs are those after the trips, steps and reconnections up to t, on
        their ramps and courses as they are at t; devices that tripped are not part of it. At the instant of
        an event it is the system after it. Its algebraic variables are solved from the states.

        Raises
        ------
        InputError
            For a time outside the run, a run that has no system, one that kept a part of its points or
            variables (except at its first and last time), and where a device that stays reads a variable of
            one that tripped.
        """
        check_arguments(Run.system_at, locals())
        return system_at(self, t)

    def linearise(self, t: float, at: Where = "point") -> LinearDae:
        """Return the system as it stands at t in s, linearised; see `system_at`.

        Parameters
        ----------
        t
            Time in s, within the run.
        at
            ``"point"``: the run's own point at t. ``"equilibrium"``: the equilibrium of that system, sought
            from that point, with ramps held as they are at t. A system that rests at another than nominal
            frequency is linearised in the frame that turns with it.

        Raises
        ------
        InputError
            As `system_at`; where no equilibrium is found; where a limit that moves holds a state.
        """
        check_arguments(Run.linearise, locals(), leaving=("at",))
        return linear_system_at(self, t, at)[1]

    def modes(self, t: float, at: Where = "point") -> pd.DataFrame:
        """Return the table of `psmr.modes` of the system as it stands at t in s; see `linearise`."""
        check_arguments(Run.modes, locals(), leaving=("at",))
        return modes(linear_system_at(self, t, at)[1])

    def state_space(
        self, t: float, inputs: str | Iterable[str], outputs: str | Iterable[str], at: Where = "point"
    ) -> StateSpace:
        """Return the system as it stands at t in s as matrices between named inputs and outputs.

        See `psmr.System.state_space` for the names and `linearise` for `at` and the errors.
        """
        check_arguments(Run.state_space, locals(), leaving=("at",))
        system, linear = linear_system_at(self, t, at)
        try:
            return state_space(system, inputs, outputs, linear)
        except InputError as error:
            assert self.system is not None
            there = {device.name for device in system.devices}
            gone = [device.name for device in self.system.devices if device.name not in there]
            if not gone:
                raise
            raise InputError(f"{error}; out of service at t = {t:g} s: {first_few(gone, 6)}") from error

    def refined(self, times: ArrayLike) -> Run:
        """Return the run with further points at times in s, as its method has them; see `at`.

        Raises
        ------
        InputError
            For a run that has no system, from which the points would follow, or did not keep all variables.
        SimulationError
            Where the algebraic equations have no solution near the line between two points.
        """
        check_arguments(Run.refined, locals())
        if self.system is None:
            raise InputError("the run has no system, so that no points between the recorded ones can be had")
        if self.kept is not None:
            raise InputError(
                "the run kept a part of its points or variables only, so that none between them can be had; "
                "simulate without `record`"
            )
        t, x, y, timeline = refined(self, times)
        return self if t is self.t else replace(self, t=t, x=x, y=y, timeline=timeline)

    def compare(self, other: Run, names: str | Iterable[str] | None = None) -> Comparison:
        """Return how far another run is from this one; see `psmr.study.run.comparison.compare`."""
        check_arguments(Run.compare, locals())
        return compare(self, other, names)

    def save(self, path: str | os.PathLike[str], transaction: OutputTransaction | None = None) -> None:
        """Write the whole run into a file for `psmr.load_run`; see `psmr.study.run.saved.save_run`."""
        check_arguments(Run.save, locals())
        function_above("study.run.saved.save_run")(self, path, transaction)

    def _repr_html_(self) -> str:
        text: str = draw("run.report.run_html", self)
        return text

    def values(self, names: str | Iterable[str]) -> NDArray[np.float64]:
        """Return (K, j) values of the j signals that names or patterns mean (see `frame`)."""
        check_arguments(Run.values, locals())
        return values_of(self, self.signals.select(names))

    def frame(
        self,
        names: str | Iterable[str] | None = None,
        instants: Literal["both", "before", "after"] = "both",
        times: ArrayLike | None = None,
    ) -> pd.DataFrame:
        """Return signals as a table, a row per accepted time, or at the given times.

        Rows are the accepted points of the run; `times` gives a signal at any instants.

        Parameters
        ----------
        names
            Names or patterns: ``"G1.omega"``, ``"*.omega"``, ``["bus5.v", "G*.delta"]``; None: every
            recorded variable, and bus voltages.
        instants
            At the instant of an event the rows before and after it, or one of them. Where both are there, the
            index of the one after is the next larger number, so that no time stands twice.

        Raises
        ------
        InputError
            For a name that means nothing, with the nearest known one.
        """
        check_arguments(Run.frame, locals())
        import pandas as pd

        if times is not None:
            return self.at(times, names, "before" if instants == "before" else "after")
        chosen = self.signals.select(names)
        rows, times = self._rows(instants)
        values = values_of(self, chosen)[rows]
        return pd.DataFrame(values, index=pd.Index(times, name="t"), columns=list(chosen))

    def _rows(self, instants: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return which rows are meant, and their times, none twice."""
        everything = np.arange(len(self.t))
        if instants == "both":
            return everything, strictly_ascending(self.t)
        after = after_events(self.t)
        # A row goes where the one before it, or after it, has the same time.
        rows = everything[~after if instants == "before" else ~np.append(after[1:], False)]
        return rows, self.t[rows]

    def to_xarray(
        self, names: str | Iterable[str] | None = None, instants: Literal["both", "before", "after"] = "both"
    ) -> xarray.Dataset:
        """Return signals as an xarray.Dataset over ``t``, a variable each, with its unit as an attribute.

        Parameters
        ----------
        names, instants
            As in `frame`.

        Raises
        ------
        PsmrError
            When xarray is not installed.
        InputError
            For a name that means nothing, with the nearest known one.
        """
        check_arguments(Run.to_xarray, locals())
        xarray = optional("xarray", "to_xarray", "psmr[xarray]", "use run.frame()")
        chosen = self.signals.select(names)
        rows, times = self._rows(instants)
        values = values_of(self, chosen)[rows]
        variables = {
            name: ("t", values[:, k], {"units": unit_of(self.signals, self.units, name), "long_name": name})
            for k, name in enumerate(chosen)
        }
        story = {
            "system": self.name,
            "scheme": str(self.scheme),
            "outcome": self.judgement.headline,
            "events": "; ".join(f"{t:g} s: {label}" for t, label in self.instants),
        }
        time = ("t", times, {"units": "s", "long_name": "time"})
        return xarray.Dataset(variables, coords={"t": time}, attrs=story)

    def to_csv(self, path: str | os.PathLike[str], names: str | Iterable[str] | None = None) -> None:
        """Write signals as CSV, first column ``t`` in s, every digit; the file appears whole or not at all.

        Its rows are those of `frame`; for other times write `at`, or a run with further points (`refined`).

        Raises
        ------
        InputError
            For a name that means nothing, or a folder that cannot be written.
        """
        check_arguments(Run.to_csv, locals())
        self._write(csv_table, path, names)

    def to_parquet(self, path: str | os.PathLike[str], names: str | Iterable[str] | None = None) -> None:
        """Write signals as Parquet, column ``t`` first; the file appears whole or not at all.

        Raises
        ------
        PsmrError
            When pyarrow is not installed.
        InputError
            For a name that means nothing, or a folder that cannot be written.
        """
        check_arguments(Run.to_parquet, locals())
        self._write(parquet_table, path, names)

    def write_table(
        self,
        path: str | os.PathLike[str],
        names: str | Iterable[str] | None = None,
        transaction: OutputTransaction | None = None,
    ) -> None:
        """Write signals as CSV or Parquet, by the ending of the path, which is one of the two.

        The file appears at once, or with the others of `transaction`.
        """
        check_arguments(Run.write_table, locals())
        self._write(table_writer, path, names, transaction)

    def _write(
        self,
        writer: Callable[..., AbstractContextManager[Write]],
        path: str | os.PathLike[str],
        names: str | Iterable[str] | None,
        transaction: OutputTransaction | None = None,
    ) -> None:
        chosen = self.signals.select(names)
        with writer(path, chosen, transaction) as write:
            for rows, values in values_in_pieces(self, chosen):
                write(self.t[rows], values)

    def plot(self, names: str | Iterable[str] | None = None, **options: Any) -> Figure:
        """Return a figure over time, events marked; see `psmr.figures.run.plots.trajectories`."""
        check_arguments(Run.plot, locals())
        figure: Figure = draw("run.plots.trajectories", self, names, **options)
        return figure

    def to_html(
        self, path: str | os.PathLike[str], system: System | None = None, interactive: bool = False
    ) -> None:
        """Write a report on the run, one page with figures; see `psmr.figures.run.report.run_page`.

        `system` takes the place of the run's own; `interactive` adds figures to zoom and hover over.
        """
        check_arguments(Run.to_html, locals())
        page = draw("run.report.run_page", self, system, interactive=interactive)
        draw("run.report.write_page", path, page)

    def summary(self) -> str:
        """Return what a terminal shows of the run."""
        text: str = draw("run.report.run_text", self)
        return text


def periodic_modes(run: Run, t: float | None = None) -> PeriodicModes:
    """Return what one period of nominal frequency does to small changes in a run, while phases are unequal.

    In the turning frame a single-phase fault, or an open phase, has conductances of once and twice nominal
    frequency. Eigenvalues at an instant say nothing of such a system; the product of the steps over a period
    does, and the monodromy matrix of the equations beside it. The run's certificate has it too
    (`certificate_unequal`).

    Parameters
    ----------
    run
        A run with every point kept. Where its step does not divide the period, the nearest that does is
        judged; of a scheme that chooses its steps the median one after that instant.
    t
        Time in s from which the period is; None: the last whole period of the longest stretch in which
        equations read the time.

    Raises
    ------
    InputError
        For a run with delays, a step longer than the period, a time after which no whole period is without an
        event, and a run without such a stretch or with a part of its points.
    SchemeError
        For a scheme whose step is no program.
    """
    check_arguments(periodic_modes, locals())
    if run.system is None or run.kept is not None:
        raise InputError(f"{run.name}: needs every point and the system; simulate without `record`")
    if t is not None:
        begun = (span for span in reversed(run.spans) if run.t[span.rows.start] <= t + TIME_ROUNDING)
        return modes_over_period(run, next(begun, run.spans[0]), t)
    timed = [span for span in run.spans if not autonomous(run.system, span.parameters)]
    if not timed:
        raise InputError(
            f"{run.name}: no equation reads the time in this run, so that it has no period; its certificate"
            " has the modes. An unbalanced fault in a dynamic region makes one"
        )
    return modes_over_period(run, longest(run, timed))
