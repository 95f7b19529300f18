"""Everything that is computed of the paper, in the order of the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pandas as pd

from psmr.reproduce.huang_tzounas.responses import (
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
from psmr.reproduce.huang_tzounas.setting import Setting
from psmr.reproduce.huang_tzounas.sweeps import (
    CONVERTER_THRESHOLDS,
    THRESHOLDS,
    Spectrum,
    ratios,
    spectra,
    swing_mode,
    thresholds,
)
from psmr.reproduce.huang_tzounas.tables import (
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
        The paper's system and the one with converters.
    table_1, table_2, ringdowns, critical, partitions, published_critical
        From `tables`.
    spectra, swing, ratios
        Figures 2, 3 to 5 and 6.
    responses, errors
        Figures 7 to 10: lines and errors of each, and their sizes.
    interpolation_curves, interpolations, lag_law
        Figure 11; the tables by setting.
    residuals
        The panels of figure 12.
    thresholds, threshold_errors, threshold_curves
        Figure 13, for each system.
    """

    settings: tuple[Setting, Setting]
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
    lag_law: pd.DataFrame
    residuals: list[list[Curve]]
    thresholds: list[pd.DataFrame]
    threshold_errors: list[pd.DataFrame]
    threshold_curves: list[list[Curve]]


def compute(settings: tuple[Setting, Setting], say: Callable[[str], None]) -> Results:
    """Compute everything; `say` is called with a few words before each part."""
    first, converters = settings

    def part(words: str, work: Callable[[], T]) -> T:
        say(words)
        return work()

    both = ((first, THRESHOLDS), (converters, CONVERTER_THRESHOLDS))
    return Results(
        settings=settings,
        table_1=part("Table 1: factorisations of real runs", lambda: table_1(first)),
        table_2=part("Table 2: deformation of the dominant mode", lambda: table_2(first)),
        ringdowns=part("ringdowns of the nonlinear system", lambda: ringdowns(first)),
        critical=part("critical steps", lambda: critical_steps(first)),
        partitions=part("other partitions", lambda: other_partitions(first)),
        published_critical=published_critical_step(first),
        spectra=part("figure 2: eigenvalues", lambda: spectra(first)),
        swing=part("figures 3 to 5: dominant mode over the fast step", lambda: swing_mode(first)),
        ratios=part("figure 6: ratios", lambda: ratios(first)),
        responses=part(
            "figures 7 to 10: responses", lambda: [responses(first, *which) for which in RESPONSES]
        ),
        errors=largest_errors(first),
        interpolation_curves=part(
            "figure 11: linear and spline interpolation",
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
            "δ = 5 1/s, $h_s$ = 0.05 s": interpolation(first, 5.0, 0.05),
            "converters, δ = 20 1/s, 0.01 s": interpolation(converters, 20.0, 0.01),
            "converters, δ = 5 1/s, 0.01 s": interpolation(converters, 5.0, 0.01),
        },
        lag_law=lag_law(first),
        residuals=part("figure 12: residual of the slow subsystem", lambda: slow_residuals(first)),
        thresholds=part("figure 13: thresholds", lambda: [thresholds(*which) for which in both]),
        threshold_errors=[threshold_errors(*which) for which in both],
        threshold_curves=[
            error_curves(
                s, {f"δ = {name}": threshold_scheme(s, delta) for name, delta in DRAWN_THRESHOLDS.items()}
            )
            for s in settings
        ],
    )
