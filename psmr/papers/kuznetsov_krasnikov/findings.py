"""What Kuznetsov and Krasnikov claim, held against what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psmr.papers.check import SHOWN, VISIBLE, Check, above, below, exactly, printed, within
from psmr.papers.finding import Finding, placed
from psmr.papers.kuznetsov_krasnikov.claims import END, EXACT_END
from psmr.papers.kuznetsov_krasnikov.evidence import FARTHER, TABLE_1, Evidence
from psmr.papers.systems import boundary_layer as layer

if TYPE_CHECKING:
    import pandas as pd

UNSTABLE = 2.5  # the solution's limit: what Table 1 prints as infinite is many times that
ACCURACY = "the paper's 1e-3, rounded to its one digit"
TENTH = "half of the stated number's last digit"


TABLE, GAIN = (
    "Table 1: example 3, Euler along time (E) and along the arc (BP)",
    "Van der Pol: where the gain ends",
)
CLAIMS = "Claims beyond the tables: conditions, limit points, long runs"
# Beginning of a claim -> the figure or table that shows it.
PLACES = {
    "Theorem 2": CLAIMS,
    "Section 3: limit": CLAIMS,
    "Section 3: closed": CLAIMS,
    "Section 3: the transformation": "Example 3: boundary layer and chatter",
    "Example 1": "Edsberg, evaluations to t = 1 s",
    "Example 2, van der Pol: ": GAIN,
    "Example 2, van der Pol: time": CLAIMS,
    "Example 2, van der Pol: step": CLAIMS,
    "Example 2, van der Pol to": CLAIMS,
    "Example 2, van der Pol along": CLAIMS,
    "Example 3": "Example 3: boundary layer and chatter",
    "Table 1": TABLE,
}


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Return a finding for each claim."""
    found = (
        _best(evidence),
        *_limit_points(evidence),
        _edsberg(evidence),
        *_van_der_pol(evidence),
        *_long(evidence),
        _equation(evidence),
        *_table(evidence),
        _chatter(evidence),
    )
    return placed(found, PLACES)


def _best(e: Evidence) -> Finding:
    more = e.conditions[:, 1] / e.conditions[:, 0]
    return Finding(
        "Theorem 2: the arc length is the best argument",
        "best conditioned at every point",
        "condition number of the matrix of (11), random direction over that along the arc, 200 random f: "
        f"{more.min():.4f} to {more.max():.3g}",
        (
            above("least condition number over that along the arc", more.min(), 1.0 - 1e-9, "1, rounded"),
            above("its median", np.median(more), 1.0, SHOWN, share=VISIBLE),
        ),
        "The theorem speaks of the linear system for the derivatives, in the norm of the variables as they "
        "are. The length of an arc in volts, radians and seconds means nothing without weights: they are "
        "explicit here. It says nothing of stability, see Table 1.",
    )


def _limit_points(e: Evidence) -> tuple[Finding, ...]:
    printed_form, free = e.transformed, e.homogeneous

    def passes(y: float) -> Check:
        return below(
            "least y on the circle y² + t² = 1 from (t, y) = (0, 1)", y, -0.5, "past the limit point"
        )

    def closes(gap: float) -> Check:
        words = "h² = 1e-6 of the last, shortened step, Euler's"
        return below("distance from the start after an arc of 2π", gap, 1e-6, words)

    why = (
        "In (13) dt/dλ = 1/sqrt(1 + f²) is positive: t can only grow, and at the limit point the run goes to "
        "and fro. With (dy, dt) along (-t, y), where dt changes its sign, "
    )
    return (
        Finding(
            "Section 3: limit points, where the derivatives become infinite, can be passed by (13)",
            "allows to integrate them",
            f"y' = -t/y: t up to {printed_form.t_largest:.4f}, y down to {printed_form.y_least:.4f} and back",
            (passes(printed_form.y_least),),
            why + f"y goes down to {free.y_least:.4f}.",
        ),
        Finding(
            "Section 3: closed integral curves by (13)",
            "becomes possible",
            f"after an arc of 2π (13) is {printed_form.gap:.3f} from the start",
            (closes(printed_form.gap),),
            why + f"it is {free.gap:.1e} from the start.",
        ),
    )


