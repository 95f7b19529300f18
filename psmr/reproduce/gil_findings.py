"""What Gil, Sanfelice and Nikravesh state, claim by claim, beside what came out here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psmr.reproduce import gil_formulas as formulas
from psmr.reproduce.reproduction import Finding
from psmr.reproduce.systems import pendulum

if TYPE_CHECKING:
    from psmr.reproduce.gil_pendulum import PendulumRuns


def findings(
    limits: pd.DataFrame, errors: pd.DataFrame, slopes: pd.DataFrame, runs: PendulumRuns
) -> tuple[Finding, ...]:
    """Return every finding, in the order of the paper."""
    return (*_misprints(limits, runs), *_stability(limits), *_accuracy(errors, slopes), *_pendulum(runs))


def spread(limits: pd.DataFrame) -> float:
    """Return by which fraction the algorithm's limit differs between α = 10, 100 and 1000, at most."""
    rows = limits[(limits["formula"] == "algorithm") & (limits["beta"] == 0.1)].filter(like="deg")
    return float(((rows.max() - rows.min()) / rows.min()).max())


def formula_gaps(count: int = 200) -> dict[str, float]:
    """Return the largest difference of each printed matrix from the algorithm, over random α, β and ξ."""
    rng = np.random.default_rng(0)
    gaps = dict.fromkeys(("(55), (56)", "(55), (56), M12 corrected", "(57), M12 corrected"), 0.0)
    for _ in range(count):
        alpha, beta = 10 ** rng.uniform(0.3, 3), rng.uniform(0, 0.9)
        xi = -rng.uniform(0.05, 2.5) + 1j * rng.uniform(-2, 2)
        M = formulas.algorithm(alpha, beta, xi)
        for words, other in (
            ("(55), (56)", formulas.printed_55_56(alpha, beta, xi)),
            ("(55), (56), M12 corrected", formulas.printed_55_56(alpha, beta, xi, corrected=True)),
            ("(57), M12 corrected", formulas.printed_57(alpha, beta, xi, corrected=True)),
        ):
            gaps[words] = max(gaps[words], float(np.abs(M - other).max()))
    return gaps


def _at(limits: pd.DataFrame, alpha: float, beta: float) -> float:
    """Return the limit on the negative real axis."""
    return float(limits["180 deg"].to_dict()[(alpha, beta)])


def _misprints(limits: pd.DataFrame, runs: PendulumRuns) -> tuple[Finding, ...]:
    gaps = formula_gaps()
    ours = np.abs(runs.energy_error(runs.ours)).max()
    printed = limits[limits["formula"] == "(55), (56) as printed"].set_index(["alpha", "beta"])
    return (
        Finding(
            "H(x) in step 2",
            "y_n - g_y^-1 (g_x (x - x_n) + g(x_n, y_n))",
            "z_n - g_z^-1 (g_x (x - x_n) + g(x_n, z_n))",
            "misprint",
            "Equation (22) has z at the start of the step (η) and g_z; y is the distance from H and has no "
            "g_y.",
        ),
        Finding(
            "block matrix (47)",
            "[A B C; 0 0 1; 0 0 0]",
            "[A C B; 0 0 1; 0 0 0]",
            "misprint",
            "The corner of the exponential multiplies the middle block by s, and (39) makes C the slope and "
            "B the constant. "
            f"As printed, the pendulum's energy is off by up to {runs.printed_energy:.3g} J, corrected by "
            f"{ours:.2g} J; "
            "the stability limits are the same to three digits, so that only an accuracy test finds it.",
        ),
        Finding(
            "first term of M12 in (55) and (57)",
            "β (e^{αξ} - 1)",
            "(β/α) (e^{αξ} - 1)",
            "misprint",
            f"The corrected (55), (56) equal the algorithm to {gaps['(55), (56), M12 corrected']:.1e} on "
            "200 random "
            f"(α, β, ξ); as printed they differ by up to {gaps['(55), (56)']:.2g} and the region is empty "
            "at α = 1000 "
            f"(limit {_at(printed, 1000, 0.1):.2g} on the negative axis), against figure 2.",
        ),
        Finding(
            "M21, M22: (56) or (57)",
            "two different pairs",
            "(56) is the algorithm",
            "differs",
            "(57) takes y from (31), (32), without the coupling in A of step 3; with M12 corrected it "
            "differs from the "
            f"algorithm by up to {gaps['(57), M12 corrected']:.2g}.",
        ),
        Finding(
            "equation (66), rows",
            "z' = {-(k/m2) (r2 - (r1 + s)) - g}",
            "z' = {r2'; -(k/m2) (r2 - (r1 + s)) + g}",
            "misprint",
            "z has r2 and r2' (65), so two rows are needed; by (63b) with f2 = m2 g - f_s gravity enters "
            "with +. With the "
            f"printed sign the energy (68) changes by {runs.flipped_energy:.2g} J along an exact solution.",
        ),
        Finding(
            "equation (67)",
            "r2 = r1 + s - (m2/k) g",
            "r2 = r1 + s + (m2/k) g",
            "misprint",
            "The printed point leaves an acceleration of 2 g in (63b): the particle would rest above the "
            "end of the bar.",
        ),
        Finding(
            "fast eigenvalue of the pendulum",
            "λ_f ≈ (k/m2) i = 5e5 i, ξ = h λ_f ≈ 2.5e3 i",
            f"λ_f = i sqrt(k/m2) = {np.sqrt(5.0 / 1e-5):.4g} i, ξ = {0.005 * np.sqrt(5.0 / 1e-5):.3g} i",
            "misprint",
            "r2'' = -(k/m2) r2 has the frequency sqrt(k/m2). The conclusion stands: RK4 ends at 2.83 i.",
        ),
    )


