"""How far a run is from a trace, and how much of that is numerics.

The difference of trace and run has two parts. A reference, the same system and events by error control at a
small tolerance, is what the model does; the run less the reference is numerics, the reference less the trace
is model, conventions and data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest
from psmr.base.modules import draw
from psmr.dae.system.system import System
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.network.signals.signals import unit_of, units_of
from psmr.network.topology.network import nominal_frequency, power_base
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate
from psmr.study.trace.trace import Trace, TraceColumn, converted_values, recognised_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFERENCE = 1e-7
"""Tolerance of the reference: its error is below the digits that traces are printed with."""

WORTH = 0.8
"""Part of the difference to which a shift in time must reduce it to be named."""
SHOWN = 6
LAGS, POINTS, CHANNELS, GRID = 100, 400, 20, 1000
"""Shifts in time that are tried, at so many points of so many signals, between so many of the run."""
TOO_FAR = 1e9
"""Misfit, in squares of the range, of a shift that leaves less than half of the trace within the run."""
SMALLEST = 1e-6
"""Shift in s below which there is none."""


@dataclass(frozen=True, eq=False)
class AgainstTrace:
    """How far a run is from a trace.

    Attributes
    ----------
    table
        A row per signal, the most different first: ``signal``, ``rms`` and ``largest`` (trace less run, in
        the signal's unit), ``t`` (when, in s), ``numerics`` and ``model`` (root of the mean square of the run
        less the reference, and of the trace less the reference), ``range`` (that of the signal in the trace),
        ``part`` (rms over the largest range of its kind) and ``points`` (how many, without gaps).
    devices
        A row per device, the most different first: ``device``, ``part``, ``signal``.
    shift
        Time in s by which the trace is late, as far as the differences say; 0 where that explains nothing.
    reference
        Scheme of the reference.
    left_out
        Points of the trace outside the run.
    columns
        What the columns of the trace were read as, by signal.
    unknown
        Columns that are no signals of the run, and left out.
    run
        The run.
    trace
        The points of the trace within the run, by signal and in the signals' units.
    computed, exact
        The run's values and the reference's at those times, a column per signal.
    """

    table: pd.DataFrame = field(repr=False)
    devices: pd.DataFrame = field(repr=False)
    shift: float
    reference: VariableStep
    left_out: int
    columns: Mapping[str, TraceColumn] = field(repr=False)
    unknown: tuple[str, ...]
    run: Run = field(repr=False)
    trace: Trace = field(repr=False)
    computed: pd.DataFrame = field(repr=False)
    exact: pd.DataFrame = field(repr=False)

    @property
    def numerics(self) -> float:
        """Numerics over the sum of numerics and model, each a root of the mean square over all signals."""
        scale = self.table["part"].div(self.table["rms"].where(self.table["rms"] > 0.0, 1.0))
        numerics, model = (float(_rms((self.table[of] * scale).to_numpy())) for of in ("numerics", "model"))
        return numerics / (numerics + model) if numerics + model > 0.0 else 0.0

    def plot(self) -> Figure:
        """Return a figure of the most different signals; see `psmr.figures.run.plots.against_trace`."""
        figure: Figure = draw("run.plots.against_trace", self)
        return figure

    def __str__(self) -> str:
        table = (
            self.table
            if (self.table.points != self.table.points.max()).any()
            else self.table.drop(columns="points")
        )
        shown = table.head(20).to_string(index=False, float_format=lambda value: f"{value:.4g}")
        more = f"\n... {len(self.table) - 20} more signals" if len(self.table) > 20 else ""
        first = self.devices.head(5)
        devices = ", ".join(f"{d} ({100 * p:.3g} %)" for d, p in zip(first.device, first.part, strict=True))
        lines = [
            f"numerical error explains {100 * self.numerics:.2g} % of the difference (reference: "
            f"{self.reference})",
            f"Most different devices, in parts of the largest range of their kind: {devices}",
            shown + more,
        ]
        if self.shift:
            lines.append(
                f"Best agreement with the trace shifted by {-1e3 * self.shift:.3g} ms: "
                f"--shift {-self.shift:.4g}"
            )
        if self.left_out:
            lines.append(f"{self.left_out} points of the trace lie outside the run and are left out")
        read = [str(column) for signal, column in self.columns.items() if column.column != signal]
        if read:
            lines.append(f"Read as: {_listed(read)}")
        if self.unknown:
            lines.append(f"Left out, no signals of the run: {_listed(self.unknown)}")
        return "\n".join(lines)


def _listed(words: Sequence[str]) -> str:
    return "; ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def compare_trace(run: Run, trace: Trace) -> AgainstTrace:
    """Return how far a run is from a trace, and how much of that is numerics.

    Raises
    ------
    InputError
        For a signal that the run does not have, with the nearest, a trace without a point within the run, and
        a run without its system.
    SimulationError
        Where the reference fails.
    """
    check_arguments(compare_trace, locals())
    if run.system is None:
        raise InputError("the reference is a second run of the system, which this run does not have")
    columns, given = _signals(run, run.system, trace)
    unknown = tuple(name for name in trace.values if name not in given)
    inside = (trace.t >= run.t[0]) & (trace.t <= run.t[-1])
    if not inside.any():
        raise InputError(
            f"{trace.source}: no point is within the run, {run.t[0]:g} to {run.t[-1]:g} s: the times are "
            f"{trace.t[0]:g} to {trace.t[-1]:g} s; --shift S moves them"
        )
    names, t = list(columns), trace.t[inside]
    theirs = np.column_stack([values[inside] for values in given.values()])
    if empty := [name for name, found in zip(names, theirs.T, strict=True) if np.isnan(found).all()]:
        raise InputError(f"{trace.source}: {empty[0]!r} has no number within the run")
    reference = VariableStep(REFERENCE)
    finer = simulate(run.system, reference, float(run.t[-1]), run.events, start=run.ends[0], certify=False)
    ours, exact = _at(run, t, names), _at(finer, t, names)
    ranges = np.nanmax(theirs, axis=0) - np.nanmin(theirs, axis=0)
    kinds = np.array([name.rpartition(".")[2] for name in names])
    largest = np.array([ranges[kinds == kind].max() for kind in kinds])
    scale = np.where(largest > 0.0, largest, 1.0)
    off = theirs - ours
    worst = np.nanargmax(np.abs(off), axis=0)
    there = ~np.isnan(off)
    table = pd.DataFrame(
        {
            "signal": names,
            "rms": _rms(off),
            "largest": off[worst, np.arange(len(names))],
            "t": t[worst],
            "numerics": _rms(np.where(there, ours - exact, np.nan)),
            "model": _rms(theirs - exact),
            "range": ranges,
            "part": _rms(off) / scale,
            "points": there.sum(axis=0),
        }
    ).sort_values("part", ascending=False, ignore_index=True)
    late = _late(finer, t, theirs / scale, names, scale)
    left_out = int((~inside).sum())
    return AgainstTrace(
        table,
        _by_device(table),
        late,
        reference,
        left_out,
        columns,
        unknown,
        run,
        Trace(t, dict(zip(names, theirs.T, strict=True)), trace.source, columns),
        pd.DataFrame(ours, t, names),
        pd.DataFrame(exact, t, names),
    )


def _signals(run: Run, system: System, trace: Trace) -> tuple[dict[str, TraceColumn], dict[str, Reals]]:
    """Return what each column of a trace is, and its values in the signal's unit, both by signal."""
    known = run.signals.everything
    units, base, frequency = units_of(system), power_base(system) or 1.0, nominal_frequency(system) or 1.0
    columns: dict[str, TraceColumn] = {}
    values = {}
    for name, given in trace.values.items():
        column = trace.columns.get(name, TraceColumn(name, name))
        found: TraceColumn | None = column
        if name in known:
            found = converted_values(column, unit_of(run.signals, units, name), base, frequency, trace.source)
        elif column.is_named:
            found = recognised_names(column, known, base, frequency)
        else:
            raise InputError(f"{trace.source}: the run has no signal {name!r}{nearest(name, known)}")
        mapped = found is not None and found.signal in columns and not columns[found.signal].is_named
        if found is None or (mapped and column.is_named):
            continue
        if found.signal in columns:
            raise InputError(
                f"{trace.source}: {found.signal} is the signal of two columns; say which: --map FILE"
            )
        scale = found.scale / column.scale
        columns[found.signal] = found
        values[name] = scale * given + (found.offset - scale * column.offset)
    if not columns:
        first = next(iter(trace.values))
        raise InputError(
            f"{trace.source}: the run has no signal {first!r}{nearest(first, known)}; none of "
            f"{len(trace.values)} columns is one. Say which signal each column is: --map FILE"
        )
    return columns, values


