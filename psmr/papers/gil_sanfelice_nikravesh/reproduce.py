"""The reproduction of the paper: its figures, its formulas, and a finding for each of its claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from psmr.papers.gil_sanfelice_nikravesh import figures, tables
from psmr.papers.gil_sanfelice_nikravesh.findings import findings
from psmr.papers.gil_sanfelice_nikravesh.pendulum import T_END, H, pendulum_runs, pendulum_table
from psmr.papers.reproduction import Reproduction

NAME = "gil-sanfelice-nikravesh"
CITATION = (
    "G. Gil, R. G. Sanfelice, P. E. Nikravesh, Numerical integration scheme using singular perturbation "
    "method, ASME IDETC/CIE 2013, DETC2013-13330"
)
PARTS = ("stability regions", "local errors", "pendulum", "figures")


def reproduce(folder: Path, progress: Callable[[str], None] | None = None) -> Reproduction:
    """Reproduce figures 1 to 5, 7 and 8, and hold the formulas against the algorithm.

    Parameters
    ----------
    folder
        Where the figures go.
    progress
        Called with the name of each of `PARTS` as it begins.
    """
    say = progress or (lambda words: None)
    say("stability regions")
    limits = tables.stability_table()
    say("local errors")
    errors = tables.local_errors()
    slopes = tables.slope_table(errors)
    say("pendulum")
    runs = pendulum_runs()
    table = pendulum_table(runs)
    say("figures")
    files = {
        "Stability regions (figures 1 to 3)": figures.stability(folder / "gil-stability.svg"),
        "Local error (figures 4 and 5)": figures.local_error(errors, folder / "gil-local-error.svg"),
        "Pendulum with particle (figures 7 and 8)": figures.pendulum(runs, folder / "gil-pendulum.svg"),
    }
    return Reproduction(
        name=NAME,
        citation=CITATION,
        tables={
            "Stability limit along rays": limits,
            "Local error slopes": slopes,
            f"Pendulum, h = {H:g} s, {T_END:g} s": table,
        },
        figures=files,
        findings=findings(limits, errors, slopes, runs),
    )
