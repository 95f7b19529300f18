"""Shunts that are switched after delays: by a voltage, a reactive power, or beside a static var system.

Steps are numbered: none is in at position 0, 1 is the first step of the first block of capacitors, 2 the
next one, up to the last step of the last block; -1 is the first step of the first block of reactors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from psmr.base.arrays import Reals
from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    nonnegative,
    per_unit,
    positive,
    whole,
)
from psmr.devices.machines.textbook import S_BASE, S_N
from psmr.devices.secondary_voltage import OF_CONVERTER, OF_MACHINE, of_machine

BLOCKS = 8
"""Most blocks of equal steps."""

MOST = 999

BETWEEN = 1e-6
"""Part of a step by which a susceptance may be off a position: files write six digits."""


def shunt_positions(steps: Sequence[float]) -> Reals:
    """Return the values in Mvar that blocks of (number, Mvar each) give, switched in their order."""
    sides = {1: [0.0], -1: [0.0]}
    for count, each in zip(steps[::2], steps[1::2], strict=True):
        side = sides[1 if each > 0 else -1]
        for _ in range(int(count)):
            side.append(side[-1] + each)
    return np.array(sorted({*sides[1], *sides[-1]}))


def steps_of(p: Any) -> list[float]:
    """Return the blocks of a bank as number of steps and Mvar of each, one after the other."""
    return [float(getattr(p, f"{name}_{k}")) for k in range(1, BLOCKS + 1) for name in ("n", "b")]


def position_of(p: Any, b: float) -> tuple[float, float, float]:
    """Return the position of a susceptance in Mvar, the lowest and the highest one.

    Between two positions it is a part of one, beyond all the last.
    """
    values = shunt_positions(steps_of(p))
    none = int(np.flatnonzero(values == 0)[0])
    at = float(np.interp(b, values, np.arange(values.size))) - none
    near = round(at)
    return float(near if abs(at - near) < BETWEEN else at), float(-none), float(values.size - 1 - none)


def _blocks() -> dict[str, Parameter]:
    found: dict[str, Parameter] = {}
    for k in range(1, BLOCKS + 1):
        found[f"n_{k}"] = Parameter("1", f"number of steps of block {k}", whole(0, MOST), 0.0)
        found[f"b_{k}"] = Parameter("Mvar", f"each step of block {k} at 1 pu, below 0 a reactor", default=0.0)
    return found


def _moved(sign: float, v: Any, p: Any) -> dict[str, Any]:
    """Return what a step by one position sets; `sign` is 1 where it raises the voltage."""
    at = float(p.at)
    # From between two positions to the next one.
    new = float(math.floor(at) + 1 if sign > 0 else math.ceil(at) - 1)
    # Another value than before: the time counts anew.
    rests = {"resting": 2.0 if p.resting == 1 else 1.0} if sign < 0 and at > 0 and p.t_discharge > 0 else {}
    b = float(shunt_positions(steps_of(p))[round(new - p.lowest)]) / p.s_base
    return {"at": new, "acts_on.b": b, "moving": 0.0, "count": p.count + 1.0, **rests}


def _adjusted(sign: float, v: Any, p: Any) -> dict[str, Any]:
    """Return what a move sets that takes the voltage to the edge of its band, as far as the range goes."""
    edge = p.v_low if sign > 0 else p.v_high
    new = float(p.at + sign * max(sign * (edge - float(np.ravel(v.v)[0])) / p.slope, 0.0))
    new = min(max(new, float(p.lowest)), float(p.highest))
    return {"at": new, "acts_on.b": new / p.s_base, "moving": 0.0, "count": p.count + 1.0}


def _can(m: Any, sign: float, p: Any) -> Any:
    """Return 1 where there is a step to take, in a bank that may be switched; else 0."""
    inside = m.where(m.ge((p.highest if sign > 0 else -p.lowest) - sign * p.at, 1e-9), 1, 0)
    charged = m.where(m.ge(p.at, 0), m.where(m.ge(p.resting, 0.5), 1, 0), 0) if sign > 0 else 0
    spent = m.where(m.ge(p.moves, 0.5), m.where(m.ge(p.count + 0.5, p.moves), 1, 0), 0)
    return inside * (1 - charged) * (1 - spent) * m.where(m.ge(p.blocked + p.moving**2, 0.5), 0, 1)


def _words(sign: float | None) -> Any:
    def words(p: Any, acts_on: str) -> str:
        new = _moved(p.moving if sign is None else sign, None, p)["at"]
        return f"{acts_on} to step {new:g} of {p.highest if new > 0 else p.lowest:g}"

    return words


def _either_way(p: Any, acts_on: str) -> str:
    return f"{acts_on} by its voltage"


def _starts(
    sign: float, outside: Any, delay: str, breaker: str, moved: Any = _moved
) -> tuple[Action, Action]:
    """Return how a bank, or its breaker, begins a step when something has been outside for a delay."""

    def due(m: Any, v: Any, p: Any) -> Any:
        return m.min(outside(m, v, p), _can(m, sign, p) - 0.5)

    def after(p: Any) -> Any:
        return getattr(p, delay)

    return (
        Action(
            "switches",
            due,
            after,
            lambda v, p: moved(sign, v, p),
            lambda p: getattr(p, breaker) <= 0,
            again=True,
            words=_words(sign) if moved is _moved else _either_way,
            kind="shunt",
        ),
        Action("", due, after, lambda v, p: {"moving": sign}, lambda p: getattr(p, breaker) > 0),
    )


def _ends(sign: float, breaker: str, moved: Any = _moved) -> Action:
    """Return the step that the breaker has begun."""
    return Action(
        "switches",
        lambda m, v, p: sign * p.moving - 0.5,
        lambda p: getattr(p, breaker),
        lambda v, p: moved(sign, v, p),
        lambda p: getattr(p, breaker) > 0,
        pauses=True,
        words=_words(sign) if moved is _moved else _either_way,
        kind="shunt",
    )


def _discharged(value: float) -> Action:
    """Return the end of the time for which a capacitor stays out, for one of two values that mark it."""
    return Action(
        "",
        lambda m, v, p: 0.5 - m.abs(p.resting - value),
        lambda p: p.t_discharge,
        lambda v, p: {"resting": 0.0},
        lambda p: p.t_discharge > 0,
    )


class _Bank(Component):
    """Steps of a shunt: what all that switch them have."""

    acts_on = "shunt"
    memory: ClassVar[tuple[str, ...]] = ("at", "highest", "lowest", "moving", "count", "resting")
    units = dict.fromkeys(("position", "up", "down"), "1")

    s_base = S_BASE
    t_discharge = Parameter("s", "time for which a capacitor stays out", nonnegative, 0.0)
    moves = Parameter("1", "number of steps that it may take in a run, 0 for any", whole(0, MOST), 0.0)
    blocked = Parameter("1", "1 keeps it where it is", whole(0, 1), 0.0)
    locals().update(_blocks())
    at = Parameter("1", "position", default=0.0)
    highest = Parameter("1", "highest position", default=0.0)
    lowest = Parameter("1", "lowest position", default=0.0)
    moving = Parameter("1", "the step that the breaker makes: 1 up, -1 down", default=0.0)
    count = Parameter("1", "steps that it has taken", default=0.0)
    resting = Parameter("1", "whether a capacitor is still charged, 1 and 2 in turn", default=0.0)

    band: ClassVar[Any] = ()

    @classmethod
    def conflict(cls, p: Mapping[str, float]) -> str | None:  # type: ignore[override]
        """Object to a band without width and to a bank without steps."""
        if cls.band and (wrong := crossed(p, cls.band)):
            return wrong
        steps = [p[f"n_{k}"] * p[f"b_{k}"] for k in range(1, BLOCKS + 1)]
        return None if any(steps) else "n_1 b_1 = 0: there is no step; give a block its number and size"


def _keeps(rises: Any, falls: Any, sides: tuple[str, str], moved: Any = _moved) -> tuple[Action, ...]:
    """Return what keeps something in a band: what makes a bank rise and fall, and on which sides."""
    up, down = sides
    return (
        *_starts(1.0, rises, f"t_{up}", f"s_{up}", moved),
        *_starts(-1.0, falls, f"t_{down}", f"s_{down}", moved),
        *(_ends(1.0, f"s_{up}", moved), _ends(-1.0, f"s_{down}", moved), _discharged(1.0), _discharged(2.0)),
    )


class _Keeping(_Bank):
    """A bank that keeps something in a band."""

    t_low = Parameter("s", "time below the band before a step", nonnegative)
    t_high = Parameter("s", "time above the band before a step", nonnegative)
    s_low = Parameter("s", "time of the breaker below the band", nonnegative, 0.0)
    s_high = Parameter("s", "time of the breaker above the band", nonnegative, 0.0)


class SwitchedShunt(_Keeping):
    """A bank of capacitors and reactors that keeps a voltage in a band, a step at a time.

    ::

        |v| < v_low for t_low   -> s_low later one position more: a capacitor in or a reactor out
        |v| > v_high for t_high -> s_high later one position less

    Each further step takes its delay anew. What the breaker has begun nothing stops. A capacitor that has
    been taken out stays there for `t_discharge`, from where on t_low counts. With `moves` it is switched so
    many times and no more. Between two positions, where the file leaves it there, the first step leads to the
    next one.

    Sources: PSS/E, Model Library, SWSHNT (the values of its record and their meaning: PowerWorld, Switched
    Shunt Model SWSHNT); the order of steps: PSS/E, Program Operation Manual, switched shunt data.
    """

    role = "switching"
    band: ClassVar[Any] = ("v_low", "v_high")
    algebraic = ("position", "v")
    inputs = ("v_re", "v_im")
    buses: ClassVar[Mapping[str, tuple[str, str]]] = {"bus": ("v_re", "v_im")}

    bus = Parameter("number", "bus whose voltage it keeps, 0 for its own", whole(0, 999_999), 0.0)
    v_low = Parameter("pu", "voltage below which a step raises it", per_unit)
    v_high = Parameter("pu", "voltage above which a step lowers it", per_unit)
    actions = _keeps(lambda m, v, p: p.v_low - v.v, lambda m, v, p: v.v - p.v_high, ("low", "high"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the position and the voltage."""
        return (), (p.at - v.position, m.sqrt(v.v_re**2 + v.v_im**2) - v.v), ()


