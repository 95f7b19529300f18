"""Whether a step of a scheme is stable, and who is to blame where it is not."""

from __future__ import annotations

import math

import numpy as np

from psmr.base.errors import InputError, SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.spectra import correction_rate_of, spectra_of
from psmr.pencil.modes.matching import Match
from psmr.pencil.modes.search import ALIKE_MODES, GROWS, HIGHEST, along_axis
from psmr.pencil.modes.shift_invert import ShiftInvert
from psmr.pencil.modes.spectrum import Modes, Multipliers
from psmr.pencil.modes.verdict import mode_text
from psmr.pencil.operator.step_map import Outermost, outermost, step_map

# The search goes up by these factors until it meets an unstable step or ratio, by one at least of a ratio,
# which leaves out none up to 176; a narrower window of instability, below what it returns, can be missed.
FACTOR, RATIO_FACTOR = 1.15, 1.03

# Width of the final bracket relative to the step.
RELATIVE = 1e-6

# Of a large system: what part of its length a multiplier's vector shares with that of its mode.
ALIKE = 0.5

# Where a multiplier leaves beside another one, as at z = 1 beside that of a zero mode, their eigenvectors mix
# and the mode cannot be told: it is read a little further on, as soon as no other is nearer than APART.
BEYOND = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
APART = 1e-4


def refuse_unstable(modes: Modes) -> None:
    """Raise InputError naming the mode where a system is unstable to begin with."""
    growing = modes.s[(modes.s.real > modes.error) & (modes.s.imag >= 0.0)]
    if len(growing):
        raise InputError(_unstable(complex(growing[0])))


def refuse_unstable_at_size(pencil: ShiftInvert) -> None:
    """Raise InputError naming a mode that grows slowly, up to 3 Hz: what large systems are unstable by."""
    slow = along_axis(pencil, HIGHEST)
    growing = slow[slow.real > GROWS]
    if len(growing):
        raise InputError(_unstable(complex(growing[0])))


def _unstable(s: complex) -> str:
    return (
        f"the system is unstable to begin with: mode {mode_text(s)} grows; no step can be judged by "
        "stability there. Linearise at another point"
    )


