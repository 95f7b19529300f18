"""A run of IDA in C through the events of a disturbance."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psmr.errors import SimulationError
from tests.internals import Change, System, project
from tests.peers.spans import Spans
from tests.programs.benchmarks.against_ida import callbacks
from tests.programs.benchmarks.against_ida.build import load

Reals = NDArray[np.float64]

# What the driver counts, in its order.
COUNTS = (
    "steps",
    "error failures",
    "convergence failures",
    "residuals",
    "factorisations",
    "solves",
)
HIGHEST_ORDER = 5


class Problem(ctypes.Structure):
    """The structure of this name in ida_driver.c."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("size", "states", "block", "w", "length", "residual", "matrix", "factorise", "solve")
    ]


@dataclass(frozen=True)
class Options:
    """What IDA is asked for: tolerance (relative and absolute), what stays out of the error test, order."""

    tolerance: float
    states_alone: bool = False
    order: int = HIGHEST_ORDER


@dataclass(frozen=True)
class Ended:
    """What a run took and found.

    `march`, `events`: Processor time in s in C, and of what stands between two marches.
    `counts`: Work, by the names of `COUNTS`.
    `values`: (K, n + m) values at the instants that were asked for; None where every step was stored.
    """

    march: float
    events: float
    counts: dict[str, int]
    values: Reals | None


def run(
    system: System,
    changes: tuple[Change, ...],
    options: Options,
    t_end: float,
    times: Reals | None = None,
    prefix: Path | None = None,
) -> Ended:
    """Run to an end in s; without `times` (s, behind the last change) every step is stored, as psmr does.

    Raises
    ------
    SimulationError
        With IDA's flag, where it gave up.
    MissingSundialsError
        Where there is nothing to build the driver from.
    """
    library = load(prefix)
    spans = Spans(system, changes)
    functions = (callbacks.residual, callbacks.matrix, callbacks.factorise, callbacks.solution)
    addresses = [function.address for function in functions]
    w, size, clock = spans.w, spans.size, time.process_time
    began = clock()
    problem = Problem(size, system.n, spans.all.address, w.ctypes.data, len(w), *addresses)
    driver = library.ida_new(ctypes.byref(problem))
    march, events, found = clock() - began, 0.0, [np.empty((0, size))]
    try:
        for begin, end in spans.ends(t_end):
            began = clock()
            spans.start(begin)
            rates = np.zeros(size)
            project(spans.all.address, w, rates)
            y = w[:size].copy()
            events += clock() - began
            inside = np.empty(0) if times is None else times[(times > begin) & (times < end)]
            out = np.empty((len(inside), size))
            began = clock()
            flag = library.ida_march(
                driver, begin, end, y.ctypes.data, rates.ctypes.data, options.tolerance,
                options.states_alone, options.order, len(inside), inside.ctypes.data, out.ctypes.data,
            )  # fmt: skip
            march += clock() - began
            if flag:
                raise SimulationError(f"IDA ended between {begin:g} and {end:g} s with {flag}")
            w[:size], w[-1] = y, end
            found.append(out)
        counts = np.zeros(len(COUNTS), np.int64)
        library.ida_counts(driver, counts.ctypes.data)
    finally:
        began = clock()
        library.ida_free(driver)
        march += clock() - began
    named = dict(zip(COUNTS, counts.tolist(), strict=True))
    return Ended(march, events, named, None if times is None else np.concatenate(found))