INSIDE = 1e-4
"""What a voltage may be outside the band of a shunt that goes continuously, in pu, as in the power flow."""


class ContinuousShunt(SwitchedShunt):
    """A shunt of any value between the sums of its blocks that keeps a voltage in a band, of no width too.

    ::

        |v| < v_low - 1e-4 for t_low   -> s_low later b goes up by (v_low - |v|)/slope
        |v| > v_high + 1e-4 for t_high -> s_high later b goes down by (|v| - v_high)/slope

    slope is what a Mvar changes of the voltage in the power flow; what a move leaves the next one takes,
    after another delay. The position is b in Mvar at 1 pu. Source: PSS/E, Program Operation Manual, switched
    shunt data, MODSW = 2.
    """

    band = ()
    memory = (*SwitchedShunt.memory, "slope")
    units = {"position": "Mvar"}

    slope = Parameter("pu/Mvar", "change of the voltage by the susceptance", default=1.0)

    actions = _keeps(
        lambda m, v, p: p.v_low - INSIDE - v.v,
        lambda m, v, p: v.v - INSIDE - p.v_high,
        ("low", "high"),
        _adjusted,
    )

    @classmethod
    def conflict(cls, p: Mapping[str, float]) -> str | None:  # type: ignore[override]
        """Object to a band whose ends are exchanged."""
        if p["v_low"] > p["v_high"]:
            return f"v_low = {p['v_low']:g}: must not be above v_high = {p['v_high']:g}"
        if p["t_discharge"]:
            return f"t_discharge = {p['t_discharge']:g}: must be left out: no capacitor is switched"
        return super().conflict(p)


