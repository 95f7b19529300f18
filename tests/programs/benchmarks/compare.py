"""psmr beside ANDES: the tables and the figure of docs/benchmarks/comparison.md, in some minutes.

Run ``python -m tests.programs.benchmarks.compare`` from the repository's root: it prints the tables as
Markdown; ``--page`` also writes them and the figure to docs/figures. One thread; times are processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np

import psmr
from psmr.errors import PsmrWarning
from tests.internals import COLOURS, INK, STYLE, integrate, new_figure, save, styled
from tests.peers.andes_system import aligned, load, start
from tests.peers.definitions import as_andes, same_options
from tests.peers.pairs import PAIRS, Pair
from tests.peers.pencils import differenced, eigenvalues, matched, own_eigenvalues
from tests.peers.records import RECORDS, spectra
from tests.peers.test_andes_trajectories import RUNS, T_END, errors, runs
from tests.peers.trajectories import Sampled, times

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
REPEATS = 5
# The run whose speed is measured: both with a step of 10 ms and Newton to 1e-6.
STEP, NEWTON = 0.01, 1e-6
SHOWN = "npcc_full"


def cpu(call: Callable[[], object]) -> float:
    """Return the processor time of a call in s."""
    began = time.process_time()
    call()
    return time.process_time() - began


def median(call: Callable[[], float]) -> float:
    """Return the median of what `call` returns, the first call aside."""
    call()
    return statistics.median(call() for _ in range(REPEATS))


def table(head: str, rows: Iterator[list[str]]) -> str:
    """Return a Markdown table."""
    names = [name.strip() for name in head.split("|")]
    whole = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in whole)


def sizes(folder: Path) -> Iterator[list[str]]:
    """Yield a row per pair: devices, variables, processor time to the start, eigenvalues."""
    for name, pair in PAIRS.items():
        dyr = pair.compared_in(folder)
        case = psmr.read_case(pair.raw_path, dyr)
        count = Counter(row.type for plant in case.generators for row in plant.devices)
        devices = ", ".join(f"{n} {kind}" for kind, n in sorted(count.items()))
        ours, theirs = aligned(pair.raw_path, dyr)
        error, _, _ = matched(own_eigenvalues(ours), eigenvalues(theirs, differenced(theirs)))
        own = median(lambda p=pair, d=dyr: cpu(lambda: psmr.build(psmr.read_case(p.raw_path, d))))
        other = median(lambda p=pair, d=dyr: cpu(lambda: start(load(p.raw_path, d))))
        yield [
            f"`{name}`",
            f"{len(case.buses)} buses, {devices}",
            f"{ours.n} + {ours.m}",
            f"{theirs.dae.n} + {theirs.dae.m}",
            f"{own:.2f}",
            f"{other:.2f}",
            f"{error[0]:.0e}",
        ]


def models(folder: Path) -> Iterator[list[str]]:
    """Yield a row per model: eigenvalues by each program's own definition, and with ANDES' in both."""
    for model in RECORDS:
        own, alike = (matched(*spectra(model, folder, how))[0][0] for how in (same_options, as_andes))
        yield [f"`{model}`", f"{own:.1e}", f"{alike:.0e}"]


def trajectories(folder: Path, keep: dict[str, Any]) -> Iterator[list[str]]:
    """Yield a row per run: known errors of both and the difference, of angles in rad and voltages in pu."""
    for name, (event, steps, order) in RUNS.items():
        ours, theirs = runs(name, folder)
        keep[name] = (ours[1], theirs[1])
        of_psmr, of_andes, found = errors(name, ours, theirs)
        fault = f"bus {event.bus}, {event.x:g} pu" + (f", trip of {event.trip[0]}" if event.trip else "")
        pair = name.partition(",")[0]
        yield [f"`{pair}`", fault, f"{1e3 * steps[1]:g} ms, p = {order}"] + [
            f"{values[0]:.0e}, {values[1]:.0e}" for values in (of_psmr, of_andes, found)
        ]


def speeds(folder: Path) -> Iterator[list[str]]:
    """Yield a row per pair: processor time of ten seconds through a fault, the integration alone."""
    for name, (event, _, _) in RUNS.items():
        if "," in name:
            continue
        pair: Pair = PAIRS[name]
        dyr = pair.compared_in(folder)
        system, _ = aligned(pair.raw_path, dyr)
        fault = psmr.Fault(bus=event.bus, start=event.start, clear=event.clear, x=event.x).changes(system)
        scheme = psmr.SingleRate("TM", STEP, tolerance=NEWTON)
        own = median(lambda s=system, f=fault, m=scheme: cpu(lambda: integrate(s, m, T_END, f)))
        counters = integrate(system, scheme, T_END, fault).counters
        taken: list[int] = []

        def andes_run(
            pair: Pair = pair, dyr: Path = dyr, event: Any = event, taken: list[int] = taken
        ) -> float:
            at = {"bus": event.bus, "tf": event.start, "tc": event.clear, "xf": event.x}
            other = load(pair.raw_path, dyr, at)
            config = other.TDS.config
            config.tf, config.tstep, config.tol, config.criteria, config.no_tqdm = T_END, STEP, NEWTON, 0, 1
            start(other)
            seconds = cpu(lambda: other.TDS.run(no_summary=True))
            taken.append(len(other.dae.ts.t) - 1)
            return seconds

        theirs = median(andes_run)
        yield [
            f"`{name}`",
            f"{counters.steps}",
            f"{taken[-1]}",
            f"{own:.3f}",
            f"{theirs:.2f}",
            f"{theirs / own:.0f}",
        ]


def figure(name: str, ours: Sampled, theirs: Sampled) -> Any:
    """Return a figure of angles over each other, and of their difference."""
    event = RUNS[name][0]
    t = np.concatenate(times(event, T_END))
    # Against the mean: what a common angle does is nobody's stability.
    own, other = (run.delta - run.delta.mean(axis=1, keepdims=True) for run in (ours, theirs))
    most = np.argsort(-np.ptp(own, axis=0))[:6]
    with styled():
        drawn = new_figure(7.0, 4.6)
        angles, rest = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 1.3))
        for colour, i in zip(COLOURS, most, strict=False):
            angles.plot(t, np.degrees(own[:, i] - own[0, i]), color=colour)
            angles.plot(t[::8], np.degrees(other[::8, i] - own[0, i]), "o", ms=2.6, mfc="none", color=colour)
            rest.plot(t, np.degrees(own[:, i] - other[:, i]), color=colour, lw=0.9)
        angles.plot([], [], color=INK, label="psmr, 1 ms")
        angles.plot([], [], "o", ms=2.6, mfc="none", color=INK, label=f"ANDES, {1e3 * RUNS[name][1][1]:g} ms")
        angles.legend(loc="upper right", ncols=2)
        angles.set_ylabel("rotor angle from the mean,\nchange in degrees")
        rest.set_ylabel("difference\nin degrees")
        rest.set_xlabel("t in s")
        angles.set_title(f"NPCC, fault at bus {event.bus}: the six machines that swing most", loc="left")
    return drawn


def main() -> None:
    """Print the tables; write them and the figure where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write docs/figures/comparison*")
    page = parser.parse_args().page
    warnings.simplefilter("ignore", PsmrWarning)
    warnings.simplefilter("ignore", RuntimeWarning)
    kept: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {
            "cases": table(
                "pair | devices | variables in psmr | in ANDES | start of psmr, s | ANDES, s | eigenvalues",
                sizes(folder),
            ),
            "models": table("model | each by its own definition | ANDES' definition in both", models(folder)),
            "runs": table(
                "pair | fault | ANDES' step | error of psmr | error of ANDES | difference",
                trajectories(folder, kept),
            ),
            "speed": table("pair | steps of psmr | of ANDES | psmr, s | ANDES, s | quotient", speeds(folder)),
        }
    for key, text in tables.items():
        print(text, end="\n\n")
        if page:
            (FIGURES / f"comparison-{key}.inc").write_text(text + "\n", encoding="utf-8")
    if page:
        STYLE["svg.fonttype"] = "path"
        save(figure(SHOWN, *kept[SHOWN]), FIGURES / "comparison.svg")


if __name__ == "__main__":
    main()
