"""Stable or not, who is to blame, whose damping a scheme changes: decided in fields, said in words last."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import first_few
from psmr.dae.system.eigenvalues import Modes
from psmr.pencil.modes.spectrum import Match, Multipliers

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
        return growth_until(self.rate(step), t_end)

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
        slight = {f"mode {mode_text(s)} of the system": growth_until(s.real, t_end) for s in self.growing}
        if self.blamed is not None:
            slight[str(self.blamed).rstrip(",")] = self.blamed.part(self.step, t_end)
        kept = tuple(s for s in self.growing if growth_until(s.real, t_end) > GROWTH)
        shown, by_scheme = list[Growth](), list[Growth]()
        for growth in (*((self.shown,) if self.shown else ()), *self.others):
            part = growth.part(self.step, t_end)
            own = part if growth.mode is None else growth_until(growth.mode.real, t_end)
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
                return f"The linearised system is unstable, and the simulation reproduces this: {size}."
            case Kind.HELD:
                return (
                    "Not judged: the equations read the time, and what grows while it is held says nothing."
                )
        found = "Numerically stable" if self.every else "No numerical instability found"
        return f"{found} at h = {self.step:g} s."


def growth_until(rate: float, t_end: float) -> float:
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
    for among, words in ((left <= GONE, "they decay at once"), (left > GONE, "they appear as other modes")):
        if among.any():
            notes.append(f"Not resolved by this step ({words}): {_listed(modes.s[lost[among]].tolist())}.")
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


# Modes that a sentence lists.
LISTED = 2

Eigenvalues = NDArray[np.complex128]


@dataclass(frozen=True)
class DampingLimit:
    """By how much a scheme may change the damping ratio of an oscillation, in either direction.

    An oscillation that is damped too much is as wrong as one that is damped too little: a real one would last
    longer than the simulated one.

    `change`: Change of the damping ratio that is allowed, as a fraction (0.01: one percentage point).
    `part`: The same in parts of the mode's own damping ratio; the larger of both counts.
    `hz`: Highest frequency in Hz of the oscillations that count. Electromechanical ones are below 3 Hz, slow
      interactions of converters below 10 Hz (Hatziargyriou et al., Definition and classification of power
      system stability, IEEE Trans. Power Syst. 36 (2021) 3271-3281).
    `below`: An oscillation counts when its damping ratio is below this, in the system or as simulated. At 0.3
      it falls to a seventh from one period to the next.
    """

    change: float = 0.01
    part: float = 0.2
    hz: float = 10.0
    below: float = 0.3

    def allowed(self, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the allowed change of (k,) damping ratios."""
        return np.maximum(self.change, self.part * np.abs(ratio))

    def counts(self, s: Eigenvalues, s_hat: Eigenvalues) -> NDArray[np.bool_]:
        """Return which of (k,) modes are oscillations that count.

        `s`, `s_hat`: modes of the system and as the scheme shows them, in 1/s and rad/s; NaN where it does
        not.
        """
        least = np.fmin(damping_ratio(s), damping_ratio(s_hat))
        return (s.imag > 0.0) & (s.imag <= 2.0 * np.pi * self.hz) & (least < self.below)

    def excess(self, s: Eigenvalues, s_hat: Eigenvalues) -> NDArray[np.float64]:
        """Return by what part of the allowance each of (k,) modes is damped otherwise than in the system.

        Above 1: more than is allowed. Infinite for an oscillation that the scheme does not show, and 0 for
        what does not count.
        """
        ratio = damping_ratio(s)
        part = np.abs(damping_ratio(s_hat) - ratio) / self.allowed(ratio)
        return np.where(self.counts(s, s_hat), np.where(np.isnan(part), np.inf, part), 0.0)


def damping_ratio(s: Eigenvalues) -> NDArray[np.float64]:
    """Return the damping ratios of (k,) modes, NaN at 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(-s.real / np.abs(s))


def changed_most(columns: Mapping[str, Any], limit: DampingLimit) -> list[tuple[complex, complex | None]]:
    """Return the modes of a deformation table whose damping is off by more than a limit, least damped first.

    Each with what the scheme makes of it, None where it does not show it.
    """
    s = columns["real"] + 1j * columns["imag"]
    s_hat = columns["real_numerical"] + 1j * columns["imag_numerical"]
    off = np.flatnonzero(limit.excess(s, s_hat) > 1.0)
    off = off[np.argsort(damping_ratio(s[off]), kind="stable")]
    return [(complex(s[k]), None if np.isnan(s_hat[k]) else complex(s_hat[k])) for k in off]


def sentences_on(
    changed: Sequence[tuple[complex, complex | None]], limit: DampingLimit, subject: str
) -> list[str]:
    """Return a sentence on oscillations that a scheme damps too much, one on too little, one on none shown.

    `changed`: modes and what the scheme makes of them, as of `changed_most`; `subject`: whose modes they are.
    """
    more: list[str] = []
    less: list[str] = []
    lost: list[str] = []
    for s, s_hat in changed:
        ratio = -s.real / abs(s)
        words = f"{s.imag / (2.0 * np.pi):.3g} Hz with a damping ratio of {100.0 * ratio:.3g} %"
        if s_hat is None:
            lost.append(words)
            continue
        simulated = -s_hat.real / abs(s_hat)
        (more if simulated > ratio else less).append(f"{words}, simulated with {100.0 * simulated:.3g} %")
    allowed = f"(limit: {100.0 * limit.change:.3g} pp or {100.0 * limit.part:.3g} % of the ratio)"
    sentences = [
        f"The scheme damps the {subject} too {much}: {first_few(listed, LISTED, '; ')} {allowed}; real "
        f"oscillations {real} than this run shows. Take smaller steps."
        for listed, much, real in ((more, "much", "last longer"), (less, "little", "die out sooner"))
        if listed
    ]
    if lost:
        sentences.append(
            f"The step is too long for oscillations of the {subject}: {first_few(lost, LISTED, '; ')}."
        )
    return sentences
