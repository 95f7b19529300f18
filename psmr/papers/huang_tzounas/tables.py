"""The paper's two tables, critical steps, ringdowns, and what pencils say in figures 2 to 6 and 13 (a)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from partitioning import Partition
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.papers.huang_tzounas.runs import KICK, Scheme, StudiedSystem, dominant, percent
from psmr.pencil.deformation.report import Deformation, Pencil

# Table 2 as printed: h_fast, h_slow in s, relative deformation in percent with the algebraic variables
# partitioned by participation factors, and with all of them fast.
PRINTED_TABLE_2 = (
    (0.001, 0.005, 0.42, 0.42),
    (0.001, 0.01, 0.42, 0.42),
    (0.001, 0.05, 0.42, 0.42),
    (0.002, 0.1, 0.84, 0.838),
    (0.004, 0.1, 1.68, 1.68),
    (0.005, 0.1, 2.10, 2.09),
)
PAIRS = (("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("TM", "BEM"), ("BEM", "BEM"))


def table_1(setting: StudiedSystem) -> pd.DataFrame:
    """Count the factorisations of real runs with modified Newton, per macro step of ratio 10.

    The runs start with a small kick and have no event: nothing asks for a factorisation beyond the plan.
    """
    h_fast, ratio, macro = 0.005, 10, 20
    n, m = setting.system.n, setting.system.m
    schemes: dict[str, tuple[Scheme, int]] = {"single rate at h_fast": (SingleRate("TM", h_fast), 0)}
    for words, split in (("", setting.split), (", all y fast", setting.all_y_fast)):
        slow = int((~split.fast_y).sum())
        for kind, predictor in (("explicit", "FEM"), ("implicit", "TM")):
            multirate = setting.scheme(predictor, "TM", h_fast, ratio, split)
            schemes[f"multirate, {kind} predictor{words}"] = multirate, slow
    start = setting.system.x0.copy()
    start[setting.system.names_x.index("G2.omega")] += 0.1 * KICK
    rows = []
    for name, (scheme, slow) in schemes.items():
        end = macro * h_fast * ratio
        counters = integrate(setting.system, scheme, end, start=(start, setting.system.y0)).counters
        made = {role: counters.factorisations_by_role.get(role, 0) / macro for role in counters.orders}
        orders, single = counters.orders, scheme.two_rates is None
        rows.append(
            {
                "scheme": name,
                "order n+m": n + m,
                "factorisations n+m": made.get("step" if single else "predictor", 0.0),
                "order of y^P": 0 if single else orders.get("algebraic", 0),
                "factorisations y^P": made.get("algebraic", 0.0),
                "m_s": slow,
                "order n_f+m_f": orders.get("fast", 0),
                "factorisations n_f+m_f": made.get("fast", 0.0),
                "order n_s+m_s": orders.get("slow", 0),
                "factorisations n_s+m_s": made.get("slow", 0.0),
                "beyond the plan": counters.refreshes,
            }
        )
    return pd.DataFrame(rows)


def table_2(setting: StudiedSystem) -> pd.DataFrame:
    """Put the printed deformations of the dominant mode beside those of both pencils, in percent."""
    rows = []
    for h_fast, h_slow, printed, printed_y in PRINTED_TABLE_2:
        row = {"h_fast [s]": h_fast, "h_slow [s]": h_slow}
        both = (("", setting.split, printed), (", all y fast", setting.all_y_fast, printed_y))
        for words, split, figure in both:
            scheme = Multirate.from_steps(split, h_slow, h_fast, predictor="FEM", solution="TM")
            published, exact = setting.deform(scheme, "published"), setting.deform(scheme)
            row[f"paper{words} [%]"] = figure
            row[f"published pencil{words} [%]"], row[f"exact pencil{words} [%]"] = map(
                percent, (published, exact)
            )
            row[f"published |z|{words}"] = published.spectral_radius
            row[f"exact |z|{words}"] = exact.spectral_radius
        rows.append(row)
    return pd.DataFrame(rows)


def other_partitions(setting: StudiedSystem) -> pd.DataFrame:
    """Deform the dominant mode with every pair on four partitions, h_fast = 0.005 s, r = 10, exact pencil."""
    rows = []
    for words, split in partitions(setting).items():
        row: dict[str, object] = {
            "partition": words,
            "fast states": int(split.fast_x.sum()),
            "fast algebraic": int(split.fast_y.sum()),
        }
        for predictor, solution in PAIRS:
            report = setting.deform(setting.scheme(predictor, solution, 0.005, 10, split))
            row[f"{predictor}/{solution} [%]"] = percent(report)
            row[f"{predictor}/{solution} real"] = dominant(report).real
        rows.append(row)
    return pd.DataFrame(rows)


def partitions(setting: StudiedSystem) -> dict[str, Partition]:
    """Return the paper's partition, its comparison, and one with the regulators and some currents fast."""
    return {
        "delta = 20": setting.split,
        "delta = 7": setting.partition(7.0),
        "delta = 5": setting.partition(5.0),
        "delta = 20, all y fast": setting.all_y_fast,
    }


