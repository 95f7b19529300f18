"""Out-of-step relays."""

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
    picks_up,
)


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
