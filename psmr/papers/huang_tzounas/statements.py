"""The statements of the case study as rules, evaluated on a system: one by one, and set by set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from psmr.papers.check import SHOWN, VISIBLE, Check, above, below, endless, exactly, rises, tends, within
from psmr.papers.finding import Finding
from psmr.papers.huang_tzounas.responses import interpolation, largest_errors, threshold_errors
from psmr.papers.huang_tzounas.setting import DELTA, PRINTED_MODE, Setting, dominant, percent
from psmr.papers.huang_tzounas.sweeps import RATIOS, STEP_PAIRS, THRESHOLDS, thresholds
from psmr.papers.huang_tzounas.tables import PAIRS, critical, table_2
from psmr.papers.reproduction import Results
from psmr.pencil.deformation.report import Deformation

Rules = Mapping[str, tuple[Check, ...]]

PRINTED = "half of the last printed digit"
HIGHEST = 0.02  # s: fast step up to which a critical one is looked for, four points in a period at ratio 10
WHATEVER = 0.1  # s: the same for what is said to be stable whatever the steps; the macro step is then 1 s
# What is fast at delta = 20 1/s by the paper: the voltages of the regulators, the field voltages.
FAST_STATES = frozenset(f"AVR{k}.{name}" for k in (1, 2, 3) for name in ("v_m", "v_a"))
FAST_ALGEBRAIC = frozenset(f"AVR{k}.v_f" for k in (1, 2, 3))
STABLE = 1.0 + 1e-9  # |z| up to which a scheme counts as stable: the zero modes have 1, rounded
SIGNIFICANT = 2.0  # times the damping
DOUBLED = "'significant', taken as more than double"
SWING = "1 % of the reference's swing, about the width of a printed line"


def statements(setting: Setting) -> Rules:
    """Return the rules of each statement of the paper's case study, by its place and words."""
    return {**_system(setting), **_table_2(setting), **_pencil(setting), **_runs(setting)}


def stated(r: Results, statement: str, paper: str, ours: str, why: str = "") -> Finding:
    """Return the finding on a statement, decided by its rules on the paper's system."""
    rules = next(iter(r.sets.values()))[statement]
    return Finding(statement[0].upper() + statement[1:], paper, ours, rules, why)


def verdicts(sets: Mapping[str, Rules]) -> pd.DataFrame:
    """Return which statement holds on which parameter set: a row a statement, and on how many it holds."""
    words = {"agrees": "holds", "differs": "no", "not decided": "not decided"}
    rows = []
    for name in next(iter(sets.values())):
        found = {key: words[Finding(name, name, "", rules[name]).verdict] for key, rules in sets.items()}
        count = sum(word == "holds" for word in found.values())
        rows.append(
            {
                "statement": name,
                **found,
                "on": "all" if count == len(found) else "none" if count == 0 else f"{count} of {len(found)}",
            }
        )
    return pd.DataFrame(rows)


def _system(setting: Setting) -> Rules:
    split, mode = setting.split, setting.mode
    fast_x = {name for name, fast in zip(split.names_x, split.fast_x, strict=True) if fast}
    fast_y = {name for name, fast in zip(split.names_y, split.fast_y, strict=True) if fast}
    return {
        "section 4: dominant mode": (
            within("real part in 1/s", mode.real, PRINTED_MODE.real, 5e-6, PRINTED),
            within("imaginary part in rad/s", mode.imag, PRINTED_MODE.imag, 5e-6, PRINTED),
        ),
        "section 4: 33 states": (exactly("states", setting.system.n, 33),),
        f"section 4: fast at delta = {DELTA:g} 1/s: AVR voltages, field voltages": (
            exactly("states beside v_m and v_a, or missing", len(fast_x ^ FAST_STATES), 0),
            exactly("algebraic variables beside v_f, or missing", len(fast_y ^ FAST_ALGEBRAIC), 0),
        ),
    }


