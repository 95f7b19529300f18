"""Overcurrent relays with inverse-time curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.action import Action
from psmr.dae.declare.component import Parameter, Terms, nonnegative, positive
from psmr.devices.protection.line_relays import (
    BREAKER_MEMORY,
    LineRelay,
    breaker,
    breaker_actions,
    picks_up,
)

CURVES: Mapping[int, tuple[str, float, float, float]] = {
    1: ("IEC standard inverse", 0.14, 0.0, 0.02),
    2: ("IEC very inverse", 13.5, 0.0, 1.0),
    3: ("IEC extremely inverse", 80.0, 0.0, 2.0),
    4: ("IEC long-time inverse", 120.0, 0.0, 1.0),
    5: ("IEEE moderately inverse", 0.0515, 0.114, 0.02),
    6: ("IEEE very inverse", 19.61, 0.491, 2.0),
    7: ("IEEE extremely inverse", 28.2, 0.1217, 2.0),
}
"""Inverse-time curves t = multiplier (a / (M^p - 1) + b): a and b in s, and p.

Source: IEC 60255-151 and IEEE C37.112, as the package oxigrid 0.1.1 quotes both (protection/relay.rs).
"""


def curve_is_known(value: float) -> str | None:
    """Return what would be right where a code is that of no curve."""
    known = ", ".join(f"{code} ({name})" for code, (name, *_) in CURVES.items())
    return None if value in CURVES else f"must be the code of a curve: {known}"


class OvercurrentRelay(LineRelay):
    """An overcurrent relay with an inverse-time curve, and an instantaneous element, at the end of a line.

    ::

        theta' = 1 / t(M) for M = |i| / i_set > 1, otherwise -theta / t_reset;  theta > 1 picks it up
        t(M) = multiplier (a / (M^p - 1) + b), of the curve; M is taken as at most 20
        |i| > i_instant picks it up at once
            -> breaker later: the breaker at this end opens, and dead_time after that it recloses

    Per unit on the system base. Sources: IEC 60255-151; IEEE C37.112, whose disc turns as theta does.
    """

    role = "relay"
    states = ("theta",)
    units = {"theta": "1"}
    actions = (
        picks_up(1, lambda m, v, p: v.theta - 1, lambda p: 0.0),
        Action(
            "",
            lambda m, v, p: m.min(v.m_re**2 + v.m_im**2 - p.i_instant**2, 0.5 - p.picked),
            effect=lambda v, p: {"picked": 2.0},
            used=lambda p: p.i_instant > 0,
        ),
        *breaker_actions(lambda p, acts_on: f"{acts_on} opened by overcurrent"),
    )
    memory = BREAKER_MEMORY

    i_set = Parameter("pu", "current above which it runs", positive)
    curve = Parameter("1", "code of the inverse-time curve", curve_is_known, default=1.0)
    multiplier = Parameter("1", "time multiplier", positive, default=1.0)
    t_reset = Parameter("s", "time constant with which it resets", positive, default=1.0)
    i_instant = Parameter("pu", "current above which it acts at once, 0 for none", nonnegative, default=0.0)
    locals().update(breaker())

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return how far the relay runs in a second."""
        a, b, power = (_of_curve(m, p.curve, k) for k in (1, 2, 3))
        multiple = m.sqrt(v.m_re**2 + v.m_im**2) / p.i_set
        # Where it does not run the curve is taken at a multiple at which it has a value.
        running = m.min(m.max(multiple, 1.0 + 1e-6), 20.0)
        rate = 1 / (p.multiplier * (a / (running**power - 1) + b))
        return (m.where(m.ge(multiple, 1.0), rate, -v.theta / p.t_reset),), (), ()


def _of_curve(m: Any, code: Any, k: int) -> Any:
    """Return a constant of the curve of a code."""
    value: Any = CURVES[1][k]
    for other, constants in CURVES.items():
        value = m.where(m.ge(code, other - 0.5), constants[k], value)  # type: ignore[misc]
    return value
