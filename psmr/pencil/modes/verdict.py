"""Stable or not, and who is to blame: decided from modes and multipliers in fields, said in words last."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from psmr.pencil.modes.matching import Match
from psmr.pencil.modes.spectrum import Modes, Multipliers

GROWTH = 0.02
"""Part by which something grows over a run, up to which that is a fact about it and no judgement.

A frequency that drifts for minutes without a governor is no instability of a run of ten seconds.
"""

# Relative to its size: a sparse search leaves so small an imaginary part to a real mode.
ROUNDED = 1e-13

# A multiplier of which so much or less is left after a step decays immediately.
GONE = 0.1


class Kind(Enum):
    """What a verdict says."""

    STABLE = "stable"
    SYSTEM = "unstable as the system is"
    SCHEME = "scheme unstable"
    UNUSABLE = "corrections diverge"
    HELD = "not judged: grows while the time is held"


@dataclass(frozen=True)
class Growth:
    """What grows from step to step.

    `z`: Its multiplier; None where that lies too close to 1 to tell.
    `mode`: The mode of the system, in 1/s and rad/s, that has this multiplier; None of a spurious one.
    `variable`: Name of the variable in which it is the largest; "" where that was not asked.
    """

    z: complex | None
    mode: complex | None = None
    variable: str = ""

    def rate(self, step: float) -> float:
        """Return how fast it grows, in 1/s, with a step in s."""
        if self.z is not None:
            return math.log(abs(self.z)) / step
        return self.mode.real if self.mode else 0.0

    def part(self, step: float, t_end: float) -> float:
        """Return the part by which it grows to t_end in s, with a step in s."""
        return grown(self.rate(step), t_end)

    def __str__(self) -> str:
        if self.mode is None:
            return f"a spurious mode of the scheme (mostly in {self.variable})"
        return (
            f"mode {mode_text(self.mode)}, {'damped' if self.mode.real < 0.0 else 'undamped'} in the system,"
        )


@dataclass(frozen=True)
class Verdict:
    """What a scheme does to the stability of a system.

    `step`: Time in s over which a multiplier acts.
    `growing`: Modes of the system that grow, in 1/s and rad/s, one of each pair.
    `hidden`: Those of them that the scheme damps, or does not show.
    `shown`: The largest of those that the scheme shows; None where there is none.
    `others`: The smaller ones.
    `blamed`: What grows most by the scheme alone; None where nothing does.
    `rate`: Factor by which a correction of a macro step changes its error, where that decides; otherwise 0.
    `t_end`: Length in s of the run that is judged; infinite where nothing is known of a run.
    `slight`: What grows by no more than `GROWTH` up to there, and so is in none of the fields above: words,
      and the part by which each grows.
    `held`: Whether the equations read the time, which is held: what grows in the system then says nothing.
    `every`: Whether every multiplier was looked at.
    """

    step: float
    growing: tuple[complex, ...] = ()
    hidden: tuple[complex, ...] = ()
    shown: Growth | None = None
    others: tuple[Growth, ...] = ()
    blamed: Growth | None = None
    rate: float = 0.0
    t_end: float = math.inf
    slight: tuple[tuple[str, float], ...] = ()
    held: bool = False
    every: bool = True

    @property
    def kind(self) -> Kind:
        """What it says."""
        if self.rate >= 1.0:
            return Kind.UNUSABLE
        if self.blamed is not None:
            return Kind.SCHEME
        if self.shown is None:
            return Kind.STABLE
        return Kind.HELD if self.held else Kind.SYSTEM

    @property
    def growth_rate(self) -> float:
        """How fast, in 1/s, what is blamed grows, or else what is shown; 0 where nothing does."""
        growth = self.blamed or self.shown
        return 0.0 if growth is None else growth.rate(self.step)

    @property
    def stable(self) -> bool | None:
        """Whether nothing grows; None where that is not judged."""
        kind = self.kind
        return None if kind is Kind.HELD else kind is Kind.STABLE

    @property
    def blames_scheme(self) -> bool:
        """Whether the scheme is at fault."""
        return self.kind in (Kind.SCHEME, Kind.UNUSABLE)

    def over(self, t_end: float) -> Verdict:
        """Return the verdict on a run to t_end in s, in which what grows by up to `GROWTH` is a fact.

        The growth of a mode that is a fact is the scheme's where this adds more than `GROWTH` to it.
        """
        if t_end >= self.t_end:
            return self
        slight = {f"mode {mode_text(s)} of the system": grown(s.real, t_end) for s in self.growing}
        if self.blamed is not None:
            slight[str(self.blamed).rstrip(",")] = self.blamed.part(self.step, t_end)
        kept = tuple(s for s in self.growing if grown(s.real, t_end) > GROWTH)
        shown, by_scheme = list[Growth](), list[Growth]()
        for growth in (*((self.shown,) if self.shown else ()), *self.others):
            part = growth.part(self.step, t_end)
            own = part if growth.mode is None else grown(growth.mode.real, t_end)
            if self.held or (part > GROWTH and own > GROWTH):
                shown.append(growth)
            elif part - own > GROWTH:
                by_scheme.append(growth)
        if self.blamed is not None and self.blamed.part(self.step, t_end) > GROWTH:
            by_scheme.append(self.blamed)
        return replace(
            self,
            growing=kept,
            hidden=tuple(s for s in self.hidden if s in kept),
            shown=next(iter(shown), None),
            others=tuple(shown[1:]),
            blamed=max(by_scheme, key=lambda growth: abs(growth.z or 0.0), default=None),
            t_end=t_end,
            slight=(*self.slight, *((words, part) for words, part in slight.items() if part <= GROWTH)),
        )

    def with_time_held(self) -> Verdict:
        """Return the verdict on equations that read the time: their system is not judged."""
        return replace(self, growing=(), hidden=(), held=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said of the system and of what grows too little to be judged, a sentence each."""
        words = []
        if self.growing:
            shown = ", ".join(mode_text(s) for s in self.growing[:3])
            words.append(f"The system itself is unstable: mode {shown}.")
        if self.hidden:
            words.append(f"The scheme hides this: it damps mode {mode_text(self.hidden[0])}.")
        if self.slight:
            said = ", ".join(f"{what} by {100.0 * part:.2g} %" for what, part in self.slight[:3])
            words.append(f"Grows too little in the {self.t_end:g} s of the run to be judged: {said}.")
        return tuple(words)

    def __str__(self) -> str:
        match self.kind:
            case Kind.UNUSABLE:
                return (
                    f"Unusable: the corrections diverge (error times {self.rate:.3g} at each); "
                    "try a smaller h_slow, another partition, or a fixed number of corrections."
                )
            case Kind.SCHEME:
                assert self.blamed is not None
                assert self.blamed.z is not None
                what = str(self.blamed)
                if not self.every and self.blamed.mode is None:
                    what = f"a multiplier mostly in {self.blamed.variable},"
                return f"Unstable: {what} grows, |z| = {abs(self.blamed.z):.6g}."
            case Kind.SYSTEM:
                assert self.shown is not None
                z, s = self.shown.z, self.shown.mode
                size = f"|z| = {abs(z):.6g}" if z is not None else f"mode {mode_text(s or 0j)} grows"
                return f"Unstable, as the system is: {size}."
            case Kind.HELD:
                return (
                    "Not judged: the equations read the time, and what grows while it is held says nothing."
                )
        found = "Numerically stable" if self.every else "No numerical instability found"
        return f"{found} at h = {self.step:g} s."


