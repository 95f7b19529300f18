"""ANDES at a RAW and a DYR file: its start, its linearisation, its runs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import breadth_first_order

from psmr.dae.system import System
from psmr.grid.case import Case
from psmr.grid.powerflow import PowerFlow, power_flow

andes = pytest.importorskip("andes")
andes.config_logger(stream_level=40)

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

STEP = 1e-6
"""Of the central differences: roundoff and third derivatives are both of about 1e-10."""
TINY = 1e-7
"""Entries of a Jacobian below this are none: ANDES puts 1e-8 on some diagonals."""
ZERO = 1e-4
"""Eigenvalues below this, in 1/s, are zero: the root of the error of the differences."""
EVENT = 1e-6
"""s by which ANDES steps around an event: its default, 1e-4 s, is a delay of the event by as much."""


def load(raw: Path, dyr: Path, fault: dict[str, float] | None = None, trip: str | None = None) -> Any:
    """Return ANDES' system with its power flow solved to 1e-12 and no events but the given fault.

    Parameters
    ----------
    fault
        bus, tf, tc (s), xf (pu).
    trip
        Line that the clearing takes out of service.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        system = andes.load(str(raw), addfile=str(dyr), setup=False, no_output=True, default_config=True)
        for i in range(system.Toggle.n):
            system.Toggle.u.v[i] = 0
        if fault is not None:
            system.add("Fault", {"rf": 0.0, **fault})
        if trip is not None:
            system.add("Toggle", {"model": "Line", "dev": trip, "t": fault["tc"]})
        system.setup()
        system.PFlow.config.tol = 1e-12
        system.PFlow.run()
    assert system.PFlow.converged
    return system


def start(system: Any) -> None:
    """Initialise the dynamics."""
    system.TDS.config.no_tqdm = 1
    system.TDS.init()
    assert system.TDS.test_ok


def machines(system: Any) -> list[tuple[Any, int]]:
    """Return (model, place) of every machine, in the order of buses and of the file within a bus."""
    found = [(model, i) for model in (system.GENCLS, system.GENROU) for i in range(model.n)]
    return sorted(found, key=lambda item: int(item[0].bus.v[item[1]]))


def plants(case: Case) -> list[int]:
    """Return the places of psmr's generators in the same order."""
    return sorted(range(len(case.generators)), key=lambda k: case.generators[k].bus)


def shared_flow(case: Case, system: Any) -> PowerFlow:
    """Return psmr's power flow with ANDES' division of reactive power between generators of one bus.

    No law gives that division: psmr follows the ratings, ANDES what its Newton's start leaves.
    """
    flow = power_flow(case, tolerance=1e-12)
    q = flow.q.copy()
    for place, (model, i) in zip(plants(case), machines(system), strict=True):
        q[place] = model.Qe.v[i]
    assert abs(q.sum() - flow.q.sum()) < 1e-9
    return dataclasses.replace(flow, q=q)


def jacobian(system: Any) -> Reals:
    """Return ANDES' own (n + m, n + m) Jacobian of T x' = f and 0 = g."""
    from kvxopt import matrix

    system.j_update(models=system.exist.pflow_tds)
    blocks = (system.dae.fx, system.dae.fy, system.dae.gx, system.dae.gy)
    f_x, f_y, g_x, g_y = (np.array(matrix(block)) for block in blocks)
    return np.block([[f_x, f_y], [g_x, g_y]])


def differenced(system: Any) -> Reals:
    """Return the Jacobian by central differences of ANDES' f and g."""
    dae = system.dae
    n, size = dae.n, dae.n + dae.m
    start = np.r_[dae.x, dae.y]

    def residual(w: Reals) -> Reals:
        dae.x[:], dae.y[:] = w[:n], w[n:]
        system.vars_to_models()
        system.TDS.fg_update(models=system.exist.pflow_tds)
        return np.r_[dae.f, dae.g]

    found = np.empty((size, size))
    for j in range(size):
        step = STEP * max(1.0, abs(start[j]))
        there, back = start.copy(), start.copy()
        there[j] += step
        back[j] -= step
        found[:, j] = (residual(there) - residual(back)) / (2 * step)
    residual(start)
    return found