class SwitchedByReactivePower(_Keeping):
    """A bank that keeps the reactive power of a plant, or the susceptance of another shunt, in a band.

    ::

        q > q_high for t_high -> s_high later one position more: a capacitor in or a reactor out
        q < q_low for t_low   -> s_low later one position less

    q is the reactive power of all units at plant_bus, or what a static var system or a `ContinuousShunt` at
    shunt_bus gives at 1 pu. Each further step takes its delay anew. Source: PSS/E, Program Operation Manual,
    switched shunt data, MODSW = 3 and 5.
    """

    role = "switching"
    band = ("q_low", "q_high")
    algebraic = ("position", "q")
    units = {"position": "1", "q": "Mvar"}

    plant_bus = Parameter("number", "bus of the plant, 0 for none", whole(0, 999_999), 0.0)
    shunt_bus = Parameter("number", "bus of the other shunt, 0 for none", whole(0, 999_999), 0.0)
    q_low = Parameter("Mvar", "reactive power below which a step takes capacitors out")
    q_high = Parameter("Mvar", "reactive power above which a step puts capacitors in")
    actions = _keeps(lambda m, v, p: v.q - p.q_high, lambda m, v, p: p.q_low - v.q, ("high", "low"))

    @classmethod
    def conflict(cls, p: Mapping[str, float]) -> str | None:  # type: ignore[override]
        """Object to a bank that keeps nothing, or two things."""
        if (p["plant_bus"] > 0) == (p["shunt_bus"] > 0):
            return "plant_bus, shunt_bus: one of them must be the number of a bus, and the other be left out"
        return super().conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the position and of the sum that meters add to."""
        return (), (p.at - v.position, -v.q), ()


class MachineMeter(Component):
    """The reactive power of a machine, added to what a bank keeps: q += s_n (v_q i_d - v_d i_q).

    Source: P. Kundur, Power System Stability and Control (1994), section 3.6.
    """

    inputs: ClassVar[tuple[str, ...]] = OF_MACHINE
    outputs = ("q",)
    s_n = S_N

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return what it adds."""
        return (), (), (p.s_n * of_machine(m, v),)


