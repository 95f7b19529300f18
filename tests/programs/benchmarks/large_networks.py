"""pandapower's networks with standard dynamics: building, a fault at one and at two rates, memory, stability.

Run ``python -m tests.programs.benchmarks.large_networks [--modes | --seeds N] [NAME ...]`` from the
repository; it prints what docs/benchmarks/large.md has. Times are wall-clock seconds on one thread, with
kernels compiled before.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandapower.networks

import partitioning
import psmr
from psmr import Case, ModeChoice, from_pandapower
from tests.internals import ShiftInvert, find, power_flow

NAMES = ("case118", "case300", "case1354pegase", "case2869pegase", "case9241pegase")
H_SLOW, RATIO, T_END = 0.01, 5, 5.0


def main() -> None:
    """Print a row per network and share of converters; each in a process of its own, for its peak memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--modes", action="store_true", help="also the least damped modes, and any that grow")
    parser.add_argument("--seeds", type=int, help="only say how many of so many seeds and four shares grow")
    arguments = parser.parse_args()
    if arguments.seeds:
        for name in arguments.names:
            print(growing(name, arguments.seeds), flush=True)
        return
    warm = ("case118", 0.3, False)
    context = multiprocessing.get_context("spawn")
    print("network, converters | states, algebraic | read, flow, add, build | TM 2 ms, TM 10/2 ms | MB")
    for job in (warm, *((name, share, arguments.modes) for name in arguments.names for share in (0.0, 0.3))):
        with context.Pool(1) as pool:
            row = pool.apply(measure, job)
        if job is not warm:
            print(row, flush=True)


def measure(name: str, share: float, modes: bool) -> str:
    """Return the row of a network."""
    logging.disable(logging.WARNING)
    net = getattr(pandapower.networks, name)()
    read, case = timed(lambda: from_pandapower(net))
    solve, flow = timed(lambda: power_flow(case))
    add, case = timed(lambda: psmr.add_dynamics(case, converters=share, flow=flow))
    build, system = timed(lambda: psmr.build(case, flow))
    linear = system.linearise()
    if modes:
        return f"{name} {share}: {stability(linear)}"
    fault = psmr.Fault(busiest(case), start=0.5, clear=0.6)
    fast = [d.name for row in case.generators for d in row.devices if d.role in ("converter", "exciter")]
    split = partitioning.by_device(linear, fast)
    schemes: tuple[Any, ...] = (
        psmr.SingleRate("TM", h=H_SLOW / RATIO, newton="very dishonest"),
        psmr.Multirate(split, H_SLOW, RATIO, predictor="TM", solution="TM", newton="very dishonest"),
    )
    seconds, speeds = [], []
    for scheme in schemes:
        spent, run = timed(lambda: psmr.simulate(system, scheme, T_END, [fault], certify=False))  # noqa: B023
        seconds.append(spent)
        speeds.append(run.frame("G*.omega").to_numpy())
    away = [float(np.abs(speed[-1] - 1).max()) for speed in speeds]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{name} {share} | {system.n}, {system.m} | {read:.2f}, {solve:.2f}, {add:.2f}, {build:.2f} |"
        f" {seconds[0]:.1f}, {seconds[1]:.1f} | {memory:.0f} | fault at {fault.bus}, speeds within"
        f" {away[0]:.2e} and {away[1]:.2e} of 1 at the end"
    )


def growing(name: str, seeds: int) -> str:
    """Return how many systems drawn for a network have a mode that grows, by their whole spectra."""
    logging.disable(logging.WARNING)
    case = from_pandapower(getattr(pandapower.networks, name)())
    flow = power_flow(case)
    found = []
    for seed in range(seeds):
        for share in (0.0, 0.3, 0.6, 1.0):
            system = psmr.build(psmr.add_dynamics(case, seed, share, flow=flow), flow)
            table = psmr.modes(system.linearise())
            # Angle and speed of all, both free where no machine has a governor, are known to 1e-6.
            if (table.real > 1e-5).any():
                found.append((seed, share))
    return f"{name}: {len(found)} of {4 * seeds} systems grow {found or ''}"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call took, and what it returned."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def busiest(case: Case) -> int:
    """Return the number of the bus with the most branches."""
    count = Counter(bus for row in case.branches for bus in (row.from_bus, row.to_bus))
    return max(count, key=lambda bus: (count[bus], -bus))


def stability(linear: Any) -> str:
    """Return the least damped oscillations below 3 Hz, and the modes nearest to +0.05 1/s that grow."""
    pencil = ShiftInvert(linear)
    found = find(pencil, ModeChoice(least_damped=3, band_hz=(0.05, 3.0)))
    near, _, disc = pencil.near(0.05)
    growing = near[near.real > 1e-6]
    return f"{np.round(found.s, 3)} ({found.coverage}); growing within {disc.radius:.2g} of 0.05: {growing}"


if __name__ == "__main__":
    main()
