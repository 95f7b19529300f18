"""Relays at one end of a branch: they measure its voltage and current and open the breaker at that end.

What they measure is of the positive sequence: during unbalanced faults a relay of each phase sees more. The
current is that into the branch. A line whose breakers are open at both ends is out of service; with one open,
it hangs at the other end. A transformer opens at both ends, and so does a line where `both` says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Component, Parameter, Terms, flag, nonnegative, positive, whole

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


ZONES = 3
"""Most zones of a distance relay."""


def in_circle(m: Any, v: Any, angle: Any, near: Any, far: Any) -> Any:
    """Return Re((far i - u) conj(u - near i)), above zero where u / i is inside the circle on near ... far.

    `near` and `far` are the ends of a diameter, as distances from the origin at `angle` in degrees.
    """
    cos, sin = m.cos(angle * RADIANS), m.sin(angle * RADIANS)
    i_re, i_im = cos * v.m_re - sin * v.m_im, cos * v.m_im + sin * v.m_re
    a_re, a_im = far * i_re - v.v_re, far * i_im - v.v_im
    b_re, b_im = v.v_re - near * i_re, v.v_im - near * i_im
    return a_re * b_re + a_im * b_im


def _zone(k: int) -> Action:
    """Return how zone k picks up."""

    def inside(m: Any, v: Any, p: Any) -> Any:
        turn, near, reach = (getattr(p, f"{name}_{k}") for name in ("turn", "offset", "reach"))
        current = v.m_re**2 + v.m_im**2 - p.i_min**2
        return m.min(in_circle(m, v, p.angle + turn, near, near + reach), current)

    return Action(
        "",
        lambda m, v, p: m.min(inside(m, v, p), 0.5 - p.picked),
        lambda p: getattr(p, f"delay_{k}"),
        lambda v, p: {"picked": float(k)},
        used=lambda p: getattr(p, f"reach_{k}") > 0,
    )


def _zones() -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for k in range(1, ZONES + 1):
        found |= {
            f"reach_{k}": Parameter("pu", f"diameter of zone {k}'s circle, 0 for no zone", nonnegative, 0.0),
            f"offset_{k}": Parameter("pu", f"distance at which the circle of zone {k} begins", None, 0.0),
            f"turn_{k}": Parameter("deg", f"angle of zone {k} beyond that of the relay", None, 0.0),
            f"delay_{k}": Parameter("s", f"time of zone {k}", nonnegative, 0.0),
        }
    return found


def within(p: Mapping[str, float], k: int, other: int) -> bool:
    """Return whether zone k lies within another one along the same angle and waits at least as long."""
    (near, far, turn, delay), (near_o, far_o, turn_o, delay_o) = (
        (p[f"offset_{j}"], p[f"offset_{j}"] + p[f"reach_{j}"], p[f"turn_{j}"], p[f"delay_{j}"])
        for j in (k, other)
    )
    # The ends of both are sums and differences of what a file gives with a few digits.
    small = 1e-4 * abs(far_o - near_o)
    return near_o <= near + small and far <= far_o + small and turn == turn_o and delay >= delay_o


class DistanceRelay(LineRelay):
    """A distance relay with up to three mho zones at the end of a line or transformer.

    ::

        |z - (offset_k + reach_k / 2) u_k| < reach_k / 2,   z = v / i,   u_k at the angle, for delay_k
            -> breaker later: the breaker at this end opens, and dead_time after that it recloses

    The circle is that of a cosine comparator between (offset_k + reach_k) u_k i - v and v - offset_k u_k i,
    without memory of the voltage before the fault. Per unit on the system base. Sources: Anderson, Power
    System Protection (1999); for circles that do not begin at the relay PSS/E's DISTR1 (`psmr.files.psse`).
    """

    role = "relay"
    actions = (
        *(_zone(k) for k in range(1, ZONES + 1)),
        *breaker_actions(lambda p, acts_on: f"{acts_on} opened in zone {p.picked:g}"),
    )
    memory = BREAKER_MEMORY

    angle = Parameter("deg", "angle of the reach", positive, default=80.0)
    i_min = Parameter("pu", "current below which it does not act", nonnegative, default=0.0)
    locals().update(_zones() | breaker())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Return the objection to zones that are none, or that lie within an earlier one that acts before."""
        used = [k for k in range(1, ZONES + 1) if p[f"reach_{k}"]]
        if not used:
            return "reach_1 = 0: there is no zone; give the first one a reach above 0"
        for k in used:
            for before in (j for j in used if j < k and within(p, k, j)):
                return (
                    f"reach_{k} = {p[f'reach_{k}']:g}: must be above reach_{before} ="
                    f" {p[f'reach_{before}']:g}, or zone {k} never acts"
                )
        return None


def _within(m: Any, v: Any, p: Any, width: Any) -> Any:
    """Return what is above zero where z lies between two lines, width to either side of the line's angle."""
    angle = p.angle * RADIANS
    re, im = v.v_re * v.m_re + v.v_im * v.m_im, v.v_im * v.m_re - v.v_re * v.m_im
    square = v.m_re**2 + v.m_im**2
    across = re * m.sin(angle) - im * m.cos(angle)
    along = re * m.cos(angle) + im * m.sin(angle)
    inside = m.min(width * square - m.abs(across), p.reach * square - m.abs(along))
    return m.min(inside, square - p.i_min**2)


class OutOfStepRelay(LineRelay):
    """An out-of-step relay with two pairs of blinders at the end of a line.

    ::

        z between the outer and the inner blinders for t_swing: the system swings
        then z inside the inner blinders: it has lost synchronism -> breaker later the breaker opens
        z outside the outer blinders: the relay is as before

    The blinders are parallel to the line's angle, at a distance of outer and inner, and reach as far to
    either side. A fault passes them at once. Per unit on the system base. Source: Kundur (1994), section
    13.5.3; IEEE PSRC, Power Swing and Out-of-Step Considerations on Transmission Lines (2005).
    """

    role = "relay"
    actions = (
        Action(
            "",
            lambda m, v, p: m.min(
                m.min(_within(m, v, p, p.outer), -_within(m, v, p, p.inner)), 0.5 - p.swings
            ),
            lambda p: p.t_swing,
            lambda v, p: {"swings": 1.0},
        ),
        picks_up(1, lambda m, v, p: m.min(_within(m, v, p, p.inner), p.swings - 0.5), lambda p: 0.0),
        Action(
            "",
            lambda m, v, p: m.min(-_within(m, v, p, p.outer), p.swings - 0.5),
            effect=lambda v, p: {"swings": 0.0},
        ),
        *breaker_actions(lambda p, acts_on: f"{acts_on} opened, out of step"),
    )
    memory = (*BREAKER_MEMORY, "swings")

    angle = Parameter("deg", "angle of the blinders", positive, default=80.0)
    outer = Parameter("pu", "distance of the outer blinders", positive)
    inner = Parameter("pu", "distance of the inner blinders", positive)
    reach = Parameter("pu", "reach along the angle, to either side", positive)
    t_swing = Parameter("s", "time between the blinders of a swing", positive, default=0.03)
    i_min = Parameter("pu", "current below which it does not act", nonnegative, default=0.0)
    swings = Parameter("1", "whether the system swings", default=0.0)
    locals().update(breaker())

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Return the objection to blinders that lie the wrong way round."""
        if p["inner"] >= p["outer"]:
            return f"inner = {p['inner']:g}: must be below outer = {p['outer']:g}"
        return None
