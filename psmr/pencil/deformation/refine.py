"""From a mode of the system to the multiplier that a scheme makes of it, without the step operator's matrix.

Generalised Davidson method (Morgan and Scott, SIAM J. Sci. Stat. Comput. 7, 1986) with Olsen's correction:
the search space grows by the residual, preconditioned with the step operator of the single-rate method of the
scheme's slow rows. That one needs no factorisation of its own. With theta = 1/2 (TM) or 1 (BEM) and

    T1 = (E - [theta h J_f; J_g])^-1 (E + [(1 - theta) h J_f; 0])

its shifted inverse (T1 - z)^-1 is (J - sigma E)^-1 D^-1 (E - [theta h J_f; J_g]) with
D = diag(h (1 - theta + theta z), z) on state and algebraic rows and sigma = (z - 1) / (h (1 - theta + theta
z)): the factors that found the mode serve here as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import SuperLU

from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.matrices import implicit, matrices
from psmr.pencil.operator.step_map import StepMap

# Largest search space; a mode that has not converged by then is restarted from its best vector.
SPACE, RESTARTS = 24, 4

# Residual |T v - z v| / |v| at which a pair is final: a hundred times the rounding of the dozen solves in T
# v.
TARGET = 1e-13

# A pair counts as found up to here; beyond it is reported as not refined.
ACCEPTED = 1e-8


@dataclass(frozen=True, eq=False)
class Pair:
    """A multiplier of a scheme.

    Attributes
    ----------
    z
        The multiplier.
    vector
        Its eigenvector, the whole state.
    residual
        |T v - z v| / |v|.
    similarity
        |<v, w>| of its part in w and the mode's vector, both of length 1.
    steps
        Applications of T.
    """

    z: complex
    vector: np.ndarray
    residual: float
    similarity: float
    steps: int


class Refinement:
    """The step map of a scheme with its preconditioner, ready for one mode after the other."""

    def __init__(self, linear: LinearDae, scheme: Scheme, step: StepMap) -> None:
        self.n, self.step, self.h = linear.n, step, scheme.step
        method = getattr(scheme, "solution", None) or getattr(scheme, "method", "TM")
        self.theta = 1.0 if method == "BEM" else 0.5
        self.left = implicit(matrices(linear), self.theta * self.h)

    def multiplier(self, s: complex, w: np.ndarray, lu: SuperLU, shift: complex) -> Pair:
        """Return the pair of T that grows out of the mode (s, w); lu are the factors of J - shift E."""
        h, theta, step = self.h, self.theta, self.step
        expected = np.exp(s * h)
        z_shift = (1.0 + (1.0 - theta) * h * shift) / (1.0 - theta * h * shift)
        scale = np.full(step.size, z_shift, dtype=complex)
        scale[: self.n] = h * (1.0 - theta + theta * z_shift)

        def preconditioned(r: np.ndarray) -> np.ndarray:
            t = lu.solve((self.left @ r[: step.size]) / scale)
            parts, last, at = [t], t[step.history_of], step.size
            for size in step.sizes[1:]:
                last = (last - r[at : at + size]) / z_shift
                parts.append(last)
                at += size
            return np.concatenate(parts)

        vector = step.extended(w, expected)
        vector /= np.linalg.norm(vector)
        reference = w / np.linalg.norm(w)
        count, best = 0, None
        for _ in range(RESTARTS):
            space = np.zeros((step.order, 0), dtype=complex)
            image = np.zeros((step.order, 0), dtype=complex)
            direction = vector
            while space.shape[1] < SPACE:
                new = _orthogonal(space, direction)
                if new is None:
                    break
                space = np.column_stack([space, new])
                image = np.column_stack([image, step.apply(new)])
                count += 1
                z, vector, residual, similarity = _ritz(space, image, reference, expected, step.size)
                size = float(np.linalg.norm(residual))
                if best is None or size < best.residual:
                    best = Pair(z, vector, size, similarity, count)
                if size < TARGET:
                    return best
                toward, along = preconditioned(residual), preconditioned(vector)
                direction = toward - (np.vdot(vector, toward) / np.vdot(vector, along)) * along
            assert best is not None
            vector = best.vector
        assert best is not None
        return best


def _ritz(
    space: np.ndarray, image: np.ndarray, reference: np.ndarray, expected: complex, size: int
) -> tuple[complex, np.ndarray, np.ndarray, float]:
    """Return the pair of the search space that is most like the mode: shape and place count alike."""
    values, coordinates = np.linalg.eig(space.conj().T @ image)
    vectors = space @ coordinates
    vectors /= np.linalg.norm(vectors, axis=0)
    parts = vectors[:size]
    similarity = np.abs(reference.conj() @ parts) / np.maximum(np.linalg.norm(parts, axis=0), 1e-300)
    cost = 1.0 - similarity**2 + np.abs(values - expected) / (np.abs(values) + np.abs(expected))
    k = int(cost.argmin())
    vector = vectors[:, k]
    residual = image @ (coordinates[:, k] / np.linalg.norm(space @ coordinates[:, k])) - values[k] * vector
    return complex(values[k]), vector, residual, float(similarity[k])


def _orthogonal(space: np.ndarray, direction: np.ndarray) -> np.ndarray | None:
    """Return the unit vector that a direction adds to the space, None where it adds nothing."""
    length = np.linalg.norm(direction)
    if not np.isfinite(length) or length == 0.0:
        return None
    direction = direction / length
    for _ in range(2):  # twice is enough (Kahan and Parlett)
        direction = direction - space @ (space.conj().T @ direction)
    length = np.linalg.norm(direction)
    return None if length < 1e-12 else direction / length
