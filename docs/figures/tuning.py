"""Make table and figures of the tuning page: python docs/figures/tuning.py (two to three minutes)."""

from pathlib import Path

import psmr
from psmr.figures.run.plots import pareto
from psmr.figures.with_matplotlib import STYLE, save
from psmr.study.tuning.tune import confirm

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "cases" / "wscc9"
STYLE["svg.fonttype"] = "path"

# Case, band in Hz, accuracy.
ASKED = (
    ("wscc9", 2.0, 0.01),
    ("wscc9", 2.0, 0.001),
    ("wscc9-ibr", 2.0, 0.01),
    ("wscc9-ibr", 50.0, 0.01),
    ("wscc9-ibr", 50.0, 0.1),
)
HEAD = (
    "| system, band, asked | winner | single rate : multirate | deformation predicted, in a ringdown | "
    "work a second predicted, by the clock |\n|---|---|---|---|---|"
)


def short(scheme) -> str:
    if isinstance(scheme, psmr.SingleRate):
        return f"single rate {scheme.method}, {1e3 * scheme.h:g} ms"
    fast = int(scheme.split.fast_x.sum() + scheme.split.fast_y.sum())
    size = scheme.split.n + scheme.split.m
    held = ", fast set held" if scheme.predict == "slow" else ""
    more = " spline" if scheme.interpolation == "spline" else ""
    more += f", {scheme.corrections} correction" if scheme.corrections else ""
    return (
        f"multirate {scheme.predictor}/{scheme.solution}{more}, {1e3 * scheme.h_slow:g} and "
        f"{1e3 * scheme.h_fast:g} ms, δ = {scheme.split.delta:g}: {fast} of {size} fast{held}"
    )


rows = [HEAD]
for name, up_to, accuracy in ASKED:
    system = psmr.build(psmr.read_case(CASES / f"{name}.toml"))
    tuning = psmr.tune(system, up_to=up_to, accuracy=accuracy)
    found = confirm(system, tuning.winner)
    ratio = f"{tuning.best_single.cost / tuning.best_multirate.cost:.2f}" if tuning.best_multirate else "-"
    rows.append(
        f"| {system.name}, {up_to:g} Hz, {100 * accuracy:g} % | {short(tuning.winner.scheme)} | {ratio} | "
        f"{100 * found.deformation_predicted:.4f} %, {100 * found.deformation_observed:.4f} % | "
        f"{1e3 * found.cost_predicted:.3g} ms, {1e3 * found.cost_measured:.3g} ms |"
    )
    print(rows[-1], flush=True)
    if (up_to, accuracy) in ((2.0, 0.01), (50.0, 0.01)):
        save(pareto(tuning), HERE / f"tuning-{name}-{up_to:g}hz.svg")
(HERE / "tuning.inc").write_text("\n".join(rows) + "\n", encoding="utf-8")
