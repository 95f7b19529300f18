"""What the nonlinear runs say: the data of figures 7 to 13."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.dae.compile.kernels import Kernels, residual
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.papers.huang_tzounas.setting import EVENTS, Scheme, Setting
from psmr.papers.huang_tzounas.tables import lag_of_jump
from psmr.study.run.run import Run

RESPONSES = (("load trip", "TM"), ("load trip", "BEM"), ("fault", "TM"), ("fault", "BEM"))  # figures 7 to 10
PREDICTORS = ("BEM", "TM")
COMPARED_RATIOS = (2, 3, 4, 5, 6, 8, 10)  # figure 11
FINE = 0.0002  # s: the SDIRK2 reference of figure 13, whose errors go below those of the paper's reference


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a figure over time.

    Attributes
    ----------
    label
        For the legend.
    t, value
        (K,) s and the quantity.
    """

    label: str
    t: Reals
    value: Reals


def responses(setting: Setting, events: str, solution: str) -> tuple[list[Curve], list[Curve]]:
    """Return omega_r,1 (reference first) and its errors, figures 7 to 10: h_slow = 0.05, h_fast = 0.005."""
    lines, errors = [Curve("SDIRK2, 1 ms", *setting.reference(events))], []
    for predictor in PREDICTORS:
        run = setting.run(setting.scheme(predictor, solution, 0.005, 10), events)
        label = f"{predictor} prediction, {solution} solution"
        lines.append(Curve(label, run.t, run.values("G1.omega")[:, 0]))
        errors.append(Curve(label, run.t, setting.error(run, events)))
    return lines, errors


def largest_errors(setting: Setting) -> pd.DataFrame:
    """Return the largest and the mean square error of omega_r,1 in pu, and the damping each run shows.

    The damping is what is left of the oscillation: the ratio of the speed's spread in the last 3 s to that of
    the reference.
    """
    rows = []
    for events, solution in RESPONSES:
        (reference, *lines), errors = responses(setting, events, solution)
        for line, error in zip(lines, errors, strict=True):
            left = _spread(line) / _spread(reference)
            rows.append((events, line.label, *_sizes(error.value), left))
    names = ["events", "scheme", *SIZES, "swing left, of the reference"]
    return pd.DataFrame(rows, columns=names)


def interpolation(setting: Setting, delta: float, h_slow: float) -> pd.DataFrame:
    """Compare linear and spline interpolation over the ratio, fault study, TM and TM (figure 11)."""
    split = setting.partition(delta)
    rows = []
    for ratio in COMPARED_RATIOS:
        row: dict[str, float] = {"r": ratio}
        for kind in ("linear", "spline"):
            scheme = setting.scheme("TM", "TM", h_slow / ratio, ratio, split, kind)
            error = setting.error(setting.run(scheme), "fault", FINE)
            row[f"{kind}, largest [pu]"], row[f"{kind}, rms [pu]"] = _sizes(error)
        row["spline / linear, largest"] = row["spline, largest [pu]"] / row["linear, largest [pu]"]
        row["spline / linear, rms"] = row["spline, rms [pu]"] / row["linear, rms [pu]"]
        row["lag of a jump [s]"] = lag_of_jump(setting, h_slow, ratio)
        rows.append(row)
    return pd.DataFrame(rows).astype({"r": int})


def lag_law(setting: Setting, h_slow: float = 0.05) -> pd.DataFrame:
    """Test whether the errors over the ratio are those of the lag of a jump, fault study (figure 11).

    From the errors over time at r = 3 and 10 the error of any other lag follows as e_3 + (lag - lag_3) slope.
    Of the other ratios, and of single rate at h_slow, whose transducers lag by their own T_r, the table shows
    how far the error is from that of r = 10, and how far from the one that follows, in pu.
    """

    def error(ratio: int) -> Reals:
        return setting.error(setting.run(setting.scheme("TM", "TM", h_slow / ratio, ratio)), "fault", FINE)

    near, far = lag_of_jump(setting, h_slow, 3), lag_of_jump(setting, h_slow, 10)
    at_3, at_10 = error(3), error(10)
    slope = (at_10 - at_3) / (far - near)
    single = setting.error(setting.run(SingleRate("TM", h_slow)), "fault", FINE)
    cases = [(str(r), lag_of_jump(setting, h_slow, r), error(r)) for r in (4, 5, 6, 7, 8)]
    cases.append(("single rate", setting.system.parameter("AVR1", "t_r"), single))
    rows = []
    for name, lag, found in cases:
        follows = at_3 + (lag - near) * slope
        rows.append((name, lag, float(np.abs(found - at_10).max()), float(np.abs(found - follows).max())))
    return pd.DataFrame(rows, columns=["r", "lag of a jump [s]", "from r = 10 [pu]", "from the law [pu]"])


