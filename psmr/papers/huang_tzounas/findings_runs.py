"""Findings on what the nonlinear runs say: figures 7 to 13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.check import SHOWN, VISIBLE, above, below, grows, rises
from psmr.papers.finding import Finding
from psmr.papers.huang_tzounas.responses import reference_error
from psmr.papers.huang_tzounas.results import Results, stated
from psmr.papers.huang_tzounas.sweeps import CONVERTER_THRESHOLDS


def responses(results: Results) -> tuple[Finding, ...]:
    """Return the findings on the time responses (figures 7 to 10)."""
    table = results.errors

    def left(events: str, solution: str) -> str:
        rows = table[(table["events"] == events) & table["scheme"].str.endswith(f"{solution} solution")]
        values = [f"{100 * v:.3g} %" for v in rows["swing left, of the reference"]]
        tops = [f"{v:.2g}" for v in rows["largest error [pu]"]]
        return (
            f"swing left in the last 3 s, of the reference's, BEM and TM prediction: {' and '.join(values)}; "
            f"largest errors {' and '.join(tops)} pu"
        )

    found = []
    for figures, events in (((7, 8), "load trip"), ((9, 10), "fault")):
        found += [
            stated(
                results,
                f"figure {figures[0]}: {events}: TM/TM underdamps",
                "slight underdamping",
                left(events, "TM"),
            ),
            stated(
                results,
                f"figure {figures[0]}: {events}: BEM prediction mitigates it",
                "less with BEM prediction",
                left(events, "TM"),
                "It goes beyond: with BEM prediction the response is overdamped, by far more than it was "
                "underdamped."
                if events == "load trip"
                else "The field voltages reach their ceilings after the fault, and line 5-7 is out: "
                "this is not "
                "the system whose mode the pencil has.",
            ),
            stated(
                results,
                f"figure {figures[1]}: {events}: BEM/BEM overdamps significantly",
                "significant",
                left(events, "BEM"),
            ),
            stated(
                results,
                f"figure {figures[1]}: {events}: TM prediction mitigates it",
                "visible in the responses",
                left(events, "BEM"),
                "Nothing of the swing is left with either." if events == "load trip" else "",
            ),
        ]
    return tuple(found)


def interpolation(results: Results) -> tuple[Finding, ...]:
    """Return the findings on linear and spline interpolation (figure 11)."""
    tables = results.interpolations
    first = next(iter(tables.values()))
    law: Any = results.lag_law.set_index("r")
    fast: Any = results.transducer_errors
    order = fast.sort_values("lag of a jump [s]")["linear, rms [pu]"]
    far = law.loc["5":"8"]
    return (
        stated(
            results,
            "figure 11a: errors irregular over r with linear interpolation",
            "irregular, as in figure 6",
            f"largest errors at r = 2, 3, 4, 5, 6, 8, 10: {_thousandths(first['linear, largest [pu]'])} "
            "(0.001 pu)",
        ),
        stated(
            results,
            "figure 11b: regular with the spline",
            "eliminated",
            f"largest errors: {_thousandths(first['spline, largest [pu]'])} (0.001 pu)",
        ),
        stated(
            results,
            "figure 11: spline errors smaller in all cases",
            "smaller in all cases",
            f"spline / linear, largest: {_span(first['spline / linear, largest'])}; rms: "
            f"{_span(first['spline / linear, rms'])}",
        ),
        Finding(
            "Figure 11 on other systems: spline errors smaller in all cases",
            "smaller in all cases",
            "; ".join(f"{name}: {_span(t['spline / linear, rms'])}" for name, t in list(tables.items())[1:]),
            tuple(
                below(
                    f"rms error, spline over linear, {name}",
                    t["spline / linear, rms"],
                    1.0,
                    SHOWN,
                    share=VISIBLE,
                )
                for name, t in list(tables.items())[1:]
            ),
            "With exciters of type 1 only the transducers are fast: the trapezoidal error of the slow states "
            "hides that of the interpolation. With converters the spline is a little worse at 20 1/s.",
        ),
        Finding(
            "Figures 6, 11a: cause of the irregularity, where transducers of 1 ms are fast",
            "more intermediate steps on interpolated slow values amplify the interfacing error",
            f"largest errors at r = 2, 3, 4, 5, 6, 8, 10: {_thousandths(fast['linear, largest [pu]'])} "
            "(0.001 pu)",
            (
                rises("rms error by falling lag of a jump, pu", order[::-1]),
                above("what the lag leaves unexplained, of what differs", _worst(far), 0.5, "half"),
            ),
            "The errors are in the order of the lag (h_s/2)(1 + R^r)/(1 - R^r) with which a slow "
            "regulator sees "
            "a jump through a fast transducer, R = (1 - h_f/2T)/(1 + h_f/2T) being what the trapezoidal rule "
            "leaves of it after a fast step. From r = 3 and 10 the lag alone predicts the errors at r = "
            "5 to 8 "
            f"within {far['from the law [pu]'].max():.0e} pu (they differ by up to "
            f"{far['from r = 10 [pu]'].max():.0e}). More fast steps end the ringing, they do not amplify it.",
        ),
    )


def residual(results: Results) -> Finding:
    """Return the finding on the residual of the slow subsystem (figure 12)."""
    predictor, steps, kinds = results.residuals
    largest = {curve.label: float(curve.value.max()) for curve in (*predictor, *steps)}
    late = {curve.label: float(np.median(curve.value[curve.t > 2.0])) for curve in kinds}
    curve = kinds[0]
    before = float(curve.value[curve.t < 1.0].max())
    first = float(curve.value[(curve.t > 2.0) & (curve.t < 3.0)].max())
    last = float(curve.value[curve.t > 9.0].max())
    top = largest["TM prediction"]
    by_step = [float(c.value[c.t > 2.0].max()) for c in steps]
    return Finding(
        "Figure 12: residuals of the slow algebraic equations rise at the disturbance and fade; smaller "
        "steps and the spline reduce them",
        "rise and gradually decrease",
        f"largest: {', '.join(f'{label} {value:.2g}' for label, value in largest.items())} pu; median after "
        f"2 s: linear {late['linear']:.1e}, spline {late['cubic spline']:.1e} pu; largest of the last second "
        f"{last / first:.2f} of that from 2 to 3 s",
        (
            rises("before 1 s, after 9 s, from 2 to 3 s, largest, pu", [before, last, first, top]),
            rises("after 2 s by step, smallest first, pu", by_step[::-1]),
            rises("median after 2 s, spline and linear, pu", [late["cubic spline"], late["linear"]]),
        ),
        "Linear interpolation leaves h_s² / 8 times the curvature of the slow variables: a quarter for half "
        "the step. The predictor hardly matters.",
    )


def threshold(results: Results) -> tuple[Finding, ...]:
    """Return the findings on the threshold and the reference (figure 13)."""
    original, converters = results.thresholds
    delta, largest = "delta [1/s]", "largest error [pu]"
    by = results.threshold_errors[0].set_index(delta)[largest]
    more = results.threshold_errors[1].set_index(delta)[largest]
    ends = [more[d] for d in CONVERTER_THRESHOLDS]
    exact = original.set_index(delta)["exact pencil [%]"]
    bent = converters.set_index(delta)["exact pencil [%]"]
    references = [reference_error(s) for s in (results.settings.paper, results.settings.converters)]
    return (
        stated(
            results,
            "figure 13a: deformation grows with delta",
            "delta = 0 is single rate with the least deformation, which grows",
            f"exact pencil: {exact[0.0]:.5f}, {exact[2.0]:.4f}, {exact[20.0]:.4f}, {exact[np.inf]:.4f} "
            "% at 0, "
            "2, 20 1/s and infinity",
            f"Not at every step: {exact[2.0]:.4f} % at 2 and {exact[4.0]:.4f} % at 4 1/s.",
        ),
        stated(
            results,
            "figure 13b: error after the fault grows with delta",
            "grow with delta, consistent with the small-signal analysis",
            f"largest error of the speed: {by[0.0]:.2g}, {by[2.0]:.2g}, {by[20.0]:.2g}, "
            f"{by[np.inf]:.2g} pu at "
            "0, 2, 20 1/s and infinity",
            f"At delta = 20 1/s it is {by[20.0] / by[np.inf]:.1f} times that of single rate at h_s: what is "
            "fast reads slow values on straight lines through the jump.",
        ),
        Finding(
            "Figure 13c: errors with converters",
            "grow with delta",
            f"largest error of the speed: {more[0.0]:.2g} pu at 0, {more[2.0]:.2g} at 2, {more[20.0]:.2g} at "
            f"20, {more[500.0]:.2g} at 500 1/s, {more[np.inf]:.2g} at infinity; deformation "
            f"{bent[0.0]:.5f} to "
            f"{bent[np.inf]:.4f} %",
            grows(
                f"largest error, delta = {', '.join(f'{d:g}' for d in CONVERTER_THRESHOLDS)} 1/s, pu", ends
            ),
            "It falls from 0 to 2 1/s, and grows beyond. "
            "The paper gives no data of its converters; ours are two grid-following ones at bus 3.",
        ),
        Finding(
            "Reference of the errors (section 4)",
            "two-stage SDIRK at 1 ms",
            f"at 1 ms it is off by {references[0]:.1e} pu of speed after the fault, with converters by "
            f"{references[1]:.1e}; figures 11 and 13 here use 0.2 ms",
            (
                below(
                    "error of the reference over the smallest error of figure 13",
                    [references[0] / by[0.0], references[1] / more[0.0]],
                    0.1,
                    "a tenth: a reference that an error is measured with",
                ),
            ),
        ),
    )


def _worst(law: pd.DataFrame) -> float:
    return float((law["from the law [pu]"] / law["from r = 10 [pu]"]).max())


def _thousandths(values: pd.Series) -> str:
    return ", ".join(f"{1e3 * v:.3f}" for v in values)


def _span(values: pd.Series) -> str:
    return f"{values.min():.3f} to {values.max():.3f}"