def _table_2(setting: Setting) -> Rules:
    table = table_2(setting)
    printed = tuple(
        within(
            f"published pencil{words}, %",
            table[f"published pencil{words} [%]"],
            table[f"paper{words} [%]"],
            0.01,
            "what the two printed columns differ by where |s| h_f / 2 is the same: 2.10 and 2.09",
        )
        for words in ("", ", all y fast")
    )
    first = table["exact pencil [%]"].iloc[:3]
    pairs = table[["exact pencil [%]", "exact pencil, all y fast [%]"]]
    apart = (pairs.max(axis=1) / pairs.min(axis=1)).max()
    return {
        "table 2: figures, by the published pencil": printed,
        "table 2: the same at 1 ms for h_s = 5, 10, 50 ms, by the exact pencil": (
            within("exact pencil at 0.001 s, %", first, 0.42, 5e-3, PRINTED),
        ),
        "table 2: y by participation as accurate as all y fast, by the exact pencil": (
            below(
                "larger deformation over the smaller, at most", apart, 10.0, "'comparable': within a decade"
            ),
        ),
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


def _pencil(setting: Setting) -> Rules:
    def report(predictor: str, h_slow: float, h_fast: float) -> Deformation:
        return setting.deform(setting.scheme(predictor, "TM", h_fast, round(h_slow / h_fast)))

    pairs = {pair: [report(p, *pair) for p in ("FEM", "TM")] for pair in STEP_PAIRS}
    last = pairs[STEP_PAIRS[-1]]
    steps = {predictor: critical_step(setting, predictor) for predictor in ("FEM", "TM", "BEM")}
    radii = [tm.spectral_radius for _, tm in pairs.values()]
    radii += [report("TM", 0.05, 0.05 / r).spectral_radius for r in RATIOS]
    mode, change = setting.mode, bent(setting)
    tt, bt, tb, bb = (change[pair] for pair in PAIRS[1:])
    ratio = [percent(setting.deform(setting.scheme("FEM", "TM", 0.05 / r, r))) for r in (5, 6)]
    others = min(abs(value) for pair, value in change.items() if pair != ("BEM", "TM"))
    return {
        "figure 2: TM prediction more accurate than FEM": tuple(
            rises(
                f"deformation with TM and FEM prediction at {pair[0]:g} / {pair[1]:g} s, %",
                [percent(tm), percent(fem)],
            )
            for pair, (fem, tm) in pairs.items()
        ),
        "figure 2: FEM unstable, TM stable at 0.04 / 0.008 s": (
            above("|z| with FEM prediction", last[0].spectral_radius, STABLE, "stability: the zero modes"),
            within("|z| with TM prediction", last[1].spectral_radius, 1.0, 1e-9, "stability: the zero modes"),
        ),
        "figure 3a: FEM prediction's critical h_f 0.005 s": (
            within("critical h_f in s", steps["FEM"], 0.005, 5e-4, PRINTED),
        ),
        "section 4: TM prediction stable whatever the steps": (
            endless(
                "critical h_f in s, r = 10",
                critical_step(setting, "TM", WHATEVER),
                WHATEVER,
                "as far as it was looked for: a macro step of 1 s",
            ),
        ),
        "section 4: TM prediction stable at the steps of the paper's figures": (
            below("largest |z| at the steps of figures 2 and 6", max(radii), STABLE, "stability"),
            endless("critical h_f in s, r = 10", steps["TM"], 0.005, "the largest of figures 3 to 10"),
        ),
        "section 1.2: implicit predictors more stable than explicit": (
            rises("critical h_f in s, FEM and TM prediction", [steps["FEM"], steps["TM"]]),
            rises("critical h_f in s, FEM and BEM prediction", [steps["FEM"], steps["BEM"]]),
        ),
        "figures 3b, 4b: TM/TM underdamps": (
            rises("real part in 1/s, system and TM/TM", [mode.real, mode.real + tt.real * abs(mode)]),
        ),
        "figures 3b, 4b: BEM prediction mitigates it": (
            rises(
                "change of the real part with BEM and TM prediction, % of |s|", [100 * bt.real, 100 * tt.real]
            ),
            rises("its size, %", [100 * abs(bt.real), 100 * abs(tt.real)]),
        ),
        "figures 3c, 4c: BEM/BEM overdamps significantly": (
            above("damping over the system's", 1.0 + bb.real * abs(mode) / mode.real, SIGNIFICANT, DOUBLED),
        ),
        "figures 3c, 4c: TM prediction mitigates it": (
            rises(
                "change of the real part with BEM and TM prediction, % of |s|", [100 * bb.real, 100 * tb.real]
            ),
            rises("its size with TM and BEM prediction, %", [100 * abs(tb.real), 100 * abs(bb.real)]),
        ),
        "figure 5b: TM solution: imaginary part moves more with TM than BEM prediction": (
            rises("BEM and TM prediction, %", [abs(100 * bt.imag), abs(100 * tt.imag)]),
        ),
        "figure 5c: BEM solution: it moves less with BEM than TM prediction": (
            rises("BEM and TM prediction, %", [abs(100 * bb.imag), abs(100 * tb.imag)]),
        ),
        "figures 3 to 5: BEM/TM the most accurate": (
            rises("BEM/TM and the next best, %", [100 * abs(bt), 100 * others]),
        ),
        "figure 6: FEM prediction: worse at r = 6 than at 5": (
            rises("deformation at r = 5 and 6, %", ratio),
        ),
    }


def _runs(setting: Setting) -> Rules:
    errors = largest_errors(setting)
    left: dict[Any, float] = errors.set_index(["events", "scheme"])["swing left, of the reference"].to_dict()
    found: dict[str, tuple[Check, ...]] = {}
    for figures, events in (((7, 8), "load trip"), ((9, 10), "fault")):
        bt, tt, bb, tb = (
            left[events, f"{p} prediction, {s} solution"] for s in ("TM", "BEM") for p in ("BEM", "TM")
        )
        found |= {
            f"figure {figures[0]}: {events}: TM/TM underdamps": (
                above("swing left of the reference's, TM/TM", tt, 1.0, SWING, VISIBLE),
            ),
            f"figure {figures[0]}: {events}: BEM prediction mitigates it": (
                rises("swing left with BEM and TM prediction", [bt, tt], SWING, VISIBLE),
                rises("its distance from the reference's", [abs(bt - 1.0), abs(tt - 1.0)], SWING, VISIBLE),
            ),
            f"figure {figures[1]}: {events}: BEM/BEM overdamps significantly": (
                below("swing left of the reference's", bb, 0.5, "'significant': less than half is left"),
            ),
            f"figure {figures[1]}: {events}: TM prediction mitigates it": (
                rises("swing left with BEM and TM prediction", [bb, tb], SWING, VISIBLE),
                rises(
                    "its distance from the reference's with TM and BEM prediction",
                    [abs(tb - 1.0), abs(bb - 1.0)],
                    SWING,
                    VISIBLE,
                ),
            ),
        }
    table = interpolation(setting, DELTA, 0.05)
    linear, spline = table["linear, largest [pu]"], table["spline, largest [pu]"]
    bends = thresholds(setting, THRESHOLDS)["exact pencil [%]"]
    after = threshold_errors(setting, THRESHOLDS)["largest error [pu]"].iloc[: len(THRESHOLDS)]
    return found | {
        "figure 11a: errors irregular over r with linear interpolation": (
            above("turns of the largest error over r", turns(linear), 0, TURNS),
        ),
        "figure 11b: regular with the spline": (
            exactly("turns of the largest error over r", turns(spline), 0, TURNS),
        ),
        "figure 11: spline errors smaller in all cases": (
            below(
                "largest error, spline over linear",
                table["spline / linear, largest"],
                1.0,
                SHOWN,
                share=VISIBLE,
            ),
        ),
        "figure 13a: deformation least at delta = 0, and tends to grow with it": (
            rises("deformation at delta = 0, and least beyond, %", [bends[0], bends[1:].min()]),
            *tends(f"deformation, {_swept()}, %", bends),
        ),
        "figure 13b: error after the fault tends to grow with delta": tends(
            f"largest error, {_swept()}, pu", after
        ),
    }


TURNS = "'irregular': up and down by more than 1 % of the largest"


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


def _swept() -> str:
    return f"delta = {', '.join(f'{delta:g}' for delta in THRESHOLDS)} 1/s"
