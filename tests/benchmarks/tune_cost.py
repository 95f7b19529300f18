"""The cost model of a tuning held against the clock: a table of predicted and measured work.

Run ``python -m tests.benchmarks.tune_cost``. The aim is agreement within 30 %, processor time; the model has
every correction made, so that a scheme whose corrections agree at once may cost less.
"""

from __future__ import annotations

from pathlib import Path

import psmr
from psmr import SingleRate
from tests.internals import calibrate, families, measured

CASES = Path(__file__).parents[2] / "cases" / "wscc9"


def main() -> None:
    """Print a row per scheme: milliseconds for a simulated second, and their ratio."""
    for name in ("wscc9", "wscc9-ibr"):
        system = psmr.build(psmr.read_case(CASES / f"{name}.toml"))
        schemes = [family.make(0.01) for family in list(families(system.linearise()))[::12]]
        schemes += [SingleRate("TM", 0.01), SingleRate("SDIRK2", 0.03)]
        costs = calibrate(system, schemes)
        print(f"{system.name}: calibrated in {costs.seconds:.2f} s")
        for scheme in schemes:
            if not scheme.has_ratio and scheme.method in ("FEM", "RK4"):
                continue  # not stable at these steps
            predicted, clock = costs.of(scheme), measured(system, scheme, 3.0)
            print(f"  {1e3 * predicted:8.3f} {1e3 * clock:8.3f} {predicted / clock:6.2f}  {scheme}")


if __name__ == "__main__":
    main()
