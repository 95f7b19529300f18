"""Tap changers under load and phase shifters: one position at a time, after delays out of the dead band.

All of them keep a measured quantity within `half_band` of its set value. While it is outside, and nothing
blocks, a timer runs: for `t_first` before the first move, for `t_next` before each further one in the same
direction, each followed by the time that the mechanism takes, in which nothing stops the move. The sequence
begins anew where the quantity has returned into the band or left it at the other side.

Constant delays are those of conditions that hold without a break. Inverse ones, and timers that do not reset
at once, are counted by a state; a move takes place each time it has gone by one from where it began::

    clock' = +-1 / T outside the band, below and above it, -(clock - began) / t_reset within
    T = t_first or t_next, where that is inverse times half_band / |set value - quantity|

With `inverse` = 3 the clock goes by 1 / t, and a move takes place each time it has gone by half_band over the
deviation of that instant.

Source: Van Cutsem and Vournas, Voltage Stability of Electric Power Systems (1998), section 4.4: discrete
model (4.29, 4.30), continuous model (4.34).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Action,
    Component,
    Parameter,
    Terms,
    crossed,
    flag,
    nonnegative,
    per_unit,
    positive,
    whole,
)
from psmr.devices.machines.textbook import S_BASE

BUS = whole(0, 999_999)
CURRENT = ("m_re", "m_im")
DEGREE = 0.017453292519943295
STARTED = 1e-9
"""What a clock has counted where it has begun."""
RECIPROCAL = Parameter("1", "1 where positions are equidistant in 1 / tap", flag, default=0.0)


def number_of(value: Any, p: Any, ends: tuple[str, str]) -> Any:
    """Return where a tap or a shift is among the positions of a range: 1 at its lower end, N at the upper."""
    k = 1 - 2 * getattr(p, "reciprocal", 0.0)
    x, low, high = value**k, *(getattr(p, name) ** k for name in ends)
    return 1 + (x - low) / (high - low) * (p.positions - 1)


def nearest_position(value: float, p: Any, ends: tuple[str, str]) -> float:
    """Return the number of the position that is nearest to a tap or a shift."""
    return float(min(max(round(number_of(value, p, ends)), 1), p.positions))


def at_position(number: float, p: Any, ends: tuple[str, str]) -> float:
    """Return the tap or the shift of a position."""
    k = 1 - 2 * getattr(p, "reciprocal", 0.0)
    low, high = (float(getattr(p, name)) ** k for name in ends)
    return float((low + (number - 1) / (p.positions - 1) * (high - low)) ** k)


class SteppedControl(Component):
    """What tap changers and phase shifters share; a class says what it measures, and what it moves."""

    acts_on = "transformer"
    algebraic: ClassVar[tuple[str, ...]] = ("position",)
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "b_re", "b_im", *CURRENT)
    buses: ClassVar[Mapping[str, tuple[str, str]]] = {"block_bus": ("b_re", "b_im")}
    structural: ClassVar[tuple[str, ...]] = ("inverse",)
    switched: ClassVar[tuple[str | tuple[str, ...], ...]] = ("t_reset",)
    measured: ClassVar[str] = ""
    compared: ClassVar[bool] = False
    moves: ClassVar[tuple[str, float]] = ("tap", 1.0)
    range: ClassVar[tuple[str, str]] = ("tap_min", "tap_max")
    memory: ClassVar[tuple[str, ...]] = ("at", "direction", "last", "moving", "held", "idle", "began")

    t_first = Parameter("s", "delay before the first move", nonnegative)
    t_next = Parameter("s", "delay before each further move", nonnegative)
    inverse = Parameter(
        "1", "inverse delays: 0 none, 1 the first, 2 all, 3 all as compared", whole(0, 3), 0.0
    )
    t_reset = Parameter("s", "time constant of the timer's way back, 0: at once", nonnegative, 0.0)
    t_mechanical = Parameter("s", "time that the mechanism takes for a move", nonnegative, 0.0)
    positions = Parameter("1", "number of positions", whole(2, 9999))
    blocked = Parameter("1", "1 keeps it where it is", flag, 0.0)
    v_block = Parameter("pu", "voltage below which it does not move, 0 for none", nonnegative, 0.0)
    block_bus = Parameter("1", "bus of that voltage, 0 for where it measures", BUS, 0.0)
    at = Parameter("1", "position", default=1.0)
    direction = Parameter("1", "sign of the effect of a higher position", default=1.0)
    last = Parameter("1", "whether the last move raised (1) or lowered (-1) what is measured", default=0.0)
    moving = Parameter("1", "the move that the mechanism makes, likewise", default=0.0)
    held = Parameter("1", "whether the voltage blocks it", default=0.0)
    idle = Parameter("1", "whether its transformer is out of service", default=0.0)
    began = Parameter("1", "the clock where counting began", default=0.0)

    @classmethod
    def conflict(cls, p: Mapping[str, float]) -> str | None:  # type: ignore[override]
        """Return the objection to a range without any, and to moves that take no time."""
        counted = p["inverse"] or p["t_reset"]
        for name in ("t_first", "t_next"):
            if p[name] + (0.0 if counted else p["t_mechanical"]) <= 0:
                return f"{name} = 0: must be > 0{' beside inverse or t_reset' if counted else ' s'}"
        return crossed(p, cls.range)

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:  # type: ignore[override]
        """Return the actions, and the clock where delays are counted by it."""
        clocked = any(choice[:2])
        counting = {"states": ("clock",), "timers": ("clock",)} if clocked else {}
        compared = choice[0] == 3
        return {"actions": _actions(cls, clocked, compared), "compared": compared, **counting}

    @classmethod
    def equations(cls, m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:  # type: ignore[override]
        """Return the clock's rate, where there is one, and the residuals of position and quantity."""
        residuals = p.at - v.position, cls.quantity(m, v, p) - getattr(v, cls.measured)
        return ((_counts(cls, m, v, p),) if cls.states else ()), residuals, ()

    @classmethod
    def quantity(cls, m: Any, v: Any, p: Any) -> Any:
        """Return what is measured."""
        raise NotImplementedError

    @classmethod
    def error(cls, v: Any, p: Any) -> Any:
        """Return how far what is measured is below its set value."""
        return getattr(p, f"{cls.measured}_set") - getattr(v, cls.measured)


