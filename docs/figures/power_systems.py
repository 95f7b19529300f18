"""Make the tables and the figure of docs/singular-perturbation.md, in about two minutes.

WSCC 9-bus and its converter variant, fault at bus 5 for 100 ms and trip of line 5-7, ten seconds, by every
scheme.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

import partitioning
import psmr
from psmr.base.errors import PsmrError, PsmrWarning
from psmr.figures.chart import COLOURS, FAINT
from psmr.figures.with_matplotlib import STYLE, new_figure, save, styled
from psmr.papers.kuznetsov_krasnikov.arc_length import Adaptive, ArcLength
from psmr.papers.shi_rojas.smes import Smes

HERE = Path(__file__).parent
CASES = {"wscc9": "WSCC 9-bus", "wscc9-ibr": "WSCC 9-bus with converters"}
FAULT = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
END = 10.0
# The fault clears at 1.1 s; compared are the swings after it, which is what a study looks at.
INSTANTS = np.arange(1.15, 9.96, 0.01)
REPEATS = 3

Make = Callable[[object, Callable[[float], object]], object]


@dataclass(frozen=True)
class Row:
    family: str
    scheme: str
    before: str
    error: float
    residuals: float
    factorisations: float
    milliseconds: float
    after: str


def schemes(case: str) -> list[tuple[str, str, Make]]:
    """Return (family, words, maker) of each row of the table; a maker takes linear and the split by delta."""
    single, multi, manifold = psmr.SingleRate, psmr.Multirate, psmr.SlowManifold
    wide, narrow = (40.0, 500.0) if case == "wscc9-ibr" else (100.0, 8.0)
    rows: list[tuple[str, str, Make]] = []
    for h in (0.005, 0.02, 0.05):
        rows.append(("implicit", f"TM, {ms(h)}", lambda a, s, h=h: single("TM", h)))
    policies = {"dishonest": "modified Newton", "honest": "Newton"}
    for h, newton in ((0.02, "dishonest"), (0.05, "honest")):
        rows.append(
            ("multirate", f"multirate TM/TM, δ = {wide:g}, {ms(h)}, ratio 10, {policies[newton]}",
             lambda a, s, h=h, newton=newton: multi(s(wide), h, 10, predictor="TM", newton=newton))
        )  # fmt: skip
    for delta, steps in ((wide, (0.01, 0.02, 0.05, 0.1, 0.2)), (narrow, (0.002, 0.005, 0.01, 0.05))):
        for h in steps:
            rows.append(
                (
                    "slow manifold",
                    f"slow manifold, δ = {delta:g}, {ms(h)}",
                    lambda a, s, d=delta, h=h: manifold(s(d), h),
                )
            )
    rows.append(
        (
            "slow manifold",
            "slow manifold, every state fast, 20 ms",
            lambda a, s: manifold(partitioning.all_fast(a), 0.02),
        )
    )
    bases = (
        ("FEM", "macro", ""),
        ("RK2", "settled", ""),
        ("RK4", "settled", ""),
        ("RK4", "macro", ", macro nodes"),
    )
    for base, nodes, words in bases:
        for h in (0.005, 0.02, 0.05, 0.1):
            rows.append(
                ("SMES", f"SMES on {base}, {ms(h)}{words}",
                 lambda a, s, b=base, h=h, nodes=nodes: Smes.for_system(a, h, base=b, nodes=nodes))
            )  # fmt: skip
    for method, h in (("FEM", 0.001), ("RK4", 0.001), ("RK4", 0.0025), ("RK4", 0.003)):
        rows.append(("explicit", f"{method}, {ms(h)}", lambda a, s, m=method, h=h: single(m, h)))
    for method in ("RK54", "Adams"):
        rows.append(
            ("explicit", f"{Adaptive(method).__str__().split(',')[0]}, rtol 1e-4",
             lambda a, s, m=method: Adaptive(m, rtol=1e-4, atol=1e-6))
        )  # fmt: skip
    for method, h, weight in (
        ("RK4", 0.001, 0.01),
        ("RK4", 0.002, 0.01),
        ("FEM", 0.005, 0.01),
        ("FEM", 0.005, 1.0),
    ):
        rows.append(
            ("arc length", f"arc length on {method}, {h * 1e3:g}e-3, weights {weight:g}",
             lambda a, s, m=method, h=h, w=weight: ArcLength(m, h, weights=w))
        )  # fmt: skip
    rows.append(
        (
            "arc length",
            "arc length on Adams, rtol 1e-4",
            lambda a, s: ArcLength(Adaptive("Adams", rtol=1e-4, atol=1e-6), 0.1),
        )
    )
    return rows


def ms(h: float) -> str:
    return f"{1e3 * h:g} ms"


def swing(system: psmr.dae.system.system.System, run: psmr.Run) -> np.ndarray:
    """Return the angle between machines 1 and 2 at `INSTANTS`, by a spline through the points after it."""
    after = run.t >= 1.1
    t = run.t[after]
    angle = run.x[after, system.index("G2.delta")] - run.x[after, system.index("G1.delta")]
    last = np.append(np.diff(t) > 0, True)  # of the two rows at the clearing the later one
    return CubicSpline(t[last], angle[last])(INSTANTS)


def measure(
    system: object, linear: object, split: Callable, family: str, words: str, make: Make, exact: np.ndarray
) -> Row:
    def row(
        before: str, after: str = "", error: float = np.nan, work: tuple[float, float, float] = (np.nan,) * 3
    ) -> Row:
        return Row(family, words, before, error, *work, after)

    try:
        scheme = make(linear, split)
    except PsmrError as problem:
        return row(f"refused: {shortened(problem)}")
    try:
        report = psmr.deformation(linear, scheme)
        worst = report.spectral_radius
        before = "stable" if report.stable else f"**unstable**, growth {worst:.3g} a step"
    except PsmrError as problem:
        if "pure integrator" in str(problem):
            return row(f"refused: {shortened(problem)}")
        before = "chooses its steps"
    seconds = []
    try:
        for _ in range(REPEATS):
            run = psmr.simulate(system, scheme, END, [FAULT], certify=False)
            seconds.append(run.stats.counters.seconds)
    except PsmrError as problem:
        return row(before, f"fails: {shortened(problem)}")
    counters, size = run.stats.counters, system.n + system.m
    work = (run.stats.volume.residuals / size, run.stats.volume.factorisations / size, 1e3 * min(seconds))
    error = float(np.abs(swing(system, run) - exact).max())
    notes = []
    if isinstance(scheme, Smes):
        notes.append(f"N = {scheme.micro}, δ = {1e3 * scheme.delta:.3g} ms")
    turned = getattr(counters, "reversals", 0)
    if turned > 0.01 * counters.steps:
        notes.append(f"chatters: {100 * turned / counters.steps:.0f} % of the steps turn back")
    return row(before, "; ".join(notes), error, work)


def shortened(problem: Exception) -> str:
    """Return the clause of a message that says why."""
    text = str(problem)
    if "no number N of micro steps" in text:
        mode = text[text.index("mode ") + 5 :].split("(")[0].strip()
        gain = "no N that gains anything" if "gains anything" in text else "no stable N"
        return f"{gain}, because of {mode}"
    if "pure integrator" in text:
        return "g_z is singular, pure integrators in the fast set"
    if "left the finite numbers" in text or "is not finite" in text:
        return f"{text.split(',')[0]}, not finite"
    if "did not converge" in text:
        return f"{text.split(',')[0]}, Newton does not converge"
    return text.split(";")[0]


def table(rows: list[Row]) -> str:
    head = (
        "scheme",
        "said before the run",
        "largest angle error",
        "residuals",
        "factorisations",
        "time",
        "besides",
    )
    lines = ["| " + " | ".join(head) + " |", "|---|---|--:|--:|--:|--:|---|"]
    for r in rows:
        numbers = ("", "", "", "") if np.isnan(r.error) else (
            f"{r.error:.2g} rad", f"{r.residuals:.0f}", f"{r.factorisations:.0f}", f"{r.milliseconds:.0f} ms"
        )  # fmt: skip
        lines.append("| " + " | ".join((r.scheme, r.before, *numbers, r.after)) + " |")
    return "\n".join(lines)


def draw(results: dict[str, list[Row]]) -> None:
    """Draw error against residual evaluations, a mark a run, a colour a family."""
    families = ("implicit", "multirate", "slow manifold", "SMES", "explicit", "arc length")
    marks = dict(zip(families, "osD^vP", strict=True))
    with styled():
        figure = new_figure(8.6, 4.0)
        for axes, (case, rows) in zip(
            figure.subplots(1, 2, sharex=True, sharey=True), results.items(), strict=True
        ):
            for colour, family in zip(COLOURS, families, strict=False):
                own = [r for r in rows if r.family == family and np.isfinite(r.error)]
                work, error = [r.residuals for r in own], [r.error for r in own]
                axes.loglog(
                    work, error, marks[family], color=colour, label=family, alpha=0.85,
                    markersize=6, markeredgecolor="white", markeredgewidth=0.6,
                )  # fmt: skip
            axes.axhline(np.radians(1.0), color=FAINT, linewidth=0.7, linestyle="--")
            axes.text(
                0.99, np.radians(1.15), "1°", color=FAINT, ha="right", transform=axes.get_yaxis_transform()
            )
            axes.set(xlabel="evaluations of all equations, 10 s", title=CASES[case])
        axes.figure.axes[0].set_ylabel("largest error of the angle [rad]")
        axes.figure.axes[0].legend(loc="lower left", ncols=2)
    save(figure, HERE / "power-systems.svg")


def main() -> None:
    # Shown where the reader's fonts are unknown: letters as outlines.
    STYLE["svg.fonttype"] = "path"
    warnings.simplefilter("ignore", PsmrWarning)
    results, text = {}, []
    for case, title in CASES.items():
        system = psmr.build(psmr.read_case(HERE.parents[1] / "cases" / "wscc9" / f"{case}.toml"))
        linear = system.linearise()
        splits: dict[float, object] = {}

        def split(delta: float, splits=splits, linear=linear) -> object:
            return splits.setdefault(delta, partitioning.by_participation(linear, delta=delta))

        reference = psmr.simulate(system, psmr.SingleRate("RK4", 2.5e-4), END, [FAULT], certify=False)
        exact = swing(system, reference)
        rows = [measure(system, linear, split, *entry, exact) for entry in schemes(case)]
        results[case] = rows
        text += [f"### {title}\n", table(rows), ""]
    (HERE / "power-systems.inc").write_text("\n".join(text), encoding="utf-8")
    draw(results)


if __name__ == "__main__":
    main()
