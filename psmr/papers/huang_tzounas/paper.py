"""The paper: its tables and figures, and the claims of its case study."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from psmr.papers.catalogue import Paper, Results
from psmr.papers.huang_tzounas import figures, runs, tables
from psmr.papers.huang_tzounas.statements import numbers, statement_numbers, verdicts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("WSCC 9-bus", "with converters")  # of the systems of figure 13
DRAWN_RATIOS = (2, 3, 4, 5, 6, 10)
DRAWN_THRESHOLDS = {"0": 0.0, "2": 2.0, "20": 20.0, "∞": float("inf")}


def _interpolations(r: Results) -> Mapping[str, Any]:
    first, transducers = r.settings.paper, r.settings.transducers

    def curves(kind: str) -> Any:
        schemes = {
            f"r = {n}": first.scheme("TM", "TM", 0.05 / n, n, interpolation=kind) for n in DRAWN_RATIOS
        }
        return runs.error_curves(first, schemes)

    fast = runs.interpolation(transducers, 20.0, 0.05)
    return {
        "interpolation_curves": {kind: curves(kind) for kind in ("linear", "spline")},
        "interpolations": {
            "δ = 20 1/s, $h_s$ = 0.05 s": runs.interpolation(first, 20.0, 0.05),
            "δ = 20 1/s, 0.01 s": runs.interpolation(first, 20.0, 0.01),
            "fast transducers, 0.05 s": fast,
            "converters, 0.01 s": runs.interpolation(r.settings.converters, 20.0, 0.01),
        },
        "transducer_errors": fast,
        "lag_law": runs.lag_law(transducers),
    }


def _thresholds(r: Results) -> Mapping[str, Any]:
    both = ((r.settings.paper, tables.THRESHOLDS), (r.settings.converters, tables.CONVERTER_THRESHOLDS))

    def curves(setting: Any) -> Any:
        schemes = {f"δ = {name}": runs.threshold_scheme(setting, d) for name, d in DRAWN_THRESHOLDS.items()}
        return runs.error_curves(setting, schemes, runs.FINE)

    return {
        "thresholds": [tables.thresholds(*which) for which in both],
        "threshold_errors": [runs.threshold_errors(*which) for which in both],
        "threshold_curves": [curves(setting) for setting, _ in both],
        "reference_errors": [runs.reference_error(setting) for setting, _ in both],
    }


PARTS: Mapping[str, Callable[[Results], Mapping[str, Any]]] = {
    "systems": lambda r: {"settings": runs.settings()},
    "Table 1: factorisations of real runs": lambda r: {"table_1": tables.table_1(r.settings.paper)},
    "Table 2: deformation of the dominant mode": lambda r: {
        "table_2": tables.table_2(r.settings.paper),
        "transducers_table_2": tables.table_2(r.settings.transducers),
    },
    "ringdowns of the nonlinear system": lambda r: {"ringdowns": tables.ringdowns(r.settings.paper)},
    "critical steps": lambda r: {
        "critical": tables.critical_steps(r.settings.paper),
        "published_critical": tables.published_critical_step(r.settings.paper),
    },
    "figures 2 to 6: pencils": lambda r: {
        "spectra": tables.spectra(r.settings.paper),
        "partitions": tables.other_partitions(r.settings.paper),
        "swing": tables.swing_mode(r.settings.paper),
        "ratios": tables.ratios(r.settings.paper),
    },
    "figures 7 to 10: responses": lambda r: {
        "responses": [runs.responses(r.settings.paper, *which) for which in runs.RESPONSES],
        "errors": runs.largest_errors(r.settings.paper),
    },
    "figure 11: linear and spline interpolation": _interpolations,
    "figure 12: residual of the slow subsystem": lambda r: {
        "residuals": runs.slow_residuals(r.settings.paper)
    },
    "figure 13: thresholds": _thresholds,
    "statements on each parameter set": lambda r: {
        "sets": {name: statement_numbers(setting) for name, setting in r.settings.sets.items()}
    },
}


def _figures() -> dict[str, tuple[str, Callable[[Results], Figure]]]:
    """Return figures 2 to 13 by title."""
    drawn: dict[str, Callable[[Results], Figure]] = {
        "eigenvalues, FEM and TM prediction": lambda r: figures.spectra_figure(r.spectra),
        "dominant mode over the fast step": lambda r: figures.path_figure(r.settings.paper, r.swing),
        "real part of the dominant mode": lambda r: figures.part_figure(r.swing, "real"),
        "imaginary part of the dominant mode": lambda r: figures.part_figure(r.swing, "imaginary"),
        "dominant mode over the ratio, macro step 0.05 s": lambda r: figures.ratio_figure(r.ratios),
    }
    for k, (events, solution) in enumerate(runs.RESPONSES):
        title = f"speed of machine 1 after the {events} at bus 5, {solution} solution"
        drawn[title] = functools.partial(figures.response_figure, k=k, events=events)
    drawn |= {
        "linear and spline interpolation, fault at bus 5": figures.interpolation_figure,
        "residual of the slow algebraic equations, fault at bus 5": figures.residual_figure,
        "threshold of the partition": lambda r: figures.threshold_figure(r, NAMES),
    }
    numbered = enumerate(drawn.items(), start=2)
    return {f"Figure {n}: {title}": (f"figure-{n:02d}.png", draw) for n, (title, draw) in numbered}


def _tables(r: Results) -> dict[str, pd.DataFrame]:
    """Return the tables by title; those of figures hold the figures' numbers."""
    found = {
        "Statements on each parameter set": verdicts(PAPER.claims, r.sets),
        "Table 1: factorisations in a macro step of ratio 10, counted": r.table_1,
        "Table 2: relative deformation of the dominant mode": r.table_2,
        "Ringdown of the nonlinear system beside both pencils": r.ringdowns,
        "Critical fast step at ratio 10, exact pencil and runs": r.critical,
        "Dominant mode on other partitions, fast step 0.005 s, ratio 10, exact pencil": r.partitions,
        "Figures 3 to 5: dominant mode at a fast step of 0.005 s": r.swing[
            r.swing["h_fast [s]"] == r.swing["h_fast [s]"].max()
        ],
        "Figure 6: ratios at a macro step of 0.05 s": r.ratios,
        "Figures 7 to 10: errors of the speed of machine 1": r.errors,
    }
    for name, table in r.interpolations.items():
        found[f"Figure 11: {name.replace('$h_s$', 'h_s').replace('δ', 'delta')}"] = table
    found["Figure 11: errors that the lag of a jump explains"] = r.lag_law
    for name, deformed, errors in zip(NAMES, r.thresholds, r.threshold_errors, strict=True):
        found[f"Figure 13: thresholds, {name}"] = deformed
        found[f"Figure 13: errors, {name}"] = errors
    return found


PAPER = Paper(
    name="huang-tzounas",
    citation="L. Huang and G. Tzounas, Matrix Pencil-Based Analysis of Multirate Simulation Schemes, "
    "University College Dublin",
    parts=PARTS,
    tables=_tables,
    figures=_figures(),
    numbers=numbers,
)
