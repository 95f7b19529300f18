"""The numbers of the case study's statements on a system, and which of them hold on which parameter set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.catalogue import Results
from psmr.papers.finding import VISIBLE, Claim, ClaimResult, Numbers
from psmr.papers.huang_tzounas.runs import (
    DELTA,
    PRINTED_MODE,
    StudiedSystem,
    dominant,
    interpolation,
    largest_errors,
    percent,
    threshold_errors,
)
from psmr.papers.huang_tzounas.tables import (
    CONVERTER_THRESHOLDS,
    PAIRS,
    RATIOS,
    STEP_PAIRS,
    THRESHOLDS,
    critical,
    table_2,
    thresholds,
)
from psmr.pencil.deformation.report import Deformation

HIGHEST = 0.02  # s: fast step up to which a critical one is looked for, four points in a period at ratio 10
WHATEVER = 0.1  # s: the same for what is said to be stable whatever the steps; the macro step is then 1 s
# What is fast at delta = 20 1/s by the paper: the voltages of the regulators, the field voltages.
FAST_STATES = frozenset(f"AVR{k}.{name}" for k in (1, 2, 3) for name in ("v_m", "v_a"))
FAST_ALGEBRAIC = frozenset(f"AVR{k}.v_f" for k in (1, 2, 3))


def statement_numbers(setting: StudiedSystem) -> dict[str, Any]:
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
            name: words[ClaimResult(claim.claim, "stated", "", claim.decide(numbers)).verdict]
            for name, numbers in sets.items()
        }
        count = sum(word == "holds" for word in found.values())
        on = "all" if count == len(found) else "none" if count == 0 else f"{count} of {len(found)}"
        rows.append({"statement": claim.claim, **found, "on": on})
    return pd.DataFrame(rows)


def _system(setting: StudiedSystem) -> dict[str, Any]:
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


def _table_2(setting: StudiedSystem) -> dict[str, Any]:
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


def bent(setting: StudiedSystem) -> dict[tuple[str, str], complex]:
    """Return (ŝ - s)/|s| of the dominant mode by predictor and solution, h_f = 0.005 s, r = 10, exact."""
    return {
        pair: (dominant(setting.deform(setting.scheme(*pair, 0.005, 10))) - setting.mode) / abs(setting.mode)
        for pair in PAIRS
    }


def critical_step(setting: StudiedSystem, predictor: str, highest: float = HIGHEST) -> float:
    """Return the largest stable h_f in s at r = 10 with TM solution by the exact pencil; infinite: none."""
    return critical(
        lambda h: not setting.deform(setting.scheme(predictor, "TM", h, 10)).stable, highest=highest
    )


def _pencil(setting: StudiedSystem) -> dict[str, Any]:
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


def _mode(setting: StudiedSystem) -> dict[str, Any]:
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


def _runs(setting: StudiedSystem) -> dict[str, Any]:
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


ALL_Y_FAST = "delta = 20, all y fast"
OTHERS = ("delta = 7", "delta = 5", ALL_Y_FAST)


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``; of the statements those on the paper's system."""
    return {
        **next(iter(r.sets.values())),
        "zeta": 100 * -PRINTED_MODE.real / abs(PRINTED_MODE),
        "algebraic": r.settings.paper.system.m,
        **_table_1(r.table_1),
        **_numbers_of_table_2(r),
        **_ringdowns(r.ringdowns),
        "multiplier_off": _appendix_b(r.settings.paper),
        **_stability(r),
        **_published(r),
        **_interpolation(r),
        **_residuals(r.residuals),
        **_thresholds(r),
    }


