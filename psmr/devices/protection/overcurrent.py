"""Overcurrent relays with inverse-time curves, by formula and by points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Action, Parameter, Terms, fraction, nonnegative, positive
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
    """An overcurrent relay with an inverse-time curve, and an instantaneous element, at an end of a branch.

    ::

        theta' = 1 / t(M) for M = |i| / i_set > 1, otherwise -theta / t_reset;  theta > 1 picks it up
        t(M) = multiplier (a / (M^p - 1) + b), of the curve; M is taken as at most 20
        |i| > i_instant picks it up at once
            -> breaker later: the breaker at this end opens, and dead_time after that it recloses

    Per unit on the system base. Sources: IEC 60255-151; IEEE C37.112, whose disc turns as theta does.
    """

    role = "relay"
    states = ("theta",)
    timers = ("theta",)
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


POINTS = 5
"""Points of a curve that is given by them."""


FAR = 1e6
"""Beyond where any relay goes, which acts at 1."""


def _points() -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for k in range(1, POINTS + 1):
        found |= {
            f"multiple_{k}": Parameter("1", f"current of point {k}, as a multiple of i_set", positive),
            f"time_{k}": Parameter("s", f"time to act at point {k}", positive),
        }
    return found


def _runs(m: Any, v: Any, p: Any) -> Any:
    """Return how far a relay with points runs in a second."""
    square = (v.m_re**2 + v.m_im**2) / p.i_set**2
    # Below one its root is of no use, and has no derivative at zero.
    multiple = m.sqrt(m.max(square, 1.0))
    time = p.time_1
    for k in range(1, POINTS):
        left, right = (getattr(p, f"multiple_{j}") for j in (k, k + 1))
        part = m.max(m.min((multiple - left) / m.max(right - left, 1e-9), 1.0), 0.0)
        time += part * (getattr(p, f"time_{k + 1}") - getattr(p, f"time_{k}"))
    at_once = m.le(p.t_reset, 0)
    resets = m.where(at_once, 0, m.min(square - 1, 0.0) / m.where(at_once, 1, p.t_reset))
    return m.where(m.ge(multiple, p.multiple_1), 1 / time, resets)


def _reset_at_once() -> tuple[Action, Action]:
    """Return how a relay without a time of the way back stands at rest while M < 1."""

    def excess(m: Any, v: Any, p: Any) -> Any:
        return (v.m_re**2 + v.m_im**2) / p.i_set**2 - 1

    def used(p: Any) -> Any:
        return p.t_reset <= 0

    return (
        Action(
            "",
            lambda m, v, p: m.min(-excess(m, v, p), p.most - 0.5),
            effect=lambda v, p: {"most": 0.0},
            used=used,
        ),
        Action(
            "",
            lambda m, v, p: m.min(excess(m, v, p), 0.5 - p.most),
            effect=lambda v, p: {"most": FAR},
            used=used,
        ),
    )


def _falling(p: Mapping[str, float]) -> str | None:
    """Return the objection to points whose currents fall, or whose times rise."""
    for k in range(2, POINTS + 1):
        for name, right in (("multiple", "at least"), ("time", "at most")):
            before, own = p[f"{name}_{k - 1}"], p[f"{name}_{k}"]
            if own < before if name == "multiple" else own > before:
                return f"{name}_{k} = {own:g}: must be {right} {name}_{k - 1} = {before:g}"
    if p["multiple_1"] < 1:
        return f"multiple_1 = {p['multiple_1']:g}: must be >= 1; currents are multiples of i_set"
    return None


class TimeCurrentRelay(LineRelay):
    """An overcurrent relay whose inverse-time curve is given by points, at an end of a branch.

    ::

        M = |i| / i_set
        theta' = 1 / t(M) for M > multiple_1, -(1 - M^2) / t_reset for M < 1, otherwise 0;  theta >= 0
        t_reset = 0: theta = 0 for M < 1
        t(M): straight between the points, time_5 beyond the last one;  theta > 1 picks it up
            -> breaker later: the breaker at this end opens, and dead_time after that it recloses

    Per unit on the system base. Sources: PSS/E, Model Library, TIOCR1, with its record; PowerWorld, help on
    TIOCR1 and LOCTI, for the time of the way back. That times go straight between the points is psmr's.
    """

    role = "relay"
    states = ("theta",)
    timers = ("theta",)
    units = {"theta": "1"}
    limits = {"theta": ("at_rest", "most")}
    actions: ClassVar[tuple[Action, ...]] = (
        *_reset_at_once(),
        picks_up(1, lambda m, v, p: v.theta - 1, lambda p: 0.0),
        *breaker_actions(lambda p, acts_on: f"{acts_on} opened by overcurrent"),
    )
    memory: ClassVar[tuple[str, ...]] = (*BREAKER_MEMORY, "at_rest", "most")

    i_set = Parameter("pu", "current above which it runs", positive)
    t_reset = Parameter("s", "time in which it resets without current, 0 for at once", nonnegative)
    at_rest = Parameter("1", "where it stands at rest", default=0.0)
    most = Parameter("1", "how far it can go", default=FAR)
    locals().update(_points() | breaker())

    conflict = staticmethod(_falling)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return how far the relay runs in a second."""
        return (_runs(m, v, p),), (), ()


class TimeCurrentShedding(TimeCurrentRelay):
    """The same relay where it sheds load: `part` of what the load had at the start.

    ::

        theta > 1 picks it up -> breaker later: the load loses `part`

    Source: that of the relay of a branch.
    """

    role = "relay"
    acts_on = "load"
    actions = (
        *_reset_at_once(),
        picks_up(1, lambda m, v, p: v.theta - 1, lambda p: 0.0),
        Action(
            "sheds load",
            lambda m, v, p: p.picked - p.open - 0.5,
            lambda p: p.breaker,
            lambda v, p: {"acts_on.shed": min(v.acts_on.shed + p.part, 1.0), "open": 1.0},
            protects=True,
            words=lambda p, acts_on: f"{100 * p.part:g} % of {acts_on} shed by overcurrent",
            kind="shedding",
        ),
    )
    memory = (*TimeCurrentRelay.memory, "both", "dead_time", "shots")

    part = Parameter("1", "part of the load that it sheds", fraction)
