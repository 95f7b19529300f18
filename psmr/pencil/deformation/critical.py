"""The largest step with which a scheme stays stable on a linearised system, and the mode that goes first.

Whether a step of a scheme is stable, and who is to blame where it is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psmr.base.arguments import check_arguments, positive_number
from psmr.base.errors import InputError, SchemeError, shown
from psmr.dae.system.eigenvalues import Modes, modes_of
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import Scheme, least_step, operator_step, smallest_step
from psmr.pencil.deformation.deformation import LARGEST, correction_rate_of, spectra_of
from psmr.pencil.modes.search import ALIKE_MODES, GROWS, HIGHEST, ShiftInvert, along_axis
from psmr.pencil.modes.spectrum import Match, Multipliers
from psmr.pencil.modes.verdict import mode_text
from psmr.pencil.operator.step_operator import Outermost, outermost, step_map

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

    `linear`, `modes`: The system and its modes.
    `scheme`, `vary`: As in `psmr.critical_step`.
    """

    factor, ratio_factor, relative = FACTOR, RATIO_FACTOR, RELATIVE

    def __init__(self, linear: LinearDae, modes: Modes, scheme: Scheme, vary: str) -> None:
        self.linear, self.modes, self.scheme, self.vary = linear, modes, scheme, vary
        self.h_fast = smallest_step(scheme)

    def at(self, step: float) -> Scheme:
        """Return the scheme with another step (h, h_slow, or the ratio as a number)."""
        if self.vary == "ratio":
            assert self.scheme.two_rates is not None
            return self.scheme.two_rates.with_ratio(round(step))
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
        self.h_fast = smallest_step(scheme)
        self.pencil = ShiftInvert(linear)
        refuse_unstable_at_size(self.pencil)

    def outer(self, step: float) -> Outermost:
        """Return the outermost multipliers at a step."""
        scheme = self.at(step)
        return outermost(step_map(self.linear, scheme), operator_step(scheme))

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
        s, vectors, _ = self.pencil.near(np.log(z) / operator_step(self.at(step)) * (1.0 + 1e-6j))
        length = np.linalg.norm(vector) * np.linalg.norm(vectors, axis=0)
        like = np.abs(vector.conj() @ vectors) / length if len(s) else np.zeros(0)
        if not len(like) or like.max() < ALIKE:
            return z, None, variable
        mode = complex(s[int(like.argmax())])
        return z, complex(mode.real, abs(mode.imag)), variable


VARY = ("step", "ratio")


@dataclass(frozen=True)
class CriticalStep:
    """The end of stability of a scheme on a system.

    Attributes
    ----------
    h
        Largest stable step in s: h_slow of multirate, the step of any other scheme (of a run along the arc
        the time that it takes at an equilibrium, h / weight_t); infinite where the scheme is stable up to
        `searched`.
    h_fast
        The fast step that belongs to it in s; equal to `h` for single rate.
    unstable
        Smallest unstable step met in s (h_slow for multirate): the critical step lies between `h` and this.
    searched
        (first, last) step tried in s.
    multiplier
        The z that leaves the unit circle, at the step `unstable`; None without an end.
    mode
        The mode of the system in 1/s that it belongs to; None for a spurious multiplier.
    variable
        The variable with the largest share in it.
    scheme
        The scheme that was asked about.
    diverges
        Whether it is the corrections that no longer converge, with every multiplier still inside.
    """

    h: float
    h_fast: float
    unstable: float
    searched: tuple[float, float]
    multiplier: complex | None
    mode: complex | None
    variable: str
    scheme: Scheme
    diverges: bool = False

    @property
    def way(self) -> str:
        """``"alternating"`` (z leaves at -1), ``"monotone"`` (at 1) or ``"oscillating"``."""
        assert self.multiplier is not None
        angle = abs(np.angle(self.multiplier))
        return "alternating" if angle > math.pi - 0.1 else "monotone" if angle < 1e-9 else "oscillating"

    def __str__(self) -> str:
        name = "h" if self.scheme.two_rates is None else "h_slow"
        if not math.isfinite(self.h):
            return f"{self.scheme}: stable up to {name} = {self.searched[1]:g} s, the largest step tried"
        fast = "" if name == "h" else f", h_fast = {self.h_fast:.6g} s"
        if self.diverges:
            words = f"At {self.unstable:.6g} s the corrections of a macro step diverge"
            return f"{self.scheme}: stable up to {name} = {self.h:.6g} s{fast}. {words}"
        assert self.multiplier is not None
        who = "a spurious multiplier" if self.mode is None else f"mode {mode_text(self.mode)}"
        return (
            f"{self.scheme}: stable up to {name} = {self.h:.6g} s{fast}. At {self.unstable:.6g} s {who}, "
            f"mostly in "
            f"{self.variable}, grows ({self.way})"
        )


