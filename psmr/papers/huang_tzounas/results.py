"""Everything that is computed of the paper, in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from psmr.papers.finding import Finding
from psmr.papers.huang_tzounas.responses import (
    RESPONSES,
    Curve,
    error_curves,
    interpolation,
    lag_law,
    largest_errors,
    responses,
    slow_residuals,
    threshold_errors,
    threshold_scheme,
)
from psmr.papers.huang_tzounas.setting import Settings
from psmr.papers.huang_tzounas.statements import WHATEVER, Rules, critical_step, statements
from psmr.papers.huang_tzounas.sweeps import (
    CONVERTER_THRESHOLDS,
    THRESHOLDS,
    Spectrum,
    ratios,
    spectra,
    swing_mode,
    thresholds,
)
from psmr.papers.huang_tzounas.tables import (
    critical_steps,
    other_partitions,
    published_critical_step,
    ringdowns,
    table_1,
    table_2,
)

T = TypeVar("T")

DRAWN_RATIOS = (2, 3, 4, 5, 6, 10)
DRAWN_THRESHOLDS = {"0": 0.0, "2": 2.0, "20": 20.0, "∞": float("inf")}


@dataclass(frozen=True, eq=False)
class Results:
    """The data behind the tables, figures and findings.

    Attributes
    ----------
    settings
        The systems.
    sets
        The rules of each statement by parameter set; the first set is the paper's system.
    set_steps
        Critical h_f in s of FEM prediction by parameter set.
    set_limits
        The same of TM prediction, in words.
    transducers_table_2
        Largest difference in points from Table 2 of the published pencil with exciters of type 1.
    table_1, table_2, ringdowns, critical, partitions, published_critical
        From `tables`.
    spectra, swing, ratios
        Figures 2, 3 to 5 and 6.
    responses, errors
        Figures 7 to 10: lines and errors of each, and their sizes.
    interpolation_curves, interpolations, transducer_errors, lag_law
        Figure 11; the tables by system; the last two of the system whose transducers alone are fast.
    residuals
        The panels of figure 12.
    thresholds, threshold_errors, threshold_curves
        Figure 13, for each system.
    """

    settings: Settings
    sets: dict[str, Rules]
    set_steps: dict[str, float]
    set_limits: str
    transducers_table_2: float
    table_1: pd.DataFrame
    table_2: pd.DataFrame
    ringdowns: pd.DataFrame
    critical: pd.DataFrame
    partitions: pd.DataFrame
    published_critical: float
    spectra: list[Spectrum]
    swing: pd.DataFrame
    ratios: pd.DataFrame
    responses: list[tuple[list[Curve], list[Curve]]]
    errors: pd.DataFrame
    interpolation_curves: dict[str, list[Curve]]
    interpolations: dict[str, pd.DataFrame]
    transducer_errors: pd.DataFrame
    lag_law: pd.DataFrame
    residuals: list[list[Curve]]
    thresholds: list[pd.DataFrame]
    threshold_errors: list[pd.DataFrame]
    threshold_curves: list[list[Curve]]


PARTS = (
    "Table 1: factorisations of real runs",
    "Table 2: deformation of the dominant mode",
    "ringdowns of the nonlinear system",
    "critical steps",
    "figures 2 to 6: pencils",
    "figures 7 to 10: responses",
    "figure 11: linear and spline interpolation",
    "figure 12: residual of the slow subsystem",
    "figure 13: thresholds",
    "statements on each parameter set",
)


def stated(results: Results, statement: str, paper: str, ours: str, why: str = "") -> Finding:
    """Return the finding on a statement of `statements`, decided by its rules on the paper's system."""
    rules = next(iter(results.sets.values()))[statement]
    return Finding(statement[0].upper() + statement[1:], paper, ours, rules, why)


def compute(settings: Settings, say: Callable[[str], None]) -> Results:
    """Compute everything; `say` is called with a few words before each part."""
    first, converters, transducers = settings.paper, settings.converters, settings.transducers

    def part(words: str, work: Callable[[], T]) -> T:
        say(words)
        return work()

    both = ((first, THRESHOLDS), (converters, CONVERTER_THRESHOLDS))
    return Results(
        settings=settings,
        table_1=part(PARTS[0], lambda: table_1(first)),
        table_2=part(PARTS[1], lambda: table_2(first)),
        transducers_table_2=_off(table_2(transducers)),
        ringdowns=part(PARTS[2], lambda: ringdowns(first)),
        critical=part(PARTS[3], lambda: critical_steps(first)),
        published_critical=published_critical_step(first),
        set_steps={name: critical_step(s, "FEM") for name, s in settings.sets.items()},
        set_limits=", ".join(
            f"{value:.4f} s ({name})" if value < WHATEVER else f"0.1 s, as far as was looked ({name})"
            for name, value in ((n, critical_step(s, "TM", WHATEVER)) for n, s in settings.sets.items())
        ),
        spectra=part(PARTS[4], lambda: spectra(first)),
        partitions=other_partitions(first),
        swing=swing_mode(first),
        ratios=ratios(first),
        responses=part(PARTS[5], lambda: [responses(first, *which) for which in RESPONSES]),
        errors=largest_errors(first),
        interpolation_curves=part(
            PARTS[6],
            lambda: {
                kind: error_curves(
                    first,
                    {
                        f"r = {r}": first.scheme("TM", "TM", 0.05 / r, r, interpolation=kind)
                        for r in DRAWN_RATIOS
                    },
                )
                for kind in ("linear", "spline")
            },
        ),
        interpolations={
            "δ = 20 1/s, $h_s$ = 0.05 s": interpolation(first, 20.0, 0.05),
            "δ = 20 1/s, 0.01 s": interpolation(first, 20.0, 0.01),
            "fast transducers, 0.05 s": interpolation(transducers, 20.0, 0.05),
            "converters, 0.01 s": interpolation(converters, 20.0, 0.01),
        },
        transducer_errors=interpolation(transducers, 20.0, 0.05),
        lag_law=lag_law(transducers),
        residuals=part(PARTS[7], lambda: slow_residuals(first)),
        thresholds=part(PARTS[8], lambda: [thresholds(*which) for which in both]),
        threshold_errors=[threshold_errors(*which) for which in both],
        threshold_curves=[
            error_curves(
                s, {f"δ = {name}": threshold_scheme(s, delta) for name, delta in DRAWN_THRESHOLDS.items()}
            )
            for s, _ in both
        ],
        sets=part(PARTS[9], lambda: {name: statements(s) for name, s in settings.sets.items()}),
    )


def _off(table: pd.DataFrame) -> float:
    """Return the largest difference in points of the published pencil from the printed Table 2."""
    return max(
        float((table[f"paper{words} [%]"] - table[f"published pencil{words} [%]"]).abs().max())
        for words in ("", ", all y fast")
    )