def grown(rate: float, t_end: float) -> float:
    """Return the part by which something grows at a rate in 1/s up to t_end in s."""
    exponent = rate * t_end if rate else 0.0
    return math.expm1(exponent) if exponent < 700.0 else math.inf


def judge(
    modes: Modes,
    numerical: Multipliers,
    matched: Match,
    excess: np.ndarray,
    step: float,
    rate: float,
    names: tuple[str, ...],
) -> Verdict:
    """Return the verdict; `excess` as of `excess_of`."""
    grows = modes.s.real > modes.error
    growing = np.flatnonzero(grows & (modes.s.imag >= 0.0)).tolist()
    hidden = [k for k in growing if matched.partner[k] < 0 or abs(numerical.z[matched.partner[k]]) <= 1.0]
    outside = np.flatnonzero(excess > 0.0)
    outside = outside[np.argsort(-excess[outside], kind="stable")].tolist()
    owner = {int(j): k for k, j in enumerate(matched.partner) if j >= 0}
    own = [j for j in outside if _grows_as_a_mode(j, modes, numerical, owner, grows)]

    def growths(among: Sequence[int]) -> list[Growth]:
        found = []
        # Of a conjugate pair the upper one speaks.
        for j in [j for j in among if numerical.z[j].imag >= 0.0] or among[:1]:
            pair = (j, int(np.abs(numerical.z - numerical.z[j].conj()).argmin()))
            mode = next((complex(modes.s[owner[i]]) for i in pair if i in owner), None)
            variable = names[int(np.abs(numerical.vectors[:, j]).argmax())]
            found.append(Growth(complex(numerical.z[j]), mode, variable))
        return found

    shown, blamed = growths(own), growths([j for j in outside if j not in own])
    return Verdict(
        step,
        tuple(modes.s[growing].tolist()),
        tuple(modes.s[hidden].tolist()),
        next(iter(shown), None),
        tuple(shown[1:]),
        next(iter(blamed), None),
        rate,
    )


