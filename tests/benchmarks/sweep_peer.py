"""The 92 outages of New England by ANDES in a pool of processes, beside psmr's sweep: time of both.

Run as ``python -m tests.benchmarks.sweep_peer [WORKERS [EVERY]]``; needs the extra ``peers``. Each is a
fault at one end of a line or transformer, cleared after 100 ms with the loss of the branch, ten seconds with
the default step; ANDES reads its case of the system anew for each, since one that is set up takes no further
fault.
"""

from __future__ import annotations

import logging
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

START, CLEARING, T_END = 1.0, 0.1, 10.0
CASE = "ieee39/ieee39_full.xlsx"


def processor_time() -> float:
    """Return the processor time of this process and its children in s."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def contingencies() -> list[tuple[Any, Any]]:
    """Return (line, bus) of every line and transformer of ANDES's case at both ends."""
    import andes

    system = andes.load(andes.get_case(CASE), setup=False, no_output=True, default_config=True)
    lines = system.Line
    return [
        (line, bus)
        for line, *ends in zip(lines.idx.v, lines.bus1.v, lines.bus2.v, strict=True)
        for bus in ends
    ]


def by_andes(what: tuple[Any, Any]) -> tuple[bool, float]:
    """Return whether a contingency was simulated to its end, and the largest angle difference in degrees."""
    import andes
    import numpy as np

    logging.disable(logging.CRITICAL)
    line, bus = what
    system = andes.load(andes.get_case(CASE), setup=False, no_output=True, default_config=True)
    for k in range(len(system.Toggle.idx.v)):
        system.Toggle.u.v[k] = 0
    system.add("Fault", {"bus": bus, "tf": START, "tc": START + CLEARING, "xf": 1e-4, "rf": 0.0})
    system.add("Toggle", {"model": "Line", "dev": line, "t": START + CLEARING})
    system.setup()
    system.PFlow.run()
    system.TDS.config.tf = T_END
    system.TDS.config.no_tqdm = 1
    done = bool(system.TDS.run())
    angles = np.degrees(system.dae.ts.x[:, system.GENROU.delta.a])
    return done, float(np.ptp(angles, axis=1).max())


def main() -> None:
    """Time both."""
    import psmr

    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    points = contingencies()[::every]
    wall, work = time.perf_counter(), processor_time()
    with multiprocessing.Pool(workers) as pool:
        found = pool.map(by_andes, points, chunksize=1)
        pool.close()
        pool.join()
    wall, work = time.perf_counter() - wall, processor_time() - work
    lost = sum(spread > 180.0 for _, spread in found)
    print(
        f"ANDES, {len(points)} contingencies, {workers} processes: {wall:.1f} s wall, {work:.1f} s "
        f"processor; {sum(not done for done, _ in found)} did not end, {lost} beyond 180 deg"
    )
    sweep = psmr.read_sweep(Path(__file__).parents[2] / "cases" / "new-england" / "n-1.toml")
    sweep = replace(sweep, axes=(psmr.BranchOutages(START, clearing=(CLEARING,)),))
    with tempfile.TemporaryDirectory() as folder:
        wall, work = time.perf_counter(), processor_time()
        swept = psmr.sweep(sweep, folder=folder, workers=workers, report=False)
        wall, work = time.perf_counter() - wall, processor_time() - work
    lost = int((swept.table["synchronism"] == "lost").sum())
    print(
        f"psmr, {len(swept.table)} contingencies, {workers} processes: {wall:.1f} s wall, {work:.1f} s "
        f"processor; {len(swept.failed)} failed, {lost} lost synchronism"
    )


if __name__ == "__main__":
    main()
