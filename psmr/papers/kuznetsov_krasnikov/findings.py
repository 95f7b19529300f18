"""What Kuznetsov and Krasnikov claim, and what came out here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from psmr.papers.check import SHOWN, VISIBLE, Check, above, below, exactly, printed, within
from psmr.papers.finding import Finding, shown_in
from psmr.papers.kuznetsov_krasnikov.runs import END, EXACT_END, FARTHER, TABLE_1
from psmr.papers.kuznetsov_krasnikov.systems import EPSILON, layer_exact
from psmr.papers.reproduction import Results

TABLE = "Table 1: example 3, Euler along time (E) and along the arc (BP)"
EDSBERG = "Edsberg, evaluations to t = 1 s"
CLAIMS = "Claims beyond the tables: conditions, limit points, long runs"
LAYER, GAIN = "Example 3: boundary layer and chatter", "Van der Pol: where the gain ends"

ACCURACY = "the paper's 1e-3, rounded to its one digit"
TENTH = "half of the stated number's last digit"


def findings(r: Results) -> Iterator[Finding]:
    """Return a finding for each claim."""
    yield from shown_in(CLAIMS, _best(r), *_limit_points(r))
    yield from shown_in(EDSBERG, _edsberg(r))
    yield from shown_in(GAIN, *_van_der_pol(r))
    yield from shown_in(CLAIMS, *_work(r), *_long(r))
    yield from shown_in(LAYER, _equation(r))
    yield from shown_in(TABLE, *_table(r))
    yield from shown_in(LAYER, _chatter(r))


def _best(r: Results) -> Finding:
    more = r.conditions[:, 1] / r.conditions[:, 0]
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


def _limit_points(r: Results) -> Iterator[Finding]:
    printed_form, free = r.transformed, r.homogeneous
    why = (
        "In (13) dt/dλ = 1/sqrt(1 + f²) is positive: t can only grow, and at the limit point the run goes to "
        "and fro. With (dy, dt) along (-t, y), where dt changes its sign, "
    )
    circle, last = "y² + t² = 1 from (t, y) = (0, 1)", "h² = 1e-6 of the last, shortened step, Euler's"
    yield Finding(
        "Section 3: limit points, where the derivatives become infinite, can be passed by (13)",
        "allows to integrate them",
        f"y' = -t/y: t up to {printed_form.t_largest:.4f}, y down to {printed_form.y_least:.4f} and back",
        (below(f"least y on the circle {circle}", printed_form.y_least, -0.5, "past the limit point"),),
        f"{why}y goes down to {free.y_least:.4f}.",
    )
    yield Finding(
        "Section 3: closed integral curves by (13)",
        "becomes possible",
        f"after an arc of 2π (13) is {printed_form.gap:.3f} from the start",
        (below("distance from the start after an arc of 2π", printed_form.gap, 1e-6, last),),
        f"{why}it is {free.gap:.1e} from the start.",
    )


def _edsberg(r: Results) -> Finding:
    ratios = r.edsberg.set_index("method")["ratio"].to_dict()
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


def _van_der_pol(r: Results) -> Iterator[Finding]:
    ours, vode = (_of(r.van_der_pol, name) for name in ("psmr Adams", "scipy VODE-Adams"))
    listed = [", ".join(f"{t:.0e}: {n:.1f}" for t, n in ratios.items()) for ratios in (vode, ours)]
    time, arc = (_of(r.van_der_pol, "psmr Adams", f"evaluations, {kind}")[1e-4] for kind in ("time", "arc"))
    saved = max((*vode.values(), *ours.values()))
    tight = [vode[1e-7], vode[1e-8], ours[1e-7], ours[1e-8]]
    yield Finding(
        "Example 2, van der Pol: evaluations saved",
        "twenty times fewer right-hand sides (program PC1, accuracy 1e-3)",
        f"VODE's Adams formulas {max(vode.values()):.1f} times fewer at best; psmr's PECE "
        f"{max(ours.values()):.1f} times",
        (within("evaluations along time over those along the arc, best", saved, 20.0, 5.0, TENTH),),
        "PC1 is not to be had. With functional iteration, as in VODE, the ratio comes near the paper's. "
        f"PECE has the wider stability interval: {time:,.0f} evaluations along time, so that less is left to "
        f"save ({arc:,.0f} along the arc at 1e-4).",
    )
    yield Finding(
        "Example 2, van der Pol: the saving at tight tolerances",
        "",
        f"VODE by tolerance {listed[0]}; psmr {listed[1]}",
        (above("evaluations saved at 1e-7 and 1e-8", tight, 10.0, "half of the paper's twenty"),),
        "What is saved comes from chatter: long steps across the slow manifold, which a loose tolerance "
        "lets pass. At 1e-7 and below the tolerance forbids that, the steps follow the manifold, and the "
        "stability limit is the same along the arc as along time. The paper states no tolerance of the step.",
    )


def _work(r: Results) -> Iterator[Finding]:
    at, work = f"psmr's Adams at {r.work.tolerance:g}", r.work
    time, step = (
        "time along time over that along the arc",
        "mean step in t along the arc over that along time",
    )
    yield Finding(
        "Example 2, van der Pol: time",
        "execution time reduced tenfold",
        f"{at}: {work.time_ratio:.1f} times, median of five runs in turn",
        (within(time, work.time_ratio, 10.0, 5.0, TENTH),),
    )
    yield Finding(
        "Example 2, van der Pol: step",
        "the step of the transformed problem was ten times bigger",
        f"{at}: mean step in t {work.step_ratio:.1f} times",
        (within(step, work.step_ratio, 10.0, 5.0, TENTH),),
        "Steps along the arc have the unit of y2 and t together; in t they can be compared.",
    )


def _long(r: Results) -> Iterator[Finding]:
    run, (plain, arc) = r.end, r.farther
    end, y = float(run.t[-1]), run.x[-1]
    off = float(np.abs(y - EXACT_END).max())
    yield Finding(
        "Example 2, van der Pol to t = 2 s",
        "the transformed problem can be solved to t = 2, to 1e-3",
        f"Adams along the arc, tolerance 1e-4, steps up to 1e3: {run.counters.steps:,} steps to t = {end:g} "
        f"s, ({y[0]:.4f}, {y[1]:.4f}); exact ({EXACT_END[0]:.4f}, {EXACT_END[1]:.4f})",
        (
            exactly("end in s", end, END, "the paper's interval"),
            below("largest error of y1, y2 at t = 2 s", off, 1.5e-3, ACCURACY),
        ),
        f"{100 * run.counters.chatter:.0f} % of the steps turn back on the step before, "
        f"{run.counters.rejected:,} were rejected; with the arc's step held at 1 it would take many times as "
        "many.",
    )
    reached, where = "time in s that the original problem reaches", "where this run was ended"
    yield Finding(
        "Example 2, van der Pol along time beyond t = 0.03 s",
        "the original problem stops there with an overflow",
        f"goes on: t = {plain.t[-1]:g} s after {plain.counters.steps:,} steps along time, "
        f"{arc.counters.steps:,} along the arc",
        (below(reached, plain.t[-1], FARTHER, where),),
        "The overflow is a matter of step-size control: a step that leaves the finite numbers is taken "
        "back here and tried again with a quarter of its size.",
    )


def _equation(r: Results) -> Finding:
    t = np.linspace(0.0, 1.0, 20_001)
    apart = float(np.abs(_second_order(t) - layer_exact(t)).max())

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
        corrected=(rule(float(r.table["error, ours"][3])),),
    )


def _second_order(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x of the equation as printed, from x = -1, x' = 0."""
    from scipy.integrate import solve_ivp

    def field(time: float, w: NDArray[np.float64]) -> list[float]:
        return [w[1], (1.0 + time) * (2.5 - w[0]) / EPSILON]

    solved = solve_ivp(field, (0.0, 1.0), [-1.0, 0.0], "DOP853", rtol=1e-10, atol=1e-12, t_eval=t)
    return np.asarray(solved.y[0])