def eigenvalues(system: Any, whole: Reals) -> Complexes:
    """Return those eigenvalues of the pencil of a Jacobian and ANDES' time constants that machines see."""
    time = np.r_[system.dae.Tf, np.zeros(system.dae.m)]
    return seen(whole, time, [model.omega.a[i] for model, i in machines(system)])


def own_eigenvalues(system: System) -> Complexes:
    """Return the same of psmr's system."""
    whole = system.linearise().jacobian().toarray()
    speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
    return seen(whole, np.r_[np.ones(system.n), np.zeros(system.m)], speeds)


def seen(whole: Reals, time: Reals, speeds: list[int]) -> Complexes:
    """Return the finite eigenvalues of the pencil (whole, diag(time)), without what no speed depends on.

    States with the time constant zero are algebraic. Left out are states that no chain of equations leads
    from to a speed: the filter of a frequency meter that a stabiliser has but does not read, a lead-lag whose
    two time constants are equal, a block of zero time constants that keeps undetermined variables.
    """
    depends = sparse.csr_array(np.abs(whole) > TINY)
    read = np.zeros(len(whole), dtype=bool)
    for speed in speeds:
        if not read[speed]:
            read[breadth_first_order(depends, speed, return_predecessors=False)] = True
    slow, fast = np.flatnonzero(read & (time != 0)), np.flatnonzero(read & (time == 0))
    eliminated = np.linalg.solve(whole[np.ix_(fast, fast)], whole[np.ix_(fast, slow)])
    reduced = whole[np.ix_(slow, slow)] - whole[np.ix_(slow, fast)] @ eliminated
    return np.linalg.eigvals(reduced / time[slow][:, None])


def matched(ours: Complexes, theirs: Complexes) -> tuple[Reals, Complexes, Complexes]:
    """Return (relative differences, ours, theirs), paired so that their sum is least, largest first.

    The zeros of the common angle and speed are double, and an error moves them by its root: they are called
    zero.
    """
    assert len(ours) == len(theirs)
    ours, theirs = (np.where(np.abs(values) < ZERO, 0.0, values) for values in (ours, theirs))
    error = np.abs(ours[:, None] - theirs) / np.maximum(np.abs(ours)[:, None], ZERO)
    rows, columns = linear_sum_assignment(np.minimum(error, 1e3))
    order = np.argsort(-error[rows, columns])
    rows, columns = rows[order], columns[order]
    return error[rows, columns], ours[rows], theirs[columns]


@dataclass(frozen=True)
class Trajectory:
    """What ANDES computed: times, rotor angles in the order of `machines`, voltages by bus number."""

    t: Reals
    delta: Reals
    v: Reals
    buses: tuple[int, ...]


def run(system: Any, h: float, t_end: float, tolerance: float = 1e-9) -> Trajectory:
    """Run ANDES' trapezoidal rule with a fixed step, and events to `EVENT`."""
    config = system.TDS.config
    # No stop at large angles, no smaller steps, no residuals set to zero: the plain rule.
    settings = {"tf": t_end, "tstep": h, "fixt": 1, "shrinkt": 0, "tol": tolerance, "criteria": 0}
    for name, value in {**settings, "reset_tiny": 0, "max_iter": 30, "no_tqdm": 1}.items():
        setattr(config, name, value)
    system.store_switch_times = functools.partial(system.store_switch_times, eps=EVENT)
    with contextlib.redirect_stdout(io.StringIO()):
        start(system)
        assert system.TDS.run(no_summary=True)
    t, x, y = (np.array(part) for part in (system.dae.ts.t, system.dae.ts.x, system.dae.ts.y))
    delta = x[:, [model.delta.a[i] for model, i in machines(system)]]
    return Trajectory(t, delta, y[:, system.Bus.v.a], tuple(int(b) for b in system.Bus.idx.v))
