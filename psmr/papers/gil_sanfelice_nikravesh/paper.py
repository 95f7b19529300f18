"""The paper: figures 1 to 5, 7 and 8, and its formulas compared with the algorithm."""

from __future__ import annotations

from psmr.papers.gil_sanfelice_nikravesh import runs
from psmr.papers.gil_sanfelice_nikravesh.figures import local_error, pendulum, stability
from psmr.papers.gil_sanfelice_nikravesh.findings import COST, ERRORS, PENDULUM, REGIONS, findings
from psmr.papers.reproduction import Paper

PAPER = Paper(
    name="gil-sanfelice-nikravesh",
    citation="G. Gil, R. G. Sanfelice, P. E. Nikravesh, Numerical integration scheme using singular "
    "perturbation method, ASME IDETC/CIE 2013, DETC2013-13330",
    parts={
        "stability regions": lambda r: {"limits": runs.stability_table()},
        "local errors": lambda r: {"errors": runs.local_errors()},
        "pendulum": lambda r: {"slopes": runs.slope_table(r.errors), "pendulum": runs.pendulum_runs()},
    },
    tables=lambda r: {
        "Stability limit along rays": r.limits,
        "Local error slopes": r.slopes,
        COST: runs.pendulum_table(r.pendulum),
    },
    figures={
        REGIONS: ("gil-stability.svg", stability),
        ERRORS: ("gil-local-error.svg", local_error),
        PENDULUM: ("gil-pendulum.svg", pendulum),
    },
    findings=findings,
)
