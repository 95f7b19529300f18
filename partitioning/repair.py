"""Making a wished split well posed: groups whole, both blocks of gy regular, the macro step stable if known.

Every choice of a split ends here, so no partition leaves this package unchecked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from partitioning.matching import Pairings, null_vectors, pairings
from partitioning.participation import Participation, partition_columns
from partitioning.partition import Array, Linear, Partition, PartitionError, group_labels, variables

# Groups tried in one round and direction, the most implicated first.
TRIES = 24
# Splits that are checked before the search is given up.
MOST = 300
# A double eigenvalue at z = 1 (the reference angle and the common speed) is split by rounding to 1 +-
# sqrt(eps |T|); 1e-6 covers |T| up to 4000.
ROUNDING = 1e-6

# Seconds of processor time that a search may take.
BUDGET = 20.0

SpectralRadius = Callable[[Partition], float]


@dataclass(frozen=True, eq=False)
class RequestedSplit:
    """A split as it was asked for, before any check.

    `fast`: ``(n + m,)`` bool, states first.
    `reasons`: One sentence per variable.
    `delta`, `algebraic`: As in `Partition`.
    `modes`: Eigenvalues and participation factors, None where the system is too large for them.
    `firm`: ``(n + m,)`` bool, the variables that may not become slow because they were named as fast.
    """

    fast: Array
    reasons: list[str]
    delta: float | None
    algebraic: str
    modes: Participation | None
    firm: Array


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the checks say of one split."""

    partition: Partition
    equations: Array
    condition_fast: float
    condition_slow: float
    radius: float
    badness: tuple[float, float]

    @property
    def fine(self) -> bool:
        """Whether both blocks are regular and the step is stable."""
        return self.badness == (0.0, 0.0)


def well_posed(
    linear: Linear,
    wish: RequestedSplit,
    spectral_radius: SpectralRadius | None = None,
    limit: float = 1.0,
    budget: float = BUDGET,
) -> Partition:
    """Return the wished split, with groups moved to the other side where it would be singular or unstable.

    A group moves to the fast side if that helps. Only a group of algebraic variables may move to the slow
    side: a state there would be advanced with a step too long for it. The group that helps most moves first;
    moves that turn out not to be needed are taken back. The search ends after `budget` seconds of processor
    time.

    Raises PartitionError when no move makes the split well posed, or none was found within the budget: with
    the group at fault, what was tried and what to try.
    """
    if not (isinstance(limit, int | float | np.integer | np.floating) and np.isfinite(limit) and limit > 0):
        raise PartitionError(
            f"limit = {limit!r}: the largest spectral radius allowed must be a finite number > 0"
        )
    return _Repair(linear, wish, spectral_radius, limit, budget).run()


