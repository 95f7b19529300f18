"""Findings on what the nonlinear runs say: figures 7 to 13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.check import SHOWN, VISIBLE, above, below, rises, tends
from psmr.papers.finding import Finding, shown_in
from psmr.papers.huang_tzounas.statements import stated
from psmr.papers.huang_tzounas.sweeps import CONVERTER_THRESHOLDS
from psmr.papers.reproduction import Results

BEYOND = {
    "load trip": (
        "It goes beyond: with BEM prediction the response is overdamped, by far more than it was "
        "underdamped.",
        "Nothing of the swing is left with either.",
    ),
    "fault": (
        "The field voltages reach their ceilings after the fault, and line 5-7 is out: this is not the "
        "system whose mode the pencil has.",
        "",
    ),
}


def responses(r: Results) -> Iterator[Finding]:
    """Return the findings on the time responses (figures 7 to 10)."""

    def left(events: str, solution: str) -> str:
        rows = r.errors[r.errors["events"] == events]
        rows = rows[rows["scheme"].str.endswith(f"{solution} solution")]
        values = [f"{100 * v:.3g} %" for v in rows["swing left, of the reference"]]
        tops = [f"{v:.2g}" for v in rows["largest error [pu]"]]
        return (
            f"swing left in the last 3 s, of the reference's, BEM and TM prediction: {' and '.join(values)}; "
            f"largest errors {' and '.join(tops)} pu"
        )

    for number, (events, why) in zip((7, 9), BEYOND.items(), strict=True):
        tm, bem = left(events, "TM"), left(events, "BEM")
        claims = (
            (number, "TM/TM underdamps", "slight underdamping", tm, ""),
            (number, "BEM prediction mitigates it", "less with BEM prediction", tm, why[0]),
            (number + 1, "BEM/BEM overdamps significantly", "significant", bem, ""),
            (number + 1, "TM prediction mitigates it", "visible in the responses", bem, why[1]),
        )
        for n, claim, *words in claims:
            yield from shown_in(f"Figure {n}", stated(r, f"figure {n}: {events}: {claim}", *words))


def interpolation(r: Results) -> Iterator[Finding]:
    """Return the findings on linear and spline interpolation (figure 11)."""
    (_, first), *others = r.interpolations.items()
    fast, far = r.transducer_errors, r.lag_law.set_index("r").loc["5":"8"]
    order = fast.sort_values("lag of a jump [s]")["linear, rms [pu]"]
    law, unexplained = far["from the law [pu]"], far["from r = 10 [pu]"]
    at, ratio = "largest errors at r = 2, 3, 4, 5, 6, 8, 10", "spline / linear, rms"
    yield stated(
        r,
        "figure 11a: errors irregular over r with linear interpolation",
        "irregular, as in figure 6",
        f"{at}: {_thousandths(first['linear, largest [pu]'])} (0.001 pu)",
    )
    yield stated(
        r,
        "figure 11b: regular with the spline",
        "eliminated",
        f"largest errors: {_thousandths(first['spline, largest [pu]'])} (0.001 pu)",
    )
    yield stated(
        r,
        "figure 11: spline errors smaller in all cases",
        "smaller in all cases",
        f"spline / linear, largest: {_span(first['spline / linear, largest'])}; rms: {_span(first[ratio])}",
    )
    yield Finding(
        "Figure 11 on other systems: spline errors smaller in all cases",
        "",
        "; ".join(f"{name}: {_span(t[ratio])}" for name, t in others),
        tuple(
            below(f"rms error, spline over linear, {name}", t[ratio], 1.0, SHOWN, share=VISIBLE)
            for name, t in others
        ),
        "The paper examines its own system. With exciters of type 1 only the transducers are fast: the "
        "trapezoidal error of the slow states "
        "hides that of the interpolation. With converters the spline is a little worse at 20 1/s.",
    )
    yield Finding(
        "Figures 6, 11a: cause of the irregularity, where transducers of 1 ms are fast",
        "",
        f"{at}: {_thousandths(fast['linear, largest [pu]'])} (0.001 pu)",
        (
            rises("rms error by falling lag of a jump, pu", order[::-1]),
            above("what the lag leaves unexplained, of what differs", (law / unexplained).max(), 0.5, "half"),
        ),
        "On its own system the paper names more intermediate steps on interpolated slow values, which "
        "amplify the interfacing error. Here "
        "the errors are in the order of the lag (h_s/2)(1 + R^r)/(1 - R^r) with which a slow regulator sees "
        "a jump through a fast transducer, R = (1 - h_f/2T)/(1 + h_f/2T) being what the trapezoidal rule "
        "leaves of it after a fast step. From r = 3 and 10 the lag alone predicts the errors at r = 5 to 8 "
        f"within {law.max():.0e} pu (they differ by up to {unexplained.max():.0e}). More fast steps end the "
        "ringing, they do not amplify it.",
    )


def residual(r: Results) -> Finding:
    """Return the finding on the residual of the slow subsystem (figure 12)."""
    predictor, steps, kinds = r.residuals
    largest = {curve.label: float(curve.value.max()) for curve in (*predictor, *steps)}
    late = {curve.label: float(np.median(curve.value[curve.t > 2.0])) for curve in kinds}
    t, value = kinds[0].t, kinds[0].value
    before, last = float(value[t < 1.0].max()), float(value[t > 9.0].max())
    first = float(value[(t > 2.0) & (t < 3.0)].max())
    by_step = [float(c.value[c.t > 2.0].max()) for c in steps]
    found = [before, last, first, largest["TM prediction"]]
    return Finding(
        "Figure 12: residuals of the slow algebraic equations rise at the disturbance and fade; smaller "
        "steps and the spline reduce them",
        "rise and gradually decrease",
        f"largest: {', '.join(f'{label} {value:.2g}' for label, value in largest.items())} pu; median after "
        f"2 s: linear {late['linear']:.1e}, spline {late['cubic spline']:.1e} pu; largest of the last second "
        f"{last / first:.2f} of that from 2 to 3 s",
        (
            rises("before 1 s, after 9 s, from 2 to 3 s, largest, pu", found),
            rises("after 2 s by step, smallest first, pu", by_step[::-1]),
            rises("median after 2 s, spline and linear, pu", [late["cubic spline"], late["linear"]]),
        ),
        "Linear interpolation leaves h_s² / 8 times the curvature of the slow variables: a quarter for half "
        "the step. The predictor hardly matters.",
    )


def threshold(r: Results) -> Iterator[Finding]:
    """Return the findings on the threshold and the reference (figure 13)."""
    exact, bent = (table.set_index("delta [1/s]")["exact pencil [%]"] for table in r.thresholds)
    by, more = (table.set_index("delta [1/s]")["largest error [pu]"] for table in r.threshold_errors)
    swept, references = ", ".join(f"{d:g}" for d in CONVERTER_THRESHOLDS), r.reference_errors
    words, tenth = (
        "error of the reference over the smallest error of figure 13",
        "a tenth of what it measures",
    )
    share: Any = [references[0] / by[0.0], references[1] / more[0.0]]
    yield stated(
        r,
        "figure 13a: deformation least at delta = 0, and tends to grow with it",
        "delta = 0 is single rate with minimal deformation; as delta increases it tends to grow",
        f"exact pencil: {exact[0.0]:.5f}, {exact[2.0]:.4f}, {exact[20.0]:.4f}, {exact[np.inf]:.4f} % at 0, "
        "2, 20 1/s and infinity",
        f"Not at every step: {exact[2.0]:.4f} % at 2 and {exact[4.0]:.4f} % at 4 1/s.",
    )
    yield stated(
        r,
        "figure 13b: error after the fault tends to grow with delta",
        "consistent with the small-signal analysis",
        f"largest error of the speed: {by[0.0]:.2g}, {by[2.0]:.2g}, {by[20.0]:.2g}, {by[np.inf]:.2g} pu at "
        "0, 2, 20 1/s and infinity",
        f"At delta = 20 1/s it is {by[20.0] / by[np.inf]:.1f} times that of single rate at h_s: what is "
        "fast reads slow values on straight lines through the jump.",
    )
    yield Finding(
        "Figure 13c: errors with converters tend to grow with delta",
        "consistent with the small-signal analysis",
        f"largest error of the speed: {more[0.0]:.2g} pu at 0, {more[2.0]:.2g} at 2, {more[20.0]:.2g} at "
        f"20, {more[500.0]:.2g} at 500 1/s, {more[np.inf]:.2g} at infinity; deformation {bent[0.0]:.5f} to "
        f"{bent[np.inf]:.4f} %",
        tends(f"largest error, delta = {swept} 1/s, pu", [more[d] for d in CONVERTER_THRESHOLDS]),
        "It falls from 0 to 2 1/s, and grows beyond. "
        "The paper gives no data of its converters; ours are two grid-following ones at bus 3.",
    )
    yield Finding(
        "Reference of the errors (section 4): its own error",
        "",
        f"at 1 ms it is off by {references[0]:.1e} pu of speed after the fault, with converters by "
        f"{references[1]:.1e}; figures 11 and 13 here use 0.2 ms",
        (below(words, share, 0.1, tenth),),
        "The paper takes the two-stage SDIRK method at 1 ms and does not say how accurate it is.",
    )


def _thousandths(values: pd.Series) -> str:
    return ", ".join(f"{1e3 * v:.3f}" for v in values)


def _span(values: pd.Series) -> str:
    return f"{values.min():.3f} to {values.max():.3f}"
