"""Ride-through of plants: a plant trips where its voltage has been outside a curve for the curve's time."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from psmr.dae.declare.component import Action, Parameter, nonnegative
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


def _points() -> dict[str, Parameter]:
    """Return the parameters of the points of both sides, none of which is there."""
    found: dict[str, Parameter] = {}
    for side in ("low", "high"):
        for k in range(1, POINTS + 1):
            found |= {
                f"{side}_{k}": Parameter("pu", f"voltage of point {k}, 0 for none", nonnegative, 0.0),
                f"{side}_time_{k}": Parameter("s", f"time beyond point {k}", nonnegative, 0.0),
            }
    return found


@cache
def curves() -> dict[str, dict[str, float]]:
    """Return the parameters of each of ride_through_curves.toml by its name, ``"IEEE 1547-2018 II"``."""
    text = (Path(__file__).parent / "ride_through_curves.toml").read_text(encoding="utf-8")
    return {
        name: {
            key: value
            for side in ("low", "high")
            for k, point in enumerate(curve[side], 1)
            for key, value in zip((f"{side}_{k}", f"{side}_time_{k}"), point, strict=True)
        }
        for name, curve in tomllib.loads(text).items()
    }


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

    A case gives the points, or ``curve``, the name of one of `curves`. Source: the form of the curves of NERC
    PRC-024.
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
    locals().update(_points())

    conflict = staticmethod(_not_a_curve)