def ringdowns(setting: StudiedSystem) -> pd.DataFrame:
    """Hold both pencils against the mode fitted to the nonlinear run after a kick along the dominant mode."""
    cases = [("FEM", "TM", 0.001, 50), ("FEM", "TM", 0.006, 10), ("FEM", "TM", 0.005, 20)]
    cases += [(predictor, solution, 0.005, 10) for predictor, solution in PAIRS]
    rows = []
    for predictor, solution, h_fast, ratio in cases:
        scheme = setting.scheme(predictor, solution, h_fast, ratio)
        fitted, exact = setting.ringdown(scheme), dominant(setting.deform(scheme))
        published = dominant(setting.deform(scheme, "published"))
        off = [abs(pencil - fitted) / abs(fitted) for pencil in (exact, published)]
        words = map(text, (fitted, exact, published))
        rows.append((predictor, solution, h_fast, scheme.h_slow, *words, *off))
    names = ["predictor", "solution", "h_fast [s]", "h_slow [s]", "nonlinear run", "exact pencil"]
    return pd.DataFrame(rows, columns=[*names, "published pencil", "exact off by", "published off by"])


def critical_steps(setting: StudiedSystem) -> pd.DataFrame:
    """Find the largest stable h_fast at ratio 10 by the exact pencil, and run the nonlinear system around it.

    The first mode to go is kicked in two runs, at 0.98 and 1.02 of the critical step; their columns hold the
    real part in 1/s of that mode by the exact pencil and by the run. A critical step above 0.02 s (h_slow =
    0.2 s, four samples in a period of the dominant mode) is not looked for: infinite.
    """
    rows = []
    for words, split in partitions(setting).items():
        for predictor in ("FEM", "TM", "BEM"):

            def scheme(h_fast: float, split: Partition = split, predictor: str = predictor) -> Multirate:
                return setting.scheme(predictor, "TM", h_fast, 10, split)

            step = critical(lambda h: not setting.deform(scheme(h)).stable)
            row: dict[str, object] = {"partition": words, "predictor": predictor, "critical h_fast [s]": step}
            if np.isfinite(step):
                row |= _around(setting, scheme, step)
            rows.append(row)
    return pd.DataFrame(rows)


def published_critical_step(setting: StudiedSystem, predictor: str = "FEM") -> float:
    """Return the h_fast in s at which the published pencil makes the dominant mode grow, at ratio 10."""
    return critical(
        lambda h: dominant(setting.deform(setting.scheme(predictor, "TM", h, 10), "published")).real > 0.0
    )


def critical(unstable: Callable[[float], bool], lowest: float = 1e-3, highest: float = 0.02) -> float:
    """Return the step in s above which a property holds, to 1e-4 relative; infinite where it never does.

    It is tried on 7 steps from lowest to highest, evenly spread on a logarithmic scale, and then bisected.
    """
    steps = np.geomspace(lowest, highest, 7)
    first = next((k for k, h in enumerate(steps) if unstable(float(h))), None)
    if first is None:
        return float("inf")
    if first == 0:
        return lowest
    below, above = float(steps[first - 1]), float(steps[first])
    while above - below > 1e-4 * above:
        middle = 0.5 * (below + above)
        below, above = (below, middle) if unstable(middle) else (middle, above)
    return below


def _around(setting: StudiedSystem, scheme: Callable[[float], Multirate], step: float) -> dict[str, object]:
    """Kick the first mode to go below and above the critical step; return what pencil and runs say."""
    above = setting.deform(scheme(1.02 * step)).table
    worst = int(np.nanargmax(above["real_numerical"].to_numpy()))
    mode = complex(above["real"].iloc[worst], above["imag"].iloc[worst])
    found: dict[str, object] = {"first to go": text(mode)}
    for factor in (0.98, 1.02):
        table = setting.deform(scheme(factor * step)).table
        away = np.hypot(table["real"].to_numpy() - mode.real, table["imag"].to_numpy() - mode.imag)
        row = table.iloc[int(away.argmin())]
        expected = complex(row["real_numerical"], row["imag_numerical"])
        seen = setting.ringdown(scheme(factor * step), kicked=mode, expected=expected)
        found[f"exact pencil at {factor:g}"] = expected.real
        found[f"nonlinear run at {factor:g}"] = seen.real
    return found