def _table(r: Results) -> Iterator[Finding]:
    for row, (method, h, text, steps) in zip(r.table.to_dict("records"), TABLE_1, strict=True):
        error, taken = float(row["error, ours"]), int(row["steps, ours"])
        if text == "∞":
            size = above("largest error", error, 1e20, "beyond any figure that could be printed")
            why = (
                "Finite, since there are only 200 steps: each multiplies the error by up to 1 - h (1 + t)/ε "
                "= -2.2."
            )
        else:
            size = printed("largest error", error, text, cut=True)
            why = "The paper cuts digits off, it does not round."
        yield Finding(
            f"Table 1, {method}, h = {h:g}",
            f"error {text}, {steps} steps",
            f"error {error:.5g}, {taken} steps",
            (size, exactly("steps", taken, steps)),
            why,
        )


def _chatter(r: Results) -> Finding:
    turned, factor = float(r.table["turned back"][0]), r.multipliers[0.2]
    return Finding(
        "Section 3: the transformation and stability on the slow manifold",
        "",
        f"h = 0.2: {100 * turned:.0f} % of the steps turn back on the step before; multiplier of a small "
        f"deviation {factor:.0f}",
        (
            below("|multiplier| at h = 0.2, t = 1 s", abs(factor), 1.0, "stability"),
            below("share of steps that turn back at h = 0.2", turned, 0.1, "where runs warn"),
        ),
        "The paper has no word of it. A step along the arc of length h that starts off the manifold goes "
        "across it: Euler jumps between "
        "about ± h/2. That is bounded, and linearly unstable, and t advances by about ε in a step whatever h "
        "is: the error of 0.127 is the boundary layer's, beyond it x is off by 0.1. The counters of every "
        "run report the share of such steps. Near an equilibrium the transformed method is its base method, "
        "and so is its pencil.",
    )
