"""What Gil, Sanfelice and Nikravesh state, claim by claim, beside what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psmr.papers.check import below, rises, within
from psmr.papers.finding import Finding, placed
from psmr.papers.gil_sanfelice_nikravesh import misprints
from psmr.papers.gil_sanfelice_nikravesh.pendulum import T_END, H

if TYPE_CHECKING:
    from psmr.papers.gil_sanfelice_nikravesh.pendulum import PendulumRuns

DECADE = 10.0
COMPARABLE = "RK45's at its default tolerances, a decade allowed: 'comparable'"
SLOPE = "0.2: what the tests of every scheme's order allow"


REGIONS = "Stability regions (figures 1 to 3)"
ERRORS = "Local error (figures 4 and 5)"
PENDULUM = "Pendulum with particle (figures 7 and 8)"
# Beginning of a claim -> the figure or table that shows it.
PLACES = {
    "H(x)": ERRORS,
    "block matrix": PENDULUM,
    "first term": REGIONS,
    "M21": REGIONS,
    "equation": PENDULUM,
    "fast eigenvalue": PENDULUM,
    "stability": REGIONS,
    "order of accuracy": ERRORS,
    "local error": ERRORS,
    "RK4": PENDULUM,
    "the scheme": PENDULUM,
    "start": PENDULUM,
    "energy": PENDULUM,
    "cost": f"Pendulum, h = {H:g} s, {T_END:g} s",
}


def findings(
    limits: pd.DataFrame, errors: pd.DataFrame, slopes: pd.DataFrame, runs: PendulumRuns
) -> tuple[Finding, ...]:
    """Return every finding, in the order of the paper."""
    found = (
        *misprints.findings(limits, runs),
        *_stability(limits),
        *_accuracy(errors, slopes),
        *_pendulum(runs),
        *_cost(runs),
    )
    return placed(found, PLACES)


def spread(limits: pd.DataFrame) -> float:
    """Return by which fraction the algorithm's limit differs between α = 10, 100 and 1000, at most."""
    rows = limits[(limits["formula"] == "algorithm") & (limits["beta"] == 0.1)].filter(like="deg")
    return float(((rows.max() - rows.min()) / rows.min()).max())


def _stability(limits: pd.DataFrame) -> tuple[Finding, ...]:
    ours = limits[limits["formula"] == "algorithm"].set_index(["alpha", "beta"])
    at = ours["180 deg"].to_dict()
    rk4 = float(limits[limits["formula"] == "RK4, (49)"]["180 deg"].iloc[0])
    alone = [at[a, 0.1] for a in (10, 100, 1000)]
    betas = (0.0, 0.1, 0.3, 0.5)
    coupled = [at[10, b] for b in betas]
    corrected = np.array([(1 - b**2) * v for b, v in zip(betas, coupled, strict=True)])
    return (
        Finding(
            "stability and the ratio α of the scales (figure 2)",
            "the region does not change much with α",
            f"limit on the negative axis {', '.join(f'{v:.3f}' for v in alone)} for α = 10, 100, 1000 (β = "
            f"0.1); on five rays within {100 * spread(limits):.2g} %",
            (
                below(
                    "spread of the limit over α on five rays",
                    spread(limits),
                    0.01,
                    "a hundredth: the lines of the printed figure lie on one another",
                ),
            ),
        ),
        Finding(
            "stability without coupling",
            "for β = 0 that of RK4 in the left half plane (59)",
            f"{at[10, 0.0]:.3f} against {rk4:.3f} of RK4 on the negative axis",
            (
                within(
                    "limit on the negative axis, β = 0",
                    at[10, 0.0],
                    rk4,
                    1e-6,
                    "the table's rounding to six digits",
                ),
            ),
        ),
        Finding(
            "stability and the coupling β (figure 3)",
            "changes slightly as β increases",
            f"limit on the negative axis {', '.join(f'{v:.3f}' for v in coupled)} for β = 0, 0.1, 0.3, 0.5 "
            "(α = 10)",
            (
                rises("limit at β = 0 and 0.5", [coupled[0], coupled[-1]]),
                within("limit at β = 0.1 over that at 0", coupled[1] / coupled[0], 1.0, 0.05, "'slightly'"),
            ),
            "It grows as 1/(1 - β²), nearly: the region is RK4's for (1 - β²) λ_s, the eigenvalue on the "
            f"slow manifold. (1 - β²) times the limit is {corrected.min():.3f} to {corrected.max():.3f}.",
        ),
    )


