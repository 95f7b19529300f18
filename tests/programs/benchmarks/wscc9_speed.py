"""What the compiled loops cost on the WSCC 9-bus system: a table of medians of processor time, one thread.

Run ``python -m tests.programs.benchmarks.wscc9_speed``; ``--commands`` times ``psmr run`` too, cold and warm.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

import partitioning
import psmr
from psmr import Multirate, SingleRate
from tests.internals import (
    EVERY,
    Counters,
    factorise_at,
    integrate,
    jacobian,
    lean,
    lu_of,
    make_block,
    matrix_of,
    refactor,
    residual,
    solve,
    work_of,
)

CASE = Path(__file__).parents[3] / "cases" / "wscc9"
T_END = 10.0


@lean
def residuals(block, w, count):  # type: ignore[no-untyped-def]
    for _ in range(count):
        residual(matrix_of(block).table, w, matrix_of(block).F)


@lean
def jacobians(block, w, count):  # type: ignore[no-untyped-def]
    for _ in range(count):
        matrix = matrix_of(block)
        jacobian(matrix.table, matrix.constant, w, matrix.J)


@lean
def refactors(block, w, count):  # type: ignore[no-untyped-def]
    for _ in range(count):
        refactor(lu_of(block), matrix_of(block).J)


@lean
def solves(block, w, count):  # type: ignore[no-untyped-def]
    for _ in range(count):
        solve(lu_of(block), work_of(block).defect, work_of(block).update)


def median(call: Callable[[], float], repetitions: int) -> tuple[float, float]:
    """Return (median, least) of what `call` returns, the first call aside."""
    call()
    values = [call() for _ in range(repetitions)]
    return statistics.median(values), min(values)


def cpu_time(call: Callable[[], object]) -> float:
    """Return the processor time of a call in s; what other programs take of the machine does not count."""
    began = time.process_time()
    call()
    return time.process_time() - began


def kernel_times(system: psmr.dae.system.system.System) -> list[tuple[str, float, float, str]]:
    """Time residual, Jacobian, refactor and solve of the whole system in microseconds."""
    everything = np.arange(system.n + system.m)
    w = system.w0.copy()
    block = make_block(system, "step", system.parameters, w, everything, everything)
    factorise_at(block.address, w, 5e-4, EVERY)
    block.records.work.defect[:] = np.random.default_rng(0).standard_normal(block.size)
    rows = []
    # Jacobian last: it overwrites the Newton matrix that refactor needs.
    for name, function, target in (
        ("residual", residuals, "0.6"),
        ("refactor", refactors, ""),
        ("solve", solves, ""),
        ("Jacobian", jacobians, ""),
    ):

        def once(function: Callable[..., None] = function) -> float:
            return cpu_time(lambda: function(block.address, w, 2000)) / 2000 * 1e6

        rows.append((name, *median(once, 101), target))
    return rows


def march_times(system: psmr.dae.system.system.System) -> list[tuple[str, float, float, str]]:
    """Time single-rate and multirate steps in the fault study, in microseconds, and whole studies in s."""
    changes = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7").changes(system)
    split = partitioning.by_participation(system.linearise(), 20.0)
    rows: list[tuple[str, float, float, str]] = []

    def study(scheme: SingleRate | Multirate) -> tuple[float, float, Counters]:
        """Return (median, least) time in s, and the work of a study of 10,000 steps or more."""
        t_end = max(T_END, 1e4 * scheme.step)  # preparation in Python then is below 0.5 us a step
        counters = integrate(system, scheme, t_end, changes).counters
        return *median(lambda: cpu_time(lambda: integrate(system, scheme, t_end, changes)), 15), counters

    # Newton to 1e-7 takes two iterations in most steps: the step that the target speaks of.
    for label, scheme, target in (
        ("TM step, 1 ms, tolerance 1e-7", SingleRate("TM", 1e-3, tolerance=1e-7), "8 with 2 iterations"),
        ("TM step, 1 ms", SingleRate("TM", 1e-3), ""),
        ("TM step, 1 ms, very dishonest", SingleRate("TM", 1e-3, newton="very dishonest"), ""),
        ("SDIRK2 step, 1 ms", SingleRate("SDIRK2", 1e-3), ""),
        ("TM step, 5 ms", SingleRate("TM", 5e-3), ""),
    ):
        middle, least, counters = study(scheme)
        each = counters.newton_iterations["step"] / counters.steps
        rows.append(
            (
                f"{label} ({each:.2f} iterations)",
                middle / counters.steps * 1e6,
                least / counters.steps * 1e6,
                target,
            )
        )
        if label == "TM step, 1 ms":
            one = SingleRate("TM", 1e-3)
            whole = median(lambda: cpu_time(lambda: integrate(system, one, T_END, changes)), 15)  # noqa: B023
            rows.append(("10 s of TM at 1 ms, preparation included [s]", *whole, "0.15"))
        if scheme.two_rates is None and scheme.h == 5e-3:
            ten = middle / counters.steps * 1e7
    for label, scheme in (
        ("FEM/TM", Multirate(split, 0.05, 10)),
        ("TM/TM", Multirate(split, 0.05, 10, predictor="TM")),
        ("TM/TM spline", Multirate(split, 0.05, 10, predictor="TM", interpolation="spline")),
    ):
        middle, least, counters = study(scheme)
        rows.append(
            (
                f"macro step {label}, 50 ms, ratio 10",
                middle / counters.macro_steps * 1e6,
                least / counters.macro_steps * 1e6,
                f"{ten:.0f} (ten TM steps)",
            )
        )
    return rows


def command_times() -> list[tuple[str, float, float, str]]:
    """Time ``psmr run`` with an empty and with a filled cache, in s."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PSMR_CACHE_DIR": folder, "MPLBACKEND": "Agg"}
        command = [sys.executable, "-m", "psmr.cli", "run", str(CASE / "fault.toml"), "-o", f"{folder}/out"]

        def once() -> float:
            began = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            return time.perf_counter() - began

        cold = once()
        rows.append(("psmr run fault.toml, cold [s]", cold, cold, "40"))
        rows.append(("psmr run fault.toml, warm [s]", *median(once, 5), "2"))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", action="store_true", help="time psmr run too")
    arguments = parser.parse_args()
    system = psmr.build(psmr.read_case(CASE / "wscc9.toml"))
    rows = kernel_times(system) + march_times(system)
    if arguments.commands:
        rows += command_times()
    print(
        f"{system.name}: {system.n} states, {system.m} algebraic variables; microseconds where no unit stands"
    )
    print(f"{'':48} {'median':>9} {'least':>9}  target at most")
    for name, middle, least, target in rows:
        print(f"{name:48} {middle:9.3f} {least:9.3f}  {target}")


if __name__ == "__main__":
    main()
