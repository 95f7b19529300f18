"""Finding the chosen modes of a large system: shifts along the band until their discs cover it.

Modes of a large system near given values, without its state matrix.

On E w' = J w the map x -> ((J - sigma E)^-1 [x; 0])_x is (A - sigma I)^-1 exactly (Schur complement), so one
sparse factorisation a shift is all that the Arnoldi method needs (Rommes and Martins, IEEE Trans. Power
Systems 21, 2006, and the references there).

Which modes of a system a report is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, SuperLU, eigs, splu

from psmr.base.arguments import check_arguments, explains_keywords, settle_fields
from psmr.base.declared import Option
from psmr.base.errors import InputError, SingularError, nearest
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

        Raises SingularError when the shift is an eigenvalue, or gy is singular.
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


@explains_keywords(InputError)
@dataclass(frozen=True)
class ModeChoice:
    """The modes that a deformation report is about; the rest is not computed.

    Parameters
    ----------
    least_damped
        So many oscillatory modes of smallest damping ratio within the band.
    band_hz
        Lowest and highest frequency |Im s| / 2 pi in Hz. The default is the range of electromechanical
        oscillations, 0.1 to 3 Hz. Without `least_damped` every oscillatory mode in the band is taken whose
        damping ratio is below `damping_below`.
    damping_below
        Largest damping ratio of interest, a fraction.
    near
        Values in 1/s + j rad/s; the mode nearest to each is taken, which must lie within 10 % of its
        magnitude. Excludes the other choices.

    Raises
    ------
    InputError
        For a count below 1, a band that is none, a value that is not finite, or nothing chosen.

    Examples
    --------
    >>> ModeChoice(least_damped=20)
    >>> ModeChoice(band_hz=(0.2, 0.8), damping_below=0.1)
    >>> ModeChoice(near=(-0.2 + 8.4j,))
    """

    least_damped: Annotated[int | None, "only the K least damped modes, by sparse matrices", "K"] = None
    band_hz: Annotated[
        tuple[float, float] | None, "only modes between these frequencies in Hz", "LO HI", Option(name="band")
    ] = None
    damping_below: float = 1.0
    near: tuple[complex, ...] = ()

    def __post_init__(self) -> None:
        settle_fields(self)
        count, below = self.least_damped, self.damping_below
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError(f"least_damped = {count!r}: must be a whole number >= 1")
        if isinstance(below, bool) or not (isinstance(below, int | float) and 0.0 < below <= 1.0):
            raise InputError(f"damping_below = {below!r}: must be a damping ratio above 0 and at most 1")
        object.__setattr__(self, "near", tuple(complex(value) for value in self.near))
        for value in self.near:
            if not (math.isfinite(value.real) and math.isfinite(value.imag)) or value == 0:
                raise InputError(f"near = {value}: must be finite and not 0, in 1/s + j rad/s")
        if self.near and (count is not None or self.band_hz is not None or below != 1.0):
            raise InputError(
                "near excludes least_damped, band_hz and damping_below; ask for one or the other"
            )
        if not self.near and count is None and self.band_hz is None:
            raise InputError("no modes are chosen; give least_damped, band_hz or near")
        if not self.near:
            band = (0.1, 3.0) if self.band_hz is None else tuple(float(f) for f in self.band_hz)
            good = len(band) == 2 and all(map(math.isfinite, band)) and 0.0 <= band[0] < band[1]
            if not good:
                raise InputError(
                    f"band_hz = {self.band_hz!r}: must be two frequencies in Hz, 0 <= lowest < highest"
                )
            object.__setattr__(self, "band_hz", band)

    @classmethod
    def of(cls, wanted: ModeChoice | Mapping[str, Any] | int | Iterable[complex]) -> ModeChoice:
        """Return a choice from itself, from its fields by name, a number (least damped) or values (near).

        Raises
        ------
        InputError
            For a field that there is none of.
        """
        check_arguments(ModeChoice.of, locals())
        if isinstance(wanted, ModeChoice):
            return wanted
        if isinstance(wanted, Mapping):
            known = [field.name for field in fields(cls)]
            for key in wanted:
                if key not in known:
                    raise InputError(
                        f"modes: there is no field {key!r}{nearest(str(key), known)}; known: "
                        f"{', '.join(known)}"
                    )
            return cls(**wanted)
        if isinstance(wanted, Iterable):
            return cls(near=tuple(wanted))
        return cls(least_damped=wanted)

    def __str__(self) -> str:
        if self.near:
            return "the modes nearest to " + ", ".join(f"{v.real:.4g}{v.imag:+.4g}j" for v in self.near)
        assert self.band_hz is not None
        count = "all" if self.least_damped is None else f"the {self.least_damped} least damped"
        below = (
            f" with a damping ratio below {100 * self.damping_below:g} %" if self.damping_below < 1.0 else ""
        )
        return f"{count} oscillatory modes from {self.band_hz[0]:g} to {self.band_hz[1]:g} Hz{below}"


# Frequencies at which the covering of the band is checked, and damping ratios between 0 and the largest
# wanted.
FREQUENCIES, RATIOS = 400, 5

# Damping ratios up to which the search goes in turn while it has not found enough modes.
LADDER = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95)

# At about a second a shift for ten thousand variables these are a few minutes; a band that needs more is too
# wide.
MOST_SHIFTS = 200

# More modes than anybody reads; each costs a refinement.
MOST_MODES = 1000

# A value that has no mode within this share of its magnitude was meant for another one.
NEAR = 0.1

# Relative residual up to which a polished pair is a mode.
RESOLVED = 1e-10

# Highest frequency in rad/s up to which the imaginary axis is searched: large systems are unstable below it.
HIGHEST = 2.0 * np.pi * 3.0

# From which real part on, in 1/s, a slow mode grows: angle and speed of all, both free where no machine has a
# governor, are known to 1e-6.
GROWS = 1e-5

# Modes within this part of their size are one that two searches found, or those of equal devices: which of
# these leaves first says nothing.
ALIKE_MODES = 1e-3

# A shift in 1/s beside 0, which may be a mode.
BESIDE_ZERO = 0.05


@dataclass(frozen=True, eq=False)
class FoundModes:
    """Modes of a system that were asked for.

    `s`: (k,) eigenvalues in 1/s, imaginary part not negative.
    `vectors`: (n + m, k) their right eigenvectors, of length 1.
    `coverage`: How they were found and how far the search reached, in words.
    """

    s: np.ndarray
    vectors: np.ndarray
    coverage: str


def find(pencil: ShiftInvert, choice: ModeChoice) -> FoundModes:
    """Return the chosen modes, not yet polished.

    Raises InputError for a value without a mode nearby, a band without modes (with the nearest mode), or one
    with too many; SingularError when gy is singular.
    """
    return _nearest(pencil, choice) if choice.near else _Sweep(pencil, choice).run()


def along_axis(pencil: ShiftInvert, highest: float) -> np.ndarray:
    """Return the modes near the imaginary axis from 0 to a frequency in rad/s, and near 0.

    Shifts are placed until their discs cover the axis, so that what grows slowly lies in one of them.

    Raises InputError where that takes more shifts than a search may.
    """
    sweep = _Sweep(pencil, ModeChoice(band_hz=(0.0, highest / (2.0 * np.pi))))
    sweep.cover(0.0)
    beside, vectors, _ = pencil.near(BESIDE_ZERO)
    upper = beside.imag >= 0.0
    s = np.concatenate([sweep.s, beside[upper]])
    w = np.hstack([sweep.vectors, vectors[:, upper]])
    # What Arnoldi has not resolved may lie anywhere: whatever grows is polished and must then be a mode.
    for k in np.flatnonzero(s.real > 0.0):
        s[k], vector, _, _ = pencil.polished(s[k], w[:, k])
        if pencil.residual(s[k], vector) > RESOLVED:
            s[k] = np.nan
    return s[np.isfinite(s)]


def _nearest(pencil: ShiftInvert, choice: ModeChoice) -> FoundModes:
    s, vectors = [], []
    for value in choice.near:
        wanted = complex(value.real, abs(value.imag))
        # Beside the value: it may be an eigenvalue to the last digit.
        around, w, _ = pencil.near(wanted * (1.0 + 1e-6j), count=6)
        best = int(np.abs(around - wanted).argmin())
        if abs(around[best] - wanted) > NEAR * abs(wanted):
            raise InputError(
                f"near = {value.real:g}{value.imag:+g}j: no mode within {100 * NEAR:g} % of it; the nearest "
                f"is "
                f"{_words(around[best])}"
            )
        s.append(around[best])
        vectors.append(w[:, best])
    return FoundModes(np.array(s), np.column_stack(vectors), "nearest to each value, by shift-invert there")


class _Sweep:
    """Shifts placed where the band is not covered yet."""

    def __init__(self, pencil: ShiftInvert, choice: ModeChoice) -> None:
        assert choice.band_hz is not None
        self.pencil, self.choice = pencil, choice
        self.band = 2.0 * np.pi * np.array(choice.band_hz)
        self.discs: list[Disc] = []
        self.s = np.zeros(0, dtype=complex)
        self.vectors = np.zeros((pencil.size, 0), dtype=complex)

    def run(self) -> FoundModes:
        wanted, below = self.choice.least_damped, self.choice.damping_below
        if wanted is None:
            self.cover(below)
            reached, chosen = below, self.inside(below)
        else:
            reached = 0.0
            for step in (*(ratio for ratio in LADDER if ratio < below), below):
                self.cover(step)
                reached, chosen = step, self.inside(step)
                # The k-th of all found, wherever they are, bounds the k-th least damped from above.
                candidates = self.damping(self.inside(below))
                if len(candidates) >= wanted:
                    reached = max(step, float(np.sort(candidates)[wanted - 1]))
                    self.cover(reached)
                    chosen = self.inside(reached)
                    if len(chosen) >= wanted:
                        break
            chosen = chosen[np.argsort(self.damping(chosen), kind="stable")][:wanted]
        if not len(chosen):
            raise InputError(self.empty())
        if len(chosen) > MOST_MODES:
            raise InputError(
                f"{self.choice}: {len(chosen)} modes; narrow the band, or ask for the least damped of them"
            )
        words = f"complete up to a damping ratio of {100 * reached:.3g} %" if reached < 1.0 else "complete"
        coverage = (
            f"{len(self.discs)} shifts whose discs cover the band: {words} "
            "as far as the Arnoldi method can tell"
        )
        return FoundModes(self.s[chosen], self.vectors[:, chosen], coverage)

    def damping(self, which: np.ndarray) -> np.ndarray:
        s = self.s[which]
        return -s.real / np.abs(s)

    def inside(self, ratio: float) -> np.ndarray:
        """Return the positions of the modes in the band with a damping ratio up to `ratio`."""
        omega = self.s.imag
        # A pair at the very edge belongs to the band: its frequency was typed with a few digits.
        slack = 1e-9 * self.band[1]
        oscillates = omega > 1e-9 * np.abs(self.s)
        in_band = (omega >= self.band[0] - slack) & (omega <= self.band[1] + slack)
        with np.errstate(divide="ignore", invalid="ignore"):
            damped = -self.s.real / np.abs(self.s) <= ratio * (1.0 + 1e-9)
        return np.flatnonzero(oscillates & in_band & damped)

    def cover(self, ratio: float) -> None:
        """Place shifts until every sample of the band up to a damping ratio lies in a disc."""
        omega = np.linspace(self.band[0], self.band[1], FREQUENCIES)
        for share in np.linspace(0.0, 1.0, RATIOS) if ratio else (0.0,):
            zeta = min(share * ratio, 0.999)
            line = omega * (-zeta / np.sqrt(1.0 - zeta**2) + 1j)
            open_ = np.ones(len(line), dtype=bool)
            for disc in self.discs:
                open_ &= ~disc.covers(line)
            while open_.any():
                if len(self.discs) == MOST_SHIFTS:
                    raise InputError(
                        f"{self.choice}: after {MOST_SHIFTS} shifts the band is not covered yet; narrow the "
                        f"band or ask "
                        "for fewer modes"
                    )
                disc = self.shift(line, open_)
                open_ &= ~disc.covers(line)

    def shift(self, line: np.ndarray, open_: np.ndarray) -> Disc:
        """Place a shift in the first stretch that is open, a disc's radius from its beginning."""
        first = int(np.argmax(open_))
        closed = np.flatnonzero(~open_[first:])
        stretch = line[first : first + closed[0]] if len(closed) else line[first:]
        reach = 0.9 * self.discs[-1].radius if self.discs and np.isfinite(self.discs[-1].radius) else np.inf
        far = int(np.count_nonzero(np.abs(stretch - stretch[0]) < reach)) - 1
        at = stretch[max(0, min(far, len(stretch) // 2))]
        s, w, disc = self.pencil.near(complex(at))
        self.discs.append(disc)
        upper = s.imag > 0.0
        s, w = s[upper], w[:, upper]
        if len(self.s):
            new = np.abs(s[:, None] - self.s[None, :]).min(axis=1) > EIGENVALUE_TOLERANCE * np.abs(s)
            s, w = s[new], w[:, new]
        self.s, self.vectors = np.concatenate([self.s, s]), np.hstack([self.vectors, w])
        return disc

    def empty(self) -> str:
        assert self.choice.band_hz is not None
        message = f"{self.choice}: there are none"
        oscillatory = self.s[self.s.imag > 1e-9 * np.abs(self.s)] if len(self.s) else self.s
        if len(oscillatory):
            gap = np.maximum(self.band[0] - oscillatory.imag, oscillatory.imag - self.band[1])
            message += f"; the nearest found is {_words(oscillatory[int(gap.argmin())])}"
        return message + "; widen the band"


def _words(s: complex) -> str:
    return f"{s.real:.4g}{s.imag:+.4g}j 1/s ({abs(s.imag) / (2 * np.pi):.4g} Hz)"
