"""Runs the studies of a comparison in the version of psmr that is imported, one at a time, as it is asked to.

It runs in versions that are years apart: it takes public names of psmr alone. A line on standard input is the
name of a study, the answer a line with its processor time in s, or what went wrong; to an empty line the
answer is the names, with tabs between.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

T_END = 10.0
FAULT_9, FAULT_39 = (
    {"bus": 5, "start": 1.0, "clear": 1.1, "trip": "5-7"},
    {"bus": 16, "start": 1.0, "clear": 1.1},
)


def studies() -> dict[str, Callable[[], object]]:
    """Return what each study runs, by its name."""
    import partitioning
    import psmr

    cases = Path(psmr.__file__).parents[1] / "cases"

    def fault(system, scheme, event, certify=False, **more):  # type: ignore[no-untyped-def]
        return lambda: psmr.simulate(system, scheme, T_END, [psmr.Fault(**event)], certify=certify, **more)

    case_39 = psmr.read_case(cases / "new-england" / "new-england.toml")
    nine = psmr.build(psmr.read_case(cases / "wscc9" / "wscc9.toml"))
    thirty_nine = psmr.build(case_39)
    split = partitioning.by_participation(nine.linearise(), delta=20.0)
    two_rates = psmr.Multirate(split, h_slow=0.02, ratio=10)
    return {
        "WSCC-9, VariableStep": fault(nine, psmr.VariableStep(), FAULT_9),
        "WSCC-9, VariableStep(1e-6)": fault(nine, psmr.VariableStep(1e-6), FAULT_9),
        "WSCC-9, certificate": fault(nine, psmr.VariableStep(), FAULT_9, certify=True),
        "WSCC-9, chosen signals": fault(nine, psmr.VariableStep(), FAULT_9, record=["*.omega", "bus*.v"]),
        "WSCC-9, TM 5 ms": fault(nine, psmr.SingleRate("TM", h=0.005), FAULT_9),
        "WSCC-9, TM 20/2 ms": fault(nine, two_rates, FAULT_9),
        "New England, VariableStep": fault(thirty_nine, psmr.VariableStep(), FAULT_39),
        "New England, TM 5 ms": fault(thirty_nine, psmr.SingleRate("TM", h=0.005), FAULT_39),
        "New England, build": lambda: psmr.build(case_39),
        "New England, modes": lambda: psmr.modes(thirty_nine.linearise()),
    }


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    known: dict[str, Callable[[], object]] = {}
    for line in sys.stdin:
        try:
            known = known or studies()
            if not line.strip():
                print("\t".join(known), file=answers, flush=True)
                continue
            study = known[line.strip()]
            began = time.process_time()
            study()
            print(time.process_time() - began, file=answers, flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {' '.join(str(error).split())}", file=answers, flush=True)


if __name__ == "__main__":
    main()