def _grows_as_a_mode(
    j: int, modes: Modes, numerical: Multipliers, owner: dict[int, int], grows: np.ndarray
) -> bool:
    """Return whether a multiplier is that of a mode of the system that grows.

    Its conjugate may have been matched in its place, and modes that rounding cannot tell from one another may
    have changed partners.
    """
    pair = (j, int(np.abs(numerical.z - numerical.z[j].conj()).argmin()))
    for k in (owner[i] for i in pair if i in owner):
        alike = np.abs(modes.s - modes.s[k]) <= modes.error + modes.error[k]
        if grows[k] or (grows & alike).any():
            return True
    return False


def remarks(modes: Modes, numerical: Multipliers, matched: Match) -> tuple[str, ...]:
    """Return what must be said of zero modes, and of those that a step is too long to show."""
    notes, upper = [], modes.s.imag >= 0.0
    if count := len(matched.zero):
        notes.append(
            f"{count} zero mode{'s' if count > 1 else ''} (z = 1): a common angle or speed, or an integrator"
            " at rest, not an instability."
        )
    lost = matched.lost[upper[matched.lost]]
    left = np.where(matched.partner[lost] >= 0, np.abs(numerical.z[matched.partner[lost]]), 0.0)
    for among, words in ((left <= GONE, "decay immediately"), (left > GONE, "shown as other modes")):
        if among.any():
            notes.append(f"Too fast for this step ({words}): {_listed(modes.s[lost[among]].tolist())}.")
    return tuple(notes)


def _listed(modes: Sequence[complex]) -> str:
    """Write the first three different modes, how often each is there, and how many more there are."""
    texts = Counter(map(mode_text, modes))
    shown = [text if count == 1 else f"{text} ({count} modes)" for text, count in texts.items()][:3]
    rest = len(modes) - sum(list(texts.values())[:3])
    return f"{', '.join(shown)}{f' and {rest} more' if rest else ''}"


def mode_text(s: complex) -> str:
    """Write a mode, ``-0.196 ± j8.373 1/s``."""
    oscillates = abs(s.imag) > ROUNDED * abs(s)
    return f"{s.real:.4g} ± j{abs(s.imag):.4g} 1/s" if oscillates else f"{s.real:.4g} 1/s"


def excess_of(modes: Modes, numerical: Multipliers, matched: Match, step: float) -> np.ndarray:
    """Return |z| - 1 of each multiplier, and 0 where rounding explains the difference.

    A multiplier on the unit circle within its rounding error counts as on it; so does that of a mode at 0, or
    on the axis, within what rounding has done to the mode itself.
    """
    allowance = numerical.error.copy()
    own = np.flatnonzero(modes.undecided & (matched.partner >= 0))
    moved = np.maximum(np.minimum(modes.error[own], 2.0 * np.abs(modes.s[own])), modes.split)
    np.maximum.at(allowance, matched.partner[own], np.expm1(np.minimum(moved * step, 1.0)))
    excess = np.abs(numerical.z) - 1.0
    return np.where(np.abs(excess) <= allowance, 0.0, excess)


def stable_and_radius(excess: np.ndarray) -> tuple[bool, float]:
    """Return whether no multiplier is outside the unit circle, and the largest |z|; see `excess_of`."""
    if not len(excess):
        return True, 0.0
    return bool((excess <= 0.0).all()), float((1.0 + excess).max())