def reference_error(setting: Setting) -> float:
    """Return the largest error of the paper's reference (SDIRK2 at 1 ms) after the fault, in pu of speed."""
    t, omega = setting.reference("fault")
    return float(np.abs(omega - np.interp(t, *setting.reference("fault", FINE))).max())


def error_curves(setting: Setting, schemes: Mapping[str, Scheme], h: float = FINE) -> list[Curve]:
    """Return the error of omega_r,1 over time for each scheme, fault study."""
    runs = {label: setting.run(scheme) for label, scheme in schemes.items()}
    return [Curve(label, run.t, setting.error(run, "fault", h)) for label, run in runs.items()]


def threshold_errors(setting: Setting, deltas: tuple[float, ...]) -> pd.DataFrame:
    """Sweep delta, fault study, TM and TM, h_slow = 0.005, h_fast = 0.001 s (figures 13 b and c)."""
    schemes: dict[object, Scheme] = {delta: threshold_scheme(setting, delta) for delta in deltas}
    schemes |= {f"single rate TM, {h:g} s": SingleRate("TM", h) for h in (0.001, 0.005)}
    rows = [
        (name, *_sizes(setting.error(setting.run(scheme), "fault", FINE))) for name, scheme in schemes.items()
    ]
    return pd.DataFrame(rows, columns=["delta [1/s]", *SIZES])


def threshold_scheme(setting: Setting, delta: float) -> Multirate:
    """Return the scheme of figure 13 at a threshold in 1/s."""
    return setting.scheme("TM", "TM", 0.001, 5, setting.partition(delta))


def slow_residuals(setting: Setting) -> list[list[Curve]]:
    """Return the panels of figure 12: Euclidean norm of the slow algebraic equations at fast points.

    Fault study, TM solution. Each curve has the largest norm within each macro step, its end left out: there
    the slow equations are solved.
    """

    def curve(
        label: str, predictor: str = "TM", h_fast: float = 0.001, interpolation: str = "linear"
    ) -> Curve:
        scheme = setting.scheme(predictor, "TM", h_fast, 5, interpolation=interpolation)
        return _slow_residual(setting, scheme, label)

    base = curve("TM prediction")
    return [
        [base, curve("BEM prediction", "BEM")],
        [
            curve("0.02 and 0.004 s", h_fast=0.004),
            curve("0.01 and 0.002 s", h_fast=0.002),
            Curve("0.005 and 0.001 s", base.t, base.value),
        ],
        [Curve("linear", base.t, base.value), curve("cubic spline", interpolation="spline")],
    ]


def _slow_residual(setting: Setting, scheme: Multirate, label: str) -> Curve:
    run = setting.run(scheme, "fault", every=True)
    system, slow = setting.system, ~scheme.split.fast_g
    norm = np.empty(len(run.t))
    w, out = system.w0.copy(), np.empty(system.n + system.m + 1)
    for rows, kernels in _networks(setting, run):
        for k in rows:
            w[: system.n], w[system.n : system.n + system.m], w[-1] = run.x[k], run.y[k], run.t[k]
            residual(kernels.table, w, out)
            norm[k] = np.linalg.norm(out[system.n : -1][slow])
    r = scheme.ratio
    starts = np.flatnonzero(np.diff(run.t, prepend=-1.0) == 0.0)  # second row of each instant
    pieces = np.split(np.arange(len(run.t)), starts)
    t, largest = [], []
    for piece in pieces:
        inside = piece[1:][: (len(piece) - 1) // r * r].reshape(-1, r)
        t.append(run.t[inside[:, -1]])
        largest.append(norm[inside[:, :-1]].max(axis=1))
    return Curve(label, np.concatenate(t), np.concatenate(largest))


def _networks(setting: Setting, run: Run) -> list[tuple[range, Kernels]]:
    """Return the rows of a run between two events, with the kernels of the network of that time."""
    system, parameters = setting.system, [matrix.copy() for matrix in setting.system.parameters]
    changes = [change for event in EVENTS["fault"] for change in event.changes(system)]
    found, first = [], 0
    for change in [*changes, None]:
        kernels = system.kernels(parameters)
        last = len(run.t) if change is None else int(np.searchsorted(run.t, change.t, side="left")) + 1
        found.append((range(first, last), kernels))
        first = last
        if change is not None:
            for device, name, value in change.parameters:
                group, row, column = system.parameter_place(device, name)
                parameters[group][row, column] = value
    return found


SIZES = ("largest error [pu]", "rms error [pu]")


def _sizes(error: Reals) -> tuple[float, float]:
    """Return what stands under `SIZES`."""
    return float(np.abs(error).max()), rms(error)


def rms(values: Reals) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def _spread(line: Curve) -> float:
    """Return the standard deviation of the speed about its trend in the last 3 s."""
    late = line.t >= line.t[-1] - 3.0
    t, value = line.t[late], line.value[late]
    return float(np.std(value - np.polyval(np.polyfit(t, value, 2), t)))
