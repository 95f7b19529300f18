"""What steps of their own are worth: SelfAdjusting against VariableStep at equal error.

Run ``python -m tests.benchmarks.self_adjusting [--case NAME ...] [--repeats K]``. Errors are those of the
accepted points after the fault, against a run with tolerance 1e-8. The time that the march takes is that of
a run less that of a run of one step, which makes the blocks and solves the start and the events alike.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from typing import Any

import numpy as np
from numpy.typing import NDArray

import psmr
from psmr.dae.system.system import System
from psmr.numerics.run.integrate import integrate
from psmr.numerics.schemes.scheme import Scheme
from psmr.study.record.dense import dense_points
from psmr.study.record.spans import spans_of
from tests.benchmarks.equal_error.cases import START, Disturbance, local_fault, system_of, title, watched
from tests.benchmarks.equal_error.measure import Measured, ratio

CASES = (("new-england", 0.0), ("npcc_full", 0.0), ("case1354pegase", 0.5), ("case9241pegase", 0.5))
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)
REFERENCE = 1e-8
SINGLE, REFINED = "VariableStep", "SelfAdjusting"


def errors(system: System, what: Disturbance, run: Any, fine: Any) -> tuple[NDArray, NDArray]:
    """Return (K, n + m) errors of the points after the fault, relative to the largest value or one."""
    after = (run.t > what.times[0]) & ~np.isin(run.t, fine.t)
    points = np.hstack([fine.x, fine.y])
    exact = dense_points(system, spans_of(system, fine.t, what.changes), fine.t, points, run.t[after])
    return np.abs(np.hstack([run.x, run.y])[after] - exact) / np.maximum(
        1.0, np.abs(points).max(axis=0)
    ), after


def rms(off: NDArray) -> float:
    """Return the root mean square."""
    return float(np.sqrt((off**2).mean()))


def measured(
    system: System, what: Disturbance, repeats: int, tolerances: tuple[float, ...]
) -> list[Measured]:
    """Return cost and error of both schemes at each tolerance, the runs of a round one after the other."""
    fine = integrate(system, psmr.VariableStep(REFERENCE), what.t_end, what.changes)
    chosen = watched(system)
    schemes: list[tuple[str, Scheme]] = [
        pair
        for tolerance in tolerances
        for pair in ((SINGLE, psmr.VariableStep(tolerance)), (REFINED, psmr.SelfAdjusting(tolerance)))
    ]
    seconds: dict[str, list[float]] = {}
    rows: dict[str, Measured] = {}
    for repeat in range(repeats):
        for family, scheme in schemes:
            began = time.process_time()
            run = integrate(system, scheme, what.t_end, what.changes)
            seconds.setdefault(str(scheme), []).append(time.process_time() - began)
            if repeat == 0:
                off, _ = errors(system, what, run, fine)
                c, seen = run.counters, off[:, chosen]
                rows[str(scheme)] = Measured(
                    family,
                    str(scheme),
                    0.0,
                    c.steps,
                    rms(off),
                    float(off.max()),
                    rms(seen),
                    float(seen.max()),
                )
                small = f"{c.refined:5d} smaller of {c.refined_rows / max(1, c.refined):6.0f} rows"
                done = f"{c.steps:5d} steps, {c.rejected:3d} rejected, {small}"
                print(f"  {scheme!s:44} {done}, {c.newton_iterations['step']:5d} iterations", flush=True)
    return [
        Measured(**(vars(row) | {"seconds": float(np.median(seconds[key]))})) for key, row in rows.items()
    ]


def overhead(system: System, what: Disturbance) -> float:
    """Return the processor time in s of what no scheme changes: blocks, start, events."""
    short = psmr.VariableStep(0.5)
    began = time.process_time()
    integrate(system, short, START + 0.1 + 1e-3, what.changes)
    return time.process_time() - began


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs="*", default=[name for name, _ in CASES])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tolerances", type=float, nargs="*", default=list(TOLERANCES))
    arguments = parser.parse_args()
    for name, converters in CASES:
        if name not in arguments.case:
            continue
        system, bus = system_of(name, converters)
        what = local_fault(system, bus)
        print(f"{title(name, converters)}, {system.n + system.m} variables, {what.t_end:g} s", flush=True)
        rows = measured(system, what, arguments.repeats, tuple(arguments.tolerances))
        if arguments.save:
            record = {"case": name, "converters": converters, "size": system.n + system.m}
            with arguments.save.open("a") as file:
                file.write(json.dumps(record | {"rows": [vars(row) for row in rows]}) + "\n")
        print(f"  a run as short as can be: {overhead(system, what):.3f} s")
        print(f"  {'scheme':44} {'time, s':>8} {'all rms':>9} {'largest':>9} {'v, omega':>9} {'largest':>9}")
        for row in rows:
            print(
                f"  {row.label:44} {row.seconds:8.3f} {row.rms:9.1e} {row.largest:9.1e} "
                f"{row.rms_watched:9.1e} {row.largest_watched:9.1e}"
            )
        for by, words in (("rms", "all variables"), ("rms_watched", "speeds and voltages")):
            gains = [
                ratio(rows, [SINGLE], REFINED, getattr(row, by), by) for row in rows if row.family == REFINED
            ]
            print(f"  gain at equal rms error of {words}: {', '.join(gains)}", flush=True)


if __name__ == "__main__":
    main()