def text(s: complex) -> str:
    """Write a mode with its digits, in 1/s."""
    return f"{s.real:.6f} {'+' if s.imag >= 0 else '-'} j{abs(s.imag):.6f}"


STEP_PAIRS = ((0.005, 0.001), (0.01, 0.002), (0.04, 0.008))  # h_slow, h_fast in s, figure 2
FAST_STEPS = np.linspace(1e-4, 0.005, 13)  # s, figures 3 to 5
RATIOS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)  # figure 6
MANY = 50  # ratio that stands for "as many as you like": figure 6 is flat from 10 on
SWING = {
    "FEM prediction, TM solution": (("FEM", "TM"),),
    "implicit prediction, TM solution": (("TM", "TM"), ("BEM", "TM")),
    "implicit prediction, BEM solution": (("TM", "BEM"), ("BEM", "BEM")),
}
THRESHOLDS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 15.0, 20.0, 500.0, float("inf"))  # delta in 1/s, figure 13
CONVERTER_THRESHOLDS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 500.0, float("inf"))
PENCILS: tuple[Pencil, ...] = ("exact", "published")


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The report of one pencil for one predictor and step pair of figure 2."""

    pencil: Pencil
    predictor: str
    h_slow: float
    h_fast: float
    report: Deformation


def spectra(setting: StudiedSystem) -> list[Spectrum]:
    """Return the reports of figure 2: both pencils, FEM and TM prediction, three step pairs, TM solution."""
    found = []
    for pencil, (h_slow, h_fast), predictor in itertools.product(PENCILS, STEP_PAIRS, ("FEM", "TM")):
        scheme = setting.scheme(predictor, "TM", h_fast, round(h_slow / h_fast))
        found.append(Spectrum(pencil, predictor, h_slow, h_fast, setting.deform(scheme, pencil)))
    return found


def swing_mode(setting: StudiedSystem) -> pd.DataFrame:
    """Follow the dominant mode over h_fast at ratio 10, for figures 3 to 5.

    Columns: pencil, predictor, solution, h_fast [s], real, imag (1/s), and deformations in percent of |s|:
    relative, real (above 0: less damped) and imaginary.
    """
    rows = []
    pairs = [pair for panel in SWING.values() for pair in panel]
    for pencil, pair, h_fast in itertools.product(PENCILS, pairs, map(float, FAST_STEPS)):
        report = setting.deform(setting.scheme(*pair, h_fast, 10), pencil)
        s_hat, change = dominant(report), 100.0 * (dominant(report) - setting.mode) / abs(setting.mode)
        parts = (s_hat.real, s_hat.imag, percent(report), change.real, change.imag)
        rows.append((pencil, *pair, h_fast, *parts))
    deformed = ("relative [%]", "real part [%]", "imaginary part [%]")
    names = ["pencil", "predictor", "solution", "h_fast [s]", "real", "imag", *deformed]
    return pd.DataFrame(rows, columns=names)


def ratios(setting: StudiedSystem, h_slow: float = 0.05) -> pd.DataFrame:
    """Sweep the ratio at a fixed macro step, TM solution, for figure 6: deformation in percent, and R^r."""
    rows = []
    for ratio in (*RATIOS, MANY):
        row: dict[str, float] = {"r": ratio, "R^r": setting.numerical_oscillation(h_slow, ratio)}
        for predictor in ("FEM", "TM"):
            scheme = setting.scheme(predictor, "TM", h_slow / ratio, ratio)
            for pencil in PENCILS:
                report = setting.deform(scheme, pencil)
                row[f"{predictor} {pencil} [%]"] = percent(report)
                row[f"{predictor} {pencil} real"] = dominant(report).real
                row[f"{predictor} {pencil} imag"] = dominant(report).imag
        spline = setting.scheme("TM", "TM", h_slow / ratio, ratio, interpolation="spline")
        row["TM spline exact [%]"] = percent(setting.deform(spline))
        rows.append(row)
    return pd.DataFrame(rows).astype({"r": int})


def thresholds(
    setting: StudiedSystem, deltas: tuple[float, ...], h_slow: float = 0.005, ratio: int = 5
) -> pd.DataFrame:
    """Sweep delta with TM prediction and solution (figure 13 a): size of the fast set, deformation in %."""
    rows = []
    for delta in deltas:
        split = setting.partition(delta)
        scheme = setting.scheme("TM", "TM", h_slow / ratio, ratio, split)
        sizes = int(split.fast_x.sum()), int(split.fast_y.sum())
        rows.append((delta, *sizes, *(percent(setting.deform(scheme, pencil)) for pencil in PENCILS)))
    deformed = [f"{pencil} pencil [%]" for pencil in PENCILS]
    return pd.DataFrame(rows, columns=["delta [1/s]", "fast states", "fast algebraic", *deformed])
