"""What comes out of an integration, with the work that it took, and the protocol of what follows one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Turn
from psmr.integrate.solve.block import Block
from psmr.integrate.solve.records import (
    DAMPED_SOLVES,
    FACTORISATIONS,
    HONEST_SOLVES,
    ITERATIONS,
    PARTIAL,
    REFRESHES,
    REPIVOTS,
    RESIDUALS,
    SOLVES,
)
from psmr.integrate.timeline.span import Change, Span


@dataclass(frozen=True)
class Counters:
    """Work of a run. A *role* is what a block of equations was solved for.

    Roles are ``"step"`` (all rows, single rate; in a multirate run the evaluation of f at t),
    ``"predictor"``, ``"fast"``, ``"slow"``, ``"algebraic"`` (g = 0 after an explicit stage or predictor) and
    ``"event"`` (g = 0 at the start and after each change).

    `steps`: Accepted steps of the smallest size: single-rate steps, or fast steps of the last pass of each
      macro step.
    `macro_steps`: Accepted macro steps; equal to `steps` for single rate.
    `newton_iterations`, `residuals`, `solves`: By role.
    `factorisations`: By matrix order. Those at the start and after events are not among them but under
      ``"event"`` below.
    `factorisations_by_role`: By role.
    `orders`: Matrix order of each role.
    `corrections`: Repetitions of macro steps.
    `refreshes`: Factorisations beyond what the Newton policy plans, since convergence was slow or a limit was
      reached or left.
    `partial`: Renewals of the devices' part of a matrix alone (Newton "very dishonest"), which are not among
      the factorisations; those that were not planned are among the refreshes.
    `repivots`: Factorisations with new pivots, the first one of each block included.
    `honest`, `damped`: Solves that Newton's policy did not get through: they were done again with a matrix at
      every iteration, and where that failed too with damping (the jumps at events aside, always damped).
    `divided`, `parts`: Steps that could not be solved as a whole, and the parts in which they were taken.
    `divided_at`: Starts in s of these steps.
    `jumped_at`: Times in s at which the algebraic variables jumped to another solution, since the one that
      was followed had ended.
    `outdated_at`: Times in s at which the network's response no longer held and was formed anew, of a
      multirate scheme with ``interface="schur"``; after events it is formed anew anyway.
    `samples`: Samples that each device took, those of a step that was done over once more; None where
      nothing samples.
    `seconds`: Wall time of the run; compiling is not in it.
    `rejected`: Steps that an adaptive method tried and took back.
    `by_order`: Accepted steps of the backward differentiation formulae by order, ahead of them those of the
      pair that begins; () for other methods.
    `reversals`: Accepted steps of an adaptive method or along the arc that turned back on the step before
      (negative inner product of the two changes of states and time). A resolved solution makes none; a large
      share is *chatter* about a slow manifold.
    """

    steps: int
    macro_steps: int
    newton_iterations: Mapping[str, int]
    residuals: Mapping[str, int]
    solves: Mapping[str, int]
    factorisations: Mapping[int, int]
    factorisations_by_role: Mapping[str, int]
    orders: Mapping[str, int]
    corrections: int
    refreshes: int
    repivots: int
    seconds: float
    partial: int = 0
    rejected: int = 0
    by_order: tuple[int, ...] = ()
    reversals: int = 0
    honest: int = 0
    damped: int = 0
    divided: int = 0
    parts: int = 0
    divided_at: tuple[float, ...] = ()
    jumped_at: tuple[float, ...] = ()
    outdated_at: tuple[float, ...] = ()
    samples: Mapping[str, int] | None = None

    @property
    def chatter(self) -> float:
        """Share of the steps that turned back on the step before them."""
        return self.reversals / max(1, self.steps)

    @classmethod
    def of(cls, blocks: Iterable[Block], **others: Any) -> Counters:
        """Collect what the blocks counted; `others` are the other counts by name."""
        counted = {block.role: (block.size, block.records.newton.counts) for block in blocks}

        def by_role(place: int) -> dict[str, int]:
            return {role: int(count[place]) for role, (_, count) in counted.items()}

        by_order: dict[int, int] = {}
        for role, (size, count) in counted.items():
            if role != "event" and count[FACTORISATIONS]:
                by_order[size] = by_order.get(size, 0) + int(count[FACTORISATIONS])
        return cls(
            newton_iterations=by_role(ITERATIONS),
            residuals=by_role(RESIDUALS),
            solves=by_role(SOLVES),
            factorisations=by_order,
            factorisations_by_role=by_role(FACTORISATIONS),
            orders={role: size for role, (size, _) in counted.items()},
            refreshes=sum(by_role(REFRESHES).values()),
            repivots=sum(by_role(REPIVOTS).values()),
            partial=sum(by_role(PARTIAL).values()),
            honest=sum(by_role(HONEST_SOLVES).values()),
            damped=sum(n for role, n in by_role(DAMPED_SOLVES).items() if role != "event"),
            **({"corrections": 0} | others),
        )


class Follower(Protocol):
    """What follows an integration: it sees every recorded point, and may end it."""

    @property
    def ends(self) -> bool:
        """Whether it may end the integration."""

    def begin(self, span: Span) -> None:
        """Start a span, whose first point comes next."""

    def stops_before(self, span: Span) -> bool:
        """Return whether the run ends before a span that is about to begin."""

    def points(self, t: Reals, points: Reals) -> int | None:
        """Take (K,) times in s and (K, n + m) points, and copy what is kept of them.

        Returns which of them is the last one of the run, None to go on.
        """


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The result of an integration: a row per accepted step, and two at the instant of a change.

    `t`: (K,) times in s.
    `x`, `y`: (K, n) states and (K, m) algebraic variables.
    `counters`: Work done.
    `h`: Step size of the scheme in s (the macro step of a multirate one).
    `spans`: What held from when on, in order of time; each begins with a row of its own.
    `acted`: What devices changed by themselves, in order of time.
    `turns`: Timers of their actions that were started or stopped.
    """

    t: Reals
    x: Reals
    y: Reals
    counters: Counters
    h: float
    spans: tuple[Span, ...] = ()
    acted: tuple[Change, ...] = ()
    turns: tuple[Turn, ...] = ()
