"""Make the numbers of the page on sweeps: python docs/figures/sweeps.py (a minute)."""

import math
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import psmr
from psmr.cli.run_study import run_study
from psmr.study.file.recipe import Recipe
from psmr.sweep import clearing_time

HERE = Path(__file__).parent
warnings.simplefilter("ignore")


def clearing_times(study, axis, precision=0.001):
    with tempfile.TemporaryDirectory() as folder:
        measure = psmr.ClearingTime(precision, 1.0)
        table = psmr.sweep(replace(study, events=()), [axis], measure, folder=folder, report=False).table
    return dict(zip(table["bus"], table["critical_clearing_time"], strict=True))


def least_difference(study, bus, branch, precision=0.001):
    """The longest fault after which no two rotors are ever half a turn apart, as their angles stand."""
    low, high = 0, round(1.0 / precision)
    while high - low > 1:
        middle = (low + high) // 2
        fault = psmr.Fault(bus, 1.0, 1.0 + middle * precision, trip=branch)
        tried = replace(study, events=(fault,), monitors=(psmr.AngleSpread(),))
        apart = run_study(tried, write=False)[1].outcome.angle_difference.value > 180.0
        low, high = (low, middle) if apart else (middle, high)
    return low * precision


with tempfile.TemporaryDirectory() as folder:
    found = psmr.sweep(psmr.case_path("new-england/n-1"), folder=folder, report=False)
lines = str(found).split(" Took ")[0].splitlines() + str(found).splitlines()[1:6]
(HERE / "sweeps-n-1.inc").write_text("\n".join(["```text", *lines, " ...", "```"]) + "\n", encoding="utf-8")

wscc9, kundur = (
    psmr.read_study(psmr.case_path("wscc9/fault")),
    psmr.read_study(psmr.case_path("kundur/fault")),
)
moved = clearing_times(wscc9, psmr.BranchOutages(1.0, branches=["line4-5"]))
stands = [least_difference(wscc9, bus, "line4-5") for bus in ("bus4", "bus5")]

variable = replace(kundur, recipe=Recipe({"tolerance": 1e-4}, None, "variable"))
outage = psmr.BranchOutages(1.0, branches=["line7-8-2"])
true = clearing_times(variable, outage, 1e-5)["bus8"]
closer, clearing_time._closer = clearing_time._closer, lambda scheme: None
rough = clearing_times(replace(variable, recipe=Recipe({"tolerance": 1e-3}, None, "variable")), outage, 1e-5)[
    "bus8"
]
clearing_time._closer = closer
fixed = clearing_times(kundur, outage)["bus8"]
steps = kundur.recipe.choices
words = f"""\
A critical clearing time is the longest multiple of the precision that keeps synchronism; the bisection
assumes that synchronism is kept for every shorter one, which need not hold where a later swing is the
critical one. Near the border a run stays close to the unstable equilibrium for a long time, and its error
moves the border: on Kundur's areas, a fault at bus 8 that loses line 7-8-2, by
{1e3 * abs(rough - true):.2g} ms at a tolerance of 1e-3, from {true:.5f} s to {rough:.5f} s. The runs on
both sides of the border are therefore repeated with a hundredth of the tolerance, and their neighbours
where that says otherwise. A scheme of fixed steps has no tolerance, and its error stays in the result,
which a warning says: with the steps of {1e3 * steps["h_slow"]:g} and {1e3 * steps["h_fast"]:g} ms of
`cases/kundur/fault.toml` that fault may last {fixed:.3f} s, in truth {math.floor(1e3 * true) / 1e3:.3f} s.

Synchronism is lost where the [angle spread](reading.md), measured since the machines were connected, is
above 180 degrees. On WSCC-9 without line 4-5 that gives {moved["bus4"]:.3f} and {moved["bus5"]:.3f} s for
faults at bus 4 and bus 5; the machines come back from angle differences of more than 180 degrees, which as
a limit would give {stands[0]:.3f} and {stands[1]:.3f} s.
"""
(HERE / "sweeps-clearing.inc").write_text(words, encoding="utf-8")
print(words)
