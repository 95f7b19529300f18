"""Findings on what the pencils say: figures 2 to 6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psmr.papers.check import rises
from psmr.papers.finding import Finding, shown_in
from psmr.papers.huang_tzounas.setting import percent
from psmr.papers.huang_tzounas.statements import stated
from psmr.papers.huang_tzounas.tables import PAIRS
from psmr.papers.reproduction import Results

OTHERS = ("delta = 7", "delta = 5", "delta = 20, all y fast")
AT = "exact pencil, h_f = 0.005 s"


def _critical(r: Results, predictor: str, partition: str = "delta = 20") -> dict[str, Any]:
    """Return a row of the critical steps."""
    found: dict[str, Any] = r.critical.set_index(["partition", "predictor"]).loc[partition, predictor]
    return found


def spectra(r: Results) -> Iterator[Finding]:
    """Return the findings on predictors (figure 2)."""
    found = {(s.pencil, s.predictor, s.h_fast): s.report for s in r.spectra}
    bends = {p: [percent(found["exact", p, h]) for h in (0.001, 0.008)] for p in ("FEM", "TM")}
    radii = {p: found["published", p, 0.008].spectral_radius for p in ("FEM", "TM")}
    yield stated(
        r,
        "figure 2: TM prediction more accurate than FEM",
        "as expected, TM outperforms FEM",
        f"exact pencil at 0.005 / 0.001 s: FEM {bends['FEM'][0]:.3f} %, TM {bends['TM'][0]:.3f} %; at "
        f"0.04 / 0.008 s: {bends['FEM'][1]:.3f} and {bends['TM'][1]:.3f} %",
    )
    yield stated(
        r,
        "figure 2: FEM unstable, TM stable at 0.04 / 0.008 s",
        "FEM unstable, TM stable",
        f"exact pencil: both stable; published: |z| = {radii['FEM']:.3f} and {radii['TM']:.3f}, both "
        "unstable",
        f"FEM prediction is unstable from h_s = {10 * _critical(r, 'FEM')['critical h_fast [s]']:.3f} s on; "
        "the published pencil does not tell FEM from TM prediction.",
    )


def stability(r: Results) -> Iterator[Finding]:
    """Return the findings on critical steps (figure 3a, sections 1.2 and 4)."""
    fem, fem_y, bem_y = (_critical(r, "FEM"), *(_critical(r, p, OTHERS[-1]) for p in ("FEM", "BEM")))
    step, step_y, step_bem = (row["critical h_fast [s]"] for row in (fem, fem_y, bem_y))
    mode = r.settings.paper.mode
    spans = (f"{name} {h:.5f} s" if h < 1.0 else f"{name} none" for name, h in r.set_steps.items())
    yield stated(
        r,
        "figure 3a: FEM prediction's critical h_f 0.005 s",
        "0.005 s",
        f"exact pencil {step:.5f} s, all y fast {step_y:.5f} s; over the parameter sets {', '.join(spans)}; "
        f"published pencil {r.published_critical:.5f} s",
        f"The mode {fem['first to go']} goes first. Runs at 0.98 and 1.02 of the critical step have real "
        f"parts {fem['nonlinear run at 0.98']:+.4f} and {fem['nonlinear run at 1.02']:+.4f} 1/s, the exact "
        f"pencil {fem['exact pencil at 0.98']:+.4f} and {fem['exact pencil at 1.02']:+.4f}. The published "
        f"value is that of one explicit fast step, 2 zeta / |s| = {-2.0 * mode.real / abs(mode) ** 2:.5f} s, "
        "for any controls.",
    )
    yield stated(
        r,
        "section 4: TM prediction stable whatever the steps",
        "numerical stability is maintained regardless of the selected time step sizes",
        f"exact pencil, r = 10: stable up to h_f = {r.set_limits}",
        "At the steps of the paper's figures, up to 0.05 s, it is stable on every set.",
    )
    yield stated(
        r,
        "section 4: TM prediction stable at the steps of the paper's figures",
        "stable in every figure",
        "exact pencil: no |z| above 1 at the steps of figures 2 and 6, none up to h_f = 0.005 s at r = 10",
        "The zero modes have |z| = 1.",
    )
    yield stated(
        r,
        "section 1.2: implicit predictors more stable than explicit",
        "stated in general",
        f"TM and BEM prediction stable up to 0.02 s, FEM to {step:.5f} s",
    )
    yield Finding(
        "Section 1.2: the same with all y fast",
        "stated in general",
        f"BEM prediction with TM solution: unstable above {step_bem:.5f} s, FEM above {step_y:.5f} s",
        (rises("critical h_f in s, FEM's and BEM's", [step_y, step_bem]),),
        f"Better by {100 * (step_bem / step_y - 1.0):.1f} %. The mode {bem_y['first to go']}; runs at 0.98 "
        f"and 1.02 of that step: {bem_y['nonlinear run at 0.98']:+.4f} and "
        f"{bem_y['nonlinear run at 1.02']:+.4f} 1/s.",
    )


def _end(r: Results, pencil: str, predictor: str, solution: str, column: str) -> float:
    """Return a figure of the dominant mode at the largest fast step of figures 3 to 5."""
    chosen = (r.swing["pencil"] == pencil) & (r.swing["predictor"] == predictor)
    return float(r.swing[column][chosen & (r.swing["solution"] == solution)].iloc[-1])


def swing(r: Results) -> Iterator[Finding]:
    """Return the findings on the dominant mode over the fast step (figures 3 to 5)."""

    def end(predictor: str, solution: str, column: str) -> float:
        return _end(r, "exact", predictor, solution, column)

    real, imag = "real part [%]", "imaginary part [%]"
    sizes = ", ".join(f"{p}/{s} {end(p, s, 'relative [%]'):.3f}" for p, s in PAIRS)
    yield from shown_in(
        "Figure 4",
        stated(
            r,
            "figures 3b, 4b: TM/TM underdamps",
            "slight underdamping",
            f"{AT}: real part {end('TM', 'TM', real):+.4f} % of |s|",
        ),
        stated(
            r,
            "figures 3b, 4b: BEM prediction mitigates it",
            "less with BEM prediction",
            f"{AT}: {end('BEM', 'TM', real):+.4f} %",
            "It goes beyond: with BEM prediction the mode is overdamped, by more than it was underdamped.",
        ),
        stated(
            r,
            "figures 3c, 4c: BEM/BEM overdamps significantly",
            "significant overdamping",
            f"{AT}: real part {end('BEM', 'BEM', real):.3f} %",
        ),
        stated(
            r,
            "figures 3c, 4c: TM prediction mitigates it",
            "less with TM prediction",
            f"{AT}: {end('TM', 'BEM', real):.3f} %",
        ),
    )
    yield from shown_in(
        "Figure 5",
        stated(
            r,
            "figure 5b: TM solution: imaginary part moves more with TM than BEM prediction",
            "TM slightly larger",
            f"{AT}: {end('TM', 'TM', imag):.4f} and {end('BEM', 'TM', imag):.4f} %",
        ),
        stated(
            r,
            "figure 5c: BEM solution: it moves less with BEM than TM prediction",
            "BEM smaller",
            f"{AT}: {end('BEM', 'BEM', imag):.4f} and {end('TM', 'BEM', imag):.4f} %",
        ),
    )
    words = "highest accuracy of the cases examined"
    best = stated(
        r, "figures 3 to 5: BEM/TM the most accurate", words, f"{AT}, predictor/solution: {sizes} %"
    )
    yield from shown_in("Figure 3", best)


def other_partitions(r: Results) -> Finding:
    """Return the finding on the best pair with more in the fast set."""
    wide: Any = r.partitions.set_index("partition")
    rows = {name: [float(wide.loc[name, f"{p}/TM [%]"]) for p in ("BEM", "TM", "FEM")] for name in OTHERS}
    return Finding(
        "The same on partitions with more in the fast set",
        "",
        "; ".join(
            f"{name}: BEM/TM {v[0]:.2f}, TM/TM {v[1]:.2f}, FEM/TM {v[2]:.2f} %" for name, v in rows.items()
        ),
        tuple(rises(f"BEM/TM and TM/TM at {name}, %", v[:2]) for name, v in rows.items()),
        "The paper examines none. There BEM prediction is worse than TM: what is best depends on what is "
        "fast.",
    )


def published(r: Results) -> Finding:
    """Return the finding on figures 3 to 5 by the pencil of appendix B."""
    tt, bt, tb, bb = (_end(r, "published", *pair, "relative [%]") for pair in PAIRS[1:])
    return Finding(
        "Figures 3 to 5 by the published pencil",
        "BEM/TM is the best, BEM solution significantly overdamped",
        f"h_f = 0.005 s: BEM/TM {bt:.1f} %, TM/TM {tt:.2f} %, TM/BEM {tb:.2f} %, BEM/BEM {bb:.1f} %",
        (
            rises("BEM/TM and TM/TM, %", [bt, tt]),
            rises("TM/TM and TM/BEM, %", [2 * tt, tb], "'significant', taken as twice"),
        ),
        "Appendix B contradicts the paper's own figures 3 to 5 and 7 to 10, which the exact pencil gives.",
    )


def ratio(r: Results) -> Iterator[Finding]:
    """Return the findings on the ratio (figure 6)."""
    table = r.ratios.set_index("r")
    fem, theirs, shown = table["FEM exact [%]"], table["FEM published [%]"], (2, 3, 4, 5, 6, 10, 20)
    yield stated(
        r,
        "figure 6: FEM prediction: worse at r = 6 than at 5",
        "larger at 6 than at 5",
        f"exact pencil: {', '.join(f'{fem.loc[n]:.4f}' for n in shown)} % at r = "
        f"{', '.join(map(str, shown))}; published {theirs.loc[5]:.2f} and {theirs.loc[6]:.2f} % at 5 and 6",
        f"{100 * (fem.loc[6] / fem.loc[5] - 1.0):.3f} % of itself from 5 to 6, which no printed line shows. "
        "From r = 3 on it grows towards the error of the interpolation and the slow steps, which no fast "
        "step takes away.",
    )
    yield Finding(
        "Figure 6 by the published pencil",
        "larger at r = 6 than at 5",
        f"{theirs.loc[5]:.2f} and {theirs.loc[6]:.2f} %: falls steadily, as |s| h_f / 2",
        (rises("deformation at r = 5 and 6, %", [theirs.loc[5], theirs.loc[6]]),),
    )
