"""The deformation of chosen modes of a large system: no step operator, no state matrix, no full spectrum.

From a mode of the system to the multiplier that a scheme makes of it, without the step operator's matrix.

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

from psmr.base.errors import SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.report import (
    Columns,
    Deformation,
    deformation_columns,
    dominant_position,
    spurious_columns,
)
from psmr.pencil.modes.search import (
    ALIKE_MODES,
    EPS,
    GROWS,
    HIGHEST,
    ModeChoice,
    ShiftInvert,
    along_axis,
    find,
)
from psmr.pencil.modes.spectrum import hidden_by, status_words, unwrapped_logarithm
from psmr.pencil.modes.verdict import Growth, Verdict, mode_text
from psmr.pencil.operator.loops import implicit_matrix, matrices
from psmr.pencil.operator.step_operator import Outermost, StepMap, outermost, step_map

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

    `z`: The multiplier.
    `vector`: Its eigenvector, the whole state.
    `residual`: |T v - z v| / |v|.
    `similarity`: |<v, w>| of its part in w and the mode's vector, both of length 1.
    `steps`: Applications of T.
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
        self.left = implicit_matrix(matrices(linear), self.theta * self.h)

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


# A refined vector that shares less than half of the mode's length has become another mode.
UNLIKE = 0.5

# Two refined pairs are one when their vectors are parallel to this and their multipliers agree to ACCEPTED.
PARALLEL = 1.0 - 1e-6

# Two multipliers that differ by less are the same.
MULTIPLIER_TOLERANCE = 1e-6

# A refined multiplier is on the unit circle within this: the residual accepted of a pair.
ROUNDING = ACCEPTED


def deformation_at_size(
    linear: LinearDae, scheme: Scheme, choice: ModeChoice, said: tuple[str, ...] = ()
) -> Deformation:
    """Return the report on chosen modes; see `psmr.pencil.deformation.deformation.deformation`.

    Modes come from sparse shift-invert on (J, E), multipliers from the refinement of each mode on the step
    map.

    Raises InputError for a mode that does not exist, or a band without modes; SchemeError for a partition of
    another system, or corrections that diverge; SingularError for a singular gy, or an equation of the step
    without a unique solution.
    """
    pencil = ShiftInvert(linear)
    _regular(pencil, linear)
    found = find(pencil, choice)
    step = step_map(linear, scheme)
    refinement = Refinement(linear, scheme, step)
    s, pairs, mode_residuals, applied = [], [], [], 0
    for value, vector in zip(found.s, found.vectors.T, strict=True):
        value, vector, lu, shift = pencil.polished(value, vector)
        pair = refinement.multiplier(value, vector, lu, shift)
        s.append(complex(value.real, 0.0 if abs(value.imag) <= 1e-12 * abs(value) else value.imag))
        pairs.append(pair)
        mode_residuals.append(pencil.residual(value, vector))
        applied += pair.steps
    modes = np.array(s)
    hidden = _hidden(modes, pairs, scheme.step)
    status = [status_words(s, why) for s, why in zip(modes, hidden, strict=True)]
    shown = np.array([not why for why in hidden])
    z = np.array([pair.z for pair in pairs])
    s_hat = np.where(shown, unwrapped_logarithm(z, modes, scheme.step), np.nan)
    columns = deformation_columns(modes, s_hat, status)
    columns["residual"] = np.array([pair.residual for pair in pairs])
    columns["mode_residual"] = np.array(mode_residuals)
    order = np.lexsort((-modes.imag, -modes.real))
    columns = {name: values[order] for name, values in columns.items()}
    outer = outermost(step, scheme.step)
    slow = slow_modes(pencil, outer, scheme.step)
    growing = _others(slow[slow.real > GROWS], modes)
    spurious = _left_over(outer, z, scheme.step, linear.names_x + linear.names_y, step.size)
    radius = float(max(np.abs(z).max(), radius_of(outer), *np.exp(np.minimum(slow.real, 0.0) * scheme.step)))
    a_stable = scheme.tableau is not None and scheme.tableau.a_stable and linear.delays is None
    return Deformation(
        scheme=scheme,
        pencil="exact",
        step=scheme.step,
        columns=columns,
        multipliers=z[order],
        dominant_at=dominant_position(columns),
        spectral_radius=radius,
        spurious_columns=spurious,
        stability=_verdict(scheme.step, a_stable, modes, z, shown, growing, spurious),
        said=(
            *said,
            f"Sparse path: {choice} of {linear.n} states and {linear.m} algebraic variables. "
            f"{found.coverage}; each "
            f"multiplier by refinement on the step map ({applied} steps in all), largest residual "
            f"{max(pair.residual for pair in pairs):.1e}.",
            _radius_note(outer, radius, scheme.step, len(slow)),
        ),
    )


def _regular(pencil: ShiftInvert, linear: LinearDae) -> None:
    """Refuse a DAE that is not of index 1 before any shift hides it."""
    from scipy.sparse.linalg import splu

    if linear.m == 0:
        return
    try:
        pivots = np.abs(splu(linear.gy.tocsc()).U.diagonal())
    except RuntimeError:
        pivots = np.zeros(1)
    if pivots.min() <= EPS * pivots.max():
        raise SingularError(
            f"gy of order {linear.m} is singular: the algebraic equations do not determine the algebraic "
            f"variables here "
            "(the DAE is not of index 1); look for a bus without a path to any source"
        )


def _hidden(modes: np.ndarray, pairs: list[Pair], step: float) -> list[str]:
    """Return why each pair does not show its mode, "" where it does."""
    hidden: list[str] = []
    for k, (s, pair) in enumerate(zip(modes, pairs, strict=True)):
        why = hidden_by(s, pair.z, step)
        if pair.residual > ACCEPTED:
            why = f"not found, residual {pair.residual:.1g} after {pair.steps} steps"
        elif pair.similarity < UNLIKE:
            why = f"no multiplier is like it, |z| = {abs(pair.z):.3g} comes nearest"
        else:
            for j in range(k):
                same = abs(pairs[j].z - pair.z) <= ACCEPTED and not hidden[j]
                if same and abs(np.vdot(pairs[j].vector, pair.vector)) > PARALLEL:
                    why = f"its multiplier is that of mode {mode_text(modes[j])}"
                    break
        hidden.append(why)
    return hidden


def slow_modes(pencil: ShiftInvert, outer: Outermost, step: float) -> np.ndarray:
    """Return the modes of the system near the imaginary axis whose multipliers lie too close to 1 to tell.

    Those of a common angle or speed, at 0 within rounding, count as 0.
    """
    if outer.complete or outer.outside.any() or not np.isfinite(outer.away):
        return np.zeros(0, dtype=complex)
    slow = along_axis(pencil, min(outer.away / step, HIGHEST))
    return np.where(np.abs(slow) <= GROWS, 0.0, slow)


def _others(slow: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the modes that are none of the chosen ones, whose own multipliers say what the scheme does."""
    upper = slow.real + 1j * np.abs(slow.imag)
    apart = [not (np.abs(chosen - s) <= ALIKE_MODES * np.abs(s)).any() for s in upper]
    return slow[np.array(apart, dtype=bool)]


