"""Under-voltage load shedding in blocks, by an inverse time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Action, Parameter, Terms, fraction, nonnegative, positive, whole
from psmr.devices.protection.relays import Relay

MANY = 1000
"""Most blocks that a relay sheds."""

SMALLEST = 1e-3
"""Drop in pu above which an area is measured by the time that it takes."""


def _since(v: Any, p: Any) -> tuple[Any, Any]:
    """Return time in s and area in pu s since the voltage fell below the threshold, or the last block."""
    return v.t - p.since, v.area - p.base


def _due(m: Any, v: Any, p: Any) -> Any:
    """Return what is above zero where a block is due."""
    time, area = _since(v, p)
    # The area in s, as the times are: a zero is sought along the line through values on both of its sides.
    rest = (area - p.c) / m.max(p.v_th - v.v, SMALLEST)
    ripe = m.min(time - p.t_min, m.max(rest, time - p.t_max))
    left = m.min(p.part - p.done - 1e-9, p.blocks - p.count - 0.5)
    return m.min(m.min(p.below - 0.5, ripe), left)


def _sheds(v: Any, p: Any) -> Mapping[str, Any]:
    """Return what a block changes: its size follows the mean drop of the voltage below the threshold."""
    time, area = _since(v, p)
    block = min(max(p.gain * area / time, p.block_min), p.block_max, p.part - p.done)
    return {
        "acts_on.shed": min(v.acts_on.shed + block, 1.0),
        "done": p.done + block,
        "count": p.count + 1,
        "since": v.t,
        "base": v.area,
    }


class InverseTimeShedding(Relay):
    """Under-voltage load shedding in blocks: the deeper the voltage, the sooner and the larger a block.

    ::

        area' = v_th - v while v < v_th
        since the voltage fell, or since the last block: time and area
        time > t_min and (area > c or time > t_max) -> a block of gain times the mean drop area/time,
        limits [block_min, block_max]: parts of what the load had at the start; at most `part` in all

    With c = 0 a block is due each t_min, whatever the drop. Source: B. Otomega and T. Van Cutsem,
    Undervoltage Load Shedding Using Distributed Controllers, IEEE Trans. Power Systems 22(4), 2007; the
    controller UVLS of RAMSES, whose sizes are in MW, and whose documentation has the gain times the area.
    """

    role = "relay"
    acts_on = "load"
    measured = "v"
    states = ("area",)
    algebraic = ("v",)
    timers = ("area",)
    units = {"area": "pu s"}
    memory = ("below", "since", "base", "done", "count")
    actions = (
        Action(
            "",
            lambda m, v, p: m.min(p.v_th - v.v, 0.5 - p.below),
            effect=lambda v, p: {"below": 1.0, "since": v.t, "base": v.area},
        ),
        Action("", lambda m, v, p: m.min(v.v - p.v_th, p.below - 0.5), effect=lambda v, p: {"below": 0.0}),
        Action(
            "sheds load",
            _due,
            effect=_sheds,
            protects=True,
            at_zero=True,
            kind="shedding",
            words=lambda p, acts_on: f"{acts_on} shed, voltage below {p.v_th:g} pu",
        ),
    )

    v_th = Parameter("pu", "threshold of the voltage", positive)
    c = Parameter("pu s", "area between threshold and voltage for a block", nonnegative, default=0.0)
    t_min = Parameter("s", "shortest time to a block", positive)
    t_max = Parameter("s", "longest time to a block while the voltage is below", positive)
    gain = Parameter("1/pu", "block per mean drop of the voltage", nonnegative)
    block_min = Parameter("1", "smallest block, a part of the load", fraction)
    block_max = Parameter("1", "largest block, a part of the load", fraction)
    part = Parameter("1", "most that it sheds, a part of the load", fraction)
    blocks = Parameter("1", "most blocks that it sheds", whole(1, MANY), default=float(MANY))
    below = Parameter("1", "whether the voltage is below the threshold", default=0.0)
    since = Parameter("s", "when it fell there, or the last block was shed", default=0.0)
    base = Parameter("pu s", "the area at that time", default=0.0)
    done = Parameter("1", "part of the load that it has shed", default=0.0)
    count = Parameter("1", "blocks that it has shed", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to times and sizes that cross, and to blocks of nothing."""
        for low, high in (("t_min", "t_max"), ("block_min", "block_max")):
            if p[high] < p[low]:
                return f"{high} = {p[high]:g}: must be at least {low} = {p[low]:g}"
        if not p["block_max"] or not (p["block_min"] or p["gain"]):
            return "block_max = 0, or block_min = gain = 0: there is no block to shed"
        return None if p["part"] else "part = 0: must be > 0, or the relay sheds nothing"

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the drop below the threshold while it lasts, and the magnitude of the voltage."""
        return (p.below * (p.v_th - v.v),), (m.sqrt(v.v_re**2 + v.v_im**2) - v.v,), ()
