"""Ride-through of plants: a plant trips where its voltage has been outside a curve for the curve's time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.action import Action
from psmr.dae.declare.component import Parameter, nonnegative
from psmr.devices.protection.relays import _MeasuresVoltage

POINTS = 6
"""Most points of either side of a curve."""


def _point(side: str, k: int) -> Action:
    """Return how point k of a side picks up."""
    sign = 1.0 if side == "low" else -1.0

    def beyond(m: Any, v: Any, p: Any) -> Any:
        return m.min(sign * (getattr(p, f"{side}_{k}") - v.v), 0.5 - p.picked)

    return Action(
        "",
        beyond,
        lambda p: getattr(p, f"{side}_time_{k}"),
        lambda v, p: {"picked": sign * k},
        used=lambda p: getattr(p, f"{side}_{k}") > 0,
    )


def _words(p: Any, acts_on: str) -> str:
    side = "low" if p.picked > 0 else "high"
    k = int(abs(p.picked))
    limit, time = getattr(p, f"{side}_{k}"), getattr(p, f"{side}_time_{k}")
    return f"{acts_on} tripped, voltage {'below' if side == 'low' else 'above'} {limit:g} pu for {time:g} s"


def _points(low: Mapping[float, float], high: Mapping[float, float]) -> dict[str, Parameter]:
    """Return the parameters of a curve whose points, voltage and time, are the defaults."""
    found: dict[str, Parameter] = {}
    for side, given in (("low", low), ("high", high)):
        points = [*given.items(), *[(0.0, 0.0)] * (POINTS - len(given))]
        for k, (voltage, time) in enumerate(points, 1):
            found |= {
                f"{side}_{k}": Parameter("pu", f"voltage of point {k}, 0 for none", nonnegative, voltage),
                f"{side}_time_{k}": Parameter("s", f"time beyond point {k}", nonnegative, time),
            }
    return found


def _not_a_curve(p: Mapping[str, float]) -> str | None:
    """Return the objection to points that are no curve."""
    for side in ("low", "high"):
        points = [(p[f"{side}_{k}"], p[f"{side}_time_{k}"]) for k in range(1, POINTS + 1)]
        given = sorted((voltage, time) for voltage, time in points if voltage)
        times = [time for _, time in given]
        right = times if side == "low" else times[::-1]
        if right != sorted(right):
            further = "lower" if side == "low" else "higher"
            return f"{side}_1 ...: the {further} a voltage, the shorter its time must be"
    if not p["low_1"] and not p["high_1"]:
        return "low_1 = high_1 = 0: there is no curve; give one of its points"
    return None


class RideThrough(_MeasuresVoltage):
    """A plant that trips where its voltage has been below or above a point of a curve for the point's time.

    ::

        v < low_k for low_time_k, or v > high_k for high_time_k: the plant trips

    Source: the form of the curves of NERC PRC-024.
    """

    role = "relay"
    acts_on = "source"
    actions = (
        *(_point(side, k) for side in ("low", "high") for k in range(1, POINTS + 1)),
        Action(
            "trips",
            lambda m, v, p: abs(p.picked) - p.open - 0.5,
            effect=lambda v, p: {"open": 1.0},
            trips=True,
            words=_words,
        ),
    )
    memory = ("picked", "open")

    picked = Parameter("1", "the point that has picked up, below zero for a high one", default=0.0)
    open = Parameter("1", "whether the plant has tripped", default=0.0)
    locals().update(_points({}, {}))

    conflict = staticmethod(_not_a_curve)


class RideThroughPRC024(RideThrough):
    """The voltage curve of NERC PRC-024: a plant that trips where the standard first allows it.

    Source: NERC PRC-024, as jonlesage/Grid-Codes quotes it (gridCodeDefinitions.m): below 0.45, 0.65, 0.75
    and 0.9 pu for 0.15, 0.3, 2 and 3 s; above 1.2 pu at once, above 1.175, 1.15 and 1.1 pu for 0.2, 0.5 and
    1 s.
    """

    role = "relay"
    locals().update(
        _points(
            {0.45: 0.15, 0.65: 0.3, 0.75: 2.0, 0.9: 3.0},
            {1.2: 0.0, 1.175: 0.2, 1.15: 0.5, 1.1: 1.0},
        )
    )
