"""Distance relays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Parameter, nonnegative, positive
from psmr.devices.protection.line_relays import (
    BREAKER_MEMORY,
    RADIANS,
    LineRelay,
    breaker,
    breaker_actions,
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
