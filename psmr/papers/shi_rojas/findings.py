"""What Shi and Rojas claim, held against what came out here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from psmr.papers.check import VISIBLE, Check, below, exactly, printed, rises, within
from psmr.papers.finding import Finding, placed
from psmr.papers.shi_rojas.evidence import T_END
from psmr.papers.shi_rojas.tables import FORWARD_EULER, TABLE_I

if TYPE_CHECKING:
    from psmr.papers.shi_rojas.evidence import Evidence

LAST = "half of the last printed digit"
SLOPE = "0.2: what the tests of every scheme's order allow"


# Beginning of a claim -> the figure or table that shows it.
PLACES = {
    "Table I": "Table I: iterations and mean square error",
    "Section VII, initial value": "Trajectories and errors (figure 2)",
    "Section VII-B": "Table I: iterations and mean square error",
    "Figure 3": "y-z plane (figure 3)",
    "(17)": "Smallest stable N by condition (14)",
    "Micro step": "Smallest stable N by condition (14)",
    "Section VIII": "Error at t = 5 s by base method",
}


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Return a finding for each claim."""
    found = (
        _iterations(evidence),
        _forward_euler(evidence),
        *_errors(evidence),
        _start(evidence),
        _more_micro_steps(evidence),
        _second_order_in_step(evidence),
        _reduced(evidence),
        _smallest(evidence),
        _free_delta(evidence),
        _order(evidence),
        _other_bases(evidence),
    )
    return placed(found, PLACES)


def _iterations(e: Evidence) -> Finding:
    taken = [round(n) for n in e.table.iloc[1:]["iterations, ours"]]
    formula = [round((micro + 1) * T_END / h) for h, micro in e.runs]
    texts = [text for text, _ in TABLE_I.values()]
    rules = [
        printed(f"iterations of SMFE({h:g}, {micro})", count, text)
        for (h, micro), count, text in zip(TABLE_I, taken, texts, strict=True)
    ]
    return Finding(
        "Table I, iterations of SMFE",
        ", ".join(texts),
        ", ".join(f"{n:,}" for n in taken),
        (*rules, exactly("iterations, (N + 1) T / Delta", taken, formula)),
        "The paper rounds to three digits.",
    )


def _forward_euler(e: Evidence) -> Finding:
    row = e.table.iloc[0]
    return Finding(
        "Table I, forward Euler",
        f"{FORWARD_EULER[0]} iterations, MSE {FORWARD_EULER[1]}",
        f"{row['iterations, ours']:,} iterations, MSE {row['MSE, ours']:.4e}",
        (
            printed("iterations", row["iterations, ours"], FORWARD_EULER[0]),
            printed("MSE", row["MSE, ours"], FORWARD_EULER[1]),
        ),
        "Step epsilon = 1e-6 s, from [y, k, z] = [1, 0, 0].",
    )


def _mean(e: Evidence, case: tuple[float, int], ours: float) -> Check:
    """Return the rule of a mean square error of Table I."""
    row = e.table.iloc[1 + list(TABLE_I).index(case)]
    printed_mean, half = row["MSE, paper"], 0.5 * 10.0 ** (math.floor(math.log10(row["MSE, paper"])) - 2)
    moved = row["other grids, %"] / 100.0 * row["MSE, ours"]
    return within(
        f"MSE of SMFE({case[0]:g}, {case[1]})",
        ours,
        printed_mean,
        half + moved,
        "half the last printed digit, and what grids of 1,001 to 500,001 times move it",
    )


def _errors(e: Evidence) -> list[Finding]:
    found = []
    for case, (_, text) in TABLE_I.items():
        row = e.table.iloc[1 + list(TABLE_I).index(case)]
        found.append(
            Finding(
                f"Table I, MSE of {row['method']}",
                text,
                f"{row['MSE, ours']:.3e} ({row['difference, %']:+.2f} %); other uniform grids move it by up "
                f"to {row['other grids, %']:.2f} %",
                (_mean(e, case, row["MSE, ours"]),),
                "MSE(y) + MSE(z), all points of the run interpolated linearly onto 50,001 uniform times. The "
                "paper does not say how it samples.",
            )
        )
    return found


def _start(e: Evidence) -> Finding:
    case = next(iter(TABLE_I))
    ours = float(e.table.iloc[1]["MSE, ours"])
    return Finding(
        "Section VII, initial value",
        "[y, k, z] = [0, 0, 1]",
        f"[1, 0, 0]: SMFE(0.2, 70) has an MSE of {ours:.3e}; from the printed one {e.printed_start:.2e}",
        (_mean(e, case, e.printed_start),),
        "From [0, 0, 1] z dies out within a few epsilon and y never exceeds 1e-6: what is left is the first "
        "microsecond.",
        corrected=(_mean(e, case, ours),),
    )