def _stability(limits: pd.DataFrame) -> tuple[Finding, ...]:
    ours = limits[limits["formula"] == "algorithm"].set_index(["alpha", "beta"])
    rk4 = limits[limits["formula"] == "RK4, (49)"]["180 deg"].iloc[0]
    negative = ", ".join(f"{_at(ours, a, 0.1):.3f}" for a in (10, 100, 1000))
    coupled = ", ".join(f"{_at(ours, 10, b):.3f}" for b in (0.0, 0.1, 0.3, 0.5))
    return (
        Finding(
            "stability and the ratio α of the scales (figure 2)",
            "the region does not change much with α",
            f"limit on the negative axis {negative} for α = 10, 100, 1000 (β = 0.1); on five rays within "
            f"{100 * spread(limits):.2g} %",
            "agrees",
        ),
        Finding(
            "stability without coupling",
            "for β = 0 that of RK4 in the left half plane (59)",
            f"{_at(ours, 10, 0.0):.3f} against {rk4:.3f} of RK4 on the negative axis",
            "agrees",
        ),
        Finding(
            "stability and the coupling β (figure 3)",
            "changes slightly as β increases",
            f"limit on the negative axis {coupled} for β = 0, 0.1, 0.3, 0.5 (α = 10)",
            "agrees",
            "It is RK4's limit for (1 - β^2) λ_s, the eigenvalue on the slow manifold: 1/(1 - β^2) of "
            "RK4's, so it grows.",
        ),
    )


def _accuracy(errors: pd.DataFrame, slopes: pd.DataFrame) -> tuple[Finding, ...]:
    small = slopes["x, scheme, alpha |xi| < 0.03"]
    large = slopes.set_index(["alpha", "beta"])["x, scheme, alpha |xi| > 30"].to_dict()[(1000, 0.1)]
    largest = errors[(errors["beta"] == 0.1) & np.isclose(errors["h"], 0.1)].set_index("alpha")["x, scheme"]
    return (
        Finding(
            "order of accuracy (figures 4 and 5)",
            "one",
            f"local error of slope {small.min():.2f} to {small.max():.2f} while α|ξ| << 1, and of slope "
            f"{large:.2f} beyond "
            "(α = 1000)",
            "agrees",
            "A local error of slope 2 is order one. Beyond the fast time scale the slope is 1, but the "
            "factor falls as 1/α.",
        ),
        Finding(
            "local error and α",
            "does not depend on α",
            "at h = 0.1 s and β = 0.1: "
            + ", ".join(f"{largest[a]:.1e} for α = {a}" for a in (10, 100, 1000)),
            "differs",
            "It does not while α|ξ| << 1; at larger steps it falls with α, which is better than claimed.",
        ),
    )


def _pendulum(runs: PendulumRuns) -> tuple[Finding, ...]:
    size = np.abs(runs.rk4).max(axis=1)
    passed = runs.rk4_t[np.argmax(size > 1e6)] if (size > 1e6).any() else np.inf
    ours = np.abs(runs.energy_error(runs.ours)).max()
    rk45 = np.abs(runs.energy_error(runs.ode45)).max()
    angle = runs.angle_error(runs.ours)
    scheme, ode45 = runs.evaluations["slow manifold"], runs.evaluations["RK45 (ode45)"]
    return (
        Finding(
            "RK4 with h = 0.005 s (figure 7)",
            "unstable",
            f"the largest state passes 1e6 at t = {passed:.3f} s",
            "agrees",
            "Eigenvalue 707 i of the particle: h λ_f = 3.54 i is outside RK4's region.",
        ),
        Finding(
            "the scheme with h = 0.005 s (figure 7)",
            "stable, and as ode45",
            f"angle within {angle:.1e} rad of a solution at tolerance 1e-11, over 5 s",
            "agrees",
            f"θ(0) = π/4, at rest, spring without force: E(0) = {pendulum.energy(runs.ours[0]):.1f} J. The "
            "particle's "
            "period of 8.9 ms has 1.8 steps.",
        ),
        Finding(
            "energy (figure 8)",
            "comparable with ode45",
            f"within {ours:.1e} J, RK45 at its default tolerances within {rk45:.2g} J",
            "agrees",
        ),
        Finding(
            "cost (figure 7)",
            "about 60 % of the computing time of ode45",
            f"{scheme} derivatives and {runs.linearisations['step']} linearisations against {ode45} "
            "derivatives of RK45: "
            f"{100 * scheme / ode45:.0f} % of the derivatives",
            "agrees" if 0.4 < scheme / ode45 < 0.8 else "differs",
            "Work is compared, since times are those of two languages and another machine. Keeping the "
            "linearisation "
            f"({runs.linearisations['kept']} in place of {runs.linearisations['step']}) costs little: "
            "energy within "
            f"{np.abs(runs.energy_error(runs.kept)).max():.1e} J.",
        ),
    )
