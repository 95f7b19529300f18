"""Findings on what the pencils say: figures 2 to 6."""

from __future__ import annotations

from typing import Any

import pandas as pd

from psmr.papers.check import below, rises
from psmr.papers.finding import Finding
from psmr.papers.huang_tzounas.results import Results, stated
from psmr.papers.huang_tzounas.setting import percent


def prediction(results: Results) -> tuple[Finding, ...]:
    """Return the findings on predictors and stability (figures 2 and 3a)."""
    table: Any = results.critical.set_index(["partition", "predictor"])
    fem, fem_y, bem_y = (
        table.loc[key]
        for key in (
            ("delta = 20", "FEM"),
            ("delta = 20, all y fast", "FEM"),
            ("delta = 20, all y fast", "BEM"),
        )
    )
    spectra = {(s.pencil, s.predictor, s.h_fast): s.report for s in results.spectra}
    bends = {p: [percent(spectra["exact", p, h]) for h in (0.001, 0.008)] for p in ("FEM", "TM")}
    radii = {p: spectra["published", p, 0.008].spectral_radius for p in ("FEM", "TM")}
    explicit = -2.0 * results.settings.paper.mode.real / abs(results.settings.paper.mode) ** 2
    step = "critical h_fast [s]"
    return (
        stated(
            results,
            "figure 2: TM prediction more accurate than FEM",
            "as expected, TM outperforms FEM",
            f"exact pencil at 0.005 / 0.001 s: FEM {bends['FEM'][0]:.3f} %, TM {bends['TM'][0]:.3f} %; at "
            f"0.04 / 0.008 s: {bends['FEM'][1]:.3f} and {bends['TM'][1]:.3f} %",
        ),
        stated(
            results,
            "figure 2: FEM unstable, TM stable at 0.04 / 0.008 s",
            "FEM unstable, TM stable",
            f"exact pencil: both stable; published: |z| = {radii['FEM']:.3f} and {radii['TM']:.3f}, both "
            "unstable",
            f"FEM prediction is unstable from h_s = {10 * fem[step]:.3f} s on; the published pencil does not "
            "tell FEM from TM prediction.",
        ),
        stated(
            results,
            "figure 3a: FEM prediction's critical h_f 0.005 s",
            "0.005 s",
            f"exact pencil {fem[step]:.5f} s, all y fast {fem_y[step]:.5f} s; over the parameter sets "
            f"{_span(results.set_steps)}; published pencil {results.published_critical:.5f} s",
            f"The mode {fem['first to go']} goes first. Runs at 0.98 and 1.02 of the critical step have real "
            f"parts {fem['nonlinear run at 0.98']:+.4f} and {fem['nonlinear run at 1.02']:+.4f} 1/s, "
            "the exact "
            f"pencil {fem['exact pencil at 0.98']:+.4f} and {fem['exact pencil at 1.02']:+.4f}. The "
            "published "
            f"value is that of one explicit fast step, 2 zeta / |s| = {explicit:.5f} s, for any controls.",
        ),
        stated(
            results,
            "section 4: TM prediction stable whatever the steps",
            "numerical stability is maintained regardless of the selected time step sizes",
            f"exact pencil, r = 10: stable up to h_f = {results.set_limits}",
            "At the steps of the paper's figures, up to 0.05 s, it is stable on every set.",
        ),
        stated(
            results,
            "section 4: TM prediction stable at the steps of the paper's figures",
            "stable in every figure",
            "exact pencil: no |z| above 1 at the steps of figures 2 and 6, "
            "none up to h_f = 0.005 s at r = 10",
            "The zero modes have |z| = 1.",
        ),
        stated(
            results,
            "section 1.2: implicit predictors more stable than explicit",
            "stated in general",
            f"TM and BEM prediction stable up to 0.02 s, FEM to {fem[step]:.5f} s",
        ),
        Finding(
            "Section 1.2: the same with all y fast",
            "stated in general",
            f"BEM prediction with TM solution: unstable above {bem_y[step]:.5f} s, FEM above "
            f"{fem_y[step]:.5f} s",
            (
                rises("critical h_f in s, twice FEM's and BEM's", [2 * fem_y[step], bem_y[step]], TWICE),
                below("real part of the run at 1.02 of BEM's", bem_y["nonlinear run at 1.02"], 0.0, "decay"),
            ),
            f"The mode {bem_y['first to go']}; runs at 0.98 and 1.02 of that step: "
            f"{bem_y['nonlinear run at 0.98']:+.4f} and {bem_y['nonlinear run at 1.02']:+.4f} 1/s.",
        ),
    )


TWICE = "'better stability properties', taken as twice the step"