def _at(run: Run, t: Reals, names: list[str]) -> Reals:
    """Return (K, j) values of signals; of two rows with one time the first is before an event."""
    first = np.append(t[:-1] == t[1:], False)
    values = run.at(t, names).to_numpy(copy=True)
    if first.any():
        values[first] = run.at(t[first], names, side="before").to_numpy()
    return np.asarray(values)


def _rms(values: Reals) -> Reals:
    return np.asarray(np.sqrt(np.nanmean(values**2, axis=0)))


def _by_device(table: pd.DataFrame) -> pd.DataFrame:
    """Return the largest part of each device's signals, the table being sorted by it."""
    device = table["signal"].str.rpartition(".")[0]
    rows = table.assign(device=device).drop_duplicates("device", ignore_index=True)
    return rows[["device", "part", "signal"]]


def _late(run: Run, t: Reals, theirs: Reals, names: list[str], scale: Reals) -> float:
    """Return by which time the trace is late: where it differs least, 0 where that explains nothing."""
    few = np.linspace(0, len(t) - 1, min(len(t), POINTS)).astype(int)
    most = np.argsort(-_rms(theirs - np.nanmean(theirs, axis=0)), kind="stable")[:CHANNELS]
    t, theirs, names = t[few], theirs[np.ix_(few, most)], [names[k] for k in most]
    alone = (theirs - np.nanmean(theirs, axis=0)) ** 2  # of points that a shift takes out of the run
    grid = np.linspace(run.t[0], run.t[-1], GRID)
    ours = run.at(grid, names).to_numpy()

    def misfit(late: float, exact: bool = False) -> float:
        inside = (t - late >= run.t[0]) & (t - late <= run.t[-1])
        if 2 * inside.sum() < len(t):
            return TOO_FAR
        at = t[inside] - late
        if exact:
            values = run.at(at, names).to_numpy()
        else:
            values = np.column_stack([np.interp(at, grid, column) for column in ours.T])
        off = alone.copy()
        off[inside] = (theirs[inside] - values / scale[most]) ** 2
        return float(np.nanmean(off))

    step = (t[-1] - t[0]) / LAGS
    best = min((step * k for k in range(-LAGS // 2, LAGS // 2 + 1)), key=misfit)
    options = {"xatol": SMALLEST}
    late = minimize_scalar(misfit, bounds=(best - step, best + step), method="bounded", options=options).x
    worth = abs(late) > SMALLEST and misfit(late, True) < WORTH**2 * misfit(0.0, True)
    return float(late) if worth else 0.0
