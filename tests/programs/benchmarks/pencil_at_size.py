"""Deformation of the 20 least damped modes of a long chain of WSCC 9-bus systems: time and memory.

python -m tests.programs.benchmarks.pencil_at_size [copies], by default 223 (2,007 buses).
"""

import resource
import sys
import time
from pathlib import Path

import partitioning
import psmr
from tests.internals import LineRow, chain

CASE = Path(__file__).resolve().parents[3] / "cases" / "wscc9" / "wscc9.toml"

copies = int(sys.argv[1]) if len(sys.argv) > 1 else 223
tie = LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1)
began = time.perf_counter()
system = psmr.build(chain(psmr.read_case(CASE), copies, tie, inertia_spread=0.1))
linear = system.linearise()
built = time.perf_counter() - began
print(f"{9 * copies} buses, {linear.n} states, {linear.m} algebraic variables: built in {built:.1f} s")
split = partitioning.by_hand(linear, fast=[name for name in linear.names_x if name.endswith(".v_m")])
schemes = {
    "FEM/TM": psmr.Multirate(split, 0.05, 10),
    "TM/TM spline": psmr.Multirate(split, 0.05, 10, "TM", interpolation="spline"),
    "TM/TM converged": psmr.Multirate(split, 0.05, 10, "TM", corrections="converge"),
    "single rate TM": psmr.SingleRate("TM", 0.05),
}
for name, scheme in schemes.items():
    began = time.process_time()
    report = psmr.deformation(linear, scheme, modes=20)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    worst = report.table["relative_deformation"].max()
    print(
        f"{name:>16}: {seconds:5.1f} s of processor time, {memory:.2f} GiB, largest residual "
        f"{report.table['residual'].max():.1e}, largest deformation {100 * worst:.3f} %"
    )