def _free(m: Any, p: Any) -> Any:
    """Return a number above zero where nothing keeps a tap changer from counting."""
    return 0.5 - p.blocked - p.held - p.idle - m.abs(p.moving)


def _room(m: Any, p: Any, sign: Any) -> Any:
    """Return a number above zero where a position is left that raises (1) or lowers (-1) what is measured."""
    new = p.at + sign * p.direction
    return m.min(new - 0.5, p.positions + 0.5 - new)


def _counts(kind: type[SteppedControl], m: Any, v: Any, p: Any) -> Any:
    """Return how far the clock goes in a second: up below the band, down above it, back within."""
    error = kind.error(v, p)
    share = later = 1.0
    if not kind.compared:
        share = m.where(m.ge(p.inverse, 0.5), m.max(m.abs(error) / p.half_band, 1.0), 1.0)
        later = m.where(m.ge(p.inverse, 1.5), share, 1.0)
    sign = m.where(m.ge(error, 0), 1.0, -1.0)
    rate = sign * m.where(m.ge(p.last * sign, 0.5), later / p.t_next, share / p.t_first)
    back = (p.began - v.clock) / m.where(m.le(p.t_reset, 0), p.t_first, p.t_reset)
    outside = m.where(m.ge(m.min(_free(m, p), _room(m, p, sign)), 0), rate, 0.0)
    return m.where(m.ge(m.abs(error), p.half_band), outside, back)


def _moved(kind: type[SteppedControl], sign: float, v: Any, p: Any) -> dict[str, Any]:
    """Return what a move by one position sets; `sign` is 1 where it raises what is measured."""
    parameter, unit = kind.moves
    now = nearest_position(getattr(v.acts_on, parameter) / unit, p, kind.range)
    new = float(min(max(now + sign * p.direction, 1.0), p.positions))
    place = at_position(new, p, kind.range) * unit
    return {"at": new, "last": sign, "moving": 0.0, f"acts_on.{parameter}": place}


def _command(
    kind: type[SteppedControl], clocked: bool, compared: bool, sign: float, mechanical: bool
) -> Action:
    """Return the action of a timer that has run out: the move, or the command to the mechanism."""

    def condition(m: Any, v: Any, p: Any) -> Any:
        error = sign * kind.error(v, p)
        due = sign * (v.clock - p.began) - 1 if clocked else error - p.half_band
        if compared:
            due = sign * (v.clock - p.began) * error / p.half_band - 1
        return m.min(m.min(due, _free(m, p)), m.min(_room(m, p, sign), error))

    def effect(v: Any, p: Any) -> dict[str, Any]:
        new = {"moving": sign} if mechanical else _moved(kind, sign, v, p)
        return new | ({"began": v.clock} if clocked else {})

    return Action(
        "" if mechanical else "moves",
        condition,
        lambda p: 0.0 if clocked else p.t_first + (sign * p.last > 0.5) * (p.t_next - p.t_first),
        effect,
        lambda p: (p.t_mechanical > 0) == mechanical,
        again=not clocked,
        at_zero=clocked,
        words=None if mechanical else lambda p, acts_on: _words(p, acts_on, sign),
        kind="" if mechanical else "tap",
    )


