"""What Shi and Rojas claim, and what came out here."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from psmr.papers.check import VISIBLE, Check, below, exactly, printed, rises, within
from psmr.papers.finding import Finding, shown_in
from psmr.papers.reproduction import Results
from psmr.papers.shi_rojas.runs import DRAWN, FORWARD_EULER, T_END, TABLE_I

TABLE = "Table I: iterations and mean square error"
MICRO = "Smallest stable N by condition (14)"
ORDER = "Error at t = 5 s by base method"
FIGURE_2, FIGURE_3 = "Trajectories and errors (figure 2)", "y-z plane (figure 3)"

LAST = "half of the last printed digit"
SLOPE = "0.2: what the tests of every scheme's order allow"


def findings(r: Results) -> Iterator[Finding]:
    """Return a finding for each claim."""
    yield from shown_in(TABLE, *_table(r))
    yield from shown_in(FIGURE_2, _start(r))
    yield from shown_in(TABLE, *_convergence(r))
    yield from shown_in(FIGURE_3, _reduced(r))
    yield from shown_in(MICRO, *_micro(r))
    yield from shown_in(ORDER, *_bases(r))


def _table(r: Results) -> Iterator[Finding]:
    euler, *rows = r.table.to_dict("records")
    taken = [round(row["iterations, ours"]) for row in rows]
    texts = [text for text, _ in TABLE_I.values()]
    rules = [
        printed(f"iterations of {row['method']}", count, text)
        for row, count, text in zip(rows, taken, texts, strict=True)
    ]
    formula = [round((micro + 1) * T_END / h) for h, micro in TABLE_I]
    yield Finding(
        "Table I, iterations of SMFE",
        ", ".join(texts),
        ", ".join(f"{n:,}" for n in taken),
        (*rules, exactly("iterations, (N + 1) T / Delta", taken, formula)),
        "The paper rounds to three digits.",
    )
    count, mean = euler["iterations, ours"], euler["MSE, ours"]
    yield Finding(
        "Table I, forward Euler",
        f"{FORWARD_EULER[0]} iterations, MSE {FORWARD_EULER[1]}",
        f"{count:,} iterations, MSE {mean:.4e}",
        (printed("iterations", count, FORWARD_EULER[0]), printed("MSE", mean, FORWARD_EULER[1])),
        "Step epsilon = 1e-6 s, from [y, k, z] = [1, 0, 0].",
    )
    for row, (_, text) in zip(rows, TABLE_I.values(), strict=True):
        yield Finding(
            f"Table I, MSE of {row['method']}",
            text,
            f"{row['MSE, ours']:.3e} ({row['difference, %']:+.2f} %); other uniform grids move it by up "
            f"to {row['other grids, %']:.2f} %",
            (_mean(row, row["MSE, ours"]),),
            "MSE(y) + MSE(z), all points of the run interpolated linearly onto 50,001 uniform times. The "
            "paper does not say how it samples.",
        )


def _mean(row: dict[str, float], ours: float) -> Check:
    """Return the rule of a mean square error of Table I."""
    stated = row["MSE, paper"]
    half = 0.5 * 10.0 ** (math.floor(math.log10(stated)) - 2)
    moved = row["other grids, %"] / 100.0 * row["MSE, ours"]
    origin = "half the last printed digit, and what grids of 1,001 to 500,001 times move it"
    return within(f"MSE of {row['method']}", ours, stated, half + moved, origin)


def _start(r: Results) -> Finding:
    row = r.table.to_dict("records")[1]
    return Finding(
        "Section VII, initial value",
        "[y, k, z] = [0, 0, 1]",
        f"[1, 0, 0]: SMFE(0.2, 70) has an MSE of {row['MSE, ours']:.3e}; from the printed one "
        f"{r.printed_start:.2e}",
        (_mean(row, r.printed_start),),
        "From [0, 0, 1] z dies out within a few epsilon and y never exceeds 1e-6: what is left is the first "
        "microsecond.",
        corrected=(_mean(row, row["MSE, ours"]),),
    )


def _convergence(r: Results) -> Iterator[Finding]:
    table = r.table.set_index("method")
    mean = {case: float(table["MSE, ours"][f"SMFE({case[0]:g}, {case[1]})"]) for case in TABLE_I}
    own = [float(table["MSE, own points"][f"SMFE(0.2, {n})"]) for n in (70, 140, 1120)]
    listed = [f"{v:.4e}" for v in mean.values()]
    yield Finding(
        "Section VII-B: increasing N slightly reduces the error",
        "8.29e-4, 8.26e-4, 8.25e-4 at Delta = 0.2 and N = 70, 140, 1120; 1.97e-4, 1.96e-4 at 0.1",
        f"{', '.join(listed[:3])}; {', '.join(listed[3:5])}",
        (
            rises("MSE at Delta = 0.2 and N = 1120, 70", [mean[0.2, 1120], mean[0.2, 70]], LAST, 5e-7),
            rises("MSE at Delta = 0.1 and N = 1120, 140", [mean[0.1, 1120], mean[0.1, 140]], LAST, 5e-7),
        ),
        "From first to last it falls, by less than half a printed digit; from N = 70 to 140 the mean over "
        "uniform times grows. Over each run's own points it falls: "
        f"{', '.join(f'{v:.4e}' for v in own)} at Delta = 0.2. The printed means are those of uniform times.",
    )
    means = [mean[h, 1120] for h in (0.2, 0.1, 0.01)]
    slopes = (math.log2(means[0] / means[1]), math.log10(means[1] / means[2]))
    yield Finding(
        "Section VII-B, MSE of order Delta^2",
        "8.25e-4, 1.96e-4, 1.89e-6 at Delta = 0.2, 0.1, 0.01",
        f"slopes {slopes[0]:.2f} and {slopes[1]:.2f}",
        (within("slope of the MSE over Delta", slopes, 2.0, 0.2, SLOPE),),
        "A mean square of an error of first order.",
    )


def _reduced(r: Results) -> Finding:
    apart = [r.distances[h] for h, _ in reversed(DRAWN)]
    return Finding(
        "Figure 3: with a smaller Delta, SMFE and forward Euler on the reduced system approach one another",
        "both converge to the solution",
        f"largest difference of y: {', '.join(f'{d:.1e}' for d in apart)} at Delta = 0.01, 0.1, 0.2",
        (rises("difference of y at Delta = 0.01, 0.1, 0.2", apart),),
    )


def _micro(r: Results) -> Iterator[Finding]:
    tied, free = (r.micro[f"(14), delta = epsilon{more}"] for more in (" Delta", ""))
    known = r.micro["(17)"].notna()
    bound = [int(n) for n in np.ceil(r.micro["(17)"][known])]
    listed = ", ".join(f"{h:g}: {n}" for h, n in zip(r.micro["Delta"], tied, strict=True))
    yield Finding(
        "(17), lower bound of N",
        "N >= -ln(Delta |lambda| / epsilon) / ln |1 + Delta lambda|",
        f"smallest N by (14) for Delta = {listed}",
        (exactly("smallest N by (14)", tied[known], bound),),
        "The approximate bound, rounded up, is the smallest N that the exact condition (14) allows. At "
        "Delta = 1 one micro step removes the fast mode, as remark 3 says.",
    )
    yield Finding(
        "Micro step epsilon Delta (section IV): another one",
        "",
        f"delta = 1/|lambda_fast| = epsilon: N = {', '.join(map(str, sorted(set(free))))} at every Delta",
        (exactly("least N with delta = epsilon, Delta by Delta", free, tied, "numbers by (14)"),),
        "The paper has delta = epsilon Delta, with which N = 55 is the least at Delta = 0.2. Tying delta to "
        "Delta is what makes N large; as a parameter of its own it can be the "
        "time constant of the fast mode. That is as sensitive as it is cheap: Smes.for_system therefore "
        "allows for a change of the eigenvalues by a tenth unless told otherwise.",
    )


def _bases(r: Results) -> Iterator[Finding]:
    rows = r.order[(r.order["base"] == "RK2") & (r.order["nodes"] == "macro")]
    orders = [float(v) for v in rows["order"].dropna()]
    least = r.order.groupby(["base", "nodes"])["error of y"].min()
    floor, lower = float(least["RK4", "macro"]), float(least["RK4", "settled"])
    yield Finding(
        "Section VIII, other base methods: re-equilibrated stages",
        "can be generalised to other explicit methods (no formula)",
        f"RK2: order {', '.join(f'{v:.2f}' for v in orders)} as Delta is halved from 0.2 s; RK4: down to "
        f"{floor:.1e}",
        (
            within("order of RK2", orders, 2.0, 0.2, SLOPE),
            below("least error of y with RK4", floor, float(least["RK2", "macro"]), "RK2's", share=VISIBLE),
        ),
        "N micro steps before each stage. With RK4 the error meets a floor that N delta = 6.3e-6 s sets: the "
        "middle stages stand N delta / 2 before their place. With nodes='settled' they do not, and the error "
        f"goes down to {lower:.1e}.",
    )
    naive, bound = [r.naive["RK2"], r.naive["RK4"]], "the solution starts at 1 and stays below"
    yield Finding(
        "Section VIII, other base methods: plain composition",
        "",
        f"largest |z| with RK2 {naive[0]:.1e}, with RK4 {naive[1]:.1e}",
        (below("largest state with RK2 and RK4", naive, 1.0 + 1e-9, bound),),
        "The paper gives no formula for other methods. Where the method itself is used for both kinds of "
        "steps, its inner stages leave the manifold by a "
        "long step and the next stage takes that deviation times Delta / epsilon. No number of micro steps "
        "helps, since none is between the stages.",
    )
