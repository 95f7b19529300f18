"""How far a run is from a trace, and how much of that is numerics.

The difference of trace and run has two parts. A reference, the same system and events by error control at a
small tolerance, is what the model does; the run less the reference is numerics, the reference less the trace
is model, conventions and data.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import InputError, nearest
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.study.run.run import Run
from psmr.study.run.simulate import simulate
from psmr.study.trace.trace import Trace

REFERENCE = 1e-7
"""Tolerance of the reference: its error is below the digits that traces are printed with."""

WORTH = 0.8
"""Part of the difference to which a shift in time must reduce it to be named."""


@dataclass(frozen=True, eq=False)
class AgainstTrace:
    """How far a run is from a trace.

    Attributes
    ----------
    table
        A row per signal, the most different first: ``signal``, ``rms`` and ``largest`` (trace less run, in
        the signal's unit), ``t`` (when, in s), ``numerics`` and ``model`` (root of the mean square of the run
        less the reference, and of the trace less the reference), ``range`` (that of the signal in the trace)
        and ``part`` (rms over the largest range of its kind).
    devices
        A row per device, the most different first: ``device``, ``part``, ``signal``.
    shift
        Time in s by which the trace is late, as far as the differences say; 0 where that explains nothing.
    reference
        Scheme of the reference.
    left_out
        Points of the trace outside the run.
    """

    table: pd.DataFrame = field(repr=False)
    devices: pd.DataFrame = field(repr=False)
    shift: float
    reference: VariableStep
    left_out: int

    @property
    def numerics(self) -> float:
        """Numerics over the sum of numerics and model, each a root of the mean square over all signals."""
        scale = self.table["part"].div(self.table["rms"].where(self.table["rms"] > 0.0, 1.0))
        numerics, model = (float(_rms((self.table[of] * scale).to_numpy())) for of in ("numerics", "model"))
        return numerics / (numerics + model) if numerics + model > 0.0 else 0.0

    def __str__(self) -> str:
        shown = self.table.head(20).to_string(index=False, float_format=lambda value: f"{value:.4g}")
        more = f"\n... {len(self.table) - 20} more signals" if len(self.table) > 20 else ""
        first = self.devices.head(5)
        devices = ", ".join(f"{d} ({100 * p:.3g} %)" for d, p in zip(first.device, first.part, strict=True))
        lines = [
            f"{100 * self.numerics:.2g} % of the difference is numerics: the run less {self.reference}",
            f"Most different devices, in parts of the largest range of their kind: {devices}",
            shown + more,
        ]
        if self.shift:
            lines.append(
                f"A trace {1e3 * self.shift:.3g} ms earlier would agree better: --shift {-self.shift:.4g}"
            )
        if self.left_out:
            lines.append(f"{self.left_out} points of the trace lie outside the run and are left out")
        return "\n".join(lines)


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
    known = run.signals.everything
    unknown = [name for name in trace.values if name not in known]
    if unknown:
        raise InputError(
            f"{trace.source}: the run has no signal {unknown[0]!r}{nearest(unknown[0], known)}; "
            f"{len(unknown)} of {len(trace.values)} columns are no signals. Say which signal each column is: "
            "--map FILE"
        )
    inside = (trace.t >= run.t[0]) & (trace.t <= run.t[-1])
    if not inside.any():
        raise InputError(f"{trace.source}: no point is within the run, {run.t[0]:g} to {run.t[-1]:g} s")
    names, t = list(trace.values), trace.t[inside]
    theirs = np.column_stack([trace.values[name][inside] for name in names])
    reference = VariableStep(REFERENCE)
    finer = simulate(run.system, reference, float(run.t[-1]), run.events, start=run.ends[0], certify=False)
    ours, exact = _at(run, t, names), _at(finer, t, names)
    ranges = np.ptp(theirs, axis=0)
    kinds = np.array([name.rpartition(".")[2] for name in names])
    largest = np.array([ranges[kinds == kind].max() for kind in kinds])
    off = theirs - ours
    worst = np.abs(off).argmax(axis=0)
    table = pd.DataFrame(
        {
            "signal": names,
            "rms": _rms(off),
            "largest": off[worst, np.arange(len(names))],
            "t": t[worst],
            "numerics": _rms(ours - exact),
            "model": _rms(theirs - exact),
            "range": ranges,
            "part": _rms(off) / np.where(largest > 0.0, largest, 1.0),
        }
    ).sort_values("part", ascending=False, ignore_index=True)
    return AgainstTrace(
        table, _by_device(table), _shift(off, ours, t, largest), reference, int((~inside).sum())
    )


def _at(run: Run, t: Reals, names: list[str]) -> Reals:
    """Return (K, j) values of signals; of two rows with one time the first is before an event."""
    first = np.append(t[:-1] == t[1:], False)
    values = run.at(t, names).to_numpy(copy=True)
    if first.any():
        values[first] = run.at(t[first], names, side="before").to_numpy()
    return np.asarray(values)


def _rms(values: Reals) -> Reals:
    return np.asarray(np.sqrt(np.mean(values**2, axis=0)))


def _by_device(table: pd.DataFrame) -> pd.DataFrame:
    """Return the largest part of each device's signals, the table being sorted by it."""
    device = table["signal"].str.rpartition(".")[0]
    rows = table.assign(device=device).drop_duplicates("device", ignore_index=True)
    return rows[["device", "part", "signal"]]


def _shift(off: Reals, ours: Reals, t: Reals, scale: Reals) -> float:
    """Return by which time the trace is late: a least-squares fit of the differences by the run's rates."""
    steps = np.diff(t)
    smooth = steps > 0.0
    rate = np.diff(ours, axis=0)[smooth] / steps[smooth, None] / np.where(scale > 0.0, scale, 1.0)
    between = 0.5 * (off[1:] + off[:-1])[smooth] / np.where(scale > 0.0, scale, 1.0)
    total = float(np.sum(rate**2))
    late = -float(np.sum(rate * between)) / total if total > 0.0 else 0.0
    left = float(np.sum((between + late * rate) ** 2))
    return late if left < WORTH**2 * float(np.sum(between**2)) else 0.0