def radius_of(outer: Outermost) -> float:
    """Return the largest magnitude of multipliers, 1 where it is 1 within rounding."""
    size = np.abs(outer.z)
    return float(np.where(outer.outside | (size < 1.0), size, 1.0).max(initial=0.0))


def _left_over(outer: Outermost, z: np.ndarray, step: float, names: tuple[str, ...], size: int) -> Columns:
    """Return the outermost multipliers outside the unit circle that belong to none of the chosen modes."""
    values, vectors = outer.z, outer.vectors
    known = np.concatenate([z, z.conj()])  # of a pair one mode was chosen
    apart = np.array(
        [np.abs(known - value).min(initial=np.inf) > MULTIPLIER_TOLERANCE for value in values], dtype=bool
    )
    keep = np.flatnonzero(apart & outer.outside)
    left = values[keep]
    return spurious_columns(left, vectors[:size, keep], step, names)


def _verdict(
    step: float,
    a_stable: bool,
    modes: np.ndarray,
    z: np.ndarray,
    shown: np.ndarray,
    growing: np.ndarray,
    spurious: Columns,
) -> Verdict:
    """Return the verdict, from the chosen modes, other growing ones and multipliers of neither.

    A method that is A-stable makes nothing grow that does not grow in the system: what it has outside the
    unit circle is the system's.
    """
    outside, rises = np.abs(z) > 1.0 + ROUNDING, (modes.real > 0.0) if a_stable else (modes.real > GROWS)
    left = [
        Growth(complex(re, im), None, variable)
        for re, im, variable in zip(
            *(spurious[name] for name in ("real_z", "imag_z", "dominant_variable")), strict=True
        )
    ]
    own = [Growth(complex(z[k]), complex(modes[k])) for k in np.flatnonzero(outside & rises)]
    own += left if a_stable else []
    blamed = [] if a_stable else left
    blamed += [Growth(complex(z[k]), complex(modes[k])) for k in np.flatnonzero(outside & ~rises)]
    rest = [Growth(None, complex(s)) for s in growing]

    def largest(found: list[Growth]) -> Growth | None:
        return max(found, key=lambda growth: abs(growth.z or 0.0), default=None)

    first = largest(own) or next(iter(rest), None)
    rising = modes.real > GROWS
    return Verdict(
        step,
        growing=(*modes[rising].tolist(), *growing.tolist()),
        hidden=tuple(modes[rising & ~(shown & outside)].tolist()),
        shown=first,
        others=tuple(growth for growth in (*own, *rest) if growth is not first),
        blamed=None if a_stable else largest(blamed),
        every=False,
    )


def _radius_note(outer: Outermost, radius: float, step: float, slow: int) -> str:
    if outer.complete:
        return f"Every multiplier was computed; the spectral radius is {radius:.8g}."
    worst = outer.residuals.max(initial=0.0)
    found = f"{len(outer.z)} found, residuals up to {worst:.1e}, {outer.steps} steps"
    if outer.outside.any():
        return f"The spectral radius {radius:.6g} was found by Arnoldi runs on the step map ({found})."
    if not np.isfinite(outer.away):
        return (
            f"The spectral radius is bounded from below by {radius:.8g}; Arnoldi runs on the step map found "
            f"no multiplier outside the unit circle, but did not settle ({found}): one could hide."
        )
    covered = min(outer.away / step, HIGHEST)
    rest = "" if outer.away / step <= HIGHEST else f" Multipliers of modes between {HIGHEST:g} and"
    rest += f" {outer.away / step:.3g} rad/s were not looked at." if rest else ""
    return (
        f"The spectral radius is {radius:.8g}: every multiplier further than {outer.away:.3g} from 1 is "
        f"inside the unit circle, as far as the Arnoldi method can tell ({found}); those closer to 1 follow "
        f"the {slow} modes of the system found along the imaginary axis up to {covered:.3g} rad/s.{rest}"
    )