class _Repair:
    def __init__(
        self,
        linear: Linear,
        wish: RequestedSplit,
        spectral_radius: SpectralRadius | None,
        limit: float,
        budget: float,
    ) -> None:
        self.budget, self.begun = budget, time.process_time()
        self.linear, self.wish, self.spectral_radius, self.limit = linear, wish, spectral_radius, limit
        self.labels = group_labels(linear)
        self.count = int(self.labels.max()) + 1 if self.labels.size else 0
        self.names = variables(linear)
        self.pairings: Pairings = pairings(linear)
        self.stays = np.zeros(self.count, dtype=bool)
        self.stays[self.labels[: linear.n]] = True
        self.stays[self.labels[wish.firm]] = True
        self.moved: dict[int, str] = {}
        self.judged = 0
        self.longest = 0.0

    def run(self) -> Partition:
        groups = np.zeros(self.count, dtype=bool)
        groups[self.labels[self.wish.fast]] = True
        verdict = self.judge(groups)
        if not verdict.fine:
            # Moves to the fast side end with everything fast, so if that fails there is no use in starting.
            everything = self.judge(np.ones(self.count, dtype=bool))
            if not everything.fine:
                raise PartitionError(self.hopeless(verdict, everything))
        while not verdict.fine:
            self.require_time(verdict, verdict)
            group, groups, better = self.step(groups, verdict)
            self.require_time(verdict, better)
            self.moved[group] = self.complaint(verdict)
            verdict = better
        for group in list(self.moved)[:-1]:
            if time.process_time() - self.begun > self.budget:
                break
            back = groups.copy()
            back[group] ^= True
            again = self.judge(back)
            if again.fine:
                groups, verdict = back, again
                del self.moved[group]
        return self.finish(verdict)

    def judge(self, groups: Array) -> Verdict:
        """Check one split, given as a side per group.

        Raises PartitionError when so many have been checked that the search has no end.
        """
        self.judged += 1
        begun = time.process_time()
        if self.judged > MOST:
            first = next(iter(self.moved.values()), "no group moved")
            raise PartitionError(
                f"no well-posed split among the {MOST} that were tried, after {len(self.moved)} groups moved "
                f"(the first since {first}); take another delta, name the fast devices, or take smaller steps"
            )
        n = self.linear.n
        fast = groups[self.labels] if self.count else np.zeros(0, dtype=bool)
        fast_g, equations, condition_fast, condition_slow = self.pairings.equations(fast[n:])
        partition = Partition(
            fast[:n], fast[n:], fast_g, self.wish.delta, self.wish.algebraic, tuple(self.linear.names_x),
            tuple(self.linear.names_y), tuple(self.linear.names_g),
        )  # fmt: skip
        excess = np.log10(max(condition_fast, condition_slow) / self.pairings.limit)
        radius, growth = np.nan, 0.0
        if self.spectral_radius is not None and excess <= 0.0:
            radius = float(self.spectral_radius(partition))
            allowed = self.limit * (1.0 + ROUNDING)
            growth = (
                np.inf if np.isnan(radius) else 0.0 if radius <= allowed else np.log10(radius / self.limit)
            )
        elif excess > 0.0:
            growth = np.inf if self.spectral_radius is not None else 0.0
        badness = (max(0.0, float(excess)), float(growth))
        self.longest = max(self.longest, time.process_time() - begun)
        return Verdict(partition, equations, condition_fast, condition_slow, radius, badness)

    def step(self, groups: Array, verdict: Verdict) -> tuple[int, Array, Verdict]:
        """Move one group: the first that settles it, else the most helpful, else one to the fast side."""
        tried: list[tuple[int, Array, Verdict]] = []
        for group in self.candidates(groups, verdict):
            sides = groups.copy()
            sides[group] ^= True
            tried.append((group, sides, self.judge(sides)))
            if tried[-1][2].fine or self.over:
                return tried[-1]
        helpful = [move for move in tried if move[2].badness < verdict.badness]
        if helpful:
            return min(helpful, key=lambda move: move[2].badness)
        if tried and tried[0][1][tried[0][0]]:
            return tried[0]
        # Only groups that were moved to the slow side are left there, in vain.
        group = next(group for group in self.moved if not groups[group])
        sides = groups.copy()
        sides[group] = True
        return group, sides, self.judge(sides)

    @property
    def over(self) -> bool:
        """Whether another split would not be judged within the budget."""
        return time.process_time() - self.begun + self.longest > self.budget

    def require_time(self, before: Verdict, after: Verdict) -> None:
        """Raise the error of a search that has used up its budget."""
        if after.fine or not self.over:
            return
        worst = int(self.labels[self.implicated(before).argmax()])
        moved = ", ".join(self.members(group) for group in self.moved) or "none"
        raise PartitionError(
            f"no well-posed split found within {self.budget:g} s: {self.judged} splits were tried "
            f"(groups moved: {moved}), and still {self.complaint(before)}, most implicated is "
            f"{self.members(worst)}. Take smaller steps, another threshold or method, or name the fast "
            "variables"
        )

    def candidates(self, groups: Array, verdict: Verdict) -> Iterator[int]:
        """Yield groups to move, those to the fast side first, the most implicated first."""
        weight = self.implicated(verdict)
        score = np.zeros(self.count)
        np.maximum.at(score, self.labels, weight)
        free = np.array([group not in self.moved for group in range(self.count)])
        for movable in (~groups, groups & ~self.stays):
            able = np.flatnonzero(movable & free)
            yield from (int(group) for group in able[np.argsort(-score[able], kind="stable")][:TRIES])

    def implicated(self, verdict: Verdict) -> Array:
        """Return how much each variable has to do with what is wrong, ``(n + m,)``."""
        split, n = verdict.partition, self.linear.n
        fast = np.concatenate([split.fast_x, split.fast_y])
        if verdict.badness[0] > 0.0:
            # The unknowns that the worse block leaves undetermined, and those that its dependent equations
            # read.
            side = verdict.condition_fast >= verdict.condition_slow
            rows, columns = split.fast_g == side, split.fast_y == side
            left, right = null_vectors(self.pairings.gy[rows][:, columns])
            weight = np.zeros(n + self.linear.m)
            weight[n:] = abs(self.pairings.gy[rows]).T @ left
            weight[n:][columns] = right
            return weight
        if self.wish.modes is not None:
            # A slow variable that takes part in the modes of the fast ones, and the other way round.
            owners = np.abs(self.wish.modes.owners()[fast])
            threshold = self.wish.delta if self.wish.delta is not None else np.nanmin(owners, initial=np.inf)
            quick = np.abs(self.wish.modes.eigenvalues) > threshold
            factors = np.abs(np.vstack([self.wish.modes.states, self.wish.modes.algebraic]))
            share = factors[:, quick].sum(axis=1) / np.maximum(factors.sum(axis=1), np.finfo(float).tiny)
            return np.where(fast, 1.0 - share, share)
        jacobian = abs(
            scipy.sparse.block_array([[self.linear.fx, self.linear.fy], [self.linear.gx, self.linear.gy]])
        )
        jacobian = scipy.sparse.csr_array(jacobian)
        across = jacobian + jacobian.T
        return np.where(fast, across @ (~fast).astype(float), across @ fast.astype(float))

    def complaint(self, verdict: Verdict) -> str:
        """Say what is wrong with a split."""
        for name, value in (("fast", verdict.condition_fast), ("slow", verdict.condition_slow)):
            if value > self.pairings.limit:
                return f"the {name} block of gy had condition {value:.1e} (limit {self.pairings.limit:.1e})"
        return f"the macro step had spectral radius {verdict.radius:.6g} (limit {self.limit:g})"

    def hopeless(self, verdict: Verdict, everything: Verdict) -> str:
        """Say that no move is of use, which group is at fault and what to try."""
        worst = int(self.labels[self.implicated(verdict).argmax()])
        growth = ""
        if self.wish.modes is not None and self.linear.n:
            growth = f" (its largest Re(lambda) is {self.wish.modes.eigenvalues.real.max():.3g} 1/s)"
        return (
            f"no well-posed split found: {self.complaint(verdict)}, most implicated is "
            f"{self.members(worst)}; but with every variable fast {self.complaint(everything)} as well. If "
            f"the system itself is unstable{growth}, give limit=exp(max(Re lambda) h_slow); otherwise "
            "take smaller steps or another method"
        )

    def members(self, group: int) -> str:
        """Name the variables of a group."""
        names = [self.names[i] for i in np.flatnonzero(self.labels == group)]
        return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")

    def finish(self, verdict: Verdict) -> Partition:
        """Write the columns of the table."""
        split = verdict.partition
        fast = np.concatenate([split.fast_x, split.fast_y])
        reasons = list(self.wish.reasons)
        for i, (side, wished) in enumerate(zip(fast, self.wish.fast, strict=True)):
            group = int(self.labels[i])
            if group in self.moved:
                reasons[i] = f"moved to the {'fast' if side else 'slow'} side: {self.moved[group]}"
            elif side and not wished:
                leader = np.flatnonzero((self.labels == group) & self.wish.fast)[0]
                reasons[i] = f"in one group with {self.names[leader]}, which is fast"
        moved = np.isin(self.labels, list(self.moved))
        columns = partition_columns(self.linear, fast, verdict.equations, self.wish.modes, moved, reasons)
        return Partition(
            split.fast_x, split.fast_y, split.fast_g, split.delta, split.algebraic,
            split.names_x, split.names_y, split.names_g, columns,
        )  # fmt: skip
