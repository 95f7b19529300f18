"""How a solve, a step or a run ends: one enumeration, a sentence each."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The ways to end; the texts are what a message says of them."""

    DONE = 0
    SINGULAR = 1
    NO_ROOM = 2
    NOT_FINITE = 3
    NOT_CONVERGED = 4
    NOT_AGREED = 5
    NOT_SETTLED = 6
    VANISHED = 7
    SPENT = 8
    FULL = 9
    STALE = 10
    SLOW_TO_AGREE = 11
    UNSOLVED = 12
    NOT_SAMPLED = 13

    @property
    def sentence(self) -> str:
        """What happened, without saying where; of a way in which a run can end."""
        return _SENTENCES[self]


# A singular matrix names what cannot be determined (`lu.why_singular`). A caller that receives NO_ROOM (for
# factors), FULL (of points) or STALE (a linearisation, a network's response) makes room or another one and
# goes on; one that receives UNSOLVED solves for the point behind a jump of held inputs. With NOT_SAMPLED
# what samples has the words.
_SENTENCES = {
    Status.NOT_FINITE: "A variable left the finite numbers.",
    Status.NOT_CONVERGED: "No solution was found: not with an honest matrix, not with damping.",
    Status.NOT_AGREED: "The corrections of a macro step do not converge: the difference grows.",
    Status.NOT_SETTLED: "A state and its limit, of which one moves the other, have not settled.",
    Status.VANISHED: "The step that the tolerance asks for has become rounding.",
    Status.SPENT: "The run does not end within the steps that it may take.",
    Status.SLOW_TO_AGREE: "The corrections of a macro step converge too slowly: too many did not suffice.",
}

# The same as plain numbers: compiled code takes no enumeration.
DONE, SINGULAR, NO_ROOM, NOT_FINITE, NOT_CONVERGED, NOT_AGREED, NOT_SETTLED = range(7)
VANISHED, SPENT, FULL, STALE, SLOW_TO_AGREE, UNSOLVED, NOT_SAMPLED = range(7, 14)
