"""ANDES and TOPS at equal error: ``python -m tests.programs.benchmarks.equal_error.peers``.

ANDES runs the RAW and DYR pairs of its package and psmr the same ones with ANDES' definitions
(`tests.peers`), TOPS its own Kundur and New England systems, whose models psmr does not have: what it costs
is compared with psmr's runs of its own ones. Errors of each program are against its own finest run, since
where limits act the programs differ by more than their steps do.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

import psmr
from tests.disturbances import START, Disturbance, instants, values_at
from tests.internals import System, integrate
from tests.programs.benchmarks.equal_error.measure import REFERENCE, Measured
from tests.programs.benchmarks.equal_error.records import append, done

Reals = NDArray[np.float64]

ANDES, TOPS, OWN, DIFFERENCE = "ANDES", "TOPS", "VariableStep", "finest of both programs"
# Bus and reactance in pu of a local and of a severe fault of 100 ms.
FAULTS = {
    "kundur_full": {"local fault": (4, 0.1), "severe fault": (8, 0.01)},
    "npcc_full": {"local fault": (47, 0.1), "severe fault": (36, 0.01)},
    "wecc_full": {"local fault": (60, 0.1), "severe fault": (77, 0.01)},
}
STEPS, ANDES_REFERENCE = (0.02, 0.01, 0.005), 0.0025
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
T_END = 5.0
# s by which ANDES steps around an event: its default, 1e-4 s, is a delay of the event by as much.
EVENT = 1e-6
TOPS_FAULTS = {
    "k2a": {"local fault": ("B4", 0.1), "severe fault": ("B8", 1e-4)},
    "ieee39": {"local fault": ("14", 0.1), "severe fault": ("16", 1e-4)},
}
TOPS_STEPS, TOPS_REFERENCE = (0.01, 0.005, 0.0025), 0.00125


def errors(values: Reals, exact: Reals) -> tuple[float, float]:
    """Return root of the mean square and largest error, relative to the largest value of each or 1."""
    off = np.abs(values - exact) / np.maximum(1.0, np.abs(exact).max(axis=0))
    return float(np.sqrt(np.mean(off**2))), float(off.max())


def by_andes(name: str, dyr: Path, kind: str, h: float) -> tuple[float, Reals, Reals]:
    """Return processor time of ANDES' integration in s, its (K,) times, (K, ...) speeds and voltages."""
    from tests.peers.andes_system import in_andes_names, load, machines, start
    from tests.peers.pairs import PAIRS

    bus, x = FAULTS[name][kind]
    fault = {"bus": bus, "tf": START, "tc": START + 0.1, "xf": x}
    system = load(PAIRS[name].raw_path, in_andes_names(dyr), fault)
    settings = {"tf": T_END, "tstep": h, "fixt": 1, "shrinkt": 0, "tol": 1e-6, "criteria": 0, "max_iter": 30}
    for key, value in settings.items():
        setattr(system.TDS.config, key, value)
    system.store_switch_times = functools.partial(system.store_switch_times, eps=EVENT)
    with contextlib.redirect_stdout(io.StringIO()):
        start(system)
        began = time.process_time()
        ended = system.TDS.run(no_summary=True)
        spent = time.process_time() - began
    if not ended:
        raise psmr.SimulationError("ANDES stopped")
    t, x_of, y = (np.array(part) for part in (system.dae.ts.t, system.dae.ts.x, system.dae.ts.y))
    speeds = x_of[:, [model.omega.a[i] for model, i in machines(system)]]
    order = np.argsort([int(bus) for bus in system.Bus.idx.v])
    v = y[:, np.asarray(system.Bus.v.a)[order]]
    return spent, t, np.hstack([speeds, v])


def watched(system: System, values: Reals) -> Reals:
    """Return (K, ...) speeds and magnitudes of the bus voltages, both in the order of the bus numbers."""
    bus_of = {d.name: d.connections.get("v_re", "").rpartition(".")[0] for d in system.devices}
    number = {d.name: int(d.name.removeprefix("bus")) for d in system.devices if d.name.startswith("bus")}
    speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
    speeds.sort(key=lambda i: number[bus_of[system.names_x[i].rpartition(".")[0]]])
    buses = sorted(number, key=number.__getitem__)
    re, im = ([system.index(f"{bus}.{part}") for bus in buses] for part in ("v_re", "v_im"))
    return np.hstack([values[:, speeds], np.hypot(values[:, re], values[:, im])])