def critical_step(
    system: System | LinearDae,
    scheme: Scheme,
    vary: str = "step",
    first: float | None = None,
    last: float = 1.0,
) -> CriticalStep:
    """Return the largest step for which a scheme stays stable, by bracketing on the multipliers.

    The step grows by 15 % at a time from `first` until a multiplier leaves the unit circle, then the bracket
    is halved to 1e-6 of the step. A ratio grows by 3 %, by one at least, and is found exactly. A window of
    instability narrower than that can be missed: of ratios none up to 176 where `first` is left out.

    Parameters
    ----------
    system
        A `System`, linearised where it stands, or a `LinearDae`. Beyond 2,000 variables a step counts as
        stable where no multiplier outside the unit circle is found by Arnoldi runs on the step map
        (`psmr.pencil.operator.step_operator`); the step then grows by 50 % at a time, and the bracket is
        halved to 1e-3 of it.
    scheme
        What is asked about; its own step says nothing but `ratio`, and h_fast for ``vary="ratio"``.
    vary
        ``"step"``: h, with partition, micro steps and weights as they are; of multirate h_slow and h_fast
        together at the given ratio. ``"ratio"``: h_slow at the given h_fast, so that the ratio is the whole
        number searched for.
    first, last
        Smallest and largest step (h, h_slow) to try in s; none is longer than a delay. First is a thousandth
        of `last` unless given, or the step that has room for the micro steps of SMES where that is longer.

    Returns
    -------
    CriticalStep

    Raises
    ------
    InputError
        For steps that are none, a system that is unstable to begin with (naming the mode), or a scheme that
        is unstable at the first step already.
    SchemeError
        For an unknown `vary`, or ``"ratio"`` of single rate.
    SingularError
        For a singular gy.
    """
    check_arguments(critical_step, locals())
    linear = system if isinstance(system, LinearDae) else system.linearise()
    if vary not in VARY:
        raise SchemeError(f"vary = {shown(vary)}: must be one of {', '.join(map(repr, VARY))}")
    if vary == "ratio" and scheme.two_rates is None:
        raise SchemeError("vary = 'ratio': a single-rate scheme has none; leave it out")
    last = positive_number("last", last)
    smallest = smallest_step(scheme) if vary == "ratio" else max(1e-3 * last, least_step(scheme))
    if linear.delays is not None and not (scheme.past is not None and scheme.past.own_step):
        last = min(last, float(linear.delays.tau.min()))
        smallest = min(smallest, last)
    first = positive_number("first", smallest if first is None else first)
    if first > last:
        raise InputError(f"first = {first:g} s is beyond last = {last:g} s")
    judge: StepJudge
    if linear.n + linear.m > LARGEST:
        judge = StepJudgeAtSize(linear, scheme, vary)
    else:
        modes = modes_of(linear)
        refuse_unstable(modes)
        judge = StepJudge(linear, modes, scheme, vary)
    if vary == "ratio":
        most = math.floor(last / judge.h_fast * (1.0 + 1e-9))
        first, last = float(max(1, round(first / judge.h_fast))), float(max(1, most))
    return _search(judge, first, last)


def _search(judge: StepJudge, first: float, last: float) -> CriticalStep:
    """Return the end of stability between two steps, or two ratios."""
    good, bad = _first_unstable(judge, first, last)
    while math.isfinite(bad) and (middle := judge.between(good, bad)) is not None:
        good, bad = (middle, bad) if judge.stable(middle) else (good, middle)
    unit = judge.h_fast if judge.vary == "ratio" else 1.0
    return _result(judge, good, bad, (first * unit, last * unit))


def _first_unstable(judge: StepJudge, first: float, last: float) -> tuple[float, float]:
    """Return the last stable and the first unstable step going up, infinite where there is none."""
    if not judge.stable(first):
        bad = _result(judge, first, first, (first, first))
        if bad.diverges:
            raise InputError(
                f"{judge.at(first)}: the corrections diverge at the first step already; try a smaller one"
            )
        who = "a spurious multiplier" if bad.mode is None else f"mode {mode_text(bad.mode)}"
        raise InputError(
            f"{judge.at(first)}: unstable at the first step already: {who}, mostly in {bad.variable}, grows, "
            f"|z| = {abs(bad.multiplier or 0.0):.6g}; try a smaller first step, or another partition"
        )
    good, k = first, 0
    while good < last:
        k += 1
        tried = min(judge.upward(first, k), last)
        if not judge.stable(tried):
            return good, tried
        good = tried
    return good, math.inf


def _result(judge: StepJudge, good: float, bad: float, searched: tuple[float, float]) -> CriticalStep:
    """Return the record, with the multiplier that is outside at the step `bad`."""
    if not math.isfinite(bad):
        return CriticalStep(math.inf, math.inf, math.inf, searched, None, None, "", judge.scheme)
    stable, unstable = judge.at(good), judge.at(bad)
    spans = operator_step(stable)
    h_fast = spans if stable.two_rates is None else spans / stable.two_rates.ratio
    if judge.diverges(bad):
        return CriticalStep(
            stable.step, h_fast, unstable.step, searched, None, None, "", judge.scheme, diverges=True
        )
    return CriticalStep(
        spans,
        h_fast,
        operator_step(unstable),
        searched,
        *judge.culprit(bad),
        judge.scheme,
    )
