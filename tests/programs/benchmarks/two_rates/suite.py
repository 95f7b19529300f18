"""Work and error of psmr's schemes and of published methods on one suite of rippling systems.

``python -m tests.programs.benchmarks.two_rates.suite --rows FILE [CASE ...]`` appends a line of JSON for each
run.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import partitioning
import psmr
from tests.converter_plants import Plants, plants_in
from tests.disturbances import CASES, Disturbance, values_at
from tests.internals import Scheme, System, integrate
from tests.programs.benchmarks.two_rates import baselines
from tests.programs.benchmarks.two_rates.baselines import NoSolutionError, Problem, Work
from tests.programs.benchmarks.two_rates.studies import LARGE, SMALL, ripple

# All methods begin in the ripple at this time in s; errors are taken from there on, so far apart.
BEGIN, SPACING = 0.1, 0.02
LENGTHS = {"WSCC-9": 0.2, "New England": 0.2, "1,354 buses": 0.1}
REFERENCE = 1e-8

VARIABLE = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
# Macro and fast steps in s.
FIXED = ((0.02, 1e-3), (0.02, 5e-4), (0.02, 2e-4), (0.01, 1e-4), (0.005, 5e-5))
ROS2 = (1e-2, 1e-3, 1e-4)
# Macro steps in s and fast steps in a third of one.
MRI = ((0.02, 14), (0.01, 7), (0.005, 4), (0.005, 16), (0.002, 4), (0.001, 2), (5e-4, 1), (2.5e-4, 1))
# Steps in s and turns between states and network.
TURNS = ((1e-3, 1), (1e-3, 3), (5e-4, 1), (5e-4, 3), (2e-4, 1), (2e-4, 3), (1e-4, 1), (1e-4, 3), (5e-5, 1))


def plants_of(case: str) -> Plants:
    """Return a case with plants that can ripple."""
    if case == "WSCC-9":
        system = psmr.build(psmr.read_case(CASES / "wscc9" / "wscc9-emt.toml"))
        return Plants(system, ("C3",), ("bus3",))
    return plants_in(SMALL if case == "New England" else LARGE, 5)


def in_ripple(case: str) -> tuple[System, partitioning.Partition, Problem]:
    """Return the system at its point of `BEGIN`, with the ripple on, its partition and the problem."""
    plants = plants_of(case)
    system, changes = plants.system, ripple(plants, v_2=0.03)
    end = BEGIN + LENGTHS[case]
    times = np.arange(BEGIN, end + SPACING / 2, SPACING)
    fine = integrate(system, psmr.VariableStep(REFERENCE), end, changes)
    exact = values_at(system, Disturbance(changes, end, (BEGIN, SPACING)), fine, times)
    parameters = [p.copy() for p in system.parameters]
    for change in changes:
        for device, name, value in change.parameters:
            group, row, column = system.parameter_place(device, name)
            parameters[group][row, column] = value
    w0 = system.w0.copy()
    w0[: system.n + system.m], w0[-1] = exact[0], BEGIN
    system = replace(system, parameters=tuple(parameters), w0=w0)
    w = w0.copy()

    def at(values: Any, t: float) -> Any:
        w[: len(values)], w[-1] = values, t
        return w

    split = plants.partition()
    problem = Problem(
        case,
        system.n,
        lambda values, t: system.residual(at(values, t)),
        lambda values, t: sparse.csc_matrix(system.jacobian(at(values, t))),
        np.concatenate([split.fast_x, split.fast_y]),
        times,
        exact,
        plants.watched(),
        sites(system),
    )
    return system, split, problem


def sites(system: System) -> Any:
    """Return a number for each variable: that of its bus, which its plant has in its name."""
    names = (name.rpartition(".")[0] for name in (*system.names_x, *system.names_y))
    numbers = [(re.findall(r"\d+", name) or [name])[-1] for name in names]
    return np.unique(numbers, return_inverse=True)[1]


Run = Callable[[], tuple[Any, Work]]


def own(system: System, problem: Problem, scheme: Scheme) -> tuple[Any, Work]:
    """Return values and work of a scheme of psmr, which begins where the published ones do."""
    end = float(problem.times[-1])
    run = integrate(system, scheme, end)
    found = values_at(system, Disturbance((), end, (BEGIN, SPACING)), run, problem.times)
    whole, fast, counters = len(problem.fast), int(problem.fast.sum()), run.counters
    # The slow equations are solved once more a macro step, at its end, by their algebraic part.
    sizes = {"step": whole, "predictor": whole, "fast": fast, "slow": whole - fast, "algebraic": system.m}
    solved = sum(counters.newton_iterations.get(role, 0) * size for role, size in sizes.items())
    factorised = sum(order * count for order, count in counters.factorisations.items())
    return found, Work(solved, factorised, counters.steps)


def runs(system: System, split: partitioning.Partition, problem: Problem) -> Iterator[tuple[str, str, Run]]:
    """Yield method, choice of steps, and what runs it."""
    for method, name in (("auto", "VariableStep"), ("BDF", "VariableStep, BDF")):
        for tolerance in VARIABLE:
            scheme: Scheme = psmr.VariableStep(tolerance, method)
            yield name, f"{tolerance:g}", partial(own, system, problem, scheme)
    for steps in FIXED:
        scheme = extrapolated(split, *steps)
        yield "Multirate", f"{steps[0]:g}, {steps[1]:g}", partial(own, system, problem, scheme)
    for tolerance in ROS2:
        for refine, name in ((True, "multirate ROS2"), (False, "ROS2, one rate")):
            yield name, f"{tolerance:g}", baselines.MultirateRos2(problem, tolerance, refine).run
    few = 4 if problem.name == "1,354 buses" else None
    for h, ratio in MRI[:few]:
        yield "MRI-GARK", f"{h:g}, {ratio}", partial(baselines.mri_gark, problem, h, ratio)
    for h, turns in TURNS[:few]:
        yield "partitioned", f"{h:g}, {turns}", partial(baselines.partitioned, problem, h, turns)


def extrapolated(split: partitioning.Partition, h_slow: float, h_fast: float) -> psmr.Multirate:
    """Return the scheme with fixed steps in s that is the best one with what stays fast."""
    how: dict[str, Any] = {"predictor": "extrapolation", "predict": "slow", "newton": "very dishonest"}
    return psmr.Multirate.from_steps(split, h_slow, h_fast, tolerance=1e-6, **how)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="some of " + ", ".join(LENGTHS))
    parser.add_argument("--rows", type=Path, required=True, help="file of the rows")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for case in arguments.cases or LENGTHS:
        system, split, problem = in_ripple(case)
        for method, steps, call in runs(system, split, problem):
            began = time.process_time()
            row: dict[str, Any] = {"case": case, "method": method, "steps": steps}
            try:
                found, work = call()
                row |= {"error": float(f"{problem.error(found):.4g}"), **vars(work)}
            except (NoSolutionError, psmr.PsmrError) as failure:
                row |= {"failure": str(failure)[:120]}
            row["seconds"] = float(f"{time.process_time() - began:.4g}")
            with arguments.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