def _edsberg(e: Evidence) -> Finding:
    ratios = {row["method"]: float(row["ratio"]) for row in e.edsberg.to_dict("records")}
    return Finding(
        "Example 1, Edsberg's problem at an accuracy of 1e-10",
        "half the execution time",
        f"evaluations along time over those along the arc: "
        f"{', '.join(f'{name} {ratio:.2f}' for name, ratio in ratios.items())}",
        (within("evaluations saved, psmr RK54", ratios["psmr RK54"], 2.0, 0.5, TENTH),),
        "The saving is in the first instants, where y falls from 10 with a slope of -2e5; a method of "
        "variable order has less to gain than one of fixed order. The paper does not describe its PC1.",
    )


def _of(table: pd.DataFrame, method: str, column: str = "ratio") -> dict[float, float]:
    rows = table[table["method"] == method]
    return dict(zip(rows["tolerance"], rows[column], strict=True))


def _van_der_pol(e: Evidence) -> list[Finding]:
    ours, vode = _of(e.van_der_pol, "psmr Adams"), _of(e.van_der_pol, "scipy VODE-Adams")
    listed = {
        name: ", ".join(f"{t:.0e}: {r:.1f}" for t, r in ratios.items())
        for name, ratios in (("ours", ours), ("vode", vode))
    }
    time, arc = (_of(e.van_der_pol, "psmr Adams", f"evaluations, {kind}")[1e-4] for kind in ("time", "arc"))
    saved = max((*vode.values(), *ours.values()))
    tight = [vode[1e-7], vode[1e-8], ours[1e-7], ours[1e-8]]
    return [
        Finding(
            "Example 2, van der Pol: evaluations saved",
            "twenty times fewer right-hand sides (program PC1, accuracy 1e-3)",
            f"VODE's Adams formulas {max(vode.values()):.1f} times fewer at best; psmr's PECE "
            f"{max(ours.values()):.1f} times",
            (within("evaluations along time over those along the arc, best", saved, 20.0, 5.0, TENTH),),
            "PC1 is not to be had. With functional iteration, as in VODE, the ratio comes near the paper's. "
            f"PECE has the wider stability interval: {time:,.0f} evaluations along time, so that less "
            "is left "
            f"to save ({arc:,.0f} along the arc at 1e-4).",
        ),
        Finding(
            "Example 2, van der Pol: the saving at tight tolerances",
            "stated without a tolerance of the step",
            f"VODE by tolerance {listed['vode']}; psmr {listed['ours']}",
            (above("evaluations saved at 1e-7 and 1e-8", tight, 10.0, "half of the paper's twenty"),),
            "What is saved comes from chatter: long steps across the slow manifold, which a loose tolerance "
            "lets pass. At 1e-7 and below the tolerance forbids that, the steps follow the manifold, and the "
            "stability limit is the same along the arc as along time.",
        ),
        Finding(
            "Example 2, van der Pol: time",
            "execution time reduced tenfold",
            f"psmr's Adams at {e.work.tolerance:g}: {e.work.time_ratio:.1f} times, median of five runs "
            "in turn",
            (within("time along time over that along the arc", e.work.time_ratio, 10.0, 5.0, TENTH),),
        ),
        Finding(
            "Example 2, van der Pol: step",
            "the step of the transformed problem was ten times bigger",
            f"psmr's Adams at {e.work.tolerance:g}: mean step in t {e.work.step_ratio:.1f} times",
            (
                within(
                    "mean step in t along the arc over that along time", e.work.step_ratio, 10.0, 5.0, TENTH
                ),
            ),
            "Steps along the arc have the unit of y2 and t together; in t they can be compared.",
        ),
    ]


