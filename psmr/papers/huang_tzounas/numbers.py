"""The numbers that the claims of Huang and Tzounas' case study are about, from tables, sweeps and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.huang_tzounas.setting import PRINTED_MODE, Setting
from psmr.papers.huang_tzounas.statements import WHATEVER, span
from psmr.papers.huang_tzounas.sweeps import CONVERTER_THRESHOLDS
from psmr.papers.huang_tzounas.tables import PAIRS
from psmr.papers.reproduction import Results

ALL_Y_FAST = "delta = 20, all y fast"
OTHERS = ("delta = 7", "delta = 5", ALL_Y_FAST)


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``; of the statements those on the paper's system."""
    return {
        **next(iter(r.sets.values())),
        "zeta": 100 * -PRINTED_MODE.real / abs(PRINTED_MODE),
        "algebraic": r.settings.paper.system.m,
        **_table_1(r.table_1),
        **_table_2(r),
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


def _table_2(r: Results) -> dict[str, Any]:
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


def _appendix_b(setting: Setting) -> dict[str, float]:
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
