"""Points of a run within common steps in which devices had steps of their own: these steps are taken again.

The devices' own points are not kept: they are many, and the bus voltages between them follow from all devices
together. A common step of a self-adjusting scheme in which points are wanted is therefore taken again from
the recorded point at its beginning, with one step for all, the tolerance of the run, and a step that ends at
each time that is wanted. What is found are points of the method and no interpolation, of every variable, at
the cost of `VariableStep` over these common steps alone; at their ends it differs from the recorded points by
the error of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.system import System
from psmr.numerics.run.changes import Now, autonomous
from psmr.numerics.run.flow_through import flow_through
from psmr.numerics.run.recorder import Recorder
from psmr.numerics.run.trajectory import Change
from psmr.numerics.schemes.variable_step import VariableStep
from psmr.numerics.solve.ramps import Course, Following
from psmr.study.record.spans import Span

Reals = NDArray[np.float64]

# Steps within a common one are not counted against those that a run is allowed.
UNLIMITED = 2**62

# Closer than this part of a common step is the same time, as in `psmr.numerics.run.integrate`.
SAME = 1e-12


def taken_again(
    system: System, spans: Sequence[Span], scheme: VariableStep, t: Reals, points: Reals, times: Reals
) -> Reals:
    """Return (L, n + m) points of a run at (L,) times in s, in ascending order, none of them recorded.

    Parameters
    ----------
    system, spans
        The system of the run at its start, and the spans of the run.
    scheme
        The method of the run, with one step for all.
    t, points
        (K,) times in s and (K, n + m) points that are recorded.
    times
        Between the first and the last time.

    Raises
    ------
    SimulationError
        Where a step fails; names the time.
    """
    out = np.empty((len(times), system.n + system.m))
    scheme = replace(scheme, most_steps=UNLIMITED)
    for span in spans:
        own = np.flatnonzero((times > t[span.rows.start]) & (times < t[span.rows.stop - 1]))
        if own.size:
            out[own] = _within(system, span, scheme, t[span.rows], points[span.rows], times[own])
    return out


def _within(system: System, span: Span, scheme: VariableStep, t: Reals, points: Reals, times: Reals) -> Reals:
    """Return the points at times within one span."""
    size = system.n + system.m
    out, w = np.empty((len(times), size)), system.w0.copy()
    parameters, now = [matrix.copy() for matrix in span.parameters], _now(system, span)
    w[:size], w[-1] = points[0], t[0]
    w[size:-1] = span.held(t[:1])[0]
    now.put(w, parameters)
    engine: Any = scheme.engine(system, parameters, w, False)
    if span.out:
        engine.take_out(system, parameters, w, span.out)
    limits = system.constant_limits(parameters)
    for block in engine.blocks.values():
        block.load(parameters, *limits, Following(now.inputs, now.parameters), w)
    first = np.searchsorted(t, times, side="right") - 1
    begins = np.unique(first, return_index=True)[1]
    for begin, end in zip(begins, [*begins[1:], len(times)], strict=True):
        k, wanted = int(first[begin]), times[begin:end]
        w[:size], w[-1] = points[k], t[k]
        w[size:-1] = span.held(t[k : k + 1])[0]
        now.put(w, parameters)
        engine.forget(autonomous(system, parameters) and not now.moves)
        rows = now.rows(float(t[k]), float(wanted[-1]), SAME * float(t[k + 1] - t[k]))
        sink = _Wanted(wanted, out[begin:end])
        recorder = Recorder(system.n, size, sink=sink, names=(*system.names_x, *system.names_y))
        flow_through(engine, float(wanted[-1]), w, np.union1d(rows, wanted[:-1]), recorder, None)
    return out


def _now(system: System, span: Span) -> Now:
    """Return what moves in a span, as a run has it."""
    first = system.n + system.m
    lines = {
        first + int(k): Course.line(span.t, float(span.inputs[k]), float(span.rates[k]))
        for k in np.flatnonzero(span.rates)
    }
    courses = {first + k: course for k, course in span.inputs_over.items()}
    return Now(set(span.out), lines | courses, dict(span.parameters_over))


class _Wanted:
    """Takes those points of a piece of a run that are wanted; see `psmr.numerics.run.recorder.Sink`."""

    def __init__(self, times: Reals, out: Reals) -> None:
        self._times, self._out = times, out

    def begin(self, t: float) -> None:
        """Take note of nothing."""

    def told(self, change: Change) -> None:
        """Take note of nothing."""

    def take(self, t: Reals, points: Reals) -> None:
        """Take (K,) times and (K, n + m) points."""
        place = np.minimum(np.searchsorted(self._times, t), len(self._times) - 1)
        same = self._times[place] == t
        self._out[place[same]] = points[same]
