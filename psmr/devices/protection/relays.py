"""Relays of loads and plants: what they measure is part of the equations; when they act, the run changes.

A relay picks up when its signal has been beyond the set value for the pick-up time without a break. From then
on nothing stops it: its breaker opens after the breaker time, and the load or generator that it acts on loses
a part of its power or goes out of service. A plant also trips where its voltage has been outside a curve for
the curve's time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from psmr.dae.declare.component import Action, Component, Parameter, Terms, fraction, nonnegative, positive
from psmr.devices.blocks import phasor_frequency
from psmr.devices.machines.textbook import F_N

STAGES = 16
"""Most stages of a relay that sheds load."""

NO_VOLTAGE = 10.0
"""Voltage in pu beyond all others: a relay with this upper limit does not see a high one."""

NO_FREQUENCY = 1000.0
"""Frequency in Hz beyond all others, as `NO_VOLTAGE`."""


class Relay(Component):
    """What every relay reads: the voltage of a bus."""

    inputs = ("v_re", "v_im")
    measured: ClassVar[str] = ""


class _MeasuresFrequency(Relay):
    """The frequency of a bus: a washout of the phase of its voltage."""

    states = ("angle",)
    algebraic = ("f",)
    units = {"angle": "rad", "f": "Hz"}
    measured = "f"

    f_n = F_N
    t_f = Parameter("s", "time constant of the measured frequency", positive, default=0.05)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the measured angle, and the frequency."""
        deviation, d_angle = phasor_frequency(m, v.v_re, v.v_im, v.angle, p.t_f, p.f_n)
        return (d_angle,), (p.f_n * (1 + deviation) - v.f,), ()


