"""Relays at one end of a branch: they measure its voltage and current and open the breaker at that end.

What they measure is of the positive sequence: during unbalanced faults a relay of each phase sees more. The
current is that into the branch. A line whose breakers are open at both ends is out of service; with one open,
it hangs at the other end. A transformer opens at both ends, and so does a line where `both` says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Component, Parameter, Terms, flag, nonnegative, whole

RADIANS = math.pi / 180


class LineRelay(Component):
    """What every relay of a branch reads: the voltage of its bus and the current into the branch there."""

    inputs = ("v_re", "v_im", "m_re", "m_im")
    acts_on = "branch"

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return nothing: what is measured is read where it acts."""
        return (), (), ()


def breaker() -> dict[str, Parameter]:
    """Return the parameters of the breaker at the relay's end, of reclosing, and what its actions set."""
    return {
        "breaker": Parameter("s", "breaker time", nonnegative, default=0.05),
        "dead_time": Parameter("s", "time after which the breaker recloses, 0 for not", nonnegative, 0.0),
        "shots": Parameter("1", "how often it recloses", whole(0, 10), default=1.0),
        "both": Parameter("1", "1 opens a line at both ends, 0 at the relay's", flag, 0.0),
        "end": Parameter(
            "1", "end of the line at which the relay is: 0 its first bus, 1 its second", flag, 0.0
        ),
        "picked": Parameter("1", "the element that has picked up, 0 for none", default=0.0),
        "open": Parameter("1", "whether its breaker has opened", default=0.0),
        "done": Parameter("1", "how often it has reclosed", default=0.0),
    }


# What only the wiring and the actions set: no case gives it.
BREAKER_MEMORY = ("end", "picked", "open", "done")


def _own_and_other(p: Any) -> tuple[str, str]:
    return ("open_i", "open_j") if p.end == 0 else ("open_j", "open_i")


def _whole(v: Any, p: Any, status: float) -> Mapping[str, Any] | None:
    """Return what takes a branch out of service or back at both its ends; None where only one moves."""
    ends = [end for end in ("open_i", "open_j") if hasattr(v.acts_on, end)]
    if ends and not p.both:
        return None
    return {"acts_on.status": status, **{f"acts_on.{end}": 0.0 for end in ends}}


def _is_open(v: Any, p: Any) -> bool:
    """Return whether the breaker has been opened by another relay, at the same instant."""
    own, other = (getattr(v.acts_on, end, 0.0) for end in _own_and_other(p))
    if own or other:
        return bool(own and not p.both)
    return bool(v.acts_on.status == 0)


def _opened(v: Any, p: Any) -> Mapping[str, Any]:
    if _is_open(v, p):
        # The relay that opened it recloses it, once for all of them.
        return {"picked": 0.0}
    own, _ = _own_and_other(p)
    moved = _whole(v, p, 0.0) or {f"acts_on.{own}": 1.0, "acts_on.status": 0.0}
    return {"open": 1.0, **moved}


def _reclosed(v: Any, p: Any) -> Mapping[str, Any]:
    own, other = _own_and_other(p)
    moved = _whole(v, p, 1.0)
    if moved is None:
        moved = {f"acts_on.{own}": 0.0, "acts_on.status": 0.0 if getattr(v.acts_on, other) else 1.0}
    return {"open": 0.0, "picked": 0.0, "done": p.done + 1, **moved}


def picks_up(element: int, condition: Any, delay: Any) -> Action:
    """Return the action of an element that has held for its time: from then on nothing stops the relay."""
    return Action(
        "",
        lambda m, v, p: m.min(condition(m, v, p), 0.5 - p.picked),
        delay,
        lambda v, p: {"picked": float(element)},
    )


def breaker_actions(words: Any) -> tuple[Action, Action]:
    """Return how the breaker opens once the relay has picked up, and how it recloses."""
    return (
        Action(
            "opens the line",
            lambda m, v, p: m.min(p.picked - 0.5, 0.5 - p.open),
            lambda p: p.breaker,
            _opened,
            protects=True,
            words=words,
        ),
        Action(
            "recloses",
            lambda m, v, p: m.min(p.open - 0.5, p.shots - p.done - 0.5),
            lambda p: p.dead_time,
            _reclosed,
            used=lambda p: p.dead_time > 0,
            protects=True,
            words=lambda p, acts_on: f"{acts_on} recloses",
        ),
    )