class StepJudge:
    """Whether a step is stable, with what is needed to name the culprit.

    Parameters
    ----------
    linear, modes
        The system and its modes.
    scheme, vary
        As in `psmr.critical_step`.
    """

    factor, ratio_factor, relative = FACTOR, RATIO_FACTOR, RELATIVE

    def __init__(self, linear: LinearDae, modes: Modes, scheme: Scheme, vary: str) -> None:
        self.linear, self.modes, self.scheme, self.vary = linear, modes, scheme, vary
        self.h_fast = scheme.h_fast

    def at(self, step: float) -> Scheme:
        """Return the scheme with another step (h, h_slow, or the ratio as a number)."""
        if self.vary == "ratio":
            return self.scheme.with_ratio(round(step))
        return self.scheme.with_step(step)

    def upward(self, first: float, k: int) -> float:
        """Return the k-th step that is tried on the way up; a ratio is a whole number."""
        if self.vary == "ratio":
            return max(first + k, math.floor(first * self.ratio_factor**k))
        return first * self.factor**k

    def between(self, good: float, bad: float) -> float | None:
        """Return the step that halves a bracket; None where that is narrow enough."""
        if self.vary == "ratio":
            return (good + bad) // 2 if bad - good > 1 else None
        return math.sqrt(good * bad) if bad - good > self.relative * good else None

    def spectrum(self, step: float) -> tuple[Multipliers, Match, np.ndarray]:
        """Return the multipliers, their modes, and |z| - 1 beyond rounding."""
        found = spectra_of(self.linear, self.at(step), self.modes)
        return found.numerical, found.matched, found.excess

    def stable(self, step: float) -> bool:
        """Return whether no multiplier lies outside the unit circle."""
        return not self.diverges(step) and bool((self.spectrum(step)[2] <= 0.0).all())

    def diverges(self, step: float) -> bool:
        """Return whether corrections to convergence do not end."""
        return correction_rate_of(self.linear, self.at(step)) >= 1.0

    def culprit(self, bad: float) -> tuple[complex, complex | None, str]:
        """Return the multiplier outside at the step `bad`, its mode (None: spurious) and main variable."""
        names = self.linear.names_x + self.linear.names_y
        mode, variable = None, ""
        first: complex | None = None
        last = 0j
        for beyond in BEYOND if self.vary == "step" else BEYOND[:1]:
            numerical, matched, excess = self.spectrum(bad * (1.0 + beyond))
            if first is None:
                j = int(np.argmax(excess))
                first = complex(numerical.z[j])
            elif not (excess > 0.0).any():
                break
            else:  # the one that left, not one that has overtaken it since
                j = int(np.argmin(np.where(excess > 0.0, np.abs(numerical.z - last), np.inf)))
            last = complex(numerical.z[j])
            owner = np.flatnonzero(matched.partner == j)
            if len(owner) or not variable:
                mode = complex(self.modes.s[owner[0]]) if len(owner) else None
                variable = names[int(np.argmax(numerical.participation[: len(names), j]))]
            if len(owner) and not self._mixed(numerical, matched, j, self.modes.s[owner[0]]):
                break
        assert first is not None
        return first, None if mode is None else complex(mode.real, abs(mode.imag)), variable

    def _mixed(self, numerical: Multipliers, matched: Match, j: int, s: complex) -> bool:
        """Return whether a multiplier of another mode than s, or of none, is beside the one at j.

        Modes that are equal, as those of equal devices, may mix: each of them is the right one.
        """
        near = np.flatnonzero(np.abs(numerical.z - numerical.z[j]) <= APART)
        for other in near[near != j]:
            owner = np.flatnonzero(matched.partner == other)
            if not len(owner) or abs(self.modes.s[owner[0]] - s) > ALIKE_MODES * abs(s):
                return True
        return False


class StepJudgeAtSize(StepJudge):
    """The same where not every multiplier is computed, from the outermost multipliers of the step map."""

    factor, ratio_factor, relative = 1.5, 1.5, 1e-3

    def __init__(self, linear: LinearDae, scheme: Scheme, vary: str) -> None:
        self.linear, self.scheme, self.vary = linear, scheme, vary
        self.h_fast = scheme.h_fast
        self.pencil = ShiftInvert(linear)
        refuse_unstable_at_size(self.pencil)

    def outer(self, step: float) -> Outermost:
        """Return the outermost multipliers at a step."""
        scheme = self.at(step)
        return outermost(step_map(self.linear, scheme), scheme.operator_step)

    def stable(self, step: float) -> bool:
        """Return whether no multiplier outside the unit circle is found."""
        try:
            return not bool(self.outer(step).outside.any())
        except SchemeError:  # the corrections diverge
            return False

    def diverges(self, step: float) -> bool:
        """Return whether corrections to convergence do not end."""
        if getattr(self.scheme, "corrections", 0) != "converge":
            return False
        try:
            self.outer(step)
        except SchemeError:
            return True
        return False

    def culprit(self, step: float) -> tuple[complex, complex | None, str]:
        """Return the multiplier that is furthest outside, its mode (None: spurious), and the variable."""
        outer, names = self.outer(step), self.linear.names_x + self.linear.names_y
        k = int(np.flatnonzero(outer.outside)[0])
        z, vector = complex(outer.z[k]), outer.vectors[: len(names), k]
        variable = names[int(np.abs(vector).argmax())]
        s, vectors, _ = self.pencil.near(np.log(z) / self.at(step).operator_step * (1.0 + 1e-6j))
        length = np.linalg.norm(vector) * np.linalg.norm(vectors, axis=0)
        like = np.abs(vector.conj() @ vectors) / length if len(s) else np.zeros(0)
        if not len(like) or like.max() < ALIKE:
            return z, None, variable
        mode = complex(s[int(like.argmax())])
        return z, complex(mode.real, abs(mode.imag)), variable