def _words(p: Any, acts_on: str, sign: float) -> str:
    return f"{acts_on} to position {p.at + sign * p.direction:g} of {p.positions:g}"


def _actions(kind: type[SteppedControl], clocked: bool, compared: bool) -> tuple[Action, ...]:
    """Return the actions of a kind of control, with constant delays or counted by its clock."""

    def returns(m: Any, v: Any, p: Any) -> Any:
        gone = v.clock - p.began if clocked else p.last
        counted = m.abs(gone) * (p.t_reset <= 0) - STARTED if clocked else -1.0
        side = m.where(m.ge(m.abs(p.last), 0.5), p.last, m.where(m.ge(gone, 0), 1.0, -1.0))
        left = p.half_band - side * kind.error(v, p)
        return m.min(m.min(left, 0.5 - m.abs(p.moving)), m.max(m.abs(p.last) - 0.5, counted))

    def above(v: Any, p: Any) -> Any:
        return (v.b_re**2 + v.b_im**2) ** 0.5 - p.v_block

    return (
        *(
            _command(kind, clocked, compared, sign, mechanical)
            for sign in (1.0, -1.0)
            for mechanical in (False, True)
        ),
        Action(
            "moves",
            lambda m, v, p: m.abs(p.moving) - 0.5,
            lambda p: p.t_mechanical,
            lambda v, p: _moved(kind, float(p.moving), v, p),
            lambda p: p.t_mechanical > 0,
            pauses=True,
            words=lambda p, acts_on: _words(p, acts_on, p.moving),
            kind="tap",
        ),
        Action(
            "",
            returns,
            effect=lambda v, p: {"last": 0.0} | ({"began": v.clock} if clocked and not p.t_reset else {}),
            used=lambda p: (p.t_next != p.t_first) | clocked,
            at_zero=clocked,
        ),
        Action(
            "blocked",
            lambda m, v, p: m.min(-above(v, p), 0.5 - p.held),
            effect=lambda v, p: {"held": 1.0},
            used=lambda p: p.v_block > 0,
            words=lambda p, acts_on: f"{acts_on} blocked below {p.v_block:g} pu",
            kind="block",
        ),
        Action(
            "free",
            lambda m, v, p: m.min(above(v, p), p.held - 0.5),
            effect=lambda v, p: {"held": 0.0},
            used=lambda p: p.v_block > 0,
            words=lambda p, acts_on: f"{acts_on} free above {p.v_block:g} pu",
            kind="block",
        ),
    )


class TapChanger(SteppedControl):
    """A tap changer that keeps the voltage of a bus, at either side of its transformer or further away.

    ::

        v = |V + (r_c + j x_c) I|, I the current out of the bus into the transformer
        |v_set - v| > half_band for t_first, then for t_next: the next position, t_mechanical later

    The line drop compensation is per unit on the system base; with it v is the voltage behind r_c + j x_c.
    """

    role = "tap_changer"
    algebraic = ("position", "v")
    inputs = SteppedControl.inputs[:4]
    buses: ClassVar[Mapping[str, tuple[str, str]]] = {"bus": ("v_re", "v_im"), **SteppedControl.buses}
    switched: ClassVar[tuple[str | tuple[str, ...], ...]] = ("t_reset", ("r_c", "x_c"))
    measured = "v"
    units = {"position": "1", "clock": "1"}

    bus = Parameter("1", "bus whose voltage it keeps, 0 for the to bus", BUS, 0.0)
    v_set = Parameter("pu", "set value of the voltage", per_unit)
    half_band = Parameter("pu", "half the width of the dead band", positive)
    tap_min = Parameter("1", "tap of position 1", positive)
    tap_max = Parameter("1", "tap of the last position", positive)
    reciprocal = RECIPROCAL
    r_c = Parameter("pu on system base", "resistance of the line drop compensation", default=0.0)
    x_c = Parameter("pu on system base", "reactance of the line drop compensation", default=0.0)

    @classmethod
    def conflict(cls, p: Mapping[str, float]) -> str | None:  # type: ignore[override]
        """Object to a band that every voltage is in too, as one in percent is."""
        if p["half_band"] >= p["v_set"]:
            return f"half_band = {p['half_band']:g}: must be below v_set = {p['v_set']:g} pu"
        return super().conflict(p)

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:
        """Return what the clock adds, and the current that a compensation reads."""
        return {**super().shape(*choice), **({"inputs": SteppedControl.inputs} if choice[-1] else {})}

    @classmethod
    def quantity(cls, m: Any, v: Any, p: Any) -> Any:
        """Return the voltage, behind the compensation where there is one."""
        if CURRENT[0] not in cls.inputs:
            return m.sqrt(v.v_re**2 + v.v_im**2)
        re = v.v_re + p.r_c * v.m_re - p.x_c * v.m_im
        return m.sqrt(re**2 + (v.v_im + p.r_c * v.m_im + p.x_c * v.m_re) ** 2)


