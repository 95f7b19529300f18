"""Distance relays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.action import Action
from psmr.dae.declare.component import Parameter, nonnegative, positive
from psmr.devices.protection.line_relays import (
    BREAKER_MEMORY,
    RADIANS,
    LineRelay,
    breaker,
    breaker_actions,
)

ZONES = 3
"""Most zones of a distance relay."""


def mho(v: Any, re: Any, im: Any) -> Any:
    """Return Re((z i - u) conj(u)), above zero where u / i is inside the circle on 0 ... z."""
    a_re, a_im = re * v.m_re - im * v.m_im - v.v_re, re * v.m_im + im * v.m_re - v.v_im
    return a_re * v.v_re + a_im * v.v_im


def _zone(k: int) -> Action:
    """Return how zone k picks up."""

    def inside(m: Any, v: Any, p: Any) -> Any:
        angle = p.angle * RADIANS
        reach = getattr(p, f"reach_{k}")
        current = v.m_re**2 + v.m_im**2 - p.i_min**2
        return m.min(mho(v, reach * m.cos(angle), reach * m.sin(angle)), current)

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
            f"reach_{k}": Parameter("pu", f"reach of zone {k} as an impedance, 0 for none", nonnegative, 0.0),
            f"delay_{k}": Parameter("s", f"time of zone {k}", nonnegative, 0.0),
        }
    return found


class DistanceRelay(LineRelay):
    """A distance relay with up to three mho zones at the end of a line.

    ::

        |z - z_k / 2| < |z_k| / 2,   z = v / i,   z_k = reach_k at the angle, for delay_k
            -> breaker later: the breaker at this end opens, and dead_time after that it recloses

    The circle is that of a cosine comparator between z_k i - v and v, without memory of the voltage before
    the fault. Per unit on the system base. Source: Anderson, Power System Protection (1999).
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
        """Return the objection to zones that are none, or do not reach further one after another."""
        if not p["reach_1"]:
            return "reach_1 = 0: there is no zone; give the first one a reach above 0"
        for k in range(2, ZONES + 1):
            before, own = p[f"reach_{k - 1}"], p[f"reach_{k}"]
            if own and (not before or own <= before):
                return f"reach_{k} = {own:g}: must be above reach_{k - 1} = {before:g}"
        return None
