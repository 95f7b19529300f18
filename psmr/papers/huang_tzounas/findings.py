"""What the paper states, claim by claim, beside what came out here: system, tables, and all together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from psmr.papers.check import Check, below, exactly, printed, within
from psmr.papers.finding import Finding, placed
from psmr.papers.huang_tzounas.findings_pencil import prediction, published, ratio, swing
from psmr.papers.huang_tzounas.findings_runs import interpolation, residual, responses, threshold
from psmr.papers.huang_tzounas.results import Results, stated
from psmr.papers.huang_tzounas.setting import DELTA, PRINTED_MODE, Setting


def findings(results: Results, places: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return a finding for each claim of the paper's case study, in the order of the paper.

    `places` has the title of the figure or table that shows it by the beginning of a claim.
    """
    found = (
        *_system(results),
        *_tables(results),
        *prediction(results),
        *swing(results),
        *published(results),
        *ratio(results),
        *responses(results),
        *interpolation(results),
        residual(results),
        *threshold(results),
    )
    return placed(found, places)


def _system(results: Results) -> tuple[Finding, ...]:
    setting = results.settings.paper
    mode, split, system = setting.mode, setting.split, setting.system
    sides = ((split.names_x, split.fast_x), (split.names_y, split.fast_y))
    fast = [name for names, side in sides for name, chosen in zip(names, side, strict=True) if chosen]
    zeta = 100 * -PRINTED_MODE.real / abs(PRINTED_MODE)
    return (
        stated(
            results,
            "section 4: dominant mode",
            "-0.19561 ± j8.37291, local oscillation of the machine at bus 2",
            f"{mode.real:.5f} ± j{mode.imag:.5f}",
            "Governors, stabilisers, exciters and loads are not in the paper; ours were chosen to give this "
            "mode.",
        ),
        Finding(
            "Damping ratio of that mode (section 4)",
            "2.79 %",
            f"{zeta:.2f} % from the printed eigenvalue",
            (printed("damping ratio of the printed eigenvalue, %", zeta, "2.79"),),
            "0.19561 / |-0.19561 + j8.37291| = 0.02336.",
            corrected=(printed("damping ratio of the printed eigenvalue, %", zeta, "2.34"),),
        ),
        stated(results, "section 4: 33 states", "33 states", f"{system.n} states"),
        Finding(
            "Size of the model (section 4): algebraic variables",
            "64",
            f"{system.m}",
            (exactly("algebraic variables", system.m, 64),),
            "Ours: real and imaginary part of nine voltages, and i_d, i_q, v_f, t_m, v_s of each machine. 64 "
            "less the 18 voltages is 46, not a multiple of three: Dome counts auxiliary variables that the "
            "paper does not list, at least one of the whole system.",
        ),
        stated(
            results,
            f"section 4: fast at delta = {DELTA:g} 1/s: AVR voltages, field voltages",
            "the states of the AVR voltages, and the field voltages, which are algebraic",
            f"fast: {', '.join(fast)}",
            "v_m is the transducer's voltage, v_a the regulator's, v_f the field's.",
        ),
    )