def _long(e: Evidence) -> list[Finding]:
    plain, arc = e.farther
    run = e.end
    off = [abs(a - b) for a, b in zip(run.end, EXACT_END, strict=True)]
    return [
        Finding(
            "Example 2, van der Pol to t = 2 s",
            "the transformed problem can be solved to t = 2, to 1e-3",
            f"Adams along the arc, tolerance 1e-4, steps up to 1e3: {run.steps:,} steps to t = {run.t:g} s, "
            f"({run.end[0]:.4f}, {run.end[1]:.4f}); exact ({EXACT_END[0]:.4f}, {EXACT_END[1]:.4f})",
            (
                exactly("end in s", run.t, END, "the paper's interval"),
                below("largest error of y1, y2 at t = 2 s", max(off), 1.5e-3, ACCURACY),
            ),
            f"{100 * run.chatter:.0f} % of the steps turn back on the step before, {run.rejected:,} were "
            "rejected; with the arc's step held at 1 it would take many times as many.",
        ),
        Finding(
            "Example 2, van der Pol along time beyond t = 0.03 s",
            "the original problem stops there with an overflow",
            f"goes on: t = {plain.t[-1]:g} s after {plain.counters.steps:,} steps along time, "
            f"{arc.counters.steps:,} along the arc",
            (
                below(
                    "time in s that the original problem reaches",
                    plain.t[-1],
                    FARTHER,
                    "where this run was ended",
                ),
            ),
            "The overflow is a matter of step-size control: a step that leaves the finite numbers is taken "
            "back here and tried again with a quarter of its size.",
        ),
    ]


def _equation(e: Evidence) -> Finding:
    first = e.table.iloc[3]
    t = np.linspace(0.0, 1.0, 20_001)
    second = _second_order(t)
    apart = float(np.abs(second - layer.exact(t)).max())

    def rule(error: float) -> Check:
        return printed("error of BP, h = 0.005, against the solution of Table 1", error, "0.0025", cut=True)

    return Finding(
        "Example 3, the equation",
        "ε x'' + (1 + t) x = 2.5 (1 + t), x(0) = -1",
        "ε x' + (1 + t) x = 2.5 (1 + t)",
        (rule(apart),),
        "Read as first order, with the error against 2.5 - 3.5 exp(-(t + t²/2)/ε), every error and every "
        "number of steps of Table 1 comes out. As printed the equation lacks a second initial value and has "
        f"undamped oscillations in place of a boundary layer: from x'(0) = 0 they are {apart:.1f} away.",
        corrected=(rule(float(first["error, ours"])),),
    )


def _second_order(t: np.ndarray) -> np.ndarray:
    """Return x of the equation as printed, from x = -1, x' = 0."""
    from scipy.integrate import solve_ivp

    def field(time: float, w: np.ndarray) -> list[float]:
        return [w[1], (1.0 + time) * (2.5 - w[0]) / layer.EPSILON]

    solved = solve_ivp(field, (0.0, 1.0), [-1.0, 0.0], "DOP853", rtol=1e-10, atol=1e-12, t_eval=t)
    return np.asarray(solved.y[0])


def _table(e: Evidence) -> list[Finding]:
    found = []
    for row, (method, h, text, steps) in zip(e.table.to_dict("records"), TABLE_1, strict=True):
        error, taken = float(row["error, ours"]), int(row["steps, ours"])
        count = exactly("steps", taken, steps)
        if text == "∞":
            size = above("largest error", error, 1e20, "beyond any figure that could be printed")
            why = (
                "Finite, since there are only 200 steps: each multiplies the error by up to 1 - h (1 + "
                "t)/ε = "
                "-2.2."
            )
        else:
            size = printed("largest error", error, text, cut=True)
            why = "The paper cuts digits off, it does not round."
        found.append(
            Finding(
                f"Table 1, {method}, h = {h:g}",
                f"error {text}, {steps} steps",
                f"error {error:.5g}, {taken} steps",
                (size, count),
                why,
            )
        )
    return found


def _chatter(e: Evidence) -> Finding:
    row = e.table.iloc[0]
    return Finding(
        "Section 3: the transformation reduces the difficulties of stiff systems",
        "no word of stability on the slow manifold",
        f"h = 0.2: {100 * float(row['turned back']):.0f} % of the steps turn back on the step before; "
        f"multiplier of a small deviation {e.multipliers[0.2]:.0f}",
        (
            below("|multiplier| at h = 0.2, t = 1 s", abs(e.multipliers[0.2]), 1.0, "stability"),
            below("share of steps that turn back at h = 0.2", row["turned back"], 0.1, "where runs warn"),
        ),
        "A step along the arc of length h that starts off the manifold goes across it: Euler jumps between "
        "about ± h/2. That is bounded, and linearly unstable, and t advances by about ε in a step whatever h "
        "is: the error of 0.127 is the boundary layer's, beyond it x is off by 0.1. The counters of "
        "every run "
        "report the share of such steps. Near an equilibrium the transformed method is its base method, and "
        "so is its pencil.",
    )