def _table_1(table: pd.DataFrame) -> dict[str, Any]:
    columns = [f"factorisations {order}" for order in ("n+m", "y^P", "n_f+m_f", "n_s+m_s")]
    counted = dict(zip(table["scheme"], table[columns].to_numpy().tolist(), strict=True))
    wanted = ((10, 0, 0, 0), (0, 1, 10, 1), (1, 0, 10, 1))
    rows = [
        {"scheme": name, "counted": counted[name], "wanted": row}
        for name, row in zip(counted, wanted, strict=False)
    ]
    explicit = table.iloc[[1, 3]]
    return {
        "factorisations": rows,
        "counted_in_words": "; ".join(
            f"{row['scheme']}: {', '.join(f'{v:g}' for v in row['counted'])}" for row in rows
        ),
        "orders": explicit["order of y^P"].tolist(),
        "slow_sizes": explicit["m_s"],
    }


def _numbers_of_table_2(r: Results) -> dict[str, Any]:
    def off(table: pd.DataFrame, words: str) -> float:
        return float((table[f"published pencil{words} [%]"] - table[f"paper{words} [%]"]).abs().max())

    table, both = r.table_2, ("", ", all y fast")
    published, published_y = (table[f"published pencil{words} [%]"] for words in both)
    radii, radii_y = (table[f"exact |z|{words}"] for words in both)
    return {
        "apart": off(table, both[0]),
        "apart_y": off(table, both[1]),
        "apart_transducers": max(off(r.transducers_table_2, words) for words in both),
        "one_step": 100 * abs(PRINTED_MODE) * table["h_fast [s]"] / 2,
        "ringdown": r.ringdowns.iloc[0].to_dict(),
        "told_apart": (published - published_y).abs().max(),
        "unstable": int((table["published |z|"] > 1.0).sum()),
        "published_radius": table["published |z|"].max(),
        "exact_radii": radii,
        "exact_radius": radii.max(),
        "exact_y_radii": radii_y,
        "exact_y_radius": radii_y.max(),
    }


def _ringdowns(table: pd.DataFrame) -> dict[str, Any]:
    exact, published = (table[f"{kind} off by"] for kind in ("exact", "published"))
    return {
        "exact_off": exact.max(),
        "published_off": published,
        "published_least_off": published.min(),
        "published_most_off": published.max(),
    }


def _appendix_b(setting: StudiedSystem) -> dict[str, float]:
    """Return how far appendix B is from BEM where every variable is fast and the solution is BEM."""
    h = 0.005
    A, one = setting.linear.state_matrix(), np.eye(setting.linear.n)
    steps = {"printed": one + h * A, "corrected": np.linalg.inv(one - h * A)}  # Z with b = 0, B with b* = h
    wanted = 1.0 / (1.0 - h * setting.mode)
    return {name: float(np.abs(np.linalg.eigvals(Z) - wanted).min()) for name, Z in steps.items()}


def _stability(r: Results) -> dict[str, Any]:
    rows: Any = r.critical.set_index(["partition", "predictor"])
    mode = r.settings.paper.mode
    fem, fem_y, bem_y = (
        {
            "step": row["critical h_fast [s]"],
            "first": row["first to go"],
            "run": [row[f"nonlinear run at {factor:g}"] for factor in (0.98, 1.02)],
            "pencil": [row[f"exact pencil at {factor:g}"] for factor in (0.98, 1.02)],
        }
        for row in (
            rows.loc[key] for key in (("delta = 20", "FEM"), (ALL_Y_FAST, "FEM"), (ALL_Y_FAST, "BEM"))
        )
    )
    steps = {name: (found["critical"]["FEM"], found["tm_limit"]) for name, found in r.sets.items()}
    radii = {(s.pencil, s.predictor, s.h_fast): s.report.spectral_radius for s in r.spectra}
    return {
        "fem": fem,
        "fem_y": fem_y,
        "bem_y": bem_y,
        "better": bem_y["step"] / fem_y["step"] - 1.0,
        "fem_macro_step": 10 * fem["step"],
        "set_steps": [f"{name} {h:.5f} s" if h < 1.0 else f"{name} none" for name, (h, _) in steps.items()],
        "set_limits": [
            f"{h:.4f} s ({name})" if h < WHATEVER else f"0.1 s, as far as was looked ({name})"
            for name, (_, h) in steps.items()
        ],
        "published_critical": r.published_critical,
        "published_radii": {predictor: radii["published", predictor, 0.008] for predictor in ("FEM", "TM")},
        "one_fast_step": -2.0 * mode.real / abs(mode) ** 2,
    }


