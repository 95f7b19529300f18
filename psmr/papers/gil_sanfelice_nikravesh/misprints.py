"""Formulas of Gil, Sanfelice and Nikravesh that cannot be meant as they are printed, with the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psmr.papers.check import Check, above, below, within
from psmr.papers.finding import Finding
from psmr.papers.gil_sanfelice_nikravesh import formulas
from psmr.papers.systems import linear_two_scales as two_scales
from psmr.papers.systems import pendulum

if TYPE_CHECKING:
    from psmr.papers.gil_sanfelice_nikravesh.pendulum import PendulumRuns

MASS, STIFFNESS, STEP = 1e-5, 5.0, 0.005  # kg, N/m, s: the paper's particle and step
DECADE = 10.0
COMPARABLE = "RK45's at its default tolerances, a decade allowed: figure 8 says 'comparable'"
ROUNDING = "1e-9: far above rounding, far below any term"


def findings(limits: pd.DataFrame, runs: PendulumRuns) -> tuple[Finding, ...]:
    """Return the findings on formulas, in the order of the paper."""
    return (
        _manifold(),
        _block_matrix(runs),
        *_transfer(limits),
        *_particle(runs),
    )


def _manifold() -> Finding:
    residuals = manifold_residuals()

    def rule(value: float) -> Check:
        return within("largest |g(x, H(x))| on the linear test equation", value, 0.0, 1e-9, ROUNDING)

    return Finding(
        "H(x) in step 2",
        "y_n - g_y^-1 (g_x (x - x_n) + g(x_n, y_n))",
        "z_n - g_z^-1 (g_x (x - x_n) + g(x_n, z_n))",
        (rule(residuals[0]),),
        "Equation (22) has z at the start of the step (η) and g_z. With y, the distance from H, in the place "
        "of z the fast states do not rest on H.",
        corrected=(rule(residuals[1]),),
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


def _block_matrix(runs: PendulumRuns) -> Finding:
    ours = float(np.abs(runs.energy_error(runs.ours)).max())
    bound = DECADE * float(np.abs(runs.energy_error(runs.ode45)).max())

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


def _transfer(limits: pd.DataFrame) -> tuple[Finding, ...]:
    gaps = formulas.gaps()
    printed = limits[limits["formula"] == "(55), (56) as printed"].set_index(["alpha", "beta"])
    empty = float(printed["180 deg"].to_dict()[(1000, 0.1)])

    def rule(value: float) -> Check:
        words = "largest difference from the algorithm, 200 random (α, β, ξ)"
        return within(words, value, 0.0, 1e-9, ROUNDING)

    return (
        Finding(
            "first term of M12 in (55) and (57)",
            "β (e^{αξ} - 1)",
            "(β/α) (e^{αξ} - 1)",
            (rule(gaps["(55), (56)"]),),
            f"Corrected, (55) and (56) are the algorithm to {gaps['(55), (56), M12 corrected']:.1e}. As "
            f"printed the region is empty at α = 1000 (limit {empty:.2g} on the negative axis), against "
            "figure 2.",
            corrected=(rule(gaps["(55), (56), M12 corrected"]),),
        ),
        Finding(
            "M21, M22: (57)",
            "a second pair beside (56)",
            f"(56) is the algorithm; (57) differs from it by up to {gaps['(57), M12 corrected']:.2g}",
            (rule(gaps["(57), M12 corrected"]),),
            "(57) takes y from (31), (32), without the coupling in A of step 3.",
        ),
    )


def _particle(runs: PendulumRuns) -> tuple[Finding, ...]:
    particle = np.array([[0.0, 1.0], [-STIFFNESS / MASS, 0.0]])
    frequency = float(np.abs(np.linalg.eigvals(particle).imag).max())
    # Acceleration of the particle in m/s², upwards, by (63b) at the point where it is said to rest.
    left = {sign: -pendulum.GRAVITY - sign * pendulum.GRAVITY for sign in (-1.0, 1.0)}

    def rest(sign: float) -> Check:
        words = "acceleration in m/s² of (63b) at (67)"
        return within(words, abs(left[sign]), 0.0, 1e-9, ROUNDING)

    def kept(value: float) -> Check:
        words = "the tolerance 1e-11 of the run times 1e3 J, its energy, times a hundred"
        return below("change of the energy (68) in J along an exact solution", value, 1e-6, words)

    def fast(value: float) -> Check:
        words = "a thousandth"
        return within("frequency of the particle in rad/s", value, frequency, 1e-3 * frequency, words)

    return (
        Finding(
            "equation (66), rows",
            "z' = {-(k/m2) (r2 - (r1 + s)) - g}",
            "z' = {r2'; -(k/m2) (r2 - (r1 + s)) + g}",
            (kept(runs.flipped_energy),),
            "z has r2 and r2' (65), so two rows are needed; by (63b) with f2 = m2 g - f_s gravity enters "
            f"with +. With the printed sign the energy (68) changes by {runs.flipped_energy:.2g} J "
            "along an exact "
            "solution.",
            corrected=(kept(runs.exact_energy),),
        ),
        Finding(
            "equation (67)",
            "r2 = r1 + s - (m2/k) g",
            "r2 = r1 + s + (m2/k) g",
            (rest(1.0),),
            f"The printed point leaves an acceleration of {abs(left[1.0]):.4g} m/s², 2 g: the particle would "
            "rest above the end of the bar.",
            corrected=(rest(-1.0),),
        ),
        Finding(
            "fast eigenvalue of the pendulum",
            "λ_f ≈ (k/m2) i = 5e5 i, ξ = h λ_f ≈ 2.5e3 i",
            f"λ_f = i sqrt(k/m2) = {np.sqrt(STIFFNESS / MASS):.4g} i, ξ = "
            f"{STEP * np.sqrt(STIFFNESS / MASS):.3g} i",
            (fast(STIFFNESS / MASS),),
            "r2'' = -(k/m2) r2 has the frequency sqrt(k/m2). The conclusion stands: RK4 ends at 2.83 i.",
            corrected=(
                fast(np.sqrt(STIFFNESS / MASS)),
                above("|ξ| at the paper's step", STEP * frequency, np.sqrt(8.0), "RK4's limit on that axis"),
            ),
        ),
    )
