"""The largest step with which a scheme stays stable on a linearised system, and the mode that goes first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psmr.dae.system.linear import LinearDae, require_linear
from psmr.errors import InputError, SchemeError
from psmr.numbers import plain
from psmr.numerics.schemes.scheme import Scheme, require_scheme
from psmr.pencil.deformation.deformation import LARGEST
from psmr.pencil.modes.matching import Match, match
from psmr.pencil.modes.outermost import Outermost, outermost
from psmr.pencil.modes.search import along_axis
from psmr.pencil.modes.shift_invert import ShiftInvert
from psmr.pencil.modes.spectrum import Modes, Multipliers, modes_of, multipliers_of
from psmr.pencil.modes.verdict import excess_of, mode_text
from psmr.pencil.operator.exact import correction_rate, step_operator
from psmr.pencil.operator.step_map import step_map

# The search goes up by this factor until it meets an unstable step; a window of instability narrower than
# that, below the step it returns, can be missed.
FACTOR = 1.15

# Width of the final bracket relative to the step.
RELATIVE = 1e-6

# Beyond LARGEST: up to which frequency in rad/s the system is searched for modes that grow, from which real
# part in 1/s on they do, and what part of its length a multiplier's vector shares with that of its mode.
AXIS, GROWS, ALIKE = 2.0 * math.pi * 3.0, 1e-5, 0.5

# Where a multiplier leaves beside another one, as at z = 1 beside that of a zero mode, their eigenvectors mix
# and the mode cannot be told: it is read a little further on, as soon as no other is nearer than APART.
BEYOND = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
APART = 1e-4

# Modes within this part of one another are those of equal devices: which one leaves first says nothing.
ALIKE_MODES = 1e-3

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
        name = self.scheme.step_name
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
    system: Any,
    scheme: Scheme,
    vary: str = "step",
    first: float | None = None,
    last: float = 1.0,
) -> CriticalStep:
    """Return the largest step for which a scheme stays stable, by bracketing on the multipliers.

    The step grows by 15 % at a time from `first` until a multiplier leaves the unit circle, then the bracket
    is halved to 1e-6 of the step.

    Parameters
    ----------
    system
        A `System`, linearised where it stands, or a `LinearDae`. Beyond 2,000 variables a step counts as
        stable where no multiplier outside the unit circle is found by Arnoldi runs on the step map
        (`psmr.pencil.modes.outermost`); the step then grows by 50 % at a time, and the bracket is halved to
        1e-3 of it.
    scheme
        What is asked about; its own step says nothing but `ratio`, and h_fast for ``vary="ratio"``.
    vary
        ``"step"``: h, with partition, micro steps and weights as they are; of multirate h_slow and h_fast
        together at the given ratio. ``"ratio"``: h_slow at the given h_fast, so that the ratio is the whole
        number searched for.
    first, last
        Smallest and largest step (h, h_slow) to try in s. First is a thousandth of `last` unless given, or
        the step that has room for the micro steps of SMES where that is longer.

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
    linear: LinearDae = system.linearise() if hasattr(system, "linearise") else system
    require_linear(linear, "critical_step")
    require_scheme(scheme)
    if vary not in VARY:
        raise SchemeError(f"vary = {vary!r}: must be one of {', '.join(map(repr, VARY))}")
    if vary == "ratio" and not scheme.has_ratio:
        raise SchemeError("vary = 'ratio': a single-rate scheme has none; leave it out")
    smallest = scheme.h_fast if vary == "ratio" else max(1e-3 * last, scheme.shortest_step)
    first = smallest if first is None else first
    last, first = plain(last), plain(first)
    for name, value in (("last", last), ("first", first)):
        if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
            raise InputError(f"{name} = {value!r}: must be a finite number > 0 in s")
    if first > last:
        raise InputError(f"first = {first:g} s is beyond last = {last:g} s")
    judge: _Judge
    if linear.n + linear.m > LARGEST:
        judge = JudgeAtSize(linear, scheme, vary)
    else:
        modes = modes_of(linear)
        refuse_unstable(modes)
        judge = _Judge(linear, modes, scheme, vary)
    return _by_ratio(judge, first, last) if vary == "ratio" else _by_step(judge, first, last)