class ContinuousTapChanger(TapChanger):
    """The continuous form of a `TapChanger`, for its modes: the ratio follows the voltage.

    ::

        t_c ratio' = s (v_0 - v), tap_min <= ratio <= tap_max
        s = 1 where a higher ratio raises v, otherwise -1; v_0 is v at the start

    With t_c = t_next half_band / step, taken where it is 0, it is at the edge of the band as fast
    as the discrete one; with inverse delays that is its average everywhere.
    """

    role = "tap_changer"
    states = ("ratio",)
    limits: ClassVar[Mapping[str, tuple[str, str]]] = {"ratio": ("tap_min", "tap_max")}
    structural = ()
    switched = (("r_c", "x_c"),)
    memory = (*TapChanger.memory, "rest")
    units = {"position": "1", "ratio": "1"}

    t_c = Parameter("s", "time in which 1 pu moves the ratio by 1, 0: by t_next", nonnegative, default=0.0)
    rest = Parameter("pu", "voltage at the start", default=1.0)

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:
        """Return the current that a compensation reads."""
        return {"inputs": SteppedControl.inputs} if choice[-1] else {}

    @classmethod
    def equations(cls, m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:  # type: ignore[override]
        """Return the ratio's rate, and the residuals of the position and the voltage."""
        step = (p.tap_max - p.tap_min) / (p.positions - 1)
        t_c = m.where(m.le(p.t_c, 0), p.t_next * p.half_band / step, p.t_c)
        rate = (1 - p.blocked) * (1 - p.idle) * p.direction * (p.rest - v.v) / t_c
        position = number_of(v.ratio, p, cls.range)
        return (rate,), (position - v.position, cls.quantity(m, v, p) - v.v), ()


class ReactiveTapChanger(SteppedControl):
    """A tap changer that keeps the reactive power into its transformer at the from bus.

    ::

        q = Im(V conj(I)) at the from bus, in Mvar
        |q_set - q| > half_band for t_first, then for t_next: the next position, t_mechanical later
    """

    role = "tap_changer"
    algebraic = ("position", "q")
    measured = "q"
    units = {"position": "1", "clock": "1", "q": "Mvar"}

    s_base = S_BASE
    q_set = Parameter("Mvar", "set value of the reactive power")
    half_band = Parameter("Mvar", "half the width of the dead band", positive)
    tap_min = Parameter("1", "tap of position 1", positive)
    tap_max = Parameter("1", "tap of the last position", positive)
    reciprocal = RECIPROCAL

    @classmethod
    def quantity(cls, m: Any, v: Any, p: Any) -> Any:
        """Return the reactive power."""
        return p.s_base * (v.v_im * v.m_re - v.v_re * v.m_im)


class PhaseShifter(SteppedControl):
    """A phase shifter that keeps the active power into its transformer at the from bus.

    ::

        p = Re(V conj(I)) at the from bus, in MW
        |p_set - p| > half_band for t_first, then for t_next: the next position, t_mechanical later
    """

    role = "tap_changer"
    algebraic = ("position", "p")
    measured = "p"
    moves = ("shift", DEGREE)
    range = ("shift_min", "shift_max")
    units = {"position": "1", "clock": "1", "p": "MW"}

    s_base = S_BASE
    p_set = Parameter("MW", "set value of the active power")
    half_band = Parameter("MW", "half the width of the dead band", positive)
    shift_min = Parameter("deg", "shift of position 1")
    shift_max = Parameter("deg", "shift of the last position")

    @classmethod
    def quantity(cls, m: Any, v: Any, p: Any) -> Any:
        """Return the active power."""
        return p.s_base * (v.v_re * v.m_re + v.v_im * v.m_im)
