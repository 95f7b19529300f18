"""What Gil, Sanfelice and Nikravesh state, claim by claim, and what came out here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from psmr.papers.check import Check, above, below, rises, within
from psmr.papers.finding import Finding, shown_in
from psmr.papers.gil_sanfelice_nikravesh import formulas, pendulum
from psmr.papers.gil_sanfelice_nikravesh import linear_two_scales as two_scales
from psmr.papers.gil_sanfelice_nikravesh.runs import T_END, H, PendulumRuns
from psmr.papers.reproduction import Results

REGIONS, ERRORS = "Stability regions (figures 1 to 3)", "Local error (figures 4 and 5)"
PENDULUM, COST = "Pendulum with particle (figures 7 and 8)", f"Pendulum, h = {H:g} s, {T_END:g} s"

MASS, STIFFNESS = 1e-5, 5.0  # kg, N/m: the paper's particle
DECADE = 10.0
COMPARABLE = "RK45's at its default tolerances, a decade allowed: figure 8 says 'comparable'"
ROUNDING = "1e-9: far above rounding, far below any term"
SLOPE = "0.2: what the tests of every scheme's order allow"


def findings(r: Results) -> Iterator[Finding]:
    """Return every finding: those on formulas in the order of the paper, then those on figures."""
    yield from shown_in(ERRORS, _manifold())
    yield from shown_in(PENDULUM, _block_matrix(r.pendulum))
    yield from shown_in(REGIONS, *_transfer(r.limits))
    yield from shown_in(PENDULUM, *_particle(r.pendulum))
    yield from shown_in(REGIONS, *_stability(r.limits))
    yield from shown_in(ERRORS, *_accuracy(r.errors, r.slopes))
    yield from shown_in(PENDULUM, *_motion(r.pendulum))
    yield from shown_in(COST, *_cost(r.pendulum))


def _manifold() -> Finding:
    as_printed, corrected = (
        within("largest |g(x, H(x))| on the linear test equation", value, 0.0, 1e-9, ROUNDING)
        for value in manifold_residuals()
    )
    return Finding(
        "H(x) in step 2",
        "y_n - g_y^-1 (g_x (x - x_n) + g(x_n, y_n))",
        "z_n - g_z^-1 (g_x (x - x_n) + g(x_n, z_n))",
        (as_printed,),
        "Equation (22) has z at the start of the step (η) and g_z. With y, the distance from H, in the place "
        "of z the fast states do not rest on H.",
        corrected=(corrected,),
    )


def manifold_residuals(alpha: float = 100.0, beta: float = 0.1) -> tuple[float, float]:
    """Return the largest |g(x, H(x))| with H as printed and corrected, on the test equation (50)."""
    A = two_scales.linear_two_scales(alpha, beta).linearise().state_matrix()
    gx, gz = A[2:, :2], A[2:, 2:]
    x_n, z_n, x = np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.8, 0.3])
    y_n = z_n + np.linalg.solve(gz, gx @ x_n)  # distance from the manifold z = -gz^-1 gx x

    def residual(w: np.ndarray) -> float:
        manifold = w - np.linalg.solve(gz, gx @ (x - x_n) + gx @ x_n + gz @ z_n)
        return float(np.abs(gx @ x + gz @ manifold).max())

    return residual(y_n), residual(z_n)


def _largest(runs: PendulumRuns, x: np.ndarray) -> float:
    return float(np.abs(runs.energy_error(x)).max())


def _block_matrix(runs: PendulumRuns) -> Finding:
    ours, bound = _largest(runs, runs.ours), DECADE * _largest(runs, runs.ode45)

    def rule(value: float) -> Check:
        return below("largest error of the pendulum's energy in J", value, bound, COMPARABLE)

    return Finding(
        "block matrix (47)",
        "[A B C; 0 0 1; 0 0 0]",
        "[A C B; 0 0 1; 0 0 0]",
        (rule(runs.printed_energy),),
        "The corner of the exponential multiplies the middle block by s, and (39) makes C the slope and B "
        "the constant. "
        f"As printed, the pendulum's energy is off by up to {runs.printed_energy:.3g} J, corrected "
        f"by {ours:.2g} J; the stability limits are the same to three digits, so that only an accuracy test "
        "finds it.",
        corrected=(rule(ours),),
    )


def _transfer(limits: pd.DataFrame) -> Iterator[Finding]:
    gaps = formulas.gaps()
    printed = limits[limits["formula"] == "(55), (56) as printed"].set_index(["alpha", "beta"])
    empty = float(printed["180 deg"].to_dict()[(1000, 0.1)])

    def rule(name: str) -> tuple[Check, ...]:
        words = "largest difference from the algorithm, 200 random (α, β, ξ)"
        return (within(words, gaps[name], 0.0, 1e-9, ROUNDING),)

    yield Finding(
        "first term of M12 in (55) and (57)",
        "β (e^{αξ} - 1)",
        "(β/α) (e^{αξ} - 1)",
        rule("(55), (56)"),
        f"Corrected, (55) and (56) are the algorithm to {gaps['(55), (56), M12 corrected']:.1e}. As "
        f"printed the region is empty at α = 1000 (limit {empty:.2g} on the negative axis), against "
        "figure 2.",
        corrected=rule("(55), (56), M12 corrected"),
    )
    yield Finding(
        "M21, M22: (57)",
        "a second pair beside (56)",
        f"(56) is the algorithm; (57) differs from it by up to {gaps['(57), M12 corrected']:.2g}",
        rule("(57), M12 corrected"),
        "(57) takes y from (31), (32), without the coupling in A of step 3.",
    )


def _particle(runs: PendulumRuns) -> Iterator[Finding]:
    particle = np.array([[0.0, 1.0], [-STIFFNESS / MASS, 0.0]])
    frequency = float(np.abs(np.linalg.eigvals(particle).imag).max())
    # Acceleration of the particle in m/s², upwards, by (63b) at the point where it is said to rest.
    left = {sign: -pendulum.GRAVITY - sign * pendulum.GRAVITY for sign in (-1.0, 1.0)}

    def rest(sign: float) -> Check:
        return within("acceleration in m/s² of (63b) at (67)", abs(left[sign]), 0.0, 1e-9, ROUNDING)

    def kept(value: float) -> Check:
        words = "the tolerance 1e-11 of the run times 1e3 J, its energy, times a hundred"
        return below("change of the energy (68) in J along an exact solution", value, 1e-6, words)

    def fast(value: float) -> Check:
        tolerance = 1e-3 * frequency
        return within("frequency of the particle in rad/s", value, frequency, tolerance, "a thousandth")

    yield Finding(
        "equation (66), rows",
        "z' = {-(k/m2) (r2 - (r1 + s)) - g}",
        "z' = {r2'; -(k/m2) (r2 - (r1 + s)) + g}",
        (kept(runs.flipped_energy),),
        "z has r2 and r2' (65), so two rows are needed; by (63b) with f2 = m2 g - f_s gravity enters "
        f"with +. With the printed sign the energy (68) changes by {runs.flipped_energy:.2g} J along an "
        "exact solution.",
        corrected=(kept(runs.exact_energy),),
    )
    yield Finding(
        "equation (67)",
        "r2 = r1 + s - (m2/k) g",
        "r2 = r1 + s + (m2/k) g",
        (rest(1.0),),
        f"The printed point leaves an acceleration of {abs(left[1.0]):.4g} m/s², 2 g: the particle would "
        "rest above the end of the bar.",
        corrected=(rest(-1.0),),
    )
    root = np.sqrt(STIFFNESS / MASS)
    yield Finding(
        "fast eigenvalue of the pendulum",
        "λ_f ≈ (k/m2) i = 5e5 i, ξ = h λ_f ≈ 2.5e3 i",
        f"λ_f = i sqrt(k/m2) = {root:.4g} i, ξ = {H * root:.3g} i",
        (fast(STIFFNESS / MASS),),
        "r2'' = -(k/m2) r2 has the frequency sqrt(k/m2). The conclusion stands: RK4 ends at 2.83 i.",
        corrected=(
            fast(root),
            above("|ξ| at the paper's step", H * frequency, np.sqrt(8.0), "RK4's limit on that axis"),
        ),
    )


def spread(limits: pd.DataFrame) -> float:
    """Return by which fraction the algorithm's limit differs between α = 10, 100 and 1000, at most."""
    rows = limits[(limits["formula"] == "algorithm") & (limits["beta"] == 0.1)].filter(like="deg")
    return float(((rows.max() - rows.min()) / rows.min()).max())