def refuse_unstable(modes: Modes) -> None:
    """Raise InputError naming the mode where a system is unstable to begin with."""
    growing = [s for s in modes.s if s.real > modes.zero and s.imag >= 0.0]
    if growing:
        raise InputError(
            f"the system is unstable to begin with: mode {mode_text(complex(growing[0]))} grows; no step can "
            f"be "
            "judged by stability there. Linearise at another point"
        )


class _Judge:
    """Whether a step is stable, with what is needed to name the culprit."""

    factor, relative = FACTOR, RELATIVE

    def __init__(self, linear: LinearDae, modes: Modes, scheme: Scheme, vary: str) -> None:
        self.linear, self.modes, self.scheme, self.vary = linear, modes, scheme, vary
        self.h_fast = scheme.h_fast

    def at(self, step: float) -> Scheme:
        """Return the scheme with another step (h, h_slow, or the ratio as a number)."""
        if self.vary == "ratio":
            return self.scheme.with_ratio(round(step))
        return self.scheme.with_step(step)

    def spectrum(self, step: float) -> tuple[Multipliers, Match, np.ndarray]:
        """Return the multipliers, their modes, and |z| - 1 beyond rounding."""
        scheme = self.at(step)
        numerical = multipliers_of(step_operator(self.linear, scheme), self.linear.n + self.linear.m)
        matched = match(self.modes, numerical, scheme.operator_step)
        return numerical, matched, excess_of(self.modes, numerical, matched, scheme.operator_step)

    def stable(self, step: float) -> bool:
        """Return whether no multiplier lies outside the unit circle."""
        return not self.diverges(step) and bool((self.spectrum(step)[2] <= 0.0).all())

    def diverges(self, step: float) -> bool:
        """Return whether corrections to convergence do not end."""
        iterated = getattr(self.scheme, "corrections", 0) == "converge"
        return iterated and correction_rate(self.linear, self.at(step)) >= 1.0

    def result(self, good: float, bad: float, searched: tuple[float, float]) -> CriticalStep:
        """Return the record, with the multiplier that is outside at the step `bad`."""
        if not math.isfinite(bad):
            return CriticalStep(math.inf, math.inf, math.inf, searched, None, None, "", self.scheme)
        stable, unstable = self.at(good), self.at(bad)
        h_fast = stable.operator_step / stable.ratio
        if self.diverges(bad):
            return CriticalStep(
                stable.step, h_fast, unstable.step, searched, None, None, "", self.scheme, diverges=True
            )
        return CriticalStep(
            stable.operator_step,
            h_fast,
            unstable.operator_step,
            searched,
            *self.culprit(bad),
            self.scheme,
        )

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


class JudgeAtSize(_Judge):
    """The same beyond `LARGEST`, from the outermost multipliers of the step map."""

    factor, relative = 1.5, 1e-3

    def __init__(self, linear: LinearDae, scheme: Scheme, vary: str) -> None:
        self.linear, self.scheme, self.vary = linear, scheme, vary
        self.h_fast = scheme.h_fast
        self.pencil = ShiftInvert(linear)
        slow = along_axis(self.pencil, AXIS)
        growing = slow[slow.real > GROWS]
        if len(growing):
            raise InputError(
                f"the system is unstable to begin with: mode {mode_text(complex(growing[0]))} grows; no step "
                "can be judged by stability there. Linearise at another point"
            )

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


def _by_step(judge: _Judge, first: float, last: float) -> CriticalStep:
    good, bad = _first_unstable(judge, lambda k: min(first * judge.factor**k, last), first, last)
    while math.isfinite(bad) and bad - good > judge.relative * good:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if judge.stable(middle) else (good, middle)
    return judge.result(good, bad, (first, last))


def _by_ratio(judge: _Judge, first: float, last: float) -> CriticalStep:
    begin, end = max(1, round(first / judge.h_fast)), max(1, math.floor(last / judge.h_fast * (1.0 + 1e-9)))
    good, bad = _first_unstable(judge, lambda k: float(min(begin + k, end)), float(begin), float(end))
    return judge.result(good, bad, (begin * judge.h_fast, end * judge.h_fast))


def _first_unstable(
    judge: _Judge, step: Callable[[int], float], first: float, last: float
) -> tuple[float, float]:
    """Return the last stable and the first unstable step going up, infinite where there is none."""
    if not judge.stable(first):
        bad = judge.result(first, first, (first, first))
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
        tried = step(k)
        if not judge.stable(tried):
            return good, tried
        good = tried
    return good, math.inf
