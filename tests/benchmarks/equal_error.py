"""What schemes cost at equal error: processor time over the error of speeds and bus voltages after a fault.

Run ``python tests/benchmarks/equal_error.py [--buses 1354]``; pandapower has the network, and
`psmr.add_dynamics` gives it machines and converters. The reference is the trapezoidal rule at 0.5 ms.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandapower.networks

import psmr
from psmr.io.pandapower import from_pandapower
from psmr.numerics.run.integrate import integrate

T_END, FAULT, CLEAR, REPEATS = 5.0, 0.5, 0.6, 3

SCHEMES = [
    *(psmr.SingleRate("TM", h) for h in (0.02, 0.01, 0.005)),
    *(psmr.SingleRate("TM", h, newton="very dishonest", tolerance=1e-7) for h in (0.01, 0.005)),
    *(psmr.SingleRate("SDIRK2", h) for h in (0.02, 0.01)),
    *(psmr.VariableStep(tolerance) for tolerance in (1e-2, 1e-3, 1e-4)),
]


class Watched:
    """The signals that errors are taken of: 40 speeds and some 46 bus voltages, evenly chosen."""

    def __init__(self, system: psmr.dae.system.system.System) -> None:
        speeds = [i for i, name in enumerate(system.names_x) if name.endswith(".omega")]
        voltages = [i for i, name in enumerate(system.names_y) if name.endswith(".v_re")]
        self.speeds = speeds[:: max(1, len(speeds) // 40)]
        self.voltages = voltages[:: max(1, len(voltages) // 46)]

    def of(self, run):  # type: ignore[no-untyped-def]
        """Return times after the clearing and the signals there."""
        after = run.t > CLEAR
        v = np.hypot(run.y[:, self.voltages], run.y[:, [i + 1 for i in self.voltages]])
        return run.t[after], np.hstack([run.x[:, self.speeds], v])[after]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buses", type=int, default=1354, choices=(1354, 2869, 9241))
    parser.add_argument("--converters", type=float, default=0.5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    net = getattr(pandapower.networks, f"case{arguments.buses}pegase")()
    system = psmr.build(psmr.add_dynamics(from_pandapower(net), seed=1, converters=arguments.converters))
    names = [name[: -len(".v_re")] for name in system.names_y if name.endswith(".v_re")]
    changes = psmr.Fault(bus=names[len(names) // 3], start=FAULT, clear=CLEAR).changes(system)
    watched = Watched(system)
    t, exact = watched.of(integrate(system, psmr.SingleRate("TM", 5e-4), T_END, changes))
    print(
        f"{arguments.buses} buses, {system.n + system.m} variables, {T_END:g} s, fault of {CLEAR - FAULT:g} s"
    )
    print(f"{'scheme':62} {'steps':>6} {'time, s':>8} {'rms':>9} {'largest':>9}")
    for scheme in SCHEMES:
        seconds = []
        for _ in range(REPEATS):
            began = time.process_time()
            run = integrate(system, scheme, T_END, changes)
            seconds.append(time.process_time() - began)
        points, found = watched.of(run)
        wanted = np.column_stack([np.interp(points, t, column) for column in exact.T])
        error = np.abs(found - wanted)
        rms, largest = float(np.sqrt((error**2).mean())), float(error.max())
        print(f"{scheme!s:62} {run.counters.steps:6d} {np.median(seconds):8.3f} {rms:9.1e} {largest:9.1e}")


if __name__ == "__main__":
    main()