def _published(r: Results) -> dict[str, Any]:
    """Return figures 3 to 6 by the published pencil, and on other partitions by the exact one."""
    ends = r.swing[r.swing["pencil"] == "published"].groupby(["predictor", "solution"])["relative [%]"].last()
    found = {f"{p}/{s}": float(ends[p, s]) for p, s in PAIRS}
    wide: Any = r.partitions.set_index("partition")
    others = [
        {"name": name, **{p: float(wide.loc[name, f"{p}/TM [%]"]) for p in ("BEM", "TM", "FEM")}}
        for name in OTHERS
    ]
    ratios = r.ratios.set_index("r")
    fem, shown = ratios["FEM exact [%]"], [2, 3, 4, 5, 6, 10, 20]
    return {
        "by_published": found,
        "twice_published": 2 * found["TM/TM"],
        "others": others,
        "others_in_words": "; ".join(
            f"{v['name']}: BEM/TM {v['BEM']:.2f}, TM/TM {v['TM']:.2f}, FEM/TM {v['FEM']:.2f} %"
            for v in others
        ),
        "fem_by_ratio": fem.loc[shown],
        "shown_ratios": shown,
        "published_ratio": ratios["FEM published [%]"].loc[[5, 6]].tolist(),
        "from_5_to_6": fem.loc[6] / fem.loc[5] - 1.0,
    }


def _interpolation(r: Results) -> dict[str, Any]:
    others = {name: table["spline / linear, rms"] for name, table in [*r.interpolations.items()][1:]}
    fast, far = r.transducer_errors, r.lag_law.set_index("r").loc["5":"8"]
    law, unexplained = far["from the law [pu]"], far["from r = 10 [pu]"]
    return {
        "other_systems": [{"name": name, "ratios": ratios} for name, ratios in others.items()],
        "other_systems_in_words": "; ".join(f"{name}: {span(ratios)}" for name, ratios in others.items()),
        "transducers": 1e3 * fast["linear, largest [pu]"],
        "by_lag": fast.sort_values("lag of a jump [s]")["linear, rms [pu]"][::-1],
        "law": law.max(),
        "unexplained": unexplained.max(),
        "law_over_unexplained": (law / unexplained).max(),
    }


def _residuals(panels: Any) -> dict[str, Any]:
    predictor, steps, kinds = panels
    largest = {curve.label: float(curve.value.max()) for curve in (*predictor, *steps)}
    t, value = kinds[0].t, kinds[0].value
    before, last = float(value[t < 1.0].max()), float(value[t > 9.0].max())
    first = float(value[(t > 2.0) & (t < 3.0)].max())
    return {
        "largest_residuals": largest,
        "late": {curve.label: float(np.median(curve.value[curve.t > 2.0])) for curve in kinds},
        "faded": last / first,
        "over_time": [before, last, first, largest["TM prediction"]],
        "by_step": [float(curve.value[curve.t > 2.0].max()) for curve in reversed(steps)],
    }


def _thresholds(r: Results) -> dict[str, Any]:
    bent = r.thresholds[1].set_index("delta [1/s]")["exact pencil [%]"]
    by, more = (table.set_index("delta [1/s]")["largest error [pu]"] for table in r.threshold_errors)
    references = r.reference_errors
    return {
        "over_single_rate": by[20.0] / by[np.inf],
        "converter_deltas": CONVERTER_THRESHOLDS,
        "converter_errors": [more[delta] for delta in CONVERTER_THRESHOLDS],
        "converters_bent": (bent[0.0], bent[np.inf]),
        "references": references,
        "reference_share": [references[0] / by[0.0], references[1] / more[0.0]],
    }
