"""The numbers of the case study's statements on a system, and which of them hold on which parameter set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.check import VISIBLE
from psmr.papers.finding import Claim, Finding, Numbers
from psmr.papers.huang_tzounas.responses import interpolation, largest_errors, threshold_errors
from psmr.papers.huang_tzounas.setting import DELTA, Setting, dominant, percent
from psmr.papers.huang_tzounas.sweeps import RATIOS, STEP_PAIRS, THRESHOLDS, thresholds
from psmr.papers.huang_tzounas.tables import PAIRS, critical, table_2
from psmr.pencil.deformation.report import Deformation

HIGHEST = 0.02  # s: fast step up to which a critical one is looked for, four points in a period at ratio 10
WHATEVER = 0.1  # s: the same for what is said to be stable whatever the steps; the macro step is then 1 s
# What is fast at delta = 20 1/s by the paper: the voltages of the regulators, the field voltages.
FAST_STATES = frozenset(f"AVR{k}.{name}" for k in (1, 2, 3) for name in ("v_m", "v_a"))
FAST_ALGEBRAIC = frozenset(f"AVR{k}.v_f" for k in (1, 2, 3))


def statement_numbers(setting: Setting) -> dict[str, Any]:
    """Return the numbers of the statements decided on each set, by their names in ``claims.toml``."""
    return {**_system(setting), **_table_2(setting), **_pencil(setting), **_mode(setting), **_runs(setting)}


def verdicts(claims: Sequence[Claim], sets: Mapping[str, Numbers]) -> pd.DataFrame:
    """Return which statement holds on which parameter set: a row a statement, and on how many it holds."""
    words = {"agrees": "holds", "differs": "no", "not decided": "not decided"}
    rows = []
    for claim in claims:
        if not claim.sets:
            continue
        found = {
            name: words[Finding(claim.claim, "stated", "", claim.decide(numbers)).verdict]
            for name, numbers in sets.items()
        }
        count = sum(word == "holds" for word in found.values())
        on = "all" if count == len(found) else "none" if count == 0 else f"{count} of {len(found)}"
        rows.append({"statement": claim.claim, **found, "on": on})
    return pd.DataFrame(rows)


def _system(setting: Setting) -> dict[str, Any]:
    split = setting.split
    x, y = (
        [name for name, fast in zip(names, side, strict=True) if fast]
        for names, side in ((split.names_x, split.fast_x), (split.names_y, split.fast_y))
    )
    return {
        "mode": setting.mode,
        "states": setting.system.n,
        "fast": x + y,
        "other_states": len({*x} ^ FAST_STATES),
        "other_algebraic": len({*y} ^ FAST_ALGEBRAIC),
    }


def _table_2(setting: Setting) -> dict[str, Any]:
    table = table_2(setting)
    pairs = table[["exact pencil [%]", "exact pencil, all y fast [%]"]]
    return {
        "published": table["published pencil [%]"],
        "printed": table["paper [%]"],
        "published_y": table["published pencil, all y fast [%]"],
        "printed_y": table["paper, all y fast [%]"],
        "exact": pairs.iloc[:, 0],
        "exact_y": pairs.iloc[:, 1],
        "first_three": pairs.iloc[:3, 0],
        "larger_over_smaller": (pairs.max(axis=1) / pairs.min(axis=1)).max(),
    }


def bent(setting: Setting) -> dict[tuple[str, str], complex]:
    """Return (ŝ - s)/|s| of the dominant mode by predictor and solution, h_f = 0.005 s, r = 10, exact."""
    return {
        pair: (dominant(setting.deform(setting.scheme(*pair, 0.005, 10))) - setting.mode) / abs(setting.mode)
        for pair in PAIRS
    }


def critical_step(setting: Setting, predictor: str, highest: float = HIGHEST) -> float:
    """Return the largest stable h_f in s at r = 10 with TM solution by the exact pencil; infinite: none."""
    return critical(
        lambda h: not setting.deform(setting.scheme(predictor, "TM", h, 10)).stable, highest=highest
    )


def _pencil(setting: Setting) -> dict[str, Any]:
    def report(predictor: str, h_slow: float, h_fast: float) -> Deformation:
        return setting.deform(setting.scheme(predictor, "TM", h_fast, round(h_slow / h_fast)))

    reports = {pair: [report(p, *pair) for p in ("FEM", "TM")] for pair in STEP_PAIRS}
    last = reports[STEP_PAIRS[-1]]
    radii = [tm.spectral_radius for _, tm in reports.values()]
    radii += [report("TM", 0.05, 0.05 / r).spectral_radius for r in RATIOS]
    return {
        "pairs": [
            {"h_slow": h_slow, "h_fast": h_fast, "fem": percent(fem), "tm": percent(tm)}
            for (h_slow, h_fast), (fem, tm) in reports.items()
        ],
        "fem_radius": last[0].spectral_radius,
        "tm_radius": last[1].spectral_radius,
        "largest_radius": max(radii),
        "critical": {predictor: critical_step(setting, predictor) for predictor in ("FEM", "TM", "BEM")},
        "tm_limit": critical_step(setting, "TM", WHATEVER),
        "ratio": [percent(report("FEM", 0.05, 0.05 / r)) for r in (5, 6)],
    }


def _mode(setting: Setting) -> dict[str, Any]:
    """Return the dominant mode at h_f = 0.005 s, r = 10 by predictor/solution, in percent of |s|."""
    mode, change = setting.mode, {"/".join(pair): value for pair, value in bent(setting).items()}
    return {
        "real": {pair: 100 * value.real for pair, value in change.items()},
        "real_size": {pair: abs(100 * value.real) for pair, value in change.items()},
        "imag": {pair: 100 * value.imag for pair, value in change.items()},
        "imag_size": {pair: abs(100 * value.imag) for pair, value in change.items()},
        "size": {pair: 100 * abs(value) for pair, value in change.items()},
        "next_best": 100 * min(abs(value) for pair, value in change.items() if pair != "BEM/TM"),
        "tm_real": mode.real + change["TM/TM"].real * abs(mode),
        "overdamped": 1.0 + change["BEM/BEM"].real * abs(mode) / mode.real,
    }


def _runs(setting: Setting) -> dict[str, Any]:
    table = largest_errors(setting)
    schemes = {f"{p} prediction, {s} solution": f"{p}/{s}" for p in ("BEM", "TM") for s in ("TM", "BEM")}
    rows = {
        short: table[table["events"] == events].assign(pair=table["scheme"].map(schemes)).set_index("pair")
        for short, events in (("trip", "load trip"), ("fault", "fault"))
    }
    left = {name: part["swing left, of the reference"].to_dict() for name, part in rows.items()}
    compared = interpolation(setting, DELTA, 0.05)
    linear, spline = (compared[f"{kind}, largest [pu]"] for kind in ("linear", "spline"))
    by_delta = thresholds(setting, THRESHOLDS)["exact pencil [%]"]
    errors = threshold_errors(setting, THRESHOLDS)["largest error [pu]"].iloc[: len(THRESHOLDS)]
    return {
        "left": left,
        "off": {name: {k: abs(v - 1.0) for k, v in part.items()} for name, part in left.items()},
        "largest": {name: part["largest error [pu]"].to_dict() for name, part in rows.items()},
        "linear": 1e3 * linear,
        "linear_turns": turns(linear),
        "spline": 1e3 * spline,
        "spline_turns": turns(spline),
        "spline_over_linear": compared["spline / linear, largest"],
        "span_largest": span(compared["spline / linear, largest"]),
        "span_rms": span(compared["spline / linear, rms"]),
        "deltas": THRESHOLDS,
        "by_delta": by_delta,
        "least_beyond": by_delta[1:].min(),
        "errors": errors,
    }


def span(values: pd.Series) -> str:
    """Return least and largest as text."""
    return f"{values.min():.3f} to {values.max():.3f}"


def turns(values: pd.Series) -> int:
    """Return how often a sequence turns; ups and downs of up to `VISIBLE` of the largest do not count."""
    numbers = values.to_numpy()
    width = VISIBLE * np.abs(numbers).max()
    count = direction = 0
    low = high = extreme = numbers[0]
    for value in numbers:
        if direction == 0:
            low, high, extreme = min(low, value), max(high, value), value
            direction = 1 if value - low > width else -1 if high - value > width else 0
        elif (extreme - value) * direction > width:
            count, direction, extreme = count + 1, -direction, value
        elif (value - extreme) * direction > 0.0:
            extreme = value
    return count