class ConverterMeter(MachineMeter):
    """The reactive power of a converter, added to what a bank keeps: q += s_n q_e.

    Source: EPRI 3002027129, Model User Guide for Generic Renewable Energy System Models (2023), REGC_A.
    """

    inputs = OF_CONVERTER

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return what it adds."""
        return (), (), (p.s_n * v.q_e,)


METERS = {OF_MACHINE: MachineMeter, OF_CONVERTER: ConverterMeter}
"""What adds a unit's reactive power to that of its plant; it goes out of service with the unit."""

NO_THRESHOLD = 1e6
"""Mvar beyond all others."""


def _in_turn(sign: float, threshold: str) -> tuple[Action, Action]:
    """Return how a bank takes a step in its turn, beyond a large or a small threshold."""
    side = "over" if sign > 0 else "under"

    def due(m: Any, v: Any, p: Any) -> Any:
        over = sign * v.b * p.base - getattr(p, f"{side}_{threshold}")
        return m.min(over, 0.5 - (v.before_up if sign > 0 else v.before_down))

    return _starts(sign, due, f"t_{threshold}", "t_breaker")


class SwitchedByStaticVar(_Bank):
    """A mechanically switched bank beside a static var system, which takes over what that has given for long.

    ::

        b > over_large for t_large, or b > over_small for t_small: a capacitor in, or a reactor out
        b < -under_large for t_large, or b < -under_small for t_small: a capacitor out, or a reactor in

    t_breaker later. b is what the static var system at `system_bus` gives, in Mvar at 1 pu (SVSMO1: b on the
    system base; SVSMO3: its current on s_n). One bank at a time: of several the first in the table of shunts
    that can.

    Sources: WECC Static Var Compensator Task Force, Generic Static Var System Models for the Western
    Electricity Coordinating Council (2011); what the values are: PowerWorld, Switched Shunt Models SVSMO1
    (Blcs, Blis for Tdelay1, Bscs, Bsis for Tdelay2, Tmssbrk, Tout) and SVSMO3 (Iupr, Ilwr for TdelLC).
    """

    role = "switching"
    algebraic = ("position", "up", "down")
    inputs = ("b", "before_up", "before_down")
    optional: ClassVar[Mapping[str, float]] = {"before_up": 0.0, "before_down": 0.0}
    memory = (*_Bank.memory, "base")

    system_bus = Parameter("number", "bus of the static var system", whole(1, 999_999))
    over_large = Parameter("Mvar", "large threshold on the capacitive side", positive, NO_THRESHOLD)
    over_small = Parameter("Mvar", "small threshold on the capacitive side", positive, NO_THRESHOLD)
    under_large = Parameter("Mvar", "large threshold on the inductive side", positive, NO_THRESHOLD)
    under_small = Parameter("Mvar", "small threshold on the inductive side", positive, NO_THRESHOLD)
    t_large = Parameter("s", "time beyond a large threshold", nonnegative, 0.0)
    t_small = Parameter("s", "time beyond a small threshold", nonnegative, 0.0)
    t_breaker = Parameter("s", "time of the breaker", nonnegative, 0.0)
    base = Parameter("MVA", "base of what the static var system gives", positive, 100.0)

    actions = (
        *(action for sign in (1.0, -1.0) for size in ("large", "small") for action in _in_turn(sign, size)),
        *(_ends(1.0, "t_breaker"), _ends(-1.0, "t_breaker"), _discharged(1.0), _discharged(2.0)),
    )

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the position, and of how many banks up to this one could be switched."""
        up, down = (m.where(m.ge(sign * p.moving, 0.5), 1, _can(m, sign, p)) for sign in (1.0, -1.0))
        return (), (p.at - v.position, v.before_up + up - v.up, v.before_down + down - v.down), ()
