"""How time and memory grow with the size of a system, phase by phase: 9 to 70,000 buses.

Run ``python -m tests.programs.benchmarks.growth [--copies 1 10 ...] [--figure FILE]`` from the repository.
The systems are chains of WSCC 9-bus copies with inertias that differ by up to 10 %. A fault of 100 ms in the
middle, trapezoidal rule at 10 ms, `newton="very dishonest"`, twenty signals recorded. Processor time, each
size in a process of its own, kernels compiled before; the time of a step is the difference of a long and a
short run. Then 10 s of `VariableStep` with the same fault, and what a solution with the factors reads from
memory in its least time, beside what a copy of a long array moves.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import psmr
from tests.internals import PLAIN, LineRow, System, chain, make_block, power_flow, solve

CASE = Path(__file__).resolve().parents[3] / "cases" / "wscc9" / "wscc9.toml"
TIE = LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1)
COPIES = (1, 4, 12, 40, 120, 400, 1200, 4000, 7778)
PHASES = ("case", "power flow", "build", "first step", "a step", "10 s", "memory")
H, SIGNALS, TOLERANCE = 0.01, 20, 1e-4
# Bytes of an entry of a factor: a number and its row; numbers of a vector that a solution reads or writes:
# right side, result, and the work of both triangles.
ENTRY, VECTORS = 12, 6
LONG_ARRAY = 30_000_000

# Exponents are fitted from so many buses on: below, what is the same for every size takes most of the time.
HEADS = (
    "states, algebraic", "case", "power flow", "build", "first step", "a step (ms)", "10 s (s)",
    "factors (MB)", "a solution (ms)", "its GB/s", "MiB",
)  # fmt: skip
FROM = {phase: 100 if phase in ("a step", "10 s") else 3000 for phase in PHASES}


def main() -> None:
    """Print a row a size and the fitted exponents, and draw them where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--copies", nargs="+", type=int, default=COPIES)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:  # its arrays would count as memory of what comes after
        print(f"A copy of a long array moves {pool.apply(bandwidth):.1f} GB/s.")
    print(f"| buses | {' | '.join(HEADS)} |")
    print(f"|{'---|' * (1 + len(HEADS))}")
    sizes, rows = [], []
    for number, copies in enumerate((1, *arguments.copies)):
        with context.Pool(1) as pool:
            size, row, reads = pool.apply(measure, (copies,))
        if number == 0:  # compiles, or loads what is compiled, and fills the caches of the disk
            continue
        sizes.append(size[0])
        rows.append(row)
        case, flow, build, first, step, run, memory = row
        cells = (
            f"{case:.2f} | {flow:.2f} | {build:.2f} | {first:.2f} | {1e3 * step:.3g} | {run:.3g} |"
            f" {reads[0]:.3g} | {reads[1]:.3g} | {reads[2]:.3g} | {memory:.0f}"
        )
        print(f"| {size[0]:,} | {size[1]:,}, {size[2]:,} | {cells} |", flush=True)
    table = np.array(rows)
    for k, phase in enumerate(PHASES):
        slope = exponent(np.array(sizes), table[:, k], FROM[phase])
        print(f"{phase}: exponent {slope:.2f} from {FROM[phase]:,} buses on")
    if arguments.figure:
        draw(np.array(sizes), table, arguments.figure)


def bandwidth() -> float:
    """Return what a copy of an array that no cache holds reads and writes, in GB/s."""
    source = np.ones(LONG_ARRAY)
    target = np.empty_like(source)
    return 2e-9 * source.nbytes / least(lambda: np.copyto(target, source))


def least(call: Callable[[], object]) -> float:
    """Return the least processor time of some calls in s."""
    spent = []
    for _ in range(7):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def factor_reads(system: System) -> tuple[float, float, float]:
    """Return the MB that a solution with the factors of all variables moves, its ms, and GB/s."""
    size, w = system.n + system.m, system.w0.copy()
    rows = np.arange(size)
    block = make_block(system, "step", system.parameters, w, rows, rows)
    block.solve(w, H / 2, PLAIN, 1e-6, 0)
    lu = block.records.lu
    b, x = np.ones(size), np.empty(size)
    megabytes = 1e-6 * (ENTRY * (int(lu.Lp[size]) + int(lu.Up[size])) + 8 * VECTORS * size)
    spent = 1e3 * least(lambda: solve(lu, b, x))
    return megabytes, spent, megabytes / spent


def measure(copies: int) -> tuple[tuple[int, int, int], tuple[float, ...], tuple[float, float, float]]:
    """Return (buses, states, algebraic variables), what each phase took (memory in MiB), `factor_reads`."""
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    marks = [time.process_time()]

    def mark() -> None:
        marks.append(time.process_time())

    case = chain(psmr.read_case(CASE), copies, TIE, inertia_spread=0.1)
    mark()
    flow = power_flow(case)
    mark()
    system = psmr.build(case, flow)
    mark()
    speeds = [name for name in system.names_x if name.endswith(".omega")]
    record = psmr.Record(
        [*speeds[:: max(1, len(speeds) // 10)][:10], *[f"{b.name}.v" for b in case.buses[:10]]]
    )
    scheme = psmr.SingleRate("TM", h=H, newton="very dishonest")
    fault = psmr.Fault(case.buses[len(case.buses) // 2].name, start=0.1, clear=0.2)

    def run(t_end: float, scheme: Any = scheme) -> float:
        began = time.process_time()
        psmr.simulate(system, scheme, t_end, [fault], certify=False, record=record)
        return time.process_time() - began

    psmr.simulate(system, scheme, H, certify=False, record=record)
    mark()
    short, long = 0.5, 0.5 + H * max(100, 40_000 // copies)
    seconds = np.median([run(long) - run(short) for _ in range(1 if copies > 1000 else 3)])
    step = float(seconds) / round((long - short) / H)
    variable = psmr.VariableStep(TOLERANCE)
    run(short, variable)
    ten = run(10.0, variable)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - base
    return (9 * copies, system.n, system.m), (*np.diff(marks), step, ten, memory), factor_reads(system)


def exponent(sizes: np.ndarray, values: np.ndarray, first: int) -> float:
    """Return the slope of values over sizes in logarithms, from `first` buses on."""
    kept = sizes >= first
    return float(np.polyfit(np.log(sizes[kept]), np.log(values[kept]), 1)[0]) if kept.sum() > 1 else np.nan


def draw(sizes: np.ndarray, table: np.ndarray, path: Path) -> None:
    """Draw time and memory over the number of buses, with the exponents."""
    from tests.internals import new_figure, save, styled

    with styled():
        figure = new_figure(8.0, 3.4)
        time_axes, memory_axes = figure.subplots(1, 2)
        for k, phase in enumerate(PHASES):
            ax = memory_axes if phase == "memory" else time_axes
            slope = exponent(sizes, table[:, k], FROM[phase])
            ax.loglog(sizes, table[:, k], "o-", ms=3, lw=1.2, label=f"{phase}: {slope:.2f}")
        time_axes.set_ylabel("processor time [s]")
        memory_axes.set_ylabel("memory beside the interpreter's [MiB]")
        for ax in (time_axes, memory_axes):
            ax.set_xlabel("buses")
            ax.legend(fontsize=7, title="exponent", title_fontsize=7, frameon=False)
    save(figure, path)


if __name__ == "__main__":
    main()