def andes_study(name: str, kind: str) -> list[Measured]:
    """Return cost and error of ANDES' steps and of `VariableStep` on one pair and fault."""
    from tests.peers.andes_system import aligned
    from tests.peers.pairs import PAIRS

    bus, x = FAULTS[name][kind]
    with tempfile.TemporaryDirectory() as folder:
        dyr = PAIRS[name].compared_in(Path(folder))
        system, _ = aligned(PAIRS[name].raw_path, dyr)
        fault = psmr.Fault(bus=bus, start=START, clear=START + 0.1, x=x)
        what = Disturbance(fault.changes(system), T_END, (START + 0.12, 0.02))
        times = instants(what)

        def own(tolerance: float) -> tuple[float, int, Reals]:
            began = time.process_time()
            run = integrate(system, psmr.VariableStep(tolerance), T_END, what.changes)
            spent = time.process_time() - began
            return spent, run.counters.steps, watched(system, values_at(system, what, run, times))

        exact = own(REFERENCE)[2]
        rows = []
        for tolerance in TOLERANCES:
            spent, steps, values = own(tolerance)
            more = [own(tolerance)[0] for _ in range(4)]
            rms, largest = errors(values, exact)
            cost = float(np.median([spent, *more]))
            rows.append(Measured(OWN, f"{tolerance:g}", cost, steps, np.nan, np.nan, rms, largest))
        finest: Reals | None = None
        for h in (ANDES_REFERENCE, *STEPS):
            spent, t, values = by_andes(name, dyr, kind, h)
            # Its steps begin anew after an event, so that instants lie between them.
            after = t > START + 0.1 + 2 * EVENT
            at = _between(t[after], values[after], times)
            family = DIFFERENCE if finest is None else ANDES
            rms, largest = errors(at, exact if finest is None else finest)
            finest = at if finest is None else finest
            rows.append(Measured(family, f"{1e3 * h:g} ms", spent, len(t) - 1, np.nan, np.nan, rms, largest))
    return rows


def _between(t: Reals, values: Reals, times: Reals) -> Reals:
    from scipy.interpolate import CubicSpline

    _, first = np.unique(t, return_index=True)
    return np.asarray(CubicSpline(t[first], values[first])(times))


def by_tops(name: str, kind: str, h: float) -> tuple[float, Reals]:
    """Return processor time of a run of TOPS in s and its (K, ...) speeds and voltages at the instants."""
    from tops import dynamic, solvers

    bus, x = TOPS_FAULTS[name][kind]
    system = dynamic.PowerSystemModel(model=importlib.import_module(f"tops.ps_models.{name}").load())
    with contextlib.redirect_stdout(io.StringIO()):
        system.init_dyn_sim()
    place = [str(name) for name in system.buses["name"]].index(bus)
    admittance = {round(START / h): 100.0 / system.s_n / (1j * x), round((START + 0.1) / h): 0.0}
    marks = set(np.round(instants(Disturbance((), T_END, (START + 0.12, 0.02))) / h).astype(int).tolist())
    kept = []
    began = time.process_time()
    solver = solvers.ModifiedEulerDAE(
        system.state_derivatives, system.solve_algebraic, 0.0, system.x0.copy(), max_step=h
    )
    for step in range(round(T_END / h)):
        if step in admittance:
            system.y_bus_red_mod[place, place] = admittance[step]
            solver.v[:] = system.solve_algebraic(solver.t, solver.x)
        if step in marks:
            kept.append(np.hstack([solver.x, np.abs(solver.v)]))
        solver.step()
    spent = time.process_time() - began
    values = np.array(kept)
    states = len(system.x0)
    speeds = [i for i, (_, state) in enumerate(system.state_desc) if state == "speed"]
    return spent, np.hstack([1.0 + values[:, speeds], values[:, states:]])


def tops_study(name: str, kind: str) -> list[Measured]:
    """Return cost and error of the steps of TOPS on its own case."""
    _, exact = by_tops(name, kind, TOPS_REFERENCE)
    rows = []
    for h in TOPS_STEPS:
        spent, values = by_tops(name, kind, h)
        rows.append(
            Measured(TOPS, f"{1e3 * h:g} ms", spent, round(T_END / h), np.nan, np.nan, *errors(values, exact))
        )
    return rows


def main() -> None:
    """Measure what is not yet measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="file of the rows")
    parser.add_argument("--tops", type=Path, help="folder with the package tops")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for key, call in _studies(arguments.tops):
        if key not in done(arguments.rows):
            append(arguments.rows, key, {}, call())
            print(key, flush=True)


def _studies(tops: Path | None) -> Iterator[tuple[tuple[str, float, str], Callable[[], list[Measured]]]]:
    for name, kinds in FAULTS.items():
        for kind in kinds:
            yield (f"{ANDES} {name}", 0.0, kind), functools.partial(andes_study, name, kind)
    if tops is not None:
        sys.path.append(str(tops))
    for name, kinds in TOPS_FAULTS.items():
        for kind in kinds:
            yield (f"{TOPS} {name}", 0.0, kind), functools.partial(tops_study, name, kind)


if __name__ == "__main__":
    main()