class _MeasuresVoltage(Relay):
    """The magnitude of a bus voltage."""

    algebraic = ("v",)
    measured = "v"

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the magnitude of the voltage."""
        return (), (m.sqrt(v.v_re**2 + v.v_im**2) - v.v,), ()


def _stages(unit: str, what: str) -> dict[str, Parameter]:
    """Return set value, pick-up time, breaker time and fraction of each stage; a stage at 0 is not there."""
    found: dict[str, Parameter] = {}
    for k in range(1, STAGES + 1):
        found |= {
            f"set_{k}": Parameter(unit, f"{what} of stage {k}, 0 for no stage", nonnegative, 0.0),
            f"pickup_{k}": Parameter("s", f"pick-up time of stage {k}", nonnegative, 0.0),
            f"breaker_{k}": Parameter("s", f"breaker time of stage {k}", nonnegative, 0.0),
            f"shed_{k}": Parameter("1", f"part of the load that stage {k} sheds", fraction, 0.0),
            f"picked_{k}": Parameter("1", f"whether stage {k} has picked up", default=0.0),
            f"open_{k}": Parameter("1", f"whether the breaker of stage {k} has opened", default=0.0),
        }
    return found


def _shedding(what: str, measured: str, unit: str) -> tuple[Action, ...]:
    """Return the actions of all stages of a relay that sheds load."""
    return tuple(action for k in range(1, STAGES + 1) for action in _stage(k, what, measured, unit))


def _stage(k: int, what: str, measured: str, unit: str) -> tuple[Action, Action]:
    """Return how stage k picks up, and what its breaker does."""

    def of(p: Any, name: str) -> Any:
        return getattr(p, f"{name}_{k}")

    def shed(v: Any, p: Any) -> Mapping[str, Any]:
        return {"acts_on.shed": min(v.acts_on.shed + of(p, "shed"), 1.0), f"open_{k}": 1.0}

    def words(p: Any, acts_on: str) -> str:
        return f"{100 * of(p, 'shed'):g} % of {acts_on} shed, {what} below {of(p, 'set'):g} {unit}"

    def used(p: Any) -> Any:
        return of(p, "set") > 0

    return (
        Action(
            "",
            lambda m, v, p: m.min(of(p, "set") - getattr(v, measured), 0.5 - of(p, "picked")),
            lambda p: of(p, "pickup"),
            lambda v, p: {f"picked_{k}": 1.0},
            used,
        ),
        Action(
            "sheds load",
            lambda m, v, p: of(p, "picked") - of(p, "open") - 0.5,
            lambda p: of(p, "breaker"),
            shed,
            used,
            protects=True,
            words=words,
            kind="shedding",
        ),
    )


# What only the actions of stages set: no case gives it.
STAGE_MEMORY = tuple(f"{name}_{k}" for k in range(1, STAGES + 1) for name in ("picked", "open"))


def _too_much(p: Mapping[str, float]) -> str | None:
    """Return the objection to stages that shed more than the load, or that shed nothing."""
    stages = [k for k in range(1, STAGES + 1) if p[f"set_{k}"]]
    for k in stages:
        if p[f"shed_{k}"] == 0:
            return (
                f"set_{k} = {p[f'set_{k}']:g} and shed_{k} = 0: shed_{k} must be > 0 where there is a stage"
            )
    if not stages:
        return "set_1 = 0: there is no stage; give one of them a set value above 0"
    total = sum(p[f"shed_{k}"] for k in stages)
    # Fractions are written in decimals: their sum is 1 up to their rounding.
    if total > 1 + 1e-9:
        return f"shed_1 + ... = {total:g}: the stages must not shed more than the load, 1"
    return None


class UnderFrequencyShedding(_MeasuresFrequency):
    """Under-frequency load shedding: stages, each with a set value, its times and its part of the load.

    ::

        f = f_n (1 + s/(1 + s t_f) phase of the bus voltage/(2 pi f_n))
        f < set_k for pickup_k -> breaker_k later: the load loses shed_k of what it had at the start

    Source: PSS/E, Model Library, LDSHBL (three stages, one breaker time) and LDS3BL (five stages); the
    program STEPS, UFLSBL (with the time constant of the frequency sensor).
    """

    role = "relay"
    acts_on = "load"
    actions = _shedding("frequency", "f", "Hz")
    memory = STAGE_MEMORY
    locals().update(_stages("Hz", "frequency"))

    conflict = staticmethod(_too_much)


class UnderVoltageShedding(_MeasuresVoltage):
    """Under-voltage load shedding: stages, each with a set value, its times and its part of the load.

    ::

        v < set_k for pickup_k -> breaker_k later: the load loses shed_k of what it had at the start

    Source: PSS/E, Model Library, LVSHBL (three stages, one breaker time).
    """

    role = "relay"
    acts_on = "load"
    actions = _shedding("voltage", "v", "pu")
    memory = STAGE_MEMORY
    locals().update(_stages("pu", "voltage"))

    conflict = staticmethod(_too_much)


def _tripping(what: str, measured: str, unit: str, nowhere: float) -> tuple[Action, ...]:
    """Return how a relay with a band picks up below and above it, and what its breaker does.

    A band that ends at `nowhere` or at 0 is open on that side.
    """

    def picked(v: Any, p: Any) -> Mapping[str, Any]:
        return {"picked": 1.0}

    def words(p: Any, acts_on: str) -> str:
        sides = [f"below {p.low:g}"] if p.low > 0 else []
        sides += [f"above {p.high:g}"] if p.high < nowhere else []
        return f"{acts_on} tripped, {what} {' or '.join(sides)} {unit}"

    return (
        Action(
            "",
            lambda m, v, p: m.min(p.low - getattr(v, measured), 0.5 - p.picked),
            lambda p: p.pickup,
            picked,
        ),
        Action(
            "",
            lambda m, v, p: m.min(getattr(v, measured) - p.high, 0.5 - p.picked),
            lambda p: p.pickup,
            picked,
        ),
        Action(
            "trips",
            lambda m, v, p: p.picked - p.open - 0.5,
            lambda p: p.breaker,
            lambda v, p: {"open": 1.0},
            trips=True,
            words=words,
        ),
    )


def _limits_of(unit: str, what: str) -> dict[str, Parameter]:
    """Return the parameters of a relay with a band: its ends, its times, and what its actions set."""
    return {
        "low": Parameter(unit, f"{what} below which it picks up", nonnegative),
        "high": Parameter(unit, f"{what} above which it picks up", positive),
        "pickup": Parameter("s", "pick-up time", nonnegative),
        "breaker": Parameter("s", "breaker time", nonnegative),
        "picked": Parameter("1", "whether it has picked up", default=0.0),
        "open": Parameter("1", "whether its breaker has opened", default=0.0),
    }


def _band(p: Mapping[str, float]) -> str | None:
    """Return the objection to a band that allows nothing."""
    if p["low"] >= p["high"]:
        return f"low = {p['low']:g}: must be below high = {p['high']:g}"
    return None


class FrequencyTrip(_MeasuresFrequency):
    """Under- and over-frequency relay of a generator.

    ::

        f = f_n (1 + s/(1 + s t_f) phase of the bus voltage/(2 pi f_n))
        f < low or f > high, each for pickup -> breaker later: the generator trips

    Source: PSS/E, Model Library, FRQTPA.
    """

    role = "relay"
    acts_on = "source"
    actions = _tripping("frequency", "f", "Hz", NO_FREQUENCY)
    memory = ("picked", "open")

    locals().update(_limits_of("Hz", "frequency"))

    conflict = staticmethod(_band)


class VoltageTrip(_MeasuresVoltage):
    """Under- and over-voltage relay of a generator.

    ::

        v < low or v > high, each for pickup -> breaker later: the generator trips

    Source: PSS/E, Model Library, VTGTPA.
    """

    role = "relay"
    acts_on = "source"
    actions = _tripping("voltage", "v", "pu", NO_VOLTAGE)
    memory = ("picked", "open")

    locals().update(_limits_of("pu", "voltage"))

    conflict = staticmethod(_band)


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