def _more_micro_steps(e: Evidence) -> Finding:
    table = e.table.set_index("method")["MSE, ours"]
    at_02 = [float(table[f"SMFE(0.2, {n})"]) for n in (1120, 140, 70)]
    at_01 = [float(table[f"SMFE(0.1, {n})"]) for n in (1120, 140)]
    own = [float(e.table.set_index("method")["MSE, own points"][f"SMFE(0.2, {n})"]) for n in (70, 140, 1120)]
    return Finding(
        "Section VII-B: increasing N slightly reduces the error",
        "8.29e-4, 8.26e-4, 8.25e-4 at Delta = 0.2 and N = 70, 140, 1120; 1.97e-4, 1.96e-4 at 0.1",
        f"{', '.join(f'{v:.4e}' for v in reversed(at_02))}; {', '.join(f'{v:.4e}' for v in reversed(at_01))}",
        (
            rises("MSE at Delta = 0.2 and N = 1120, 140, 70", at_02, LAST, 5e-7),
            rises("MSE at Delta = 0.1 and N = 1120, 140", at_01, LAST, 5e-7),
        ),
        "From N = 70 to 140 the mean over uniform times grows. Over each run's own points it falls: "
        f"{', '.join(f'{v:.4e}' for v in own)} at Delta = 0.2. The printed means are those of uniform times.",
    )


def _second_order_in_step(e: Evidence) -> Finding:
    table = e.table.set_index("method")["MSE, ours"]
    means = [float(table[f"SMFE({h:g}, 1120)"]) for h in (0.2, 0.1, 0.01)]
    slopes = (math.log2(means[0] / means[1]), math.log10(means[1] / means[2]))
    return Finding(
        "Section VII-B, MSE of order Delta^2",
        "8.25e-4, 1.96e-4, 1.89e-6 at Delta = 0.2, 0.1, 0.01",
        f"slopes {slopes[0]:.2f} and {slopes[1]:.2f}",
        (within("slope of the MSE over Delta", slopes, 2.0, 0.2, SLOPE),),
        "A mean square of an error of first order.",
    )


def _reduced(e: Evidence) -> Finding:
    apart = [e.distances[h] for h in (0.01, 0.1, 0.2)]
    return Finding(
        "Figure 3: with a smaller Delta, SMFE and forward Euler on the reduced system approach one another",
        "both converge to the solution",
        f"largest difference of y: {', '.join(f'{d:.1e}' for d in apart)} at Delta = 0.01, 0.1, 0.2",
        (rises("difference of y at Delta = 0.01, 0.1, 0.2", apart),),
    )


def _smallest(e: Evidence) -> Finding:
    column = e.micro["(14), delta = epsilon Delta"]
    listed = ", ".join(f"{h:g}: {n}" for h, n in zip(e.micro["Delta"], column, strict=True))
    known = e.micro[e.micro["(17)"].notna()]
    bound = [int(n) for n in np.ceil(known["(17)"])]
    return Finding(
        "(17), lower bound of N",
        "N >= -ln(Delta |lambda| / epsilon) / ln |1 + Delta lambda|",
        f"smallest N by (14) for Delta = {listed}",
        (exactly("smallest N by (14)", known["(14), delta = epsilon Delta"], bound),),
        "The approximate bound, rounded up, is the smallest N that the exact condition (14) allows. At "
        "Delta = 1 one micro step removes the fast mode, as remark 3 says.",
    )


def _free_delta(e: Evidence) -> Finding:
    tied = e.micro["(14), delta = epsilon Delta"].to_numpy()
    free = e.micro["(14), delta = epsilon"].to_numpy()
    return Finding(
        "Micro step epsilon Delta (section IV)",
        "delta = epsilon Delta; N = 55 is the least at Delta = 0.2",
        f"delta = 1/|lambda_fast| = epsilon: N = {', '.join(map(str, sorted(set(free))))} at every Delta",
        (exactly("least N with delta = epsilon, Delta by Delta", free, tied, "numbers by (14)"),),
        "Both are right. Tying delta to Delta is what makes N large; as a parameter of its own it can be the "
        "time constant of the fast mode. That is as sensitive as it is cheap: Smes.for_system therefore "
        "allows for a change of the eigenvalues by a tenth unless told otherwise.",
    )


def _order(e: Evidence) -> Finding:
    rows = e.order[(e.order["base"] == "RK2") & (e.order["nodes"] == "macro")]
    orders = [float(v) for v in rows["order"].dropna()]
    least = e.order.groupby(["base", "nodes"])["error of y"].min()
    floor, lower = float(least["RK4", "macro"]), float(least["RK4", "settled"])
    return Finding(
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


def _other_bases(e: Evidence) -> Finding:
    return Finding(
        "Section VIII, other base methods: plain composition",
        "can be generalised to other explicit methods (no formula)",
        f"largest |z| with RK2 {e.naive['RK2']:.1e}, with RK4 {e.naive['RK4']:.1e}",
        (
            below(
                "largest state with RK2 and RK4",
                [e.naive["RK2"], e.naive["RK4"]],
                1.0 + 1e-9,
                "the solution starts at 1 and stays below",
            ),
        ),
        "Where the method itself is used for both kinds of steps, its inner stages leave the manifold by a "
        "long step and the next stage takes that deviation times Delta / epsilon. No number of micro steps "
        "helps, since none is between the stages.",
    )