def _stability(limits: pd.DataFrame) -> Iterator[Finding]:
    at = limits[limits["formula"] == "algorithm"].set_index(["alpha", "beta"])["180 deg"].to_dict()
    rk4 = float(limits["180 deg"][limits["formula"] == "RK4, (49)"].iloc[0])
    betas = np.array([0.0, 0.1, 0.3, 0.5])
    alone, coupled = [at[a, 0.1] for a in (10, 100, 1000)], np.array([at[10, b] for b in betas])
    corrected = (1 - betas**2) * coupled
    same = "a hundredth: the lines of the printed figure lie on one another"
    yield Finding(
        "stability and the ratio α of the scales (figure 2)",
        "the region does not change much with α",
        f"limit on the negative axis {', '.join(f'{v:.3f}' for v in alone)} for α = 10, 100, 1000 (β = "
        f"0.1); on five rays within {100 * spread(limits):.2g} %",
        (below("spread of the limit over α on five rays", spread(limits), 0.01, same),),
    )
    digits = "the table's rounding to six digits"
    yield Finding(
        "stability without coupling",
        "for β = 0 that of RK4 in the left half plane (59)",
        f"{at[10, 0.0]:.3f} against {rk4:.3f} of RK4 on the negative axis",
        (within("limit on the negative axis, β = 0", at[10, 0.0], rk4, 1e-6, digits),),
    )
    yield Finding(
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
    )


