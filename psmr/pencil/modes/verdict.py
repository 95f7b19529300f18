"""Stable or not, and who is to blame: the system or the scheme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psmr.pencil.modes.matching import Match
from psmr.pencil.modes.spectrum import Modes, Multipliers

# Relative to its size: a sparse search leaves so small an imaginary part to a real mode.
ROUNDED = 1e-13

# A multiplier of which so much or less is left after a step decays immediately.
GONE = 0.1


def stable_and_radius(excess: np.ndarray) -> tuple[bool, float]:
    """Return whether no multiplier is outside the unit circle, and the largest |z|; see `excess_of`."""
    if not len(excess):
        return True, 0.0
    return bool((excess <= 0.0).all()), float((1.0 + excess).max())


@dataclass(frozen=True)
class Verdict:
    """What a scheme does to the stability of a system.

    Attributes
    ----------
    sentence
        The verdict.
    notes
        What else must be said.
    growing
        Modes of the system that grow, in 1/s and rad/s, one of each pair.
    hidden
        Those of them that the scheme damps, or does not show.
    """

    sentence: str
    notes: tuple[str, ...] = ()
    growing: tuple[complex, ...] = ()
    hidden: tuple[complex, ...] = ()


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
    upper = modes.s.imag >= 0.0
    growing = np.flatnonzero((modes.s.real > modes.error) & upper).tolist()
    outside = np.flatnonzero((excess > 0.0) & (numerical.z.imag >= 0.0))
    outside = outside[np.argsort(-excess[outside], kind="stable")].tolist()
    owner = {int(j): k for k, j in enumerate(matched.partner) if j >= 0} if outside else {}
    blamed = [j for j in outside if owner.get(int(j)) not in growing]
    hidden = [k for k in growing if matched.partner[k] < 0 or excess[matched.partner[k]] <= 0.0]
    notes = [*instability_notes(modes.s[growing].tolist(), modes.s[hidden].tolist())]
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

    if rate >= 1.0:
        verdict = (
            f"Unusable: the corrections diverge (error times {rate:.3g} at each); "
            "try a smaller h_slow, another partition, or a fixed number of corrections."
        )
    elif blamed:
        j = int(blamed[0])
        verdict = (
            f"Unstable: {_culprit(j, modes, numerical, owner, names)} grows, |z| = {abs(numerical.z[j]):.6g}."
        )
    elif outside:
        verdict = f"Unstable, as the system is: |z| = {abs(numerical.z[outside[0]]):.6g}."
    else:
        verdict = f"Numerically stable at h = {step:g} s."
    return Verdict(verdict, tuple(notes), tuple(modes.s[growing].tolist()), tuple(modes.s[hidden].tolist()))


def _listed(modes: Sequence[complex]) -> str:
    """Write the first three different modes, how often each is there, and how many more there are."""
    texts = Counter(map(mode_text, modes))
    shown = [text if count == 1 else f"{text} ({count} modes)" for text, count in texts.items()][:3]
    rest = len(modes) - sum(list(texts.values())[:3])
    return f"{', '.join(shown)}{f' and {rest} more' if rest else ''}"


def instability_notes(growing: Sequence[complex], hidden: Sequence[complex]) -> tuple[str, ...]:
    """Return what must be said of modes of the system that grow, and of those that the scheme hides."""
    if not growing:
        return ()
    words = f"The system itself is unstable: mode {', '.join(mode_text(s) for s in growing[:3])}."
    if not hidden:
        return (words,)
    return words, f"The scheme hides this: it damps mode {mode_text(hidden[0])}."


def mode_text(s: complex) -> str:
    """Write a mode, ``-0.196 ± j8.373 1/s``."""
    oscillates = abs(s.imag) > ROUNDED * abs(s)
    return f"{s.real:.4g} ± j{abs(s.imag):.4g} 1/s" if oscillates else f"{s.real:.4g} 1/s"


def excess_of(modes: Modes, numerical: Multipliers, matched: Match, step: float) -> np.ndarray:
    """Return |z| - 1 of each multiplier, and 0 where rounding explains the difference; see `beyond`."""
    zero = matched.partner[matched.zero]
    return beyond(numerical.z, numerical.error, zero[zero >= 0], modes.split * step)


def beyond(z: np.ndarray, error: np.ndarray, zero: np.ndarray, least: float) -> np.ndarray:
    """Return |z| - 1 of each multiplier, and 0 where rounding explains the difference.

    A multiplier on the unit circle within its rounding error counts as on it; so does that of a zero mode (z
    = 1) within what rounding has done to s itself.

    Parameters
    ----------
    z, error
        (k,) multipliers and their rounding errors.
    zero
        Positions of those of zero modes.
    least
        How far rounding moves log z of a double zero.
    """
    allowance = error.copy()
    allowance[zero] = np.maximum(allowance[zero], np.expm1(least))
    excess = np.abs(z) - 1.0
    return np.where(np.abs(excess) <= allowance, 0.0, excess)


def _culprit(
    j: int, modes: Modes, numerical: Multipliers, owner: dict[int, int], names: tuple[str, ...]
) -> str:
    if j in owner:
        return f"mode {mode_text(modes.s[owner[j]])}, damped in the system,"
    variable = names[int(np.abs(numerical.vectors[:, j]).argmax())]
    return f"a spurious mode of the scheme (mostly in {variable})"
