"""What the pencils say over step sizes, ratios and thresholds: the data of figures 2 to 6 and 13 (a)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from psmr.papers.huang_tzounas.setting import Setting, dominant, percent
from psmr.pencil.deformation.report import Deformation, Pencil

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


def spectra(setting: Setting) -> list[Spectrum]:
    """Return the reports of figure 2: both pencils, FEM and TM prediction, three step pairs, TM solution."""
    found = []
    for pencil, (h_slow, h_fast), predictor in itertools.product(PENCILS, STEP_PAIRS, ("FEM", "TM")):
        scheme = setting.scheme(predictor, "TM", h_fast, round(h_slow / h_fast))
        found.append(Spectrum(pencil, predictor, h_slow, h_fast, setting.deform(scheme, pencil)))
    return found


def swing_mode(setting: Setting) -> pd.DataFrame:
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


def ratios(setting: Setting, h_slow: float = 0.05) -> pd.DataFrame:
    """Sweep the ratio at a fixed macro step, TM solution, for figure 6.

    Beside the deformation in percent stands R^r, what is left after a macro step of the transducers' response
    to a jump, R = (1 - h_fast / 2 T_r) / (1 + h_fast / 2 T_r) being the rule's factor for a fast step.
    """
    rows = []
    for ratio in (*RATIOS, MANY):
        row: dict[str, float] = {"r": ratio, "R^r": ringing(setting, h_slow, ratio)}
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


def ringing(setting: Setting, h_slow: float, ratio: int) -> float:
    """Return R^r of the voltage transducers (see `ratios`)."""
    half = h_slow / ratio / (2.0 * setting.system.parameter("AVR1", "t_r"))
    return float(((1.0 - half) / (1.0 + half)) ** ratio)


def lag_of_jump(setting: Setting, h_slow: float, ratio: int) -> float:
    """Return the lag in s with which a regulator of the slow set sees a jump of its terminal voltage.

    The transducer answers a jump with T_r x' = v - x and lags by T_r. A regulator that is slow sees x at the
    macro points only, where 1 - R^r, 1 - R^2r, ... of the jump has arrived; the trapezoidal rule over these
    points makes the lag (h_slow / 2) (1 + R^r) / (1 - R^r).
    """
    left = ringing(setting, h_slow, ratio)
    return 0.5 * h_slow * (1.0 + left) / (1.0 - left)


def thresholds(
    setting: Setting, deltas: tuple[float, ...], h_slow: float = 0.005, ratio: int = 5
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
