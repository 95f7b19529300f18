"""What comes out of an integration, and the protocol of what follows one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.integrate.timeline.change import Change
from psmr.integrate.timeline.span import Span

if TYPE_CHECKING:
    from psmr.integrate.run.counters import Counters

Reals = NDArray[np.float64]


class Follower(Protocol):
    """What follows an integration: it sees every recorded point, and may end it."""

    @property
    def ends(self) -> bool:
        """Whether it may end the integration."""

    def begin(self, span: Span) -> None:
        """Start a span, whose first point comes next."""

    def change(self, change: Change) -> bool:
        """Take what devices change by themselves; return whether the run ends before it."""

    def points(self, t: Reals, points: Reals) -> int | None:
        """Take (K,) times in s and (K, n + m) points, and copy what is kept of them.

        Returns which of them is the last one of the run, None to go on.
        """


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The result of an integration: a row per accepted step, and two at the instant of a change.

    Attributes
    ----------
    t
        (K,) times in s.
    x, y
        (K, n) states and (K, m) algebraic variables.
    counters
        Work done.
    h
        Step size of the scheme in s (the macro step of a multirate one).
    spans
        What held from when on, in order of time; each begins with a row of its own.
    acted
        What devices changed by themselves, in order of time.
    """

    t: Reals
    x: Reals
    y: Reals
    counters: Counters
    h: float
    spans: tuple[Span, ...] = ()
    acted: tuple[Change, ...] = ()