def _accuracy(errors: pd.DataFrame, slopes: pd.DataFrame) -> tuple[Finding, ...]:
    small = slopes["x, scheme, alpha |xi| < 0.03"].dropna()
    large = slopes.set_index(["alpha", "beta"])["x, scheme, alpha |xi| > 30"].to_dict()[(1000, 0.1)]
    rows = errors[(errors["beta"] == 0.1)]
    by = [
        rows[np.isclose(rows["h"], h)].set_index("alpha")["x, scheme"].loc[[10, 100, 1000]]
        for h in (1e-5, 0.1)
    ]
    return (
        Finding(
            "order of accuracy (figures 4 and 5)",
            "one",
            f"local error of slope {small.min():.2f} to {small.max():.2f} while α|ξ| << 1, and of slope "
            f"{large:.2f} beyond (α = 1000)",
            (within("slope of the local error while α|ξ| << 1", small, 2.0, 0.2, SLOPE),),
            "A local error of slope 2 is order one. Beyond the fast time scale the slope is 1, but the "
            "factor falls as 1/α.",
        ),
        Finding(
            "local error and α",
            "does not depend on α",
            f"at h = 0.1 s and β = 0.1: {', '.join(f'{v:.1e}' for v in by[1])} for α = 10, 100, 1000; at "
            f"1e-5 s: {', '.join(f'{v:.1e}' for v in by[0])}",
            (
                within(
                    "local error at h = 0.1 s over that at α = 10",
                    by[1] / by[1].iloc[0],
                    1.0,
                    0.05,
                    "lines that a printed figure does not tell apart",
                ),
            ),
            "It does not while α|ξ| << 1; at larger steps it falls with α, which is better than claimed.",
        ),
    )


def _pendulum(runs: PendulumRuns) -> tuple[Finding, ...]:
    largest = np.abs(runs.rk4).max(axis=1)
    passed = runs.rk4_t[np.argmax(largest > 1e6)] if (largest > 1e6).any() else np.inf
    ours = float(np.abs(runs.energy_error(runs.ours)).max())
    rk45 = float(np.abs(runs.energy_error(runs.ode45)).max())
    angle = runs.angle_error(runs.ours)
    swing = float(np.ptp(runs.reference[:, 0]))
    start = float(runs.ours[0, 2])
    return (
        Finding(
            "RK4 with h = 0.005 s (figure 7)",
            "unstable",
            f"the largest state passes 1e6 at t = {passed:.3f} s",
            (below("time in s at which the largest state passes 1e6", passed, T_END, "end of figure 7"),),
            "Eigenvalue 707 i of the particle: h λ_f = 3.54 i is outside RK4's region.",
        ),
        Finding(
            "the scheme with h = 0.005 s (figure 7)",
            "stable, and as ode45",
            f"angle within {angle:.1e} rad of a solution at tolerance 1e-11, over 5 s",
            (
                below(
                    "largest error of the angle over its swing",
                    angle / swing,
                    1e-3,
                    "relative tolerance at which ode45 runs unless told otherwise",
                ),
            ),
            "The particle's period of 8.9 ms has 1.8 steps.",
        ),
        Finding(
            "start of the pendulum (figure 7)",
            "not in the text; read off the printed figure's axes",
            f"θ(0) = {start:.4f} rad = π/4, at rest, spring without force: assumed",
            (
                within(
                    "θ(0) in rad that the text gives",
                    np.nan,
                    start,
                    0.0,
                    "the text gives none: nothing to decide by",
                ),
            ),
            "The verdicts on the pendulum rest on this assumption. Other starts: RK45 needs "
            + ", ".join(f"{n:,} derivatives from {a:.2f} rad" for a, n in runs.other_starts.items())
            + ".",
        ),
        Finding(
            "energy (figure 8)",
            "comparable with ode45",
            f"within {ours:.1e} J, RK45 at its default tolerances within {rk45:.2g} J",
            (below("largest error of the energy in J", ours, DECADE * rk45, COMPARABLE),),
        ),
    )


def _cost(runs: PendulumRuns) -> tuple[Finding, ...]:
    scheme, ode45 = runs.evaluations["slow manifold"], runs.evaluations["RK45 (ode45)"]
    made = runs.linearisations["step"]
    full = runs.evaluations["slow manifold, Jacobians by differences"]
    kept = float(np.abs(runs.energy_error(runs.kept)).max())
    bound = "0.05: 'about 60 %' to half of its last digit"
    return (
        Finding(
            "cost (figure 7): derivatives",
            "about 60 % of the computing time of ode45",
            f"{scheme:,} derivatives against {ode45:,} of RK45: {100 * scheme / ode45:.0f} %; with {made:,} "
            f"Jacobians by differences {full:,}: {100 * full / ode45:.0f} %",
            (
                within(
                    "derivatives over those of RK45, without and with Jacobians by differences",
                    [scheme / ode45, full / ode45],
                    0.6,
                    0.05,
                    bound,
                ),
            ),
            f"Counted over {T_END:g} s with h = {H:g} s. Two matrix exponentials a linearisation come on "
            f"top, {2 * made:,} in all.",
        ),
        Finding(
            "cost (figure 7): time, matrix exponentials included",
            "about 60 % of the computing time of ode45",
            f"{100 * runs.time_ratio:.0f} % with both in Python (numpy and scipy), medians of five runs",
            (within("time over that of RK45", runs.time_ratio, 0.6, 0.05, bound),),
            "A ratio of one machine and one language; it moves with both. Keeping the linearisation "
            f"({runs.linearisations['kept']} in place of {made:,}) takes nearly all of the exponentials away "
            f"and holds the energy within {kept:.1e} J.",
        ),
    )
