"""The paper: figures 1 to 5, 7 and 8, and its formulas compared with the algorithm."""

from __future__ import annotations

from psmr.papers.gil_sanfelice_nikravesh import runs
from psmr.papers.gil_sanfelice_nikravesh.figures import local_error, pendulum, stability
from psmr.papers.gil_sanfelice_nikravesh.numbers import numbers
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
        "Pendulum, h = 0.005 s, 5 s": runs.pendulum_table(r.pendulum),
    },
    figures={
        "Stability regions (figures 1 to 3)": ("gil-stability.svg", stability),
        "Local error (figures 4 and 5)": ("gil-local-error.svg", local_error),
        "Pendulum with particle (figures 7 and 8)": ("gil-pendulum.svg", pendulum),
    },
    numbers=numbers,
)
