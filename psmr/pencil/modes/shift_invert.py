"""Modes of a large system near given values, without its state matrix.

On E w' = J w the map x -> ((J - sigma E)^-1 [x; 0])_x is (A - sigma I)^-1 exactly (Schur complement), so one
sparse factorisation a shift is all that the Arnoldi method needs (Rommes and Martins, IEEE Trans. Power
Systems 21, 2006, and the references there).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, SuperLU, eigs, splu

from psmr.base.errors import SingularError
from psmr.dae.system.linear import LinearDae

# Below this order the inverse is formed and every eigenvalue computed: ARPACK wants room for its basis.
SMALL = 120

# Eigenvalues asked for at a shift. Measured on the chain of 223 WSCC 9-bus copies, the cost per eigenvalue is
# flat from 20 to 60.
AT_ONCE = 40

# Where eigenvalues crowd (beside s = 0) the last of them take a hundred restarts; a shift closer by costs
# three.
RESTARTS = 12

# Relative to |1 / (s - shift)|; what is chosen in the end is polished to rounding.
TOLERANCE = 1e-9

# Two eigenvalues found from different shifts are the same one if they agree to this relative distance: above
# what the tolerance leaves, below the spacing of the modes of coupled copies (1e-4 on the chain of 223).
EIGENVALUE_TOLERANCE = 1e-7

# The shift lies within 1e-5 of the mode; each iteration takes off the others by that over their distance.
LEFT_ITERATIONS = 6

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Disc:
    """Every eigenvalue within `radius` of `centre` (1/s) has been found, as far as Arnoldi can tell."""

    centre: complex
    radius: float

    def covers(self, points: np.ndarray) -> np.ndarray:
        """Return which points lie inside."""
        return np.abs(points - self.centre) < self.radius


class ShiftInvert:
    """The pencil (J, E) of a linearised DAE, factorised at shifts."""

    def __init__(self, linear: LinearDae) -> None:
        self.n, self.size = linear.n, linear.n + linear.m
        self.J = sp.csc_array(linear.jacobian())
        self.E = sp.diags_array(np.repeat([1.0, 0.0], [linear.n, linear.m]), format="csc")
        # What the rows of J v amount to at most, for residuals relative to the rounding of J v.
        self.weight = abs(self.J)

    def factorised(self, shift: complex) -> SuperLU:
        """Return the factors of J - shift E.

        Raises
        ------
        SingularError
            When the shift is an eigenvalue, or gy is singular.
        """
        try:
            return splu(sp.csc_matrix((self.J - shift * self.E).astype(complex)))
        except RuntimeError as error:
            raise SingularError(
                f"J - s E is singular at s = {shift:.6g} 1/s: either that is an eigenvalue, or gy is "
                f"singular (the DAE is "
                "not of index 1); try another value"
            ) from error

    def near(self, shift: complex, count: int = AT_ONCE) -> tuple[np.ndarray, np.ndarray, Disc]:
        """Return eigenvalues nearest to a shift, their vectors in w (size, k), and their disc."""
        lu = self.factorised(shift)
        pad = np.zeros(self.size, dtype=complex)

        def inverse(x: np.ndarray) -> np.ndarray:
            pad[: self.n] = x.ravel()
            return lu.solve(pad)[: self.n]

        if self.n <= SMALL:
            columns = np.zeros((self.size, self.n), dtype=complex)
            columns[: self.n] = np.eye(self.n)
            mu, vectors = np.linalg.eig(lu.solve(columns)[: self.n])
        else:
            operator = LinearOperator((self.n, self.n), matvec=inverse, dtype=complex)
            # A fixed start makes the result the same at each call.
            start = np.random.default_rng(0).standard_normal(self.n).astype(complex)
            try:
                mu, vectors = eigs(
                    operator, k=count, which="LM", v0=start, ncv=3 * count, maxiter=RESTARTS, tol=TOLERANCE
                )
            except ArpackNoConvergence as partial:
                # Those that have converged are the ones nearest to the shift: the disc is smaller, not wrong.
                mu, vectors = partial.eigenvalues, partial.eigenvectors
        keep = np.abs(mu) > 0.0
        mu, vectors = mu[keep], vectors[:, keep]
        s = shift + 1.0 / mu
        columns = np.zeros((self.size, len(s)), dtype=complex)
        columns[: self.n] = vectors
        # One more step of inverse iteration gives the algebraic part and polishes the state part.
        w = lu.solve(columns)
        w /= np.linalg.norm(w, axis=0)
        reach = np.abs(s - shift).max(initial=0.0) if self.n > SMALL else np.inf
        return s, w, Disc(shift, float(reach) * (1.0 - 1e-6))

    def residual(self, s: complex, w: np.ndarray) -> float:
        """Return |J w - s E w| relative to what its terms amount to (|J| |w| + |s| |E w|)."""
        ew = self.E @ w
        scale = np.linalg.norm(self.weight @ np.abs(w) + abs(s) * np.abs(ew))
        return float(np.linalg.norm(self.J @ w - s * ew) / scale)

    def left(self, lu: SuperLU) -> np.ndarray:
        """Return the left eigenvector of the eigenvalue nearest to the shift of the factors, of length 1."""
        vector = np.random.default_rng(0).standard_normal(self.size).astype(complex)
        for _ in range(LEFT_ITERATIONS):
            vector = lu.solve(self.E @ vector, trans="H")
            vector /= np.linalg.norm(vector)
        return vector

    def left_residual(self, s: complex, w: np.ndarray) -> float:
        """Return the residual of a left eigenvector, relative to what its terms amount to, as `residual`."""
        ew = self.E @ w
        scale = np.linalg.norm(self.weight.T @ np.abs(w) + abs(s) * np.abs(ew))
        return float(np.linalg.norm(self.J.T @ w - np.conj(s) * ew) / scale)

    def polished(self, s: complex, w: np.ndarray) -> tuple[complex, np.ndarray, SuperLU, complex]:
        """Refine a pair by inverse iteration beside it; return it with the factors and the shift."""
        # Beside and not at the eigenvalue: the factors serve the refinement of the multiplier as well.
        shift = s + 1e-5 * max(abs(s), 1e-3) * (1.0 + 1.0j)
        lu = self.factorised(shift)
        for _ in range(3):
            new = lu.solve(self.E @ w)
            change = np.vdot(new[: self.n], w[: self.n]) / np.vdot(new[: self.n], new[: self.n])
            s, w = complex(shift + change), new / np.linalg.norm(new)
        return s, w, lu, shift
