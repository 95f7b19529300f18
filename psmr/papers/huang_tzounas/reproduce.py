"""The reproduction of the paper: its tables and figures, and a finding for each of its claims."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from psmr.papers.huang_tzounas.findings import findings
from psmr.papers.huang_tzounas.pencil_figures import part_figure, path_figure, ratio_figure, spectra_figure
from psmr.papers.huang_tzounas.responses import RESPONSES
from psmr.papers.huang_tzounas.results import PARTS as COMPUTED
from psmr.papers.huang_tzounas.results import Results, compute
from psmr.papers.huang_tzounas.run_figures import (
    interpolation_figure,
    residual_figure,
    response_figure,
    threshold_figure,
)
from psmr.papers.huang_tzounas.setting import settings
from psmr.papers.huang_tzounas.statements import verdicts
from psmr.papers.reproduction import Reproduction
from psmr.study.output.canvas import close, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "huang-tzounas"
NAMES = ("WSCC 9-bus", "with converters")  # of the systems of figure 13
CITATION = (
    "L. Huang and G. Tzounas, Matrix Pencil-Based Analysis of Multirate Simulation Schemes, University "
    "College Dublin"
)


PARTS = ("systems", *COMPUTED, "figures")


def reproduce(folder: Path, progress: Callable[[str], None] | None = None) -> Reproduction:
    """Compute and draw every table and figure of the paper that its data allow.

    Parameters
    ----------
    folder
        Where the figures go, ``figure-02.png`` to ``figure-13.png``; made where it is missing.
    progress
        Called with the name of each of `PARTS` as it begins.

    Raises
    ------
    InputError
        Where the case files are not found.
    """
    say = progress or (lambda words: None)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    say("systems")
    results = compute(settings(), say)
    say("figures")
    figures = {}
    for number, (title, draw) in enumerate(_figures(results), start=2):
        path = folder / f"figure-{number:02d}.png"
        figure = draw()
        save(figure, path)
        close(figure)
        figures[f"Figure {number}: {title}"] = path
    tables = _tables(results)
    return Reproduction(NAME, CITATION, tables, figures, findings(results, _places(tables, figures)))


def _places(tables: Iterable[str], figures: Iterable[str]) -> dict[str, str]:
    """Return the title of the figure or table that shows a claim, by the beginning of the claim."""
    table = {title.partition(":")[0]: title for title in tables}
    figure = {title.partition(":")[0]: title for title in figures}
    sets, critical = "Statements on each parameter set", next(t for t in tables if t.startswith("Critical"))
    numbered = {f"Figure {n}": figure[f"Figure {n}"] for n in range(2, 14)}
    return {
        # Longer beginnings count before shorter ones: "Figure 11", not "Figure 1".
        **numbered,
        **{f"Figures {n}": numbered[f"Figure {n}"] for n in ("3", "4", "5", "6")},
        "Figures 3b": numbered["Figure 4"],
        "Figures 3c": numbered["Figure 4"],
        "Figures 6, 11a": numbered["Figure 11"],
        "Table 1": table["Table 1"],
        "Table 2": table["Table 2"],
        "Stability of the schemes of Table 2": table["Table 2"],
        "Figure 3a": critical,
        "Section 4": sets,
        "Section 4: TM prediction": critical,
        "Section 1.2": critical,
        "Damping ratio": numbered["Figure 2"],
        "Size of the model": table["Table 1"],
        "Nonlinear ringdowns": next(t for t in tables if t.startswith("Ringdown")),
        "Appendix B": next(t for t in tables if t.startswith("Ringdown")),
        "The same on partitions": next(t for t in tables if t.startswith("Dominant mode on other")),
        "Reference of the errors": numbered["Figure 13"],
    }


def _figures(results: Results) -> list[tuple[str, Callable[[], Figure]]]:
    """Return title and drawing of figures 2 to 13."""
    sweeps = list(zip(NAMES, results.thresholds, results.threshold_errors, strict=True))
    answers = [
        (
            f"speed of machine 1 after the {events} at bus 5, {solution} solution",
            functools.partial(response_figure, *parts, events=events),
        )
        for (events, solution), parts in zip(RESPONSES, results.responses, strict=True)
    ]
    return [
        ("eigenvalues, FEM and TM prediction", lambda: spectra_figure(results.spectra)),
        ("dominant mode over the fast step", lambda: path_figure(results.settings.paper, results.swing)),
        ("real part of the dominant mode", lambda: part_figure(results.swing, "real")),
        ("imaginary part of the dominant mode", lambda: part_figure(results.swing, "imaginary")),
        ("dominant mode over the ratio, macro step 0.05 s", lambda: ratio_figure(results.ratios)),
        *answers,
        (
            "linear and spline interpolation, fault at bus 5",
            lambda: interpolation_figure(results.interpolation_curves, results.interpolations),
        ),
        (
            "residual of the slow algebraic equations, fault at bus 5",
            lambda: residual_figure(results.residuals),
        ),
        ("threshold of the partition", lambda: threshold_figure(sweeps, results.threshold_curves)),
    ]


def _tables(results: Results) -> dict[str, pd.DataFrame]:
    """Return the tables by title; those of figures hold the figures' numbers."""
    ends = results.swing[results.swing["h_fast [s]"] == results.swing["h_fast [s]"].max()]
    tables = {
        "Statements on each parameter set": verdicts(results.sets),
        "Table 1: factorisations in a macro step of ratio 10, counted": results.table_1,
        "Table 2: relative deformation of the dominant mode": results.table_2,
        "Ringdown of the nonlinear system beside both pencils": results.ringdowns,
        "Critical fast step at ratio 10, exact pencil and runs": results.critical,
        "Dominant mode on other partitions, fast step 0.005 s, ratio 10, exact pencil": results.partitions,
        "Figures 3 to 5: dominant mode at a fast step of 0.005 s": ends,
        "Figure 6: ratios at a macro step of 0.05 s": results.ratios,
        "Figures 7 to 10: errors of the speed of machine 1": results.errors,
    }
    for name, table in results.interpolations.items():
        tables[f"Figure 11: {name.replace('$h_s$', 'h_s').replace('δ', 'delta')}"] = table
    tables["Figure 11: errors that the lag of a jump explains"] = results.lag_law
    for name, deformed, errors in zip(NAMES, results.thresholds, results.threshold_errors, strict=True):
        tables[f"Figure 13: thresholds, {name}"] = deformed
        tables[f"Figure 13: errors, {name}"] = errors
    return tables
