"""The steps by which a run is judged whose scheme chose them."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.refine.activity import Activity, OwnSteps
from psmr.numerics.schemes.nested_step import listed, members, owner
from psmr.numerics.schemes.scheme import Scheme

# Splits that a run is judged by, those that covered most of its time; and the least part of it to be one.
SPLITS, LEAST_PART = 3, 0.01


@dataclass(frozen=True)
class StepTaken:
    """A step of a run.

    Attributes
    ----------
    h
        The step for all in s.
    levels
        Who had steps of their own in it; () where none had.
    """

    h: float
    levels: tuple[OwnSteps, ...] = ()

    def scheme(self, chosen: Scheme) -> Scheme | None:
        """Return what a scheme that chooses its steps is with all of them like this one; None without."""
        return chosen.at_split(self.h, self.levels) if self.levels else chosen.at_step(self.h)

    def split(self, names: Sequence[str]) -> str:
        """Say who had which steps, with their states by the names of all states."""
        if not self.levels:
            return "none refined"
        owners = [owner(name) for name in names]
        words = []
        for level in self.levels:
            own = {*members(level.devices)}
            states = sum(device in own for device in owners)
            count = f"{states} state{'' if states == 1 else 's'}"
            words.append(f"{listed(level.devices)}, {count}, in steps of H/{level.steps}")
        return "; ".join(words)


def steps_of(
    t: NDArray[np.float64], events: Collection[float] = (), refined: Activity | None = None
) -> dict[str, StepTaken]:
    """Return the steps by which a run is judged whose scheme chose them, by what they are.

    They are the median one, the longest, and the median one of the quiet part. Where devices had steps of
    their own, the median ones of the splits that covered most of the time stand in place of the first; two
    splits are one where the same devices took about as many steps, to the nearest power of two.

    Parameters
    ----------
    t
        (K,) accepted times in s, twice at an event.
    events
        Times in s of the events. Steps before the first one count only where there is nothing else: the
        system rests. The quiet part is the second half of what follows the last one.
    refined
        Who had steps of their own, of a scheme that finds them; only what is between the first and the last
        of the times counts.
    """
    if refined is not None and not refined.devices:  # as if it had one step for all
        refined = None
    if refined is not None:
        inside = (refined.intervals[:, 0] >= t[0]) & (refined.intervals[:, 1] <= t[-1])
        places = np.flatnonzero(inside)
        begins, ends = refined.intervals[places].T
        h = ends - begins
    else:
        places, h, ends = np.arange(t.size - 1), np.diff(t), t[1:]
    first, last = min(events, default=float(t[0])), max(events, default=float(t[0]))
    moving = (h > 0.0) & (ends > first)
    moving = moving if moving.any() else h > 0.0
    if not moving.any():
        return {}
    places, ends, h = places[moving], ends[moving], h[moving]
    quiet = ends > 0.5 * (last + float(t[-1]))
    if refined is None or not (refined.steps[:, places] > 1).any():
        named = {"the median step": statistics.median(h.tolist()), "the longest step": float(h.max())}
        if quiet.any():
            named["the median step of the quiet part"] = statistics.median(h[quiet].tolist())
        return {which: StepTaken(length) for which, length in named.items()}

    def taken(among: NDArray[np.intp]) -> StepTaken:
        """Return the median step among some."""
        at = among[np.argsort(h[among], kind="stable")[(among.size - 1) // 2]]
        return StepTaken(float(h[at]), refined.levels(int(places[at])))

    alike = np.round(np.log2(refined.steps[:, places])).T
    _, of = np.unique(alike, axis=0, return_inverse=True)
    shares = np.bincount(of.ravel(), weights=h) / h.sum()
    most = np.argsort(-shares, kind="stable")[:SPLITS]
    found = {
        f"the median step in {100 * shares[k]:.3g} % of the time": taken(np.flatnonzero(of.ravel() == k))
        for k in most
        if k == most[0] or shares[k] >= LEAST_PART
    }
    found["the longest step"] = taken(np.flatnonzero(h == h.max()))
    if quiet.any():
        found["the median step of the quiet part"] = taken(np.flatnonzero(quiet))
    return found