def _tables(results: Results) -> tuple[Finding, ...]:
    t1, t2 = results.table_1, results.table_2
    columns = ["factorisations n+m", "factorisations y^P", "factorisations n_f+m_f", "factorisations n_s+m_s"]
    counted = t1.iloc[:3][columns].to_numpy()
    lists = "; ".join(
        f"{name}: {', '.join(f'{v:g}' for v in row)}"
        for name, row in zip(t1.iloc[:3]["scheme"], counted, strict=True)
    )
    r, spread = 10, t2["published pencil [%]"]
    row = results.ringdowns.iloc[0]
    size = abs(PRINTED_MODE)
    off = [float((t2[f"paper{w} [%]"] - t2[f"published pencil{w} [%]"]).abs().max()) for w in WORDS]
    return (
        Finding(
            "Table 1: factorisations per macro step (orders n+m, prediction of y, n_f+m_f, n_s+m_s)",
            "single rate r, 0, 0, 0; explicit predictor 0, 1, r, 1; implicit predictor 1, 0, r, 1",
            f"counted, r = 10: {lists}",
            tuple(
                exactly(f"factorisations, {name}", row, wanted)
                for name, row, wanted in zip(
                    t1["scheme"], counted, ((r, 0, 0, 0), (0, 1, r, 1), (1, 0, r, 1)), strict=False
                )
            ),
        ),
        Finding(
            "Table 1: order of the matrix that predicts y after an explicit step",
            "m_s",
            f"m = {int(t1.iloc[1]['order of y^P'])}, also where every y is fast (m_s = 0)",
            (exactly("order", t1.iloc[[1, 3]]["order of y^P"], t1.iloc[[1, 3]]["m_s"]),),
            "Equation (19) solves all of g for y^P, which is a matrix of order m; we follow (19).",
        ),
        stated(
            results,
            "table 2: figures, by the published pencil",
            "0.42, 0.42, 0.42, 0.84, 1.68, 2.10 %; all y fast 0.42, 0.42, 0.42, 0.838, 1.68, 2.09 %",
            f"published pencil: {_list(spread)} %; largest differences {off[0]:.3f} and {off[1]:.3f} points; "
            f"with exciters of type 1 {results.transducers_table_2:.3f} points",
            "The printed figures are |s| h_f / 2, "
            f"{', '.join(f'{100 * size * h / 2:.3f}' for h in t2['h_fast [s]'])} %: one explicit fast step. "
            "What the controls add to it is ours.",
        ),
        stated(
            results,
            "table 2: the same at 1 ms for h_s = 5, 10, 50 ms, by the exact pencil",
            "0.42 % for all three",
            f"exact pencil: {_list(t2['exact pencil [%]'].iloc[:3])} %",
            f"At 0.001 / 0.05 s the nonlinear ringdown shows {row['nonlinear run']}, the exact pencil "
            f"{row['exact pencil']} (off by {row['exact off by']:.1e}), the published one "
            f"{row['published pencil']} (off by {100 * row['published off by']:.2g} %).",
        ),
        Finding(
            "Nonlinear ringdowns after a kick along the mode",
            "'consistent with the conclusions obtained from the matrix pencil'",
            f"eight schemes: exact pencil off by up to {results.ringdowns['exact off by'].max():.1e}, "
            f"published by {results.ringdowns['published off by'].min():.1e} to "
            f"{results.ringdowns['published off by'].max():.1e}",
            (
                below(
                    "published pencil off by, of |s|",
                    results.ringdowns["published off by"],
                    1e-3,
                    "a thousandth: what the kick of 1e-3 leaves of the nonlinear terms, and the fit",
                ),
            ),
            "The exact pencil is consistent with them. Where it is off by more than 1e-6 the mode is damped "
            "out within the 8 s, and the fit has less to hold on to.",
        ),
        Finding(
            "Stability of the schemes of Table 2",
            "not mentioned",
            f"published pencil: {int((t2['published |z|'] > 1.0).sum())} of 6 rows have |z| > 1, up to "
            f"{t2['published |z|'].max():.2f}; exact pencil: up to {t2['exact |z|'].max():.3f}, with all y "
            f"fast {t2['exact |z|, all y fast'].max():.3f}",
            (
                below("|z| by the exact pencil", t2["exact |z|"], 1.0 + 1e-9, "stability"),
                below("|z|, all y fast", t2["exact |z|, all y fast"], 1.0 + 1e-9, "stability"),
            ),
            "In the published stacking y_t and y_t+hs overlap by r - 1 points and nothing ties the shared "
            "ones.",
        ),
        _appendix(results.settings.paper),
        stated(
            results,
            "table 2: y by participation as accurate as all y fast, by the exact pencil",
            "accuracy comparable",
            f"exact: {_list(t2['exact pencil [%]'])} against {_list(t2['exact pencil, all y fast [%]'])} %",
            "By participation the steps up to 10 ms are bent less, and the others more: with FEM prediction "
            "of the rotor angles either reads predicted values. The published pencil tells the two apart by "
            f"{(t2['published pencil [%]'] - t2['published pencil, all y fast [%]']).abs().max():.0e} "
            "points.",
        ),
    )


WORDS = ("", ", all y fast")


def _appendix(setting: Setting) -> Finding:
    """Return the finding on appendix B: with every variable fast and BEM solution a step must be BEM's."""
    h = 0.005
    A = setting.linear.state_matrix()
    printed_step = np.eye(len(A)) + h * A  # Z with b = 0, B with b* = h
    corrected_step = np.linalg.inv(np.eye(len(A)) - h * A)
    wanted = 1.0 / (1.0 - h * setting.mode)

    def rule(step: np.ndarray) -> Check:
        values = np.linalg.eigvals(step)
        distance = float(np.abs(values - wanted).min())
        words = "distance of the mode's multiplier from 1/(1 - h s), BEM solution, all fast, h_f = 0.005 s"
        return within(words, distance, 0.0, 1e-9, "rounding")

    return Finding(
        "Appendix B: the printed matrices",
        "Z_i with b and B_i with b*, Z_r with c and C_r with c*; + C_i in B_i; i/r on one block of B_i only",
        "b and b*, c and c* exchanged; no C_i in B_i; i/r on all its slow rows",
        (rule(printed_step),),
        "(B.3) and (B.4) have b* and c* at the new point, which is what Z multiplies: as printed a BEM "
        "solution would be forward Euler's. (20) gives i/r.",
        corrected=(rule(corrected_step),),
    )


def _list(values: pd.Series) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
