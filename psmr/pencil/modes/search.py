"""Finding the chosen modes of a large system: shifts along the band until their discs cover it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psmr.base.errors import InputError
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.shift_invert import EIGENVALUE_TOLERANCE, Disc, ShiftInvert

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
class Found:
    """Modes of a system that were asked for.

    Attributes
    ----------
    s
        (k,) eigenvalues in 1/s, imaginary part not negative.
    vectors
        (n + m, k) their right eigenvectors, of length 1.
    coverage
        How they were found and how far the search reached, in words.
    """

    s: np.ndarray
    vectors: np.ndarray
    coverage: str


def find(pencil: ShiftInvert, choice: ModeChoice) -> Found:
    """Return the chosen modes, not yet polished.

    Raises
    ------
    InputError
        For a value without a mode nearby, a band without modes (with the nearest mode), or one with too many.
    SingularError
        When gy is singular.
    """
    return _nearest(pencil, choice) if choice.near else _Sweep(pencil, choice).run()


def along_axis(pencil: ShiftInvert, highest: float) -> np.ndarray:
    """Return the modes near the imaginary axis from 0 to a frequency in rad/s, and near 0.

    Shifts are placed until their discs cover the axis, so that what grows slowly lies in one of them.

    Raises
    ------
    InputError
        Where that takes more shifts than a search may.
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


def _nearest(pencil: ShiftInvert, choice: ModeChoice) -> Found:
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
    return Found(np.array(s), np.column_stack(vectors), "nearest to each value, by shift-invert there")


class _Sweep:
    """Shifts placed where the band is not covered yet."""

    def __init__(self, pencil: ShiftInvert, choice: ModeChoice) -> None:
        assert choice.band_hz is not None
        self.pencil, self.choice = pencil, choice
        self.band = 2.0 * np.pi * np.array(choice.band_hz)
        self.discs: list[Disc] = []
        self.s = np.zeros(0, dtype=complex)
        self.vectors = np.zeros((pencil.size, 0), dtype=complex)

    def run(self) -> Found:
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
        return Found(self.s[chosen], self.vectors[:, chosen], coverage)

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