def _accuracy(errors: pd.DataFrame, slopes: pd.DataFrame) -> Iterator[Finding]:
    small = slopes["x, scheme, alpha |xi| < 0.03"].dropna()
    large = slopes.set_index(["alpha", "beta"])["x, scheme, alpha |xi| > 30"].to_dict()[(1000, 0.1)]
    rows = errors[(errors["beta"] == 0.1)]
    short, long = (
        rows[np.isclose(rows["h"], h)].set_index("alpha")["x, scheme"].loc[[10, 100, 1000]]
        for h in (1e-5, 0.1)
    )
    yield Finding(
        "order of accuracy (figures 4 and 5)",
        "one",
        f"local error of slope {small.min():.2f} to {small.max():.2f} while α|ξ| << 1, and of slope "
        f"{large:.2f} beyond (α = 1000)",
        (within("slope of the local error while α|ξ| << 1", small, 2.0, 0.2, SLOPE),),
        "A local error of slope 2 is order one. Beyond the fast time scale the slope is 1, but the "
        "factor falls as 1/α.",
    )
    over, same = long / long.iloc[0], "lines that a printed figure does not tell apart"
    yield Finding(
        "local error and α",
        "does not depend on α",
        f"at h = 0.1 s and β = 0.1: {', '.join(f'{v:.1e}' for v in long)} for α = 10, 100, 1000; at "
        f"1e-5 s: {', '.join(f'{v:.1e}' for v in short)}",
        (within("local error at h = 0.1 s over that at α = 10", over, 1.0, 0.05, same),),
        "It does not while α|ξ| << 1; at larger steps it falls with α, which is better than claimed.",
    )


def _motion(runs: PendulumRuns) -> Iterator[Finding]:
    largest = np.abs(runs.rk4).max(axis=1)
    passed = runs.rk4_t[np.argmax(largest > 1e6)] if (largest > 1e6).any() else np.inf
    ours, rk45 = _largest(runs, runs.ours), _largest(runs, runs.ode45)
    angle, swing = runs.angle_error(runs.ours), float(np.ptp(runs.reference[:, 0]))
    yield Finding(
        "RK4 with h = 0.005 s (figure 7)",
        "unstable",
        f"the largest state passes 1e6 at t = {passed:.3f} s",
        (below("time in s at which the largest state passes 1e6", passed, T_END, "end of figure 7"),),
        "Eigenvalue 707 i of the particle: h λ_f = 3.54 i is outside RK4's region.",
    )
    usual = "relative tolerance at which ode45 runs unless told otherwise"
    yield Finding(
        "the scheme with h = 0.005 s (figure 7)",
        "stable, and as ode45",
        f"angle within {angle:.1e} rad of a solution at tolerance 1e-11, over 5 s",
        (below("largest error of the angle over its swing", angle / swing, 1e-3, usual),),
        "The particle's period of 8.9 ms has 1.8 steps.",
    )
    others = ", ".join(f"{n:,} derivatives from {a:.2f} rad" for a, n in runs.other_starts.items())
    yield Finding(
        "start of the pendulum (figure 7)",
        "",
        f"θ(0) = {runs.ours[0, 2]:.4f} rad = π/4, at rest, spring without force: assumed",
        why="It is not in the text; ours is read off the printed figure's axes. The verdicts on the pendulum "
        f"rest on this assumption. Other starts: RK45 needs {others}.",
    )
    yield Finding(
        "energy (figure 8)",
        "comparable with ode45",
        f"within {ours:.1e} J, RK45 at its default tolerances within {rk45:.2g} J",
        (below("largest error of the energy in J", ours, DECADE * rk45, COMPARABLE),),
    )


def _cost(runs: PendulumRuns) -> Iterator[Finding]:
    scheme, full, ode45 = runs.evaluations.values()
    made, kept = runs.linearisations.values()
    bound = "0.05: 'about 60 %' to half of its last digit"
    yield Finding(
        "cost (figure 7): time, matrix exponentials included",
        "about 60 % of the computing time of ode45",
        f"{100 * runs.time_ratio:.0f} % with both in Python (numpy and scipy), medians of five runs",
        (within("time over that of RK45", runs.time_ratio, 0.6, 0.05, bound),),
        "A ratio of one machine and one language; it moves with both. Keeping the linearisation "
        f"({kept} in place of {made:,}) takes nearly all of the exponentials away "
        f"and holds the energy within {_largest(runs, runs.kept):.1e} J.",
    )
    words, ratios = (
        "derivatives over those of RK45, without and with Jacobians by differences",
        (scheme, full),
    )
    yield Finding(
        "cost (figure 7): derivatives",
        "",
        f"{scheme:,} derivatives against {ode45:,} of RK45: {100 * scheme / ode45:.0f} %; with {made:,} "
        f"Jacobians by differences {full:,}: {100 * full / ode45:.0f} %",
        (within(words, [count / ode45 for count in ratios], 0.6, 0.05, bound),),
        f"The paper counts none; its time is about 60 %. Counted over {T_END:g} s with h = {H:g} s. Two "
        f"matrix exponentials a linearisation come on top, {2 * made:,} in all.",
    )
