"""What one rate and two cost on 1,354 buses where plants never come to rest, and how far they are off.

``python -m tests.programs.benchmarks.two_rates.gate --rows FILE --keep FOLDER [STUDY ...]`` appends a line of
JSON for each run. References and cases are kept in the folder; ``--family none`` makes these alone.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import psmr
from tests.converter_plants import Plants, plants_in
from tests.disturbances import Disturbance, values_at
from tests.internals import Change, Scheme, integrate
from tests.programs.benchmarks.two_rates.studies import KINDS, LARGE, fault
from tests.programs.benchmarks.two_rates.suite import extrapolated

# Instants at which errors are taken: from here on, so far apart, in s. Fast steps end there.
FIRST, SPACING = 0.08, 0.02
# A run to here in s, with a system as it comes from its file, is what a run takes beside its steps.
SETUP = 0.04
T_END, WITH_FAULT, FAULT_AT = 0.5, 1.5, 0.5
SHARE = 0.7  # of the tolerance that each step may use
REFERENCE, REFERENCE_WITH_FAULT = 1e-8, 1e-6
# The pilot of steps by a tolerance: its steps, end, and instants in s; the period of what ripples.
PILOT, PILOT_END, PILOT_TIMES, PERIOD = (0.02, 1e-3), 0.14, np.arange(0.06, 0.135, 0.02), 0.01
# Runs below this processor time in s are taken three times.
CHEAP = 0.6

ONE = ("VariableStep, ESDIRK", "VariableStep, BDF")
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4)
FAULT_STEPS = ((0.02, 5e-4), (0.01, 5e-4), (0.005, 5e-4), (0.0025, 5e-4), (0.005, 2e-4))
STEPS = (
    *((0.05, 5e-3), (0.05, 1e-3), (0.05, 2e-4), (0.04, 5e-3), (0.02, 5e-3), (0.02, 1e-3), (0.02, 5e-4)),
    *((0.02, 2e-4), (0.01, 2e-4), (0.01, 1e-4)),
)


def of(name: str, where: str, folder: Path) -> tuple[Plants, tuple[Change, ...], float]:
    """Return plants, what happens, and the end of the run in s."""
    count, within, moved = KINDS[name]
    kept = folder / f"plants-{count}-{within}.pkl"
    if not kept.exists():
        kept.write_bytes(pickle.dumps(plants_in(LARGE, count, within=within)))
    plants: Plants = pickle.loads(kept.read_bytes())
    t_end = WITH_FAULT if where else T_END
    changes = moved(plants, t_end)
    return plants, (*changes, *(fault(plants, FAULT_AT, where) if where else ())), t_end


def reference(name: str, where: str, folder: Path) -> Any:
    """Return the values of `VariableStep` with a far smaller tolerance at the instants, kept in a folder."""
    plants, changes, t_end = of(name, where, folder)
    kept = folder / f"{name}-{where or 'calm'}.npy"
    if not kept.exists():
        fine = psmr.VariableStep(REFERENCE_WITH_FAULT if where else REFERENCE)
        run = integrate(plants.system, fine, t_end, changes)
        np.save(kept, values_at(plants.system, disturbance(changes, t_end), run, instants(t_end)))
    return np.load(kept)


def instants(t_end: float) -> Any:
    """Return the times of the errors in s."""
    return np.arange(FIRST, t_end - 1e-9, SPACING)


def disturbance(changes: tuple[Change, ...], t_end: float) -> Disturbance:
    """Return the changes before an end in s."""
    return Disturbance(tuple(c for c in changes if c.t < t_end), t_end, (FIRST, SPACING))


def by_tolerance(plants: Plants, split: Any, tolerance: float, changes: Any) -> psmr.Multirate:
    """Return the fixed steps that a pilot of some periods finds for a tolerance of what is watched.

    Errors go with the square of both steps; the macro step is a whole number of periods or the other way
    round, at most that of the pilot: a longer one was not tried.
    """
    h_slow, h_fast = PILOT
    watched, known = plants.watched(), disturbance(changes, PILOT_END)

    def values(h_slow: float, h_fast: float) -> Any:
        run = integrate(plants.system, extrapolated(split, h_slow, h_fast), PILOT_END, known.changes)
        return values_at(plants.system, known, run, PILOT_TIMES)[:, watched]

    coarse = values(h_slow, h_fast)
    scale = np.maximum(1.0, np.abs(coarse).max(axis=0))
    of_fast = 4 / 3 * (np.abs(coarse - values(h_slow, h_fast / 2)) / scale).max()
    of_slow = 4 / 3 * (np.abs(coarse - values(h_slow / 2, h_fast)) / scale).max()
    h_fast *= np.sqrt(SHARE * tolerance / of_fast)
    longest = h_slow * min(1.0, np.sqrt(SHARE * tolerance / of_slow))
    h_slow = PERIOD * np.floor(longest / PERIOD) if longest >= PERIOD else PERIOD / np.ceil(PERIOD / longest)
    h_fast = min(h_fast, PERIOD / 4)
    return extrapolated(split, float(h_slow), float(h_slow / np.ceil(h_slow / h_fast)))


def schemes(plants: Plants, where: str, changes: Any) -> Iterator[tuple[str, str, Scheme, float]]:
    """Yield family, label, scheme, and what its partition and its pilot took in s of processor time."""
    for family, method in zip(ONE, ("auto", "BDF"), strict=True):
        for tolerance in TOLERANCES:
            yield family, f"{tolerance:g}", psmr.VariableStep(tolerance, method), 0.0
    began = time.process_time()
    split = plants.partition()
    partition = time.process_time() - began
    for h_slow, h_fast in FAULT_STEPS if where else STEPS:
        yield "Multirate", f"{h_slow:g}, {h_fast:g}", extrapolated(split, h_slow, h_fast), partition
    for tolerance in TOLERANCES[1:]:
        began = time.process_time()
        found = by_tolerance(plants, split, tolerance, changes)
        pilot = time.process_time() - began
        label = f"{tolerance:g}: {found.h_slow:g}, {found.h_fast:.3g}"
        yield "Multirate by tolerance", label, found, partition + pilot
    for tolerance in TOLERANCES[1:3]:
        for h_fast in (1e-3, 2e-4):
            scheme = psmr.SampledMultirate(tolerance, split=split, h_fast=h_fast)
            yield "SampledMultirate", f"{tolerance:g}, {h_fast:g}", scheme, partition


def measured(name: str, where: str, folder: Path, wanted: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the families whose names begin with `wanted`."""
    plants, changes, t_end = of(name, where, folder)
    exact = reference(name, where, folder)
    scale, watched = np.maximum(1.0, np.abs(exact).max(axis=0)), plants.watched()
    fresh = pickle.dumps(plants.system)
    short = disturbance(changes, SETUP).changes

    def seconds(scheme: Scheme, system: Any, end: float, changes: Any) -> tuple[float, Any]:
        began = time.process_time()
        # Fast variables of `SampledMultirate` are known at the ends of its steps.
        stops = instants(t_end) if isinstance(scheme, psmr.SampledMultirate) else None
        run = integrate(system, scheme, end, changes, stops=stops)
        return time.process_time() - began, run

    fast = int(sum(part.sum() for part in (plants.partition().fast_x, plants.partition().fast_y)))
    for family, label, scheme, partition in schemes(plants, where, changes):
        if not family.startswith(wanted):
            continue
        row = {"study": name, "fault": where, "family": family, "steps": label, "fast": fast}
        try:
            integrate(plants.system, scheme, SETUP, short)
            setup = min(seconds(scheme, pickle.loads(fresh), SETUP, short)[0] for _ in range(2))
            spent, run = seconds(scheme, plants.system, t_end, changes)
            marginal = [spent - seconds(scheme, plants.system, SETUP, short)[0]]
            while spent < CHEAP and len(marginal) < 3:
                again = seconds(scheme, plants.system, t_end, changes)[0]
                marginal.append(again - seconds(scheme, plants.system, SETUP, short)[0])
        except psmr.PsmrError as failure:
            yield row | {"failure": str(failure)[:200]}
            continue
        if family.startswith("Multirate"):  # instants lie within macro steps, where fast points are known
            run = integrate(plants.system, scheme, t_end, changes, every=True)
        found = values_at(plants.system, disturbance(changes, t_end), run, instants(t_end))
        off = np.abs(found - exact) / scale
        counts = run.counters
        yield row | {
            "setup": round(setup + partition, 4),
            "before": round(partition, 4),
            "per_second": round(float(np.median(marginal)) / (t_end - SETUP), 4),
            "error": float(f"{off[:, watched].max():.3g}"),
            "all": float(f"{off.max():.3g}"),
            "taken": int(counts.steps),
            "macro": int(counts.macro_steps),
            "newton": {k: int(v) for k, v in counts.newton_iterations.items()},
        }


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help="some of " + "; ".join(KINDS))
    parser.add_argument("--rows", type=Path, required=True, help="file of the rows")
    parser.add_argument("--keep", type=Path, required=True, help="folder of cases and references")
    parser.add_argument("--fault", default="", choices=("", "far", "near"), help="where a fault is")
    parser.add_argument("--family", default="", help="how the families that are measured begin")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.studies or KINDS:
        for row in measured(name, arguments.fault, arguments.keep, arguments.family):
            with arguments.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