def swing(results: Results) -> tuple[Finding, ...]:
    """Return the findings on the dominant mode over the fast step (figures 3 to 5)."""

    def end(predictor: str, solution: str, column: str) -> float:
        return _end(results.swing, "exact", predictor, solution, column)

    real, imag, size = "real part [%]", "imaginary part [%]", "relative [%]"
    pairs = (("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("TM", "BEM"), ("BEM", "BEM"))
    sizes = ", ".join(f"{p}/{s} {end(p, s, size):.3f}" for p, s in pairs)
    at = "exact pencil, h_f = 0.005 s"
    wide: Any = results.partitions.set_index("partition")
    rows = {name: [float(wide.loc[name, f"{p}/TM [%]"]) for p in ("BEM", "TM", "FEM")] for name in OTHERS}
    return (
        stated(
            results,
            "figures 3b, 4b: TM/TM underdamps",
            "slight underdamping",
            f"{at}: real part {end('TM', 'TM', real):+.4f} % of |s|",
        ),
        stated(
            results,
            "figures 3b, 4b: BEM prediction mitigates it",
            "less with BEM prediction",
            f"{at}: {end('BEM', 'TM', real):+.4f} %",
            "It goes beyond: with BEM prediction the mode is overdamped, by more than it was underdamped.",
        ),
        stated(
            results,
            "figures 3c, 4c: BEM/BEM overdamps significantly",
            "significant overdamping",
            f"{at}: real part {end('BEM', 'BEM', real):.3f} %",
        ),
        stated(
            results,
            "figures 3c, 4c: TM prediction mitigates it",
            "less with TM prediction",
            f"{at}: {end('TM', 'BEM', real):.3f} %",
        ),
        stated(
            results,
            "figure 5b: TM solution: imaginary part moves more with TM than BEM prediction",
            "TM slightly larger",
            f"{at}: {end('TM', 'TM', imag):.4f} and {end('BEM', 'TM', imag):.4f} %",
        ),
        stated(
            results,
            "figure 5c: BEM solution: it moves less with BEM than TM prediction",
            "BEM smaller",
            f"{at}: {end('BEM', 'BEM', imag):.4f} and {end('TM', 'BEM', imag):.4f} %",
        ),
        stated(
            results,
            "figures 3 to 5: BEM/TM the most accurate",
            "highest accuracy of the cases examined",
            f"{at}, predictor/solution: {sizes} %",
        ),
        Finding(
            "The same on partitions with more in the fast set",
            "not examined",
            "; ".join(f"{name}: {_three(values)}" for name, values in rows.items()),
            tuple(rises(f"BEM/TM and TM/TM at {name}, %", v[:2]) for name, v in rows.items()),
            "There BEM prediction is worse than TM: what is best depends on what is fast.",
        ),
    )


OTHERS = ("delta = 7", "delta = 5", "delta = 20, all y fast")


def published(results: Results) -> tuple[Finding, ...]:
    """Return the finding on figures 3 to 5 by the pencil of appendix B."""

    def size(predictor: str, solution: str) -> float:
        return _end(results.swing, "published", predictor, solution, "relative [%]")

    bt, tt, tb, bb = (size(*pair) for pair in (("BEM", "TM"), ("TM", "TM"), ("TM", "BEM"), ("BEM", "BEM")))
    return (
        Finding(
            "Figures 3 to 5 by the published pencil",
            "BEM/TM is the best, BEM solution significantly overdamped",
            f"h_f = 0.005 s: BEM/TM {bt:.1f} %, TM/TM {tt:.2f} %, TM/BEM {tb:.2f} %, BEM/BEM {bb:.1f} %",
            (
                rises("BEM/TM and TM/TM, %", [bt, tt]),
                rises("TM/TM and TM/BEM, %", [2 * tt, tb], "'significant', taken as twice"),
            ),
            "Appendix B contradicts the paper's own figures 3 to 5 and 7 to 10, which the exact pencil "
            "gives.",
        ),
    )


def ratio(results: Results) -> tuple[Finding, ...]:
    """Return the findings on the ratio (figure 6)."""
    table = results.ratios.set_index("r")
    fem, theirs = table["FEM exact [%]"], table["FEM published [%]"]
    return (
        stated(
            results,
            "figure 6: FEM prediction: worse at r = 6 than at 5",
            "larger at 6 than at 5",
            f"exact pencil: {', '.join(f'{fem.loc[r]:.4f}' for r in (2, 3, 4, 5, 6, 10, 20))} % at r = "
            "2, 3, 4, "
            f"5, 6, 10, 20; published {theirs.loc[5]:.2f} and {theirs.loc[6]:.2f} % at 5 and 6",
            f"{100 * (fem.loc[6] / fem.loc[5] - 1.0):.3f} % of itself from 5 to 6, which "
            "no printed line shows. "
            "From r = 3 on it grows towards the error of the interpolation and the slow steps, which no fast "
            "step takes away.",
        ),
        Finding(
            "Figure 6 by the published pencil",
            "larger at r = 6 than at 5",
            f"{theirs.loc[5]:.2f} and {theirs.loc[6]:.2f} %: falls steadily, as |s| h_f / 2",
            (rises("deformation at r = 5 and 6, %", [theirs.loc[5], theirs.loc[6]]),),
        ),
    )


def _end(table: pd.DataFrame, pencil: str, predictor: str, solution: str, column: str) -> float:
    """Return a figure of the dominant mode at the largest fast step of figures 3 to 5."""
    rows = table[
        (table["pencil"] == pencil) & (table["predictor"] == predictor) & (table["solution"] == solution)
    ]
    return float(rows[column].iloc[-1])


def _span(steps: dict[str, float]) -> str:
    return ", ".join(
        f"{name} {value:.5f} s" if value < 1.0 else f"{name} none" for name, value in steps.items()
    )


def _three(values: list[float]) -> str:
    return f"BEM/TM {values[0]:.2f}, TM/TM {values[1]:.2f}, FEM/TM {values[2]:.2f} %"
